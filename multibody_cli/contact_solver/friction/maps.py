"""Projections of impulses onto their admissible sets, with derivatives.

    equality   unrestricted                         limit   x >= 0
    contact    alpha >= 0, then friction onto the disc of radius mu alpha

This is Coulomb's law, which is not the gradient of a function: the normal impulse changes the friction, but friction
does not change the normal impulse.  The alpha of a friction patch is given and independent of velocities.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.factored import PER_CONTACT
from multibody_cli.contact_solver.friction.problem import MIN_FRICTION_IMPULSE
from multibody_cli.kernel import formula, kernel

WITHIN = 1.0 - 2.0**-51
"""Radius of a projected friction impulse relative to its limit; below 1, so that round-off does not exceed it."""


@kernel
def project(F, y, g, D):
    """Compute the projection of y (m,) into g (m,) and its derivatives into D (m, 3).

    Row k of D holds the derivatives by the three rows of the contact of row k.  Rows of constraints have theirs in D[k,
    0].
    """
    constraint_rows = F.equalities + F.limits
    for k in range(constraint_rows):
        inside = k < F.equalities or y[k] > 0.0
        g[k] = y[k] if inside else 0.0
        D[k, 0] = 1.0 if inside else 0.0
    for c in range(len(F.mu)):
        n = constraint_rows + PER_CONTACT * c
        project_by_coulomb(F.mu[c], n, y, g, D)


@kernel
def write(n, g, D, alpha, b1, b2):
    """Write the projection of one contact, and set its derivatives to 0."""
    g[n] = alpha
    g[n + 1] = b1
    g[n + 2] = b2
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
def project_by_coulomb(mu, n, y, g, D):
    """Project the normal impulse onto alpha >= 0 and friction onto the disc of radius mu alpha."""
    alpha, length = max(y[n], 0.0), math.hypot(y[n + 1], y[n + 2])
    if length <= mu * alpha:
        write(n, g, D, alpha, y[n + 1], y[n + 2])
        write_across(n, D, 1.0, 0.0, 1.0, 1.0)
    else:
        d1, d2 = direction_of(y, n, length)
        radius = WITHIN * mu * alpha
        write(n, g, D, alpha, radius * d1, radius * d2)
        write_across(n, D, d1, d2, 0.0, min(radius / max(length, MIN_FRICTION_IMPULSE), 1.0))
        if alpha > 0.0:
            D[n + 1, 0] = mu * d1
            D[n + 2, 0] = mu * d2
    if alpha > 0.0:
        D[n, 0] = 1.0
