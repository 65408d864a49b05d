"""Constraint axes and dual basis of an isolated joint, in sampled configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_frames import find_constraint_axes_at
from multibody_cli.joints.contract import Part, PartCode
from multibody_cli.joints.directions import find_constraint_axes, find_dual_basis
from multibody_cli.joints.joint_map import JointMap, source_of
from multibody_cli.joints.parts.generated import GeneratedBuffers
from multibody_cli.joints.parts.screw import NOT_TURNING, OBLIQUE
from multibody_cli.kernel import allocate, records
from multibody_cli.model import CONSTRAINT_AXIS, PART, Floats
from multibody_cli.spatial.products import UNIT
from multibody_cli.symbolic.generated import address_of
from multibody_cli.tree.workspace import BODY, COLUMN, WRENCH


# --- packing of parts of joints into the tables of `Tree` -------------------------------------------------------------
@dataclass
class PartTables:
    """The tables under construction, and the current lengths of q and v."""

    parts: list[tuple[Any, ...]] = field(default_factory=list)
    plain: list[tuple[int, int]] = field(default_factory=list)
    quaternions: list[tuple[int, int, bool]] = field(default_factory=list)
    exponentials: list[tuple[int, int]] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    joint_maps: dict[int, JointMap] = field(default_factory=dict)  # by the address of their code
    nq: int = 0
    nv: int = 0

    def add(self, part: Part) -> None:
        """Append a part."""
        iq, iv = self.nq, self.nv
        joint_map, first = part.joint_map, len(self.constants)
        address = 0
        if joint_map:
            address = address_of(joint_map.title, source_of(joint_map))
            self.joint_maps[address] = joint_map
        self.parts.append((int(part.code), axis_kind(part), iq, iv, part.nv, part.turn, part.slide, address, first))
        self.constants.extend(part.constants)
        turning = part.nq - part.nv  # number of quaternions, none or one, behind the plain coordinates
        plain = part.nv - 3 * turning
        self.plain.extend((iq + k, iv + k) for k in range(plain))
        if turning:
            self.quaternions.append((iq + plain, iv + plain, part.code == PartCode.BALL))
        if part.code == PartCode.EXPONENTIAL:
            self.exponentials.append((iq, iv))
        self.nq, self.nv = iq + part.nq, iv + part.nv


def axis_kind(part: Part) -> int:
    """Return the kind of the axis of a screw: one of the axes of the frame, oblique, or none."""
    if part.turn == (0.0, 0.0, 0.0):
        return NOT_TURNING
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    return axes.index(part.turn) if part.turn in axes else OBLIQUE


Vector = tuple[float, float, float]

SAMPLE_SPREAD = 0.01
"""Offset of the sampled coordinates from the regular ones, for joints given by a joint map."""


class JointConfiguration(NamedTuple):
    """A joint in one configuration.

    Its constraint axes (m, 6) and the dual basis (nv, 6) of its motion subspace, [t; f] about the origin of M; the
    vector (3,) from the origin of F to that of M; these in the axes of M.  The motion subspace (6, nv), [angular;
    linear] about the origin of M, in the axes of F, NaN if undefined; and the rotation (3, 3) of M in F.
    """

    constraint_axes: Floats
    dual_basis: Floats
    translation: Floats
    columns: Floats
    rotation: Floats


def constraint_axes_of(parts: Sequence[Part], driven: Sequence[bool], normal: Vector | None = None) -> Floats:
    """Compute the constraint axes (m, 6), [t; f], of a joint in one configuration, in the axes of M.

    For bodies in the plane of a `normal` in M, they are those within the plane.
    """
    return sampled_configurations(tuple(parts), tuple(driven), normal)[0].constraint_axes


def complement(motions: Floats) -> Floats:
    """Return an orthonormal basis (6 - k, 6) of the wrenches without power on independent motions (k, 6)."""
    columns, axes = np.zeros(len(motions), COLUMN), records(np.zeros(6 - len(motions), CONSTRAINT_AXIS))
    columns["angular"], columns["linear"] = motions[:, :3], motions[:, 3:]
    free = np.zeros(len(motions), np.bool_)
    find_constraint_axes(records(columns), 0, len(motions), free, UNIT, axes[:0], np.zeros((6, 6)), axes)
    return np.column_stack([axes["t"], axes["f"]])


@lru_cache(maxsize=4096)
def sampled_configurations(
    parts: tuple[Part, ...], driven: tuple[bool, ...], normal: Vector | None = None
) -> list[JointConfiguration]:
    """Evaluate a joint in three configurations, the same ones in every run."""
    tables = _tables_of(parts)
    rng = np.random.default_rng(0)
    places = [_sample_coordinates(parts, tables, rng) for _ in range(3)]
    return [_evaluate_configuration(tables, q, np.array(driven, dtype=np.bool_), normal) for q in places]


def _sample_coordinates(parts: tuple[Part, ...], tables: PartTables, rng: np.random.Generator) -> Floats:
    """Return random coordinates at which a joint is regular."""
    q = rng.uniform(-1.0, 1.0, tables.nq)
    for part, (_, _, iq, *_) in zip(parts, tables.parts, strict=True):
        if part.joint_map:
            q[iq : iq + part.nq] = np.array(part.regular_coordinates) + SAMPLE_SPREAD * q[iq : iq + part.nq]
    for iq, *_ in tables.quaternions:
        q[iq : iq + 4] /= np.linalg.norm(q[iq : iq + 4])
    return q


def configuration_at(parts: tuple[Part, ...], q: Floats) -> JointConfiguration:
    """Evaluate a joint at coordinates q (nq,), without constraint axes."""
    return _configurations_at(parts, [q])[0]


def columns_at(parts: tuple[Part, ...], places: Sequence[Floats]) -> Floats:
    """Return the motion subspaces (n, 6, nv) of a joint at coordinates (nq,) of each place, as `JointConfiguration`."""
    return np.array([configuration.columns for configuration in _configurations_at(parts, places)])


def _configurations_at(parts: tuple[Part, ...], places: Sequence[Floats]) -> list[JointConfiguration]:
    tables = _tables_of(parts)
    return [_evaluate_configuration(tables, q, np.ones(tables.nv, np.bool_), None) for q in places]


def _tables_of(parts: tuple[Part, ...]) -> PartTables:
    tables = PartTables()
    for part in parts:
        tables.add(part)
    return tables


def _evaluate_configuration(
    tables: PartTables, q: Floats, driven: np.ndarray, normal: Vector | None
) -> JointConfiguration:
    loop_frames, columns = np.zeros(1, BODY), records(np.zeros(tables.nv, COLUMN))
    constraint_axes, dual_basis = np.zeros(6 - int(np.sum(~driven)), CONSTRAINT_AXIS), np.zeros(tables.nv, WRENCH)
    basis, constants = np.zeros((6, 6)), np.array(tables.constants, dtype=np.float64)
    constants.flags.writeable = False
    generated_buffers = allocate(GeneratedBuffers, constants=constants)
    count = find_constraint_axes_at(
        records(np.array(tables.parts, PART)),
        q,
        np.zeros(tables.nv),
        driven,
        normal is not None,
        np.array(normal or (0.0, 0.0, 0.0)),
        records(loop_frames),
        columns,
        generated_buffers,
        basis,
        records(constraint_axes),
    )
    find_dual_basis(columns, 0, tables.nv, driven, basis, records(dual_basis))
    R = loop_frames["R"][0].reshape(3, 3)  # stored by columns, so that R @ a is a in the axes of M
    T = np.column_stack([constraint_axes["t"], constraint_axes["f"]])[:count]
    S = np.column_stack([columns["angular"], columns["linear"]]).T
    if not np.isfinite(generated_buffers.out).all():  # a rate may be infinite although the columns are finite
        S = np.full_like(S, np.nan)
    return JointConfiguration(
        T, np.column_stack([dual_basis["t"] @ R.T, dual_basis["f"] @ R.T]), R @ loop_frames["r"][0], S, R.T
    )
