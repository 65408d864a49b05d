"""Dual numbers in generated code: a number with its derivatives along `LANES` directions, a vector.

An operation follows the chain rule: the tangent of a result is the sum of the tangents of the operands, each times a
partial derivative.  The values are those of the same code with numbers, to round-off: the compiler contracts other
products and sums.

Source: Griewank and Walther, Evaluating Derivatives (2008), ch. 3, forward mode with vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from multibody_cli.kernel import LANES
from multibody_cli.symbolic.derivative import partials
from multibody_cli.symbolic.scalar import Value, apply, name, topological_order
from multibody_cli.symbolic.vectors import INTEGER, NUMBER, VECTOR, splat

DUAL = ir.LiteralStructType([NUMBER, VECTOR], packed=True)
"""Type in memory: the number, then its derivatives."""

_WORD = ir.IntType(32)
_ZERO = ir.Constant(VECTOR, [NUMBER(0.0)] * LANES)


class Dual(NamedTuple):
    """A number and its derivatives, LLVM values."""

    value: Any
    tangent: Any

    @property
    def type(self) -> Any:
        """Type in memory."""
        return DUAL


def constant(number: Any) -> Dual:
    """Return a number whose derivatives are 0."""
    return Dual(number, _ZERO)


def load(builder: Any, location: Any) -> Dual:
    """Load a dual number."""
    return Dual(*(builder.load(part, align=8) for part in _parts(builder, location)))


def store(builder: Any, dual: Dual, location: Any) -> None:
    """Store a dual number."""
    for value, part in zip(dual, _parts(builder, location), strict=True):
        builder.store(value, part, align=8)


def _parts(builder: Any, location: Any) -> list[Any]:
    return [builder.gep(location, [_WORD(0), _WORD(k)], inbounds=True) for k in (0, 1)]


# --- arithmetic ---------------------------------------------------------------------------------------------------
def negative(builder: Any, a: Dual) -> Dual:
    """Return -a."""
    return Dual(builder.fneg(a.value), builder.fneg(a.tangent))


def selected(builder: Any, test: str, a: Dual, b: Dual) -> Dual:
    """Return b if the comparison of b with a holds, else a."""
    holds = builder.fcmp_ordered(test, b.value, a.value)
    return Dual(*(builder.select(holds, second, first) for first, second in zip(a, b, strict=True)))


def computed(builder: Any, operation: str, left: Any, right: Any) -> Dual:
    """Return the result of `add`, `sub`, `mul` or `div`; one of the operands may be a number."""
    a, da = left if isinstance(left, Dual) else (left, None)
    b, db = right if isinstance(right, Dual) else (right, None)
    value = getattr(builder, f"f{operation}")(a, b)
    if operation in ("add", "sub"):
        if db is None:
            return Dual(value, da)
        if da is None:
            return Dual(value, db if operation == "add" else builder.fneg(db))
        return Dual(value, getattr(builder, f"f{operation}")(da, db))
    if operation == "mul":
        return Dual(value, _sum(builder, [(da, b), (db, a)]))
    inverse = builder.fdiv(NUMBER(1.0), b)
    return Dual(value, _sum(builder, [(da, inverse), (db, builder.fneg(builder.fmul(value, inverse)))]))


def _sum(builder: Any, terms: Sequence[tuple[Any, Any]]) -> Any:
    """Return the sum of tangents times numbers; a tangent that is None is 0."""
    parts = [builder.fmul(tangent, splat(builder, factor)) for tangent, factor in terms if tangent is not None]
    total = parts[0]
    for part in parts[1:]:
        total = builder.fadd(total, part)
    return total


# --- functions ----------------------------------------------------------------------------------------------------
def applied(builder: Any, call: Callable[[str, list[Any]], Any], word: str, operands: Sequence[Any]) -> Any:
    """Apply a function to dual numbers and numbers.

    Parameters
    ----------
    builder
        The instruction builder of llvmlite.
    call
        Writes a call of a function of numbers, by its name, and returns the LLVM value of its result.
    word
        The function.
    operands
        The arguments.

    Returns
    -------
    A dual number, or a list of them for a function of several results.

    Raises
    ------
    NotImplementedError
        The function has no rule.
    """
    duals = [one if isinstance(one, Dual) else constant(one) for one in operands]
    values = [one.value for one in duals]
    found = call(word, values)
    if found.type == INTEGER:
        found = builder.sitofp(found, NUMBER)
    is_several = found.type != NUMBER
    results = [builder.extract_value(found, k) for k in range(len(found.type))] if is_several else [found]
    x, r = ([name(f"{letter}{k}") for k in range(len(own))] for letter, own in (("x", values), ("r", results)))
    known = dict(zip([*x, *r], [*values, *results], strict=True))
    if word in _RULES:
        rows = _RULES[word](*x, *r)
    elif (own := partials(word, *x)) is not None:
        rows = (own,)
    else:
        raise NotImplementedError(f"derivatives of `{word}`")
    tangents = [
        _sum(
            builder, [(dual.tangent, _written(builder, call, one, known)) for dual, one in zip(duals, row, strict=True)]
        )
        for row in rows
    ]
    duals = [Dual(value, tangent) for value, tangent in zip(results, tangents, strict=True)]
    return duals if is_several else duals[0]


def _of_quaternion(*numbers: Value) -> tuple[tuple[Value, ...], ...]:
    """Partials of the quaternion of a rotation with columns x, y, z.

    dq = q (0, t) / 2 with the turn t = (z . dy, x . dz, y . dx).
    """
    x, y, z, (w, *u) = numbers[:3], numbers[3:6], numbers[6:9], numbers[9:]
    none = (0.0,) * 3
    turns = [(none, z, none), (none, none, x), (y, none, none)]  # derivatives of t by x, y and z
    halves = [(-0.5 * u[0], -0.5 * u[1], -0.5 * u[2]), (0.5 * w, -0.5 * u[2], 0.5 * u[1]),
              (0.5 * u[2], 0.5 * w, -0.5 * u[0]), (-0.5 * u[1], 0.5 * u[0], 0.5 * w)]  # fmt: skip
    return tuple(
        tuple(
            sum((half * turn[column][k] for half, turn in zip(row, turns, strict=True)), 0.0)
            for column in range(3)
            for k in range(3)
        )
        for row in halves
    )


_RULES: Mapping[str, Callable[..., tuple[tuple[Value, ...], ...]]] = {
    "sine_and_cosine": lambda x, s, c: ((c,), (-s,)),
    "half_angle_coefficients": lambda z, c, half: ((-half,), (apply("half_angle_slope", z),)),
    "inverse_jacobian_coefficient": lambda z, e: ((apply("inverse_jacobian_slope", z),),),
    "quaternion_of_entries": _of_quaternion,
    "logarithm_coefficient": lambda w, z, c: ((-2.0 / (w * w + z), apply("logarithm_slope", w, z)),),
}
"""Partial derivatives of each result of a function, from operands and results."""


def _written(builder: Any, call: Callable[[str, list[Any]], Any], value: Value, known: Mapping[Any, Any]) -> Any:
    """Write the instructions of a formula of known numbers."""
    found = dict(known)
    for node in topological_order([value], known):
        operands = [found[one] if one in found else NUMBER(one) for one in node.operands]
        if node.operation == "neg":
            found[node] = builder.fneg(*operands)
        elif node.operation in _ARITHMETIC:
            found[node] = getattr(builder, _ARITHMETIC[node.operation])(*operands)
        else:
            found[node] = call(node.operation, operands)
    return found[value] if value in found else NUMBER(value)


_ARITHMETIC = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
