"""Redundant contacts whose gaps contradict each other by little: loads shift until one of them opens."""

from __future__ import annotations

import numpy as np
import pytest
from rigid import solve_factored, stack, violation

from multibody_cli.contact_solver.friction.rescue import active_set
from multibody_cli.linalg.multipliers import SOLVED

G = 9.81
CONTRADICTION = np.array([1.0, 0.0, 0.0, 1.0])
"""Gaps of the corners of a face that no motion closes: the sums over both diagonals differ."""


def contradictory(world, v, gaps):
    """The velocities of the rows, with gaps at the corners of each face that are a few 1e-10 of the speed."""
    r = world.jacobian() @ v
    r[::3] += gaps
    return r


@pytest.mark.parametrize("slope", [0.0, 0.2, 0.8])
@pytest.mark.parametrize("size", [3e-10, 1e-8, 1e-6])
def test_a_face_with_contradictory_gaps_opens(slope, size):
    world = stack(1)
    v = world.falling([slope * G, 0.0, -G])
    r = contradictory(world, v, size * G * CONTRADICTION)
    guess = np.tile([0.5 * G / 4, 0.0, 0.0], 4)
    x, report = solve_factored(world, v, 0.5, guess=guess, r=r)
    W, _ = world.problem(v)
    assert report.status == SOLVED
    assert report.residual <= 1e-12
    assert violation(W, r, 0.5, x) < 1e-12
    assert 2 <= np.count_nonzero(x[::3]) <= 3
    assert x[::3].sum() == pytest.approx(0.5 * G, rel=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_stacks_with_gaps_of_round_off_are_solved(seed):
    rng = np.random.default_rng(seed)
    world = stack(4)
    v = world.falling([rng.uniform(0.0, 4.0), rng.uniform(0.0, 1.0), -G])
    r = contradictory(world, v, 1e-9 * G * np.maximum(rng.normal(size=16), 0.0))
    x, report = solve_factored(world, v, 0.4, r=r)
    W, _ = world.problem(v)
    assert report.status == SOLVED
    assert violation(W, r, 0.4, x) < 1e-10


def test_friction_reaches_its_limit_within_a_shift():
    rng = np.random.default_rng(5)
    for _ in range(200):
        x, step, mu = rng.normal(size=3), rng.normal(size=3), rng.uniform(0.1, 1.0)
        x[0] = np.hypot(x[1], x[2]) / mu * rng.uniform(1.0, 2.0)
        share = active_set.share_to_limit(mu, 0, 0, x, step)
        shares = np.linspace(0.0, min(share, 10.0), 50)[:-1]
        along = x[:, None] + step[:, None] * shares
        assert (np.hypot(along[1], along[2]) <= mu * np.abs(along[0]) * (1 + 1e-9)).all()
        if share < np.inf:
            at = x + share * step
            assert np.hypot(at[1], at[2]) == pytest.approx(mu * abs(at[0]), rel=1e-6)
