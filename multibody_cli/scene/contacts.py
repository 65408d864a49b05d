"""Contacts of a scene: which bodies touch, what that is like, and how the impulses are found."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multibody_cli.spec import Fraction, NonNegative, Quantity, Spec, units

Pairs = Literal["auto"] | list[tuple[str, str]]


class ContactsSpec(Spec):
    """Bodies touch: with this section, each shape that does not say `contact: false` touches the others."""

    friction: NonNegative = Field(0.5, description="Coefficient of dry friction of shapes that name none.")
    restitution: Fraction = Field(0.0, description="Restitution of shapes that name none, 0 to 1.")
    pairs: Pairs = Field(
        "auto",
        description="`auto`: each body with each other and with the world, but for two bodies that a joint connects; "
        "or a list of pairs `[body, body]`, where `world` may stand for one.",
    )
    method: Literal["staggered_projections", "single_qp"] = Field(
        "staggered_projections",
        description="How impulses are found: `single_qp` is faster and lets sliding bodies lift off a little.",
    )
    sides: Annotated[int, Field(ge=4, multiple_of=2)] | None = Field(
        None,
        description="Sides of the polygon that limits friction instead of a circle, an even number; its error is "
        "1 - cos(pi / sides).",
    )
    tolerance: Annotated[float, Quantity(units.NUMBER, above=0.0)] = Field(
        1e-10,
        description="What may be left of the conditions of contact, relative to the impulses.",
    )
    max_iterations: Annotated[int, Field(ge=1)] = Field(200, description="Rounds of a solution, at most.")
