"""Settings of the simulation and of the output."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator

from multibody_cli.alarms.catalogue import DESCRIPTIONS
from multibody_cli.document import states
from multibody_cli.errors import QuantityError, nearest
from multibody_cli.spec import PositiveLength, PositiveTime, Quantity, Spec, units

AUTO = "auto"
"""Keyword of the default integrator, which depends on the scene."""

PositiveNumber = Annotated[float, Quantity(units.NUMBER, above=0.0)]

ChannelGroup = Literal[
    "time",
    "bodies",
    "joints",
    "couplings",
    "combinations",
    "constraints",
    "inputs",
    "paths",
    "springs",
    "muscles",
    "actuators",
    "forces",
    "wrenches",
    "sensors",
    "points",
    "contacts",
    "energy",
    "momentum",
    "solver",
]
CHANNEL_GROUPS: tuple[ChannelGroup, ...] = get_args(ChannelGroup)


class Threshold(Quantity):
    """Annotation of the threshold of an alarm: a number, or `false` for infinity."""

    def __init__(self) -> None:
        super().__init__(units.NUMBER, least=0.0)

    def read(self, value: Any) -> float:
        """Read the number."""
        if value is False:
            return math.inf
        if value is True:
            raise QuantityError("expected a number, or `false` to turn the alarm off; found true")
        return super().read(value)


class ToleranceSpec(Spec):
    """Local error tolerance of an adaptive integrator."""

    rtol: PositiveNumber = Field(1e-9, description="Relative tolerance of each coordinate.")
    atol: PositiveNumber | None = Field(
        None,
        description="Absolute tolerance, in rad, m and their rates. Default: `rtol`/1000 of 1 rad and of the length of "
        "the mechanism, and of their rates in the slowest motion that counts, 0.001 of them in a `step`.",
    )


class SimulationSpec(Spec):
    """Duration, step size, method and integrator of a run."""

    PREPROCESSED = frozenset({states.CHOICE[1]})

    duration: PositiveTime = Field(description="Simulated time, s.")
    step: PositiveTime = Field(1e-3, description="Time step, s.")
    method: str = Field("aba", description="Method: see `mbsim list methods`.")
    integrator: str = Field(
        AUTO,
        description="Integrator: see `mbsim list integrators`. `auto` is `rk4`, or `semi_implicit_euler` for scenes "
        "with contacts or dry friction of joints.",
    )
    options: dict[str, Any] = Field({}, description="Options of the method.")
    tolerance: ToleranceSpec = Field(
        ToleranceSpec(), description="Tolerance of an adaptive integrator: `rtol`, or {rtol, atol}."
    )

    start: Literal["written", "equilibrium"] = Field(
        "written",
        description="Start of the run: `written` in the scene, or the static `equilibrium` to which it leads, with the "
        "written rates.",
    )

    assembly_tolerance: PositiveLength | None = Field(
        None,
        description="Largest constraint violation of the specified initial state, m or rad; by default 0.01 rad, or "
        "0.02 of the length of the mechanism: the largest distance in a body of its joints and its centre of mass, or "
        "its radius of gyration.",
    )

    alarms: dict[str, Annotated[float, Threshold()]] = Field(
        {}, description=f"Thresholds of alarms by name; `false` turns one off. Names: {', '.join(DESCRIPTIONS)}."
    )

    @field_validator("alarms")
    @classmethod
    def _require_known_alarms(cls, alarms: dict[str, float]) -> dict[str, float]:
        for name in alarms:
            if name not in DESCRIPTIONS:
                raise ValueError(f"unknown alarm `{name}`: {nearest(name, DESCRIPTIONS)}")
        return alarms

    @field_validator("tolerance", mode="before")
    @classmethod
    def _read_single_tolerance(cls, value: Any) -> Any:
        return {"rtol": value} if isinstance(value, int | float | str) else value


class OutputSpec(Spec):
    """Contents of the result file."""

    every: PositiveTime | None = Field(None, description="Output interval, s; a multiple of the step.")
    channels: list[ChannelGroup] = Field(
        default_factory=lambda: list(CHANNEL_GROUPS), description="Groups of channels to record."
    )
    compression: Literal["none", "gzip"] = Field("none", description="Compression of the datasets.")
