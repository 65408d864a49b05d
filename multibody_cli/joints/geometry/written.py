"""User-defined expressions of coordinates and of named constants, as stored in a joint map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from multibody_cli.expressions import parse
from multibody_cli.joints.shape import Constants
from multibody_cli.symbolic.reading import formula_of, names_in_exponents
from multibody_cli.symbolic.scalar import Value


@dataclass(frozen=True)
class Expressions:
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
    """

    texts: tuple[str, ...]
    coordinates: tuple[str, ...]
    constants: tuple[str, ...]
    exponents: tuple[tuple[str, float], ...]

    def at(self, coordinates: Sequence[Value], c: Constants, k: int = 0) -> list[Value]:
        """Return the expressions as formulas of coordinates; constants are those from k on."""
        names: dict[str, Value] = {word: c[k + j] for j, word in enumerate(self.constants)}
        names |= dict(self.exponents) | dict(zip(self.coordinates, coordinates, strict=True))
        return [formula_of(parse(text), names) for text in self.texts]


def exponents_among(texts: Sequence[str], parameters: Mapping[str, float]) -> dict[str, float]:
    """Return the named constants that occur in exponents."""
    found = {word for text in texts for word in names_in_exponents(parse(text))}
    return {word: value for word, value in parameters.items() if word in found}


def written(
    texts: Sequence[str], coordinates: Sequence[str], parameters: Mapping[str, float]
) -> tuple[Expressions, tuple[float, ...]]:
    """Return the expressions for a joint map, and the values of their constants."""
    exponents = exponents_among(texts, parameters)
    others = {word: value for word, value in parameters.items() if word not in exponents}
    known = tuple(exponents.items())
    return Expressions(tuple(texts), tuple(coordinates), tuple(others), known), tuple(others.values())
