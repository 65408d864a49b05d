"""Solution of a small problem on its whole Delassus matrix."""

from __future__ import annotations

from multibody_cli.contact_solver.friction.factored import PER_CONTACT, delassus_entry
from multibody_cli.contact_solver.friction.problem import Options, Problem
from multibody_cli.contact_solver.friction.staggered_projections import solve_problem
from multibody_cli.kernel import kernel

MAX_DENSE_ROWS = 600
"""Largest number of rows of an island: a pass takes O(m^3)."""


def dense_contacts(options: Options, constraint_rows: int, capacity: int) -> int:
    """Return the number of contacts to allocate for the dense solvers."""
    return min(capacity, max(MAX_DENSE_ROWS - constraint_rows, 0) // PER_CONTACT) if options.dense else 0


@kernel
def solve_densely(F, options, x, S):
    """Solve for the impulses x (m,) of one problem; x holds a guess of the friction or NaN.  Return a `Report`."""
    m, contacts = len(F.r), len(F.mu)
    for k in range(m):
        S.r[k] = F.r[k]
        for h in range(k + 1):
            S.W[k, h] = S.W[h, k] = delassus_entry(F, k, h)
    for c in range(contacts):
        S.mu[c] = F.mu[c]
    return solve_problem(Problem(S.W[:m, :m], S.r[:m], S.mu[:contacts], F.equalities, F.limits), options, x, S)
