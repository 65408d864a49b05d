"""Active sets: Coulomb's law for contacts with given states, and exchanges of single states.

A contact is OPEN, sticks or slips, and each state is a smooth branch of the natural map (`natural_map`).  Newton's
method on the branches converges to round-off.  States that the natural map does not confirm change, and the branches
are solved again.

If the map confirms all states, but the branches have no solution, redundant contacts contradict each other: no motion
closes all of their gaps, which need not differ by more than round-off.  Then one of them opens.  A Newton step with
very little compliance shifts loads between the contacts without changing the motion; it ends at the first contact that
is unloaded, which opens, or that reaches the friction limit, which slips.  Iterations that move loads in proportion to
velocities (`proximal`) would take millions of steps to shift a load by the contradiction of such gaps.

A resistance to rolling sticks or slips in the same way, unless its contact is open.

If loads of any size change no state, as where a mechanism jams, the contradiction is round-off, and the loads remain.

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
from multibody_cli.contact_solver.friction.problem import (
    MIN_FRICTION_IMPULSE,
    PER_CONTACT,
    copy,
    end_of_contacts,
    first_resistance,
    load_scale,
)
from multibody_cli.contact_solver.laws import COULOMB
from multibody_cli.contact_solver.laws.coulomb import direction_of, write, write_across
from multibody_cli.kernel import formula, kernel, lazy_kernel

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

JAMMED = -2
"""In place of a row: the friction cones contain the direction in which loads shift, along which nothing moves."""

FARTHER = 10.0
"""Factor of the number of steps by which loads shift, after a shift that changes no state."""

UNDECIDED = 1e-13
"""Distance from a change of state, as an impulse relative to the size of the problem, that does not change it."""


@formula
def is_unfinished(problem, sufficient, residual):
    """Return whether active sets may reduce a residual near a solution to a sufficient one.

    Loads of friction patches are given, and follow from those of joints in turn; they do not shift.
    """
    return problem.law == COULOMB and problem.friction_patches == 0 and sufficient < residual <= NEARLY_SOLVED


@kernel
def exchange_from(start, problem, sufficient, n, best_residual, scratch) -> tuple[int, float]:
    """Exchange states from the impulses `start` (m,), near a solution; return the steps and the smallest residual."""
    if not is_unfinished(problem, sufficient, best_residual):
        return 0, best_residual
    m = len(problem.r)
    copy(start, scratch.natural, m)
    return exchange_states(problem, sufficient, scratch.natural[:m], n, best_residual, scratch)


@lazy_kernel
def exchange_from_natural_maps(problem, tolerance, sufficient, x, n, best_residual, scratch) -> tuple[int, float]:
    """Exchange states from results of the natural map with other scales w, until the tolerance is met.

    x (m,) is the guess and is unchanged.  Return the number of Newton steps and the smallest residual.
    """
    steps = 0
    for scale in SCALES:
        if is_unfinished(problem, tolerance, best_residual):
            copy(x, scratch.natural, len(x))
            scale_rows_by(problem, scale)
            new_steps, residual = follow_natural_map(problem, sufficient, scratch.natural[: len(x)], n, scratch)
            steps += new_steps
            new_steps, _ = exchange_from(scratch.natural, problem, sufficient, n, min(best_residual, residual), scratch)
            steps += new_steps
            scale_rows_by(problem, 1.0 / scale)
            best_residual = relative_residual(problem, scratch.best[: len(x)], scratch)
    return steps, best_residual


@kernel
def scale_rows_by(problem, scale):
    """Multiply the scales w of all rows."""
    for k in range(len(problem.w)):
        problem.w[k] *= scale


@lazy_kernel
def exchange_states(problem, sufficient, x, n, best_residual, scratch) -> tuple[int, float]:
    """Iterate from the impulses x (m,), in place, until admissible impulses have the `sufficient` residual.

    Return the number of Newton steps and the smallest residual; its impulses become the best ones.
    """
    steps, opened, reach = 0, -1, 1.0
    compute_velocities(problem, x, scratch)
    size = compute_arguments(problem, x, scratch)
    read_states(problem, scratch)
    for _ in range(MAX_EXCHANGES):
        steps += solve_branches(problem, x, n, scratch)
        best_residual = keep_if_better(problem, x, best_residual, scratch)
        if best_residual <= sufficient:
            break
        compute_velocities(problem, x, scratch)
        size = compute_arguments(problem, x, scratch)
        if not size < math.inf:
            break
        if not correct_states(problem, UNDECIDED * size, scratch):
            row = shift_loads(problem, x, n, opened, reach, scratch)
            if row == JAMMED:
                break
            reach, opened = (FARTHER * reach, opened) if row < 0 else (1.0, row if scratch.state[row] == OPEN else -1)
            steps += 1
    return steps, best_residual


@kernel
def read_states(problem, scratch):
    """Set all states to those of the natural map at y."""
    for k in range(problem.equalities, end_of_contacts(problem)):
        if has_state(problem, k):
            scratch.state[k], _ = natural_state(problem, k, scratch)
    for i in range(len(problem.loads)):
        scratch.state[row_of_resistance(problem, i)] = OPEN
    correct_resistances(problem, 0.0, scratch)


@kernel
def correct_states(problem, undecided, scratch) -> bool:
    """Change the states that differ from the natural map at y by more than `undecided`; return whether any does.

    Of the open contacts that the map closes, only that of the largest distance closes.
    """
    changed, closing, farthest = False, -1, undecided
    for k in range(problem.equalities, end_of_contacts(problem)):
        if has_state(problem, k):
            state, distance = natural_state(problem, k, scratch)
            if scratch.state[k] == OPEN and state != OPEN and distance > farthest:
                closing, farthest = k, distance
            elif scratch.state[k] != OPEN and state != scratch.state[k] and distance > undecided:
                scratch.state[k], changed = state, True
    if closing >= 0:
        scratch.state[closing], _ = natural_state(problem, closing, scratch)
    return correct_resistances(problem, undecided, scratch) or changed or closing >= 0


@formula
def row_of_resistance(problem, i):
    """Return the first row of resistance i."""
    return end_of_contacts(problem) + PER_CONTACT * i


@kernel
def correct_resistances(problem, undecided, scratch) -> bool:
    """Change the states of resistances that differ from the natural map at y; return whether any does.

    Those of open contacts are open, and those of contacts that close have the state of the map.
    """
    changed, y, states = False, scratch.y, scratch.state
    for i in range(len(problem.loads)):
        k, load = row_of_resistance(problem, i), problem.loads[i]
        if states[load] == OPEN:
            states[k] = OPEN
            continue
        excess = math.hypot(y[k + 1], y[k + 2]) - problem.mu[first_resistance(problem) + i] * max(y[load], 0.0)
        state = SLIP if excess > 0.0 else STICK
        if states[k] == OPEN:
            states[k] = state
        elif states[k] != state and abs(excess) * math.sqrt(problem.w[k]) > undecided:
            states[k], changed = state, True
    return changed


@formula
def has_state(problem, k):
    """Return whether row k is that of a limit or the normal of a contact."""
    first = problem.constraint_rows
    return k < first or (k - first) % PER_CONTACT == 0


@kernel
def natural_state(problem, k, scratch) -> tuple[int, float]:
    """Return the state of row k in the natural map at y, and the distance of y from a change of state."""
    y, first, unit = scratch.y, problem.constraint_rows, math.sqrt(problem.w[k])
    if not y[k] > 0.0 or k < first:
        return STICK if y[k] > 0.0 else OPEN, abs(y[k]) * unit
    excess = math.hypot(y[k + 1], y[k + 2]) - problem.mu[(k - first) // PER_CONTACT] * y[k]
    return SLIP if excess > 0.0 else STICK, (y[k] if scratch.state[k] == OPEN else abs(excess)) * unit


# --- branches -------------------------------------------------------------------------------------------------------
@kernel
def solve_branches(problem, x, n, scratch) -> int:
    """Solve for the impulses x (m,) in place by Newton's method, with given states; return the number of steps."""
    last = math.inf
    for steps in range(MAX_STEPS):
        compute_velocities(problem, x, scratch)
        size = compute_arguments(problem, x, scratch)
        take_branches(problem, scratch)
        residual = largest_difference(problem, x, scratch) / size if size > 0.0 else 0.0
        if not (ROUND_OFF < residual <= CONVERGED * last):
            return steps
        last = residual
        compute_step(problem, COMPLIANCE, x, n, scratch)
    return MAX_STEPS


