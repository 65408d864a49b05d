"""Active sets: Coulomb's law for contacts with given states, and exchanges of single states.

A contact is OPEN, sticks or slips, and each state is a smooth branch of the natural map (`natural_map`).  Newton's
method on the branches converges to round-off.  States that the natural map does not confirm change, and the branches
are solved again.

If the map confirms all states, but the branches have no solution, redundant contacts contradict each other: no motion
closes all of their gaps, which need not differ by more than round-off.  Then one of them opens.  A Newton step with
very little compliance shifts loads between the contacts without changing the motion; it ends at the first contact that
is unloaded, which opens, or that reaches the friction limit, which slips.  Iterations that move loads in proportion to
velocities (`proximal`) would take millions of steps to shift a load by the contradiction of such gaps.

A contact that was the last to open and closes again is not opened a second time; the loads shift the other way.

Source: the descent and the ratio test are those of primal active sets for quadratic programs; Nocedal and Wright,
Numerical Optimization, 16.5.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.natural_map import (
    COMPLIANCE,
    compute_arguments,
    compute_step,
    compute_velocities,
    follow_natural_map,
    keep_if_better,
    largest_difference,
    relative_residual,
)
from multibody_cli.contact_solver.friction.problem import MIN_FRICTION_IMPULSE, PER_CONTACT, copy
from multibody_cli.contact_solver.laws.coulomb import direction_of, write, write_across
from multibody_cli.kernel import formula, kernel

OPEN, STICK, SLIP = range(3)

NEARLY_SOLVED = 1e-6
"""Residual above which there are no active sets."""

SCALES = (1.0, 4.0, 2.0, 0.25)
"""Factors of w, powers of 2, with which the natural map is solved; its solutions do not depend on w, its steps do.

Without it, 24 instead of 2 of 3,370 problems of a pile of 40 boxes with friction 1 need restarts, and one is left.
"""

SHIFT_COMPLIANCE = 1e-8
"""Compliance of steps that shift loads, relative to a row's own W."""

MAX_EXCHANGES, MAX_STEPS = 100, 6
"""Largest number of active sets, and of Newton steps for one of them."""

ROUND_OFF, CONVERGED = 1e-15, 0.5
"""Residual that cannot be improved; share of the residual above which a step has not improved it."""

FARTHER = 10.0
"""Factor of the number of steps by which loads shift, after a shift that changes no state."""

UNDECIDED = 1e-13
"""Distance from a change of state, as an impulse relative to the size of the problem, that does not change it."""


@formula
def is_unfinished(F, sufficient, residual):
    """Return whether active sets may reduce a residual near a solution to a sufficient one.

    Loads of friction patches are given, and follow from those of joints in turn; they do not shift.
    """
    return not F.convex and F.friction_patches == 0 and sufficient < residual <= NEARLY_SOLVED


@kernel
def exchange_from(start, F, sufficient, n, best_residual, S) -> tuple[int, float]:
    """Exchange states from the impulses `start` (m,), near a solution; return the steps and the smallest residual."""
    if not is_unfinished(F, sufficient, best_residual):
        return 0, best_residual
    m = len(F.r)
    copy(start, S.natural, m)
    return exchange_states(F, sufficient, S.natural[:m], n, best_residual, S)


@kernel
def exchange_from_natural_maps(F, tolerance, sufficient, x, n, best_residual, S) -> tuple[int, float]:
    """Exchange states from results of the natural map with other scales w, until the tolerance is met.

    x (m,) is the guess and is unchanged.  Return the number of Newton steps and the smallest residual.
    """
    steps = 0
    for scale in SCALES:
        if is_unfinished(F, tolerance, best_residual):
            copy(x, S.natural, len(x))
            scale_rows_by(F, scale)
            new_steps, residual = follow_natural_map(F, sufficient, S.natural[: len(x)], n, S)
            steps += new_steps
            new_steps, _ = exchange_from(S.natural, F, sufficient, n, min(best_residual, residual), S)
            steps += new_steps
            scale_rows_by(F, 1.0 / scale)
            best_residual = relative_residual(F, S.best[: len(x)], S)
    return steps, best_residual


