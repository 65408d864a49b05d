"""Bodies of a scene: mass properties, shapes, and the initial state of free bodies."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from multibody_cli.scene.shapes import SHAPES, Shape
from multibody_cli.spec import (
    Density,
    NamedFrame,
    Position,
    Quantity,
    Quaternion,
    Rotation,
    Spec,
    Twist,
    Vector,
    Vector3,
    units,
)
from multibody_cli.spec.names import Name
from multibody_cli.spec.quantities import NUMBER_SCHEMA, list_schema, located_error, read_each
from multibody_cli.spec.rotations import IDENTITY

_TOLERANCE = 1e-9

IN_PLANE = 1e-6
"""Largest sine of the angle between a direction and a plane for the direction to count as in the plane."""


KindOfBody = Literal["rigid", "point", "planar", "affine"]

Matrix = tuple[Vector, Vector, Vector]


def _read_matrix(value: Any) -> Matrix:
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise ValueError("expected a 3x3 matrix of moments of inertia (kg*m^2)")
    first, second, third = read_each(Vector3(units.INERTIA).read, value)
    return first, second, third


class InertiaSpec(Spec):
    """Inertia about the center of mass: principal moments with their axes, or a matrix in the body frame."""

    EXAMPLE = "{principal: [0.1, 0.2, 0.3]}"

    principal: Annotated[Vector, Vector3(units.INERTIA)] | None = Field(
        None, description="Principal moments, kg*m^2; all zero for a point mass."
    )
    rotation: Rotation = Field(IDENTITY, description="Principal axes in the body frame.")
    matrix: Matrix | None = Field(
        None,
        description="Symmetric 3x3 matrix in the body frame, kg*m^2.",
        json_schema_extra=list_schema(list_schema(NUMBER_SCHEMA, 3), 3),
    )

    @field_validator("matrix", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_matrix(cls, value: Any) -> Matrix:
        matrix = _read_matrix(value)
        largest = max(abs(entry) for row in matrix for entry in row)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            if abs(matrix[i][j] - matrix[j][i]) > _TOLERANCE * largest:
                raise ValueError(
                    f"expected a symmetric matrix; row {i + 1} column {j + 1} is {matrix[i][j]:g}, "
                    f"row {j + 1} column {i + 1} is {matrix[j][i]:g}"
                )
        return matrix

    @model_validator(mode="after")
    def _require_one_form(self) -> Self:
        if (self.principal is None) == (self.matrix is None):
            raise ValueError("expected exactly one of `principal` and `matrix`")
        if self.matrix is not None and "rotation" in self.model_fields_set:
            raise ValueError("`rotation` applies to `principal` only: a `matrix` is in the body frame")
        return self


CENTRED = frozenset({"point", "affine"})
"""Kinds of bodies whose frame origin is the center of mass."""


def _stays_in_plane(rotation: Quaternion, velocity: Twist) -> bool:
    w, x, y, z = rotation
    normal = (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y))
    rise = sum(a * b for a, b in zip(normal, velocity.linear, strict=True))
    turning = sum(a * b for a, b in zip(normal, velocity.angular, strict=True))
    tilting = math.dist(velocity.angular, [turning * part for part in normal])
    return abs(rise) <= IN_PLANE * math.hypot(*velocity.linear) and tilting <= IN_PLANE * math.hypot(*velocity.angular)


class BodySpec(Spec):
    """A body; its kind determines its degrees of freedom without a joint."""

    kind: KindOfBody = Field(
        "rigid",
        description="Degrees of freedom of the body. rigid: 6, restricted by its joint; point: 3, no orientation; "
        "planar: 3, in the xy plane of its initial frame; affine: 12, including stretch and shear.",
    )
    mass: Annotated[float, Quantity(units.MASS, least=0.0)] | None = Field(
        None, description="Mass, kg; 0 for a body without mass. Default: computed from the shapes and their density."
    )
    density: Density | None = Field(None, description="Density of the shapes without their own density, kg/m^3.")
    com: Position | None = Field(None, description="Center of mass in the body frame, m; requires `inertia`.")
    inertia: InertiaSpec | None = Field(
        None,
        description="About the center of mass. Default: computed from the shapes and `mass` or `density`; 0 of a body "
        "with `mass: 0`. One that no body has is accepted with a warning where the mass matrix is regular.",
    )
    shapes: list[Shape] = Field([], description="Shapes of the body.")
    position: Position = Field((0.0, 0.0, 0.0), description="Initial position of a body without an inboard joint, m.")
    rotation: Rotation = Field(IDENTITY, description="Initial orientation of a body without an inboard joint.")
    velocity: Twist = Field(
        Twist(),
        description="Initial velocity of the body origin in world axes, for a body without an inboard joint.",
    )
    points: dict[Name, NamedFrame] = Field(
        {}, description="Named points of the body: [x, y, z] in its frame, m, or a frame {position, rotation}."
    )

    @property
    def given_start(self) -> set[str]:
        """The given fields of the start of a body without an inboard joint."""
        return self.model_fields_set & {"position", "rotation", "velocity"}

    @model_validator(mode="after")
    def _refuse_entries_of_other_kinds(self) -> Self:
        for name in ("inertia", "rotation") if self.kind == "point" else ():
            if name in self.model_fields_set:
                raise located_error("not allowed: a point mass has no orientation or inertia", name)
        if self.kind == "point" and self.points:
            raise located_error("not allowed: a point mass has no other points", "points")
        if self.kind in CENTRED and self.com is not None and any(self.com):
            raise located_error(
                f"expected [0, 0, 0]: the frame origin of a body of kind `{self.kind}` is its center of mass", "com"
            )
        if self.kind == "point" and any(self.velocity.angular):
            raise located_error("not allowed: a point mass does not rotate", "velocity", "angular")
        if self.kind == "planar" and not _stays_in_plane(self.rotation, self.velocity):
            raise located_error(
                "leaves the plane: a planar body translates along x and y of its initial frame and rotates about z",
                "velocity",
            )
        return self

    @model_validator(mode="after")
    def _require_one_source_of_mass(self) -> Self:
        solids = [shape for shape in self.shapes if SHAPES[shape.type].volume is not None]
        dense = [shape for shape in solids if getattr(shape, "density", None) is not None]
        filled = [shape for shape in solids if getattr(shape, "density", None) != 0.0]
        if self.mass is not None and (self.density is not None or any(shape in filled for shape in dense)):
            raise ValueError("`mass` and `density` are both given: specify only one of them")
        if self.inertia is not None and self.mass is None:
            raise ValueError("`inertia` requires a `mass`")
        if self.mass == 0.0 or (self.kind == "point" and self.mass is not None):
            return self
        if self.com is not None and self.inertia is None:
            raise ValueError("`com` requires an `inertia`: shapes determine both or neither")
        if self.inertia is not None:
            return self
        if not solids and self.kind == "point":
            raise ValueError("expected a `mass`, or `shapes` with a volume")
        if not solids or (self.mass is not None and not filled):
            raise ValueError(
                "expected `shapes` with a volume, or a `mass` with an `inertia` "
                "(`inertia: {principal: [0, 0, 0]}` for a point mass)"
            )
        if self.mass is None and self.density is None and len(dense) < len(solids):
            raise ValueError("expected a `mass`, or a `density` of the body or of each of its shapes")
        if self.density is not None and len(dense) == len(solids):
            raise ValueError("`density` has no effect: every shape has its own density")
        return self
