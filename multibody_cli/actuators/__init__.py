"""Actuators: forces on coordinates of joints by laws of control.

To add an actuator: a module of its name with its Spec, and its line in `_SPECS`.
"""

from __future__ import annotations

from importlib import import_module

from multibody_cli.actuators.computed_torque import ComputedTorqueSpec
from multibody_cli.actuators.contract import ActuatorSpec
from multibody_cli.registry import Registry
from multibody_cli.spec import Spec

_SPECS = {
    "general": "GeneralSpec",
    "pd": "PdSpec",
    "pid": "PidSpec",
    "position": "PositionServoSpec",
    "velocity": "VelocityServoSpec",
    "motor": "MotorSpec",
    "computed_torque": "ComputedTorqueSpec",
}
"""The Spec of each actuator, in the module of its name."""


def _spec(name: str) -> type[Spec]:
    spec: type[Spec] = getattr(import_module(f"{__name__}.{name}"), _SPECS[name])
    return spec


ACTUATORS = Registry(_SPECS, _spec)
"""Every actuator by its word in the scene file."""


def joints_of(actuator: Spec) -> tuple[str, ...]:
    """Return the coordinates on which an actuator acts, by name."""
    if isinstance(actuator, ComputedTorqueSpec):
        return tuple(actuator.joints)
    assert isinstance(actuator, ActuatorSpec)
    return (actuator.joint,)


__all__ = ["ACTUATORS", "ActuatorSpec", "ComputedTorqueSpec", "joints_of"]
