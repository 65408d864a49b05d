"""Inverse dynamics: the forces on coordinates that cause a measured motion, and the muscles that supply them.

With the equations of motion M a + bias = B f + G^T lambda, forces f on some coordinates and constraint forces G^T
lambda, and the columns of N a basis of the rates that the constraints allow,

    N^T B f = N^T (M a + bias).

By default, as many coordinates have forces as there are degrees of freedom: f is unique.  They are those of the table
first, and coordinates that couplings compute from others last.  With more forces, f has the least sum of squares.

With closed contacts (`closed_contacts`), their forces and those of the drives balance the motion with the least sum of
squares, moments over the length of the mechanism (`least_forces`).  With muscles too, it is that of activations, of
reserves over their optimal force, and of contact forces over the strength of the strongest muscle.  The part of the
motion that they cannot cause is a force on further coordinates, the residual.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), chapters 5 and 8; for the muscles `static_optimization`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from multibody_cli.errors import ArgumentError, listed, nearest
from multibody_cli.forces.elements import MUSCLES
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats
from multibody_cli.model import Model, State
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.studies.inverse.closed_contacts import SLIP, ClosedContacts, ContactForce
from multibody_cli.studies.inverse.consistency import DEPENDENT, ConsistentMotion, spanning
from multibody_cli.studies.inverse.coordinates import CoordinateName, Coordinates, dependent_coordinates
from multibody_cli.studies.inverse.drives import with_unknown_drives
from multibody_cli.studies.inverse.fitted_motion import FittedMotion, motion_from
from multibody_cli.studies.inverse.inverse_dynamics import MOST_NAMES, InverseDynamics
from multibody_cli.studies.inverse.loads import outside_of_tables
from multibody_cli.studies.inverse.motion import MeasuredMotion, of_tree, refuse_closing
from multibody_cli.studies.inverse.one_sided import OneSidedRows, with_taut_ropes
from multibody_cli.studies.inverse.static_optimization import Effort, share_forces
from multibody_cli.studies.phases import require_unchanged
from multibody_cli.studies.simulation import PreparedSimulation

OVERRIDES = ("simulation.method=aba", "simulation.options={}", "expect=[]")
"""Settings of the scene: coordinates of joints, and no expectations of a run."""


class Question(Immutable):
    """A problem of inverse dynamics: the motion, the unknown forces and the means to compute them.

    Parameters
    ----------
    motion
        A table or a result file with the motion; None for that of the scene.
    forces_on
        Coordinates with forces; by default as many as there are degrees of freedom.
    muscles
        Whether muscles supply the forces.
    passive
        Whether muscles have passive forces.
    reserve
        Optimal force of the reserve actuator of each coordinate, N or N m.
    cutoff
        Cutoff frequency of the filter of the table, Hz; None for none.
    start, end
        First and last instant, s; by default those of the motion.
    weights
        Weights of measured points, bodies and coordinates, `NAME=NUMBER`; 1 by default.
    gap, slip
        Largest gap of closed contacts, m, None if contacts have no forces; and the speed above which they slide, m/s.
    """

    motion: Path | None
    forces_on: tuple[str, ...] = ()
    muscles: bool = False
    passive: bool = False
    reserve: float = 1.0
    cutoff: float | None = None
    start: float | None = None
    end: float | None = None
    weights: tuple[str, ...] = ()
    gap: float | None = None
    slip: float = SLIP


UNBALANCED = 1e-6
"""Residual, relative to the largest force, that is round-off."""

ROUND_OFF = 1e-9
"""Change of a coordinate by constraints that is round-off, rad or m."""


def _without_effect(scene: SceneSpec, has_contacts: bool, resists_rolling: bool) -> Iterator[str]:
    """Report contacts and dry friction."""
    if scene.contacts is not None and not has_contacts:
        yield "contacts have no forces here but those of --loads; with --contacts GAP closed ones do"
    if has_contacts and resists_rolling:
        yield "contacts resist neither rolling nor spinning here"
    ropes = [("constraints", name) for name in scene.friction_constraints]
    sources = [*(f"joints.{name}" for name in scene.friction_joints), *map(".".join, [*scene.brakes, *ropes])]
    if sources:
        yield f"dry friction has no forces here: {listed(sources, MOST_NAMES, 'elements')}"


class _Instant(NamedTuple):
    sought: tuple[CoordinateName, ...]
    required: Floats
    effort: Effort
    tensions: Floats
    contacts: tuple[ContactForce, ...] = ()
    residual: Floats = np.zeros(0)
    resultants: Mapping[str, Floats] = {}

    def among(self, sought: Sequence[CoordinateName]) -> _Instant:
        """Return the instant with forces on the given coordinates, of which some are 0."""
        places = [sought.index(one) for one in self.sought]
        required, reserves = np.zeros((2, len(sought)))
        required[places], reserves[places] = self.required, self.effort.reserves
        return self._replace(required=required, effort=self.effort._replace(reserves=reserves))


Record = Callable[..., None]
"""Records an instant, at which the drives have their forces, with the resultants of contacts as samples."""


class InverseProblem:
    """The inverse dynamics of one scene and one motion.

    Parameters
    ----------
    prepared
        The scene, with `OVERRIDES`.
    question
        The problem of inverse dynamics.
    motion
        The motion, instead of that of the file.

    Attributes
    ----------
    drives, state, motion
        The model with unknown drives, its state, and the motion.

    Raises
    ------
    ArgumentError
        A file or a name cannot be used, or an event changes the scene.
    """

    def __init__(self, prepared: PreparedSimulation, question: Question, motion: MeasuredMotion | None = None) -> None:
        require_unchanged(prepared)
        scene, fresh = prepared.scene, prepared.fresh_state()
        model = with_taut_ropes(prepared.compiled.model, fresh)
        if not question.reserve > 0.0:
            raise ArgumentError(f"--reserve {question.reserve:g}: expected a force above 0")
        self._question, self._names = question, Coordinates(scene, model)
        driven = model.system.tree.driven
        self._unknown = [one for one in self._names.all if not driven[one.iv]]
        self._contacts = ClosedContacts(model, question.gap, question.slip) if question.gap is not None else None
        self.drives = with_unknown_drives(
            model,
            {one.name: one.iv for one in self._unknown},
            question.passive,
            self._contacts.rows if self._contacts else (),
        )
        self._fitted = self._read(prepared.compiled.model, fresh.copy(), motion)
        self.motion, self._ignored = of_tree(self._fitted.motion, model, self._names)
        self.state = fresh._replace(ledger=np.zeros(len(self.drives.model.names.accounts)))
        self._remarks = (
            *_without_effect(scene, question.gap is not None, model.names.resists_rolling),
            *outside_of_tables(scene, self.motion.times),
            *self._fitted.remarks,
        )
        self._dependent = dependent_coordinates(scene, self._names)
        self._consistent = ConsistentMotion(
            self.drives.model, self.state, self.motion.coordinates.tolist(), self._dependent
        )
        if self._fitted.configurations is not None:
            fresh.q[:] = self._fitted.configurations[0]
        self._one_sided = OneSidedRows(prepared.compiled.model, self._consistent.rows)
        self._equations = EquationsOfMotion(self.drives.model)
        self._muscles = tuple(entry.name for entry in model.names.muscles) if question.muscles else ()
        muscles = model.system.forces.tables[MUSCLES][: len(self._muscles)]
        self._least, self._strongest = np.asarray(muscles["least"]), float(muscles["strength"].max(initial=0.0))
        if question.muscles and not self._muscles:
            raise ArgumentError("--muscles: the scene has no muscles")
        self._preferred = [self._known(name) for name in question.forces_on]
        self._residual = list[CoordinateName]()
        self._driven = self._preferred or [one for one in self._unknown if one.iv in self._acted]

    def _read(self, model: Model, state: State, motion: MeasuredMotion | None) -> FittedMotion:
        """Return the motion between the first and the last instant."""
        asked = self._question
        whole = FittedMotion(motion) if motion is not None else None
        whole = whole or motion_from(asked.motion, model, state, self._names, asked.cutoff, asked.weights)
        return whole.between(asked.start, asked.end)

    def _known(self, name: str) -> CoordinateName:
        one = self._names.find(name)
        if one is None or one not in self._unknown:
            known = [other.name for other in self._unknown]
            raise ArgumentError(f"--on {name}: no coordinate `{name}` that can have a force: {nearest(name, known)}")
        return one

    def solve(self, record: Record = lambda _state, **_resultants: None) -> InverseDynamics:
        """Compute the forces of all instants.

        Parameters
        ----------
        record
            Called at each instant with the state; the drives then have their forces.

        Raises
        ------
        RunFailed
            Loops or constraints cannot be satisfied.
        """
        motion, found = self.motion, list[_Instant]()
        sought: list[CoordinateName] = []
        for k, time in enumerate(motion.times):
            state, a = self._consistent.advance(float(time), motion.q[k], motion.v[k], motion.a[k])
            refuse_closing(self._fitted.motion, self._consistent.held, self.drives.model, self._names)
            N = self._consistent.directions(state)
            own = self._choose(state, a, N) if not sought or (self._preferred and not self._contacts) else sought
            sought = [one for one in self._names.all if one in sought or one in own]
            found.append(self._balance(state, a, N, own) if self._contacts else self._share(state, a, N, own))
            self._one_sided.observe(self._equations.inverse_dynamics(state, a))
            record(state, **found[-1].resultants)
        return self._result(sought, [one.among(sought) for one in found])

    def _choose(self, state: State, a: Floats, N: Floats) -> list[CoordinateName]:
        """Return the coordinates with forces: the preferred ones, and further ones up to the degrees of freedom.

        Preferred ones whose forces cause no motion, as at a dead centre, have none.
        With contacts, the further ones are first of all those without drives.
        """
        given = [iv for iv in self.motion.coordinates.tolist() if iv not in self._dependent]
        others = map(self._names.by_index, self._consistent.order(given))
        order = list(dict.fromkeys([*self._preferred, *(one for one in others if one in self._unknown)]))
        weights = self.drives.model.system.tree.weights[[one.iv for one in order]]
        rows = self._columns(state, a, self._equations.inverse_dynamics(state, a), order).T @ N * weights[:, None]
        rank = (
            np.argsort([one in self._driven for one in order], kind="stable") if self._contacts else range(len(order))
        )
        chosen = [rank[k] for k in spanning(rows[rank])]
        acts = np.linalg.norm(rows, axis=1) > DEPENDENT
        needed = {one.iv for k, one in enumerate(order) if k in chosen or (acts[k] and one in self._preferred)}
        if self._contacts:
            self._residual = [order[k] for k in chosen]
            needed |= {one.iv for one in self._driven}
        return [one for one in self._names.all if one.iv in needed]

    def _balance(self, state: State, a: Floats, N: Floats, sought: list[CoordinateName]) -> _Instant:
        """Return the forces of muscles, drives and contacts of least norm, and the residual; they then act."""
        drives, driven, tree, count = self.drives, self._driven, self.drives.model.system.tree, len(self._muscles)
        assert self._contacts is not None
        drives.forces[:] = drives.activations[:] = drives.contacts[:] = 0.0
        needed = self._equations.inverse_dynamics(state, a)
        arms, unit = tree.length * tree.weights[[one.iv for one in driven]], 1.0
        if count:
            arms, unit = np.full(len(driven), self._question.reserve), self._strongest
        B, rest = (self._columns(state, a, needed, some) for some in (driven, self._residual))
        muscles = self._effects(state, a, needed)
        limits = [*((low, 1.0) for low in self._least.tolist()), *((-np.inf, np.inf),) * len(driven)]
        found = self._contacts.balance(
            self._equations.kinematics(state), N.T, needed, np.column_stack([muscles, B * arms]), limits, unit
        )
        residual: Floats = np.asarray(np.linalg.solve(N.T @ rest, found.residual), np.float64)
        activations, own = found.drives[:count], found.drives[count:] * arms
        forces = dict.fromkeys(sought, 0.0)
        for one, force in zip((*driven, *self._residual), (*own, *residual), strict=True):
            forces[one] += float(force)
        for one, force in forces.items():
            drives.forces[self._unknown.index(one)] = force
        drives.activations[:count], drives.contacts[:] = activations, found.wrenches
        reserves = np.array(list(forces.values()))
        required = reserves + self._onto(state, a, N, needed, sought) @ (muscles @ activations)
        tensions = self._equations.tensions(state)[:count]
        effort = Effort(activations, reserves)
        return _Instant(tuple(sought), required, effort, tensions, found.contacts, residual, found.resultants)

    def _share(self, state: State, a: Floats, N: Floats, sought: list[CoordinateName]) -> _Instant:
        """Return the required forces (c,), the activations and reserves that supply them, and the tensions (m,).

        The drives then have these forces.
        """
        drives, count = self.drives, len(self._muscles)
        drives.forces[:] = drives.activations[:] = 0.0
        needed = self._equations.inverse_dynamics(state, a)
        onto = self._onto(state, a, N, needed, sought)
        required, A = onto @ needed, onto @ self._effects(state, a, needed)
        effort = share_forces(A, required, np.full(len(sought), self._question.reserve), self._least)
        drives.activations[:count] = effort.activations
        for one, force in zip(sought, effort.reserves, strict=True):
            drives.forces[self._unknown.index(one)] = force
        return _Instant(tuple(sought), required, effort, self._equations.tensions(state)[:count])

    def _columns(self, state: State, a: Floats, needed: Floats, sought: list[CoordinateName]) -> Floats:
        """Return the generalized forces B (n, c) of a unit force on each coordinate, of closing joints too."""
        unit, forces = np.eye(len(needed)), self.drives.forces
        columns = [
            unit[one.iv]
            if one.iv < len(needed)
            else self._effect(state, a, needed, forces[self._unknown.index(one) :][:1])
            for one in sought
        ]
        return np.reshape(columns, (len(sought), len(needed))).T

    def _onto(self, state: State, a: Floats, N: Floats, needed: Floats, sought: list[CoordinateName]) -> Floats:
        """Return the map (c, n) of generalized forces to those on the coordinates with the same effect."""
        return np.asarray(np.linalg.pinv(N.T @ self._columns(state, a, needed, sought)) @ N.T)

    def _effects(self, state: State, a: Floats, needed: Floats) -> Floats:
        """Return the generalized forces (n, m) of the muscles at full activation."""
        activations, count = self.drives.activations, len(self._muscles)
        effects = [self._effect(state, a, needed, activations[k:][:1]) for k in range(count)]
        return np.reshape(effects, (count, len(needed))).T

    def _effect(self, state: State, a: Floats, needed: Floats, drive: Floats) -> Floats:
        """Return the generalized force (n,) of a drive (1,) of 1, with all others 0."""
        drive[:] = 1.0
        found = needed - self._equations.inverse_dynamics(state, a)
        drive[:] = 0.0
        return found

    @property
    def _acted(self) -> frozenset[int]:
        """Indices in v of the coordinates on which actuators or muscles of the scene act."""
        moved = {text for entry in self.drives.model.names.muscles for text in entry.coordinates}
        return self.drives.driven | {one.iv for one in self._names.all if one in map(self._names.find, moved)}

    def _unbalanced(self, found: list[_Instant]) -> Iterator[str]:
        """Report the largest residual of a motion with contacts, and at how many instants there is one."""
        if not self._driven:
            yield "no coordinate has a drive: contacts alone cause the motion; --on names coordinates with drives"
        residuals = np.abs([one.residual for one in found])
        sizes = [np.hstack([one.required, *(own.force for own in one.contacts)]) for one in found]
        large = residuals > UNBALANCED * max(float(np.abs(own).max(initial=0.0)) for own in sizes)
        if large.any():
            count = np.count_nonzero(large.any(axis=1))
            k, j = np.unravel_index(np.argmax(residuals), residuals.shape)
            yield (
                f"no admissible forces of contacts and drives cause the motion at {count} of {len(found)} instants: a "
                f"residual of {residuals[k, j]:.3g} on {self._residual[j].name} at t = {self.motion.times[k]:g} s"
            )

    def _ineffective(self, found: list[_Instant]) -> Iterator[str]:
        """Report that no force is unknown, and where the force on a preferred coordinate causes no motion."""
        if not any(one.sought for one in found):
            yield (
                "no force is unknown: each coordinate has a motion, or follows from one that has. A run has the forces "
                "of drives as channels; --set joints.NAME.motion=null makes one unknown here"
            )
        for one in self._preferred:
            without = [k for k, instant in enumerate(found) if one not in instant.sought]
            if without:
                others = (other for k in without for other in found[k].sought if other not in self._preferred)
                names = ", ".join(dict.fromkeys(f"`{other.name}`" for other in others))
                yield (
                    f"a force on `{one.name}` causes no motion at {len(without)} of {len(found)} instants, first at "
                    f"t = {self.motion.times[without[0]]:g} s: the force on {names} causes it there"
                )

    def _result(self, sought: list[CoordinateName], found: list[_Instant]) -> InverseDynamics:
        names, changes, acted = self._names, self._consistent.changes, self._acted
        if self._contacts:
            acted = frozenset(one.iv for one in self._driven)
        causes = self._unbalanced(found) if self._contacts else self._ineffective(found)
        remarks = (*self._remarks, *self._one_sided.remarks(self.motion.times), *causes)
        given = [names.by_index(int(iv)).name for iv in self.motion.coordinates]
        return InverseDynamics(
            times=self.motion.times,
            coordinates=tuple(sought),
            forces=np.array([one.required for one in found]),
            residuals=tuple(one.name for one in sought if (acted or self._contacts) and one.iv not in acted),
            muscles=self._muscles,
            activations=np.array([one.effort.activations for one in found]),
            tensions=np.array([one.tensions for one in found]),
            reserves=np.array([one.effort.reserves for one in found]),
            changes={name: float(size) for name, size in zip(given, changes, strict=True) if size > ROUND_OFF},
            held=tuple(names.by_index(int(iv)).name for iv in self._consistent.held),
            ignored=self._ignored,
            left_out=self.drives.left_out,
            remarks=remarks,
            misfits=self._fitted.misfits,
            contacts=tuple(one.contacts for one in found) if self._contacts else (),
        )
