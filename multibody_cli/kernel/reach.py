"""The reach of a kernel: one digest of all source that it reaches by its calls.

The digest of a function covers its bytecode without line numbers and docstring, the values of the globals that it
reads, and the digests of the kernels and formulas that it calls.  Comments, docstrings and functions that are not
called do not affect it.  An operator of values includes all formulas of that operator.
"""

from __future__ import annotations

import dis
import operator
import re
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from hashlib import sha256
from importlib import import_module
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from multibody_cli.kernel.operators import OPERATORS, operand_classes, operator_formulas


class Reach(NamedTuple):
    """Reach of a function: its digest, and the names that occur in it."""

    digest: str
    names: frozenset[str]


class Declared:
    """A function for kernels, with the name of a plain one; it adds the sources of its callers to their digest."""

    __name__: str
    __qualname__: str

    def __init__(self, function: Any) -> None:
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__

    @property
    def full_name(self) -> str:
        """Module and qualified name of the function."""
        return f"{self.__module__}.{self.__qualname__}"

    def add_to(self, collector: Collector) -> None:
        """Add the function to the reach of a caller."""
        raise NotImplementedError


class Collector:
    """Collector of the text of one digest, and of the formulas and kernels that are called."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self.called: list[Any] = []

    def text(self, *words: str) -> None:
        """Add words."""
        self._words += words

    def digest(self) -> str:
        """Return the digest."""
        return sha256("".join([f"{len(word)}:{word}" for word in self._words]).encode()).hexdigest()

    def code(self, code: CodeType) -> None:
        """Add bytecode, with constants by value: their indices shift with a docstring, which is never loaded."""
        self.text(code.co_name, repr(code.co_varnames), repr(code.co_names), repr(code.co_freevars))
        text, constants = bytearray(code.co_code), []
        for found in _CONSTANT.finditer(text[::2]):
            k = found.end() - 1
            constants.append(code.co_consts[_argument(text, found)])
            text[2 * k + 1] = 0
            if len(found[0]) > 1:
                text[2 * k - 1] = 0
        self.text(text.hex(), str(code.co_argcount))
        for constant in constants:
            if isinstance(constant, CodeType):
                self.code(constant)
            else:
                self.text(type(constant).__name__, repr(constant))

    def value(self, place: str, value: Any) -> None:
        """Add the value of a global."""
        if isinstance(value, Declared):
            value.add_to(self)
        elif isinstance(value, type) and issubclass(value, tuple):
            self.text("named tuple", value.__module__, value.__qualname__, repr(getattr(value, "_fields", ())))
            self.text(str(value in operand_classes))
        elif isinstance(value, type | ModuleType | BuiltinFunctionType | np.ufunc):
            self.text("foreign", getattr(value, "__module__", None) or "", value.__name__)
        elif isinstance(value, Enum):
            self.text("entry", repr(value.value))
        elif isinstance(value, np.ndarray):
            self.text("array", str(value.dtype), str(value.shape), value.tobytes().hex())
        elif isinstance(value, bool | int | float | str | bytes | np.generic | np.dtype | None):
            self.text(type(value).__name__, repr(value))
        elif isinstance(value, tuple):
            self.text("tuple", str(len(value)))
            for one in value:
                self.value(place, one)
        elif callable(value) and _is_foreign(value):
            self.text("foreign", value.__module__, value.__name__)
        else:
            raise TypeError(
                f"{place}, a {type(value).__name__}: kernels read numbers, tables, and functions for kernels"
            )

    def function(self, function: Any) -> None:
        """Add a plain function that affects compiled code, with the functions of this package that it calls."""
        self.text(_digest_of_function(function))


@cache
def _digest_of_function(function: Any) -> str:
    collector = Collector()
    assert isinstance(function, FunctionType)
    collector.code(function.__code__)
    for path, value in _globals(function):
        collector.text(path)
        if isinstance(value, FunctionType):
            if value is not function and value.__module__.partition(".")[0] == __name__.partition(".")[0]:
                collector.function(value)
        elif not isinstance(value, list | dict):  # registries that are filled at import are not covered
            collector.value(path, value)
    return collector.digest()


class _LocalSource(NamedTuple):
    """Properties of one function alone: its digest, its names, the functions that it calls, its operators."""

    digest: str
    names: frozenset[str]
    called: tuple[Any, ...]
    operators: frozenset[Any]


@cache
def _local_source(formula: Any) -> _LocalSource:
    collector = Collector()
    function = formula.py_func
    if function.__closure__ or function.__defaults__ or function.__kwdefaults__:
        raise TypeError(f"{formula.full_name}: a kernel has no closure and no default arguments")
    collector.text(formula.full_name)  # compiled callers name it, to have it compiled
    collector.code(function.__code__)
    if not formula.inlined:
        collector.text("returns", _words_of(formula.declared_result))
    for path, value in _globals(function):
        collector.text(path)
        if value is not formula:
            collector.value(f"{formula.full_name} reads {path}", value)
    codes = list(_codes(function.__code__))
    names = frozenset(name for code in codes for name in code.co_names)
    operators = frozenset(op for code in codes for op in _operators(code))
    return _LocalSource(collector.digest(), names, tuple(collector.called), operators)


@cache
def _words_of(declared: Any) -> str:
    """Return the text of a declared result, with the fields of classes: callers are compiled with it."""
    if get_origin(declared) is tuple:
        return f"tuple({','.join(map(_words_of, get_args(declared)))})"
    if isinstance(declared, type) and issubclass(declared, tuple):
        fields = ",".join(f"{name}:{_words_of(one)}" for name, one in get_type_hints(declared).items())
        return f"{declared.__module__}.{declared.__qualname__}({fields})"
    return str(declared)


def reach_of(formula: Any) -> Reach:
    """Return the reach of a kernel or formula.

    Raises
    ------
    TypeError
        If it reads a global that is not defined, or whose value no digest can cover.
    """
    own = _local_source(formula)
    digest = sha256(own.digest.encode())
    names = set(own.names)
    for called in own.called:
        how = "inlines" if called.inlined else "calls lazily" if called.lazy else "calls"
        digest.update(f"{how} {called.reach.digest} ".encode())
        names |= called.reach.names
    for op in sorted(own.operators, key=lambda op: op.__name__):
        of_operator = _reach_of_operator(op)
        digest.update(of_operator.digest.encode())
        names |= of_operator.names
    return Reach(digest.hexdigest(), frozenset(names))


@cache
def _reach_of_operator(op: Any) -> Reach:
    """Return the reach of all formulas of an operator, which may use each other.

    It is that of all values, whether or not the kernel or this process has imported them: processes agree on it.
    """
    import_module(OPERATORS)
    left = [formula for (found, _, _), formula in operator_formulas.items() if found is op]
    seen: set[Any] = set()
    digests: list[str] = []
    names: set[str] = set()
    while left:
        formula = left.pop()
        if formula in seen:
            continue
        seen.add(formula)
        own = _local_source(formula)
        digests.append(own.digest)
        names |= own.names
        left += own.called
        left += [one for (found, _, _), one in operator_formulas.items() if found in own.operators]
    keys = [(str(one) for one in key) for key in operator_formulas if key[0] is op]
    words = [" ".join(key) for key in keys]
    return Reach(sha256(" ".join(sorted(digests) + words).encode()).hexdigest(), frozenset(names))


# --- bytecode -----------------------------------------------------------------------------------------------------
# Operation codes are every second byte; regular expressions search them faster than `dis` decodes them.
_CODES = {word: re.escape(bytes([code])) for word, code in dis.opmap.items() if code < 256}


def _any_of(*words: str) -> bytes:
    """Return the expression of one of some operations, of those that this version of Python has."""
    return (
        b"[" + b"".join(_CODES[word] for word in words if word in _CODES) + b"]"
        if {*words} & _CODES.keys()
        else b"(?!)"
    )


_GLOBAL, _ATTRIBUTE = _any_of("LOAD_GLOBAL", "LOAD_NAME"), _any_of("LOAD_ATTR", "LOAD_METHOD")
_LONG, _CACHES = _CODES["EXTENDED_ARG"] + b"?", _CODES["CACHE"] + b"*"
_CHAIN = re.compile(_LONG + _GLOBAL + b"(?:" + _CACHES + _LONG + _ATTRIBUTE + b")*")
_LOAD = re.compile(_LONG + b"(?:" + _GLOBAL + b"|" + _ATTRIBUTE + b")")
_CONSTANT = re.compile(_LONG + _any_of("LOAD_CONST", "RETURN_CONST", "KW_NAMES"))
_BINARY = re.compile(_CODES["BINARY_OP"])
_RETURN = re.compile(_any_of("RETURN_VALUE", "RETURN_CONST"))
_RETURN_OF_CONSTANT = re.compile(_any_of("LOAD_CONST") + _any_of("RETURN_VALUE") + b"|" + _any_of("RETURN_CONST"))
_LOAD_GLOBAL, _LOAD_ATTR = dis.opmap["LOAD_GLOBAL"], dis.opmap["LOAD_ATTR"]
_NEWER = sys.version_info >= (3, 12)  # the lowest bit of an attribute's index marks a method call
_OPERATORS = {"@": operator.matmul, "+": operator.add, "-": operator.sub, "*": operator.mul}


def _argument(text: bytes | bytearray, found: re.Match[bytes]) -> int:
    """Return the argument of an instruction, with that of the one before it if its index is large."""
    k = 2 * found.end() - 1
    return text[k] | text[k - 2] << 8 if len(found[0]) > 1 else text[k]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _operators(code: CodeType) -> Iterator[Any]:
    """Yield the operators of values that occur."""
    text = code.co_code
    for found in _BINARY.finditer(text[::2]):
        symbol = dis._nb_ops[text[2 * found.end() - 1]][1].removesuffix("=")  # type: ignore[attr-defined]
        if symbol in _OPERATORS:
            yield _OPERATORS[symbol]


def returns_nothing(code: CodeType) -> bool:
    """Return whether every `return` of a function returns None."""
    text = code.co_code
    operations = text[::2]
    constants = [code.co_consts[text[2 * found.start() + 1]] for found in _RETURN_OF_CONSTANT.finditer(operations)]
    return len(_RETURN.findall(operations)) == sum(one is None for one in constants)


def global_names(function: Any) -> set[str]:
    """Return the names of the globals that a function reads."""
    return {path.partition(".")[0] for path, _ in _globals(function)}


def _globals(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the globals that a function reads, with attributes of modules and classes followed, each once."""
    names = function.__globals__
    builtins = names.get("__builtins__", {})
    builtins = builtins if isinstance(builtins, dict) else vars(builtins)
    seen: set[str] = set()
    for code in _codes(function.__code__):
        text = code.co_code
        operations = text[::2]
        for chain in _CHAIN.finditer(operations):
            path, value = "", None
            for found in _LOAD.finditer(operations, chain.start(), chain.end()):
                number, operation = _argument(text, found), text[2 * found.end() - 2]
                if not path:
                    path = code.co_names[number >> 1 if operation == _LOAD_GLOBAL else number]
                    if path not in names and path not in builtins:
                        where = f"{function.__module__}.{function.__qualname__}"
                        raise TypeError(f"{where} reads {path}, which is not defined")
                    value = names.get(path, builtins.get(path))
                elif isinstance(value, ModuleType | type) and not _is_foreign(value):
                    word = code.co_names[number >> 1 if _NEWER and operation == _LOAD_ATTR else number]
                    path, value = f"{path}.{word}", getattr(value, word)
                else:
                    break
            if path not in seen:
                seen.add(path)
                yield path, value


def _is_foreign(value: Any) -> bool:
    """Whether a module or class belongs to another package, whose version is part of the cache folder."""
    name = value.__name__ if isinstance(value, ModuleType) else value.__module__
    return name.partition(".")[0] in ("numpy", "math", "builtins", "operator")
