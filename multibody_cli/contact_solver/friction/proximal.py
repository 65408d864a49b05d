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

If iterations stop near a solution, redundant contacts contradict each other by little, and active sets decide which of
them open (`active_set`); with a tight tolerance also from results of the natural map with several scales w.

If that fails, the solver follows the path of `central_path` and restarts from its end: in rounds, with less compliance
if the end of the path was reached, and with more if it was not.  If all rounds fail, the solver restarts without the
guess, from the convex relaxation of the problem, and from multiples of the impulses so found.  A problem without a
guess starts from `resting_guess`.

Sources: Rockafellar, SIAM J. Control Optim. 14 (1976) (proximal points); Castro, Permenter and Han, An unconstrained
convex formulation of compliant contact, IEEE Trans. Robot. 39 (2023) (velocities as unknowns).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.rescue.active_set import (
    NEARLY_SOLVED,
    exchange_from,
    exchange_from_natural_maps,
)
from multibody_cli.contact_solver.friction.block_matrix import BlockMatrix
from multibody_cli.contact_solver.friction.rescue.central_path import follow_path
from multibody_cli.contact_solver.friction.cones import project
from multibody_cli.contact_solver.friction.elimination_order import order_blocks
from multibody_cli.contact_solver.friction.natural_map import (
    fastest_motion,
    follow_natural_map,
    keep_if_better,
    relative_residual,
    set_normal_velocities,
)
from multibody_cli.contact_solver.friction.problem import (
    PER_CONTACT,
    Factored,
    Report,
    compute_offset,
    copy,
    scale_rows,
    set_free_velocity,
)
from multibody_cli.contact_solver.friction.proximal_step import EQUATION_TOLERANCE, follow_coulomb
from multibody_cli.contact_solver.friction.rescue.resting_guess import guess_rest
from multibody_cli.contact_solver.friction.rescue.smoothed_law import SmoothedScratch
from multibody_cli.kernel import Floats, Integers, kernel
from multibody_cli.linalg.multipliers import NOT_FINITE, SOLVED, UNFINISHED

MIN_INITIAL_COMPLIANCE, MAX_INITIAL_COMPLIANCE, INITIAL_RATIO, MIN_COMPLIANCE = 1e-4, 0.03, 10.0, 1e-8
"""Compliance of a row relative to its own W: bounds of the initial value, its ratio to the residual of the guess, and
the minimum, at which contacts within a millionth of the friction threshold stick exactly.
"""

UNGUESSED_COMPLIANCE = 0.3
"""Largest initial compliance if all impulses of the guess are 0, as for bodies that have just met."""

FAST_DECREASE, DECREASE, FEW_STEPS, INCREASE = 0.1, 0.3, 2, 3.0
"""Factors of the compliance: after an iteration of at most that few Newton steps, after others, and after a failure."""

POLISHING_COMPLIANCE = 1e-3
"""Compliance of the last iterations: round-off in u is amplified by 1 / eps in impulses."""

MAX_ITERATIONS, MAX_TOTAL_STEPS = 40, 100
"""Largest number of iterations, and of Newton steps in all of them."""

INITIAL_PATH_COMPLIANCE, MIN_PATH_COMPLIANCE, COMPLIANCE_DECREASE, COMPLIANCE_INCREASE = 1e-4, 1e-9, 0.01, 3.0
"""Compliance of a path relative to a row's own W: initial value, minimum, factor after a path whose end was reached,
and factor after one that was abandoned.
"""

INITIAL_SMOOTHING, FINAL_SMOOTHING, RESTART_SMOOTHING = 0.1, 0.1, 10.0
"""Initial sigma of a path; its final sigma relative to the compliance; and the initial sigma of a path that continues
another one, relative to the final sigma there.
"""

MAX_PATHS, RESTART_FACTORS = 8, (2.0, 0.5)
"""Largest number of paths, and multiples of unsolved impulses from which the solver restarts at last."""

LOOSE = 1e-6
"""Tolerance at which iterations end; with smaller tolerances they continue, to round-off with the default of 1e-10."""

EXACT, EXTRA_PATHS = 1e-12, 1
"""Residual above which a path is followed even if the tolerance is met, and number of such paths.  From a guess with at
most this residual, iterations are those that would be the last ones.
"""

AT_REST = 1e-4
"""Speed relative to that without impulses below which a contact does not slide and bodies come to rest."""

ROUND_OFF, NEAR_ROUND_OFF = 1e-14, 1e-8
"""Residual that cannot be improved, and residual below which a lack of improvement is due to round-off."""

ACCURACY, MAX_ACCURACY = 0.01, 1e-3
"""Residual of the equation for xi: relative to the residual of the previous iteration, and its largest value."""


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
    relaxed: Annotated[Floats, "m"]  # impulses of its convex relaxation
    matrix: BlockMatrix
    smoothed: SmoothedScratch


