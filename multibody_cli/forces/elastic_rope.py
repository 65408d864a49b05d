"""Elastic ropes and belts over pulleys that turn with them: a tension for each section.

Its ends, the pulleys that it turns, and guides with friction divide a rope into sections (`elastic_section`).  The rope
does not slip on these pulleys, and its creep there is neglected: the material of a section follows from their angles,
whose whole turns states count (`cables.rope`), and from its slip over guides (`rope_friction`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from multibody_cli.cables.rope import WITHIN, around, pack_spans
from multibody_cli.cables.span import ends_of, levers_of
from multibody_cli.forces.cable import add_own_block
from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.forces.elastic_section import (
    across_of,
    add_exact_change,
    add_passive_change,
    add_pull,
    energy_of,
    follow_turns,
    measure_section,
    place_ends,
    pull_at,
    stiffness_of,
    stretch_of,
    stretching_of,
    tensions_of,
)
from multibody_cli.forces.rope_friction import let_slip, store_energy
from multibody_cli.forces.variation import block_at
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.products import cross, no_force, rank_one
from multibody_cli.spatial.values import Force
from multibody_cli.spec import Quantity, Vector, units
from multibody_cli.spec.entries import BetweenSpec, PackingContext, placed
from multibody_cli.spec.over import (
    OverEntry,
    divides,
    require_belt,
    require_turned_ends,
    turning_of,
)
from multibody_cli.spec.points import Attachment
from multibody_cli.spec.quantities import located_error

_Tension = Annotated[float, Quantity(units.FORCE, least=0.0)]
_Slack = Annotated[float, Quantity(units.LENGTH, least=0.0)]
_Number = Annotated[float, Quantity(units.ANY)]


class ElasticRopeSpec(BetweenSpec):
    """An elastic rope, or belt, over points, guides and pulleys, which it turns unless it slides over them."""

    over: list[OverEntry] = Field(
        min_length=2,
        description="Its first end, guides and pulleys, and its last end. An end is a point, or a drum: a pulley from "
        "which the rope unwinds. Of a belt: its pulleys, in the order of its motion.",
    )
    closed: bool = Field(False, description="Whether it is a belt, which leads back to its first pulley.")
    stiffness: Annotated[float, Quantity(units.FORCE, above=0.0)] = Field(
        description="Tension per unit of strain, N: the product EA. A section of the length L without tension has the "
        "stiffness EA/L."
    )
    damping: Annotated[float, Quantity(units.STRAIN_DAMPING, least=0.0)] = Field(
        0.0, description="Tension per unit of the rate of strain, N*s."
    )
    tension: list[_Tension] = Field(
        [],
        description="Tension at the start, N, of each section between ends, pulleys that it turns, and guides with "
        "friction; or one number, of all. Default: 0.",
    )
    slack: list[_Slack] = Field(
        [], description="Slack at the start, m, of each section; or one number, of all. Default: none."
    )

    @field_validator("tension", "slack", mode="before", json_schema_input_type=_Number | list[_Number])
    @classmethod
    def _accept_one(cls, value: Any) -> Any:
        return value if isinstance(value, list) else [value]

    @model_validator(mode="after")
    def _require_sections(self) -> Self:
        if self.closed:
            require_belt(self.over)
        else:
            require_turned_ends(self.over, "over")
        if self.has_friction and self.damping:
            message = "is not supported with `friction`, whose limits are those of the elastic tensions: omit one"
            raise located_error(message, "damping")
        for name in ("tension", "slack"):
            found, count = len(getattr(self, name)), len(self.sections)
            if found not in (0, 1, count):
                raise located_error(f"expected {count} numbers, one for each section, or 1; found {found}", name)
        if self.tension and self.slack:
            raise located_error("expected either `tension` or `slack`", "slack")
        return self

    @property
    def sections(self) -> Sequence[tuple[float, float]]:
        """Tension, N, and slack, m, of each section at the start."""
        count = sum(map(divides, self.over)) if self.closed else 1 + sum(map(divides, self.over[1:-1]))
        tension, slack = (values or [0.0] for values in (self.tension, self.slack))
        return [(tension[k % len(tension)], slack[k % len(slack)]) for k in range(count)]

    @property
    def has_friction(self) -> bool:
        """Whether it slides over a guide with friction."""
        return any(one.friction for one in self.over)

    @property
    def points(self) -> Sequence[tuple[NodePath, Attachment]]:
        """Points and centres of pulleys from end to end."""
        return placed("over", self.over)

    @property
    def turning(self) -> Sequence[tuple[NodePath, str, Vector]]:
        """The pulleys whose rotation feeds the rope."""
        return turning_of(self.over)


ELASTIC_ROPE = np.dtype(
    [
        ("first", "i8"),  # of its spans, and their end
        ("last", "i8"),
        ("stiffness", "f8"),
        ("damping", "f8"),
        ("stored", "i8"),  # state of the energy of a rope that slips over guides with friction; else -1
        ("account", "i8"),
    ]
)

WITHOUT_LENGTH, USED_UP = 1, 2
"""Bits of the warnings of a rope."""

ROPE_WARNINGS = {
    WITHOUT_LENGTH: f"a section of it had no length, and no tension: {WITHIN}; move a point or a pulley",
    USED_UP: "the pulleys of a section took up all of its material, so that it had no tension: give it `slack`",
}
"""Their meaning."""


@formula
def apply_force(rope, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the tensions to the bodies, add the loss to the account, and raise warnings."""
    spans, points, first = forces.spans, forces.points, rope.first
    place_ends(spans, forces.states, points, rope, q)
    follow_turns(spans, forces.states, points, rope, q, v, bodies)
    if rope.stored >= 0:
        let_slip(spans, forces.states, points, rope, bodies)
    while first < rope.last:
        section = measure_section(spans, forces.states, points, first, bodies, True)
        tension, feed, viscous = tensions_of(rope, section)
        if feed != 0.0:
            for j in range(first, section.end):
                add_pull(spans[j], points, -tension, -feed, bodies, bodies)
            received = tension * section.lengthening - feed * section.feeding
            powers[rope.account] += received if rope.stored >= 0 else viscous * stretching_of(section, section)
        if watched and math.isnan(section.length):
            warnings[k] |= WITHOUT_LENGTH
        if watched and section.made <= 0.0:
            warnings[k] |= USED_UP
        first = section.end
    if rope.stored >= 0:
        store_energy(forces.states[rope.stored], energy_of(spans, forces.states, points, rope, bodies))


