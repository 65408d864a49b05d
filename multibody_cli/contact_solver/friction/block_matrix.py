"""Sparse nonsymmetric linear systems of the form 1 + B^T D B, by elimination of 6 x 6 blocks.

Rows and columns are the nodes of `elimination_order`.  A node has a diagonal block, and for each later node
one block beside the diagonal and one below it, which is stored transposed.  There is no pivoting: 1
+ B^T D B is positive definite for symmetric D, and close to it otherwise.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.elimination_order import Elimination
from multibody_cli.contact_solver.friction.problem import BLOCKS_PER_ROW, NODE, PER_CONTACT, block_of_rows
from multibody_cli.contact_solver.friction.six_columns import (
    add_outer_product,
    add_transposed_product,
    copy_row,
    multiply_row,
    multiply_strip,
    solve_lower,
    solve_transposed_upper,
    subtract_transposed_product,
    subtract_transposed_vector_product,
)
from multibody_cli.kernel import Floats, Integers, kernel

ENTRIES = NODE * NODE
"""Entries of a block, row by row."""

STRIP = PER_CONTACT * NODE
"""Entries of three rows of B for one node."""


class BlockMatrix(NamedTuple):
    """Blocks of a matrix, one after the other; those of `lower` and `upper` in the order of `Elimination.later`."""

    elimination: Elimination
    diagonal: Annotated[Floats, "36 * nodes"]
    lower: Annotated[Floats, "18 * nodes * (nodes - 1)"]  # transposed; untouched pages take no memory
    upper: Annotated[Floats, "18 * nodes * (nodes - 1)"]
    node: Annotated[Integers, "nodes"]  # nodes of one contact
    rows: Annotated[Floats, "18 * nodes"]  # B of one contact, a strip for each node
    product: Annotated[Floats, "18 * nodes"]  # D B of one contact, in the same layout


# --- entries --------------------------------------------------------------------------------------------------------
@kernel
def clear(n, M):
    """Set the matrix to the identity."""
    nodes = n // NODE
    for k in range(nodes):
        for i in range(ENTRIES):
            M.diagonal[ENTRIES * k + i] = 0.0
        for i in range(NODE):
            M.diagonal[ENTRIES * k + (NODE + 1) * i] = 1.0
    for k in range(ENTRIES * M.elimination.begin[nodes]):
        M.lower[k] = 0.0
        M.upper[k] = 0.0


@kernel
def add_rows(F, k, rows, D, stiffness, M):
    """Add stiffness B^T D B for `rows` rows from k on, one or three; D (m, 3) are the derivatives of `cones`."""
    strips = 0
    for side in range(BLOCKS_PER_ROW):
        b = block_of_rows(F, k, rows, side)
        if b >= 0:
            for i in range(F.width[b] // NODE):
                M.node[strips] = F.start[b] // NODE + i
                load_strip(F, k, rows, side, b, NODE * i, STRIP * strips, M.rows)
                if rows == PER_CONTACT:
                    multiply_strip(D, k, M.rows, STRIP * strips, M.product, STRIP * strips, stiffness)
                else:
                    multiply_row(M.rows, STRIP * strips, M.product, STRIP * strips, stiffness * D[k, 0])
                strips += 1
    if rows == PER_CONTACT:
        add_strips((k - F.equalities - F.limits) // PER_CONTACT, strips, M)
    else:
        add_parts(strips, M)


@kernel
def load_strip(F, k, rows, side, b, offset, at, strips):
    """Copy the part of B of `rows` rows for six velocities of block b; rows that do not act on the block are 0."""
    for j in range(rows):
        if F.block[k + j, side] == b:
            copy_row(F.B, F.first[k + j, side] + offset, strips, at + NODE * j)
        else:
            for i in range(NODE):
                strips[at + NODE * j + i] = 0.0


@kernel
def add_strips(contact, strips, M):
    """Add the transposed strips of B times those of D B to the blocks of their nodes."""
    for p in range(strips):
        add_transposed_product(M.rows, STRIP * p, M.product, STRIP * p, M.diagonal, ENTRIES * M.node[p])
        for q in range(p):
            i, j = (q, p) if M.node[q] < M.node[p] else (p, q)
            e = ENTRIES * entry_of(contact, M.node[i], M.node[j], M.elimination)
            add_transposed_product(M.rows, STRIP * i, M.product, STRIP * j, M.upper, e)
            add_transposed_product(M.product, STRIP * i, M.rows, STRIP * j, M.lower, e)


@kernel
def add_parts(strips, M):
    """Add the parts of a transposed row of B times those of the row of D B to the blocks of their nodes."""
    for p in range(strips):
        add_outer_product(M.rows, STRIP * p, M.product, STRIP * p, M.diagonal, ENTRIES * M.node[p])
        for q in range(p):
            i, j = (q, p) if M.node[q] < M.node[p] else (p, q)
            e = ENTRIES * entry_of(-1, M.node[i], M.node[j], M.elimination)
            add_outer_product(M.rows, STRIP * i, M.product, STRIP * j, M.upper, e)
            add_outer_product(M.product, STRIP * i, M.rows, STRIP * j, M.lower, e)


@kernel
def entry_of(contact, i, j, E) -> int:
    """Return the place of node j among the later nodes of node i < j; both are of the same contact or constraint."""
    e = E.begin[i]
    if contact >= 0 and e + E.entry[contact] < E.begin[i + 1] and E.later[e + E.entry[contact]] == j:
        return e + E.entry[contact]
    while E.later[e] != j:
        e += 1
    return e


# --- elimination ----------------------------------------------------------------------------------------------------
@kernel
def factor_block(A, a):
    """Replace the block A by its LU factors, with unit lower triangle and inverse pivots on the diagonal."""
    for k in range(NODE):
        row = a + NODE * k
        A[row + k] = 1.0 / A[row + k]
        for i in range(k + 1, NODE):
            other = a + NODE * i
            A[other + k] *= A[row + k]
            for j in range(k + 1, NODE):
                A[other + j] -= A[other + k] * A[row + j]


@kernel
def eliminate(n, M):
    """Replace the matrix by its factors: a unit lower triangle, and an upper triangle with inverse pivots."""
    begin, later = M.elimination.begin, M.elimination.later
    for k in range(n // NODE):
        factor_block(M.diagonal, ENTRIES * k)
        for e in range(begin[k], begin[k + 1]):
            solve_transposed_upper(M.diagonal, ENTRIES * k, M.lower, ENTRIES * e)
            solve_lower(M.diagonal, ENTRIES * k, M.upper, ENTRIES * e)
        for e in range(begin[k], begin[k + 1]):
            subtract_transposed_product(M.lower, ENTRIES * e, M.upper, ENTRIES * e, M.diagonal, ENTRIES * later[e])
            f = begin[later[e]]
            for g in range(e + 1, begin[k + 1]):
                while later[f] != later[g]:
                    f += 1
                subtract_transposed_product(M.upper, ENTRIES * e, M.lower, ENTRIES * g, M.lower, ENTRIES * f)
                subtract_transposed_product(M.lower, ENTRIES * e, M.upper, ENTRIES * g, M.upper, ENTRIES * f)


@kernel
def substitute(n, M, y):
    """Solve in place for y (n,), after `eliminate`."""
    begin, later = M.elimination.begin, M.elimination.later
    for k in range(n // NODE):
        substitute_forward(M.diagonal, ENTRIES * k, y, NODE * k)
        for e in range(begin[k], begin[k + 1]):
            subtract_transposed_vector_product(M.lower, ENTRIES * e, y, NODE * k, y, NODE * later[e])
    for k in range(n // NODE - 1, -1, -1):
        for e in range(begin[k], begin[k + 1]):
            subtract_vector_product(M.upper, ENTRIES * e, y, NODE * later[e], NODE * k)
        substitute_backward(M.diagonal, ENTRIES * k, y, NODE * k)


@kernel
def substitute_forward(A, a, y, i):
    """Replace six entries of y, from i on, by L^-1 of them, with the factors A of `factor_block`."""
    for k in range(1, NODE):
        for j in range(k):
            y[i + k] -= A[a + NODE * k + j] * y[i + j]


@kernel
def substitute_backward(A, a, y, i):
    """Replace six entries of y, from i on, by U^-1 of them, with the factors A of `factor_block`."""
    for k in range(NODE - 1, -1, -1):
        for j in range(k + 1, NODE):
            y[i + k] -= A[a + NODE * k + j] * y[i + j]
        y[i + k] *= A[a + (NODE + 1) * k]


@kernel
def subtract_vector_product(A, a, y, i, j):
    """Subtract the product of the block A and six entries of y, from i on, from those from j on."""
    p, q, r, s, t, u = y[i], y[i + 1], y[i + 2], y[i + 3], y[i + 4], y[i + 5]
    for h in range(NODE):
        at = a + NODE * h
        y[j + h] -= (A[at] * p + A[at + 1] * q + A[at + 2] * r) + (A[at + 3] * s + A[at + 4] * t + A[at + 5] * u)
