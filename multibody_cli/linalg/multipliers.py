"""The multipliers of constraint rows: a small mixed complementarity problem on a semidefinite matrix.

With the Delassus matrix W = J M^-1 J^T (m, m) and the rows' accelerations b (m,) without multipliers, find x (m,):

    r = W x + b,   lower <= x <= upper,    r_i = 0 strictly between,   r_i >= 0 at lower_i,   r_i <= 0 at upper_i :

the minimizer of 1/2 x.Wx + b.x over the box.  An equality has the bounds (-inf, inf), a one-sided row (0, inf), a
row of dry friction finite ones.  J^T x, what the rows do to the motion, is unique; x itself is not where rows are
redundant, and then the free ones share in the least-norm sense (`linalg.pivoted_lu`).

Primal active sets, as Stark and Parker's bounded least squares, on W instead of J:

    clip     solve for the free rows; fix all that leave their bounds there; again, until none does
    descend  go towards the solution for the free rows, up to the first bound, and fix the row that meets it
    release  at that solution, free the fixed row that promises most, r_i^2 / W_ii; finished if none does

From one release to the next the objective falls strictly, so no set of free rows comes twice.  A set may be
singular with a b outside the range of W: then the objective falls without end along a ray of the null space, and the
first bound in the way ends that.  If there is none, no multipliers can satisfy the rows: the one released last is given
up, and rows that contradict each other from the start are taken in the sense of least squares.

Sources: Stark and Parker, Bounded-variable least squares, Computational Statistics 10 (1995); Lawson and Hanson,
Solving Least Squares Problems, ch. 23; Nocedal and Wright, Numerical Optimization, 16.5.
"""

from __future__ import annotations

import math

from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.free_rows import FIXED, FREE, GIVEN_UP, HELD, ROUND_OFF, aim, entry, zero_diagonal

# How it ended: rows satisfied; no multipliers can satisfy them; too many rounds; W or b is not finite.
SOLVED, CONTRADICTORY, UNFINISHED, NOT_FINITE = range(4)

ROUNDS = 4
"""Rounds per row, beyond a first twenty, before giving up; one or two rounds a row that changes is what it takes."""


@kernel
def solve_multipliers(W, b, lower, upper, x, scratch) -> int:
    """Multipliers of m rows into x (m,): SOLVED, CONTRADICTORY, UNFINISHED (x within bounds) or NOT_FINITE (x is NaN).

    Of W (m, m) the lower triangle is read.  x comes in as a guess: a row that is not at or beyond a bound starts free,
    and so does every row where x is NaN.  A guess saves rounds, but decides which of several redundant one-sided rows
    carry; without one they share.
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
    """Multipliers of rows without bounds."""
    free, rows, target = scratch.free, scratch.factors.rows, scratch.target
    for i in range(len(b)):
        free[i] = FREE
    contradictory = aim(W, b, x, floor, scratch)[1]
    for k in range(len(b)):
        x[rows[k]] = target[k]
    return CONTRADICTORY if contradictory else SOLVED


# --- bounds ----------------------------------------------------------------------------------------------------------
@kernel
def solve_bounded(W, b, lower, upper, x, floor, scratch) -> int:
    """Multipliers of rows some of which have bounds."""
    m, target, ray = len(b), scratch.target, scratch.ray
    start(lower, upper, x, scratch.free)
    clipping, newest, status = True, -1, SOLVED
    for _ in range(20 + ROUNDS * m):
        n, descends = aim(W, b, x, floor, scratch)
        if clipping and clip(lower, upper, x, n, scratch):
            continue
        clipping = False
        if descends:
            if advance(lower, upper, x, ray, n, math.inf, newest, scratch):
                continue
            status = CONTRADICTORY
            if takes_part(newest, ray, n, scratch):
                scratch.free[newest] = GIVEN_UP
                newest = -1
                continue
        if approach(lower, upper, x, target, n, newest, scratch):
            continue
        newest = most_promising(W, b, lower, upper, x, floor, scratch.free)
        if newest < 0:
            return status
        scratch.free[newest] = FREE
    return UNFINISHED if status == SOLVED else status


@kernel
def start(lower, upper, x, free):
    """Fix the rows whose guess is at a bound or beyond, and free the others."""
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
    """Fix all free rows whose solution leaves the bounds: whether there were any.  If not, x is the solution."""
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
def takes_part(row, ray, n, scratch):
    """Whether a row is free and moves along the ray."""
    for k in range(n):
        if scratch.factors.rows[k] == row:
            return ray[k] != 0.0
    return False


@kernel
def approach(lower, upper, x, target, n, newest, scratch):
    """Go to the solution for the free rows: whether a bound was in the way."""
    rows, step = scratch.factors.rows, scratch.factors.column
    for k in range(n):
        step[k] = target[k] - x[rows[k]]
    if advance(lower, upper, x, step, n, 1.0, newest, scratch):
        return True
    for k in range(n):
        x[rows[k]] = target[k]
    return False


@kernel
def advance(lower, upper, x, step, n, limit, newest, scratch) -> bool:
    """Move the free rows along a step until a bound is met, and fix what meets it: whether that is before `limit`.

    If not, nothing moves.  A row that comes straight back when it was released is held until there is progress.
    """
    rows, free = scratch.factors.rows, scratch.free
    reach = limit
    for k in range(n):
        i = rows[k]
        reach = min(reach, distance(x[i], step[k], lower[i], upper[i]))
    if reach >= limit:
        return False
    for i in range(len(x)):
        if reach > 0.0 and free[i] == HELD:
            free[i] = FIXED
    for k in range(n):
        i = rows[k]
        if distance(x[i], step[k], lower[i], upper[i]) > reach:
            x[i] = min(max(x[i] + reach * step[k], lower[i]), upper[i])
        else:
            x[i] = lower[i] if step[k] < 0.0 else upper[i]
            free[i] = HELD if i == newest and reach == 0.0 else FIXED
    return True


@formula
def distance(x, step, lower, upper):
    """How many times a step can be made from x until a bound is met."""
    if step < 0.0:
        return (lower - x) / step
    if step > 0.0:
        return (upper - x) / step
    return math.inf


@kernel
def most_promising(W, b, lower, upper, x, floor, free) -> int:
    """The fixed row whose release lets the objective fall fastest; -1 if all are where they should be."""
    best, chosen = 0.0, -1
    for i in range(len(b)):
        if free[i] != FIXED:
            continue
        r, terms = b[i], abs(b[i])
        for j in range(len(b)):
            term = entry(W, i, j) * x[j]
            r += term
            terms += abs(term)
        if abs(r) > ROUND_OFF * terms and ((r < 0.0 and x[i] < upper[i]) or (r > 0.0 and x[i] > lower[i])):
            gain = r * r / max(W[i, i], floor)
            if gain > best:
                best, chosen = gain, i
    return chosen


# --- what is given ---------------------------------------------------------------------------------------------------
@kernel
def is_finite(W, b):
    """Whether all entries of b and of the lower triangle of W are numbers."""
    total = 0.0
    for i in range(len(b)):
        total += 0.0 * b[i]
        for j in range(i + 1):
            total += 0.0 * W[i, j]
    return total == 0.0


@kernel
def has_bounds(lower, upper):
    """Whether any multiplier has a bound."""
    bounded = False
    for i in range(len(lower)):
        bounded = bounded or lower[i] > -math.inf or upper[i] < math.inf
    return bounded
