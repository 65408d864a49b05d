"""Formulas as polynomials of their names, sines, cosines and what else stands in them: equal formulas look alike.

A polynomial is a sum of monomials with numbers before them.  Its generators are names, sin and cos of each argument,
square roots, inverses of polynomials, and one for each other function of its arguments.  What is known of a generator
rewrites a power of it,

    sin^2 = 1 - cos^2,    z^2 = 1 - w^2 - x^2 - y^2,    sqrt(P)^2 = P,    (1/P) lead(P) = 1 - (1/P) (P - lead(P))

with a unit quaternion (w, x, y, z), where lead(P) is the greatest monomial of P.  Generators stand in the order in
which they come to be, each behind all that it is made of, so that every rule leads to smaller monomials and rewriting
ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from multibody_cli.symbolic.scalar import FUNCTIONS, Scalar, Value, in_order

BITS = 16
"""Of a monomial, a whole number, for the exponent of each generator: a product of monomials is a sum of numbers."""

ONE = 0
"""The monomial 1."""

TERMS = 400
"""Terms of a polynomial, at most."""

PRODUCTS = 4_000_000
"""Products of terms in all polynomials of a scene, at most: some seconds."""

EPSILON = 1e-15
"""Round-off of a number that was worked out, as a share of it: some digits of the last place."""

NEGLIGIBLE = 1e-14
"""Share of the largest number of a polynomial below which a term is taken for round-off.

