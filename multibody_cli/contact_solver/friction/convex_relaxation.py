"""Normal impulses and friction in one quadratic program, as Anitescu has it.

Impulses of a contact are non-negative combinations of the edges (1, mu d_i) of a pyramid with regular polygons d_i, so
that 1/2 x.W x + r.x is minimized over non-negative numbers.  One program instead of a fixed point, but another law:
its conditions say that u_n + mu d_i.u_t >= 0 for all i, so while a contact slides it separates with u_n = mu |u_t|
(between corners cos(pi / sides) times that at least).  Where all contacts stick it agrees with Coulomb's law.

Source: Anitescu, Mathematical Programming 105 (2006); (1.85)-(1.88) of Sueda's notes.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.combinations import put
from multibody_cli.contact_solver.friction.friction_pass import guess, solve_combined
from multibody_cli.contact_solver.friction.problem import normal_row
from multibody_cli.contact_solver.friction.tangent_frames import bound
from multibody_cli.kernel import kernel


@kernel
def solve_single(P, sides, x, S):
    """Solve the program into x; the status of `solve_multipliers`."""
    k = 0
    for i in range(P.equalities + P.limits):
        put(S.made, k, i, 1.0, 0.0, 0.0)
        bound(S, k, -math.inf if i < P.equalities else 0.0, math.inf)
        k += 1
    for c in range(len(P.mu)):
        for i in range(sides if P.mu[c] > 0.0 else 1):
            angle = 2.0 * math.pi * i / sides
            put(S.made, k, normal_row(P, c), 1.0, P.mu[c] * math.cos(angle), P.mu[c] * math.sin(angle))
            bound(S, k, 0.0, math.inf)
            k += 1
    for i in range(len(x)):
        x[i] = 0.0
    guess(S, k, x, False)
    return solve_combined(P, k, x, S)
