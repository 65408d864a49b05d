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
def clear(n, matrix):
    """Set the matrix to the identity."""
    nodes = n // NODE
    for k in range(nodes):
        for i in range(ENTRIES):
            matrix.diagonal[ENTRIES * k + i] = 0.0
        for i in range(NODE):
            matrix.diagonal[ENTRIES * k + (NODE + 1) * i] = 1.0
    for k in range(ENTRIES * matrix.elimination.begin[nodes]):
        matrix.lower[k] = 0.0
        matrix.upper[k] = 0.0


@kernel
def add_rows(problem, k, rows, D, stiffness, matrix):
    """Add stiffness B^T D B for `rows` rows from k on, one or three; D (m, 3) are the derivatives of `cones`."""
    strips = 0
    for side in range(BLOCKS_PER_ROW):
        b = block_of_rows(problem, k, rows, side)
        if b >= 0:
            for i in range(problem.width[b] // NODE):
                matrix.node[strips] = problem.start[b] // NODE + i
                load_strip(problem, k, rows, side, b, NODE * i, STRIP * strips, matrix.rows)
                if rows == PER_CONTACT:
                    multiply_strip(D, k, matrix.rows, STRIP * strips, matrix.product, STRIP * strips, stiffness)
                else:
                    multiply_row(matrix.rows, STRIP * strips, matrix.product, STRIP * strips, stiffness * D[k, 0])
                strips += 1
    if rows == PER_CONTACT:
        add_strips((k - problem.constraint_rows) // PER_CONTACT, strips, matrix)
    else:
        add_parts(strips, matrix)


@kernel
def load_strip(problem, k, rows, side, b, offset, at, strips):
    """Copy the part of B of `rows` rows for six velocities of block b; rows that do not act on the block are 0."""
    for j in range(rows):
        if problem.block[k + j, side] == b:
            copy_row(problem.B, problem.first[k + j, side] + offset, strips, at + NODE * j)
        else:
            for i in range(NODE):
                strips[at + NODE * j + i] = 0.0


@kernel
def add_strips(contact, strips, matrix):
    """Add the transposed strips of B times those of D B to the blocks of their nodes."""
    for p in range(strips):
        add_transposed_product(
            matrix.rows, STRIP * p, matrix.product, STRIP * p, matrix.diagonal, ENTRIES * matrix.node[p]
        )
        for q in range(p):
            i, j = (q, p) if matrix.node[q] < matrix.node[p] else (p, q)
            e = ENTRIES * entry_of(contact, matrix.node[i], matrix.node[j], matrix.elimination)
            add_transposed_product(matrix.rows, STRIP * i, matrix.product, STRIP * j, matrix.upper, e)
            add_transposed_product(matrix.product, STRIP * i, matrix.rows, STRIP * j, matrix.lower, e)


@kernel
def add_parts(strips, matrix):
    """Add the parts of a transposed row of B times those of the row of D B to the blocks of their nodes."""
    for p in range(strips):
        add_outer_product(matrix.rows, STRIP * p, matrix.product, STRIP * p, matrix.diagonal, ENTRIES * matrix.node[p])
        for q in range(p):
            i, j = (q, p) if matrix.node[q] < matrix.node[p] else (p, q)
            e = ENTRIES * entry_of(-1, matrix.node[i], matrix.node[j], matrix.elimination)
            add_outer_product(matrix.rows, STRIP * i, matrix.product, STRIP * j, matrix.upper, e)
            add_outer_product(matrix.product, STRIP * i, matrix.rows, STRIP * j, matrix.lower, e)


@kernel
def entry_of(contact, i, j, elimination) -> int:
    """Return the place of node j among the later nodes of node i < j; both are of the same contact or constraint."""
    e = elimination.begin[i]
    if (
        contact >= 0
        and e + elimination.entry[contact] < elimination.begin[i + 1]
        and elimination.later[e + elimination.entry[contact]] == j
    ):
        return e + elimination.entry[contact]
    while elimination.later[e] != j:
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
def eliminate(n, matrix):
    """Replace the matrix by its factors: a unit lower triangle, and an upper triangle with inverse pivots."""
    begin, later = matrix.elimination.begin, matrix.elimination.later
    for k in range(n // NODE):
        factor_block(matrix.diagonal, ENTRIES * k)
        for e in range(begin[k], begin[k + 1]):
            solve_transposed_upper(matrix.diagonal, ENTRIES * k, matrix.lower, ENTRIES * e)
            solve_lower(matrix.diagonal, ENTRIES * k, matrix.upper, ENTRIES * e)
        for e in range(begin[k], begin[k + 1]):
            subtract_transposed_product(
                matrix.lower, ENTRIES * e, matrix.upper, ENTRIES * e, matrix.diagonal, ENTRIES * later[e]
            )
            f = begin[later[e]]
            for g in range(e + 1, begin[k + 1]):
                while later[f] != later[g]:
                    f += 1
                subtract_transposed_product(
                    matrix.upper, ENTRIES * e, matrix.lower, ENTRIES * g, matrix.lower, ENTRIES * f
                )
                subtract_transposed_product(
                    matrix.lower, ENTRIES * e, matrix.upper, ENTRIES * g, matrix.upper, ENTRIES * f
                )


@kernel
def substitute(n, matrix, y):
    """Solve in place for y (n,), after `eliminate`."""
    begin, later = matrix.elimination.begin, matrix.elimination.later
    for k in range(n // NODE):
        substitute_forward(matrix.diagonal, ENTRIES * k, y, NODE * k)
        for e in range(begin[k], begin[k + 1]):
            subtract_transposed_vector_product(matrix.lower, ENTRIES * e, y, NODE * k, y, NODE * later[e])
    for k in range(n // NODE - 1, -1, -1):
        for e in range(begin[k], begin[k + 1]):
            subtract_vector_product(matrix.upper, ENTRIES * e, y, NODE * later[e], NODE * k)
        substitute_backward(matrix.diagonal, ENTRIES * k, y, NODE * k)


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
