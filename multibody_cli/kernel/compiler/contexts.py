"""Contexts of types and of code, apart from numba's own, with calling convention and libraries of this package.

Numba's functions of numbers, tuples and arrays register themselves when their modules are imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property, partial
from typing import Any

import numba
from numba.core import callconv, codegen, cpu, externals, optional, types, typing  # noqa: F401
from numba.core.registry import cpu_target
from numba.cpython import builtins, iterators, mathimpl, numbers, rangeobj, slicing, tupleobj  # noqa: F401
from numba.np import arraymath, arrayobj, npyimpl  # noqa: F401

from multibody_cli.kernel.compiler.arrays import ArrayModel
from multibody_cli.kernel.compiler.block_types import BlockType
from multibody_cli.kernel.compiler.extensions import lowering_registry, typing_registry
from multibody_cli.kernel.compiler.units import Callee, CompilationUnit
from multibody_cli.kernel.compiler.words import CompilerError
from multibody_cli.kernel.reach import Declared
from multibody_cli.kernel.target import machine

CHECKED = ((0, 61), (0, 69))
"""The first supported version of numba, and the first later version that is not supported."""


class _CallConvention(callconv.MinimalCallConv):  # type: ignore[misc]
    """Calling convention: a status is returned, the result is written through a pointer, and blocks are read-only."""

    def decorate_function(self, fn: Any, args: Any, fe_argtypes: Any, noalias: bool = False) -> None:
        """Set attributes of the arguments."""
        super().decorate_function(fn, args, fe_argtypes, noalias)
        k = 1
        for kind in fe_argtypes:
            if isinstance(kind, BlockType) and kind.kind.size:
                fn.args[k].add_attribute("noalias")
                fn.args[k].add_attribute("nonnull")
                fn.args[k].attributes.dereferenceable = kind.kind.size
            k += _count(self.context.data_model_manager[kind].get_argument_type())


def _count(kind: Any) -> int:
    return sum(map(_count, kind)) if isinstance(kind, tuple | list) else 1


class Library(codegen.CodeLibrary):  # type: ignore[misc]
    """LLVM modules of one function and of the numba functions that it requires, before optimization."""

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__(owner, name)
        self._modules: list[Any] = []
        self._parts: dict[int, Library] = {}
        self.units: dict[str, CompilationUnit] = {}

    def add_ir_module(self, ir_module: Any) -> None:
        """Add a module."""
        self._modules.append(ir_module)

    def add_linking_library(self, library: Any) -> None:
        """Add the library of a numba function."""
        if library is not self:
            self._parts[id(library)] = library

    @cached_property
    def _own_texts(self) -> list[str]:
        return [str(one) for one in self._modules]

    def texts(self) -> list[str]:
        """Return the LLVM IR of this library and of all libraries that it requires."""
        found: dict[int, Library] = {}
        left = [self]
        while left:
            one = left.pop()
            if id(one) not in found:
                found[id(one)] = one
                left += one._parts.values()
        return [text for one in found.values() for text in one._own_texts]

    def finalize(self) -> None:
        """Do nothing: code is optimized when all of it is linked."""

    def get_function(self, name: str) -> Any:
        """Refuse: no function is ready."""
        raise NotImplementedError

    get_llvm_str = get_asm_str = get_function

    def get_pointer_to_function(self, name: str) -> int:
        """Return no address: the code is not executed in this process."""
        return 0


class _Codegen(codegen.JITCPUCodegen):  # type: ignore[misc]
    """Factory of libraries; numba's own execution engine is not needed."""

    _library_class = Library

    def _init(self, llvm_module: Any) -> None:
        self._tm = machine()
        self._tm_features = ""
        self._target_data = self._tm.target_data
        self._data_layout = str(self._target_data)


