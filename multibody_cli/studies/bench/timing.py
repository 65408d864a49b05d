"""Timing of an operation that can be repeated any number of times in one call.

A block is one call of compiled code that is long enough for the clock; the median of several blocks is reported with
the minimum and the maximum.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

SHORTEST_BLOCK = 0.02
"""Minimum duration of a block, s."""


class Block(NamedTuple):
    """Result of one block: seconds, number of repetitions, and whether all of them succeeded."""

    seconds: float
    done: int
    succeeded: bool = True


@dataclass(frozen=True)
class Timing:
    """Wall time of an operation such as a step or an evaluation, s."""

    median: float
    fastest: float
    slowest: float
    blocks: int
    count: int  # in each block


def count_long_enough(block: Callable[[int], Block], fewest: int = 1) -> int:
    """Return the number of repetitions per block, at least `fewest`; fewer if the run diverges."""
    count, succeeded = fewest, 1
    while True:
        found = block(count)
        if not found.succeeded:
            return succeeded
        if found.seconds >= SHORTEST_BLOCK:
            return count
        wanted = 1.2 * count * SHORTEST_BLOCK / max(found.seconds, 1e-6)
        succeeded, count = count, min(10 * count, max(2 * count, math.ceil(wanted)))


def time_blocks(block: Callable[[int], Block], count: int, repeat: int) -> Timing:
    """Time an operation that can be repeated any number of times in one call."""
    blocks = [block(count) for _ in range(repeat)]
    return timing_of([one.seconds / max(1, one.done) for one in blocks], blocks[0].done)


def timing_of(costs: list[float], count: int) -> Timing:
    """Summarize the costs of one operation, s, as measured by several blocks of `count` repetitions."""
    return Timing(statistics.median(costs), min(costs), max(costs), len(costs), max(1, count))
