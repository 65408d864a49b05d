"""Normal form of formulas: polynomials of their names, sines, cosines and other functions, unique for equal formulas.

A polynomial is a sum of monomials with numeric coefficients.  Its generators are names, sin and cos of each argument,
square roots, inverses of polynomials, and one for each other function of its arguments.  Relations between generators
rewrite their powers,

    sin^2 = 1 - cos^2,    z^2 = 1 - w^2 - x^2 - y^2,    sqrt(P)^2 = P,    (1/P) lead(P) = 1 - (1/P) (P - lead(P))

with a unit quaternion (w, x, y, z), where lead(P) is the greatest monomial of P. Generators are ordered by creation,
each after all generators of its arguments.  Each rule thus leads to smaller monomials, and rewriting terminates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from multibody_cli.symbolic.scalar import Scalar, Value, apply, topological_order

BITS = 16
"""Bits of each exponent in a monomial, which is one integer: a product of monomials is a sum of integers."""

ONE = 0
"""The monomial 1."""

MAX_TERMS = 400
"""Terms of a polynomial, at most."""

MAX_PRODUCTS = 4_000_000
"""Products of terms in all polynomials of a scene, at most: some seconds."""

EPSILON = 1e-15
"""Relative round-off of a computed number: some units of the last place."""

NEGLIGIBLE = 1e-14
"""Relative magnitude below which a term of a polynomial is treated as round-off.

