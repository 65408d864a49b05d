"""What a friction problem is made of, how it is to be solved, and what is told of the solution.

Rows, in this order: equalities, one-sided rows (limits), and three for each contact: normal, tangent, tangent.  With
impulses x (m,), the rows have the velocities u = W x + r after the impulses, W = J M^-1 J^T.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import formula
from multibody_cli.linalg import free_rows

LEAST_SIDES = 4
"""Sides of a pyramid, at least."""

LEAST_FRICTION = 1e-150
"""Friction impulse that counts as 0, so that nothing overflows that is divided by it."""


class Problem(NamedTuple):
    """One problem: kernels of this room take it whole."""

    W: NDArray[np.float64]  # (m, m) symmetric, both triangles
    r: NDArray[np.float64]  # (m,) velocities of the rows without impulses
    mu: NDArray[np.float64]  # (contacts,) coefficients of friction
    equalities: int
    limits: int


class Options(NamedTuple):
    """How to solve."""

    tolerance: float = 1e-11  # of the residual, relative to the size of the problem (`conditions`)
    sweeps: int = 100  # pairs of passes, at most
    sides: int = 0  # 0: friction limits are discs; even, 4 or more: regular polygons inside of the discs
    dense: bool = False  # whether by passes over the whole Delassus matrix; else by the proximal method
    single_qp: bool = False  # Anitescu's one quadratic program over the pyramid of `sides`


class Report(NamedTuple):
    """How it ended."""

    status: int  # SOLVED, CONTRADICTORY, UNFINISHED or NOT_FINITE of `linalg.multipliers`
    sweeps: int  # pairs of passes
    steps: int  # steps of Newton's method
    residual: float  # the worst condition, relative to the size of the problem
    change: float  # of the impulses in the last sweep, in the norm of M^-1, relative to that of the impulses


class Combinations(NamedTuple):
    """Rows made of up to three rows of W that follow each other: coefficients a of rows first, first + 1, first + 2."""

    first: NDArray[np.int64]  # (p,)
    a: NDArray[np.float64]  # (p, 3)


class Scratch(NamedTuple):
    """Work arrays of one solver; m rows, and up to p in a pass."""

    W: NDArray[np.float64]  # (m, m)
    r: NDArray[np.float64]  # (m,)
    mu: NDArray[np.float64]  # (contacts,)
    radius: NDArray[np.float64]  # (contacts,) limits of friction
    x: NDArray[np.float64]  # (m,)
    u: NDArray[np.float64]  # (m,)
    best: NDArray[np.float64]  # (m,) impulses worth keeping
    kept: NDArray[np.float64]  # (m,) the best impulses that meet the tolerance
    before: NDArray[np.float64]  # (m,) impulses before a sweep
    last: NDArray[np.float64]  # (m,) impulses before a step
    change: NDArray[np.float64]  # (m,) W times a change of impulses
    made: Combinations  # what impulses are varied
    read: Combinations  # what velocities are wanted
    scale: NDArray[np.float64]  # (p,) units of what is varied
    weight: NDArray[np.float64]  # (p,) units of what is wanted, inverted
    shift: NDArray[np.float64]  # (p,) added to the diagonal
    V: NDArray[np.float64]  # (p, p) W of combined rows
    b: NDArray[np.float64]  # (p,)
    y: NDArray[np.float64]  # (p,)
    lower: NDArray[np.float64]  # (p,)
    upper: NDArray[np.float64]  # (p,)
    order: NDArray[np.int64]  # (p,)
    solver: Any  # of `linalg.multipliers`, for p rows
    island: NDArray[np.int64]  # (m,) of which island a row is: the number of its first row
    rows: NDArray[np.int64]  # (m,) the rows of one island


def combinations_for(p: int) -> Combinations:
    """Room for p combined rows."""
    return Combinations(np.zeros(p, np.int64), np.zeros((p, 3)))


def scratch_for(equalities: int, limits: int, contacts: int, options: Options) -> Scratch:
    """Allocate the work arrays for up to so many rows, solved with these options."""
    m = equalities + limits + 3 * contacts
    edges = max(options.sides, LEAST_SIDES) if options.single_qp else options.sides
    p = max(m, equalities + limits + edges * contacts)
    return Scratch(
        W=np.zeros((m, m)),
        r=np.zeros(m),
        mu=np.zeros(contacts),
        radius=np.zeros(contacts),
        x=np.zeros(m),
        u=np.zeros(m),
        best=np.zeros(m),
        kept=np.zeros(m),
        before=np.zeros(m),
        last=np.zeros(m),
        change=np.zeros(m),
        made=combinations_for(p),
        read=combinations_for(p),
        scale=np.zeros(p),
        weight=np.zeros(p),
        shift=np.zeros(p),
        V=np.zeros((p, p)),
        b=np.zeros(p),
        y=np.zeros(p),
        lower=np.zeros(p),
        upper=np.zeros(p),
        order=np.zeros(p, np.int64),
        solver=free_rows.scratch_for(p),
        island=np.zeros(m, np.int64),
        rows=np.zeros(m, np.int64),
    )


@formula
def normal_row(P, c):
    """Row of the normal of contact c; its tangents follow."""
    return P.equalities + P.limits + 3 * c


@formula
def friction_limit(mu, alpha):
    """Radius of the disc of friction impulses; no normal impulse, no friction, however large mu is."""
    return mu * alpha if alpha > 0.0 and mu * alpha > LEAST_FRICTION else 0.0
