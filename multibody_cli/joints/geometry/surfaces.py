"""Surfaces in a scene file, and as formulas of two parameters: the frame (e_1, e_2, n) on the surface, n outward.

e_1 points along the first parameter, n is normal to the surface, e_2 = n x e_1.

Source: Si and Guenter 2011, section 5; Kry and Pai 2003, for contact between surfaces in reduced coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal, Protocol, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from multibody_cli.immutable import Immutable
from multibody_cli.joints.contract import Coordinate
from multibody_cli.joints.domain import ENDLESS, Interval
from multibody_cli.joints.geometry.alignment import unit
from multibody_cli.joints.geometry.paths import Row, power_basis
from multibody_cli.joints.joint_map import Constants, Factor, Frame, MapCoordinate, Shift, Turn, cross, derivative
from multibody_cli.spatial.products import ZERO
from multibody_cli.spatial.values import Mat3, Vec3
from multibody_cli.spec import Catalogue, Number, Position, PositiveLength, Spec, TorusRadii, Vector, Vector3, units
from multibody_cli.spec.formulas import (
    Expressions,
    Formula,
    Name,
    Parameters,
    expressions_of,
    require_position,
)
from multibody_cli.spec.quantities import located_error
from multibody_cli.symbolic.evaluation import substitute
from multibody_cli.symbolic.scalar import Scalar, Value, cos, name, sin

X, Y, Z = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)

OUTWARD = Frame(Mat3(Y, Z, X), ZERO)
"""Frame on a surface with normal x and first parameter along y."""

MOST_OF_PATCH = 8
"""Maximum number of control points of a Bezier patch along one parameter."""


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


class ClosedForm(Immutable):
    """A kind of surface whose frame has a formula of its own."""

    title: str
    count: int
    factors: Callable[[MapCoordinate, MapCoordinate, Constants, int], Sequence[Factor]]


class SurfaceForm(Spec):
    """A surface, in the frame of the joint on its body's side."""

    KINDS: ClassVar[tuple[Coordinate, Coordinate]] = (Coordinate.ANGLE, Coordinate.ANGLE)
    """Quantities of the parameters."""

    SURFACE: ClassVar[Surface]
    """The kind of surface, of those that have one alone."""

    type: str
    inside: bool = Field(False, description="Whether the other surface touches it from inside, as a ball in a bowl.")

    @property
    def surface(self) -> Surface:
        """The kind of surface."""
        return self.SURFACE

    @property
    def constants(self) -> Row:
        """Constants of the surface."""
        return ()

    @property
    def domains(self) -> tuple[Interval, Interval]:
        """Intervals of the parameters."""
        return ENDLESS, ENDLESS


