"""Forces of OpenSim by expressions: of a coordinate and its rate, or of the distance of two points and its rate."""

from __future__ import annotations

import re
from collections.abc import Mapping

from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import STATE, Reference, parse
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_actuators import coordinate_of
from multibody_cli.foreign.osim_model import BODIES, Osim

WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def _expression(model: Osim, element: Element, words: Mapping[str, str]) -> str | None:
    """Return the expression of a force with other words for its quantities; None if a scene does not have it."""
    given = model.text(element, "expression", "0.0")
    text = WORD.sub(lambda found: words.get(found[0], found[0]), given).replace("^", "**")
    try:
        parse(text, STATE)
    except ExpressionError as error:
        model.reading.ledger.drop(element, f"its expression `{given}`: {error}")
        return None
    return text


def of_coordinate(model: Osim, element: Element) -> None:
    """Read a force on a coordinate."""
    joint, text = coordinate_of(model, element), _expression(model, element, {"qdot": "v"})
    if joint is not None and text is not None:
        name = model.reading.text(element, "name")
        model.draft.add("actuators", name, element, type="general", joint=joint, force=text)


def of_distance(model: Osim, element: Element) -> None:
    """Read a force between points of two bodies, positive where it pulls."""
    name, path = model.reading.text(element, "name"), []
    for k in "12":
        body = model.component(element, f"body{k}", BODIES)
        point = list(model.numbers(element, f"point{k}", (0.0, 0.0, 0.0)))
        if body is not None:
            path.append({"body": model.body_name(body), "point": point})
    words = {"d": str(Reference(("paths", name, "length"))), "ddot": str(Reference(("paths", name, "rate")))}
    text = _expression(model, element, words)
    if text is not None and len({one["body"] for one in path}) == 2:
        model.draft.add("paths", name, element, path=path)
        model.draft.add("forces", name, element, path=name, tension=text)


EXPRESSIONS = {
    "ExpressionBasedCoordinateForce": of_coordinate,
    "ExpressionBasedPointToPointForce": of_distance,
}
"""Readers of forces by type."""
