"""Comparison with other programs: accelerations are compared first, then all are timed alternately in one process.

With loops or contacts, all programs take the same number of steps, and the accuracy at the end is compared as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.contacts.contract import Geometry
from multibody_cli.contacts.detect import touching
from multibody_cli.errors import ArgumentError
from multibody_cli.immutable import Immutable, replace
from multibody_cli.kernel import records
from multibody_cli.methods import METHODS
from multibody_cli.model import Floats
from multibody_cli.peers import PEERS
from multibody_cli.peers.contract import AGREEMENT, Mechanism, Peer, PeerKind, PeerMotion, PeerRefusal
from multibody_cli.peers.mechanism import mechanism_of
from multibody_cli.peers.motion import energy_of, largest_speed, loop_error, motion_of
from multibody_cli.studies.bench.measurement import FEWEST_STEPS, MeasuredBlock, evaluate, run_steps, steps_in
from multibody_cli.studies.bench.options import Setup
from multibody_cli.studies.bench.timing import TimedBlock, TimedPair, in_turn
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.tree.workspace import BODY


class PeerComparison(Setup):
    """Comparison of a scene with a peer.

    Parameters
    ----------
    peer, peer_version
        The other program.
    contact_model
        Its contact model; empty without contacts.
    status
        `timed`, `refused` if the peer does not support the scene, or `differs` if its accelerations disagree.
    reason
        Reason why it was not timed, for the user.
    difference, agreement
        Largest difference of an initial acceleration without contacts, relative to the largest acceleration, and its
        tolerance; the former is None if the peer does not support the scene.
    evaluation, step
        Timings, s; None if the peer has no such steps, and for evaluations with contacts.
    unsolved
        Number of our steps whose contacts were not solved, in one block.
    ours, theirs
        Accuracy after the steps of a block; None without loops and contacts.
    """

    peer: str
    peer_version: str
    status: str
    contact_model: str = ""
    reason: str = ""
    difference: float | None = None
    agreement: float = AGREEMENT
    evaluation: TimedPair | None = None
    step: TimedPair | None = None
    unsolved: int | None = None
    ours: Quality | None = None
    theirs: Quality | None = None

    @property
    def program(self) -> str:
        """The peer with its version and contact model, as text."""
        return " ".join(word for word in (self.peer, self.peer_version, self.contact_model) if word)


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
        packages = " ".join(PEERS[name].package for name in missing)
        raise ArgumentError(f"{names} cannot be imported: pip install {packages}")


def compare(
    simulation: PreparedSimulation,
    peers: Sequence[str],
    repeat: int,
    setup: Setup,
    duration: float | None = None,
) -> Iterator[PeerComparison]:
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
        The `Setup` of the scene.
    duration
        Simulated time of each block of steps, s; by default, blocks are long enough for the clock.
    """
    if not peers:
        return
    ours, ready = _Ours(simulation), list[_Built]()
    for kind in (PEERS[name] for name in peers):
        for contact_model in (kind.contact_models or ("",)) if ours.geometry else ("",):
            found = _built(ours, kind, contact_model, setup)
            if isinstance(found, PeerComparison):
                yield found
            else:
                ready.append(found)
    if ready:
        yield from _timed(ours, ready, repeat, duration)


class _Built(NamedTuple):
    """A peer whose accelerations agree, and the first fields of its comparison."""

    kind: PeerKind
    peer: Peer
    about: dict[str, Any]

    @property
    def label(self) -> str:
        return f"{self.kind.name} {self.about['contact_model']}"


class _Ours:
    """The side of this program: its mechanism, its accelerations, and its steps, of which the last run is kept."""

    def __init__(self, simulation: PreparedSimulation) -> None:
        self.simulation = simulation
        self.last: MeasuredBlock | None = None
        contacts = simulation.compiled.model.system.contacts
        self.geometry = contacts.geometry if contacts and len(contacts.geometry.geoms) else None

    def mechanism(self) -> Mechanism:
        settings, compiled = self.simulation.scene.simulation, self.simulation.compiled
        if METHODS[settings.method].maximal:
            raise PeerRefusal(
                f"method `{settings.method}` uses body coordinates; use a method in joint coordinates, such as `aba`"
            )
        return mechanism_of(compiled.model, compiled.state, settings.step, settings.integrator)

    def accelerations(self) -> Floats:
        state = self.simulation.fresh_state()
        self.simulation.method_for(state).start(state)
        return state.a

    def advance(self, count: int) -> TimedBlock:
        self.last = run_steps(self.simulation, count)
        return self.last.block


def _built(ours: _Ours, kind: PeerKind, contact_model: str, setup: Setup) -> _Built | PeerComparison:
    """Build a peer and compare its accelerations; return a comparison without timings if it cannot be timed."""
    about = {**vars(setup), "peer": kind.name, "peer_version": _version(kind), "contact_model": contact_model}
    try:
        mechanism = replace(ours.mechanism(), contact_model=contact_model)
        _require_support(mechanism, kind)
        peer = kind.build(mechanism)
    except PeerRefusal as refusal:
        return PeerComparison(**about, status="refused", reason=str(refusal))
    agreement = kind.closed_agreement if mechanism.closures else AGREEMENT
    # a mechanism with loops may start in equilibrium; the square of its velocity is the scale of the balance there
    least = float(np.abs(mechanism.v).max(initial=0.0)) ** 2 if mechanism.closures else 0.0
    difference = relative_difference(ours.accelerations()[: len(mechanism.v)], peer.accelerations(), least)
    about |= {"agreement": agreement, "difference": difference}
    if difference <= agreement:
        return _Built(kind, peer, about)
    reason = f"not timed: accelerations differ by {difference:.1e} of the largest, more than {agreement:.0e}"
    return PeerComparison(**about, status="differs", reason=reason)


