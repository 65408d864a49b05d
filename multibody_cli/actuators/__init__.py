"""Actuators: forces on coordinates of joints by laws of control.

To add an actuator: a module with its Spec, and its line in `_SPECS`.
"""

from __future__ import annotations

from multibody_cli.registry import Registry
from multibody_cli.spec import Spec

_SPECS = {
    "general": "servos.GeneralSpec",
    "pd": "servos.PdSpec",
    "pid": "pid.PidSpec",
    "position": "servos.PositionServoSpec",
    "velocity": "servos.VelocityServoSpec",
    "motor": "motor.MotorSpec",
    "fmu": "fmu.FmuSpec",
    "computed_torque": "computed_torque.ComputedTorqueSpec",
}
"""Module and Spec of each actuator."""

ACTUATORS: Registry[type[Spec]] = Registry.of_modules(__name__, _SPECS)
"""Every actuator by its word in the scene file."""
