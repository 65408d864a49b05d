"""Projections of impulses onto what they may be, with their derivatives.

    equality   everything                           limit   x >= 0
    contact    alpha >= 0, then friction onto the disc of radius mu alpha

This is Coulomb's law, and no gradient: pressing brings friction along, but friction presses nothing.  Of a journal
alpha is given, for no velocity changes it.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.factored import PER_CONTACT
from multibody_cli.contact_solver.friction.problem import LEAST_FRICTION
from multibody_cli.kernel import formula, kernel

WITHIN = 1.0 - 2.0**-51
"""Friction on its limit relative to the limit: it stays within that, whatever is rounded."""


@kernel
def project(F, y, g, D):
    """Put the projection of y (m,) into g, and its derivatives into D (m, 3): of row k by the three of its contact.

    Rows that are no contacts' have their derivative in D[k, 0].
    """
    statics = F.equalities + F.limits
    for k in range(statics):
        inside = k < F.equalities or y[k] > 0.0
        g[k] = y[k] if inside else 0.0
        D[k, 0] = 1.0 if inside else 0.0
    for c in range(len(F.mu)):
        n = statics + PER_CONTACT * c
        project_by_coulomb(F.mu[c], n, y, g, D)


@kernel
def write(n, g, D, alpha, b1, b2):
    """The projection of one contact, and derivatives of 0."""
    g[n] = alpha
    g[n + 1] = b1
    g[n + 2] = b2
    for i in range(PER_CONTACT):
        for j in range(PER_CONTACT):
            D[n + i, j] = 0.0


@kernel
def write_across(n, D, d1, d2, along, across):
    """The derivative of friction by friction: along a direction, and across it."""
    D[n + 1, 1] = along * d1 * d1 + across * d2 * d2
    D[n + 2, 2] = along * d2 * d2 + across * d1 * d1
    D[n + 1, 2] = D[n + 2, 1] = (along - across) * d1 * d2


@formula
def direction_of(y, n, length):
    """The direction of the last two of three rows from n on, of that length; the first where they are nothing."""
    return (y[n + 1] / length, y[n + 2] / length) if length > LEAST_FRICTION else (1.0, 0.0)


@kernel
def project_by_coulomb(mu, n, y, g, D):
    """Friction onto the disc that the normal impulse allows."""
    alpha, length = max(y[n], 0.0), math.hypot(y[n + 1], y[n + 2])
    if length <= mu * alpha:
        write(n, g, D, alpha, y[n + 1], y[n + 2])
        write_across(n, D, 1.0, 0.0, 1.0, 1.0)
    else:
        d1, d2 = direction_of(y, n, length)
        radius = WITHIN * mu * alpha
        write(n, g, D, alpha, radius * d1, radius * d2)
        write_across(n, D, d1, d2, 0.0, min(radius / max(length, LEAST_FRICTION), 1.0))
        if alpha > 0.0:
            D[n + 1, 0] = mu * d1
            D[n + 2, 0] = mu * d2
    if alpha > 0.0:
        D[n, 0] = 1.0
