"""Signs of the second variation K on the admissible displacements: those that touched rows without force allow.

These displacements are a cone, G y >= 0.  If K is not positive on a cone, take a smallest face of the cone on which it
is not: the least quotient y^T K y/y^T M y on this face, for any metric M, lies inside the face, and is therefore that
of an eigenvector of K in the span of the face.  K is positive on the cone exactly if, in the span of no face, the space
of the eigenvalues that are not positive has a displacement of the cone: a linear program for each face.  Faces of a
face in whose span K is positive need none.

Source: Hiriart-Urruty and Seeger, A variational approach to copositive matrices, SIAM Review 52 (2010), theorem 4.3.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from multibody_cli.kernel import Flags, Floats
from multibody_cli.statics.second_variation import scales, signs

Stability = Literal["stable", "unstable", "neutral", "unknown"]

ROUND_OFF = np.finfo(float).eps
"""Error of the products in the span of a face."""

MOST_FACES = 2000
"""Number of faces from which the signs stay unknown."""

INSIDE = 1e-6
"""Size of a displacement of the linear program, in a box of 1, that is more than its tolerance of 1e-7."""

RANK = 1e-10
"""Singular value of scaled rows, relative to the largest, below which they are dependent."""


def stability_on_cone(K: Floats, samples: Floats, least: Floats, G: Floats) -> Stability:
    """Return the stability by the second variation on the cone G y >= 0.

    Parameters
    ----------
    K, samples, least
        (n, n) second variation, (p, n, n) samples of its errors and (n,) errors of its diagonal, as for
        `second_variation`.
    G
        (m, n) rows.

    Returns
    -------
    `stable` if K is positive on the cone, `unstable` if it is negative somewhere, `neutral` if it is 0 somewhere and
    negative nowhere; `unknown` if the cone has too many faces.
    """
    sizes = np.maximum(np.abs(K), np.diag(least))
    scale = scales(np.maximum(sizes, sizes.T))
    K, samples = (scale[:, None] * one * scale for one in (K, samples))
    least, G = scale**2 * least, G * scale
    lengths = np.linalg.norm(G, axis=1, keepdims=True)
    G = G / np.where(lengths > 0.0, lengths, 1.0)
    faces, seen = [frozenset[int]()], set[frozenset[int]]()
    found: Stability = "stable"
    while faces:
        face = faces.pop()
        if face in seen:
            continue
        seen.add(face)
        if len(seen) > MOST_FACES:
            return "unknown"
        span = _null_space(G[sorted(face)], len(K))
        errors = np.sum(span**2 * least[:, None] + ROUND_OFF * np.abs(span) * (np.abs(K) @ np.abs(span)), axis=0)
        own_K, own_samples = span.T @ K @ span, span.T @ samples @ span
        sizes = np.maximum(np.abs(own_K), np.diag(errors))
        values, axes = signs(own_K, own_samples, errors, scales(np.maximum(sizes, sizes.T)))
        own = values <= 0.0
        if not own.any():
            continue
        rows = G @ span
        rows[np.linalg.norm(rows, axis=1) <= RANK] = 0.0  # those of the face, and those that depend on them
        reached = _reached(rows @ (axes[:, own] / np.linalg.norm(axes[:, own], axis=0)))
        if (reached & (values[own] < 0.0)).any():
            return "unstable"
        found = "neutral" if reached.any() else found
        faces += [face | {one} for one in range(len(G)) if one not in face]
    return found


def _null_space(G: Floats, n: int) -> Floats:
    """Return an orthonormal basis (n, k) of the displacements without an effect on rows of length 1."""
    _, sizes, axes = np.linalg.svd(G, full_matrices=True) if len(G) else (None, np.zeros(0), np.eye(n))
    return np.asarray(axes[np.count_nonzero(sizes > RANK * sizes.max(initial=0.0)) :].T)


def _reached(rows: Floats) -> Flags:
    """Return which of the coefficients c (k,) are other than 0 somewhere in the cone rows c >= 0 (m, k)."""
    from scipy.optimize import linprog  # on demand: it takes as long as the equilibrium of a mechanism

    found, box = np.zeros(rows.shape[1], np.bool_), [(-1.0, 1.0)] * rows.shape[1]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0.0, lengths, 1.0)
    for cost in (sign * one for one in np.eye(len(found)) for sign in (1.0, -1.0)):
        if not found[np.argmax(np.abs(cost))]:
            found |= np.abs(linprog(cost, -rows, np.zeros(len(rows)), bounds=box).x) > INSIDE
    return found
