"""Dual basis and constraint axes of a joint, both from its motion subspace S alone.

    dual basis        wrenches D with D_j . S_k = 1 where j = k and 0 otherwise: the rate of coordinate j is D_j . V for
                      any relative twist V = S v, and a generalized force tau_j is the wrench tau_j D_j
    constraint axes   an orthonormal basis T of the wrenches with T . S = 0 (the constraint-force subspace): the joint
                      constrains T . V, and its reaction is T mu

Both refer to the reference point of the columns of S.  Coordinates with prescribed motion are excluded from S, so that
their directions are constrained.  rad and m have equal weight where lengths of motions are compared; products of the
bases with motions that the joint allows do not depend on that.  A loop joint of one screw has its axis as dual
(`constraint_solver.loop_frames`), so that its rate does not depend on the unit of length for other motions either.
"""

from __future__ import annotations

import math

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store, store_force
from multibody_cli.spatial.products import ZERO, dot, transposed_times
from multibody_cli.spatial.values import Force, Vec3

LOST = 1e-9
"""Part of a column of S outside the span of the others below which the column is dependent (singular joint)."""

_FORCES_BEFORE_MOMENTS = (3, 4, 5, 0, 1, 2)


# --- dual basis ---------------------------------------------------------------------------------------------------
@kernel
def find_dual_basis(columns, first, last, driven, gram, dual_basis):
    """Compute the dual basis of the free columns in first:last, into the same rows; `gram` (6, 6) is scratch.

    D = S (S^T S)^-1.  The dual of a column that depends on earlier ones is 0, as is that of a driven one.
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
        store_force(dual_basis[first + j], Force(t, f))


@formula
def overlap(a, b):
    """Inner product of two columns of S."""
    return dot(load(a.angular), load(b.angular)) + dot(load(a.linear), load(b.linear))


@formula
def sweep(A, n, k, full):
    """Exchange unknown k of a symmetric positive definite A for its right-hand side; sweeping all n yields A^-1.

    If the pivot is negligible relative to its `full` size, the unknown is dropped: row and column become 0.
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


# --- constraint axes ----------------------------------------------------------------------------------------------
@kernel
def find_constraint_axes(columns, first, last, driven, R, constant_axes, basis, constraint_axes):
    """Compute the constraint axes of the free columns in first:last, in the axes R; `basis` (6, 6) is scratch.

    The first ones are `constant_axes`, those that all configurations have in the axes R.  The others complete the basis
    from the axes of R, forces before moments, so that they are parallel to axes if S is: their order and their
    directions change with the configuration.
    """
    k = span(columns, first, last, driven, R, constant_axes, basis)
    for r in range(len(constraint_axes)):
        store_row(constraint_axes[r], basis[k + r])


@kernel
def find_planar_constraint_axes(columns, first, last, driven, R, normal, basis, constraint_axes) -> int:
    """`find_constraint_axes` within a common plane of motion, whose normal is in the axes R; return their number.

    Keeps the part of each constraint axis that acts within the plane, moments about the normal and forces perpendicular
    to it, and only independent ones.
    """
    k, count = span(columns, first, last, driven, R, constraint_axes[:0], basis), 0
    for r in range(k, 6):
        t, f = Vec3(basis[r, 0], basis[r, 1], basis[r, 2]), Vec3(basis[r, 3], basis[r, 4], basis[r, 5])
        t, f = dot(normal, t) * normal, f - dot(normal, f) * normal
        if dot(t, t) + dot(f, f) > LOST * LOST:
            write_axes(basis[count], t)
            write_axes(basis[count, 3:], f)
            count += orthonormalize(basis, count)
    for r in range(min(count, len(constraint_axes))):
        store_row(constraint_axes[r], basis[r])
    return count


@kernel
def span(columns, first, last, driven, R, constant_axes, basis) -> int:
    """Compute an orthonormal basis in the axes R whose leading rows span the free columns; return their number.

    The rows that follow are `constant_axes`.
    """
    k = 0
    for j in range(first, last):
        if not driven[j]:
            write_axes(basis[k], transposed_times(R, load(columns[j].angular)))
            write_axes(basis[k, 3:], transposed_times(R, load(columns[j].linear)))
            k += orthonormalize(basis, k)
    n = k + len(constant_axes)
    for r in range(k, n):
        write_axes(basis[r], load(constant_axes[r - k].t))
        write_axes(basis[r, 3:], load(constant_axes[r - k].f))
    for r in range(n, 6):
        complete(basis, r)
    return k


@formula
def store_row(constraint_axis, numbers):
    """Store six numbers as a wrench."""
    store(constraint_axis.t, Vec3(numbers[0], numbers[1], numbers[2]))
    store(constraint_axis.f, Vec3(numbers[3], numbers[4], numbers[5]))


@formula
def write_axes(numbers, a):
    """Store a vector."""
    numbers[0] = a.x
    numbers[1] = a.y
    numbers[2] = a.z


@kernel
def orthonormalize(basis, k) -> int:
    """Orthonormalize row k of a basis against those before it; return 1, or 0 for a dependent row."""
    size = norm(basis[k])
    for _ in range(2):  # a second pass removes round-off
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
    """Euclidean norm."""
    total = 0.0
    for j in range(6):
        total += numbers[j] * numbers[j]
    return math.sqrt(total)


@kernel
def complete(basis, k):
    """Extend an orthonormal basis of k rows by the coordinate axis farthest from its span, orthonormalized."""
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
