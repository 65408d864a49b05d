"""Joints of SDF: the pose of a joint is that in its child, and an axis is in the frame of the joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.errors import nearest
from multibody_cli.foreign.draft import WORLD, Coordinate, Joint
from multibody_cli.foreign.ledger import TEXT
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading
from multibody_cli.foreign.sdf_scopes import MODEL, Frame, Scope, World
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

UNLIMITED = 1e16
"""A bound of this size is none."""

FIRST_WITH_AXES_IN_JOINTS = (1, 5)
"""Version of SDF in which axes are in the frame of the joint, and no longer in that of the model."""


def read_joint(world: World, scope: Scope, name: str, frame: Frame) -> None:
    """Read a joint."""
    reading, element = scope.reading, frame.element
    kind = reading.text(element, "type")
    if kind == "gearbox":
        reading.ledger.drop(element, "a scene has it as a coupling `gear` of two joints")
        return
    if kind not in AXES:
        reading.refuse(element, f"unknown type `{kind}` of a joint; {nearest(kind, AXES)}")
        return
    parent = text_of(reading, element, "parent")
    if not parent or not frame.attached:
        reading.refuse(element, "expected a <parent> and a <child>")
        return
    if parent != WORLD and not scope.knows(parent):
        scope.refuse_name(element, parent)
        return
    ends = [scope.carrier(end) for end in (parent, frame.attached)]
    names = [link if link == WORLD else owner.prefix + link for owner, link in ends]
    if names[1] == WORLD:
        if names[0] == WORLD:
            reading.ledger.drop(element, "both links are part of the world")
        else:
            reading.refuse(element, "the child is part of the world, which does not move: swap <parent> and <child>")
        return
    for one in element.all("physics"):
        reading.ledger.drop(one, "settings of an engine; constraints are hard")
    type_, count = AXES[kind]
    joint = world.draft.add_joint(scope.prefix + name, element, type_, *names)
    joint.pose, joint.child_pose = (world.pose_in(end, scope, name) for end in ends)
    axes = [reading.child(element, tag) for tag in ("axis", "axis2")[:count]]
    for one in [one for tag in ("axis", "axis2")[count:] for one in element.all(tag)]:
        reading.ledger.drop(one, f"a joint `{kind}` has no such axis")
    found = [_read_axis(world, scope, name, one, joint, kind) for one in axes]
    if type_ == "composite":
        if not np.cross(found[0]["axis"], found[1]["axis"]).any():
            reading.refuse(element, "the two axes are parallel")
        _set_parts(joint, found)
        for k, tag in enumerate(("axis", "axis2")):
            world.draft.coordinates[f"{joint.name} {tag}"] = Coordinate(joint.name, k, k)
    elif found:
        joint.fields |= found[0]
    if kind == "screw":
        joint.fields["pitch"] = _pitch(reading, element)


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
        direction = tuple(turned.tolist())
    return {"axis": list(direction)} | _limits(reading, axis, joint, kind) | _dynamics(reading, axis, kind)


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


def read_mimics(world: World, scope: Scope, name: str, frame: Frame) -> None:
    """Read the coordinates that are linear functions of others: q = multiplier (leader - reference) + offset."""
    reading, draft, follower = scope.reading, world.draft, scope.prefix + name
    for axis in frame.element.all("axis"):
        for mimic in axis.all("mimic"):
            leader = scope.prefix + reading.text(mimic, "joint")
            factor, start, offset = (
                number_of(reading, mimic, tag, default)
                for tag, default in (("multiplier", 1.0), ("reference", 0.0), ("offset", 0.0))
            )
            joints = [draft.joints.get(one) for one in (follower, leader)]
            if any(one is None or AXIS_COUNT.get(one.type) != 1 for one in joints) or leader == follower:
                reading.ledger.drop(mimic, f"joint `{leader}` has no coordinate that joint `{follower}` can follow")
                continue
            reading.ledger.keep(mimic)
            relation = {"type": "linear", "reduce": True, "terms": {follower: 1.0, leader: -factor}}
            value = offset - factor * start
            draft.add("couplings", follower, mimic, **relation, **({"value": value} if value else {}))
            joint = draft.joints[follower]
            joint.fields.pop("q", None)


AXIS_COUNT = dict(AXES.values())
"""Number of axes of each type of joint of scenes."""
