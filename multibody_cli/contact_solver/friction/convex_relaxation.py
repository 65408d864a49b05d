"""Anitescu's convex relaxation: normal impulses and friction in one quadratic program.

Impulses of a contact are non-negative combinations of the edges (1, mu d_i) of a pyramid over a regular polygon d_i,
and minimize 1/2 x.W x + r.x.  The relaxation is one program instead of a fixed point, with different conditions: u_n +
mu d_i.u_t >= 0 for all i, so that a sliding contact separates with u_n = mu |u_t| (between corners at least cos(pi /
sides) times that).  It agrees with Coulomb's law if all contacts stick.

Source: Anitescu, Mathematical Programming 105 (2006); (1.85)-(1.88) of Sueda's notes.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.combinations import set_combination
from multibody_cli.contact_solver.friction.friction_pass import set_initial_guess, solve_combined
from multibody_cli.contact_solver.friction.problem import normal_row
from multibody_cli.contact_solver.friction.tangent_frames import bound
from multibody_cli.kernel import kernel


@kernel
def solve_convex_relaxation(P, sides, x, S):
    """Solve the program for x (m,); return the status of `solve_multipliers`."""
    k = 0
    for i in range(P.equalities + P.limits):
        set_combination(S.impulse_combinations, k, i, 1.0, 0.0, 0.0)
        bound(S, k, -math.inf if i < P.equalities else 0.0, math.inf)
        k += 1
    for c in range(len(P.mu)):
        for i in range(sides if P.mu[c] > 0.0 else 1):
            angle = 2.0 * math.pi * i / sides
            set_combination(
                S.impulse_combinations, k, normal_row(P, c), 1.0, P.mu[c] * math.cos(angle), P.mu[c] * math.sin(angle)
            )
            bound(S, k, 0.0, math.inf)
            k += 1
    for i in range(len(x)):
        x[i] = 0.0
    set_initial_guess(S, k, x, False)
    return solve_combined(P, k, x, S)
