"""Actuators: forces on coordinates of joints by laws of control.

To add an actuator: a file with its Spec, and its entry in `ACTUATORS`.
"""

from __future__ import annotations

from multibody_cli.actuators.computed_torque import ComputedTorqueSpec
from multibody_cli.actuators.contract import ActuatorSpec
from multibody_cli.actuators.general import GeneralSpec
from multibody_cli.actuators.motor import MotorSpec
from multibody_cli.actuators.pd import PdSpec
from multibody_cli.actuators.pid import PidSpec
from multibody_cli.actuators.position import PositionServoSpec
from multibody_cli.actuators.velocity import VelocityServoSpec
from multibody_cli.spec import Spec

ACTUATORS: dict[str, type[Spec]] = {
    "general": GeneralSpec,
    "pd": PdSpec,
    "pid": PidSpec,
    "position": PositionServoSpec,
    "velocity": VelocityServoSpec,
    "motor": MotorSpec,
    "computed_torque": ComputedTorqueSpec,
}
"""Every kind of actuator."""


def joints_of(actuator: Spec) -> tuple[str, ...]:
    """Return the coordinates on which an actuator acts, by name."""
    if isinstance(actuator, ComputedTorqueSpec):
        return tuple(actuator.joints)
    assert isinstance(actuator, ActuatorSpec)
    return (actuator.joint,)


__all__ = ["ACTUATORS", "ActuatorSpec", "ComputedTorqueSpec", "joints_of"]
