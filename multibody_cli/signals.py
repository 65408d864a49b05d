"""Functions of time: constants, tables and expressions of t, packed into arrays that kernels evaluate.

An expression becomes a short program for a stack machine whose numbers carry their first and second time derivative
(second-order jets), so that a prescribed position has its exact velocity and acceleration.  New expressions therefore
never recompile a kernel.  A table becomes the pieces of a linear or cubic spline, constant before its first and after
its last instant.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Signals(NamedTuple):
    """Programs and spline pieces of all signals of a model; signal k owns the range first[k]:last[k]."""

    is_table: NDArray[np.bool_]  # (n,)
    first: Integers  # (n,) into code, or into knots
    last: Integers  # (n,)
    code: Integers  # (m,) operations
    operand: Floats  # (m,) value of a CONSTANT
    knots: Floats  # (p,) start of each piece, s
    pieces: Floats  # (p, 4) value and Taylor coefficients of each piece, lowest power first
    stack: Floats  # (depth, 3) scratch: value and two derivatives


class Operation(IntEnum):
    """Operation of one step of a program."""

    CONSTANT = 0
    TIME = 1
    ADD = 2
    SUBTRACT = 3
    MULTIPLY = 4
    DIVIDE = 5
    POWER = 6
    NEGATE = 7
    MINIMUM = 8
    MAXIMUM = 9
    ARCTANGENT2 = 10
    ABSOLUTE = 11
    SQUARE_ROOT = 12
    EXPONENTIAL = 13
    LOGARITHM = 14
    SINE = 15
    COSINE = 16
    TANGENT = 17
    ARCSINE = 18
    ARCCOSINE = 19
    ARCTANGENT = 20
    SINH = 21
    COSH = 22
    TANH = 23
    SIGN = 24
    FLOOR = 25
    CEILING = 26


(
    _CONSTANT, _TIME, _ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _POWER, _NEGATE, _MINIMUM, _MAXIMUM, _ARCTANGENT2,
    _ABSOLUTE, _SQUARE_ROOT, _EXPONENTIAL, _LOGARITHM, _SINE, _COSINE, _TANGENT, _ARCSINE, _ARCCOSINE, _ARCTANGENT,
    _SINH, _COSH, _TANH, _SIGN, _FLOOR, _CEILING,
) = map(int, Operation)  # fmt: skip

_OPERATORS: dict[type[ast.operator] | type[ast.unaryop], Operation] = {
    ast.Add: Operation.ADD,
    ast.Sub: Operation.SUBTRACT,
    ast.Mult: Operation.MULTIPLY,
    ast.Div: Operation.DIVIDE,
    ast.Pow: Operation.POWER,
    ast.USub: Operation.NEGATE,
}

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

_NUMBERS = {"pi": math.pi, "e": math.e, "tau": math.tau}


# --- packing ------------------------------------------------------------------------------------------------------
class SignalPacker:
    """Collects the signals of a model; each `add_*` returns the number of the new signal."""

    def __init__(self) -> None:
        self._ranges: list[tuple[bool, int, int]] = []
        self._code: list[int] = []
        self._operand: list[float] = []
        self._knots = [np.zeros(0)]
        self._pieces = [np.zeros((0, 4))]
        self._knot_count = 0
        self._depth = 1

    def add_constant(self, value: float) -> int:
        """Add a constant signal."""
        return self._finish_program(len(self._code), [(Operation.CONSTANT, value)])

    def add_expression(self, body: ast.expr) -> int:
        """Add an expression of t that `expressions.parse` accepted."""
        return self._finish_program(len(self._code), _program(body))

    def add_table(self, times: Floats, values: Floats, interpolation: str) -> int:
        """Add a piecewise polynomial through (times, values) by one of `INTERPOLATIONS`."""
        return self._add_pieces(times, INTERPOLATIONS[interpolation](times, values))

    def add_hermite(self, times: Floats, values: Floats, slopes: Floats) -> int:
        """Add cubics through (times, values) with the given slopes (n - 1, 2) at both ends of each piece."""
        lengths, steps = np.diff(times), np.diff(values)
        mean = steps / lengths
        quadratic = (3.0 * mean - 2.0 * slopes[:, 0] - slopes[:, 1]) / lengths
        cubic = (slopes[:, 0] + slopes[:, 1] - 2.0 * mean) / lengths**2
        pieces = np.column_stack([values[:-1], slopes[:, 0], quadratic, cubic])
        return self._add_pieces(times, np.vstack([pieces, [values[-1], 0.0, 0.0, 0.0]]))

    def pack(self) -> Signals:
        """Return the arrays of all signals added so far."""
        ranges = np.array(self._ranges, dtype=np.int64).reshape(-1, 3)
        return Signals(
            is_table=ranges[:, 0].astype(np.bool_),
            first=ranges[:, 1].copy(),
            last=ranges[:, 2].copy(),
            code=np.array(self._code, dtype=np.int64),
            operand=np.array(self._operand, dtype=np.float64),
            knots=np.concatenate(self._knots),
            pieces=np.concatenate(self._pieces),
            stack=np.zeros((self._depth, 3)),
        )

    def _add_pieces(self, knots: Floats, pieces: Floats) -> int:
        """Add a table of knots (n,) and polynomials (n, 4)."""
        first = self._knot_count
        self._knots.append(knots)
        self._pieces.append(pieces)
        self._knot_count += len(knots)
        self._ranges.append((True, first, self._knot_count))
        return len(self._ranges) - 1

    def _finish_program(self, first: int, program: list[tuple[Operation, float]]) -> int:
        depth = 0
        for operation, operand in program:
            self._code.append(int(operation))
            self._operand.append(operand)
            depth += 1 if operation <= Operation.TIME else -_takes_two(operation)
            self._depth = max(self._depth, depth)
        self._ranges.append((False, first, len(self._code)))
        return len(self._ranges) - 1


def _takes_two(operation: Operation) -> bool:
    return operation <= Operation.ARCTANGENT2 and operation != Operation.NEGATE


def _program(node: ast.expr) -> list[tuple[Operation, float]]:
    """Postfix program of an expression."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return [(Operation.CONSTANT, float(value))]
        case ast.Name(id="t"):
            return [(Operation.TIME, 0.0)]
        case ast.Name(id=name):
            return [(Operation.CONSTANT, _NUMBERS[name])]
        case ast.BinOp(left=left, op=op, right=right):
            return [*_program(left), *_program(right), (_OPERATORS[type(op)], 0.0)]
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _program(operand)
        case ast.UnaryOp(op=op, operand=operand):
            return [*_program(operand), (_OPERATORS[type(op)], 0.0)]
        case ast.Call(func=ast.Name(id=name), args=[first, *rest]):
            program, operation = _program(first), FUNCTIONS[name]
            for argument in rest:  # min and max of several arguments, from the left
                program += [*_program(argument), (operation, 0.0)]
            return program if rest else [*program, (operation, 0.0)]
    raise TypeError(f"not an expression of t: {ast.unparse(node)}")


