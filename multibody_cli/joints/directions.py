"""What a joint lets move and what it locks, both from its motion subspace S alone.

    duals   wrenches D with D_j . S_k = 1 where j = k and 0 otherwise: the rate of coordinate j is D_j . V for any
            relative twist V = S v, and a generalized force tau_j is the wrench tau_j D_j
    locks   an orthonormal basis T of the wrenches with T . S = 0: the joint restrains T . V, and its reaction is T mu

Both refer to the point to which the columns of S refer.  Coordinates whose motion is prescribed are left out of S, so
that their directions are locked.  rad and m count alike where lengths of motions are compared; what is made of the
bases, paired with motions that the joint allows, does not depend on that.
"""

from __future__ import annotations

import math

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store, store_force
from multibody_cli.spatial.products import ZERO, dot, transposed_times
from multibody_cli.spatial.values import Force, Vec3

LOST = 1e-9
"""Part of a column of S outside the span of the others below which it counts as lost (a joint's own singularity)."""

_FORCES_BEFORE_MOMENTS = (3, 4, 5, 0, 1, 2)


# --- duals --------------------------------------------------------------------------------------------------------
@kernel
def find_duals(columns, first, last, driven, gram, duals):
    """Duals of the free columns in first:last, into the same rows of `duals`; `gram` (6, 6) is scratch.

    D = S (S^T S)^-1.  The dual of a column that depends on those before it is 0, as is that of a driven one.
    """
    n = last - first
    for j in range(n):
        for k in range(n):
            free = not (driven[first + j] or driven[first + k])
            gram[j, k] = overlap(columns[first + j], columns[first + k]) if free else 0.0
    for k in range(n):
        sweep(gram, n, k, overlap(columns[first + k], columns[first + k]))
    for j in range(n):
        t, f = ZERO, ZERO
        for k in range(n):
            column = columns[first + k]
            t = t + gram[j, k] * load(column.angular)
            f = f + gram[j, k] * load(column.linear)
        store_force(duals[first + j], Force(t, f))


@formula
def overlap(a, b):
    """Inner product of two columns of S."""
    return dot(load(a.angular), load(b.angular)) + dot(load(a.linear), load(b.linear))


@formula
def sweep(A, n, k, full):
    """Exchange unknown k of a symmetric positive definite A for its right-hand side; all n swept give A^-1.

    Where the pivot has shrunk to nothing against its `full` size, the unknown is left out: row and column become 0.
    """
    if A[k, k] <= LOST * LOST * full:
        for j in range(n):
            A[j, k] = A[k, j] = 0.0
        return
    d = 1.0 / A[k, k]
    for i in range(n):
        if i != k:
            factor = A[i, k] * d
            for j in range(n):
                if j != k:
                    A[i, j] -= factor * A[k, j]
            A[i, k] = factor
    for j in range(n):
        if j != k:
            A[k, j] = -A[k, j] * d
    A[k, k] = d


# --- locks --------------------------------------------------------------------------------------------------------
@kernel
def find_locks(columns, first, last, driven, R, basis, locks):
    """Locks of the free columns in first:last, in the axes R, into `locks`; `basis` (6, 6) is scratch.

    The basis is completed from the axes of R, forces before moments, so that its vectors lie along axes where S does.
    """
    k = span(columns, first, last, driven, R, basis)
    for r in range(len(locks)):
        store_row(locks[r], basis[k + r])


@kernel
def find_locks_in_plane(columns, first, last, driven, R, normal, basis, locks) -> int:
    """`find_locks` between two bodies that move in one plane, whose normal is given in the axes R; how many.

    Only the part of a lock that such bodies feel is left, moments about the normal and forces across it, and only
    as many of these as are independent.
    """
    k, count = span(columns, first, last, driven, R, basis), 0
    for r in range(k, 6):
        t, f = Vec3(basis[r, 0], basis[r, 1], basis[r, 2]), Vec3(basis[r, 3], basis[r, 4], basis[r, 5])
        t, f = dot(normal, t) * normal, f - dot(normal, f) * normal
        if dot(t, t) + dot(f, f) > LOST * LOST:
            write_axes(basis[count], t)
            write_axes(basis[count, 3:], f)
            count += orthonormalize(basis, count)
    for r in range(min(count, len(locks))):
        store_row(locks[r], basis[r])
    return count


@kernel
def span(columns, first, last, driven, R, basis) -> int:
    """An orthonormal basis of wrenches in the axes R, of which the first rows span the free columns; how many do."""
    k = 0
    for j in range(first, last):
        if not driven[j]:
            write_axes(basis[k], transposed_times(R, load(columns[j].angular)))
            write_axes(basis[k, 3:], transposed_times(R, load(columns[j].linear)))
            k += orthonormalize(basis, k)
    for r in range(k, 6):
        complete(basis, r)
    return k


@formula
def store_row(lock, numbers):
    """Keep six numbers as a wrench."""
    store(lock.t, Vec3(numbers[0], numbers[1], numbers[2]))
    store(lock.f, Vec3(numbers[3], numbers[4], numbers[5]))


@formula
def write_axes(numbers, a):
    """Keep a vector."""
    numbers[0] = a.x
    numbers[1] = a.y
    numbers[2] = a.z


@kernel
def orthonormalize(basis, k) -> int:
    """Make row k of a basis orthogonal to those before it, and of unit length; 1, or 0 where nothing is left of it."""
    size = norm(basis[k])
    for _ in range(2):  # once more, for what round-off leaves
        for r in range(k):
            part = 0.0
            for j in range(6):
                part += basis[r, j] * basis[k, j]
            for j in range(6):
                basis[k, j] -= part * basis[r, j]
    left = norm(basis[k])
    if left <= LOST * size:
        return 0
    for j in range(6):
        basis[k, j] /= left
    return 1


@formula
def norm(numbers):
    """Euclidean length."""
    total = 0.0
    for j in range(6):
        total += numbers[j] * numbers[j]
    return math.sqrt(total)


@kernel
def complete(basis, k):
    """Add to an orthonormal basis of k rows the axis that lies farthest outside of it, made orthonormal."""
    best, farthest = 0, -1.0
    for axis in _FORCES_BEFORE_MOMENTS:
        outside = 1.0
        for r in range(k):
            outside -= basis[r, axis] * basis[r, axis]
        if outside > farthest + 1e-9:
            best, farthest = axis, outside
    for j in range(6):
        basis[k, j] = 1.0 if j == best else 0.0
    orthonormalize(basis, k)
