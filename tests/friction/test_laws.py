"""Every law of the catalogue: a projection, and its derivative."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_cli.contact_solver.laws import LAWS
from multibody_cli.contact_solver.laws.projection import project_by_law

LAW = list(LAWS.values())

NUMBERS = range(len(LAWS))


def project(number, y, mu=0.6):
    """P(y) and its derivative, between rows of others."""
    rows = LAW[number].rows
    P, D = np.full(rows + 2, np.nan), np.full((rows + 2, 3), np.nan)
    project_by_law(number, mu, 1, np.r_[np.nan, y, np.nan], P, D)
    assert np.isnan(P[[0, -1]]).all()
    assert np.isnan(D[[0, -1]]).all()
    return P[1:-1], D[1:-1, :rows]


def points(number, seed=3):
    return np.random.default_rng(seed).normal(size=(40, LAW[number].rows))


@pytest.mark.parametrize("number", NUMBERS, ids=[law.name for law in LAW])
def test_what_is_admissible_stays(number):
    for y in points(number):
        P, _ = project(number, y)
        np.testing.assert_allclose(project(number, P)[0], P, rtol=4e-16, atol=0)


@pytest.mark.parametrize("number", NUMBERS, ids=[law.name for law in LAW])
def test_derivatives_are_those_of_differences(number):
    h = 1e-6
    for y in points(number):
        _, D = project(number, y)
        for j, e in enumerate(np.eye(len(y))):
            difference = (project(number, y + h * e)[0] - project(number, y - h * e)[0]) / (2 * h)
            np.testing.assert_allclose(D[:, j], difference, atol=1e-8)


def admissible(number, mu=0.6, u=0.5):
    """An impulse of the law at its bound, and a velocity that agrees with it."""
    return {
        "equality": ([-0.7], [0.0]),
        "one-sided": ([0.0], [u]),
        "Coulomb": ([2.0, -0.6 * mu * 2.0, -0.8 * mu * 2.0], [0.0, 0.6 * u, 0.8 * u]),
        "convex relaxation": ([2.0, -0.6 * mu * 2.0, -0.8 * mu * 2.0], [mu * u, 0.6 * u, 0.8 * u]),
    }[LAW[number].name]


@pytest.mark.parametrize("number", NUMBERS, ids=[law.name for law in LAW])
def test_its_fixed_points_are_impulses_and_velocities_that_agree(number):
    x, u = map(np.array, admissible(number))
    for w in (0.1, 3.0):
        np.testing.assert_allclose(project(number, x - u / w)[0], x, atol=1e-15)
        assert np.abs(project(number, x - (u + 0.1 * np.eye(len(u))[0]) / w)[0] - x).max() > 0.01 or not x.any()
