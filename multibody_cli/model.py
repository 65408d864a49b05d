"""Model of a compiled scene: the read-only `Model`, the `State` that a method advances, and the names of both.

Row 0 of every table of bodies is the ground, and a parent always precedes its children. The quantities of a body refer
to the frame M of its inboard joint ("its joint frame"); `frames` holds the body frame of the scene relative to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.actuators.controllers import Controller
from multibody_cli.constraints.elements import Constraints
from multibody_cli.constraints.reduction import Reductions
from multibody_cli.contacts.contract import Geometry
from multibody_cli.forces.elements import Forces
from multibody_cli.immutable import Immutable
from multibody_cli.joints.contract import Coordinate
from multibody_cli.joints.joint_map import JointMap
from multibody_cli.joints.motion import Motions
from multibody_cli.kernel import Floats as Floats
from multibody_cli.kernel import Integers as Integers
from multibody_cli.kernel import Records as Records

KERNEL_SCREW, KERNEL_BALL, KERNEL_GENERAL = range(3)  # eliminations of a joint; the last of any sequence of parts

LINK = np.dtype(
    [
        ("parent", "i8"),
        ("joint_kernel", "i8"),
        ("has_side_children", "i8"),  # whether children other than the next row, or implicit blocks, add to its inertia
        ("frame_is_rotated", "i8"),  # whether F is rotated against the parent's joint frame
        ("floats", "i8"),  # whether it moves freely relative to the ground, in the axes of the world
        ("principal", "i8"),  # whether the central inertia is diagonal in the joint frame
        ("axis_kind", "i8"),  # screw: kind of its axis, see `joints.parts.screw`
        ("slides", "i8"),  # screw: whether it translates
        ("ignores_gravity", "i8"),  # a director of an affine body, or a rotor
        ("is_director", "i8"),
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
"""One row per body: all constants of the body and its inboard joint."""

PART = np.dtype(
    [
        ("code", "i8"),
        ("axis_kind", "i8"),
        ("iq", "i8"),
        ("iv", "i8"),
        ("width", "i8"),  # number of velocities
        ("turn", "f8", 3),
        ("slide", "f8", 3),
        ("address", "i8"),  # generated: of its code, and of its constants among those of all
        ("first_constant", "i8"),
    ]
)
"""One row per part of a joint."""

QUATERNION = np.dtype([("iq", "i8"), ("iv", "i8"), ("outer", "i8")])
"""One row per quaternion: its index in q, the index of its angular velocity in v, and the frame of that velocity."""

COORDINATE_INDEX = np.dtype([("iq", "i8"), ("iv", "i8")])
"""Index of a coordinate, or of the first of three, in q and in v."""

FRAME = np.dtype([("origin", "f8", 3), ("frame", "f8", 9)])
"""The body frame relative to the joint frame of the body."""

CLOSURE = np.dtype(
    [
        ("parent", "i8"),
        ("child", "i8"),
        ("loop_frame", "i8"),  # its row behind those of the bodies
        ("joint_kernel", "i8"),  # specialised for a single free screw or ball
        ("first_part", "i8"),
        ("last_part", "i8"),
        ("iv", "i8"),
        ("nv", "i8"),
        ("first_plain", "i8"),  # its coordinates in `Tree.plain` and in `Tree.quaternions`
        ("last_plain", "i8"),
        ("first_quaternion", "i8"),
        ("last_quaternion", "i8"),
        ("first_row", "i8"),  # its constraint rows; the same range of the constraint axes
        ("last_row", "i8"),
        ("first_term", "i8"),
        ("last_constant_row", "i8"),  # of its rows: the constraint axes of those before it are constant in M
        ("is_rotated", "i8"),  # whether F or M is rotated against the joint frame of its body
        ("one_plane", "i8"),  # whether both bodies move in one plane, so that it constrains no motion out of that plane
        ("origin", "f8", 3),  # F in the parent's joint frame
        ("frame", "f8", 9),
        ("child_origin", "f8", 3),  # M in the child's joint frame
        ("child_frame", "f8", 9),
        ("normal", "f8", 3),  # of the plane, in M
    ]
)
"""One row per loop joint: a joint whose child already has an inboard joint."""

MARKER = np.dtype([("link", "i8"), ("coordinates", "f8", 3), ("turns", "i8"), ("axes", "f8", 9)])
"""A point of an affine body: the first row of the body, and the coordinates along its principal axes, m.

