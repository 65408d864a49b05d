"""URDF, the Unified Robot Description Format of ROS.

The frame of a link is that of its inboard joint.  Angles are `rpy`: about the fixed axes x, y, z in this order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multibody_cli.errors import nearest
from multibody_cli.foreign.contract import Format
from multibody_cli.foreign.draft import WORLD, Body, Draft, Joint, Origin, Shape
from multibody_cli.foreign.frames import IDENTITY, FramePose, turned_to
from multibody_cli.foreign.geometry import contact_by_convex_shapes, find_mesh, scale_of
from multibody_cli.foreign.inertia import give_inertia
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading

ZERO = (0.0, 0.0, 0.0)

MOVING = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "floating": "free",
    "planar": "free2d",
}
"""Types of joints that move, with those of scenes."""

WITHOUT_EFFECT = {
    "axis": ("xyz",),
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction"),
    "mimic": ("joint", "multiplier", "offset"),
    "safety_controller": ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"),
    "calibration": ("rising", "falling", "reference_position"),
}
"""Elements of joints that have no meaning where no coordinate belongs to them."""

ELSEWHERE = {
    "transmission": "a scene has actuators of its own",
    "gazebo": "settings of Gazebo",
    "sensor": "sensors of ROS",
    "mujoco": "settings of MuJoCo's compiler",
    "ros2_control": "interfaces of controllers",
    "group": "settings of motion planning",
}
"""Elements of a robot that do not describe its mechanics, and why they are dropped."""


def read(root: Element, reading: Reading) -> Draft:
    """Read a robot."""
    draft = Draft(reading.path, reading.ledger, reading.problems)
    _read_robot(root, reading)
    colors = {reading.text(one, "name", ""): _color(reading, one) for one in reading.children(root, "material")}
    for link in reading.children(root, "link"):
        _read_link(draft, reading, link, colors)
    for joint in reading.children(root, "joint"):
        _read_joint(draft, reading, joint)
    for joint in root.all("joint"):
        _read_mimic(draft, reading, joint)
    _note_loops(draft, reading)
    draft.set_step(root, 0.001)
    return draft


def _read_robot(root: Element, reading: Reading) -> None:
    reading.ledger.keep(root, "name", "version")
    for element in root.children:
        if element.tag in ELSEWHERE:
            reading.ledger.drop(element, ELSEWHERE[element.tag])
        elif element.tag.startswith("xacro:"):
            reading.ledger.drop(element, "a macro that is not expanded: a file with macros has the suffix .xacro")


# --- links ------------------------------------------------------------------------------------------------------------
def _read_link(draft: Draft, reading: Reading, link: Element, colors: dict[str, list[float] | None]) -> None:
    name = reading.text(link, "name")
    body = draft.world if name == WORLD else draft.add_body(name, link)
    if "self_collide" in link.attributes:
        reading.ledger.drop(link, "a scene lists pairs of bodies in `contacts`", attribute="self_collide")
    inertial = reading.child(link, "inertial")
    if inertial is not None and name == WORLD:
        reading.ledger.drop(inertial, "the world does not move")
    elif inertial is not None:
        _read_inertial(body, reading, inertial)
    for collision in reading.children(link, "collision"):
        _read_shape(body, reading, collision, {})
    touching = list(body.shapes)
    for visual in reading.children(link, "visual"):
        color, name = _material(reading, visual, colors)
        _read_shape(body, reading, visual, {"contact": False} | ({} if color is None else {"color": color}), name)
    if len(body.shapes) > len(touching):  # pictures show the visuals instead
        for shape in touching:
            shape.fields["visible"] = False


def _read_inertial(body: Body, reading: Reading, inertial: Element) -> None:
    pose = _origin(reading, inertial)
    mass = reading.child(inertial, "mass")
    inertia = reading.child(inertial, "inertia")
    if mass is None or inertia is None:
        reading.refuse(inertial, f"expected <mass> and <inertia> in link `{body.name}`")
        return
    missing = [name for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz") if name not in inertia.attributes]
    if missing:
        reading.ledger.approximate(inertia, f"{', '.join(missing)} missing, read as 0")
    xx, xy, xz, yy, yz, zz = (reading.number(inertia, name, 0.0) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    give_inertia(body, reading.number(mass, "value"), own, pose)


def _read_shape(body: Body, reading: Reading, element: Element, fields: dict[str, Any], color: str = "") -> None:
    if "name" in element.attributes:
        reading.ledger.drop(element, "shapes have no names", attribute="name")
    pose = _origin(reading, element)
    geometry = reading.child(element, "geometry")
    if geometry is None or not geometry.children:
        reading.refuse(element, f"expected a <geometry> with a shape in link `{body.name}`")
        return
    for solid in geometry.children:
        shape = Shape(fields, Origin(solid.mark), pose, color=color)
        if solid.tag in SHAPES:
            shape.fields = SHAPES[solid.tag](reading, solid) | fields
        elif solid.tag == "mesh":
            shape.mesh = find_mesh(reading, solid, reading.text(solid, "filename"))
            if shape.mesh is None:
                continue
            scale = scale_of(*reading.numbers(solid, "scale", 3, (1.0, 1.0, 1.0)))
            shape.fields = {"type": "mesh"} | scale | fields
            if fields.get("contact", True):
                contact_by_convex_shapes(reading, solid, shape)
        else:
            continue  # not known
        reading.ledger.keep(solid)
        body.shapes.append(shape)


def _box(reading: Reading, element: Element) -> dict[str, Any]:
    return {"type": "box", "size": list(reading.numbers(element, "size", 3))}


def _sphere(reading: Reading, element: Element) -> dict[str, Any]:
    return {"type": "sphere", "radius": reading.number(element, "radius")}


def _round(reading: Reading, element: Element) -> dict[str, Any]:
    radius, length = (reading.number(element, name) for name in ("radius", "length"))
    return {"type": element.tag, "radius": radius, "length": length}


SHAPES = {"box": _box, "sphere": _sphere, "cylinder": _round, "capsule": _round}
"""Readers of the solids of a `<geometry>`."""


def _material(
    reading: Reading, visual: Element, colors: dict[str, list[float] | None]
) -> tuple[list[float] | None, str]:
    """Return the color (r, g, b) of a visual, its own or that of a material of the robot, and the name of this."""
    material = reading.child(visual, "material")
    if material is None:
        return None, ""
    name = reading.text(material, "name", "")
    own = _color(reading, material)
    if own is not None:
        colors.setdefault(name, own)
    return own or colors.get(name), name


def _color(reading: Reading, material: Element) -> list[float] | None:
    color = reading.child(material, "color")
    for texture in material.all("texture"):
        reading.ledger.drop(texture, "shapes have a color and no texture")
    if color is None:
        return None
    r, g, b, a = reading.numbers(color, "rgba", 4)
    if a != 1.0:
        reading.ledger.approximate(color, "opaque", f"opacity {a:g}", "rgba")
    return [min(max(part, 0.0), 1.0) for part in (r, g, b)]


# --- joints -----------------------------------------------------------------------------------------------------------
def _read_joint(draft: Draft, reading: Reading, element: Element) -> None:
    name, type_ = reading.text(element, "name"), reading.text(element, "type")
    ends = [_end(draft, reading, element, tag) for tag in ("parent", "child")]
    if type_ != "fixed" and type_ not in MOVING:
        message = f"unknown type `{type_}` of a joint; {nearest(type_, ['fixed', *MOVING])}"
        reading.refuse(element, message)
        return
    parent, child = ends
    if child == WORLD:
        reading.refuse(element, "`world` is the fixed environment, and no child of a joint")
    if parent is None or child is None:
        return
    joint = draft.add_joint(name, element, MOVING.get(type_, "fixed"), parent, child)
    joint.pose = _origin(reading, element)
    if type_ == "fixed":
        _claim_without_effect(reading, element)
        return
    _read_axis(joint, reading, element, type_)
    _read_limit(joint, reading, element, type_)
    _read_dynamics(joint, reading, element)
    for tag, why in (
        ("safety_controller", "limits of a controller"),
        ("calibration", "positions of switches"),
    ):
        for one in element.all(tag):
            reading.ledger.drop(one, why)


def _end(draft: Draft, reading: Reading, joint: Element, tag: str) -> str | None:
    """Return the name of the parent or child link of a joint; None if there is no such link."""
    element = reading.child(joint, tag)
    if element is None:
        reading.refuse(joint, f"expected a <{tag}>")
        return None
    name = reading.text(element, "link")
    if name != WORLD and name not in draft.bodies:
        reading.problems.add(element.mark, (), f"{joint}: there is no link `{name}`; {nearest(name, draft.bodies)}")
        return None
    return name


def _claim_without_effect(reading: Reading, element: Element) -> None:
    """Claim elements without meaning in a joint without an axis."""
    for tag, attributes in WITHOUT_EFFECT.items():
        for one in element.all(tag):
            reading.ledger.keep(one, *attributes)


def _read_axis(joint: Joint, reading: Reading, element: Element, type_: str) -> None:
    axis = reading.child(element, "axis")
    if type_ == "floating":
        _claim_without_effect(reading, element)
        return
    direction = (1.0, 0.0, 0.0) if axis is None else reading.numbers(axis, "xyz", 3)
    if not any(direction):
        if not len(reading.problems):
            reading.refuse(axis or element, "expected an axis other than [0, 0, 0]")
        return
    if type_ != "planar":
        joint.fields["axis"] = list(direction)
        return
    turn = turned_to(np.array(direction) / math.hypot(*direction))
    joint.pose, joint.child_pose = joint.pose.at(turn), turn


def _read_limit(joint: Joint, reading: Reading, element: Element, type_: str) -> None:
    limit = reading.child(element, "limit")
    if limit is None:
        return
    for attribute, why in (
        ("effort", "a bound of actuators, of which the model has none"),
        ("velocity", "a bound of controllers; nothing in the mechanics keeps it"),
    ):
        if attribute in limit.attributes:
            reading.ledger.drop(limit, why, attribute=attribute)
    lower, upper = (reading.number(limit, name, 0.0) for name in ("lower", "upper"))
    if type_ not in ("revolute", "prismatic"):
        return
    if lower < upper:
        joint.fields["limits"] = [lower, upper]
        if not lower <= 0.0 <= upper:
            joint.fields["q"] = start = lower if lower > 0.0 else upper
            reading.ledger.note(limit.mark, f"joint `{joint.name}` starts at {start:g}: 0 is outside of its limits")
    elif "lower" in limit.attributes or "upper" in limit.attributes:
        reason = "no limits" if lower == upper else "no limits: `lower` exceeds `upper`"
        reading.ledger.approximate(limit, reason, f"bounds {lower:g} and {upper:g} are left out")


def _read_dynamics(joint: Joint, reading: Reading, element: Element) -> None:
    dynamics = reading.child(element, "dynamics")
    if dynamics is None:
        return
    damping = reading.number(dynamics, "damping", 0.0)
    if damping:
        joint.fields["damping"] = damping
    friction = reading.number(dynamics, "friction", 0.0)
    if friction:
        joint.fields["friction"] = {"force" if joint.type == "prismatic" else "torque": friction}


def _read_mimic(draft: Draft, reading: Reading, element: Element) -> None:
    """Read a coordinate that is a linear function of another one."""
    joint = draft.joints.get(element.attributes.get("name", ""))
    if joint is None or joint.type == "fixed":
        return
    mimic = reading.child(element, "mimic")
    if mimic is None:
        return
    other = reading.text(mimic, "joint")
    factor, offset = reading.number(mimic, "multiplier", 1.0), reading.number(mimic, "offset", 0.0)
    if other not in draft.joints:
        reading.ledger.drop(mimic, f"there is no joint `{other}`; {nearest(other, draft.joints)}")
    elif _leads_to(draft, other, joint.name):
        reading.refuse(mimic, f"joint `{joint.name}` mimics itself")
    elif draft.joints[other].type == "fixed":
        reading.ledger.drop(mimic, f"joint `{other}` is fixed, and has no coordinate")
    else:
        relation = {"type": "linear", "reduce": True, "terms": {joint.name: 1.0, other: -factor}}
        draft.add("couplings", joint.name, mimic, **relation, **({"value": offset} if offset else {}))
        joint.fields.pop("q", None)


def _leads_to(draft: Draft, name: str, end: str) -> bool:
    """Whether a joint is another one, or mimics it, also through others."""
    leaders = draft.elements.get("couplings", {})
    while name != end and name in leaders:
        name = list(leaders[name].value["terms"])[1]
    return name == end


def _note_loops(draft: Draft, reading: Reading) -> None:
    """Note joints that close loops, which URDF does not provide for, but scenes do."""
    group = {name: name for name in (WORLD, *draft.bodies)}

    def representative(name: str) -> str:
        while group[name] != name:
            group[name] = name = group[group[name]]
        return name

    for joint in draft.joints.values():
        parent, child = representative(joint.parent), representative(joint.child)
        if parent == child:
            reading.ledger.note(joint.origin.mark, f"joint `{joint.name}` closes a loop")
        group[child] = parent


def _origin(reading: Reading, element: Element) -> FramePose:
    origin = reading.child(element, "origin")
    if origin is None:
        return IDENTITY
    position, angles = (reading.numbers(origin, name, 3, ZERO) for name in ("xyz", "rpy"))
    return FramePose.of_euler(position, angles)


FORMAT = Format("URDF", ("robot",), read)
