"""Friction of a contact along each of two tangents: |beta_i| <= mu alpha, a square in place of Coulomb's disc."""

from __future__ import annotations

from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.laws.contract import Law
from multibody_cli.contact_solver.laws.coulomb import write
from multibody_cli.kernel import kernel


@kernel
def project(mu, n, y, P, D):
    """`laws.contract.project` with the coefficient of friction along each tangent."""
    alpha = max(y[n], 0.0)
    bound = mu * alpha
    write(n, P, D, alpha, min(max(y[n + 1], -bound), bound), min(max(y[n + 2], -bound), bound))
    D[n, 0] = 1.0 if alpha > 0.0 else 0.0
    for i in range(n + 1, n + PER_CONTACT):
        if abs(y[i]) <= bound:
            D[i, i - n] = 1.0
        else:
            D[i, 0] = (mu if y[i] > 0.0 else -mu) * D[n, 0]


LAW = Law("pyramid", PER_CONTACT, project)
