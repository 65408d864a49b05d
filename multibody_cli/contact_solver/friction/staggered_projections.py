"""Staggered projections: normal impulses for fixed friction and friction for fixed normal impulses, until both agree.

    normal pass    minimize 1/2 x.W x + r.x over equalities, limits >= 0 and alpha >= 0, with friction fixed
    friction pass  the same over equalities and |beta_c| <= mu_c alpha_c, with limits and alpha fixed

Each pass is solved to round-off by an active-set method.  The staggering converges slowly if friction turns bodies and
so redistributes their weight, and not at all if sliding friction increases the normal impulse that limits it.  After
the first pair of passes the solver therefore solves both passes together for fixed friction limits, in alternation with
Gauss-Seidel sweeps, and tries `newton` after each sweep.  The status of the result is

    SOLVED         all conditions of `conditions` are met within the tolerance, in most cases to round-off
    CONTRADICTORY  the rows without friction contradict each other: no impulses satisfy them
    UNFINISHED     the passes did not converge: the impulses are those of `energy_safe_fallback`
    NOT_FINITE     W, r or mu is not finite, or mu is negative: the impulses are NaN

In all cases friction is within its limits, unilateral impulses are non-negative, and 1/2 x.W x + r.x is not positive:
energy does not increase if r are the velocities before the impulses.

Sources: Kaufman, Sueda, James and Pai, Staggered projections for frictional contact in multibody systems, ACM Trans.
Graph. 27 (2008); Sueda, notes 2.11, (2.113), (2.114) and algorithm 7.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.conditions import (
    compute_row_velocities,
    limit_friction,
    normal_residual,
    problem_size,
    tangent_residual,
)
from multibody_cli.contact_solver.friction.convex_relaxation import solve_convex_relaxation
from multibody_cli.contact_solver.friction.fallback import energy_safe_fallback
from multibody_cli.contact_solver.friction.friction_pass import project_friction, project_together
from multibody_cli.contact_solver.friction.gauss_seidel import gauss_seidel_sweep
from multibody_cli.contact_solver.friction.newton import polish
from multibody_cli.contact_solver.friction.normal_pass import project_normals
from multibody_cli.contact_solver.friction.problem import MIN_SIDES, Report
from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.multipliers import NOT_FINITE, SOLVED, UNFINISHED, is_finite

ALTERNATING, STAGGERING = 10, 50
"""Sweep numbers: up to `ALTERNATING`, passes and Gauss-Seidel alternate; up to `STAGGERING`, passes restart from zero.

Later sweeps are damped Gauss-Seidel, which cycles less.  Each phase reaches solutions that the others do not.
"""

ROUND_OFF, PATIENCE = 3e-15, 4
"""Residual that cannot be improved, and sweeps in a row that may fail to improve a solution within the tolerance.

Improving solutions beyond the tolerance avoids creep of contacts that stick close to their friction limit.
"""


@kernel
def solve_problem(P, options, x, S):
    """Solve for the impulses x (m,) of one problem; x holds a guess of the friction or NaN.  Return a `Report`."""
    if not is_finite(P.W, P.r) or not are_valid_coefficients(P.mu):
        for i in range(len(x)):
            x[i] = math.nan
        return Report(NOT_FINITE, 0, 0, math.nan, math.nan)
    if options.single_qp:
        return make_report(P, solve_convex_relaxation(P, max(options.sides, MIN_SIDES), x, S), 1, 0, False, 0.0, x, S)
    initialize_guess(P, x)
    if not any_friction(P.mu):
        return make_report(P, project_normals(P, x, S), 1, 0, False, 0.0, x, S)
    return stagger(P, options, x, S)


@kernel
def stagger(P, options, x, S):
    """Alternate the passes, starting from a guess of the friction."""
    status, steps, change, least, last_improvement, failed = SOLVED, 0, math.inf, math.inf, math.inf, 0
    for sweeps in range(1, options.sweeps + 1):
        for i in range(len(x)):
            S.before[i] = x[i]
        status = improve_once(P, options, sweeps, status, x, S)
        change = relative_change(P, x, S)
        if status == SOLVED and options.sides == 0:
            new_steps, residual = polish(P, options.tolerance, x, S)
            steps += new_steps
            if residual <= options.tolerance:
                failed += 1
                if residual < 0.5 * last_improvement:
                    last_improvement, failed = residual, 0
                if residual < least:
                    least = residual
                    for i in range(len(x)):
                        S.accepted[i] = x[i]
            elif least < math.inf:
                failed += 1
            if least <= ROUND_OFF or failed == PATIENCE:
                break
        if change <= options.tolerance and least == math.inf:
            break
    if least < math.inf:
        for i in range(len(x)):
            x[i] = S.accepted[i]
        return make_report(P, SOLVED, sweeps, steps, True, change, x, S)
    status = energy_safe_fallback(P, options.tolerance, x, S)
    report = make_report(P, status, sweeps, steps, options.sides == 0, change, x, S)
    left = report.residual if options.sides == 0 else change  # a normal pass spoils the residual of polygons
    if status == SOLVED and left > options.tolerance:
        return Report(UNFINISHED, sweeps, steps, report.residual, change)
    return report


@kernel
def improve_once(P, options, sweeps, status, x, S):
    """Apply one sweep; return the status of the normal pass, as far as known."""
    if options.sides == 0 and is_gauss_seidel_sweep(sweeps):
        gauss_seidel_sweep(P, 1.0 if sweeps <= ALTERNATING else 0.5, x, S.u[: len(x)])
        return status
    if options.sides > 0 or sweeps == 1 or status != SOLVED:
        status = project_normals(P, x, S)
        project_friction(P, options.sides, x, S)
        return status
    if sweeps == ALTERNATING + 1:
        for i in range(len(x)):
            x[i] = 0.0
        status = project_normals(P, x, S)
    project_together(P, x, S)
    return status


@formula
def is_gauss_seidel_sweep(sweeps):
    """Return whether a sweep is one of Gauss-Seidel."""
    return sweeps > STAGGERING or (sweeps <= ALTERNATING and sweeps % 2 == 0)


@kernel
def make_report(P, status, sweeps, steps, discs, change, x, S):
    """Return the `Report` of impulses x."""
    compute_row_velocities(P, x, S.u)
    residual, size = normal_residual(P, x, S.u), problem_size(P, x, S.u)
    if discs:
        limit_friction(P, x, S.radius)
        residual = max(residual, tangent_residual(P, S.radius, x, S.u))
    return Report(status, sweeps, steps, residual / size if size > 0.0 else residual, change)


@kernel
def relative_change(P, x, S):
    """Return the change of the impulses in a sweep relative to the impulses, in the norm of W."""
    changed = whole = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            changed += (x[i] - S.before[i]) * P.W[i, j] * (x[j] - S.before[j])
            whole += x[i] * P.W[i, j] * x[j]
    return math.sqrt(max(changed, 0.0) / whole) if whole > 0.0 else 0.0


@kernel
def initialize_guess(P, x):
    """Replace a guess that is not finite by 0."""
    for i in range(len(x)):
        if not abs(x[i]) < math.inf:
            x[i] = 0.0
    if not any_friction(P.mu):
        for i in range(len(x)):
            x[i] = 0.0


@kernel
def are_valid_coefficients(mu):
    """Return whether all coefficients of friction are non-negative."""
    good = True
    for c in range(len(mu)):
        good = good and mu[c] >= 0.0
    return good


@kernel
def any_friction(mu):
    """Return whether any contact has friction."""
    rough = False
    for c in range(len(mu)):
        rough = rough or mu[c] > 0.0
    return rough
