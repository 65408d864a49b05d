"""Short forms of polynomials: in sines or cosines, or with angle sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from multibody_cli.equations.normal_form import (
    NEGLIGIBLE,
    ONE,
    Polynomial,
    Ring,
    exponent,
    generator,
    powers_of,
)

MAX_POWER = 12
"""Degree of sines and cosines, at most, for which angle sums are tried."""

MAX_ANGLE_TERMS = 40
"""Terms, at most, for which angle sums are tried."""

Angle = tuple[tuple[int, int], ...]
"""A sum of angles: the generator of the cosine of each angle, and its integer multiple."""


class Term(NamedTuple):
    """The product of a number, a monomial, and a function of an angle sum; without a function the latter is 1."""

    number: float
    monomial: int
    function: str = ""
    angle: Angle = ()


class Product(NamedTuple):
    """A monomial times a sum of terms."""

    monomial: int
    terms: tuple[Term, ...]


def shortest_form(ring: Ring, a: Polynomial) -> Product:
    """Return the shortest of some forms."""
    common = a.lead
    for monomial in a.terms:
        common = sum(generator(k) * min(power, exponent(monomial, k)) for k, power in powers_of(common))
    forms = [Product(ONE, tuple(_short_terms(ring, a)))]
    if common and len(a.terms) > 1:
        rest = {monomial - common: number for monomial, number in a.terms.items()}
        forms.append(Product(common, tuple(_short_terms(ring, Polynomial(rest)))))
    return min(forms, key=lambda form: operations(ring, form))


def operations(ring: Ring, product: Product) -> int:
    """Number of operations to write a product."""
    return ring.operations_in(product.monomial) + _in_terms(ring, product.terms)


def _in_terms(ring: Ring, terms: Iterable[Term]) -> int:
    return sum(_in_term(ring, term) for term in terms)


def _in_term(ring: Ring, term: Term) -> int:
    angle = sum(ring.generators[c].operations + (abs(count) > 1) for c, count in term.angle)
    return 1 + (abs(term.number) != 1.0) + ring.operations_in(term.monomial) + angle


def _short_terms(ring: Ring, a: Polynomial) -> Iterable[Term]:
    """Shorten the coefficient of each product of generators that are not trigonometric."""
    angular = sum(((1 << 16) - 1) * (generator(c) + generator(s)) for c, s in ring.pairs)
    beside: dict[int, dict[int, float]] = {}
    for monomial, number in a.terms.items():
        beside.setdefault(monomial & ~angular, {})[monomial & angular] = number
    for monomial, terms in beside.items():
        for term in _short_trigonometric(ring, Polynomial(terms)):
            yield term._replace(monomial=term.monomial + monomial)


def _short_trigonometric(ring: Ring, a: Polynomial) -> Sequence[Term]:
    for c, s in ring.pairs:
        other = ring.in_sines(a, c, s)
        if _in_terms(ring, _plain(other)) < _in_terms(ring, _plain(a)):
            a = other
    forms = [_plain(a)]
    if len(a.terms) <= MAX_ANGLE_TERMS and all(
        sum(power for _, power in powers_of(one)) <= MAX_POWER for one in a.terms
    ):
        forms.append(_in_angle_sums(ring, a))
    return min(forms, key=lambda form: _in_terms(ring, form))


def _plain(a: Polynomial) -> Sequence[Term]:
    return [Term(number, monomial) for monomial, number in a.terms.items()]


def _in_angle_sums(ring: Ring, a: Polynomial) -> Sequence[Term]:
    """Expand products of sines and cosines into functions of angle sums, by way of exp(i angle)."""
    exponentials: dict[Angle, complex] = {}
    for monomial, number in a.terms.items():
        for angle, share in _exponentials(ring, monomial).items():
            exponentials[angle] = exponentials.get(angle, 0.0) + number * share
    threshold = NEGLIGIBLE * max(map(abs, exponentials.values()), default=0.0)
    terms = []
    for angle, share in exponentials.items():  # those of opposite angles are conjugate
        if angle and angle[0][1] < 0:
            continue
        parts = (("cos", 2.0 * share.real), ("sin", -2.0 * share.imag)) if angle else (("", share.real),)
        terms += [Term(number, ONE, word, angle) for word, number in parts if abs(number) > threshold]
    return terms


def _exponentials(ring: Ring, monomial: int) -> Mapping[Angle, complex]:
    exponentials: dict[Angle, complex] = {(): 1.0}
    for c, s in ring.pairs:
        for k, back in ((c, 0.5), (s, 0.5j)):  # cos = (e + 1/e)/2, sin = (e - 1/e)/(2i)
            for _ in range(exponent(monomial, k)):
                shifted: dict[Angle, complex] = {}
                for angle, share in exponentials.items():
                    for step, by in ((1, back.conjugate()), (-1, back)):
                        key = _shifted(angle, c, step)
                        shifted[key] = shifted.get(key, 0.0) + share * by
                exponentials = shifted
    return exponentials


def _shifted(angle: Angle, c: int, step: int) -> Angle:
    counts = dict(angle)
    counts[c] = counts.get(c, 0) + step
    return tuple(sorted((k, count) for k, count in counts.items() if count))
