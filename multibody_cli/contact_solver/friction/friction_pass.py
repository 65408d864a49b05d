"""The friction pass: equalities and friction that minimize 1/2 x.W x + r.x while normals and limits stay as they are.

The program of (2.114) in Sueda's notes, with discs or polygons in place of its boxes.  Polygons are one program with
bounds.  Discs are a few: each approximates them to second order around the last solution (sequential quadratic
programming), so that the solution is round-off after some four, and contacts that stick are free rows, solved exactly.

`project_together` lets limits and normals vary as well, so that only the limits of friction are of the sweep before:
what sticks is then solved at once, however much friction turns the bodies and shifts their weight.

Between the programs one sweep of projected Gauss-Seidel turns the friction of each contact against its sliding; the
objective falls in both, for a program that would raise it is followed only part of the way.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.combinations import combined, expand, product
from multibody_cli.contact_solver.friction.conditions import (
    find_velocities,
    inside,
    limit_friction,
    size_of,
    tangent_residual,
    tangent_weight,
)
from multibody_cli.contact_solver.friction.problem import normal_row
from multibody_cli.contact_solver.friction.tangent_frames import (
    place_discs,
    place_equalities,
    place_normals,
    place_polygons,
    pull_inside,
)
from multibody_cli.kernel import kernel
from multibody_cli.linalg.free_rows import zero_diagonal
from multibody_cli.linalg.multipliers import solve_multipliers

PROGRAMS = 12
"""Quadratic programs in one pass, at most."""

EXACT = 1e-15
"""Residual, relative to the size of the problem, below which a program more cannot help."""


@kernel
def project_friction(P, sides, x, S):
    """Replace friction and the impulses of equalities in x, which comes in as a guess."""
    limit_friction(P, x, S.radius)
    if sides == 0:
        project_discs(P, False, x, S)
    else:
        n = place_polygons(P, sides, place_equalities(P, S), S)
        guess(S, n, x, False)
        solve_combined(P, n, x, S)
        pull_inside(P, S.radius, x)


@kernel
def project_together(P, x, S):
    """Replace all impulses in x, with the limits of friction as they were; a guess."""
    limit_friction(P, x, S.radius)
    project_discs(P, True, x, S)


@kernel
def project_discs(P, together, x, S):
    """Replace friction in x, and limits and normals together with it or not, within discs of radii `S.radius`."""
    pull_inside(P, S.radius, x)
    before = math.inf
    for program in range(PROGRAMS):
        find_velocities(P, x, S.u)
        if program > 0:
            turn_discs(P, S.radius, x, S.u)
        n = place_equalities(P, S)
        if together:
            n = place_normals(P, n, S)
        n = place_discs(P, x, S.u, n, S)
        for i in range(len(x)):
            S.last[i] = x[i]
        guess(S, n, x, program > 0)
        solve_combined(P, n, x, S)
        if pull_inside(P, S.radius, x) > EXACT:
            go_part_of_the_way(P, x, S)
        find_velocities(P, x, S.u)
        residual = tangent_residual(P, S.radius, x, S.u)
        if residual <= EXACT * size_of(P, x, S.u) or (residual < 1e-12 * before and residual > 0.5 * before):
            break
        before = residual


@kernel
def solve_combined(P, n, x, S):
    """Put the solution of the program for n combined rows into x, in place of what they make up."""
    for k in range(n):
        for g in range(3):
            if S.made.a[k, g] != 0.0:
                x[S.made.first[k] + g] = 0.0
    find_velocities(P, x, S.u)
    for i in range(n):
        S.b[i] = combined(S.made, i, S.u)
        for k in range(i + 1):
            S.V[i, k] = product(S.made, i, P.W, S.made, k)
        S.V[i, i] += S.shift[i]
    status = solve_multipliers(S.V[:n, :n], S.b[:n], S.lower[:n], S.upper[:n], S.y[:n], S.solver)
    expand(S.made, n, S.y, x)
    return status


@kernel
def guess(S, n, x, again):
    """Begin with what the last program has found; the first has no guess, and redundant contacts share."""
    for k in range(n):
        S.y[k] = combined(S.made, k, x) if again else math.nan


@kernel
def go_part_of_the_way(P, x, S):
    """Where the step from S.last to x raises the objective, take the part of it that lowers it most."""
    slope = curvature = 0.0
    find_velocities(P, S.last, S.u)
    for i in range(len(x)):
        slope += S.u[i] * (x[i] - S.last[i])
        S.change[i] = -S.u[i]
    find_velocities(P, x, S.u)
    for i in range(len(x)):
        curvature += (x[i] - S.last[i]) * (S.u[i] + S.change[i])
    if slope + 0.5 * curvature > 0.0:
        part = min(max(-slope / curvature, 0.0), 1.0) if curvature > 0.0 else 0.0
        for i in range(len(x)):
            x[i] = S.last[i] + part * (x[i] - S.last[i])


@kernel
def turn_discs(P, radius, x, u):
    """One sweep of projected Gauss-Seidel over the friction of all contacts; u follows."""
    floor = zero_diagonal(P.W)
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        turn_disc(P, n, radius[c], max(tangent_weight(P, n), floor), 1.0, x, u)


@kernel
def turn_disc(P, n, radius, w, share, x, u):
    """Go that share of the way to the projection of the friction of one contact."""
    y1, y2 = x[n + 1] - u[n + 1] / w, x[n + 2] - u[n + 2] / w
    kept = inside(y1, y2, radius)
    change(P, n + 1, share * (kept * y1 - x[n + 1]), x, u)
    change(P, n + 2, share * (kept * y2 - x[n + 2]), x, u)


@kernel
def change(P, i, step, x, u):
    """Change one impulse; u follows."""
    if step != 0.0:
        x[i] += step
        for j in range(len(u)):
            u[j] += P.W[i, j] * step
