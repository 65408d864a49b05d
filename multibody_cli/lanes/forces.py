"""Generalized forces of a model as generated source: the kernels of the catalogue for symbolic coordinates.

Numbers in which the runs differ are loaded from the parameters of each run.  Functions of time that all runs share are
loaded from a table; other signals are written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from multibody_cli import signals
from multibody_cli.cables.lines import COLLAPSED, CablePoints, has_collapsed, line_to, moving_line_to
from multibody_cli.forces.elements import ELEMENTS, Forces
from multibody_cli.forces.quantities import measure
from multibody_cli.lanes.tracing import SymbolicBodies, Tracer
from multibody_cli.model import Floats
from multibody_cli.signals import Operation, Signals
from multibody_cli.symbolic.scalar import Scalar, Value

TIME = -1
"""Number of the time itself among the signals that are tabulated."""


class Parameters:
    """Numbers in which the runs differ: a column of `values` for each, in the order of use."""

    def __init__(self) -> None:
        self.values: list[Floats] = []

    def number(self, tracer: Tracer, values: Floats) -> Value:
        """Return a number of all runs as a constant if it is the same, else as an entry of the parameters."""
        if (values == values[0]).all():
            return float(values[0])
        self.values.append(values)
        return tracer.script.load("parameter", f"parameters[{len(self.values) - 1}]")


class SymbolicRecord:
    """A record of a table of all variants of a model."""

    def __init__(self, tracer: Tracer, parameters: Parameters, variants: Sequence[np.void]) -> None:
        self._tracer, self._parameters, self._variants = tracer, parameters, variants

    def __getattr__(self, word: str) -> Any:
        values = np.array([one[word] for one in self._variants])
        if values.dtype.kind != "f":
            return int(values[0]) if values.ndim == 1 else values[0]
        if values.ndim == 1:
            return self._parameters.number(self._tracer, values)
        return np.array([self._parameters.number(self._tracer, column) for column in values.T], object)


class _Operands:
    """The constants of the programs of all variants."""

    def __init__(self, tracer: Tracer, parameters: Parameters, variants: Sequence[Signals]) -> None:
        self._tracer, self._parameters = tracer, parameters
        self._columns = np.array([one.operand for one in variants]).T

    def __getitem__(self, k: int) -> Value:
        return self._parameters.number(self._tracer, self._columns[k])


class _Unknown:
    """The derivative of a choice; it cannot be written, nor can anything that depends on it."""

    def _itself(self, *_operands: Any) -> _Unknown:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __neg__ = (
        _itself
    )


class SymbolicSignals:
    """The signals of all variants of a model, from a table or written out."""

    def __init__(self, tracer: Tracer, parameters: Parameters, variants: Sequence[Signals]) -> None:
        self._tracer, self._variants, base = tracer, variants, variants[0]
        self.tabulated: list[int] = []
        self.quantities: list[Any] = [0.0] * len(base.quantities)  # `measure` writes them
        symbolic: dict[str, Any] = {
            "operand": _Operands(tracer, parameters, variants),
            "quantities": self.quantities,
            "directions": [0.0] * len(self.quantities),
            "stack": np.full(base.stack.shape, 0.0, object),
        }
        self._symbolic = base._replace(**symbolic)

    def evaluate(self, _signals: Any, k: int, t: Value) -> tuple[Value, Value, Value]:
        """Return value and derivatives of a signal, as `signals.evaluate`; from a table the value alone."""
        if self._is_shared_function_of_time(k):
            return self._load(k), 0.0, 0.0
        return self.written_out(_signals, k, t)

    def written_out(self, _signals: Any, k: int, t: Value) -> tuple[Value, Value, Value]:
        """Return value and derivatives of a signal at the present time."""
        time, replaced = self._load(TIME), {signals.choose: self._choose}
        found: tuple[Value, Value, Value] = self._tracer.run(
            signals.evaluate, self._symbolic, k, time, replaced=replaced
        )
        return found

    def _choose(self, operation: int, a: Any, b: Any) -> None:
        word = "min" if operation == Operation.MINIMUM else "max"
        a[:] = self._tracer.selected(word, a[0], b[0]), _Unknown(), _Unknown()

    def _load(self, number: int) -> Scalar:
        if number not in self.tabulated:
            self.tabulated.append(number)
        return self._tracer.script.load("signal", f"signals[row_of_time + {self.tabulated.index(number)}]")

    def _is_shared_function_of_time(self, k: int) -> bool:
        base = self._variants[0]
        own = slice(base.first[k], base.last[k])
        if base.is_table[k]:
            return all(np.array_equal(one.pieces[own], base.pieces[own]) for one in self._variants)
        if (base.code[own] == Operation.QUANTITY).any():
            return False
        reads_table = (base.code[own] >= Operation.TABLE).any()
        pieces = slice(0, len(base.pieces) if reads_table else 0)
        return all(
            np.array_equal(one.operand[own], base.operand[own])
            and np.array_equal(one.pieces[pieces], base.pieces[pieces])
            for one in self._variants
        )


def write_forces(
    variants: Sequence[Forces], nq: int, nv: int, accounts: int, parameters: Parameters
) -> tuple[list[str], list[int]]:
    """Write the statements that compute `tau` and `powers` from `q`, `v` and the forces of time of the present stage.

    They also keep `clearance`, the smallest distance from a state of which a single run warns.

    Parameters
    ----------
    variants
        The forces of one model, or of one for each run.
    nq, nv
        Lengths of q and v.
    accounts
        Number of accounts of the energy ledger.
    parameters
        Receives the numbers in which the runs differ.

    Returns
    -------
    lines
        The statements.  If forces act on bodies or read their motion, they compute `bias` from `bodies` as well.
    signal_numbers
        The numbers of the signals, or `TIME`, in the order of the columns of `signals`, of which the present row is
        `row_of_time`.

    Raises
    ------
    NotImplementedError
        A force branches on the state.
    """
    tracer, base = Tracer(), variants[0]
    symbolic = SymbolicSignals(tracer, parameters, [one.signals for one in variants])
    q, v, tau = tracer.array("q", nq), tracer.array("v", nv), tracer.array("tau", nv)
    powers, clearance, bodies = tracer.array("powers", accounts), tracer.array("clearance", 1), SymbolicBodies(tracer)
    for array in (tau, powers):
        for j in range(len(array)):
            array[j] = 0.0
    quantities = _records(tracer, parameters, [one.quantities for one in variants])
    entries: Any = _records(tracer, parameters, [one.points.entries for one in variants])
    points = CablePoints(entries, *cast(Any, ([], [], [], [])))
    forces = base._replace(points=points, signals=cast(Any, symbolic))

    def keep_clear(shortest: Value, rest: Value, length: Value) -> bool:
        margin = shortest - COLLAPSED * tracer.selected("max", rest, length)
        clearance[0] = tracer.selected("min", clearance[0], margin)
        return False

    noun, replaced = "expressions of the state", {signals.evaluate: symbolic.evaluate, has_collapsed: keep_clear}
    replaced[moving_line_to] = partial(tracer.run, line_to)  # ends that coincide have no clearance
    try:
        # the derivatives of targets are quantities, so that functions of time are written out
        args: tuple[Any, ...] = (quantities, points, symbolic, None, q, v, bodies)
        tracer.run(measure, *args, replaced={signals.evaluate: symbolic.written_out})
        for place, element in enumerate(ELEMENTS):
            noun, records = element.description, _records(tracer, parameters, [one.tables[place] for one in variants])
            for record in records:
                args = (record, forces, None, q, v, bodies, tau, powers, True, None, 0)
                tracer.run(element.apply_force, *args, replaced=replaced)
        if base.acts_on_bodies:
            bodies.store_wrenches()
        return tracer.lines(), symbolic.tabulated
    except (TypeError, ArithmeticError):  # a comparison of symbols, or constants without a value
        raise NotImplementedError(f"branches in {noun}") from None


def _records(tracer: Tracer, parameters: Parameters, tables: Sequence[Any]) -> list[SymbolicRecord]:
    return [SymbolicRecord(tracer, parameters, [table[k] for table in tables]) for k in range(len(tables[0]))]
