"""Generated source: kept as a readable file beside the compiled kernels, compiled once, and called by its address.

A kernel that calls generated code does not know which: the address is data, so that no kernel is compiled anew for a
new joint.  Generated functions take arrays of numbers and return nothing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import sigutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from multibody_cli.kernel import ARITHMETIC, formula
from multibody_cli.symbolic.instructions import instructions_of

_KINDS = {"f": types.CPointer(types.float64), "i": types.CPointer(types.int64)}

HEADER = '''"""{title}"""

from math import acos, asin, atan, atan2, cos, cosh, exp, floor, log, pow, sin, sinh, sqrt, tan, tanh

from multibody_cli.spatial.rotations import exponential_coefficients
from multibody_cli.spatial.trigonometry import sine_and_cosine


'''


@lru_cache(maxsize=4096)
def address_of(title: str, body: str, arguments: str = "ffff") -> int:
    """Compile a function, or find it compiled, and give its address.

    Parameters
    ----------
    title
        What the file says first.
    body
        The function, whose name is `generated`.
    arguments
        Kinds of the arrays that it takes: f for numbers, i for whole numbers.
    """
    source = HEADER.format(title=title) + body
    module = _module_of(source)
    if numba.config.DISABLE_JIT:
        _INTERPRETED[id(module.generated)] = module.generated
        return id(module.generated)
    signature = types.void(*(_KINDS[kind] for kind in arguments))
    entry = _entry(source_file(source), arguments, instructions_of(source, vars(module)))
    compiled = _Compiled(entry, sigutils.normalize_signature(signature), {}, dict(ARITHMETIC))
    compiled.enable_caching()
    compiled.compile()
    _KEPT.append(compiled)
    assert compiled.address is not None
    return compiled.address


def _entry(file: Path, arguments: str, generated: Callable[..., None]) -> Callable[..., None]:
    """Give a function of as many arrays that hands them to the instructions, as if it stood in the file."""
    words = ", ".join(f"array{k}" for k in range(len(arguments)))
    names: dict[str, Any] = {"generated": generated, "__name__": file.stem}
    exec(compile(f"def entry({words}):\n    generated(({words}))\n", str(file), "exec"), names)
    return names["entry"]  # type: ignore[no-any-return]


class _Compiled(CFunc):
    """Code that is called by its address, kept as machine code."""

    def _compile_uncached(self) -> Any:
        result = super()._compile_uncached()  # type: ignore[misc]
        result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)  # machine code, before it is kept
        return result


_KEPT: list[Any] = []
"""Compiled functions, which live as long as the process: an address may stand in any model."""

_INTERPRETED: dict[int, Callable[..., None]] = {}
"""Functions by their address where nothing is compiled."""


def source_file(source: str) -> Path:
    """Give the file in which a source is kept."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:24]
    return Path(numba.config.CACHE_DIR) / "generated" / f"generated_{digest}.py"


def _module_of(source: str) -> ModuleType:
    file = source_file(source)
    if not file.exists():
        _write_whole(file, source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # where compiled code looks for it
    spec.loader.exec_module(module)
    return module


def _write_whole(file: Path, source: str) -> None:
    """Write a file in one stroke, so that nobody reads half of it; the first of several writers stays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, suffix=".part", delete=False, encoding="utf-8") as part:
        part.write(source)
    try:
        os.link(part.name, file)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.replace(part.name, file)
        return
    os.unlink(part.name)


# --- called from kernels ------------------------------------------------------------------------------------------
@intrinsic
def _call_address(
    typing: Any, address: Any, q: Any, iq: Any, v: Any, iv: Any, constants: Any, first: Any, out: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def numbers(array: int, offset: int | None) -> Any:
            data = context.make_array(signature.args[array])(context, builder, args[array]).data
            return data if offset is None else builder.gep(data, [args[offset]])

        pointers = [numbers(1, 2), numbers(3, 4), numbers(5, 6), numbers(7, None)]
        kind = ir.FunctionType(ir.VoidType(), [pointer.type for pointer in pointers])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), pointers)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(whole, q, whole, v, whole, constants, whole, out), generate


@intrinsic
def _call_on_whole(typing: Any, address: Any, arrays: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = [
            context.make_array(kind)(context, builder, builder.extract_value(args[1], k)).data
            for k, kind in enumerate(signature.args[1])
        ]
        kind = ir.FunctionType(ir.VoidType(), [pointer.type for pointer in pointers])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), pointers)
        return context.get_dummy_value()

    return types.void(types.int64, arrays), generate


if numba.config.DISABLE_JIT:

    def call(address, q, iq, v, iv, constants, first, out):
        """Call generated code, on parts of arrays that begin at iq, iv and first."""
        _INTERPRETED[address](q[iq:], v[iv:], constants[first:], out)

    def call_on_whole(address, arrays):
        """Call generated code on a tuple of whole arrays."""
        _INTERPRETED[address](*arrays)

else:

    @formula
    def call(address, q, iq, v, iv, constants, first, out):
        """Call generated code, on parts of arrays that begin at iq, iv and first."""
        _call_address(address, q, iq, v, iv, constants, first, out)

    @formula
    def call_on_whole(address, arrays):
        """Call generated code on a tuple of whole arrays."""
        _call_on_whole(address, arrays)
