"""Schema of `events`: instants at which an expression of channels changes its sign, with their effects."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from multibody_cli.expressions import Expression
from multibody_cli.scene.expect import read_expression
from multibody_cli.spec import Spec
from multibody_cli.spec.quantities import format_value

Direction = Literal["rising", "falling", "either"]


class EventSpec(Spec):
    """An event: the instants at which an expression of channels changes its sign."""

    EXAMPLE = "{when: joints.hinge.q - 0.5, direction: rising}"

    when: Expression = Field(
        description="Expression of t and of channels, whose paths have dots and whose values are in SI units: "
        "`joints.a.q - 0.5`. The event is a change of its sign from one step to the next.",
        json_schema_extra={"type": "string"},
    )
    direction: Direction = Field(
        "either", description="Changes of the sign that count: `rising`, from - to +, `falling`, or `either`."
    )
    once: bool = Field(False, description="Whether only the first change counts.")
    end: bool = Field(False, description="Whether the run ends at the event.")

    @field_validator("when", mode="plain", json_schema_input_type=str)
    @classmethod
    def _read_expression(cls, value: Any) -> Expression:
        if not isinstance(value, str):
            raise ValueError(f"expected an expression of channels, such as `joints.a.q`, found {format_value(value)}")
        return read_expression(value, is_of_channels=False)
