"""Newton's method for the natural map: its step against a dense one, and problems with a loose tolerance."""

from __future__ import annotations

import numpy as np
import pytest
from rigid import factored, pile, proximal_scratch, solve, solve_factored, stack, violation

from multibody_cli.contact_solver.friction import natural_map
from multibody_cli.contact_solver.friction.elimination_order import order_blocks
from multibody_cli.contact_solver.friction.problem import compute_offset, scale_rows, set_free_velocity
from multibody_cli.linalg.multipliers import SOLVED

G = 9.81
LOOSE = {"tolerance": 1e-6}


def falling_pile(seed, bodies=4, contacts=12):
    world = pile(np.random.default_rng(seed), bodies, contacts)
    return world, world.falling([0.4, 0.3, -G])


def dense_step(world, v, mu, x, w, compliance, convex):
    """The step from the derivative of the projection by differences: (1 - D) dx + D (W dx / w + eps dx) = P - x."""
    W, r = world.problem(v)

    def projected(y):
        result = np.zeros(len(y))
        for k in range(0, len(y), 3):
            normal, tangents = y[k], y[k + 1 : k + 3]
            length = np.linalg.norm(tangents)
            if convex:
                if normal + mu * length <= 0.0:
                    continue
                if length > mu * normal:
                    normal = (normal + mu * length) / (1 + mu**2)
            normal = max(normal, 0.0)
            result[k], result[k + 1 : k + 3] = normal, tangents * min(1.0, mu * normal / length)
        return result

    y = x - (W @ x + r) / w
    D = np.array([(projected(y + 1e-6 * e) - projected(y - 1e-6 * e)) / 2e-6 for e in np.eye(len(y))]).T
    A = np.eye(len(y)) - D + D @ (W / w[:, None] + compliance * np.eye(len(y)))
    return np.linalg.solve(A, projected(y) - x), D


@pytest.mark.parametrize("seed", range(6))
def test_the_scale_of_a_contact_is_the_largest_response_along_its_normal_and_in_its_plane(seed):
    world, v = falling_pile(seed)
    F = factored(world, v, 0.6)
    scale_rows(F)
    W, _ = world.problem(v)
    for k in range(0, len(W), 3):
        largest = max(W[k, k], np.linalg.eigvalsh(W[k + 1 : k + 3, k + 1 : k + 3])[-1])
        np.testing.assert_allclose(F.w[k : k + 3], largest, rtol=1e-12)


@pytest.mark.parametrize("convex", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_step_solves_the_linear_equations(seed, convex):
    world, v = falling_pile(seed)
    mu = 0.6
    F, S = factored(world, v, mu, convex=convex), proximal_scratch(world)
    scale_rows(F)
    n = order_blocks(F, S.matrix.elimination)
    set_free_velocity(F, S.xi0)
    compute_offset(F, S.xi0)
    x = np.random.default_rng(seed).normal(size=len(F.r))
    expected, D = dense_step(world, v, mu, x, F.w, 1e-2, convex)
    tangents = D.reshape(-1, 3, len(x))[:, 1:].reshape(-1, len(x))
    assert 0 < np.count_nonzero(np.abs(tangents).max(axis=1)) < len(tangents)  # some are pressed, some are not
    natural_map.relative_residual(F, x, S)
    after = x.copy()
    natural_map.compute_step(F, 1e-2, after, n, S)
    np.testing.assert_allclose(after - x, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(20))
def test_a_loose_tolerance_is_met_with_the_motion_of_staggered_projections(seed):
    world, v = falling_pile(seed)
    W, r = world.problem(v)
    x, report = solve_factored(world, v, 0.3, **LOOSE)
    reference, exact = solve(W, r, 0.3)
    assert report.status == SOLVED
    assert report.residual <= 1e-6
    assert violation(W, r, 0.3, x) < 1e-5
    if exact.status == SOLVED:
        changes = world.jacobian().T @ (x - reference) / np.sqrt(world.mass)
        assert np.linalg.norm(changes) < 1e-4 * np.linalg.norm(np.sqrt(world.mass) * v)


def test_a_similar_problem_takes_few_steps():
    """From the impulses of a step before, on bodies that slide."""
    world = stack(2)
    before, _ = solve_factored(world, world.falling([4.0, 0.5, -G]), 0.3, **LOOSE)
    _, report = solve_factored(world, world.falling([4.01, 0.51, -G]), 0.3, guess=before, **LOOSE)
    assert report.status == SOLVED
    assert report.steps <= 4


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_bodies_come_to_rest_exactly_with_a_loose_tolerance(slope):
    world = stack(6)
    v = world.falling([slope * G, 0.0, -G])
    guess = np.random.default_rng(3).uniform(0.0, 0.1, 3 * len(world.contacts))
    x, report = solve_factored(world, v, 0.8, guess=guess, **LOOSE)
    after = world.jacobian() @ (v + world.jacobian().T @ x / world.mass)
    assert report.status == SOLVED
    assert np.abs(after).max() < 1e-12 * G


def test_steps_that_cycle_are_followed_by_proximal_iterations():
    """From no guess, with much friction: some problems cycle; all are solved, and all steps are counted."""
    steps = []
    for seed in range(20):
        world, v = falling_pile(seed, 5, 20)
        _, report = solve_factored(world, v, 0.8, **LOOSE)
        assert report.status == SOLVED
        steps.append(report.steps)
    assert min(steps) < natural_map.MAX_STEPS < max(steps)


@pytest.mark.parametrize("seed", range(10))
def test_unilateral_rows_are_solved_by_few_steps(seed):
    """Normals without friction, as for the removal of penetration."""
    world, v = falling_pile(seed)
    world.limits, world.contacts = [rows[:1] for rows in world.contacts], []
    W, r = world.problem(v)
    x, report = solve_factored(world, v, [], **LOOSE)
    assert report.status == SOLVED
    assert report.steps <= 12
    assert violation(W, r, 0.0, x, limits=len(r)) < 1e-5
