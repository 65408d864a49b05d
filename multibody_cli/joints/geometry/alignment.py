"""Frames along a curve: how a body that runs along it is turned.

    fixed                    it keeps its orientation
    frenet                   x along the tangent, y towards the centre of curvature
    rotation minimizing      x along the tangent t, without any turn about it: w . t = 0

A frame without turn follows from the minimal rotation that takes a fixed direction e to the tangent,

    R_0 = 1 + [e x t] + [e x t]^2 / (1 + e . t),

by a turn about the tangent that makes up for that of R_0, d(theta)/ds = -w_0 . t.  As a rule this has no closed form:
it is integrated beforehand and kept as polynomials of fifth degree between knots, twice continuously differentiable.
The tangent never comes near -e, for e is chosen so.

Sources: Bishop 1975 (the frame without turn); Sueda, notes 2.4.12, for curves that joints run along.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from multibody_cli.joints.geometry.paths import Curve, Floats, Path, Row, refined
from multibody_cli.joints.shape import (
    Constants,
    Factor,
    Frame,
    NamedConstants,
    Pieces,
    Place,
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
"""Knots at which the turn is kept: along a whole curve at least, and along each of its pieces at least."""

FINER = (1, 4, 16, 64)
"""How many times as many, until the turn about the tangent is small enough."""

SLIP = 1e-9
"""Turn about the tangent that may be left, relative to that of the frame by minimal rotation."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


def unit(a: Vec3) -> Vec3:
    """Give the direction of a vector."""
    return (1.0 / sqrt(dot(a, a))) * a


# --- the frames ---------------------------------------------------------------------------------------------------
class Alignment(Protocol):
    """A way to be turned along a path; its own constants stand behind those of the path, from k on."""

    @property
    def words(self) -> str:
        """What it is."""

    @property
    def count(self) -> int:
        """Number of constants."""

    def factors(self, path: Path, s: Place, c: Constants, k: int) -> Sequence[Factor]:
        """Give the frame at the parameter."""


@dataclass(frozen=True)
class Fixed:
    """The axes of the parent."""

    words = "not turning"
    count = 0

    def factors(self, path: Path, s: Place, c: Constants, k: int) -> Sequence[Factor]:
        """The position alone."""
        return [Shift(path.position(s, c))]


@dataclass(frozen=True)
class Frenet:
    """Tangent, normal and binormal."""

    words = "in the Frenet frame"
    count = 0

    def factors(self, path: Path, s: Place, c: Constants, k: int) -> Sequence[Factor]:
        """From the first two derivatives of the position."""
        p = path.position(s, c)
        dp = derivative(p, s.along)
        t, b = unit(dp), unit(cross(dp, derivative(dp, s.along)))
        return [Frame(Mat3(t, cross(b, t), b), p)]


@dataclass(frozen=True)
class Untwisted:
    """Without turn, along a path whose Frenet frame turns at a constant rate; one constant, the angle at 0."""

    words = "without turning about the tangent"
    count = 1

    def factors(self, path: Path, s: Place, c: Constants, k: int) -> Sequence[Factor]:
        """The Frenet frame, turned back."""
        rate = path.twist(c)
        assert rate is not None
        return [*Frenet().factors(path, s, c, k), Turn(X, c[k] - rate * s.q)]


@dataclass(frozen=True)
class Transported:
    """Without turn, along any path: constants are e, a direction f across it, and the polynomial of the turn."""

    words = "without turning about the tangent"
    count = 12

    def factors(self, path: Path, s: Place, c: Constants, k: int) -> Sequence[Factor]:
        """The frame by minimal rotation, turned back."""
        turn: Value = c[k + 11]
        for j in range(k + 10, k + 5, -1):
            turn = s.u * turn + c[j]
        return [minimal(path, s, c, c.vector(k), c.vector(k + 3)), Turn(X, turn)]


def minimal(path: Path, s: Place, c: Constants, e: Vec3, f: Vec3) -> Frame:
    """Give the frame (t, R_0 f, R_0 (e x f))."""
    p = path.position(s, c)
    t = unit(derivative(p, s.along))
    w, share = cross(e, t), 1.0 / (1.0 + dot(e, t))

    def turned(a: Vec3) -> Vec3:
        return a + cross(w, a) + share * cross(w, cross(w, a))

    return Frame(Mat3(t, turned(f), turned(cross(e, f))), p)


# --- shapes along curves ------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class AlongPath:
    """The motion along one kind of path, in one kind of alignment."""

    path: Path
    alignment: Alignment
    pieces: tuple[Pieces | None]

    @property
    def title(self) -> str:
        """What it is."""
        return f"along {self.path.title}, {self.alignment.words}"

    @property
    def stride(self) -> int:
        """Constants of the path, then those of the alignment."""
        return self.path.count + self.alignment.count

    def factors(self, places: Sequence[Place], c: Constants) -> Sequence[Factor]:
        """Give the frame at the parameter."""
        return self.alignment.factors(self.path, places[0], c, self.path.count)


Ride = tuple[AlongPath, Row]
"""A shape and its constants."""


