"""Schema of `events`: instants at which an expression of channels changes its sign, with their effects."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from multibody_cli.expressions import Expression
from multibody_cli.scene.expect import read_expression
from multibody_cli.spec import Spec
from multibody_cli.spec.quantities import Fraction, format_value

Direction = Literal["rising", "falling", "either"]


class ImpactSpec(Spec):
    """An impulse of a constraint, after which its rate is minus the restitution times that before."""

    EXAMPLE = "{constraint: NAME, restitution: 0.9}"

    constraint: str = Field(description="Name of the constraint.")
    restitution: Fraction = Field(0.0, description="Ratio of the rates after and before.")


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
    impact: ImpactSpec | None = Field(
        None,
        description="A constraint with `active: false` that acts for an instant, by an impulse: {constraint, "
        "restitution}.",
    )
    set: dict[str, Any] = Field(
        {},
        description="Values of the scene that change at the event, by their paths as in `--set`: "
        "`{springs.tether.stiffness: 0, constraints.clutch.active: true}`.",
    )

    @property
    def changes(self) -> bool:
        """Whether it changes the motion."""
        return bool(self.set or self.impact)

    @model_validator(mode="after")
    def _refuse_changes_at_the_end(self) -> Self:
        if self.end and self.changes:
            raise ValueError("the run ends at the event: omit `set` and `impact`")
        return self

    @field_validator("when", mode="plain", json_schema_input_type=str)
    @classmethod
    def _read_expression(cls, value: Any) -> Expression:
        if not isinstance(value, str):
            raise ValueError(f"expected an expression of channels, such as `joints.a.q`, found {format_value(value)}")
        try:
            return read_expression(value, is_of_channels=False)
        except ValueError as error:
            raise ValueError(
                f"{error}; expected an expression that changes its sign at the event, of channels with dots and of "
                "numbers in SI units, such as `joints.a.q - 0.5`"
            ) from None
