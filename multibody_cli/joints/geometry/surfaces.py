"""Surfaces as formulas of two parameters: the frame (e_1, e_2, n) on the surface, n outward.

e_1 points along the first parameter, n is normal to the surface, e_2 = n x e_1.

Source: Si and Guenter 2011, section 5; Kry and Pai 2003, for contact between surfaces in reduced coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from multibody_cli.joints.geometry.alignment import unit
from multibody_cli.joints.geometry.written import Expressions
from multibody_cli.joints.shape import Constants, Factor, Frame, MapCoordinate, Shift, Turn, cross, derivative
from multibody_cli.spatial.products import ZERO
from multibody_cli.spatial.values import Mat3, Vec3
from multibody_cli.symbolic.scalar import Scalar, Value, cos, name, sin
from multibody_cli.symbolic.substitution import substitute

X, Y, Z = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)

OUTWARD = Frame(Mat3(Y, Z, X), ZERO)
"""Frame on a surface with normal x and first parameter along y."""


class Surface(Protocol):
    """The kind of a surface; equal kinds have the same formulas."""

    @property
    def title(self) -> str:
        """Short description."""

    @property
    def count(self) -> int:
        """Number of constants."""

    def factors(self, u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """Return the frame at two parameters; its constants are those from k on."""


@dataclass(frozen=True)
class Plane:
    """The plane (u, v, 0), whose normal is z."""

    title = "a plane"
    count = 0

    def factors(self, u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """A translation."""
        return [Shift(Vec3(u.q, v.q, 0.0))]


@dataclass(frozen=True)
class Sphere:
    """Longitude and latitude: R (cos u cos v, sin u cos v, sin v)."""

    title = "a sphere"
    count = 1

    def factors(self, u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """Two rotations, and the radius."""
        return [Turn(Z, u.q), Turn(Y, -v.q), Shift(c[k] * X), OUTWARD]


@dataclass(frozen=True)
class Torus:
    """Around the axis z by u, around the tube by v: ((R + r cos v) cos u, (R + r cos v) sin u, r sin v)."""

    title = "a torus"
    count = 2

    def factors(self, u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """Two rotations, each with its radius."""
        return [Turn(Z, u.q), Shift(c[k] * X), Turn(Y, -v.q), Shift(c[k + 1] * X), OUTWARD]


@dataclass(frozen=True)
class Cylinder:
    """Around the axis z by u, along it by v: (R cos u, R sin u, v)."""

    title = "a cylinder"
    count = 1

    def factors(self, u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """A rotation, and a translation outward and along the axis."""
        return [Turn(Z, u.q), Shift(Vec3(c[k], 0.0, v.q)), OUTWARD]


class _ByPosition:
    """A surface whose frame is derived from the position."""

    def position(self, u: Value, v: Value, c: Constants, k: int) -> Vec3:
        """Return the point at two parameters."""
        raise NotImplementedError

    def factors(self, u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """Derive the frame from the derivatives of the position; a fixed parameter is a symbol for differentiation."""
        a, b = (at.q if isinstance(at.q, Scalar) else name(word) for at, word in ((u, "fixed u"), (v, "fixed v")))
        p = self.position(a, b, c, k)
        known = substitute([*p, *derivative(p, {a: 1.0}), *derivative(p, {b: 1.0})], {a: u.q, b: v.q})
        p, along, across = (Vec3(*known[j : j + 3]) for j in (0, 3, 6))
        e, n = unit(along), unit(cross(along, across))
        return [Frame(Mat3(e, cross(n, e), n), p)]


@dataclass(frozen=True)
class Ellipsoid:
    """Longitude and latitude: (a cos u cos v, b sin u cos v, c sin v)."""

    title = "an ellipsoid"
    count = 3

    def factors(self, u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
        """Scale the unit sphere; the frame is continuous at the poles, where the derivative by u changes sign."""
        (x, y, z), radii = (cos(u.q) * cos(v.q), sin(u.q) * cos(v.q), sin(v.q)), c.vector(k)
        e = unit(Vec3(-radii.x * sin(u.q), radii.y * cos(u.q), 0.0))
        n = unit(Vec3(x / radii.x, y / radii.y, z / radii.z))
        return [Frame(Mat3(e, cross(n, e), n), Vec3(radii.x * x, radii.y * y, radii.z * z))]


@dataclass(frozen=True)
class Patch(_ByPosition):
    """A Bezier patch, by the coefficients of u^i v^j, i major."""

    degree_u: int
    degree_v: int
    title = "a Bezier patch"

    @property
    def count(self) -> int:
        """Three numbers for each coefficient."""
        return 3 * (self.degree_u + 1) * (self.degree_v + 1)

    def position(self, u: Value, v: Value, c: Constants, k: int) -> Vec3:
        """Horner's scheme, twice."""
        width = self.degree_v + 1
        p = ZERO
        for i in range(self.degree_u, -1, -1):
            along = ZERO
            for j in range(self.degree_v, -1, -1):
                along = v * along + c.vector(k + 3 * (i * width + j))
            p = u * p + along
        return p


@dataclass(frozen=True)
class Written(_ByPosition):
    """A user-defined surface: expressions of two parameters and of named constants."""

    expressions: Expressions
    title = "a surface by expressions"

    @property
    def count(self) -> int:
        """One for each name."""
        return len(self.expressions.constants)

    def position(self, u: Value, v: Value, c: Constants, k: int) -> Vec3:
        """Evaluate the expressions."""
        return Vec3(*self.expressions.at([u, v], c, k))
