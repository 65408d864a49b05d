"""The compiler front end: from a kernel and the types of its arguments to code for the store, by numba.

This is the only module that imports numba.  Numba infers types and writes LLVM IR, in contexts of this package, so that
other users of numba in the process are not affected.  Formulas are stored as bitcode and linked into the kernels that
call them, where they are inlined and optimized.  Kernels become object code and are called by their symbols.  A caller
needs only the result type of a kernel: one without result can be compiled later, in any order, by any process.

The module depends on internals of numba: contexts, passes, calling convention, the interface of code libraries.
`CHECKED` are the versions of numba that it was checked with.
"""

from __future__ import annotations

import base64
import inspect
import json
import operator
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from hashlib import sha256
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core import (
    callconv,
    cgutils,
    codegen,
    compiler,
    cpu,
    funcdesc,
    imputils,
    lowering,
    typed_passes,
    types,
    typing,
    untyped_passes,
)
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.datamodel import models, register_default
from numba.core.registry import cpu_target
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, Registry, signature
from numba.np import numpy_support

from multibody_cli.errors import MbsimError
from multibody_cli.kernel import arguments as kinds
from multibody_cli.kernel import optimizing, store
from multibody_cli.kernel.functions import (
    COMPONENTWISE,
    Choice,
    Formula,
    Instructions,
    operand_class,
    operator_formulas,
)
from multibody_cli.kernel.store import Code, as_recipe, compiler_digest
from multibody_cli.kernel.target import LANES, machine

CHECKED = ((0, 61), (0, 69))
"""The first supported version of numba, and the first later version that is not supported."""

FAST_MATH = {"contract", "nsz", "arcp"}
WORD = ir.IntType(64)

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_NUMBERS_OF_ARRAYS = {
    "f": ir.DoubleType(),
    "v": _VECTOR,
    "d": ir.LiteralStructType([ir.DoubleType(), _VECTOR], packed=True),
    "i": WORD,
}
"""LLVM types of the entries of arrays of generated functions, by the kind of the array."""


class CompilerError(MbsimError):
    """A kernel that cannot be compiled."""


# --- blocks -------------------------------------------------------------------------------------------------------
class BlockType(types.Type):
    """The type of a named tuple of arrays in memory: names, offsets in bytes and types of its fields."""

    def __init__(self, names: tuple[str, ...], offsets: tuple[int, ...], members: tuple[Any, ...], size: int) -> None:
        self.names, self.offsets, self.members, self.size = names, offsets, members, size
        parts = ",".join(f"{n}@{o}:{describe(m)}" for n, o, m in zip(names, offsets, members, strict=True))
        super().__init__(name=f"block{{{parts}}}")

    def __reduce__(self) -> Any:
        return BlockType, (self.names, self.offsets, self.members, self.size)


def type_of(kind: Any) -> Any:
    """Return numba's type for a kind of argument."""
    if isinstance(kind, kinds.Number):
        return {"d": types.float64, "q": types.int64, "?": types.boolean}[kind.code]
    if isinstance(kind, kinds.Array):
        dtype = numpy_support.from_dtype(kind.dtype)
        return types.Array(dtype, kind.ndim, "C" if kind.contiguous else "A")
    if isinstance(kind, kinds.Record):
        return numpy_support.from_dtype(kind.dtype)
    if isinstance(kind, kinds.Value):
        return types.BaseTuple.from_types([type_of(one) for one in kind.kinds], kind.instance)
    if isinstance(kind, kinds.Sequence):
        return types.Tuple([type_of(one) for one in kind.kinds])
    return BlockType(
        tuple(field.name for field in kind.fields),
        tuple(field.offset for field in kind.fields),
        tuple(type_of(field.kind) for field in kind.fields),
        kind.size,
    )


@cache
def describe(kind: Any) -> str:
    """Return a text of a type that includes the fields of classes, which numba leaves out; it is part of the digest."""
    if isinstance(kind, types.BaseNamedTuple):
        instance = kind.instance_class
        fields = ",".join(f"{n}:{describe(k)}" for n, k in zip(kind.fields, kind, strict=True))
        return f"{instance.__module__}.{instance.__qualname__}({fields})"
    if isinstance(kind, types.BaseTuple):
        return f"({','.join(map(describe, kind))})"
    if isinstance(kind, types.Array):
        return f"array({describe(kind.dtype)},{kind.ndim},{kind.layout})"
    return str(kind)


