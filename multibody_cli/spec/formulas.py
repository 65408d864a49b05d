"""User-defined expressions of coordinates, of named constants and of functions by tables, as formulas."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Annotated, Any, Protocol

import numpy as np
from pydantic import ValidationError
from pydantic.functional_validators import PlainValidator
from pydantic.json_schema import WithJsonSchema

from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import FORMULA, FUNCTIONS, parse, require_functions, require_names
from multibody_cli.immutable import Immutable
from multibody_cli.interpolation import continued
from multibody_cli.nodes import NodePath
from multibody_cli.spec.quantities import NUMBER_SCHEMA, format_value, located_error, moved_error, read_any, read_each
from multibody_cli.spec.table_function import TableFunctionSpec
from multibody_cli.symbolic.reading import formula_of, names_in, names_in_exponents
from multibody_cli.symbolic.scalar import Value, name
from multibody_cli.symbolic.tables import Piecewise


class Numbers(Protocol):
    """Numbers by their places, as values of formulas."""

    def __getitem__(self, k: int) -> Value:
        """Return number k."""


class Expressions(Immutable):
    """Expressions, and the meaning of their names.

    Parameters
    ----------
    texts
        The expressions.
    coordinates
        Names of the coordinates, in order.
    constants
        Names of the constants whose values are among those of the joint map, in order.
    exponents
        Constants in exponents, with their values: s**2 has other derivatives than s**1.5, so that these belong to the
        formula.
    functions
        Functions given by tables, by name.
    """

    texts: tuple[str, ...]
    coordinates: tuple[str, ...]
    constants: tuple[str, ...]
    exponents: tuple[tuple[str, float], ...]
    functions: tuple[tuple[str, Piecewise], ...] = ()

    def at(self, coordinates: Sequence[Value], c: Numbers, k: int = 0) -> list[Value]:
        """Return the expressions as formulas of coordinates; constants are those from k on."""
        names: dict[str, Value] = {word: c[k + j] for j, word in enumerate(self.constants)}
        names |= dict(self.exponents) | dict(zip(self.coordinates, coordinates, strict=True))
        return [formula_of(parse(text, FORMULA), names, dict(self.functions)) for text in self.texts]


def exponents_among(texts: Sequence[str], parameters: Mapping[str, float]) -> dict[str, float]:
    """Return the named constants that occur in exponents."""
    found = {word for text in texts for word in names_in_exponents(parse(text, FORMULA))}
    return {word: value for word, value in parameters.items() if word in found}


def expressions_of(
    texts: Sequence[str],
    coordinates: Sequence[str],
    parameters: Mapping[str, float],
    functions: Mapping[str, Piecewise] = MappingProxyType({}),
) -> tuple[Expressions, tuple[float, ...]]:
    """Return the expressions for a joint map, and the values of their constants."""
    exponents = exponents_among(texts, parameters)
    others = {word: value for word, value in parameters.items() if word not in exponents}
    known = tuple(exponents.items())
    expressions = Expressions(tuple(texts), tuple(coordinates), tuple(others), known, tuple(functions.items()))
    return expressions, tuple(others.values())


# --- user-defined formulas of joints: names, constants, expressions ---------------------------------------------------
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def read_name(value: Any) -> str:
    """Read a name for use in expressions."""
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise ValueError(f"expected a name of letters, digits and _, found {format_value(value)}")
    if value in FUNCTIONS:
        raise ValueError(f"`{value}` is a function: choose another name")
    if keyword.iskeyword(value):
        raise ValueError(f"`{value}` is reserved in expressions: choose another name")
    return value


_ANY_TABLE = Piecewise((0.0,), ((0.0, 1.0),))


def _read_formula(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value))
    if not isinstance(value, str):
        raise ValueError(f"expected an expression, found {format_value(value)}")
    try:
        expression = parse(value, FORMULA)
        # refuses functions with corners, for any values of the names, and for any functions of tables
        names: dict[str, Value] = {word: name(word) for word in (*expression.names, "e", "pi", "tau")}
        formula_of(expression, names, dict.fromkeys(expression.functions, _ANY_TABLE))
    except ExpressionError as error:
        raise ValueError(str(error)) from None
    return value


def _read_parameters(value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        raise ValueError(f"expected names with their values, as {{radius: 0.1}}, found {format_value(value)}")
    found = {}
    for key, number in value.items():
        try:
            found[read_name(key)] = read_any(number)
        except ValueError as error:
            raise moved_error(error, str(key)) from None
    return found


Name = Annotated[str, PlainValidator(read_name, json_schema_input_type=str)]
Formula = Annotated[str, PlainValidator(_read_formula), WithJsonSchema(NUMBER_SCHEMA)]
Parameters = Annotated[
    dict[str, float],
    PlainValidator(_read_parameters),
    WithJsonSchema({"type": "object", "additionalProperties": NUMBER_SCHEMA}),
]


FunctionTables = dict[Name, TableFunctionSpec]
TABLES_DESCRIPTION = "Functions of one number by tables, by the names with which expressions call them."


def piecewise_of(functions: Mapping[str, TableFunctionSpec]) -> dict[str, Piecewise]:
    """Return functions by tables as piecewise polynomials."""
    return {
        word: continued(np.array(one.x), np.array(one.y), one.interpolation, one.smoothing)
        for word, one in functions.items()
    }


def require_consistent(
    texts: Mapping[NodePath, str],
    coordinates: Collection[str],
    parameters: Mapping[str, float],
    functions: Collection[str],
) -> None:
    """Refuse expressions, by their places, that do not use all names, coordinates included, or use others.

    Raises
    ------
    ValidationError
        At the first place.
    """
    with _below("parameters"):
        require_distinct_names(coordinates, parameters)
    with _below("functions"):
        require_distinct_names([*coordinates, *parameters], functions)
    for path, text in texts.items():
        try:
            require_valid([text], coordinates, parameters, functions=functions)
        except ValidationError as error:
            raise located_error(error.errors()[0]["msg"], *path) from None
    with _below("inputs"):
        require_used(coordinates, list(texts.values()))
    with _below("parameters"):
        require_used(parameters, list(texts.values()))
    with _below("functions"):
        require_called(functions, list(texts.values()))


def require_called(functions: Collection[str], texts: Sequence[str]) -> None:
    """Refuse functions that no expression calls.

    Raises
    ------
    ValidationError
        At the first of them.
    """
    called = {word for text in texts for word in parse(text, FORMULA).functions}
    for word in functions:
        if word not in called:
            raise located_error("has no effect: no expression calls it", word)


def require_valid(
    texts: Sequence[str],
    coordinates: Collection[str],
    parameters: Mapping[str, float],
    *within: str,
    functions: Collection[str] = (),
) -> None:
    """Refuse expressions with unknown names or functions, or with exponents that are not constant.

    Raises
    ------
    ValidationError
        With all of them, each at its position in the list, or `within` the entry there.
    """
    names: dict[str, Value] = {word: name(word) for word in (*coordinates, *parameters)}

    def read(text: str) -> None:
        try:
            expression = parse(text, FORMULA)
            require_names(expression, names)
            require_functions(expression, functions)
            formula_of(expression, names | exponents_among([text], parameters), dict.fromkeys(functions, _ANY_TABLE))
        except ExpressionError as error:
            raise located_error(str(error), *within) from None

    read_each(read, texts)


def require_used(parameters: Collection[str], texts: Sequence[str]) -> None:
    """Refuse named constants that no expression uses.

    Raises
    ------
    ValidationError
        At the first of them.
    """
    used = {word for text in texts for word in names_in(parse(text, FORMULA))}
    for word in parameters:
        if word not in used:
            raise located_error("has no effect: no expression uses it", word)


def require_distinct_names(coordinates: Collection[str], parameters: Collection[str]) -> None:
    """Refuse a name of both a coordinate and a constant.

    Raises
    ------
    ValidationError
        At the constant.
    """
    for word in coordinates:
        if word in parameters:
            raise located_error("is also the name of a coordinate: choose another name", word)


def require_position(texts: Sequence[str], coordinates: Collection[str], parameters: Mapping[str, float]) -> None:
    """Refuse inconsistent `position` expressions and `parameters`.

    Raises
    ------
    ValidationError
        At the key and entry.
    """
    with _below("parameters"):
        require_distinct_names(coordinates, parameters)
    with _below("position"):
        require_valid(texts, coordinates, parameters)
    with _below("parameters"):
        require_used(parameters, texts)


@contextmanager
def _below(key: str) -> Iterator[None]:
    """Move errors about entries below a key."""
    try:
        yield
    except ValidationError as error:
        raise moved_error(error, key) from None
