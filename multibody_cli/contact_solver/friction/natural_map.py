"""Newton's method for Coulomb's law as the fixed point of a projection, the *natural map* x -> P(x - u / w).

With the row scales w, Coulomb's law states x = P(x - u / w).  P is piecewise smooth; with its derivative D at x - u / w
a step satisfies

    (1 - D) dx + D (B dxi / w + eps dx) = P - x,   dxi = B^T dx.

The compliance eps makes the step unique if rows are redundant: of all impulses that hold, it chooses those closest to
x.  It scales the step alone and not the argument of P, which decides whether a contact sticks, slides or separates, and
so the states of the contacts do not depend on it.  With K = (1 - D + eps D)^-1, eliminating dx contact by contact
leaves

    (1 + B^T K D / w B) dxi = B^T K (P - x),   dx = K (P - x) - K D B dxi / w

with the sparsity of the contact graph.  Steps are not shortened: the residual may increase while contacts change their
states, and decreases quickly once they are right.  From the impulses of the previous time step, a few steps suffice.
They may cycle; the caller then continues with more robust iterations (`proximal`).

Source: Alart and Curnier, Comput. Methods Appl. Mech. Eng. 92 (1991).
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.block_matrix import add_rows, clear, eliminate, substitute
from multibody_cli.contact_solver.friction.cones import multiply, omit_load, project
from multibody_cli.contact_solver.friction.problem import (
    PER_CONTACT,
    accumulate_transposed,
    add_row_product,
    compute_row_velocities,
    end_of_contacts,
    first_resistance,
    load_scale,
)
from multibody_cli.kernel import kernel, lazy_kernel

COMPLIANCE, MORE_COMPLIANCE, PATIENCE = 1e-4, 3e-3, 4
"""Compliance of a row relative to its own W; its value after so many steps without a smaller residual, until there is
one.
"""

MIN_COMPLIANCE, DECREASE, SLOW = 1e-8, 0.1, 0.5
"""Least compliance, and the factor of the compliance after a step that leaves more than a share of the residual."""

LEAST_SIZE = 1e-5
"""Least size of a problem, relative to the speed of its bodies without impulses: the default tolerance of this is
about the round-off of their velocities, as for a capsule that rolls on without loads.
"""

MAX_STEPS = 40
"""Largest number of steps."""


# --- residual -------------------------------------------------------------------------------------------------------
@kernel
def set_normal_velocities(problem, x, xi, scratch):
    """Compute xi = xi0 + B^T x."""
    for i in range(len(xi)):
        xi[i] = scratch.xi0[i]
    accumulate_transposed(problem, x, xi)


@kernel
def relative_residual(problem, x, scratch) -> float:
    """Return the largest |x - P(x - u / w)| sqrt(w) relative to the problem's size (`dense`); gamma becomes that P."""
    compute_velocities(problem, x, scratch)
    return residual_of_velocities(problem, x, scratch)


@kernel
def compute_velocities(problem, x, scratch):
    """Compute the velocities u and xi that result from the impulses x (m,)."""
    after = scratch.xi_residual[: length_of_xi(problem)]
    set_normal_velocities(problem, x, after, scratch)
    compute_row_velocities(problem, after, scratch.u)


@kernel
def length_of_xi(problem) -> int:
    """Return the number of normal velocities."""
    n = 0
    for b in range(len(problem.width)):
        n += problem.width[b]
    return n


@kernel
def residual_of_velocities(problem, x, scratch) -> float:
    """Return the residual of impulses whose velocities are known, infinity if the problem's size is not finite.

    gamma becomes P(x - u / w).
    """
    size = compute_arguments(problem, x, scratch)
    project(problem, scratch.y, scratch.gamma, scratch.D)
    worst = largest_difference(problem, x, scratch)
    if size == math.inf:
        return math.inf
    return worst / size if size > 0.0 else worst


