"""Equality: u = 0, with an impulse of any sign.  P(y) = y."""

from __future__ import annotations

from multibody_cli.contact_solver.laws.contract import Law
from multibody_cli.kernel import formula


@formula
def project(coefficient, n, y, P, D):
    """`laws.contract.project`; there is no coefficient."""
    P[n] = y[n]
    D[n, 0] = 1.0


LAW = Law("equality", 1, project)
