"""The reach of a kernel: one digest of all source that it reaches by its calls.

The digest of a function covers its bytecode without line numbers and docstring, the values of the globals that it
reads, and the digests of the kernels and formulas that it calls.  Comments, docstrings and functions that are not
called do not affect it.  An operator of values includes all formulas of that operator.
"""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from hashlib import sha256
from importlib import import_module
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from multibody_cli.kernel.functions import (
    OPERATORS,
    Choice,
    Formula,
    Instructions,
    Reach,
    operand_classes,
    operator_formulas,
)

_OPERATORS = {"@": operator.matmul, "+": operator.add, "-": operator.sub, "*": operator.mul}


class _Collector:
    """Collector of the text of one digest, and of the functions that are called."""

    def __init__(self) -> None:
        self._digest = sha256()
        self.called: list[Formula] = []

    def text(self, *words: str) -> None:
        for word in words:
            self._digest.update(f"{len(word)}:{word}".encode())

    def digest(self) -> str:
        return self._digest.hexdigest()


@dataclass(frozen=True)
class _LocalSource:
    """Properties of one function alone: its digest, its names, the functions that it calls, its operators."""

    digest: str
    names: frozenset[str]
    called: tuple[Formula, ...]
    operators: frozenset[Any]


@cache
def _local_source(formula: Formula) -> _LocalSource:
    collector = _Collector()
    function = formula.py_func
    code = function.__code__
    if function.__closure__ or function.__defaults__ or function.__kwdefaults__:
        raise TypeError(f"{formula.full_name}: a kernel has no closure and no default arguments")
    collector.text(formula.full_name)  # compiled callers name it, to have it compiled
    _add_code(collector, code)
    if not formula.inlined:
        collector.text("returns", _words_of(formula.declared_result))
    for path, value in _globals(function):
        collector.text(path)
        if value is not formula:
            _add_value(collector, f"{formula.full_name} reads {path}", value)
    symbols = {symbol for sort, symbol in _instructions(code) if sort == "operator"}
    operators = {_OPERATORS[symbol] for symbol in symbols & _OPERATORS.keys()}
    return _LocalSource(collector.digest(), frozenset(_names(code)), tuple(collector.called), frozenset(operators))


@cache
def _words_of(declared: Any) -> str:
    """Return the text of a declared result, with the fields of classes: callers are compiled with it."""
    if get_origin(declared) is tuple:
        return f"tuple({','.join(map(_words_of, get_args(declared)))})"
    if isinstance(declared, type) and issubclass(declared, tuple):
        fields = ",".join(f"{name}:{_words_of(one)}" for name, one in get_type_hints(declared).items())
        return f"{declared.__module__}.{declared.__qualname__}({fields})"
    return str(declared)


def reach_of(formula: Formula) -> Reach:
    """Return the reach of a kernel or formula.

    Raises
    ------
    TypeError
        If it reads a global that is not defined, or whose value no digest can cover.
    """
    own = _local_source(formula)
    digest = sha256(own.digest.encode())
    names = set(own.names)
    kernels: set[Formula] = set()
    for called in own.called:
        digest.update(f"{'inlines' if called.inlined else 'calls'} {called.reach.digest} ".encode())
        names |= called.reach.names
        kernels |= called.reach.kernels
        if not called.inlined:
            kernels.add(called)
    for op in sorted(own.operators, key=lambda op: op.__name__):
        of_operator = _reach_of_operator(op)
        digest.update(of_operator.digest.encode())
        names |= of_operator.names
    return Reach(digest.hexdigest(), frozenset(names), frozenset(kernels))


@cache
def _reach_of_operator(op: Any) -> Reach:
    """Return the reach of all formulas of an operator, which may use each other.

    It is that of all values, whether or not the kernel or this process has imported them: processes agree on it.
    """
    import_module(OPERATORS)
    left = [formula for (found, _, _), formula in operator_formulas.items() if found is op]
    seen: set[Formula] = set()
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
    return Reach(sha256(" ".join(sorted(digests) + words).encode()).hexdigest(), frozenset(names), frozenset())


_CONSTANTS = {dis.opmap[word] for word in ("LOAD_CONST", "RETURN_CONST", "KW_NAMES") if word in dis.opmap}


def _add_code(collector: _Collector, code: CodeType) -> None:
    """Add bytecode, with constants by value: their indices shift with a docstring, which is never loaded."""
    collector.text(code.co_name, repr(code.co_varnames), repr(code.co_names), repr(code.co_freevars))
    text, constants = bytearray(code.co_code), []
    operations = bytes(text[::2])
    for k in [k for k, op in enumerate(operations) if op in _CONSTANTS]:
        number, before = text[2 * k + 1], k - 1
        if before >= 0 and operations[before] == dis.EXTENDED_ARG:
            number |= text[2 * before + 1] << 8
            text[2 * before + 1] = 0
        constants.append(code.co_consts[number])
        text[2 * k + 1] = 0
    collector.text(text.hex(), str(code.co_argcount))
    for constant in constants:
        if isinstance(constant, CodeType):
            _add_code(collector, constant)
        else:
            collector.text(type(constant).__name__, repr(constant))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


