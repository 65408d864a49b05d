"""Load and store of values in records: the only functions that know the memory layout of a value.

A field of three numbers holds a Vec3, one of six a Sym3, one of nine a Mat3 by its columns; the fields t and f of a
record hold a Force.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.kernel import chosen, formula, operand_class
from multibody_cli.spatial.values import Force, Mat3, Sym3, Vec3


def _load_vector(field: Any) -> Vec3:
    return Vec3(field[0], field[1], field[2])


def _load_symmetric(field: Any) -> Sym3:
    return Sym3(field[0], field[1], field[2], field[3], field[4], field[5])


def _load_matrix(field: Any) -> Mat3:
    return Mat3(
        Vec3(field[0], field[1], field[2]),
        Vec3(field[3], field[4], field[5]),
        Vec3(field[6], field[7], field[8]),
    )


def _store_vector(field: Any, a: Vec3) -> None:
    field[0] = a.x
    field[1] = a.y
    field[2] = a.z


def _store_symmetric(field: Any, a: Sym3) -> None:
    field[0] = a.xx
    field[1] = a.xy
    field[2] = a.xz
    field[3] = a.yy
    field[4] = a.yz
    field[5] = a.zz


def _store_matrix(field: Any, a: Mat3) -> None:
    field[0] = a.x.x
    field[1] = a.x.y
    field[2] = a.x.z
    field[3] = a.y.x
    field[4] = a.y.y
    field[5] = a.y.z
    field[6] = a.z.x
    field[7] = a.z.y
    field[8] = a.z.z


@chosen({3: _load_vector, 6: _load_symmetric, 9: _load_matrix})
def load(field: Any) -> Any:
    """Return the value in a field of 3, 6 or 9 numbers."""
    return field.shape[0]


@chosen({Vec3: _store_vector, Sym3: _store_symmetric, Mat3: _store_matrix})
def store(field: Any, value: Any) -> Any:
    """Store a value in a field of a record."""
    return operand_class(value)


@formula
def load_force(record):
    """Return the wrench in the fields t and f of a record."""
    return Force(load(record.t), load(record.f))


@formula
def store_force(record, p):
    """Store a wrench in the fields t and f of a record."""
    store(record.t, p.t)
    store(record.f, p.f)
