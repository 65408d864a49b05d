"""Curves in space as formulas of one parameter, with the constants that tell one from another of its kind."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multibody_cli.joints.contract import Coordinate
from multibody_cli.joints.geometry.written import Expressions
from multibody_cli.joints.shape import Constants, NamedConstants, Pieces, Place, derivative
from multibody_cli.spatial.values import Vec3
from multibody_cli.symbolic.evaluation import evaluate
from multibody_cli.symbolic.scalar import Value, cos, name, sin, sqrt

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Row = tuple[float, ...]

SAME = 1e-9
"""How far apart both ends of a closed curve may be by rounding, beside its size."""


class Path(Protocol):
    """The kind of a curve: two that are equal are the same formulas."""

    @property
    def title(self) -> str:
        """What it is, in a word or two."""

    @property
    def count(self) -> int:
        """Number of constants."""

    def position(self, s: Place, c: Constants) -> Vec3:
        """Give the point at a parameter."""

    def twist(self, c: Constants) -> Value | None:
        """Give the rate at which the Frenet frame turns about the tangent, if it is constant; None if it is not."""

    def cut(self, row: Row, parts: int) -> list[Row]:
        """Give the constants of equal parts of a piece."""


@dataclass(frozen=True)
class Polynomial:
    """A curve of polynomial pieces, by their coefficients: a Bezier curve or a B-spline."""

    degree: int
    title = "a curve of polynomials"

    @property
    def count(self) -> int:
        """Three numbers for each coefficient."""
        return 3 * (self.degree + 1)

    def position(self, s: Place, c: Constants) -> Vec3:
        """Horner's scheme."""
        p = c.vector(3 * self.degree)
        for k in range(self.degree - 1, -1, -1):
            p = s.u * p + c.vector(3 * k)
        return p

    def twist(self, c: Constants) -> None:
        """Its torsion is anything."""

    def cut(self, row: Row, parts: int) -> list[Row]:
        """p(u) with u = (j + w) / parts, by powers of w."""
        coefficients = np.array(row).reshape(-1, 3)
        rows = []
        for j in range(parts):
            within = np.zeros_like(coefficients)
            for k, a in enumerate(coefficients):
                for i in range(k + 1):
                    within[i] += math.comb(k, i) * j ** (k - i) / parts**k * a
            rows.append(tuple(within.ravel().tolist()))
        return rows


class _OneFormula:
    """A curve whose formula holds along all of it, as it is."""

    def cut(self, row: Row, parts: int) -> list[Row]:
        """The same in every part."""
        return [row] * parts


@dataclass(frozen=True)
class Helix(_OneFormula):
    """A helix about z: (R cos s, R sin s, h s), with h the rise per radian."""

    title = "a helix"
    count = 2

    def position(self, s: Place, c: Constants) -> Vec3:
        """The angle is the parameter."""
        return Vec3(c[0] * cos(s.q), c[0] * sin(s.q), c[1] * s.q)

    def twist(self, c: Constants) -> Value:
        """Torsion times speed: h / sqrt(R^2 + h^2)."""
        return c[1] / sqrt(c[0] * c[0] + c[1] * c[1])


@dataclass(frozen=True)
class Circle(_OneFormula):
    """A circle about z: (R cos s, R sin s, 0)."""

    title = "a circle"
    count = 1

    def position(self, s: Place, c: Constants) -> Vec3:
        """The angle is the parameter."""
        return Vec3(c[0] * cos(s.q), c[0] * sin(s.q), 0.0)

    def twist(self, c: Constants) -> float:
        """A plane curve has no torsion."""
        return 0.0


@dataclass(frozen=True)
class Cycloid(_OneFormula):
    """The way of a point on the rim of a circle that rolls below the x axis: (R (s - sin s), 0, -R (1 - cos s))."""

    title = "a cycloid"
    count = 1

    def position(self, s: Place, c: Constants) -> Vec3:
        """The angle that the circle has turned by is the parameter."""
        return Vec3(c[0] * (s.q - sin(s.q)), 0.0, c[0] * (cos(s.q) - 1.0))

    def twist(self, c: Constants) -> float:
        """A plane curve has no torsion."""
        return 0.0


@dataclass(frozen=True)
class Written(_OneFormula):
    """A curve that the user wrote: expressions of a parameter and of named constants."""

    expressions: Expressions
    title = "a curve by expressions"

    @property
    def count(self) -> int:
        """One for each name."""
        return len(self.expressions.constants)

    def position(self, s: Place, c: Constants) -> Vec3:
        """Read the expressions."""
        return Vec3(*self.expressions.at([s.q], c))

    def twist(self, c: Constants) -> None:
        """Its torsion is anything."""


