"""Numba's functions of blocks and of values: attributes of blocks, and operators component by component."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numba.core import imputils, types
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, Registry, signature

from multibody_cli.kernel.compiler.block_types import BlockType, type_of
from multibody_cli.kernel.compiler.units import Callee, unit_of
from multibody_cli.kernel.compiler.words import load
from multibody_cli.kernel.operators import COMPONENTWISE, operand_class, operand_pairs, operator_formulas

typing_registry, lowering_registry = Registry(), imputils.Registry("mbsim")


@typing_registry.register_attr
class _BlockAttributes(AttributeTemplate):  # type: ignore[misc]
    key = BlockType

    def generic_resolve(self, block: Any, name: str) -> Any:
        return type_of(block.fields[name].kind) if name in block.fields else None


@lowering_registry.lower_getattr_generic(BlockType)
def _block_attribute(context: Any, builder: Any, block: Any, value: Any, name: str) -> Any:
    return load(context, builder, value, block.fields[name].offset, block.fields[name].kind)[0]


@lowering_registry.lower_cast(BlockType, BlockType)
def _same_block(context: Any, builder: Any, kind: Any, wanted: Any, value: Any) -> Any:
    return value


@lowering_registry.lower_constant(Callee)
def _no_value(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_dummy_value()


def _component_result(context: Any, op: Any, a: Any, b: Any) -> Any:
    if operand_class(b) is None:
        return context.resolve_function_type(op, (a, b), {}).return_type
    parts = [_component_result(context, op, x, y) for x, y in operand_pairs(a, b)]
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

    typing_registry.register_global(op)(Template)

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
            lowering_registry.lower(op, *operands)(write)


for _op in (*COMPONENTWISE, operator.matmul):
    _register_operator(_op)
