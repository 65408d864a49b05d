"""The classical Runge-Kutta method of fourth order, fixed step."""

from __future__ import annotations

from multibody_cli.methods.integrators.explicit_runge_kutta import explicit_integrator
from multibody_cli.methods.tableau import tableau

INTEGRATOR = explicit_integrator(
    "rk4",
    "fourth order Runge-Kutta, fixed step; the default elsewhere",
    4,
    tableau([[0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]),
)
