"""Functions of time and of the state in a scene file: a number, an expression, or a table."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError

from multibody_cli.errors import ExpressionError, QuantityError
from multibody_cli.expressions import STATE, Expression, Reference, parse, require_names
from multibody_cli.immutable import Immutable
from multibody_cli.spec import units
from multibody_cli.spec.quantities import (
    NUMBER_SCHEMA,
    Reader,
    Spec,
    describe_kind,
    format_value,
    list_schema,
    located_error,
    read_each,
    read_quantity,
)

Interpolation = Literal["linear", "cubic", "natural", "pchip"]


class SignalSpec(Immutable):
    """A function of time in SI units, or of the state: exactly one of a constant, an expression, a table.

    Parameters
    ----------
    constant
        Constant value.
    expression
        An expression of `t`, and of quantities of the state.
    times, values
        A table: increasing instants, s, and the values there. Outside its range the table is constant.
    interpolation
        Interpolation of the table.
    """

    constant: float | None = None
    expression: Expression | None = None
    times: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    interpolation: Interpolation = "linear"

    @property
    def uses_state(self) -> bool:
        """Whether it depends on quantities of the state."""
        return self.expression is not None and uses_state(self.expression)


def uses_state(expression: Expression) -> bool:
    """Whether an expression depends on more than the time and inputs."""
    return any(map(is_of_state, expression.references.values())) or bool(expression.names - {"t"})


def is_of_state(reference: Reference) -> bool:
    """Whether a reference is to a quantity of the state, and not to an input or a function of the scene."""
    return reference.path[0] not in ("inputs", "functions")


class TableSpec(Spec):
    """A function of time given by its values at discrete instants."""

    PREPROCESSED = frozenset({"file"})

    times: list[Any] = Field(description="At least two increasing instants, s; with `file`, the name of a column.")
    values: list[Any] = Field(description="Value at each instant; with `file`, the name of a column.")
    interpolation: Interpolation | None = Field(
        None,
        description="Interpolation between the instants: `linear`, `cubic` (not-a-knot spline), `natural` (cubic "
        "spline whose second derivatives are 0 at both ends), or `pchip` (monotone cubics, which do not overshoot); by "
        "default `cubic` for prescribed positions, otherwise `linear`. Outside the range of the instants the end value "
        "is held.",
    )
    in_degrees: bool = Field(
        False,
        description="Whether angles without a unit are in degrees, as by `inDegrees=yes` in files of OpenSim.",
    )


class Signal(Reader):
    """Annotation of a function of time with values of one kind.

    Parameters
    ----------
    kind
        Of its values.
    smooth
        Whether it needs two derivatives.
    state
        Names of the own coordinates and rates, if it may depend on the state; None if it may not.
    refusal
        The reason why it may not.
    inputs
        Whether it may read inputs, and call functions.
    """

    kind: units.QuantityKind
    smooth: bool = False
    state: tuple[str, ...] | None = None
    refusal: str = "it is a function of the time `t` alone"
    inputs: bool = True

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a number, a text, or a table."""
        return signal_schema()

    def read(self, value: Any) -> SignalSpec:
        """Read a number, a quantity, an expression of t or a table."""
        if isinstance(value, dict):
            return _read_table(value, self.kind, self.smooth)
        if isinstance(value, str) and units.split_quantity(value) is None:
            return SignalSpec(expression=self._read_expression(value))
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise QuantityError(
                f"expected {describe_kind(self.kind)}, an expression of t or a table {{times, values}}, "
                f"found {format_value(value)}"
            )
        return SignalSpec(constant=read_quantity(value, self.kind))

    def _read_expression(self, text: str) -> Expression:
        words = "an expression of t" if self.state is None else "an expression of t and the state"
        try:
            expression = parse(text, STATE)
            if self.state is None and (
                (uses_state(expression) and expression.references) or expression.names & {"q", "v"}
            ):
                raise ExpressionError(f"`{text}` depends on the state: {self.refusal}")
            if not self.inputs and expression.references:
                raise ExpressionError(f"`{text}` depends on inputs or functions: {self.refusal}")
            require_names(expression, ("t", *(self.state or ())))
        except ExpressionError as error:
            raise ExpressionError(f"expected {describe_kind(self.kind)} or {words}: {error}") from None
        return expression