cos(90 deg) is 6e-17 in double precision, and what is made of it is no physics.  A term that were meant would have to
be so small beside another of the same sum in SI units that no run in double precision could show it either.
"""


LOST = 1e-8
"""Round-off, as a share of the largest number of a polynomial, at which too few of its digits are left."""


SPREAD = 1e6
"""Ratio of the numbers in a fraction, above which the digits that are shown may not be enough to work it out."""


class TooLarge(Exception):
    """A formula has no polynomial of bearable length, or none whose numbers have digits enough."""


class Polynomial(NamedTuple):
    """Numbers by monomial, and how far off any of them may be by round-off."""

    terms: Mapping[int, float]
    error: float = 0.0

    @property
    def size(self) -> float:
        """The largest number, without its sign."""
        return max(map(abs, self.terms.values()), default=0.0)

    @property
    def lead(self) -> int:
        """The greatest monomial."""
        return max(self.terms, default=ONE)


class Generator(NamedTuple):
    """What a generator is: a name, or a function (`inverse` is one) of polynomials; and how much there is to read."""

    function: str
    operands: tuple[Polynomial, ...]
    name: str
    operations: int


class _Rule(NamedTuple):
    """A product of powers of generators that has another form."""

    powers: tuple[tuple[int, int], ...]
    monomial: int
    form: Polynomial

    def applies(self, monomial: int) -> bool:
        return all(exponent(monomial, k) >= power for k, power in self.powers)


def exponent(monomial: int, k: int) -> int:
    """Exponent of generator k."""
    return monomial >> BITS * k & (1 << BITS) - 1


def powers_of(monomial: int) -> Iterable[tuple[int, int]]:
    """The generators in a monomial, with their exponents."""
    for k in range(-(-monomial.bit_length() // BITS)):
        if power := exponent(monomial, k):
            yield k, power


def generator(k: int) -> int:
    """The monomial that is generator k alone."""
    return 1 << BITS * k


def beyond(name: str) -> str:
    """The name of what a coordinate is more than where it is counted from."""
    return f"u{name[1:]}"


def constant(number: float) -> Polynomial:
    """A number."""
    return Polynomial({ONE: number} if number else {}, EPSILON * abs(number))


class Ring:
    """The polynomials of one scene.

    Parameters
    ----------
    units
        Names of numbers whose squares sum to 1, as of a quaternion.
    origins
        Where names are counted from, by name: the generator is what they are more, u for a q.  Powers of it do not
        cancel each other where the name itself is large.
    """

    def __init__(self, units: Iterable[Sequence[str]] = (), origins: Mapping[str, float] | None = None) -> None:
        self.generators: list[Generator] = []
        self.pairs: list[tuple[int, int]] = []
        """Numbers of cos and sin of each argument."""
        self._known: dict[object, int] = {}
        self._rules: list[_Rule] = []
        self._left = PRODUCTS
        self._origins = origins or {}
        for names in units:
            *others, last = (self._generated("name", (), name).lead for name in names)
            self._rewrite(2 * last, Polynomial({ONE: 1.0, **{2 * other: -1.0 for other in others}}))

    def forms_of(self, values: Iterable[Value]) -> dict[Value, Polynomial]:
        """Find the polynomials of all nodes of formulas; those that are too large have none."""
        forms: dict[Value, Polynomial] = {}
        for node in in_order(values):
            try:
                operands = [forms[one] if isinstance(one, Scalar) else constant(one) for one in node.operands]
                forms[node] = self._apply(node, operands)
            except (TooLarge, KeyError):
                continue
        return forms

    def _apply(self, node: Scalar, operands: list[Polynomial]) -> Polynomial:
        if node.text in self._origins:
            return self.add(self._generated("name", (), beyond(node.text)), constant(self._origins[node.text]))
        if node.operation == "name":
            return self._generated("name", (), node.text)
        if node.operation in _ARITHMETIC:
            return _ARITHMETIC[node.operation](self, *operands)
        return self._generated(node.operation, tuple(operands))

    # --- arithmetic -----------------------------------------------------------------------------------------------
    def add(self, a: Polynomial, b: Polynomial, factor: float = 1.0) -> Polynomial:
        """a + factor b."""
        terms = dict(a.terms)
        for monomial, number in b.terms.items():
            terms[monomial] = terms.get(monomial, 0.0) + factor * number
        return _cleared(terms, a.error + abs(factor) * b.error + EPSILON * max(a.size, abs(factor) * b.size))

    def multiply(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """A b."""
        self._spend(len(a.terms) * len(b.terms))
        terms: dict[int, float] = {}
        for monomial, number in a.terms.items():
            for other, factor in b.terms.items():
                product = monomial + other
                terms[product] = terms.get(product, 0.0) + number * factor
        error = a.error * b.size + b.error * a.size + EPSILON * a.size * b.size
        return self.reduced(Polynomial(terms, error))

    def invert(self, a: Polynomial) -> Polynomial:
        """1/a: of a common monomial, of each of its generators; of the rest, as a generator of its own."""
        if not a.terms:
            raise TooLarge
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
        """How much there is to read in a monomial."""
        return sum(self.generators[k].operations + (power > 1) for k, power in powers_of(monomial))

    def loses_digits(self, a: Polynomial) -> bool:
        """Whether large terms may cancel each other in value, though not in form, as beside an inverse they do."""
        numbers = [abs(number) for number in a.terms.values()]
        if max(numbers, default=0.0) <= SPREAD * min(numbers, default=0.0):
            return False
        within = {k for monomial in a.terms for k, _ in powers_of(monomial)}
        return any(self.generators[k].function == "inverse" for k in within)

    # --- generators -----------------------------------------------------------------------------------------------
    def _generated(self, function: str, operands: tuple[Polynomial, ...], name: str = "") -> Polynomial:
        """A function of polynomials, as a generator; sin(-a) is -sin(a), and cos(-a) is cos(a)."""
        if operands and all(one.lead == ONE for one in operands):
            return _worked_out(function, operands)
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
        """Rewrite all that has another form, the greatest monomials first."""
        return self._rewritten(a, self._rules)

    def by_sine(self, a: Polynomial, c: int, s: int) -> Polynomial:
        """Write a polynomial with cos^2 = 1 - sin^2 instead of the other way round, for one argument."""
        rule = _Rule(((c, 2),), 2 * generator(c), Polynomial({ONE: 1.0, 2 * generator(s): -1.0}))
        return self._rewritten(a, [rule])

    def _rewritten(self, a: Polynomial, rules: list[_Rule]) -> Polynomial:
        terms, error = dict(a.terms), a.error
        done: dict[int, float] = {}
        while terms:
            monomial = max(terms)
            number = terms.pop(monomial)
            rule = next((one for one in rules if one.applies(monomial)), None)
            if rule is None:
                done[monomial] = done.get(monomial, 0.0) + number
                continue
            self._spend(len(rule.form.terms))
            error += abs(number) * (rule.form.error + EPSILON * rule.form.size)
            rest = monomial - rule.monomial
            for other, factor in rule.form.terms.items():
                terms[rest + other] = terms.get(rest + other, 0.0) + number * factor
        return _cleared(done, error)

    def _spend(self, products: int) -> None:
        self._left -= products
        if products > TERMS * 10 or self._left < 0:
            raise TooLarge


def _cleared(terms: Mapping[int, float], error: float) -> Polynomial:
    """Leave out what is round-off; what is left out counts as such from there on."""
    least = max(error, NEGLIGIBLE * max(map(abs, terms.values()), default=0.0))
    kept = {monomial: number for monomial, number in terms.items() if abs(number) > least}
    error = max(error, *(abs(number) for number in terms.values() if abs(number) <= least), 0.0)
    if len(kept) > TERMS or (kept and error > LOST * max(map(abs, kept.values()))):
        raise TooLarge
    return Polynomial(kept, error)


def _worked_out(function: str, operands: tuple[Polynomial, ...]) -> Polynomial:
    try:
        return constant(FUNCTIONS[function](*(one.terms.get(ONE, 0.0) for one in operands)))
    except (ArithmeticError, ValueError):
        raise TooLarge from None


def _key(function: str, operands: tuple[Polynomial, ...], name: str) -> object:
    """What equal generators share."""
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
