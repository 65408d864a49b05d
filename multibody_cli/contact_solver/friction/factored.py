"""Delassus matrices of many rows, by their factor: W = B B^T, of which only what is not 0 is kept.

Row k of B is what row k feels of the *normal velocities* xi of the mechanisms that it touches, in which the kinetic
energy is 1/2 xi.xi: B = J L with M^-1 = L L^T.  With xi0 the normal velocities without impulses, impulses x make it

    u = B xi + b,   xi = xi0 + B^T x,   r = B xi0 + b.

Only b, what gaps and driven bodies add, is not 0 for what rests: so u is not found as a difference of large numbers.

A mechanism is a *block* of xi; a contact feels two of them at most, any other row one.  W has as many entries as there
are pairs of rows on a mechanism; B has one block, or two, for each row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import kernel
from multibody_cli.linalg.pivoted_lu import NEGLIGIBLE

PER_CONTACT = 3
SIDES = 2

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Factored(NamedTuple):
    """One problem: rows are equalities, limits, and three for each contact: normal, tangent, tangent."""

    B: Floats  # all entries, one block behind the other
    first: Integers  # (m, 2) where the entries of a row begin, for each of its sides
    block: Integers  # (m, 2) of which block of xi they are; -1: of none
    start: Integers  # (blocks,) where a block begins in xi
    width: Integers  # (blocks,) how many numbers it has
    free: Floats  # (n,) xi0, block behind block in the order of their numbers
    r: Floats  # (m,) velocities of the rows without impulses
    b: Floats  # (m,)
    w: Floats  # (m,) a scale of the rows' own W, one for the three rows of a contact
    mu: Floats  # (contacts,) coefficients of friction
    equalities: int
    limits: int
    journals: int  # so many contacts come first that are none: what presses them is given, and has no rows


class FactoredScratch(NamedTuple):
    """Room for a problem; see `Factored`."""

    first: Integers
    block: Integers
    start: Integers
    width: Integers
    free: Floats
    r: Floats
    b: Floats
    w: Floats
    mu: Floats


def factored_for(statics: int, contacts: int, n: int, blocks: int) -> FactoredScratch:
    """Allocate room for so many rows beside contacts, contacts, and n numbers in so many blocks."""
    m = statics + PER_CONTACT * contacts
    return FactoredScratch(
        first=np.zeros((m, SIDES), np.int64),
        block=np.zeros((m, SIDES), np.int64),
        start=np.zeros(blocks, np.int64),
        width=np.zeros(blocks, np.int64),
        free=np.zeros(n),
        r=np.zeros(m),
        b=np.zeros(m),
        w=np.zeros(m),
        mu=np.zeros(contacts),
    )


@kernel
def felt(F, k, xi, total):
    """Entry k of B xi, added to a total."""
    B, first, block = F.B, F.first, F.block
    for side in range(SIDES):
        b = block[k, side]
        if b >= 0:
            at, start = first[k, side], F.start[b]
            for i in range(F.width[b]):
                total += B[at + i] * xi[start + i]
    return total


@kernel
def find_velocities(F, xi, u):
    """u = B xi + b."""
    for k in range(len(F.b)):
        u[k] = felt(F, k, xi, F.b[k])


@kernel
def let_free(F, xi):
    """xi = xi0, in the places of the blocks."""
    at = 0
    for b in range(len(F.width)):
        for i in range(F.width[b]):
            xi[F.start[b] + i] = F.free[at + i]
        at += F.width[b]


@kernel
def find_constants(F, xi0):
    """b = r - B xi0."""
    for k in range(len(F.b)):
        F.b[k] = 0.0
    find_velocities(F, xi0, F.b)
    for k in range(len(F.b)):
        F.b[k] = F.r[k] - F.b[k]


@kernel
def pull(F, x, xi):
    """Add B^T x to xi."""
    B, first, block = F.B, F.first, F.block
    for k in range(len(F.r)):
        if x[k] != 0.0:
            for side in range(SIDES):
                b = block[k, side]
                if b >= 0:
                    at, start = first[k, side], F.start[b]
                    for i in range(F.width[b]):
                        xi[start + i] += B[at + i] * x[k]


@kernel
def entry(F, k, h):
    """Entry (k, h) of W."""
    B, total = F.B, 0.0
    for side in range(SIDES):
        for other in range(SIDES):
            b = F.block[k, side]
            if b >= 0 and b == F.block[h, other]:
                for i in range(F.width[b]):
                    total += B[F.first[k, side] + i] * B[F.first[h, other] + i]
    return total


@kernel
def block_of(F, k, rows, side):
    """The block that the rows from k on feel on one side; -1 where none of them feels any."""
    block = F.block[k, side]
    for j in range(1, rows):
        block = max(block, F.block[k + j, side])
    return block


@kernel
def weigh(F):
    """Fill in the scales of the rows; rows without effect are taken out of the problem."""
    statics = F.equalities + F.limits
    largest = 0.0
    for k in range(len(F.r)):
        F.w[k] = entry(F, k, k)
        largest = max(largest, F.w[k])
    for k in range(len(F.r)):
        if not F.w[k] > NEGLIGIBLE * largest:
            F.r[k] = 0.0
            for side in range(SIDES):
                F.block[k, side] = -1
            F.w[k] = 0.0 if k >= statics else 1.0
    for c in range(len(F.mu)):
        n = statics + PER_CONTACT * c
        a, b, d = F.w[n + 1], entry(F, n + 1, n + 2), F.w[n + 2]
        scale = max(F.w[n], 0.5 * (a + d) + math.sqrt(0.25 * (a - d) * (a - d) + b * b))
        for k in range(n, n + PER_CONTACT):
            F.w[k] = scale if scale > 0.0 else 1.0