@kernel
def take_branches(problem, scratch):
    """Compute the branches of the projection of y for the states, and their derivatives, as `cones.project` does."""
    y, g, D, first = scratch.y, scratch.gamma, scratch.D, problem.constraint_rows
    for k in range(first):
        pressed = k < problem.equalities or scratch.state[k] != OPEN
        g[k], D[k, 0] = y[k] if pressed else 0.0, 1.0 if pressed else 0.0
    contacts = first_resistance(problem)
    for c in range(len(problem.mu)):
        k, mu = first + PER_CONTACT * c, problem.mu[c]
        if c >= contacts:
            scale = load_scale(problem, c - contacts)
            y[k], mu = scale * y[problem.loads[c - contacts]], mu / scale
        if scratch.state[k] == OPEN:
            write(k, g, D, 0.0, 0.0, 0.0)
        elif scratch.state[k] == STICK:
            write(k, g, D, y[k], y[k + 1], y[k + 2])
            write_across(k, D, 1.0, 0.0, 1.0, 1.0)
            D[k, 0] = 1.0
        else:
            length, limit = math.hypot(y[k + 1], y[k + 2]), mu * y[k]
            d1, d2 = direction_of(y, k, length)
            write(k, g, D, y[k], limit * d1, limit * d2)
            write_across(k, D, d1, d2, 0.0, min(max(limit / max(length, MIN_FRICTION_IMPULSE), 0.0), 1.0))
            D[k, 0], D[k + 1, 0], D[k + 2, 0] = 1.0, mu * d1, mu * d2
        if c >= contacts:
            g[k] = 0.0


