"""Entry points of kernels, which Python calls, and functions of generated source."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import callconv, cpu, types

from multibody_cli.kernel.compiler.block_types import type_of
from multibody_cli.kernel.compiler.contexts import contexts
from multibody_cli.kernel.compiler.pipeline import FAST_MATH, as_object
from multibody_cli.kernel.compiler.units import unit_of
from multibody_cli.kernel.compiler.words import WORD, CompilerError, load, store_result
from multibody_cli.kernel.functions import Formula
from multibody_cli.kernel.store import Code
from multibody_cli.kernel.target import LANES

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_NUMBERS_OF_ARRAYS = {
    "f": ir.DoubleType(),
    "v": _VECTOR,
    "d": ir.LiteralStructType([ir.DoubleType(), _VECTOR], packed=True),
    "i": WORD,
}
"""LLVM types of the entries of arrays of generated functions, by the kind of the array."""


def compile_entry(symbol: str, kernel: Formula, argument_kinds: tuple[Any, ...]) -> Code:
    """Write the entry point of a kernel: it loads the arguments from words, and stores the result in words."""
    unit = unit_of(kernel, map(type_of, argument_kinds))
    with contexts() as (_, target):
        pointer = ir.IntType(8).as_pointer()
        library, module, function, builder = _begin(target, symbol, [pointer, pointer])
        values, offset = [], 0
        for kind in argument_kinds:
            value, offset = load(target, builder, function.args[0], offset, kind, in_line=False)
            values.append(value)
        with target.push_code_library(library):
            result = unit.call(target, builder, values)
            words = store_result(target, builder, function.args[1], unit.result, result)
        builder.ret(ir.IntType(32)(0))
        library.add_ir_module(module)
    return as_object(library, json.dumps(words), kernel.full_name)


def compile_generated(symbol: str, title: str, arguments: str, write: Callable[..., None]) -> Code:
    """Compile a function of generated source, with array arguments and the calling convention of C.

    Parameters
    ----------
    symbol, title
        Its name, and a title for display.
    arguments
        Kinds of the arrays: f for float64, v for vectors of `LANES` float64, d for dual numbers
        (a float64 and a vector), i for int64.
    write
        Writer of its instructions; see `symbolic.instructions`.
    """
    with contexts() as (typing_context, target):
        error_model = callconv.create_error_model("numpy", target)
        context = target.subtarget(fastmath=cpu.FastMathOptions(FAST_MATH), error_model=error_model)
        arrays = [_NUMBERS_OF_ARRAYS[kind].as_pointer() for kind in arguments]
        library, module, function, builder = _begin(context, symbol, arrays)
        if "v" in arguments or "d" in arguments:  # nobody passes one array of vectors twice
            for argument in function.args:
                argument.add_attribute("noalias")

        def call(function: Any, values: list[Any]) -> Any:
            args = tuple(types.float64 if value.type == ir.DoubleType() else types.int64 for value in values)
            callee = typing_context.resolve_value_type(function)
            found = typing_context.resolve_function_type(callee, args, {})
            return context.get_function(callee, found)(builder, values)

        with context.push_code_library(library):
            write(builder, list(function.args), call)
        builder.ret(ir.IntType(32)(0))
        context.post_lowering(module, library)
        library.add_ir_module(module)
    code = as_object(library, "null", title)
    if code.lazy:
        raise CompilerError(f"{title}: callers of generated code ignore its status, which reports a missing kernel")
    return code


def _begin(context: Any, symbol: str, arguments: list[Any]) -> tuple[Any, Any, Any, Any]:
    """Begin a function that returns a status, as numba's functions do, which propagate it."""
    library = context.codegen().create_library(symbol)
    module = library.create_ir_module(symbol)
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), arguments), symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    context.call_conv.init_call_helper(builder)
    return library, module, function, builder
