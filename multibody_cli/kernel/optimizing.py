"""LLVM's part: instructions linked, optimized, and hidden from other code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm

from multibody_cli.kernel.target import machine


def linked(symbol: str, texts: Iterable[str]) -> Any:
    """Link the text of modules into one, of which only the function of a symbol can be seen."""
    parts = [llvm.parse_assembly(text) for text in texts]
    module = parts[0]
    for part in parts[1:]:
        module.link_in(part)
    module.name = symbol
    _hide(module, symbol)
    return module


def simplify(module: Any) -> None:
    """Optimize each function for itself: for a module that is linked into others and optimized there."""
    passes = _passes()
    manager = passes.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            manager.run(function, passes)


def optimize(module: Any, symbol: str) -> set[str]:
    """Inline and optimize a module for machine code; return the functions that it calls from elsewhere."""
    _hide(module, symbol)
    passes = _passes()
    passes.getModulePassManager().run(module, passes)
    module.verify()
    return {one.name for one in module.functions if one.is_declaration and not one.name.startswith("llvm.")}


def _hide(module: Any, symbol: str) -> None:
    """Hide all but one function of a module from other code."""
    for one in [*module.functions, *module.global_variables]:
        if not one.is_declaration and one.name != symbol:
            one.linkage = "internal"


def _passes() -> Any:
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization, tuning.slp_vectorization = True, False
    return llvm.create_pass_builder(machine(), tuning)
