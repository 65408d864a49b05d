"""Bodies and joints into the arrays of `Tree`, and their first state into q and v."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from multibody_cli.joints.contract import Part, PartCode
from multibody_cli.joints.shape import Shape
from multibody_cli.kernel import records
from multibody_cli.kkt.nodes import HOLDER
from multibody_cli.mass import MassProperties
from multibody_cli.model import (
    CLOSURE,
    FRAME,
    LINK,
    LOCK,
    MARKER,
    PART,
    PLACE,
    QUATERNION,
    WAY_BALL,
    WAY_GENERAL,
    WAY_SCREW,
    Floats,
    Tree,
)
from multibody_cli.packing.constraint_bases import locks_of
from multibody_cli.packing.part_tables import PartTables, along
from multibody_cli.scene.links import IN_PLACE, Link, LoopJoint, Placement

Vector = tuple[float, float, float]


@dataclass
class PackedTree:
    """The tree, its first state, and where the numbers of each row lie; closures have rows behind the bodies."""

    tree: Tree
    q: Floats
    v: Floats
    first_q: Mapping[int, int]
    first_v: Mapping[int, int]
    frames: Mapping[int, Placement]  # body frame in joint frame, by row
    shapes: Mapping[int, Shape]  # of generated parts, by the address of their code


def pack_tree(limbs: Sequence[Link], gravity: Vector, loops: Sequence[LoopJoint] = ()) -> PackedTree:
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
        link["weightless"] = limb.weightless
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
        closures[k]["ghost"] = row
        _pack_loop(loop, body_frames, closures[k], tables, locks)
    hung: list[Link | LoopJoint] = [*limbs, *loops]
    tree = Tree(
        links=_frozen(links),
        parts=_frozen(np.array(tables.parts, dtype=PART)),
        constants=_frozen(np.array(tables.constants, dtype=np.float64)),
        frames=_frozen(frames),
        plain=_frozen(np.array(tables.plain, dtype=PLACE)),
        quaternions=_frozen(np.array(tables.quaternions, dtype=QUATERNION)),
        exponentials=_frozen(np.array(tables.exponentials, dtype=PLACE)),
        closures=_frozen(closures),
        markers=_frozen(np.zeros(0, MARKER)),
        holders=_frozen(np.zeros(0, HOLDER)),
        locks=_frozen(np.array(locks, dtype=LOCK)),
        driven=_frozen(np.array([flag for one in hung for flag in one.driven], dtype=np.bool_)),
        gravity=_frozen(np.array(gravity, dtype=np.float64)),
    )
    q = np.array([number for one in hung for number in one.start.q], dtype=np.float64)
    v = np.array([number for one in hung for number in one.start.v], dtype=np.float64)
    return PackedTree(tree, q, v, first_q, first_v, body_frames, tables.shapes)


def _way(limb: Link | LoopJoint) -> int:
    """The fast ways are for one free screw and one free ball, which takes no armature."""
    if len(limb.parts) == 1 and not any(limb.driven):
        ball = WAY_GENERAL if isinstance(limb, Link) and limb.sprung else WAY_BALL
        return {PartCode.SCREW: WAY_SCREW, PartCode.BALL: ball}.get(limb.parts[0].code, WAY_GENERAL)
    return WAY_GENERAL


def _copy_screw(part: Part, link: np.void) -> None:
    link["along"] = along(part)
    link["slides"] = part.slide != (0.0, 0.0, 0.0)
    link["turn"][:] = part.turn
    link["slide"][:] = part.slide


def _pack_loop(
    loop: LoopJoint,
    body_frames: Mapping[int, Placement],
    closure: np.void,
    tables: PartTables,
    locks: list[tuple[Vector, Vector]],
) -> None:
    found = locks_of(tuple(loop.parts), tuple(loop.driven), loop.normal)
    closure["parent"], closure["child"] = loop.parent, loop.child
    closure["way"] = _way(loop)
    closure["iv"], closure["first_part"] = tables.nv, len(tables.parts)
    closure["first_plain"], closure["first_quaternion"] = len(tables.plain), len(tables.quaternions)
    for part in loop.parts:
        tables.add(part)
    closure["nv"], closure["last_part"] = tables.nv - closure["iv"], len(tables.parts)
    closure["last_plain"], closure["last_quaternion"] = len(tables.plain), len(tables.quaternions)
    closure["first_row"], closure["last_row"] = len(locks), len(locks) + len(found.directions)
    closure["first_term"] = 2 * len(locks)
    closure["steady"], closure["one_plane"] = found.steady, loop.normal is not None
    closure["normal"][:] = loop.normal or (0.0, 0.0, 0.0)
    locks.extend(found.directions if found.steady else [((0.0,) * 3, (0.0,) * 3)] * len(found.directions))
    # a marker, which has no row among the bodies, is its own frame
    _write_placement(body_frames.get(loop.parent, IN_PLACE) @ loop.origin, closure)
    at_child = body_frames.get(loop.child, IN_PLACE) @ loop.child_origin
    closure["child_origin"][:], closure["child_frame"][:] = at_child.position, at_child.rotation.T.ravel()


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
