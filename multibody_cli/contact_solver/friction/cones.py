"""Projections of all impulses of a problem by their laws (`contact_solver.laws`); smoothed projections.

The alpha of a friction patch is given and independent of velocities.  That of the resistance of a contact to rolling is
the normal impulse of the contact.

Smoothed projections are made from the smoothed projection onto the half line,

    p(a) = (a + sqrt(a^2 + 4 sigma^2)) / 2.

For the cone |beta| <= alpha, with d the direction of y_t,

    P(y) = p(y_n - |y_t|) (1, -d) / 2 + p(y_n + |y_t|) (1, d) / 2.

The derivative of P is symmetric.  Its eigenvectors are (1, -d), (1, d) and the direction perpendicular to both, so that
functions of the derivative are functions of its three eigenvalues, the *slopes*, between 0 and 1.

Sources: Fukushima, Luo and Tseng, Smoothing functions for second-order-cone complementarity problems, SIAM J. Optim. 12
(2002).
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import (
    PER_CONTACT,
    end_of_contacts,
    first_resistance,
    load_scale,
)
from multibody_cli.contact_solver.laws import COULOMB, EQUALITY, ONE_SIDED
from multibody_cli.contact_solver.laws.coulomb import direction_of, write_across
from multibody_cli.contact_solver.laws.projection import project_by_law
from multibody_cli.kernel import formula, kernel


# --- laws ---------------------------------------------------------------------------------------------------------
@kernel
def project(problem, y, g, D):
    """Compute the projection of y (m,) into g (m,) and its derivatives into D (m, 3).

    Row k of D holds the derivatives by the three rows of the contact of row k.  Rows of constraints have theirs in D[k,
    0].  The first row of a resistance is that of its load: its impulse is 0, and its derivatives those of the normal.
    """
    for k in range(problem.constraint_rows):
        project_by_law(EQUALITY if k < problem.equalities else ONE_SIDED, 0.0, k, y, g, D)
    for c in range(first_resistance(problem)):
        law = COULOMB if c < problem.friction_patches else problem.law
        project_by_law(law, problem.mu[c], problem.constraint_rows + PER_CONTACT * c, y, g, D)
    if len(problem.loads) > 0:
        project_resistances(problem, y, g, D)


@kernel
def project_resistances(problem, y, g, D):
    """`project` for the resistances of contacts."""
    for i in range(len(problem.loads)):
        n, scale = end_of_contacts(problem) + PER_CONTACT * i, load_scale(problem, i)
        y[n] = scale * y[problem.loads[i]]
        project_by_law(COULOMB, problem.mu[first_resistance(problem) + i] / scale, n, y, g, D)
        y[n] = g[n] = 0.0


@kernel
def omit_load(k, D):
    """Remove the first row of a resistance, with rows from k on: the impulse of its load acts through the contact."""
    for j in range(PER_CONTACT):
        D[k, j] = 0.0


# --- smoothed projections ------------------------------------------------------------------------------------------
@formula
def smoothed_half_line(a, square):
    """Return p(a), its slope, and its derivative by sigma^2, for `square` = sigma^2."""
    root = math.sqrt(a * a + 4.0 * square)
    value = 0.5 * (a + root) if a > 0.0 else 2.0 * square / (root - a)
    return value, value / root, 1.0 / root


@kernel
def project_smoothed_half_line(k, square, y, x, slope, square_slope):
    """Compute x = P(y) of row k on the half line, its slope, and its derivative by sigma^2."""
    x[k], slope[k], square_slope[k] = smoothed_half_line(y[k], square)


@kernel
def project_smoothed_cone(c, k, square, y, x, slope, square_slope, d):
    """Compute x = P(y) of contact c with rows from k on, the slopes, the derivative by sigma^2, and the direction d."""
    length = math.hypot(y[k + 1], y[k + 2])
    d[c, 0], d[c, 1] = direction_of(y, k, length)
    inner, slope[k], inner_rise = smoothed_half_line(y[k] - length, square)
    outer, slope[k + 1], outer_rise = smoothed_half_line(y[k] + length, square)
    if length > 1e-8 * (abs(y[k]) + math.sqrt(square)):
        slope[k + 2] = 0.5 * (outer - inner) / length
    else:
        slope[k + 2] = 0.5 * (slope[k] + slope[k + 1])
    x[k], square_slope[k] = 0.5 * (outer + inner), 0.5 * (outer_rise + inner_rise)
    for i in range(2):
        x[k + 1 + i] = 0.5 * (outer - inner) * d[c, i]
        square_slope[k + 1 + i] = 0.5 * (outer_rise - inner_rise) * d[c, i]


@kernel
def project_smoothed_disc(c, k, square, radius, y, x, slope, square_slope, d):
    """Compute x = P(y) onto a disc, for the last two of the three rows from k on; the first row stays.

    |x| = (sqrt((|y| + radius)^2 + 4 sigma^2) - sqrt((|y| - radius)^2 + 4 sigma^2)) / 2; the last two slopes are the
    eigenvalues along d and across it.
    """
    length = math.hypot(y[k + 1], y[k + 2])
    d[c, 0], d[c, 1] = direction_of(y, k, length)
    more, less = length + radius, length - radius
    far, near = math.sqrt(more * more + 4.0 * square), math.sqrt(less * less + 4.0 * square)
    slope[k], slope[k + 1], slope[k + 2] = 0.0, 0.5 * (more / far - less / near), 2.0 * radius / (far + near)
    x[k], square_slope[k] = y[k], 0.0
    for i in range(2):
        x[k + 1 + i] = slope[k + 2] * y[k + 1 + i]
        square_slope[k + 1 + i] = (1.0 / far - 1.0 / near) * d[c, i]


@kernel
def write_flat(k, along, across, d1, d2, D):
    """Write the symmetric matrix with these eigenvalues along (d1, d2) and across it, and zero first row and column."""
    for i in range(3):
        D[k, i] = D[k + i, 0] = 0.0
    write_across(k, D, d1, d2, along, across)


@kernel
def write_function(k, inner, outer, across, d1, d2, D):
    """Write the symmetric matrix with these eigenvalues into the rows from k on of D (m, 3)."""
    mean, half, rest = 0.5 * (outer + inner), 0.5 * (outer - inner), 0.5 * (outer + inner) - across
    D[k, 0] = mean
    D[k, 1] = D[k + 1, 0] = half * d1
    D[k, 2] = D[k + 2, 0] = half * d2
    D[k + 1, 1] = across + rest * d1 * d1
    D[k + 2, 2] = across + rest * d2 * d2
    D[k + 1, 2] = D[k + 2, 1] = rest * d1 * d2


@kernel
def multiply(k, D, y):
    """Compute y = D y for the three rows from k on."""
    a, b, c = y[k], y[k + 1], y[k + 2]
    for i in range(k, k + 3):
        y[i] = D[i, 0] * a + D[i, 1] * b + D[i, 2] * c
