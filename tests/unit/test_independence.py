"""Independent parts of the columns of a motion subspace against singular values."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_cli.joints.column_independence import compute_column_independence
from multibody_cli.kernel import records
from multibody_cli.tree.workspace import COLUMN


def shares_of(*joints, sizes=None, length=1.0):
    S = np.hstack(joints)
    columns = np.zeros(S.shape[1], COLUMN)
    columns["angular"], columns["linear"] = S[:3].T, S[3:].T
    ends = np.cumsum([joint.shape[1] for joint in joints])
    found = np.zeros(len(joints))
    sizes = np.ones(S.shape[1]) if sizes is None else sizes
    compute_column_independence(records(columns), length, sizes, np.append(0, ends)[:-1], ends, np.zeros((6, 6)), found)
    return found


def test_independent_and_dependent_columns():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    dependent = np.column_stack([Q[:, 0], Q[:, 1], 0.6 * Q[:, 0] - 0.8 * Q[:, 1]])
    np.testing.assert_allclose(shares_of(Q[:, :4], dependent, Q[:, :1]), [1, 0, 1], atol=1e-15)


def test_the_independent_part_is_relative_to_the_typical_column_norm():
    assert shares_of(np.eye(6)[:, :1] * 1e-3, sizes=np.array([2.0]))[0] == 5e-4


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e3])
def test_the_size_of_a_mechanism_has_no_effect(size):
    """Two rotations about parallel axes at a distance, of which only translations differ: by 45 degrees at a length."""
    axes = np.array([[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, size, 0]], dtype=float).T
    found = shares_of(axes, sizes=np.array([1.0, np.sqrt(2.0)]), length=size)
    assert found[0] == pytest.approx(np.sqrt(0.5), rel=1e-15)


def test_independent_parts_bound_the_smallest_singular_value():
    rng = np.random.default_rng(1)
    for count in range(1, 7):
        for small in (1.0, 1e-2, 1e-5, 1e-9):
            S = rng.normal(size=(6, count))
            S[:, -1] = S[:, 0] + small * S[:, -1] if count > 1 else small * S[:, -1]
            S /= np.linalg.norm(S, axis=0) if count > 1 else 1.0
            least = np.linalg.svd(S, compute_uv=False)[-1]
            found = shares_of(S)[0]
            assert min(least, 1.0) * (1 - 1e-6) - 1e-15 <= found <= 30 * least + 1e-15


def test_the_independent_part_is_the_smallest_distance_from_the_columns_before():
    """Distances from a span are the diagonal of R of a QR factorization, for any lengths of the columns."""
    rng = np.random.default_rng(2)
    for count in range(2, 7):
        S = rng.normal(size=(6, count)) * rng.uniform(0.2, 0.9, size=count)
        distances = np.abs(np.diag(np.linalg.qr(S)[1]))
        assert shares_of(S)[0] == pytest.approx(min(1.0, distances.min()), rel=1e-10)
