"""The catalogue of integrators, for every method that computes accelerations."""

from __future__ import annotations

from importlib import import_module

from multibody_cli.methods.contract import Integrator
from multibody_cli.registry import Registry


def _integrator(name: str) -> Integrator:
    found: Integrator = import_module(f"{__name__}.{name}").INTEGRATOR
    return found


INTEGRATORS = Registry(
    ("semi_implicit_euler", "linearly_implicit_euler", "sdirk2", "heun", "rk4", "dop853"), _integrator
)
"""Integrators by their keyword in the scene format, the name of their module."""
