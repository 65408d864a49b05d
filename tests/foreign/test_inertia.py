"""The nearest inertia that a body can have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from multibody_cli.foreign.inertia import nearest_physical
from multibody_cli.mass import MassProperties, objection_to


def is_physical(inertia: np.ndarray) -> bool:
    return not objection_to(MassProperties(1.0, np.zeros(3), inertia))


def test_inertias_of_bodies_are_unchanged() -> None:
    """Sums of point masses, also of thin rods and plates."""
    rng = np.random.default_rng(0)
    for extent in ((1, 1, 1), (1, 1, 0), (1, 0, 0)):
        points = rng.normal(size=(6, 3)) * extent
        inertia = sum((x @ x) * np.eye(3) - np.outer(x, x) for x in points)
        assert is_physical(inertia)
        np.testing.assert_allclose(nearest_physical(inertia), inertia, atol=1e-13)


@pytest.mark.parametrize("moments", [(1, 1, 3), (0, 0, 1), (-0.1, 1, 1), (1, 2, 3.5), (-1, -2, 0.5)])
def test_nearest_of_all(moments: tuple[float, ...]) -> None:
    """No other body is nearer: a search over all second-moment matrices L L^T, independent of principal axes."""
    R = Rotation.from_rotvec([0.3, -0.2, 0.5]).as_matrix()
    given = R @ np.diag(np.array(moments, dtype=float)) @ R.T
    assert not is_physical(given)
    found = nearest_physical(given)
    assert is_physical(found)

    def distance(entries: np.ndarray) -> float:
        L = np.zeros((3, 3))
        L[np.tril_indices(3)] = entries
        C = L @ L.T
        return float(np.linalg.norm(np.trace(C) * np.eye(3) - C - given) ** 2)

    rng = np.random.default_rng(1)
    searched = min(
        (minimize(distance, rng.normal(size=6), method="BFGS", options={"gtol": 1e-10}) for _ in range(5)),
        key=lambda one: one.fun,
    )
    assert np.linalg.norm(found - given) ** 2 == pytest.approx(searched.fun, abs=1e-7)