def _require_support(mechanism: Mechanism, kind: PeerKind) -> None:
    unknown = {closure.kind for closure in mechanism.closures} - kind.closures
    if unknown:
        names = " or ".join(sorted(one.value for one in unknown))
        raise PeerRefusal(f"{kind.name} is not built with loops that {names} closes")
    if mechanism.solids and not kind.contact_models:
        raise PeerRefusal(f"{kind.name} is not built with contacts")
    if mechanism.has_brakes and not kind.brakes:
        raise PeerRefusal(f"{kind.name} is not built with brakes of joints")


def _timed(ours: _Ours, ready: Sequence[_Built], repeat: int, duration: float | None) -> Iterator[PeerComparison]:
    """Time programs in turn; with loops or contacts, compare their accuracy after the same number of steps."""
    mechanism, simulation = ours.mechanism(), ours.simulation
    evaluable = [] if ours.geometry else [one for one in ready if one.kind.evaluation]
    evaluations = in_turn(partial(evaluate, simulation), {one.label: one.peer.evaluate for one in evaluable}, repeat)
    stepping = {one.label: one.peer.advance for one in ready if simulation.integrator.name in one.kind.integrators}
    count = steps_in(simulation, duration)
    steps = in_turn(ours.advance, stepping, repeat, FEWEST_STEPS, same_count=mechanism.is_constrained, count=count)
    own, unsolved = None, None
    if mechanism.is_constrained and ours.last is not None:
        state, unsolved = ours.last.state, ours.last.unsolved if ours.geometry else None
        own = quality_of(mechanism, ours.geometry, motion_of(mechanism.links, state.q, state.v))
    for one in ready:
        motion = one.kind.motion if own is not None and one.label in steps else None
        yield PeerComparison(
            **one.about,
            status="timed",
            reason=_missing_part(
                one in evaluable and one.label not in evaluations, one.label in stepping and one.label not in steps
            ),
            evaluation=evaluations.get(one.label),
            step=steps.get(one.label),
            unsolved=unsolved if motion else None,
            ours=own if motion else None,
            theirs=quality_of(mechanism, ours.geometry, motion(one.peer)) if motion else None,
        )


def relative_difference(ours: Floats, theirs: Floats, least: float = 0.0) -> float:
    """Largest difference of accelerations (nv,), relative to the largest of ours; infinite if one is not finite.

    A largest acceleration below `least` counts as `least`.
    """
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return math.inf
    difference, scale = float(np.abs(ours - theirs).max(initial=0.0)), float(np.abs(ours).max(initial=least))
    if difference == 0.0:
        return 0.0
    return difference / scale if scale > 0.0 else math.inf


def _missing_part(evaluation: bool, step: bool) -> str:
    words = ["an evaluation is too short to be separated from the cost of a call"] if evaluation else []
    words += ["its run diverges earlier than ours"] if step else []
    return "; ".join(words)


def _version(kind: PeerKind) -> str:
    try:
        return version(kind.package)
    except PackageNotFoundError:
        return "unknown version"


class Quality(Immutable):
    """Accuracy at the end of a run, by the same formulas for this program and for peers.

    Parameters
    ----------
    loop_error
        Largest distance of two points that a loop joint holds together, m; None without loops.
    energy_change
        Mechanical energy less that of the start, J; None with contacts, which dissipate.
    penetration
        Largest depth of a contact, m; None without contacts.
    speed
        Largest speed of a center of mass, m/s; None without contacts.
    """

    loop_error: float | None
    energy_change: float | None
    penetration: float | None
    speed: float | None


def quality_of(mechanism: Mechanism, geometry: Geometry | None, motion: PeerMotion) -> Quality:
    """Return the accuracy of a motion that started from the initial state of a mechanism.

    Parameters
    ----------
    mechanism
        Its bodies.
    geometry
        The collision shapes of the scene; None without contacts.
    motion
        The motion at the end.
    """
    start = motion_of(mechanism.links, mechanism.q, mechanism.v)
    change = energy_of(mechanism, motion) - energy_of(mechanism, start)
    return Quality(
        loop_error=loop_error(mechanism, motion) if mechanism.closures else None,
        energy_change=change if geometry is None else None,
        penetration=None if geometry is None else _penetration(geometry, motion),
        speed=None if geometry is None else largest_speed(motion),
    )


def _penetration(geometry: Geometry, motion: PeerMotion) -> float:
    bodies = records(np.zeros(len(motion.positions) + 1, BODY))
    bodies["R"][0] = np.eye(3).ravel()
    bodies["x"][1:] = motion.positions
    bodies["R"][1:] = motion.rotations.transpose(0, 2, 1).reshape(-1, 9)  # by columns
    return max(0.0, -float(touching(geometry, bodies)["gap"].min(initial=0.0)))
