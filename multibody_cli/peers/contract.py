"""Interface of a peer, another simulator that is timed on the same mechanism.

The mechanism is a kinematic tree whose joints are sequences of hinges, slides, balls and free joints, under gravity:
the features that all simulators share.  A peer returns accelerations in the coordinates of this program, for
comparison, and runs a given number of evaluations and steps, for timing.

To add a peer: add a module with a `PeerKind`, and its entry in `PEERS`.  Only `build` imports the package of the peer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats


class Kind(Enum):
    """Type of a joint primitive; the value is its name in messages."""

    HINGE = "a turning part"
    SLIDE = "a sliding part"
    BALL = "a ball"
    FREE = "a free joint"


@dataclass(frozen=True)
class Piece:
    """One primitive of a joint.

    Parameters
    ----------
    kind
        Type of the primitive.
    axis
        (3,) unit axis of a hinge or a slide, in the frame after the preceding primitives.
    iq, iv
        First indices in q and v.  As in `joints.parts`, a quaternion is (w, x, y, z), the velocity of a ball is in the
        outer frame, and the velocity of a free joint is [linear; angular] in the inner frame.
    """

    kind: Kind
    axis: Floats
    iq: int
    iv: int


@dataclass(frozen=True)
class Link:
    """A body with its inboard joint.

    Parameters
    ----------
    parent
        Number of the parent link; 0 is the ground.  A parent precedes its children.
    position, rotation
        (3,) m and (3, 3): first frame of the joint, relative to the last joint frame of the parent.
    pieces
        The joint primitives in order; none for a fixed joint.
    mass
        Mass properties in the last joint frame.
    """

    parent: int
    position: Floats
    rotation: Floats
    pieces: tuple[Piece, ...]
    mass: MassProperties


@dataclass(frozen=True)
class Mechanism:
    """A kinematic tree to be built in a peer: links[k] is link k + 1; gravity (3,), m/s^2; initial q, v; step, s."""

    links: tuple[Link, ...]
    gravity: Floats
    q: Floats
    v: Floats
    step: float
    integrator: str


class Peer(Protocol):
    """A mechanism built in a peer."""

    def accelerations(self) -> Floats:
        """Return dv/dt (nv,) in the initial state, in the coordinates of this program."""

    def evaluate(self, count: int) -> float:
        """Compute the accelerations in the initial state `count` times; return the time without call overhead, s."""

    def advance(self, count: int) -> float:
        """Take `count` steps from the initial state; return the time, s, or NaN if the run diverges."""


@dataclass(frozen=True)
class PeerKind:
    """A supported peer.

    Parameters
    ----------
    name
        Name on the command line.
    package, module
        Names of the package for installation and import.
    build
        Builds a mechanism.  Raises `PeerRefusal` if the peer does not support it.
    integrators
        Names of the integrators of this program that the peer supports, and their names there.
    evaluation
        Description of an evaluation in the peer.
    roll_out
        Makes `count` runs of `steps` steps from the initial state on a number of threads, in one call, and keeps their
        states; returns the time, s.  None if the peer has no such function.
    """

    name: str
    package: str
    module: str
    build: Callable[[Mechanism], Peer]
    integrators: Mapping[str, str]
    evaluation: str
    roll_out: Callable[[Any, int, int, int], float] | None = None


class PeerRefusal(Exception):
    """A peer does not support a scene; the message gives the reason."""
