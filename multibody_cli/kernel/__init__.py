"""Compiled functions: declared here, compiled by numba in processes of their own, loaded through llvmlite.

A *kernel* is a function of arrays and numbers that is compiled to an object of its own and called by its symbol.  A
*formula* is a small function of values that is inlined into every kernel that calls it.  Both also run as plain Python
under `NUMBA_DISABLE_JIT=1` or `interpreted()`; a formula that Python calls always does.

    functions   kernels, formulas, and how they are declared
    arguments   kinds of arguments, and named tuples of arrays as blocks of memory
    reach       the digest of all source that a kernel reaches by its calls
    store       compiled code in files
    target      the processor that code is compiled for
    progress    how far compiling has come
    loading     machine code from the store into this process
    workers     compiling on all cores
    compiler    numba, nowhere else imported

Rules for kernels: no allocation in anything called once a step; read-only blocks first, then state, then work,
outputs last; a kernel writes only its state, work and outputs; NaN and infinity keep their meaning.  See
`docs/adr/0022-compiled-objects.md`.
"""

from multibody_cli.kernel.arguments import records
from multibody_cli.kernel.functions import (
    Choice,
    Formula,
    Instructions,
    Kernel,
    bound_kernel,
    chosen,
    formula,
    in_python,
    instructions,
    kernel,
    operand_classes,
    operator_formula,
)
from multibody_cli.kernel.loading import KernelError, generated_code
from multibody_cli.kernel.mode import interpreted, is_interpreted
from multibody_cli.kernel.store import cache_root

__all__ = [
    "Choice",
    "Formula",
    "Instructions",
    "Kernel",
    "KernelError",
    "bound_kernel",
    "cache_root",
    "chosen",
    "formula",
    "generated_code",
    "in_python",
    "instructions",
    "interpreted",
    "is_interpreted",
    "kernel",
    "operand_classes",
    "operator_formula",
    "records",
]
