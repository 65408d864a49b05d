"""Fields that hold physical quantities: a number in SI and radians, or a text with a unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic_core import core_schema

from multibody_cli.errors import QuantityError
from multibody_cli.spec import units

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

NUMBER_SCHEMA: dict[str, Any] = {"anyOf": [{"type": "number"}, {"type": "string"}]}
"""A number, a quantity with a unit, or `${...}`, as an editor may check it before the file is loaded."""


TEXT_SCHEMA: dict[str, Any] = {"type": "string", "pattern": r"\$\{"}
"""A text that stands for a value which is worked out when the scene is loaded."""


def list_schema(entry: dict[str, Any], length: int) -> dict[str, Any]:
    """Give the schema of a list of this many entries, or of a `${...}` that gives one."""
    entries = {"type": "array", "items": entry, "minItems": length, "maxItems": length}
    return {"anyOf": [entries, TEXT_SCHEMA]}


def read_quantity(value: Any, kind: units.Kind) -> float:
    """Turn what a scene holds into a number in SI.

    Raises
    ------
    QuantityError
        Where it is neither a number nor a quantity of this kind.
    """
    if type(value) is float or type(value) is int:
        return finite(value, kind)
    if not isinstance(value, str):
        raise QuantityError(f"expected {described(kind)}, found {shown(value)}")
    found = units.quantity(value)
    if found is None:
        raise QuantityError(f"expected {described(kind)}, found {shown(value)}")
    number, dimension = found
    _, unit = units.split_quantity(value) or (0.0, "")
    if unit and dimension != kind.dimension:
        raise QuantityError(f"expected {described(kind)}, but `{value}` is {units.kind_of(dimension)}")
    if unit and unit == kind.ambiguous:
        raise QuantityError(f"expected {described(kind)}: write rad/s, deg/s, turn/s or rpm in place of `{unit}`")
    return finite(number, kind)


def read_any(value: Any, least: float | None = None) -> float:
    """Read a number with or without a unit of any dimension, in SI."""
    if isinstance(value, str) and (found := units.quantity(value)) is not None:
        value = found[0]
    number = read_quantity(value, units.ANY)
    if least is not None and number < least:
        raise QuantityError(f"expected a number of at least {least:g}, found {shown(value)}")
    return number


def finite(value: float, kind: units.Kind) -> float:
    """Return the number as a float, or refuse one that is not finite."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise QuantityError(f"expected {described(kind)}, found a number that is not finite")
    return number


def described(kind: units.Kind) -> str:
    """Say what is expected: `an angle (rad)`."""
    return kind.name if kind in (units.NUMBER, units.ANY) else f"{kind.name} ({kind.unit})"


def shown(value: Any) -> str:
    """Show a value of a scene in a message, shortened where it is long."""
    words: dict[type, str] = {
        dict: "a mapping",
        list: "a list",
        tuple: "a list",
        bool: "true" if value else "false",
    }
    if value is None:
        return "nothing"
    if type(value) in words:
        return words[type(value)]
    text = str(value)
    return f"`{text}`" if len(text) <= 60 else f"`{text[:57]}...`"


@dataclass(frozen=True)
class Quantity:
    """Annotation of a number of one kind, in SI once it is read.

    Parameters
    ----------
    kind
        What it measures.
    least
        Smallest value that is accepted.
    above
        Value that it must exceed.
    most
        Largest value that is accepted.
    """

    kind: units.Kind
    least: float | None = None
    above: float | None = None
    most: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Read the number in one call."""
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Accept a number or a text."""
        return dict(NUMBER_SCHEMA)

    def read(self, value: Any) -> float:
        """Read the number and hold it against its bounds."""
        number = read_quantity(value, self.kind)
        if self.above is not None and not number > self.above:
            raise QuantityError(f"expected {described(self.kind)} above {self.above:g}, found {shown(value)}")
        if self.least is not None and not number >= self.least:
            raise QuantityError(f"expected {described(self.kind)} of at least {self.least:g}, found {shown(value)}")
        if self.most is not None and not number <= self.most:
            raise QuantityError(f"expected {described(self.kind)} of at most {self.most:g}, found {shown(value)}")
        return number


Number = Annotated[float, Quantity(units.NUMBER)]
NonNegative = Annotated[float, Quantity(units.NUMBER, least=0.0)]
Fraction = Annotated[float, Quantity(units.NUMBER, least=0.0, most=1.0)]
Angle = Annotated[float, Quantity(units.ANGLE)]
Length = Annotated[float, Quantity(units.LENGTH)]
PositiveLength = Annotated[float, Quantity(units.LENGTH, above=0.0)]
Time = Annotated[float, Quantity(units.TIME, least=0.0)]
PositiveTime = Annotated[float, Quantity(units.TIME, above=0.0)]
Mass = Annotated[float, Quantity(units.MASS, above=0.0)]
Density = Annotated[float, Quantity(units.DENSITY, above=0.0)]
Energy = Annotated[float, Quantity(units.ENERGY, least=0.0)]
Damping = Annotated[float, Quantity(units.DAMPING, least=0.0)]
AngularDamping = Annotated[float, Quantity(units.ANGULAR_DAMPING, least=0.0)]