# --- loads ----------------------------------------------------------------------------------------------------------
@kernel
def shift_loads(problem, x, n, opened, reach, scratch) -> int:
    """Shift the loads x (m,) by `reach` steps, or up to the first change of a state, which is made.

    The loads shift the other way if the row `opened` would open.  Return the row whose state changes, or -1; JAMMED if
    loads of any size that are shifted on change none.
    """
    m, before, step = len(x), scratch.before, scratch.shift
    for k in range(m):
        before[k] = x[k]
    take_branches(problem, scratch)
    compute_step(problem, SHIFT_COMPLIANCE, x, n, scratch)
    for k in range(m):
        step[k] = x[k] - before[k]
    row, share, state = first_change(problem, scratch)
    if row >= 0 and row == opened:
        for k in range(m):
            step[k] = -step[k]
        row, share, state = first_change(problem, scratch)
    if row < 0:
        copy(before, x, m)
        return JAMMED
    if share > reach:
        row, share = -1, reach
    for k in range(m):
        x[k] = before[k] + share * step[k]
    if row >= 0:
        scratch.state[row] = state
        if state == OPEN:
            for k in range(row, row + PER_CONTACT if row >= problem.constraint_rows else row + 1):
                x[k] = 0.0
            for i in range(len(problem.loads)):
                if problem.loads[i] == row:
                    first = row_of_resistance(problem, i)
                    scratch.state[first] = OPEN
                    for k in range(first, first + PER_CONTACT):
                        x[k] = 0.0
    return row


@kernel
def first_change(problem, scratch) -> tuple[int, float, int]:
    """Return the first row of the contact or limit whose state changes first, the number of steps, and the state.

    If none ever changes, return row -1.
    """
    x, step, first = scratch.before, scratch.shift, problem.constraint_rows
    row, share, state = -1, math.inf, OPEN
    for k in range(problem.equalities, len(problem.r)):
        if has_state(problem, k) and scratch.state[k] != OPEN:
            if step[k] < 0.0 and max(x[k], 0.0) < -share * step[k]:
                row, share, state = k, max(x[k], 0.0) / -step[k], OPEN
            if k >= first and scratch.state[k] == STICK:
                resistance = (k - end_of_contacts(problem)) // PER_CONTACT
                load = problem.loads[resistance] if resistance >= 0 else k
                limit = share_to_limit(problem.mu[(k - first) // PER_CONTACT], load, k, x, step)
                if limit < share:
                    row, share, state = k, limit, SLIP
    return row, share, state


@kernel
def share_to_limit(mu, load, k, x, step) -> float:
    """Return the share of a step at which the disc with rows from k on reaches its limit, mu times the row `load`."""
    a = step[k + 1] ** 2 + step[k + 2] ** 2 - (mu * step[load]) ** 2
    b = x[k + 1] * step[k + 1] + x[k + 2] * step[k + 2] - mu * mu * x[load] * step[load]
    c = x[k + 1] ** 2 + x[k + 2] ** 2 - (mu * x[load]) ** 2
    if c >= 0.0:
        return 0.0 if b > 0.0 else math.inf
    root = math.sqrt(max(b * b - a * c, 0.0))
    if b > 0.0:
        return -c / (b + root)
    return (root - b) / a if a > 0.0 else math.inf
