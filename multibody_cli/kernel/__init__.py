"""Compiled functions: declared here, compiled by numba in separate processes, and loaded through llvmlite.

A *kernel* is a function of arrays and numbers that is compiled to object code of its own and called by its symbol.  A
*formula* is a small function of values that is inlined into every kernel that calls it.  A *template* is a function
with parameters; binding them to kernels and numbers makes a kernel.  Kernels and formulas also run as plain Python
under `NUMBA_DISABLE_JIT=1` or `interpreted()`; a formula that Python calls always does.

    mode        compiled code or plain Python
    dual_numbers  numbers with derivatives, for plain Python
    arguments   kinds of arguments, and the memory layout of named tuples of arrays
    allocation  arrays of named tuples, from declared shapes
    progress    progress of compilation
    ownership   files and folders of the user alone
    target      the processor that code is compiled for
    store       compiled code in files
    operators   operators of values
    reach       digest of all source that a kernel reaches by its calls
    functions   formulas, choices between them, their calls for tables, and functions written as instructions
    tasks       compilation tasks: symbols and recipes
    addresses   a range of addresses for code beside the libraries of a process
    loading     loading of object code into this process
    optimizing  linking and optimization by LLVM
    compiler    the compiler front end: the only package that imports numba
    compiling   one compilation task, in a worker process
    workers     parallel compilation in worker processes
    linking     loading of kernels that are compiled first if they are missing
    kernels     kernels, which Python calls
    templates   templates: functions with parameters, which are bound to kernels or numbers
    shipping    a wheel with compiled code

Each module imports only those above it.

Rules for kernels: no allocation in code that runs once per step; arguments in the order read-only blocks, state, work
arrays, outputs; a kernel writes only its state, work arrays and outputs; NaN and infinity keep their IEEE meaning.
Rules for templates: a parameter is declared once; only those of an optional one may be left out; a template lists
its parameters.  See
`docs/adr/0022-compiled-objects.md`.
"""

from multibody_cli.kernel.allocation import Flags, Floats, Integers, Records, allocate, frozen, records
from multibody_cli.kernel.functions import (
    Choice,
    EachNonempty,
    Formula,
    Instructions,
    chosen,
    formula,
    in_python,
    instructions,
    operator_formula,
)
from multibody_cli.kernel.kernels import Kernel, generated_code, kernel, lazy_kernel
from multibody_cli.kernel.loading import KernelError
from multibody_cli.kernel.mode import interpreted, is_interpreted
from multibody_cli.kernel.operators import operand_class, operand_classes, operand_pairs
from multibody_cli.kernel.store import cache_root
from multibody_cli.kernel.target import LANES
from multibody_cli.kernel.templates import (
    Template,
    bound_kernel,
    kernel_parameter,
    lazy_template,
    number_parameter,
    optional_kernel_parameter,
    template,
)

__all__ = [
    "LANES",
    "Choice",
    "EachNonempty",
    "Flags",
    "Floats",
    "Formula",
    "Instructions",
    "Integers",
    "Kernel",
    "KernelError",
    "Records",
    "Template",
    "allocate",
    "bound_kernel",
    "cache_root",
    "chosen",
    "formula",
    "frozen",
    "generated_code",
    "in_python",
    "instructions",
    "interpreted",
    "is_interpreted",
    "kernel",
    "kernel_parameter",
    "lazy_kernel",
    "lazy_template",
    "number_parameter",
    "operand_class",
    "operand_classes",
    "operand_pairs",
    "operator_formula",
    "optional_kernel_parameter",
    "records",
    "template",
]
