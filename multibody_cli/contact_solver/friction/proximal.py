"""Proximal method for large friction problems, with a semismooth Newton method for the normal velocities.

With a guess x of the impulses and a compliance R = eps w,

    gamma = P(x - u / R),   u = B xi + b,   xi = xi0 + B^T gamma,

is one equation for xi.  Its dimension is the number of velocities, not of rows, and it has the sparsity of the contact
graph.  Its solution gamma is the next guess.  As gamma converges to x, velocities converge to those that satisfy P
exactly, even with redundant rows, and x converges to the admissible impulses closest to the first guess.

With a loose tolerance, Newton's method for the natural map (`natural_map`) comes first.  It solves most problems in a
few steps, because the compliance of its steps does not decide whether contacts stick, but it has no safeguard.
Iterations follow where it fails, and where nothing slides: its residual is small for a contact that should stick and
slides slowly, which iterations with little compliance decide, and bodies that come to rest do so to round-off.

The compliance begins in proportion to the residual of the guess.  It is reduced after each iteration and increased if
Newton's method fails, because little compliance needs fewer iterations, and much compliance fewer Newton steps.
Iterations end at a loose tolerance; while single Newton steps suffice, as for bodies at rest, they continue to
round-off, and with a tight tolerance in any case.

If iterations leave a problem unsolved, `rescue` continues.  If that fails, the solver restarts without the guess, and
from multiples of the impulses so found.  A problem without a guess starts from `rescue.resting_guess`.

Sources: Rockafellar, SIAM J. Control Optim. 14 (1976) (proximal points); Castro, Permenter and Han, An unconstrained
convex formulation of compliant contact, IEEE Trans. Robot. 39 (2023) (velocities as unknowns).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.block_matrix import BlockMatrix
from multibody_cli.contact_solver.friction.cones import project
from multibody_cli.contact_solver.friction.elimination_order import order_blocks
from multibody_cli.contact_solver.friction.natural_map import (
    fastest_motion,
    follow_natural_map,
    relative_residual,
    set_normal_velocities,
)
from multibody_cli.contact_solver.friction.problem import (
    PER_CONTACT,
    SolutionReport,
    compute_offset,
    copy,
    scale_rows,
    set_free_velocity,
)
from multibody_cli.contact_solver.friction.proximal_step import EXACT, NEAR_ROUND_OFF, is_guessed, proximal_iterations
from multibody_cli.contact_solver.friction.rescue.rescue import rescue
from multibody_cli.contact_solver.friction.rescue.resting_guess import guess_rest
from multibody_cli.contact_solver.friction.rescue.smoothed_law import SmoothedScratch
from multibody_cli.contact_solver.laws import CONVEX_CONE
from multibody_cli.kernel import Floats, Integers, kernel, lazy_kernel
from multibody_cli.linalg.multipliers import NOT_FINITE, SOLVED, UNFINISHED

RESTART_FACTORS = (0.0, 2.0, 0.5)
"""Multiples of unsolved impulses from which the solver restarts: contacts then slide that did not, and the reverse.  Of
2,900 problems of a pile of 60 boxes with friction 1.5, 28 are left, of which 0 solves 23, and the others the rest.
"""

LOOSE = 1e-6
"""Tolerance at which iterations end; with smaller tolerances they continue, to round-off with the default of 1e-10."""

AT_REST = 1e-4
"""Speed relative to that without impulses below which a contact does not slide and bodies come to rest."""


class ProximalScratch(NamedTuple):
    """Work arrays for m rows and n = 6 nodes velocities."""

    xi0: Annotated[Floats, "6 * nodes"]  # normal velocities without impulses
    xi: Annotated[Floats, "6 * nodes"]  # of a path
    xi_iterate: Annotated[Floats, "6 * nodes"]  # of the proximal iterations
    xi_last: Annotated[Floats, "6 * nodes"]  # of the last one that converged
    trial: Annotated[Floats, "6 * nodes"]  # at a trial step
    step: Annotated[Floats, "6 * nodes"]
    xi_residual: Annotated[Floats, "6 * nodes"]  # residual of the equation for xi
    u: Annotated[Floats, "m"]
    y: Annotated[Floats, "m"]
    gamma: Annotated[Floats, "m"]
    D: Annotated[Floats, "m", PER_CONTACT]
    proximal_point: Annotated[Floats, "m"]  # guess of a proximal iteration
    natural: Annotated[Floats, "m"]  # of the steps for the natural map
    state: Annotated[Integers, "m"]  # of contacts and limits, at their first rows (`active_set`)
    before: Annotated[Floats, "m"]  # impulses before a shift of loads
    shift: Annotated[Floats, "m"]  # its step
    best: Annotated[Floats, "m"]  # impulses with the smallest residual
    unsolved: Annotated[Floats, "m"]  # impulses of an unsolved problem
    matrix: BlockMatrix
    smoothed: SmoothedScratch


@kernel
def solve_proximal(problem, options, x, scratch) -> SolutionReport:
    """Solve for the impulses x (m,) of one problem; x holds the initial guess or NaN.  Return a `SolutionReport`.

    `problem` is a `Factored` problem; the positions of its blocks and the scales of its rows are computed here.
    """
    scale_rows(problem)
    n = order_blocks(problem, scratch.matrix.elimination)
    set_free_velocity(problem, scratch.xi0)
    compute_offset(problem, scratch.xi0)
    total = 0.0
    for k in range(len(x)):
        total += 0.0 * problem.r[k] + 0.0 * problem.w[k]
        if not abs(x[k]) < math.inf:
            x[k] = 0.0
    if total != 0.0:
        for k in range(len(x)):
            x[k] = math.nan
        return SolutionReport(NOT_FINITE, 0, 0, math.nan)
    steps = 0 if is_guessed(x) else guess_rest(problem, EXACT, x, n, scratch)
    guessed = is_guessed(x)
    report = solve_from_guess(problem, options, x, n, scratch)
    for factor in RESTART_FACTORS:
        if report.status != SOLVED and problem.law != CONVEX_CONE and (guessed or factor > 0.0):
            report = restart(problem, options, factor, x, n, scratch, report)
    return SolutionReport(report.status, report.sweeps, steps + report.steps, report.residual)


@lazy_kernel
def restart(problem, options, factor, x, n, scratch, failed) -> SolutionReport:
    """Solve again from a multiple of the impulses x (m,); keep the better impulses.

    Loads of friction patches are given.
    """
    copy(x, scratch.unsolved, len(x))
    first = problem.constraint_rows
    last = first + PER_CONTACT * problem.friction_patches
    for k in range(len(x)):
        if k < first or k >= last or (k - first) % PER_CONTACT != 0:
            x[k] *= factor
    report = solve_from_guess(problem, options, x, n, scratch)
    if report.status != SOLVED and failed.residual < report.residual:
        copy(scratch.unsolved, x, len(x))
    sweeps, steps = failed.sweeps + report.sweeps, failed.steps + report.steps
    return SolutionReport(report.status, sweeps, steps, min(report.residual, failed.residual))


@kernel
def solve_from_guess(problem, options, x, n, scratch) -> SolutionReport:
    """Solve for the impulses x (m,) from a guess, by the natural map, proximal iterations, and their rescue."""
    sufficient = min(options.tolerance / LOOSE, 1.0) ** 2 * options.tolerance
    steps, solved, enough, near_round_off, best_residual = 0, False, sufficient, NEAR_ROUND_OFF, math.inf
    if sufficient > EXACT:
        copy(x, scratch.natural, len(x))
        steps, best_residual = follow_natural_map(problem, sufficient, scratch.natural[: len(x)], n, scratch)
        if best_residual <= sufficient:
            copy(scratch.best, x, len(x))
            speed, sliding = fastest_motion(problem, n, scratch)
            solved = sliding > AT_REST
            if speed <= AT_REST:
                enough, near_round_off = EXACT, sufficient
    if best_residual > sufficient:
        project(problem, x, scratch.best, scratch.D)
        best_residual = relative_residual(problem, scratch.best, scratch)
    if not solved:
        new_steps, best_residual = proximal_iterations(problem, enough, near_round_off, x, n, best_residual, scratch)
        steps += new_steps
    rounds, new_steps, best_residual = rescue(problem, options, sufficient, x, n, best_residual, scratch)
    copy(scratch.best, x, len(x))
    if best_residual <= options.tolerance:
        return SolutionReport(SOLVED, rounds + 1, steps + new_steps, best_residual)
    scale_to_dissipate(problem, x, scratch, n)
    return SolutionReport(UNFINISHED, rounds + 1, steps + new_steps, best_residual)


# --- fallback --------------------------------------------------------------------------------------------------------
@kernel
def scale_to_dissipate(problem, x, scratch, n):
    """Scale the impulses such that they do not increase the energy: 1/2 x.W x + r.x <= 0."""
    after = scratch.xi_residual[:n]
    set_normal_velocities(problem, x, after, scratch)
    work = squared = 0.0
    for i in range(n):
        squared += (after[i] - scratch.xi0[i]) ** 2
    for k in range(len(x)):
        work += problem.r[k] * x[k]
    if work + 0.5 * squared > 0.0:
        share = max(-work / squared, 0.0)
        for k in range(len(x)):
            x[k] *= share
