"""Friction problems, solver options, scratch arrays and reports.

Rows are ordered: equalities, unilateral rows (limits), and three rows for each contact: normal, tangent, tangent.
Impulses x (m,) result in row velocities u = W x + r with the Delassus matrix W = J M^-1 J^T.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import formula
from multibody_cli.linalg import free_rows

MIN_SIDES = 4
"""Smallest number of sides of a friction polygon."""

MIN_FRICTION_IMPULSE = 1e-150
"""Friction impulses below this value count as 0, to avoid overflow in divisions."""


class Problem(NamedTuple):
    """A friction problem with its whole Delassus matrix."""

    W: NDArray[np.float64]  # (m, m) symmetric, both triangles
    r: NDArray[np.float64]  # (m,) velocities of the rows without impulses
    mu: NDArray[np.float64]  # (contacts,) coefficients of friction
    equalities: int
    limits: int


class Options(NamedTuple):
    """Solver options."""

    tolerance: float = 1e-11  # of the residual, relative to the size of the problem (`conditions`)
    sweeps: int = 100  # pairs of passes
    sides: int = 0  # 0: friction discs; an even number of 4 or more: regular polygons inscribed in the discs
    dense: bool = False  # whether to use the whole Delassus matrix instead of the proximal method
    single_qp: bool = False  # whether to solve Anitescu's convex relaxation on a pyramid with `sides` sides


class Report(NamedTuple):
    """Result of a solve."""

    status: int  # SOLVED, CONTRADICTORY, UNFINISHED or NOT_FINITE of `linalg.multipliers`
    sweeps: int  # pairs of passes
    steps: int  # Newton steps
    residual: float  # largest violation of a condition, relative to the size of the problem
    change: float  # (m,) W times a change of impulses


class Combinations(NamedTuple):
    """Linear combinations of up to three consecutive rows: coefficients a of rows first, first + 1, first + 2."""

    first: NDArray[np.int64]  # (p,)
    a: NDArray[np.float64]  # (p, 3)


class Scratch(NamedTuple):
    """Work arrays of the dense solvers, for m rows and up to p combined rows in a pass."""

    W: NDArray[np.float64]  # (m, m)
    r: NDArray[np.float64]  # (m,)
    mu: NDArray[np.float64]  # (contacts,)
    radius: NDArray[np.float64]  # (contacts,) friction limits
    x: NDArray[np.float64]  # (m,)
    u: NDArray[np.float64]  # (m,)
    best: NDArray[np.float64]  # (m,) impulses with the smallest residual so far
    accepted: NDArray[np.float64]  # (m,) best impulses that meet the tolerance
    before: NDArray[np.float64]  # (m,) impulses before a sweep
    last: NDArray[np.float64]  # (m,) impulses before a step
    change: NDArray[np.float64]  # (m,) W times a change of impulses
    impulse_combinations: Combinations  # impulse directions that are varied
    velocity_combinations: Combinations  # velocity conditions
    scale: NDArray[np.float64]  # (p,) scales of the impulse directions
    weight: NDArray[np.float64]  # (p,) inverse scales of the velocity conditions
    diagonal_shift: NDArray[np.float64]  # (p,) added to the diagonal
    V: NDArray[np.float64]  # (p, p) Delassus matrix of the combined rows
    b: NDArray[np.float64]  # (p,)
    y: NDArray[np.float64]  # (p,)
    lower: NDArray[np.float64]  # (p,)
    upper: NDArray[np.float64]  # (p,)
    order: NDArray[np.int64]  # (p,)
    solver: Any  # of `linalg.multipliers`, for p rows
    island: NDArray[np.int64]  # (m,) island of each row: the number of its first row
    rows: NDArray[np.int64]  # (m,) the rows of one island


def combinations_for(p: int) -> Combinations:
    """Allocate p combined rows."""
    return Combinations(np.zeros(p, np.int64), np.zeros((p, 3)))


def scratch_for(equalities: int, limits: int, contacts: int, options: Options) -> Scratch:
    """Allocate the work arrays for up to so many rows, for solves with these options."""
    m = equalities + limits + 3 * contacts
    edges = max(options.sides, MIN_SIDES) if options.single_qp else options.sides
    p = max(m, equalities + limits + edges * contacts)
    return Scratch(
        W=np.zeros((m, m)),
        r=np.zeros(m),
        mu=np.zeros(contacts),
        radius=np.zeros(contacts),
        x=np.zeros(m),
        u=np.zeros(m),
        best=np.zeros(m),
        accepted=np.zeros(m),
        before=np.zeros(m),
        last=np.zeros(m),
        change=np.zeros(m),
        impulse_combinations=combinations_for(p),
        velocity_combinations=combinations_for(p),
        scale=np.zeros(p),
        weight=np.zeros(p),
        diagonal_shift=np.zeros(p),
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
    """Return the normal row of contact c; its two tangent rows follow."""
    return P.equalities + P.limits + 3 * c


@formula
def friction_limit(mu, alpha):
    """Return the radius of the friction disc; 0 without normal impulse."""
    return mu * alpha if alpha > 0.0 and mu * alpha > MIN_FRICTION_IMPULSE else 0.0
