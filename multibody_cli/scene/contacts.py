"""Section `contacts` of a scene: pairs of bodies, surface defaults, and the solver for the impulses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from multibody_cli.spec import Fraction, Friction, Quantity, Spec, units
from multibody_cli.spec.quantities import WholeNumber, format_value, read_each

Pair = tuple[str, str]
Pairs = Literal["auto"] | list[Pair]
Rounds = Annotated[int, WholeNumber(1)]


class ContactsSpec(Spec):
    """Contacts between bodies: with this section, all shapes without `contact: false` take part in contacts."""

    friction: Friction = Field(0.5, validate_default=True, description="Default coefficient of dry friction of shapes.")
    restitution: Fraction = Field(0.0, description="Default coefficient of restitution of shapes, 0 to 1.")
    impacts: Literal["energetic", "newton", "propagating"] = Field(
        "energetic",
        description="Law of impact. `energetic`: Newton's restitution where it adds no energy, Stronge's for a single "
        "contact whose slip turns. `newton`: Newton's restitution, which may add energy with friction. `propagating`: "
        "impacts pass on from contact to contact, as in Newton's cradle.",
    )
    pairs: Pairs = Field(
        "auto",
        description="`auto`: all pairs of bodies, and each body with the world, except pairs of bodies connected by a "
        "joint (a joint to the world excludes nothing); or a list of pairs `[body, body]`, where `world` may be "
        "one of them.",
    )
    method: Literal["proximal", "staggered_projections", "single_qp"] = Field(
        "proximal",
        description="Solver for the impulses. `proximal`: any number of contacts. `staggered_projections`: quadratic "
        "programs for normal impulses and for friction in turn, for comparison; groups of bodies in contact with more "
        "than 600 rows are solved by `proximal` and count as unsolved. `single_qp`: "
        "convex relaxation (Anitescu), for comparison; sliding contacts separate at mu abs(u_t).",
    )
    tolerance: Annotated[float, Quantity(units.NUMBER, above=0.0)] = Field(
        1e-10,
        description="Tolerance of the residual of the contact conditions, relative to the impulses.",
    )
    max_iterations: Rounds = Field(200, description="Largest number of iterations of a solve.")
    sleeping: bool = Field(
        True,
        description="Whether bodies in contact that are at rest sleep: their impulses are kept, without a solve, until "
        "a force on them changes or something that moves touches them.",
    )
    max_contacts: Annotated[int | None, WholeNumber(1)] = Field(
        None,
        description="Contact capacity: largest number of simultaneous contacts. Default: 24 for each shape.",
    )

    @field_validator("pairs", mode="plain", json_schema_input_type=Pairs)
    @classmethod
    def _read_pairs(cls, value: Any) -> Pairs:
        if value == "auto":
            return "auto"
        if not isinstance(value, list):
            raise ValueError(
                f"expected `auto` or a list of pairs such as `[[box, world]]`, found {format_value(value)}"
            )
        return list(read_each(_read_pair, value))


def _read_pair(value: Any) -> Pair:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"expected two bodies, as in `[box, world]`, found {format_value(value)}")
    first, second = read_each(_read_name, value)
    return first, second


def _read_name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected the name of a body, or `world`, found {format_value(value)}")
    return value
