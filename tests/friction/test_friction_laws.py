"""Friction of rigid bodies against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from rigid import GROUND, World, cube, gain, pile, size, solve, solve_factored, stack, violation

from multibody_cli.linalg.multipliers import CONTRADICTORY, SOLVED

G = 9.81


def incline(slope, direction=0.0):
    """A cube on an incline of that slope, which falls along a direction (rad) in its plane: (W, r)."""
    angle = np.arctan(slope)
    world = stack(1)
    gravity = G * np.array([np.sin(angle) * np.cos(direction), np.sin(angle) * np.sin(direction), -np.cos(angle)])
    return (*world.problem(world.falling(gravity)), angle)


# --- sticking and sliding ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("slope", "direction"), [(0.1, 0.0), (0.1, 1.1), (0.5, 0.0), (0.5, np.pi / 4), (0.5, 1.1), (0.9, 0.0)]
)
def test_a_block_sticks_up_to_the_slope_of_mu(slope, direction):
    """To the last digits, and beyond it slides; corners and the tipping of the block included."""
    W, r, angle = incline(slope, direction)
    x, report = solve(W, r, slope * (1 + 1e-12))
    assert report.status == SOLVED
    assert np.abs(W @ x + r).max() < 1e-13 * np.abs(r).max()
    x, report = solve(W, r, slope * (1 - 1e-8))
    u = (W @ x + r).reshape(-1, 3)
    assert report.status == SOLVED
    np.testing.assert_allclose(u[:, 0], 0.0, atol=1e-13)
    along = u[:, 1] * np.cos(direction) + u[:, 2] * np.sin(direction)
    np.testing.assert_allclose(along, 1e-8 * G * np.sin(angle), atol=2e-14)


@pytest.mark.parametrize("direction", [np.pi / 4, 1.1])
def test_a_block_on_the_verge_of_lifting_a_corner_sticks_too(direction):
    """Shares of least norm would pull at that corner.  It slides where it should to 1e-4 of its creeping."""
    W, r, angle = incline(0.9, direction)
    x, report = solve(W, r, 0.9 * (1 + 1e-6))
    assert report.status == SOLVED
    assert np.abs(W @ x + r).max() < 1e-13 * np.abs(r).max()
    x, report = solve(W, r, 0.9 * (1 - 1e-6))
    u = (W @ x + r).reshape(-1, 3)
    np.testing.assert_allclose(u[:, 1], 0.9e-6 * G * np.cos(angle) * np.cos(direction), rtol=1e-4)


@pytest.mark.parametrize("direction", [0.0, np.pi / 4, 2.0])
@pytest.mark.parametrize("mu", [0.0, 0.1, 0.4])
def test_a_sliding_block_accelerates_as_coulomb_says(mu, direction):
    W, r, angle = incline(0.5, direction)
    x, report = solve(W, r, mu)
    u = (W @ x + r).reshape(-1, 3)
    speed = G * (np.sin(angle) - mu * np.cos(angle))
    assert report.status == SOLVED
    np.testing.assert_allclose(
        u, np.tile([0, speed * np.cos(direction), speed * np.sin(direction)], (4, 1)), atol=1e-13
    )


def test_the_convex_relaxation_lets_a_sliding_block_fly_off():
    """A block that slides at v separates with mu v in Anitescu's relaxation, in any direction."""
    block = World([2.0], [np.full(3, 1e9)], [(0, 0, 0)])
    block.touch(GROUND, 0, (0, 0, 0))
    v = np.array([2.4, 1.8, -1.0, 0, 0, 0])
    W, r = block.problem(v)
    x, report = solve_factored(block, v, 0.5, convex=True)
    u = W @ x + r
    assert report.status == SOLVED
    assert u[0] == pytest.approx(0.5 * np.hypot(u[1], u[2]), rel=1e-10)
    assert u[0] > 0.5
    np.testing.assert_allclose(u[1] / u[2], 2.4 / 1.8, rtol=1e-10)
    coulomb = W @ solve(W, r, 0.5)[0] + r
    np.testing.assert_allclose(coulomb, [0, 0.8 * 2.5, 0.6 * 2.5], atol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_the_convex_relaxation_is_a_minimum_over_the_cones(seed):
    """Impulses in the cones, velocities in the dual cones, and no power of one on the other."""
    rng = np.random.default_rng(seed)
    world = pile(rng, 5, 15)
    v, mu = world.falling([0, 0, -1]) + rng.normal(size=30), rng.uniform(0.0, 1.5, 15)
    W, r = world.problem(v)
    x, report = solve_factored(world, v, mu, convex=True)
    assert report.status == SOLVED
    (alpha, *beta), (u_n, *u_t) = x.reshape(-1, 3).T, (W @ x + r).reshape(-1, 3).T
    assert (np.hypot(*beta) <= mu * alpha * (1 + 2e-16)).all()
    assert (u_n >= mu * np.hypot(*u_t) - 1e-8 * np.abs(v).max()).all()
    assert abs(x @ (W @ x + r)) <= 1e-9 * size(W, r, x) ** 2


def test_the_convex_relaxation_agrees_where_all_contacts_stick():
    world = stack(3)
    v = world.falling([0.1 * G, 0.05 * G, -G])
    x, report = solve_factored(world, v, 0.7, convex=True)
    W, r = world.problem(v)
    assert report.status == SOLVED
    assert np.abs(W @ x + r).max() < 1e-12 * G


@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_a_ball_that_lands_with_spin_slides_or_rolls(mu):
    """Impact of a sphere that slides at v: friction mu p, or the impulse after which it rolls, 2/7 m v; p = m w."""
    mass, radius, v, w = 2.0, 0.3, 2.0, 1.5
    ball = World([mass], [np.full(3, 0.4 * mass * radius**2)], [(0, 0, radius)])
    ball.touch(GROUND, 0, (0, 0, 0))
    W, r = ball.problem([v, 0, -w, 0, 0, 0])
    x, _ = solve(W, r, mu)
    np.testing.assert_allclose(x, [mass * w, -min(mu * mass * w, 2 / 7 * mass * v), 0], atol=1e-14)


# --- sharing -------------------------------------------------------------------------------------------------------
def test_four_corners_share_equally():
    W, r = stack(1).problem(stack(1).falling([0, 0, -G]))
    x, _ = solve(W, r, 0.5)
    np.testing.assert_allclose(x.reshape(-1, 3), np.tile([0.5 * G / 4, 0, 0], (4, 1)), atol=1e-14)


def test_what_is_symmetric_stays_so():
    """A block that slides without turning: both sides carry alike, though four normals have only rank three."""
    W, r, _ = incline(0.5)
    x = solve(W, r, 0.3)[0].reshape(2, 2, 3)
    np.testing.assert_allclose(x[:, 0, :2], x[:, 1, :2], rtol=1e-12)


@pytest.mark.parametrize("count", [2, 5, 10])
def test_every_face_of_a_stack_carries_what_is_above(count):
    world = stack(count)
    W, r = world.problem(world.falling([0, 0, -G]))
    x, report = solve(W, r, 0.5)
    carried = x.reshape(count, 4, 3)[:, :, 0].sum(axis=1)
    assert report.status == SOLVED
    np.testing.assert_allclose(carried, 0.5 * G * np.arange(count, 0, -1), rtol=1e-12)
    assert np.abs(W @ x + r).max() < 1e-13 * G * count


def test_a_pushed_brick_drags_the_one_below():
    """Two blocks, the lower on ice, the upper faster: their momenta change by mu times the normal impulse."""
    world = stack(2)
    W, r = world.problem([2.0, 0, -0.1, 0, 0, 0, 6.0, 0, -0.1, 0, 0, 0])
    x, report = solve(W, r, np.repeat([0.0, 0.3], 4))
    J = world.jacobian()
    v = np.array([2.0, 0, -0.1, 0, 0, 0, 6.0, 0, -0.1, 0, 0, 0]) + J.T @ x / world.mass
    assert report.status == SOLVED
    np.testing.assert_allclose(v[[0, 6]], [2.0 + 0.3 * 0.1, 6.0 - 0.3 * 0.1], rtol=1e-12)


# --- cards and wedges ------------------------------------------------------------------------------------------------
def cards(theta, mass=1.0, length=1.0):
    """Two thin cards that lean against each other at an angle from the vertical."""
    x, z = 0.5 * length * np.sin(theta), 0.5 * length * np.cos(theta)
    world = World([mass] * 2, [np.full(3, mass * length**2 / 12)] * 2, [(-x, 0, z), (x, 0, z)])
    for y in (-0.1, 0.1):
        world.touch(GROUND, 0, (-2 * x, y, 0))
        world.touch(GROUND, 1, (2 * x, y, 0))
        world.touch(0, 1, (0, y, 2 * z), [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
    return world


@pytest.mark.parametrize("degrees", [10, 15, 20, 25, 30])
def test_leaning_cards_stand_from_half_the_tangent_of_their_angle(degrees):
    theta = np.radians(degrees)
    world = cards(theta)
    W, r = world.problem(world.falling([0, 0, -G]))
    for factor, stands in ((1 + 1e-6, True), (1 - 1e-6, False)):
        mu = 0.5 * np.tan(theta) * factor
        x, report = solve(W, r, mu)
        fastest = np.abs(W @ x + r).max()
        assert report.status == SOLVED
        assert (fastest < 1e-13 * G) if stands else (1e-8 < fastest < 1e-4)
        assert violation(W, r, mu, x) < 1e-11


def wedge(half_angle):
    """A ball between two walls that open upward, each at an angle from the vertical."""
    ball = World([1.0], [np.full(3, 0.1)], [(0, 0, 0)])
    c, s = np.cos(half_angle), np.sin(half_angle)
    for side in (1.0, -1.0):
        normal = np.array([side * c, 0, s])
        ball.touch(GROUND, 0, -0.5 * normal, [normal, (side * s, 0, -c), (0, 1, 0)])
    return ball


def test_a_ball_thrown_into_a_wedge_stops_and_its_walls_share():
    ball = wedge(np.radians(20))
    W, r = ball.problem([0, 0, -2.0, 0, 0, 0])
    for mu in (0.0, 0.1, 1.0, 100.0, np.inf):
        x, report = solve(W, r, mu)
        assert report.status == SOLVED
        assert x[0] == pytest.approx(x[3], rel=1e-12)
        assert np.abs((W @ x + r)[::3]).max() < 1e-13
        assert gain(W, r, x) == pytest.approx(-2.0, rel=1e-12)


def test_a_ball_in_a_wedge_that_closes_cannot_be_helped():
    ball = wedge(0.0)
    W, r = ball.problem(np.zeros(6))
    r[::3] -= 1.0  # both walls come in
    for mu in (0.0, 0.5, 1e6):
        x, report = solve(W, r, mu)
        assert report.status == CONTRADICTORY
        assert report.residual > 0.1
        assert np.isfinite(x).all()


def test_a_rod_that_jams_while_it_slides():
    """Painleve's rod: sliding friction presses its tip harder into the floor than it is pressed; it stops instead."""
    angle, length = np.radians(60), 1.0
    rod = World([1.0], [np.full(3, length**2 / 12)], [(0, 0, 0)])
    rod.touch(GROUND, 0, (0.5 * np.cos(angle), 0, -0.5 * np.sin(angle)))
    W, r = rod.problem([1.0, 0, -0.01, 0, 0, 0])
    mu = 2.0
    assert W[0, 0] - mu * abs(W[0, 1]) < 0.0  # sliding on is impossible
    x, report = solve(W, r, mu)
    assert report.status == SOLVED
    assert np.abs(W @ x + r).max() < 1e-13
    assert gain(W, r, x) < 0.0


def test_a_heavy_cube_on_a_light_one():
    """Masses of 1 and 1e6, the ratio that makes iterations crawl."""
    side = 0.1
    world = stack(2)
    world.mass = np.concatenate([np.r_[np.full(3, m), cube(m, side)] for m in (1.0, 1e6)])
    W, r = world.problem(world.falling([0.1 * G, 0, -G]))
    x, report = solve(W, r, 0.5)
    assert report.status == SOLVED
    assert (np.abs(W @ x + r) < 1e-14 * (np.abs(W) @ np.abs(x))).all()
