"""The base class of all mappings, and fields of quantities: numbers in SI units and radians, or texts with a unit."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from multibody_cli.errors import QuantityError
from multibody_cli.immutable import Immutable
from multibody_cli.spec import units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler


class Spec(BaseModel):
    """A mapping of a scene file: immutable, and without unknown keys.

    Attributes
    ----------
    UNSUPPORTED
        Keys of the format that this mapping does not support, each with the reason; they are rejected by name.
    PREPROCESSED
        Keys that are resolved before the mapping is validated.
    EXAMPLE
        Example of the mapping for error messages.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    UNSUPPORTED: ClassVar[Mapping[str, str]] = {}
    PREPROCESSED: ClassVar[frozenset[str]] = frozenset()
    EXAMPLE: ClassVar[str] = ""


NUMBER_SCHEMA: dict[str, Any] = {"anyOf": [{"type": "number"}, {"type": "string"}]}
"""JSON Schema of a number, a quantity with a unit, or `${...}`."""


TEXT_SCHEMA: dict[str, Any] = {"type": "string", "pattern": r"\$\{"}
"""JSON Schema of a string with a template, which is evaluated when the scene is loaded."""


def list_schema(entry: dict[str, Any], length: int) -> dict[str, Any]:
    """Return the JSON Schema of a list of given length, or of a `${...}` that evaluates to one."""
    entries = {"type": "array", "items": entry, "minItems": length, "maxItems": length}
    return {"anyOf": [entries, TEXT_SCHEMA]}


def read_quantity(value: Any, kind: units.QuantityKind) -> float:
    """Convert a value of a scene to a number in SI units.

    Raises
    ------
    QuantityError
        The value is neither a number nor a quantity of this kind.
    """
    if type(value) is float or type(value) is int:
        return finite(value, kind)
    if not isinstance(value, str):
        raise QuantityError(f"expected {describe_kind(kind)}, found {format_value(value)}")
    found = units.quantity(value)
    if found is None:
        raise QuantityError(f"expected {describe_kind(kind)}, found {format_value(value)}{decimal_point(value)}")
    number, dimension = found
    _, unit = units.split_quantity(value) or (0.0, "")
    if unit and kind is not units.ANY and dimension != kind.dimension:
        raise QuantityError(f"expected {describe_kind(kind)}, but `{value}` is {units.kind_of(dimension)}")
    if unit and unit == kind.ambiguous:
        raise QuantityError(f"expected {describe_kind(kind)}: write rad/s, deg/s, turn/s or rpm in place of `{unit}`")
    return finite(number, kind)


_DECIMAL_COMMA = re.compile(r"\s*([-+]?\d+),(\d+.*?)\s*")


def decimal_point(value: str) -> str:
    """Return the remedy for a number with a decimal comma; empty for other texts."""
    found = _DECIMAL_COMMA.fullmatch(value)
    return f": a decimal comma? write `{found[1]}.{found[2]}`" if found else ""


def read_any(value: Any, least: float | None = None) -> float:
    """Convert a number with or without a unit of any dimension to SI."""
    if isinstance(value, str) and (found := units.quantity(value)) is not None:
        value = found[0]
    number = read_quantity(value, units.ANY)
    if least is not None and number < least:
        raise QuantityError(f"expected a number of at least {least:g}, found {format_value(value)}")
    return number


def finite(value: float, kind: units.QuantityKind) -> float:
    """Return the number as a float; raise an error if it is not finite."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise QuantityError(f"expected {describe_kind(kind)}, found a number that is not finite")
    return number


def describe_kind(kind: units.QuantityKind) -> str:
    """Describe the expected kind: `an angle (rad)`."""
    return kind.name if kind in (units.NUMBER, units.ANY) else f"{kind.name} ({kind.unit})"


def format_value(value: Any) -> str:
    """Format a value of a scene for a message; long values are shortened."""
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


class Reader(Immutable):
    """Annotation of a field that is read in one call of `read`; `schema` returns its JSON Schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Read the value in one call."""
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Accept values that can be read."""
        return self.schema()

    def read(self, value: Any) -> Any:
        """Read the value of a scene."""
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a number or a text."""
        return dict(NUMBER_SCHEMA)

    def read_list(self, value: Any, length: int, expected: str) -> tuple[Any, ...]:
        """Read each entry of a list of given length."""
        if not isinstance(value, list | tuple) or len(value) != length:
            count = f" of {len(value)}" if isinstance(value, list | tuple) else ""
            raise ValueError(f"{expected}, found {format_value(value)}{count}")
        return read_each(self.read, value)


class Quantity(Reader):
    """Annotation of a number of one kind, in SI units.

    Parameters
    ----------
    kind
        Its physical kind.
    least
        Smallest accepted value.
    above
        Exclusive lower bound.
    most
        Largest accepted value.
    """

    kind: units.QuantityKind
    least: float | None = None
    above: float | None = None
    most: float | None = None

    def read(self, value: Any) -> float:
        """Read the number and check its bounds."""
        number, bound = read_quantity(value, self.kind), ""
        if self.above is not None and not number > self.above:
            bound = f"above {self.above:g}"
        elif self.least is not None and not number >= self.least:
            bound = f"of at least {self.least:g}"
        elif self.most is not None and not number <= self.most:
            bound = f"of at most {self.most:g}"
        if bound:
            raise QuantityError(f"expected {describe_kind(self.kind)} {bound}, found {format_value(value)}")
        return number


class AnyQuantity(Reader):
    """Annotation of a number with or without a unit of any dimension; see `read_any`."""

    least: float | None = None

    def read(self, value: Any) -> float:
        """Read the number and check its bound."""
        return read_any(value, self.least)


LARGEST_WHOLE = 2**53
"""Up to this number, all whole numbers are floating-point numbers."""


class WholeNumber(Reader):
    """Annotation of a whole number of at least `least`, also written as 3.0, and even if `step` is 2."""

    least: int
    step: int = 1

    def read(self, value: Any) -> int:
        """Read the number."""
        is_number = type(value) in (int, float)
        if not (is_number and self.least <= value <= LARGEST_WHOLE) or value % self.step:
            kind = "an even" if self.step == 2 else "a whole"
            bound = f"at most {LARGEST_WHOLE}" if is_number and value > LARGEST_WHOLE else f"at least {self.least}"
            raise ValueError(f"expected {kind} number of {bound}, found {format_value(value)}")
        return int(value)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a whole number, or of a text."""
        multiple = {"multipleOf": self.step} if self.step > 1 else {}
        return {"anyOf": [{"type": "integer", "minimum": self.least, **multiple}, TEXT_SCHEMA]}


