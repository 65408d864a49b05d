"""Entries of `muscles:` in a scene file."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from multibody_cli.forces.between import BetweenSpec, Place, placed
from multibody_cli.spec import BodyPoint, Fraction, PositiveLength, PositiveTime, Quantity, SignalSpec, units
from multibody_cli.spec.reading import located_error
from multibody_cli.spec.signal import Signal

_REFUSAL = "the activation that follows an excitation is computed before the run; use `activation`"
_OF_EXCITATION = ("activation_time", "deactivation_time", "initial_activation")


class MuscleSpec(BetweenSpec):
    """A Hill-type muscle with a rigid tendon and without pennation, along the lines between points of bodies.

    The `activation` is a function of time, or follows an `excitation` u:
    da/dt = (u - a) / tau, with tau = activation_time (0.5 + 1.5 a) while it rises and deactivation_time / (0.5 + 1.5 a)
    while it falls.
    """

    path: list[BodyPoint] = Field(
        min_length=2, description="Its ends, and between them points through which it slides."
    )
    max_isometric_force: Annotated[float, Quantity(units.FORCE, above=0.0)] = Field(
        description="Active force at the optimal length and zero velocity, N."
    )
    optimal_length: PositiveLength = Field(description="Fiber length with the largest active force, m.")
    tendon_slack_length: Annotated[float, Quantity(units.LENGTH, least=0.0)] = Field(
        0.0, description="Length of the rigid tendon, m."
    )
    max_velocity: Annotated[float, Quantity(units.RATE, above=0.0)] = Field(
        10.0, description="Shortening velocity at which the active force is 0, optimal lengths per second."
    )
    activation: Annotated[SignalSpec, Signal(units.NUMBER, state=())] | None = Field(
        None, description="Activation from 0 to 1: a number, an expression of t and the state, or a table."
    )
    excitation: Annotated[SignalSpec, Signal(units.NUMBER, refusal=_REFUSAL)] | None = Field(
        None,
        description="Excitation from 0 to 1, which the activation follows: a number, an expression of t, or a table.",
    )
    activation_time: PositiveTime = Field(0.01, description="Time constant of rising activation, s.")
    deactivation_time: PositiveTime = Field(0.04, description="Time constant of falling activation, s.")
    initial_activation: Fraction = Field(0.01, description="Initial activation, with an `excitation`.")

    @model_validator(mode="after")
    def _require_one_drive(self) -> Self:
        if (self.activation is None) == (self.excitation is None):
            raise ValueError("expected one of `activation` and `excitation`")
        for field in _OF_EXCITATION if self.excitation is None else ():
            if field in self.model_fields_set:
                raise located_error("has no effect without `excitation`", field)
        for field in ("activation", "excitation"):
            signal = getattr(self, field)
            given = [signal.constant] if signal is not None and signal.constant is not None else []
            given += list(signal.values) if signal is not None else []
            if any(not 0.0 <= value <= 1.0 for value in given):
                raise located_error("expected values from 0 to 1", field)
        return self

    @property
    def points(self) -> list[tuple[Place, BodyPoint]]:
        """Its points from end to end."""
        return placed("path", self.path)
