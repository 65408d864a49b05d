"""Coulomb's law with rounded corners: the projection, and where its path leads."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_cli.contact_solver.friction.cones import (
    project_smoothed_cone,
    project_smoothed_disc,
    write_flat,
    write_function,
)

SIGMA = 0.3


def smoothed(y, sigma=SIGMA):
    """P(y), its derivative by y and that by sigma^2."""
    x, slope, rise, d, D = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((1, 2)), np.zeros((3, 3))
    project_smoothed_cone(0, 0, sigma * sigma, np.array(y, float), x, slope, rise, d)
    write_function(0, *slope, d[0, 0], d[0, 1], D)
    return x, D, rise


POINTS = [(1.0, 0.2, -0.1), (0.1, 2.0, 1.0), (-2.0, 0.3, 0.4), (0.5, 0.0, 0.0), (0.5, 1e-12, 0.0), (-30.0, 20.0, 5.0)]


@pytest.mark.parametrize("y", POINTS)
def test_impulses_and_velocities_lie_inside_of_their_cones_with_the_product_of_sigma(y):
    x, _, _ = smoothed(y)
    z = x - y
    for one in (x, z):
        assert one[0] > np.hypot(*one[1:])
    np.testing.assert_allclose(x @ z, SIGMA**2, rtol=1e-9)
    np.testing.assert_allclose(x[0] * z[1:] + z[0] * x[1:], 0.0, atol=1e-12)  # the rest of the product of Jordan


@pytest.mark.parametrize(
    ("y", "x"),
    [
        ((2.0, 0.6, -0.8), (2.0, 0.6, -0.8)),
        ((-2.0, 0.6, 0.8), (0.0, 0.0, 0.0)),
        ((1.0, 1.8, 2.4), (2.0, 1.2, 1.6)),
    ],
)
def test_without_rounding_it_is_the_nearest_point_of_the_cone(y, x):
    np.testing.assert_allclose(smoothed(y, 1e-9)[0], x, atol=1e-15)


@pytest.mark.parametrize("y", POINTS)
def test_derivatives_are_those_of_differences(y):
    h, square = 1e-6, SIGMA**2
    _, D, rise = smoothed(y)
    for j, e in enumerate(np.eye(3)):
        difference = (smoothed(y + h * e)[0] - smoothed(y - h * e)[0]) / (2 * h)
        np.testing.assert_allclose(D[:, j], difference, atol=1e-8)
    difference = smoothed(y, np.sqrt(square + h))[0] - smoothed(y, np.sqrt(square - h))[0]
    np.testing.assert_allclose(rise, difference / (2 * h), atol=1e-8)


def on_disc(y, radius=0.8, sigma=SIGMA):
    """The same for a disc."""
    x, slope, rise, d, D = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((1, 2)), np.full((3, 3), np.nan)
    project_smoothed_disc(0, 0, sigma * sigma, radius, np.array([radius, *y], float), x, slope, rise, d)
    write_flat(0, slope[1], slope[2], d[0, 0], d[0, 1], D)
    return x, D, rise


PLACES = [(0.2, -0.1), (2.0, 1.0), (-0.64, 0.48), (30.0, 5.0), (1e-12, 0.0), (0.0, 0.0)]


@pytest.mark.parametrize("y", PLACES)
def test_derivatives_on_a_disc_are_those_of_differences(y):
    h, square = 1e-6, SIGMA**2
    _, D, rise = on_disc(y)
    assert not D[0].any()
    assert not D[:, 0].any()
    for j, e in enumerate(np.eye(2)):
        difference = (on_disc(y + h * e)[0] - on_disc(y - h * e)[0]) / (2 * h)
        np.testing.assert_allclose(D[:, 1 + j], difference, atol=1e-8)
    difference = on_disc(y, sigma=np.sqrt(square + h))[0] - on_disc(y, sigma=np.sqrt(square - h))[0]
    np.testing.assert_allclose(rise, difference / (2 * h), atol=1e-8)


@pytest.mark.parametrize(
    ("y", "x"), [((0.3, -0.4), (0.3, -0.4)), ((3.0, -4.0), (0.48, -0.64)), ((0.0, 0.0), (0.0, 0.0))]
)
def test_without_rounding_it_is_the_nearest_point_of_the_disc(y, x):
    np.testing.assert_allclose(on_disc(y, sigma=1e-9)[0], [0.8, *x], atol=1e-15)
