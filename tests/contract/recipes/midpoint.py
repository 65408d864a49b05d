"""The explicit midpoint rule: second order, fixed step."""

from __future__ import annotations

from multibody_cli.methods.integrators.explicit_runge_kutta import explicit_integrator
from multibody_cli.methods.tableau import tableau

INTEGRATOR = explicit_integrator("midpoint", "second order, fixed step", 2, tableau([[0.5]], [0.0, 1.0]))