cos(90 deg) is 6e-17 in double precision, and its multiples are artefacts.  A physical term this small beside another of
the same sum in SI units could not be seen in any run in double precision.
"""


MAX_RELATIVE_ERROR = 1e-8
"""Round-off, relative to the largest coefficient of a polynomial, above which too few of its digits are left."""


MAX_COEFFICIENT_RATIO = 1e6
"""Ratio of coefficients in a fraction, above which the printed digits may not be enough to evaluate it."""


class NoPolynomial(Exception):
    """A formula has no polynomial of acceptable length, or none whose coefficients are accurate."""


class Polynomial(NamedTuple):
    """Coefficients by monomial, and a bound of their round-off."""

    terms: Mapping[int, float]
    error: float = 0.0

    @property
    def size(self) -> float:
        """The largest coefficient, in magnitude."""
        return max(map(abs, self.terms.values()), default=0.0)

    @property
    def lead(self) -> int:
        """The greatest monomial."""
        return max(self.terms, default=ONE)


class Generator(NamedTuple):
    """A generator: a name, or a function (`inverse` is one) of polynomials; and the operations to write it."""

    function: str
    operands: tuple[Polynomial, ...]
    name: str
    operations: int


class _Rule(NamedTuple):
    """A product of powers of generators, and the polynomial that replaces it."""

    powers: tuple[tuple[int, int], ...]
    monomial: int
    form: Polynomial

    def applies(self, monomial: int) -> bool:
        return all(exponent(monomial, k) >= power for k, power in self.powers)


def exponent(monomial: int, k: int) -> int:
    """Exponent of generator k."""
    return monomial >> BITS * k & (1 << BITS) - 1


def powers_of(monomial: int) -> Iterable[tuple[int, int]]:
    """The generators of a monomial, with their exponents."""
    for k in range(-(-monomial.bit_length() // BITS)):
        if power := exponent(monomial, k):
            yield k, power


def generator(k: int) -> int:
    """The monomial of generator k alone."""
    return 1 << BITS * k


def offset_name(name: str) -> str:
    """The name of a coordinate relative to its origin."""
    return f"u{name[1:]}"


def constant(number: float) -> Polynomial:
    """A constant polynomial."""
    return Polynomial({ONE: number} if number else {}, EPSILON * abs(number))


class Ring:
    """The polynomials of one scene.

    Parameters
    ----------
    units
        Names of numbers whose squares sum to 1, as of a quaternion.
    origins
        Origins of coordinates, by name: the generator of q is u = q - origin.  Powers of u do not cancel each other
        where q is large.
    """

    def __init__(self, units: Iterable[Sequence[str]] = (), origins: Mapping[str, float] | None = None) -> None:
        self.generators: list[Generator] = []
        self.pairs: list[tuple[int, int]] = []
        """Indices of cos and sin of each argument."""
        self._known: dict[object, int] = {}
        self._rules: list[_Rule] = []
        self._budget = MAX_PRODUCTS
        self._origins = origins or {}
        for names in units:
            *others, last = (self._generated("name", (), name).lead for name in names)
            self._rewrite(2 * last, Polynomial({ONE: 1.0, **{2 * other: -1.0 for other in others}}))

    def forms_of(self, values: Iterable[Value]) -> dict[Value, Polynomial]:
        """Return the polynomials of all nodes of formulas; nodes that exceed the limits have none."""
        forms: dict[Value, Polynomial] = {}
        for node in topological_order(values):
            try:
                operands = [forms[one] if isinstance(one, Scalar) else constant(one) for one in node.operands]
                forms[node] = self._apply(node, operands)
            except (NoPolynomial, KeyError):
                continue
        return forms

    def _apply(self, node: Scalar, operands: list[Polynomial]) -> Polynomial:
        if node.text in self._origins:
            return self.add(self._generated("name", (), offset_name(node.text)), constant(self._origins[node.text]))
        if node.operation == "name":
            return self._generated("name", (), node.text)
        if node.operation in _ARITHMETIC:
            return _ARITHMETIC[node.operation](self, *operands)
        return self._generated(node.operation, tuple(operands))

    # --- arithmetic -----------------------------------------------------------------------------------------------
    def add(self, a: Polynomial, b: Polynomial, factor: float = 1.0) -> Polynomial:
        """Return a + factor b."""
        terms = dict(a.terms)
        for monomial, number in b.terms.items():
            terms[monomial] = terms.get(monomial, 0.0) + factor * number
        return _without_round_off(terms, a.error + abs(factor) * b.error + EPSILON * max(a.size, abs(factor) * b.size))

    def multiply(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return a b."""
        self._count_products(len(a.terms) * len(b.terms))
        terms: dict[int, float] = {}
        for monomial, number in a.terms.items():
            for other, factor in b.terms.items():
                product = monomial + other
                terms[product] = terms.get(product, 0.0) + number * factor
        error = a.error * b.size + b.error * a.size + EPSILON * a.size * b.size
        return self.reduced(Polynomial(terms, error))

    def invert(self, a: Polynomial) -> Polynomial:
        """Return 1/a: each generator of the common monomial is inverted, and the rest becomes a generator."""
        if not a.terms:
            raise NoPolynomial
        common = a.lead
        for monomial in a.terms:
            common = sum(generator(k) * min(power, exponent(monomial, k)) for k, power in powers_of(common))
        rest = {monomial - common: number for monomial, number in a.terms.items()}
        lead = rest[max(rest)]
        found = constant(1.0 / lead)
        for k, power in powers_of(common):
            for _ in range(power):
                found = self.multiply(found, self._inverse_of_generator(k))
        if len(rest) == 1:
            return found
        scaled = Polynomial({monomial: number / lead for monomial, number in rest.items()}, a.error / abs(lead))
        return self.multiply(found, self._generated("inverse", (scaled,)))

    def _inverse_of_generator(self, k: int) -> Polynomial:
        own = Polynomial({generator(k): 1.0})
        function, operands, *_ = self.generators[k]
        if function == "inverse":
            return operands[0]
        if function == "sqrt":
            return self.multiply(own, self.invert(operands[0]))
        return self._generated("inverse", (own,))

    def _tangent(self, a: Polynomial) -> Polynomial:
        return self.multiply(self._generated("sin", (a,)), self.invert(self._generated("cos", (a,))))

    def operations_in(self, monomial: int) -> int:
        """Number of operations to write a monomial."""
        return sum(self.generators[k].operations + (power > 1) for k, power in powers_of(monomial))

    def loses_digits(self, a: Polynomial) -> bool:
        """Whether large terms may cancel numerically, though not symbolically, as next to an inverse."""
        numbers = [abs(number) for number in a.terms.values()]
        if max(numbers, default=0.0) <= MAX_COEFFICIENT_RATIO * min(numbers, default=0.0):
            return False
        within = {k for monomial in a.terms for k, _ in powers_of(monomial)}
        return any(self.generators[k].function == "inverse" for k in within)

    # --- generators -----------------------------------------------------------------------------------------------
    def _generated(self, function: str, operands: tuple[Polynomial, ...], name: str = "") -> Polynomial:
        """A function of polynomials, as a generator; sin(-a) is -sin(a), and cos(-a) is cos(a)."""
        if operands and all(one.lead == ONE for one in operands):
            return _evaluated(function, operands)
        sign = 1.0
        if function in ("sin", "cos") and operands[0].terms[operands[0].lead] < 0.0:
            operands = (self.add(constant(0.0), operands[0], -1.0),)
            sign = -1.0 if function == "sin" else 1.0
        if (key := _key(function, operands, name)) not in self._known:
            _MAKERS.get(function, Ring._make)(self, function, operands, name)
        return Polynomial({generator(self._known[key]): sign})

    def _make(self, function: str, operands: tuple[Polynomial, ...], name: str = "") -> int:
        number = len(self.generators)
        operations = 1 + sum(1 + self.operations_in(monomial) for one in operands for monomial in one.terms)
        self.generators.append(Generator(function, operands, name, operations))
        self._known[_key(function, operands, name)] = number
        return number

    def _make_pair(self, function: str, operands: tuple[Polynomial, ...], name: str) -> None:
        c, s = self._make("cos", operands), self._make("sin", operands)
        self.pairs.append((c, s))
        self._rewrite(2 * generator(s), Polynomial({ONE: 1.0, 2 * generator(c): -1.0}))

    def _make_root(self, function: str, operands: tuple[Polynomial, ...], name: str) -> None:
        self._rewrite(2 * generator(self._make(function, operands)), operands[0])

    def _make_inverse(self, function: str, operands: tuple[Polynomial, ...], name: str) -> None:
        own, lead = generator(self._make(function, operands)), operands[0].lead
        others = {own + monomial: -number for monomial, number in operands[0].terms.items() if monomial != lead}
        self._rewrite(own + lead, Polynomial({ONE: 1.0, **others}, operands[0].error))

    # --- rules ----------------------------------------------------------------------------------------------------
    def _rewrite(self, monomial: int, form: Polynomial) -> None:
        self._rules.append(_Rule(tuple(powers_of(monomial)), monomial, form))

    def reduced(self, a: Polynomial) -> Polynomial:
        """Apply all rules, to the greatest monomials first."""
        return self._rewritten(a, self._rules)

    def in_sines(self, a: Polynomial, c: int, s: int) -> Polynomial:
        """Return a polynomial in which cos^2 = 1 - sin^2 replaces sin^2 = 1 - cos^2, for one argument."""
        rule = _Rule(((c, 2),), 2 * generator(c), Polynomial({ONE: 1.0, 2 * generator(s): -1.0}))
        return self._rewritten(a, [rule])

    def _rewritten(self, a: Polynomial, rules: list[_Rule]) -> Polynomial:
        terms, error = dict(a.terms), a.error
        done: dict[int, float] = {}
        order = [-monomial for monomial in terms]  # a heap, greatest first
        heapify(order)
        while order:
            monomial = -heappop(order)
            number = terms.pop(monomial)
            rule = next((one for one in rules if one.applies(monomial)), None)
            if rule is None:
                done[monomial] = done.get(monomial, 0.0) + number
                continue
            self._count_products(len(rule.form.terms))
            error += abs(number) * (rule.form.error + EPSILON * rule.form.size)
            rest = monomial - rule.monomial
            for other, factor in rule.form.terms.items():
                if (product := rest + other) not in terms:
                    heappush(order, -product)
                terms[product] = terms.get(product, 0.0) + number * factor
        return _without_round_off(done, error)

    def _count_products(self, products: int) -> None:
        self._budget -= products
        if products > MAX_TERMS * 10 or self._budget < 0:
            raise NoPolynomial


