"""Symbols of joints: pins, rails, threads, balls, and the curves and surfaces that children follow.

A symbol follows from the parts of a joint, so that a new joint needs no symbol of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Coordinate, Part, PartCode
from multibody_cli.joints.geometry.surfaces import SurfaceForm
from multibody_cli.joints.joint_map import (
    PER_HEAD,
    FactorProduct,
    JointMap,
    KnownConstants,
    MapCoordinate,
    pose_and_subspace,
)
from multibody_cli.joints.spec import JointSpec
from multibody_cli.meshes import solids
from multibody_cli.meshes.mesh import Mesh, grid, merged, unit
from multibody_cli.meshes.tubes import tube
from multibody_cli.model import Floats
from multibody_cli.render.drawing import STEEL, SURFACE_COLOR
from multibody_cli.spec import Vector
from multibody_cli.spec.rotations import frame_about
from multibody_cli.symbolic.evaluation import evaluate
from multibody_cli.symbolic.scalar import fresh_graph, name


# --- joint maps -------------------------------------------------------------------------------------------------------
def poses(part: Part, q: Floats) -> tuple[Floats, Floats]:
    """Return positions (n, 3), m, and rotation matrices (n, 3, 3) of a generated part at coordinates q (n, nq)."""
    assert part.joint_map is not None
    with fresh_graph():
        R, p, _ = pose_and_subspace(part.joint_map)
        numbers = evaluate([*R.x, *R.y, *R.z, *p], _values_of_names(part.joint_map, np.array(part.constants), q))
    values = np.stack([np.broadcast_to(number, len(q)) for number in numbers], axis=1)
    return values[:, 9:], values[:, :9].reshape(-1, 3, 3).swapaxes(1, 2)


def _values_of_names(joint_map: JointMap, constants: Floats, q: Floats) -> dict[str, Any]:
    """Return the values of the names in the formulas, each (n,): coordinates, and the constants of their pieces."""
    names: dict[str, Any] = {f"q[{k}]": q[:, k] for k in range(q.shape[1])}
    along = [k for k, pieces in enumerate(joint_map.pieces) if pieces]
    row = np.zeros(len(q), np.int64)
    for head, k in enumerate(along):
        pieces = joint_map.pieces[k]
        start, per_unit, count = constants[PER_HEAD * head : PER_HEAD * (head + 1)]
        way = per_unit * (q[:, k] - start)
        whole = np.floor(way)
        if pieces is not None and not pieces.closed:
            whole = np.clip(whole, 0.0, count - 1.0)
        names[f"u{k}"] = way - whole
        row = row * int(count) + np.mod(whole, count).astype(np.int64)
    first = PER_HEAD * len(along) + joint_map.stride * row
    names |= {f"c[{k}]": number for k, number in enumerate(constants)}
    names |= {f"c[at + {k}]": constants[first + k] for k in range(joint_map.stride)}
    return names


SAMPLES = 240
"""Number of points of a curve, and of quadrilaterals of a surface by the square of a tenth of it."""

_FULL_TURN = (0.0, 2.0 * math.pi)


class Symbol(NamedTuple):
    """A mesh in frame F of the parent or in frame M of the child, and its color."""

    frame: Literal["F", "M"]
    mesh: Mesh
    color: Vector


def joint_symbols(joint: JointSpec, ranges: Floats, size: float) -> Iterator[Symbol]:
    """Yield the symbols of a joint.

    Parameters
    ----------
    joint
        The joint.
    ranges
        (n, 2) least and greatest value of each coordinate in the picture, rad or m.
    size
        Radius of a pin, m.
    """
    every = JOINTS[joint.type].parts(joint)
    anchors = np.cumsum([part.slide if part.code is PartCode.OFFSET else (0.0, 0.0, 0.0) for part in every], axis=0)
    moving = [k for k, part in enumerate(every) if part.code is not PartCode.OFFSET]
    parts = [every[k] for k in moving]
    column = 0
    for k, (part, anchor) in enumerate(zip(parts, anchors[moving], strict=True)):
        span = ranges[column : column + part.nv]
        column += part.nv
        place = _frame_of(parts, k)
        if place is None:
            continue
        mesh = _MESHES[part.code](part, span, size)
        if mesh is not None:
            is_surface = part.code is PartCode.GENERATED and part.nv == 2
            yield Symbol(place, mesh.moved(anchor, np.eye(3)), SURFACE_COLOR if is_surface else STEEL)


def surface_symbols(joint: JointSpec, ranges: Floats) -> Iterator[Symbol]:
    """Yield the surfaces that touch in a joint; arguments as in `joint_symbols`."""
    column = 0
    for frame, form in joint.surfaces:
        spans = []
        for kind, domain in zip(form.KINDS, form.domains, strict=True):
            moved = ranges[column] if column < len(ranges) else np.zeros(2)
            spans.append(_FULL_TURN if kind is Coordinate.ANGLE else domain if np.isfinite(domain).all() else moved)
            column += 1
        around, across = spans
        pole = _points_on(form, np.array([0.0, 1.0]), np.array([0.5 * math.pi]))
        if across is _FULL_TURN and not np.ptp(pole.round(12), axis=0).any():
            across = (-0.5 * math.pi, 0.5 * math.pi)  # a latitude beyond the pole covers the surface again
        u, v = (np.linspace(low, high, SAMPLES // 6 + 1) for low, high in (around, across))
        mesh = surface_mesh(_points_on(form, u, v))
        if mesh is not None:
            yield Symbol(frame, mesh, SURFACE_COLOR)


def _points_on(form: SurfaceForm, u: Floats, v: Floats) -> Floats:
    """Return the points (m, n, 3) of a surface at parameters u (m,) and v (n,)."""
    names = dict(zip(("u", "v"), np.meshgrid(u, v, indexing="ij"), strict=True))
    with fresh_graph():
        along, across = (MapCoordinate(one, one, {one: 1.0}) for one in map(name, names))
        p = (
            FactorProduct(form.surface.factors(along, across, KnownConstants(form.constants), 0))
            .pose_and_subspace([])
            .p
        )
        return np.stack([np.broadcast_to(one, (len(u), len(v))) for one in evaluate(p, names)], axis=-1)


def _frame_of(parts: Sequence[Part], k: int) -> Literal["F", "M"] | None:
    """Return the frame in which part k is at rest: F if only translations precede, M if it is the last, else None."""
    slides = [_slides(part) for part in parts]
    if all(slides[:k]) and (slides[k] or k + 1 < len(parts) or not any(slides)):
        return "F"
    return "M" if k + 1 == len(parts) and not slides[k] else None


def _slides(part: Part) -> bool:
    return part.code is PartCode.SCREW and not any(part.turn)


def _screw(part: Part, span: Floats, size: float) -> Mesh:
    """Return a pin, a rail as long as the motion, or a thread with the true lead."""
    turns, slides = any(part.turn), any(part.slide)
    axis = np.array(part.turn if turns else part.slide)
    lead = float(np.dot(part.slide, axis)) if turns else 1.0
    if not slides:
        return solids.cylinder(size, 5.0 * size, 20).moved(np.zeros(3), frame_about(axis))
    low, high = sorted(lead * span[0])
    low, high = low - 3.0 * size, high + 3.0 * size
    rod = solids.cylinder(0.45 * size, high - low, 16)
    core = rod.moved(axis * (low + high) / 2.0, frame_about(axis))
    if not turns:
        return core
    rise = max(2.0 * math.pi * abs(lead), 0.2 * size, (high - low) / 60.0)
    angle = np.linspace(0.0, 2.0 * math.pi * (high - low) / rise, int(24 * (high - low) / rise) + 2)
    helix = np.stack([np.cos(angle), math.copysign(1.0, lead) * np.sin(angle)], axis=1) * 0.55 * size
    height = low + (high - low) * angle / angle[-1]
    thread = tube(np.concatenate([helix, height[:, None]], axis=1), 0.18 * size, 6)
    return merged([core, thread.moved(np.zeros(3), frame_about(axis))])


def _ball(_part: Part, _span: Floats, size: float) -> Mesh:
    return solids.sphere(1.7 * size, 20)


def _path(part: Part, span: Floats, size: float) -> Mesh | None:
    """Return the curve or the surface on which the origin of the child's frame moves."""
    if part.nv == 1:
        q = np.linspace(span[0, 0], span[0, 1], SAMPLES + 1)[:, None]
        points = poses(part, q)[0]
        points = points[np.isfinite(points).all(axis=1)]
        apart = np.linalg.norm(np.diff(points, axis=0), axis=1) > 1e-3 * size
        points = points[np.concatenate([[True], apart])]
        return tube(points, 0.4 * size) if len(points) > 1 else None
    if part.nv == 2:
        return _sheet(part, span)
    return None


