"""Reading of lists: every invalid entry is reported at its own index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Read = TypeVar("Read")


def read_each(read: Callable[[Any], Read], values: Iterable[Any]) -> tuple[Read, ...]:
    """Read every value.

    Raises
    ------
    ValidationError
        With all errors, each at the index of its value.
    """
    results: list[Read] = []
    errors: list[InitErrorDetails] = []
    for index, value in enumerate(values):
        try:
            results.append(read(value))
        except ValueError as error:
            errors += _details(error, index)
    if errors:
        raise ValidationError.from_exception_data("list", errors)
    return tuple(results)


def located_error(message: str, *location: int | str) -> ValidationError:
    """Return an error about a part of the value that is being read."""
    return ValidationError.from_exception_data("value", [_detail(message, location, None)])


def moved_error(error: ValueError, *location: int | str) -> ValidationError:
    """Relocate an error of a part of a value to that part."""
    return ValidationError.from_exception_data("value", _details(error, *location))


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
