"""Declaration of kernels and formulas; it imports neither numba nor llvmlite.

A kernel that returns a value may declare its class, as in `-> int`: its callers are then compiled without waiting for
it.
"""

from __future__ import annotations

import dis
import importlib
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pickle import PicklingError
from types import FunctionType
from typing import Any, get_type_hints

from multibody_cli.kernel.mode import is_interpreted


@dataclass(frozen=True)
class Reach:
    """Reach of a function: its digest, the names that occur in it, and the kernels that it calls."""

    digest: str
    names: frozenset[str]
    kernels: frozenset[Formula]


class Formula:
    """A small function of values that is inlined into every kernel that calls it; Python calls are interpreted."""

    @cached_property
    def inlined(self) -> bool:
        """Whether its callers contain its code."""
        return True

    def __init__(self, function: Callable[..., Any], recipe: tuple[Any, ...] | None = None) -> None:
        self.py_func = function
        self.recipe = recipe
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: Any) -> Any:
        """Run it as plain Python."""
        return self.py_func(*args)

    def __repr__(self) -> str:
        """Return its kind and its full name."""
        return f"<{type(self).__name__.lower()} {self.full_name}>"

    def __reduce__(self) -> Any:
        """Pickle it by name, or as its recipe: a function that makes it, and the arguments."""
        return self.recipe or pickled_by_name(self)

    @property
    def full_name(self) -> str:
        """Module and qualified name of the function."""
        return f"{self.__module__}.{self.__qualname__}"

    @cached_property
    def reach(self) -> Reach:
        """Digest of the source that it reaches."""
        from multibody_cli.kernel.reach import reach_of

        return reach_of(self)

    @cached_property
    def declared_result(self) -> Any:
        """The declared class of its result; `object` if it is not declared."""
        written = self.py_func.__annotations__.get("return", "object")
        return _NUMBERS.get(written) or get_type_hints(self.py_func)["return"]

    @cached_property
    def returns_nothing(self) -> bool:
        """Whether every `return` returns None, by its bytecode."""
        before = None
        for one in dis.get_instructions(self.py_func):
            if one.opname == "RETURN_VALUE" and not (
                before and before.opname == "LOAD_CONST" and before.argval is None
            ):
                return False
            if one.opname == "RETURN_CONST" and one.argval is not None:
                return False
            before = one
        return True

    @property
    def _numba_type_(self) -> Any:
        """Type of this function for numba, in a compiled caller."""
        from multibody_cli.kernel.compiler import callee_type

        return callee_type(self)


_NUMBERS = {one.__name__: one for one in (object, bool, int, float)}

MAX_INLINED_BYTES = 360
"""Size of the bytecode in bytes up to which a kernel is inlined.

Measured on 16 boxes, us a step: no inlining 183, up to 260 bytes 159, 440 bytes 129, 600 bytes 114; compiling contacts
from scratch takes 22, 22, 25 and 28 s.
"""


class Kernel(Formula):
    """A function of arrays and numbers that is compiled to object code of its own, unless it is small.

    Raises
    ------
    KernelError
        When it is called, if it cannot be compiled or loaded.
    """

    @cached_property
    def inlined(self) -> bool:
        """Whether it is small enough to be inlined like a formula."""
        return len(self.py_func.__code__.co_code) <= MAX_INLINED_BYTES

    @cached_property
    def _entries(self) -> dict[tuple[Any, ...], Callable[..., Any]]:
        return {}

    def __call__(self, *args: Any) -> Any:
        """Call the compiled code for these kinds of arguments; compile it first if it is missing."""
        if is_interpreted():
            return self.py_func(*args)
        from multibody_cli.kernel.arguments import Arguments

        arguments = Arguments(args)
        return self._entry(arguments)(arguments)

    def _entry(self, arguments: Any) -> Any:
        entry = self._entries.get(arguments.key)
        if entry is None:
            from multibody_cli.kernel.loading import entry_of

            entry = self._entries[arguments.key] = entry_of(self, arguments.kinds)
        return entry

    def on(self, *leading: Any) -> Callable[..., Any]:
        """Return the kernel with its leading arguments fixed, as a function of numbers, for many fast calls.

        The kinds of the numbers are those of the first call.  Arrays and tuples of arrays are neither resized nor
        replaced in the meantime.
        """
        if is_interpreted():
            return partial(self.py_func, *leading)
        prepared: Callable[..., Any] | None = None

        def call(*numbers: Any) -> Any:
            nonlocal prepared
            if prepared is None:
                prepared = self.prepared(leading, numbers)
            return prepared(*numbers)

        return call

    def prepared(self, leading: tuple[Any, ...], numbers: tuple[Any, ...]) -> Callable[..., Any]:
        """Return what `on` returns, for numbers of the kinds of `numbers`, and without a check in each call."""
        if is_interpreted():
            return partial(self.py_func, *leading)
        from multibody_cli.kernel.arguments import Arguments

        arguments = Arguments((*leading, *numbers))
        return self._entry(arguments).on(arguments, len(numbers))  # type: ignore[no-any-return]