def _sheet(part: Part, span: Floats) -> Mesh | None:
    count = SAMPLES // 6 + 1
    u, v = (np.linspace(low, high, count) for low, high in span)
    q = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1).reshape(-1, 2)
    return surface_mesh(poses(part, q)[0].reshape(count, count, 3))


def surface_mesh(points: Floats) -> Mesh | None:
    """Return the mesh of a grid of points (m, n, 3) with normals by differences; None if it is not a finite surface."""
    if not np.isfinite(points).all():
        return None
    across = np.cross(np.gradient(points, axis=0), np.gradient(points, axis=1)).reshape(-1, 3)
    size = np.linalg.norm(across, axis=1, keepdims=True)
    mesh = grid(points, across.reshape(points.shape))
    around = np.zeros_like(across)  # at a pole, where differences vanish: the mean of the triangles
    for corner in mesh.triangles.T:
        np.add.at(around, corner, unit(mesh.areas))
    normals = unit(np.where(size > 1e-9 * size.max(), across, around))
    unused = np.linalg.norm(normals, axis=1) < 0.5
    normals[unused] = [0.0, 0.0, 1.0]
    return Mesh(mesh.vertices, normals, mesh.triangles) if len(mesh.triangles) else None


_MESHES: dict[PartCode, Callable[[Part, Floats, float], Mesh | None]] = {
    PartCode.SCREW: _screw,
    PartCode.BALL: _ball,
    PartCode.EXPONENTIAL: _ball,
    PartCode.FREE: lambda _part, _span, _size: None,  # connects nothing
    PartCode.GENERATED: _path,
}
