"""Kernels as generated source: a kernel runs as plain Python on symbolic arrays, which record its loads and stores.

Records, sizes and indices are numbers, so that loops and branches on them are executed.  A formula that generated
source may call stays a call.  A branch on the value of an entry is an error.
"""

from __future__ import annotations

import dis
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from types import CodeType
from typing import Any

import numpy as np

from multibody_cli.codegen.placing import BODY_FIELDS, BODY_WIDTH
from multibody_cli.kernel import Formula, in_python
from multibody_cli.kernel.functions import with_globals
from multibody_cli.spatial import products
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.symbolic.instructions import names
from multibody_cli.symbolic.scalar import FUNCTIONS, Scalar, Value, apply
from multibody_cli.symbolic.script import Script, write


class Tracer:
    """Recorder of the statements of kernels."""

    def __init__(self) -> None:
        self.script = Script()
        self._arrays: list[SymbolicArray] = []

    def array(self, name: str, size: int) -> SymbolicArray:
        """Return an array of generated source as a symbolic array."""
        self._arrays.append(SymbolicArray(self.script, name, size))
        return self._arrays[-1]

    def run(self, kernel: Any, *args: Any, replaced: Mapping[Any, Any] | None = None) -> Any:
        """Run a kernel; `replaced` are functions to call in place of those that it calls."""
        return _traced(kernel, self.script, dict(replaced or {}))(*args)

    def selected(self, word: str, a: Value, b: Value) -> Value:
        """Return the smaller (`min`) or the larger (`max`) of two values."""
        return _selected(self.script, word, a, b)

    def lines(self) -> list[str]:
        """Write the statements: those that compute, then those that store."""
        for array in self._arrays:
            array.write_back()
        return write(self.script.statements, {})


class SymbolicArray:
    """An array of generated source: entries are loaded where they are first used, and stored at the end."""

    def __init__(self, script: Script, name: str, size: int) -> None:
        self._script, self._name, self._size = script, name, size
        self._values: dict[int, Value] = {}
        self._changed: dict[int, None] = {}

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Value]:
        return (self[k] for k in range(self._size))

    def __getitem__(self, k: int) -> Value:
        if k not in self._values:
            self._values[k] = self._script.load(f"{self._name}_entry", f"{self._name}[{k}]")
        return self._values[k]

    def __setitem__(self, k: int, value: Value) -> None:
        self._values[k] = value
        self._changed[k] = None

    def write_back(self) -> None:
        """Store the entries that were changed."""
        for k in self._changed:
            self._script.store(f"{self._name}[{k}]", self._values[k])


class _Mathematics:
    """The module `math` for formulas."""

    def __getattr__(self, word: str) -> Any:
        return getattr(math, word) if word not in FUNCTIONS else lambda *operands: apply(word, *operands)


def _traced(function: Any, script: Script, replaced: Mapping[Any, Any]) -> Callable[..., Any]:
    """Return a function as plain Python in which formulas of generated source write calls."""
    if function in replaced:
        own: Callable[..., Any] = replaced[function]
        return own
    word = _called_by_name().get(function)
    if word is not None:
        return _call(script, word, function)
    plain: Any = function.py_func
    values = {name: plain.__globals__.get(name) for name in _globals_in(plain.__code__)}
    found: dict[str, Any] = {
        name: _traced(one, script, replaced) for name, one in values.items() if isinstance(one, Formula)
    }
    if values.get("math") is math:
        found["math"] = _Mathematics()
    found |= {word: partial(_selected, script, word) for word in _SELECTIONS if word in values}
    traced: Callable[..., Any] = with_globals(plain, found)
    return traced


@lru_cache(maxsize=4096)
def _globals_in(code: CodeType) -> list[str]:
    """Return the global names that a function loads, sorted; its attributes are not among them."""
    return sorted({one.argval for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"})


def _selected(script: Script, word: str, a: Value, b: Value) -> Value:
    constants = [one for one in (a, b) if not isinstance(one, Scalar)]
    if len(constants) == 2:
        return _SELECTIONS[word](constants)
    if constants and math.isinf(constants[0]):  # the first value of a search
        return next(one for one in (a, b) if isinstance(one, Scalar))
    return script.call(["choice"], word, a, b)[0]


_SELECTIONS: dict[str, Callable[[Iterable[float]], float]] = {"min": min, "max": max}


@cache
def _called_by_name() -> dict[Any, str]:
    return {function: word for word, function in names().items() if isinstance(function, Formula)}


def _call(script: Script, word: str, function: Formula) -> Callable[..., Any]:
    def call(*operands: Value) -> Any:
        sample = function(*(0.5 for _ in operands))
        if isinstance(sample, tuple):
            return script.call([f"{word}_result"] * len(sample), word, *operands)
        return script.call([f"{word}_result"], word, *operands)[0]

    return call


transposed_times = in_python(products.transposed_times)


class SymbolicBody:
    """A placed body, whose fields are entries of arrays; row 0 is the ground.

    `bodies` holds poses and velocities in world axes (`codegen.placing`); `bias` receives the opposites of the applied
    wrenches, about the origin of the joint frame of each body and in its axes.
    """

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
