"""What a joint locks and how its coordinates push, found where it stands alone."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_frames import find_locks_at
from multibody_cli.joints.contract import Part
from multibody_cli.joints.directions import find_duals
from multibody_cli.joints.parts.generated import shaping_for
from multibody_cli.kernel import records
from multibody_cli.model import LOCK, PART, Floats
from multibody_cli.packing.part_tables import PartTables
from multibody_cli.tree.workspace import BODY, COLUMN, WRENCH

Vector = tuple[float, float, float]

NEARBY = 0.01
"""How far from where it surely stands a joint of a general shape is put, in its coordinates."""


class Locks(NamedTuple):
    """Directions [t; f] that a joint locks, in the axes of M, and whether they are the same wherever it stands."""

    directions: list[tuple[Vector, Vector]]
    steady: bool


class Stance(NamedTuple):
    """A joint in some place.

    Its locks (m, 6) and the wrenches (nv, 6) by which its coordinates push, [t; f] about the origin of M; and the
    vector (3,) from the origin of F to that of M; the motion subspace (6, nv), in the axes of F; and the
    rotation (3, 3) of M in F.
    """

    locks: Floats
    duals: Floats
    reach: Floats
    columns: Floats
    rotation: Floats


@lru_cache(maxsize=4096)
def locks_of(parts: tuple[Part, ...], driven: tuple[bool, ...], normal: Vector | None = None) -> Locks:
    """Find the locks of a joint; between bodies that move in the plane of a `normal` in M, those that they feel."""
    found = [stance.locks for stance in stances_of(parts, driven, normal)]
    spans = [T.T @ T for T in found]
    steady = all(np.allclose(span, spans[0], rtol=0.0, atol=1e-12) for span in spans)
    return Locks([(tuple(T[:3].tolist()), tuple(T[3:].tolist())) for T in found[0]], steady)


@lru_cache(maxsize=4096)
def stances_of(parts: tuple[Part, ...], driven: tuple[bool, ...], normal: Vector | None = None) -> list[Stance]:
    """Put a joint into three places, the same ones in every run; all in the axes of M."""
    tables = PartTables()
    for part in parts:
        tables.add(part)
    rng = np.random.default_rng(0)
    places = [_somewhere(parts, tables, rng) for _ in range(3)]
    return [_stand(tables, q, np.array(driven, dtype=np.bool_), normal) for q in places]


def _somewhere(parts: tuple[Part, ...], tables: PartTables, rng: np.random.Generator) -> Floats:
    """Coordinates at which a joint can stand."""
    q = rng.uniform(-1.0, 1.0, tables.nq)
    for part, (_, _, iq, *_) in zip(parts, tables.parts, strict=True):
        if part.shape:
            q[iq : iq + part.nq] = np.array(part.stand) + NEARBY * q[iq : iq + part.nq]
    for iq, *_ in tables.quaternions:
        q[iq : iq + 4] /= np.linalg.norm(q[iq : iq + 4])
    return q


def pose_at(parts: tuple[Part, ...], q: Floats) -> tuple[Floats, Floats]:
    """Rotation (3, 3) and position (3,) of M in F."""
    stance = _standing(parts, q)
    return stance.rotation, stance.rotation @ stance.reach


def columns_at(parts: tuple[Part, ...], q: Floats) -> Floats:
    """Motion subspace (6, nv) of a joint, [angular; linear] about the origin of M; NaN where it is not defined."""
    return _standing(parts, q).columns


def _standing(parts: tuple[Part, ...], q: Floats) -> Stance:
    tables = PartTables()
    for part in parts:
        tables.add(part)
    return _stand(tables, q, np.ones(tables.nv, np.bool_), None)


def _stand(tables: PartTables, q: Floats, driven: np.ndarray, normal: Vector | None) -> Stance:
    ghosts, columns = np.zeros(1, BODY), records(np.zeros(tables.nv, COLUMN))
    locks, duals = np.zeros(6 - int(np.sum(~driven)), LOCK), np.zeros(tables.nv, WRENCH)
    basis, constants = np.zeros((6, 6)), np.array(tables.constants, dtype=np.float64)
    constants.flags.writeable = False
    shaping = shaping_for(constants)
    count = find_locks_at(
        records(np.array(tables.parts, PART)),
        q,
        np.zeros(tables.nv),
        driven,
        normal is not None,
        np.array(normal or (0.0, 0.0, 0.0)),
        records(ghosts),
        columns,
        shaping,
        basis,
        records(locks),
    )
    find_duals(columns, 0, tables.nv, driven, basis, records(duals))
    R = ghosts["R"][0].reshape(3, 3)  # by columns, so that R @ a takes a into M
    T = np.column_stack([locks["t"], locks["f"]])[:count]
    S = np.column_stack([columns["angular"], columns["linear"]]).T
    if not np.isfinite(shaping.out).all():  # as a rate may be where the columns are finite
        S = np.full_like(S, np.nan)
    return Stance(T, np.column_stack([duals["t"] @ R.T, duals["f"] @ R.T]), R @ ghosts["r"][0], S, R.T)