def ride(curve: Curve, alignment: Alignment, rows: Sequence[Row]) -> Ride:
    """Give the shape of a motion along a curve; `rows` are the constants of the alignment in each piece."""
    numbers = [number for own, more in zip(curve.rows, rows, strict=True) for number in (*own, *more)]
    head = curve.head if curve.in_pieces else ()
    return AlongPath(curve.path, alignment, (curve.pieces,)), (*head, *numbers)


def not_turning(curve: Curve, up: Vector) -> Ride:
    """Give the motion along a curve in the axes of the parent."""
    return ride(curve, Fixed(), [()] * len(curve.rows))


def frenet(curve: Curve, up: Vector) -> Ride:
    """Give the motion along a curve in the Frenet frame."""
    return ride(curve, Frenet(), [()] * len(curve.rows))


def rotation_minimizing(curve: Curve, up: Vector) -> Ride:
    """Give the motion along a curve without turn about the tangent, with z as near to `up` as can be at its start."""
    if curve.path.twist(NamedConstants()) is not None:
        frame = Frenet().factors(curve.path, curve.place, NamedConstants(), 0)[0]
        return ride(curve, Untwisted(), [(_upright(curve, frame, up),)])  # type: ignore[arg-type]
    for finer in FINER:
        fine = _cut(curve, finer)
        tangents = _tangents(fine)
        e = _pole(tangents)
        f = np.linalg.svd(e[None])[2][1]
        frame = minimal(fine.path, fine.place, NamedConstants(), Vec3(*e), Vec3(*f))
        turns, slip = _turns(fine, frame, _upright(fine, frame, up))
        if slip <= SLIP:
            break
    return ride(fine, Transported(), [(*e.tolist(), *f.tolist(), *turn) for turn in turns.tolist()])


ORIENTATIONS: dict[str, Callable[[Curve, Vector], Ride]] = {
    "fixed": not_turning,
    "free": not_turning,
    "frenet": frenet,
    "rotation_minimizing": rotation_minimizing,
    "tangent": rotation_minimizing,
}
"""Every orientation by the word of the scene file."""


# --- the turn that makes up for that of the minimal rotation ------------------------------------------------------
def _cut(curve: Curve, finer: int) -> Curve:
    """Cut a curve at the knots at which the turn is kept, or at several times as many."""
    return refined(curve, finer * max(KNOTS // len(curve.rows), KNOTS_OF_PIECE))


def _tangents(curve: Curve) -> Floats:
    """Tangents (n, 3) at the beginning of all pieces, and at the end."""
    count = len(curve.rows)
    t = unit(derivative(curve.path.position(curve.place, NamedConstants()), curve.place.along))
    piece = np.append(np.arange(count), count - 1)
    return curve.at(t, piece, np.append(np.zeros(count), 1.0)).T


def place_without_tangent(curve: Curve) -> float | None:
    """Give a parameter at which a curve has no tangent, if its frame without turn asks for the tangent there."""
    if curve.path.twist(NamedConstants()) is not None:
        return None
    fine = _cut(curve, FINER[-1])
    lost = np.flatnonzero(~np.isfinite(_tangents(fine)).all(axis=1))
    start, per_unit, _ = fine.head
    return start + lost[0] / per_unit if lost.size else None


def _pole(tangents: Floats) -> Floats:
    """Find a direction (3,) that no tangent is opposite to, nor nearly so if that can be."""
    axes = np.linalg.svd(tangents)[2]
    around = np.random.default_rng(0).normal(size=(200, 3))
    candidates = np.vstack([axes, -axes, around / np.linalg.norm(around, axis=1)[:, None]])
    nearness = np.round(
        (candidates @ tangents.T).min(axis=1), 6
    )  # the first of those that are equal, whatever rounding
    return np.asarray(candidates[int(np.argmax(nearness))])


def _upright(curve: Curve, frame: Frame, up: Vector) -> float:
    """Angle about the tangent at the start that brings z of a frame nearest to a direction."""
    way = np.array([0.0 if curve.in_pieces else curve.reference])
    y, z = (curve.at(axis, np.zeros(1, np.int64), way)[:, 0] for axis in frame.R[1:])
    return math.atan2(-float(y @ up), float(z @ up))


def _turns(curve: Curve, frame: Frame, first: float) -> tuple[Floats, float]:
    """Coefficients (n, 6) of the turn in each piece, by powers of the way through it; how far its rate is from right.

    The latter, at the middles of pieces, is relative to the largest rate, if that is above 1.
    """
    count, step = len(curve.rows), 1.0 / curve.head[1]
    rate = -frame.moved([curve.place.along]).S[0].w.x
    bend = differentiate([rate], curve.place.along)[0]
    pieces = np.arange(count)
    nodes = 0.5 * (1.0 + _NODES)
    inner = curve.at([rate], np.repeat(pieces, len(nodes)), np.tile(nodes, count))[0].reshape(count, -1)
    grown = 0.5 * step * inner @ _WEIGHTS
    ends = [curve.at([rate, bend], pieces, np.full(count, u)) for u in (0.0, 1.0)]
    middle = curve.at([rate], pieces, np.full(count, 0.5))[0]
    excess = 0.0
    if curve.closed:  # it must come back by whole turns
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
