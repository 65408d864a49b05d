"""Forces of OpenSim: actuators whose controls are inputs, springs, bushings and limits of coordinates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multibody_cli.errors import nearest
from multibody_cli.expressions import Reference
from multibody_cli.foreign.draft import WORLD
from multibody_cli.foreign.frames import Pose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_functions import added, in_product
from multibody_cli.foreign.osim_joints import claim_frames
from multibody_cli.foreign.osim_model import BODIES, Osim
from multibody_cli.foreign.osim_muscles import APPROXIMATED, KINDS, read_muscle
from multibody_cli.foreign.osim_paths import control, read_path
from multibody_cli.foreign.rounding import number

NOT_READ = {
    "HuntCrossleyForce": "compliant contacts; contacts of a scene are hard",
    "ElasticFoundationForce": "compliant contacts; contacts of a scene are hard",
    "SmoothSphereHalfSpaceForce": "compliant contacts; contacts of a scene are hard",
    "ExternalForce": "a force from a file of data",
    "PrescribedForce": "a force of several functions; a scene has it in `forces`",
    "Ligament": "a law of force and length of its own",
}
"""Forces that are dropped, and why."""

BOUNDS = {tag: "a bound of controllers" for tag in ("min_control", "max_control")}


def read_force(model: Osim, element: Element) -> None:
    """Read a force."""
    ledger = model.reading.ledger
    if element.tag in NOT_READ:
        ledger.drop(element, NOT_READ[element.tag])
    elif element.tag in FORCES:
        if model.is_enforced(element, "appliesForce"):
            FORCES[element.tag](model, element)
    else:
        ledger.drop(element, "forces of this type are not read")


def _coordinate(model: Osim, element: Element) -> str | None:
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
    joint = _coordinate(model, element)
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
    if model.flag(element, "point_is_global", False):
        model.reading.ledger.drop(element, "a point that is fixed in the world and not in the body")
        return
    frame = "world" if model.flag(element, "force_is_global", True) else "body"
    if body is not None:
        force = _vector(model, element, direction, name)
        where = {"body": model.body_name(body), "point": list(point), "frame": frame}
        model.draft.add("forces", name, element, **where, force=force)


def _torque_actuator(model: Osim, element: Element) -> None:
    bodies = [model.component(element, tag, BODIES) for tag in ("bodyA", "bodyB")]
    name, _ = control(model, element)
    model.drop(element, BOUNDS)
    axis = model.numbers(element, "axis", (0.0, 0.0, 1.0))
    if not model.flag(element, "torque_is_global", True):
        first = bodies[0]
        if first is not None and model.body_name(first) == WORLD:
            pass  # the axes of the ground are those of the world
        else:
            model.reading.ledger.drop(element, "a torque on two bodies along an axis of one of them")
            return
    for body, sign in zip(bodies, (1.0, -1.0), strict=True):
        if body is not None and model.body_name(body) != WORLD:
            own = name if sign > 0.0 else f"{name}_reaction"
            torque = _vector(model, element, tuple(sign * part for part in axis), name)
            model.draft.add("forces", own, element, body=model.body_name(body), torque=torque)


def _vector(model: Osim, element: Element, direction: tuple[float, ...], name: str) -> list[Any]:
    """Return the components of a force or torque that is the control of an actuator times a direction."""
    size = math.hypot(*direction) or 1.0
    factor = model.number(element, "optimal_force", 1.0) / size
    word = str(Reference(("inputs", name)))
    return [f"{number(factor * part)}*{word}" if part else 0.0 for part in direction]


# --- springs ----------------------------------------------------------------------------------------------------------
def _path_spring(model: Osim, element: Element) -> None:
    path = read_path(model, element)
    stiffness, rest = (model.number(element, tag, 1.0) for tag in ("stiffness", "resting_length"))
    dissipation = model.number(element, "dissipation", 0.0)
    fields: dict[str, Any] = {"stiffness": stiffness, "rest_length": [0.0, rest]}
    if dissipation:
        effect = f"tension k e (1 + {dissipation:g} de/dt) of the stretch e"
        model.reading.ledger.approximate(element, "without dissipation, which is in proportion to the tension", effect)
    if path is not None:
        model.draft.add("springs", model.reading.text(element, "name"), element, path=path, **fields)


def _point_to_point(model: Osim, element: Element) -> None:
    between = []
    for k in "12":
        body, pose = model.frame(element, f"socket_body{k}")
        inner = Pose(np.array(model.numbers(element, f"point{k}", (0.0, 0.0, 0.0))), np.eye(3))
        between.append({"body": body, "point": pose.at(inner).position.tolist()})
    fields = {
        "stiffness": model.number(element, "stiffness", 1.0),
        "rest_length": model.number(element, "rest_length", 0.0),
    }
    model.draft.add("springs", model.reading.text(element, "name"), element, between=between, **fields)


def _coordinate_spring(model: Osim, element: Element) -> None:
    """Read a spring of a coordinate, which is an actuator of the scene, since a coordinate may have several."""
    joint = _coordinate(model, element)
    stiffness, rest, viscosity = (
        model.number(element, tag, default)
        for tag, default in (("stiffness", 1.0), ("rest_length", 0.0), ("viscosity", 0.0))
    )
    text = added([(-stiffness, "q"), (stiffness * rest, ""), (-viscosity, "v")])
    if joint is not None:
        model.draft.add(
            "actuators", model.reading.text(element, "name"), element, type="general", joint=joint, force=text
        )


def _coordinate_limit(model: Osim, element: Element) -> None:
    """Read springs and dampers beyond the limits of a coordinate, whose effect grows by a step of degree 5.

    Angles are in degrees in the file.
    """
    joint = _coordinate(model, element)
    if joint is None:
        return
    name = model.text(element, "coordinate")
    unit = math.pi / 180 if _is_angle(model, name) else 1.0
    upper, lower = (unit * model.number(element, f"{side}_limit", 0.0) for side in ("upper", "lower"))
    stiff_up, stiff_low = (model.number(element, f"{side}_stiffness", 1.0) / unit for side in ("upper", "lower"))
    damping, width = model.number(element, "damping", 0.001) / unit, unit * model.number(element, "transition", 1.0)
    model.drop(element, {"compute_dissipation_energy": "the ledger of energies has it"})
    for side, bound, stiffness, sign in (("upper", upper, stiff_up, 1.0), ("lower", lower, stiff_low, -1.0)):
        beyond = added([(sign, "q"), (-sign * bound, "")])
        x = f"min(max({in_product(beyond)}/{number(width)}, 0), 1)"
        law = added([(-stiffness, "q"), (stiffness * bound, ""), (-damping, "v")])
        text = f"{x}**3*(10 - 15*{x} + 6*{x}**2)*{in_product(law)}"
        own = f"{model.reading.text(element, 'name')}_{side}"
        model.draft.add("actuators", own, element, type="general", joint=joint, force=text)


def _is_angle(model: Osim, name: str) -> bool:
    """Whether a coordinate is an angle."""
    place = model.draft.coordinates.get(name)
    if place is None:  # its joint is an error
        return True
    fields = model.draft.joints[place.joint].fields
    if "coordinates" in fields:
        return bool(list(fields["coordinates"].values())[place.position] == "rad")
    if "parts" in fields:
        return bool(fields["parts"][place.position]["type"] == "revolute")
    return model.draft.joints[place.joint].type == "revolute"


def _bushing(model: Osim, element: Element) -> None:
    (parent, pose), (child, child_pose) = (model.frame(element, f"socket_frame{k}") for k in "12")
    claim_frames(model, element)
    fields: dict[str, Any] = {}
    for field, suffix in (("stiffness", "stiffness"), ("damping", "damping")):
        found = {
            "linear": list(model.numbers(element, f"translational_{suffix}", (0.0, 0.0, 0.0))),
            "angular": list(model.numbers(element, f"rotational_{suffix}", (0.0, 0.0, 0.0))),
        }
        fields[field] = found
    effect = "second order in the angles"
    model.reading.ledger.approximate(element, "by a torque along the rotation vector in place of Euler angles", effect)
    for key, one in (("origin", pose), ("child_origin", child_pose)):
        if one.data():
            fields[key] = one.data()
    model.draft.add(
        "springs", model.reading.text(element, "name"), element, type="bushing", parent=parent, child=child, **fields
    )


FORCES = {
    "CoordinateActuator": _coordinate_actuator,
    "PathActuator": _path_actuator,
    "PointActuator": _point_actuator,
    "TorqueActuator": _torque_actuator,
    "PathSpring": _path_spring,
    "PointToPointSpring": _point_to_point,
    "SpringGeneralizedForce": _coordinate_spring,
    "CoordinateLimitForce": _coordinate_limit,
    "BushingForce": _bushing,
} | dict.fromkeys((*KINDS, *APPROXIMATED), read_muscle)
"""Readers of forces by type."""
