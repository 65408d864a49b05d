"""Surface-surface joint: two surfaces in contact at one point, with rolling, sliding and spinning.

    X = F_1(u1, v1) R_z(spin) diag(1, -1, -1) F_2(u2, v2)^-1

with the frames F on the surfaces (`geometry.surfaces`): their normals are opposite.  Any of the five degrees of freedom
may be fixed; as in the paper, `spin`, the angle about the normal between the first directions of both frames, is fixed
by default, and four degrees of freedom remain: u1, v1, u2, v2.

Source: Si and Guenter 2011, section 5 (torus chain).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic.functional_validators import PlainValidator
from pydantic.json_schema import WithJsonSchema

from multibody_cli.errors import nearest
from multibody_cli.immutable import Immutable
from multibody_cli.joints.contract import Coordinate, JointKind, Part, generated_part
from multibody_cli.joints.coordinate_fields import COORDINATE_KINDS
from multibody_cli.joints.domain import ENDLESS, DomainJointSpec, Interval
from multibody_cli.joints.friction import rate_patches
from multibody_cli.joints.geometry.surfaces import AnySurface, Surface, SurfaceForm
from multibody_cli.joints.joint_map import Constants, Factor, FactorProduct, Frame, Inverse, MapCoordinate, Pieces, Turn
from multibody_cli.joints.spec import Coordinates
from multibody_cli.spatial.products import ZERO
from multibody_cli.spatial.values import Mat3, Vec3
from multibody_cli.spec import Spec
from multibody_cli.spec.quantities import NUMBER_SCHEMA, format_value, located_error, moved_error, read_quantity

COORDINATE_NAMES = ("u1", "v1", "u2", "v2", "spin")

Z = Vec3(0.0, 0.0, 1.0)
TURNED_OVER = Frame(Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, -1.0, 0.0), Vec3(0.0, 0.0, -1.0)), ZERO)


class Touching(Immutable):
    """The motion of one surface on another.

    Parameters
    ----------
    first, second
        The surfaces.
    fixed
        Fixed coordinates, with their values.
    turned_over
        Whether the normals are opposite; they are equal for one surface inside the other.
    """

    first: Surface
    second: Surface
    fixed: tuple[tuple[str, float], ...]
    turned_over: bool

    @property
    def title(self) -> str:
        """Short description."""
        return f"{self.second.title} on {self.first.title}"

    @property
    def pieces(self) -> tuple[Pieces | None, ...]:
        """No pieces."""
        return (None,) * (len(COORDINATE_NAMES) - len(self.fixed))

    @property
    def stride(self) -> int:
        """No pieces."""
        return 0

    def factors(self, map_coordinates: Sequence[MapCoordinate], c: Constants) -> Sequence[Factor]:
        """From the first surface to the contact point, and back along the second surface."""
        still = {word: MapCoordinate(value, value, {}) for word, value in self.fixed}
        moving = iter(map_coordinates)
        u1, v1, u2, v2, spin = (still[word] if word in still else next(moving) for word in COORDINATE_NAMES)
        first = self.first.factors(u1, v1, c, 0)
        second = self.second.factors(u2, v2, c, self.first.count)
        over = [TURNED_OVER] if self.turned_over else []
        return [*first, Turn(Z, spin.q), *over, Inverse(FactorProduct(second))]


def _read_fixed(value: Any, info: ValidationInfo) -> dict[str, float]:
    if not isinstance(value, dict):
        raise ValueError(f"expected coordinates with their fixed values, as {{spin: 0}}, found {format_value(value)}")
    for key in value:
        if key not in COORDINATE_NAMES:
            raise ValueError(f"unknown coordinate {format_value(key)}; {nearest(str(key), COORDINATE_NAMES)}")
    if not {"parent_surface", "child_surface"} <= info.data.keys():
        return {}  # if a surface is invalid, its parameters cannot be checked
    surfaces = [info.data[word] for word in ("parent_surface", "child_surface")]
    kinds = (*(kind for surface in surfaces for kind in surface.KINDS), Coordinate.ANGLE)
    domains = (*(domain for surface in surfaces for domain in surface.domains), ENDLESS)
    measures = dict(zip(COORDINATE_NAMES, zip(kinds, domains, strict=True), strict=True))
    found = {}
    for key, number in value.items():
        kind, (lower, upper) = measures[key]
        try:
            found[key] = read_quantity(number, COORDINATE_KINDS["q"][kind])
        except ValueError as error:
            raise moved_error(error, key) from None
        if not lower <= found[key] <= upper:
            raise located_error(f"lies outside of the domain of its surface, from {lower:g} to {upper:g}", key)
    return found


class _Surfaces(Spec):
    """Both surfaces, and the parameters that are fixed between them."""

    parent_surface: AnySurface = Field(description="Surface of the parent, in the joint's frame on its side.")
    child_surface: AnySurface = Field(description="Surface of the child, in the joint's frame on its side.")
    fixed: Annotated[
        dict[str, float],
        PlainValidator(_read_fixed),
        WithJsonSchema({"type": "object", "properties": dict.fromkeys(COORDINATE_NAMES, NUMBER_SCHEMA)}),
    ] = Field(
        {"spin": 0.0},
        description="Fixed values among u1, v1, u2, v2, spin; by default `spin` is fixed at 0, or none if `q` or `v` "
        "has five entries.",
    )

    @model_validator(mode="before")
    @classmethod
    def _free_the_spin(cls, data: Any) -> Any:
        """Free all five coordinates if the state has five entries."""
        if not isinstance(data, dict) or "fixed" in data:
            return data
        states = (data.get(word) for word in ("q", "v"))
        whole = any(isinstance(state, list | tuple) and len(state) == len(COORDINATE_NAMES) for state in states)
        return {**data, "fixed": {}} if whole else data

    @field_validator("child_surface")
    @classmethod
    def _require_a_side(cls, child: SurfaceForm, info: ValidationInfo) -> SurfaceForm:
        parent = info.data.get("parent_surface")
        if parent is not None and parent.inside and child.inside:
            raise located_error("two surfaces cannot both touch from within", "inside")
        return child


# `_Surfaces` is the last base, so that its fields are read before those that depend on the number of coordinates
class SurfaceSurfaceSpec(DomainJointSpec, _Surfaces):
    """Two surfaces in contact at a point: u1, v1 on the parent's, u2, v2 on the child's, and the spin.

    The surface of the child is in the frame M; the pose of the child follows from the contact.
    """

    type: Literal["surface_surface"]

    @classmethod
    def coordinates_of(cls, fields: Mapping[str, Any]) -> Coordinates | None:
        """Return the free coordinates."""
        if not {"parent_surface", "child_surface", "fixed"} <= fields.keys():
            return None
        kinds = (*fields["parent_surface"].KINDS, *fields["child_surface"].KINDS, Coordinate.ANGLE)
        return tuple(kind for word, kind in zip(COORDINATE_NAMES, kinds, strict=True) if word not in fields["fixed"])

    @property
    def own_domains(self) -> tuple[Interval, ...]:
        """Domains of the surfaces."""
        domains = (*self.parent_surface.domains, *self.child_surface.domains, ENDLESS)
        return tuple(one for word, one in zip(COORDINATE_NAMES, domains, strict=True) if word not in self.fixed)

    @property
    def surfaces(self) -> Sequence[tuple[Literal["F", "M"], SurfaceForm]]:
        """Both surfaces."""
        return ("F", self.parent_surface), ("M", self.child_surface)


def parts(spec: SurfaceSurfaceSpec) -> Sequence[Part]:
    """Return the single part."""
    first, second = spec.parent_surface, spec.child_surface
    fixed = tuple((word, spec.fixed[word]) for word in COORDINATE_NAMES if word in spec.fixed)
    joint_map = Touching(first.surface, second.surface, fixed, not (first.inside or second.inside))
    return [generated_part(joint_map, spec.coordinates, (*first.constants, *second.constants), spec.q)]


KIND = JointKind("surface_surface", SurfaceSurfaceSpec, parts, friction_patches=rate_patches)
