"""Where bodies and joints stand in the arrays: in the coordinates of the joints, or in those of the bodies.

In the coordinates of the joints, the joints that hold bodies make a tree and the others close loops.  In those of the
bodies every body moves freely, and every joint is a closure; the bodies are numbered as Baraff's method eliminates
them, along those joints that make a tree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Part, Start
from multibody_cli.joints.spec import WORLD, JointSpec, MovingJointSpec
from multibody_cli.kkt.elimination import Elimination, plan_elimination
from multibody_cli.mass import MassProperties
from multibody_cli.packing.constraint_bases import locks_of
from multibody_cli.packing.markers import Markers
from multibody_cli.scene.bodies import IN_PLANE
from multibody_cli.scene.body_kinds import limbs_of, normal_of, start_of
from multibody_cli.scene.links import IN_PLACE, Link, LoopJoint, Placement
from multibody_cli.scene.mass_properties import second_moments
from multibody_cli.scene.schema import Scene
from multibody_cli.scene.topology import holders, numbered, rows_of_tree
from multibody_cli.spec import Pose, Vector
from multibody_cli.spec.rotation_matrix import rotation_matrix


@dataclass(frozen=True)
class Layout:
    """A scene in the order of the arrays.

    Parameters
    ----------
    rows
        Row of each body by its name; the world is row 0.
    held
        Name of the joint that carries each body, by the name of the body.
    limbs
        The bodies in the order of their rows, each with what carries it.
    closing
        Names of the joints that close loops.
    loops
        These joints.
    markers
        Points of affine bodies on which something acts.
    holding
        Those among them that the method may hold itself.
    elimination
        Which of these it holds; None in the coordinates of the joints.
    """

    rows: Mapping[str, int]
    held: Mapping[str, str]
    limbs: Sequence[Link]
    closing: Sequence[str]
    loops: Sequence[LoopJoint]
    markers: Markers
    holding: Sequence[str] = ()
    elimination: Elimination | None = None

    def row_of_joint(self, name: str, joint: JointSpec) -> int:
        """Row of the body that a joint carries; behind all bodies, of a joint that closes a loop."""
        if self.held.get(joint.child) == name:
            return self.rows[joint.child]
        return len(self.limbs) + 1 + self.closing.index(name)


def lay_out_joints(scene: Scene, masses: Mapping[str, MassProperties]) -> Layout:
    """Lay out a scene in the coordinates of its joints."""
    joints, held = scene.joints, holders(scene.bodies, scene.joints)
    rows = rows_of_tree(scene.bodies, joints)
    limbs: list[Link] = []
    for name in sorted(scene.bodies, key=rows.__getitem__):
        body, mass = scene.bodies[name], masses[name]
        if name in held:
            limbs.append(held_limb(rows, joints[held[name]], mass))
        else:
            limbs += limbs_of(body, rows[name], mass, start_of(body, mass))
    closing = [name for name, joint in joints.items() if held.get(joint.child) != name]
    markers = markers_for(scene, masses, rows, len(limbs) + 1 + len(closing))
    loops = [loop_of(scene, joints[name], rows, markers) for name in closing]
    return Layout(rows, held, limbs, closing, loops, markers)


def lay_out_bodies(
    scene: Scene,
    masses: Mapping[str, MassProperties],
    body_starts: Mapping[str, Start],
    joint_starts: Mapping[str, Start],
) -> Layout:
    """Lay out a scene in the coordinates of its bodies, from where these and the joints start."""
    numbers = {WORLD: 0} | {body: k for k, body in enumerate(scene.bodies, 1)}
    holding = [name for name, joint in scene.joints.items() if may_hold(scene, joint)]
    pairs = [(numbers[scene.joints[name].child], numbers[scene.joints[name].parent]) for name in holding]
    plan = plan_elimination(len(scene.bodies), pairs)
    names = list(scene.bodies)
    order = [names[number - 1] for number in plan.bodies[1:]]
    rows = numbered(scene.bodies, order)
    limbs = [
        limb for name in order for limb in limbs_of(scene.bodies[name], rows[name], masses[name], body_starts[name])
    ]
    markers = markers_for(scene, masses, rows, len(limbs) + 1 + len(scene.joints))
    loops = [
        dataclasses.replace(loop_of(scene, joint, rows, markers), start=joint_starts[name])
        for name, joint in scene.joints.items()
    ]
    return Layout(rows, {}, limbs, list(scene.joints), loops, markers, holding, plan)


def markers_for(scene: Scene, masses: Mapping[str, MassProperties], rows: Mapping[str, int], first: int) -> Markers:
    """Prepare the markers of the affine bodies of a scene, whose rows begin with `first`."""
    affine = [name for name, body in scene.bodies.items() if body.kind == "affine"]
    return Markers(first, rows, {name: second_moments(masses[name])[1] for name in affine})


def loop_of(scene: Scene, joint: JointSpec, rows: Mapping[str, int], markers: Markers) -> LoopJoint:
    """A joint that closes a loop; it holds an affine body by the point where it stands."""
    parts, start, driven, origin, child_origin = hanging(joint)
    parent, child = rows[joint.parent], rows[joint.child]
    if markers.takes(joint.parent):
        parent = markers.row(joint.parent, joint.origin.position)
        origin = Placement(np.zeros(3), origin.rotation)
    if markers.takes(joint.child):
        child = markers.row(joint.child, joint.child_origin.position)
        child_origin = Placement(np.zeros(3), child_origin.rotation)
    return LoopJoint(parent, child, parts, start, driven, origin, child_origin, common_normal(scene, joint))


def common_normal(scene: Scene, joint: JointSpec) -> Vector | None:
    """Normal of the plane in which both bodies of a joint move, in the axes of M, where they do.

    The world moves in any plane.
    """
    parent, child = scene.bodies.get(joint.parent), scene.bodies[joint.child]
    if child.kind != "planar" or (parent is not None and parent.kind != "planar"):
        return None
    if parent is not None and np.linalg.norm(np.cross(normal_of(parent), normal_of(child))) > IN_PLANE:
        return None
    x, y, z = rotation_matrix(joint.child_origin.rotation)[2].tolist()
    return x, y, z


def may_hold(scene: Scene, joint: JointSpec) -> bool:
    """Whether a joint may be a node of an elimination tree: its rows are independent on either of its bodies alone.

    They are not where a planar body is held to one that leaves its plane, as a force across the plane moves but one
    of the two.
    """
    normal = common_normal(scene, joint)
    kinds = [scene.bodies[name].kind for name in (joint.parent, joint.child) if name != WORLD]
    parts, _, driven, _, _ = hanging(joint)
    found = locks_of(tuple(parts), tuple(driven), normal)
    return len(found.directions) > 0 and (normal is not None or "planar" not in kinds)


def held_limb(rows: Mapping[str, int], joint: JointSpec, mass: MassProperties) -> Link:
    """A body that a joint carries."""
    sprung = isinstance(joint, MovingJointSpec) and not (joint.stiffness is None and joint.damping is None)
    return Link(rows[joint.child], rows[joint.parent], mass, *hanging(joint), sprung=sprung)


def hanging(joint: JointSpec) -> tuple[Sequence[Part], Start, Sequence[bool], Placement, Placement]:
    """What a joint is, wherever it stands: parts, start, what is driven, and its two frames."""
    kind = JOINTS[joint.type]
    parts = kind.parts(joint)
    motion = joint.motion if isinstance(joint, MovingJointSpec) else None
    freedoms = sum(part.nv for part in parts)
    driven = [signal is not None for signal in motion.signals] if motion is not None else [False] * freedoms
    return parts, kind.start(joint), driven, placement(joint.origin), placement(joint.child_origin)


def placement(pose: Pose) -> Placement:
    """A pose as position and rotation matrix."""
    if pose == Pose():
        return IN_PLACE
    return Placement(np.array(pose.position), rotation_matrix(pose.rotation))
