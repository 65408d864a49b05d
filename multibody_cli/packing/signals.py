"""Functions of time and state, packed into the arrays `Signals`: expressions become programs, tables become pieces."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from multibody_cli.expressions import CONSTANTS, Reference
from multibody_cli.interpolation import INTERPOLATIONS
from multibody_cli.signals import FUNCTIONS, Floats, Operation, Signals
from multibody_cli.spec import SignalSpec
from multibody_cli.spec.formulas import piecewise_of
from multibody_cli.spec.table_function import TableFunctionSpec

_OPERATORS: dict[type[ast.operator] | type[ast.unaryop], Operation] = {
    ast.Add: Operation.ADD,
    ast.Sub: Operation.SUBTRACT,
    ast.Mult: Operation.MULTIPLY,
    ast.Div: Operation.DIVIDE,
    ast.Pow: Operation.POWER,
    ast.USub: Operation.NEGATE,
}


_NONE: Mapping[str, int] = MappingProxyType({})

POWERS = 5
"""Number of coefficients of a piece of a table."""


class ProgramStep(NamedTuple):
    """A step of a program, and the name of the input whose value is its operand, if it is one."""

    operation: Operation
    operand: float = 0.0
    input: str = ""


class SignalPacker:
    """Collects the signals of a model; each `add_*` returns the number of the new signal.

    Parameters
    ----------
    inputs
        The inputs that expressions may read, by name.  Each stands in the program of the expression, so that its
        derivatives are exact.
    functions
        The functions that expressions may call, by name.
    """

    def __init__(
        self,
        inputs: Mapping[str, SignalSpec] = MappingProxyType({}),
        functions: Mapping[str, TableFunctionSpec] = MappingProxyType({}),
    ) -> None:
        self.input_places: dict[str, list[int]] = {}
        """Where the value of each input that is a number stands among the operands."""
        self._inputs, self._input_tables = inputs, dict[str, int]()
        self._names = {str(Reference(("inputs", name))): name for name in inputs}
        self._functions = {str(Reference(("functions", name))): one for name, one in piecewise_of(functions).items()}
        self._function_tables = dict[str, int]()
        self._ranges: list[tuple[bool, int, int]] = []
        self._code: list[int] = []
        self._operand: list[float] = []
        self._knots = [np.zeros(0)]
        self._instants = [np.zeros(0)]
        self._pieces = [np.zeros((0, POWERS))]
        self._knot_count = 0
        self._depth = 1

    def add_constant(self, value: float) -> int:
        """Add a constant signal."""
        return self._finish_program([ProgramStep(Operation.CONSTANT, value)])

    def add_input(self, name: str) -> int:
        """Add an input as a signal of its own."""
        return self._finish_program(self._input(name))

    def add_expression(
        self, body: ast.expr, quantities: Mapping[str, int] = _NONE, tables: Mapping[str, int] = _NONE
    ) -> int:
        """Add an expression of t, and of quantities and tables by their numbers, that `expressions.parse` accepted."""
        return self._finish_program(self._program(body, quantities, tables))

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
        """Add a table of knots (n,), polynomials (n, 4 or 5), and those of the knots that are instants, else NaN."""
        first = self._knot_count
        self._knots.append(knots)
        self._instants.append(instants)
        self._pieces.append(np.pad(pieces, ((0, 0), (0, POWERS - pieces.shape[1]))))
        self._knot_count += len(knots)
        self._ranges.append((True, first, self._knot_count))
        return len(self._ranges) - 1

    def _finish_program(self, program: Sequence[ProgramStep]) -> int:
        depth, first = 0, len(self._code)
        for operation, operand, name in program:
            if name:
                self.input_places.setdefault(name, []).append(len(self._code))
            self._code.append(int(operation))
            self._operand.append(operand)
            depth += 1 if operation <= Operation.QUANTITY else -_takes_two(operation)
            self._depth = max(self._depth, depth)
        self._ranges.append((False, first, len(self._code)))
        return len(self._ranges) - 1

    def _input(self, name: str) -> list[ProgramStep]:
        """Return the program of an input."""
        spec = self._inputs[name]
        if spec.constant is not None:
            return [ProgramStep(Operation.CONSTANT, spec.constant, name)]
        if spec.expression is not None:
            return self._program(spec.expression.body, _NONE, _NONE)
        if name not in self._input_tables:
            columns = np.array(spec.times), np.array(spec.values)
            self._input_tables[name] = self.add_table(*columns, spec.interpolation)
        return [ProgramStep(Operation.TIME), ProgramStep(Operation.TABLE, float(self._input_tables[name]))]

    def _function(self, text: str) -> ProgramStep:
        """Return the step that calls a function."""
        if text not in self._function_tables:
            knots, rows = map(np.array, self._functions[text])
            self._function_tables[text] = self._add_pieces(knots, rows, np.full(len(knots), np.nan))
        return ProgramStep(Operation.CONTINUED, float(self._function_tables[text]))

    def _program(self, node: ast.expr, quantities: Mapping[str, int], tables: Mapping[str, int]) -> list[ProgramStep]:
        """Return the postfix program of an expression."""

        def program(node: ast.expr) -> list[ProgramStep]:
            match node:
                case ast.Constant(value=int() | float() as value):
                    return [ProgramStep(Operation.CONSTANT, float(value))]
                case ast.Name(id=name) if name in quantities:
                    return [ProgramStep(Operation.QUANTITY, float(quantities[name]))]
                case ast.Name(id="t"):
                    return [ProgramStep(Operation.TIME)]
                case ast.Name(id=name) if name in CONSTANTS:
                    return [ProgramStep(Operation.CONSTANT, CONSTANTS[name])]
                case ast.Name(id=text):
                    return self._input(self._names[text])
                case ast.BinOp(left=left, op=op, right=right):
                    return [*program(left), *program(right), ProgramStep(_OPERATORS[type(op)])]
                case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                    return program(operand)
                case ast.UnaryOp(op=op, operand=operand):
                    return [*program(operand), ProgramStep(_OPERATORS[type(op)])]
                case ast.Call(func=ast.Name(id=name), args=[argument]) if name in tables:
                    return [*program(argument), ProgramStep(Operation.TABLE, float(tables[name]))]
                case ast.Call(func=ast.Name(id=text), args=[argument]) if text in self._functions:
                    return [*program(argument), self._function(text)]
                case ast.Call(func=ast.Name(id=name), args=[first, *rest]):
                    steps, operation = program(first), FUNCTIONS[name]
                    for argument in rest:  # min and max of several arguments, from the left
                        steps += [*program(argument), ProgramStep(operation)]
                    return steps if rest else [*steps, ProgramStep(operation)]
            raise TypeError(f"not an expression of t: {ast.unparse(node)}")

        return program(node)


def _takes_two(operation: Operation) -> bool:
    return operation <= Operation.ARCTANGENT2 and operation != Operation.NEGATE
