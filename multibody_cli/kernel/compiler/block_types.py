"""Numba's types of the arguments and results of kernels, and a text of each for digests."""

from __future__ import annotations

from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from numba.core import types
from numba.core.datamodel import models, register_default
from numba.np import numpy_support

from multibody_cli.kernel import arguments as kinds
from multibody_cli.kernel.functions import Formula


class BlockType(types.Type):
    """The type of a named tuple of arrays in memory."""

    def __init__(self, kind: kinds.Block) -> None:
        self.kind = kind
        self.fields = {field.name: field for field in kind.fields}
        parts = (f"{field.name}@{field.offset}:{describe(type_of(field.kind))}" for field in kind.fields)
        super().__init__(name=f"block{{{','.join(parts)}}}")

    def __reduce__(self) -> Any:
        return BlockType, (self.kind,)


register_default(BlockType)(models.OpaqueModel)


@cache
def type_of(kind: Any) -> Any:
    """Return numba's type for a kind of argument."""
    if isinstance(kind, kinds.Number):
        return {"d": types.float64, "q": types.int64, "?": types.boolean}[kind.code]
    if isinstance(kind, kinds.Array):
        dtype = numpy_support.from_dtype(kind.dtype)
        return types.Array(dtype, kind.ndim, "C" if kind.contiguous else "A")
    if isinstance(kind, kinds.Record):
        return numpy_support.from_dtype(kind.dtype)
    if isinstance(kind, kinds.Value):
        return types.BaseTuple.from_types([type_of(one) for one in kind.kinds], kind.instance)
    if isinstance(kind, kinds.Sequence):
        return types.Tuple([type_of(one) for one in kind.kinds])
    return BlockType(kind)


@cache
def describe(kind: Any) -> str:
    """Return a text of a type that includes the fields of classes, which numba leaves out; it is part of the digest."""
    if isinstance(kind, types.BaseNamedTuple):
        instance = kind.instance_class
        fields = ",".join(f"{n}:{describe(k)}" for n, k in zip(kind.fields, kind, strict=True))
        return f"{instance.__module__}.{instance.__qualname__}({fields})"
    if isinstance(kind, types.BaseTuple):
        return f"({','.join(map(describe, kind))})"
    if isinstance(kind, types.Array):
        return f"array({describe(kind.dtype)},{kind.ndim},{kind.layout})"
    return str(kind)


def declared_result(function: Formula) -> Any:
    """Return the result type of a kernel if it is known without compilation, else None."""
    if function.inlined:
        return None
    return types.none if function.returns_nothing else declared_type(function.declared_result)


def declared_type(declared: Any) -> Any:
    """Return numba's type for the declared class of a result; None for `object`.

    Components of vectors are declared as `Any`, since formulas accept other numbers as well; in kernels they are
    float64.
    """
    if declared is object:
        return None
    if declared in _NUMBERS:
        return _NUMBERS[declared]
    if get_origin(declared) is tuple:
        return types.BaseTuple.from_types([declared_type(one) for one in get_args(declared)])
    return types.BaseTuple.from_types([declared_type(one) for one in get_type_hints(declared).values()], declared)


_NUMBERS = {NoneType: types.none, bool: types.boolean, int: types.int64, float: types.float64, Any: types.float64}


def narrowed(kind: Any, names: frozenset[str]) -> Any:
    """Remove the fields of blocks whose names do not occur in a kernel; see `arguments.narrow`."""
    if isinstance(kind, BlockType):
        return BlockType(kinds.narrow(kind.kind, names))
    if isinstance(kind, types.Tuple | types.UniTuple) and any(isinstance(one, BlockType) for one in kind):
        return types.Tuple([narrowed(one, names) for one in kind])
    return types.unliteral(kind)
