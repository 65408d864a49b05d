"""Linking and optimization by LLVM, and hiding of internal symbols."""

from __future__ import annotations

from collections.abc import Iterable
from struct import unpack_from
from typing import Any

import llvmlite.binding as llvm

from multibody_cli.kernel.target import machine


def linked(symbol: str, texts: Iterable[str]) -> Any:
    """Link the text of modules into one module, in which only the function of a symbol is visible."""
    parts = [llvm.parse_assembly(text) for text in texts]
    module = parts[0]
    for part in parts[1:]:
        module.link_in(part)
    module.name = symbol
    _hide(module, symbol)
    return module


def simplify(module: Any) -> None:
    """Run function passes: for a module that is linked into others and optimized there."""
    passes = _passes()
    manager = passes.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            manager.run(function, passes)


def machine_code(module: Any, symbol: str) -> tuple[bytes, set[str]]:
    """Inline and optimize a module; return its object code, and the external functions that it calls."""
    _hide(module, symbol)
    passes = _passes()
    passes.getModulePassManager().run(module, passes)
    module.verify()
    code: bytes = machine().emit_object(module)
    if code.startswith(b"\x7fELF\x02"):
        return code, _undefined(code)
    return code, {one.name for one in module.functions if one.is_declaration and not one.name.startswith("llvm.")}


def _undefined(code: bytes) -> set[str]:
    """Return the undefined symbols of a 64-bit ELF object; code generation adds calls that no module declares."""
    (table,), (size, count) = unpack_from("<Q", code, 0x28), unpack_from("<HH", code, 0x3A)
    sections = [unpack_from("<IIQQQQII", code, table + k * size) for k in range(count)]
    found = set()
    for _, sort, _, _, offset, length, link, _ in sections:
        if sort == 2:  # SHT_SYMTAB; its names are in the section `link`
            names = sections[link][4]
            for at in range(offset, offset + length, 24):
                name, _, _, section = unpack_from("<IBBH", code, at)
                if name and section == 0:
                    begin = names + name
                    found.add(code[begin : code.index(b"\0", begin)].decode())
    return found - {"_GLOBAL_OFFSET_TABLE_"}


def _hide(module: Any, symbol: str) -> None:
    """Make all functions and variables of a module internal, except one function."""
    for one in [*module.functions, *module.global_variables]:
        if not one.is_declaration and one.name != symbol:
            one.linkage = "internal"


def _passes() -> Any:
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization, tuning.slp_vectorization = True, False
    return llvm.create_pass_builder(machine(), tuning)
