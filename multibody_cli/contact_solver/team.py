"""A team of threads that solve the islands of a step at the same time.

The thread that steps posts the islands, solves its share, and waits for those that others solve.  Each thread has work
arrays of its own, and the solution of an island depends on nothing else: its impulses have the same bits for any number
of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import kernel
from multibody_cli.kernel.monitor import lock, new_condition, new_mutex, unlock, wait, wake_all
from multibody_cli.model import Integers

Memory = NDArray[np.uint8]


class Team(NamedTuple):
    """The islands that are posted; all but the mutex is read and written by the thread that holds it."""

    mutex: Memory
    posted: Memory  # condition: islands are posted, or the team is dismissed
    finished: Memory  # condition: no thread solves an island
    dismissed: Integers  # (1,) whether its threads end
    next: Integers  # (1,) place of the next island in `order`
    islands: Integers  # (1,) number of islands
    order: Integers  # (bodies,) islands, those with many rows first
    first: Integers  # (SIZES + 1,) start of the islands of each size in `order`
    solving: Integers  # (1,) number of islands that threads solve now
    equalities: Integers  # (1,) number of equalities of the step
    constraint_rows: Integers  # (1,) number of constraint rows of the step

    @property
    def is_carried(self) -> bool:
        """Whether `output.carried_state` contains it."""
        return False


SIZES = 64
"""Number of sizes of islands: numbers of binary digits of their numbers of rows."""


def team_for(bodies: int) -> Team:
    """Allocate a team for as many islands as bodies."""
    return Team(
        new_mutex(), new_condition(), new_condition(),
        *(np.zeros(size, np.int64) for size in (1, 1, 1, bodies, SIZES + 1, 1, 1, 1)),
    )  # fmt: skip


@kernel
def order_islands(team: Any, islands: int, first_row: Any) -> None:
    """List islands by decreasing size, so that the last ones to be solved are small."""
    first, order = team.first, team.order
    for size in range(SIZES + 1):
        first[size] = 0
    for island in range(islands):
        first[SIZES - digits(first_row[island + 1] - first_row[island])] += 1
    for size in range(SIZES):
        first[size + 1] += first[size]
    for island in range(islands - 1, -1, -1):
        size = SIZES - digits(first_row[island + 1] - first_row[island])
        first[size] -= 1
        order[first[size]] = island


@kernel
def digits(number: int) -> int:
    """Return the number of binary digits of a number."""
    count = 0
    while number > 0:
        number >>= 1
        count += 1
    return count


@kernel
def post(team: Any, islands: int, first_row: Any, equalities: int, constraint_rows: int) -> None:
    """Post islands; the caller then holds the mutex."""
    lock(team.mutex)
    order_islands(team, islands, first_row)
    team.next[0], team.islands[0] = 0, islands
    team.equalities[0], team.constraint_rows[0] = equalities, constraint_rows
    if islands > 1:
        wake_all(team.posted)


@kernel
def take_island(team: Any, converged: Any) -> int:
    """Take the next island that has not converged and release the mutex; return -1 and keep it if there is none."""
    while team.next[0] < team.islands[0]:
        island = team.order[team.next[0]]
        team.next[0] += 1
        if not converged[island]:
            team.solving[0] += 1
            unlock(team.mutex)
            return island
    return -1


@kernel
def finish_island(team: Any) -> None:
    """Acquire the mutex after an island is solved."""
    lock(team.mutex)
    team.solving[0] -= 1
    if team.solving[0] == 0:
        wake_all(team.finished)


@kernel
def await_team(team: Any) -> None:
    """Wait until no thread solves an island, and release the mutex."""
    while team.solving[0] > 0:
        wait(team.finished, team.mutex)
    unlock(team.mutex)


@kernel
def dismiss(team: Any) -> None:
    """End the threads of a team."""
    lock(team.mutex)
    team.dismissed[0] = 1
    wake_all(team.posted)
    unlock(team.mutex)
