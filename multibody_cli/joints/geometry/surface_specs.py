"""Surfaces in a scene file."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.domain import ENDLESS, Interval
from multibody_cli.joints.geometry import surfaces
from multibody_cli.joints.geometry.paths import Row, power_basis
from multibody_cli.joints.geometry.words import Formula, Parameters, Word, require_position
from multibody_cli.joints.geometry.written import written
from multibody_cli.spec import Catalogue, Number, Position, PositiveLength, Spec, TorusRadii, Vector, Vector3, units
from multibody_cli.spec.quantities import located_error

MOST_OF_PATCH = 8
"""Maximum number of control points of a Bezier patch along one parameter."""


class SurfaceForm(Spec):
    """A surface, in the frame of the joint on its body's side."""

    type: str
    inside: bool = Field(False, description="Whether the other surface touches it from inside, as a ball in a bowl.")

    @property
    def surface(self) -> surfaces.Surface:
        """The kind of surface."""
        raise NotImplementedError

    @property
    def constants(self) -> Row:
        """Constants of the surface."""
        return ()

    @property
    def kinds(self) -> tuple[Coordinate, Coordinate]:
        """Quantities of the parameters."""
        return Coordinate.ANGLE, Coordinate.ANGLE

    @property
    def domains(self) -> tuple[Interval, Interval]:
        """Intervals of the parameters."""
        return ENDLESS, ENDLESS


class PlaneSurfaceSpec(SurfaceForm):
    """The plane through the origin with normal z; u and v are x and y."""

    type: Literal["plane"]

    @property
    def surface(self) -> surfaces.Plane:
        """The kind of surface."""
        return surfaces.Plane()

    @property
    def kinds(self) -> tuple[Coordinate, Coordinate]:
        """Two lengths."""
        return Coordinate.LENGTH, Coordinate.LENGTH


class SphereSurfaceSpec(SurfaceForm):
    """A sphere: u is the longitude from x, v the latitude."""

    type: Literal["sphere"]
    radius: PositiveLength = Field(description="Radius, m.")

    @property
    def surface(self) -> surfaces.Sphere:
        """The kind of surface."""
        return surfaces.Sphere()

    @property
    def constants(self) -> Row:
        """The radius."""
        return (self.radius,)


class EllipsoidSurfaceSpec(SurfaceForm):
    """An ellipsoid: u is the longitude from x, v the latitude, both of the unit sphere before scaling."""

    type: Literal["ellipsoid"]
    radii: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(description="Semi-axes [a, b, c], m.")

    @property
    def surface(self) -> surfaces.Ellipsoid:
        """The kind of surface."""
        return surfaces.Ellipsoid()

    @property
    def constants(self) -> Row:
        """The semi-axes."""
        return self.radii


class TorusSurfaceSpec(TorusRadii, SurfaceForm):
    """A ring about z: u goes around the axis from x, v around the tube from outside, upwards."""

    type: Literal["torus"]

    @property
    def surface(self) -> surfaces.Torus:
        """The kind of surface."""
        return surfaces.Torus()

    @property
    def constants(self) -> Row:
        """Both radii."""
        return self.major_radius, self.minor_radius


class CylinderSurfaceSpec(SurfaceForm):
    """An infinite cylinder about z: u is the angle from x, v the height."""

    type: Literal["cylinder"]
    radius: PositiveLength = Field(description="Radius, m.")

    @property
    def surface(self) -> surfaces.Cylinder:
        """The kind of surface."""
        return surfaces.Cylinder()

    @property
    def constants(self) -> Row:
        """The radius."""
        return (self.radius,)

    @property
    def kinds(self) -> tuple[Coordinate, Coordinate]:
        """An angle and a length."""
        return Coordinate.ANGLE, Coordinate.LENGTH


class PatchSurfaceSpec(SurfaceForm):
    """A Bezier patch over u and v in [0, 1]; its normal follows from u and v by the right-hand rule."""

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
    def surface(self) -> surfaces.Patch:
        """The kind of surface."""
        return surfaces.Patch(len(self.points) - 1, len(self.points[0]) - 1)

    @property
    def constants(self) -> Row:
        """The coefficients of u^i v^j."""
        P = np.array(self.points)
        A, B = (power_basis(n) for n in P.shape[:2])
        return tuple(np.einsum("ij,jkx,lk->ilx", A, P, B).ravel().tolist())

    @property
    def kinds(self) -> tuple[Coordinate, Coordinate]:
        """Two dimensionless numbers."""
        return Coordinate.NUMBER, Coordinate.NUMBER

    @property
    def domains(self) -> tuple[Interval, Interval]:
        """The unit square."""
        return (0.0, 1.0), (0.0, 1.0)


class WrittenSurfaceSpec(SurfaceForm):
    """A surface by expressions of two parameters; its normal follows from these in order by the right-hand rule."""

    type: Literal["expression"]
    parameters: Parameters = Field({}, description="Names for constants, with their values.")
    coordinates: tuple[Word, Word] = Field(("u", "v"), description="Names of both parameters.")
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
    def surface(self) -> surfaces.Written:
        """The kind of surface."""
        return surfaces.Written(written(self.position, self.coordinates, self.parameters)[0])

    @property
    def constants(self) -> Row:
        """The named constants."""
        return written(self.position, self.coordinates, self.parameters)[1]

    @property
    def kinds(self) -> tuple[Coordinate, Coordinate]:
        """Two dimensionless numbers."""
        return Coordinate.NUMBER, Coordinate.NUMBER

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
    "expression": WrittenSurfaceSpec,
}
"""Every surface by its word."""

AnySurface = Annotated[SurfaceForm, Catalogue("a surface", SURFACES)]
