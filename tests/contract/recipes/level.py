"""Level: the origin of a body keeps its height; z - height = 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.rows import write_level, write_point_force
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.points import centripetal_acceleration_of, lever_arm_of, position_of
from multibody_cli.spatial.products import UNIT, dot
from multibody_cli.spec.entries import PackingContext


class LevelSpec(ConstraintSpec):
    """A body keeps its height."""

    type: Literal["level"]
    body: str = Field(description="Body that keeps its height.")
    height: float = Field(description="Height, m.")

    @property
    def bodies(self) -> Sequence[tuple[NodePath, str]]:
        """The body."""
        return [(("body",), self.body)]


LEVEL = np.dtype([("first_row", "i8"), ("first_term", "i8"), ("body", "i8"), ("point", "f8", 3), ("height", "f8")])


def pack(spec: LevelSpec, context: PackingContext) -> Packed:
    """One row with one term."""
    record = (0, 0, context.row(spec.body), context.point(spec.body, (0.0, 0.0, 0.0)), spec.height)
    return Packed((RowShape(1, holonomic=True, direction="along z"),), (record,))


@formula
def write(level, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Write the row of a level."""
    body = bodies[level.body]
    r = lever_arm_of(body, level.point)
    error = dot(UNIT.z, position_of(body, r)) - level.height
    write_level(rows[level.first_row], error, 0.0, dot(UNIT.z, centripetal_acceleration_of(body, r)))
    write_point_force(terms, level.first_term, level.body, r, UNIT.z)


KIND = ConstraintKind("level", LevelSpec, ConstraintTable("level", LEVEL, write), pack)
