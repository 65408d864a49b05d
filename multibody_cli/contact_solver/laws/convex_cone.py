"""The convex relaxation of Coulomb's law.

P projects the three impulses of a contact onto the nearest point of the cone |beta| <= mu alpha, which is the gradient
of a function.  Its velocities are in the dual cone, u_n >= mu |u_t|, so that a contact that slides separates with u_n =
mu |u_t|.  It agrees with Coulomb's law if all contacts stick.

Sources: Anitescu, Math. Program. 105 (2006), and Sueda, notes (1.85)-(1.88), with a pyramid in place of the cone.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import MIN_FRICTION_IMPULSE, PER_CONTACT
from multibody_cli.contact_solver.laws.contract import Law
from multibody_cli.contact_solver.laws.coulomb import WITHIN, direction_of, write, write_across
from multibody_cli.kernel import kernel


@kernel
def project(mu, n, y, P, D):
    """`laws.contract.project` with the coefficient of friction."""
    length = math.hypot(y[n + 1], y[n + 2])
    if length <= mu * y[n]:
        write(n, P, D, y[n], y[n + 1], y[n + 2])
        write_across(n, D, 1.0, 0.0, 1.0, 1.0)
        D[n, 0] = 1.0
    elif y[n] + mu * length <= 0.0:
        write(n, P, D, 0.0, 0.0, 0.0)
    else:
        d1, d2 = direction_of(y, n, length)
        share = 1.0 / (1.0 + mu * mu)
        alpha = share * (y[n] + mu * length)
        radius = WITHIN * mu * alpha
        write(n, P, D, alpha, radius * d1, radius * d2)
        write_across(n, D, d1, d2, share * mu * mu, radius / max(length, MIN_FRICTION_IMPULSE))
        D[n, 0] = share
        D[n + 1, 0] = D[n, 1] = share * mu * d1
        D[n + 2, 0] = D[n, 2] = share * mu * d2


LAW = Law("convex relaxation", PER_CONTACT, project)