def _without_round_off(terms: Mapping[int, float], error: float) -> Polynomial:
    """Remove terms that are round-off; the error bound covers the removed terms."""
    threshold = max(error, NEGLIGIBLE * max(map(abs, terms.values()), default=0.0))
    kept = {monomial: number for monomial, number in terms.items() if abs(number) > threshold}
    error = max(error, *(abs(number) for number in terms.values() if abs(number) <= threshold), 0.0)
    if len(kept) > MAX_TERMS or (kept and error > MAX_RELATIVE_ERROR * max(map(abs, kept.values()))):
        raise NoPolynomial
    return Polynomial(kept, error)


def _evaluated(function: str, operands: tuple[Polynomial, ...]) -> Polynomial:
    try:
        found = apply(function, *(one.terms.get(ONE, 0.0) for one in operands))
    except (ArithmeticError, ValueError):
        raise NoPolynomial from None
    assert not isinstance(found, Scalar)
    return constant(found)


def _key(function: str, operands: tuple[Polynomial, ...], name: str) -> object:
    """Return a key that equal generators share."""
    terms = (frozenset((monomial, f"{number:.12g}") for monomial, number in one.terms.items()) for one in operands)
    return function, name, tuple(terms)


_MAKERS: Mapping[str, Callable[[Ring, str, tuple[Polynomial, ...], str], object]] = {
    "cos": Ring._make_pair,
    "sin": Ring._make_pair,
    "sqrt": Ring._make_root,
    "inverse": Ring._make_inverse,
}

_ARITHMETIC: Mapping[str, Callable[..., Polynomial]] = {
    "+": Ring.add,
    "-": lambda ring, a, b: ring.add(a, b, -1.0),
    "neg": lambda ring, a: ring.add(constant(0.0), a, -1.0),
    "*": Ring.multiply,
    "/": lambda ring, a, b: ring.multiply(a, ring.invert(b)),
    "tan": Ring._tangent,
}