@dataclass(frozen=True)
class WrittenRound:
    """A closed curve that the user wrote: however often it was gone round, its parameter is within the domain.

    Behind the named constants stand the parameter where a piece begins, and how far it goes through it.
    """

    expressions: Expressions
    title = "a closed curve by expressions"

    @property
    def count(self) -> int:
        """One for each name, and two of the piece."""
        return len(self.expressions.constants) + 2

    def position(self, s: Place, c: Constants) -> Vec3:
        """Read the expressions."""
        return Vec3(*self.expressions.at([c[self.count - 2] + c[self.count - 1] * s.u], c))

    def twist(self, c: Constants) -> None:
        """Its torsion is anything."""

    def cut(self, row: Row, parts: int) -> list[Row]:
        """The same expressions, on a part of the way each."""
        *constants, start, length = row
        return [(*constants, start + j * length / parts, length / parts) for j in range(parts)]


@dataclass(frozen=True)
class Curve:
    """One curve.

    Parameters
    ----------
    path
        Its kind.
    rows
        Constants of each of its pieces, of which a curve without pieces is one.
    kind
        What its parameter measures.
    domain
        Where its parameter begins and ends; infinite where it does not.
    closed
        Whether the end leads on to the beginning.
    in_pieces
        Whether it is made of pieces of equal length in the parameter.
    reference
        Where it has a tangent, of an endless one.
    """

    path: Path
    rows: tuple[Row, ...]
    kind: Coordinate
    domain: tuple[float, float] = (-math.inf, math.inf)
    closed: bool = False
    in_pieces: bool = False
    reference: float = 0.0

    @property
    def pieces(self) -> Pieces | None:
        """The pieces as a shape has them."""
        return Pieces(self.closed) if self.in_pieces else None

    @property
    def head(self) -> Row:
        """What stands before the constants of pieces."""
        start, end = self.domain
        return (start, len(self.rows) / (end - start), float(len(self.rows)))

    def at(self, values: Sequence[Value], piece: Integers, u: Floats) -> Floats:
        """Work formulas of `place` and of constants without offset out, at u in pieces, (n,) each; (len(values), n)."""
        start, per_unit, _ = self.head if self.in_pieces else (0.0, 1.0, 1.0)
        rows = np.array(self.rows).reshape(len(self.rows), -1)
        names: dict[str, Any] = {f"c[{k}]": rows[piece, k] for k in range(rows.shape[1])}
        names |= {"q[0]": start + (piece + u) / per_unit, "u0": u, "per_unit": per_unit}
        return np.array([np.broadcast_to(value, u.shape) for value in evaluate(values, names)])

    def comes_back(self, derivatives: int) -> bool:
        """Whether position and as many derivatives are the same at both ends of the domain, of a closed curve."""
        orders = [self.path.position(self.place, NamedConstants())]
        for _ in range(derivatives):
            orders.append(derivative(orders[-1], self.place.along))
        ends = self.at([*itertools.chain(*orders)], np.array([0, len(self.rows) - 1]), np.array([0.0, 1.0]))
        per_length = np.repeat((self.domain[1] - self.domain[0]) ** np.arange(derivatives + 1), 3)[:, None]
        both = ends * per_length
        return bool(np.allclose(both[:, 0], both[:, 1], rtol=0.0, atol=SAME * (1.0 + np.abs(both).max())))

    @property
    def place(self) -> Place:
        """The parameter, in formulas for `at`."""
        q, u = name("q[0]"), name("u0")
        return Place(q, u, {q: 1.0, u: name("per_unit")}) if self.in_pieces else Place(q, q, {q: 1.0})


def bezier(points: Sequence[Row]) -> Curve:
    """Make a Bezier curve of any degree, over [0, 1], from its control points (n, 3)."""
    row = (power_basis(len(points)) @ np.array(points)).ravel()
    return Curve(Polynomial(len(points) - 1), (tuple(row.tolist()),), Coordinate.NUMBER, (0.0, 1.0), in_pieces=True)


def power_basis(points: int) -> Floats:
    """Matrix (n, n) from the control points of a Bezier curve to its coefficients by powers."""
    A = np.zeros((points, points))
    for k in range(points):
        for i in range(k + 1):
            A[k, i] = math.comb(points - 1, k) * (-1) ** (k - i) * math.comb(k, i)
    return A


def b_spline(points: Sequence[Row], closed: bool) -> Curve:
    """Make a uniform cubic B-spline from control points (n, 3): one piece for each unit of the parameter.

    Source: Sueda, notes (2.60)-(2.62).
    """
    P = np.array(points)
    count = len(P) if closed else len(P) - 3
    rows = []
    for k in range(count):
        a, b, c, d = (P[(k + j) % len(P)] for j in range(4))
        row = (a + 4 * b + c) / 6, (c - a) / 2, (a - 2 * b + c) / 2, (3 * (b - c) + d - a) / 6
        rows.append(tuple(np.concatenate(row).tolist()))
    return Curve(Polynomial(3), tuple(rows), Coordinate.NUMBER, (0.0, float(count)), closed, in_pieces=True)


def refined(curve: Curve, parts: int) -> Curve:
    """Cut every piece of a curve into parts of equal length: it stays the same curve."""
    rows = [cut for row in curve.rows for cut in curve.path.cut(row, parts)]
    return replace(curve, rows=tuple(rows), in_pieces=True)
