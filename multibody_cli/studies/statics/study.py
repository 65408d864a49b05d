"""Static equilibrium of a scene from its start, or its steady motion at constant rates of some coordinates.

Prescribed coordinates have their values at the instant, and do not move.  Activations, and inputs, have theirs.  In a
steady motion the given coordinates have constant rates: their accelerations are 0, and so are all others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from multibody_cli.constraint_solver.projection import compute_velocity_residuals
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.diagnostics.joint_domains import domain_violation
from multibody_cli.errors import ArgumentError, QuantityError, RunFailed, nearest
from multibody_cli.immutable import Immutable, replace
from multibody_cli.implicit.linearization import compute_row_accelerations
from multibody_cli.initial.initial_state import placed
from multibody_cli.joints.coordinate_fields import COORDINATE_KINDS, Coordinate
from multibody_cli.kernel import Flags, Floats
from multibody_cli.model import Model
from multibody_cli.spatial.rotations import vector_of_quaternion
from multibody_cli.spatial.values import Vec3
from multibody_cli.spec import Quantity, units
from multibody_cli.statics.rest import explained, objection_to_equilibrium, with_held_motions, with_laws_at_rest
from multibody_cli.statics.search import Equilibrium, NoEquilibrium, Search
from multibody_cli.statics.slopes import side_of_kink
from multibody_cli.statics.unbalanced_forces import UnbalancedForces, displaced
from multibody_cli.studies.inverse.coordinates import CoordinateName, Coordinates
from multibody_cli.studies.prescribed_motion import PrescribedMotion
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.statics.relaxation import PointForce, relaxed
from multibody_cli.tree.workspace import workspace_for

OVERRIDES = ("simulation.method=aba", "simulation.options={}", "expect=[]")
"""Settings of the scene: coordinates of joints, and no expectations of a run."""

ASIDE = 0.01
"""Displacement, rad or lengths of the mechanism, from an unstable equilibrium to either side of it."""

SAME = 1e-6
"""Distance of equilibria, rad or lengths, that are one."""

STEADY = 1e-9
"""Rates and accelerations of rows, relative to the rates, that are round-off."""


class RowForce(Immutable):
    """The force of an active row: its element, its direction, and the multiplier, N or N m."""

    element: str
    direction: str
    force: float


class Statics(Immutable, eq=False):
    """An equilibrium or a steady motion of a scene.

    Parameters
    ----------
    time
        The instant, s.
    coordinates, values, changes
        The coordinates of joints and of bodies that move freely; their values, rad or m; and the changes of these from
        the start.  A rotation has the components of its rotation vector.
    found
        State, multipliers, residual and stiffness; `found.state` has q and v.
    rows
        Forces of active limits, loops and constraints.
    open
        Limits and other one-sided rows that do not act.
    redundant
        Number of active rows that depend on others: the forces of rows are one of many distributions.
    drives
        Forces that hold prescribed coordinates, and those of a steady motion, by the names of the coordinates.
    softest
        The coordinate with the largest part in the displacement of the least stiffness; "" without.
    unit_displacement
        Displacement of this coordinate, rad or m, by whose square the stiffness in J is divided: the one that turns a
        body by 1 rad, or moves it by the length of the mechanism; NaN without.
    others
        Equilibria on both sides of an unstable one.
    held
        Whether contacts or dry friction hold the scene.
    contacts
        Forces of contacts by pairs of bodies, of the first body on the second one, N, world axes.
    points
        The contacts with their points and forces; of the least norm where `redundant` is not 0.
    set_dimension
        Dimension of the set of equilibria that friction holds, of which this is one; 0 for an equilibrium by itself.
    reason
        Why the stability of a held scene is unknown; "" otherwise.
    kinks
        Sides on which the stiffness is this one, such as "hinge increases", of forces with a kink at the equilibrium.
    """

    time: float
    coordinates: tuple[CoordinateName, ...]
    values: Floats
    changes: Floats
    found: Equilibrium
    rows: tuple[RowForce, ...]
    open: tuple[str, ...]
    redundant: int
    drives: Mapping[str, float]
    softest: str
    unit_displacement: float
    others: tuple[Statics, ...] = ()
    held: bool = False
    contacts: Mapping[str, Floats] = {}
    points: tuple[PointForce, ...] = ()
    set_dimension: int = 0
    reason: str = ""
    kinks: tuple[str, ...] = ()

    def __getitem__(self, coordinate: str) -> float:
        """Return the value of a coordinate by its name, rad or m."""
        names = [one.name for one in self.coordinates]
        if coordinate not in names:
            raise ArgumentError(f"no coordinate `{coordinate}`: {nearest(coordinate, names)}")
        return float(self.values[names.index(coordinate)])

    @property
    def stability(self) -> str:
        """Stability by the second variation: `stable`, `unstable`, `neutral`, or `unknown` without a potential.

        Of a scene that contacts or dry friction hold: on the displacements that they allow.
        """
        return "unknown" if self.reason else self.found.stability

    @property
    def derivatives(self) -> Literal["exact", "differences"]:
        """Derivatives of the stiffness: exact by dual numbers, or differences."""
        return "differences" if self.found.differences else "exact"

    @property
    def is_unique(self) -> bool | None:
        """Whether no other equilibrium is near; None if the second variation does not decide it."""
        if self.set_dimension:
            return False
        is_regular = self.found.neutral == 0 and (self.found.sides is None or not self.found.sides.reason)
        isolated = self.stability == "stable" or (self.stability == "unstable" and is_regular)
        return True if isolated else None


class StaticProblem:
    """The equilibrium of one scene.

    Parameters
    ----------
    prepared
        The scene, with `OVERRIDES`.
    at
        The instant, s; None for the start.
    steady
        Rates of a steady motion by coordinates, rad/s or m/s, or with a unit as in "5 turn/s"; None for the rate of the
        start, or of a prescribed motion.

    Raises
    ------
    ArgumentError
        The instant is negative, a coordinate does not exist or is a rotation, a rate has another unit than that of its
        coordinate, or a scene with contacts or dry friction has steady rates.
    RunFailed
        The force of an actuator at rest depends on its past.
    """

    def __init__(
        self,
        prepared: PreparedSimulation,
        at: float | None = None,
        steady: Mapping[str, float | str | None] | None = None,
    ) -> None:
        model, state = prepared.compiled.model, prepared.fresh_state()
        self._prepared, self._is_set = prepared, bool(objection_to_equilibrium(model))
        if self._is_set and steady:
            raise ArgumentError("--steady: contacts and dry friction have no steady motion here: run the scene")
        self.names, self._written = Coordinates(prepared.scene, model), state.q.copy()
        self._n, rates = int(model.system.tree.links["nv"].sum()), np.zeros(model.nv)
        self._held: Flags = np.zeros(model.nv, np.bool_)
        if at is not None:
            require_instant(at)
            PrescribedMotion(model, state).place(state, at)
            state.time[0] = at
        update_kinematics(model.system, state.time[0], state.q, state.v, state.a, workspace_for(model.system))
        for name, rate in (steady or {}).items():
            one = self.coordinate(name)
            iv, rate = one.iv, None if rate is None else read_rate(one, rate)
            if model.system.tree.driven[iv] and rate is not None:
                raise ArgumentError(f"--steady {name}: its motion is prescribed: leave out the rate")
            rates[iv], self._held[iv] = state.v[iv] if rate is None else rate, True
        state.v[:], state.a[:] = rates, 0.0
        self.state, self.model = state, with_held_motions(with_laws_at_rest(model), self._held)
        self.is_steady = bool(self._held.any())
        self.has_free_rates = bool((self._held & ~model.system.tree.driven).any())

    def coordinate(self, name: str) -> CoordinateName:
        """Return the coordinate of a name that can have a constant rate.

        Raises
        ------
        ArgumentError
            There is none of this name.
        """
        one, plain = self.names.find(name), [other for other in self.names.all if other.is_plain]
        if one is None or one not in plain or one.iv >= self._n:
            known = [other.name for other in plain if other.iv < self._n]
            raise ArgumentError(
                f"--steady {name}: no coordinate `{name}` that can have a constant rate: {nearest(name, known)}"
            )
        return one

    def solve(self) -> Statics:
        """Return the equilibrium.

        Raises
        ------
        RunFailed
            There is none, or it was not found.
        """
        if self._is_set:
            rest = relaxed(self._prepared.with_compiled(model=self.model), self.state)
            return replace(
                self._named(rest.held.found, ()),
                redundant=rest.held.redundant,
                held=True,
                contacts=rest.contacts,
                points=rest.points,
                set_dimension=rest.held.set_dimension,
                reason=rest.held.reason,
            )
        try:
            found = Search(self.model, self.state, self._held).solve()
        except NoEquilibrium as error:
            raise RunFailed(explained(self.model, error)) from None
        if violation := domain_violation(self.model, found.state):
            raise RunFailed(f"no equilibrium: {violation}")
        self._require_steady(found)
        others = self._beside(found) if found.stability == "unstable" else ()
        return self._named(found, others)

    def _beside(self, found: Equilibrium) -> tuple[Statics, ...]:
        """Return the equilibria to which the motion leads from both sides of an unstable one."""
        shift, others, weights = found.directions[:, 0], [found], self.model.system.tree.weights
        for sign in (1.0, -1.0):
            start = found.state.copy()
            start.q[:] = displaced(self.model, found.state.q, shift, sign * ASIDE)
            try:
                one = Search(self.model, start, self._held).solve()
            except NoEquilibrium:
                continue
            if all(np.abs(one.state.q - other.state.q).max() > SAME / weights.max() for other in others):
                others.append(one)
        return tuple(self._named(one, ()) for one in others[1:])

    def _require_steady(self, found: Equilibrium) -> None:
        """Refuse rates that loops or constraints do not allow to be constant."""
        if not self.is_steady or not self.model.system.is_constrained:
            return
        work, equality = placed(self.model, found.state), self.model.system.rows["one_sided"] == 0
        rate = float(np.abs(found.state.v * self.model.system.tree.weights).max())
        compute_velocity_residuals(work, found.state.v)
        values, a = np.zeros(len(work.rows)), np.zeros(self.model.nv)
        compute_row_accelerations(self.model.system, work, a, values)
        for wrong, size in ((work.rows["residual"].copy(), rate), (values, rate**2)):
            errors = np.abs(wrong * work.rows["weight"])[equality]
            if (errors > STEADY * size).any():
                row = self.model.names.rows[int(np.flatnonzero(equality)[np.argmax(errors)])]
                raise RunFailed(
                    f"{row.section}.{row.element}: does not allow constant rates of {self._listed(self._held)} while "
                    "all other coordinates rest: choose coordinates of a rotation of the whole mechanism"
                )

    def _named(self, found: Equilibrium, others: tuple[Statics, ...]) -> Statics:
        model, tree = self.model, self.model.system.tree
        names, active = model.names.rows, found.active
        forces = tuple(
            RowForce(f"{names[r].section}.{names[r].element}", names[r].direction, float(found.multipliers[r]))
            for r in np.flatnonzero(active)
        )
        pressed = {one.element for one in forces}
        released = dict.fromkeys(f"{names[r].section}.{names[r].element}" for r in np.flatnonzero(~active))
        free = int(np.count_nonzero(~(tree.driven | self._held)[: self._n]))
        held = np.flatnonzero((tree.driven | self._held)[: self._n])
        balance = UnbalancedForces(model, found.state.copy()).at(found.state.q, found.multipliers)
        own = tuple(one for one in self.names.all if one.iv < self._n)
        columns = [one.iv for one in own]
        values, before = (_coordinates_of(model, q)[columns] for q in (found.state.q, self._written))
        part = np.abs(found.directions[:, 0] * tree.weights) if found.directions.shape[1] else np.zeros(0)
        softest = int(np.argmax(part)) if len(part) else None
        return Statics(
            time=float(found.state.time[0]),
            coordinates=own,
            values=values,
            changes=values - before,
            found=found,
            rows=forces,
            open=tuple(name for name in released if name not in pressed),
            redundant=int(np.count_nonzero(active)) - (free - len(found.stiffness)),
            drives={self.names.by_index(int(iv)).name: float(-balance[iv]) for iv in held},
            softest="" if softest is None else self.names.by_index(softest).name,
            unit_displacement=math.nan if softest is None else 1.0 / float(tree.weights[softest]),
            others=others,
            kinks=tuple(side_of_kink(self.names.by_index(iv).name, side) for iv, side in found.kinks),
        )

    def _listed(self, flags: Flags) -> str:
        return ", ".join(f"`{self.names.by_index(int(iv)).name}`" for iv in np.flatnonzero(flags))


def _coordinates_of(model: Model, q: Floats) -> Floats:
    """Return the coordinates (nv,) of q (nq,): a rotation is the vector of its quaternion, or has its own three."""
    tree, found = model.system.tree, np.zeros(model.nv)
    found[tree.plain["iv"]] = q[tree.plain["iq"]]
    for one in tree.quaternions:
        w, *u = q[one["iq"] : one["iq"] + 4]
        found[one["iv"] : one["iv"] + 3] = vector_of_quaternion(w, Vec3(*u))
    for one in tree.exponentials:
        found[one["iv"] : one["iv"] + 3] = q[one["iq"] : one["iq"] + 3]
    return found


def read_rate(one: CoordinateName, rate: float | str) -> float:
    """Return the rate of a coordinate, rad/s or m/s.

    Raises
    ------
    ArgumentError
        It is no number, or has another unit than the rates of this coordinate.
    """
    try:
        return Quantity(COORDINATE_KINDS["v"][Coordinate(one.unit)]).read(rate)
    except QuantityError as error:
        raise ArgumentError(f"--steady {one.name}={rate}: {error}") from None


def read_rates(texts: Sequence[str]) -> dict[str, str | None]:
    """Return the rates of `COORDINATE=RATE`, or None of `COORDINATE` alone."""
    parts = (text.partition("=") for text in texts)
    return {name: value if equals else None for name, equals, value in parts}


def read_instant(text: str | None) -> float | None:
    """Return the time of `--at`, s.

    Raises
    ------
    ArgumentError
        It is no time.
    """
    try:
        return None if text is None else Quantity(units.TIME, least=0.0).read(text)
    except QuantityError as error:
        raise ArgumentError(f"--at {text}: {error}") from None


def require_instant(at: float) -> None:
    """Refuse a time before the start of a run."""
    if not at >= 0.0:
        raise ArgumentError(f"--at {at:g}: expected a time of at least 0 s")
