"""Arithmetic expressions that are safe to evaluate from a scene file.

An expression is parsed with Python's own grammar, and its syntax tree is checked against a list of allowed nodes, so
that it contains arithmetic only.  There are four dialects:

`SIGNAL`
    Functions of time, such as ``0.5*sin(2*pi*t)``: numbers, names, ``+ - * / **`` and the mathematical functions in
    `FUNCTIONS`.
`FORMULA`
    The same with functions by other names, which the user of the expression defines.
`STATE`
    Functions of time with references to quantities of the state, such as ``joints.elbow.q`` (`references`).
`TEMPLATE`
    The content of ``${...}``, which is evaluated once, when a scene is loaded.  It adds ``// %``, comparisons,
    ``and or not``, ``a if c else b``, strings, lists, indexing (``axes[i % 2]``) and ``concat('link', i - 1)``.
"""

from multibody_cli.expressions.reading import (
    FORMULA,
    SIGNAL,
    STATE,
    TEMPLATE,
    Dialect,
    Expression,
    parse,
    require_functions,
    require_names,
)
from multibody_cli.expressions.references import Reference, constant, with_values
from multibody_cli.expressions.words import CONSTANTS, FUNCTIONS
