"""Surfaces over which paths wrap: the entries of `surfaces:` in a scene file."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from multibody_cli.nodes import NodePath
from multibody_cli.spec import units
from multibody_cli.spec.catalogue import Catalogue
from multibody_cli.spec.entries import BetweenSpec
from multibody_cli.spec.geometry import Pose, Rotation, TorusRadii, Vector, Vector3
from multibody_cli.spec.points import BodyPosition
from multibody_cli.spec.quantities import PositiveLength, Spec
from multibody_cli.spec.rotations import IDENTITY


class WrapSpec(BetweenSpec):
    """A surface that is fixed in a body, over which paths wrap."""

    type: str
    body: str = Field(description="Body in which the surface is fixed, or `world`.")
    position: BodyPosition = Field(
        (0.0, 0.0, 0.0), description="Its centre in the body frame, m, or the name of a point of the body."
    )
    rotation: Rotation = Field(IDENTITY, description="Orientation of its frame in the body frame.")

    AXIS: ClassVar[Vector | None] = None
    """Direction, in its frame, round which every path goes."""

    TWINS: ClassVar[tuple[int, ...]] = (0,)
    """For each of its arcs that a path may have in a row, 1 if another one follows, and -1 if it is that one."""

    SIDED: ClassVar[bool] = True
    """Whether paths may stay on a side."""

    @property
    def size(self) -> Vector:
        """Three lengths, m, that `cables` specifies for its type."""
        raise NotImplementedError

    @property
    def bodies(self) -> list[tuple[NodePath, str]]:
        """Its body."""
        return [(("body",), self.body)]

    @property
    def frame(self) -> Pose:
        """Its frame in the body frame."""
        return Pose.model_construct(position=self.position, rotation=self.rotation)


class SphereWrapSpec(WrapSpec):
    """A sphere, over which paths run along great circles."""

    type: Literal["sphere"]
    radius: PositiveLength = Field(description="Its radius, m.")

    @property
    def size(self) -> Vector:
        """Its radius, three times, m."""
        return (self.radius, self.radius, self.radius)


class CylinderWrapSpec(WrapSpec):
    """A cylinder about the axis z of its frame, over which paths run along helices."""

    type: Literal["cylinder"]
    radius: PositiveLength = Field(description="Its radius, m.")
    length: PositiveLength | None = Field(
        None,
        description="Its length, m: a path that would meet and leave it beyond its ends passes it, and jumps "
        "there. Default: unlimited.",
    )

    AXIS = (0.0, 0.0, 1.0)

    @property
    def size(self) -> Vector:
        """Its radius, twice, and its length, m."""
        return (self.radius, self.radius, self.length or math.inf)


class EllipsoidWrapSpec(WrapSpec):
    """An ellipsoid, over which paths run along geodesics."""

    type: Literal["ellipsoid"]
    radii: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(
        description="Semi-axes [a, b, c] along the axes of its frame, m."
    )

    @property
    def size(self) -> Vector:
        """Its semi-axes, m."""
        return self.radii


class TorusWrapSpec(TorusRadii, WrapSpec):
    """A torus about the axis z of its frame: paths lead through its hole, and run along geodesics of its tube."""

    type: Literal["torus"]

    TWINS, SIDED = (1, -1), False

    @property
    def size(self) -> Vector:
        """Its major radius, and its minor radius twice, m."""
        return (self.major_radius, self.minor_radius, self.minor_radius)


SURFACES: dict[str, type[Spec]] = {
    "sphere": SphereWrapSpec,
    "cylinder": CylinderWrapSpec,
    "ellipsoid": EllipsoidWrapSpec,
    "torus": TorusWrapSpec,
}
"""Every type of surface."""

Surface = Annotated[WrapSpec, Catalogue("a surface", SURFACES)]
"""An entry of `surfaces:`."""
