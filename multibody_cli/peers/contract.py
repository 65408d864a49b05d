"""What a peer is given, and what it must give.

A peer is given a tree of links that hang on runs of hinges, slides, balls and free joints, under gravity alone: what
all of them know.  It gives accelerations in our coordinates, so that they can be compared, and does evaluations and
steps as often as it is told, so that they can be timed.

To add a peer: a module here with a `PeerKind`, and its entry in `PEERS`.  Its package is imported in `build` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats


class Kind(Enum):
    """How one piece of a joint moves; its value says it in words."""

    HINGE = "a turning part"
    SLIDE = "a sliding part"
    BALL = "a ball"
    FREE = "a free joint"


@dataclass(frozen=True)
class Piece:
    """One piece of a joint.

    Parameters
    ----------
    kind
        How it moves.
    axis
        (3,) unit axis of a hinge or a slide, in the frame that the pieces before it lead to.
    iq, iv
        Where its numbers lie in q and v: as in `joints.parts`, so a quaternion is (w, x, y, z), the velocity of a ball
        is in the outer frame, and that of a free joint [linear; angular] in the inner one.
    """

    kind: Kind
    axis: Floats
    iq: int
    iv: int


@dataclass(frozen=True)
class Link:
    """A body with the joint that carries it.

    Parameters
    ----------
    parent
        Number of the parent among the links; 0 is the ground, and a parent stands before its children.
    position, rotation
        (3,) and (3, 3): where the joint begins, in the joint frame of the parent.
    pieces
        The run of pieces; none for a fixed joint.
    mass
        Mass properties in the frame in which the run ends.
    """

    parent: int
    position: Floats
    rotation: Floats
    pieces: tuple[Piece, ...]
    mass: MassProperties


@dataclass(frozen=True)
class Mechanism:
    """A tree to be built in a peer: links[k] is number k + 1; gravity (3,), the start q and v, the time step, s."""

    links: tuple[Link, ...]
    gravity: Floats
    q: Floats
    v: Floats
    step: float
    integrator: str


class Peer(Protocol):
    """A mechanism built in a peer."""

    def accelerations(self) -> Floats:
        """(nv,) dv/dt at the start, in our coordinates."""

    def evaluate(self, count: int) -> float:
        """Work out the accelerations at the start `count` times; the seconds that it takes, less those of the calls."""

    def advance(self, count: int) -> float:
        """Take `count` steps from the start; the seconds that it takes, NaN if the run does not stay sound."""


@dataclass(frozen=True)
class PeerKind:
    """An entry of the catalogue of peers.

    Parameters
    ----------
    name
        The word of the command line.
    package, module
        What it is installed as, and imported as.
    build
        Builds a mechanism.  Raises a `PeerRefusal` where the peer cannot take it.
    integrators
        Our integrators that it has as well, with what it calls them; it is not asked to step with others.
    evaluation
        What an evaluation is there.
    """

    name: str
    package: str
    module: str
    build: Callable[[Mechanism], Peer]
    integrators: Mapping[str, str]
    evaluation: str


class PeerRefusal(Exception):
    """A scene cannot be built in a peer, with the reason for the user."""
