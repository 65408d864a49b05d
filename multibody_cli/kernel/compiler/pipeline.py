"""From a function to LLVM IR by numba's passes, and on to bitcode of a formula or object code of a kernel."""

from __future__ import annotations

import base64
import pickle
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from numba.core import bytecode, compiler, cpu, funcdesc, lowering, targetconfig, typed_passes, untyped_passes
from numba.core.compiler_lock import global_compiler_lock

from multibody_cli.kernel import optimizing
from multibody_cli.kernel.compiler.block_types import declared_result
from multibody_cli.kernel.compiler.contexts import Library, contexts
from multibody_cli.kernel.compiler.units import CompilationUnit, code_of
from multibody_cli.kernel.compiler.words import CompilerError
from multibody_cli.kernel.store import Code

FAST_MATH = {"contract", "nsz", "arcp"}


class _Lower(lowering.Lower):  # type: ignore[misc]
    """Numba's lowering to LLVM IR, without the environment objects for Python."""

    def emit_environment_object(self) -> None:
        """Write none."""


PASSES = (
    untyped_passes.ExtractByteCode,
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.InlineOverloads,
    typed_passes.IRLegalization,
)
"""The passes of numba that kernels need, before the lowering."""


def _flags(inlined: bool) -> Any:
    flags = compiler.Flags()
    flags.nrt = False
    flags.error_model = "numpy"
    flags.fastmath = cpu.FastMathOptions(FAST_MATH)
    flags.forceinline = inlined
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    return flags


def _write(state: Any, function: Any) -> Any:
    """Write a function into the library of the state of a compilation, and return the type of its result."""
    state.func_id = bytecode.FunctionIdentity.from_function(function)
    with global_compiler_lock, targetconfig.ConfigStack().enter(state.flags.copy()):
        for kind in PASSES:
            one = kind()
            one.analysis = {kind: None}
            one.run_pass(state)
        description = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            state.func_ir,
            state.typemap,
            state.return_type,
            state.calltypes,
            mangler=lambda *_args, **_options: state.library.name,
            inline=state.flags.forceinline,
            noalias=False,
            abi_tags=(),
        )
        with state.targetctx.push_code_library(state.library):
            _Lower(state.targetctx, state.library, description, state.func_ir, metadata=state.metadata).lower()
    return state.return_type


def compile_unit(unit: CompilationUnit) -> Code:
    """Compile a unit.

    Raises
    ------
    CompilerError
        If it cannot be compiled.
    """
    function = unit.function
    with contexts() as (typing_context, target):
        library = target.codegen().create_library(unit.symbol)
        flags = _flags(function.inlined)
        state = compiler.CompilerBase(typing_context, target, library, unit.arguments, None, flags, {}).state
        result = _write(state, function.py_func)
    declared = declared_result(function)
    if declared not in (None, result):
        raise CompilerError(f"{function.full_name} returns {result}, and declares {declared}")
    kind = base64.b64encode(pickle.dumps(result, protocol=4)).decode()
    if not function.inlined:
        return as_object(library, kind, function.full_name)
    module = optimizing.linked(unit.symbol, library.texts())
    optimizing.simplify(module)
    inlines = tuple(symbol for symbol, one in library.units.items() if one.function.inlined)
    calls = {symbol: one.recipe for symbol, one in sorted(library.units.items()) if symbol not in inlines}
    recipes = tuple(base64.b64encode(recipe).decode() for recipe in calls.values())
    lazy = tuple(symbol for symbol in calls if library.units[symbol].lazy)
    return Code(unit.symbol, module.as_bitcode(), tuple(calls), recipes, lazy, inlines, (), kind, function.full_name)


def as_object(library: Library, result: str, title: str) -> Code:
    """Link a library with the formulas that it calls, optimize it, and emit its object code."""
    symbol, units = library.name, library.units.values()
    module = optimizing.linked(symbol, library.texts())
    calls = {one.symbol: base64.b64encode(one.recipe).decode() for one in units if not one.function.inlined}
    lazy = {one.symbol for one in units if one.lazy}
    left = [one.symbol for one in units if one.function.inlined]
    linked: set[str] = set()
    while left:
        formula = left.pop()
        if formula not in linked:
            linked.add(formula)
            code, bitcode = _formula(formula)
            module.link_in(bitcode, preserve=True)
            calls.update(zip(code.calls, code.recipes, strict=True))
            lazy.update(code.lazy)
            left += code.inlines
    text, declared = optimizing.machine_code(module, symbol)
    lazy = {one for one in lazy if one.encode() in text}  # calls that the optimization has not removed
    called = tuple(sorted(calls.keys() & (declared | lazy)))
    externals = tuple(sorted(declared - calls.keys()))
    recipes = tuple(calls[one] for one in called)
    return Code(symbol, text, called, recipes, tuple(sorted(lazy)), (), externals, result, title)


@cache
def _formula(symbol: str) -> tuple[Code, Any]:
    """Return the code of a formula, and its bitcode as a module."""
    code = code_of(symbol)
    if code is None:
        raise CompilerError(f"the code of formula {symbol} was removed while in use")
    return code, llvm.parse_bitcode(code.code)
