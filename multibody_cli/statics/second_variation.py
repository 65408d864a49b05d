"""Signs and eigenvalues of the second variation of the energy, K (n, n), symmetric.

The signs are those of every S K S with a diagonal S (Sylvester), in particular of the one whose rows have the largest
entry 1: they depend neither on units nor on the stiffness of other elements.  One that errors of K may cause is 0.

The eigenvalues in a metric are those of K, and in reverse those of its inverse S (S K S)^-1 S: each is a large
eigenvalue of one of the two, and thus accurate.

Source: Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from multibody_cli.kernel import Floats

CERTAIN = 100.0
"""Ratio of an eigenvalue to its error, of three samples, from which its sign is certain."""

ASYMMETRY = 1e-6
"""Difference of the scaled matrix from a symmetric one that counts as an error."""

SWEEPS = 20
"""Of the scaling, each of which halves the logarithms of the largest entries."""


class SecondVariation(NamedTuple):
    """A symmetric matrix K (n, n), its inverse (n, n) without the displacements `still` (n, z), for which it is 0."""

    K: Floats
    inverse: Floats
    still: Floats

    def eigenvalues(self, M: Floats) -> tuple[Floats, Floats]:
        """Return the eigenvalues (n,), ascending, and eigenvectors (n, n) of K y = mu M y, with y^T M y = 1.

        Raises
        ------
        numpy.linalg.LinAlgError
            The metric M (n, n) is not positive definite.
        """
        L, zeros = np.linalg.cholesky(M), self.still.shape[1]
        half = solve_triangular(L, self.K, lower=True)
        high, high_axes = _nonzero(solve_triangular(L, half.T, lower=True), zeros)
        still = _orthonormal(L.T @ self.still)
        if zeros == len(L):
            return np.zeros(zeros), solve_triangular(L.T, still)
        projection = np.eye(len(L)) - still @ still.T
        inverse, low_axes = _nonzero(projection @ L.T @ self.inverse @ L @ projection, zeros)
        order = np.argsort(1.0 / inverse)
        low, low_axes = 1.0 / inverse[order], low_axes[:, order]
        is_low = np.abs(low) <= np.sqrt(np.abs(low).min() * np.abs(high).max())
        values = np.append(np.where(is_low, low, high), np.zeros(zeros))
        axes = np.hstack([np.where(is_low, low_axes, high_axes), still])
        order = np.argsort(values, kind="stable")
        return values[order], solve_triangular(L.T, axes[:, order])


def _nonzero(matrix: Floats, zeros: int) -> tuple[Floats, Floats]:
    """Return the eigenvalues, ascending, and eigenvectors of a symmetric matrix, without the smallest ones."""
    values, axes = np.linalg.eigh(0.5 * (matrix + matrix.T))
    kept = np.sort(np.argsort(np.abs(values), kind="stable")[zeros:])
    return values[kept], axes[:, kept]


def _orthonormal(columns: Floats) -> Floats:
    """Return an orthonormal basis of independent columns (n, z), whose rows may have different sizes."""
    order = np.argsort(-np.abs(columns).max(axis=1, initial=0.0), kind="stable")
    basis = np.zeros_like(columns)
    basis[order] = qr(columns[order], mode="economic", pivoting=True)[0]
    return basis


def second_variation(K: Floats, samples: Floats, least: Floats) -> tuple[SecondVariation, bool]:
    """Return the symmetric part of K (n, n) by its signs, and whether it is all of K, as of forces with a potential.

    Parameters
    ----------
    K
        Derivatives of generalized forces, with the opposite sign.
    samples
        (p, n, n) samples of their error.
    least
        (n,) error of the diagonal at least: round-off of forces that are 0 in exact arithmetic.
    """
    errors = CERTAIN * (_root_mean_square(samples) + np.diag(least))
    sizes = np.maximum(np.abs(K), errors)
    scale = scales(np.maximum(sizes, sizes.T))
    difference = scale[:, None] * np.maximum(np.abs(K - K.T) - errors - errors.T, 0.0) * scale
    values, axes = signs(K, samples, least, scale)
    zero = values == 0.0
    own = axes[:, ~zero]
    K = 0.5 * (K + K.T)
    found = SecondVariation(K, own / values[~zero] @ own.T, _orthonormal(axes[:, zero]))
    return found, bool(difference.max(initial=0.0) <= ASYMMETRY)


def signs(K: Floats, samples: Floats, least: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return values (n,) with the signs of K, 0 where errors may cause them, and axes (n, n) in which K is diagonal.

    Parameters
    ----------
    K, samples, least
        As for `second_variation`.
    scale
        Factors s (n,): the values are the eigenvalues of diag(s) K diag(s), without its antisymmetric part.
    """
    K, samples = (0.5 * (one + one.swapaxes(-1, -2)) for one in (K, samples))
    values, axes = np.linalg.eigh(scale[:, None] * K * scale)
    error = CERTAIN * _root_mean_square(np.linalg.norm(scale[:, None] * samples * scale @ axes, axis=1))
    error += CERTAIN * np.linalg.norm((scale**2 * least)[:, None] * axes, axis=0)
    certain = np.abs(values) > error + len(K) * np.finfo(float).eps
    return np.where(certain, values, 0.0), scale[:, None] * axes


def diagonal(values: Floats) -> SecondVariation:
    """Return the second variation with values (n,) on its diagonal."""
    zero = values == 0.0
    inverse = np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, values))
    return SecondVariation(np.diag(values), np.diag(inverse), np.eye(len(values))[:, zero])


def _root_mean_square(samples: Floats) -> Floats:
    return np.asarray(np.sqrt(np.mean(samples**2, axis=0)))


def scales(sizes: Floats) -> Floats:
    """Return factors s (n,) with which the largest entry of each row of diag(s) sizes diag(s) is 1.

    A row of zeros has the largest factor of the others.
    """
    scale = np.ones(len(sizes))
    for _ in range(SWEEPS):
        largest = np.max(scale[:, None] * sizes * scale, axis=1, initial=0.0)
        scale /= np.sqrt(np.where(largest > 0.0, largest, 1.0))
    return np.where(largest > 0.0, scale, scale[largest > 0.0].max(initial=0.0) or 1.0)