def _declared_result(function: Formula) -> Any:
    """Return the result type of a kernel if it is known without compilation, else None."""
    if function.inlined:
        return None
    return types.none if function.returns_nothing else declared_type(function.declared_result)


def declared_type(declared: Any) -> Any:
    """Return numba's type for the declared class of a result; None for `object`.

    Components of vectors are declared as `Any`, since formulas accept other numbers as well; in kernels they are
    float64.
    """
    if declared is object:
        return None
    if declared in _NUMBERS:
        return _NUMBERS[declared]
    if get_origin(declared) is tuple:
        return types.BaseTuple.from_types([declared_type(one) for one in get_args(declared)])
    return types.BaseTuple.from_types([declared_type(one) for one in get_type_hints(declared).values()], declared)


_NUMBERS = {NoneType: types.none, bool: types.boolean, int: types.int64, float: types.float64, Any: types.float64}


def narrowed(kind: Any, names: frozenset[str]) -> Any:
    """Remove the fields of blocks whose names do not occur in a kernel; see `arguments.narrow`."""
    if isinstance(kind, BlockType):
        parts = [
            (name, offset, narrowed(member, names))
            for name, offset, member in zip(kind.names, kind.offsets, kind.members, strict=True)
            if name in names
        ]
        size = parts[-1][1] + _size_of(parts[-1][2]) if parts else 0
        words, offsets, members = zip(*parts, strict=True) if parts else ((), (), ())
        return BlockType(words, offsets, members, size)
    if isinstance(kind, types.Tuple | types.UniTuple) and any(isinstance(one, BlockType) for one in kind):
        return types.Tuple([narrowed(one, names) for one in kind])
    return types.unliteral(kind)


def _size_of(kind: Any) -> int:
    """Return the size in bytes of a type inside a block; see `arguments.size_of`."""
    if isinstance(kind, types.Array):
        return kinds.WORD * (1 + kind.ndim * (1 if kind.layout == "C" else 2))
    if isinstance(kind, BlockType):
        return kind.size
    if isinstance(kind, types.BaseTuple):
        return sum(map(_size_of, kind))
    return kinds.WORD


def _load(context: Any, builder: Any, pointer: Any, offset: int, kind: Any, in_line: bool = True) -> tuple[Any, int]:
    """Load a value of a type from words; return it and the offset after it.

    A block is stored inline inside a block, and as a pointer among the arguments of an entry point.
    """

    def word(place: int, llvm_type: Any) -> Any:
        address = builder.gep(pointer, [WORD(place)], inbounds=True)
        value = builder.load(builder.bitcast(address, llvm_type.as_pointer()))
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    if isinstance(kind, BlockType):
        if not in_line:
            return word(offset, ir.IntType(8).as_pointer()), offset + kinds.WORD
        return builder.gep(pointer, [WORD(offset)], inbounds=True), offset + kind.size
    if isinstance(kind, types.BaseTuple):
        parts = []
        for one in kind:
            part, offset = _load(context, builder, pointer, offset, one, in_line)
            parts.append(part)
        return context.make_tuple(builder, kind, parts), offset
    if isinstance(kind, types.Array):
        return _load_array(context, builder, word, offset, kind), offset + _size_of(kind)
    if isinstance(kind, types.Boolean):
        return builder.icmp_unsigned("!=", word(offset, WORD), WORD(0)), offset + kinds.WORD
    return word(offset, context.get_value_type(kind)), offset + kinds.WORD


