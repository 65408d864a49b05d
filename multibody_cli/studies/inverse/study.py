"""Inverse dynamics: the forces on coordinates that cause a measured motion, and the muscles that supply them.

With the equations of motion M a + bias = B f + G^T lambda, forces f on some coordinates and constraint forces G^T
lambda, and the columns of N a basis of the rates that the constraints allow,

    N^T B f = N^T (M a + bias).

By default, as many coordinates have forces as there are degrees of freedom: f is unique.  They are those of the table
first, and coordinates that couplings compute from others last.  With more forces, f has the least sum of squares.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), chapters 5 and 8; for the muscles `static_optimization`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from multibody_cli.errors import ArgumentError, listed, nearest
from multibody_cli.forces.elements import MUSCLES
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats
from multibody_cli.model import Model, State
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.studies.inverse.consistency import ConsistentMotion, spanning
from multibody_cli.studies.inverse.coordinates import CoordinateName, Coordinates, dependent_coordinates
from multibody_cli.studies.inverse.drives import with_unknown_drives
from multibody_cli.studies.inverse.fitted_motion import FittedMotion, Misfit, motion_from
from multibody_cli.studies.inverse.loads import outside_of_tables
from multibody_cli.studies.inverse.motion import MeasuredMotion, of_tree, refuse_closing
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


class InverseDynamics(Immutable, eq=False):
    """Forces of a motion.

    Parameters
    ----------
    times
        (T,) instants, s.
    coordinates
        The c coordinates with forces.
    forces
        (T, c) required forces on them, N m or N: with muscles, by muscles and reserve actuators together.
    residuals
        Names of those on which no actuator and no muscle of the scene acts.
    muscles
        Names of the m muscles; empty if they were not asked for.
    activations, tensions
        (T, m) activations, and tensions, N.
    reserves
        (T, c) forces of the reserve actuators.
    changes
        Largest change of each coordinate of the motion by constraints that contradict it, by name; without round-off.
    held
        Coordinates that neither the motion nor the constraints determine; they keep their start.
    ignored
        Columns of the table that are no coordinates, or those of prescribed ones and of joints that close loops.
    left_out
        Actuators of the scene, whose forces are unknown.
    remarks
        Contacts and dry friction of the scene, which do not act, forces whose tables do not reach all instants, missing
        markers, and coordinates that markers do not determine.
    misfits
        Differences of measured points, bodies and coordinates from the motion that fits them; empty without markers.
    """

    times: Floats
    coordinates: tuple[CoordinateName, ...]
    forces: Floats
    residuals: tuple[str, ...]
    muscles: tuple[str, ...]
    activations: Floats
    tensions: Floats
    reserves: Floats
    changes: dict[str, float]
    held: tuple[str, ...]
    ignored: tuple[str, ...]
    left_out: tuple[str, ...]
    remarks: tuple[str, ...]
    misfits: tuple[Misfit, ...] = ()

    def force(self, coordinate: str) -> Floats:
        """Return the force (T,) on a coordinate."""
        return self.forces[:, [one.name for one in self.coordinates].index(coordinate)]

    def activation(self, muscle: str) -> Floats:
        """Return the activation (T,) of a muscle."""
        return self.activations[:, self.muscles.index(muscle)]

    def weaknesses(self, share: float) -> list[str]:
        """Report the coordinates whose reserve exceeds a share of the largest force, with the time and the muscles."""
        found = []
        for k, one in enumerate(self.coordinates if self.muscles else ()):
            reserve, largest = np.abs(self.reserves[:, k]), float(np.abs(self.forces[:, k]).max())
            if one.name in self.residuals or not reserve.max() > share * largest:
                continue
            worst, count = int(np.argmax(reserve)), int(np.count_nonzero(reserve > share * largest))
            full = [name for name, a in zip(self.muscles, self.activations[worst], strict=True) if a > 1.0 - FULL]
            cause = "where reserves cost less than muscles, as with a smaller --reserve they would not"
            if full:
                cause = f"with full activation of {listed(full, MOST_NAMES, 'muscles')}"
            found.append(
                f"muscles cannot supply {one.name} at {count} of {len(self.times)} instants: a reserve of "
                f"{self.reserves[worst, k]:.3g} of {self.forces[worst, k]:.3g} at t = {self.times[worst]:g} s, {cause}"
            )
        return found


FULL = 1e-6
"""Difference from full activation that is round-off."""

MOST_NAMES = 5
"""Largest number of muscles that a message lists."""


ROUND_OFF = 1e-9
"""Change of a coordinate by constraints that is round-off, rad or m."""


def _without_effect(scene: SceneSpec) -> Iterator[str]:
    """Report contacts and dry friction."""
    if scene.contacts is not None:
        yield "contacts have no forces here but those of --loads"
    sources = [*(f"joints.{name}" for name in scene.friction_joints), *(".".join(one) for one in scene.brakes)]
    if sources:
        yield f"dry friction has no forces here: {listed(sources, MOST_NAMES, 'elements')}"


Record = Callable[[State], None]
"""Records an instant, at which the drives have their forces."""


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
        model, scene = prepared.compiled.model, prepared.scene
        if not question.reserve > 0.0:
            raise ArgumentError(f"--reserve {question.reserve:g}: expected a force above 0")
        self._question, self._names = question, Coordinates(scene, model)
        driven = model.system.tree.driven
        self._unknown = [one for one in self._names.all if not driven[one.iv]]
        self.drives = with_unknown_drives(model, {one.name: one.iv for one in self._unknown}, question.passive)
        fresh = prepared.fresh_state()
        self._fitted = self._read(model, fresh.copy(), motion)
        if self._fitted.configurations is not None:
            fresh.q[:] = self._fitted.configurations[0]
        self.motion, self._ignored = of_tree(self._fitted.motion, model, self._names)
        self.state = fresh._replace(ledger=np.zeros(len(self.drives.model.names.accounts)))
        self._remarks = (*_without_effect(scene), *outside_of_tables(scene, self.motion.times), *self._fitted.remarks)
        self._dependent = dependent_coordinates(scene, self._names)
        self._consistent = ConsistentMotion(
            self.drives.model, self.state, self.motion.coordinates.tolist(), self._dependent
        )
        self._equations = EquationsOfMotion(self.drives.model)
        self._least = np.asarray(model.system.forces.tables[MUSCLES]["least"])
        self._muscles = tuple(entry.name for entry in model.names.muscles) if question.muscles else ()
        if question.muscles and not self._muscles:
            raise ArgumentError("--muscles: the scene has no muscles")
        self._preferred = [self._known(name) for name in question.forces_on]

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

    def solve(self, record: Record = lambda _state: None) -> InverseDynamics:
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
        motion, found = self.motion, list[tuple[Floats, Effort, Floats]]()
        sought: list[CoordinateName] = []
        for k, time in enumerate(motion.times):
            state, a = self._consistent.advance(float(time), motion.q[k], motion.v[k], motion.a[k])
            refuse_closing(self._fitted.motion, self._consistent.held, self.drives.model, self._names)
            N = self._consistent.directions(state)
            sought = sought or self._choose(state, a, N)
            found.append(self._share(state, a, N, sought))
            record(state)
        return self._result(sought, found)

    def _choose(self, state: State, a: Floats, N: Floats) -> list[CoordinateName]:
        """Return the coordinates with forces: the preferred ones, and further ones up to the degrees of freedom."""
        given = [iv for iv in self.motion.coordinates.tolist() if iv not in self._dependent]
        others = map(self._names.by_index, self._consistent.order(given))
        order = list(dict.fromkeys([*self._preferred, *(one for one in others if one in self._unknown)]))
        weights = self.drives.model.system.tree.weights[[one.iv for one in order]]
        rows = self._columns(state, a, self._equations.inverse_dynamics(state, a), order).T @ N
        needed = {order[k].iv for k in spanning(rows * weights[:, None])} | {one.iv for one in self._preferred}
        return [one for one in self._names.all if one.iv in needed]

    def _share(self, state: State, a: Floats, N: Floats, sought: list[CoordinateName]) -> tuple[Floats, Effort, Floats]:
        """Return the required forces (c,), the activations and reserves that supply them, and the tensions (m,).

        The drives then have these forces.
        """
        drives, count = self.drives, len(self._muscles)
        drives.forces[:] = drives.activations[:] = 0.0
        needed = self._equations.inverse_dynamics(state, a)
        onto = np.linalg.pinv(N.T @ self._columns(state, a, needed, sought)) @ N.T
        muscles = [self._effect(state, a, needed, drives.activations[k:][:1]) for k in range(count)]
        required, A = onto @ needed, onto @ np.reshape(muscles, (count, len(needed))).T
        effort = share_forces(A, required, np.full(len(sought), self._question.reserve), self._least[:count])
        drives.activations[:count] = effort.activations
        for one, force in zip(sought, effort.reserves, strict=True):
            drives.forces[self._unknown.index(one)] = force
        return required, effort, self._equations.tensions(state)[:count]

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

    def _effect(self, state: State, a: Floats, needed: Floats, drive: Floats) -> Floats:
        """Return the generalized force (n,) of a drive (1,) of 1, with all others 0."""
        drive[:] = 1.0
        found = needed - self._equations.inverse_dynamics(state, a)
        drive[:] = 0.0
        return found

    def _result(self, sought: list[CoordinateName], found: list[tuple[Floats, Effort, Floats]]) -> InverseDynamics:
        names, changes = self._names, self._consistent.changes
        moved = {text for entry in self.drives.model.names.muscles for text in entry.coordinates}
        acted = self.drives.driven | {one.iv for one in names.all if one in map(names.find, moved)}
        given = [names.by_index(int(iv)).name for iv in self.motion.coordinates]
        return InverseDynamics(
            times=self.motion.times,
            coordinates=tuple(sought),
            forces=np.array([forces for forces, _, _ in found]),
            residuals=tuple(one.name for one in sought if acted and one.iv not in acted),
            muscles=self._muscles,
            activations=np.array([effort.activations for _, effort, _ in found]),
            tensions=np.array([tensions for _, _, tensions in found]),
            reserves=np.array([effort.reserves for _, effort, _ in found]),
            changes={name: float(size) for name, size in zip(given, changes, strict=True) if size > ROUND_OFF},
            held=tuple(names.by_index(int(iv)).name for iv in self._consistent.held),
            ignored=self._ignored,
            left_out=self.drives.left_out,
            remarks=self._remarks,
            misfits=self._fitted.misfits,
        )
