"""One-sided row: x >= 0, u >= 0 and x u = 0.  P(y) = max(y, 0)."""

from __future__ import annotations

from multibody_cli.contact_solver.laws.contract import Law
from multibody_cli.kernel import formula


@formula
def project(coefficient, n, y, P, D):
    """`laws.contract.project`; there is no coefficient."""
    P[n] = y[n] if y[n] > 0.0 else 0.0
    D[n, 0] = 1.0 if y[n] > 0.0 else 0.0


LAW = Law("one-sided", 1, project)