class _Target(cpu.CPUContext):  # type: ignore[misc]
    """Numba's CPU context, with the calling convention, libraries and functions of this package."""

    def init(self) -> None:
        """Initialize like numba's own context, without its run-time library."""
        self.is32bit = False
        self._sizes: dict[str, int] = {}
        self._internal_codegen = _Codegen("mbsim")
        self.data_model_manager = self.data_model_manager.copy()
        for kind in (types.Array, types.NestedArray):
            self.data_model_manager.register(kind, partial(ArrayModel, context=self))
        externals.c_math_functions.install(self)

    def load_additional_registries(self) -> None:
        """Load numba's functions of `math` and its universal functions; kernels use no other registries."""
        self.install_registry(mathimpl.registry)
        self.install_registry(npyimpl.registry)

    @property
    def call_conv(self) -> Any:
        """The calling convention."""
        return _CallConvention(self)

    def get_abi_sizeof(self, ty: Any) -> int:
        """Return the size of an LLVM type in bytes; LLVM parses a module to find it, once for each type."""
        text = str(ty)
        if text not in self._sizes:
            self._sizes[text] = super().get_abi_sizeof(ty)
        return self._sizes[text]

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> Any:
        """Return a unique builtin function, by which numba identifies the compiled function."""
        return [library].append

    def create_cpython_wrapper(self, *args: Any, **options: Any) -> None:
        """Write no wrapper for Python."""

    create_cfunc_wrapper = create_cpython_wrapper

    def post_lowering(self, mod: Any, library: Any) -> None:
        """Set the fast-math flags of all arithmetic."""
        if self.fastmath:
            cpu.fastmathpass.rewrite_module(mod, self.fastmath)

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """Return a function that writes a call."""
        if isinstance(fn, Callee):
            unit = fn.unit_for(sig.args)
            return lambda builder, args, loc=None: unit.call(self, builder, args)
        return super().get_function(fn, sig, _firstcall)


class _Typing(typing.Context):  # type: ignore[misc]
    """Numba's typing context, with the types of kernels, and a cache of the signatures of numba's functions."""

    def __init__(self) -> None:
        super().__init__()
        self._answers: dict[Any, Any] = {}

    def resolve_value_type(self, val: Any) -> Any:
        """Return the type of a global value."""
        return Callee(val) if isinstance(val, Declared) else super().resolve_value_type(val)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Return a signature."""
        of_numba = type(func) is types.Function or not isinstance(func, types.Type | str)
        if kws or not of_numba or any(isinstance(one, types.SliceLiteral) for one in args):
            return super().resolve_function_type(func, args, kws)
        key = func, args
        found = self._answers.get(key)
        if found is None:
            found = super().resolve_function_type(func, args, kws)
            if found is not None and found.return_type is not None:
                self._answers[key] = found
        return found


@contextmanager
def contexts() -> Iterator[tuple[Any, Any]]:
    """Use the contexts of this package, of types and of code, also for numba's own functions, inside `with`.

    Raises
    ------
    CompilerError
        If this version of numba was not checked.
    """
    typing_context, target = _new_contexts()
    with _in_contexts(typing_context, target):
        yield typing_context, target


@cache
def _new_contexts() -> tuple[Any, Any]:
    version = tuple(int(word) for word in numba.__version__.split(".")[:2])
    if not CHECKED[0] <= version < CHECKED[1]:
        words = " up to ".join(".".join(map(str, one)) for one in CHECKED)
        raise CompilerError(
            f"numba {numba.__version__} cannot compile kernels: versions from {words}, not included, can"
        )
    typing_context = _Typing()
    target = _Target(typing_context)
    with _in_contexts(typing_context, target):
        typing_context.refresh()
        target.refresh()
        typing_context.install_registry(typing_registry)
        target.install_registry(lowering_registry)
    return typing_context, target


@contextmanager
def _in_contexts(typing_context: Any, target: Any) -> Iterator[None]:
    names = {"_toplevel_typing_context": typing_context, "_toplevel_target_context": target}
    held = vars(cpu_target)
    before = {name: held.get(name) for name in names}
    held.update(names)
    try:
        yield
    finally:
        held.update(before)
        for name, context in before.items():
            if context is None:
                del held[name]
