"""Heun's method: the explicit trapezoidal rule, of second order, fixed step."""

from __future__ import annotations

from multibody_cli.methods.integrators.explicit_runge_kutta import explicit_integrator
from multibody_cli.methods.tableau import tableau

INTEGRATOR = explicit_integrator(
    "heun", "explicit trapezoidal rule, second order, fixed step", 2, tableau([[1.0]], [0.5, 0.5])
)
