"""Forces of the least norm within the limits of contacts, against active sets and the conditions of optimality."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from multibody_cli.kernel import Floats
from multibody_cli.statics.bounded_forces import INSIDE, Cones, least_forces

NOTHING = np.zeros(0, np.int64)


def least_by_active_sets(A: Floats, b: Floats) -> Floats:
    """Return x >= 0 of the least norm with A x = b: the least one with each set of zeros."""
    found = []
    for count in range(A.shape[1]):
        for zeros in itertools.combinations(range(A.shape[1]), count):
            kept = [k for k in range(A.shape[1]) if k not in zeros]
            x = np.zeros(A.shape[1])
            x[kept] = np.linalg.lstsq(A[:, kept], b, rcond=None)[0]
            if np.abs(A @ x - b).max() < 1e-9 and x.min() > -1e-12:
                found.append(x)
    return min(found, key=np.linalg.norm)


@pytest.mark.parametrize("seed", range(8))
def test_pressing_forces_have_the_least_norm(seed: int) -> None:
    """Projections in turn reach forces within the limits, and corrections those of the least norm."""
    generator = np.random.default_rng(seed)
    A = generator.normal(size=(2, 6))
    b = A @ np.maximum(generator.normal(size=6), 0.0)
    found = least_forces(A, b, np.arange(6), [], 1.0)
    assert found.exists
    np.testing.assert_allclose(found.x, least_by_active_sets(A, b), atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_forces_on_cones_satisfy_the_conditions_of_the_least_norm(seed: int) -> None:
    """x is a force of equalities plus one of the polar cones: x - A^T y = -z with z in the dual cones, z x = 0.

    Of a cone |t| <= c n with c = (1 - INSIDE) mu these are (c s, -s t/|t|).
    """
    generator = np.random.default_rng(seed)
    mu = np.array([0.3, 0.7])
    A = generator.normal(size=(2, 6))
    x0 = np.array([2.0, 0.5, -0.1, 1.0, -0.3, 0.5])  # within the cones, as all forces nearby
    b = A @ (x0 + 0.02 * generator.uniform(-1.0, 1.0, 6))
    rows = np.array([[1, 2], [4, 5]])
    found = least_forces(A, b, np.array([0, 3]), [Cones(np.array([0, 3]), rows, mu)], 1.0)
    assert found.exists
    x, basis = found.x, []
    for n, t, c in zip((0, 3), rows, (1.0 - INSIDE) * mu, strict=True):
        size = np.linalg.norm(x[t])
        assert size <= c * x[n] + 1e-7
        if size > c * x[n] - 1e-5:  # on the cone
            z = np.zeros(6)
            z[n], z[t] = c, -x[t] / size
            basis.append(z)
    left = np.column_stack([A.T, *basis])
    weights = np.linalg.lstsq(left, x, rcond=None)[0]
    np.testing.assert_allclose(left @ weights, x, atol=1e-5)
    assert (weights[2:] > -1e-6).all()
    np.testing.assert_allclose(A @ x, b, atol=1e-9)
