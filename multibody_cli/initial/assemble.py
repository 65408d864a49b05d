"""Bring a state onto its loops and constraints before a run.

What the scene gives is kept: coordinates and rates that were written stay, and the others move as little as possible
in the metric of the masses.  Only where that does not suffice, everything moves.
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
    call_rows,
    find_velocities,
    place,
    worst_error,
)
from multibody_cli.kernel import records
from multibody_cli.linalg.free_rows import rank_of
from multibody_cli.model import WAY_BALL, WAY_GENERAL, WAY_SCREW, Floats, Model, State, System
from multibody_cli.tree.articulated_body import accelerate, respond
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.workspace import workspace_for

Flags = NDArray[np.bool_]

ATTEMPTS = 100

LARGEST_MOVE = 0.3
"""Largest displacement of one attempt, rad or m: Newton's method goes astray from far off."""

ASSEMBLED = 1e-10
"""An error of position or of velocity below which a start is consistent: m, rad, m/s or rad/s."""


@dataclass(frozen=True)
class Finding:
    """What assembling found at the level of positions, or of velocities.

    Parameters
    ----------
    before, after
        Largest error of any row as it was written, and when everything had moved.
    row
        The row of that error; of the one that is left, where it is not gone.
    moved
        (nv,) how far each coordinate or rate moved.
    bent
        Whether coordinates or rates moved that the scene gives.
    """

    before: float
    after: float
    row: int
    moved: Floats
    bent: bool

    @property
    def closed(self) -> bool:
        """Whether the rows hold now."""
        return self.after <= ASSEMBLED


class Assembler:
    """Moves the state of one model, in place, by the solves of the articulated bodies."""

    def __init__(self, model: Model, state: State) -> None:
        self._model, self._state = model, state
        self._work = workspace_for(model.system)
        self._bound = constraint_solver.bind(accelerate, respond)

    def assemble(self, level: int, kept: Flags) -> Finding:
        """Bring the positions, or the velocities, onto all rows; `kept` (nv,) are those that the scene gives."""
        state = self._state
        start = state.q.copy(), state.v.copy()
        before, row = self._error(self._model.system, level)
        if before <= ASSEMBLED:
            return Finding(before, before, row, np.zeros_like(state.v), False)
        driven = self._model.system.tree.driven
        for held in (driven | kept, driven):
            state.q[:], state.v[:] = start
            moved = self._move(_holding(self._model.system, held), level)
            after, left = self._error(self._model.system, level)
            if after <= ASSEMBLED:
                return Finding(before, after, row, moved, held is driven)
        return Finding(before, after, left, moved, True)

    def dependent_rows(self) -> list[int]:
        """Rows of equality that follow from the others at the present position."""
        system, work = self._model.system, self._work
        self._place(system)
        accelerate(system, work, work.response)
        count = call_rows(work, ACCELERATION)
        self._bound.build_delassus(system, work, count)
        rank_of(work.dual.W[:count, :count], work.dual.solver)
        return [int(work.dual.called[k]) for k in np.flatnonzero(work.dual.solver.dependent[:count])]

    def _move(self, system: System, level: int) -> Floats:
        state, work = self._state, self._work
        moved = np.zeros_like(state.v)
        for _ in range(ATTEMPTS if level == POSITION else 2):
            error, _ = self._error(system, level)
            if not error > 0.1 * ASSEMBLED:
                break
            accelerate(system, work, work.response)
            self._bound.project(system, work, level)
            if level == VELOCITY:
                state.v[:] += work.response
                moved += work.response
                continue
            scale = min(1.0, LARGEST_MOVE / max(np.abs(work.response).max(), 1e-300))
            displace(system.tree, state.q, work.response, scale)
            normalize(system.tree, state.q)
            moved += scale * work.response
        moved[system.tree.links["nv"].sum() :] = 0.0  # coordinates of closures follow from the others
        return moved

    def _place(self, system: System) -> None:
        state = self._state
        place(system, state.time[0], state.q, state.v, state.a, self._work)

    def _error(self, system: System, level: int) -> tuple[float, int]:
        """Largest error at a level, and its row."""
        work = self._work
        self._place(system)
        worst = worst_error(work) if level == POSITION else find_velocities(work, self._state.v)
        errors = work.rows["error" if level == POSITION else "residual"]
        one_sided = work.rows["one_sided"] == 1
        sizes = np.where(one_sided, -errors, np.abs(errors))
        return float(worst), int(np.argmax(sizes))


def _holding(system: System, held: Flags) -> System:
    """The same system with more coordinates that do not move."""
    tree = system.tree
    links = np.array(tree.links)
    fast = np.isin(links["way"], (WAY_SCREW, WAY_BALL))
    for row in np.flatnonzero(fast):
        link = links[row]
        if held[link["iv"] : link["iv"] + link["nv"]].any():
            links["way"][row] = WAY_GENERAL
            links["branches"][link["parent"]] = 1
    links.flags.writeable = held.flags.writeable = False
    return system._replace(tree=tree._replace(links=records(links), driven=held))
