"""Velocity: a linear relation of the velocities of bodies, with constant coefficients in world axes.

Each term is a vector dotted with the angular velocity of a body, one dotted with the velocity of a point of it, or
both.  With the prescribed sum value(t),

    velocity      sum of angular . w + linear . (v + w x r)  -  value
    acceleration  sum of angular . alpha + linear . (a + alpha x r + w x (w x r))  -  d(value)/dt
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.rows import write_level, write_wrench
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.signals import evaluate
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.points import centripetal_acceleration_of, lever_arm_of
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spec import BodyPosition, Signal, SignalSpec, Spec, Vector, Vector3, units
from multibody_cli.spec.entries import PackingContext
from multibody_cli.spec.signal import signal_schema

_NONE = (0.0, 0.0, 0.0)

Coefficients = Annotated[Vector, Vector3(units.NUMBER)]


class VelocityTerm(Spec):
    """Share of the velocity of one body in the sum."""

    EXAMPLE = "{body: NAME, linear: [x, y, z]}"

    body: str = Field(description="Body whose velocity is meant.")
    angular: Coefficients = Field(
        _NONE, description="Coefficients of its angular velocity, world axes; in m where the sum is a speed."
    )
    linear: Coefficients = Field(_NONE, description="Coefficients of the velocity of its `point`, world axes.")
    point: BodyPosition = Field(_NONE, description="Whose velocity is meant, in the body frame, m, or its name.")

    @model_validator(mode="after")
    def _refuse_entries_without_effect(self) -> Self:
        if self.angular == _NONE == self.linear:
            raise ValueError("expected at least one nonzero coefficient of `angular` or `linear`")
        if "point" in self.model_fields_set and self.linear == _NONE:
            raise ValueError(
                "`point` has no effect without `linear`: all points of a body have the same angular velocity"
            )
        return self


class VelocitySpec(ConstraintSpec):
    """Velocities of bodies, each times constant coefficients, add up to a value."""

    type: Literal["velocity"]
    terms: list[VelocityTerm] = Field(min_length=1, description="The terms of the sum.")
    value: SignalSpec = Field(
        SignalSpec(constant=0.0),
        description="The sum of the terms, m/s, or rad/s where no term is `linear`: a number, an expression of t, "
        "or a table {times, values}.",
        json_schema_extra=signal_schema(),
    )

    @field_validator("value", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_value(cls, value: Any, info: ValidationInfo) -> SignalSpec:
        terms: list[VelocityTerm] = info.data.get("terms", [])
        is_angular = bool(terms) and all(term.linear == _NONE for term in terms)
        return Signal(units.ANGULAR_SPEED if is_angular else units.SPEED).read(value)

    @property
    def bodies(self) -> Sequence[tuple[NodePath, str]]:
        """Bodies of the terms."""
        return [(("terms", k, "body"), term.body) for k, term in enumerate(self.terms)]

    @property
    def account(self) -> Literal["", "work", "dissipation"]:
        """Work, if the sum of the terms is prescribed to be other than 0."""
        return "" if self.value == SignalSpec(constant=0.0) else "work"


VELOCITY = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("starts_row", "i8"),  # whether it is the first term of its row
        ("value", "i8"),  # signal
        ("body", "i8"),
        ("angular_W", "f8", 3),
        ("linear_W", "f8", 3),
        ("point", "f8", 3),  # in the joint frame
    ]
)
"""One record for each term."""


def pack(spec: VelocitySpec, context: PackingContext) -> Packed:
    """One row with a record for each of its terms."""
    value = context.signal(spec.value)
    records = tuple(
        (0, k, k == 0, value, context.row(term.body), term.angular, term.linear, context.point(term.body, term.point))
        for k, term in enumerate(spec.terms)
    )
    return Packed((RowShape(len(records), holonomic=False, direction="in the sum of its terms"),), records)


@formula
def write(part, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Write a term, and the row that it starts."""
    row, body = rows[part.first_row], bodies[part.body]
    if part.starts_row:
        value, slope, _ = evaluate(signals, part.value, t)
        write_level(row, 0.0, -value, -slope)
    r, f = lever_arm_of(body, part.point), load(part.linear_W)
    row.bias += dot(f, centripetal_acceleration_of(body, r))
    write_wrench(terms[part.first_term], part.body, load(part.angular_W) + cross(r, f), f)


KIND = ConstraintKind("velocity", VelocitySpec, ConstraintTable("velocity", VELOCITY, write), pack)
