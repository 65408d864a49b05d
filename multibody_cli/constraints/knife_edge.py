"""Knife edge: a point of a body, as of a skate or a thin blade, moves along its edge but never across it.

With d the unit vector across the edge, fixed in the body, and r the lever arm of the point,

    velocity      d . (v + w x r)
    acceleration  d . (a + alpha x r + w x (w x r)) + (w x d) . (v + w x r)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.rows import write_level, write_point_force
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.points import centripetal_acceleration_of, lever_arm_of, velocity_of
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spec import BodyPosition, Direction
from multibody_cli.spec.entries import PackingContext

_PARALLEL = 1e-6
"""Sine of the angle below which edge and normal count as parallel."""


class KnifeEdgeSpec(ConstraintSpec):
    """A point of a body has no velocity across an edge of the body, as with a skate on ice."""

    type: Literal["knife_edge"]
    body: str = Field(description="Body that has the edge.")
    point: BodyPosition = Field((0.0, 0.0, 0.0), description="Point of the edge, in the body frame, m, or its name.")
    edge: Direction = Field(description="Direction of the edge, in the body frame.")
    normal: Direction = Field(
        (0.0, 0.0, 1.0), description="Normal of the plane on which the edge glides, in the body frame."
    )

    @property
    def bodies(self) -> Sequence[tuple[NodePath, str]]:
        """The body with the edge."""
        return [(("body",), self.body)]

    @model_validator(mode="after")
    def _refuse_an_edge_along_the_normal(self) -> Self:
        if np.linalg.norm(np.cross(self.normal, self.edge)) < _PARALLEL:
            raise ValueError(
                "`edge` is parallel to `normal`: expected an edge in the plane normal to `normal` (default [0, 0, 1])"
            )
        return self


KNIFE_EDGE = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("body", "i8"),
        ("point", "f8", 3),  # in the joint frame
        ("across", "f8", 3),
    ]
)


def pack(spec: KnifeEdgeSpec, context: PackingContext) -> Packed:
    """One row with one term."""
    across = np.cross(context.direction(spec.body, spec.normal), context.direction(spec.body, spec.edge))
    record = (0, 0, context.row(spec.body), context.point(spec.body, spec.point), across / np.linalg.norm(across))
    return Packed((RowShape(1, holonomic=False, direction="across the edge"),), (record,))


@formula
def write(edge, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Write the row of a knife edge."""
    body = bodies[edge.body]
    r, d = lever_arm_of(body, edge.point), lever_arm_of(body, edge.across)
    bias = dot(d, centripetal_acceleration_of(body, r)) + dot(cross(load(body.w), d), velocity_of(body, r))
    write_level(rows[edge.first_row], 0.0, 0.0, bias)
    write_point_force(terms, edge.first_term, edge.body, r, d)


KIND = ConstraintKind("knife_edge", KnifeEdgeSpec, ConstraintTable("knife_edge", KNIFE_EDGE, write), pack)
