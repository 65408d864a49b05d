"""What may stand in `strands:` of a scene file: masses joined by springs, attached to bodies.

Source: Sueda, notes 2.7, (2.84)-(2.89).
"""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from multibody_cli.forces.between import BetweenSpec, Place
from multibody_cli.spec import BodyPoint, Damping, Mass, Position, Quantity, units
from multibody_cli.spec.reading import located_error


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
    def points(self) -> list[tuple[Place, BodyPoint]]:
        """Body points to which nodes are attached."""
        return [(("attach", str(node)), point) for node, point in self.attach.items()]
