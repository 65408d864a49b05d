"""Polynomials in as few words as are found: with sines or cosines to higher powers, or with sums of angles."""

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

HIGHEST = 12
"""Power of sines and cosines, at most, up to which sums of angles are looked for."""

MOST = 40
"""Terms, at most, for which they are looked for."""

Angle = tuple[tuple[int, int], ...]
"""A sum of arguments: the generator that is the cosine of each, and how often it is taken."""


class Term(NamedTuple):
    """A number, a monomial, and the function of a sum of angles that they are multiplied by; no angle is a 1."""

    number: float
    monomial: int
    function: str = ""
    angle: Angle = ()


class Product(NamedTuple):
    """A monomial times a sum of terms."""

    monomial: int
    terms: tuple[Term, ...]


def shortest(ring: Ring, a: Polynomial) -> Product:
    """Find a short form."""
    common = a.lead
    for monomial in a.terms:
        common = sum(generator(k) * min(power, exponent(monomial, k)) for k, power in powers_of(common))
    forms = [Product(ONE, tuple(_shortened(ring, a)))]
    if common and len(a.terms) > 1:
        rest = {monomial - common: number for monomial, number in a.terms.items()}
        forms.append(Product(common, tuple(_shortened(ring, Polynomial(rest)))))
    return min(forms, key=lambda form: operations(ring, form))


def operations(ring: Ring, product: Product) -> int:
    """How much there is to read."""
    return ring.operations_in(product.monomial) + _in_terms(ring, product.terms)


def _in_terms(ring: Ring, terms: Iterable[Term]) -> int:
    return sum(_in_term(ring, term) for term in terms)


def _in_term(ring: Ring, term: Term) -> int:
    angle = sum(ring.generators[c].operations + (abs(count) > 1) for c, count in term.angle)
    return 1 + (abs(term.number) != 1.0) + ring.operations_in(term.monomial) + angle


def _shortened(ring: Ring, a: Polynomial) -> Iterable[Term]:
    """Shorten what stands beside each product of generators that are no sine or cosine."""
    angular = sum(((1 << 16) - 1) * (generator(c) + generator(s)) for c, s in ring.pairs)
    beside: dict[int, dict[int, float]] = {}
    for monomial, number in a.terms.items():
        beside.setdefault(monomial & ~angular, {})[monomial & angular] = number
    for monomial, terms in beside.items():
        for term in _of_angles(ring, Polynomial(terms)):
            yield term._replace(monomial=term.monomial + monomial)


def _of_angles(ring: Ring, a: Polynomial) -> Sequence[Term]:
    for c, s in ring.pairs:
        other = ring.by_sine(a, c, s)
        if _in_terms(ring, _plain(other)) < _in_terms(ring, _plain(a)):
            a = other
    forms = [_plain(a)]
    if len(a.terms) <= MOST and all(sum(power for _, power in powers_of(one)) <= HIGHEST for one in a.terms):
        forms.append(_by_sums(ring, a))
    return min(forms, key=lambda form: _in_terms(ring, form))


def _plain(a: Polynomial) -> Sequence[Term]:
    return [Term(number, monomial) for monomial, number in a.terms.items()]


def _by_sums(ring: Ring, a: Polynomial) -> Sequence[Term]:
    """Write products of sines and cosines as sums of those of sums of angles, by way of exp(i angle)."""
    waves: dict[Angle, complex] = {}
    for monomial, number in a.terms.items():
        for angle, share in _waves(ring, monomial).items():
            waves[angle] = waves.get(angle, 0.0) + number * share
    least = NEGLIGIBLE * max(map(abs, waves.values()), default=0.0)
    terms = []
    for angle, share in waves.items():  # those of opposite angles are conjugate
        if angle and angle[0][1] < 0:
            continue
        parts = (("cos", 2.0 * share.real), ("sin", -2.0 * share.imag)) if angle else (("", share.real),)
        terms += [Term(number, ONE, word, angle) for word, number in parts if abs(number) > least]
    return terms


def _waves(ring: Ring, monomial: int) -> Mapping[Angle, complex]:
    waves: dict[Angle, complex] = {(): 1.0}
    for c, s in ring.pairs:
        for k, back in ((c, 0.5), (s, 0.5j)):  # cos = (e + 1/e)/2, sin = (e - 1/e)/(2i)
            for _ in range(exponent(monomial, k)):
                turned: dict[Angle, complex] = {}
                for angle, share in waves.items():
                    for step, by in ((1, back.conjugate()), (-1, back)):
                        key = _turned(angle, c, step)
                        turned[key] = turned.get(key, 0.0) + share * by
                waves = turned
    return waves


def _turned(angle: Angle, c: int, step: int) -> Angle:
    counts = dict(angle)
    counts[c] = counts.get(c, 0) + step
    return tuple(sorted((k, count) for k, count in counts.items() if count))
