"""Springs between points of bodies: cables whose tension is k (l - rest) + d dl/dt, with the energy k (l - rest)^2 / 2.

A spring with a range of rest lengths has a deadband: k (l - lower) below it, k (l - upper) above it, and neither
tension nor energy of its stiffness in between.

Source: Sueda, notes 1.9.3 and 1.9.6, (1.34)-(1.37), (1.65)-(1.68) with corrected signs; there k and d are relative to
the rest length.

Entries of `strands:` of a scene file: masses joined by springs, attached to bodies.

Source: Sueda, notes 2.7, (2.84)-(2.89).
"""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from multibody_cli.cables.lines import has_collapsed, measure
from multibody_cli.forces.cable import (
    LENGTH_JUMPED,
    PATH_WARNINGS,
    add_stiffness_blocks,
    apply_tension,
    has_jumped,
    linearize,
    path_warning,
    stiffness_damping_product,
)
from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.kernel import bound_kernel, formula
from multibody_cli.nodes import NodePath
from multibody_cli.spec import BodyPoint, Damping, Mass, Position, Quantity, Vector, units
from multibody_cli.spec.entries import BetweenSpec, PackingContext, placed
from multibody_cli.spec.path import PointsOrName
from multibody_cli.spec.points import Attachment
from multibody_cli.spec.quantities import NUMBER_SCHEMA, format_value, list_schema, located_error, read_each

# --- entries of `springs:` in a scene file: springs along cables, and bushings ----------------------------------------
_NONE: Vector = (0.0, 0.0, 0.0)

_KINDS = {
    ("stiffness", False): units.STIFFNESS,
    ("stiffness", True): units.FORCE,
    ("damping", False): units.DAMPING,
    ("damping", True): units.STRAIN_DAMPING,
}
"""Units of the coefficients of a spring, relative to its rest length or not."""


class RestLength(Quantity):
    """Annotation of a length, or of a range [lower, upper] of lengths."""

    def read(self, value: Any) -> Any:
        """Read the length or the range."""
        if not isinstance(value, list | tuple):
            return super().read(value)
        if len(value) != 2:
            raise ValueError(f"expected a length or a pair [lower, upper], found {format_value(value)}")
        lower, upper = read_each(super().read, value)
        if not lower < upper:
            raise ValueError(f"expected a lower length below the upper one, found {lower:g} m and {upper:g} m")
        return lower, upper

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a number, or of a pair."""
        return {"anyOf": [*NUMBER_SCHEMA["anyOf"], list_schema(NUMBER_SCHEMA, 2)["anyOf"][0]]}


class SpringSpec(BetweenSpec):
    """A spring with an optional damper along the lines between points of bodies."""

    between: list[BodyPoint] | None = Field(None, min_length=2, max_length=2, description="Its two ends.")
    path: PointsOrName | None = Field(
        None,
        description="Its points, and surfaces between them over which it wraps, from end to end; or the name of one.",
    )
    relative: bool = Field(
        False, description="Whether `stiffness` and `damping` are per unit of strain, (length - rest) / rest."
    )
    stiffness: float = Field(
        description="Tension per unit of length beyond `rest_length`, N/m; N where `relative`.",
        json_schema_extra=dict(NUMBER_SCHEMA),
    )
    damping: float = Field(
        0.0,
        description="Tension per unit of the rate of the length, N*s/m; N*s where `relative`.",
        json_schema_extra=dict(NUMBER_SCHEMA),
    )
    rest_length: Annotated[float | tuple[float, float], RestLength(units.LENGTH, least=0.0)] = Field(
        description="Length without tension, m. A shorter spring is compressed; with 0 the tension is proportional to "
        "the length. A pair [lower, upper] is a deadband, within which only `damping` acts: [0, 1 m] is an elastic "
        "rope."
    )

    @field_validator("stiffness", "damping", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_coefficient(cls, value: Any, info: ValidationInfo) -> float:
        return Quantity(_KINDS[str(info.field_name), bool(info.data.get("relative"))], least=0.0).read(value)

    @model_validator(mode="after")
    def _require_one_way(self) -> Self:
        if (self.between is None) == (self.path is None):
            raise ValueError("expected one of `between` and `path`")
        if self.relative and not self.lengths_at_rest[0] == self.lengths_at_rest[1] > 0.0:
            raise located_error("has no meaning for a spring without length at rest, or with several", "relative")
        return self

    @property
    def coefficients(self) -> tuple[float, float]:
        """Stiffness, N/m, and damping, N s/m."""
        length = self.lengths_at_rest[0] if self.relative else 1.0
        return self.stiffness / length, self.damping / length

    @property
    def lengths_at_rest(self) -> tuple[float, float]:
        """Least and greatest length without tension, m."""
        return self.rest_length if isinstance(self.rest_length, tuple) else (self.rest_length, self.rest_length)

    @property
    def points(self) -> list[tuple[NodePath, Attachment]]:
        """Its points from end to end."""
        return placed("between", self.between) if self.between else placed("path", self.path or ())


SPRING = np.dtype(
    [
        ("first", "i8"),  # its points
        ("last", "i8"),
        ("stiffness", "f8"),
        ("damping", "f8"),
        ("rest", "f8"),
        ("upper", "f8"),  # end of the deadband that begins at `rest`
        ("has_deadband", "i8"),
        ("account", "i8"),
    ]
)


@formula
def stretch_of(spring, length):
    """Length beyond that at rest, m; 0 within the deadband."""
    if spring.has_deadband:
        return max(length - spring.upper, 0.0) + min(length - spring.rest, 0.0)
    return length - spring.rest


@formula
def tension_of(spring, length, rate):
    """Tension of a spring, and of the damper beside it, N."""
    return spring.stiffness * stretch_of(spring, length) + spring.damping * rate


@formula
def law_of(spring, forces, t, length, rate):
    """Tension and its slopes with length and rate."""
    slack = spring.has_deadband and stretch_of(spring, length) == 0.0
    return tension_of(spring, length, rate), 0.0 if slack else spring.stiffness, spring.damping


@formula
def tension_change_of(spring, forces, t, length, rate):
    """No change: the tension depends on the length and its rate alone."""
    return 0.0


@formula
def apply_force(spring, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the tension to the bodies, add the loss d (dl/dt)^2 to the account, and raise warnings."""
    length, rate, shortest = measure(forces.points, spring.first, spring.last, bodies)
    apply_tension(forces.points, spring.first, spring.last, tension_of(spring, length, rate), bodies)
    powers[spring.account] += spring.damping * rate * rate
    if watched and has_collapsed(shortest, spring.rest, length):
        warnings[k] |= path_warning(shortest)
    if watched and has_jumped(forces.points, spring.first, spring.last, bodies, length):
        warnings[k] |= LENGTH_JUMPED


