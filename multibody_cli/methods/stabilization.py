"""How the errors of constraints are kept from growing: an option of every method that holds them by accelerations."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from multibody_cli.spec import Number, Spec
from multibody_cli.tree.workspace import ForesightSettings, Work


class StabilizationOptions(Spec):
    """What is done about errors of closed loops and constraints."""

    stabilization: Literal["projection", "baumgarte"] = Field(
        "projection",
        description="`projection`: after each step, positions and velocities move onto the constraints by the shortest "
        "way in the metric of the masses. `baumgarte`: errors decay in time, by a correction of the accelerations.",
    )
    baumgarte_rate: Annotated[Number, Field(gt=0.0)] = Field(
        50.0, description="Rate at which errors decay with `stabilization: baumgarte`, 1/s."
    )

    @property
    def foresight(self) -> ForesightSettings:
        """How implicit forces are solved for."""
        return ForesightSettings()

    @model_validator(mode="after")
    def _refuse_what_has_no_effect(self) -> Self:
        if "baumgarte_rate" in self.model_fields_set and self.stabilization != "baumgarte":
            raise ValueError("`baumgarte_rate` has no effect without `stabilization: baumgarte`")
        return self


def set_stabilization(options: StabilizationOptions, work: Work) -> None:
    """Tell the kernels: error'' + 2 rate error' + rate^2 error = 0, or projection where both numbers are 0."""
    rate = options.baumgarte_rate if options.stabilization == "baumgarte" else 0.0
    work.baumgarte[:] = 2.0 * rate, rate * rate
