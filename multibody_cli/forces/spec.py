"""Entries of `forces:` in a scene file: forces on bodies, and on coordinates of joints."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from multibody_cli.spec import AngularDamping, Damping, Position, Quantity, SignalSpec, Spec, units
from multibody_cli.spec.signal import SignalVector

Place = tuple[str | int, ...]

_ZERO = (SignalSpec(constant=0.0),) * 3


class ForceSpec(Spec):
    """The base of every entry of `forces:`."""

    @property
    def coordinates(self) -> list[tuple[Place, str]]:
        """Coordinates of joints, `joint` or `joint/k`, each with its place in the entry."""
        return []


class BodyForceSpec(ForceSpec):
    """The base of every force on a body."""

    body: str

    @property
    def points(self) -> list[tuple[Place, Position]]:
        """Points of the body, in the body frame, m, each with its place in the entry."""
        return []

    @property
    def turning(self) -> list[Place]:
        """Fields that need a body with an orientation."""
        return []


class LoadSpec(BodyForceSpec):
    """A force at a point of a body, a torque on the body, or both, as functions of time."""

    body: str = Field(description="Body on which the force acts.")
    point: Position = Field((0.0, 0.0, 0.0), description="Point at which the force acts, in the body frame, m.")
    force: Annotated[tuple[SignalSpec, SignalSpec, SignalSpec], SignalVector(units.FORCE)] = Field(
        _ZERO, description="Force [x, y, z], N; each a number, an expression of t, or a table."
    )
    torque: Annotated[tuple[SignalSpec, SignalSpec, SignalSpec], SignalVector(units.TORQUE)] = Field(
        _ZERO, description="Torque [x, y, z], N*m; each a number, an expression of t, or a table."
    )
    frame: Literal["world", "body"] = Field("world", description="Axes of the components.")

    @model_validator(mode="after")
    def _refuse_what_has_no_effect(self) -> Self:
        if "point" in self.model_fields_set and "force" not in self.model_fields_set:
            raise ValueError("`point` has no effect without `force`: a torque acts on the body as a whole")
        return self

    @property
    def points(self) -> list[tuple[Place, Position]]:
        """The point of the force."""
        return [(("point",), self.point)]

    @property
    def turning(self) -> list[Place]:
        """The torque and the axes of the body."""
        torque: list[Place] = [("torque",)] if self.torque != _ZERO else []
        return [*torque, *([("frame",)] if self.frame == "body" else [])]


class Viscosity(Spec):
    """Coefficients of viscous drag."""

    linear: Damping = Field(0.0, description="Coefficient of the velocity of the centre of mass, N*s/m.")
    angular: AngularDamping = Field(0.0, description="Coefficient of the angular velocity, N*m*s/rad.")


class DragSpec(BodyForceSpec):
    """Viscous drag on a body."""

    body: str = Field(description="Body on which the drag acts.")
    viscous: Viscosity = Field(description="Coefficients of the drag.")

    @property
    def turning(self) -> list[Place]:
        """The angular coefficient."""
        return [("viscous", "angular")] if self.viscous.angular > 0.0 else []


class QuadraticDragSpec(BodyForceSpec):
    """Quadratic drag on a body: a force -c v |v| at its centre of mass or at a point."""

    body: str = Field(description="Body on which the drag acts.")
    quadratic: Annotated[float, Quantity(units.QUADRATIC_DAMPING, least=0.0)] = Field(
        description="Coefficient c, N*s^2/m^2; rho*C_d*A/2 for a fluid of density rho and a frontal area A."
    )
    point: Position | None = Field(
        None, description="Point at which the force acts, in the body frame, m. Default: the centre of mass."
    )

    @property
    def points(self) -> list[tuple[Place, Position]]:
        """The point of the force, where it is given."""
        return [(("point",), self.point)] if self.point is not None else []
