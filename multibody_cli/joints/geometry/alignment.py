"""Frames along a curve: the orientation of a body that moves along it.

    fixed                    constant orientation
    frenet                   x along the tangent, y towards the centre of curvature
    rotation minimizing      x along the tangent t, without rotation about it: w . t = 0

A rotation-minimizing frame follows from the minimal rotation that takes a fixed direction e to the tangent,

    R_0 = 1 + [e x t] + [e x t]^2 / (1 + e . t),

by a rotation about the tangent that compensates that of R_0, d(theta)/ds = -w_0 . t.  In general this has no closed
form: it is integrated beforehand and stored as polynomials of fifth degree between knots, twice continuously
differentiable.  The direction e is chosen so that the tangent never comes near -e.

Sources: Bishop 1975 (rotation-minimizing frame); Sueda, notes 2.4.12, for curve joints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from multibody_cli.immutable import Immutable
from multibody_cli.joints.geometry.paths import Curve, Floats, Path, Row, refined
from multibody_cli.joints.joint_map import (
    Constants,
    Factor,
    Frame,
    MapCoordinate,
    NamedConstants,
    Pieces,
    Shift,
    Turn,
    cross,
    derivative,
    dot,
)
from multibody_cli.spatial.values import Mat3, Vec3
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.scalar import Value, sqrt

Vector = tuple[float, float, float]

X = Vec3(1.0, 0.0, 0.0)

KNOTS, KNOTS_OF_PIECE = 256, 32
"""Minimum number of knots of the stored angle: along a whole curve, and along each of its pieces."""

FINER = (1, 4, 16, 64)
"""Factors of the number of knots, tried until the residual rotation is within tolerance."""

ALONG = 1e-9
"""Sine of the angle between two directions below which they are the same."""

SLIP = 1e-9
"""Tolerance of the residual rotation about the tangent, relative to that of the frame by minimal rotation."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


def unit(a: Vec3) -> Vec3:
    """Return the direction of a vector."""
    return (1.0 / sqrt(dot(a, a))) * a


