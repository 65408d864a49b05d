"""Loading of object code into this process, and entry points for Python.  This module requires llvmlite only."""

from __future__ import annotations

import ctypes
import json
import sys
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256
from struct import Struct
from typing import Any

from multibody_cli.errors import MbsimError
from multibody_cli.kernel import store
from multibody_cli.kernel.arguments import WORD, Arguments, narrow, packer
from multibody_cli.kernel.functions import Formula
from multibody_cli.kernel.store import Code, compiler_digest


class KernelError(MbsimError):
    """Compiled code that cannot be built or loaded, or that failed."""


@cache
def _engine() -> Any:
    """Return LLVM's linker and loader of this process."""
    import llvmlite.binding as llvm

    from multibody_cli.kernel.target import machine

    if sys.platform == "linux":
        llvm.load_library_permanently("libm.so.6")
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())


_loaded: dict[str, Code] = {}
"""Code that is loaded in this process, by symbol."""


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

    engine = _engine()
    for code in found.values():
        for name in code.externals:
            if not llvm.address_of_symbol(name):
                raise KernelError(f"compiled code of {code.title} requires the function {name}, which is missing")
    for code in found.values():
        engine.add_object_file(llvm.ObjectFileRef.from_data(code.code))
    engine.finalize_object()
    _loaded.update(found)


def address_of(symbol: str) -> int:
    """Return the address of loaded code."""
    return int(_engine().get_function_address(symbol))


def read(symbols: Iterable[str]) -> tuple[dict[str, Code], dict[str, bytes]]:
    """Read the code of symbols and of all their callees from the store, unless it is loaded.

    Returns
    -------
    found
        Code by symbol.
    absent
        Recipes, by symbol, of code that is missing or damaged.
    """
    found: dict[str, Code] = {}
    absent: dict[str, bytes] = {}
    left = [(symbol, "") for symbol in symbols]
    while left:
        symbol, recipe = left.pop()
        if symbol in found or symbol in absent or symbol in _loaded:
            continue
        code = store.find(symbol)
        if code is None:
            absent[symbol] = b64decode(recipe)
        else:
            found[symbol] = code
            left += zip(code.calls, code.recipes, strict=True)
    return found, absent


def entry_symbol(kernel: Formula, kinds: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return the symbol of the entry point of a kernel for kinds of arguments, and these kinds narrowed."""
    names = kernel.reach.names
    kinds = tuple(narrow(kind, names) for kind in kinds)
    return "e" + sha256(f"{compiler_digest()} {kernel.reach.digest} {kinds!r}".encode()).hexdigest()[:31], kinds


def entry_of(kernel: Formula, kinds: tuple[Any, ...]) -> Callable[[Arguments], Any]:
    """Return a function that calls a kernel with arguments of these kinds; compile missing code.

    Raises
    ------
    KernelError
        If it cannot be compiled.
    """
    symbol, narrowed = entry_symbol(kernel, kinds)
    _make_ready(symbol, ("entry", kernel, narrowed))
    return _caller(symbol, kinds)


def _make_ready(symbol: str, how: tuple[Any, ...]) -> None:
    """Load code; compile missing code, again if another process removes code in the meantime."""
    for _ in range(4):
        found, absent = read([symbol])
        if not absent:
            load(found)
            return
        from multibody_cli.kernel.workers import Task, compile_all

        compile_all([Task(symbol, how)])
    raise KernelError(f"compiled code {', '.join(absent)} is missing: it was removed while in use")


def _caller(symbol: str, kinds: tuple[Any, ...]) -> Callable[[Arguments], Any]:
    pack = packer(kinds).pack
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_char_p)(address_of(symbol))
    result = json.loads(_loaded[symbol].result)
    title = _loaded[symbol].title
    if result is None:

        def call(arguments: Arguments) -> None:
            status = native(pack(*arguments.words), None)
            if status:
                raise KernelError(f"{title} ended with status {status}")

        return call

    unpack, rebuild = Struct("@" + _format(result)), _builder(result)

    def call_for_result(arguments: Arguments) -> Any:
        buffer = ctypes.create_string_buffer(unpack.size)
        status = native(pack(*arguments.words), buffer)
        if status:
            raise KernelError(f"{title} ended with status {status}")
        return rebuild(iter(unpack.unpack_from(buffer)))

    return call_for_result


def prepared_call(kernel: Formula, args: tuple[Any, ...], integers: int) -> Callable[..., int]:
    """Return a function that calls a kernel with the same first arguments; it takes the last ones, which are integers.

    The first arguments are packed once, so that a call costs less than a microsecond: their arrays must be neither
    resized nor replaced.  The result of the kernel is an integer.

    Raises
    ------
    KernelError
        If it cannot be compiled.
    """
    arguments = Arguments((*args, *([0] * integers)))
    symbol, narrowed = entry_symbol(kernel, arguments.kinds)
    _make_ready(symbol, ("entry", kernel, narrowed))
    words, title = packer(arguments.kinds), _loaded[symbol].title
    block, output = ctypes.create_string_buffer(words.pack(*arguments.words), words.size), ctypes.c_int64()
    write, offset = Struct(f"@{integers}q").pack_into, words.size - WORD * integers
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(address_of(symbol))
    input_address, output_address = ctypes.addressof(block), ctypes.addressof(output)

    def call(*values: int, _alive: Any = (args, arguments)) -> int:
        write(block, offset, *values)
        if status := native(input_address, output_address):
            raise KernelError(f"{title} ended with status {status}")
        return output.value

    return call


def _format(result: Any) -> str:
    """Return the `struct` format of a result: a letter, or a class and its parts for a tuple."""
    if isinstance(result, str):
        return "q" if result == "?" else result
    return "".join(map(_format, result[1]))


def _builder(result: Any) -> Callable[[Any], Any]:
    """Return a function that builds a result from its numbers."""
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


def generated_code(title: str, arguments: str, write: Any) -> int:
    """Compile a function of generated source, or load it from the store; return its address.

    Parameters
    ----------
    title
        Title for display.
    arguments
        Kinds of its array arguments: f for float64, i for int64.
    write
        Writer of its instructions (`symbolic.instructions`); `write.digest` covers everything that determines them.
    """
    symbol = generated_symbol(arguments, write)
    _make_ready(symbol, ("generated", title, arguments, write))
    return address_of(symbol)


def generated_symbol(arguments: str, write: Any) -> str:
    """Return the symbol of a function of generated source."""
    return "g" + sha256(f"{compiler_digest()} {arguments} {write.digest}".encode()).hexdigest()[:31]
