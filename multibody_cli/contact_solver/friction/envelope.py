"""Sparse nonsymmetric linear systems of the form 1 + B^T D B, by elimination within the envelope.

Blocks joined by a contact are neighbours.  The Cuthill-McKee order places neighbours close to each other, so that
entries of row and column i start at first[i], and elimination causes no fill outside the envelope.  There is no
pivoting: 1 + B^T D B is positive definite for symmetric D, and close to it otherwise.

Sources: Cuthill and McKee, Proc. 24th ACM Nat. Conf. (1969); George and Liu, Computer Solution of Large Sparse Positive
Definite Systems (1981), 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.contact_solver.friction.problem import BLOCKS_PER_ROW, PER_CONTACT, block_of_rows
from multibody_cli.kernel import formula, kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Envelope(NamedTuple):
    """A matrix (n, n): entry (i, j) with j < i is at begin[i] + j - first[i] in `lower`, entry (j, i) in `upper`."""

    first: Integers  # (n,)
    begin: Integers  # (n,)
    lower: Floats  # untouched pages take no memory
    upper: Floats
    diagonal: Floats  # (n,)
    order: Integers  # (blocks,) block numbers in the order of xi
    seen: Integers  # (blocks,)
    lowest: Integers  # (blocks,) start of the first neighbour of a block
    contact: Integers  # (blocks,) first contact of a block; -1 for none
    following: Integers  # (contacts, 2) next contact of each side; -1 ends
    product: Floats  # (3, n) D B of one contact


def envelope_scratch_for(n: int, blocks: int, contacts: int) -> Envelope:
    """Allocate the storage for n unknowns in so many blocks."""
    return Envelope(
        first=np.zeros(n, np.int64),
        begin=np.zeros(n, np.int64),
        lower=np.zeros(n * (n + 1) // 2),
        upper=np.zeros(n * (n + 1) // 2),
        diagonal=np.zeros(n),
        order=np.zeros(blocks, np.int64),
        seen=np.zeros(blocks, np.int64),
        lowest=np.zeros(blocks, np.int64),
        contact=np.zeros(blocks, np.int64),
        following=np.zeros((contacts, BLOCKS_PER_ROW), np.int64),
        product=np.zeros((PER_CONTACT, n)),
    )


# --- order ----------------------------------------------------------------------------------------------------------
@kernel
def order_blocks(F, E):
    """Place the blocks in xi close to their neighbours; return the length of xi."""
    blocks = len(F.start)
    list_contacts(F, E)
    order_by_distance(F, 0, E)
    order_by_distance(F, E.order[blocks - 1], E)
    place = 0
    for k in range(blocks):
        F.start[E.order[k]] = place
        place += F.width[E.order[k]]
    lay_out(F, E)
    return place


@kernel
def list_contacts(F, E):
    """Build a linked list of the contacts of each block, last contact first."""
    for b in range(len(F.start)):
        E.contact[b] = -1
    for c in range(len(F.mu)):
        n = F.equalities + F.limits + PER_CONTACT * c
        for side in range(BLOCKS_PER_ROW):
            b = block_of_rows(F, n, PER_CONTACT, side)
            if b >= 0:
                E.following[c, side] = E.contact[b]
                E.contact[b] = c


@kernel
def order_by_distance(F, first, E):
    """Order the blocks by their graph distance from the block `first`; unconnected components follow."""
    blocks, constraint_rows = len(F.start), F.equalities + F.limits
    for b in range(blocks):
        E.seen[b] = 0
    listed = visited = 0
    fresh = first
    while visited < blocks:
        if visited == listed:
            while E.seen[fresh]:
                fresh = (fresh + 1) % blocks
            E.order[listed] = fresh
            E.seen[fresh] = 1
            listed += 1
        b = E.order[visited]
        visited += 1
        c = E.contact[b]
        while c >= 0:
            n = constraint_rows + PER_CONTACT * c
            side = 0 if block_of_rows(F, n, PER_CONTACT, 0) == b else 1
            other = block_of_rows(F, n, PER_CONTACT, 1 - side)
            if other >= 0 and not E.seen[other]:
                E.order[listed] = other
                E.seen[other] = 1
                listed += 1
            c = E.following[c, side]


@kernel
def lay_out(F, E):
    """Compute the start of each row of the matrix."""
    for b in range(len(F.start)):
        E.lowest[b] = F.start[b]
    for c in range(len(F.mu)):
        n = F.equalities + F.limits + PER_CONTACT * c
        a, b = block_of_rows(F, n, PER_CONTACT, 0), block_of_rows(F, n, PER_CONTACT, 1)
        if a >= 0 and b >= 0:
            lowest = min(F.start[a], F.start[b])
            E.lowest[a] = min(E.lowest[a], lowest)
            E.lowest[b] = min(E.lowest[b], lowest)
    place = 0
    for k in range(len(F.start)):
        b = E.order[k]
        for i in range(F.start[b], F.start[b] + F.width[b]):
            E.first[i] = E.lowest[b]
            E.begin[i] = place
            place += i - E.lowest[b]


# --- entries --------------------------------------------------------------------------------------------------------
@kernel
def clear(n, E):
    """Set the matrix to the identity."""
    for i in range(n):
        E.diagonal[i] = 1.0
    for k in range(E.begin[n - 1] + n - 1 - E.first[n - 1] if n > 0 else 0):
        E.lower[k] = 0.0
        E.upper[k] = 0.0


@kernel
def add_rows(F, k, rows, D, stiffness, E):
    """Add stiffness B^T D B for `rows` rows from k on; D (m, 3) are the derivatives of `cones`."""
    B, product = F.B, E.product
    for side in range(BLOCKS_PER_ROW):
        b = block_of_rows(F, k, rows, side)
        if b < 0:
            continue
        for i in range(rows):
            for h in range(F.width[b]):
                total = 0.0
                for j in range(rows):
                    if F.block[k + j, side] == b:
                        total += D[k + i, j] * B[F.first[k + j, side] + h]
                product[i, h] = stiffness * total
        for other in range(BLOCKS_PER_ROW):
            a = block_of_rows(F, k, rows, other)
            if a >= 0:
                add_block(F, k, rows, other, a, b, E)


@kernel
def add_block(F, k, rows, side, a, b, E):
    """Add B_a^T times the product of block b."""
    B, product = F.B, E.product
    for g in range(F.width[a]):
        i = F.start[a] + g
        for h in range(F.width[b]):
            j, total = F.start[b] + h, 0.0
            for p in range(rows):
                if F.block[k + p, side] == a:
                    total += B[F.first[k + p, side] + g] * product[p, h]
            if j < i:
                E.lower[E.begin[i] + j - E.first[i]] += total
            elif j > i:
                E.upper[E.begin[j] + i - E.first[j]] += total
            else:
                E.diagonal[i] += total


# --- elimination ----------------------------------------------------------------------------------------------------
@formula
def dot(x, a, y, b, n):
    """Return the dot product of n entries of x from a on and of y from b on, by four independent sums."""
    s0 = s1 = s2 = s3 = 0.0
    whole = n - n % 4
    for k in range(0, whole, 4):
        s0 += x[a + k] * y[b + k]
        s1 += x[a + k + 1] * y[b + k + 1]
        s2 += x[a + k + 2] * y[b + k + 2]
        s3 += x[a + k + 3] * y[b + k + 3]
    for k in range(whole, n):
        s0 += x[a + k] * y[b + k]
    return (s0 + s1) + (s2 + s3)


@kernel
def eliminate(n, E):
    """Replace the matrix by its LU factors: a unit lower triangle, and an upper triangle with the diagonal."""
    first, begin, lower, upper, diagonal = E.first, E.begin, E.lower, E.upper, E.diagonal
    for i in range(n):
        f_i, b_i = first[i], begin[i] - first[i]
        for j in range(f_i, i):
            f = max(f_i, first[j])
            b_j = begin[j] - first[j]
            lower[b_i + j] = (lower[b_i + j] - dot(lower, b_i + f, upper, b_j + f, j - f)) / diagonal[j]
            upper[b_i + j] -= dot(upper, b_i + f, lower, b_j + f, j - f)
        diagonal[i] -= dot(lower, b_i + f_i, upper, b_i + f_i, i - f_i)


@kernel
def substitute(n, E, y):
    """Solve in place for y (n,), after `eliminate`."""
    first, begin, lower, upper, diagonal = E.first, E.begin, E.lower, E.upper, E.diagonal
    for i in range(n):
        y[i] -= dot(lower, begin[i], y, first[i], i - first[i])
    for i in range(n - 1, -1, -1):
        y[i] /= diagonal[i]
        at = begin[i] - first[i]
        for j in range(first[i], i):
            y[j] -= upper[at + j] * y[i]