@kernel
def solve_proximal(F, options, x, S) -> Report:
    """Solve for the impulses x (m,) of one problem; x holds the initial guess or NaN.  Return a `Report`.

    `F` is a `Factored` problem; the positions of its blocks and the scales of its rows are computed here.
    """
    scale_rows(F)
    n = order_blocks(F, S.matrix.elimination)
    set_free_velocity(F, S.xi0)
    compute_offset(F, S.xi0)
    total = 0.0
    for k in range(len(x)):
        total += 0.0 * F.r[k] + 0.0 * F.w[k]
        if not abs(x[k]) < math.inf:
            x[k] = 0.0
    if total != 0.0:
        for k in range(len(x)):
            x[k] = math.nan
        return Report(NOT_FINITE, 0, 0, math.nan)
    steps = 0 if is_guessed(x) else guess_rest(F, EXACT, x, n, S)
    guessed = is_guessed(x)
    report = alternate_with_paths(F, options, x, S, n)
    if report.status != SOLVED and guessed and not F.convex:
        report = restart_without_guess(F, options, x, S, n, report)
    if report.status != SOLVED and not F.convex:
        report = restart_from_relaxation(F, options, x, S, n, report)
        for factor in RESTART_FACTORS:
            if report.status != SOLVED:
                report = restart_from_multiple(F, options, factor, x, S, n, report)
    return Report(report.status, report.sweeps, steps + report.steps, report.residual)


@kernel
def restart_without_guess(F, options, x, S, n, failed) -> Report:
    """Solve again from impulses of 0, for friction patches from the given loads alone; keep the better impulses.

    Redundant contacts that contradict each other may hold states from which no exchange of single states leads on.
    """
    copy(x, S.unsolved, len(x))
    clear_guess(F, x)
    report = alternate_with_paths(F, options, x, S, n)
    if report.status != SOLVED and failed.residual < report.residual:
        copy(S.unsolved, x, len(x))
    sweeps, steps = failed.sweeps + report.sweeps, failed.steps + report.steps
    return Report(report.status, sweeps, steps, min(report.residual, failed.residual))


@kernel
def restart_from_relaxation(F, options, x, S, n, failed) -> Report:
    """Solve again from the impulses of the convex relaxation; keep these if Coulomb's law remains unsolved.

    With much friction, Coulomb's law need not have a solution near a sliding contact: the rod of Painleve stops in an
    impact without collision.  The convex relaxation always has one, does not increase the energy, and lets no body
    penetrate.
    """
    relaxation = Factored(
        F.B, F.first, F.block, F.start, F.width, F.xi0, F.r, F.b, F.w, F.mu,
        F.equalities, F.limits, F.friction_patches, True,
    )  # fmt: skip
    copy(x, S.unsolved, len(x))
    relaxed = alternate_with_paths(relaxation, options, x, S, n)
    copy(x, S.relaxed, len(x))
    report = alternate_with_paths(F, options, x, S, n)
    sweeps, steps = failed.sweeps + relaxed.sweeps + report.sweeps, failed.steps + relaxed.steps + report.steps
    residual = report.residual
    if report.status != SOLVED:
        residual = min(residual, failed.residual)
        if relaxed.status == SOLVED and residual > NEARLY_SOLVED:
            copy(S.relaxed, x, len(x))
        elif failed.residual < report.residual:
            copy(S.unsolved, x, len(x))
    return Report(report.status, sweeps, steps, residual)


@kernel
def restart_from_multiple(F, options, factor, x, S, n, failed) -> Report:
    """Solve again from a multiple of the impulses, with which other contacts slide; keep the impulses if that fails."""
    copy(x, S.unsolved, len(x))
    for k in range(len(x)):
        x[k] *= factor
    report = alternate_with_paths(F, options, x, S, n)
    residual = report.residual if report.status == SOLVED else failed.residual
    if report.status != SOLVED:
        copy(S.unsolved, x, len(x))
    return Report(report.status, failed.sweeps + report.sweeps, failed.steps + report.steps, residual)


