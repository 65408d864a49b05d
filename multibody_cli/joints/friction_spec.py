"""Fields of the dry friction of joints: surfaces with a coefficient, and brakes with given limits."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from multibody_cli.spec import Friction, FrictionCoefficients, PositiveLength, Quantity, Spec, Vector, Vector3, units
from multibody_cli.spec.quantities import NUMBER_SCHEMA, Reader, WholeNumber, describe_kind, list_schema

NO_FRICTION = FrictionCoefficients(static=0.0, kinetic=0.0)


class Brakes(Reader):
    """Annotation of the limits of `count` coordinates of one kind, at least 0; one number applies to all."""

    kind: units.QuantityKind
    count: int

    def read(self, value: Any) -> tuple[float, ...]:
        """Read one limit for each coordinate."""
        limit = Quantity(self.kind, least=0.0)
        if not isinstance(value, list | tuple):
            return (limit.read(value),) * self.count
        return limit.read_list(
            value, self.count, f"expected one or {self.count} limits, each {describe_kind(self.kind)}"
        )

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a number, or of a list of numbers."""
        return {"anyOf": [NUMBER_SCHEMA, list_schema(NUMBER_SCHEMA, self.count)]}


class BrakeSpec(Spec):
    """Dry friction of given limits."""

    @property
    def brakes(self) -> tuple[float, ...]:
        """Given limits, N m or N."""
        fields = [getattr(self, name, ()) for name in ("torque", "force")]
        return tuple(limit for field in fields for limit in (field if isinstance(field, tuple) else (field,)))

    @model_validator(mode="after")
    def _require_friction(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"expected {' or '.join(f'`{name}`' for name in type(self).model_fields)}")
        return self


class FrictionSpec(BrakeSpec):
    """Dry friction in proportion to the loads, or of given limits.

    Attributes
    ----------
    ADDS
        Whether limits may add to the friction in proportion to the loads, which then acts on one coordinate.
    """

    ADDS: ClassVar[bool] = True

    coefficient: Friction = Field(NO_FRICTION, description="Coefficient of dry friction; requires `surface`.")
    surface: Any = None

    @model_validator(mode="after")
    def _require_friction(self) -> Self:
        limits = [name for name in type(self).model_fields if name not in FrictionSpec.model_fields]
        is_limited = bool(self.model_fields_set.intersection(limits))
        words = " or ".join(f"`{name}`" for name in limits)
        lacks_surface = self.surface is None and (self.coefficient.static > 0.0 or not is_limited)
        if lacks_surface and self.ADDS:
            raise ValueError(f"expected `coefficient` and `surface`, {words}, or all of them")
        if lacks_surface or (self.surface is not None and is_limited and not self.ADDS):
            raise ValueError(f"expected either `coefficient` and `surface`, or {words}")
        return self


class RateBrakes(BrakeSpec):
    """Dry friction of given limits on the rates of the coordinates of any joint; read by `BrakedJointSpec`."""

    EXAMPLE = "{brake: 0.1 N*m}"

    brake: tuple[float, ...] = Field(
        description="Largest torque or force of the brake on each coordinate, N*m or N; one number applies to all.",
        json_schema_extra={"anyOf": [NUMBER_SCHEMA, {"type": "array", "items": NUMBER_SCHEMA}]},
    )

    @property
    def brakes(self) -> tuple[float, ...]:
        """Given limits, N m or N."""
        return self.brake


class CylinderSurface(Spec):
    """A cylinder in a bearing."""

    type: Literal["cylinder"] = "cylinder"
    radius: PositiveLength = Field(description="Radius, m.")
    length: PositiveLength = Field(description="Length along the axis, centered at the joint frame, m.")
    points: Annotated[int, WholeNumber(4, step=2)] = Field(
        4,
        description="Number of points around each end, even. The friction due to a radial force varies with its "
        "direction: by 17 % about its mean with 4 points, by 4 % with 8, by 1 % with 16.",
    )


class BoxSurface(Spec):
    """A slider in a guide."""

    type: Literal["box"] = "box"
    size: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(
        description="Lengths along the axes of the joint frame, m."
    )


class SphereSurface(Spec):
    """A ball in a socket."""

    type: Literal["sphere"] = "sphere"
    radius: PositiveLength = Field(description="Radius, m.")


class PlateSurface(Spec):
    """A plate that slides on a plane."""

    type: Literal["plate"] = "plate"
    length: PositiveLength = Field(description="Length along x of the joint frame, m.")
    width: PositiveLength = Field(description="Length along y of the joint frame, m.")


class HingeFriction(FrictionSpec):
    """Dry friction on a cylinder about the axis, of a brake, or both."""

    EXAMPLE = "{coefficient: 0.3, surface: {radius: 1 cm, length: 5 cm}}"

    surface: CylinderSurface | None = Field(None, description="Friction surface.")
    torque: Annotated[float, Quantity(units.TORQUE, least=0.0)] = Field(
        0.0, description="Largest torque of a brake, in addition to the friction due to the loads, N*m."
    )


