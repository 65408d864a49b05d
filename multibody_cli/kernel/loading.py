"""Loading of object code into this process, and entry points for Python.  This module requires llvmlite only."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from functools import cache
from operator import itemgetter
from struct import Struct
from threading import RLock, local
from typing import Any

from multibody_cli.errors import ArgumentError, MbsimError
from multibody_cli.kernel import store
from multibody_cli.kernel.addresses import addresses_for_code
from multibody_cli.kernel.arguments import WORD, Arguments, packer
from multibody_cli.kernel.store import Code
from multibody_cli.kernel.target import machine

LINK = "mbsim_link"
"""Name by which compiled code calls the function that loads lazy kernels (`linking`)."""


class KernelError(MbsimError):
    """Compiled code that cannot be built or loaded, or that failed."""


provided: dict[str, Any] = {}
"""C functions of this process that compiled code may call, by name."""


@cache
def _engine() -> Any:
    """Return LLVM's linker and loader of this process."""
    import llvmlite.binding as llvm

    if sys.platform == "linux":
        llvm.load_library_permanently("libm.so.6")
    for name, function in provided.items():
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())


_loaded: dict[str, Code] = {}
"""Code that is loaded in this process, by symbol."""

recipes: dict[str, str] = {}
"""Recipes of the lazy kernels that loaded code calls, by symbol."""

failures = local()
"""`error`: the error because of which a call in this thread ends with a status."""

interrupts: list[BaseException] = []
"""Exceptions of signals that arrived while a lazy kernel was loaded, which the call raises after it has returned."""

_complete = [False]
"""Whether code counts as loaded only with the lazy kernels that it calls."""

one_at_a_time = RLock()
"""The loader of LLVM relocates code in place: one thread at a time loads code, or asks for an address."""


def load(found: Mapping[str, Code]) -> None:
    """Load code into this process.

    Raises
    ------
    KernelError
        If an external function is missing: the loader would abort the process.
    """
    if not found:
        return
    import llvmlite.binding as llvm

    with one_at_a_time:
        engine = _engine()
        for code in found.values():
            for name in code.externals:
                if not llvm.address_of_symbol(name):
                    raise KernelError(f"compiled code of {code.title} requires the function {name}, which is missing")
        with addresses_for_code():
            for code in found.values():
                engine.add_object_file(llvm.ObjectFileRef.from_data(code.code))
            engine.finalize_object()
        _loaded.update(found)
        for code in found.values():
            calls = zip(code.calls, code.recipes, strict=True)
            recipes.update((one, recipe) for one, recipe in calls if one in code.lazy)


def address_of(symbol: str) -> int:
    """Return the address of loaded code."""
    return int(_engine().get_function_address(symbol))


def may_compile() -> bool:
    """Return whether the user allows compilation: `MBSIM_COMPILE` is not `never`.

    Raises
    ------
    ArgumentError
        `MBSIM_COMPILE` has another value.
    """
    permission = os.environ.get("MBSIM_COMPILE", "")
    if permission not in ("", "never"):
        raise ArgumentError(f"MBSIM_COMPILE={permission}: the only value is `never`")
    return not permission


def read(
    symbols: Iterable[str], everything: bool = False, known: Set[str] = frozenset()
) -> tuple[dict[str, Code], dict[str, bytes]]:
    """Read the code of symbols and of their callees from the store, unless it is loaded.

    Parameters
    ----------
    symbols
        The symbols.
    everything
        Whether lazy callees count; also inside of `complete`.
    known
        Symbols of code that is in the store, with all callees.

    Returns
    -------
    found
        Code by symbol.
    absent
        Recipes, by symbol, of code that is missing or damaged.
    """
    found: dict[str, Code] = {}
    absent: dict[str, bytes] = {}
    seen: set[str] = set()
    everything = everything or _complete[-1]
    left = [(symbol, "") for symbol in symbols]
    while left:
        symbol, recipe = left.pop()
        if symbol in seen or symbol in known or (symbol in _loaded and not everything):
            continue
        seen.add(symbol)
        code = _loaded.get(symbol) or store.find(symbol)
        if code is None:
            absent[symbol] = b64decode(recipe)
            continue
        if symbol not in _loaded:
            found[symbol] = code
        calls = zip(code.calls, code.recipes, strict=True)
        left += [call for call in calls if everything or call[0] not in code.lazy]
    return found, absent


@contextmanager
def complete() -> Iterator[None]:
    """Compile and load lazy kernels with the code that calls them, inside a `with` statement."""
    _complete.append(True)
    try:
        yield
    finally:
        _complete.pop()


def _failure(title: str, status: int) -> BaseException:
    """Return the error of a call that ended with a status."""
    error: BaseException | None = vars(failures).pop("error", None)
    found = [error] if error else [*interrupts, KernelError(f"{title} ended with status {status}")]
    interrupts.clear()
    return found[0]


class EntryPoint:
    """Entry point of compiled code for arguments of given kinds."""

    def __init__(self, symbol: str, kinds: tuple[Any, ...]) -> None:
        self._kinds = kinds
        self._packer = packer(kinds)
        self._native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(address_of(symbol))
        self._title = _loaded[symbol].title
        result = json.loads(_loaded[symbol].result)
        self._results = Struct("@" + _format(result))
        self._rebuild = _builder(result)
        self._is_number = isinstance(result, str) and result != "?"

    def __call__(self, arguments: Arguments) -> Any:
        """Call the code."""
        output = ctypes.create_string_buffer(self._results.size)
        if status := self._native(self._packer.pack(*arguments.words), output):
            raise _failure(self._title, status)
        if interrupts:
            raise interrupts.pop()
        return self._rebuild(iter(self._results.unpack_from(output)))

    def _built(self, numbers: tuple[Any, ...]) -> Any:
        return self._rebuild(iter(numbers))

    def on(self, arguments: Arguments, count: int) -> Callable[..., Any]:
        """Return a function of the last `count` arguments, integers and reals; the other arguments are packed once."""
        size = self._packer.size
        block = ctypes.create_string_buffer(self._packer.pack(*arguments.words), size)
        output = ctypes.create_string_buffer(self._results.size)
        codes = "".join(kind.code for kind in self._kinds[len(self._kinds) - count :])
        write, offset = Struct("@" + codes).pack_into, size - WORD * count
        native, title, unpack = self._native, self._title, self._results.unpack_from
        result_of = itemgetter(0) if self._is_number else self._built
        input_address, output_address = ctypes.addressof(block), ctypes.addressof(output)

        def call(*numbers: Any, alive: Arguments = arguments) -> Any:
            write(block, offset, *numbers)
            if status := native(input_address, output_address):
                raise _failure(title, status)
            if interrupts:
                raise interrupts.pop()
            return result_of(unpack(output))

        return call


def _format(result: Any) -> str:
    """Return the `struct` format of a result: nothing, a letter, or a class and its parts for a tuple."""
    if result is None:
        return ""
    if isinstance(result, str):
        return "q" if result == "?" else result
    return "".join(map(_format, result[1]))


def _builder(result: Any) -> Callable[[Any], Any]:
    """Return a function that builds a result from its numbers."""
    if result is None:
        return lambda numbers: None
    if isinstance(result, str):
        return (lambda numbers: bool(next(numbers))) if result == "?" else next
    parts = [_builder(one) for one in result[1]]
    if result[0] is None:
        return lambda numbers: tuple(part(numbers) for part in parts)
    module, _, name = result[0].partition(":")
    instance: Any = __import__(module, fromlist=[""])
    for word in name.split("."):
        instance = getattr(instance, word)
    return lambda numbers: instance(*(part(numbers) for part in parts))