If it `turns`, it has the rotation of the body; `axes` are the principal axes in the body frame, by columns.
"""

CONSTRAINT_AXIS = np.dtype([("t", "f8", 3), ("f", "f8", 3)])
"""A wrench about the origin of M, in the axes of M, that does no work on any free coordinate of a loop joint."""


class Tree(NamedTuple):
    """The bodies and joints as arrays (rows of the dtypes above).

    The coordinates of loop joints follow those of the tree in q and v; they are functions of the motion of the bodies.
    """

    links: Records
    parts: Records
    constants: Floats  # of generated parts
    frames: Records
    plain: Records  # coordinates with dq/dt = v
    quaternions: Records
    exponentials: Records
    closures: Records
    markers: Records  # points of affine bodies with forces or constraints
    inboard_joints: Records  # in maximal coordinates: parent and rows of each body in the elimination tree
    constraint_axes: Records  # in the axes of M, one per row of a loop joint; 0 unless constant
    has_effect: NDArray[np.bool_]  # one per row of a loop joint: False if it has none in any configuration
    driven: NDArray[np.bool_]  # (nv,) whether the motion of a coordinate is prescribed
    gravity: Floats  # (3,)
    normals_W: Floats  # (3 n,) of the planes of planar bodies with an inboard joint; 0 for others; or empty
    armature: Floats  # (nv,) reflected inertia of drives, an inertia of the coordinate alone
    length: float  # of the mechanism, m, and its slowest rate that counts, 1/s (`packing.scales`)
    rate: float
    weights: Floats  # (nv,) 1 / the displacement of a coordinate that turns a body by 1 rad or moves it by the length


class JointFriction(NamedTuple):
    """Friction patches of all joints and their points (`joints.friction`), and loads (rows of `CONSTRAINT_AXIS`).

    Brakes of combinations and of paths follow the patches wherever these are counted, and guides of ropes the brakes.
    """

    patches: Records
    points: Records
    loads: Records
    brakes: Records
    brake_terms: Records
    guides: Records
    moved: Integers  # a body that each patch, brake and guide moves
    accounts: Integers  # of each patch, brake and guide


class Contacts(NamedTuple):
    """Collision geometry, joint friction, energy accounts and solver options."""

    geometry: Geometry
    margin: float  # m, within which bodies are near
    friction_account: int
    impact_account: int
    rolling_account: int
    options: Any  # of `contact_solver.friction`
    max_contacts: int  # capacity of the contact tables
    joint_friction: JointFriction


class System(NamedTuple):
    """All input of the kernels."""

    tree: Tree
    motions: Motions
    forces: Forces
    constraints: Constraints
    reductions: Reductions
    rows: Records  # (m,) constant fields of the rows, copied into the work arrays
    terms: Records
    arms: Records  # moment arms to record
    carried: Integers  # path points outboard of the joints of `arms`
    commands: Records  # coordinates with a computed torque
    implicit: bool = False  # whether forces on bodies are linearly implicit
    coupled: bool = False  # whether all derivatives of the expressions of forces are linearly implicit
    contacts: Any = ()  # `Contacts`, if there are contacts or joint friction

    @property
    def is_constrained(self) -> bool:
        """Whether the tree has loop joints, constraint rows or markers."""
        return len(self.rows) + len(self.tree.closures) + len(self.tree.markers) > 0


class JointEntry(Immutable):
    """One joint of the scene, in scene order.

    Parameters
    ----------
    name, type, coordinates
        As in the scene; the value of the kind of a coordinate is the unit.
    columns, positions
        Slices of the joint in v (and in recorded coordinates), and in q.
    row
        Row of the child body; of a loop joint: its own row, behind those of all bodies.
    same
        The values of each coordinate that describe the same pose: see `joints.contract.Part`.
    domains
        Allowed interval of each coordinate; the run stops outside. Empty if all coordinates are unbounded.
    sizes
        Typical norms of the angular and the linear part of each column of the motion subspace, 1 and m per unit of
        the coordinate, for joints that may be singular.
    numbers
        Index of each coordinate in the slice of q; of a coordinate of a rotation, in its quaternion.
    """

    name: str
    type: str
    coordinates: tuple[Coordinate, ...]
    columns: slice
    positions: slice
    row: int
    same: tuple[str, ...] = ()
    domains: tuple[tuple[float, float], ...] = ()
    sizes: tuple[tuple[float, float], ...] = ()
    numbers: tuple[int, ...] = ()


class RowName(Immutable):
    """Name of a constraint row: its element in the scene, and the constrained direction."""

    section: str
    element: str
    direction: str


class ConstraintEntry(Immutable):
    """One coupling or constraint, or the limits of one joint, by its section and name in the scene.

    Parameters
    ----------
    rows, one_sided
        Its rows, counted from the first row that does not belong to a loop joint, and whether they are one-sided.
    """

    section: str
    name: str
    rows: slice
    one_sided: bool = False


class ActuationEntry(Immutable):
    """One muscle or actuator: the slice of its moment arms or forces, and the names of their coordinates."""

    name: str
    columns: slice
    coordinates: tuple[str, ...]


class Account(Immutable):
    """One entry of the energy ledger: work done on the system, or energy dissipated, by one cause."""

    kind: Literal["work", "dissipation"]
    cause: str


class SceneNames(Immutable):
    """Names from the scene for the rows of the arrays."""

    bodies: tuple[str, ...]
    body_rows: Integers  # (nb,) row of each body, in scene order
    joints: tuple[JointEntry, ...]
    accounts: tuple[Account, ...]
    coordinates: tuple[str, ...]  # (nv,) for messages: "joint hinge", "joint wrist/1"
    rows: tuple[RowName, ...]  # (m,)
    constraint_entries: tuple[ConstraintEntry, ...]
    inputs: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    parts_of_paths: tuple[tuple[tuple[str, int, float], ...], ...] = ()  # of their tensions: field, column and sign
    tensions: tuple[str, ...] = ()  # forces along paths
    springs: tuple[str, ...] = ()  # along cables
    muscles: tuple[ActuationEntry, ...] = ()
    actuators: tuple[ActuationEntry, ...] = ()
    filtered: tuple[str, ...] = ()  # actuators with a filter
    sensors: tuple[str, ...] = ()
    combinations: tuple[str, ...] = ()
    points: tuple[tuple[str, str], ...] = ()  # named points: the body and the name of each
    affine: tuple[str, ...] = ()  # affine bodies, whose deformation is recorded
    contacts: int = 0  # contact capacity; 0 without contacts
    friction_joints: tuple[str, ...] = ()  # joints with dry friction
    brakes: tuple[tuple[str, str], ...] = ()  # combinations and paths with friction: the section and the name of each
    ropes: tuple[ActuationEntry, ...] = ()  # ropes and belts, with the numbers of their spans
    elastic_ropes: tuple[ActuationEntry, ...] = ()  # with the numbers of their sections
    friction_ropes: tuple[ActuationEntry, ...] = ()  # those that slide with friction, with the numbers of their guides
    resists_rolling: bool = False  # whether contacts resist rolling or spinning
    variational: bool = False  # whether the method is variational, and reports on its steps
    wrenches: tuple[tuple[str, str], ...] = ()  # elements by their causes, each with a body on which it acts
    bushings: tuple[str, ...] = ()
    looped: tuple[int, ...] = ()  # numbers of the bodies in closed loops of joints
    events: tuple[str, ...] = ()
    four_bars: tuple[str, ...] = ()  # in results of a kinematic analysis

    @property
    def has_dry_friction(self) -> bool:
        """Whether joints, combinations, paths, ropes or belts have dry friction."""
        return bool(self.friction_joints or self.brakes or self.friction_ropes)

    def __eq__(self, other: object) -> bool:
        """Return whether all names are equal, as those of runs with other values of one scene."""
        equal = isinstance(other, SceneNames) and np.array_equal(self.body_rows, other.body_rows)
        return equal and vars(self) | {"body_rows": ()} == vars(other) | {"body_rows": ()}

    def __hash__(self) -> int:
        """Return a hash of the most different names."""
        return hash((self.bodies, self.coordinates))


NO_COMBINATIONS: Integers = np.zeros((0, 3), np.int64)


class Model(Immutable):
    """A compiled scene; immutable.

    Parameters
    ----------
    system
        The arrays that kernels read.
    names
        The names of their rows.
    com
        (nb, 3) centre of mass of each body in its body frame, in scene order, m.
    nq, nv
        Lengths of q and v.
    sensors, points, bushings
        The sensors, the named points, and the frames of bushings on their children, rows of `FIXED_FRAME`.
    joint_maps
        The formulas of generated parts of joints, by the address of their code.
    controllers
        The sampled controllers.
    combinations
        (n, 3) signals of value, rate and force of each combination of coordinates.
    inputs
        Where the value of each input that is a number stands among the operands of the signals.
    activations
        The signals of the activations of actuators.
    """

    system: System
    names: SceneNames
    com: Floats
    nq: int
    nv: int
    sensors: Records
    points: Records
    bushings: Records
    joint_maps: Mapping[int, JointMap] = {}
    controllers: tuple[Controller, ...] = ()
    combinations: Integers = NO_COMBINATIONS
    inputs: Mapping[str, tuple[int, ...]] = {}
    activations: Integers = np.zeros(0, np.int64)


class State(NamedTuple):
    """State of a run, advanced in place.

    `q` (nq,), `v` (nv,), `a` (nv,) the acceleration dv/dt at the same time, `ledger` (na,) the energy exchanged through
    each account since the start, J, `time` (1,) s, `z` (nz,) the states of force elements (`forces.states`). Between
    calls to a method, all of them are consistent.
    """

    time: Floats
    q: Floats
    v: Floats
    a: Floats
    ledger: Floats
    z: Floats

    def copy(self) -> State:
        """Return a state with arrays of its own."""
        return State(*(array.copy() for array in self))