class SignalVector(Reader):
    """Annotation of a list [x, y, z] of functions of time of one kind; see `Signal`."""

    kind: units.QuantityKind
    state: tuple[str, ...] | None = None

    def read(self, value: Any) -> tuple[SignalSpec, ...]:
        """Read [x, y, z]."""
        expected = f"expected a list [x, y, z], each {describe_kind(self.kind)} or an expression of t"
        return Signal(self.kind, state=self.state).read_list(value, 3, expected)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of three signals."""
        return list_schema(signal_schema(), 3)


def signal_schema() -> dict[str, Any]:
    """JSON Schema of a signal."""
    fields = TableSpec.model_fields
    entries = {"anyOf": [{"type": "array", "items": NUMBER_SCHEMA}, {"type": "string"}]}
    table = {
        "type": "object",
        "properties": {
            "file": {
                "type": "string",
                "description": "Table with named columns (CSV, `.sto`, `.mot`), relative to the scene file.",
            },
            "times": {**entries, "description": fields["times"].description},
            "values": {**entries, "description": fields["values"].description},
            "interpolation": {
                "enum": list(get_args(Interpolation)),
                "description": fields["interpolation"].description,
            },
            "in_degrees": {"type": "boolean", "default": False, "description": fields["in_degrees"].description},
        },
        "required": ["times", "values"],
        "additionalProperties": False,
    }
    return {"anyOf": [*NUMBER_SCHEMA["anyOf"], table]}


def _read_table(value: dict[str, Any], kind: units.QuantityKind, smooth: bool) -> SignalSpec:
    # a `file` that is left has no column: the missing keys are reported
    table = TableSpec.model_validate({key: entry for key, entry in value.items() if key not in TableSpec.PREPROCESSED})
    times = _read_column("times", table.times, units.TIME)
    values = _read_column("values", table.values, kind)
    if table.in_degrees and kind in (units.ANGLE, units.ANGULAR_SPEED, units.ANGULAR_ACCELERATION):
        written = [units.split_quantity(str(entry)) for entry in table.values]
        values = tuple(
            value if parts and parts[1] else math.radians(value) for value, parts in zip(values, written, strict=True)
        )
    if len(times) != len(values):
        raise ValueError(f"expected as many `values` as `times`, found {len(values)} and {len(times)}")
    if len(times) < 2:
        raise ValueError(f"expected at least two `times`, found {len(times)}")
    for earlier, later in itertools.pairwise(times):
        if not later > earlier:
            raise ValueError(f"expected increasing `times`, found {earlier:g} s followed by {later:g} s")
    if smooth and table.interpolation == "linear":
        raise ValueError(
            "expected `interpolation` to be `cubic`, `natural` or `pchip`: a linear prescribed position has no "
            "velocity at its instants"
        )
    interpolation = table.interpolation or ("cubic" if smooth else "linear")
    return SignalSpec(times=times, values=values, interpolation=interpolation)


def _read_column(name: str, entries: list[Any], kind: units.QuantityKind) -> tuple[float, ...]:
    """Read a list of quantities; one message reports all invalid entries, which often share their cause."""
    if set(map(type, entries)) == {float} and all(map(math.isfinite, entries)):
        return tuple(entries)  # a table of a million points
    try:
        return read_each(partial(read_quantity, kind=kind), entries)
    except ValidationError as error:
        first, *others = error.errors(include_url=False)
        more = f" ({len(others)} more of the {name} are invalid)" if others else ""
        raise located_error(f"{first['msg']}{more}", name, *first["loc"]) from None
