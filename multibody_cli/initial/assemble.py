"""Assembly: satisfy all loops and constraints in the initial state.

Coordinates and rates that the scene gives are kept, and the others change as little as possible in the metric of the
mass matrix.  If this does not suffice, all of them change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multibody_cli.constraint_solver import solver as constraint_solver
from multibody_cli.constraint_solver.solver import (
    ACCELERATION,
    POSITION,
    VELOCITY,
    compute_velocity_residuals,
    largest_position_error,
    select_active_rows,
    update_kinematics,
)
from multibody_cli.kernel import records
from multibody_cli.linalg.free_rows import rank_of
from multibody_cli.model import KERNEL_BALL, KERNEL_GENERAL, KERNEL_SCREW, Floats, Model, State, System
from multibody_cli.tree.articulated_body import accelerate, apply_inverse_mass
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.workspace import workspace_for

Flags = NDArray[np.bool_]

MAX_ITERATIONS = 100

MAX_DISPLACEMENT = 0.3
"""Largest displacement of one iteration, rad or m; Newton's method diverges from far off."""

ASSEMBLED = 1e-10
"""Largest error of position or of velocity of a consistent state: m, rad, m/s or rad/s."""


@dataclass(frozen=True)
class AssemblyResult:
    """Result of assembly at the level of positions, or of velocities.

    Parameters
    ----------
    before, after
        Largest error of any row, as written and after assembly.
    row
        The row of the largest error: after assembly, if that failed; otherwise before.
    moved
        (nv,) change of each coordinate or rate.
    changed_given
        Whether coordinates or rates that the scene gives were changed.
    """

    before: float
    after: float
    row: int
    moved: Floats
    changed_given: bool

    @property
    def closed(self) -> bool:
        """Whether all rows are satisfied."""
        return self.after <= ASSEMBLED


class Assembler:
    """Corrects the state of one model, in place, by articulated-body solves."""

    def __init__(self, model: Model, state: State) -> None:
        self._model, self._state = model, state
        self._work = workspace_for(model.system)
        self._bound = constraint_solver.bind(accelerate, apply_inverse_mass)

    def assemble(self, level: int, kept: Flags) -> AssemblyResult:
        """Satisfy all rows at the level of positions, or of velocities; `kept` (nv,) are the given coordinates."""
        state = self._state
        start = state.q.copy(), state.v.copy()
        before, row = self._error(self._model.system, level)
        if before <= ASSEMBLED:
            return AssemblyResult(before, before, row, np.zeros_like(state.v), False)
        driven = self._model.system.tree.driven
        for held in (driven | kept, driven):
            state.q[:], state.v[:] = start
            moved = self._move(_with_fixed_coordinates(self._model.system, held), level)
            after, left = self._error(self._model.system, level)
            if after <= ASSEMBLED:
                return AssemblyResult(before, after, row, moved, held is driven)
        return AssemblyResult(before, after, left, moved, True)

    def dependent_rows(self) -> list[int]:
        """Return the equality rows that depend on others in the current configuration."""
        system, work = self._model.system, self._work
        self._place(system)
        accelerate(system, work, work.response)
        count = select_active_rows(work, ACCELERATION)
        self._bound.build_delassus(system, work, count)
        rank_of(work.dual.W[:count, :count], work.dual.solver)
        return [int(work.dual.active_rows[k]) for k in np.flatnonzero(work.dual.solver.dependent[:count])]

    def _move(self, system: System, level: int) -> Floats:
        state, work = self._state, self._work
        moved = np.zeros_like(state.v)
        for _ in range(MAX_ITERATIONS if level == POSITION else 2):
            error, _ = self._error(system, level)
            if not error > 0.1 * ASSEMBLED:
                break
            accelerate(system, work, work.response)
            self._bound.project(system, work, level)
            if level == VELOCITY:
                state.v[:] += work.response
                moved += work.response
                continue
            scale = min(1.0, MAX_DISPLACEMENT / max(np.abs(work.response).max(), 1e-300))
            displace(system.tree, state.q, work.response, scale)
            normalize(system.tree, state.q)
            moved += scale * work.response
        moved[system.tree.links["nv"].sum() :] = 0.0  # coordinates of closures follow from the others
        return moved

    def _place(self, system: System) -> None:
        state = self._state
        update_kinematics(system, state.time[0], state.q, state.v, state.a, self._work)

    def _error(self, system: System, level: int) -> tuple[float, int]:
        """Return the largest error at a level, and its row."""
        work = self._work
        self._place(system)
        worst = largest_position_error(work) if level == POSITION else compute_velocity_residuals(work, self._state.v)
        errors = work.rows["error" if level == POSITION else "residual"]
        one_sided = work.rows["one_sided"] == 1
        sizes = np.where(one_sided, -errors, np.abs(errors))
        return float(worst), int(np.argmax(sizes))


def _with_fixed_coordinates(system: System, held: Flags) -> System:
    """Return the same system with additional fixed coordinates."""
    tree = system.tree
    links = np.array(tree.links)
    fast = np.isin(links["joint_kernel"], (KERNEL_SCREW, KERNEL_BALL))
    for row in np.flatnonzero(fast):
        link = links[row]
        if held[link["iv"] : link["iv"] + link["nv"]].any():
            links["joint_kernel"][row] = KERNEL_GENERAL
            links["has_side_children"][link["parent"]] = 1
    links.flags.writeable = held.flags.writeable = False
    return system._replace(tree=tree._replace(links=records(links), driven=held))
