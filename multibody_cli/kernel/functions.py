"""Declaration of formulas, of choices between them, and of functions that are written as instructions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from functools import cache, cached_property
from pickle import PicklingError
from types import FunctionType
from typing import Any, get_type_hints

from multibody_cli.kernel.mode import in_mode
from multibody_cli.kernel.operators import operator_formulas
from multibody_cli.kernel.reach import Collector, Declared, Reach, reach_of, returns_nothing


class Formula(Declared):
    """A small function of values that is inlined into every kernel that calls it; Python calls are interpreted."""

    lazy = False
    """Whether it is compiled and loaded when it is first called."""

    @cached_property
    def inlined(self) -> bool:
        """Whether its callers contain its code."""
        return True

    def __init__(self, function: Callable[..., Any], recipe: tuple[Any, ...] | None = None) -> None:
        super().__init__(function)
        self.py_func, self.recipe = function, recipe

    def __call__(self, *args: Any) -> Any:
        """Run it as plain Python."""
        return in_mode(self.py_func)(*args)

    def __repr__(self) -> str:
        """Return its kind and its full name."""
        return f"<{type(self).__name__.lower()} {self.full_name}>"

    def __reduce__(self) -> Any:
        """Pickle it by name, or as its recipe: a function that makes it, and the arguments."""
        return self.recipe or pickled_by_name(self)

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names of its arguments."""
        code = self.py_func.__code__
        return code.co_varnames[: code.co_argcount]

    @cached_property
    def reach(self) -> Reach:
        """Digest of the source that it reaches."""
        return reach_of(self)

    def add_to(self, collector: Collector) -> None:
        """Add itself to the functions that a caller reaches."""
        collector.called.append(self)

    @cached_property
    def declared_result(self) -> Any:
        """The declared class of its result; `object` if it is not declared."""
        written = self.py_func.__annotations__.get("return", "object")
        return _NUMBERS.get(written) or get_type_hints(self.py_func)["return"]

    @cached_property
    def returns_nothing(self) -> bool:
        """Whether every `return` returns None, by its bytecode."""
        return returns_nothing(self.py_func.__code__)


_NUMBERS = {one.__name__: one for one in (object, bool, int, float)}


class Choice(Declared):
    """A function that dispatches to one of several formulas by the kinds of its arguments.

    Parameters
    ----------
    key
        Function from arguments, or from their types when a caller is compiled, to a key of the table.
    formulas
        The formulas by key.
    """

    def __init__(self, key: Callable[..., Any], formulas: Mapping[Any, Formula]) -> None:
        super().__init__(key)
        self.key, self.formulas = key, dict(formulas)

    def __call__(self, *args: Any) -> Any:
        """Call the formula for these arguments as plain Python."""
        return self.formulas[self.key(*args)](*args)

    def add_to(self, collector: Collector) -> None:
        """Add its formulas by key, and the source of the key."""
        for key, formula in self.formulas.items():
            collector.text(key.__qualname__ if isinstance(key, type) else repr(key))
            formula.add_to(collector)
        collector.function(self.key)


class EachNonempty(Declared):
    """A function that calls one kernel or formula for each array of a tuple that is not empty, in order.

    Its first argument is the tuple, and all are called with the others.

    Parameters
    ----------
    functions
        The kernel or formula of each array; None if an array has none.  Either all return nothing, and so does the
        function; or all return numbers, whose sum it returns.
    """

    def __init__(self, functions: Iterable[Formula | None]) -> None:
        self.functions = tuple(functions)
        super().__init__(next(one for one in self.functions if one is not None))

    def __call__(self, arrays: Sequence[Sized], *args: Any) -> Any:
        """Call the functions as plain Python, or compiled code if they are kernels."""
        pairs = zip(self.functions, arrays, strict=True)
        results = [one(*args) for one, array in pairs if one is not None and len(array) > 0]
        return None if any(one is None for one in results) else sum(results)

    def add_to(self, collector: Collector) -> None:
        """Add its functions."""
        for one in self.functions:
            collector.text("of each array" if one is not None else "none")
            if one is not None:
                one.add_to(collector)


class Instructions(Declared):
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
        super().__init__(function)
        self.py_func, self.emit = function, emit

    def __call__(self, *args: Any) -> None:
        """Run it as plain Python."""
        self.py_func(*args)

    def add_to(self, collector: Collector) -> None:
        """Add its name and the source of the writer."""
        collector.text(self.__qualname__)
        collector.function(self.emit)


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


def operator_formula(op: Any, left: type | None, right: type | None, function: Callable[[Any, Any], Any]) -> None:
    """Define an operator of two operands as a formula."""
    operator_formulas[op, left, right] = Formula(function)