def _load_array(context: Any, builder: Any, word: Callable[[int, Any], Any], offset: int, kind: Any) -> Any:
    array = context.make_array(kind)(context, builder)
    item = WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    shape = [word(offset + kinds.WORD * (1 + axis), WORD) for axis in range(kind.ndim)]
    if kind.layout == "C":
        strides: list[Any] = []
        stride = item
        for length in reversed(shape):
            strides.insert(0, stride)
            stride = builder.mul(stride, length)
    else:
        strides = [word(offset + kinds.WORD * (1 + kind.ndim + axis), WORD) for axis in range(kind.ndim)]
    count = WORD(1)
    for length in shape:
        count = builder.mul(count, length, flags=["nsw"])
    array.data = word(offset, array.data.type)
    array.shape, array.strides = cgutils.pack_array(builder, shape), cgutils.pack_array(builder, strides)
    array.nitems, array.itemsize = count, item
    array.meminfo = array.parent = cgutils.get_null_value(ir.IntType(8).as_pointer())
    return array._getvalue()


# --- the types of functions in compiled code ----------------------------------------------------------------------
class Callee(types.Callable, types.Opaque):
    """The type, for numba, of a kernel, a formula, a choice of formulas, or a function written as instructions."""

    def __init__(self, name: str, function: Any, unit_for: Callable[[Any], Any]) -> None:
        self.function, self.unit_for = function, unit_for
        super().__init__(name)

    def get_call_type(self, context: Any, args: Any, keywords: Any) -> Any:
        """Return the signature for arguments of these types."""
        if keywords:
            bound = inspect.signature(self.function.py_func).bind(*args, **keywords)
            args = bound.args
        unit = self.unit_for(args)
        return signature(unit.result, *unit.arguments)

    def get_call_signatures(self) -> Any:
        """Return no signatures: arguments of any types are accepted."""
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        """Return the key by which numba looks up an implementation."""
        return type(self), sig.args


def callee_type(function: Formula) -> Any:
    """Return the type of a kernel or formula in compiled code."""
    return Callee(f"{function.full_name} {id(function)}", function, lambda args: unit_of(function, args))


def choice_type(choice: Choice) -> Any:
    """Return the type of a choice of formulas in compiled code."""

    def unit_for(args: Any) -> Any:
        return unit_of(choice.formulas[choice.key(*args)], args)

    return Callee(f"{choice.__module__}.{choice.__qualname__} {id(choice)}", choice, unit_for)


class _InlineInstructions:
    """Result of `Callee.unit_for` for a function written as instructions."""

    result = types.none

    def __init__(self, function: Instructions, args: Any) -> None:
        self.function, self.arguments = function, tuple(map(types.unliteral, args))

    def call(self, context: Any, builder: Any, args: Any) -> Any:
        """Write the instructions."""
        self.function.emit(context, builder, self.arguments, args)
        return context.get_dummy_value()


def instructions_type(function: Instructions) -> Any:
    """Return the type of a function that is written as instructions."""
    return Callee(f"{function.__qualname__} {id(function)}", function, lambda args: _InlineInstructions(function, args))


