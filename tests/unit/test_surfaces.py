"""Frames on surfaces: continuous across the poles, where frames from derivatives change their sign."""

from __future__ import annotations

import numpy as np
import pytest
from shapes import joint, parts_of, pose_at

BALL = {"type": "sphere", "radius": 0.3}
ROUND = {"type": "ellipsoid", "radii": [0.3, 0.3, 0.3]}


def riding(parent, child):
    return parts_of(joint("surface_surface", parent_surface=parent, child_surface=child, q=[0.3, 0.2, 0.1, 0.4]))


@pytest.mark.parametrize(("parent", "child"), [(ROUND, BALL), (BALL, ROUND), (ROUND, ROUND)])
def test_an_ellipsoid_with_equal_radii_agrees_with_the_sphere(parent, child):
    """Beyond the poles as well, so that a run across one goes on."""
    rng = np.random.default_rng(1)
    found, expected = riding(parent, child), riding(BALL, BALL)
    for q in rng.uniform(-7.0, 7.0, size=(40, 4)):
        for one, other in zip(pose_at(found, q), pose_at(expected, q), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-14)


def test_the_frame_on_an_ellipsoid_is_smooth_across_a_pole():
    parts = riding({"type": "ellipsoid", "radii": [0.3, 0.2, 0.5]}, BALL)
    before, after = (pose_at(parts, np.array([0.4, np.pi / 2 + side, 0.1, 0.4])) for side in (-1e-6, 1e-6))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
