"""Multipliers of constraint rows: a small mixed complementarity problem with a semidefinite matrix.

With the Delassus matrix W = J M^-1 J^T (m, m) and the rows' accelerations b (m,) without multipliers, find x (m,):

    r = W x + b,   lower <= x <= upper,    r_i = 0 strictly between,   r_i >= 0 at lower_i,   r_i <= 0 at upper_i :

the minimizer of 1/2 x.Wx + b.x over the box.  An equality has the bounds (-inf, inf), a one-sided row (0, inf), a row
of dry friction finite ones.  J^T x, the effect on the motion, is unique; x is not unique for redundant rows, of which
the free ones are solved in the least-norm sense (`linalg.pivoted_lu`).

Primal active sets, as in Stark and Parker's bounded least squares, on W instead of J:

    clip     solve for the free rows; fix all that leave their bounds; repeat until none does
    descend  move towards the solution for the free rows, up to the first bound, and fix the row that reaches it
    release  at that solution, free the fixed row with the largest gain r_i^2 / W_ii; finished if there is none

The objective decreases strictly between two releases, so that no set of free rows occurs twice.  A set may be singular
with a b outside the range of W: then the objective is unbounded below along a ray of the null space, and the first
bound on the ray ends the descent.  If there is no bound, no multipliers satisfy the rows: the row that was released
last is abandoned, and rows that are contradictory from the start are solved in the least-squares sense.

Sources: Stark and Parker, Bounded-variable least squares, Computational Statistics 10 (1995); Lawson and Hanson,
Solving Least Squares Problems, ch. 23; Nocedal and Wright, Numerical Optimization, 16.5.
"""

from __future__ import annotations

import math

from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.free_rows import (
    ABANDONED,
    BLOCKED,
    FIXED,
    FREE,
    significant_residual,
    solve_free_rows,
    zero_diagonal,
)

# Status: rows satisfied; no multipliers can satisfy them; too many iterations; W or b is not finite.
SOLVED, CONTRADICTORY, UNFINISHED, NOT_FINITE = range(4)

ROUNDS_PER_ROW = 4
"""Maximum number of iterations per row, in addition to 20; usual are one or two for each row that changes its state."""


@kernel
def solve_multipliers(W, b, lower, upper, x, scratch) -> int:
    """Solve for the multipliers x (m,); return the status.

    The status is SOLVED, CONTRADICTORY, UNFINISHED (x is within bounds) or NOT_FINITE (x is NaN).  The lower triangle
    of W (m, m) is read. x is the initial guess: a row strictly within its bounds starts free, and so does every row
    where x is NaN. A guess saves iterations, but selects which of several redundant one-sided rows carry load; without
    one they share it.
    """
    if not is_finite(W, b):
        for i in range(len(b)):
            x[i] = math.nan
        return NOT_FINITE
    if len(b) == 1 and W[0, 0] > 0.0:
        x[0] = min(max(-b[0] / W[0, 0], lower[0]), upper[0])
        scratch.dependent[0] = 0
        return SOLVED
    floor = zero_diagonal(W)
    if has_bounds(lower, upper):
        return solve_bounded(W, b, lower, upper, x, floor, scratch)
    return solve_equalities(W, b, x, floor, scratch)


# --- equalities ----------------------------------------------------------------------------------------------------
@kernel
def solve_equalities(W, b, x, floor, scratch):
    """Solve for rows without bounds."""
    free, rows, target = scratch.free, scratch.factors.rows, scratch.target
    for i in range(len(b)):
        free[i] = FREE
    contradictory = solve_free_rows(W, b, x, floor, scratch)[1]
    for k in range(len(b)):
        x[rows[k]] = target[k]
    return CONTRADICTORY if contradictory else SOLVED


# --- bounds ----------------------------------------------------------------------------------------------------------
@kernel
def solve_bounded(W, b, lower, upper, x, floor, scratch) -> int:
    """Solve for rows of which some have bounds."""
    m, target, ray = len(b), scratch.target, scratch.ray
    initialize_active_set(lower, upper, x, scratch.free)
    clipping, newest, status = True, -1, SOLVED
    for _ in range(20 + ROUNDS_PER_ROW * m):
        n, descends = solve_free_rows(W, b, x, floor, scratch)
        if clipping and clip(lower, upper, x, n, scratch):
            continue
        clipping = False
        if descends:
            if move_to_bound(lower, upper, x, ray, n, math.inf, newest, scratch):
                continue
            status = CONTRADICTORY
            if moves_along_ray(newest, ray, n, scratch):
                scratch.free[newest] = ABANDONED
                newest = -1
                continue
        if move_to_target(lower, upper, x, target, n, newest, scratch):
            continue
        newest = select_row_to_release(W, b, lower, upper, x, floor, scratch.free)
        if newest < 0:
            return status
        scratch.free[newest] = FREE
    return UNFINISHED if status == SOLVED else status