class Choice:
    """A function that dispatches to one of several formulas by the kinds of its arguments.

    Parameters
    ----------
    key
        Function from arguments, or from their types when a caller is compiled, to a key of the table.
    formulas
        The formulas by key.
    """

    def __init__(self, key: Callable[..., Any], formulas: Mapping[Any, Formula]) -> None:
        self.key, self.formulas = key, dict(formulas)
        self.__name__, self.__module__ = key.__name__, key.__module__
        self.__qualname__, self.__doc__ = key.__qualname__, key.__doc__

    def __call__(self, *args: Any) -> Any:
        """Call the formula for these arguments as plain Python."""
        return self.formulas[self.key(*args)].py_func(*args)

    @property
    def _numba_type_(self) -> Any:
        from multibody_cli.kernel.compiler import choice_type

        return choice_type(self)


class Instructions:
    """A function whose compiled form is written as LLVM instructions.

    Parameters
    ----------
    function
        Its plain Python form.
    emit
        Writer of its compiled form: `emit(context, builder, types, args)`, with numba's types and LLVM values of the
        arguments.
    """

    def __init__(self, function: Callable[..., None], emit: Callable[..., None]) -> None:
        self.py_func, self.emit = function, emit
        self.__name__, self.__module__ = function.__name__, function.__module__
        self.__qualname__, self.__doc__ = function.__qualname__, function.__doc__

    def __call__(self, *args: Any) -> None:
        """Run it as plain Python."""
        self.py_func(*args)

    @property
    def _numba_type_(self) -> Any:
        from multibody_cli.kernel.compiler import instructions_type

        return instructions_type(self)


def kernel(function: Any) -> Any:
    """Declare a kernel."""
    return Kernel(function)


def formula(function: Any) -> Any:
    """Declare a formula."""
    return Formula(function)


def chosen(formulas: Mapping[Any, Callable[..., Any]]) -> Callable[[Callable[..., Any]], Choice]:
    """Declare a function that dispatches to one of several formulas; the decorated function returns the key."""
    return lambda key: Choice(key, {word: Formula(function) for word, function in formulas.items()})


def instructions(emit: Callable[..., None]) -> Callable[[Callable[..., None]], Instructions]:
    """Declare a function without result, whose compiled form is written by `emit`."""
    return lambda function: Instructions(function, emit)


def pickled_by_name(function: Any) -> tuple[Any, ...]:
    """Return the reduced form of a declared function for pickle: its module and name.

    Raises
    ------
    PicklingError
        If it cannot be imported by name.
    """
    module, name = function.__module__, function.__qualname__
    if "<locals>" in name or module == "__main__" or _declared(module, name) is not function:
        raise PicklingError(f"{function.full_name} cannot be imported by name")
    return _declared, (module, name)


def _declared(module: str, name: str) -> Any:
    """Return a declared function by its name."""
    found: Any = importlib.import_module(module)
    for word in name.split("."):
        found = getattr(found, word)
    return found


def with_globals(function: Any, names: Mapping[str, Any]) -> Any:
    """Copy a function, with other values of some global names."""
    copy = FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__)
    copy.__qualname__, copy.__module__, copy.__doc__ = function.__qualname__, function.__module__, function.__doc__
    copy.__annotations__ = function.__annotations__
    return copy


@cache
def in_python(function: Any) -> Any:
    """Return a formula and all that it calls as plain Python, for values whose components are not numbers of numba."""
    plain = getattr(function, "py_func", function)
    called = {word: plain.__globals__.get(word) for word in plain.__code__.co_names}
    return with_globals(plain, {word: in_python(one) for word, one in called.items() if isinstance(one, Formula)})


# --- operators of value classes -----------------------------------------------------------------------------------
operand_classes: list[type] = []
"""Named tuples whose `+`, `-`, unary `-` and product with a number operate component by component, at any depth."""

OPERATORS = "multibody_cli.spatial.products"
"""The module that defines the operators of all value classes."""

operator_formulas: dict[tuple[Any, Any, Any], Formula] = {}
"""Other operators: formulas by operator and the classes of both operands, None for a number."""


def operator_formula(op: Any, left: type | None, right: type | None, function: Callable[[Any, Any], Any]) -> None:
    """Define an operator of two operands as a formula."""
    operator_formulas[op, left, right] = Formula(function)


def operand_class(operand: Any) -> type | None:
    """Return the value class of a value or of its type in compiled code; None for a number."""
    found: type = getattr(operand, "instance_class", type(operand))
    return found if found in operand_classes else None


COMPONENTWISE = (operator.add, operator.sub, operator.mul, operator.neg)
"""Operators that operate component by component."""