def _linear_pieces(times: Floats, values: Floats) -> Floats:
    slopes = np.append(np.diff(values) / np.diff(times), 0.0)
    return np.column_stack([values, slopes, np.zeros_like(values), np.zeros_like(values)])


def _cubic_pieces(times: Floats, values: Floats) -> Floats:
    from scipy.interpolate import CubicSpline

    return _pieces_of(CubicSpline(times, values).c, values)


def _pchip_pieces(times: Floats, values: Floats) -> Floats:
    from scipy.interpolate import PchipInterpolator

    return _pieces_of(PchipInterpolator(times, values).c, values)


def _pieces_of(coefficients: Floats, values: Floats) -> Floats:
    """Return pieces from coefficients (4, n - 1), highest power first, and the constant after the last instant."""
    return np.vstack([coefficients[::-1].T, [values[-1], 0.0, 0.0, 0.0]])


INTERPOLATIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "linear": _linear_pieces,
    "cubic": _cubic_pieces,
    "pchip": _pchip_pieces,
}
"""Pieces (n, 4) through (times, values): lines, a not-a-knot cubic spline, or monotone cubics (Fritsch and Butland)."""


def overshoot(times: Floats, values: Floats, interpolation: str) -> tuple[float, float]:
    """Return by how much an interpolant leaves the range of its values, relative to that range, and the time, s."""
    pieces, spread = INTERPOLATIONS[interpolation](times, values)[:-1], float(np.ptp(values))
    _, slope, quadratic, cubic = pieces.T
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(quadratic**2 - 3.0 * slope * cubic)
        # both roots of the derivative, without cancellation
        q = -(quadratic + np.copysign(root, quadratic))
        places = np.stack([q / (3.0 * cubic), slope / q])
    places = np.where((places > 0.0) & (places < np.diff(times)), places, 0.0)
    extremes = pieces[:, 0] + places * (slope + places * (quadratic + places * cubic))
    excess = np.maximum(extremes - values.max(), values.min() - extremes)
    row, piece = np.unravel_index(int(np.argmax(excess)), excess.shape)
    largest = max(float(excess[row, piece]), 0.0)
    return largest / spread if spread > 0.0 else 0.0, float(times[piece] + places[row, piece])


