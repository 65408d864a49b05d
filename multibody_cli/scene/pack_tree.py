"""Bodies and joints into the arrays of `Tree`, and their first state into q and v."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from multibody_cli.dynamics.ghosts import find_locks_at
from multibody_cli.dynamics.kkt_nodes import HOLDER
from multibody_cli.dynamics.workspace import BODY, COLUMN
from multibody_cli.joints.contract import Part, PartCode, Start
from multibody_cli.joints.parts.screw import NOT_TURNING, OBLIQUE
from multibody_cli.kernel import records
from multibody_cli.mass import MassProperties
from multibody_cli.model import (
    CLOSURE,
    FRAME,
    LINK,
    LOCK,
    PART,
    PLACE,
    QUATERNION,
    WAY_BALL,
    WAY_GENERAL,
    WAY_SCREW,
    Floats,
    Tree,
)

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Placement:
    """A frame in another one: position (3,) and rotation matrix (3, 3)."""

    position: Floats
    rotation: Floats

    def inverse(self) -> Placement:
        """The other frame in this one."""
        return Placement(-self.rotation.T @ self.position, self.rotation.T)

    def __matmul__(self, inner: Placement) -> Placement:
        return Placement(self.position + self.rotation @ inner.position, self.rotation @ inner.rotation)


IN_PLACE = Placement(np.zeros(3), np.eye(3))


@dataclass(frozen=True)
class Limb:
    """A body with the joint that carries it, ready to be packed.

    Parameters
    ----------
    row, parent
        Rows of the body and of its parent.
    mass
        Mass properties in the body frame.
    parts, start, driven
        The run of parts of the joint, where it starts, and which coordinates have a prescribed motion.
    origin
        Frame F in the parent's body frame.
    child_origin
        Frame M in the body frame.
    sprung
        Whether springs or dampers act on the coordinates of the joint.
    """

    row: int
    parent: int
    mass: MassProperties
    parts: Sequence[Part]
    start: Start
    driven: Sequence[bool]
    origin: Placement = IN_PLACE
    child_origin: Placement = IN_PLACE
    sprung: bool = False


@dataclass(frozen=True)
class Loop:
    """A joint whose child is held already, ready to be packed; the fields are as in `Limb`."""

    parent: int
    child: int
    parts: Sequence[Part]
    start: Start
    driven: Sequence[bool]
    origin: Placement = IN_PLACE
    child_origin: Placement = IN_PLACE


@dataclass
class PackedTree:
    """The tree, its first state, and where the numbers of each row lie; closures have rows behind the bodies."""

    tree: Tree
    q: Floats
    v: Floats
    first_q: Mapping[int, int]
    first_v: Mapping[int, int]
    frames: Mapping[int, Placement]  # body frame in joint frame, by row


@dataclass
class PartTables:
    """What grows part by part, and how many numbers q and v have so far."""

    parts: list[tuple[object, ...]] = field(default_factory=list)
    plain: list[tuple[int, int]] = field(default_factory=list)
    quaternions: list[tuple[int, int, bool]] = field(default_factory=list)
    exponentials: list[tuple[int, int]] = field(default_factory=list)
    nq: int = 0
    nv: int = 0

    def add(self, part: Part) -> None:
        """Append a part."""
        iq, iv = self.nq, self.nv
        self.parts.append((int(part.code), _along(part), iq, iv, part.turn, part.slide))
        turning = part.nq - part.nv  # how many quaternions: none or one, behind the plain coordinates
        plain = part.nv - 3 * turning
        self.plain.extend((iq + k, iv + k) for k in range(plain))
        if turning:
            self.quaternions.append((iq + plain, iv + plain, part.code == PartCode.BALL))
        if part.code == PartCode.EXPONENTIAL:
            self.exponentials.append((iq, iv))
        self.nq, self.nv = iq + part.nq, iv + part.nv


def pack_tree(limbs: Sequence[Limb], gravity: Vector, loops: Sequence[Loop] = ()) -> PackedTree:
    """Pack bodies and joints; `limbs` are in the order of their rows, the ground is added."""
    links = np.zeros(len(limbs) + 1, LINK)
    frames = np.zeros(len(limbs) + 1, FRAME)
    links["parent"][0] = -1
    frames["frame"][0, ::4] = 1.0
    tables = PartTables()
    body_frames: dict[int, Placement] = {0: IN_PLACE}
    first_q: dict[int, int] = {}
    first_v: dict[int, int] = {}
    for limb in limbs:
        link, row = links[limb.row], limb.row
        first_q[row], first_v[row] = tables.nq, tables.nv
        body_frames[row] = limb.child_origin.inverse()
        link["iq"], link["iv"] = tables.nq, tables.nv
        link["first_part"] = len(tables.parts)
        for part in limb.parts:
            tables.add(part)
        link["last_part"] = len(tables.parts)
        link["nv"] = tables.nv - link["iv"]
        link["parent"] = limb.parent
        link["way"] = _way(limb)
        if link["way"] == WAY_SCREW:
            _copy_screw(limb.parts[0], link)
        _write_placement(body_frames[limb.parent] @ limb.origin, link)
        link["tilted"] = not np.array_equal(link["frame"], np.eye(3).ravel())
        _write_placement(body_frames[row], frames[row])
        _write_mass(limb.mass, body_frames[row], link)
        if limb.parent != row - 1 or link["way"] == WAY_GENERAL:
            links["branches"][limb.parent] = 1
    closures = np.zeros(len(loops), CLOSURE)
    locks: list[tuple[Vector, Vector]] = []
    for k, loop in enumerate(loops):
        row = len(links) + k
        first_q[row], first_v[row] = tables.nq, tables.nv
        body_frames[row] = loop.child_origin.inverse()
        _pack_loop(loop, body_frames, closures[k], tables, locks)
    hung: list[Limb | Loop] = [*limbs, *loops]
    tree = Tree(
        links=_frozen(links),
        parts=_frozen(np.array(tables.parts, dtype=PART)),
        frames=_frozen(frames),
        plain=_frozen(np.array(tables.plain, dtype=PLACE)),
        quaternions=_frozen(np.array(tables.quaternions, dtype=QUATERNION)),
        exponentials=_frozen(np.array(tables.exponentials, dtype=PLACE)),
        closures=_frozen(closures),
        holders=_frozen(np.zeros(0, HOLDER)),
        locks=_frozen(np.array(locks, dtype=LOCK)),
        driven=_frozen(np.array([flag for one in hung for flag in one.driven], dtype=np.bool_)),
        gravity=_frozen(np.array(gravity, dtype=np.float64)),
    )
    q = np.array([number for one in hung for number in one.start.q], dtype=np.float64)
    v = np.array([number for one in hung for number in one.start.v], dtype=np.float64)
    return PackedTree(tree, q, v, first_q, first_v, body_frames)


def _way(limb: Limb | Loop) -> int:
    """The fast ways are for one free screw and one free ball, which takes no armature."""
    if len(limb.parts) == 1 and not any(limb.driven):
        ball = WAY_GENERAL if isinstance(limb, Limb) and limb.sprung else WAY_BALL
        return {PartCode.SCREW: WAY_SCREW, PartCode.BALL: ball}.get(limb.parts[0].code, WAY_GENERAL)
    return WAY_GENERAL


def _along(part: Part) -> int:
    """Which axis of the frame a screw turns about, if one of them."""
    if part.turn == (0.0, 0.0, 0.0):
        return NOT_TURNING
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    return axes.index(part.turn) if part.turn in axes else OBLIQUE


def _copy_screw(part: Part, link: np.void) -> None:
    link["along"] = _along(part)
    link["slides"] = part.slide != (0.0, 0.0, 0.0)
    link["turn"][:] = part.turn
    link["slide"][:] = part.slide


def _pack_loop(
    loop: Loop,
    body_frames: Mapping[int, Placement],
    closure: np.void,
    tables: PartTables,
    locks: list[tuple[Vector, Vector]],
) -> None:
    free = sum(not flag for flag in loop.driven)
    closure["parent"], closure["child"] = loop.parent, loop.child
    closure["way"] = _way(loop)
    closure["iv"], closure["first_part"] = tables.nv, len(tables.parts)
    closure["first_plain"], closure["first_quaternion"] = len(tables.plain), len(tables.quaternions)
    for part in loop.parts:
        tables.add(part)
    closure["nv"], closure["last_part"] = tables.nv - closure["iv"], len(tables.parts)
    closure["last_plain"], closure["last_quaternion"] = len(tables.plain), len(tables.quaternions)
    closure["first_row"], closure["last_row"] = len(locks), len(locks) + 6 - free
    closure["first_term"] = 2 * len(locks)
    steady = steady_locks(tuple(loop.parts), tuple(loop.driven))
    closure["steady"] = steady is not None
    locks.extend(steady or [((0.0,) * 3, (0.0,) * 3)] * (6 - free))
    _write_placement(body_frames[loop.parent] @ loop.origin, closure)
    at_child = body_frames[loop.child] @ loop.child_origin
    closure["child_origin"][:], closure["child_frame"][:] = at_child.position, at_child.rotation.T.ravel()


@lru_cache(maxsize=4096)
def steady_locks(parts: tuple[Part, ...], driven: tuple[bool, ...]) -> list[tuple[Vector, Vector]] | None:
    """Directions [t; f] that a joint locks, in the axes of M, if they are the same wherever it stands."""
    tables = PartTables()
    for part in parts:
        tables.add(part)
    rng = np.random.default_rng(0)  # any coordinates will do, as long as they are the same in every run
    found = []
    for _ in range(3):
        q = rng.uniform(-1.0, 1.0, tables.nq)
        for iq, *_ in tables.quaternions:
            q[iq : iq + 4] /= np.linalg.norm(q[iq : iq + 4])
        locks = records(np.zeros(6 - sum(not flag for flag in driven), LOCK))
        find_locks_at(
            records(np.array(tables.parts, PART)),
            q,
            np.zeros(tables.nv),
            np.array(driven, dtype=np.bool_),
            records(np.zeros(1, BODY)),
            records(np.zeros(tables.nv, COLUMN)),
            np.zeros((6, 6)),
            locks,
        )
        found.append(np.column_stack([locks["t"], locks["f"]]))
    spans = [T.T @ T for T in found]
    if not all(np.allclose(span, spans[0], rtol=0.0, atol=1e-12) for span in spans):
        return None
    return [(tuple(T[:3].tolist()), tuple(T[3:].tolist())) for T in found[0]]


def _write_placement(placement: Placement, record: np.void) -> None:
    record["origin"][:] = placement.position
    record["frame"][:] = placement.rotation.T.ravel()  # by columns


def _write_mass(mass: MassProperties, body_frame: Placement, link: np.void) -> None:
    R = body_frame.rotation
    J = R @ mass.inertia @ R.T
    link["mass"] = mass.mass
    link["com"][:] = body_frame.position + R @ mass.com
    link["central"][:] = J[np.triu_indices(3)]
    link["principal"] = not (J - np.diag(np.diag(J))).any()


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return records(array) if array.dtype.names else array
