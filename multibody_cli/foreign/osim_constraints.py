"""Constraints of OpenSim: couplings of coordinates, joints that close loops, and distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.errors import nearest
from multibody_cli.foreign.draft import WORLD
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_functions import added, function_in, in_product, read_function
from multibody_cli.foreign.osim_joints import claim_frames, symbol_of
from multibody_cli.foreign.osim_model import BODIES, Osim
from multibody_cli.foreign.renaming import unused


def read_constraint(model: Osim, element: Element) -> None:
    """Read a constraint: a coupling of coordinates, a joint that closes a loop, or a distance."""
    if not model.is_enforced(element, "isEnforced"):
        return
    reader = CONSTRAINTS.get(element.tag)
    if reader is None:
        model.reading.ledger.drop(element, "constraints of this type are not read")
    else:
        reader(model, element)


def _couple(model: Osim, element: Element) -> None:
    reading = model.reading
    inputs = model.text(element, "independent_coordinate_names").split()
    output = model.text(element, "dependent_coordinate_name")
    for name in (output, *inputs):
        if name not in model.coordinates:
            reading.refuse(element, f"there is no coordinate `{name}`; {nearest(name, model.coordinates)}")
            return
    holder = model.property(element, "coupled_coordinates_function")
    function = None if holder is None else function_in(model, holder)
    if function is None:
        reading.refuse(element, "expected a <coupled_coordinates_function>")
        return
    names = [symbol_of(name) for name in inputs]
    found = read_function(model, function, names, "table")
    factor = model.number(element, "scale_factor", 1.0)
    name = element.attributes.get("name", output)
    addresses = [model.coordinates[one] for one in inputs]
    if found.linear is not None:
        terms = {model.coordinates[output]: 1.0}
        terms |= {one: -factor * slope for one, slope in zip(addresses, found.linear[0], strict=False)}
        offset = factor * found.linear[1]
        fields: dict[str, Any] = {"type": "linear", "terms": terms} | ({"value": offset} if offset else {})
    else:
        fields = {"type": "function", "output": model.coordinates[output]}
        fields["inputs"] = dict(zip(names, addresses, strict=True))
        fields |= {"functions": found.tables} if found.tables else {}
        fields["value"] = added([(factor, in_product(found.text))])
    model.draft.add("couplings", name, element, **fields)


def _weld(model: Osim, element: Element) -> None:
    (parent, pose), (child, child_pose) = (model.frame(element, f"socket_frame{k}") for k in "12")
    claim_frames(model, element)
    _close(model, element, "fixed", (parent, pose), (child, child_pose))


def _pin(model: Osim, element: Element) -> None:
    ends = [_station(model, element, f"socket_body_{k}", f"location_body_{k}") for k in "12"]
    _close(model, element, "spherical", *ends)


def _station(model: Osim, element: Element, socket: str, location: str) -> tuple[str, FramePose]:
    """Return a body and the pose of a point in it, which has the axes of the body."""
    body, pose = model.frame(element, socket)
    inner = FramePose(np.array(model.numbers(element, location, (0.0, 0.0, 0.0))), np.eye(3))
    return body, FramePose(pose.at(inner).position, np.eye(3))


def _close(
    model: Osim, element: Element, type_: str, first: tuple[str, FramePose], second: tuple[str, FramePose]
) -> None:
    ends = (second, first) if second[0] == WORLD else (first, second)
    (parent, pose), (child, child_pose) = ends
    if parent == child:
        model.reading.ledger.drop(element, "both frames belong to one body")
        return
    name = unused(element.attributes.get("name", f"{parent}_{child}"), model.draft.joints)
    joint = model.draft.add_joint(name, element, type_, parent, child)
    joint.pose, joint.child_pose = pose, child_pose


def _on_line(model: Osim, element: Element) -> None:
    """Read a point that stays on a line of another body: on two planes through the line."""
    bodies = []
    for tag in ("line_body", "follower_body"):
        found = model.component(element, tag if model.text(element, tag) else f"socket_{tag}", BODIES)
        bodies += [] if found is None else [model.body_name(found)]
    direction = np.array(model.numbers(element, "line_direction_vec", (0.0, 0.0, 1.0)))
    place = list(model.numbers(element, "point_on_line", (0.0, 0.0, 0.0)))
    point = list(model.numbers(element, "point_on_follower", (0.0, 0.0, 0.0)))
    if len(bodies) < 2:
        return
    if not direction.any():
        model.reading.refuse(element, "expected a <line_direction_vec> other than 0 0 0")
        return
    across = np.eye(3)[np.argmin(np.abs(direction))]
    first = np.cross(direction, across)
    for k, normal in enumerate((first, np.cross(direction, first)), 1):
        plane = {"body": bodies[0], "normal": (normal / np.linalg.norm(normal)).tolist(), "position": place}
        fields = {"type": "point_on_plane", "point": {"body": bodies[1], "point": point}, "plane": plane}
        model.draft.add("constraints", f"{element.attributes.get('name', 'on_line')}_{k}", element, **fields)


def _distance(model: Osim, element: Element) -> None:
    ends = [_station(model, element, f"socket_body_{k}", f"location_body_{k}") for k in "12"]
    length = model.number(element, "constant_distance", 1.0)
    between = [{"body": body, "point": pose.position.tolist()} for body, pose in ends]
    name = element.attributes.get("name", "distance")
    model.draft.add("constraints", name, element, type="distance", between=between, length=length)


CONSTRAINTS = {
    "CoordinateCouplerConstraint": _couple,
    "WeldConstraint": _weld,
    "PointConstraint": _pin,
    "ConstantDistanceConstraint": _distance,
    "PointOnLineConstraint": _on_line,
}
"""Readers of constraints."""
