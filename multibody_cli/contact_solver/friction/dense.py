"""A problem of few rows by its whole Delassus matrix."""

from __future__ import annotations

from multibody_cli.contact_solver.friction.factored import PER_CONTACT, entry
from multibody_cli.contact_solver.friction.problem import Options, Problem
from multibody_cli.contact_solver.friction.staggered_projections import solve_problem
from multibody_cli.kernel import kernel

MOST_ROWS = 600
"""Rows of an island, at most: a pass takes O(m^3)."""


def dense_contacts(options: Options, others: int, room: int) -> int:
    """For how many contacts to allocate, beside other rows, where there is room for so many in all."""
    return min(room, max(MOST_ROWS - others, 0) // PER_CONTACT) if options.dense else 0


@kernel
def solve_densely(F, options, x, S):
    """Impulses of one problem into x (m,), which comes in as a guess of the friction, or NaN; a `Report`."""
    m, contacts = len(F.r), len(F.mu)
    for k in range(m):
        S.r[k] = F.r[k]
        for h in range(k + 1):
            S.W[k, h] = S.W[h, k] = entry(F, k, h)
    for c in range(contacts):
        S.mu[c] = F.mu[c]
    return solve_problem(Problem(S.W[:m, :m], S.r[:m], S.mu[:contacts], F.equalities, F.limits), options, x, S)
