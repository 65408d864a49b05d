"""A compiled MJCF model with the elements of its file, and the names that its objects have in the scene."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from multibody_cli.foreign.draft import WORLD, Coordinate, Draft
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading
from multibody_cli.foreign.renaming import unused
from multibody_cli.foreign.rounding import direction, vector
from multibody_cli.spec.rotations import relative_quaternion, rotation_matrix

FREE, BALL, SLIDE, HINGE = range(4)
"""Types of joints (`mjtJoint`)."""

TYPES = {FREE: "free", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}
SIZES = {FREE: (7, 6), BALL: (4, 3), SLIDE: (1, 1), HINGE: (1, 1)}
"""Numbers of coordinates and of velocities of each type."""

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)
"""Types of geoms (`mjtGeom`)."""

UNTURNED = {"quaternion": [1.0, 0.0, 0.0, 0.0]}
"""Coordinates of a ball joint in the initial pose."""

NEARLY = 0.005
"""Largest deviation of the norm of a quaternion that a scene writes as the file does."""

WIDER = dict.fromkeys(("equality", "frictionloss", "limit", "contact"), "constraint")
WIDER |= dict.fromkeys(("spring", "damper"), "passive")
"""Flags that disable more than another one, by the name of that one; `passive` is that of releases before 3.3.6."""


class MjcfModel:
    """A compiled model with the elements of its file.

    Attributes
    ----------
    arrays
        The compiled model; see `compile_model`.
    draft, reading
        The scene, and the tools of a reader.
    names
        Names of bodies in the scene; the world is `world`.
    inputs
        Inputs of the scene by actuator.
    activations
        Filtered actuators of the scene by actuator, each with a and b of its activation a + b act.
    friction
        Coefficients of friction of most shapes.
    opening
        Largest error at the start or in a keyframe of the equalities and ropes that the scene has, m or rad.
    """

    def __init__(self, root: Element, reading: Reading, arrays: Any) -> None:
        self.arrays = arrays
        self.reading = reading
        self.draft = Draft(reading.path, reading.ledger, reading.problems)
        self.names: list[str] = [WORLD]
        self.inputs: dict[int, str] = {}
        self.activations: dict[int, tuple[str, float, float]] = {}
        self.friction: Any = 1.0
        self.opening = 0.0
        self._root = root
        self._named = {
            one.attributes["name"]: one for one in root.walk() if one.tag == "body" and "name" in one.attributes
        }
        self.bodies: list[Element] = [root]
        self._name_bodies()

    def is_disabled(self, flag: str) -> bool:
        """Whether a flag of the file disables a part of the engine."""
        return bool({flag, WIDER.get(flag)} & set(self.arrays.disabled))

    def joint_name(self, joint: int) -> str:
        """Return the name of a joint of the file, or its number in the engine."""
        return self.arrays.names["jnt"][joint] or f"joint {joint}"

    def place(self, joint: int, scene_joint: str, position: int = 0, velocity: int = 0) -> None:
        """Record the coordinates of the scene that a joint of the file has."""
        reference = reference_of(self, joint) if self.arrays.jnt_type[joint] in (SLIDE, HINGE) else 0.0
        self.draft.coordinates[self.joint_name(joint)] = Coordinate(scene_joint, position, velocity, reference)

    def address(self, joint: int) -> str:
        """Return the coordinate of a hinge or slide as the scene names it: `elbow`, or `wrist/1`."""
        found = self.draft.coordinates[self.joint_name(joint)]
        is_one = self.arrays.body_jntnum[self.arrays.jnt_bodyid[joint]] == 1
        return found.joint if is_one else f"{found.joint}/{found.velocity}"

    def carries(self, name: str, other: str) -> bool:
        """Whether a body is another one, or carries it through the first joint of each child."""
        while other != name and (inboard := self.draft.inboard(other)):
            other = inboard[0].parent
        return other == name

    def motion_between(self, parent: str, child: str, state: int) -> tuple[list[float], list[float]]:
        """Return the quaternion (4,) of a body in another one, and its relative angular velocity (3,) in its own axes.

        They are those of the start, state 0, or of keyframe `state` - 1.
        """
        ends = [self.names.index(parent), self.names.index(child)]
        outer, inner = (tuple(turn) for turn in self.arrays.state_turns[state, ends].tolist())
        spin, own_spin = self.arrays.state_spins[state, ends]
        relative = rotation_matrix(inner).T @ (own_spin - spin)
        return list(relative_quaternion(outer, inner)), relative.tolist()

    def count_opening(self, kind: str, index: int) -> None:
        """Count the error of an equality (`eq`) or of a rope (`tendon`) that the scene has."""
        self.opening = max(self.opening, float(getattr(self.arrays, f"{kind}_openings")[:, index].max()))

    def element(self, kind: str, index: int, section: str) -> Element:
        """Return the element of an object of a section by its name, else by its order, else the root."""
        name = self.arrays.names[kind][index]
        found = [one for part in self._root.walk() if part.tag == section for one in _flat(part)]
        named = [one for one in found if name and one.attributes.get("name") == name]
        if named or len(found) != len(self.arrays.names[kind]):
            return named[0] if named else self._root
        return found[index]

    def drop(self, element: Element, reason: str) -> None:
        """Drop an object in the ledger; a note on the model if it has no element of its own."""
        if element is self._root:
            self.reading.ledger.note(element.mark, f"dropped: {reason}")
        else:
            self.reading.ledger.drop(element, reason)

    def of_body(self, body: int, count: int, *tags: str) -> list[Element]:
        """Return the elements of the objects of a body in order; that of the body where they are not one to one."""
        found = [one for section in self._containers(body) for one in _flat(section) if one.tag in tags]
        return found if len(found) == count else [self.bodies[body]] * count

    def _containers(self, body: int) -> list[Element]:
        return [self.bodies[body]] if body else [one for one in self._root.walk() if one.tag == "worldbody"]

    def _name_bodies(self) -> None:
        """Find the element and the name of each body; one without a name is called after its parent."""
        arrays = self.arrays
        used = set(arrays.names["body"])
        counts = np.bincount(arrays.body_parentid[1:], minlength=len(arrays.body_parentid))
        children: dict[int, Iterator[tuple[int, Element]]] = {}
        for body in range(1, len(arrays.body_parentid)):
            parent, name = int(arrays.body_parentid[body]), arrays.names["body"][body]
            if parent not in children:
                children[parent] = iter(list(enumerate(self.of_body(parent, int(counts[parent]), "body"), start=1)))
            number, place = next(children[parent])
            self.bodies.append(self._named.get(name, place))
            stem = "body" if parent == 0 else self.names[parent]
            self.names.append(name or unused(f"{stem}_{number}", used))
            used.add(self.names[-1])


def _flat(element: Element) -> Iterator[Element]:
    """Yield the children of an element, and those of frames and included files in it, in the order of the file."""
    for child in element.children:
        if child.tag in ("include", "frame"):
            yield from _flat(child)
        else:
            yield child


def reference_of(model: MjcfModel, joint: int) -> float:
    """Return the coordinate of the file in the initial pose, `ref`."""
    return float(model.arrays.qpos0[model.arrays.jnt_qposadr[joint]])


def pose_of(position: Any, quaternion: Any, element: Element | None = None) -> FramePose:
    """Return the pose with a position (3,) and a unit quaternion (4,), as an element of the file writes it."""
    if tuple(quaternion) == (1.0, 0.0, 0.0, 0.0):
        return FramePose(np.array(position), np.eye(3))
    pose = FramePose.of_quaternion(position, quaternion.tolist())
    own = [] if element is None else source_of(element, "quat")
    is_same = bool(own) and abs(math.hypot(*own) - 1.0) < NEARLY and direction(quaternion.tolist(), own) == vector(own)
    return FramePose(pose.position, pose.rotation, {"quaternion": own}) if is_same else pose


def source_of(element: Element, attribute: str) -> list[float]:
    """Return the numbers of an attribute, which the compiler accepts; none where the element has none of its own."""
    return [float(word) for word in element.attributes.get(attribute, "").split()]


def pose_entry(q: Any) -> dict[str, Any]:
    """Return coordinates (7,) of a free joint in the form of the scene."""
    return {"position": q[:3].tolist(), "rotation": {"quaternion": q[3:].tolist()}}
