"""Layout of bodies and joints in the arrays: in joint coordinates, or in body coordinates.

In joint coordinates, the inboard joints of bodies form a tree and the other joints are loop joints.  In body
coordinates (maximal coordinates) every body moves freely, and every joint is a loop joint; the bodies are numbered in
the elimination order of Baraff's method, along the joints and constraints that form a tree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np

from multibody_cli.forces.elements import elements_of_joint
from multibody_cli.immutable import Immutable, replace
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import JointStart, Part, PartCode
from multibody_cli.joints.spec import WORLD, JointSpec
from multibody_cli.mass import MassProperties
from multibody_cli.packing.body_order import BodyOrder, plan_elimination
from multibody_cli.packing.markers import Markers
from multibody_cli.packing.rotors import Rotor, rotor_links, rotors_of
from multibody_cli.scene.bodies import IN_PLANE
from multibody_cli.scene.body_kinds import IN_PLACE, LinkData, LoopJoint, Placement, body_links, normal_of, start_of
from multibody_cli.scene.mass_properties import second_moments
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.topology import inboard_joints, numbered, rows_of_tree
from multibody_cli.spec import Pose, Vector
from multibody_cli.spec.rotations import rotation_matrix

EXACTLY_IN_PLANE = 1e-12
"""Angle, rad, and relative distance up to which a joint lies in the plane of its bodies; beyond, it closes a loop."""


class Candidate(NamedTuple):
    """A joint or constraint that may be a node of the elimination tree.

    Parameters
    ----------
    section, name
        As in the scene.
    ends
        Its two bodies, or one and the world.
    is_certain
        Whether its rows are independent for either body in any position.
    """

    section: str
    name: str
    ends: tuple[str, str]
    is_certain: bool


class Layout(Immutable):
    """A scene in the order of the arrays.

    Parameters
    ----------
    rows
        Row of each body by its name; the world is row 0.
    inboard_joint_of
        Name of the inboard joint of each body, by the name of the body.
    tree_links
        The bodies in the order of their rows, each with its inboard joint; then the rotors.
    loop_joint_names
        Names of the loop joints.
    loops
        These joints.
    rotors
        Those of the loop joints.
    markers
        Points of affine bodies with forces or constraints.
    candidates
        The joints and constraints among which the method chooses those that it eliminates directly.
    elimination
        The chosen ones and their order; None in joint coordinates.
    """

    rows: Mapping[str, int]
    inboard_joint_of: Mapping[str, str]
    tree_links: Sequence[LinkData]
    loop_joint_names: Sequence[str]
    loops: Sequence[LoopJoint]
    rotors: Sequence[Rotor]
    markers: Markers
    candidates: Sequence[Candidate] = ()
    elimination: BodyOrder | None = None

    def row_of_joint(self, name: str, joint: JointSpec) -> int:
        """Return the row of the child body of a joint; of a loop joint: its own row, behind all bodies."""
        if self.inboard_joint_of.get(joint.child) == name:
            return self.rows[joint.child]
        return len(self.tree_links) + 1 + self._loop_numbers[name]

    def coordinate_names(self) -> tuple[str, ...]:
        """Return the names of all coordinates, for messages."""
        rows, bodies = zip(*sorted((row, body) for body, row in self.rows.items()), strict=True)
        of_bodies = self.tree_links[: len(self.tree_links) - len(self.rotors)]
        carried = [bodies[bisect_right(rows, tree_link.row) - 1] for tree_link in of_bodies]
        owners = [
            f"joint {self.inboard_joint_of[body]}" if body in self.inboard_joint_of else f"body {body}"
            for body in carried
        ]
        owners += [f"armature of joint {rotor.joint}" for rotor in self.rotors]
        owners += [f"joint {name}" for name in self.loop_joint_names]
        counts = [len(one.driven) for one in self.tree_links] + [len(one.driven) for one in self.loops]
        of_coordinates = np.repeat(owners, counts).tolist()  # an affine body has several links
        totals, numbers = Counter(of_coordinates), defaultdict[str, Iterator[int]](count)
        return tuple(owner if totals[owner] == 1 else f"{owner}/{next(numbers[owner])}" for owner in of_coordinates)

    @cached_property
    def _loop_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.loop_joint_names)}


def joint_coordinate_layout(scene: SceneSpec, masses: Mapping[str, MassProperties]) -> Layout:
    """Lay out a scene in joint coordinates, in its initial state."""
    starts = {name: start_of(body, masses[name]) for name, body in scene.bodies.items()}
    joint_starts = {name: JOINTS[joint.type].start(joint) for name, joint in scene.joints.items()}
    return _layout(scene, masses, inboard_joints(scene), starts, joint_starts)


def in_plane_layout(
    scene: SceneSpec,
    masses: Mapping[str, MassProperties],
    body_starts: Mapping[str, JointStart],
    joint_starts: Mapping[str, JointStart],
) -> Layout | None:
    """Lay out a scene in joint coordinates in which joints carry planar bodies too, from an assembled initial state.

    A planar body then has the coordinates of its joint instead of its own, and the joint has no rows.  Returns None if
    there is no such joint, and with dry friction in joints, whose load is that within the plane.
    """
    if scene.friction_joints:
        return None
    carried = inboard_joints(scene, lambda joint: moves_in_plane(scene, joint))
    if len(carried) == len(inboard_joints(scene)):
        return None
    return _layout(scene, masses, carried, body_starts, joint_starts)


def _layout(
    scene: SceneSpec,
    masses: Mapping[str, MassProperties],
    inboard_joint_of: Mapping[str, str],
    body_starts: Mapping[str, JointStart],
    joint_starts: Mapping[str, JointStart],
) -> Layout:
    joints, rows = scene.joints, rows_of_tree(scene.bodies, scene.joints, inboard_joint_of)
    tree_links: list[LinkData] = []
    for name in sorted(scene.bodies, key=rows.__getitem__):
        body, mass = scene.bodies[name], masses[name]
        if name in inboard_joint_of:
            held_by = inboard_joint_of[name]
            link = link_of_joint(rows, joints[held_by], mass, joint_starts[held_by])
            normal = tuple(normal_of(body).tolist()) if body.kind == "planar" else None
            tree_links.append(replace(link, normal=normal))
        else:
            tree_links += body_links(body, rows[name], mass, body_starts[name])
    loop_joint_names = [name for name, joint in joints.items() if inboard_joint_of.get(joint.child) != name]
    rotors = rotors_of(scene, loop_joint_names)
    tree_links += rotor_links(rotors, len(tree_links) + 1, joint_starts)
    markers = markers_for(scene, masses, rows, len(tree_links) + 1 + len(loop_joint_names))
    loops = [
        replace(loop_of(scene, joints[name], rows, markers), start=joint_starts[name]) for name in loop_joint_names
    ]
    return Layout(rows, inboard_joint_of, tree_links, loop_joint_names, loops, rotors, markers)


def body_coordinate_layout(
    scene: SceneSpec,
    masses: Mapping[str, MassProperties],
    body_starts: Mapping[str, JointStart],
    joint_starts: Mapping[str, JointStart],
    candidates: Sequence[Candidate],
) -> Layout:
    """Lay out a scene in body coordinates, from the initial state of bodies and joints."""
    numbers = {WORLD: 0} | {body: k for k, body in enumerate(scene.bodies, 1)}
    names, rotors = list(scene.bodies), rotors_of(scene, scene.joints)
    pairs = [(numbers[a], numbers[b]) for _, _, (a, b), _ in candidates]
    plan = plan_elimination(len(names) + len(rotors), pairs)  # the rotors, which no joint reaches, are the last
    order = [names[number - 1] for number in plan.bodies[1 : len(names) + 1]]
    rows = numbered(scene.bodies, order)
    tree_links = [
        tree_link
        for name in order
        for tree_link in body_links(scene.bodies[name], rows[name], masses[name], body_starts[name])
    ]
    tree_links += rotor_links(rotors, len(tree_links) + 1, joint_starts)
    markers = markers_for(scene, masses, rows, len(tree_links) + 1 + len(scene.joints))
    loops = [
        replace(loop_of(scene, joint, rows, markers), start=joint_starts[name]) for name, joint in scene.joints.items()
    ]
    return Layout(rows, {}, tree_links, list(scene.joints), loops, rotors, markers, candidates, plan)


def markers_for(scene: SceneSpec, masses: Mapping[str, MassProperties], rows: Mapping[str, int], first: int) -> Markers:
    """Prepare the markers of the affine bodies of a scene; their rows begin with `first`."""
    affine = [name for name, body in scene.bodies.items() if body.kind == "affine"]
    return Markers(first, rows, {name: second_moments(masses[name])[1] for name in affine})


def loop_of(scene: SceneSpec, joint: JointSpec, rows: Mapping[str, int], markers: Markers) -> LoopJoint:
    """Return a loop joint; on an affine body it is attached to a marker with the rotation of the body."""
    parts, start, driven, origin, child_origin = joint_data(joint)
    parent, child = rows[joint.parent], rows[joint.child]
    if markers.takes(joint.parent):
        parent = markers.row(joint.parent, joint.origin.position, turns=True)
        origin = Placement(np.zeros(3), origin.rotation)
    if markers.takes(joint.child):
        child = markers.row(joint.child, joint.child_origin.position, turns=True)
        child_origin = Placement(np.zeros(3), child_origin.rotation)
    normal = common_normal(scene, joint)
    return LoopJoint(parent, child, parts, start, driven, origin, child_origin, normal, joint.active)


def common_normal(scene: SceneSpec, joint: JointSpec) -> Vector | None:
    """Return the normal of the common plane of motion of both bodies, in the axes of M; None without one.

    The world moves in any plane.
    """
    parent, child = scene.bodies.get(joint.parent), scene.bodies[joint.child]
    if child.kind != "planar" or (parent is not None and parent.kind != "planar"):
        return None
    if parent is not None and np.linalg.norm(np.cross(normal_of(parent), normal_of(child))) > IN_PLANE:
        return None
    x, y, z = rotation_matrix(joint.child_origin.rotation)[2].tolist()
    return x, y, z


def moves_in_plane(scene: SceneSpec, joint: JointSpec) -> bool:
    """Whether a joint moves its child within the common plane of both bodies alone, and is assembled in that plane."""
    normal, child, parent = common_normal(scene, joint), scene.bodies[joint.child], scene.bodies.get(joint.parent)
    if normal is None:
        return False
    carrier = IN_PLACE if parent is None else Placement(np.array(parent.position), rotation_matrix(parent.rotation))
    body = Placement(np.array(child.position), rotation_matrix(child.rotation))
    F, M = carrier @ placement(joint.origin), body @ placement(joint.child_origin)
    across = normal_of(child)
    rise = np.abs(across @ (M.position - F.position))
    n = F.rotation.T @ across
    terms = (carrier.position, joint.origin.position, body.position, joint.child_origin.position)  # their sums may be 0
    farthest = max(np.abs(np.array(term)).max() for term in terms)
    if np.abs(n - normal).max() > EXACTLY_IN_PLANE or rise > EXACTLY_IN_PLANE * farthest:
        return False
    return all(
        part.code in (PartCode.SCREW, PartCode.OFFSET)
        and np.linalg.norm(np.cross(n, part.turn)) <= EXACTLY_IN_PLANE
        and abs(n @ np.array(part.slide)) <= EXACTLY_IN_PLANE * np.linalg.norm(part.slide)
        for part in JOINTS[joint.type].parts(joint)
    )


def link_of_joint(rows: Mapping[str, int], joint: JointSpec, mass: MassProperties, start: JointStart) -> LinkData:
    """Return a body with its inboard joint."""
    is_sprung = any(element.implicit for element, _ in elements_of_joint(joint))
    has_armature = is_sprung or any(getattr(joint, "armature", None) or ())
    link = LinkData(rows[joint.child], rows[joint.parent], mass, *joint_data(joint), has_armature=has_armature)
    return replace(link, start=start)


def joint_data(joint: JointSpec) -> tuple[Sequence[Part], JointStart, Sequence[bool], Placement, Placement]:
    """Return the parts, the initial state, the flags of driven coordinates, and the two frames of a joint."""
    kind = JOINTS[joint.type]
    parts = kind.parts(joint)
    return parts, kind.start(joint), joint.driven, placement(joint.origin), placement(joint.child_origin)


def placement(pose: Pose) -> Placement:
    """Return a pose as position and rotation matrix."""
    if pose == Pose():
        return IN_PLACE
    return Placement(np.array(pose.position), rotation_matrix(pose.rotation))
