"""What a scene compiles to: the read-only Model, the State that a method advances, and the names of both.

Row 0 of every table of bodies is the ground, and a parent always stands above its children.  A body's quantities
refer to the frame M of the joint that carries it ("its joint frame"); `frames` leads from there to the body frame
of the scene.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.constraints.elements import Constraints
from multibody_cli.constraints.reduction import Reductions
from multibody_cli.contacts.contract import Geometry
from multibody_cli.forces.elements import Forces
from multibody_cli.joints.contract import Coordinate
from multibody_cli.joints.motion import Motions
from multibody_cli.joints.shape import Shape

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Records = NDArray[np.void]

# How a link's joint is eliminated: two fast ways, and the general way that takes any run of parts.
WAY_SCREW, WAY_BALL, WAY_GENERAL = range(3)

LINK = np.dtype(
    [
        ("parent", "i8"),
        ("way", "i8"),
        ("branches", "i8"),  # whether children other than the next row hand something in
        ("tilted", "i8"),  # whether F is rotated against the parent's joint frame
        ("principal", "i8"),  # whether the central inertia is diagonal in the joint frame
        ("along", "i8"),  # screw: which axis it turns about
        ("slides", "i8"),  # screw: whether it translates
        ("weightless", "i8"),  # whether gravity leaves it alone: a director of an affine body
        ("iq", "i8"),
        ("iv", "i8"),
        ("nv", "i8"),
        ("first_part", "i8"),
        ("last_part", "i8"),
        ("origin", "f8", 3),  # F in the parent's joint frame
        ("frame", "f8", 9),
        ("turn", "f8", 3),
        ("slide", "f8", 3),
        ("com", "f8", 3),  # in the joint frame
        ("mass", "f8"),
        ("central", "f8", 6),  # inertia about the centre of mass, axes of the joint frame
    ]
)
"""One row a body: everything about it and its joint that does not change during a run."""

PART = np.dtype(
    [
        ("code", "i8"),
        ("along", "i8"),
        ("iq", "i8"),
        ("iv", "i8"),
        ("width", "i8"),  # number of velocities
        ("turn", "f8", 3),
        ("slide", "f8", 3),
        ("address", "i8"),  # generated: of its code, and of its constants among those of all
        ("first_constant", "i8"),
    ]
)
"""One row a part of a joint."""

QUATERNION = np.dtype([("iq", "i8"), ("iv", "i8"), ("outer", "i8")])
"""One row a quaternion: where it lies in q, its angular velocity in v, and whether that is in the outer frame."""

PLACE = np.dtype([("iq", "i8"), ("iv", "i8")])
"""Where a coordinate, or a triple of them, lies in q and in v."""

FRAME = np.dtype([("origin", "f8", 3), ("frame", "f8", 9)])
"""The body frame seen from the body's joint frame."""

CLOSURE = np.dtype(
    [
        ("parent", "i8"),
        ("child", "i8"),
        ("ghost", "i8"),  # row behind those of the bodies
        ("way", "i8"),  # one free screw or ball is fitted in a fast way
        ("first_part", "i8"),
        ("last_part", "i8"),
        ("iv", "i8"),
        ("nv", "i8"),
        ("first_plain", "i8"),  # its coordinates among the plain ones, and among the quaternions
        ("last_plain", "i8"),
        ("first_quaternion", "i8"),
        ("last_quaternion", "i8"),
        ("first_row", "i8"),  # its rows of restraint, in the table of rows and in that of locks
        ("last_row", "i8"),
        ("first_term", "i8"),
        ("steady", "i8"),  # whether the directions that it locks are constant in M
        ("one_plane", "i8"),  # whether both its bodies move in one plane, so that it locks nothing across that
        ("origin", "f8", 3),  # F in the parent's joint frame
        ("frame", "f8", 9),
        ("child_origin", "f8", 3),  # M in the child's joint frame
        ("child_frame", "f8", 9),
        ("normal", "f8", 3),  # of the plane, in M
    ]
)
"""One row a joint whose child another joint holds already: it closes a loop."""

MARKER = np.dtype([("link", "i8"), ("coordinates", "f8", 3)])
"""A point of an affine body: the first row of the body, and its coordinates along the principal axes, m."""

ARM = np.dtype(
    [
        ("row", "i8"),  # of the joint frame to which the coordinate belongs
        ("iv", "i8"),
        ("begin", "i8"),  # points of the path
        ("end", "i8"),
        ("first", "i8"),  # the points that the joint carries, in a list
        ("last", "i8"),
    ]
)
"""One row an arm of a muscle about a coordinate of a joint that it crosses."""

LOCK = np.dtype([("t", "f8", 3), ("f", "f8", 3)])
"""A wrench about the origin of M that does no work on any free coordinate of a closure's joint."""


class Tree(NamedTuple):
    """The bodies and joints, as arrays (rows of the dtypes above).

    The coordinates of closures stand behind those of the tree in q and v; they follow from the motion of the bodies.
    """

    links: Records
    parts: Records
    constants: Floats  # of generated parts
    frames: Records
    plain: Records  # coordinates with dq/dt = v
    quaternions: Records
    exponentials: Records
    closures: Records
    markers: Records  # points of affine bodies that something acts on
    holders: Records  # in the coordinates of bodies: what holds each of them in the order of elimination
    locks: Records  # of steady closures, in the axes of M; one for each row of a closure
    driven: NDArray[np.bool_]  # (nv,) whether the motion of a coordinate is prescribed
    gravity: Floats  # (3,)


