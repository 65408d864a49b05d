"""Prediction of the position errors of a step, for free bodies whose rows are all primary.

At the start of a step the rows satisfy J v + rate = 0 and J a + bias = 0.  Semi-implicit Euler displaces the bodies at
the rates v' = v + h a for the time h, along which the errors c of holonomic rows have the first derivative h J a and,
up to O(h), the second derivative bias.  Therefore

    c = h^2 J a + h^2 bias / 2 + O(h^3) = (h^2 / 2) J a + O(h^3),   J a = -bias

The displacement h v' + y with

    J y = -(h^2 / 2) J a,   y.M y minimal

leaves an error of O(h^3).  It takes one response with the factors and the right-hand sides J a of the last evaluation.
Like the corrections of the projection, y = M^-1 J^T x is due to impulses of the rows, here at the start of the step, so
that linear and angular momentum keep their values; the rest of the error is projected after the step.

Source: Ryckaert, Ciccotti and Berendsen 1977 (SHAKE), for corrections of positions by J at the start of the step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multibody_cli.constraint_solver.projection import PROJECTION_TOLERANCE
from multibody_cli.constraint_solver.projection_of_bodies import (
    FITS_BY_ITERATION,
    complete_joints,
    displace_bodies,
    place_on_bodies,
    respond,
    respond_with_joints,
)
from multibody_cli.constraint_solver.solver import update_rates, write_acceleration_rhs
from multibody_cli.kernel import bound_kernel, template
from multibody_cli.method_kernels import accelerate

ERROR_LEFT = 40.0
"""Error that one projection leaves, relative to the square of the error before.

It is 40 to 90 in chains of 100 links, and smaller in smaller systems.  Where the error left is round-off, a prediction
would save nothing.
"""


class Prediction(NamedTuple):
    """The kernels of a method for steps with predicted position errors (`method_kernels`)."""

    displace_step: Any
    restore_factors: Any


@template(respond, FITS_BY_ITERATION)
def displace_with_prediction(system, work, h, q, v):
    """Displace q (nq,) for a step of h at the rates v (nv,), with the correction that its position error requires.

    `work` has the factors and the right-hand sides of the evaluation at the start of the step.
    """
    tree, rhs, rates, fastest = system.tree, work.rhs, work.response, 0.0
    for r in range(len(rhs)):
        fastest = max(fastest, abs(rhs[r]) * work.rows[r].weight)
    error = 0.5 * h * h * fastest
    left = ERROR_LEFT * error * error
    if work.feedback[0] == 0.0 and left > PROJECTION_TOLERANCE * work.dual.scales[0]:
        for r in range(len(rhs)):
            rhs[r] *= -0.5 * h
        respond_with_joints(system, work)
        for j in range(len(v)):
            rates[j] += v[j]
        displace_bodies(tree, q, rates, h)
    else:
        displace_bodies(tree, q, v, h)


@template(accelerate)
def restore_factors(system, work, t, q, v, a):
    """Compute the factors and right-hand sides of the last evaluation again, at (t, q, v)."""
    place_on_bodies(system, t, q, v, a, work)
    complete_joints(system, q, v, work)
    update_rates(system, t, q, v, a, work)
    write_acceleration_rhs(system, work, v, a)
    accelerate(system, work, work.response)


def prediction_with(accelerate: Any, respond: Any, fits_by_iteration: bool) -> Prediction:
    """Return the kernels with the factorization `accelerate` of a method; see `projection_of_bodies`."""
    return Prediction(
        bound_kernel(displace_with_prediction, respond=respond, FITS_BY_ITERATION=fits_by_iteration),
        bound_kernel(restore_factors, accelerate=accelerate),
    )
