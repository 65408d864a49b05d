"""Calls of lazy kernels: a function that loads the kernel at its first call, and passes the call on."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from multibody_cli.kernel.loading import LINK

_POINTER = ir.IntType(8).as_pointer()

FAILED = ir.IntType(32)(1)
"""Status of a call whose kernel cannot be loaded."""


def lazy_function(module: Any, kind: Any, symbol: str) -> Any:
    """Return the function of a module that calls the kernel `symbol` of type `kind`, written once.

    A variable contains the address of the kernel, null until `linking` has written it.
    """
    name = f"lazy.{symbol}"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, kind, name)
    place = cgutils.add_global_variable(module, _POINTER, f"{name}.address")
    place.initializer = ir.Constant(_POINTER, None)
    function.linkage = place.linkage = "internal"
    link = cgutils.get_or_insert_function(module, ir.FunctionType(ir.VoidType(), [_POINTER, _POINTER]), LINK)
    word = cgutils.global_constant(module, f"{name}.symbol", cgutils.make_bytearray(symbol.encode() + b"\0"))
    builder = ir.IRBuilder(function.append_basic_block())
    for _ in range(2):  # a signal can end the first call before it has begun
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(place))):
            builder.call(link, [builder.bitcast(one, _POINTER) for one in (place, word)])
    with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(place))):
        builder.ret(FAILED)
    kernel = builder.bitcast(builder.load(place), kind.as_pointer())
    builder.ret(builder.call(kernel, function.args))
    return function
