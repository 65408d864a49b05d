"""Bodies of generated source for the kernels of forces: placed bodies whose fields are entries of arrays.

`bodies` holds poses and velocities in world axes (`codegen.placing`); `bias` receives the opposites of the applied
wrenches, about the origin of the joint frame of each body and in its axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.codegen.placing import BODY_FIELDS, BODY_WIDTH
from multibody_cli.kernel import in_python
from multibody_cli.lanes.tracing import Tracer
from multibody_cli.spatial import products
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.symbolic.scalar import Value

transposed_times = in_python(products.transposed_times)


class SymbolicBody:
    """A placed body; row 0 is the ground."""

    def __init__(self, tracer: Tracer, row: int) -> None:
        self._tracer, self._row = tracer, row
        self.t, self.f = np.full((2, 3), 0.0, object)  # the opposite of the wrench on it

    def __getattr__(self, word: str) -> Any:
        first, size = BODY_FIELDS[word]
        values = np.array([self._number(first + k) for k in range(size)], object)
        setattr(self, word, values)
        return values

    def _number(self, k: int) -> Value:
        if self._row == 0:
            return 1.0 if k in (0, 4, 8) else 0.0
        return self._tracer.script.load("body", f"bodies[{BODY_WIDTH * self._row + k}]")

    def store_wrench(self) -> None:
        """Store the opposite of the wrench on the body."""
        R, p = load(self.R), load_force(self)
        for k, number in enumerate([*transposed_times(R, p.t), *transposed_times(R, p.f)]):
            self._tracer.script.store(f"bias[{6 * self._row + k}]", number)


class SymbolicBodies:
    """The bodies of a model, by their rows."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._bodies: dict[int, SymbolicBody] = {}

    def __getitem__(self, row: int) -> SymbolicBody:
        return self._bodies.setdefault(row, SymbolicBody(self._tracer, row))

    def store_wrenches(self) -> None:
        """Store the wrenches on all bodies that kernels have read."""
        for row, body in self._bodies.items():
            if row > 0:
                body.store_wrench()
