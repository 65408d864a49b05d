"""Timing of an operation that can be repeated any number of times in one call.

A block is one call of compiled code that is long enough for the clock; the median of several blocks is reported with
the minimum and the maximum.  Several programs take turns, so that temporary slowdowns of the machine affect all alike:
each round times one block of every program and yields a ratio, and the median of the ratios is reported.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from multibody_cli.immutable import Immutable

SHORTEST_BLOCK = 0.02
"""Minimum duration of a block, s."""

Key = TypeVar("Key")


class TimedBlock(NamedTuple):
    """Result of one block: seconds, number of repetitions, and whether all of them succeeded."""

    seconds: float
    done: int
    succeeded: bool = True


class WallTime(Immutable):
    """Wall time of an operation such as a step or an evaluation, s."""

    median: float
    fastest: float
    slowest: float
    blocks: int
    count: int  # in each block


def count_long_enough(block: Callable[[int], TimedBlock], fewest: int = 1, shortest: float | None = None) -> int:
    """Return the number of repetitions of a block of `shortest` s, at least `fewest`; fewer if the run diverges."""
    shortest = SHORTEST_BLOCK if shortest is None else shortest
    count, succeeded = fewest, 1
    while True:
        found = block(count)
        if not found.succeeded:
            return succeeded
        if found.seconds >= shortest:
            return count
        wanted = 1.2 * count * shortest / max(found.seconds, 1e-6)
        succeeded, count = count, min(10 * count, max(2 * count, math.ceil(wanted)))


def time_blocks(block: Callable[[int], TimedBlock], count: int, repeat: int) -> WallTime:
    """Time an operation that can be repeated any number of times in one call."""
    blocks = [block(count) for _ in range(repeat)]
    return timing_of([one.seconds / max(1, one.done) for one in blocks], blocks[0].done)


def timing_of(costs: list[float], count: int) -> WallTime:
    """Summarize the costs of one operation, s, as measured by several blocks of `count` repetitions."""
    return WallTime(statistics.median(costs), min(costs), max(costs), len(costs), max(1, count))


class TimedPair(Immutable):
    """Timings of this program and of a peer, and the median ratio (ours to peer) of consecutive blocks."""

    ours: WallTime
    peer: WallTime
    ratio: float


def in_turn(
    ours: Callable[[int], TimedBlock],
    peers: Mapping[str, Callable[[int], float]],
    repeat: int,
    fewest: int = 1,
    same_count: bool = False,
    count: int | None = None,
) -> dict[str, TimedPair]:
    """Time an operation here and in every peer, one block of each per round; omit peers that cannot be timed.

    Parameters
    ----------
    ours, peers
        Repeat the operation a number of times, and return the time, s.
    repeat
        Number of rounds; one more precedes them as warm-up.
    fewest
        Smallest number of repetitions in a block.
    same_count
        Whether the blocks of the peers have as many repetitions as ours.
    count
        Number of repetitions of all blocks; by default they are long enough for the clock.
    """
    if not peers:
        return {}
    own_count = count or count_long_enough(ours, fewest)
    counts = {
        name: own_count if same_count or count else long_enough(peer, 1, own_count, SHORTEST_BLOCK)
        for name, peer in peers.items()
    }

    def cost(name: str) -> float:
        if name:
            return peers[name](counts[name]) / counts[name]
        block = ours(own_count)
        return block.seconds / max(1, block.done)

    theirs = costs_in_turn({name: partial(cost, name) for name in ("", *peers)}, repeat)
    own = theirs.pop("")
    return {
        name: TimedPair(timing_of(own, own_count), timing_of(found, counts[name]), median_ratio(own, found))
        for name, found in theirs.items()
        if all(math.isfinite(cost) and cost > 0.0 for cost in found)
    }


def costs_in_turn(blocks: Mapping[Key, Callable[[], float]], repeat: int) -> dict[Key, list[float]]:
    """Return the costs of operations, s, one block of each per round; another round precedes them as warm-up."""
    rounds = [{name: block() for name, block in blocks.items()} for _ in range(repeat + 1)]
    return {name: [costs[name] for costs in rounds[1:]] for name in blocks}


def long_enough(block: Callable[[int], float], least: int, most: int, shortest: float) -> int:
    """Return the number of repetitions, from `least` to `most`, with which a block takes `shortest` s."""
    count = min(least, most)
    while count < most and block(count) < shortest:
        count = min(2 * count, most)
    return count


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median of the ratios of costs that are measured in the same rounds."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