@formula
def elastic_energy(rope, forces, q, bodies) -> float:
    """Elastic energy, J."""
    place_ends(forces.spans, forces.states, forces.points, rope, q)
    return energy_of(forces.spans, forces.states, forces.points, rope, bodies)


# --- stiffness and damping --------------------------------------------------------------------------------------------
@formula
def stiffness_damping_product(rope, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add K and D times the motion change to the wrenches: see `forces.variation`."""
    spans, points, first = forces.spans, forces.points, rope.first
    factors = displacement_factor, velocity_factor
    while first < rope.last:
        section = measure_section(spans, forces.states, points, first, bodies, True)
        if stretch_of(section) > 1.0:
            if exact:
                add_exact_change(rope, spans, forces.states, points, first, section, bodies, factors, wrenches)
            else:
                add_passive_change(rope, spans, forces.states, points, first, section, bodies, factors, wrenches)
        first = section.end


@formula
def add_stiffness_blocks(rope, forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add the diagonal blocks of the ends of all spans: see `forces.variation`."""
    spans, first = forces.spans, rope.first
    while first < rope.last:
        section = measure_section(spans, forces.states, forces.points, first, bodies, True)
        stiffness = stiffness_of(rope, section, (displacement_factor, velocity_factor))
        pulled, row = no_force(), 0
        for k in range(first, section.end if stiffness > 0.0 else first):
            a, b = spans[k].a, spans[k].b
            ends = ends_of(a, b, bodies)
            r_a, r_b = levers_of(a, b, ends, bodies)
            pull = pull_at(spans[k], ends, 1.0, stretch_of(section))
            across = across_of(rope, section, ends, displacement_factor)
            pulled = pulled + Force(cross(r_a, pull.f) + pull.moment_a, pull.f)
            add_own_block(a.row, block_at(across, r_a) + stiffness * rank_one(pulled, pulled), blocks)
            add_own_block(b.row, block_at(across, r_b), blocks)
            pulled, row = Force(pull.moment_b - cross(r_b, pull.f), -pull.f), b.row
        add_own_block(row, stiffness * rank_one(pulled, pulled), blocks)
        first = section.end


# --- from a scene -----------------------------------------------------------------------------------------------------
def pack(spec: ElasticRopeSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a rope."""
    material = [(slack, 1.0 / (1.0 + tension / spec.stiffness), -1) for tension, slack in spec.sections]
    spans, _ = pack_spans(around(spec.over) if spec.closed else spec.over, material, (0.0, 0.0), context, divides)
    return *context.spans(spans), spec.stiffness, spec.damping, context.state() if spec.has_friction else -1


ELEMENT = ForceElement(
    "elastic_ropes",
    ELASTIC_ROPE,
    description="elastic ropes",
    rest="lengths without tension",
    account="dissipation",
    implicit=True,
    spans=True,
    apply_force=apply_force,
    elastic_energy=elastic_energy,
    stiffness_damping_product=stiffness_damping_product,
    add_stiffness_blocks=add_stiffness_blocks,
    warnings=ROPE_WARNINGS,
    failures=WITHOUT_LENGTH,
    entry=SceneEntry("springs", "elastic_rope", ("over",), ElasticRopeSpec, pack),
)