@kernel
def compute_arguments(problem, x, scratch) -> float:
    """Compute y = x - u / w; return the size of the problem, infinity if it is infinite or no number."""
    size = motion = 0.0
    for i in range(length_of_xi(problem)):
        size += (scratch.xi_residual[i] - scratch.xi0[i]) ** 2
        motion += scratch.xi0[i] * scratch.xi0[i]
    finite = size < math.inf
    size = max(math.sqrt(size), LEAST_SIZE * math.sqrt(motion))
    for k in range(len(problem.r)):
        size = max(size, abs(problem.r[k]) / math.sqrt(problem.w[k]))
        scratch.y[k] = x[k] - scratch.u[k] / problem.w[k]
    for c in range(problem.friction_patches):  # a patch pressed at rest has a size as well
        k = problem.constraint_rows + PER_CONTACT * c
        size = max(size, x[k] * math.sqrt(problem.w[k]))
    return size if finite else math.inf


@kernel
def largest_difference(problem, x, scratch) -> float:
    """Return the largest |x - gamma| sqrt(w); infinity if an entry is no number."""
    worst = nothing = 0.0
    for k in range(len(problem.r)):
        worst = max(worst, abs(x[k] - scratch.gamma[k]) * math.sqrt(problem.w[k]))
        nothing += 0.0 * scratch.gamma[k]
    return math.inf if nothing != 0.0 else worst  # the largest of some numbers may pass over one that is none


@kernel
def keep_if_better(problem, x, best_residual, scratch) -> float:
    """Project the impulses x by Coulomb's law and keep the result if it is the best; return the smallest residual."""
    project(problem, x, scratch.proximal_point, scratch.D)
    residual = relative_residual(problem, scratch.proximal_point, scratch)
    if residual < best_residual:
        for k in range(len(problem.r)):
            scratch.best[k] = scratch.proximal_point[k]
        return residual
    return best_residual


# --- steps ----------------------------------------------------------------------------------------------------------
@kernel
def follow_natural_map(problem, sufficient, x, n, scratch) -> tuple[int, float]:
    """Iterate for the impulses x (m,) in place, until admissible impulses have the `sufficient` residual.

    Return the number of steps and the residual of these impulses, which become the best ones; infinity if there are
    none.
    """
    least = last = best_residual = math.inf
    steps, stalled, compliance = 0, 0, COMPLIANCE
    residual = relative_residual(problem, x, scratch)
    while residual < math.inf:
        if residual <= sufficient:
            best_residual = keep_if_better(problem, x, best_residual, scratch)
            if best_residual <= sufficient:
                break
            residual = relative_residual(problem, x, scratch)
        if steps == MAX_STEPS:
            break
        stalled = 0 if residual < least else stalled + 1
        if stalled >= PATIENCE:
            compliance = MORE_COMPLIANCE
        elif SLOW * last < residual <= last:
            compliance = max(DECREASE * compliance, MIN_COMPLIANCE)
        else:
            compliance = COMPLIANCE
        least, last = min(least, residual), residual
        compute_step(problem, compliance, x, n, scratch)
        residual = residual_of_velocities(problem, x, scratch)
        steps += 1
    return steps, best_residual


@kernel
def fastest_motion(problem, n, scratch) -> tuple[float, float]:
    """Return the speed of the bodies and the largest sliding speed, relative to the speed without impulses.

    The speeds are those of the last `relative_residual`.  Problems without contacts count as sliding.
    """
    before = after = sliding = 0.0
    for i in range(n):
        before += scratch.xi0[i] * scratch.xi0[i]
        after += scratch.xi_residual[i] * scratch.xi_residual[i]
    for c in range(len(problem.mu)):
        k = problem.constraint_rows + PER_CONTACT * c
        if scratch.D[k, 0] != 0.0:
            sliding = max(
                sliding, (scratch.u[k + 1] * scratch.u[k + 1] + scratch.u[k + 2] * scratch.u[k + 2]) / problem.w[k]
            )
    if len(problem.mu) == 0 or before == 0.0:
        return math.inf, math.inf
    return math.sqrt(after / before), math.sqrt(sliding / before)