@kernel
def initialize_active_set(lower, upper, x, free):
    """Fix the rows whose guess is at or beyond a bound, and free the others."""
    for i in range(len(x)):
        free[i] = FIXED
        if x[i] <= lower[i]:
            x[i] = lower[i]
        elif x[i] >= upper[i]:
            x[i] = upper[i]
        else:
            free[i] = FREE


@kernel
def clip(lower, upper, x, n, scratch):
    """Fix all free rows whose solution is outside the bounds; return whether there are any.  If not, x solves."""
    rows, free, target = scratch.factors.rows, scratch.free, scratch.target
    clipped = False
    for k in range(n):
        i = rows[k]
        x[i] = min(max(target[k], lower[i]), upper[i])
        if x[i] != target[k]:
            free[i] = FIXED
            clipped = True
    return clipped


@kernel
def moves_along_ray(row, ray, n, scratch):
    """Whether a row is free and has a nonzero entry in the ray."""
    for k in range(n):
        if scratch.factors.rows[k] == row:
            return ray[k] != 0.0
    return False


@kernel
def move_to_target(lower, upper, x, target, n, newest, scratch):
    """Move to the solution for the free rows; return whether a bound was reached before."""
    rows, step = scratch.factors.rows, scratch.factors.column
    for k in range(n):
        step[k] = target[k] - x[rows[k]]
    if move_to_bound(lower, upper, x, step, n, 1.0, newest, scratch):
        return True
    for k in range(n):
        x[rows[k]] = target[k]
    return False


@kernel
def move_to_bound(lower, upper, x, step, n, limit, newest, scratch) -> bool:
    """Move the free rows along a step to the first bound, and fix the rows that reach it.

    Returns whether that bound is reached before `limit` steps; if not, nothing moves.  A row that returns to its bound
    at once after its release is blocked until there is progress.
    """
    rows, free = scratch.factors.rows, scratch.free
    reach = limit
    for k in range(n):
        i = rows[k]
        reach = min(reach, distance(x[i], step[k], lower[i], upper[i]))
    if reach >= limit:
        return False
    for i in range(len(x)):
        if reach > 0.0 and free[i] == BLOCKED:
            free[i] = FIXED
    for k in range(n):
        i = rows[k]
        if distance(x[i], step[k], lower[i], upper[i]) > reach:
            x[i] = min(max(x[i] + reach * step[k], lower[i]), upper[i])
        else:
            x[i] = lower[i] if step[k] < 0.0 else upper[i]
            free[i] = BLOCKED if i == newest and reach == 0.0 else FIXED
    return True


@formula
def distance(x, step, lower, upper):
    """Number of steps from x to the bound in the direction of `step`."""
    if step < 0.0:
        return (lower - x) / step
    if step > 0.0:
        return (upper - x) / step
    return math.inf


@kernel
def select_row_to_release(W, b, lower, upper, x, floor, free) -> int:
    """The fixed row whose release decreases the objective fastest; -1 if all rows satisfy their conditions."""
    best, chosen = 0.0, -1
    for i in range(len(b)):
        if free[i] != FIXED:
            continue
        r = significant_residual(W, b, x, i)
        if (r < 0.0 and x[i] < upper[i]) or (r > 0.0 and x[i] > lower[i]):
            gain = r * r / max(W[i, i], floor)
            if gain > best:
                best, chosen = gain, i
    return chosen


# --- arguments ---------------------------------------------------------------------------------------------------
@kernel
def is_finite(W, b):
    """Whether all entries of b and of the lower triangle of W are finite."""
    total = 0.0
    for i in range(len(b)):
        total += 0.0 * b[i]
        for j in range(i + 1):
            total += 0.0 * W[i, j]
    return total == 0.0


@kernel
def has_bounds(lower, upper):
    """Whether any multiplier has a finite bound."""
    bounded = False
    for i in range(len(lower)):
        bounded = bounded or lower[i] > -math.inf or upper[i] < math.inf
    return bounded
