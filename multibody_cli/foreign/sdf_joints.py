"""Joints of SDF: the pose of a joint is that in its child, and an axis is in the frame of the joint.

An axis whose limits are equal has no coordinate.  Joints `planar` are an extension of Drake.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.errors import nearest
from multibody_cli.foreign.draft import WORLD, Coordinate, Joint
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.ledger import TEXT
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading
from multibody_cli.foreign.sdf_scopes import MODEL, OF_THE_WORLD, Frame, Scope, World
from multibody_cli.foreign.sdf_values import number_of, text_of

AXES = {
    "revolute": ("revolute", 1),
    "continuous": ("revolute", 1),
    "prismatic": ("prismatic", 1),
    "screw": ("screw", 1),
    "universal": ("composite", 2),
    "revolute2": ("composite", 2),
    "ball": ("spherical", 0),
    "fixed": ("fixed", 0),
}
"""Types of joints, with those of scenes and the numbers of their axes."""

GEARBOX = "gearbox"
"""Type of the relation of two hinges."""

ROTOR = {"rotor_inertia": 0.0, "gear_ratio": 1.0}
"""Elements of Drake of the rotor of a joint, with their defaults; its armature is the inertia times ratio squared."""

EXTENDED_JOINT = "drake:joint"
"""Element of the joints of Drake."""

UNLIMITED = 1e16
"""A bound of this size is none."""

FIRST_WITH_AXES_IN_JOINTS = (1, 5)
"""Version of SDF in which axes are in the frame of the joint, and no longer in that of the model."""


def read_joint(world: World, scope: Scope, name: str, frame: Frame) -> None:
    """Read a joint, but not a gearbox, which is a relation of two others."""
    reading, element = scope.reading, frame.element
    kind = reading.text(element, "type")
    if kind == GEARBOX:
        return
    if kind not in AXES:
        reading.refuse(element, f"unknown type `{kind}` of a joint; {nearest(kind, [*AXES, GEARBOX])}")
        return
    type_, count = AXES[kind]
    joint = _add_joint(world, scope, name, element, type_, (text_of(reading, element, "parent"), frame.attached), name)
    if joint is None:
        return
    for one in element.all("physics"):
        reading.ledger.drop(one, "settings of an engine; constraints are hard")
    axes = [reading.child(element, tag) for tag in ("axis", "axis2")[:count]]
    if kind == "ball":
        _damp_ball(reading, element, joint)
    for one in [one for tag in ("axis", "axis2")[count:] for one in element.all(tag)]:
        reading.ledger.drop(one, f"a joint `{kind}` has no such axis")
    found = [_read_axis(world, scope, name, one, joint, kind) for one in axes]
    if kind == "screw":
        found[0]["pitch"] = _pitch(reading, element)
    if count == 1:
        found[0] |= _armature(reading, element, axes[0])
    if type_ == "composite" and not np.cross(found[0]["axis"], found[1]["axis"]).any():
        reading.refuse(element, "the two axes are parallel")
    _set_axes(world, joint, found, element)


def read_planar_joints(world: World, scope: Scope) -> None:
    """Read joints of Drake, whose frames coincide at zero coordinates wherever their links are."""
    reading = scope.reading
    for element in scope.element.all(EXTENDED_JOINT):
        if element.attributes.get("type") != "planar":
            reading.ledger.drop(element, "of the joints of Drake, `planar` is read")
            continue
        ends = (text_of(reading, element, "drake:parent"), text_of(reading, element, "drake:child"))
        reading.ledger.keep(element, "type")
        joint = _add_joint(world, scope, reading.text(element, "name"), element, "free2d", ends, *ends)
        damping = reading.child(element, "drake:damping")
        if joint is not None and damping is not None:
            joint.fields["damping"] = list(reading.numbers(damping, TEXT, 3))
        if joint is not None:
            _name_axes(world, joint, 3)


def _add_joint(
    world: World, scope: Scope, name: str, element: Element, type_: str, ends: tuple[str, str], *frames: str
) -> Joint | None:
    """Add a joint of two links; None if it is an error or has no effect.

    `frames` are its frame in the parent and in the child, or one that is both.
    """
    parent, child = ends
    if not parent or not child:
        scope.reading.refuse(element, "expected a <parent> and a <child>")
        return None
    missing = [end for end in ends if end != WORLD and not scope.knows(end)]
    if missing:
        scope.refuse_name(element, missing[0])
        return None
    carriers = [scope.carrier(end) for end in ends]
    names = [link if link == WORLD else owner.prefix + link for owner, link in carriers]
    if names[1] == WORLD:
        if names[0] == WORLD:
            scope.reading.ledger.drop(element, "both links are part of the world")
        else:
            scope.reading.refuse(element, OF_THE_WORLD)
        return None
    joint = world.draft.add_joint(scope.prefix + name, element, type_, names[0], names[1])
    joint.pose = world.pose_in(carriers[0], scope, frames[0])
    joint.child_pose = world.pose_in(carriers[1], scope, frames[-1])
    return joint


def _set_axes(world: World, joint: Joint, axes: list[dict[str, Any]], element: Element) -> None:
    """Set the fields of a joint from those of its axes; axes without a coordinate turn or shift its frames."""
    free = []
    for k, one in enumerate(axes):
        if "locked" not in one:
            free.append(one)
            continue
        place = _moved(joint.type, one)
        joint.pose = joint.pose if k else joint.pose.at(place)
        joint.child_pose = joint.child_pose.at(place.inverse) if k else joint.child_pose
        remark = f"joint `{joint.name}` does not move along its axis: both limits are {one['locked']:g}"
        world.draft.ledger.note(element.mark, remark)
    if len(free) == 2:
        _set_parts(joint, free)
        _name_axes(world, joint, 2)
    elif free:
        joint.fields |= free[0]
        joint.type = "revolute" if joint.type == "composite" else joint.type
    elif axes:
        joint.type = "fixed"


def _moved(type_: str, axis: dict[str, Any]) -> FramePose:
    """Return the pose of the axis of a coordinate."""
    direction = np.array(axis["axis"]) / np.linalg.norm(axis["axis"])
    angle = 0.0 if type_ == "prismatic" else axis["locked"]
    shift = axis["locked"] if type_ == "prismatic" else axis.get("pitch", 0.0) * angle / (2 * np.pi)
    return FramePose.of_quaternion(shift * direction, [np.cos(angle / 2), *(np.sin(angle / 2) * direction)])


def _name_axes(world: World, joint: Joint, count: int) -> None:
    for k in range(count):
        world.draft.coordinates[f"{joint.name} axis{k + 1 if k else ''}"] = Coordinate(joint.name, k, k)


def _damp_ball(reading: Reading, element: Element, joint: Joint) -> None:
    """Read the damping of a ball, which Drake writes at an axis."""
    axis = reading.child(element, "axis")
    dynamics = None if axis is None else reading.child(axis, "dynamics")
    for one in [] if axis is None else axis.children:
        if one is not dynamics:
            reading.ledger.drop(one, "a ball has no axis")
    for one in [] if dynamics is None else dynamics.children:
        if one.tag != "damping":
            reading.ledger.drop(one, "of a ball, `damping` is read")
    damping = 0.0 if dynamics is None else number_of(reading, dynamics, "damping", 0.0)
    if damping:
        joint.fields["damping"] = damping


def _armature(reading: Reading, element: Element, axis: Element | None) -> dict[str, float]:
    """Return the inertia of the rotor of Drake, which has none where the effort is 0."""
    rotor, ratio = (number_of(reading, element, f"drake:{tag}", one) for tag, one in ROTOR.items())
    efforts = [] if axis is None else [one.text.strip() for limit in axis.all("limit") for one in limit.all("effort")]
    return {} if rotor == 0.0 or efforts[:1] in (["0"], ["0.0"]) else {"armature": rotor * ratio**2}


def _pitch(reading: Reading, element: Element) -> float:
    """Return the translation per turn, m, which SDF before 1.10 had as radians per meter with the opposite sign."""
    turns = number_of(reading, element, "thread_pitch", 0.0)
    default = -2.0 * np.pi / turns if turns else 1.0
    return float(number_of(reading, element, "screw_thread_pitch", default))


def _set_parts(joint: Joint, axes: list[dict[str, Any]]) -> None:
    """Set the fields of a joint of several hinges, each with those of its axis."""
    joint.fields["parts"] = [{"type": "revolute", "axis": one["axis"]} for one in axes]
    for key, default in (("limits", None), ("damping", 0.0), ("stiffness", 0.0), ("rest", 0.0), ("q", 0.0)):
        if any(key in one for one in axes):
            joint.fields[key] = [one.get(key, default) for one in axes]
    if any("friction" in one for one in axes):
        joint.fields["friction"] = {"brake": [one.get("friction", {"torque": 0.0})["torque"] for one in axes]}


def _read_axis(world: World, scope: Scope, name: str, axis: Element | None, joint: Joint, kind: str) -> dict[str, Any]:
    """Return the fields of a coordinate."""
    reading = scope.reading
    if axis is None:
        return {"axis": [0.0, 0.0, 1.0]}
    for one in axis.all("initial_position"):
        reading.ledger.drop(one, "the initial pose is that of the links")
    direction = direction_of(world, scope, name, axis)
    return {"axis": direction} | _limits(reading, axis, joint, kind) | _dynamics(reading, axis, kind)


def direction_of(world: World, scope: Scope, name: str, axis: Element) -> list[float]:
    """Return the direction of an axis in the frame of its joint."""
    reading = scope.reading
    xyz = reading.child(axis, "xyz")
    direction = (0.0, 0.0, 1.0) if xyz is None else reading.numbers(xyz, TEXT, 3)
    if not any(direction):
        reading.refuse(axis, "expected an axis other than 0 0 0")
    frame = "" if xyz is None else reading.text(xyz, "expressed_in", "")
    of_model = text_of(
        reading, axis, "use_parent_model_frame", "1" if scope.version < FIRST_WITH_AXES_IN_JOINTS else "0"
    ) in ("true", "1")
    frame = frame or (MODEL if of_model else "")
    if frame and frame != WORLD and not scope.knows(frame):
        scope.refuse_name(axis, frame)
    elif frame and frame != name:
        turned = world.pose(scope, name).inverse.rotation @ world.pose(scope, frame).rotation @ direction
        turned[np.abs(turned) <= 1e-15 * np.abs(turned).max()] = 0.0
        return list(turned.tolist())
    return list(direction)


def _limits(reading: Reading, axis: Element, joint: Joint, kind: str) -> dict[str, Any]:
    limit = reading.child(axis, "limit")
    if limit is None:
        return {}
    for tag, why in (
        ("effort", "a bound of actuators, of which the model has none"),
        ("velocity", "a bound of controllers; nothing in the mechanics keeps it"),
        ("stiffness", "limits are hard"),
        ("dissipation", "limits are hard"),
    ):
        for one in limit.all(tag):
            reading.ledger.drop(one, why)
    lower, upper = (_bound(reading, limit, tag) for tag in ("lower", "upper"))
    if kind == "continuous" or (lower is None and upper is None):
        return {}
    if lower is not None and upper is not None and lower > upper:
        reading.ledger.approximate(limit, "no limits: `lower` exceeds `upper`")
        return {}
    if lower is not None and lower == upper:
        return {"locked": lower}
    start = next((one for one, out in ((lower, (lower or 0) > 0), (upper, (upper or 0) < 0)) if out), None)
    if start is None:
        return {"limits": [lower, upper]}
    reading.ledger.note(limit.mark, f"joint `{joint.name}` starts at {start:g}: 0 is outside of its limits")
    return {"limits": [lower, upper], "q": start}


def _bound(reading: Reading, limit: Element, tag: str) -> float | None:
    element = reading.child(limit, tag)
    if element is None:
        return None
    if element.text.strip().lower().lstrip("+-") in ("inf", "infinity"):
        reading.ledger.keep(element, TEXT)
        return None
    value = reading.number(element, TEXT)
    return value if abs(value) < UNLIMITED else None


def _dynamics(reading: Reading, axis: Element, kind: str) -> dict[str, Any]:
    dynamics = reading.child(axis, "dynamics")
    if dynamics is None:
        return {}
    tags = ("damping", "friction", "spring_stiffness", "spring_reference")
    damping, friction, stiffness, rest = (number_of(reading, dynamics, tag, 0.0) for tag in tags)
    force = "force" if kind == "prismatic" else "torque"
    found = {"damping": damping, "friction": {force: friction} if friction else 0.0, "stiffness": stiffness}
    found["rest"] = rest if stiffness else 0.0
    return {key: value for key, value in found.items() if value}
