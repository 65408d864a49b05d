"""Generated source: compiled once, and called by its address.

The address of generated code is data of the kernel that calls it.  A new joint therefore compiles no kernel again.
Generated functions take arrays and return nothing.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import Any

from multibody_cli.kernel import generated_code, instructions, is_interpreted
from multibody_cli.kernel.mode import in_mode
from multibody_cli.symbolic.tables import tables_in


def address_of(title: str, body: str, arguments: str = "ffff") -> int:
    """Compile a function, or load it from the cache, and return its address.

    Parameters
    ----------
    title
        The docstring of its module.
    body
        The source of the function, whose name is `generated`.
    arguments
        Kinds of its array arguments: f for float64, v for vectors of `LANES` float64, d for dual numbers
        (a float64 and a vector), i for int64.
    """
    if is_interpreted():
        return _interpreted_address(title, body)
    return _compiled_address(title, body, arguments)


@lru_cache(maxsize=4096)
def _compiled_address(title: str, body: str, arguments: str) -> int:
    from multibody_cli.symbolic.instructions import InstructionWriter

    address = generated_code(title, arguments, InstructionWriter(body))
    _SOURCES[address] = title, body
    return address


@lru_cache(maxsize=4096)
def _interpreted_address(title: str, body: str) -> int:
    """Define a plain Python function; return an integer that represents its address."""
    from multibody_cli.symbolic.instructions import HEADER

    source = HEADER.format(title=title) + body
    file = f"<generated {sha256(source.encode()).hexdigest()[:24]}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "generated"}
    names |= {word: piecewise.value for word, piecewise in tables_in(body).items()}
    exec(compile(source, file, "exec"), names)
    function = names["generated"]
    _INTERPRETED[id(function)] = function
    return id(function)


_INTERPRETED: dict[int, Callable[..., None]] = {}
"""Functions by address, in interpreted mode."""

_SOURCES: dict[int, tuple[str, str]] = {}
"""Titles and sources of compiled functions by address, which kernels call in interpreted mode too."""


def _function_at(address: int) -> Callable[..., None]:
    if address not in _INTERPRETED:
        _INTERPRETED[address] = _INTERPRETED[_interpreted_address(*_SOURCES[address])]
    return in_mode(_INTERPRETED[address])


# --- called from kernels ------------------------------------------------------------------------------------------
def _write_call(context: Any, builder: Any, types: Any, args: Any) -> None:
    def numbers(array: int, offset: int | None) -> Any:
        data = context.make_array(types[array])(context, builder, args[array]).data
        return data if offset is None else builder.gep(data, [args[offset]])

    _write_call_of(builder, args[0], [numbers(1, 2), numbers(3, 4), numbers(5, 6), numbers(7, None)])


def _write_call_on_arrays(context: Any, builder: Any, types: Any, args: Any) -> None:
    pointers = [
        context.make_array(kind)(context, builder, builder.extract_value(args[1], k)).data
        for k, kind in enumerate(types[1])
    ]
    _write_call_of(builder, args[0], pointers)


def _write_call_of(builder: Any, address: Any, pointers: Any) -> None:
    from llvmlite import ir

    kind = ir.FunctionType(ir.VoidType(), [pointer.type for pointer in pointers])
    builder.call(builder.inttoptr(address, kind.as_pointer()), pointers)


@instructions(_write_call)
def call(address: int, q: Any, iq: int, v: Any, iv: int, constants: Any, first: int, out: Any) -> None:
    """Call generated code on the slices of arrays that begin at iq, iv and first."""
    _function_at(address)(q[iq:], v[iv:], constants[first:], out)


@instructions(_write_call_on_arrays)
def call_on_arrays(address: int, arrays: Any) -> None:
    """Call generated code on a tuple of whole arrays."""
    _function_at(address)(*arrays)