_LOADS = {dis.opmap[word] for word in ("LOAD_GLOBAL", "LOAD_NAME") if word in dis.opmap}
_ATTRIBUTES = {dis.opmap[word] for word in ("LOAD_ATTR", "LOAD_METHOD") if word in dis.opmap}
_CACHE, _BINARY = dis.opmap["CACHE"], dis.opmap["BINARY_OP"]
_LOAD_GLOBAL, _LOAD_ATTR = dis.opmap["LOAD_GLOBAL"], dis.opmap["LOAD_ATTR"]
_RELEVANT = _LOADS | _ATTRIBUTES | {_BINARY, dis.EXTENDED_ARG}
_OTHER = "other", None
_NEWER = sys.version_info >= (3, 12)  # the lowest bit of an attribute's index marks a method call


def _instructions(code: CodeType) -> Iterator[tuple[str, Any]]:
    """Yield globals, attributes, operators and all other instructions, as a word and a name: a fast subset of `dis`."""
    text, names, high = code.co_code, code.co_names, 0
    for op, low in zip(text[::2], text[1::2], strict=True):
        if op not in _RELEVANT:
            if op != _CACHE:
                high = 0
                yield _OTHER
            continue
        number, high = low | high, 0
        if op == dis.EXTENDED_ARG:
            high = number << 8
        elif op in _LOADS:
            yield "global", names[number >> 1 if op == _LOAD_GLOBAL else number]
        elif op in _ATTRIBUTES:
            yield "attribute", names[number >> 1 if _NEWER and op == _LOAD_ATTR else number]
        else:
            yield "operator", dis._nb_ops[number][1].removesuffix("=")  # type: ignore[attr-defined]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant)


def _globals(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the globals that a function reads, with attributes of modules and classes followed, each once."""
    seen: set[str] = set()
    chain: list[str] = []
    value: Any = None
    for sort, word in _instructions(function.__code__):
        if sort == "attribute" and chain and isinstance(value, ModuleType | type) and not _is_foreign(value):
            chain.append(word)
            value = getattr(value, word)
            continue
        if chain and ".".join(chain) not in seen:
            seen.add(".".join(chain))
            yield ".".join(chain), value
        chain = []
        if sort == "global":
            names = function.__globals__
            builtins = names.get("__builtins__", {})
            builtins = builtins if isinstance(builtins, dict) else vars(builtins)
            if word not in names and word not in builtins:
                raise TypeError(f"{function.__module__}.{function.__qualname__} reads {word}, which is not defined")
            chain, value = [word], names.get(word, builtins.get(word))


def _is_foreign(value: Any) -> bool:
    """Whether a module or class belongs to another package, whose version is part of the cache folder."""
    name = value.__name__ if isinstance(value, ModuleType) else value.__module__
    return name.partition(".")[0] in ("numpy", "math", "builtins", "operator")


def _add_value(collector: _Collector, place: str, value: Any) -> None:
    """Add the value of a global."""
    if isinstance(value, Formula):
        collector.called.append(value)
    elif isinstance(value, Choice):
        for key, formula in value.formulas.items():
            collector.text(key.__qualname__ if isinstance(key, type) else repr(key))
            collector.called.append(formula)
        _add_function(collector, value.key)
    elif isinstance(value, Instructions):
        collector.text(value.__qualname__)
        _add_function(collector, value.emit)
    elif isinstance(value, type) and issubclass(value, tuple):
        collector.text("named tuple", value.__module__, value.__qualname__, repr(getattr(value, "_fields", ())))
        collector.text(str(value in operand_classes))
    elif isinstance(value, type | ModuleType | BuiltinFunctionType | np.ufunc):
        collector.text("foreign", getattr(value, "__module__", None) or "", value.__name__)
    elif isinstance(value, Enum):
        collector.text("entry", repr(value.value))
    elif isinstance(value, np.ndarray):
        collector.text("array", str(value.dtype), str(value.shape), value.tobytes().hex())
    elif isinstance(value, bool | int | float | str | bytes | np.generic | np.dtype | None):
        collector.text(type(value).__name__, repr(value))
    elif isinstance(value, tuple):
        collector.text("tuple", str(len(value)))
        for one in value:
            _add_value(collector, place, one)
    elif callable(value) and _is_foreign(value):
        collector.text("foreign", value.__module__, value.__name__)
    else:
        raise TypeError(f"{place}, a {type(value).__name__}: kernels read numbers, tables, and functions for kernels")


def _add_function(collector: _Collector, function: Callable[..., Any]) -> None:
    """Add a plain function that affects compiled code, with the functions of this package that it calls."""
    collector.text(_digest_of_function(function))


@cache
def _digest_of_function(function: Any) -> str:
    collector = _Collector()
    assert isinstance(function, FunctionType)
    _add_code(collector, function.__code__)
    for path, value in _globals(function):
        collector.text(path)
        if isinstance(value, FunctionType):
            if value is not function and value.__module__.partition(".")[0] == __name__.partition(".")[0]:
                _add_function(collector, value)
        elif not isinstance(value, list | dict):  # registries that are filled at import are not covered
            _add_value(collector, path, value)
    return collector.digest()


__all__ = ["Reach", "reach_of"]
