"""Joints and coordinates of OpenSim.

A CustomJoint translates its child along three axes and turns it about three others, each by a function of its
coordinates.  It is a joint of hinges and slides where each coordinate is one of these values, and `symbolic` otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.errors import nearest
from multibody_cli.foreign.draft import WORLD, Coordinate, Joint
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_ellipsoids import ELLIPSOIDS
from multibody_cli.foreign.osim_functions import (
    Expression,
    added,
    constant,
    function_in,
    in_product,
    read_function,
    read_signal,
)
from multibody_cli.foreign.osim_model import Osim, of_body_angles

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

TRANSLATIONS, ROTATIONS = ("translation1", "translation2", "translation3"), ("rotation1", "rotation2", "rotation3")

Parts = tuple[tuple[str, tuple[float, float, float], int], ...]

ANGLES: Parts = (("revolute", X, 0), ("revolute", Y, 1), ("revolute", Z, 2))

SIMPLE: dict[str, Parts] = {
    "WeldJoint": (),
    "PinJoint": (("revolute", Z, 0),),
    "SliderJoint": (("prismatic", X, 0),),
    "UniversalJoint": (("revolute", X, 0), ("revolute", Y, 1)),
    "GimbalJoint": ANGLES,
    "PlanarJoint": (("prismatic", X, 1), ("prismatic", Y, 2), ("revolute", Z, 0)),
}
"""Joints of hinges and slides: types, axes and numbers of the coordinates, from the parent to the child."""

OF_SEVERAL = {"BallJoint": "spherical", "FreeJoint": "free"}
"""Joints whose coordinates are Euler angles X, Y, Z, and translations, with the types of scenes."""

BY_COORDINATES: dict[str, Parts] = {
    "BallJoint": ANGLES,
    "FreeJoint": (("prismatic", X, 3), ("prismatic", Y, 4), ("prismatic", Z, 5), *ANGLES),
}
"""The same where a coordinate is locked or prescribed, or where the user chooses angles."""

COUNTS = {kind: count for kind, (count, _) in ELLIPSOIDS.items()} | {
    kind: len(parts) for kind, parts in (SIMPLE | BY_COORDINATES).items()
}
"""Numbers of coordinates, of which a file has all or none."""

RANGE = "a range of values that a user sets; nothing in the mechanics keeps it"

OF_COORDINATES = {
    "range": RANGE,
    "clamped": RANGE,
    "motion_type": "it follows from the joint",
    "is_free_to_satisfy_constraints": "the assembly moves all coordinates",
}
"""Properties of coordinates that have no effect on the motion."""


class Value(NamedTuple):
    """A coordinate of a joint: name, start, rate, and its motion if it is prescribed."""

    name: str
    q: float
    v: float
    motion: Any = None


class Axis(NamedTuple):
    """An axis of a CustomJoint with its function, and the numbers of the coordinates on which this depends."""

    direction: tuple[float, ...]
    function: Expression
    coordinates: tuple[int, ...] = ()


def read_joint(model: Osim, element: Element) -> None:
    """Read a joint."""
    reading = model.reading
    reading.ledger.keep(element, "name")
    name = reading.text(element, "name")
    kind = element.tag
    kinds = ["CustomJoint", *ELLIPSOIDS, *SIMPLE, *OF_SEVERAL]
    values = [_coordinate(model, one) for one in _coordinates_of(model, element)]
    model.coordinates.update((value.name, name) for value in values)  # references to them are no errors if the joint is
    if kind not in kinds:
        reading.refuse(element, f"joints <{kind}> are not read; {nearest(kind, kinds)}")
        return
    parent, pose = model.frame(element, "socket_parent_frame")
    child, child_pose = model.frame(element, "socket_child_frame")
    claim_frames(model, element)
    if not parent or not child:
        return
    if child == WORLD:
        reading.refuse(element, "the ground is no child of a joint")
        return
    joint = model.draft.add_joint(name, element, "fixed", parent, child)
    joint.pose, joint.child_pose = pose, child_pose
    count = COUNTS.get(kind)
    if count is not None and values and len(values) != count:
        reading.refuse(element, f"expected {count} coordinates, found {len(values)}")
        return
    values += [Value(f"{name}_coord_{k}", 0.0, 0.0) for k in range(len(values), count or 0)]
    in_angles = reading.options.angles or any(value.motion is not None for value in values)
    if kind in SIMPLE or (kind in BY_COORDINATES and in_angles):
        parts = SIMPLE[kind] if kind in SIMPLE else BY_COORDINATES[kind]
        rates = values if kind in SIMPLE else _still(model, element, values)
        _set_parts(model, joint, [(type_, list(axis), k) for type_, axis, k in parts], rates)
    elif kind in OF_SEVERAL:
        _set_several(model, element, joint, values)
    elif kind in ELLIPSOIDS:
        names = [symbol_of(value.name) for value in values]
        joint.type, joint.fields["coordinates"] = "symbolic", dict.fromkeys(names, "rad")
        joint.fields |= ELLIPSOIDS[kind][1](model, element, names)
        _set_coordinates(model, joint, _still(model, element, values))
    else:
        _set_axes(model, element, joint, values)


def claim_frames(model: Osim, element: Element) -> None:
    """Claim the frames of a joint, a constraint or a force."""
    for one in model.reading.children(element, "frames"):
        for frame in one.children:
            claim_frame(model, frame)


def claim_frame(model: Osim, frame: Element) -> None:
    """Claim a frame, whose pose is part of that which refers to it."""
    model.reading.ledger.keep(frame, "name")
    model.place(frame)
    reasons = dict.fromkeys(("attached_geometry", "WrapObjectSet"), "belongs to a frame and not to its body")
    model.drop(frame, {tag: reason for tag, reason in reasons.items() if any(one.children for one in frame.all(tag))})
    for tag in reasons:
        for one in frame.all(tag):
            for part in one.walk():
                model.reading.ledger.keep(part, "name")


# --- coordinates ------------------------------------------------------------------------------------------------------
def _coordinates_of(model: Osim, element: Element) -> list[Element]:
    return [one for holder in model.reading.children(element, "coordinates") for one in holder.children]


def _coordinate(model: Osim, element: Element) -> Value:
    """Read a coordinate; one that is locked or prescribed has a motion."""
    reading = model.reading
    reading.ledger.keep(element, "name")
    model.drop(element, OF_COORDINATES)
    q, v = (model.number(element, tag, 0.0) for tag in ("default_value", "default_speed_value"))
    motion = q if model.flag(element, "locked", False) else None
    holder = model.property(element, "prescribed_function")
    function = None if holder is None or not holder.children else holder.children[0]
    is_prescribed = model.flag(element, "prescribed", False)
    if holder is not None and function is not None and is_prescribed and motion is None:
        function_in(model, holder)
        motion = read_signal(model, function, f"{reading.text(element, 'name')}_motion")
    elif function is not None:
        reading.ledger.drop(function, "the coordinate is not prescribed" if motion is None else "it is locked")
    return Value(reading.text(element, "name"), q, v, motion)


def _set_coordinates(model: Osim, joint: Joint, values: Sequence[Value]) -> None:
    """Set positions, rates and motions of the coordinates of a joint, and note their places."""
    single = len(values) == 1
    for k, value in enumerate(values):
        model.draft.coordinates[value.name] = Coordinate(joint.name, k, k)
        model.coordinates[value.name] = joint.name if single else f"{joint.name}/{k}"
    names = [value.name for value in values]
    if names and names != list(joint.fields.get("coordinates", ())):
        joint.fields["coordinate_names"] = names[0] if single else names
    motions = [value.motion for value in values]
    for key in () if None not in motions else ("q", "v"):
        numbers = [float(getattr(value, key)) for value in values]
        if any(numbers):
            joint.fields[key] = numbers[0] if single else numbers
    if any(motion is not None for motion in motions):
        model.prescribed.update(value.name for value in values if value.motion is not None)
        joint.fields["motion"] = {"position": motions[0] if single else motions}


# --- joints of hinges and slides --------------------------------------------------------------------------------------
def _set_parts(model: Osim, joint: Joint, parts: Sequence[tuple[str, Any, int]], values: Sequence[Value]) -> None:
    """Make a joint of hinges and slides, each with its type, axis and number of its coordinate."""
    if len(parts) == 1:
        joint.type, axis, _ = parts[0]
        joint.fields["axis"] = axis
    elif parts:
        joint.type = "composite"
        joint.fields["parts"] = [{"type": type_, "axis": axis} for type_, axis, _ in parts]
    ordered = [values[k] for _, _, k in parts]
    _set_coordinates(model, joint, ordered)


def _set_several(model: Osim, element: Element, joint: Joint, values: Sequence[Value]) -> None:
    """Make a ball, or a free joint, whose start is given by Euler angles and translations."""
    joint.type = OF_SEVERAL[element.tag]
    angles, shift = [value.q for value in values[:3]], [value.q for value in values[3:]]
    turn = {"euler": angles, "order": "XYZ"}
    if joint.type == "free" and joint.parent == WORLD and not joint.pose.data() and not joint.child_pose.data():
        del model.draft.joints[joint.name]
        body = model.draft.bodies[joint.child]
        body.pose, body.is_free = of_body_angles(shift or (0.0, 0.0, 0.0), angles), True
    elif any(angles) or any(shift):
        joint.fields["q"] = turn if joint.type == "spherical" else {"position": shift, "rotation": turn}
    _still(model, element, values)


def _still(model: Osim, element: Element, values: Sequence[Value]) -> list[Value]:
    """Return coordinates at rest, where the speeds of the file are components of an angular velocity."""
    for value in values:
        if value.v:
            model.reading.ledger.note(element.mark, f"the rate of `{value.name}` at the start is 0")
    return [value._replace(v=0.0) for value in values]


# --- CustomJoint ------------------------------------------------------------------------------------------------------
def _set_axes(model: Osim, element: Element, joint: Joint, values: Sequence[Value]) -> None:
    transform = model.reading.child(element, "SpatialTransform")
    if transform is None:
        model.reading.refuse(element, "expected a <SpatialTransform>")
        return
    model.reading.ledger.keep(transform, "name")
    names = [value.name for value in values]
    found = {one.attributes.get("name", ""): one for one in model.reading.children(transform, "TransformAxis")}
    translations = [_axis(model, found.get(tag), tag, names) for tag in TRANSLATIONS]
    rotations = [_axis(model, found.get(tag), tag, names) for tag in ROTATIONS]
    parts = _parts_of(translations, rotations, len(values))
    if parts is not None:
        shift = sum(np.multiply(axis.direction, axis.function.constant or 0.0) for axis in translations)
        if np.any(shift):
            joint.pose = joint.pose.at(FramePose(np.asarray(shift), np.eye(3)))
        _set_parts(model, joint, parts, values)
    else:
        _set_symbolic(model, element, joint, values, translations, rotations)


def _axis(model: Osim, element: Element | None, tag: str, names: Sequence[str]) -> Axis:
    """Read a TransformAxis; one without a function is 0."""
    if element is None:
        return Axis(X, constant(0.0))
    reading = model.reading
    reading.ledger.keep(element, "name")
    direction = model.numbers(element, "axis", X)
    listed = model.text(element, "coordinates").split()
    unknown = [one for one in listed if one not in names]
    if unknown:
        reading.refuse(element, f"`{unknown[0]}` is no coordinate of the joint; {nearest(unknown[0], names)}")
        return Axis(direction, constant(0.0))
    holder = next((one for one in element.children if one.tag not in ("axis", "coordinates")), None)
    if holder is not None and holder.tag == "function":  # a property that holds the function
        reading.ledger.keep(holder, "name")
        holder = next(iter(holder.children), None)
    if holder is None:
        return Axis(direction, constant(0.0))
    function = read_function(model, holder, [symbol_of(one) for one in listed], tag)
    if not any(direction) and function.constant != 0.0:
        reading.refuse(element, "expected an axis other than 0 0 0")
    return Axis(direction, function, tuple(names.index(one) for one in listed))


def symbol_of(name: str) -> str:
    """Return a name of a coordinate as expressions can have it."""
    return re.sub(r"\W", "_", name, flags=re.ASCII) if re.match(r"[A-Za-z_]", name) else f"q_{name}"


def _parts_of(
    translations: Sequence[Axis], rotations: Sequence[Axis], count: int
) -> list[tuple[str, list[float], int]] | None:
    """Return slides and hinges; None if the joint is none of these, whose coordinates are each one value."""
    found = []
    for type_, axes in (("prismatic", translations), ("revolute", rotations)):
        for axis in axes:
            value = axis.function.constant
            if value is not None:
                if value and type_ == "revolute":
                    return None
                continue
            if axis.function.linear is None or axis.function.linear[1] or len(axis.coordinates) != 1:
                return None
            sign = axis.function.linear[0][0]
            if abs(sign) != 1.0:
                return None
            found.append((type_, [sign * part + 0.0 for part in axis.direction], axis.coordinates[0]))
    used = sorted(k for _, _, k in found)
    return found if used == list(range(count)) and _are_unit(found) else None


def _are_unit(parts: Sequence[tuple[str, list[float], int]]) -> bool:
    """Whether the axes of slides, whose length is a factor of the translation, have length 1."""
    return all(type_ == "revolute" or abs(np.linalg.norm(axis) - 1.0) <= 1e-15 for type_, axis, _ in parts)


def _set_symbolic(
    model: Osim,
    element: Element,
    joint: Joint,
    values: Sequence[Value],
    translations: Sequence[Axis],
    rotations: Sequence[Axis],
) -> None:
    turning = {k for axis in rotations if axis.function.constant is None for k in axis.coordinates}
    used = {k for axis in (*translations, *rotations) if axis.function.constant is None for k in axis.coordinates}
    without_effect = [value.name for k, value in enumerate(values) if k not in used]
    if without_effect:
        model.reading.refuse(element, f"nothing depends on the coordinate `{without_effect[0]}`")
        return
    joint.type = "symbolic"
    joint.fields["coordinates"] = {symbol_of(one.name): "rad" if k in turning else "m" for k, one in enumerate(values)}
    tables = {name: table for axis in (*translations, *rotations) for name, table in axis.function.tables.items()}
    if tables:
        joint.fields["functions"] = tables
    joint.fields["translation"] = [_component(translations, k) for k in range(3)]
    joint.fields["rotation"] = [
        {"axis": list(axis.direction), "angle": axis.function.text}
        for axis in rotations
        if axis.function.constant != 0.0
    ]
    _set_coordinates(model, joint, values)


def _component(translations: Sequence[Axis], k: int) -> str:
    """Return a component of the translation as an expression."""
    moving = [axis for axis in translations if axis.function.constant != 0.0]
    return added([(axis.direction[k], in_product(axis.function.text)) for axis in moving])
