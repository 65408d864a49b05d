"""The catalogue of integrators, for every method that gives accelerations."""

from __future__ import annotations

from multibody_cli.methods.contract import Integrator
from multibody_cli.methods.integrators import dop853, rk4, semi_implicit_euler

INTEGRATORS_LATER = ("linearly_implicit_euler",)
"""Integrators that the format knows and this version does not support."""

INTEGRATORS: dict[str, Integrator] = {
    integrator.name: integrator for integrator in (semi_implicit_euler.INTEGRATOR, rk4.INTEGRATOR, dop853.INTEGRATOR)
}
