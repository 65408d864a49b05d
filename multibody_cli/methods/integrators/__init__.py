"""The catalogue of integrators, for every method that computes accelerations."""

from __future__ import annotations

from multibody_cli.methods.contract import Integrator
from multibody_cli.methods.integrators import dop853, linearly_implicit_euler, rk4, sdirk2, semi_implicit_euler

_MODULES = (semi_implicit_euler, linearly_implicit_euler, sdirk2, rk4, dop853)

INTEGRATORS: dict[str, Integrator] = {module.INTEGRATOR.name: module.INTEGRATOR for module in _MODULES}
