"""Staggered projections: two quadratic programs in turn, an independent solution that the proximal method is tested by.

This is algorithm 7 of Sueda's notes, on the Delassus matrix.  With J = (G, C, N, T) the rows of equalities, limits,
normals and tangents, x = (lambda, l, alpha, beta) their impulses, and W = J M^-1 J^T,

    notes             here
    line 8            r = J q_unc, the velocities of the rows without impulses
    (2.113), line 11  `solve_contact_program`: minimize 1/2 x.W x + r.x over lambda, l >= 0, alpha >= 0 for fixed beta
    (2.114), line 19  `solve_friction_program`: the same over lambda and |beta_c| <= mu_c alpha_c for fixed l and alpha
    line 14           `friction_change`: the velocities due to f_beta - f_beta^0, in the metric of M^-1
    line 2            the guess x: friction of the previous step

A fixed point satisfies Coulomb's law.  The differences from the notes are

    signs         Normal velocities of separating bodies are positive, so that f_alpha = N^T alpha / h and f_beta = T^T
                  beta / h, and the linear terms of (2.113) and (2.114) have a plus sign.
    equalities    G belongs to both programs, as in (2.119): friction acts on the constrained system.
    discs         The boxes of (2.114) admit up to sqrt(2) mu alpha.  Here |beta| <= mu alpha: a few programs with boxes
                  along the friction of each contact, and the curvature of the circle as a cost across it.
    acceleration  The iteration converges linearly; a leaning stack of five cubes takes 1600 iterations.  With f_beta
                  of line 11 a combination of the last iterations (`anderson`), it takes 8.
    result        is the iterate with the least change: once there, a further extrapolation may lead away by round-off.
    line 14       compares f_beta instead of f_alpha, because that of line 11 is accelerated.

In algorithm 8 (bilateral staggered projections) joint reactions take the place of alpha.  Lines 10 to 16, (2.117) and
(2.118), are `contact_solver.joint_friction`; their limits are those of the friction patches here, and line 23 is
`solve_friction_program` for patches and contacts together.

The status of the result is

    SOLVED         all conditions of Coulomb's law are met within the tolerance
    CONTRADICTORY  the rows without friction contradict each other
    UNFINISHED     the iteration did not converge; it need not where sliding friction increases the normal impulse that
                   limits it, W_nn < mu |W_nt|
    NOT_FINITE     W or r is not finite, or mu is negative or NaN; the impulses are NaN

Impulses of CONTRADICTORY and UNFINISHED are scaled such that they do not increase the energy.

Sources: Kaufman, Sueda, James and Pai, Staggered projections for frictional contact in multibody systems, ACM Trans.
Graph. 27 (2008); Sueda, notes 2.11.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.anderson import Iterations, extrapolate, iterations_for, store_iteration
from multibody_cli.contact_solver.friction.dense import (
    DenseProblem,
    clipped,
    compute_row_velocities,
    friction_limit,
    friction_residual,
    normal_row,
    problem_size,
    relative_residual,
    scale_to_dissipate,
    tangent_weight,
)
from multibody_cli.contact_solver.friction.problem import (
    MIN_FRICTION_IMPULSE,
    PER_CONTACT,
    SolutionReport,
    delassus_entry,
    first_resistance,
    remove_rows_without_response,
)
from multibody_cli.kernel import Floats, allocate, kernel
from multibody_cli.linalg import free_rows
from multibody_cli.linalg.free_rows import zero_diagonal
from multibody_cli.linalg.multipliers import NOT_FINITE, SOLVED, UNFINISHED, is_finite, solve_multipliers

MAX_PROGRAMS = 10
"""Largest number of programs with boxes for one program with discs; usual are one to five."""

ROUND_OFF = 1e-15
"""Change or residual, relative to the size of the problem, that cannot be improved."""

RISE = 2.0
"""Increase of the change in an iteration, at which the iterations before are forgotten."""

PATIENCE = 4
"""Iterations in a row that may fail to halve the change, once it is within the tolerance: solutions improve to
round-off, so that contacts close to their friction limit stick without creep.
"""


MAX_STAGGERED_ROWS = 600
"""Largest number of rows of an island that staggered projections solve: the matrix is dense."""


class StaggeredScratch(NamedTuple):
    """Work arrays for m rows."""

    W: Annotated[Floats, "m", "m"]
    V: Annotated[Floats, "m", "m"]  # W in the frames of the friction
    b: Annotated[Floats, "m"]  # r in these frames
    y: Annotated[Floats, "m"]  # x in these frames
    frame: Annotated[Floats, "m"]  # direction of the friction of each contact, at its tangents
    u: Annotated[Floats, "m"]
    lower: Annotated[Floats, "m"]
    upper: Annotated[Floats, "m"]
    before: Annotated[Floats, "m"]  # impulses before an iteration
    gap: Annotated[Floats, "m"]  # change of the friction in an iteration
    best: Annotated[Floats, "m"]  # impulses after the iteration with the least change so far
    iterations: Iterations
    solver: free_rows.Scratch


def staggered_scratch_for(m: int) -> StaggeredScratch:
    """Allocate the work arrays for up to m rows."""
    return allocate(StaggeredScratch, m=m, iterations=iterations_for(m))


@kernel
def solve_staggered(problem, options, x, scratch) -> SolutionReport:
    """Solve for the impulses x (m,) of a `Factored` problem; x holds the initial guess or NaN."""
    m = len(problem.r)
    W = scratch.W[:m, :m]
    remove_rows_without_response(problem)
    for k in range(m):
        for h in range(k + 1):
            W[k, h] = W[h, k] = delassus_entry(problem, k, h)
    kinds = (problem.equalities, problem.constraint_rows, problem.friction_patches)
    return stagger(DenseProblem(W, problem.r, problem.mu, problem.loads, *kinds), options, x, scratch)


# --- algorithm 7 ------------------------------------------------------------------------------------------------------
@kernel
def stagger(problem, options, x, scratch) -> SolutionReport:
    """Solve for the impulses x (m,) of a `DenseProblem`; x holds the initial guess or NaN."""
    m = len(x)
    if not (is_finite(problem.W, problem.r) and is_friction_admissible(problem.mu)):
        for i in range(m):
            x[i] = math.nan
        return SolutionReport(NOT_FINITE, 0, 0, math.nan)
    for i in range(m):
        if not abs(x[i]) < math.inf:
            x[i] = 0.0
    scratch.iterations.stored[0] = -1
    status, sweeps, stalled, last, least = SOLVED, 0, 0, math.inf, math.inf
    while sweeps < options.sweeps:  # line 9
        if sweeps > 0:
            extrapolate(scratch.iterations, problem.W, x)
        for i in range(m):
            scratch.before[i] = x[i]
        sweeps += 1
        status = solve_contact_program(problem, x, scratch)  # line 11
        if status != SOLVED:
            break
        solve_friction_program(problem, x, scratch)  # line 19
        change = friction_change(problem, x, scratch)
        stalled = stalled + 1 if change > 0.5 * least else 0
        if change < least:
            least = change
            for i in range(m):
                scratch.best[i] = x[i]
        if least <= ROUND_OFF or (least <= options.tolerance and stalled >= PATIENCE):  # line 14
            break
        store_iteration(scratch.iterations, scratch.gap[:m], x, change > RISE * last)
        last = change
    if least < math.inf:
        for i in range(m):
            x[i] = scratch.best[i]
    residual = relative_residual(problem, x, scratch.u)
    if status == SOLVED and residual <= options.tolerance:
        return SolutionReport(SOLVED, sweeps, sweeps, residual)
    scale_to_dissipate(problem, x, scratch.u)
    return SolutionReport(UNFINISHED if status == SOLVED else status, sweeps, sweeps, residual)


@kernel
def is_friction_admissible(mu) -> bool:
    """Whether no coefficient of friction is negative or NaN."""
    admissible = True
    for c in range(len(mu)):
        admissible = admissible and mu[c] >= 0.0
    return admissible


@kernel
def friction_change(problem, x, scratch) -> float:
    """Compute the change of the friction in an iteration into S.gap; return its effect relative to the problem's size.

    The effect is the largest change of a row velocity in the mass norm.  Unlike the square root of gap.W gap, it keeps
    its digits where friction changes without effect.
    """
    largest, floor = 0.0, zero_diagonal(problem.W)
    for i in range(len(x)):
        scratch.gap[i] = 0.0
    for c in range(len(problem.mu)):
        for i in range(normal_row(problem, c) + 1, normal_row(problem, c) + PER_CONTACT):
            scratch.gap[i] = x[i] - scratch.before[i]
    for i in range(len(x)):
        velocity = 0.0
        for j in range(len(x)):
            velocity += problem.W[i, j] * scratch.gap[j]
        largest = max(largest, abs(velocity) / math.sqrt(max(problem.W[i, i], floor)))
    return largest / problem_size(problem, x, scratch.u)


# --- contact program --------------------------------------------------------------------------------------------------
@kernel
def solve_contact_program(problem, x, scratch) -> int:
    """Solve (2.113) for lambda, l and alpha in x (m,); return the status of `solve_multipliers`.

    Equal bounds fix beta, and the limits of friction patches, at their values.
    """
    m = len(x)
    for i in range(problem.equalities):
        free_row(i, -math.inf, x, scratch)
    for i in range(problem.equalities, problem.constraint_rows):
        free_row(i, 0.0, x, scratch)
    for c in range(len(problem.mu)):
        n = normal_row(problem, c)
        for i in range(n, n + PER_CONTACT):
            scratch.lower[i] = scratch.upper[i] = x[i]
        if problem.friction_patches <= c < first_resistance(problem):
            free_row(n, 0.0, x, scratch)
    return solve_multipliers(problem.W, problem.r, scratch.lower[:m], scratch.upper[:m], x, scratch.solver)


@kernel
def free_row(i, lower, x, scratch):
    """Free row i from a lower bound on, without a guess, so that redundant rows share loads by least norm."""
    scratch.lower[i], scratch.upper[i], x[i] = lower, math.inf, math.nan


# --- friction program -------------------------------------------------------------------------------------------------
@kernel
def solve_friction_program(problem, x, scratch):
    """Solve (2.114) with discs for lambda and beta in x (m,); S.u becomes W x + r."""
    m, last = len(x), math.inf
    compute_row_velocities(problem, x, scratch.u)
    for program in range(MAX_PROGRAMS):
        write_boxes(problem, x, scratch)
        for i in range(m):
            if program == 0 and scratch.lower[i] < scratch.upper[i]:
                scratch.y[i] = math.nan
        solve_multipliers(
            scratch.V[:m, :m], scratch.b[:m], scratch.lower[:m], scratch.upper[:m], scratch.y[:m], scratch.solver
        )
        read_boxes(problem, x, scratch)
        compute_row_velocities(problem, x, scratch.u)
        residual = friction_residual(problem, x, scratch.u) / problem_size(problem, x, scratch.u)
        if residual <= ROUND_OFF or (residual <= 1e-12 and residual > 0.5 * last):
            break
        last = residual


@kernel
def write_boxes(problem, x, scratch):
    """Write the program with a box for each disc, along d = beta - u_t / w and across it.

    A contact with |d| > mu alpha slides along d.  Across d its friction follows the circle instead of the tangent: the
    difference is a cost of (|d| / (mu alpha) - 1) w / 2 times its square.
    """
    m = len(x)
    for i in range(m):
        scratch.b[i] = problem.r[i]
        scratch.y[i] = scratch.lower[i] = scratch.upper[i] = x[i]
        for j in range(m):
            scratch.V[i, j] = problem.W[i, j]
    for i in range(problem.equalities):
        scratch.lower[i], scratch.upper[i] = -math.inf, math.inf
    for c in range(len(problem.mu)):
        n = normal_row(problem, c)
        radius, w = friction_limit(problem, c, x), tangent_weight(problem, n)
        d1, d2 = x[n + 1] - scratch.u[n + 1] / w, x[n + 2] - scratch.u[n + 2] / w
        length = math.hypot(d1, d2)
        d1, d2 = (d1 / length, d2 / length) if length > MIN_FRICTION_IMPULSE else (1.0, 0.0)
        scratch.frame[n + 1], scratch.frame[n + 2] = d1, d2
        for j in range(m):
            turn(n, d1, d2, scratch.V[j])
        for j in range(m):
            turn(n, d1, d2, scratch.V[:, j])
        turn(n, d1, d2, scratch.b)
        turn(n, d1, d2, scratch.y)
        if length > radius > 0.0:
            scratch.V[n + 2, n + 2] += (length / radius - 1.0) * w
        for i in range(n + 1, n + PER_CONTACT):
            scratch.lower[i], scratch.upper[i] = -radius, radius


@kernel
def turn(n, d1, d2, y):
    """Replace the tangent entries of a contact in y by those along (d1, d2) and across it."""
    a, b = y[n + 1], y[n + 2]
    y[n + 1], y[n + 2] = d1 * a + d2 * b, d1 * b - d2 * a


@kernel
def read_boxes(problem, x, scratch):
    """Compute lambda and beta from the solution of the program, with friction clipped to its discs."""
    for i in range(problem.equalities):
        x[i] = scratch.y[i]
    for c in range(len(problem.mu)):
        n = normal_row(problem, c)
        turn(n, scratch.frame[n + 1], -scratch.frame[n + 2], scratch.y)
        x[n + 1], x[n + 2] = clipped(scratch.y[n + 1], scratch.y[n + 2], friction_limit(problem, c, x))
