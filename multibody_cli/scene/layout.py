"""Where bodies and joints stand in the arrays: in the coordinates of the joints, or in those of the bodies.

In the coordinates of the joints, the joints that hold bodies make a tree and the others close loops.  In those of the
bodies every body moves freely, and every joint is a closure; the bodies are numbered as Baraff's method eliminates
them, along those joints that make a tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from multibody_cli.dynamics.elimination import Elimination, plan_elimination
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Part, Start, floating
from multibody_cli.joints.spec import WORLD, JointSpec, MovingJointSpec
from multibody_cli.mass import MassProperties
from multibody_cli.scene.bodies import BodySpec
from multibody_cli.scene.pack_tree import IN_PLACE, Limb, Loop, Placement
from multibody_cli.scene.rotation_matrix import rotation_matrix
from multibody_cli.scene.schema import Scene
from multibody_cli.scene.topology import holders, rows_of_tree
from multibody_cli.spec import Pose


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
    elimination
        Which of those that lock any direction the method holds itself; None in the coordinates of the joints.
    """

    rows: Mapping[str, int]
    held: Mapping[str, str]
    limbs: Sequence[Limb]
    closing: Sequence[str]
    loops: Sequence[Loop]
    elimination: Elimination | None = None

    def row_of_joint(self, name: str, joint: JointSpec) -> int:
        """Row of the body that a joint carries; behind all bodies, of a joint that closes a loop."""
        if self.held.get(joint.child) == name:
            return self.rows[joint.child]
        return len(self.limbs) + 1 + self.closing.index(name)


def lay_out_joints(scene: Scene, masses: Mapping[str, MassProperties]) -> Layout:
    """Lay out a scene in the coordinates of its joints."""
    joints, held = scene.joints, holders(scene.joints)
    rows = rows_of_tree(list(scene.bodies), joints)
    limbs = [
        held_limb(rows, joints[held[body]], masses[body])
        if body in held
        else free_limb(rows[body], masses[body], start_of(scene.bodies[body]))
        for body in sorted(scene.bodies, key=rows.__getitem__)
    ]
    closing = [name for name, joint in joints.items() if held.get(joint.child) != name]
    loops = [Loop(rows[joints[name].parent], rows[joints[name].child], *hanging(joints[name])) for name in closing]
    return Layout(rows, held, limbs, closing, loops)


def lay_out_bodies(
    scene: Scene,
    masses: Mapping[str, MassProperties],
    body_starts: Mapping[str, Start],
    joint_starts: Mapping[str, Start],
) -> Layout:
    """Lay out a scene in the coordinates of its bodies, from where these and the joints start."""
    numbers = {WORLD: 0} | {body: k for k, body in enumerate(scene.bodies, 1)}
    pairs = [(numbers[joint.child], numbers[joint.parent]) for joint in scene.joints.values() if locks(joint)]
    plan = plan_elimination(len(scene.bodies), pairs)
    words = [WORLD, *scene.bodies]
    rows = {words[number]: row for row, number in enumerate(plan.bodies)}
    limbs = [
        free_limb(rows[body], masses[body], body_starts[body]) for body in sorted(scene.bodies, key=rows.__getitem__)
    ]
    loops = []
    for name, joint in scene.joints.items():
        parts, _, driven, origin, child_origin = hanging(joint)
        start = joint_starts[name]
        loops.append(Loop(rows[joint.parent], rows[joint.child], parts, start, driven, origin, child_origin))
    return Layout(rows, {}, limbs, list(scene.joints), loops, plan)


def locks(joint: JointSpec) -> bool:
    """Whether a joint locks any direction at all."""
    parts, _, driven, _, _ = hanging(joint)
    return sum(part.nv for part in parts) < 6 or any(driven)


def start_of(body: BodySpec) -> Start:
    """Where a free body starts."""
    q = (*body.position, *body.rotation)
    return Start(q, (*body.velocity.linear, *body.velocity.angular), q)


def free_limb(row: int, mass: MassProperties, start: Start) -> Limb:
    """A body that moves freely: a free joint from the world to the body frame."""
    return Limb(row, 0, mass, [floating()], start, [False] * 6)


def held_limb(rows: Mapping[str, int], joint: JointSpec, mass: MassProperties) -> Limb:
    """A body that a joint carries."""
    sprung = isinstance(joint, MovingJointSpec) and not (joint.stiffness is None and joint.damping is None)
    return Limb(rows[joint.child], rows[joint.parent], mass, *hanging(joint), sprung=sprung)


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
