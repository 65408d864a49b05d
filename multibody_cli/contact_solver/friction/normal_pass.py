"""The normal pass: equalities, limits and normal impulses that minimize 1/2 x.W x + r.x for fixed friction.

This is the program (2.113) in Sueda's notes, with normal velocities positive for separating bodies.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import normal_row
from multibody_cli.kernel import kernel
from multibody_cli.linalg.multipliers import solve_multipliers


@kernel
def project_normals(P, x, S):
    """Replace all impulses in x except friction; return the status of `solve_multipliers`.

    Friction is fixed by equal bounds.  There is no initial guess, so that redundant contacts share loads by minimum
    norm.
    """
    m = len(P.r)
    for i in range(m):
        S.lower[i] = 0.0
        S.upper[i] = math.inf
    for i in range(P.equalities):
        S.lower[i] = -math.inf
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        for i in range(n + 1, n + 3):
            S.lower[i] = x[i]
            S.upper[i] = x[i]
    for i in range(P.equalities + P.limits):
        x[i] = math.nan
    for c in range(len(P.mu)):
        x[normal_row(P, c)] = math.nan
    return solve_multipliers(P.W, P.r, S.lower[:m], S.upper[:m], x, S.solver)
