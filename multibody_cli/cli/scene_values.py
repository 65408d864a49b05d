"""Sections of the scene page about values: units, expressions, rotations."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from multibody_cli.cli.markdown import markdown_table
from multibody_cli.expressions import CONSTANTS, SIGNAL, TEMPLATE, Dialect
from multibody_cli.expressions.words import ARITIES
from multibody_cli.spec import units
from multibody_cli.spec.rotations import FORMS

EXAMPLES: dict[type[ast.AST], str] = {
    ast.Add: "a + b",
    ast.Sub: "a - b",
    ast.Mult: "a*b",
    ast.Div: "a/b",
    ast.Pow: "a**b",
    ast.USub: "-a",
    ast.FloorDiv: "a // b",
    ast.Mod: "a % b",
    ast.Eq: "a == b",
    ast.NotEq: "a != b",
    ast.Lt: "a < b",
    ast.LtE: "a <= b",
    ast.Gt: "a > b",
    ast.GtE: "a >= b",
    ast.And: "a and b",
    ast.Or: "a or b",
    ast.Not: "not a",
    ast.IfExp: "a if c else b",
    ast.List: "[a, b]",
    ast.Subscript: "list[i]",
}
"""Notation of each operation of an expression."""


def units_section() -> list[str]:
    """Return the section on units."""
    return [
        "A quantity is a number and a unit, as in `30 deg`, `9.81 m/s^2` or `2 N*m/rad`. Units are multiplied with `*`",
        "or a space, divided with `/`, raised with `^` or `**`, and grouped with parentheses; they are case-sensitive.",
        "A unit of the wrong dimension is an error. A number without a unit is in the SI unit of this table. All units",
        "of [pint](https://pint.readthedocs.io) are accepted as well.",
        "",
        *markdown_table(
            [
                {
                    "quantity": kind.name.partition(" ")[2],
                    "SI unit": f"`{kind.unit}`",
                    "common units": ", ".join(f"`{name}`" for name in _words_for(kind)),
                }
                for kind in units.KINDS
                if kind not in (units.NUMBER, units.ANY)
            ]
        ),
    ]


def expressions_section() -> list[str]:
    """Return the section on `${...}` and on functions of time."""
    constants = ", ".join(f"`{name}`" for name in CONSTANTS)
    return [
        "`${...}` is evaluated once, when the scene is loaded. It may use all names of `vars` and the index of a",
        "`repeat`; a variable with a unit is converted to SI. A string that is one `${...}` becomes its value,",
        "of any type; in a longer string or a key, the value is inserted as text. A function of time, such",
        "as `0.5*sin(2*pi*t)`, is evaluated during the run: its only variable is `t`, the time in s, and",
        "its value is in SI units.",
        "",
        *markdown_table(
            [
                {"": "operations", **{title: _operations(one) for title, one in _DIALECTS.items()}},
                {"": "functions", **{title: _functions(one) for title, one in _DIALECTS.items()}},
                {"": "constants", **dict.fromkeys(_DIALECTS, constants)},
            ]
        ),
        "",
        "Angles are in radians; `atan2(a, b)` is the angle of the point (b, a). A list is indexed from 0. `concat`",
        "concatenates strings and numbers: `concat('link', i - 1)`.",
    ]


def rotations_section() -> list[str]:
    """Return the section on the forms of a rotation."""
    rows = [{"example": f"`{form.example}`", "meaning": form.meaning} for form in FORMS.values()]
    return [
        "Orientation of a frame in its reference frame: x_outside = R x_inside, with R the rotation matrix.",
        "",
        *markdown_table(rows),
    ]


def _words_for(kind: units.Kind) -> list[str]:
    """Return the common units of a kind; the joule is listed for energy only, not for torque."""
    own = {units.COMMON[one.unit].dimension: one for one in units.KINDS if one.unit in units.COMMON}
    if own.get(kind.dimension, kind) is not kind:
        return []
    return [name for name, unit in units.COMMON.items() if unit.dimension == kind.dimension and name != kind.ambiguous]


_DIALECTS = {"in `${...}`": TEMPLATE, "of time `t`": SIGNAL}


def _operations(dialect: Dialect) -> str:
    return ", ".join(f"`{example}`" for node, example in EXAMPLES.items() if node in dialect.nodes)


def _functions(dialect: Dialect) -> str:
    return ", ".join(f"`{name}({', '.join(_arguments(name))})`" for name in sorted(dialect.functions))


def _arguments(name: str) -> Iterator[str]:
    least, most = ARITIES.get(name, (1, 99))
    yield from "ab"[:least]
    if most > least:
        yield "..."


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "Units": units_section,
    "Expressions": expressions_section,
    "Rotation": rotations_section,
}
"""The sections, by title."""
