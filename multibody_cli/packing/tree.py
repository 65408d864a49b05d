"""Packing of bodies and joints into the arrays of `Tree`, and of their initial state into q and v."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from multibody_cli.joints.contract import Part, PartCode
from multibody_cli.joints.joint_map import JointMap
from multibody_cli.kernel import frozen
from multibody_cli.kkt.nodes import INBOARD_JOINT
from multibody_cli.mass import MassProperties
from multibody_cli.model import (
    CLOSURE,
    CONSTRAINT_AXIS,
    COORDINATE_INDEX,
    FRAME,
    KERNEL_BALL,
    KERNEL_GENERAL,
    KERNEL_SCREW,
    LINK,
    MARKER,
    PART,
    QUATERNION,
    Floats,
    Tree,
)
from multibody_cli.packing.constraint_bases import PartTables, axis_kind
from multibody_cli.packing.loop_motions import constraint_axes_of_loop
from multibody_cli.scene.body_kinds import IN_PLACE, LinkData, LoopJoint, Placement

Vector = tuple[float, float, float]


@dataclass
class PackedTree:
    """The tree, its initial state, and the first indices of each row; loop joints have rows behind the bodies."""

    tree: Tree
    q: Floats
    v: Floats
    first_q: Mapping[int, int]
    first_v: Mapping[int, int]
    frames: Mapping[int, Placement]  # body frame in joint frame, by row
    joint_maps: Mapping[int, JointMap]  # of generated parts, by the address of their code


def pack_tree(tree_links: Sequence[LinkData], gravity: Vector, loops: Sequence[LoopJoint] = ()) -> PackedTree:
    """Pack bodies and joints; `tree_links` are in the order of their rows, the ground is added."""
    links = np.zeros(len(tree_links) + 1, LINK)
    frames = np.zeros(len(tree_links) + 1, FRAME)
    links["parent"][0] = -1
    frames["frame"][0, ::4] = 1.0
    tables = PartTables()
    body_frames: dict[int, Placement] = {0: IN_PLACE}
    first_q: dict[int, int] = {}
    first_v: dict[int, int] = {}
    for tree_link in tree_links:
        link, row = links[tree_link.row], tree_link.row
        first_q[row], first_v[row] = tables.nq, tables.nv
        body_frames[row] = tree_link.child_origin.inverse()
        link["iq"], link["iv"] = tables.nq, tables.nv
        link["first_part"] = len(tables.parts)
        for part in tree_link.parts:
            tables.add(part)
        link["last_part"] = len(tables.parts)
        link["nv"] = tables.nv - link["iv"]
        link["parent"] = tree_link.parent
        link["ignores_gravity"], link["is_director"] = tree_link.ignores_gravity, tree_link.is_director
        link["joint_kernel"] = _joint_kernel(tree_link)
        if link["joint_kernel"] == KERNEL_SCREW:
            _copy_screw(tree_link.parts[0], link)
        _write_placement(body_frames[tree_link.parent] @ tree_link.origin, link)
        link["frame_is_rotated"] = not np.array_equal(link["frame"], np.eye(3).ravel())
        link["floats"] = _floats(tree_link) and not link["frame_is_rotated"]
        _write_placement(body_frames[row], frames[row])
        _write_mass(tree_link.mass, body_frames[row], link)
        if tree_link.parent != row - 1 or link["joint_kernel"] == KERNEL_GENERAL:
            links["has_side_children"][tree_link.parent] = 1
    closures = np.zeros(len(loops), CLOSURE)
    constraint_axes: list[Floats] = []
    has_effect: list[bool] = []
    for k, loop in enumerate(loops):
        row = len(links) + k
        first_q[row], first_v[row] = tables.nq, tables.nv
        body_frames[row] = loop.child_origin.inverse()
        closures[k]["loop_frame"] = row
        _pack_loop(loop, tree_links, body_frames, closures[k], tables, constraint_axes, has_effect)
    rows = closures["last_row"] - closures["first_row"]
    closures["first_term"] = 2 * (np.cumsum(rows) - rows)
    hung: list[LinkData | LoopJoint] = [*tree_links, *loops]
    tree = Tree(
        links=frozen(links),
        parts=frozen(np.array(tables.parts, dtype=PART)),
        constants=frozen(np.array(tables.constants, dtype=np.float64)),
        frames=frozen(frames),
        plain=frozen(np.array(tables.plain, dtype=COORDINATE_INDEX)),
        quaternions=frozen(np.array(tables.quaternions, dtype=QUATERNION)),
        exponentials=frozen(np.array(tables.exponentials, dtype=COORDINATE_INDEX)),
        closures=frozen(closures),
        markers=frozen(np.zeros(0, MARKER)),
        inboard_joints=frozen(np.zeros(0, INBOARD_JOINT)),
        constraint_axes=frozen(np.array([(T[:3], T[3:]) for T in constraint_axes], dtype=CONSTRAINT_AXIS)),
        has_effect=frozen(np.array(has_effect, dtype=np.bool_)),
        driven=frozen(np.array([flag for one in hung for flag in one.driven], dtype=np.bool_)),
        gravity=frozen(np.array(gravity, dtype=np.float64)),
        normals_W=frozen(_normals(tree_links)),
        armature=frozen(np.zeros(tables.nv)),
        length=1.0,
        rate=1.0,
        weights=frozen(np.ones(tables.nv)),
    )
    q = np.array([number for one in hung for number in one.start.q], dtype=np.float64)
    v = np.array([number for one in hung for number in one.start.v], dtype=np.float64)
    return PackedTree(tree, q, v, first_q, first_v, body_frames, tables.joint_maps)


def _normals(tree_links: Sequence[LinkData]) -> Floats:
    """Return the normal of each link, zero without one, with the ground; empty where no link has one."""
    if all(link.normal is None for link in tree_links):
        return np.zeros(0)
    return np.array([(0.0, 0.0, 0.0), *(link.normal or (0.0, 0.0, 0.0) for link in tree_links)]).ravel()


def _joint_kernel(tree_link: LinkData | LoopJoint) -> int:
    """Return the joint kernel: a specialised one for a single free screw or ball without armature."""
    if len(tree_link.parts) == 1 and not any(tree_link.driven):
        ball = KERNEL_GENERAL if isinstance(tree_link, LinkData) and tree_link.has_armature else KERNEL_BALL
        return {PartCode.SCREW: KERNEL_SCREW, PartCode.BALL: ball}.get(tree_link.parts[0].code, KERNEL_GENERAL)
    return KERNEL_GENERAL


def _floats(tree_link: LinkData) -> bool:
    """Whether a body moves freely relative to the ground."""
    codes = [part.code for part in tree_link.parts]
    return tree_link.parent == 0 and codes == [PartCode.FREE] and not any(tree_link.driven)


def _copy_screw(part: Part, link: np.void) -> None:
    link["axis_kind"] = axis_kind(part)
    link["slides"] = part.slide != (0.0, 0.0, 0.0)
    link["turn"][:] = part.turn
    link["slide"][:] = part.slide


def _pack_loop(
    loop: LoopJoint,
    tree_links: Sequence[LinkData],
    body_frames: Mapping[int, Placement],
    closure: np.void,
    tables: PartTables,
    constraint_axes: list[Floats],
    has_effect: list[bool],
) -> None:
    axes = constraint_axes_of_loop(loop, tree_links)
    closure["parent"], closure["child"] = loop.parent, loop.child
    closure["joint_kernel"] = _joint_kernel(loop)
    closure["iv"], closure["first_part"] = tables.nv, len(tables.parts)
    closure["first_plain"], closure["first_quaternion"] = len(tables.plain), len(tables.quaternions)
    for part in loop.parts:
        tables.add(part)
    closure["nv"], closure["last_part"] = tables.nv - closure["iv"], len(tables.parts)
    closure["last_plain"], closure["last_quaternion"] = len(tables.plain), len(tables.quaternions)
    first = len(constraint_axes)
    closure["first_row"], closure["last_row"] = first, first + len(axes.directions)
    closure["last_constant_row"], closure["one_plane"] = first + axes.constant, loop.normal is not None
    closure["normal"][:] = loop.normal or (0.0, 0.0, 0.0)
    constraint_axes.extend(axes.directions)
    has_effect.extend(axes.has_effect if loop.active else np.ones_like(axes.has_effect))
    # a marker has no row among the bodies; it is its own frame
    at_parent = body_frames.get(loop.parent, IN_PLACE) @ loop.origin
    at_child = body_frames.get(loop.child, IN_PLACE) @ loop.child_origin
    if not loop.active:  # a joint of the parent with itself, at zero coordinates
        closure["child"], at_child = loop.parent, at_parent
        closure["last_row"] = closure["last_constant_row"] = first
    _write_placement(at_parent, closure)
    closure["child_origin"][:], closure["child_frame"][:] = at_child.position, at_child.rotation.T.ravel()
    closure["is_rotated"] = any(
        not np.array_equal(closure[name], np.eye(3).ravel()) for name in ("frame", "child_frame")
    )


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
