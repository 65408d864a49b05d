"""Vectors, matrices and spatial values, with their operators: one implementation for Python and for numba.

    Vec3     x y z                     a vector
    Mat3     x y z                     a matrix by its columns: a rotation, or a coupling block
    Sym3     xx xy xz yy yz zz         a symmetric matrix
    Motion   w v                       angular and linear part of a twist or of an acceleration
    Force    t f                       moment and force of a wrench
    Inertia  J H M                     [[J, H], [H^T, M]], maps a Motion to a Force
    RigidInertia  J h m                the Inertia of a rigid body: H = [h], M = m 1

Values are immutable named tuples.  `a + b`, `a - b`, `-a` and `s * a` work component by component at any depth, `A @ b`
is the product defined for the two kinds.  numba keeps the tuples in registers, so nothing is allocated; write `a = a +
b`, never `a += b`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from multibody_cli.kernel import operand_class, operand_classes, operand_pairs, operator_formula


class Vec3(NamedTuple):
    """A vector in three dimensions."""

    x: Any
    y: Any
    z: Any


class Mat3(NamedTuple):
    """A 3 x 3 matrix, stored by columns."""

    x: Vec3
    y: Vec3
    z: Vec3


class Sym3(NamedTuple):
    """A symmetric 3 x 3 matrix, stored by its six independent entries."""

    xx: Any
    xy: Any
    xz: Any
    yy: Any
    yz: Any
    zz: Any


class Motion(NamedTuple):
    """A twist or spatial acceleration: angular part w, linear part v."""

    w: Vec3
    v: Vec3


class Force(NamedTuple):
    """A wrench: moment t, force f."""

    t: Vec3
    f: Vec3


class Inertia(NamedTuple):
    """A symmetric 6 x 6 matrix [[J, H], [H^T, M]] from Motion to Force."""

    J: Sym3
    H: Mat3
    M: Sym3


class RigidInertia(NamedTuple):
    """The inertia of a rigid body: moments about the point, mass times the vector to the centre of mass, mass."""

    J: Sym3
    h: Vec3
    m: Any


_KINDS: tuple[Any, ...] = (Vec3, Mat3, Sym3, Motion, Force, Inertia, RigidInertia)


# --- + and - between equal kinds, number * value, and the unary minus --------------------------------------------
def _in_python(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        return type(b)(*(op(x, y) for x, y in operand_pairs(a, b)))

    return apply


operand_classes.extend(_KINDS)  # for compiled code
for _kind in _KINDS:
    _kind.__array_ufunc__ = None  # numpy numbers leave `s * a` to the value
    _kind.__add__ = _in_python(operator.add)
    _kind.__sub__ = _in_python(operator.sub)
    _kind.__rmul__ = lambda a, s: _in_python(operator.mul)(s, a)
    _kind.__neg__ = lambda a: -1.0 * a


# --- A @ b --------------------------------------------------------------------------------------------------------
_PRODUCTS: dict[tuple[Any, Any], Callable[[Any, Any], Any]] = {}


def product(left: Any, right: Any) -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """Define `left @ right` for operands of these kinds, for Python and for compiled code."""

    def define(rule: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        _PRODUCTS[left, right] = rule
        left.__matmul__ = lambda a, b: _PRODUCTS[operand_class(a), operand_class(b)](a, b)
        operator_formula(operator.matmul, left, right, rule)
        return rule

    return define
