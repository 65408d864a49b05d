"""Actuators of OpenSim, whose controls are inputs of a scene, and forces by functions of time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multibody_cli.errors import nearest
from multibody_cli.expressions import Reference
from multibody_cli.foreign.draft import WORLD
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_functions import in_product, property_named, read_signal
from multibody_cli.foreign.osim_model import BODIES, Osim
from multibody_cli.foreign.osim_paths import control, read_path
from multibody_cli.foreign.rounding import number

BOUNDS = {tag: "a bound of controllers" for tag in ("min_control", "max_control")}


def coordinate_of(model: Osim, element: Element) -> str | None:
    """Return the address of the coordinate on which a force acts; an error if there is none."""
    name = model.text(element, "coordinate") or model.text(element, "socket_coordinate").rsplit("/", 1)[-1]
    if name in model.coordinates:
        if name not in model.prescribed:
            return model.coordinates[name]
        model.reading.ledger.drop(element, f"the coordinate `{name}` is locked or prescribed")
    elif name:
        model.reading.refuse(element, f"there is no coordinate `{name}`; {nearest(name, model.coordinates)}")
    else:
        model.reading.refuse(element, "expected the name of a <coordinate>")
    return None


# --- actuators --------------------------------------------------------------------------------------------------------
def _coordinate_actuator(model: Osim, element: Element) -> None:
    joint = coordinate_of(model, element)
    model.drop(element, BOUNDS)
    if joint is not None:
        name, text = control(model, element)
        model.draft.add("actuators", name, element, type="general", joint=joint, force=text)


def _path_actuator(model: Osim, element: Element) -> None:
    path = read_path(model, element)
    name, text = control(model, element)
    model.drop(element, BOUNDS)
    if path is not None:
        model.draft.add("forces", name, element, path=path, tension=text)


def _point_actuator(model: Osim, element: Element) -> None:
    body = model.component(element, "body", BODIES)
    name, _ = control(model, element)
    model.drop(element, BOUNDS)
    point = model.numbers(element, "point", (0.0, 0.0, 0.0))
    direction = model.numbers(element, "direction", (1.0, 0.0, 0.0))
    in_world = model.flag(element, "point_is_global", False)
    frame = "world" if model.flag(element, "force_is_global", False) else "body"
    if body is not None and model.body_name(body) != WORLD:
        force = _vector(model, element, direction, name)
        where = {"moving_point" if in_world else "point": list(point)}
        model.draft.add("forces", name, element, body=model.body_name(body), **where, frame=frame, force=force)


def _pull(model: Osim, element: Element) -> None:
    """Read a force between points of two bodies, which separates them."""
    bodies = [model.component(element, tag, BODIES) for tag in ("bodyA", "bodyB")]
    name, text = control(model, element)
    model.drop(element, BOUNDS)
    points = [model.numbers(element, tag, (0.0, 0.0, 0.0)) for tag in ("pointA", "pointB")]
    if model.flag(element, "points_are_global", False):
        model.reading.ledger.drop(element, "points that are fixed in the world and not in the bodies")
        return
    names = [model.body_name(body) for body in bodies if body is not None]
    if len(set(names)) == 2:
        path = [{"body": body, "point": list(point)} for body, point in zip(names, points, strict=True)]
        model.draft.add("forces", name, element, path=path, tension=f"-{in_product(text)}")


def _body_actuator(model: Osim, element: Element) -> None:
    """Read torque and force on a body, each with three controls."""
    body = model.component(element, "socket_body", BODIES)
    name = model.reading.text(element, "name")
    point = list(model.numbers(element, "point", (0.0, 0.0, 0.0)))
    in_world = model.flag(element, "point_is_global", False)
    frame = "world" if model.flag(element, "spatial_force_is_global", True) else "body"
    words = [f"{name}_{part}{axis}" for part in ("torque_", "force_") for axis in "xyz"]
    for word in words:
        model.draft.add_value("inputs", word, element, 0.0)
    torque, force = ([str(Reference(("inputs", word))) for word in words[first : first + 3]] for first in (0, 3))
    if body is not None and model.body_name(body) != WORLD:
        where = {"moving_point" if in_world else "point": point}
        fields = {"frame": frame, "torque": torque, "force": force}
        model.draft.add("forces", name, element, body=model.body_name(body), **where, **fields)


def _torque_actuator(model: Osim, element: Element) -> None:
    bodies = [model.component(element, tag, BODIES) if model.text(element, tag) else None for tag in ("bodyA", "bodyB")]
    name, _ = control(model, element)
    model.drop(element, BOUNDS)
    axis = model.numbers(element, "axis", (0.0, 0.0, 1.0))
    names = [WORLD if body is None else model.body_name(body) for body in bodies]
    turns_along = not model.flag(element, "torque_is_global", True) and names[0] != WORLD
    if turns_along and names[1] != WORLD:
        model.reading.ledger.drop(element, "a torque on two bodies along an axis of one of them")
        return
    for body, sign in zip(names, (1.0, -1.0), strict=True):
        if body != WORLD:
            own = name if sign > 0.0 else f"{name}_reaction"
            torque = _vector(model, element, tuple(sign * part for part in axis), name)
            model.draft.add(
                "forces", own, element, body=body, torque=torque, **({"frame": "body"} if turns_along else {})
            )


def _vector(model: Osim, element: Element, direction: tuple[float, ...], name: str) -> list[Any]:
    """Return the components of a force or torque that is the control of an actuator times a direction."""
    size = math.hypot(*direction) or 1.0
    factor = model.number(element, "optimal_force", 1.0) / size
    word = str(Reference(("inputs", name)))
    return [f"{number(factor * part)}*{word}" if part else 0.0 for part in direction]


def _prescribed(model: Osim, element: Element) -> None:
    """Read a force by functions of time; without functions of the point, it acts at the origin of its frame."""
    body, pose = model.frame(element, "socket_frame")
    name = model.reading.text(element, "name")
    force, point, torque = (_functions(model, element, f"{part}Functions") for part in ("force", "point", "torque"))
    in_world = {part: model.flag(element, f"{part}IsGlobal", part == "force") for part in ("force", "point")}
    if not body or body == WORLD:
        model.reading.ledger.drop(element, "acts on the ground")
        return
    is_fixed = all(isinstance(value, float) for value in point)
    if pose.turns and (not in_world["force"] or not (in_world["point"] or is_fixed)):
        model.reading.ledger.drop(element, "is expressed in a frame that is turned against its body")
        return
    fields: dict[str, Any] = {"body": body}
    if force and point and in_world["point"]:
        fields["moving_point"] = point
    elif force and is_fixed:
        inner = FramePose(np.array(point or (0.0, 0.0, 0.0)), np.eye(3))
        fields["point"] = pose.at(inner).position.tolist()
    elif force and not pose.position.any():
        fields |= {"moving_point": point, "point_frame": "body"}
    elif force:
        model.reading.ledger.drop(element, "a moving point in a frame that is not that of its body")
        return
    fields |= {} if in_world["force"] else {"frame": "body"}
    fields |= {part: value for part, value in (("force", force), ("torque", torque)) if value}
    if force or torque:
        model.draft.add("forces", name, element, **fields)


def _functions(model: Osim, element: Element, tag: str) -> list[Any]:
    """Return the functions of time of a set as signals."""
    name, found = element.attributes.get("name", ""), property_named(model, element, tag)
    if found is None:
        return []
    model.drop(found, {})
    functions = [one for holder in model.reading.children(found, "objects") for one in holder.children]
    return [read_signal(model, one, f"{name}_{tag}_{k}") for k, one in enumerate(functions)]


ACTUATORS = {
    "CoordinateActuator": _coordinate_actuator,
    "PathActuator": _path_actuator,
    "PointActuator": _point_actuator,
    "PointToPointActuator": _pull,
    "TorqueActuator": _torque_actuator,
    "BodyActuator": _body_actuator,
    "PrescribedForce": _prescribed,
}
"""Readers of actuators by type."""
