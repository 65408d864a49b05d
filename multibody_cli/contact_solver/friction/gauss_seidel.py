"""Projected Gauss-Seidel: each row, or the friction of each contact, is solved in turn with all others fixed.

A sweep takes O(m^2) where a pass takes O(m^3), but sweeps converge linearly, and more slowly for stacked bodies.
Newton's method (`newton`) completes them.

Source: Jean, The non-smooth contact dynamics method, Comput. Methods Appl. Mech. Eng. 177 (1999).
"""

from __future__ import annotations

from multibody_cli.contact_solver.friction.conditions import compute_row_velocities, tangent_weight
from multibody_cli.contact_solver.friction.friction_pass import change_impulse, project_friction_of_contact
from multibody_cli.contact_solver.friction.problem import friction_limit, normal_row
from multibody_cli.kernel import kernel
from multibody_cli.linalg.free_rows import zero_diagonal

SWEEPS, ROWS = 20, 4
"""Sweeps in place of one pair of passes: the first number, plus one for every `ROWS` rows."""


@kernel
def gauss_seidel_sweep(P, share, x, u):
    """Improve all impulses in x, with friction steps scaled by `share`; u is scratch."""
    floor = zero_diagonal(P.W)
    for _ in range(SWEEPS + len(x) // ROWS):
        compute_row_velocities(P, x, u)
        for i in range(P.equalities + P.limits):
            if P.W[i, i] > floor:
                target = x[i] - u[i] / P.W[i, i]
                change_impulse(P, i, (target if i < P.equalities else max(target, 0.0)) - x[i], x, u)
        for c in range(len(P.mu)):
            n = normal_row(P, c)
            if P.W[n, n] > floor:
                change_impulse(P, n, max(x[n] - u[n] / P.W[n, n], 0.0) - x[n], x, u)
            project_friction_of_contact(
                P, n, friction_limit(P.mu[c], x[n]), max(tangent_weight(P, n), floor), share, x, u
            )
