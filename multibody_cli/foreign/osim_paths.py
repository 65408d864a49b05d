"""Paths of OpenSim, and the controls of actuators along them."""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.errors import nearest
from multibody_cli.expressions import Reference
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_functions import Expression, added, constant, function_in, in_product, read_function
from multibody_cli.foreign.osim_model import Osim, WrapSurface, of_body_angles
from multibody_cli.foreign.rounding import number

SURFACES: dict[str, tuple[str, dict[str, tuple[str, int]]]] = {
    "WrapCylinder": ("cylinder", {"radius": ("radius", 1), "length": ("length", 1)}),
    "WrapSphere": ("sphere", {"radius": ("radius", 1)}),
    "WrapEllipsoid": ("ellipsoid", {"dimensions": ("radii", 3)}),
    "WrapTorus": ("torus", {"outer_radius": ("major_radius", 1), "inner_radius": ("minor_radius", 1)}),
}
"""Surfaces over which paths wrap: their types in a scene, and the fields of their sizes with their lengths."""

APPROXIMATIONS = {
    "WrapEllipsoid": "OpenSim approximates them by sections of planes",
    "WrapTorus": "OpenSim approximates the tube by a cylinder",
}
"""Surfaces over which the paths of OpenSim are no geodesics."""

SIDES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
"""Directions of quadrants."""


ONE_SIDE = "OpenSim ignores the torus where the line is next to its other half"
OTHER_SIDE = "OpenSim decides by the sides of both points whether it wraps"


def control(model: Osim, element: Element) -> tuple[str, str]:
    """Add the control of an actuator as an input with its name; return the name and its force as an expression."""
    name = model.reading.text(element, "name")
    model.draft.add_value("inputs", name, element, model.controls.get(name, 0.0))
    factor = model.number(element, "optimal_force", 1.0)
    word = str(Reference(("inputs", name)))
    return name, word if factor == 1.0 else f"{number(factor)}*{word}"


def read_surface(model: Osim, element: Element, body: str) -> None:
    """Read a surface of a body, over which paths wrap."""
    ledger = model.reading.ledger
    if not model.is_enforced(element, "active"):
        return
    if element.tag not in SURFACES:
        ledger.drop(element, "paths wrap over spheres, cylinders, ellipsoids and tori")
        return
    name = element.attributes.get("name", "")
    pose = of_body_angles(
        *(model.numbers(element, tag, (0.0, 0.0, 0.0)) for tag in ("translation", "xyz_body_rotation"))
    )
    model.drop(element, {})
    kind, sizes = SURFACES[element.tag]
    fields: dict[str, Any] = {"type": kind, "body": body}
    for tag, (field, count) in sizes.items():
        size = model.numbers(element, tag, (1.0,) * count)
        fields[field] = size[0] if count == 1 else list(size)
    if element.tag in APPROXIMATIONS:
        ledger.approximate(element, "paths over it are geodesics", APPROXIMATIONS[element.tag])
    model.draft.add("surfaces", name, element, **fields, **pose.data())
    quadrant = model.text(element, "quadrant", "all").lower().lstrip("+")
    if quadrant.lstrip("-") not in (*SIDES, "all", ""):
        model.reading.refuse(element, f"expected a <quadrant> all, x, -x, y, -y, z or -z, found `{quadrant}`")
    model.surfaces[name] = WrapSurface(body, quadrant, pose.position, kind != "cylinder", kind == "torus")


def read_path(model: Osim, element: Element) -> str | None:
    """Read the path of a force, and add it under the name of the force; None if it has fewer than two points."""
    path = model.reading.child(element, "GeometryPath")
    if path is None:
        model.reading.ledger.drop(element, "a path of a type that is not read")
        return None
    name = model.reading.text(element, "name")
    model.reading.ledger.keep(path, "name")
    model.drop(path, {"default_color": "pictures have colors of their own"})
    read = [_point(model, one) for one in model.objects(path, "PathPointSet")]
    points, places = [one for one in read if one is not None], [k for k, one in enumerate(read) if one is not None]
    if len({point["body"] for point in points}) < 2 and not any("moving" in point for point in points):
        model.reading.ledger.drop(element, "its points belong to one body")
        return None
    for point in (points[0], points[-1]):
        if point.pop("range", None) and point.pop("coordinate"):
            model.reading.ledger.approximate(path, "an end of the path is always part of it")
    arcs: dict[int, list[dict[str, Any]]] = {k: [] for k in range(len(points))}
    for one in model.objects(path, "PathWrapSet"):
        _wrap(model, one, points, places, arcs)
    entries = [entry for k, point in enumerate(points) for entry in (point, *_in_order(model, points, k, arcs[k]))]
    model.draft.add("paths", name, element, path=entries)
    return name