PAD = np.dtype(
    [
        ("row", "i8"),  # of the frame M of its joint: the body that the joint carries, or a ghost
        ("parent", "i8"),
        ("child", "i8"),
        ("joint", "i8"),  # number of the joint in the scene, and among those with friction
        ("place", "i8"),
        ("account", "i8"),
        ("coefficient", "f8"),
        ("slips", "i8"),  # in one direction, or two
        ("along_t", "f8", 3),  # the wrenches of these, in M
        ("along_f", "f8", 3),
        ("across_t", "f8", 3),
        ("across_f", "f8", 3),
        ("first_point", "i8"),
        ("last_point", "i8"),
    ]
)
"""One row a pad of a joint with dry friction: see `joints.friction`."""

RUB = np.dtype(
    [
        ("along_t", "f8", 3),  # wrenches of its unit frictions, in M
        ("along_f", "f8", 3),
        ("across_t", "f8", 3),
        ("across_f", "f8", 3),
        ("first_load", "i8"),
        ("last_load", "i8"),
    ]
)
"""One row a point of a pad."""


class Journals(NamedTuple):
    """The pads of all joints, their points, and what presses these, as rows of `LOCK`."""

    pads: Records
    points: Records
    loads: Records


class Contacts(NamedTuple):
    """What touches what, what rubs in joints, the accounts of what contacts dissipate, and how impulses are found."""

    geometry: Geometry
    margin: float  # m, within which bodies are near
    friction_account: int
    impact_account: int
    options: Any  # of `contact_solver.friction`
    room: int  # for so many contacts at once
    journals: Journals


class System(NamedTuple):
    """All that kernels read: the tree, what moves it, what pushes it and what restrains it."""

    tree: Tree
    motions: Motions
    forces: Forces
    constraints: Constraints
    reductions: Reductions
    rows: Records  # (m,) what does not change about the rows: work arrays start as copies of it
    terms: Records
    arms: Records  # moment arms to tell of
    carried: Integers  # points of paths that joints carry
    implicit: bool = False  # whether forces on bodies are taken as they will push
    contacts: Any = ()  # `Contacts`, where anything touches or rubs

    @property
    def is_held(self) -> bool:
        """Whether anything restrains the tree: a closure, a row, or a marker."""
        return len(self.rows) + len(self.tree.closures) + len(self.tree.markers) > 0


@dataclass(frozen=True)
class JointEntry:
    """One joint of the scene, in scene order.

    Parameters
    ----------
    name, type
        As in the scene.
    coordinates
        The kind of each coordinate; its value is the unit.
    columns, positions
        Where the joint's numbers lie in v and in reported coordinates, and in q.
    row
        Row of the body that it carries; a closure's own row, behind those of all bodies.
    same
        For each coordinate, which other values of it mean the same: see `joints.contract.Part`.
    domains
        Where each coordinate has to stay, or the run stops; none where all of them may be anything.
    sizes
        Of a joint of general shape: the usual size of each column of its motion subspace.
    """

    name: str
    type: str
    coordinates: tuple[Coordinate, ...]
    columns: slice
    positions: slice
    row: int
    same: tuple[str, ...] = ()
    domains: tuple[tuple[float, float], ...] = ()
    sizes: tuple[float, ...] = ()


@dataclass(frozen=True)
class RowName:
    """Words for a row of restraint: its element in the scene, and the direction that it restrains."""

    section: str
    element: str
    direction: str


@dataclass(frozen=True)
class RestraintEntry:
    """One coupling or constraint, or the limits of one joint.

    Parameters
    ----------
    section, name
        As in the scene.
    rows
        Its rows, counted from the first that is no lock of a closure.
    """

    section: str
    name: str
    rows: slice


@dataclass(frozen=True)
class MuscleEntry:
    """One muscle: where its moment arms lie, and words for the coordinates that they belong to."""

    name: str
    arms: slice
    crossed: tuple[str, ...]


@dataclass(frozen=True)
class Account:
    """One line of the energy ledger: work done on the system, or energy dissipated, by one cause."""

    kind: Literal["work", "dissipation"]
    cause: str


@dataclass(frozen=True)
class Names:
    """The words of the scene that go with the rows of the arrays."""

    bodies: tuple[str, ...]
    body_rows: Integers  # (nb,) row of each body, in scene order
    joints: tuple[JointEntry, ...]
    accounts: tuple[Account, ...]
    coordinates: tuple[str, ...]  # (nv,) for messages: "joint hinge", "joint wrist, coordinate 2"
    rows: tuple[RowName, ...]  # (m,)
    restraints: tuple[RestraintEntry, ...]
    springs: tuple[str, ...] = ()  # along cables
    muscles: tuple[MuscleEntry, ...] = ()
    affine: tuple[str, ...] = ()  # bodies whose deformation is recorded
    contacts: int = 0  # room for so many contacts at once; 0 where the scene has none
    rubbing: tuple[str, ...] = ()  # joints with dry friction
    strides: bool = False  # whether the method is variational, and tells of its steps


@dataclass(frozen=True)
class Model:
    """A compiled scene: never changes.

    Parameters
    ----------
    system
        The arrays that kernels read.
    names
        The words that go with them.
    com
        (nb, 3) centre of mass of each body in its body frame, in scene order, m.
    nq, nv
        Numbers in q and in v.
    shapes
        The formulas of generated parts of joints, by the address of their code.
    """

    system: System
    names: Names
    com: Floats
    nq: int
    nv: int
    shapes: Mapping[int, Shape] = field(default_factory=dict)


class State(NamedTuple):
    """What a method advances, in place.

    `q` (nq,), `v` (nv,), `a` (nv,) the acceleration dv/dt at this very instant, `ledger` (na,) the energy that has
    gone through each account since the start, `time` (1,) s.  Between calls to a method all of them belong together.
    """

    time: Floats
    q: Floats
    v: Floats
    a: Floats
    ledger: Floats
