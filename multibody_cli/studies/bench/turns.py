"""Timing of this program and of peers in turn, so that temporary slowdowns of the machine affect all alike.

Each round times one block of every program and yields a ratio; the median of the ratios is reported.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from multibody_cli.studies.bench.timing import SHORTEST_BLOCK, Block, Timing, count_long_enough, timing_of


@dataclass(frozen=True)
class Pair:
    """Timings of this program and of a peer, and the median ratio (ours to peer) of consecutive blocks."""

    ours: Timing
    peer: Timing
    ratio: float


def in_turn(
    ours: Callable[[int], Block],
    peers: Mapping[str, Callable[[int], float]],
    repeat: int,
    fewest: int = 1,
    same_count: bool = False,
    count: int | None = None,
) -> dict[str, Pair]:
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
    counts = {name: own_count if same_count or count else _count(peer, own_count) for name, peer in peers.items()}
    own: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in peers}
    for round_number in range(repeat + 1):
        block = ours(own_count)
        costs = {name: peer(counts[name]) / counts[name] for name, peer in peers.items()}
        if round_number > 0:  # the first round is a warm-up
            own.append(block.seconds / max(1, block.done))
            for name, cost in costs.items():
                theirs[name].append(cost)
    return {
        name: Pair(timing_of(own, own_count), timing_of(found, counts[name]), _median_ratio(own, found))
        for name, found in theirs.items()
        if all(math.isfinite(cost) and cost > 0.0 for cost in found)
    }


def _count(peer: Callable[[int], float], most: int) -> int:
    """Number of repetitions per block in a peer: enough for the clock, and at most as many as here."""
    count = 1
    while count < most and peer(count) < SHORTEST_BLOCK:
        count = min(2 * count, most)
    return count


def _median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