@kernel
def scale_rows_by(F, scale):
    """Multiply the scales w of all rows."""
    for k in range(len(F.w)):
        F.w[k] *= scale


@kernel
def exchange_states(F, sufficient, x, n, best_residual, S) -> tuple[int, float]:
    """Iterate from the impulses x (m,), in place, until admissible impulses have the `sufficient` residual.

    Return the number of Newton steps and the smallest residual; its impulses become the best ones.
    """
    steps, opened, reach = 0, -1, 1.0
    compute_velocities(F, x, S)
    size = compute_arguments(F, x, S)
    read_states(F, S)
    for _ in range(MAX_EXCHANGES):
        steps += solve_branches(F, x, n, S)
        best_residual = keep_if_better(F, x, best_residual, S)
        if best_residual <= sufficient:
            break
        compute_velocities(F, x, S)
        size = compute_arguments(F, x, S)
        if not size < math.inf:
            break
        if not correct_states(F, UNDECIDED * size, S):
            row = shift_loads(F, x, n, opened, reach, S)
            reach, opened = (FARTHER * reach, opened) if row < 0 else (1.0, row if S.state[row] == OPEN else -1)
            steps += 1
    return steps, best_residual


@kernel
def read_states(F, S):
    """Set all states to those of the natural map at y."""
    for k in range(F.equalities, len(F.r)):
        if has_state(F, k):
            S.state[k], _ = natural_state(F, k, S)


@kernel
def correct_states(F, undecided, S) -> bool:
    """Change the states that differ from the natural map at y by more than `undecided`; return whether any does.

    Of the open contacts that the map closes, only that of the largest distance closes.
    """
    changed, closing, farthest = False, -1, undecided
    for k in range(F.equalities, len(F.r)):
        if has_state(F, k):
            state, distance = natural_state(F, k, S)
            if S.state[k] == OPEN and state != OPEN and distance > farthest:
                closing, farthest = k, distance
            elif S.state[k] != OPEN and state != S.state[k] and distance > undecided:
                S.state[k], changed = state, True
    if closing >= 0:
        S.state[closing], _ = natural_state(F, closing, S)
    return changed or closing >= 0


@formula
def has_state(F, k):
    """Return whether row k is that of a limit or the normal of a contact."""
    first = F.equalities + F.limits
    return k < first or (k - first) % PER_CONTACT == 0


