"""Curves in space as formulas of one parameter, with constants."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from multibody_cli.immutable import Immutable, replace
from multibody_cli.joints.contract import Coordinate
from multibody_cli.joints.joint_map import Constants, MapCoordinate, NamedConstants, Pieces, derivative
from multibody_cli.kernel import Floats as Floats
from multibody_cli.kernel import Integers
from multibody_cli.spatial.values import Vec3
from multibody_cli.spec.formulas import Expressions
from multibody_cli.symbolic.evaluation import evaluate
from multibody_cli.symbolic.scalar import Value, cos, name, sin, sqrt

Row = tuple[float, ...]

SAME = 1e-9
"""Tolerance of the distance between both ends of a closed curve, relative to its size."""


class Path(Immutable):
    """The kind of a curve; equal kinds have the same formulas.  Its `title` is a short description."""

    title: ClassVar[str]

    @property
    def count(self) -> int:
        """Number of constants."""
        raise NotImplementedError

    def position(self, s: MapCoordinate, c: Constants) -> Vec3:
        """Return the point at a parameter."""
        raise NotImplementedError

    def twist(self, c: Constants) -> Value | None:
        """Return the rate of rotation of the Frenet frame about the tangent if it is constant, else None."""
        return None

    def cut(self, row: Row, parts: int) -> list[Row]:
        """Return the constants of equal parts of a piece: the same for one formula along all of the curve."""
        return [row] * parts


class Polynomial(Path):
    """A piecewise polynomial curve, by its coefficients: a Bezier curve or a B-spline."""

    degree: int
    title = "a curve of polynomials"

    @property
    def count(self) -> int:
        """Three numbers for each coefficient."""
        return 3 * (self.degree + 1)

    def position(self, s: MapCoordinate, c: Constants) -> Vec3:
        """Horner's scheme."""
        p = c.vector(3 * self.degree)
        for k in range(self.degree - 1, -1, -1):
            p = s.u * p + c.vector(3 * k)
        return p

    def cut(self, row: Row, parts: int) -> list[Row]:
        """p(u) with u = (j + w) / parts, by powers of w, for all j at once."""
        coefficients = np.array(row).reshape(-1, 3)
        within = np.zeros((parts, *coefficients.shape))
        for k, a in enumerate(coefficients):
            for i in range(k + 1):
                within[:, i] += np.outer(_binomial_terms(k, i, parts), a)
        return [tuple(one) for one in within.reshape(parts, -1).tolist()]


@cache
def _binomial_terms(k: int, i: int, parts: int) -> Floats:
    """Return the coefficients (parts,) of w^i in ((j + w) / parts)^k for j = 0, 1, ..."""
    return np.array([math.comb(k, i) * j ** (k - i) / parts**k for j in range(parts)])


class Helix(Path):
    """A helix about z: (R cos s, R sin s, h s), with h the rise per radian."""

    title = "a helix"
    count = 2

    def position(self, s: MapCoordinate, c: Constants) -> Vec3:
        """The angle is the parameter."""
        return Vec3(c[0] * cos(s.q), c[0] * sin(s.q), c[1] * s.q)

    def twist(self, c: Constants) -> Value:
        """Torsion times speed: h / sqrt(R^2 + h^2)."""
        return c[1] / sqrt(c[0] * c[0] + c[1] * c[1])


class Circle(Path):
    """A circle about z: (R cos s, R sin s, 0)."""

    title = "a circle"
    count = 1

    def position(self, s: MapCoordinate, c: Constants) -> Vec3:
        """The angle is the parameter."""
        return Vec3(c[0] * cos(s.q), c[0] * sin(s.q), 0.0)

    def twist(self, c: Constants) -> float:
        """A plane curve has no torsion."""
        return 0.0


class Cycloid(Path):
    """The path of a point on the rim of a circle that rolls below the x axis: (R (s - sin s), 0, -R (1 - cos s))."""

    title = "a cycloid"
    count = 1

    def position(self, s: MapCoordinate, c: Constants) -> Vec3:
        """The parameter is the rotation angle of the circle."""
        return Vec3(c[0] * (s.q - sin(s.q)), 0.0, c[0] * (cos(s.q) - 1.0))

    def twist(self, c: Constants) -> float:
        """A plane curve has no torsion."""
        return 0.0


