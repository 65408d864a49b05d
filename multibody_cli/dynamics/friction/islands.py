"""Islands: rows that do not feel each other are problems of their own.

Two rows are on one island if impulses of the one move the other, directly or over other rows; the three rows of a
contact always are.  Islands are numbered by their first rows, solved in that order, and small.
"""

from __future__ import annotations

from multibody_cli.dynamics.friction.problem import Problem, Report
from multibody_cli.dynamics.friction.staggered_projections import solve_problem
from multibody_cli.dynamics.multipliers import SOLVED
from multibody_cli.kernel import formula, kernel

COUPLED = 1e-30
"""W_ij^2 relative to W_ii W_jj above which rows feel each other: (1e-15)^2, round-off."""


@kernel
def solve_contacts(W, r, mu, equalities, limits, options, x, scratch):
    """Impulses of equalities, limits and contacts with friction into x (m,): a `Report` of the worst island.

    Parameters
    ----------
    W
        Delassus matrix (m, m), of which the lower triangle is read; may be singular.
    r
        Velocities (m,) of the rows without impulses: of normals with what gap and restitution add.
    mu
        Coefficients of friction (contacts,); the contacts' rows follow the equalities and limits.
    options
        `problem.Options`.
    x
        Impulses; comes in as a guess of the friction, or NaN.  A guess decides nothing but the number of sweeps, where
        the solution is unique.
    scratch
        `problem.scratch_for` the same options, and for as many rows at least.
    """
    find_islands(W, len(r), equalities + limits, scratch.island)
    worst = Report(SOLVED, 0, 0, 0.0, 0.0)
    for first in range(len(r)):
        if scratch.island[first] == first:
            worst = worse(worst, solve_island(W, r, mu, equalities, limits, first, options, x, scratch))
    return worst


@kernel
def solve_island(W, r, mu, equalities, limits, first, options, x, S):
    """Solve the island of row `first`, as compact arrays."""
    n = own_equalities = own_limits = contacts = 0
    for i in range(len(r)):
        if S.island[i] == first:
            S.rows[n] = i
            n += 1
            own_equalities += i < equalities
            own_limits += equalities <= i < equalities + limits
            contact = i - equalities - limits
            if contact >= 0 and contact % 3 == 0:
                S.mu[contacts] = mu[contact // 3]
                contacts += 1
    for i in range(n):
        S.r[i] = r[S.rows[i]]
        S.x[i] = x[S.rows[i]]
        for j in range(i + 1):
            S.W[i, j] = S.W[j, i] = W[S.rows[i], S.rows[j]]
    P = Problem(S.W[:n, :n], S.r[:n], S.mu[:contacts], own_equalities, own_limits)
    report = solve_problem(P, options, S.x[:n], S)
    for i in range(n):
        x[S.rows[i]] = S.x[i]
    return report


@kernel
def find_islands(W, m, first_normal, island):
    """Number the islands: `island` (m,) becomes the first row of the island of each row."""
    for i in range(m):
        island[i] = i
    for i in range(m):
        for j in range(i):
            if not W[i, j] * W[i, j] <= COUPLED * abs(W[i, i] * W[j, j]):
                join(island, i, j)
    for i in range(first_normal, m):
        join(island, i, i - (i - first_normal) % 3)
    for i in range(m):
        island[i] = root(island, i)


@kernel
def root(island, i):
    """The first row of the island that row i is known to be on."""
    while island[i] != i:
        island[i] = island[island[i]]
        i = island[i]
    return i


@kernel
def join(island, i, j):
    """Make the islands of two rows one."""
    a, b = root(island, i), root(island, j)
    island[max(a, b)] = min(a, b)


@formula
def larger(a, b):
    """The larger of two numbers, or NaN if one is."""
    return a if a > b or a != a else b


@kernel
def worse(a, b):
    """Two reports as one."""
    return Report(
        max(a.status, b.status),
        max(a.sweeps, b.sweeps),
        max(a.steps, b.steps),
        larger(a.residual, b.residual),
        larger(a.change, b.change),
    )
