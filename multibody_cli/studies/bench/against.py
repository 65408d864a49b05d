"""Comparison with other programs: accelerations are compared first, then all are timed alternately in one process.

Each round times one block of every program and yields a ratio; the median of the ratios is reported, so that temporary
slowdowns of the machine affect both sides alike.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from multibody_cli.errors import ArgumentError
from multibody_cli.methods import METHODS
from multibody_cli.model import Floats
from multibody_cli.peers import PEERS
from multibody_cli.peers.contract import Peer, PeerKind, PeerRefusal
from multibody_cli.peers.mechanism import mechanism_of
from multibody_cli.studies.bench.measurement import FEWEST_STEPS, evaluate, take_steps
from multibody_cli.studies.bench.setup import Setup
from multibody_cli.studies.bench.timing import SHORTEST_BLOCK, Block, Timing, count_long_enough, timing_of
from multibody_cli.studies.simulation import Simulation

AGREEMENT = 1e-6
"""Largest relative difference of accelerations that counts as agreement."""


@dataclass(frozen=True)
class Pair:
    """Timings of this program and of a peer, and the median ratio (ours to peer) of consecutive blocks."""

    ours: Timing
    peer: Timing
    ratio: float


@dataclass(frozen=True)
class Comparison(Setup):
    """Comparison of a scene with a peer.

    Parameters
    ----------
    peer, peer_version
        The other program.
    status
        `timed`, `refused` if the peer does not support the scene, or `differs` if its accelerations disagree.
    reason
        Reason why it was not timed, for the user.
    difference, agreement
        Largest difference of an initial acceleration, relative to the largest acceleration, and its tolerance; the
        former is None if the peer does not support the scene.
    evaluation, step
        Timings, s; None if the peer has no such steps.
    """

    peer: str
    peer_version: str
    status: str
    reason: str = ""
    difference: float | None = None
    agreement: float = AGREEMENT
    evaluation: Pair | None = None
    step: Pair | None = None


def require_packages(peers: Sequence[str]) -> None:
    """Require the packages of the peers before anything is measured.

    Raises
    ------
    ArgumentError
        A package is missing; the message contains the command that installs it.
    """
    missing = [name for name in peers if find_spec(PEERS[name].module) is None]
    if missing:
        names = " and ".join(f"`{name}`" for name in missing)
        raise ArgumentError(f"{names} cannot be imported: pip install 'multibody-cli[peers]'")


def compare(
    simulation: Simulation, peers: Sequence[str], repeat: int, setup: Mapping[str, Any]
) -> Iterator[Comparison]:
    """Compare a scene with several peers.

    Parameters
    ----------
    simulation
        The scene.
    peers
        Names of the peers.
    repeat
        Number of timed rounds; one more precedes them as warm-up.
    setup
        Fields of the `Setup` of the scene.
    """
    same: dict[str, tuple[Peer, float]] = {}
    for name in peers:
        about = {**setup, "peer": name, "peer_version": _version(PEERS[name])}
        try:
            peer = _build(simulation, PEERS[name])
        except PeerRefusal as refusal:
            yield Comparison(**about, status="refused", reason=str(refusal))
            continue
        difference = relative_difference(_accelerations(simulation), peer.accelerations())
        if difference <= AGREEMENT:
            same[name] = peer, difference
            continue
        reason = f"not timed: accelerations differ by {difference:.1e} of the largest, more than {AGREEMENT:.0e}"
        yield Comparison(**about, status="differs", reason=reason, difference=difference)
    evaluations = _in_turn(
        partial(evaluate, simulation), {name: peer.evaluate for name, (peer, _) in same.items()}, repeat
    )
    integrator = simulation.integrator.name
    stepping = {name: peer.advance for name, (peer, _) in same.items() if integrator in PEERS[name].integrators}
    steps = _in_turn(partial(take_steps, simulation), stepping, repeat, FEWEST_STEPS)
    for name, (_, difference) in same.items():
        yield Comparison(
            **setup,
            peer=name,
            peer_version=_version(PEERS[name]),
            status="timed",
            reason=_what_is_missing(name not in evaluations, name in stepping and name not in steps),
            difference=difference,
            evaluation=evaluations.get(name),
            step=steps.get(name),
        )


def relative_difference(ours: Floats, theirs: Floats) -> float:
    """Largest difference of accelerations (nv,), relative to the largest of ours; infinite if one is not finite."""
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return math.inf
    difference, scale = float(np.abs(ours - theirs).max(initial=0.0)), float(np.abs(ours).max(initial=0.0))
    if difference == 0.0:
        return 0.0
    return difference / scale if scale > 0.0 else math.inf


def _build(simulation: Simulation, kind: PeerKind) -> Peer:
    settings, compiled = simulation.scene.simulation, simulation.compiled
    if METHODS[settings.method].maximal:
        raise PeerRefusal(
            f"method `{settings.method}` uses body coordinates; use a method in joint coordinates, such as `aba`"
        )
    return kind.build(mechanism_of(compiled.model, compiled.state, settings.step, settings.integrator))


def _accelerations(simulation: Simulation) -> Floats:
    state = simulation.fresh_state()
    simulation.method_for(state).start(state)
    return state.a


def _what_is_missing(evaluation: bool, step: bool) -> str:
    words = ["an evaluation is too short to be separated from the cost of a call"] if evaluation else []
    words += ["its run diverges earlier than ours"] if step else []
    return "; ".join(words)


def _in_turn(
    ours: Callable[[int], Block], peers: Mapping[str, Callable[[int], float]], repeat: int, fewest: int = 1
) -> dict[str, Pair]:
    """Time an operation here and in every peer, one block of each per round; omit peers that cannot be timed."""
    if not peers:
        return {}
    own_count = count_long_enough(ours, fewest)
    counts = {name: _count(peer, own_count) for name, peer in peers.items()}
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


def _version(kind: PeerKind) -> str:
    try:
        return version(kind.package)
    except PackageNotFoundError:
        return "unknown version"
