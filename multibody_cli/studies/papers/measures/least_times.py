"""Least times of operations that are timed in turn, with the share of the processor that other programs had.

A short block is more often undisturbed than a long one, and a round of all operations meets the same machine.  The
least of several blocks is thus compared between rows and sizes also on a busy machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from multibody_cli.studies.bench.timing import costs_in_turn

FINE = 1e-5
"""Resolution of a clock with which the shortest block can be timed, s."""

SHORTEST = 3e-3
"""Shortest block, s: less than the slice of time that a program has on a processor that it shares."""

CLOCK = time.thread_time if time.get_clock_info("thread_time").resolution < FINE else time.perf_counter
"""Clock of a block, s: the processor time of this program, or where its clock is coarse the time that passes."""

Key = TypeVar("Key")


class LeastTimes(NamedTuple, Generic[Key]):
    """Least time of each operation, s, and the share of the time in which other programs had the processor."""

    seconds: dict[Key, float]
    disturbance: float


def least_times(blocks: Mapping[Key, Callable[[], float]], rounds: int) -> LeastTimes[Key]:
    """Time blocks in turn; each returns the time of its operation, s."""
    wall, used = time.perf_counter(), time.process_time()
    costs = costs_in_turn(blocks, rounds)
    wall, used = time.perf_counter() - wall, time.process_time() - used
    return LeastTimes({key: min(found) for key, found in costs.items()}, max(0.0, 1.0 - used / wall))
