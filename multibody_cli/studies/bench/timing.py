"""Timing of a thing that can be done any number of times in one call.

A block is one call of compiled code, long enough for the clock; the median of several blocks is reported with
the fastest and the slowest.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

SHORTEST_BLOCK = 0.02
"""Seconds that a block lasts at least."""


class Block(NamedTuple):
    """What one call did: seconds, how often the thing that is timed was done, and whether all went well."""

    seconds: float
    done: int
    sound: bool = True


@dataclass(frozen=True)
class Timing:
    """Seconds that a thing takes, such as a step or an evaluation."""

    median: float
    fastest: float
    slowest: float
    blocks: int
    count: int  # in each block


def count_long_enough(block: Callable[[int], Block], fewest: int = 1) -> int:
    """Find how often to do a thing in a block, `fewest` times or more; less where a run diverges before."""
    count, sound = fewest, 1
    while True:
        found = block(count)
        if not found.sound:
            return sound
        if found.seconds >= SHORTEST_BLOCK:
            return count
        wanted = 1.2 * count * SHORTEST_BLOCK / max(found.seconds, 1e-6)
        sound, count = count, min(10 * count, max(2 * count, math.ceil(wanted)))


def time_blocks(block: Callable[[int], Block], count: int, repeat: int) -> Timing:
    """Time a thing that can be done any number of times in one call."""
    blocks = [block(count) for _ in range(repeat)]
    return timing_of([one.seconds / max(1, one.done) for one in blocks], blocks[0].done)


def timing_of(costs: list[float], count: int) -> Timing:
    """Summarize the cost of one thing, s, as each of several blocks of `count` found it."""
    return Timing(statistics.median(costs), min(costs), max(costs), len(costs), max(1, count))
