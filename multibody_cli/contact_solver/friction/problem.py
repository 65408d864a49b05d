"""Friction problems with a factored Delassus matrix W = B B^T, stored by nonzero blocks; options and reports.

Rows are ordered: equalities, unilateral rows (limits), and three rows for each *disc*: friction patches, contacts
(normal, tangent, tangent), and resistances of contacts to rolling and spinning (`contact_solver.resistance`).
Impulses x (m,) result in row velocities u = W x + r with the Delassus matrix W = J M^-1 J^T.

Row k of B is the response of row k to the *normal velocities* xi of the articulations it acts on, in which the kinetic
energy is 1/2 xi.xi: B = J L with M^-1 = L L^T.  With xi0 the normal velocities without impulses, impulses x result in

    u = B xi + b,   xi = xi0 + B^T x,   r = B xi0 + b.

The offset b, due to gaps and prescribed motion, is the only nonzero term for bodies at rest, so that u is not computed
as a difference of large numbers.

Each articulation is a *block* of xi, filled up to a multiple of six velocities by zeros in B and xi0.  Contact rows and
unilateral rows have at most two blocks, equalities one.  In loops over blocks, side 0 is body A of a contact and side 1
is body B.  W has as many entries as there are pairs of rows on a common articulation; B has one or two blocks for each
row.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.six_columns import COLUMNS, add_row
from multibody_cli.contact_solver.laws import COULOMB
from multibody_cli.kernel import Floats, Integers, formula, kernel
from multibody_cli.linalg.pivoted_lu import NEGLIGIBLE

PER_CONTACT = 3
"""Rows of one contact."""

MIN_FRICTION_IMPULSE = 1e-150
"""Friction impulses below this value count as 0, to avoid overflow in divisions."""

LEAST_SLIP = 1e-12
"""Slip that no impulse changes, relative to the other velocities of the problem, up to which it is round-off."""

NODE = COLUMNS
"""Normal velocities are stored in groups of six; the width of a block is a multiple of it."""

BLOCKS_PER_ROW = 2
"""Largest number of articulations that a row acts on."""


class Options(NamedTuple):
    """Solver options."""

    tolerance: float = 1e-10  # of the residual, relative to the size of the problem
    sweeps: int = 200  # largest number of iterations
    staggered: bool = False  # whether to use staggered projections instead of the proximal method
    law: int = COULOMB  # of contacts (`contact_solver.laws`)
    sleeping: bool = False  # whether islands at rest keep their impulses (`contact_solver.sleeping`)
    impacts: int = 1  # law of impact (`contact_solver.impacts`)


class SolutionReport(NamedTuple):
    """Result of a solve."""

    status: int  # SOLVED, CONTRADICTORY, UNFINISHED or NOT_FINITE of `linalg.multipliers`
    sweeps: int  # iterations
    steps: int  # Newton steps
    residual: float  # largest violation of a condition, relative to the size of the problem


class Factored(NamedTuple):
    """A friction problem."""

    B: Floats  # entries of all blocks, one block after the other
    first: Integers  # (m, 2) start of the entries of a row in B, for each side
    block: Integers  # (m, 2) block of xi of each side; -1 for none
    start: Integers  # (blocks,) start of each block in xi
    width: Integers  # (blocks,) number of normal velocities of each block, a multiple of six
    xi0: Floats  # (n,) normal velocities without impulses, in the order of block numbers
    r: Floats  # (m,) velocities of the rows without impulses
    b: Floats  # (m,) offset, see above
    w: Floats  # (m,) scale of each row: its diagonal entry of W, one value for the three rows of a contact
    mu: Floats  # (discs,) coefficients of friction; of resistances, m
    loads: Integers  # (resistances,) normal row of the contact of each trailing disc
    equalities: int
    constraint_rows: int  # number of equalities and of limits
    friction_patches: int  # number of leading discs that are friction patches: normal impulse given, no normal row
    law: int  # of contacts


class FactoredScratch(NamedTuple):
    """Storage of a `Factored` problem."""

    first: Annotated[Integers, "m", BLOCKS_PER_ROW]
    block: Annotated[Integers, "m", BLOCKS_PER_ROW]
    start: Annotated[Integers, "blocks"]
    width: Annotated[Integers, "blocks"]
    xi0: Annotated[Floats, "6 * nodes"]
    r: Annotated[Floats, "m"]
    b: Annotated[Floats, "m"]
    w: Annotated[Floats, "m"]
    mu: Annotated[Floats, "contacts"]
    loads: Annotated[Integers, "contacts"]


@formula
def first_contact_row(problem):
    """Return the first row of the contacts, which follows those of friction patches."""
    return problem.constraint_rows + PER_CONTACT * problem.friction_patches


@formula
def first_resistance(problem):
    """Return the number of the first disc that is a resistance of a contact; those before have loads of their own."""
    return len(problem.mu) - len(problem.loads)


@formula
def end_of_contacts(problem):
    """Return the row after those of the contacts."""
    return len(problem.r) - PER_CONTACT * len(problem.loads)


@formula
def load_scale(problem, i):
    """Return the factor from the normal impulse of a contact to the load of resistance i, in the scale of its rows."""
    return problem.w[problem.loads[i]] / problem.w[end_of_contacts(problem) + PER_CONTACT * i]


@kernel
def add_row_product(problem, k, xi, total):
    """Return total + (B xi)_k."""
    for side in range(BLOCKS_PER_ROW):
        b = problem.block[k, side]
        if b >= 0:
            at, start = problem.first[k, side], problem.start[b]
            total += product_of_six(problem.B, at, xi, start)
            for i in range(NODE, problem.width[b], NODE):
                total += product_of_six(problem.B, at + i, xi, start + i)
    return total


@formula
def product_of_six(B, p, xi, q):
    """Return the scalar product of six entries of B, from p on, and of xi, from q on."""
    return (B[p] * xi[q] + B[p + 1] * xi[q + 1] + B[p + 2] * xi[q + 2]) + (
        B[p + 3] * xi[q + 3] + B[p + 4] * xi[q + 4] + B[p + 5] * xi[q + 5]
    )


@kernel
def compute_row_velocities(problem, xi, u):
    """Compute u = B xi + b."""
    for k in range(len(problem.b)):
        u[k] = add_row_product(problem, k, xi, problem.b[k])


@kernel
def copy(x, y, m):
    """Copy the first m entries of x into y."""
    for k in range(m):
        y[k] = x[k]


@kernel
def step_along(start, share, step, trial):
    """Compute the point start + share step."""
    for i in range(len(start)):
        trial[i] = start[i] + share * step[i]


@kernel
def set_free_velocity(problem, xi):
    """Set xi = xi0, at the positions of the blocks in xi."""
    at = 0
    for b in range(len(problem.width)):
        for i in range(problem.width[b]):
            xi[problem.start[b] + i] = problem.xi0[at + i]
        at += problem.width[b]


@kernel
def compute_offset(problem, xi0):
    """Compute b = r - B xi0."""
    for k in range(len(problem.b)):
        problem.b[k] = 0.0
    compute_row_velocities(problem, xi0, problem.b)
    for k in range(len(problem.b)):
        problem.b[k] = problem.r[k] - problem.b[k]


@kernel
def accumulate_transposed(problem, x, xi):
    """Add B^T x to xi."""
    for k in range(len(problem.r)):
        if x[k] != 0.0:
            add_row_response(problem, k, x[k], xi)


@kernel
def add_row_response(problem, k, x, xi):
    """Add the normal velocities due to an impulse x of row k to xi."""
    for side in range(BLOCKS_PER_ROW):
        b = problem.block[k, side]
        if b >= 0:
            at, start = problem.first[k, side], problem.start[b]
            add_row(problem.B, at, xi, start, x)
            for i in range(NODE, problem.width[b], NODE):
                add_row(problem.B, at + i, xi, start + i, x)


@kernel
def delassus_entry(problem, k, h):
    """Return entry (k, h) of W."""
    B, total = problem.B, 0.0
    for side in range(BLOCKS_PER_ROW):
        for other in range(BLOCKS_PER_ROW):
            b = problem.block[k, side]
            if b >= 0 and b == problem.block[h, other]:
                for i in range(problem.width[b]):
                    total += B[problem.first[k, side] + i] * B[problem.first[h, other] + i]
    return total


@kernel
def block_of_rows(problem, k, rows, side):
    """Return the block of `rows` rows starting at k on one side; -1 if none of the rows has one."""
    block = problem.block[k, side]
    for j in range(1, rows):
        block = max(block, problem.block[k + j, side])
    return block


@kernel
def remove_rows_without_response(problem):
    """Compute the diagonal of W into w, and remove the rows whose entry is negligible.

    No impulse changes their velocities, which count as 0, except for slip under a load beyond round-off, as that of a
    body that a drive moves over the floor: friction opposes it.  The arm of a resistance is the length that compares
    its response and its slip with those of the other rows.
    """
    largest, largest_moment, spin, moments = 0.0, 0.0, 0.0, end_of_contacts(problem)
    for k in range(len(problem.r)):
        problem.w[k] = delassus_entry(problem, k, k)
        if k < moments:
            largest = max(largest, problem.w[k])
        elif (k - moments) % PER_CONTACT > 0:
            largest_moment = max(largest_moment, problem.w[k])
            spin = max(spin, abs(problem.r[k]))
    for k in range(len(problem.r)):
        least = NEGLIGIBLE * largest
        if k >= moments:
            arm = problem.mu[(k - problem.constraint_rows) // PER_CONTACT]
            least = max(NEGLIGIBLE * largest_moment, least / (arm * arm))
        if not problem.w[k] > least:
            problem.w[k] = 0.0
            for side in range(BLOCKS_PER_ROW):
                problem.block[k, side] = -1
    speed = LEAST_SLIP * speed_of_rows(problem)
    for k in range(len(problem.r)):
        if problem.w[k] == 0.0:
            round_off = speed * math.sqrt(largest)
            if k >= moments:
                arm = problem.mu[(k - problem.constraint_rows) // PER_CONTACT]
                round_off = max(speed * math.sqrt(largest_moment), LEAST_SLIP * spin, round_off / arm)
            if not (is_loaded_tangent(problem, k) and abs(problem.r[k]) > round_off):
                problem.r[k] = 0.0
            if k < problem.constraint_rows:
                problem.w[k] = 1.0


@kernel
def is_loaded_tangent(problem, k) -> bool:
    """Return whether row k is a tangent of a disc with a load: given, or of a normal that is in the problem."""
    place, first_moment = k - problem.constraint_rows, end_of_contacts(problem)
    if place < 0 or place % PER_CONTACT == 0:
        return False
    if k < first_contact_row(problem):
        return True
    normal = k - place % PER_CONTACT if k < first_moment else problem.loads[(k - first_moment) // PER_CONTACT]
    return problem.w[normal] > 0.0


@kernel
def speed_of_rows(problem) -> float:
    """Return the largest velocity without impulses, in the mass norm, of the bodies and of rows with a response w."""
    square, n = 0.0, 0
    for b in range(len(problem.width)):
        n += problem.width[b]
    for i in range(n):
        square += problem.xi0[i] * problem.xi0[i]
    for k in range(len(problem.r)):
        if problem.w[k] > 0.0:
            square = max(square, problem.r[k] * problem.r[k] / problem.w[k])
    return math.sqrt(square)


@kernel
def scale_rows(problem):
    """Compute the row scales w of the rows that have a response; the two tangents of a contact have one scale."""
    remove_rows_without_response(problem)
    moments = end_of_contacts(problem)
    for c in range(len(problem.mu)):
        n = problem.constraint_rows + PER_CONTACT * c
        a, b, d = problem.w[n + 1], delassus_entry(problem, n + 1, n + 2), problem.w[n + 2]
        scale = 0.5 * (a + d) + math.sqrt(0.25 * (a - d) * (a - d) + b * b)
        if n < moments:
            scale = max(problem.w[n], scale)
        for k in range(n, n + PER_CONTACT):
            problem.w[k] = scale if scale > 0.0 else 1.0
