"""What may stand in `forces:` of a scene file: loads and drags of bodies."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from multibody_cli.spec import AngularDamping, Damping, Position, SignalSpec, Spec, units
from multibody_cli.spec.signal import SignalVector

_ZERO = (SignalSpec(constant=0.0),) * 3


class ForceSpec(Spec):
    """What every entry of `forces:` says of itself.

    Attributes
    ----------
    ACCOUNT
        Where the ledger of energy books what the force does.
    """

    ACCOUNT: ClassVar[Literal["work", "dissipation"]]


class LoadSpec(ForceSpec):
    """A force at a point of a body, a torque on the body, or both, as functions of time."""

    ACCOUNT = "work"

    body: str = Field(description="Body that is pushed.")
    point: Position = Field((0.0, 0.0, 0.0), description="Where the force acts, in the body frame, m.")
    force: Annotated[tuple[SignalSpec, SignalSpec, SignalSpec], SignalVector(units.FORCE)] = Field(
        _ZERO, description="Force [x, y, z], N; each a number, an expression of t, or a table."
    )
    torque: Annotated[tuple[SignalSpec, SignalSpec, SignalSpec], SignalVector(units.TORQUE)] = Field(
        _ZERO, description="Torque [x, y, z], N*m; each a number, an expression of t, or a table."
    )
    frame: Literal["world", "body"] = Field("world", description="Whose axes the components refer to.")

    @model_validator(mode="after")
    def _refuse_what_has_no_effect(self) -> Self:
        if "point" in self.model_fields_set and "force" not in self.model_fields_set:
            raise ValueError("`point` has no effect without `force`: a torque acts on the body as a whole")
        return self


class Viscosity(Spec):
    """Coefficients of viscous drag."""

    linear: Damping = Field(0.0, description="Of the velocity of the centre of mass, N*s/m.")
    angular: AngularDamping = Field(0.0, description="Of the angular velocity, N*m*s/rad.")


class DragSpec(ForceSpec):
    """Viscous drag on a body."""

    ACCOUNT = "dissipation"

    body: str = Field(description="Body that is slowed down.")
    viscous: Viscosity = Field(description="Coefficients of the drag.")


FORCES: dict[str, type[ForceSpec]] = {"load": LoadSpec, "drag": DragSpec}
"""Every kind of entry."""

FORCE_KEYS = {"viscous": "drag", "force": "load", "torque": "load"}
"""The key by which the kind of an entry is told."""
