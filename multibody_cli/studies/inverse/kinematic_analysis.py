"""Kinematic analysis: the motion of all coordinates without forces, its singular positions, and its four-bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.interpolate import BPoly

from multibody_cli.errors import ArgumentError, RunFailed, nearest
from multibody_cli.immutable import Immutable, replace
from multibody_cli.initial.assemble import Assembler
from multibody_cli.kernel import Floats, Integers, frozen
from multibody_cli.model import State
from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.studies.inverse.consistency import ConsistentMotion, spanning
from multibody_cli.studies.inverse.continuation import REGULAR, Reached, continued
from multibody_cli.studies.inverse.coordinates import CoordinateName, Coordinates, dependent_coordinates
from multibody_cli.studies.inverse.equality_rows import EqualityRows
from multibody_cli.studies.inverse.fitted_motion import FittedMotion, Misfit, motion_from
from multibody_cli.studies.inverse.four_bars import (
    FourBar,
    Pins,
    branch_of,
    four_bars,
    grashof_class,
    lengths_of,
    transmission_angle,
)
from multibody_cli.studies.inverse.motion import MeasuredMotion, of_tree, refuse_closing
from multibody_cli.studies.inverse.one_sided import with_taut_ropes
from multibody_cli.studies.inverse.singular_positions import (
    SingularPosition,
    measure_of,
    relative_rank,
    singular_positions,
)
from multibody_cli.studies.inverse.study import ROUND_OFF, Question
from multibody_cli.studies.phases import require_unchanged
from multibody_cli.studies.simulation import PreparedSimulation

MOVES = 1e-3
"""Part of a coordinate in a free motion, relative to the largest, above which it takes part."""


class Linkage(Immutable, eq=False):
    """A planar four-bar in motion.

    Parameters
    ----------
    bar
        Its hinges and bodies.
    lengths
        (4,) lengths of frame, input, coupler and output, m.
    kind
        Its class (`four_bars.grashof_class`).
    transmission
        (T,) transmission angles, rad.
    sides
        (T,) the assembly branch at each instant (`four_bars.branch_of`).
    name
        The hinge of its input; all hinges, where another four-bar has the same one.
    """

    bar: FourBar
    lengths: Floats
    kind: str
    transmission: Floats
    sides: tuple[str, ...]
    name: str

    @property
    def branches(self) -> tuple[str, ...]:
        """The assembly branches in the order of the motion; one, if it keeps its branch."""
        return tuple(side for side in dict.fromkeys(self.sides) if side != "between")


class Singularity(Immutable):
    """A singular position.

    Parameters
    ----------
    position
        Its instant and measure.
    kind
        `dead centre` or `branching point`.
    moves
        Coordinates that can move there although those that drive rest.
    """

    position: SingularPosition
    kind: str
    moves: tuple[str, ...]


class Kinematics(Immutable, eq=False):
    """A motion without forces.

    Parameters
    ----------
    times
        (T,) instants, s, up to the last one at which the constraints can be satisfied.
    coordinates
        The n coordinates, those of joints that close loops last.
    q, v, a
        (T, n) their values, rates and accelerations; a rotation of a spherical or free joint has no values (NaN).
    driving
        Coordinates that determine the motion, but for those that the scene prescribes.
    held
        Coordinates that nothing determines; they keep the values of the start.
    changes
        Largest change of each coordinate of the motion by constraints that contradict it, by name.
    ignored, remarks, misfits
        As those of `InverseDynamics`.
    linkages, singularities
        The four-bars, and the singular positions in the order of time.
    source, states
        A description of the motion, and the state at each instant.
    """

    times: Floats
    coordinates: tuple[CoordinateName, ...]
    q: Floats
    v: Floats
    a: Floats
    driving: tuple[str, ...]
    held: tuple[str, ...]
    changes: dict[str, float]
    ignored: tuple[str, ...]
    remarks: tuple[str, ...]
    misfits: tuple[Misfit, ...]
    linkages: tuple[Linkage, ...]
    singularities: tuple[Singularity, ...]
    source: str
    states: tuple[State, ...]


class _Instant(NamedTuple):
    state: State
    a: Floats
    of_others: Floats  # singular values of the columns that do not drive, and of all
    of_all: Floats
    change: Floats  # of the given coordinates by the constraints
    error: float  # of the constraints, relative to their scales
    pins: list[tuple[Floats, Floats]]


class KinematicProblem:
    """The motion of one scene, as `Question` asks; without a file it is that which the scene prescribes.

    Raises
    ------
    ArgumentError
        A file or a name cannot be used, there is neither a file nor a prescribed motion, or an event changes
        the scene.
    RunFailed
        The constraints cannot be satisfied.
    """

    def __init__(self, prepared: PreparedSimulation, question: Question) -> None:
        require_unchanged(prepared)
        self._scene, self._state = prepared.scene, prepared.fresh_state()
        self._model = with_taut_ropes(prepared.compiled.model, self._state)
        self._names = Coordinates(self._scene, self._model)
        self._fitted = self._read(prepared, question)
        self._motion, self._ignored = of_tree(self._fitted.motion, self._model, self._names)
        given = self._motion.coordinates.tolist()
        self._dependent = dependent_coordinates(self._scene, self._names)
        self._consistent = ConsistentMotion(self._model, self._state, given, self._dependent)
        if self._fitted.configurations is not None:
            self._state.q[:] = self._fitted.configurations[0]
        self._on = [self._known(name) for name in question.forces_on]
        unlocked = self._model.system.tree._replace(driven=frozen(np.zeros_like(self._model.system.tree.driven)))
        system = self._model.system._replace(tree=unlocked)
        self._unlocked = EqualityRows(replace(self._model, system=system), of_positions=True)
        self._sizes = Assembler(self._model, prepared.fresh_state()).scales.rows

    def _read(self, prepared: PreparedSimulation, asked: Question) -> FittedMotion:
        if asked.motion is not None:
            model, state = prepared.compiled.model, prepared.fresh_state()
            found = motion_from(asked.motion, model, state, self._names, asked.cutoff, asked.weights)
            return found.between(asked.start, asked.end)
        if not self._model.system.tree.driven.any():
            raise ArgumentError("--motion FILE is required: the scene prescribes no motion (`motion` of a joint)")
        timing = prepared.compiled.timing
        times: Floats = np.asarray(np.arange(0, timing.steps + 1, timing.steps_per_output) * timing.step, np.float64)
        none = np.zeros((len(times), 0))
        whole = MeasuredMotion(f"the motion of {self._scene.name}", times, np.zeros(0, np.int64), none, none, none)
        return FittedMotion(whole.between(asked.start, asked.end))

    def _known(self, name: str) -> int:
        one = self._names.find(name)
        if one is None:
            raise ArgumentError(f"--on {name}: no coordinate `{name}`: {nearest(name, self._names.names)}")
        return one.iv

    def solve(self) -> Kinematics:
        """Compute the motion and its singular positions."""
        motion, consistent, names = self._motion, self._consistent, self._names
        consistent.advance(float(motion.times[0]), motion.q[0], motion.v[0], motion.a[0])
        refuse_closing(self._fitted.motion, consistent.held, self._model, names)
        reached, failure = list[Reached](), None
        try:
            reached.extend(continued(consistent, self._state, self._wanted, motion.times.tolist()))
        except RunFailed as error:
            failure = error
            if not reached:
                raise
        regular = next((one.state for one in reached if one.determinacy > REGULAR), reached[0].state)
        driving, is_free = self._driving(regular), self._is_free(regular)
        bars = [*four_bars(self._scene, self._joints_of(driving))]
        pins = [Pins(bar, self._scene, self._model) for bar in bars]
        instants = [self._instant(one.state, one.a, one.change, driving, pins) for one in reached]
        equations, places = EquationsOfMotion(self._model), [one.iv for one in names.all]
        for one in instants:
            equations.accelerate(one.state, one.a)
        pairs = zip([names.by_index(int(iv)).name for iv in motion.coordinates], consistent.changes, strict=True)
        most = BEYOND if is_free else math.inf  # a table of dependent coordinates contradicts itself
        possible = [float(one.state.time[0]) for one in instants if not (one.change > most).any()]
        singularities = tuple(self._singularities(instants, driving, most) if self._model.system.is_constrained else ())
        if failure is not None and not any(one.position.is_end for one in singularities):
            raise failure
        return Kinematics(
            times=motion.times[: len(instants)],
            coordinates=names.all,
            q=np.array([consistent.values(one.state) for one in instants])[:, places],
            v=np.array([one.state.v for one in instants])[:, places],
            a=np.array([one.state.a for one in instants])[:, places],
            driving=tuple(names.by_index(iv).name for iv in driving),
            held=tuple(names.by_index(int(iv)).name for iv in consistent.held),
            changes={name: float(size) for name, size in pairs if size > ROUND_OFF},
            ignored=self._ignored,
            remarks=(*self._fitted.remarks, *self._choice(), *_ends(singularities, possible)),
            misfits=self._fitted.misfits,
            linkages=tuple(self._linkages(bars, instants)),
            singularities=singularities,
            source=motion.source,
            states=tuple(one.state for one in instants),
        )

    def _choice(self) -> Iterator[str]:
        """Report the branch of the start, where several meet."""
        branches = self._consistent.branches
        if branches and not np.any(branches):
            yield (
                "the motion starts at rest in a singular position: rates select no branch, and the motion follows one "
                "of those that meet there"
            )
        if len(branches) > 1:
            differ = np.ptp(branches, axis=0) > MOVES * np.abs(branches).max()
            rates = [f"`{self._names.by_index(int(j)).name}` {branches[0][j]:.4g}" for j in np.flatnonzero(differ)]
            yield (
                f"the motion starts at a singular position in which {len(branches)} branches meet, and follows that "
                f"with the rates {', '.join(rates)} (rad/s or m/s), nearest to the rates of the start: `v` of joints "
                "selects another"
            )

    def _joints_of(self, driving: list[int]) -> set[str]:
        """Return the joints with coordinates that drive, or that are prescribed."""
        driven = np.array(self._model.system.tree.driven)
        driven[driving] = True
        return {joint.name for joint in self._model.names.joints if driven[joint.columns].any()}

    def _driving(self, state: State) -> list[int]:
        """Return the coordinates that drive: those asked for, and as many others as determine the motion."""
        consistent, rows = self._consistent, self._consistent.rows
        rows.update(state)
        given = [iv for iv in self._motion.coordinates.tolist() if iv not in self._dependent]
        order = consistent.order([*self._on, *given])
        return [order[k] for k in spanning(rows.N[order] / rows.scales[order, None])]

    def _is_free(self, state: State) -> bool:
        """Return whether the coordinates of the motion are independent of each other."""
        rows, given = self._consistent.rows, self._motion.coordinates
        rows.update(state)
        return len(spanning(rows.N[given] / rows.scales[given, None])) == len(given)

    def _near(self, k: int, time: float) -> tuple[Floats, Floats, Floats]:
        """Return values, rates and accelerations (g,) at instant k, or between it and the next one."""
        motion = self._motion
        return (motion.q[k], motion.v[k], motion.a[k]) if time == motion.times[k] else self._between(k, time)

    def _wanted(self, time: float) -> tuple[Floats, Floats, Floats]:
        """Return values, rates and accelerations (g,) at a time of the motion."""
        return self._near(int(np.searchsorted(self._motion.times, time, side="right")) - 1, time)

    def _instant(self, state: State, a: Floats, change: Floats, driving: list[int], pins: list[Pins]) -> _Instant:
        G = self._jacobian(state)
        others = self._others(driving)
        errors = self._unlocked.errors() / self._sizes[self._unlocked.equalities()]
        error = float(np.abs(errors).max(initial=0.0))
        places = [one.at(self._unlocked.work.bodies) for one in pins]
        of_others, of_all = _singular_values(G[:, others]), _singular_values(G)
        return _Instant(state.copy(), a, of_others, of_all, change.copy(), error, places)

    def _jacobian(self, state: State) -> Floats:
        """Return the Jacobian of all coordinates, prescribed ones too, relative to the scales of the rows."""
        rows = self._unlocked
        rows.update(state.copy())
        return rows.G * rows.scales[rows.free] / self._sizes[rows.equalities(), None]

    def _others(self, driving: list[int]) -> Integers:
        """Return the coordinates of the tree that neither drive nor are prescribed."""
        return np.array([iv for iv in self._consistent.rows.free.tolist() if iv not in driving], np.int64)

    def _between(self, k: int, time: float) -> tuple[Floats, Floats, Floats]:
        """Return values, rates and accelerations (g,) between instants k and k + 1: quintic Hermite polynomials."""
        motion = self._motion
        if not motion.q.shape[1]:
            none = np.zeros(0)
            return none, none, none
        ends = motion.times[k : k + 2]
        data = np.stack([motion.q[k : k + 2], motion.v[k : k + 2], motion.a[k : k + 2]], axis=1)
        spline = BPoly.from_derivatives(ends, data)
        return spline(time), spline.derivative(1)(time), spline.derivative(2)(time)

    def _singularities(self, instants: list[_Instant], driving: list[int], most: float) -> Iterator[Singularity]:
        found, times = list[Singularity](), self._motion.times[: len(instants) + 1]
        for kind, field in (("branching point", "of_all"), ("dead centre", "of_others")):
            rank = relative_rank([getattr(one, field) for one in instants])
            measure = partial(_measure, field=field, rank=rank, most=most)
            measures = np.array([measure(one) for one in instants] + [math.inf])[: len(times)]
            between = partial(self._between_instants, instants, driving, measure)
            error = partial(self._between_instants, instants, driving, lambda one: one.error)
            positions = singular_positions(times, measures, between, error)
            for position in positions:
                if not any(abs(other.position.time - position.time) < NEAR * self._interval for other in found):
                    found.append(Singularity(position, kind, self._moves(instants, position.time, driving)))
        yield from sorted(found, key=lambda one: one.position.time)

    @property
    def _interval(self) -> float:
        return float(np.diff(self._motion.times).max(initial=0.0)) or 1.0

    def _place(self, instants: list[_Instant], k: int, time: float, driving: list[int]) -> _Instant:
        """Return the motion at a time, reached from instant k."""
        for own, there in zip(self._state, instants[k].state, strict=True):
            own[:] = there
        state, a = self._consistent.advance(time, *self._near(k, time))
        return self._instant(state, a, self._consistent.change, driving, [])

    def _between_instants(
        self, instants: list[_Instant], driving: list[int], quantity: Callable[[_Instant], float], k: int, time: float
    ) -> float:
        """Return a quantity at a time near instant k; infinite where the constraints cannot be satisfied."""
        try:
            return quantity(self._place(instants, k, time, driving))
        except RunFailed:
            return math.inf

    def _moves(self, instants: list[_Instant], time: float, driving: list[int]) -> tuple[str, ...]:
        """Return the coordinates that can move while those that drive rest."""
        k = int(np.clip(np.searchsorted(self._motion.times, time, side="right") - 1, 0, len(instants) - 1))
        self._place(instants, k, time, driving)
        others = self._others(driving)
        if not len(others):
            return ()
        sizes = np.abs(np.linalg.svd(self._jacobian(self._state)[:, others])[2][-1])
        return tuple(self._names.by_index(int(iv)).name for iv in others[sizes > MOVES * sizes.max()])

    def _linkages(self, bars: list[FourBar], instants: list[_Instant]) -> Iterator[Linkage]:
        inputs = [bar.joints[0] for bar in bars]
        for k, bar in enumerate(bars):
            lengths = lengths_of(*instants[0].pins[k])
            if lengths is not None:
                angles = np.array([transmission_angle(*one.pins[k]) for one in instants])
                sides = tuple(branch_of(*one.pins[k]) for one in instants)
                name = inputs[k] if inputs.count(inputs[k]) == 1 else "_".join(bar.joints)
                yield Linkage(bar, lengths, grashof_class(lengths.tolist()), angles, sides, name)


BEYOND = 1e-6
"""Change of the motion by the constraints, rad or m, above which it is impossible."""

NEAR = 1e-3
"""Distance of two singular positions, relative to the intervals, within which they are one."""


def _measure(there: _Instant, field: str, rank: int, most: float) -> float:
    """Return the measure of an instant; infinite where constraints change the motion by over `most`."""
    return math.inf if (there.change > most).any() else measure_of(getattr(there, field), rank)


def _ends(singularities: tuple[Singularity, ...], possible: list[float]) -> Iterator[str]:
    """Report the parts of the motion in which the constraints cannot be satisfied, up to the next possible instant."""
    for one in singularities:
        if one.position.is_end:
            time = next((time for time in possible if time > one.position.time), None)
            until = "the end of the motion" if time is None else f"the instant t = {time:.9g} s"
            yield (
                f"the motion leads beyond the {one.kind} at t = {one.position.time:.9g} s: the constraints cannot be "
                f"satisfied between there and {until}"
            )


def _singular_values(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.svd(matrix, compute_uv=False)) if matrix.size else np.zeros(0)
