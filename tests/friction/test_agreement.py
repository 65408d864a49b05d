"""The proximal method and staggered projections against each other: independent algorithms, one law.

Motion is compared, because impulses of redundant contacts are not unique.
"""

from __future__ import annotations

import numpy as np
import pytest
from rigid import GROUND, World, gain, pile, size, solve, solve_factored, stack, violation
from test_friction_laws import cards, wedge
from test_proximal import random_world

from multibody_cli.linalg.multipliers import SOLVED

G = 9.81


def both(world, v, mu, **options):
    """Impulses and reports of the production solver and of the judge, and W, r."""
    W, r = world.problem(v)
    held, limits = len(world.equalities), len(world.limits)
    return W, r, *solve_factored(world, v, mu, **options), *solve(W, r, mu, held, limits, **options)


def disagreement(W, r, x, y):
    """The largest difference of row velocities in the mass norm, relative to the size of the problem."""
    own = np.sqrt(np.maximum(np.diag(W), 1e-12 * np.diag(W).max()))
    return np.abs(W @ (x - y) / own).max() / size(W, r, x)


@pytest.mark.parametrize(
    ("bodies", "contacts", "held", "limits"), [(1, 3, 0, 0), (2, 5, 1, 1), (4, 10, 0, 0), (4, 10, 2, 2)]
)
def test_random_worlds_move_alike(bodies, contacts, held, limits):
    """With mu up to 0.3 the motion is unique.  Staggered projections solve 57 of 60 worlds at least."""
    compared = 0
    for seed in range(60):
        world, v, rng = random_world(seed, bodies, contacts, held, limits)
        W, r, x, production, y, judge = both(world, v, rng.uniform(0.0, 0.3, contacts))
        assert production.status == SOLVED, seed
        if judge.status == SOLVED:
            compared += 1
            assert disagreement(W, r, x, y) < 1e-8, seed
    assert compared >= 57


def test_rough_worlds_move_alike_or_both_by_the_law():
    """With mu up to 2 Coulomb's law may have several solutions: where the motions differ, both satisfy it."""
    agreed = several = 0
    for seed in range(60):
        world, v, rng = random_world(seed, 3, 7, 0, 0)
        mu = rng.uniform(0.0, 2.0, 7)
        W, r, x, production, y, judge = both(world, v, mu)
        if production.status == judge.status == SOLVED:
            agreed += disagreement(W, r, x, y) < 1e-8
            if disagreement(W, r, x, y) >= 1e-8:
                several += 1
                assert violation(W, r, mu, x) < 1e-9
                assert violation(W, r, mu, y) < 1e-9
                n = np.arange(0, 21, 3)
                coupling = np.abs(W[n][:, np.setdiff1d(np.arange(21), n)]).max(axis=1)
                assert (np.diag(W)[n] < mu * coupling).any()  # sliding friction presses a contact harder
    assert agreed > 40
    assert several > 0


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("lean", [(0.05, 0.0), (0.4, 0.1), (0.9, 0.2)])
def test_stacks_stand_slide_and_topple_alike(count, lean):
    """Cubes under gravity that leans: sticking, on the verge of tipping, and sliding; ten strengths of gravity."""
    world, compared = stack(count), 0
    for strength in np.linspace(0.5, 2.0, 10):
        v = world.falling(strength * G * np.array([*lean, -1.0]))
        W, r, x, production, y, judge = both(world, v, 0.5)
        assert production.status == SOLVED
        if judge.status == SOLVED:
            compared += 1
            assert disagreement(W, r, x, y) < 1e-8
    assert compared >= 9


@pytest.mark.parametrize("share", [0.9, 0.999, 1.001, 1.5])
@pytest.mark.parametrize("degrees", [10, 20, 30])
def test_cards_fall_alike(degrees, share):
    world = cards(np.radians(degrees))
    mu = share * 0.5 * np.tan(np.radians(degrees))
    W, r, x, production, y, judge = both(world, world.falling([0, 0, -G]), mu)
    assert production.status == judge.status == SOLVED
    assert disagreement(W, r, x, y) < 1e-8


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.5, 5.0])
def test_a_ball_in_a_wedge_stops_alike(mu):
    W, r, x, production, y, judge = both(wedge(np.radians(20)), np.array([0.3, 0.1, -2.0, 0.5, 0, 0]), mu)
    assert production.status == judge.status == SOLVED
    assert disagreement(W, r, x, y) < 1e-8


@pytest.mark.parametrize("seed", range(10))
def test_joint_friction_of_given_limits_is_alike(seed):
    """One convex program: both find its minimum."""
    rng = np.random.default_rng(seed)
    world = pile(rng, 5, 12)
    v, guess = rng.normal(size=30), np.zeros(36)
    guess[::3] = rng.uniform(0.0, 2.0, 12) * rng.integers(0, 2, 12)
    W, r = world.problem(v)
    rows = np.arange(36) % 3 > 0
    W, r = np.where(np.outer(rows, rows), W, 0.0), np.where(rows, r, 0.0)
    x, production = solve_factored(world, v, 1.0, guess=guess, friction_patches=12)
    y, judge = solve(W, r, 1.0, guess=guess, friction_patches=12)
    assert production.status == judge.status == SOLVED
    np.testing.assert_allclose(W @ y, W @ x, atol=1e-9 * size(W, r, x))


# --- where they differ ------------------------------------------------------------------------------------------------
def rod(angle):
    """A rod that slides on its lower end, which points forward."""
    body = World([1.0], [np.full(3, 1.0 / 12.0)], [(0, 0, 0)])
    body.touch(GROUND, 0, (0.5 * np.cos(angle), 0, -0.5 * np.sin(angle)))
    return body


def test_a_rod_that_jams_is_stopped_by_both():
    """Painleve's rod: with W_nn < mu |W_nt| it cannot slide on.  The proximal method restarts from its relaxation."""
    W, r, x, production, y, judge = both(rod(np.radians(60)), np.array([1.0, 0, -0.01, 0, 0, 0]), 2.0)
    assert W[0, 0] < 2.0 * abs(W[0, 1])
    assert judge.status == SOLVED
    assert np.abs(W @ y + r).max() < 1e-12
    assert production.status == SOLVED
    assert np.abs(W @ x + r).max() < 1e-9
    assert gain(W, r, x) <= 0.0


def test_ten_cubes_that_slide_and_tip_are_nearly_solved_by_one_of_them():
    """Forty sliding contacts, each pressed by those above: the iteration takes more than its 200."""
    world = stack(10)
    W, r, x, production, y, judge = both(world, world.falling([0.9 * G, 0.2 * G, -G]), 0.5)
    assert production.status == SOLVED
    assert violation(W, r, 0.5, x) < 1e-10
    assert judge.residual < 1e-7
    assert disagreement(W, r, x, y) < 1e-6
