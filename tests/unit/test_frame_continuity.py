"""Continuity of frames: the angle between two frames."""

from __future__ import annotations

import pytest
from scipy.spatial.transform import Rotation

from multibody_cli.joints.frame_continuity import angle_between
from multibody_cli.spatial.values import Mat3, Vec3


def matrix(R):
    """A rotation matrix by columns."""
    return Mat3(*(Vec3(*column) for column in R.T))


@pytest.mark.parametrize("seed", range(5))
def test_the_angle_between_two_frames_is_that_of_their_relative_rotation(seed):
    A, B = Rotation.random(2, random_state=seed)
    found = angle_between(matrix(A.as_matrix()), matrix(B.as_matrix()))
    assert found == pytest.approx((A.inv() * B).magnitude(), abs=1e-12)
