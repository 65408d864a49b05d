"""The proximal method: the laws of contact on whole worlds, against the passes, closed forms and the conditions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigid import GROUND, World, cube, gain, pile, size, solve, solve_factored, stack, violation

from multibody_cli.dynamics.multipliers import NOT_FINITE, SOLVED, UNFINISHED

G = 9.81


def wall(rows, columns, length=0.2, height=0.1, depth=0.1, mass=2.0):
    """Bricks in bond, with half bricks at the ends of every other row; four contacts for each face on a face."""
    spans = []
    for i in range(rows):
        edges = np.arange(columns + 1.0) if i % 2 == 0 else np.r_[0.0, np.arange(columns) + 0.5, columns]
        spans += [(i, length * a, length * b) for a, b in itertools.pairwise(edges)]
    own = [mass * (b - a) / length for _, a, b in spans]
    boxes = [(b - a, depth, height) for _, a, b in spans]
    inertias = [m / 12 * (np.dot(s, s) - np.square(s)) for m, s in zip(own, boxes, strict=True)]
    world = World(own, inertias, [((a + b) / 2, 0.0, (i + 0.5) * height) for i, a, b in spans])
    for k, (i, a, b) in enumerate(spans):
        below = [(h, max(a, c), min(b, d)) for h, (row, c, d) in enumerate(spans) if row == i - 1]
        for h, c, d in [(GROUND, a, b)] if i == 0 else [one for one in below if one[2] - one[1] > 1e-9]:
            for x in (c, d):
                for y in (-depth / 2, depth / 2):
                    world.touch(h, k, (x, y, i * height))
    return world


def velocities(world, x, v):
    return world.jacobian() @ (v + world.jacobian().T @ x / world.mass)


# --- what rests -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("world", [stack(1), stack(10), stack(40), wall(4, 4), wall(8, 6)])
def test_what_stands_stands_still(world):
    """To round-off of what a step of gravity makes, in one convex problem and some steps of Coulomb's law."""
    v = world.falling([0.0, 0.0, -G])
    x, report = solve_factored(world, v, 0.5)
    assert report.status == SOLVED
    assert np.abs(velocities(world, x, v)).max() < 1e-13 * G * len(world.positions)
    assert violation(*world.problem(v), 0.5, x) < 1e-13


def test_the_faces_of_a_wall_carry_what_is_above():
    world = wall(6, 4)
    x, _ = solve_factored(world, world.falling([0.0, 0.0, -G]), 0.5)
    carried = x.reshape(-1, 3)[: 4 * 4, 0].sum()  # the bricks of the lowest row are the first
    assert carried == pytest.approx(world.mass[::6].sum() * G, rel=1e-12)


def test_corners_share_equally_without_a_guess():
    world = stack(1)
    x, _ = solve_factored(world, world.falling([0.0, 0.0, -G]), 0.5)
    np.testing.assert_allclose(x.reshape(-1, 3), np.tile([0.5 * G / 4, 0, 0], (4, 1)), atol=1e-12)


def test_a_guess_of_the_same_is_the_solution_at_once():
    world = wall(5, 4)
    v = world.falling([0.0, 0.0, -G])
    x, _ = solve_factored(world, v, 0.5)
    again, report = solve_factored(world, v, 0.5, guess=x)
    assert report.steps <= 4
    np.testing.assert_allclose(again, x, atol=1e-11 * np.abs(x).max())


# --- what slides ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("slope", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("direction", [0.0, np.pi / 4, 1.1])
def test_the_threshold_is_mu_in_every_direction(slope, direction):
    """To a millionth of it; the passes find it to 1e-12 (`test_friction_laws`)."""
    angle = np.arctan(slope)
    down = G * np.array([np.sin(angle) * np.cos(direction), np.sin(angle) * np.sin(direction), -np.cos(angle)])
    world = stack(1)
    v = world.falling(down)
    x, report = solve_factored(world, v, slope * (1 + 1e-6))
    assert report.status == SOLVED
    assert np.abs(velocities(world, x, v)).max() < 1e-13 * G
    x, report = solve_factored(world, v, slope * (1 - 1e-6))
    along = velocities(world, x, v).reshape(-1, 3)[:, 1:] @ [np.cos(direction), np.sin(direction)]
    assert report.status == SOLVED
    np.testing.assert_allclose(along, 1e-6 * G * np.sin(angle), rtol=1e-4)


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.4])
def test_a_sliding_block_slows_as_coulomb_says(mu):
    world = stack(1)
    v = world.falling([3.0, 4.0, -G])
    u = velocities(world, solve_factored(world, v, mu)[0], v).reshape(-1, 3)
    np.testing.assert_allclose(u, np.tile((1 - mu * G / 5.0) * np.array([0, 3.0, 4.0]), (4, 1)), atol=1e-11)


# --- anything -------------------------------------------------------------------------------------------------------
def random_world(seed, bodies, contacts, held, limits):
    rng = np.random.default_rng(seed)
    world, unit = pile(rng, bodies, contacts), np.eye(6 * bodies)
    chosen = rng.permutation(6 * bodies)
    world.equalities = [unit[[k]] for k in chosen[:held]]
    world.limits = [unit[[k]] for k in chosen[held : held + limits]]
    return world, world.falling([0, 0, -1]) + rng.normal(size=6 * bodies), rng


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 14), st.integers(0, 2), st.integers(0, 2))
def test_random_worlds_meet_the_conditions_or_say_so(seed, bodies, contacts, held, limits):
    """And energy never grows, solved or not; nothing pulls, and friction never exceeds its limit."""
    world, v, rng = random_world(seed, bodies, contacts, held, limits)
    (W, r), mu = world.problem(v), rng.uniform(0, 0.8, contacts)
    x, report = solve_factored(world, v, mu)
    assert gain(W, r, x) <= 1e-13 * size(W, r, x) ** 2
    failing = violation(W, r, mu, x, held, limits)
    assert report.status in (SOLVED, UNFINISHED)
    if report.status == SOLVED:
        assert failing < 1e-9


def test_most_random_worlds_are_solved():
    solved = 0
    for seed in range(100):
        world, v, rng = random_world(seed, 4, 10, 0, 0)
        solved += solve_factored(world, v, rng.uniform(0, 0.8, 10))[1].status == SOLVED
    assert solved >= 95


@pytest.mark.parametrize("seed", range(10))
def test_without_friction_the_motion_is_that_of_the_passes(seed):
    world, v, _ = random_world(seed, 4, 8, 1, 1)
    W, r = world.problem(v)
    x, report = solve_factored(world, v, 0.0)
    passes, _ = solve(W, r, 0.0, 1, 1)
    assert report.status == SOLVED
    np.testing.assert_allclose(W @ x, W @ passes, atol=1e-9 * size(W, r, x))


def test_what_gaps_allow_is_used():
    """A normal that may close at 0.25 closes at that."""
    world = World([1.0], [cube(1.0, 1.0)], [(0, 0, 0.5)])
    world.touch(GROUND, 0, (0, 0, 0))
    v = np.array([0, 0, -1.0, 0, 0, 0])
    x, _ = solve_factored(world, v, 0.5, r=world.jacobian() @ v + [0.25, 0, 0])
    assert x[0] == pytest.approx(0.75, rel=1e-12)


def test_numbers_that_are_none_are_told():
    world = stack(1)
    x, report = solve_factored(world, np.full(6, np.nan), 0.5)
    assert report.status == NOT_FINITE
    assert np.isnan(x).all()
