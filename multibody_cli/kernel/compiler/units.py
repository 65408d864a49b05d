"""Compilation units, and functions as their callers see them: numba's types of kernels, formulas and choices."""

from __future__ import annotations

import base64
import inspect
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol

from numba.core import cgutils, types
from numba.core.datamodel import models, register_default
from numba.core.typing.templates import signature

from multibody_cli.kernel import store
from multibody_cli.kernel.compiler.block_types import declared_result, describe, narrowed
from multibody_cli.kernel.compiler.lazy_calls import lazy_function
from multibody_cli.kernel.compiler.words import CompilerError
from multibody_cli.kernel.functions import Choice, EachNonempty, Formula, Instructions
from multibody_cli.kernel.reach import Declared
from multibody_cli.kernel.store import Code, as_recipe, compiler_digest


class Session(Protocol):
    """A process that compiles: units ask it for the code of formulas, and report kernels that are called."""

    def compile(self, unit: CompilationUnit) -> Code:
        """Compile a unit and store its code."""
        ...

    def calls(self, unit: CompilationUnit) -> None:
        """Handle a call of a kernel."""
        ...


_sessions: list[Session] = []


@contextmanager
def compiling_in(session: Session) -> Iterator[None]:
    """Let units use a session inside a `with` statement."""
    _sessions.append(session)
    try:
        yield
    finally:
        _sessions.pop()


class CompilationUnit:
    """A compilation unit: a kernel or formula for arguments of given types, as its callers see it."""

    def __init__(self, function: Formula, args: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, args
        words = " ".join(map(describe, args))
        digest = sha256(f"{compiler_digest()} {function.reach.digest} {words}".encode()).hexdigest()
        self.symbol = ("f" if function.inlined else "k") + digest[:31]
        self._result: Any = declared_result(function)

    @cached_property
    def lazy(self) -> bool:
        """Whether callers load it when they first call it; only code that any process can compile."""
        return self.function.lazy and bool(self.recipe)

    @property
    def result(self) -> Any:
        """The type of its result; compiles the function if it is not declared."""
        if self._result is None and self.function.lazy:
            raise CompilerError(f"{self.function.full_name}: a lazy kernel declares its result")
        if self._result is None:
            self._result = pickle.loads(base64.b64decode(self.compiled().result))
        return self._result

    def compiled(self) -> Code:
        """Return its code, from the store or compiled now."""
        code = _complete(self.symbol)
        if code is None:
            with store.lock(self.symbol):
                code = _complete(self.symbol) or _sessions[-1].compile(self)
        return code

    @cached_property
    def recipe(self) -> bytes:
        """Its recipe for any process; empty if its function cannot be imported by name."""
        try:
            return as_recipe("unit", self.function, self.arguments)
        except (pickle.PicklingError, AttributeError):
            return b""

    def call(self, context: Any, builder: Any, args: Any) -> Any:
        """Write a call of the function."""
        context.active_code_library.units[self.symbol] = self
        result = self.result  # before the call is reported, to avoid waiting for another process that compiles it
        kind = context.call_conv.get_function_type(result, self.arguments)
        if self.lazy:
            function = lazy_function(builder.module, kind, self.symbol)
        else:
            function = cgutils.get_or_insert_function(builder.module, kind, self.symbol)
            if not self.function.inlined:
                _sessions[-1].calls(self)
        status, value = context.call_conv.call_function(builder, function, result, self.arguments, args)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return value


_complete_symbols: set[str] = set()


def _complete(symbol: str) -> Code | None:
    """Return code from the store, if all formulas that its bitcode requires are there."""
    code = store.find(symbol)
    if code is None or symbol in _complete_symbols:
        return code
    if any(_complete(one) is None for one in code.inlines):
        return None
    _complete_symbols.add(symbol)
    return code


_units: dict[Any, CompilationUnit] = {}
_units_by_symbol: dict[str, CompilationUnit] = {}


def unit_of(function: Formula, args: Any) -> CompilationUnit:
    """Return the compilation unit of a kernel or formula for arguments of these types."""
    names = function.reach.names
    args = tuple(narrowed(one, names) for one in args)
    key = function, args
    if key not in _units:
        _units[key] = unit = CompilationUnit(function, args)
        _units_by_symbol[unit.symbol] = unit
    return _units[key]


def code_of(symbol: str) -> Code | None:
    """Return the code of a formula, compiled now if it is a unit of this process; None if it is neither."""
    unit = _units_by_symbol.get(symbol)
    return unit.compiled() if unit else store.find(symbol)


class _InlineInstructions:
    """A function written as instructions, in the place of a unit."""

    result = types.none

    def __init__(self, function: Instructions, args: Any) -> None:
        self.function, self.arguments = function, tuple(map(types.unliteral, args))

    def call(self, context: Any, builder: Any, args: Any) -> Any:
        """Write the instructions."""
        self.function.emit(context, builder, self.arguments, args)
        return context.get_dummy_value()


class _CallsOfEach:
    """The calls of `EachNonempty`, in the place of a unit."""

    def __init__(self, function: EachNonempty, args: Any) -> None:
        self.arguments = tuple(map(types.unliteral, args))
        self._units = [None if one is None else unit_of(one, self.arguments[1:]) for one in function.functions]
        results = {unit.result for unit in self._units if unit}
        if len(self.arguments[0]) != len(self._units) or results not in ({types.none}, {types.float64}):
            raise CompilerError(f"{function.full_name}: expected a tuple of {len(self._units)} arrays, and one result")
        (self.result,) = results

    def call(self, context: Any, builder: Any, args: Any) -> Any:
        """Write the calls, each under the condition that its array has rows."""
        arrays, *others = args
        sum_of = cgutils.alloca_once_value(builder, context.get_constant_null(self.result))
        for k, unit in enumerate(self._units):
            if unit is None:
                continue
            array = context.make_array(self.arguments[0][k])(context, builder, builder.extract_value(arrays, k))
            with builder.if_then(cgutils.is_not_null(builder, builder.extract_value(array.shape, 0))):
                kinds = zip(others, self.arguments[1:], unit.arguments, strict=True)
                value = unit.call(context, builder, [context.cast(builder, *one) for one in kinds])
                if self.result != types.none:
                    builder.store(builder.fadd(builder.load(sum_of), value), sum_of)
        return builder.load(sum_of)


class Callee(types.Callable, types.Opaque):
    """The type of a kernel, a formula, a choice of formulas, their calls for arrays, or of instructions."""

    def __init__(self, function: Declared) -> None:
        self.function: Any = function
        super().__init__(f"{function.__module__}.{function.__qualname__} {id(function)}")

    def unit_for(self, args: Any) -> Any:
        """Return the unit that is called with arguments of these types."""
        if isinstance(self.function, Instructions):
            return _InlineInstructions(self.function, args)
        if isinstance(self.function, EachNonempty):
            return _CallsOfEach(self.function, args)
        chosen = self.function
        return unit_of(chosen.formulas[chosen.key(*args)] if isinstance(chosen, Choice) else chosen, args)

    def get_call_type(self, context: Any, args: Any, keywords: Any) -> Any:
        """Return the signature for arguments of these types."""
        if keywords:
            args = inspect.signature(self.function.py_func).bind(*args, **keywords).args
        unit = self.unit_for(args)
        return signature(unit.result, *unit.arguments)

    def get_call_signatures(self) -> Any:
        """Return no signatures: arguments of any types are accepted."""
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        """Return the key by which numba looks up an implementation."""
        return type(self), sig.args


register_default(Callee)(models.OpaqueModel)
