"""Bodies and joints into the arrays of `Tree`, and their first state into q and v."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from multibody_cli.joints.contract import Part, PartCode, Start
from multibody_cli.joints.parts.screw import NOT_TURNING, OBLIQUE
from multibody_cli.kernel import records
from multibody_cli.mass import MassProperties
from multibody_cli.model import (
    FRAME,
    LINK,
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
    """

    row: int
    parent: int
    mass: MassProperties
    parts: Sequence[Part]
    start: Start
    driven: Sequence[bool]
    origin: Placement = IN_PLACE
    child_origin: Placement = IN_PLACE


@dataclass
class PackedTree:
    """The tree, its first state, and where the numbers of each row lie."""

    tree: Tree
    q: Floats
    v: Floats
    first_q: Mapping[int, int]
    first_v: Mapping[int, int]
    frames: Mapping[int, Placement]  # body frame in joint frame, by row


@dataclass
class _Tables:
    """What grows part by part."""

    parts: list[tuple[object, ...]] = field(default_factory=list)
    plain: list[tuple[int, int]] = field(default_factory=list)
    quaternions: list[tuple[int, int, bool]] = field(default_factory=list)
    exponentials: list[tuple[int, int]] = field(default_factory=list)


def pack_tree(limbs: Sequence[Limb], gravity: Vector) -> PackedTree:
    """Pack bodies and joints; `limbs` are in the order of their rows, the ground is added."""
    links = np.zeros(len(limbs) + 1, LINK)
    frames = np.zeros(len(limbs) + 1, FRAME)
    links["parent"][0] = -1
    frames["frame"][0, ::4] = 1.0
    tables = _Tables()
    body_frames: dict[int, Placement] = {0: IN_PLACE}
    first_q: dict[int, int] = {}
    first_v: dict[int, int] = {}
    nq = nv = 0
    for limb in limbs:
        link, row = links[limb.row], limb.row
        first_q[row], first_v[row] = nq, nv
        body_frames[row] = limb.child_origin.inverse()
        link["iq"], link["iv"] = nq, nv
        link["first_part"] = len(tables.parts)
        for part in limb.parts:
            _pack_part(part, nq, nv, tables)
            nq, nv = nq + part.nq, nv + part.nv
        link["last_part"] = len(tables.parts)
        link["nv"] = nv - link["iv"]
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
    tree = Tree(
        links=_frozen(links),
        parts=_frozen(np.array(tables.parts, dtype=PART)),
        frames=_frozen(frames),
        plain=_frozen(np.array(tables.plain, dtype=PLACE)),
        quaternions=_frozen(np.array(tables.quaternions, dtype=QUATERNION)),
        exponentials=_frozen(np.array(tables.exponentials, dtype=PLACE)),
        driven=_frozen(np.array([flag for limb in limbs for flag in limb.driven], dtype=np.bool_)),
        gravity=_frozen(np.array(gravity, dtype=np.float64)),
    )
    q = np.array([number for limb in limbs for number in limb.start.q], dtype=np.float64)
    v = np.array([number for limb in limbs for number in limb.start.v], dtype=np.float64)
    return PackedTree(tree, q, v, first_q, first_v, body_frames)


def _way(limb: Limb) -> int:
    """The fast ways are for one free screw and one free ball."""
    if len(limb.parts) == 1 and not any(limb.driven):
        return {PartCode.SCREW: WAY_SCREW, PartCode.BALL: WAY_BALL}.get(limb.parts[0].code, WAY_GENERAL)
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


def _pack_part(part: Part, iq: int, iv: int, tables: _Tables) -> None:
    tables.parts.append((int(part.code), _along(part), iq, iv, part.turn, part.slide))
    turning = part.nq - part.nv  # how many quaternions: none or one, behind the plain coordinates
    plain = part.nv - 3 * turning
    tables.plain.extend((iq + k, iv + k) for k in range(plain))
    if turning:
        tables.quaternions.append((iq + plain, iv + plain, part.code == PartCode.BALL))
    if part.code == PartCode.EXPONENTIAL:
        tables.exponentials.append((iq, iv))


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
