"""How a scene is run and what is kept of it."""

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
    """Error that an adaptive integrator may make in a step."""

    rtol: PositiveNumber = Field(1e-9, description="Relative to the size of each coordinate.")
    atol: PositiveNumber | None = Field(
        None, description="Absolute, in rad, m and their rates; without it, a thousandth of `rtol`."
    )

    @property
    def absolute(self) -> float:
        """The absolute tolerance in force."""
        return 1e-3 * self.rtol if self.atol is None else self.atol


class SimulationSpec(Spec):
    """How long, in which steps, by which method."""

    duration: PositiveTime = Field(description="Time that is simulated, s.")
    step: PositiveTime = Field(1e-3, description="Time step, s.")
    method: str = Field("aba", description="Method: see `mbsim list methods`.")
    integrator: str = Field("semi_implicit_euler", description="Integrator: see `mbsim list integrators`.")
    options: dict[str, Any] = Field({}, description="Options of the method.")
    tolerance: ToleranceSpec = Field(
        ToleranceSpec(), description="Of an adaptive integrator: a relative tolerance, or {rtol, atol}."
    )

    assembly_tolerance: PositiveNumber = Field(
        0.01, description="How far loops and constraints may be open as the scene is written, m or rad."
    )

    @field_validator("tolerance", mode="before")
    @classmethod
    def _read_single_tolerance(cls, value: Any) -> Any:
        return {"rtol": value} if isinstance(value, int | float | str) else value


class OutputSpec(Spec):
    """What the result file holds."""

    every: PositiveTime | None = Field(None, description="Time between two output instants, s; whole steps.")
    channels: list[ChannelGroup] = Field(
        default_factory=lambda: list(CHANNEL_GROUPS), description="Groups of channels to keep."
    )
    compression: Literal["none", "gzip"] = Field("none", description="Of the datasets.")
