"""Code that loads the arguments of a kernel from words of 8 bytes, and stores its result in words; see `arguments`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from multibody_cli.errors import MbsimError
from multibody_cli.kernel import arguments as kinds
from multibody_cli.kernel.compiler.arrays import WORD, array_of
from multibody_cli.kernel.compiler.block_types import type_of


class CompilerError(MbsimError):
    """A kernel that cannot be compiled."""


def load(context: Any, builder: Any, pointer: Any, offset: int, kind: Any, in_line: bool = True) -> tuple[Any, int]:
    """Load a value of a kind from words; return it and the offset after it.

    A block is stored inline inside a block, and as a pointer among the arguments of an entry point.
    """

    def word(place: int, llvm_type: Any) -> Any:
        address = builder.gep(pointer, [WORD(place)], inbounds=True)
        value = builder.load(builder.bitcast(address, llvm_type.as_pointer()))
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    if isinstance(kind, kinds.Block):
        if not in_line:
            return word(offset, ir.IntType(8).as_pointer()), offset + kinds.WORD
        return builder.gep(pointer, [WORD(offset)], inbounds=True), offset + kind.size
    if isinstance(kind, kinds.Value | kinds.Sequence):
        parts = []
        for one in kind.kinds:
            part, offset = load(context, builder, pointer, offset, one, in_line)
            parts.append(part)
        return context.make_tuple(builder, type_of(kind), parts), offset
    if isinstance(kind, kinds.Array):
        return _load_array(context, builder, word, offset, kind), offset + kinds.size_of(kind)
    if kind == kinds.BOOLEAN:
        return builder.icmp_unsigned("!=", word(offset, WORD), WORD(0)), offset + kinds.WORD
    return word(offset, context.get_value_type(type_of(kind))), offset + kinds.WORD


def _load_array(context: Any, builder: Any, word: Callable[[int, Any], Any], offset: int, kind: kinds.Array) -> Any:
    of_numba = type_of(kind)
    data = word(offset, context.get_data_type(of_numba.dtype).as_pointer())
    numbers = [word(offset + kinds.WORD * k, WORD) for k in range(1, kinds.size_of(kind) // kinds.WORD)]
    return array_of(context, builder, of_numba, data, numbers[: kind.ndim], numbers[kind.ndim :])


def store_result(context: Any, builder: Any, pointer: Any, kind: Any, value: Any) -> Any:
    """Store a result of a type in words; return its description for `loading`."""
    place = 0

    def write(kind: Any, value: Any) -> Any:
        nonlocal place
        if isinstance(kind, types.BaseTuple):
            parts = [write(one, builder.extract_value(value, k)) for k, one in enumerate(kind)]
            instance = getattr(kind, "instance_class", None)
            return [instance and f"{instance.__module__}:{instance.__qualname__}", parts]
        if isinstance(kind, types.Boolean):
            code, value = "?", builder.zext(value, WORD)
        elif isinstance(kind, types.Integer):
            code, value = "q", context.cast(builder, value, kind, types.int64)
        elif isinstance(kind, types.Float):
            code, value = "d", context.cast(builder, value, kind, types.float64)
        else:
            raise CompilerError(f"a kernel that Python calls cannot return {kind}")
        address = builder.gep(pointer, [WORD(kinds.WORD * place)], inbounds=True)
        builder.store(value, builder.bitcast(address, value.type.as_pointer()))
        place += 1
        return code

    return None if isinstance(kind, types.NoneType) else write(kind, value)
