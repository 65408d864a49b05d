"""Functions of time and state, packed into the arrays `Signals`: expressions become programs, tables become pieces."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from multibody_cli.expressions import CONSTANTS
from multibody_cli.interpolation import INTERPOLATIONS
from multibody_cli.signals import FUNCTIONS, Floats, Operation, Signals

_OPERATORS: dict[type[ast.operator] | type[ast.unaryop], Operation] = {
    ast.Add: Operation.ADD,
    ast.Sub: Operation.SUBTRACT,
    ast.Mult: Operation.MULTIPLY,
    ast.Div: Operation.DIVIDE,
    ast.Pow: Operation.POWER,
    ast.USub: Operation.NEGATE,
}


_NONE: Mapping[str, int] = MappingProxyType({})


class SignalPacker:
    """Collects the signals of a model; each `add_*` returns the number of the new signal."""

    def __init__(self) -> None:
        self._ranges: list[tuple[bool, int, int]] = []
        self._code: list[int] = []
        self._operand: list[float] = []
        self._knots = [np.zeros(0)]
        self._instants = [np.zeros(0)]
        self._pieces = [np.zeros((0, 4))]
        self._knot_count = 0
        self._depth = 1

    def add_constant(self, value: float) -> int:
        """Add a constant signal."""
        return self._finish_program(len(self._code), [(Operation.CONSTANT, value)])

    def add_expression(
        self, body: ast.expr, quantities: Mapping[str, int] = _NONE, tables: Mapping[str, int] = _NONE
    ) -> int:
        """Add an expression of t, and of quantities and tables by their numbers, that `expressions.parse` accepted."""
        return self._finish_program(len(self._code), _program(body, quantities, tables))

    def add_table(self, times: Floats, values: Floats, interpolation: str, *, of_time: bool = True) -> int:
        """Add a piecewise polynomial through (times, values) by one of `INTERPOLATIONS`; or of another argument."""
        instants = times if of_time else np.full(len(times), np.nan)
        return self._add_pieces(times, INTERPOLATIONS[interpolation](times, values), instants)

    def add_hermite(self, times: Floats, values: Floats, slopes: Floats, corners: Sequence[float]) -> int:
        """Add cubics through (times, values) with the given slopes (n - 1, 2) at both ends of each piece.

        They are smooth apart from corners, to which the nearest of the times belong.
        """
        lengths, steps = np.diff(times), np.diff(values)
        mean = steps / lengths
        quadratic = (3.0 * mean - 2.0 * slopes[:, 0] - slopes[:, 1]) / lengths
        cubic = (slopes[:, 0] + slopes[:, 1] - 2.0 * mean) / lengths**2
        pieces = np.column_stack([values[:-1], slopes[:, 0], quadratic, cubic])
        instants = np.full(len(times), np.nan)
        for corner in (times[0], times[-1], *corners):
            nearest = int(np.abs(times - corner).argmin())
            instants[nearest] = times[nearest]
        return self._add_pieces(times, np.vstack([pieces, [values[-1], 0.0, 0.0, 0.0]]), instants)

    def pack(self, quantities: int = 0) -> Signals:
        """Return the arrays of all signals added so far, which read this number of quantities."""
        ranges = np.array(self._ranges, dtype=np.int64).reshape(-1, 3)
        return Signals(
            is_table=ranges[:, 0].astype(np.bool_),
            first=ranges[:, 1].copy(),
            last=ranges[:, 2].copy(),
            code=np.array(self._code, dtype=np.int64),
            operand=np.array(self._operand, dtype=np.float64),
            knots=np.concatenate(self._knots),
            instants=np.concatenate(self._instants),
            pieces=np.concatenate(self._pieces),
            quantities=np.zeros(quantities),
            directions=np.zeros(quantities),
            stack=np.zeros((self._depth, 3)),
        )

    def _add_pieces(self, knots: Floats, pieces: Floats, instants: Floats) -> int:
        """Add a table of knots (n,), polynomials (n, 4), and those of the knots that are instants, else NaN (n,)."""
        first = self._knot_count
        self._knots.append(knots)
        self._instants.append(instants)
        self._pieces.append(pieces)
        self._knot_count += len(knots)
        self._ranges.append((True, first, self._knot_count))
        return len(self._ranges) - 1

    def _finish_program(self, first: int, program: list[tuple[Operation, float]]) -> int:
        depth = 0
        for operation, operand in program:
            self._code.append(int(operation))
            self._operand.append(operand)
            depth += 1 if operation <= Operation.QUANTITY else -_takes_two(operation)
            self._depth = max(self._depth, depth)
        self._ranges.append((False, first, len(self._code)))
        return len(self._ranges) - 1


def _takes_two(operation: Operation) -> bool:
    return operation <= Operation.ARCTANGENT2 and operation != Operation.NEGATE


def _program(node: ast.expr, quantities: Mapping[str, int], tables: Mapping[str, int]) -> list[tuple[Operation, float]]:
    """Postfix program of an expression."""

    def program(node: ast.expr) -> list[tuple[Operation, float]]:
        match node:
            case ast.Constant(value=int() | float() as value):
                return [(Operation.CONSTANT, float(value))]
            case ast.Name(id=name) if name in quantities:
                return [(Operation.QUANTITY, float(quantities[name]))]
            case ast.Name(id="t"):
                return [(Operation.TIME, 0.0)]
            case ast.Name(id=name):
                return [(Operation.CONSTANT, CONSTANTS[name])]
            case ast.BinOp(left=left, op=op, right=right):
                return [*program(left), *program(right), (_OPERATORS[type(op)], 0.0)]
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return program(operand)
            case ast.UnaryOp(op=op, operand=operand):
                return [*program(operand), (_OPERATORS[type(op)], 0.0)]
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name in tables:
                return [*program(argument), (Operation.TABLE, float(tables[name]))]
            case ast.Call(func=ast.Name(id=name), args=[first, *rest]):
                steps, operation = program(first), FUNCTIONS[name]
                for argument in rest:  # min and max of several arguments, from the left
                    steps += [*program(argument), (operation, 0.0)]
                return steps if rest else [*steps, (operation, 0.0)]
        raise TypeError(f"not an expression of t: {ast.unparse(node)}")

    return program(node)
