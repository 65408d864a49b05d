"""Functions given by tables, as piecewise polynomials: named functions of formulas, with exact derivatives.

The name of such a function is the digest of its numbers.  Generated source calls it by that name; its instructions
select the piece by comparisons and evaluate the polynomial by Horner's scheme, with the numbers as constants of the
code.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.symbolic.scalar import TABULATED, Value, apply

_NAME = re.compile(r"\btable_[0-9a-f]{16}\b")


class Piecewise(NamedTuple):
    """A piecewise polynomial.

    Parameters
    ----------
    knots
        Start of each piece (n,), in ascending order; the first piece has no start, and the last no end.
    coefficients
        Coefficients of each piece (n, k) of the powers of x minus its knot, lowest first.
    """

    knots: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]

    @property
    def derivative(self) -> Piecewise:
        """The derivative; that of the last piece that has started, at knots where pieces differ."""
        return Piecewise(self.knots, tuple(tuple(k * c for k, c in enumerate(row))[1:] for row in self.coefficients))

    def value(self, x: Any) -> Any:
        """Return the value at numbers x."""
        piece = np.searchsorted(self.knots[1:], x, side="right")
        s, rows = np.asarray(x) - np.array(self.knots)[piece], np.array(self.coefficients)[piece]
        total = np.zeros_like(s)
        for k in reversed(range(rows.shape[-1])):
            total = total * s + rows[..., k]
        return total[()]


_TABLES: dict[str, Piecewise] = {}


def table(piecewise: Piecewise, x: Value) -> Value:
    """Return the formula of a piecewise polynomial at x."""
    if not any(map(any, piecewise.coefficients)):
        return 0.0
    word = f"table_{sha256(repr(tuple(piecewise)).encode()).hexdigest()[:16]}"
    _TABLES[word] = piecewise
    TABULATED[word] = lambda one: float(piecewise.value(one))
    return apply(word, x)


def table_named(word: str) -> Piecewise | None:
    """Return the piecewise polynomial of a function by its name; None for other functions."""
    return _TABLES.get(word)


def tables_in(source: str) -> dict[str, Piecewise]:
    """Return the piecewise polynomials that generated source calls, by name."""
    return {word: _TABLES[word] for word in sorted(set(_NAME.findall(source)))}