# --- evaluation ---------------------------------------------------------------------------------------------------
@kernel
def evaluate(signals, k, t) -> tuple[float, float, float]:
    """Return value, first and second time derivative of signal k at time t."""
    if signals.is_table[k]:
        return _evaluate_table(signals.knots, signals.pieces, signals.first[k], signals.last[k], t)
    stack, top = signals.stack, -1
    for i in range(signals.first[k], signals.last[k]):
        operation = signals.code[i]
        if operation <= _TIME:
            top += 1
            stack[top, 0] = t if operation == _TIME else signals.operand[i]
            stack[top, 1] = 1.0 if operation == _TIME else 0.0
            stack[top, 2] = 0.0
        elif operation == _NEGATE or operation > _ARCTANGENT2:
            _apply_function(operation, stack[top])
        else:
            top -= 1
            _apply_operator(operation, stack[top], stack[top + 1])
    return stack[0, 0], stack[0, 1], stack[0, 2]


@kernel
def _evaluate_table(knots, pieces, first, last, t) -> tuple[float, float, float]:
    """Value and derivatives of a spline: of the last piece at its end; the end values outside."""
    end = last - 1
    slack = 1e-12 * (knots[end] - knots[first])  # a sum of steps may exceed the end by round-off
    if t < knots[first] - slack:
        return pieces[first, 0], 0.0, 0.0
    if t > knots[end] + slack:
        return pieces[end, 0], 0.0, 0.0
    low, high = first, end
    while high - low > 1:
        middle = (low + high) // 2
        if knots[middle] <= t:
            low = middle
        else:
            high = middle
    s, c = t - knots[low], pieces[low]
    return (
        c[0] + s * (c[1] + s * (c[2] + s * c[3])),
        c[1] + s * (2.0 * c[2] + s * 3.0 * c[3]),
        2.0 * c[2] + 6.0 * s * c[3],
    )


@kernel
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
    elif (operation == _MINIMUM and b[0] < a[0]) or (operation == _MAXIMUM and b[0] > a[0]):
        a[0], a[1], a[2] = b[0], b[1], b[2]


@kernel
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


@kernel
def _apply_function(operation, a):
    """a = g(a): the value, g' a', g' a'' + g'' a'^2."""
    x = a[0]
    value, slope, curve = x, 1.0, 0.0
    if operation == _NEGATE:
        value, slope = -x, -1.0
    elif operation == _ABSOLUTE:
        value, slope = abs(x), 1.0 if x >= 0.0 else -1.0
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
