"""Coulomb's law of a contact: a normal and two tangents.

P projects the normal impulse onto alpha >= 0, and then friction onto the disc of radius mu alpha.  It is not the
gradient of a function: the normal impulse changes the friction, but friction does not change the normal impulse.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import MIN_FRICTION_IMPULSE, PER_CONTACT
from multibody_cli.contact_solver.laws.contract import Law
from multibody_cli.kernel import formula, kernel

WITHIN = 1.0 - 2.0**-51
"""Radius of a projected friction impulse relative to its limit; below 1, so that round-off does not exceed it."""


@kernel
def write(n, P, D, alpha, b1, b2):
    """Write the projection of one contact, and set its derivatives to 0."""
    P[n] = alpha
    P[n + 1] = b1
    P[n + 2] = b2
    for i in range(PER_CONTACT):
        for j in range(PER_CONTACT):
            D[n + i, j] = 0.0


@kernel
def write_across(n, D, d1, d2, along, across):
    """Write the derivative of friction by friction, with eigenvalues along a direction and across it."""
    D[n + 1, 1] = along * d1 * d1 + across * d2 * d2
    D[n + 2, 2] = along * d2 * d2 + across * d1 * d1
    D[n + 1, 2] = D[n + 2, 1] = (along - across) * d1 * d2


@formula
def direction_of(y, n, length):
    """Return the direction of the last two of three rows from n on, of that length; (1, 0) for zero length."""
    return (y[n + 1] / length, y[n + 2] / length) if length > MIN_FRICTION_IMPULSE else (1.0, 0.0)


@kernel
def project(mu, n, y, P, D):
    """`laws.contract.project` with the coefficient of friction."""
    alpha, length = max(y[n], 0.0), math.hypot(y[n + 1], y[n + 2])
    if length <= mu * alpha:
        write(n, P, D, alpha, y[n + 1], y[n + 2])
        write_across(n, D, 1.0, 0.0, 1.0, 1.0)
    else:
        d1, d2 = direction_of(y, n, length)
        radius = WITHIN * mu * alpha
        write(n, P, D, alpha, radius * d1, radius * d2)
        write_across(n, D, d1, d2, 0.0, min(radius / max(length, MIN_FRICTION_IMPULSE), 1.0))
        if alpha > 0.0:
            D[n + 1, 0] = mu * d1
            D[n + 2, 0] = mu * d2
    if alpha > 0.0:
        D[n, 0] = 1.0


LAW = Law("Coulomb", PER_CONTACT, project)