@kernel
def alternate_with_paths(F, options, x, S, n) -> Report:
    """Alternate proximal iterations and paths until the residual meets the tolerance."""
    xi = S.xi[:n]
    sufficient = min(options.tolerance / LOOSE, 1.0) ** 2 * options.tolerance
    steps, solved, enough, near_round_off, best_residual = 0, False, sufficient, NEAR_ROUND_OFF, math.inf
    if sufficient > EXACT:
        copy(x, S.natural, len(x))
        steps, best_residual = follow_natural_map(F, sufficient, S.natural[: len(x)], n, S)
        if best_residual <= sufficient:
            copy(S.best, x, len(x))
            speed, sliding = fastest_motion(F, n, S)
            solved = sliding > AT_REST
            if speed <= AT_REST:
                enough, near_round_off = EXACT, sufficient
    if best_residual > sufficient:
        project(F, x, S.best, S.D)
        best_residual = relative_residual(F, S.best, S)
    if not solved:
        new_steps, best_residual = proximal_iterations(F, enough, near_round_off, x, n, best_residual, S)
        steps += new_steps
    close = max(sufficient, EXACT)
    new_steps, best_residual = exchange_from(S.best, F, close, n, best_residual, S)
    steps += new_steps
    if sufficient <= EXACT:
        new_steps, best_residual = exchange_from_natural_maps(
            F, max(options.tolerance, close), close, x, n, best_residual, S
        )
        steps += new_steps
    rounds, met, compliance, first = 0, 0, INITIAL_PATH_COMPLIANCE, INITIAL_SMOOTHING
    while best_residual > close and met <= EXTRA_PATHS and rounds < min(MAX_PATHS, options.sweeps):
        set_normal_velocities(F, x, xi, S)
        new_steps, reached = follow_path(
            F, S.xi0, compliance, first, FINAL_SMOOTHING * compliance, x, xi, S.smoothed, S.matrix
        )
        steps += new_steps
        relative_residual(F, x, S)
        copy(S.gamma, S.natural, len(x))
        best_residual = keep_if_better(F, S.natural, best_residual, S)
        new_steps, best_residual = proximal_iterations(F, sufficient, NEAR_ROUND_OFF, x, n, best_residual, S)
        steps += new_steps
        copy(S.best, x, len(x))
        if reached:
            first, compliance = (
                RESTART_SMOOTHING * FINAL_SMOOTHING * compliance,
                max(COMPLIANCE_DECREASE * compliance, MIN_PATH_COMPLIANCE),
            )
        else:
            first, compliance = INITIAL_SMOOTHING, COMPLIANCE_INCREASE * compliance
        rounds += 1
        met += best_residual <= options.tolerance
    if rounds > 0:
        new_steps, best_residual = exchange_from(S.best, F, close, n, best_residual, S)
        steps += new_steps
    copy(S.best, x, len(x))
    if best_residual <= options.tolerance:
        return Report(SOLVED, rounds + 1, steps, best_residual)
    scale_to_dissipate(F, x, S, n)
    return Report(UNFINISHED, rounds + 1, steps, best_residual)


# --- proximal iterations --------------------------------------------------------------------------------------------
@kernel
def proximal_iterations(F, sufficient, near_round_off, x, n, best_residual, S) -> tuple[int, float]:
    """Iterate from x, which is unchanged; return the number of Newton steps and the smallest residual.

    Iterations end at the `sufficient` residual, or below `near_round_off` if they improve nothing.
    """
    xi, last_xi = S.xi_iterate[:n], S.xi_last[:n]
    set_normal_velocities(F, x, xi, S)
    copy(xi, last_xi, n)
    copy(x, S.proximal_point, len(x))
    largest = MAX_INITIAL_COMPLIANCE if is_guessed(x) else UNGUESSED_COMPLIANCE
    compliance = min(max(INITIAL_RATIO * best_residual, MIN_INITIAL_COMPLIANCE), largest)
    steps, last, polishing = 0, 1.0, False
    if best_residual <= EXACT:
        last, polishing, compliance = best_residual, True, POLISHING_COMPLIANCE
    for _ in range(MAX_ITERATIONS):
        accuracy = max(min(ACCURACY * last, MAX_ACCURACY), EQUATION_TOLERANCE)
        new_steps, met = follow_coulomb(F, compliance, accuracy, S.proximal_point, xi, S)
        steps += new_steps
        if not met:
            if polishing or steps > MAX_TOTAL_STEPS:
                break
            copy(last_xi, xi, n)
            compliance *= INCREASE
            continue
        copy(S.gamma, S.proximal_point, len(x))
        residual = relative_residual(F, S.proximal_point, S)
        if residual < best_residual:
            best_residual = residual
            copy(S.proximal_point, S.best, len(x))
        if residual <= (ROUND_OFF if new_steps <= 1 else sufficient) or (polishing and not residual < 0.9 * last):
            break
        if residual < 0.9 * last and not polishing:
            compliance = max((FAST_DECREASE if new_steps <= FEW_STEPS else DECREASE) * compliance, MIN_COMPLIANCE)
        elif residual < near_round_off:
            polishing, compliance = True, POLISHING_COMPLIANCE
        last = residual
        copy(xi, last_xi, n)
    return steps, best_residual


@kernel
def clear_guess(F, x):
    """Set all impulses to 0 but the loads of friction patches, which are given."""
    first = F.equalities + F.limits
    last = first + PER_CONTACT * F.friction_patches
    for k in range(len(x)):
        if k < first or k >= last or (k - first) % PER_CONTACT != 0:
            x[k] = 0.0


@kernel
def is_guessed(x) -> bool:
    """Return whether any impulse is not 0."""
    guessed = False
    for k in range(len(x)):
        guessed = guessed or x[k] != 0.0
    return guessed


# --- fallback --------------------------------------------------------------------------------------------------------
@kernel
def scale_to_dissipate(F, x, S, n):
    """Scale the impulses such that they do not increase the energy: 1/2 x.W x + r.x <= 0."""
    after = S.xi_residual[:n]
    set_normal_velocities(F, x, after, S)
    work = squared = 0.0
    for i in range(n):
        squared += (after[i] - S.xi0[i]) ** 2
    for k in range(len(x)):
        work += F.r[k] * x[k]
    if work + 0.5 * squared > 0.0:
        share = max(-work / squared, 0.0)
        for k in range(len(x)):
            x[k] *= share
