"""Expression: a function of quantities of the motion and of time is 0, or stays within limits.

The `quantities` are positions, directions, distances, angles and velocities of bodies, and coordinates and rates of
joints; the levels of the row are derivatives of the expression (`expression_code`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from multibody_cli.constraints.code_buffers import MAX_SLOTS
from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.expression_code import FIRST_SLOPE, TIME, Form, code_of
from multibody_cli.constraints.quantities import WORLD, MotionQuantity, Source, SourceCode
from multibody_cli.constraints.rows import write_coefficient, write_level, write_wrench
from multibody_cli.expressions import FORMULA, parse
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.points import centripetal_acceleration_of, lever_arm_of, position_of, velocity_of
from multibody_cli.spatial.products import ZERO, cross
from multibody_cli.spatial.values import Vec3
from multibody_cli.spec import BodyPoint, Fraction
from multibody_cli.spec.entries import PackingContext
from multibody_cli.spec.formulas import (
    TABLES_DESCRIPTION,
    Formula,
    FunctionTables,
    Name,
    Parameters,
    exponents_among,
    piecewise_of,
    require_consistent,
)
from multibody_cli.spec.quantities import AnyQuantity, located_error
from multibody_cli.symbolic.generated import address_of, call_on_arrays
from multibody_cli.symbolic.reading import names_in


class ExpressionSpec(ConstraintSpec):
    """An expression of positions, directions, distances, angles, velocities, coordinates and time is 0, or limited."""

    type: Literal["expression"]
    inputs: dict[Name, MotionQuantity] = Field(
        min_length=1,
        description="The moving quantity, by its name in the expression: a coordinate, or a mapping with one of "
        "`rate`, `position`, `direction`, `distance`, `angle`, `velocity` and `angular_velocity`.",
    )
    parameters: Parameters = Field({}, description="Names for constants, with their values.")
    functions: FunctionTables = Field({}, description=TABLES_DESCRIPTION)
    value: Formula = Field(
        description="Expression of the inputs and of the time t, which is kept at 0; with velocities, it is linear in "
        "them."
    )
    limits: list[Annotated[float, AnyQuantity()] | None] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="Least and greatest value of the expression, in place of 0; null for none. `[0, null]` requires "
        "a value of at least 0.",
    )
    restitution: Fraction = Field(0.0, description="Of impacts on the limits: ratio of the rates after and before.")

    VANISHES = True
    WITHOUT_SLOPE = (
        "the points of a distance coincide, the axes of an angle are parallel, or a factor is 0; use `position` or "
        "`direction`, which have slopes everywhere, or start elsewhere"
    )
    UNDEFINED = "its `value`, or a derivative, is not finite there: change the initial position or the expression"

    @model_validator(mode="after")
    def _require_a_function(self) -> Self:
        for field, words in (("inputs", self.inputs), ("parameters", self.parameters)):
            if TIME in words:
                raise located_error("`t` is the time: choose another name", field, TIME)
        require_consistent({("value",): self.value}, self._names, self.parameters, self.functions)
        if not self.form.moving:
            raise located_error("nothing moves: name a body or a coordinate", "inputs")
        slots = len(self.slots)
        if slots > MAX_SLOTS:
            raise located_error(f"has {slots} points, axes, coordinates and parameters, above {MAX_SLOTS}", "inputs")
        return self

    @model_validator(mode="after")
    def _require_limits_that_apply(self) -> Self:
        if self.limits is None:
            if self.restitution > 0.0:
                raise located_error("has no effect without `limits`", "restitution")
            return self
        if not self.bounds:
            raise located_error("expected a least or a greatest value", "limits")
        if len(self.bounds) == 2 and not self.bounds[0][0] < self.bounds[1][0]:
            raise located_error("expected a least value below the greatest one", "limits")
        if not self.is_holonomic:
            raise located_error("apply to positions, and an input is a velocity: omit `limits`", "limits")
        return self

    @model_validator(mode="after")
    def _require_an_effect_that_is_linear_in_velocities(self) -> Self:
        code = code_of(self.form)
        if not code.has_effect:
            raise located_error("does not change with any motion of the inputs", "value")
        if not code.is_linear:
            raise located_error(
                "is not linear in velocities: multiply or divide them by positions and constants only", "value"
            )
        return self

    @property
    def _names(self) -> list[str]:
        """Names of the inputs, and of the time if the expression depends on it."""
        return [*self.inputs, *([TIME] if self.depends_on_time else [])]

    @property
    def depends_on_time(self) -> bool:
        """Whether the time occurs in the expression."""
        return TIME in names_in(parse(self.value, FORMULA))

    @property
    def is_holonomic(self) -> bool:
        """Whether no input is a velocity."""
        return not any(one.IS_VELOCITY for one in self.inputs.values())

    @property
    def bounds(self) -> Sequence[tuple[float, float, str]]:
        """Value, sign and direction of each row."""
        if self.limits is None:
            return [(0.0, 1.0, "in its value")]
        both = zip(self.limits, (1.0, -1.0), ("below its least value", "beyond its greatest value"), strict=True)
        return [(bound, sign, words) for bound, sign, words in both if bound is not None]

    @property
    def row_count(self) -> int:
        """One row, or one for each limit."""
        return len(self.bounds)

    @property
    def one_sided(self) -> bool:
        """Whether it has limits."""
        return self.limits is not None

    @property
    def is_driven(self) -> bool:
        """Whether its limits move with time."""
        return self.one_sided and self.depends_on_time

    @property
    def account(self) -> Literal["", "work", "dissipation"]:
        """Work of an equality that depends on time, or that prescribes velocities."""
        if self.one_sided:
            return "dissipation"
        return "work" if code_of(self.form).prescribes else ""

    @property
    def sources(self) -> Sequence[tuple[NodePath, Source]]:
        """Sources of all inputs, each with its place in the entry."""
        return [
            (("inputs", word, *place), source)
            for word, quantity in self.inputs.items()
            for place, source in quantity.sources
        ]

    @property
    def slots(self) -> dict[Source, int]:
        """Slots of sources, once each and without axes of the world, then of parameters."""
        read = [source for _, source in self.sources if not _is_constant(source)]
        exponents = exponents_among([self.value], self.parameters)
        read += [
            Source(SourceCode.PARAMETER, word, (value, 0.0, 0.0))
            for word, value in self.parameters.items()
            if word not in exponents
        ]
        return {source: k for k, source in enumerate(dict.fromkeys(read))}

    @property
    def form(self) -> Form:
        """The properties that determine its code."""
        slots = self.slots
        return Form(
            self.value,
            tuple(
                (word, type(one), tuple(slots.get(source, source.vector) for _, source in one.sources))
                for word, one in self.inputs.items()
            ),
            tuple((source.of, k) for source, k in slots.items() if source.code == SourceCode.PARAMETER),
            tuple(exponents_among([self.value], self.parameters).items()),
            tuple(piecewise_of(self.functions).items()),
            len(slots),
            tuple(k for source, k in slots.items() if _moves(source)),
        )

    @property
    def bodies(self) -> Sequence[tuple[NodePath, str]]:
        """Bodies of the inputs, without the world."""
        return [
            (place if source.code == SourceCode.SPIN else (*place, "body"), source.of)
            for place, source in self.sources
            if source.code <= SourceCode.SPIN and source.of != WORLD
        ]

    @property
    def points(self) -> Sequence[tuple[NodePath, BodyPoint]]:
        """Points of the inputs; axes and angular velocities use the orientation of their bodies."""
        return [
            (place, BodyPoint(body=source.of, point=source.vector))
            for place, source in self.sources
            if source.code == SourceCode.POINT
        ]

    @property
    def coordinates(self) -> Sequence[tuple[NodePath, str]]:
        """Coordinates of the inputs, each once."""
        found = {source.of: place for place, source in self.sources if source.code == SourceCode.COORDINATE}
        return [(place, word) for word, place in found.items()]


def _is_constant(source: Source) -> bool:
    """Whether a source is an axis of the world, whose numbers belong to the formula."""
    return source.code == SourceCode.AXIS and source.of == WORLD


def _moves(source: Source) -> bool:
    return source.code != SourceCode.PARAMETER and (source.code == SourceCode.COORDINATE or source.of != WORLD)


# --- records ------------------------------------------------------------------------------------------------------
EXPRESSION = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("reads", "i8"),  # whether it reads a slot, or writes the term of one
        ("address", "i8"),  # of the generated code, which it calls first; 0 for none
        ("starts_row", "i8"),  # whether it is the first that writes a term of its row
        ("sign", "f8"),  # of the row; -1 for the greatest value
        ("bound", "f8"),
        ("code", "i8"),  # of the source
        ("first", "i8"),  # number of the slot
        ("body", "i8"),  # row of the body, or index of the coordinate in q
        ("iv", "i8"),
        ("vector", "f8", 3),  # in the joint frame of the body
    ]
)
"""One record for each slot that is read, then one for each term of each row."""


def pack(spec: ExpressionSpec, context: PackingContext) -> Packed:
    """Rows with a term for each slot that moves."""
    address = address_of("An expression of quantities.", code_of(spec.form).source, "ffff")
    slots = [(source.code, 1 + 3 * k, *_located(source, context)) for source, k in spec.slots.items()]
    records: list[tuple[Any, ...]] = [(0, 0, True, 0, False, 0.0, 0.0, *slot) for slot in slots]
    terms = [
        slot for slot in slots if slot[0] == SourceCode.COORDINATE or (slot[0] != SourceCode.PARAMETER and slot[2])
    ]
    for row, (bound, sign, _) in enumerate(spec.bounds):
        records += [
            (row, row * len(terms) + k, False, address if row == k == 0 else 0, k == 0, sign, bound, *slot)
            for k, slot in enumerate(terms)
        ]
    shapes = (RowShape(len(terms), spec.is_holonomic, words, spec.restitution) for _, _, words in spec.bounds)
    return Packed(tuple(shapes), tuple(records))


def _located(source: Source, context: PackingContext) -> tuple[int, int, Any]:
    """Return row of the body or index in q, index in v, and vector of a source in the model."""
    match source.code:
        case SourceCode.POINT:
            row, point = context.attachment(source.of, source.vector)
            return row, -1, point
        case SourceCode.AXIS:
            return context.row(source.of), -1, context.direction(source.of, source.vector)
        case SourceCode.SPIN:
            return context.row(source.of), -1, source.vector
        case SourceCode.COORDINATE:
            return *context.coordinate(source.of), source.vector
        case SourceCode.PARAMETER:
            return 0, -1, source.vector


_POINT, _AXIS, _SPIN, _COORDINATE, _PARAMETER = map(int, SourceCode)


@formula
def write_slot(buffers, k, x, u, c):
    """Write three numbers of a slot, their rates, and the rates of these."""
    for j in range(3):
        buffers.x[k + j], buffers.u[k + j], buffers.c[k + j] = x[j], u[j], c[j]


@formula
def read_slot(part, buffers, bodies, q, v):
    """Read a slot."""
    k = part.first
    if part.code == _COORDINATE:
        write_slot(buffers, k, Vec3(q[part.body], 0.0, 0.0), Vec3(v[part.iv], 0.0, 0.0), ZERO)
    elif part.code == _PARAMETER:
        write_slot(buffers, k, load(part.vector), ZERO, ZERO)
    else:
        body = bodies[part.body]
        r, w = lever_arm_of(body, part.vector), load(body.w)
        if part.code == _POINT:
            write_slot(buffers, k, position_of(body, r), velocity_of(body, r), centripetal_acceleration_of(body, r))
        elif part.code == _AXIS:
            write_slot(buffers, k, r, cross(w, r), centripetal_acceleration_of(body, r))
        else:
            write_slot(buffers, k, ZERO, w, ZERO)


@formula
def write(part, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Read a slot, or write a term, with its row if it is the first."""
    if part.reads:
        read_slot(part, buffers, bodies, q, v)
        return
    out = buffers.out
    if part.address != 0:
        buffers.x[0] = t
        call_on_arrays(part.address, (buffers.x, buffers.u, buffers.c, out))
    if part.starts_row:
        write_level(rows[part.first_row], part.sign * (out[0] - part.bound), part.sign * out[1], part.sign * out[2])
    k = FIRST_SLOPE - 1 + part.first
    term = terms[part.first_term]
    if part.code == _COORDINATE:
        write_coefficient(term, part.iv, part.sign * out[k])
    else:
        J = part.sign * Vec3(out[k], out[k + 1], out[k + 2])
        if part.code == _SPIN:
            write_wrench(term, part.body, J, ZERO)
        else:
            r = lever_arm_of(bodies[part.body], part.vector)
            write_wrench(term, part.body, cross(r, J), J if part.code == _POINT else ZERO)


KIND = ConstraintKind("expression", ExpressionSpec, ConstraintTable("expression", EXPRESSION, write), pack)
