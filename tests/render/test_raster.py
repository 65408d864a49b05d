"""Light of a sample of a triangle, against the intersection of its ray with the plane of the triangle."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_cli.render.raster import GROUND_LIGHT, LIT, SKY, brightness

FOCAL = 300.0
"""Focal length of a camera at the origin that looks along z, in pixels."""


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("lit", [True, False])
def test_a_sample_has_the_light_of_its_point_and_its_interpolated_normal(seed: int, lit: bool) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal((0.0, 0.0, 6.0), 1.0, (3, 3))
    normals = rng.normal((0.0, 0.0, -2.0), 1.0, (3, 3))
    weights = rng.dirichlet(np.ones(3))
    place = weights @ points
    normal = weights @ normals
    normal /= np.linalg.norm(normal)
    normal *= -1.0 if normal @ place > 0.0 else 1.0  # the camera sees this side

    sun, up = rng.normal(size=(2, 3))
    sun, up = sun / np.linalg.norm(sun), up / np.linalg.norm(up)
    lights = np.zeros((7, 3))
    lights[0], lights[1] = sun, up
    lights[3:6] = np.eye(3)
    shadow = np.full((40, 40), -np.inf if lit else np.inf)
    lights[6] = [20.0, 20.0, 0.0]  # the shadow map contains all points
    expected = GROUND_LIGHT + (SKY - GROUND_LIGHT) * 0.5 * (1.0 + normal @ up)
    if normal @ sun > 0.0 and lit:
        expected += LIT * (normal @ sun)

    corners = np.column_stack([FOCAL * points[:, :2] / points[:, 2:], 1.0 / points[:, 2]])
    x, y = FOCAL * place[:2] / place[2]
    found = brightness(corners[None], points[None], normals[None], 0, x, y, lights, shadow)
    assert found == pytest.approx(expected, rel=1e-9)
