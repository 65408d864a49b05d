"""Proximal iterations: gamma = P(x - u / R), u = B xi + b, xi = xi0 + B^T gamma (`proximal`), by Newton's method.

P is piecewise smooth.  A step is shortened a few times at most, because an iteration with more compliance is cheaper
than many short steps.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.block_matrix import add_rows, clear, eliminate, substitute
from multibody_cli.contact_solver.friction.cones import omit_load, project
from multibody_cli.contact_solver.friction.natural_map import relative_residual, set_normal_velocities
from multibody_cli.contact_solver.friction.problem import (
    PER_CONTACT,
    accumulate_transposed,
    compute_row_velocities,
    copy,
    end_of_contacts,
    first_resistance,
    step_along,
)
from multibody_cli.kernel import kernel

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

ROUND_OFF, NEAR_ROUND_OFF = 1e-14, 1e-8
"""Residual that cannot be improved, and residual below which a lack of improvement is due to round-off."""

EXACT = 1e-12
"""Residual of a guess from which iterations are those that would be the last ones."""

ACCURACY, MAX_ACCURACY = 0.01, 1e-3
"""Residual of the equation for xi: relative to the residual of the previous iteration, and its largest value."""

MAX_STEPS = 12
"""Largest number of Newton steps of an iteration."""

MIN_SHARE = 0.3
"""Share of a Newton step below which it is not shortened further."""

EQUATION_TOLERANCE, LOOSE_EQUATION_TOLERANCE = 1e-13, 1e-9
"""Residual of the equation for xi, relative to its terms: tolerance, and tolerance once steps no longer halve it."""


@kernel
def equation_residual(problem, compliance, proximal_point, xi, scratch) -> tuple[float, float]:
    """Compute gamma, its derivatives, and the residual xi - xi0 - B^T gamma; return its norm and that of B^T gamma."""
    xi_residual = scratch.xi_residual[: len(xi)]
    compute_row_velocities(problem, xi, scratch.u)
    for k in range(len(problem.r)):
        scratch.y[k] = proximal_point[k] - scratch.u[k] / (compliance * problem.w[k])
    project(problem, scratch.y, scratch.gamma, scratch.D)
    norm = scale = 0.0
    for i in range(len(xi)):
        xi_residual[i] = 0.0
    accumulate_transposed(problem, scratch.gamma, xi_residual)
    for i in range(len(xi)):
        scale += xi_residual[i] * xi_residual[i]
        xi_residual[i] = xi[i] - scratch.xi0[i] - xi_residual[i]
        norm += xi_residual[i] * xi_residual[i]
    return math.sqrt(norm), math.sqrt(scale)


@kernel
def add_resistances(problem, compliance, scratch):
    """Add the resistances of contacts to the matrix."""
    for i in range(len(problem.loads)):
        k = end_of_contacts(problem) + PER_CONTACT * i
        if scratch.D[k, 0] != 0.0:
            omit_load(k, scratch.D)
            add_rows(problem, k, PER_CONTACT, scratch.D, 1.0 / (compliance * problem.w[k]), scratch.matrix)


@kernel
def compute_step(problem, compliance, n, scratch):
    """Compute the Newton step from the result of `equation_residual` into `scratch.step`."""
    matrix = scratch.matrix
    clear(n, matrix)
    for k in range(problem.constraint_rows):
        if scratch.D[k, 0] != 0.0:
            add_rows(problem, k, 1, scratch.D, 1.0 / (compliance * problem.w[k]), matrix)
    for c in range(first_resistance(problem)):
        k = problem.constraint_rows + PER_CONTACT * c
        if scratch.D[k, 0] != 0.0 and (
            c >= problem.friction_patches or scratch.D[k + 1, 1] != 0.0 or scratch.D[k + 2, 2] != 0.0
        ):
            add_rows(problem, k, PER_CONTACT, scratch.D, 1.0 / (compliance * problem.w[k]), matrix)
    if len(problem.loads) > 0:
        add_resistances(problem, compliance, scratch)
    eliminate(n, matrix)
    step = scratch.step[:n]
    for i in range(n):
        step[i] = -scratch.xi_residual[i]
    substitute(n, matrix, step)


@kernel
def follow_coulomb(problem, compliance, accuracy, proximal_point, xi, scratch) -> tuple[int, bool]:
    """Solve for xi in place by Newton's method, updating gamma; return the number of steps, and convergence."""
    n = len(xi)
    norm, scale = equation_residual(problem, compliance, proximal_point, xi, scratch)
    for steps in range(MAX_STEPS):
        if norm <= accuracy * scale:
            return steps, True
        compute_step(problem, compliance, n, scratch)
        share = 1.0
        step_along(xi, share, scratch.step, scratch.trial[:n])
        now, scale = equation_residual(problem, compliance, proximal_point, scratch.trial[:n], scratch)
        if now <= LOOSE_EQUATION_TOLERANCE * scale and now > 0.5 * norm:
            step_along(xi, share, scratch.step, xi)
            return steps + 1, True
        while not now < (1.0 - 0.1 * share) * norm and share > MIN_SHARE:
            share *= 0.5
            step_along(xi, share, scratch.step, scratch.trial[:n])
            now, scale = equation_residual(problem, compliance, proximal_point, scratch.trial[:n], scratch)
        if not now < norm:
            return steps + 1, norm <= LOOSE_EQUATION_TOLERANCE * scale
        for i in range(n):
            xi[i] = scratch.trial[i]
        norm = now
    return MAX_STEPS, norm <= max(accuracy, LOOSE_EQUATION_TOLERANCE) * scale


# --- proximal iterations --------------------------------------------------------------------------------------------
@kernel
def proximal_iterations(problem, sufficient, near_round_off, x, n, best_residual, scratch) -> tuple[int, float]:
    """Iterate from x, which is unchanged; return the number of Newton steps and the smallest residual.

    Iterations end at the `sufficient` residual, or below `near_round_off` if they improve nothing.
    """
    xi, last_xi = scratch.xi_iterate[:n], scratch.xi_last[:n]
    set_normal_velocities(problem, x, xi, scratch)
    copy(xi, last_xi, n)
    copy(x, scratch.proximal_point, len(x))
    largest = MAX_INITIAL_COMPLIANCE if is_guessed(x) else UNGUESSED_COMPLIANCE
    compliance = min(max(INITIAL_RATIO * best_residual, MIN_INITIAL_COMPLIANCE), largest)
    steps, last, polishing = 0, 1.0, False
    if best_residual <= EXACT:
        last, polishing, compliance = best_residual, True, POLISHING_COMPLIANCE
    for _ in range(MAX_ITERATIONS):
        accuracy = max(min(ACCURACY * last, MAX_ACCURACY), EQUATION_TOLERANCE)
        new_steps, met = follow_coulomb(problem, compliance, accuracy, scratch.proximal_point, xi, scratch)
        steps += new_steps
        if not met:
            if polishing or steps > MAX_TOTAL_STEPS:
                break
            copy(last_xi, xi, n)
            compliance *= INCREASE
            continue
        copy(scratch.gamma, scratch.proximal_point, len(x))
        residual = relative_residual(problem, scratch.proximal_point, scratch)
        if residual < best_residual:
            best_residual = residual
            copy(scratch.proximal_point, scratch.best, len(x))
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
def is_guessed(x) -> bool:
    """Return whether any impulse is not 0."""
    guessed = False
    for k in range(len(x)):
        guessed = guessed or x[k] != 0.0
    return guessed