# --- surfaces with closed forms ---------------------------------------------------------------------------------------
def _plane(u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
    """Return the translation (u, v, 0)."""
    return [Shift(Vec3(u.q, v.q, 0.0))]


class PlaneSurfaceSpec(SurfaceForm):
    """The plane through the origin with normal z; u and v are x and y."""

    KINDS = (Coordinate.LENGTH, Coordinate.LENGTH)
    SURFACE = ClosedForm("a plane", 0, _plane)

    type: Literal["plane"]


class _RoundSurfaceSpec(SurfaceForm):
    """A surface with a radius."""

    radius: PositiveLength = Field(description="Radius, m.")

    @property
    def constants(self) -> Row:
        """The radius."""
        return (self.radius,)


def _sphere(u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
    """Return two rotations, and the radius: R (cos u cos v, sin u cos v, sin v)."""
    return [Turn(Z, u.q), Turn(Y, -v.q), Shift(c[k] * X), OUTWARD]


class SphereSurfaceSpec(_RoundSurfaceSpec):
    """A sphere: u is the longitude from x, v the latitude."""

    SURFACE = ClosedForm("a sphere", 1, _sphere)

    type: Literal["sphere"]


def _cylinder(u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
    """Return a rotation, and a translation outward and along the axis: (R cos u, R sin u, v)."""
    return [Turn(Z, u.q), Shift(Vec3(c[k], 0.0, v.q)), OUTWARD]


class CylinderSurfaceSpec(_RoundSurfaceSpec):
    """An infinite cylinder about z: u is the angle from x, v the height."""

    KINDS = (Coordinate.ANGLE, Coordinate.LENGTH)
    SURFACE = ClosedForm("a cylinder", 1, _cylinder)

    type: Literal["cylinder"]


def _ellipsoid(u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
    """Scale the unit sphere: (a cos u cos v, b sin u cos v, c sin v).

    The frame is continuous at the poles, where the derivative by u changes sign.
    """
    (x, y, z), radii = (cos(u.q) * cos(v.q), sin(u.q) * cos(v.q), sin(v.q)), c.vector(k)
    e = unit(Vec3(-radii.x * sin(u.q), radii.y * cos(u.q), 0.0))
    n = unit(Vec3(x / radii.x, y / radii.y, z / radii.z))
    return [Frame(Mat3(e, cross(n, e), n), Vec3(radii.x * x, radii.y * y, radii.z * z))]


class EllipsoidSurfaceSpec(SurfaceForm):
    """An ellipsoid: u is the longitude from x, v the latitude, both of the unit sphere before scaling."""

    SURFACE = ClosedForm("an ellipsoid", 3, _ellipsoid)

    type: Literal["ellipsoid"]
    radii: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(description="Semi-axes [a, b, c], m.")

    @property
    def constants(self) -> Row:
        """The semi-axes."""
        return self.radii


def _torus(u: MapCoordinate, v: MapCoordinate, c: Constants, k: int) -> Sequence[Factor]:
    """Return two rotations, each with its radius: ((R + r cos v) cos u, (R + r cos v) sin u, r sin v)."""
    return [Turn(Z, u.q), Shift(c[k] * X), Turn(Y, -v.q), Shift(c[k + 1] * X), OUTWARD]


class TorusSurfaceSpec(TorusRadii, SurfaceForm):
    """A ring about z: u goes around the axis from x, v around the tube from outside, upwards."""

    SURFACE = ClosedForm("a torus", 2, _torus)

    type: Literal["torus"]

    @property
    def constants(self) -> Row:
        """Both radii."""
        return self.major_radius, self.minor_radius


# --- surfaces by their position ---------------------------------------------------------------------------------------
class _ByPosition(Immutable):
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


class PatchSurfaceSpec(SurfaceForm):
    """A Bezier patch over u and v in [0, 1]; its normal follows from u and v by the right-hand rule."""

    KINDS = (Coordinate.NUMBER, Coordinate.NUMBER)

    type: Literal["bezier"]
    points: list[list[Position]] = Field(
        min_length=2,
        max_length=MOST_OF_PATCH,
        description="Control points, m: one list of points along v for each row along u.",
    )

    @field_validator("points")
    @classmethod
    def _require_a_grid(cls, points: list[list[Vector]]) -> list[list[Vector]]:
        for k, row in enumerate(points):
            if len(row) != len(points[0]):
                raise located_error(f"expected {len(points[0])} points, as in the first row, found {len(row)}", k)
            if not 2 <= len(row) <= MOST_OF_PATCH:
                raise located_error(f"expected 2 to {MOST_OF_PATCH} points, found {len(row)}", k)
        return points

    @property
    def surface(self) -> Patch:
        """The kind of surface."""
        return Patch(len(self.points) - 1, len(self.points[0]) - 1)

    @property
    def constants(self) -> Row:
        """The coefficients of u^i v^j."""
        P = np.array(self.points)
        A, B = (power_basis(n) for n in P.shape[:2])
        return tuple(np.einsum("ij,jkx,lk->ilx", A, P, B).ravel().tolist())

    @property
    def domains(self) -> tuple[Interval, Interval]:
        """The unit square."""
        return (0.0, 1.0), (0.0, 1.0)


class ExpressionSurface(_ByPosition):
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


class ExpressionSurfaceSpec(SurfaceForm):
    """A surface by expressions of two parameters; its normal follows from these in order by the right-hand rule."""

    KINDS = (Coordinate.NUMBER, Coordinate.NUMBER)

    type: Literal["expression"]
    parameters: Parameters = Field({}, description="Names for constants, with their values.")
    coordinates: tuple[Name, Name] = Field(("u", "v"), description="Names of both parameters.")
    position: tuple[Formula, Formula, Formula] = Field(description="x, y and z, m, as expressions of the parameters.")
    domain: tuple[tuple[Number, Number] | None, tuple[Number, Number] | None] = Field(
        (None, None), description="Interval of each parameter; null for an unbounded one."
    )

    @model_validator(mode="after")
    def _require_sense(self) -> Self:
        require_position(self.position, self.coordinates, self.parameters)
        for k, interval in enumerate(self.domain):
            if interval is not None and not interval[0] < interval[1]:
                raise located_error("expected the beginning before the end", "domain", k)
        return self

    @property
    def surface(self) -> ExpressionSurface:
        """The kind of surface."""
        return ExpressionSurface(expressions_of(self.position, self.coordinates, self.parameters)[0])

    @property
    def constants(self) -> Row:
        """The named constants."""
        return expressions_of(self.position, self.coordinates, self.parameters)[1]

    @property
    def domains(self) -> tuple[Interval, Interval]:
        """As written."""
        first, second = (interval or ENDLESS for interval in self.domain)
        return first, second


SURFACES: dict[str, type[SurfaceForm]] = {
    "plane": PlaneSurfaceSpec,
    "sphere": SphereSurfaceSpec,
    "ellipsoid": EllipsoidSurfaceSpec,
    "torus": TorusSurfaceSpec,
    "cylinder": CylinderSurfaceSpec,
    "bezier": PatchSurfaceSpec,
    "expression": ExpressionSurfaceSpec,
}
"""Every surface by its word."""

AnySurface = Annotated[SurfaceForm, Catalogue("a surface", SURFACES)]
