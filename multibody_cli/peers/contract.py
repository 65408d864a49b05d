"""Interface of a peer, another simulator that is timed on the same mechanism.

The mechanism is a kinematic tree under gravity, whose joints are sequences of hinges, slides, balls and free joints;
hinges and balls may close loops, and bodies may have collision shapes.  A peer returns accelerations in the coordinates
of this program, for comparison, and runs a given number of evaluations and steps, for timing.  After the steps it
returns the motion of the bodies, from which the accuracy is computed here, by the same formulas for all programs.

To add a peer: add a module with a `PeerKind`, and its entry in `PEERS`.  Only `build` imports the package of the peer.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.immutable import Immutable
from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats

AGREEMENT = 1e-6
"""Largest relative difference of accelerations that counts as agreement."""


class JointPrimitive(Enum):
    """Type of a joint primitive; the value is its name in messages."""

    HINGE = "a turning part"
    SLIDE = "a sliding part"
    BALL = "a ball"
    FREE = "a free joint"


class Piece(Immutable):
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
    brake
        Limit of the dry friction of a hinge or a slide, N m or N.
    """

    kind: JointPrimitive
    axis: Floats
    iq: int
    iv: int
    brake: float = 0.0


class PeerLink(Immutable):
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


class Closure(Immutable):
    """A joint that closes a loop: a hinge or a ball.

    Parameters
    ----------
    kind
        `HINGE` or `BALL`.
    parent, child
        Numbers of the links; 0 is the ground.
    parent_point, child_point
        (3,) m, points that coincide, each in the last joint frame of its link.
    parent_axis, child_axis
        (3,) unit axes of a hinge, which are parallel.
    holds_axis
        Whether the closure must keep the axes of a hinge parallel. It need not if all other joints of its loop are
        hinges with parallel axes; such rows have no effect.
    """

    kind: JointPrimitive
    parent: int
    child: int
    parent_point: Floats
    child_point: Floats
    parent_axis: Floats
    child_axis: Floats
    holds_axis: bool


class PeerSolid(Immutable):
    """A collision shape: a plane of the ground, a sphere, a capsule or a box.

    Parameters
    ----------
    kind, size
        Shape and lengths, m, as in `contacts.contract`.
    link
        Number of the link; 0 is the ground.
    position, rotation
        (3,) m and (3, 3): its frame in the last joint frame of the link.
    """

    kind: GeomKind
    size: tuple[float, ...]
    link: int
    position: Floats
    rotation: Floats


class Mechanism(Immutable):
    """Bodies to be built in a peer.

    Parameters
    ----------
    links
        The tree; links[k] is link k + 1.
    gravity
        (3,) m/s^2.
    q, v
        Initial coordinates and velocities of the tree.
    step, integrator
        Time step, s, and name of the integrator in this program.
    closures
        The joints that close loops.
    solids, excluded
        The collision shapes, and the pairs of links without contacts.
    friction
        Coefficient of friction of all contacts, which have no restitution.
    contact_model
        One of `PeerKind.contact_models`, if there are collision shapes.
    """

    links: tuple[PeerLink, ...]
    gravity: Floats
    q: Floats
    v: Floats
    step: float
    integrator: str
    closures: tuple[Closure, ...] = ()
    solids: tuple[PeerSolid, ...] = ()
    excluded: tuple[tuple[int, int], ...] = ()
    friction: float = 0.0
    contact_model: str = ""

    @property
    def is_constrained(self) -> bool:
        """Whether there are closures, collision shapes or brakes."""
        return bool(self.closures or self.solids or self.has_brakes)

    @property
    def has_brakes(self) -> bool:
        """Whether a joint has a brake."""
        return any(piece.brake > 0.0 for link in self.links for piece in link.pieces)


class PeerMotion(NamedTuple):
    """Motion of n links in the axes of the world.

    `positions` (n, 3) m and `rotations` (n, 3, 3) of the last joint frames, `velocities` (n, 3) m/s of the centers of
    mass, and `spins` (n, 3) rad/s.
    """

    positions: Floats
    rotations: Floats
    velocities: Floats
    spins: Floats


class Peer(ABC):
    """A mechanism built in a peer."""

    @abstractmethod
    def accelerations(self) -> Floats:
        """Return dv/dt (nv,) in the initial state without contacts, in the coordinates of this program.

        A peer with soft loops returns them at its hardest settings.
        """

    def evaluate(self, count: int) -> float:
        """Compute the accelerations in the initial state `count` times; return the time without call overhead, s.

        NaN if evaluations are not timed.
        """
        return math.nan

    def advance(self, count: int) -> float:
        """Take `count` steps from the initial state; return the time, s; NaN if the run diverges, or without steps."""
        return math.nan


def time_calls(count: int, function: Callable[..., Any], *arguments: Any) -> float:
    """Return the time of calls of a function, s."""
    began = time.perf_counter()
    for _ in range(count):
        function(*arguments)
    return time.perf_counter() - began


class PeerKind(Immutable):
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
        Description of an evaluation in the peer; empty if it is not timed.
    roll_out
        Makes `count` runs of `steps` steps from the initial state on a number of threads, in one call, and keeps their
        states; returns the time, s.  None if the peer has no such function.
    motion
        Returns the motion after the last `advance`.  None if the peer supports only trees, or has no time stepping.
    closures
        Kinds of the closures that the peer supports.
    closed_agreement
        Largest relative difference of accelerations that counts as agreement with closures, which may be soft.
    contact_models
        Names of the contact models in which a mechanism with collision shapes is built; empty if there are none.
    brakes
        Whether joints may have brakes.
    """

    name: str
    package: str
    module: str
    build: Callable[[Mechanism], Peer]
    integrators: Mapping[str, str]
    evaluation: str
    roll_out: Callable[[Any, int, int, int], float] | None = None
    motion: Callable[[Any], PeerMotion] | None = None
    closures: frozenset[JointPrimitive] = frozenset()
    closed_agreement: float = AGREEMENT
    contact_models: tuple[str, ...] = ()
    brakes: bool = False


class PeerRefusal(Exception):
    """A peer does not support a scene; the message states the reason."""
