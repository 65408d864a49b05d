"""Arithmetic that is safe to take from a scene file.

An expression is read with Python's own grammar and then checked against a list of what is allowed, so that
nothing but arithmetic can be said.  There are two dialects:

`SIGNAL`
    Functions of time, such as ``0.5*sin(2*pi*t)``: numbers, names, ``+ - * / **`` and the functions of
    mathematics in `FUNCTIONS`.
`TEMPLATE`
    What stands in ``${...}`` and is worked out once, when a scene is loaded.  It adds ``// %``, comparisons,
    ``and or not``, ``a if c else b``, texts, lists, indexing (``axes[i % 2]``) and ``concat('link', i - 1)``.
"""

from multibody_cli.expressions.reading import SIGNAL, TEMPLATE, Dialect, Expression, parse, require_names
from multibody_cli.expressions.words import CONSTANTS, FUNCTIONS

__all__ = [
    "CONSTANTS",
    "FUNCTIONS",
    "SIGNAL",
    "TEMPLATE",
    "Dialect",
    "Expression",
    "parse",
    "require_names",
]