# --- compiled functions, as their callers see them ----------------------------------------------------------------
class Unit:
    """A compilation unit: a kernel or formula for arguments of given types, as its callers see it."""

    def __init__(self, function: Formula, args: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, args
        words = " ".join(map(describe, args))
        digest = sha256(f"{compiler_digest()} {function.reach.digest} {words}".encode()).hexdigest()
        self.symbol = ("f" if function.inlined else "k") + digest[:31]
        self._result: Any = _declared_result(function)

    @property
    def result(self) -> Any:
        """The type of its result; compiles the function if it is not declared."""
        if self._result is None:
            self._result = pickle.loads(base64.b64decode(self.compiled().result))
        return self._result

    def compiled(self) -> Code:
        """Return its code, from the store or compiled now."""
        code = _complete(self.symbol)
        if code is None:
            with store.lock(self.symbol):
                code = _complete(self.symbol)
                if code is None:
                    code = _compile(self)
                    _listeners[-1].keep(code)
        return code

    @cached_property
    def recipe(self) -> bytes:
        """Its recipe for any process; empty if its function cannot be imported by name."""
        try:
            return as_recipe("unit", self.function, self.arguments)
        except (pickle.PicklingError, AttributeError):
            return b""

    def call(self, context: Any, builder: Any, args: Any) -> Any:
        """Write a call of the function."""
        context.active_code_library.units[self.symbol] = self
        result = self.result  # before the call is reported, to avoid waiting for another process that compiles it
        if not self.function.inlined:
            _listeners[-1].calls(self)
        kind = context.call_conv.get_function_type(result, self.arguments)
        function = cgutils.get_or_insert_function(builder.module, kind, self.symbol)
        status, value = context.call_conv.call_function(builder, function, result, self.arguments, args)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return value


@cache
def _complete_symbols() -> set[str]:
    return set()


def _complete(symbol: str) -> Code | None:
    """Return code from the store, if all formulas that its bitcode requires are there."""
    code = store.find(symbol)
    if code is None or symbol in _complete_symbols():
        return code
    if any(_complete(one) is None for one in code.inlines):
        return None
    _complete_symbols().add(symbol)
    return code


class Listener:
    """Receiver of the events of compilation; this one stores code, and requests no compilation of callees."""

    def calls(self, unit: Unit) -> None:
        """Handle a call of a kernel."""

    def keep(self, code: Code) -> None:
        """Store code."""
        store.keep(code)


_listeners = [Listener()]


@contextmanager
def listening(listener: Any) -> Iterator[Any]:
    """Send the events of compilation to a listener inside a `with` statement."""
    _listeners.append(listener)
    try:
        yield listener
    finally:
        _listeners.pop()


_units: dict[Any, Unit] = {}


def unit_of(function: Formula, args: Any) -> Unit:
    """Return the compilation unit of a kernel or formula for arguments of these types."""
    names = function.reach.names
    args = tuple(narrowed(one, names) for one in args)
    key = function, args
    if key not in _units:
        _units[key] = Unit(function, args)
    return _units[key]


# --- extensions of numba ------------------------------------------------------------------------------------------
_typing_registry, _lowering_registry = Registry(), imputils.Registry("mbsim")

register_default(BlockType)(models.OpaqueModel)
register_default(Callee)(models.OpaqueModel)


@_typing_registry.register_attr
class _BlockAttributes(AttributeTemplate):  # type: ignore[misc]
    key = BlockType

    def generic_resolve(self, block: Any, name: str) -> Any:
        return block.members[block.names.index(name)] if name in block.names else None


@_lowering_registry.lower_getattr_generic(BlockType)
def _block_attribute(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    k = kind.names.index(name)
    return _load(context, builder, value, kind.offsets[k], kind.members[k])[0]


@_lowering_registry.lower_cast(BlockType, BlockType)
def _same_block(context: Any, builder: Any, kind: Any, wanted: Any, value: Any) -> Any:
    return value


@_lowering_registry.lower_constant(Callee)
def _no_value(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_dummy_value()


def _pairs(a: Any, b: Any) -> Iterator[tuple[Any, Any]]:
    """Pair the components of two values, or one number with each component of a value."""
    return zip(a, b, strict=True) if operand_class(a) else ((a, component) for component in b)


def _component_result(context: Any, op: Any, a: Any, b: Any) -> Any:
    if operand_class(b) is None:
        return context.resolve_function_type(op, (a, b), {}).return_type
    parts = [_component_result(context, op, x, y) for x, y in _pairs(a, b)]
    return types.BaseTuple.from_types(parts, operand_class(b))


def _write_components(op: Any) -> Callable[..., Any]:
    def write(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def components(kind: Any, value: Any) -> list[tuple[Any, Any]]:
            return [(part, builder.extract_value(value, k)) for k, part in enumerate(kind)]

        def apply(result: Any, a: tuple[Any, Any], b: tuple[Any, Any]) -> Any:
            if operand_class(b[0]) is None:
                return context.get_function(op, signature(result, a[0], b[0]))(builder, (a[1], b[1]))
            lefts = components(*a) if operand_class(a[0]) else [a] * len(b[0])
            parts = zip(result, lefts, components(*b), strict=True)
            return context.make_tuple(builder, result, [apply(*part) for part in parts])

        return apply(sig.return_type, (sig.args[0], args[0]), (sig.args[1], args[1]))

    return write


def _register_operator(op: Any) -> None:
    """Register type and code of an operator of values: component by component, or the formula of both operands."""

    class Template(AbstractTemplate):  # type: ignore[misc]
        key = op

        def generic(self, args: Any, _keywords: Any) -> Any:
            classes = [operand_class(one) for one in args]
            if not any(classes):
                return None
            formula = operator_formulas.get((op, *classes)) if len(classes) == 2 else None
            if formula is not None:
                unit = unit_of(formula, args)
                return signature(unit.result, *args)
            if op is operator.neg:
                return signature(_component_result(self.context, operator.mul, types.float64, args[0]), *args)
            fits = classes[0] == (None if op is operator.mul else classes[1])
            if op in COMPONENTWISE and fits and classes[1]:
                return signature(_component_result(self.context, op, *args), *args)
            return None

    _typing_registry.register_global(op)(Template)

    def write(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        formula = operator_formulas.get((op, *map(operand_class, sig.args))) if len(args) == 2 else None
        if formula is not None:
            return unit_of(formula, sig.args).call(context, builder, args)
        if op is operator.neg:
            factor = context.get_constant(types.float64, -1.0)
            of_two = signature(sig.return_type, types.float64, *sig.args)
            return _write_components(operator.mul)(context, builder, of_two, (factor, *args))
        return _write_components(op)(context, builder, sig, args)

    for count in (1, 2):
        for numbers in range(count):
            operands = [types.Any] * numbers + [types.BaseNamedTuple] * (count - numbers)
            _lowering_registry.lower(op, *operands)(write)


for _op in (*COMPONENTWISE, operator.matmul):
    _register_operator(_op)


# --- contexts -----------------------------------------------------------------------------------------------------
class _CallConvention(callconv.MinimalCallConv):  # type: ignore[misc]
    """Calling convention: a status is returned, the result is written through a pointer, and blocks are read-only."""

    def decorate_function(self, fn: Any, args: Any, fe_argtypes: Any, noalias: bool = False) -> None:
        """Set attributes of the arguments."""
        super().decorate_function(fn, args, fe_argtypes, noalias)
        k = 1
        for kind in fe_argtypes:
            if isinstance(kind, BlockType) and kind.size:
                fn.args[k].add_attribute("noalias")
                fn.args[k].add_attribute("nonnull")
                fn.args[k].attributes.dereferenceable = kind.size
            k += _count(self.context.data_model_manager[kind].get_argument_type())


def _count(kind: Any) -> int:
    return sum(map(_count, kind)) if isinstance(kind, tuple | list) else 1


class _Library(codegen.CodeLibrary):  # type: ignore[misc]
    """LLVM modules of one function and of the numba functions that it requires, before optimization."""

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__(owner, name)
        self.modules: list[Any] = []
        self.units: dict[str, Unit] = {}
        self.parts: dict[int, _Library] = {}

    def add_ir_module(self, ir_module: Any) -> None:
        """Add a module."""
        self.modules.append(ir_module)

    def add_linking_library(self, library: Any) -> None:
        """Add the library of a numba function."""
        if library is not self:
            self.parts[id(library)] = library

    def everything(self) -> dict[int, _Library]:
        """Return this library and all libraries that it requires."""
        found, left = {}, [self]
        while left:
            one = left.pop()
            if id(one) not in found:
                found[id(one)] = one
                left += one.parts.values()
        return found

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

    _library_class = _Library

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
        self._internal_codegen = _Codegen("mbsim")
        from numba.core import externals

        externals.c_math_functions.install(self)

    def load_additional_registries(self) -> None:
        """Load numba's functions of numbers, tuples and arrays; kernels use no others."""
        from numba.core import optional  # noqa: F401
        from numba.cpython import builtins, iterators, mathimpl, numbers, rangeobj, slicing, tupleobj  # noqa: F401
        from numba.np import arraymath, arrayobj, npyimpl  # noqa: F401

        self.install_registry(mathimpl.registry)
        self.install_registry(npyimpl.registry)

    @property
    def call_conv(self) -> Any:
        """The calling convention."""
        return _CallConvention(self)

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
    """Numba's typing context, with a cache of the signatures of numba's functions."""

    def __init__(self) -> None:
        super().__init__()
        self._answers: dict[Any, Any] = {}

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
def _in_contexts(typing_context: Any, target: Any) -> Iterator[None]:
    """Use the contexts of this package also for numba's own functions, inside a `with` statement."""
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


@cache
def _contexts() -> tuple[Any, Any]:
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
        typing_context.install_registry(_typing_registry)
        target.install_registry(_lowering_registry)
    return typing_context, target


# --- from a function to instructions ------------------------------------------------------------------------------
class _Lower(lowering.Lower):  # type: ignore[misc]
    """Numba's lowering to LLVM IR, without the environment objects for Python."""

    def emit_environment_object(self) -> None:
        """Write none."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _WriteInstructions(LoweringPass):  # type: ignore[misc]
    """The last pass: lowering under the symbol of the unit."""

    _name = "mbsim_write_instructions"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Write the instructions into the library."""
        symbol = state.library.name
        description = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            state.func_ir,
            state.typemap,
            state.return_type,
            state.calltypes,
            mangler=lambda *_args, **_options: symbol,
            inline=state.flags.forceinline,
            noalias=False,
            abi_tags=(),
        )
        context = state.targetctx
        with context.push_code_library(state.library):
            _Lower(context, state.library, description, state.func_ir, metadata=state.metadata).lower()
        state.cr = state.return_type
        return True


class _Pipeline(compiler.CompilerBase):  # type: ignore[misc]
    """The passes that kernels need."""

    def define_pipelines(self) -> list[Any]:
        """Return them as one pipeline."""
        passes = PassManager("mbsim")
        for one in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            untyped_passes.InlineClosureLikes,
            untyped_passes.RewriteSemanticConstants,
            untyped_passes.DeadBranchPrune,
            untyped_passes.GenericRewrites,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis,
            typed_passes.InlineOverloads,
            typed_passes.IRLegalization,
            _WriteInstructions,
        ):
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


def _flags(inlined: bool) -> Any:
    flags = compiler.Flags()
    flags.nrt = False
    flags.error_model = "numpy"
    flags.fastmath = cpu.FastMathOptions(FAST_MATH)
    flags.forceinline = inlined
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    return flags


def _compile(unit: Unit) -> Code:
    """Compile a unit.

    Raises
    ------
    CompilerError
        If it cannot be compiled.
    """
    typing_context, target = _contexts()
    library = target.codegen().create_library(unit.symbol)
    function = unit.function
    with _in_contexts(typing_context, target):
        pipeline = _Pipeline(typing_context, target, library, unit.arguments, None, _flags(function.inlined), {})
        result = pipeline.compile_extra(function.py_func)
    declared = _declared_result(function)
    if declared not in (None, result):
        raise CompilerError(f"{function.full_name} returns {result}, and declares {declared}")
    module = _linked(library, unit.symbol)
    kind = base64.b64encode(pickle.dumps(result, protocol=4)).decode()
    if not function.inlined:
        return _as_object(module, unit.symbol, library.units, kind, function.full_name)
    optimizing.simplify(module)
    inlines = tuple(symbol for symbol, one in library.units.items() if one.function.inlined)
    calls, recipes = _calls(library.units, {symbol for symbol in library.units if symbol not in inlines})
    return Code(unit.symbol, module.as_bitcode(), calls, recipes, inlines, (), kind, function.full_name)


def _calls(units: dict[str, Unit], symbols: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the symbols of called kernels, and their recipes."""
    calls = tuple(sorted(symbols))
    return calls, tuple(base64.b64encode(units[symbol].recipe).decode() for symbol in calls)


def _as_object(module: Any, symbol: str, units: dict[str, Unit], result: str, title: str) -> Code:
    """Link formulas into a kernel, optimize it, and emit its object code."""
    calls: dict[str, str] = {}
    for one in units.values():
        if not one.function.inlined:
            calls[one.symbol] = base64.b64encode(one.recipe).decode()
    left = [one.symbol for one in units.values() if one.function.inlined]
    linked: set[str] = set()
    while left:
        formula = left.pop()
        if formula not in linked:
            linked.add(formula)
            code, bitcode = _formula(formula)
            module.link_in(bitcode, preserve=True)
            calls.update(zip(code.calls, code.recipes, strict=True))
            left += code.inlines
    text, declared = optimizing.machine_code(module, symbol)
    called = tuple(sorted(calls.keys() & declared))
    externals = tuple(sorted(declared - calls.keys()))
    recipes = tuple(calls[one] for one in called)
    return Code(symbol, text, called, recipes, (), externals, result, title)


def _linked(library: _Library, symbol: str) -> Any:
    """Link the modules of a function with those of the numba functions that it requires."""
    return optimizing.linked(symbol, [str(text) for one in library.everything().values() for text in one.modules])


@cache
def _formula(symbol: str) -> tuple[Code, Any]:
    """Return the code of a formula, and its bitcode as a module."""
    code = next((one.compiled() for one in _units.values() if one.symbol == symbol), None) or store.find(symbol)
    if code is None:
        raise CompilerError(f"the code of formula {symbol} was removed while in use")
    return code, llvm.parse_bitcode(code.code)


# --- entries ------------------------------------------------------------------------------------------------------
def compile_entry(symbol: str, kernel: Formula, argument_kinds: tuple[Any, ...]) -> Code:
    """Write the entry point of a kernel: it loads the arguments from words, and stores the result in words."""
    args = tuple(type_of(kind) for kind in argument_kinds)
    unit = unit_of(kernel, args)
    typing_context, target = _contexts()
    with _in_contexts(typing_context, target):
        library = target.codegen().create_library(symbol)
        module = library.create_ir_module(symbol)
        pointer, status_type = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = ir.Function(module, ir.FunctionType(status_type, [pointer, pointer]), symbol)
        builder = ir.IRBuilder(function.append_basic_block())
        target.call_conv.init_call_helper(builder)
        values, offset = [], 0
        for kind in args:
            value, offset = _load(target, builder, function.args[0], offset, kind, in_line=False)
            values.append(value)
        with target.push_code_library(library):
            result = unit.call(target, builder, values)
            words = _store_result(target, builder, function.args[1], unit.result, result)
        builder.ret(status_type(0))
    code = llvm.parse_assembly(str(module))
    return _as_object(code, symbol, library.units, json.dumps(words), kernel.full_name)


def _store_result(context: Any, builder: Any, pointer: Any, kind: Any, value: Any) -> Any:
    """Store a result in words; return its description for `loading`."""
    place = 0

    def write(kind: Any, value: Any) -> Any:
        nonlocal place
        if isinstance(kind, types.BaseTuple):
            parts = [write(one, builder.extract_value(value, k)) for k, one in enumerate(kind)]
            instance = getattr(kind, "instance_class", None)
            return [instance and f"{instance.__module__}:{instance.__qualname__}", parts]
        if isinstance(kind, types.Boolean):
            code, value = "?", builder.zext(value, WORD)
        elif isinstance(kind, types.Integer):
            code, value = "q", context.cast(builder, value, kind, types.int64)
        elif isinstance(kind, types.Float):
            code, value = "d", context.cast(builder, value, kind, types.float64)
        else:
            raise CompilerError(f"a kernel that Python calls cannot return {kind}")
        address = builder.gep(pointer, [WORD(kinds.WORD * place)], inbounds=True)
        builder.store(value, builder.bitcast(address, value.type.as_pointer()))
        place += 1
        return code

    return None if isinstance(kind, types.NoneType) else write(kind, value)


# --- functions of generated source --------------------------------------------------------------------------------
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
    typing_context, target = _contexts()
    with _in_contexts(typing_context, target):
        context = target.subtarget(fastmath=cpu.FastMathOptions(FAST_MATH), error_model=_numpy_errors(target))
        library = context.codegen().create_library(symbol)
        module = library.create_ir_module(symbol)
        arrays = [_NUMBERS_OF_ARRAYS[kind].as_pointer() for kind in arguments]
        # numba's functions propagate a status code, so that this function must return one as well
        function = ir.Function(module, ir.FunctionType(ir.IntType(32), arrays), symbol)
        if "v" in arguments or "d" in arguments:  # nobody passes one array of vectors twice
            for argument in function.args:
                argument.add_attribute("noalias")
        builder = ir.IRBuilder(function.append_basic_block())
        target.call_conv.init_call_helper(builder)

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
    return _as_object(_linked(library, symbol), symbol, library.units, "null", title)


def _numpy_errors(target: Any) -> Any:
    return callconv.create_error_model("numpy", target)


__all__ = ["CompilerError", "callee_type", "choice_type", "compile_entry", "compile_generated", "instructions_type"]
