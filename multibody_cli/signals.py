"""Functions of time and state: constants, tables and expressions, packed into arrays that kernels evaluate.

An expression becomes a short program for a stack machine whose numbers carry their first and second time derivative
(second-order jets), so that a prescribed position has its exact velocity and acceleration.  New expressions therefore
never recompile a kernel.  An expression of the state reads its quantities from `Signals.quantities`, which
`forces.quantities.measure` sets; its derivative is that along one direction, `Signals.directions`.  A table becomes the
pieces of a linear or cubic spline, constant before its first and after its last instant; a function by a table is
continued by its tangents.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import Floats as Floats
from multibody_cli.kernel import Integers, formula, kernel, lazy_kernel


class Signals(NamedTuple):
    """Programs and spline pieces of all signals of a model; signal k owns the range first[k]:last[k]."""

    is_table: NDArray[np.bool_]  # (n,)
    first: Integers  # (n,) into code, or into knots
    last: Integers  # (n,)
    code: Integers  # (m,) operations
    operand: Floats  # (m,) value of a CONSTANT
    knots: Floats  # (p,) start of each piece, s
    instants: Floats  # (p,) those of them at which a function of time is not smooth, s; NaN elsewhere
    pieces: Floats  # (p, 5) value and Taylor coefficients of each piece, lowest power first
    quantities: Floats  # (k,) quantities of the state: see `quantities`
    directions: Floats  # (k,) their derivatives along a change of the state
    stack: Floats  # (depth, 3) scratch: value and two derivatives

    def with_own_scratch(self) -> Signals:
        """Return these signals with scratch of their own, for another thread."""
        own = {name: np.zeros_like(getattr(self, name)) for name in SCRATCH}
        return self._replace(**own)


def with_signals(system: Any, signals: Signals) -> Any:
    """Return a `model.System` with other arrays of signals."""
    return system._replace(
        forces=system.forces._replace(signals=signals),
        motions=system.motions._replace(signals=signals),
        constraints=system.constraints._replace(signals=signals),
    )


SCRATCH = ("quantities", "directions", "stack")
"""Fields of `Signals` that evaluations write."""


class Operation(IntEnum):
    """Operation of one step of a program."""

    CONSTANT = 0
    TIME = 1
    QUANTITY = 2
    ADD = 3
    SUBTRACT = 4
    MULTIPLY = 5
    DIVIDE = 6
    POWER = 7
    NEGATE = 8
    MINIMUM = 9
    MAXIMUM = 10
    ARCTANGENT2 = 11
    ABSOLUTE = 12
    SQUARE_ROOT = 13
    EXPONENTIAL = 14
    LOGARITHM = 15
    SINE = 16
    COSINE = 17
    TANGENT = 18
    ARCSINE = 19
    ARCCOSINE = 20
    ARCTANGENT = 21
    SINH = 22
    COSH = 23
    TANH = 24
    SIGN = 25
    FLOOR = 26
    CEILING = 27
    TABLE = 28
    CONTINUED = 29


(
    _CONSTANT, _TIME, _QUANTITY, _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _POWER, _NEGATE, _MINIMUM, _MAXIMUM, _ARCTANGENT2,
    _ABSOLUTE, _SQUARE_ROOT, _EXPONENTIAL, _LOGARITHM, _SINE, _COSINE, _TANGENT, _ARCSINE, _ARCCOSINE, _ARCTANGENT,
    _SINH, _COSH, _TANH, _SIGN, _FLOOR, _CEILING, _TABLE, _CONTINUED,
) = map(int, Operation)  # fmt: skip

FUNCTIONS: dict[str, Operation] = {
    "min": Operation.MINIMUM,
    "max": Operation.MAXIMUM,
    "atan2": Operation.ARCTANGENT2,
    "abs": Operation.ABSOLUTE,
    "sqrt": Operation.SQUARE_ROOT,
    "exp": Operation.EXPONENTIAL,
    "log": Operation.LOGARITHM,
    "sin": Operation.SINE,
    "cos": Operation.COSINE,
    "tan": Operation.TANGENT,
    "asin": Operation.ARCSINE,
    "acos": Operation.ARCCOSINE,
    "atan": Operation.ARCTANGENT,
    "sinh": Operation.SINH,
    "cosh": Operation.COSH,
    "tanh": Operation.TANH,
    "sign": Operation.SIGN,
    "floor": Operation.FLOOR,
    "ceil": Operation.CEILING,
}
"""The functions of expressions of t."""


# --- evaluation ---------------------------------------------------------------------------------------------------
@kernel
def evaluate(signals, k, t) -> tuple[float, float, float]:
    """Return value, first and second time derivative of signal k at time t, with the quantities held constant."""
    return _evaluate(signals, k, t, 1.0, 0.0)


@kernel
def derivative_along(signals, k, t) -> float:
    """Return the derivative of signal k along `signals.directions`, at constant time."""
    _, slope, _ = _evaluate(signals, k, t, 0.0, 1.0)
    return slope


@formula
def _evaluate(signals, k, t, time_rate, quantity_rate) -> tuple[float, float, float]:
    """Value and two derivatives along a line, on which time has the rate `time_rate`."""
    if signals.is_table[k]:
        value, slope, curve = _evaluate_table(signals.knots, signals.pieces, signals.first[k], signals.last[k], t)
        return value, time_rate * slope, time_rate * curve
    stack, top = signals.stack, -1
    for i in range(signals.first[k], signals.last[k]):
        operation = signals.code[i]
        if operation <= _QUANTITY:
            top += 1
            stack[top, 2] = 0.0
            if operation == _QUANTITY:
                number = int(signals.operand[i])
                stack[top, 0], stack[top, 1] = signals.quantities[number], quantity_rate * signals.directions[number]
            else:
                stack[top, 0] = t if operation == _TIME else signals.operand[i]
                stack[top, 1] = time_rate if operation == _TIME else 0.0
        elif operation >= _TABLE:
            _apply_table(signals, int(signals.operand[i]), operation == _CONTINUED, stack[top])
        elif operation == _NEGATE or operation > _ARCTANGENT2:
            _apply_function(operation, stack[top])
        else:
            top -= 1
            _apply_operator(operation, stack[top], stack[top + 1])
    return stack[0, 0], stack[0, 1], stack[0, 2]


@lazy_kernel
def _apply_table(signals, k, is_continued, a):
    """a = table k at a; a table that tangents continue has them as its first and its last piece."""
    knots, pieces, first, last = signals.knots, signals.pieces, signals.first[k], signals.last[k]
    if is_continued:
        value, slope, curve = _evaluate_pieces(knots, pieces, first, last, a[0])
    else:
        value, slope, curve = _evaluate_table(knots, pieces, first, last, a[0])
    a[0], a[1], a[2] = value, slope * a[1], slope * a[2] + curve * a[1] * a[1]


@kernel
def _evaluate_table(knots, pieces, first, last, t) -> tuple[float, float, float]:
    """Value and derivatives of a spline: of the last piece at its end; the end values outside."""
    end = last - 1
    slack = 1e-12 * (knots[end] - knots[first])  # a sum of steps may exceed the end by round-off
    if t < knots[first] - slack:
        return pieces[first, 0], 0.0, 0.0
    if t > knots[end] + slack:
        return pieces[end, 0], 0.0, 0.0
    return _evaluate_pieces(knots, pieces, first, end, t)


@kernel
def _evaluate_pieces(knots, pieces, first, end, t) -> tuple[float, float, float]:
    """Value and derivatives of the last of the pieces from `first` to before `end` that has begun, else the first."""
    low, high = first, end
    while high - low > 1:
        middle = (low + high) // 2
        if knots[middle] <= t:
            low = middle
        else:
            high = middle
    s, c = t - knots[low], pieces[low]
    return (
        c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * c[4]))),
        c[1] + s * (2.0 * c[2] + s * 3.0 * c[3] + s * s * 4.0 * c[4]),
        2.0 * c[2] + 6.0 * s * c[3] + 12.0 * s * s * c[4],
    )


@lazy_kernel
def _apply_operator(operation, a, b):
    """a = a op b, for jets (value, first and second derivative)."""
    if operation == _ADD:
        a[0], a[1], a[2] = a[0] + b[0], a[1] + b[1], a[2] + b[2]
    elif operation == _SUBTRACT:
        a[0], a[1], a[2] = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    elif operation == _MULTIPLY:
        a[0], a[1], a[2] = a[0] * b[0], a[1] * b[0] + a[0] * b[1], a[2] * b[0] + 2.0 * a[1] * b[1] + a[0] * b[2]
    elif operation == _DIVIDE:
        value = a[0] / b[0]
        first = (a[1] - value * b[1]) / b[0]
        a[0], a[1], a[2] = value, first, (a[2] - 2.0 * first * b[1] - value * b[2]) / b[0]
    elif operation == _POWER:
        _apply_power(a, b)
    elif operation == _ARCTANGENT2:
        y, x = a[0], b[0]
        r2 = x * x + y * y
        turn = x * a[1] - y * b[1]
        first = turn / r2
        second = (x * a[2] - y * b[2] - 2.0 * first * (x * b[1] + y * a[1])) / r2
        a[0], a[1], a[2] = math.atan2(y, x), first, second
    else:
        choose(operation, a, b)


@kernel
def choose(operation, a, b):
    """a = min(a, b) or max(a, b); of equal values, the one that is selected behind the instant.

    So the derivatives are those from the right, and a sum of pieces with min and max has, at their common knot, the
    derivatives of the piece behind it.
    """
    order = _sign_behind(b[0] - a[0], b[1] - a[1], b[2] - a[2])
    if (operation == _MINIMUM and order < 0.0) or (operation == _MAXIMUM and order > 0.0):
        a[0], a[1], a[2] = b[0], b[1], b[2]


@kernel
def _sign_behind(value, first, second):
    """Return the sign of a function right after an instant, -1, 0 or 1, by its value and two derivatives there."""
    leading = value if value != 0.0 else (first if first != 0.0 else second)
    return 1.0 if leading > 0.0 else (-1.0 if leading < 0.0 else 0.0)


@lazy_kernel
def _apply_power(a, b):
    """a = a ** b; a constant exponent uses the power rule, which admits zero or negative a."""
    x, n = a[0], b[0]
    if b[1] == 0.0 and b[2] == 0.0:
        slope = n * x ** (n - 1.0) if n != 0.0 else 0.0
        curve = n * (n - 1.0) * x ** (n - 2.0) if n != 0.0 and n != 1.0 else 0.0
        a[0], a[1], a[2] = x**n, slope * a[1], slope * a[2] + curve * a[1] * a[1]
        return
    log = math.log(x)
    first = b[1] * log + n * a[1] / x
    second = b[2] * log + 2.0 * b[1] * a[1] / x + n * (a[2] / x - (a[1] / x) ** 2)
    value = x**n
    a[0], a[1], a[2] = value, value * first, value * (second + first * first)


@lazy_kernel
def _apply_function(operation, a):
    """a = g(a): the value, g' a', g' a'' + g'' a'^2."""
    x = a[0]
    value, slope, curve = x, 1.0, 0.0
    if operation == _NEGATE:
        value, slope = -x, -1.0
    elif operation == _ABSOLUTE:
        value, slope = abs(x), _sign_behind(x, a[1], a[2])
    elif operation == _SQUARE_ROOT:
        value = math.sqrt(x)
        slope = 0.5 / value
        curve = -0.5 * slope / x
    elif operation == _EXPONENTIAL:
        value = math.exp(x)
        slope, curve = value, value
    elif operation == _LOGARITHM:
        value, slope, curve = math.log(x), 1.0 / x, -1.0 / (x * x)
    elif operation == _SINE:
        value, slope = math.sin(x), math.cos(x)
        curve = -value
    elif operation == _COSINE:
        value, slope = math.cos(x), -math.sin(x)
        curve = -value
    elif operation == _TANGENT:
        value = math.tan(x)
        slope = 1.0 + value * value
        curve = 2.0 * value * slope
    elif operation == _ARCSINE:
        value, slope = math.asin(x), 1.0 / math.sqrt(1.0 - x * x)
        curve = x * slope**3
    elif operation == _ARCCOSINE:
        value, slope = math.acos(x), -1.0 / math.sqrt(1.0 - x * x)
        curve = x * slope**3
    elif operation == _ARCTANGENT:
        value, slope = math.atan(x), 1.0 / (1.0 + x * x)
        curve = -2.0 * x * slope * slope
    elif operation == _SINH:
        value, slope = math.sinh(x), math.cosh(x)
        curve = value
    elif operation == _COSH:
        value, slope = math.cosh(x), math.sinh(x)
        curve = value
    elif operation == _TANH:
        value = math.tanh(x)
        slope = 1.0 - value * value
        curve = -2.0 * value * slope
    else:
        slope = 0.0
        if operation == _SIGN:
            value = 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)
        elif operation == _FLOOR:
            value = math.floor(x)
        else:
            value = math.ceil(x)
    a[0], a[1], a[2] = value, slope * a[1], slope * a[2] + curve * a[1] * a[1]
