"""Settings of the simulation and of the output."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator

from multibody_cli.spec import PositiveTime, Quantity, Spec, units

PositiveNumber = Annotated[float, Quantity(units.NUMBER, above=0.0)]

ChannelGroup = Literal[
    "time",
    "bodies",
    "joints",
    "couplings",
    "constraints",
    "springs",
    "muscles",
    "contacts",
    "energy",
    "momentum",
    "solver",
]
CHANNEL_GROUPS: tuple[ChannelGroup, ...] = get_args(ChannelGroup)


class ToleranceSpec(Spec):
    """Local error tolerance of an adaptive integrator."""

    rtol: PositiveNumber = Field(1e-9, description="Relative tolerance of each coordinate.")
    atol: PositiveNumber | None = Field(
        None, description="Absolute tolerance, in rad, m and their rates. Default: `rtol`/1000."
    )

    @property
    def absolute(self) -> float:
        """The absolute tolerance in force."""
        return 1e-3 * self.rtol if self.atol is None else self.atol


class SimulationSpec(Spec):
    """Duration, step size, method and integrator of a run."""

    duration: PositiveTime = Field(description="Simulated time, s.")
    step: PositiveTime = Field(1e-3, description="Time step, s.")
    method: str = Field("aba", description="Method: see `mbsim list methods`.")
    integrator: str = Field("semi_implicit_euler", description="Integrator: see `mbsim list integrators`.")
    options: dict[str, Any] = Field({}, description="Options of the method.")
    tolerance: ToleranceSpec = Field(
        ToleranceSpec(), description="Tolerance of an adaptive integrator: `rtol`, or {rtol, atol}."
    )

    assembly_tolerance: PositiveNumber = Field(
        0.01, description="Largest constraint violation of the specified initial state, m or rad."
    )

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
