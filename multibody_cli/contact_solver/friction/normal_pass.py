"""The normal pass: equalities, limits and normal impulses that minimize 1/2 x.W x + r.x while friction stays as it is.

The program of (2.113) in Sueda's notes, with normal velocities positive where bodies separate.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import normal_row
from multibody_cli.kernel import kernel
from multibody_cli.linalg.multipliers import solve_multipliers


@kernel
def project_normals(P, x, S):
    """Replace all impulses in x but friction; the status of `solve_multipliers`.

    Friction is kept by bounds that leave it no choice.  No guess: redundant contacts share, whatever came before.
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
