"""Guides and pulleys of a rope, in a scene file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from multibody_cli.nodes import NodePath
from multibody_cli.spec import units
from multibody_cli.spec.catalogue import Catalogue
from multibody_cli.spec.geometry import Direction, Vector
from multibody_cli.spec.path import MovingPoint
from multibody_cli.spec.points import Attachment
from multibody_cli.spec.quantities import PositiveLength, Quantity, WholeNumber, located_error

Coefficient = Annotated[
    float,
    Quantity(units.NUMBER, least=0.0),
    Field(
        description="Coefficient of friction of a rope that slides: its tension changes by at most exp(friction*angle)."
    ),
]


_UNSUPPORTED = {"range": "the length of a rope does not jump: use a spring along a `path`"}


class GuideSpec(MovingPoint):
    """An end of a rope, or a guide through which it slides; it may move in its body with a coordinate of a joint."""

    EXAMPLE = "{body: NAME, point: [x, y, z], friction: mu}"
    UNSUPPORTED = _UNSUPPORTED

    friction: Coefficient = 0.0


class PulleySpec(MovingPoint):
    """A disc of a body, in whose groove a rope lies; its centre may move in the body with a coordinate of a joint."""

    EXAMPLE = "{body: NAME, radius: r, axis: [x, y, z], sense: 1}"
    UNSUPPORTED = _UNSUPPORTED
    ORIENTED: ClassVar[bool] = True

    radius: PositiveLength = Field(description="Radius at which the rope lies, m; `point` is the centre.")
    axis: Direction = Field(description="Axis of the disc, a direction in the body frame.")
    sense: Literal[1, -1] = Field(
        1, description="1 if the rope goes about the axis by the right-hand rule on its way, -1 if the other way."
    )
    slides: bool = Field(False, description="Whether the rope slides over the disc; else it turns the disc.")
    friction: Coefficient = 0.0
    turns: Annotated[int, WholeNumber(0)] = Field(
        0, description="Whole turns of a rope that slides, beside the part of a turn that follows from the positions."
    )

    @model_validator(mode="after")
    def _refuse_fields_without_effect(self) -> Self:
        for name in ("turns", "friction"):
            if getattr(self, name) and not self.slides:
                message = "has no effect on a pulley that the rope turns: omit it, or add `slides: true`"
                raise located_error(message, name)
        return self


OverEntry = Annotated[
    GuideSpec | PulleySpec,
    Catalogue("a point or a pulley", {"point": GuideSpec, "pulley": PulleySpec}, {"radius": "pulley", "body": "point"}),
]
"""An end, a guide, through which the rope slides, or a pulley."""


def is_turned(entry: Attachment) -> bool:
    """Whether a rope turns an entry that it leads over."""
    return isinstance(entry, PulleySpec) and not entry.slides


def divides(entry: Attachment) -> bool:
    """Whether an elastic rope has a tension of its own on each side of an entry that it leads over."""
    return is_turned(entry) or (isinstance(entry, GuideSpec | PulleySpec) and entry.friction > 0.0)


def require_turned_ends(entries: list[OverEntry], *place: str) -> list[OverEntry]:
    """Refuse ends of a rope that slide."""
    for k in (0, len(entries) - 1):
        if isinstance(entries[k], PulleySpec) and not is_turned(entries[k]):
            message = "a rope cannot slide at its end: expected a point, or a drum, which it turns"
            raise located_error(message, *place, k)
        if entries[k].friction:
            message = "has no effect at the end of a rope, which does not slide: omit it"
            raise located_error(message, *place, k, "friction")
    return entries


def require_belt(entries: Sequence[OverEntry]) -> None:
    """Refuse a belt through guides, and one that turns no pulley."""
    for k, one in enumerate(entries):
        if not isinstance(one, PulleySpec):
            raise located_error("a belt leads over pulleys alone: give it a `radius`", "over", k)
    if not any(map(is_turned, entries)):
        raise located_error("a belt turns at least one of its pulleys: omit `slides` of one", "over")


def turning_of(over: Sequence[Attachment]) -> Sequence[tuple[NodePath, str, Vector]]:
    """Return the place, the body and the axis of each pulley that a rope turns."""
    return [
        (("over", k), one.body, one.axis)
        for k, one in enumerate(over)
        if isinstance(one, PulleySpec) and is_turned(one)
    ]
