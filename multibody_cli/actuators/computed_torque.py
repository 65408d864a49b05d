"""Actuator `computed_torque`: inverse dynamics with feedback, for all coordinates of a mechanism.

The torques are those for which the coordinates have the accelerations

    a = d^2 target/dt^2 + kd (d target/dt - v) + kp (target - q),

by the inverse dynamics of the mechanism at (q, v), gravity and all applied forces included.  The error e = target - q
then obeys e'' + kd e' + kp e = 0.

Source: Siciliano et al., Robotics: modelling, planning and control (2009), 8.5.2.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from multibody_cli.actuators.contract import Target
from multibody_cli.spec import Quantity, Spec, units


class ComputedTorqueSpec(Spec):
    """Inverse dynamics with feedback: the error of each coordinate obeys e'' + kd e' + kp e = 0."""

    type: Literal["computed_torque"]
    joints: dict[str, Target] = Field(
        min_length=1,
        description="The coordinates, `elbow` or `wrist/1`, each with its target, rad or m: a number, an expression of "
        "t, or a table. All free coordinates of the mechanism belong to it.",
    )
    kp: Annotated[float, Quantity(units.ANGULAR_ACCELERATION, least=0.0)] = Field(
        0.0, description="Gain of the error, 1/s^2."
    )
    kd: Annotated[float, Quantity(units.RATE, least=0.0)] = Field(0.0, description="Gain of its rate, 1/s.")

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The coordinates on which it acts."""
        return tuple(self.joints)