# --- the frames ---------------------------------------------------------------------------------------------------
class Alignment(Protocol):
    """Orientation along a path; its own constants follow those of the path, from k on."""

    @property
    def description(self) -> str:
        """Short description."""

    @property
    def count(self) -> int:
        """Number of constants."""

    def factors(self, path: Path, s: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """Return the frame at the parameter."""


class Fixed(Immutable):
    """The axes of the parent."""

    description = "not turning"
    count = 0

    def factors(self, path: Path, s: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """The position alone."""
        return [Shift(path.position(s, c))]


class Frenet(Immutable):
    """Tangent, normal and binormal."""

    description = "in the Frenet frame"
    count = 0

    def factors(self, path: Path, s: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """From the first two derivatives of the position."""
        p = path.position(s, c)
        dp = derivative(p, s.along)
        t, b = unit(dp), unit(cross(dp, derivative(dp, s.along)))
        return [Frame(Mat3(t, cross(b, t), b), p)]


class Untwisted(Immutable):
    """Rotation-minimizing, for a Frenet frame of constant torsion; one constant, the angle at 0."""

    description = "without turning about the tangent"
    count = 1

    def factors(self, path: Path, s: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """The Frenet frame, with its rotation compensated."""
        rate = path.twist(c)
        assert rate is not None
        return [*Frenet().factors(path, s, c, k), Turn(X, c[k] - rate * s.q)]


class Transported(Immutable):
    """Rotation-minimizing, along any path; constants: e, a direction f across it, the polynomial of the angle."""

    description = "without turning about the tangent"
    count = 12

    def factors(self, path: Path, s: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """The frame by minimal rotation, with its rotation compensated."""
        turn: Value = c[k + 11]
        for j in range(k + 10, k + 5, -1):
            turn = s.u * turn + c[j]
        return [minimal(path, s, c, c.vector(k), c.vector(k + 3)), Turn(X, turn)]


def minimal(path: Path, s: MapCoordinate, c: Constants, e: Vec3, f: Vec3) -> Frame:
    """Return the frame (t, R_0 f, R_0 (e x f))."""
    p = path.position(s, c)
    t = unit(derivative(p, s.along))
    w, share = cross(e, t), 1.0 / (1.0 + dot(e, t))

    def turned(a: Vec3) -> Vec3:
        return a + cross(w, a) + share * cross(w, cross(w, a))

    return Frame(Mat3(t, turned(f), turned(cross(e, f))), p)


# --- shapes along curves ------------------------------------------------------------------------------------------
class AlongPath(Immutable):
    """The motion along one kind of path, with one kind of alignment."""

    path: Path
    alignment: Alignment
    pieces: tuple[Pieces | None]

    @property
    def title(self) -> str:
        """Short description."""
        return f"along {self.path.title}, {self.alignment.description}"

    @property
    def stride(self) -> int:
        """Constants of the path, then those of the alignment."""
        return self.path.count + self.alignment.count

    def factors(self, map_coordinates: Sequence[MapCoordinate], c: Constants) -> Sequence[Factor]:
        """Return the frame at the parameter."""
        return self.alignment.factors(self.path, map_coordinates[0], c, self.path.count)


MotionAlong = tuple[AlongPath, Row]
"""A joint map and its constants."""


def motion_along(curve: Curve, alignment: Alignment, rows: Sequence[Row]) -> MotionAlong:
    """Return the joint map of a motion along a curve; `rows` are the constants of the alignment in each piece."""
    numbers = [number for own, more in zip(curve.rows, rows, strict=True) for number in (*own, *more)]
    head = curve.head if curve.in_pieces else ()
    return AlongPath(curve.path, alignment, (curve.pieces,)), (*head, *numbers)


def not_turning(curve: Curve, up: Vector) -> MotionAlong:
    """Return the motion along a curve in the axes of the parent."""
    return motion_along(curve, Fixed(), [()] * len(curve.rows))


def frenet(curve: Curve, up: Vector) -> MotionAlong:
    """Return the motion along a curve in the Frenet frame."""
    return motion_along(curve, Frenet(), [()] * len(curve.rows))


@lru_cache(maxsize=256)
def rotation_minimizing(curve: Curve, up: Vector) -> MotionAlong:
    """Return the motion along a curve with a rotation-minimizing frame, its initial z as near to `up` as possible."""
    if curve.path.twist(NamedConstants()) is not None:
        frame = Frenet().factors(curve.path, curve.symbolic_parameter, NamedConstants(), 0)[0]
        return motion_along(curve, Untwisted(), [(_upright(curve, frame, up),)])  # type: ignore[arg-type]
    for finer in FINER:
        fine = _cut(curve, finer)
        tangents = _tangents(fine)
        e = _pole(tangents)
        f = np.linalg.svd(e[None])[2][1]
        frame = minimal(fine.path, fine.symbolic_parameter, NamedConstants(), Vec3(*e), Vec3(*f))
        turns, slip = _turns(fine, frame, _upright(fine, frame, up))
        if slip <= SLIP:
            break
    return motion_along(fine, Transported(), [(*e.tolist(), *f.tolist(), *turn) for turn in turns.tolist()])


ORIENTATIONS: dict[str, Callable[[Curve, Vector], MotionAlong]] = {
    "fixed": not_turning,
    "free": not_turning,
    "frenet": frenet,
    "rotation_minimizing": rotation_minimizing,
    "tangent": rotation_minimizing,
}
"""Every orientation by the word of the scene file."""


# --- compensation of the rotation about the tangent ---------------------------------------------------------------
def _cut(curve: Curve, finer: int) -> Curve:
    """Cut a curve at the knots of the stored angle, or at a multiple of them."""
    return refined(curve, finer * max(KNOTS // len(curve.rows), KNOTS_OF_PIECE))


def _tangents(curve: Curve) -> Floats:
    """Return tangents (n, 3) at the start of all pieces, and at the end."""
    count = len(curve.rows)
    t = unit(
        derivative(curve.path.position(curve.symbolic_parameter, NamedConstants()), curve.symbolic_parameter.along)
    )
    piece = np.append(np.arange(count), count - 1)
    return curve.at(t, piece, np.append(np.zeros(count), 1.0)).T


@lru_cache(maxsize=256)
def parameter_without_tangent(curve: Curve) -> float | None:
    """Return a parameter at which a curve has no tangent, if its rotation-minimizing frame needs one there."""
    if curve.path.twist(NamedConstants()) is not None:
        return None
    fine = _cut(curve, FINER[-1])
    lost = np.flatnonzero(~np.isfinite(_tangents(fine)).all(axis=1))
    start, per_unit, _ = fine.head
    return start + lost[0] / per_unit if lost.size else None


def starts_along(curve: Curve, direction: Vector) -> bool:
    """Whether the tangent at the start of a curve has a direction or the opposite one, so that none is across it."""
    t = unit(
        derivative(curve.path.position(curve.symbolic_parameter, NamedConstants()), curve.symbolic_parameter.along)
    )
    tangent, along = curve.at(t, np.zeros(1, np.int64), _start_of(curve))[:, 0], np.array(direction)
    return bool(np.linalg.norm(np.cross(tangent, along)) <= ALONG * np.linalg.norm(along))


def _start_of(curve: Curve) -> Floats:
    """Return the parameter at the start, in the first piece if the curve has pieces."""
    return np.array([0.0 if curve.in_pieces else curve.reference])


def _pole(tangents: Floats) -> Floats:
    """Return a direction (3,) that no tangent is opposite to, as far as possible."""
    axes = np.linalg.svd(tangents, full_matrices=False)[2]
    around = np.random.default_rng(0).normal(size=(200, 3))
    candidates = np.vstack([axes, -axes, around / np.linalg.norm(around, axis=1)[:, None]])
    nearness = np.round(
        (candidates @ tangents.T).min(axis=1), 6
    )  # the first of equal candidates, regardless of round-off
    return np.asarray(candidates[int(np.argmax(nearness))])


def _upright(curve: Curve, frame: Frame, up: Vector) -> float:
    """Return the angle about the tangent at the start that brings z of a frame nearest to a direction.

    A curve that starts along it, as a vertical one does along the default, takes x instead: specs refuse a given one.
    """
    if starts_along(curve, up):
        up = (1.0, 0.0, 0.0)
    y, z = (curve.at(axis, np.zeros(1, np.int64), _start_of(curve))[:, 0] for axis in frame.R[1:])
    return math.atan2(-float(y @ up), float(z @ up))


def _turns(curve: Curve, frame: Frame, first: float) -> tuple[Floats, float]:
    """Return the coefficients (n, 6) of the angle in each piece, and the error of its rate.

    The coefficients are by powers of the local coordinate.  The error, at the middles of pieces, is relative to the
    largest rate, if that is above 1.
    """
    count, step = len(curve.rows), 1.0 / curve.head[1]
    rate = -frame.pose_and_subspace([curve.symbolic_parameter.along]).S[0].w.x
    bend = differentiate([rate], curve.symbolic_parameter.along)[0]
    pieces = np.arange(count)
    nodes = 0.5 * (1.0 + _NODES)
    inner = curve.at([rate], np.repeat(pieces, len(nodes)), np.tile(nodes, count))[0].reshape(count, -1)
    grown = 0.5 * step * inner @ _WEIGHTS
    ends = [curve.at([rate, bend], pieces, np.full(count, u)) for u in (0.0, 1.0)]
    middle = curve.at([rate], pieces, np.full(count, 0.5))[0]
    excess = 0.0
    if curve.closed:  # the total must be a multiple of a full turn
        total = float(grown.sum())
        excess = (total - math.tau * round(total / math.tau)) / (count * step)
    value = first + np.append(0.0, np.cumsum(grown - excess * step))[:-1]
    (d0, dd0), (d1, dd1) = (((slope - excess) * step, curvature * step**2) for slope, curvature in ends)
    rise = grown - excess * step
    turns = np.column_stack(
        [
            value,
            d0,
            0.5 * dd0,
            10.0 * rise - 6.0 * d0 - 4.0 * d1 - 1.5 * dd0 + 0.5 * dd1,
            -15.0 * rise + 8.0 * d0 + 7.0 * d1 + 1.5 * dd0 - dd1,
            6.0 * rise - 3.0 * (d0 + d1) + 0.5 * (dd1 - dd0),
        ]
    )
    slope = turns[:, 1:] @ (np.arange(1, 6) * 0.5 ** np.arange(5)) / step
    return turns, float(np.abs(slope + excess - middle).max() / max(1.0, np.abs(middle).max()))
