"""Continuity of frames: the angle between two frames, and exact integration of a constant rotation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from multibody_cli.constraint_solver.frame_continuity import angle_between, rotation_of_vector
from multibody_cli.spatial.values import Mat3, Vec3


def matrix(R):
    """A rotation matrix by columns."""
    return Mat3(*(Vec3(*column) for column in R.T))


def dense(M):
    return np.array([list(M.x), list(M.y), list(M.z)]).T


@pytest.mark.parametrize("seed", range(5))
def test_the_angle_between_two_frames_is_that_of_their_relative_rotation(seed):
    A, B = Rotation.random(2, random_state=seed)
    found = angle_between(matrix(A.as_matrix()), matrix(B.as_matrix()))
    assert found == pytest.approx((A.inv() * B).magnitude(), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_rotation_of_a_vector(seed):
    w = np.random.default_rng(seed).normal(size=3)
    np.testing.assert_allclose(dense(rotation_of_vector(Vec3(*w))), Rotation.from_rotvec(w).as_matrix(), atol=1e-14)
