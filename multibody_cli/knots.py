"""Knots of functions of time: the instants at which a function, or one of its derivatives, may jump.

The knots of a table are its instants.  Those of an expression are the instants at which the argument of `abs`, `sign`
or `atan2` vanishes, that of `floor` or `ceil` is a whole number, and the arguments of `min` or `max` are equal, as far
as these arguments depend on time alone; `sqrt(u^2)` is `abs(u)`, `asin(sin(u))`, `acos(cos(u))` and their like have
the knots of `floor(u/pi)`, up to half a period, and `tan(u)` its poles.  They are found by bisection: an interval is
excluded if the enclosure of the argument excludes a knot, and has at most one if the enclosure of its derivative
excludes zero, by interval arithmetic (Moore, Interval Analysis, 1966).  Arguments with knots of their own are examined
between these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import Flags
from multibody_cli.signals import Floats, Operation, Signals

MOST_INTERVALS = 10_000_000
"""Number of intervals beyond which a search, which follows the time, ends: of more knots, the first are used."""

INTERVALS_AT_ONCE = 5000
"""Largest number of intervals that are examined together."""

ROUND_OFF = 8.0 * float(np.finfo(float).eps)
"""Distance of instants that counts as round-off, relative to the time."""

_SHORTEST = 1e-18
_SLACK = 2e-12
"""Distance from the ends of a table, relative to its length, in which `signals` evaluates the pieces inside."""


class Knots(NamedTuple):
    """Knots in ascending order, s: the knot, and instants before and after it with values of either side.

    `jumps` are those at which the value of a function jumps, not its derivatives alone.
    """

    at: Floats
    before: Floats
    after: Floats
    jumps: Flags


def knots_of(signals: Signals, end: float, numbers: Sequence[int] | None = None) -> Knots:
    """Return the knots of functions of time, by default of all: of tables, and of expressions from 0 s to `end`."""
    end *= 1.0 + 4.0 * ROUND_OFF  # a knot at the end of a run is one of its last step
    own = [_knots_of_signal(signals, k, end) for k in (range(len(signals.first)) if numbers is None else numbers)]
    at, before, after = (np.concatenate([np.zeros(0), *(one[i] for one in own)]) for i in range(3))
    jumps = np.concatenate([np.zeros(0, np.bool_), *(one.jumps for one in own)])
    order = np.argsort(at, kind="stable")
    knots = Knots(at[order], before[order], after[order], jumps[order])
    if len(at):
        latest = np.maximum.accumulate(knots.after)
        first = np.flatnonzero(np.append(True, knots.before[1:] > latest[:-1]))
        merged = (np.minimum, knots.before), (np.maximum, knots.after), (np.logical_or, knots.jumps)
        knots = Knots(knots.at[first], *(join.reduceat(column, first) for join, column in merged))
    for column in knots:
        column.flags.writeable = False
    return knots


def is_of_time(signals: Signals, k: int) -> bool:
    """Whether signal k is a function of time alone, and no constant."""
    code = signals.code[signals.first[k] : signals.last[k]]
    if signals.is_table[k]:
        return not math.isnan(signals.instants[signals.first[k]])
    return bool((code == Operation.TIME).any() and not (code == Operation.QUANTITY).any())


def _knots_of_signal(signals: Signals, k: int, end: float) -> Knots:
    if not signals.is_table[k]:
        tree = _tree_of(signals, k)
        at = _knots_of(tree, end) if math.isfinite(end) else np.zeros(0)
        before, after = at - ROUND_OFF * at, at + ROUND_OFF * at + np.finfo(float).tiny
        return Knots(at, before, after, _jumps(tree, before, after))
    if not is_of_time(signals, k):
        return Knots(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, np.bool_))
    at, values = (column[signals.first[k] : signals.last[k]] for column in (signals.instants, signals.pieces[:, 0]))
    at, values = at[~np.isnan(at)], values[~np.isnan(at)]
    steep = (np.diff(at) <= 2.0 * ROUND_OFF * abs(at[1:])) & (np.diff(values) != 0.0)
    before, after, slack = at - ROUND_OFF * abs(at), at.copy(), _SLACK * (at[-1] - at[0])
    before[[0, -1]] -= slack
    after[-1] += slack
    return Knots(at, before, after, np.append(False, steep) | np.append(steep, False))


def _jumps(x: _Node, before: Floats, after: Floats) -> Flags:
    """Return whether a value changes from one instant to the other by more than its slopes there explain."""
    (low, high), slopes = _enclose(x, np.array([before, after]), np.array([before, after]))
    with np.errstate(invalid="ignore", over="ignore"):
        value, slope = 0.5 * (low + high), np.abs(slopes).max(axis=0).sum(axis=0)
        explained = 2.0 * slope * (after - before) + 1e-12 * abs(value).max(axis=0)
        return np.asarray(~(abs(value[1] - value[0]) <= explained))


class _Node(NamedTuple):
    """An operation of an expression with its operands."""

    operation: int
    operand: float
    operands: tuple[_Node, ...]


def _tree_of(signals: Signals, k: int) -> _Node:
    """Return the expression of a program."""
    stack: list[_Node] = []
    for i in range(signals.first[k], signals.last[k]):
        operation = int(signals.code[i])
        leaf, binary = operation <= Operation.QUANTITY, Operation.ADD <= operation <= Operation.ARCTANGENT2
        count = 0 if leaf else 2 if binary and operation != Operation.NEGATE else 1
        operands = tuple(stack[len(stack) - count :])
        del stack[len(stack) - count :]
        stack.append(_Node(operation, float(signals.operand[i]), operands))
    return stack[0]


_OF_ZEROS = (Operation.ABSOLUTE, Operation.SIGN, Operation.ARCTANGENT2)
_OF_WHOLE_NUMBERS = (Operation.FLOOR, Operation.CEILING)
_OF_EQUALITY = (Operation.MINIMUM, Operation.MAXIMUM)
_OF_TURNS = {
    (Operation.ARCSINE, Operation.SINE): 0.5,
    (Operation.ARCCOSINE, Operation.COSINE): 0.0,
    (Operation.ARCSINE, Operation.COSINE): 0.0,
    (Operation.ARCCOSINE, Operation.SINE): 0.5,
}
"""Of a function of another of u, the shift with which it has a knot wherever u/pi + shift is a whole number."""


def _argument_of(node: _Node) -> tuple[_Node, bool] | None:
    """Return a function that is zero, or a whole number if the flag is set, at the knots of an operation; or None."""
    first = node.operands[0] if node.operands else node
    within = first.operands[0] if first.operands else first
    if node.operation in _OF_ZEROS:
        return first, False
    if node.operation in _OF_WHOLE_NUMBERS:
        return first, True
    if node.operation in _OF_EQUALITY:
        return _Node(int(Operation.SUBTRACT), 0.0, node.operands), False
    if node.operation == Operation.TANGENT:
        return _half_turns(first, 0.5), True
    if (node.operation, first.operation) in _OF_TURNS:
        return _half_turns(within, _OF_TURNS[Operation(node.operation), Operation(first.operation)]), True
    is_root = node.operation == Operation.SQUARE_ROOT or (
        node.operation == Operation.POWER and node.operands[1].operand % 1.0 != 0.0
    )
    if is_root and first.operation in (Operation.POWER, Operation.MULTIPLY):
        other = first.operands[1]
        is_even = other == _Node(int(Operation.CONSTANT), 2.0 * round(0.5 * other.operand), ())
        is_square = is_even if first.operation == Operation.POWER else within == other
        return (within, False) if is_square else None
    return None


def _half_turns(u: _Node, shift: float) -> _Node:
    """Return u/pi + shift."""
    turns, offset = (_Node(int(Operation.CONSTANT), number, ()) for number in (1.0 / math.pi, shift))
    return _Node(int(Operation.ADD), 0.0, (_Node(int(Operation.MULTIPLY), 0.0, (u, turns)), offset))


def _depends_on_state(node: _Node) -> bool:
    return node.operation in (Operation.QUANTITY, Operation.TABLE, Operation.CONTINUED) or any(
        map(_depends_on_state, node.operands)
    )


def _knots_of(node: _Node, end: float) -> Floats:
    """Return the knots of an expression from 0 s to `end`, ascending."""
    inner = np.unique(np.concatenate([np.zeros(0), *(_knots_of(one, end) for one in node.operands)]))
    found = None if _depends_on_state(node) else _argument_of(node)
    if found is None:
        return inner
    argument, steps = found
    edges = np.unique(np.concatenate([[0.0, end], inner[(inner > 0.0) & (inner < end)]]))
    shrink = ROUND_OFF * edges
    own = list(_crossings(argument, edges[:-1] + shrink[:-1], edges[1:] - shrink[1:], steps))
    return np.unique(np.concatenate([inner, *own]))


def _crossings(x: _Node, a: Floats, b: Floats, steps: bool) -> Iterator[Floats]:
    """Yield the instants within intervals [a, b] at which x is zero, or a whole number if `steps`."""
    shortest, examined, waiting = _SHORTEST * b.max(initial=0.0), 0, [(a, b)]
    while waiting and examined < MOST_INTERVALS:
        a, b = waiting.pop()
        if len(a) > INTERVALS_AT_ONCE:
            waiting.append((a[INTERVALS_AT_ONCE:], b[INTERVALS_AT_ONCE:]))
            a, b = a[:INTERVALS_AT_ONCE], b[:INTERVALS_AT_ONCE]
        examined += len(a)
        (low, high), (falling, rising) = _enclose(x, a, b)
        may = (np.ceil(low) <= np.floor(high)) if steps else (low <= 0.0) & (high >= 0.0)
        may &= low < high  # a constant has no knot
        is_monotone = may & ((falling > 0.0) | (rising < 0.0))
        yield _roots(x, a[is_monotone], b[is_monotone], steps)
        rest = may & ~is_monotone
        a, b = a[rest], b[rest]
        is_short = b - a <= np.maximum(ROUND_OFF * b, shortest)
        yield b[is_short]
        a, b = a[~is_short], b[~is_short]
        if len(a):
            middle = 0.5 * (a + b)
            waiting.append((np.column_stack([a, middle]).ravel(), np.column_stack([middle, b]).ravel()))


def _roots(x: _Node, a: Floats, b: Floats, steps: bool) -> Floats:
    """Return the crossings of x within intervals in which it is monotone: neighbouring numbers by bisection."""
    ends = np.array([_value(x, a), _value(x, b)])
    least, most = np.minimum(*ends), np.maximum(*ends)
    first, last = (np.ceil(least), np.floor(most)) if steps else (np.zeros_like(a), np.zeros_like(a))
    count = np.where((first >= least) & (last <= most), np.maximum(last - first + 1.0, 0.0), 0.0).astype(np.int64)
    count = np.minimum(count, MOST_INTERVALS)
    index = np.repeat(np.arange(len(a)), count)
    target = first[index] + np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
    low, high, is_rising = a[index], b[index], ends[1][index] > ends[0][index]
    shortest = _SHORTEST * b.max(initial=0.0)
    while True:
        middle = 0.5 * (low + high)
        if not ((high - low > shortest) & (middle > low) & (middle < high)).any():
            return high
        value = _value(x, middle)
        is_behind = np.where(is_rising, value >= target, value <= target)
        low, high = np.where(is_behind, low, middle), np.where(is_behind, middle, high)


# --- interval arithmetic ------------------------------------------------------------------------------------------
_Interval = tuple[Floats, Floats]
_REAL = -math.inf, math.inf


def _value(x: _Node, t: Floats) -> Floats:
    (low, high), _ = _enclose(x, t, t)
    return 0.5 * (low + high)


def _enclose(node: _Node, a: Floats, b: Floats) -> tuple[_Interval, _Interval]:
    """Return intervals that contain the values of an expression for a <= t <= b, and those of its derivative."""
    zero = np.zeros_like(a)
    if node.operation == Operation.TIME:
        return (a, b), (zero + 1.0, zero + 1.0)
    if node.operation == Operation.CONSTANT:
        return (zero + node.operand, zero + node.operand), (zero, zero)
    with np.errstate(all="ignore"):
        operands = [_enclose(one, a, b) for one in node.operands]
        value, slope = _OPERATIONS.get(Operation(node.operation), _unknown)(*operands)
        return _whole(value, zero), _whole(slope, zero)


def _whole(interval: _Interval, zero: Floats) -> _Interval:
    """Replace bounds that are not numbers by infinite ones."""
    low, high = interval[0] + zero, interval[1] + zero
    return np.where(np.isnan(low), -math.inf, low), np.where(np.isnan(high), math.inf, high)


_Jet = tuple[_Interval, _Interval]


def _unknown(*_operands: _Jet) -> _Jet:
    return _REAL, _REAL  # type: ignore[return-value]


def _hull(*bounds: Floats) -> _Interval:
    every = np.array(np.broadcast_arrays(*bounds))
    low, high = every.min(axis=0), every.max(axis=0)
    return low, high


def _times(x: _Interval, y: _Interval) -> _Interval:
    return _hull(*(np.where((one == 0.0) | (other == 0.0), 0.0, one * other) for one in x for other in y))


def _plus(x: _Interval, y: _Interval) -> _Interval:
    return x[0] + y[0], x[1] + y[1]


def _minus(x: _Interval) -> _Interval:
    return -x[1], -x[0]


def _inverse(x: _Interval) -> _Interval:
    inside = (x[0] <= 0.0) & (x[1] >= 0.0)
    return np.where(inside, -math.inf, 1.0 / x[1]), np.where(inside, math.inf, 1.0 / x[0])


def _divide(x: _Jet, y: _Jet) -> _Jet:
    inverse = _inverse(y[0])
    value = _times(x[0], inverse)
    return value, _times(_plus(x[1], _minus(_times(value, y[1]))), inverse)


def _power(x: _Jet, n: _Jet) -> _Jet:
    (low, high), exponent = x[0], n[0][0]
    if (n[0][0] != n[0][1]).any():
        return _unknown()

    def power(e: Floats) -> _Interval:
        ends = _hull(low**e, high**e)
        is_even = (e % 2.0 == 0.0) & (low < 0.0) & (high > 0.0)
        pole = (e < 0.0) & (low <= 0.0) & (high >= 0.0)
        least = np.where(is_even, np.minimum(ends[0], 0.0), ends[0])
        return np.where(pole, -math.inf, least), np.where(pole, math.inf, ends[1])

    return power(exponent), _times(_times((exponent, exponent), power(exponent - 1.0)), x[1])


def _choose(operation: Operation) -> Callable[[_Jet, _Jet], _Jet]:
    pick = np.minimum if operation == Operation.MINIMUM else np.maximum

    def choose(x: _Jet, y: _Jet) -> _Jet:
        value = pick(x[0][0], y[0][0]), pick(x[0][1], y[0][1])
        smaller, larger = x[0][1] < y[0][0], y[0][1] < x[0][0]  # of the first operand
        is_first, is_second = (smaller, larger) if operation == Operation.MINIMUM else (larger, smaller)
        both = _hull(*x[1], *y[1])
        slope = [np.select([is_first, is_second], [x[1][i], y[1][i]], both[i]) for i in (0, 1)]
        return value, (slope[0], slope[1])

    return choose


def _waves(x: _Interval, shift: float) -> _Interval:
    """Range of sin(x + shift)."""
    low, high = x[0] + shift, x[1] + shift
    ends = _hull(np.sin(low), np.sin(high))
    has_top = np.floor((high - 0.5 * math.pi) / math.tau) >= np.ceil((low - 0.5 * math.pi) / math.tau)
    has_bottom = np.floor((high + 0.5 * math.pi) / math.tau) >= np.ceil((low + 0.5 * math.pi) / math.tau)
    return np.where(has_bottom, -1.0, ends[0]), np.where(has_top, 1.0, ends[1])


def _monotone(function: Callable[[Floats], Floats], slope: Callable[[_Interval], _Interval]) -> Callable[[_Jet], _Jet]:
    def apply(x: _Jet) -> _Jet:
        return _hull(function(x[0][0]), function(x[0][1])), _times(slope(x[0]), x[1])

    return apply


def _sizes(x: _Interval) -> _Interval:
    """Range of |x|."""
    ends = _hull(abs(x[0]), abs(x[1]))
    return np.where((x[0] < 0.0) & (x[1] > 0.0), 0.0, ends[0]), ends[1]


def _falling(function: Callable[[Floats], Floats]) -> Callable[[_Interval], _Interval]:
    """Slope that falls with |x|."""

    def slope(x: _Interval) -> _Interval:
        least, most = _sizes(x)
        return _hull(function(least), function(most))

    return slope


def _absolute(x: _Jet) -> _Jet:
    sign = np.where(x[0][0] >= 0.0, 1.0, -1.0), np.where(x[0][1] <= 0.0, -1.0, 1.0)
    return _sizes(x[0]), _times(sign, x[1])


def _steps(function: Callable[[Floats], Floats]) -> Callable[[_Jet], _Jet]:
    return _monotone(function, lambda x: (np.zeros_like(x[0]), np.zeros_like(x[0])))


def _tangent(x: _Jet) -> _Jet:
    low, high = x[0]
    pole = np.floor(low / math.pi + 0.5) != np.floor(high / math.pi + 0.5)
    ends = np.where(pole, -math.inf, np.tan(low)), np.where(pole, math.inf, np.tan(high))
    sizes = _sizes(ends)
    least = np.where(pole, -math.inf, 1.0 + sizes[0] ** 2)  # beyond a pole it begins again
    return ends, _times((least, 1.0 + sizes[1] ** 2), x[1])


_OPERATIONS: dict[Operation, Callable[..., _Jet]] = {
    Operation.ADD: lambda x, y: (_plus(x[0], y[0]), _plus(x[1], y[1])),
    Operation.SUBTRACT: lambda x, y: (_plus(x[0], _minus(y[0])), _plus(x[1], _minus(y[1]))),
    Operation.MULTIPLY: lambda x, y: (_times(x[0], y[0]), _plus(_times(x[0], y[1]), _times(x[1], y[0]))),
    Operation.DIVIDE: _divide,
    Operation.POWER: _power,
    Operation.NEGATE: lambda x: (_minus(x[0]), _minus(x[1])),
    Operation.MINIMUM: _choose(Operation.MINIMUM),
    Operation.MAXIMUM: _choose(Operation.MAXIMUM),
    Operation.ABSOLUTE: _absolute,
    Operation.SQUARE_ROOT: _monotone(np.sqrt, _falling(lambda x: 0.5 / np.sqrt(x))),
    Operation.EXPONENTIAL: _monotone(np.exp, lambda x: (np.exp(x[0]), np.exp(x[1]))),
    Operation.LOGARITHM: _monotone(np.log, _inverse),
    Operation.SINE: lambda x: (_waves(x[0], 0.0), _times(_waves(x[0], 0.5 * math.pi), x[1])),
    Operation.COSINE: lambda x: (_waves(x[0], 0.5 * math.pi), _times(_waves(x[0], math.pi), x[1])),
    Operation.TANGENT: _tangent,
    Operation.ARCSINE: _monotone(np.arcsin, _falling(lambda x: 1.0 / np.sqrt(1.0 - x * x))),
    Operation.ARCCOSINE: _monotone(np.arccos, lambda x: _minus(_falling(lambda y: 1.0 / np.sqrt(1.0 - y * y))(x))),
    Operation.ARCTANGENT: _monotone(np.arctan, _falling(lambda x: 1.0 / (1.0 + x * x))),
    Operation.SINH: _monotone(np.sinh, _falling(np.cosh)),
    Operation.COSH: lambda x: (
        _hull(*map(np.cosh, _sizes(x[0]))),
        _times((np.sinh(x[0][0]), np.sinh(x[0][1])), x[1]),
    ),
    Operation.TANH: _monotone(np.tanh, _falling(lambda x: 1.0 - np.tanh(x) ** 2)),
    Operation.SIGN: _steps(np.sign),
    Operation.FLOOR: _steps(np.floor),
    Operation.CEILING: _steps(np.ceil),
}
