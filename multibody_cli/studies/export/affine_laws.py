"""Laws of actuators as forces that are affine in their command u, coordinate and rate: c + g u + k q + d v."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Mapping
from typing import NamedTuple

from multibody_cli.actuators.contract import ActuatorSpec
from multibody_cli.expressions.words import CONSTANTS, FUNCTIONS
from multibody_cli.spec import SignalSpec
from multibody_cli.spec.signal import is_of_state


class Affine(NamedTuple):
    """c + g u + k q + d v."""

    constant: float
    command: float = 0.0
    position: float = 0.0
    rate: float = 0.0

    @property
    def is_constant(self) -> bool:
        """Whether it depends on nothing."""
        return not any(self[1:])

    def scaled(self, factor: float) -> Affine:
        """Return the multiple."""
        return Affine(*(factor * number for number in self))


class NotAffine(Exception):
    """A law that is not affine."""


class AffineLaw(NamedTuple):
    """The force of an actuator.

    Parameters
    ----------
    force
        The force, without limits and filter.
    command
        The present command.
    replaced
        Name of the command, if it is a function of time or of other coordinates, which counts as 0; else empty.
    """

    force: Affine
    command: float
    replaced: str


def affine_law(actuator: ActuatorSpec, inputs: Mapping[str, SignalSpec]) -> AffineLaw:
    """Return the law of an actuator, in a scene with some inputs.

    A command that depends on the coordinate and the rate itself is that at zero; the rest is a part of the law.  Where
    limits of the command make it have no effect, it counts as 0.

    Raises
    ------
    NotAffine
        It is not affine; the message is a reason for people.
    """
    law = actuator.law()
    if law.states:
        raise NotAffine("its law has a state of its own")
    values = {"q": Affine(0.0, position=1.0), "v": Affine(0.0, rate=1.0)}
    values |= {name: Affine(number) for name, number in law.parameters.items()}
    command, replaced = 0.0, ""
    for name in sorted(law.signals, key=lambda name: name != law.input):  # others may read the activation
        value = _signal(law.signals[name], values, inputs)
        if name == law.input:
            value, replaced = (Affine(0.0), name) if value is None else (value, "")
            lower, upper = actuator.input_limits or (-math.inf, math.inf)
            if actuator.input_limits is not None and not value.is_constant:
                raise NotAffine(f"its `{name}` has limits, and depends on the coordinate")
            value = value._replace(constant=min(max(lower, value.constant), upper))
            command = value.constant
            values["activation"] = value = value._replace(command=1.0)
        elif value is None:
            raise NotAffine(f"its `{name}` is a function of time or of other coordinates")
        values |= {name: value, f"{name}_rate": Affine(0.0)}
    body = ast.parse(law.force, mode="eval").body
    force = _value(body, values)
    if actuator.filter is not None and _value(body, values | {f"{law.input}_rate": Affine(1.0)}) != force:
        raise NotAffine("its law has the rate of its filtered command")
    command *= force.command != 0.0
    return AffineLaw(force._replace(constant=force.constant - force.command * command), command, replaced)


def _signal(signal: SignalSpec, values: Mapping[str, Affine], inputs: Mapping[str, SignalSpec]) -> Affine | None:
    """Return the value of a signal; None for a function of time or of other coordinates."""
    if signal.constant is not None:
        return Affine(signal.constant)
    if signal.expression is None:
        return None
    known = dict(values)
    for word, reference in signal.expression.references.items():
        value = (
            None if is_of_state(reference) or reference.path[1] not in inputs else inputs[reference.path[1]].constant
        )
        if value is None:
            return None
        known[word] = Affine(value)
    return _value(signal.expression.body, known) if signal.expression.names <= known.keys() else None


def _value(node: ast.AST, values: Mapping[str, Affine]) -> Affine:
    """Evaluate an expression."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return Affine(float(number))
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.Name(id=name) if name in CONSTANTS:
            return Affine(float(CONSTANTS[name]))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _value(operand, values).scaled(-1.0)
        case ast.BinOp(op=ast.Add() | ast.Sub() as op, left=left, right=right):
            combine = operator.add if isinstance(op, ast.Add) else operator.sub
            return Affine(*map(combine, _value(left, values), _value(right, values)))
        case ast.BinOp(op=ast.Mult() | ast.Div() as op, left=left, right=right):
            a, b = _value(left, values), _value(right, values)
            if b.is_constant:
                return a.scaled(b.constant if isinstance(op, ast.Mult) else 1.0 / b.constant)
            if a.is_constant and isinstance(op, ast.Mult):
                return b.scaled(a.constant)
        case ast.Call(func=ast.Name(id=name), args=args) if name in FUNCTIONS:
            found = [_value(one, values) for one in args]
            if all(one.is_constant for one in found):
                return Affine(float(FUNCTIONS[name](*(one.constant for one in found))))
            if name in ("min", "max") and not any(one.position or one.rate for one in found):
                chosen: Affine = FUNCTIONS[name](found, key=lambda one: one.constant)  # at the present command
                return chosen
    raise NotAffine("its law is not affine in coordinate and rate")
