"""Generalized forces of a model as generated source: the kernels of the catalogue for symbolic coordinates.

Numbers in which the runs differ are loaded from the parameters of each run; forces of time from a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from multibody_cli import signals
from multibody_cli.forces.elements import ELEMENTS, Forces
from multibody_cli.lanes.tracing import Tracer
from multibody_cli.model import Floats
from multibody_cli.symbolic.scalar import Value


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
            return int(values[0])
        if values.ndim == 1:
            return self._parameters.number(self._tracer, values)
        return np.array([self._parameters.number(self._tracer, column) for column in values.T], object)


def write_forces(
    variants: Sequence[Forces], nq: int, nv: int, accounts: int, parameters: Parameters
) -> tuple[list[str], list[int]]:
    """Write the statements that compute `tau` and `powers` from `q`, `v` and the forces of time of the present stage.

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
        The statements.
    signal_numbers
        The numbers of the signals, in the order of the columns of `signals`, of which the present row is `row_of_time`.

    Raises
    ------
    NotImplementedError
        A force branches on the state.
    """
    tracer, base = Tracer(), variants[0]
    numbers: list[int] = []

    def signal(_signals: Any, number: int, _t: Any) -> tuple[Value, float, float]:
        if number not in numbers:
            numbers.append(number)
        place = numbers.index(number)
        return tracer.script.load("signal", f"signals[row_of_time + {place}]"), 0.0, 0.0

    q, v, tau = tracer.array("q", nq), tracer.array("v", nv), tracer.array("tau", nv)
    powers = tracer.array("powers", accounts)
    for array in (tau, powers):
        for j in range(len(array)):
            array[j] = 0.0
    for place, element in enumerate(ELEMENTS):
        tables = [one.tables[place] for one in variants]
        records = [SymbolicRecord(tracer, parameters, [table[k] for table in tables]) for k in range(len(tables[0]))]
        if records:
            args = (records, base, None, q, v, None, tau, powers, False, None)
            try:
                tracer.run(element.apply_force, *args, replaced={signals.evaluate: signal})
            except TypeError:  # a comparison of symbols
                raise NotImplementedError(f"{element.description} that branch on the state") from None
    return tracer.lines(), numbers