class CrossFriction(FrictionSpec):
    """Dry friction in both hinges of a cross, on cylinders about their axes, of brakes, or both."""

    EXAMPLE = "{coefficient: 0.3, surface: {radius: 1 cm, length: 5 cm}}"

    surface: CylinderSurface | None = Field(None, description="Friction surface, of each hinge.")
    torque: Annotated[tuple[float, ...], Brakes(units.TORQUE, 2)] = Field(
        (0.0, 0.0),
        description="Largest torque of a brake, of both or of each, in addition to the friction due to the loads, N*m.",
    )


class SliderFriction(FrictionSpec):
    """Dry friction on a box about the joint frame, of a brake, or both."""

    EXAMPLE = "{coefficient: 0.3, surface: {size: [10 cm, 2 cm, 2 cm]}}"

    surface: BoxSurface | None = Field(None, description="Friction surface.")
    force: Annotated[float, Quantity(units.FORCE, least=0.0)] = Field(
        0.0, description="Largest force of a brake, in addition to the friction due to the loads, N."
    )


class CylinderFriction(FrictionSpec):
    """Dry friction on a cylinder about the axis, or of brakes."""

    EXAMPLE = "{coefficient: 0.3, surface: {radius: 1 cm, length: 5 cm}}"
    ADDS = False

    surface: CylinderSurface | None = Field(None, description="Friction surface.")
    torque: Annotated[float, Quantity(units.TORQUE, least=0.0)] = Field(
        0.0, description="Largest torque of a brake about the axis, in place of a surface, N*m."
    )
    force: Annotated[float, Quantity(units.FORCE, least=0.0)] = Field(
        0.0, description="Largest force of a brake along the axis, in place of a surface, N."
    )


class SphereFriction(FrictionSpec):
    """Dry friction on a sphere about the origin of the joint frame, or of brakes."""

    EXAMPLE = "{coefficient: 0.3, surface: {radius: 1 cm}}"
    ADDS = False

    surface: SphereSurface | None = Field(None, description="Friction surface.")
    torque: Annotated[tuple[float, ...], Brakes(units.TORQUE, 3)] = Field(
        (0.0,) * 3,
        description="Largest torques of brakes along x, y and z of the child's frame, in place of a surface, N*m.",
    )


class PlateFriction(FrictionSpec):
    """Dry friction on a plate about the origin of the joint frame, or of brakes."""

    EXAMPLE = "{coefficient: 0.3, surface: {length: 10 cm, width: 5 cm}}"
    ADDS = False

    surface: PlateSurface | None = Field(None, description="Friction surface.")
    force: Annotated[tuple[float, ...], Brakes(units.FORCE, 2)] = Field(
        (0.0, 0.0), description="Largest forces of brakes along x and y, in place of a surface, N."
    )


class SpaceBrakes(BrakeSpec):
    """Dry friction of given limits on displacements along x, y and z."""

    EXAMPLE = "{force: 2 N}"

    force: Annotated[tuple[float, ...], Brakes(units.FORCE, 3)] = Field(
        description="Largest forces of brakes along x, y and z, N."
    )


class PlaneBrakes(BrakeSpec):
    """Dry friction of given limits on displacements along x and y, and on the rotation."""

    EXAMPLE = "{force: 2 N, torque: 0.1 N*m}"

    force: Annotated[tuple[float, ...], Brakes(units.FORCE, 2)] = Field(
        (0.0, 0.0), description="Largest forces of brakes along x and y, N."
    )
    torque: Annotated[float, Quantity(units.TORQUE, least=0.0)] = Field(
        0.0, description="Largest torque of a brake about z, N*m."
    )


class FreeBrakes(BrakeSpec):
    """Dry friction of given limits on the components of the linear and angular velocity."""

    EXAMPLE = "{force: 2 N, torque: 0.1 N*m}"

    force: Annotated[tuple[float, ...], Brakes(units.FORCE, 3)] = Field(
        (0.0,) * 3, description="Largest forces of brakes along x, y and z of the parent's joint frame, N."
    )
    torque: Annotated[tuple[float, ...], Brakes(units.TORQUE, 3)] = Field(
        (0.0,) * 3, description="Largest torques of brakes along x, y and z of the parent's joint frame, N*m."
    )


def has_friction(joint: object) -> bool:
    """Return whether a joint has a positive coefficient of friction, or a brake."""
    friction = getattr(joint, "friction", None)
    return bool(friction is not None and (coefficient_of(friction).static > 0.0 or any(friction.brakes)))


def coefficient_of(friction: BrakeSpec) -> FrictionCoefficients:
    """Return the coefficient of friction, which is 0 without surfaces."""
    return friction.coefficient if isinstance(friction, FrictionSpec) else NO_FRICTION
