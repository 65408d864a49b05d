"""Projected Gauss-Seidel: each row, or the friction of each contact, against all others as they are, in turn.

A sweep takes O(m^2) where a pass takes O(m^3), but sweeps approach a solution linearly, and the more slowly the more
bodies stand on each other.  It is left to `newton` to end what they begin.

Source: Jean, The non-smooth contact dynamics method, Comput. Methods Appl. Mech. Eng. 177 (1999).
"""

from __future__ import annotations

from multibody_cli.contact_solver.friction.conditions import find_velocities, tangent_weight
from multibody_cli.contact_solver.friction.friction_pass import change, turn_disc
from multibody_cli.contact_solver.friction.problem import friction_limit, normal_row
from multibody_cli.kernel import kernel
from multibody_cli.linalg.free_rows import zero_diagonal

SWEEPS, ROWS = 20, 4
"""Sweeps that stand for one pair of passes: the first number, and one more for as many rows as the second says."""


@kernel
def sweep(P, share, x, u):
    """Improve all impulses in x, taking that share of the steps of friction; u is work."""
    floor = zero_diagonal(P.W)
    for _ in range(SWEEPS + len(x) // ROWS):
        find_velocities(P, x, u)
        for i in range(P.equalities + P.limits):
            if P.W[i, i] > floor:
                target = x[i] - u[i] / P.W[i, i]
                change(P, i, (target if i < P.equalities else max(target, 0.0)) - x[i], x, u)
        for c in range(len(P.mu)):
            n = normal_row(P, c)
            if P.W[n, n] > floor:
                change(P, n, max(x[n] - u[n] / P.W[n, n], 0.0) - x[n], x, u)
            turn_disc(P, n, friction_limit(P.mu[c], x[n]), max(tangent_weight(P, n), floor), share, x, u)
