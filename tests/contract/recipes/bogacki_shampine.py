"""The pair of Bogacki and Shampine: third order, with an estimate of second order."""

from __future__ import annotations

from multibody_cli.methods.integrators.adaptive_runge_kutta import adaptive_integrator
from multibody_cli.methods.tableau import embedded_pair, tableau

STEP = [2 / 9, 1 / 3, 4 / 9]
METHOD = tableau([[1 / 2], [0, 3 / 4], STEP], [*STEP, 0])

INTEGRATOR = adaptive_integrator(
    "bogacki_shampine",
    "third order, adaptive steps",
    3,
    embedded_pair(METHOD, [7 / 24, 1 / 4, 1 / 3, 1 / 8], error_order=2),
)