def _in_order(model: Osim, points: list[dict[str, Any]], k: int, arcs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the surfaces between point k and the next one from the body of the former to that of the latter."""

    def place(arc: dict[str, Any]) -> tuple[float, ...]:
        surface = model.surfaces[arc["wrap"]]
        for sign, point in ((-1.0, points[k]), (1.0, points[k + 1])):
            if surface.body == point["body"]:
                place = point.get("point", (0.0, 0.0, 0.0))
                return sign, -sign * float(np.linalg.norm(np.subtract(surface.centre, place)))
        return 0.0, 0.0

    return sorted(arcs, key=place) if len(arcs) > 1 else arcs


def _wrap(
    model: Osim,
    element: Element,
    points: list[dict[str, Any]],
    places: list[int],
    arcs: dict[int, list[dict[str, Any]]],
) -> None:
    """Let lines of a path wrap over a surface, of which OpenSim wraps one, but not those that are fixed to its body.

    A line within another body wraps only where it cuts the surface, and does not go round it to keep to a side.

    A range is one of places in the file, where points that are dropped count.
    """
    ledger = model.reading.ledger
    ledger.keep(element, "name")
    model.drop(element, {"method": "a choice for ellipsoids"})
    name = model.text(element, "wrap_object")
    if name not in model.surfaces:
        ledger.drop(element, f"the surface `{name}` is dropped, or there is none; {nearest(name, model.surfaces)}")
        return
    body, quadrant = model.surfaces[name].body, model.surfaces[name].quadrant
    first, last = model.numbers(element, "range", (-1.0, -1.0))
    arc: dict[str, Any] = {"wrap": name}
    if model.surfaces[name].is_ring:
        if quadrant.lstrip("-") in SIDES:
            ledger.approximate(element, "the path leads through the hole on all sides", ONE_SIDE)
    elif quadrant.lstrip("-") in SIDES:
        side = SIDES[quadrant.lstrip("-")]
        arc["side"] = [0.0 - part for part in side] if quadrant.startswith("-") else list(side)
        if model.surfaces[name].wraps_where_cut:
            arc["only_cut"] = True
        else:
            ledger.approximate(element, "the path does not cross the other side of the surface", OTHER_SIDE)
    lines = [k for k in range(len(points) - 1) if places[k] >= first - 1 and (last < 0 or places[k + 1] <= last - 1)]
    moving = [k for k in lines if {points[k]["body"], points[k + 1]["body"]} != {body}]
    if any(arcs[k] for k in moving):
        ledger.approximate(element, "surfaces follow each other in a given order", "OpenSim tries lines in turn")
    for k in moving:
        within = points[k]["body"] == points[k + 1]["body"]
        arcs[k].append(arc | {"only_cut": True} if within and "side" in arc else arc)


POINTS = ("PathPoint", "MovingPathPoint", "ConditionalPathPoint")
"""Types of the points of paths."""

WIDENED = 1e-5
"""OpenSim takes the range of a conditional point by this much wider at both ends."""


def _point(model: Osim, element: Element) -> dict[str, Any] | None:
    """Read a point of a path; None after dropping it."""
    ledger = model.reading.ledger
    if element.tag not in POINTS:
        ledger.drop(element, "a point of a type that is not read")
        return None
    ledger.keep(element, "name")
    model.drop(element, {})
    body, pose = _frame(model, element)
    if element.tag == "MovingPathPoint":
        return _moving_point(model, element, body, pose)
    inner = FramePose(np.array(model.numbers(element, "location", (0.0, 0.0, 0.0))), np.eye(3))
    point = {"body": body, "point": pose.at(inner).position.tolist()}
    if element.tag == "ConditionalPathPoint":
        coordinate = _coordinate(model, element, "coordinate")
        lower, upper = model.numbers(element, "range", (0.0, 0.0))
        if coordinate:
            point |= {"coordinate": coordinate, "range": [lower - WIDENED, upper + WIDENED]}
    return point


def _frame(model: Osim, element: Element) -> tuple[str, FramePose]:
    """Return the frame of a point; files of earlier versions name its body."""
    tag = "socket_parent_frame" if model.property(element, "socket_parent_frame") is not None else "body"
    return model.frame(element, tag)


def _coordinate(model: Osim, element: Element, tag: str) -> str:
    """Return the address of a coordinate on which a point depends; an empty one after an error."""
    name = (model.text(element, f"socket_{tag}") or model.text(element, tag)).rsplit("/", 1)[-1]
    if name not in model.coordinates:
        model.reading.refuse(element, f"{tag}: there is no coordinate `{name}`; {nearest(name, model.coordinates)}")
    return model.coordinates.get(name, "")


def _moving_point(model: Osim, element: Element, body: str, pose: FramePose) -> dict[str, Any] | None:
    """Read a point whose components are functions of one coordinate."""
    own: list[Expression] = []
    coordinates: set[str] = set()
    tables: dict[str, dict[str, Any]] = {}
    for letter in "xyz":
        holder = model.property(element, f"{letter}_location")
        function = None if holder is None else function_in(model, holder)
        if function is None:
            own.append(constant(0.0))
            continue
        found = read_function(model, function, ("q",), letter)
        own.append(found)
        tables |= found.tables
        named = _coordinate(model, element, f"{letter}_coordinate")
        if found.constant is None:
            coordinates.add(named)
    if len(coordinates) > 1:
        model.reading.ledger.drop(element, "its components depend on several coordinates")
        return None
    texts = []
    for origin, row in zip(pose.position, pose.rotation, strict=True):
        offset = origin + sum(part * (one.constant or 0.0) for part, one in zip(row, own, strict=True))
        varying = [(part, one.text) for part, one in zip(row, own, strict=True) if one.constant is None]
        terms = [(part, text if part == 1.0 else in_product(text)) for part, text in varying]
        texts.append(added([*terms, (float(offset), "")]))
    if not coordinates:
        return {"body": body, "point": [float(text) for text in texts]}
    point: dict[str, Any] = {"body": body, "coordinate": coordinates.pop(), "moving": texts}
    return point | ({"functions": tables} if tables else {})
