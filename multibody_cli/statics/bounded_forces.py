"""Forces of the least norm that balance given ones within the limits of contacts and friction.

The forces that balance are an affine space, and each limit is a convex set: an equality without a limit, a one-sided
row, or a cone |t| <= c n of the friction or of the moments t of a contact with the normal force n.  The projection of 0
onto their intersection is that of Dykstra's algorithm; where the projection onto the affine space is inside of all
limits, it is the first step.

Source: Boyle and Dykstra, A method for finding projections onto the intersection of convex sets in Hilbert spaces,
Advances in Order Restricted Statistical Inference (1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import Floats, Integers

RANK = 1e-10
"""Singular value, relative to the largest, below which rows are dependent."""

INSIDE = 1e-4
"""Distance from a limit of friction, relative to it, from which friction is strictly inside."""

ACCURACY = 1e-9
"""Error of the limits, relative to the forces, of a solution."""

BALANCED = 1e-6
"""Error of the balance, relative to the forces, of a position at rest."""

AT_REST = 1e-9
"""The same relative to the forces that cancel each other without contacts and friction, such as weights and springs."""

MOST_STEPS = 5000


class Cones(NamedTuple):
    """Limits |x_t| <= c x_n of k contacts that share no rows: n (k,), t (k, d) and c (k,).

    A limit c without a normal force, n = -1, is given.
    """

    normals: Integers
    rows: Integers
    limits: Floats


class Forces(NamedTuple):
    """Forces x (m,) of the least norm, the dimension of the set of forces, and whether they exist within all limits."""

    x: Floats
    dimension: int
    exists: bool


def least_forces(A: Floats, b: Floats, one_sided: Integers, cones: Sequence[Cones], size: float) -> Forces:
    """Return forces x (m,) with A x = b of the least norm, x >= 0 in `one_sided`, and strictly inside of the cones.

    `size` is that of the forces whose sum is b, which is round-off of them where they balance by themselves.
    """
    axes, sizes, rows = np.linalg.svd(A, full_matrices=False)
    own = sizes > RANK * sizes.max(initial=0.0)
    inverse, rows = rows[own].T / sizes[own] @ axes[:, own].T, rows[own]
    first, dimension = inverse @ b, A.shape[1] - len(rows)
    scale = max(float(np.abs(first).max(initial=0.0)), AT_REST * size)
    balanced = np.abs(A @ first - b).max(initial=0.0) <= max(BALANCED * np.abs(b).max(initial=0.0), AT_REST * size)
    x, corrections = first, np.zeros((1 + len(cones), len(first)))  # the affine space needs no correction
    for _ in range(MOST_STEPS if balanced else 0):
        if _excess(x, one_sided, cones) <= ACCURACY * scale:
            return Forces(x, dimension, True)
        if dimension == 0:
            break
        for k in range(1 + len(cones)):
            y = x + corrections[k]
            x = _on_sides(y, one_sided) if k == 0 else _in_cones(y, cones[k - 1])
            corrections[k] = y - x
        x = first + x - rows.T @ (rows @ x)
    return Forces(first, dimension, False)


def _excess(x: Floats, one_sided: Integers, cones: Sequence[Cones]) -> float:
    """Return by how much x is outside of the limits."""
    over = [np.linalg.norm(x[one.rows], axis=1) - _radii(x, one) for one in cones]
    return float(np.max(np.concatenate([*over, -x[one_sided]]), initial=0.0))


def _radii(x: Floats, cones: Cones) -> Floats:
    """Return the radii (k,) of the cones at the normal forces, less the distance that is strictly inside."""
    return np.asarray((1.0 - INSIDE) * cones.limits * np.where(cones.normals < 0, 1.0, x[cones.normals]))


def _on_sides(x: Floats, one_sided: Integers) -> Floats:
    found = x.copy()
    found[one_sided] = np.maximum(found[one_sided], 0.0)
    return found


def _in_cones(x: Floats, cones: Cones) -> Floats:
    """Return the projection of x onto cones."""
    found, sizes, given = x.copy(), np.linalg.norm(x[cones.rows], axis=1), cones.normals < 0
    outside = sizes > np.maximum(_radii(x, cones), 0.0)
    slopes = np.where(given, 0.0, (1.0 - INSIDE) * cones.limits)
    normals = np.maximum((x[cones.normals] + slopes * sizes) / (1.0 + slopes**2), 0.0)
    moved = outside & ~given
    found[cones.normals[moved]] = normals[moved]
    radii = _radii(found, cones)
    found[cones.rows[outside]] *= (radii[outside] / sizes[outside])[:, None]
    return found