@formula
def elastic_energy(spring, forces, q, bodies) -> float:
    """Elastic energy, J."""
    length, _, _ = measure(forces.points, spring.first, spring.last, bodies)
    stretch = stretch_of(spring, length)
    return 0.5 * spring.stiffness * stretch * stretch


def pack(spec: SpringSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a spring."""
    lower, upper = spec.lengths_at_rest
    return *context.cable([end for _, end in spec.points]), *spec.coefficients, lower, upper, lower < upper


ELEMENT = ForceElement(
    "springs",
    SPRING,
    description="springs or muscles between bodies",
    rest="rest length",
    account="dissipation",
    implicit=True,
    cable=True,
    apply_force=apply_force,
    elastic_energy=elastic_energy,
    linearize=linearize,
    stiffness_damping_product=bound_kernel(
        stiffness_damping_product, law_of=law_of, tension_change_of=tension_change_of
    ),
    add_stiffness_blocks=bound_kernel(add_stiffness_blocks, law_of=law_of),
    warnings=PATH_WARNINGS,
    entry=SceneEntry("springs", "spring", ("between", "path"), SpringSpec, pack),
)


# --- entries of `strands:` of a scene file: masses joined by springs, attached to bodies -----------------------------
class StrandSpec(BetweenSpec):
    """Point masses connected by springs: a string, or with `segments` a net.

    An attached node is fixed in its body and adds its mass to it. Every other node is a point body `STRAND-NODE`. The
    springs have the names `STRAND-NODE-NODE`.
    """

    nodes: list[Position] = Field(
        min_length=2, description="Initial positions, m; the distance of two nodes is the rest length of their segment."
    )
    mass: Mass = Field(description="Total mass, distributed equally over the nodes, kg.")
    stiffness: Annotated[float, Quantity(units.STIFFNESS, least=0.0)] = Field(description="Of each segment, N/m.")
    damping: Damping = Field(0.0, description="Of each segment, N*s/m.")
    segments: list[tuple[int, int]] | None = Field(
        None, description="Pairs of nodes connected by springs, counted from 0. Default: each node and the next."
    )
    attach: dict[int, BodyPoint] = Field(
        {}, description="Body points to which nodes are attached, by the number of the node."
    )

    @field_validator("attach", mode="before")
    @classmethod
    def _require_numbers(cls, value: Any) -> Any:
        for node in value if isinstance(value, dict) else ():
            if not str(node).isdecimal():
                raise located_error("expected the number of a node, counted from 0", str(node))
        return value

    @field_validator("segments", mode="before")
    @classmethod
    def _require_pairs(cls, value: Any) -> Any:
        for k, pair in enumerate(value if isinstance(value, list) else ()):
            if not (isinstance(pair, list | tuple) and len(pair) == 2 and all(type(node) is int for node in pair)):
                raise located_error("expected the numbers of two nodes, as in [0, 1]", k)
        return value

    @model_validator(mode="after")
    def _require_nodes(self) -> Self:
        count = len(self.nodes)
        for node in self.attach:
            if not 0 <= node < count:
                raise located_error(f"expected a node from 0 to {count - 1}", "attach", str(node))
        for k, (a, b) in enumerate(self.segments or ()):
            if not (0 <= a < count and 0 <= b < count) or a == b:
                raise located_error(f"expected two different nodes from 0 to {count - 1}", "segments", k)
        seen: set[frozenset[int]] = set()
        for k, pair in enumerate(self.segments or ()):
            if frozenset(pair) in seen:
                raise located_error("duplicate segment: list each pair of nodes once", "segments", k)
            seen.add(frozenset(pair))
        for a, b in self.pairs:
            if math.dist(self.nodes[a], self.nodes[b]) == 0.0:
                raise located_error(f"coincides with node {a}, but a segment needs a length above 0", "nodes", b)
        return self

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of nodes that are connected by springs."""
        return self.segments or list(itertools.pairwise(range(len(self.nodes))))

    @property
    def points(self) -> list[tuple[NodePath, Attachment]]:
        """Body points to which nodes are attached."""
        return [(("attach", str(node)), point) for node, point in self.attach.items()]
