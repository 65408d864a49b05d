"""The processor that code is compiled for.

On x86-64 this is the highest level of the architecture that the machine supports, instead of the exact machine, so that
code compiled on one machine runs on others: x86-64-v4 (AVX-512: twice the registers; v3 takes 20 % more time), else
x86-64-v3 (AVX2 and fused multiply-add, machines since 2013 to 2015).  `MBSIM_TARGET_CPU` selects a lower level.
"""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from functools import cache
from typing import Any

from multibody_cli.errors import ArgumentError

LANES = 8
"""Numbers in a vector of generated code: one register of x86-64-v4, two of x86-64-v3."""

_LEVELS = {
    "x86-64-v4": ("avx2", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "bmi2", "fma"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "sse4.2"),
}
"""Levels of x86-64 and the processor features that they require, the highest first."""


def levels() -> list[str]:
    """Return the levels of x86-64, from x86-64-v3 on, that this machine supports, the highest first."""
    import llvmlite.binding as llvm

    has = llvm.get_host_cpu_features()
    return [level for level, needs in _LEVELS.items() if all(has.get(one) for one in needs)]


@cache
def cpu() -> str:
    """Return the name of the processor that code is compiled for.

    Raises
    ------
    ArgumentError
        If `MBSIM_TARGET_CPU` is not a level that this machine supports.
    """
    valid = [*levels(), "x86-64"] if platform.machine().lower() in ("x86_64", "amd64") else ["generic"]
    named = os.environ.get("MBSIM_TARGET_CPU") or valid[0]
    if named not in valid:
        raise ArgumentError(f"MBSIM_TARGET_CPU={named}: this machine runs code for {', '.join(valid)}")
    return named


@cache
def architecture() -> str:
    """Return an identifier of the target: operating system, architecture and processor."""
    return f"{platform.system().lower()}-{platform.machine().lower()}-{cpu()}"


@cache
def machine() -> Any:
    """Return LLVM's target machine, for position independent code."""
    import llvmlite.binding as llvm

    with suppress(RuntimeError):  # newer versions of llvmlite need no initialization, and refuse it
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=cpu(), opt=3, reloc="pic", codemodel="small", jit=True)
