"""Section `contacts` of a scene: pairs of bodies that can touch, surface defaults, and the solver for the impulses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args

from pydantic import Field, field_validator

from multibody_cli.contact_solver.laws import CONTACT_METHODS
from multibody_cli.spec import ContactFriction, Fraction, Quantity, Spec, units
from multibody_cli.spec.quantities import WholeNumber, format_value, read_each

Pair = tuple[str, str]
Pairs = Literal["auto", "all"]
PAIRS: tuple[Pairs, ...] = get_args(Pairs)
Rounds = Annotated[int, WholeNumber(1)]
if TYPE_CHECKING:
    ContactMethod = str
else:
    ContactMethod = Literal[(*filter(None, CONTACT_METHODS.values()), "staggered_projections")]
Rule = Literal["geometric_mean", "harmonic_mean", "average", "minimum", "maximum", "product"]


class CombineSpec(Spec):
    """Rules that combine the coefficients of two shapes in contact."""

    EXAMPLE = "{friction: maximum}"

    friction: Rule = Field(
        "geometric_mean", description="Of the static and of the kinetic coefficients of friction, each."
    )
    restitution: Rule = Field("maximum", description="Of the coefficients of restitution.")


class PairSpec(Spec):
    """A pair of bodies that can touch, and the coefficients of their contacts."""

    EXAMPLE = "{bodies: [box, world], friction: 0.3}"

    bodies: Pair = Field(description="Two bodies, or a body and the `world`.")
    friction: ContactFriction | None = Field(
        None, description="Coefficients of dry friction of all contacts of the pair. Default: from those of its shapes."
    )
    restitution: Fraction | None = Field(
        None, description="Coefficient of restitution of all contacts of the pair. Default: from those of its shapes."
    )

    @field_validator("bodies", mode="plain", json_schema_input_type=Pair)
    @classmethod
    def _read_bodies(cls, value: Any) -> Pair:
        return _read_pair(value)


class ContactsSpec(Spec):
    """Contacts between bodies: with this section, all shapes without `contact: false` take part in contacts."""

    friction: ContactFriction = Field(
        0.5, validate_default=True, description="Default coefficients of dry friction of shapes."
    )
    restitution: Fraction = Field(0.0, description="Default coefficient of restitution of shapes, 0 to 1.")
    impacts: Literal["energetic", "newton", "propagating"] = Field(
        "energetic",
        description="Law of impact. `energetic`: Newton's restitution where it adds no energy, Stronge's for a single "
        "contact whose slip turns. `newton`: Newton's restitution, which may add energy with friction. `propagating`: "
        "impacts pass on from contact to contact, as in Newton's cradle.",
    )
    combine: CombineSpec = Field(CombineSpec(), description="Rules that combine the coefficients of two shapes.")
    pairs: tuple[PairSpec | Pairs, ...] = Field(
        ("auto",),
        description="`auto`: all pairs of bodies, and each body with the world, except pairs of bodies connected by a "
        "joint, and those that fixed joints hold together with these (a joint to the world excludes nothing); `all`: "
        "these pairs as well; or a list of pairs `[body, body]`, where `world` may be one of them, and `auto` denotes "
        "its pairs. A pair with coefficients of its own is `{bodies: [body, body], friction: 0.3, restitution: 0}`.",
    )
    exclude: tuple[Pair, ...] = Field(
        (),
        description="Pairs of bodies that never touch, `[body, body]`. A name may have wildcards `*`, which match "
        "any text, the `world` included: `[arm, *]`.",
    )
    overlap: Literal["refuse", "exclude", "separate"] = Field(
        "refuse",
        description="Bodies that penetrate at the start by more than 1e-6 of the smaller shape. `refuse`: the scene is "
        "rejected. `exclude`: they never touch in this run, and a note lists them with their depths. `separate`: "
        "mechanisms in the world are first moved out of it along the translations of the joints that connect them to "
        "it, as a note says; other pairs are excluded.",
    )
    floor: Annotated[float, Quantity(units.LENGTH, least=0.0)] | None = Field(
        None,
        description="Distance from the lowest point of all shapes with contacts at the start down to a floor, m: a "
        "plane of the world across gravity. Default: no floor.",
    )
    method: ContactMethod = Field(
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

    @field_validator("pairs", mode="plain", json_schema_input_type=Pairs | list[Pairs | Pair | PairSpec])
    @classmethod
    def _read_pairs(cls, value: Any) -> tuple[PairSpec | Pairs, ...]:
        if value in PAIRS:
            return (value,)
        if not isinstance(value, list | tuple):
            raise ValueError(
                f"expected `auto`, `all` or a list of pairs such as `[[box, world]]`, found {format_value(value)}"
            )
        return read_each(_read_entry, value)

    @field_validator("exclude", mode="plain", json_schema_input_type=list[Pair])
    @classmethod
    def _read_excluded(cls, value: Any) -> tuple[Pair, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError(f"expected a list of pairs such as `[[hand, torso]]`, found {format_value(value)}")
        return read_each(_read_pair, value)

    @property
    def listed(self) -> dict[int, PairSpec]:
        """The pairs that `pairs` lists, by their place in the list."""
        return {k: entry for k, entry in enumerate(self.pairs) if not isinstance(entry, str)}


def _read_entry(value: Any) -> PairSpec | Pairs:
    if value in PAIRS:
        return cast("Pairs", value)
    if isinstance(value, dict | PairSpec):
        return PairSpec.model_validate(value)
    return PairSpec(bodies=_read_pair(value))


def _read_pair(value: Any) -> Pair:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"expected two bodies, as in `[box, world]`, found {format_value(value)}")
    first, second = read_each(_read_name, value)
    return first, second


def _read_name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected the name of a body, or `world`, found {format_value(value)}")
    return value
