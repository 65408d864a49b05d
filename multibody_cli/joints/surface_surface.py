"""Surface-surface joint: two surfaces touch at one point, and roll, slide and spin on each other.

    X = F_1(u1, v1) R_z(spin) diag(1, -1, -1) F_2(u2, v2)^-1

with the frames F that lie on the surfaces (`geometry.surfaces`): their normals are opposite.  Of the five freedoms some
may be fixed; as in the paper, `spin`, the angle about the normal between the first directions of both frames, is so
unless it is asked for, and four are left: u1, v1, u2, v2.

Source: Si and Guenter 2011, section 5 (torus chain).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic.functional_validators import PlainValidator
from pydantic.json_schema import WithJsonSchema

from multibody_cli.errors import nearest
from multibody_cli.joints.contract import Coordinate, JointKind, Part, shaped
from multibody_cli.joints.coordinate_fields import COORDINATE_KINDS
from multibody_cli.joints.domain import ENDLESS, DomainJointSpec, Interval
from multibody_cli.joints.geometry.surface_specs import AnySurface, SurfaceForm
from multibody_cli.joints.geometry.surfaces import Surface
from multibody_cli.joints.shape import Constants, Factor, Frame, Inverse, Pieces, Place, Run, Turn
from multibody_cli.joints.spec import Coordinates
from multibody_cli.spatial.products import ZERO
from multibody_cli.spatial.values import Mat3, Vec3
from multibody_cli.spec import Spec
from multibody_cli.spec.quantities import NUMBER_SCHEMA, read_quantity, shown
from multibody_cli.spec.reading import located_error, moved_error

FREEDOMS = ("u1", "v1", "u2", "v2", "spin")

Z = Vec3(0.0, 0.0, 1.0)
TURNED_OVER = Frame(Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, -1.0, 0.0), Vec3(0.0, 0.0, -1.0)), ZERO)


@dataclass(frozen=True)
class Touching:
    """The motion of one surface on another.

    Parameters
    ----------
    first, second
        The surfaces.
    fixed
        Freedoms that do not move, with their values.
    turned_over
        Whether the normals are opposite; one surface within the other has the same.
    """

    first: Surface
    second: Surface
    fixed: tuple[tuple[str, float], ...]
    turned_over: bool

    @property
    def title(self) -> str:
        """What it is."""
        return f"{self.second.title} on {self.first.title}"

    @property
    def pieces(self) -> tuple[Pieces | None, ...]:
        """No pieces."""
        return (None,) * (len(FREEDOMS) - len(self.fixed))

    @property
    def stride(self) -> int:
        """No pieces."""
        return 0

    def factors(self, places: Sequence[Place], c: Constants) -> Sequence[Factor]:
        """Out to the point of contact, over to the other frame, and back from there."""
        still = {word: Place(value, value, {}) for word, value in self.fixed}
        moving = iter(places)
        u1, v1, u2, v2, spin = (still[word] if word in still else next(moving) for word in FREEDOMS)
        first = self.first.factors(u1, v1, c, 0)
        second = self.second.factors(u2, v2, c, self.first.count)
        over = [TURNED_OVER] if self.turned_over else []
        return [*first, Turn(Z, spin.q), *over, Inverse(Run(second))]


def _read_fixed(value: Any, info: ValidationInfo) -> dict[str, float]:
    if not isinstance(value, dict):
        raise ValueError(f"expected freedoms with the values at which they stay, as {{spin: 0}}, found {shown(value)}")
    for key in value:
        if key not in FREEDOMS:
            raise ValueError(f"unknown freedom {shown(key)}; {nearest(str(key), FREEDOMS)}")
    if not {"parent_surface", "child_surface"} <= info.data.keys():
        return {}  # where a surface is wrong, nothing can be said about its parameters
    surfaces = [info.data[word] for word in ("parent_surface", "child_surface")]
    kinds = (*(kind for surface in surfaces for kind in surface.kinds), Coordinate.ANGLE)
    domains = (*(domain for surface in surfaces for domain in surface.domains), ENDLESS)
    measures = dict(zip(FREEDOMS, zip(kinds, domains, strict=True), strict=True))
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
    """Both surfaces, and what is fixed between them."""

    parent_surface: AnySurface = Field(description="Surface of the parent, in the joint's frame on its side.")
    child_surface: AnySurface = Field(description="Surface of the child, in the joint's frame on its side.")
    fixed: Annotated[
        dict[str, float],
        PlainValidator(_read_fixed),
        WithJsonSchema({"type": "object", "properties": dict.fromkeys(FREEDOMS, NUMBER_SCHEMA)}),
    ] = Field(
        {"spin": 0.0},
        description="Which of u1, v1, u2, v2, spin do not move, and where they stay; unless given, `spin` at 0, or "
        "none where `q` or `v` has five entries.",
    )

    @model_validator(mode="before")
    @classmethod
    def _free_the_spin(cls, data: Any) -> Any:
        """Five entries of a state are all five freedoms."""
        if not isinstance(data, dict) or "fixed" in data:
            return data
        states = (data.get(word) for word in ("q", "v"))
        whole = any(isinstance(state, list | tuple) and len(state) == len(FREEDOMS) for state in states)
        return {**data, "fixed": {}} if whole else data

    @field_validator("child_surface")
    @classmethod
    def _require_a_side(cls, child: SurfaceForm, info: ValidationInfo) -> SurfaceForm:
        parent = info.data.get("parent_surface")
        if parent is not None and parent.inside and child.inside:
            raise located_error("two surfaces cannot both touch from within", "inside")
        return child


# `_Surfaces` stands last, so that its fields are read before those that need to know how many coordinates there are
class SurfaceSurfaceSpec(DomainJointSpec, _Surfaces):
    """Two surfaces that touch at a point: u1, v1 on the parent's, u2, v2 on the child's, and the spin.

    A child's surface is in the frame M: the child is where its surface touches, not where its coordinates are 0.
    """

    type: Literal["surface_surface"]

    @classmethod
    def coordinates_of(cls, fields: Mapping[str, Any]) -> Coordinates | None:
        """Those that move."""
        if not {"parent_surface", "child_surface", "fixed"} <= fields.keys():
            return None
        kinds = (*fields["parent_surface"].kinds, *fields["child_surface"].kinds, Coordinate.ANGLE)
        return tuple(kind for word, kind in zip(FREEDOMS, kinds, strict=True) if word not in fields["fixed"])

    @property
    def own_domains(self) -> tuple[Interval, ...]:
        """Those of the surfaces."""
        domains = (*self.parent_surface.domains, *self.child_surface.domains, ENDLESS)
        return tuple(one for word, one in zip(FREEDOMS, domains, strict=True) if word not in self.fixed)


def parts(spec: SurfaceSurfaceSpec) -> Sequence[Part]:
    """Give the one part."""
    first, second = spec.parent_surface, spec.child_surface
    fixed = tuple((word, spec.fixed[word]) for word in FREEDOMS if word in spec.fixed)
    shape = Touching(first.surface, second.surface, fixed, not (first.inside or second.inside))
    return [shaped(shape, spec.coordinates, (*first.constants, *second.constants), spec.q)]


KIND = JointKind("surface_surface", SurfaceSurfaceSpec, parts)
