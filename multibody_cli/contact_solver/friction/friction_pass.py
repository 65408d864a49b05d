"""The friction pass: equalities and friction that minimize 1/2 x.W x + r.x for fixed normals and limits.

This is the program (2.114) in Sueda's notes, with discs or polygons in place of its boxes.  Polygons give one program
with bounds.  Discs take a sequence of about four programs, each with a second-order approximation at the last solution
(sequential quadratic programming).  Sticking contacts are unconstrained rows, solved exactly.

`project_together` varies limits and normals as well, and keeps only the friction limits of the previous sweep.  It
solves sticking contacts in one sweep even if friction turns the bodies and redistributes their weight.

Between the programs, one sweep of projected Gauss-Seidel turns the friction of each contact against its sliding
direction.  The objective decreases in both; a program that would increase it is followed by a partial step.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.combinations import add_combined_impulses, combined_entry, combined_velocity
from multibody_cli.contact_solver.friction.conditions import (
    compute_row_velocities,
    disc_scale,
    limit_friction,
    problem_size,
    tangent_residual,
    tangent_weight,
)
from multibody_cli.contact_solver.friction.problem import normal_row
from multibody_cli.contact_solver.friction.tangent_frames import (
    add_discs,
    add_equalities,
    add_normals,
    add_polygons,
    clip_friction,
)
from multibody_cli.kernel import kernel
from multibody_cli.linalg.free_rows import zero_diagonal
from multibody_cli.linalg.multipliers import solve_multipliers

MAX_PROGRAMS = 12
"""Largest number of quadratic programs in one pass."""

EXACT = 1e-15
"""Residual, relative to the size of the problem, at round-off."""


@kernel
def project_friction(P, sides, x, S):
    """Replace friction and the impulses of equalities in x, which holds the initial guess."""
    limit_friction(P, x, S.radius)
    if sides == 0:
        project_discs(P, False, x, S)
    else:
        n = add_polygons(P, sides, add_equalities(P, S), S)
        set_initial_guess(S, n, x, False)
        solve_combined(P, n, x, S)
        clip_friction(P, S.radius, x)


@kernel
def project_together(P, x, S):
    """Replace all impulses in x, which holds the initial guess, for fixed friction limits."""
    limit_friction(P, x, S.radius)
    project_discs(P, True, x, S)


@kernel
def project_discs(P, together, x, S):
    """Replace friction in x within discs of radii `S.radius`, and, if `together`, limits and normals as well."""
    clip_friction(P, S.radius, x)
    before = math.inf
    for program in range(MAX_PROGRAMS):
        compute_row_velocities(P, x, S.u)
        if program > 0:
            gauss_seidel_friction(P, S.radius, x, S.u[: len(x)])
        n = add_equalities(P, S)
        if together:
            n = add_normals(P, n, S)
        n = add_discs(P, x, S.u, n, S)
        for i in range(len(x)):
            S.last[i] = x[i]
        set_initial_guess(S, n, x, program > 0)
        solve_combined(P, n, x, S)
        if clip_friction(P, S.radius, x) > EXACT:
            limit_step(P, x, S)
        compute_row_velocities(P, x, S.u)
        residual = tangent_residual(P, S.radius, x, S.u)
        if residual <= EXACT * problem_size(P, x, S.u) or (residual < 1e-12 * before and residual > 0.5 * before):
            break
        before = residual


@kernel
def solve_combined(P, n, x, S):
    """Solve the program for n combined rows, and store the solution in x."""
    for k in range(n):
        for g in range(3):
            if S.impulse_combinations.a[k, g] != 0.0:
                x[S.impulse_combinations.first[k] + g] = 0.0
    compute_row_velocities(P, x, S.u)
    for i in range(n):
        S.b[i] = combined_velocity(S.impulse_combinations, i, S.u)
        for k in range(i + 1):
            S.V[i, k] = combined_entry(S.impulse_combinations, i, P.W, S.impulse_combinations, k)
        S.V[i, i] += S.diagonal_shift[i]
    status = solve_multipliers(S.V[:n, :n], S.b[:n], S.lower[:n], S.upper[:n], S.y[:n], S.solver)
    add_combined_impulses(S.impulse_combinations, n, S.y, x)
    return status


@kernel
def set_initial_guess(S, n, x, again):
    """Set the initial guess of a program: the last solution, or none for the first program of a pass."""
    for k in range(n):
        S.y[k] = combined_velocity(S.impulse_combinations, k, x) if again else math.nan


@kernel
def limit_step(P, x, S):
    """If the step from S.last to x increases the objective, shorten it to the minimum along the step."""
    slope = curvature = 0.0
    compute_row_velocities(P, S.last, S.u)
    for i in range(len(x)):
        slope += S.u[i] * (x[i] - S.last[i])
        S.change[i] = -S.u[i]
    compute_row_velocities(P, x, S.u)
    for i in range(len(x)):
        curvature += (x[i] - S.last[i]) * (S.u[i] + S.change[i])
    if slope + 0.5 * curvature > 0.0:
        part = min(max(-slope / curvature, 0.0), 1.0) if curvature > 0.0 else 0.0
        for i in range(len(x)):
            x[i] = S.last[i] + part * (x[i] - S.last[i])


@kernel
def gauss_seidel_friction(P, radius, x, u):
    """Apply one sweep of projected Gauss-Seidel to the friction of all contacts; u is updated."""
    floor = zero_diagonal(P.W)
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        project_friction_of_contact(P, n, radius[c], max(tangent_weight(P, n), floor), 1.0, x, u)


@kernel
def project_friction_of_contact(P, n, radius, w, share, x, u):
    """Move the friction of one contact toward its projection by the fraction `share`."""
    y1, y2 = x[n + 1] - u[n + 1] / w, x[n + 2] - u[n + 2] / w
    accepted = disc_scale(y1, y2, radius)
    change_impulse(P, n + 1, share * (accepted * y1 - x[n + 1]), x, u)
    change_impulse(P, n + 2, share * (accepted * y2 - x[n + 2]), x, u)


@kernel
def change_impulse(P, i, step, x, u):
    """Change one impulse; u is updated."""
    if step != 0.0:
        x[i] += step
        for j in range(len(u)):
            u[j] += P.W[i, j] * step
