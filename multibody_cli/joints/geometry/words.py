"""What a user writes where a joint is described by formulas: names, constants, expressions."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from pydantic.functional_validators import PlainValidator
from pydantic.json_schema import WithJsonSchema

from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import FUNCTIONS, parse, require_names
from multibody_cli.spec.quantities import NUMBER_SCHEMA, read_any, shown
from multibody_cli.spec.reading import located_error, moved_error, read_each
from multibody_cli.symbolic.reading import formula_of
from multibody_cli.symbolic.scalar import name

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def read_word(value: Any) -> str:
    """Read a name that expressions may use."""
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise ValueError(f"expected a name of letters, digits and _, found {shown(value)}")
    if value in FUNCTIONS:
        raise ValueError(f"`{value}` is a function: choose another name")
    return value


def _read_formula(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value))
    if not isinstance(value, str):
        raise ValueError(f"expected an expression, found {shown(value)}")
    try:
        expression = parse(value)
        # whatever the names stand for, this tells functions that have corners
        formula_of(expression, {word: name(word) for word in (*expression.names, "e", "pi", "tau")})
    except ExpressionError as error:
        raise ValueError(str(error)) from None
    return value


def _read_parameters(value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        raise ValueError(f"expected names with their values, as {{radius: 0.1}}, found {shown(value)}")
    found = {}
    for key, number in value.items():
        try:
            found[read_word(key)] = read_any(number)
        except ValueError as error:
            raise moved_error(error, str(key)) from None
    return found


Word = Annotated[str, PlainValidator(read_word, json_schema_input_type=str)]
Formula = Annotated[str, PlainValidator(_read_formula), WithJsonSchema(NUMBER_SCHEMA)]
Parameters = Annotated[
    dict[str, float],
    PlainValidator(_read_parameters),
    WithJsonSchema({"type": "object", "additionalProperties": NUMBER_SCHEMA}),
]


def require_known(texts: Sequence[str], names: Collection[str], *within: str) -> Sequence[str]:
    """Refuse expressions with names that nothing stands for.

    Raises
    ------
    ValidationError
        With all of them, each at its place in the list, or `within` the entry there.
    """

    def read(text: str) -> str:
        try:
            require_names(parse(text), names)
        except ExpressionError as error:
            raise located_error(str(error), *within) from None
        return text

    return read_each(read, texts)


def require_apart(coordinates: Collection[str], parameters: Mapping[str, float]) -> None:
    """Refuse a name that stands for a coordinate and for a constant.

    Raises
    ------
    ValidationError
        At the constant.
    """
    for word in coordinates:
        if word in parameters:
            raise located_error("is the name of a coordinate already", word)
