"""Contacts of a scene: which bodies touch, what that is like, and how the impulses are found."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from multibody_cli.spec import Fraction, NonNegative, Quantity, Spec, units
from multibody_cli.spec.quantities import shown
from multibody_cli.spec.reading import read_each

Pair = tuple[str, str]
Pairs = Literal["auto"] | list[Pair]
Sides = Annotated[int, Field(ge=4, multiple_of=2)] | None
Rounds = Annotated[int, Field(ge=1)]


class ContactsSpec(Spec):
    """Bodies touch: with this section, each shape that does not say `contact: false` touches the others."""

    friction: NonNegative = Field(0.5, description="Coefficient of dry friction of shapes that name none.")
    restitution: Fraction = Field(0.0, description="Restitution of shapes that name none, 0 to 1.")
    pairs: Pairs = Field(
        "auto",
        description="`auto`: each body with each other and with the world, but for two bodies that a joint connects "
        "(a joint to the world leaves its shapes to touch); or a list of pairs `[body, body]`, where `world` may stand "
        "for one.",
    )
    method: Literal["proximal", "staggered_projections", "single_qp"] = Field(
        "proximal",
        description="How impulses are found: `proximal` takes any number of contacts; passes of normal impulses and of "
        "friction in turn take some hundred; with `single_qp`, one program, bodies that slide lift off at friction "
        "times their speed.",
    )
    sides: Sides = Field(
        None,
        description="Sides of the polygon that limits friction instead of a circle, an even number; its error is "
        "1 - cos(pi / sides). Not with `proximal`.",
    )
    tolerance: Annotated[float, Quantity(units.NUMBER, above=0.0)] = Field(
        1e-10,
        description="What may be left of the conditions of contact, relative to the impulses.",
    )
    max_iterations: Rounds = Field(200, description="Rounds of a solution, at most.")
    room: Rounds | None = Field(
        None, description="Contacts that there is room for at once; 24 for each shape, unless given."
    )

    @field_validator("pairs", mode="plain", json_schema_input_type=Pairs)
    @classmethod
    def _read_pairs(cls, value: Any) -> Pairs:
        if value == "auto":
            return "auto"
        if not isinstance(value, list):
            raise ValueError(f"expected `auto`, or a list of pairs such as `[[box, world]]`, found {shown(value)}")
        return list(read_each(_read_pair, value))

    @field_validator("sides", mode="plain", json_schema_input_type=Sides)
    @classmethod
    def _read_sides(cls, value: Any) -> int | None:
        if value is None:
            return None
        if not _is_whole(value) or value < 4 or value % 2:
            raise ValueError(f"expected an even number of at least 4, found {shown(value)}")
        return int(value)

    @field_validator("max_iterations", "room", mode="plain", json_schema_input_type=Rounds)
    @classmethod
    def _read_rounds(cls, value: Any) -> int:
        if not _is_whole(value) or value < 1:
            raise ValueError(f"expected a whole number of at least 1, found {shown(value)}")
        return int(value)


def _read_pair(value: Any) -> Pair:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"expected two bodies, as in `[box, world]`, found {shown(value)}")
    first, second = read_each(_read_name, value)
    return first, second


def _read_name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected the name of a body, or `world`, found {shown(value)}")
    return value


def _is_whole(value: Any) -> bool:
    return type(value) in (int, float) and float(value).is_integer()
