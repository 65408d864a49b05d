"""Resistance of contacts to rolling and spinning, by both solvers of rows, against its law in numpy."""

from __future__ import annotations

import numpy as np
import pytest
from rigid import GROUND, World, cube, frame, gain, solve, solve_factored, violation


def pile(seed, bodies, contacts):
    """Bodies that touch each other and the ground at random places, with moments about the tangents and the normal."""
    rng = np.random.default_rng(seed)
    world = World(rng.uniform(0.5, 2.0, bodies), rng.uniform(0.05, 0.5, (bodies, 3)), rng.normal(size=(bodies, 3)))
    pairs = []
    for k in range(contacts):
        above, below = k % bodies, int(rng.integers(-1, bodies))
        below = GROUND if below == above else below
        axes = frame(rng.normal(size=3) + np.array([0, 0, 1.5]))
        world.touch(below, above, rng.normal(size=3), axes)
        pairs.append((below, above, axes))
    for c, (below, above, (n, t, b)) in enumerate(pairs):
        world.add_resistance(c, below, above, (n,))
        if c % 3:
            world.add_resistance(c, below, above, (t, b))
    v = world.falling([0, 0, -1]) + 0.3 * rng.normal(size=6 * bodies)
    mu = np.r_[rng.uniform(0.1, 0.8, contacts), rng.uniform(0.0, 0.3, len(world.loads))]
    return world, v, mu


@pytest.mark.parametrize("tolerance", [1e-10, 1e-6])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("bodies", "contacts"), [(1, 1), (1, 3), (2, 4), (4, 9), (8, 20)])
def test_random_piles_meet_the_law(bodies, contacts, seed, tolerance):
    world, v, mu = pile(seed, bodies, contacts)
    W, r = world.problem(v)
    x, report = solve_factored(world, v, mu, tolerance=tolerance)
    assert report.status == 0
    assert violation(W, r, mu, x, loads=world.loads) < 10 * tolerance
    assert gain(W, r, x) <= 1e-12


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("bodies", "contacts"), [(1, 1), (1, 3), (2, 4), (4, 9)])
def test_staggered_projections_meet_the_same_law(bodies, contacts, seed):
    world, v, mu = pile(seed, bodies, contacts)
    W, r = world.problem(v)
    x, report = solve(W, r, mu, loads=world.loads)
    assert report.status != 0 or violation(W, r, mu, x, loads=world.loads) < 1e-8
    if (bodies, contacts) == (1, 1):
        expected, _ = solve_factored(world, v, mu)
        np.testing.assert_allclose(world.jacobian().T @ x, world.jacobian().T @ expected, atol=1e-9)


@pytest.mark.parametrize("solver", [solve_factored, lambda w, v, mu: solve(*w.problem(v), mu, loads=w.loads)])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 2.0])
def test_the_threshold_of_a_moment_is_its_coefficient_times_the_load(share, solver):
    """A cube on a point that sticks, which turns about x through that point at shares of the largest stopped speed."""
    world, rho = World([2.0], [cube(2.0, 1.0)], [(0, 0, 0.5)]), 0.05
    world.touch(GROUND, 0, (0, 0, 0.0))
    world.add_resistance(0, GROUND, 0, ((1, 0, 0), (0, 1, 0)))
    arm, load = 0.5, 2.0
    inertia = 2.0 / 6.0 + 2.0 * arm**2
    spin = share * rho * load / inertia
    v = np.array([0, spin * arm, -1.0, -spin, 0, 0])
    x, report = solver(world, v, np.array([10.0, rho]))
    assert report.status == 0
    after = v + world.jacobian().T @ x / world.mass
    np.testing.assert_allclose(after[3], -max(spin - rho * load / inertia, 0.0), atol=1e-12)
    np.testing.assert_allclose(x[4], min(share, 1.0) * rho * load, rtol=1e-8)