class ExpressionPath(Path):
    """A user-defined curve: expressions of a parameter and of named constants."""

    expressions: Expressions
    title = "a curve by expressions"

    @property
    def count(self) -> int:
        """One for each name."""
        return len(self.expressions.constants)

    def position(self, s: MapCoordinate, c: Constants) -> Vec3:
        """Evaluate the expressions."""
        return Vec3(*self.expressions.at([s.q], c))


class RoundExpressionPath(Path):
    """A user-defined closed curve, with a parameter reduced to the domain.

    Behind the named constants follow the parameter at the start of a piece, and the length of the piece.
    """

    expressions: Expressions
    title = "a closed curve by expressions"

    @property
    def count(self) -> int:
        """One for each name, and two of the piece."""
        return len(self.expressions.constants) + 2

    def position(self, s: MapCoordinate, c: Constants) -> Vec3:
        """Evaluate the expressions."""
        return Vec3(*self.expressions.at([c[self.count - 2] + c[self.count - 1] * s.u], c))

    def cut(self, row: Row, parts: int) -> list[Row]:
        """Return the same expressions, on equal parts of the interval."""
        *constants, start, length = row
        return [(*constants, start + j * length / parts, length / parts) for j in range(parts)]


class Curve(Immutable):
    """One curve.

    Parameters
    ----------
    path
        Its kind.
    rows
        Constants of each of its pieces; one row for a curve without pieces.
    kind
        Quantity of its parameter.
    domain
        Interval of its parameter; infinite if unbounded.
    closed
        Whether the end is connected to the start.
    in_pieces
        Whether it consists of pieces of equal length in the parameter.
    reference
        A parameter with a tangent, for an unbounded curve.
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
        """The pieces, for a joint map."""
        return Pieces(self.closed) if self.in_pieces else None

    @property
    def head(self) -> Row:
        """The leading constants."""
        start, end = self.domain
        return (start, len(self.rows) / (end - start), float(len(self.rows)))

    def at(self, values: Sequence[Value], piece: Integers, u: Floats) -> Floats:
        """Evaluate formulas of `symbolic_parameter` and of constants without offset; return (len(values), n).

        `piece` (n,) are the pieces, and `u` (n,) the local coordinates within them.
        """
        start, per_unit, _ = self.head if self.in_pieces else (0.0, 1.0, 1.0)
        rows = np.array(self.rows).reshape(len(self.rows), -1)
        names: dict[str, Any] = {f"c[{k}]": rows[piece, k] for k in range(rows.shape[1])}
        names |= {"q[0]": start + (piece + u) / per_unit, "u0": u, "per_unit": per_unit}
        return np.array([np.broadcast_to(value, u.shape) for value in evaluate(values, names)])

    def comes_back(self, derivatives: int) -> bool:
        """Whether position and `derivatives` derivatives agree at both ends of the domain of a closed curve."""
        orders = [self.path.position(self.symbolic_parameter, NamedConstants())]
        for _ in range(derivatives):
            orders.append(derivative(orders[-1], self.symbolic_parameter.along))
        ends = self.at([*itertools.chain(*orders)], np.array([0, len(self.rows) - 1]), np.array([0.0, 1.0]))
        per_length = np.repeat((self.domain[1] - self.domain[0]) ** np.arange(derivatives + 1), 3)[:, None]
        both = ends * per_length
        return bool(np.allclose(both[:, 0], both[:, 1], rtol=0.0, atol=SAME * np.abs(both).max()))

    @property
    def symbolic_parameter(self) -> MapCoordinate:
        """The parameter as a symbol, for `at`."""
        q, u = name("q[0]"), name("u0")
        return MapCoordinate(q, u, {q: 1.0, u: name("per_unit")}) if self.in_pieces else MapCoordinate(q, q, {q: 1.0})


def bezier(points: Sequence[Row]) -> Curve:
    """Return a Bezier curve of any degree, over [0, 1], from its control points (n, 3)."""
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
    """Return a uniform cubic B-spline from control points (n, 3): one piece for each unit of the parameter.

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
    """Cut every piece of a curve into parts of equal length; the curve is unchanged."""
    rows = [cut for row in curve.rows for cut in curve.path.cut(row, parts)]
    return replace(curve, rows=tuple(rows), in_pieces=True)
