"""Paths of OpenSim, and the controls of what acts along them."""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.expressions import Reference
from multibody_cli.foreign.frames import Pose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_model import Osim
from multibody_cli.foreign.rounding import number


def control(model: Osim, element: Element) -> tuple[str, str]:
    """Add the control of an actuator as an input with its name; return the name and its force as an expression."""
    name = model.reading.text(element, "name")
    model.draft.add_value("inputs", name, element, 0.0)
    factor = model.number(element, "optimal_force", 1.0)
    word = str(Reference(("inputs", name)))
    return name, word if factor == 1.0 else f"{number(factor)}*{word}"


def read_path(model: Osim, element: Element) -> str | None:
    """Read the path of a force, and add it under the name of the force; None if it has fewer than two points."""
    path = model.reading.child(element, "GeometryPath")
    if path is None:
        model.reading.ledger.drop(element, "a path of a type that is not read")
        return None
    name = model.reading.text(element, "name")
    model.reading.ledger.keep(path, "name")
    model.drop(path, {"default_color": "pictures have colors of their own"})
    points = [found for one in model.objects(path, "PathPointSet") if (found := _point(model, one)) is not None]
    for one in model.objects(path, "PathWrapSet"):
        model.reading.ledger.drop(one, "the path does not wrap around a surface")
    if len({point["body"] for point in points}) < 2:
        model.reading.ledger.drop(element, "its points that do not move belong to one body")
        return None
    model.draft.add("paths", name, element, path=points)
    return name


def _point(model: Osim, element: Element) -> dict[str, Any] | None:
    ledger = model.reading.ledger
    if element.tag != "PathPoint":
        ledger.drop(element, "a point that moves or is conditional")
        return None
    ledger.keep(element, "name")
    model.drop(element, {})
    body, pose = model.frame(element, "socket_parent_frame")
    inner = Pose(np.array(model.numbers(element, "location", (0.0, 0.0, 0.0))), np.eye(3))
    return {"body": body, "point": pose.at(inner).position.tolist()}