Number = Annotated[float, Quantity(units.NUMBER)]
NonNegative = Annotated[float, Quantity(units.NUMBER, least=0.0)]
Fraction = Annotated[float, Quantity(units.NUMBER, least=0.0, most=1.0)]
Angle = Annotated[float, Quantity(units.ANGLE)]
Length = Annotated[float, Quantity(units.LENGTH)]
NonNegativeLength = Annotated[float, Quantity(units.LENGTH, least=0.0)]
PositiveLength = Annotated[float, Quantity(units.LENGTH, above=0.0)]
Time = Annotated[float, Quantity(units.TIME, least=0.0)]
PositiveTime = Annotated[float, Quantity(units.TIME, above=0.0)]
Mass = Annotated[float, Quantity(units.MASS, above=0.0)]
Density = Annotated[float, Quantity(units.DENSITY, above=0.0)]
Energy = Annotated[float, Quantity(units.ENERGY, least=0.0)]
Damping = Annotated[float, Quantity(units.DAMPING, least=0.0)]
AngularDamping = Annotated[float, Quantity(units.ANGULAR_DAMPING, least=0.0)]

# --- reading of lists: every invalid entry is reported at its own index -----------------------------------------------
Read = TypeVar("Read")


def read_each(
    read: Callable[[Any], Read], values: Iterable[Any], places: Sequence[str] | None = None
) -> tuple[Read, ...]:
    """Read every value.

    Raises
    ------
    ValidationError
        With all errors, each at the index of its value, or at its place.
    """
    results: list[Read] = []
    errors: list[InitErrorDetails] = []
    for index, value in enumerate(values):
        try:
            results.append(read(value))
        except ValueError as error:
            errors += _details(error, index if places is None else places[index])
    if errors:
        raise ValidationError.from_exception_data("list", errors)
    return tuple(results)


def located_error(message: str, *location: int | str) -> ValidationError:
    """Return an error about a part of the value that is being read."""
    return ValidationError.from_exception_data("value", [_detail(message, location, None)])


def moved_error(error: ValueError, *location: int | str) -> ValidationError:
    """Relocate an error of a part of a value to that part."""
    return ValidationError.from_exception_data("value", _details(error, *location))


def joined_error(*errors: ValidationError) -> ValidationError:
    """Return an error with those of several."""
    return ValidationError.from_exception_data("value", [one for error in errors for one in _details(error)])


def relocated_details(
    error: ValidationError, place: Callable[[tuple[int | str, ...]], tuple[int | str, ...]]
) -> list[InitErrorDetails]:
    """Return the details of an error of a value that was read in another form, each location moved to its `place`."""
    return [_moved({**detail, "loc": ()}, place(detail["loc"])) for detail in error.errors(include_url=False)]


def _details(error: ValueError, *location: int | str) -> list[InitErrorDetails]:
    if not isinstance(error, ValidationError):
        return [_detail(str(error), location, None)]
    return [_moved(detail, location) for detail in error.errors(include_url=False)]


def _detail(message: str, location: tuple[int | str, ...], value: Any) -> InitErrorDetails:
    return InitErrorDetails(type=PydanticCustomError("value", message), loc=location, input=value)


def _moved(detail: Any, location: tuple[int | str, ...]) -> InitErrorDetails:
    # keeps the type, from which a better message may be derived later
    wrapped = detail["type"] == "value_error"
    kind, message = ("value", str(detail["ctx"]["error"])) if wrapped else (detail["type"], detail["msg"])
    error = PydanticCustomError(kind, message)
    return InitErrorDetails(type=error, loc=(*location, *detail["loc"]), input=detail["input"])