@kernel
def compute_step(problem, compliance, x, n, scratch):
    """Add a Newton step with that compliance to x (m,), and its effect to u and xi, from `relative_residual`."""
    matrix, change, constraint_rows = scratch.matrix, scratch.y, problem.constraint_rows
    clear(n, matrix)
    for k in range(len(x)):
        change[k] = scratch.gamma[k] - x[k]
    for k in range(constraint_rows):
        pressed = scratch.D[k, 0] != 0.0
        change[k] *= 1.0 / compliance if pressed else 1.0
        scratch.D[k, 0] *= 1.0 / compliance
        if pressed:
            add_rows(problem, k, 1, scratch.D, 1.0 / problem.w[k], matrix)
    for c in range(first_resistance(problem)):
        k = constraint_rows + PER_CONTACT * c
        if has_derivative(k, scratch.D):
            eliminate_contact(k, compliance, change, scratch.D)
            add_rows(problem, k, PER_CONTACT, scratch.D, 1.0 / problem.w[k], matrix)
    if len(problem.loads) > 0:
        add_resistances(problem, compliance, x, change, scratch)
    eliminate(n, matrix)
    step = scratch.step[:n]
    for i in range(n):
        step[i] = 0.0
    accumulate_transposed(problem, change[: len(x)], step)
    substitute(n, matrix, step)
    for i in range(n):
        scratch.xi_residual[i] += step[i]
    for k in range(len(x)):
        velocity_change = add_row_product(problem, k, step, 0.0)
        scratch.u[k] += velocity_change
        scratch.gamma[k] = velocity_change / problem.w[k]
    for k in range(constraint_rows):
        x[k] += change[k] - scratch.D[k, 0] * scratch.gamma[k]
    for c in range(len(problem.mu)):
        k = constraint_rows + PER_CONTACT * c
        multiply(k, scratch.D, scratch.gamma)
        for j in range(k, k + PER_CONTACT):
            x[j] += change[j] - scratch.gamma[j]


@lazy_kernel
def add_resistances(problem, compliance, x, change, scratch):
    """Eliminate the resistances of contacts: apart, since in the loop over contacts they slow piles by a seventh."""
    for i in range(len(problem.loads)):
        k, load = end_of_contacts(problem) + PER_CONTACT * i, problem.loads[i]
        if has_derivative(k, scratch.D):
            change[k] = load_scale(problem, i) * (scratch.gamma[load] - x[load])
            eliminate_contact(k, compliance, change, scratch.D)
            change[k] = 0.0
            omit_load(k, scratch.D)
            add_rows(problem, k, PER_CONTACT, scratch.D, 1.0 / problem.w[k], scratch.matrix)


@kernel
def has_derivative(k, D) -> bool:
    """Return whether the projection of the contact with rows from k on has a derivative other than 0."""
    return D[k, 0] != 0.0 or D[k + 1, 1] != 0.0 or D[k + 2, 2] != 0.0


@kernel
def eliminate_contact(k, compliance, change, D):
    """Replace D by K D and `change` by K `change`, for the three rows from k on; K D = (K - 1) / (1 - eps)."""
    scale = 1.0 - compliance
    a, b, c = 1.0 - scale * D[k, 0], -scale * D[k, 1], -scale * D[k, 2]
    d, e, f = -scale * D[k + 1, 0], 1.0 - scale * D[k + 1, 1], -scale * D[k + 1, 2]
    g, h, i = -scale * D[k + 2, 0], -scale * D[k + 2, 1], 1.0 - scale * D[k + 2, 2]
    over = 1.0 / (a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g))
    D[k, 0], D[k, 1], D[k, 2] = over * (e * i - f * h), over * (c * h - b * i), over * (b * f - c * e)
    D[k + 1, 0], D[k + 1, 1], D[k + 1, 2] = over * (f * g - d * i), over * (a * i - c * g), over * (c * d - a * f)
    D[k + 2, 0], D[k + 2, 1], D[k + 2, 2] = over * (d * h - e * g), over * (b * g - a * h), over * (a * e - b * d)
    multiply(k, D, change)
    for j in range(PER_CONTACT):
        for at in range(PER_CONTACT):
            D[k + j, at] = (D[k + j, at] - (1.0 if j == at else 0.0)) / scale
