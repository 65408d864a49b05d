"""Staggered projections: normal impulses for given friction, friction for given normal impulses, until both agree.

    normal pass    minimize 1/2 x.W x + r.x over equalities, limits >= 0 and alpha >= 0, with friction as it is
    friction pass  the same over equalities and |beta_c| <= mu_c alpha_c, with limits and alpha as they are

Each pass is solved by active sets, to round-off, so what is left is the fixed point.  Where friction turns bodies, and
so shifts their weight, plain staggering crawls, and where sliding friction presses harder than it is pressed it does
not converge at all.  So after the first pair the passes are made together, with the limits of friction alone as they
were, in turn with sweeps of Gauss-Seidel; and after each sweep `newton` is tried.  What comes out is

    SOLVED         all conditions of `conditions` are met within the tolerance; mostly they are met to round-off
    CONTRADICTORY  the rows without friction already contradict each other: no impulses can satisfy them
    UNFINISHED     the passes have not met: the impulses are those of `retreat`
    NOT_FINITE     W, r or mu is not finite, or mu is negative: the impulses are NaN

Always friction is within its limits, no limit or contact pulls, and 1/2 x.W x + r.x is not positive: the energy does
not grow, if r are the velocities before the impulses.

Sources: Kaufman, Sueda, James and Pai, Staggered projections for frictional contact in multibody systems, ACM Trans.
Graph. 27 (2008); Sueda, notes 2.11, (2.113), (2.114) and algorithm 7.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.conditions import (
    find_velocities,
    limit_friction,
    normal_residual,
    size_of,
    tangent_residual,
)
from multibody_cli.contact_solver.friction.convex_relaxation import solve_single
from multibody_cli.contact_solver.friction.fallback import retreat
from multibody_cli.contact_solver.friction.friction_pass import project_friction, project_together
from multibody_cli.contact_solver.friction.gauss_seidel import sweep
from multibody_cli.contact_solver.friction.newton import finish
from multibody_cli.contact_solver.friction.normal_pass import project_normals
from multibody_cli.contact_solver.friction.problem import LEAST_SIDES, Report
from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.multipliers import NOT_FINITE, SOLVED, UNFINISHED, is_finite

ALTERNATING, STAGGERING = 10, 50
"""Up to the first number of sweeps passes and Gauss-Seidel alternate; up to the second there are passes, begun anew.

Then it is damped Gauss-Seidel, which cycles less.  Each reaches solutions that the others do not.
"""

ROUND_OFF, PATIENCE = 3e-15, 4
"""A solution with this residual is as good as any; one that meets the tolerance only is improved while sweeps help.

So what sticks does not creep, however close to sliding it is; that many sweeps in a row may fail to help.
"""


@kernel
def solve_problem(P, options, x, S):
    """Impulses of one problem into x (m,), which comes in as a guess of the friction, or NaN; a `Report`."""
    if not is_finite(P.W, P.r) or not is_friction(P.mu):
        for i in range(len(x)):
            x[i] = math.nan
        return Report(NOT_FINITE, 0, 0, math.nan, math.nan)
    if options.single_qp:
        return told(P, solve_single(P, max(options.sides, LEAST_SIDES), x, S), 1, 0, False, 0.0, x, S)
    begin(P, x)
    if not has_friction(P.mu):
        return told(P, project_normals(P, x, S), 1, 0, False, 0.0, x, S)
    return stagger(P, options, x, S)


@kernel
def stagger(P, options, x, S):
    """Alternate the passes, from a guess of the friction."""
    status, steps, change, least, mark, failed = SOLVED, 0, math.inf, math.inf, math.inf, 0
    for sweeps in range(1, options.sweeps + 1):
        for i in range(len(x)):
            S.before[i] = x[i]
        status = improve(P, options, sweeps, status, x, S)
        change = change_of(P, x, S)
        if status == SOLVED and options.sides == 0:
            made, residual = finish(P, options.tolerance, x, S)
            steps += made
            if residual <= options.tolerance:
                failed += 1
                if residual < 0.5 * mark:
                    mark, failed = residual, 0
                if residual < least:
                    least = residual
                    for i in range(len(x)):
                        S.kept[i] = x[i]
            elif least < math.inf:
                failed += 1
            if least <= ROUND_OFF or failed == PATIENCE:
                break
        if change <= options.tolerance and least == math.inf:
            break
    if least < math.inf:
        for i in range(len(x)):
            x[i] = S.kept[i]
        return told(P, SOLVED, sweeps, steps, True, change, x, S)
    status = retreat(P, options.tolerance, x, S)
    report = told(P, status, sweeps, steps, options.sides == 0, change, x, S)
    left = report.residual if options.sides == 0 else change  # a normal pass came last: for polygons this tells nothing
    if status == SOLVED and left > options.tolerance:
        return Report(UNFINISHED, sweeps, steps, report.residual, change)
    return report


@kernel
def improve(P, options, sweeps, status, x, S):
    """One sweep; whether the rows contradict each other, as far as is known."""
    if options.sides == 0 and relaxes(sweeps):
        sweep(P, 1.0 if sweeps <= ALTERNATING else 0.5, x, S.u[: len(x)])
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
def relaxes(sweeps):
    """Whether a sweep is one of Gauss-Seidel."""
    return sweeps > STAGGERING or (sweeps <= ALTERNATING and sweeps % 2 == 0)


@kernel
def told(P, status, sweeps, steps, discs, change, x, S):
    """The report of impulses x."""
    find_velocities(P, x, S.u)
    residual, size = normal_residual(P, x, S.u), size_of(P, x, S.u)
    if discs:
        limit_friction(P, x, S.radius)
        residual = max(residual, tangent_residual(P, S.radius, x, S.u))
    return Report(status, sweeps, steps, residual / size if size > 0.0 else residual, change)


@kernel
def change_of(P, x, S):
    """Change of the impulses in a sweep, in the norm of M^-1, relative to that of the impulses."""
    changed = whole = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            changed += (x[i] - S.before[i]) * P.W[i, j] * (x[j] - S.before[j])
            whole += x[i] * P.W[i, j] * x[j]
    return math.sqrt(max(changed, 0.0) / whole) if whole > 0.0 else 0.0


@kernel
def begin(P, x):
    """Start from nothing where a guess is not finite."""
    for i in range(len(x)):
        if not abs(x[i]) < math.inf:
            x[i] = 0.0
    if not has_friction(P.mu):
        for i in range(len(x)):
            x[i] = 0.0


@kernel
def is_friction(mu):
    """Whether all coefficients of friction are such."""
    good = True
    for c in range(len(mu)):
        good = good and mu[c] >= 0.0
    return good


@kernel
def has_friction(mu):
    """Whether any contact has friction."""
    rough = False
    for c in range(len(mu)):
        rough = rough or mu[c] > 0.0
    return rough