@kernel
def natural_state(F, k, S) -> tuple[int, float]:
    """Return the state of row k in the natural map at y, and the distance of y from a change of state."""
    y, first, unit = S.y, F.equalities + F.limits, math.sqrt(F.w[k])
    if not y[k] > 0.0 or k < first:
        return STICK if y[k] > 0.0 else OPEN, abs(y[k]) * unit
    excess = math.hypot(y[k + 1], y[k + 2]) - F.mu[(k - first) // PER_CONTACT] * y[k]
    return SLIP if excess > 0.0 else STICK, (y[k] if S.state[k] == OPEN else abs(excess)) * unit


# --- branches -------------------------------------------------------------------------------------------------------
@kernel
def solve_branches(F, x, n, S) -> int:
    """Solve for the impulses x (m,) in place by Newton's method, with given states; return the number of steps."""
    last = math.inf
    for steps in range(MAX_STEPS):
        compute_velocities(F, x, S)
        size = compute_arguments(F, x, S)
        take_branches(F, S)
        residual = largest_difference(F, x, S) / size if size > 0.0 else 0.0
        if not (ROUND_OFF < residual <= CONVERGED * last):
            return steps
        last = residual
        compute_step(F, COMPLIANCE, x, n, S)
    return MAX_STEPS


@kernel
def take_branches(F, S):
    """Compute the branches of the projection of y for the states, and their derivatives, as `cones.project` does."""
    y, g, D, first = S.y, S.gamma, S.D, F.equalities + F.limits
    for k in range(first):
        pressed = k < F.equalities or S.state[k] != OPEN
        g[k], D[k, 0] = y[k] if pressed else 0.0, 1.0 if pressed else 0.0
    for c in range(len(F.mu)):
        k = first + PER_CONTACT * c
        if S.state[k] == OPEN:
            write(k, g, D, 0.0, 0.0, 0.0)
        elif S.state[k] == STICK:
            write(k, g, D, y[k], y[k + 1], y[k + 2])
            write_across(k, D, 1.0, 0.0, 1.0, 1.0)
            D[k, 0] = 1.0
        else:
            length, limit = math.hypot(y[k + 1], y[k + 2]), F.mu[c] * y[k]
            d1, d2 = direction_of(y, k, length)
            write(k, g, D, y[k], limit * d1, limit * d2)
            write_across(k, D, d1, d2, 0.0, min(max(limit / max(length, MIN_FRICTION_IMPULSE), 0.0), 1.0))
            D[k, 0], D[k + 1, 0], D[k + 2, 0] = 1.0, F.mu[c] * d1, F.mu[c] * d2


# --- loads ----------------------------------------------------------------------------------------------------------
@kernel
def shift_loads(F, x, n, opened, reach, S) -> int:
    """Shift the loads x (m,) by `reach` steps, or up to the first change of a state, which is made.

    The loads shift the other way if the row `opened` would open.  Return the row whose state changes, or -1.
    """
    m, before, step = len(x), S.before, S.shift
    for k in range(m):
        before[k] = x[k]
    take_branches(F, S)
    compute_step(F, SHIFT_COMPLIANCE, x, n, S)
    for k in range(m):
        step[k] = x[k] - before[k]
    row, share, state = first_change(F, reach, S)
    if row >= 0 and row == opened:
        for k in range(m):
            step[k] = -step[k]
        row, share, state = first_change(F, reach, S)
    for k in range(m):
        x[k] = before[k] + share * step[k]
    if row >= 0:
        S.state[row] = state
        if state == OPEN:
            for k in range(row, row + PER_CONTACT if row >= F.equalities + F.limits else row + 1):
                x[k] = 0.0
    return row


@kernel
def first_change(F, reach, S) -> tuple[int, float, int]:
    """Return the first row of the contact or limit whose state changes first, the number of steps, and the state.

    If none changes within `reach` steps, return row -1.
    """
    x, step, first = S.before, S.shift, F.equalities + F.limits
    row, share, state = -1, reach, OPEN
    for k in range(F.equalities, len(F.r)):
        if has_state(F, k) and S.state[k] != OPEN:
            if step[k] < 0.0 and max(x[k], 0.0) < -share * step[k]:
                row, share, state = k, max(x[k], 0.0) / -step[k], OPEN
            if k >= first and S.state[k] == STICK:
                limit = share_to_limit(F.mu[(k - first) // PER_CONTACT], k, x, step)
                if limit < share:
                    row, share, state = k, limit, SLIP
    return row, share, state


@kernel
def share_to_limit(mu, k, x, step) -> float:
    """Return the share of a step at which the friction of the contact with rows from k on reaches its limit."""
    a = step[k + 1] ** 2 + step[k + 2] ** 2 - (mu * step[k]) ** 2
    b = x[k + 1] * step[k + 1] + x[k + 2] * step[k + 2] - mu * mu * x[k] * step[k]
    c = x[k + 1] ** 2 + x[k + 2] ** 2 - (mu * x[k]) ** 2
    if c >= 0.0:
        return 0.0 if b > 0.0 else math.inf
    root = math.sqrt(max(b * b - a * c, 0.0))
    if b > 0.0:
        return -c / (b + root)
    return (root - b) / a if a > 0.0 else math.inf
