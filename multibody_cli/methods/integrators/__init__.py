"""The catalogue of integrators, for every method that computes accelerations."""

from __future__ import annotations

from multibody_cli.methods.contract import Integrator
from multibody_cli.registry import Registry

_NAMES = ("semi_implicit_euler", "linearly_implicit_euler", "sdirk2", "heun", "rk4", "dop853")

INTEGRATORS: Registry[Integrator] = Registry.of_modules(__name__, {name: f"{name}.INTEGRATOR" for name in _NAMES})
"""Integrators by their keyword in the scene format, the name of their module."""
