"""Staggered projections: the conditions of Coulomb's law on any problem, and reports of those that are not solved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rigid import GROUND, World, cube, frame, gain, pile, size, solve, stack, violation

from multibody_cli.kernel import allocate
from multibody_cli.linalg.free_rows import Scratch
from multibody_cli.linalg.multipliers import CONTRADICTORY, NOT_FINITE, SOLVED, UNFINISHED, solve_multipliers

SEEDS = st.integers(0, 2**32 - 1)


def random_problem(seed, bodies, contacts, mu, held=0, limits=0):
    """(W, r, mu, equalities, limits) of a pile, some coordinates of which are held, or stopped from one side."""
    rng = np.random.default_rng(seed)
    world = pile(rng, bodies, contacts)
    unit = np.eye(6 * bodies)
    chosen = rng.permutation(6 * bodies)
    world.equalities = [unit[chosen[:held]]] if held else []
    world.limits = [unit[chosen[held : held + limits]]] if limits else []
    W, r = world.problem(world.falling([0, 0, -1]) + rng.normal(size=6 * bodies))
    return W, r, rng.uniform(0, mu, contacts), held, limits


@given(SEEDS, st.integers(1, 4), st.integers(1, 10), st.floats(0, 2), st.integers(0, 2), st.integers(0, 2))
def test_random_piles_meet_the_conditions_or_say_so(seed, bodies, contacts, mu, held, limits):
    """And energy never grows, solved or not; nothing pulls, and friction never exceeds its limit."""
    W, r, mu, held, limits = random_problem(seed, bodies, contacts, mu, held, limits)
    x, report = solve(W, r, mu, held, limits)
    failing = violation(W, r, mu, x, held, limits)
    assert gain(W, r, x) <= 1e-14 * size(W, r, x) ** 2
    assert report.status in (SOLVED, UNFINISHED)
    if report.status == SOLVED:
        assert failing < 1e-9
        assert report.residual <= 1e-10
    else:
        assert report.residual > 1e-10


def test_of_random_piles_nearly_all_are_solved():
    for contacts, bodies in ((3, 1), (5, 2), (10, 4)):
        for seed in range(100):
            assert solve(*random_problem(seed, bodies, contacts, 0.8))[1].status == SOLVED, seed


@given(SEEDS, st.integers(1, 3), st.integers(1, 8), st.integers(0, 2), st.integers(0, 2))
def test_without_friction_nothing_is_different_from_rows_alone(seed, bodies, contacts, held, limits):
    W, r, _, held, limits = random_problem(seed, bodies, contacts, 0.0, held, limits)
    rows = [*range(held + limits), *range(held + limits, len(r), 3)]
    lower, x = np.zeros(len(rows)), np.full(len(rows), np.nan)
    lower[:held] = -np.inf
    solver = allocate(Scratch, m=len(rows))
    solve_multipliers(W[np.ix_(rows, rows)], r[rows], lower, np.full(len(rows), np.inf), x, solver)
    found, _ = solve(W, r, 0.0, held, limits)
    np.testing.assert_array_equal(found[rows[held:]], x[held:])
    np.testing.assert_allclose(found[rows], x, atol=1e-13 * np.abs(x).max(initial=1.0))  # equalities are solved twice
    np.testing.assert_allclose(W[:, rows] @ found[rows], W[:, rows] @ x, atol=1e-11 * size(W, r, found))
    assert (np.delete(found, rows) == 0).all()


@given(SEEDS)
def test_the_order_of_contacts_does_not_change_the_motion(seed):
    """Three contacts on one body: as many rows as the body can feel at most, so that impulses are unique."""
    rng = np.random.default_rng(seed)
    W, r, mu, *_ = random_problem(seed, 2, 3, 0.3)
    order = rng.permutation(3)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    x, report = solve(W, r, mu)
    y, permuted = solve(W[np.ix_(rows, rows)], r[rows], mu[order])
    assert report.status == permuted.status == SOLVED
    np.testing.assert_allclose(y, x[rows], atol=1e-8 * np.abs(x).max())


def test_a_guess_saves_sweeps_and_changes_nothing():
    W, r, mu, *_ = random_problem(11, 2, 3, 0.5)
    x, _ = solve(W, r, mu)
    again, report = solve(W, r, mu, guess=x)
    assert report.sweeps <= 5  # the first, and those that may fail to improve it
    np.testing.assert_allclose(again, x, atol=1e-9 * np.abs(x).max())


def test_the_same_problem_has_the_same_bits():
    problem = random_problem(5, 4, 10, 1.0)
    np.testing.assert_array_equal(solve(*problem)[0], solve(*problem)[0])


# --- acceleration ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize(("count", "lean"), [(1, (0.9, 0.2)), (2, (0.4, 0.1)), (2, (0.9, 0.2)), (3, (0.3, 0.1))])
def test_round_off_and_units_do_not_decide_whether_stacks_are_solved(count, lean, scale):
    """Of 40 stacks that differ by a factor and by round-off, 39 are solved at least, and each solution is one."""
    world, solved, rng = stack(count), 0, np.random.default_rng(0)
    W, r = world.problem(world.falling([lean[0], lean[1], -1.0]))
    for _ in range(40):
        b = scale * rng.uniform(0.5, 2.0) * r * (1.0 + 1e-15 * rng.normal(size=len(r)))
        x, report = solve(W, b, 0.5)
        if report.status == SOLVED:
            solved += 1
            assert violation(W, b, 0.5, x) < 1e-9
    assert solved >= 39


@pytest.mark.parametrize("sweeps", [5, 20])
def test_a_scale_by_a_power_of_two_changes_no_bit(sweeps):
    """Solved or not: no constant of the iteration has a unit."""
    W, r, mu, *_ = random_problem(3, 4, 10, 0.5)
    x, report = solve(W, r, mu, sweeps=sweeps)
    scaled, same = solve(W, 2.0**40 * r, mu, sweeps=sweeps)
    np.testing.assert_array_equal(scaled, 2.0**40 * x)
    assert same == report


# --- loops and limits ----------------------------------------------------------------------------------------------
def test_a_held_block_needs_no_friction_along_what_holds_it():
    """An equality along the incline, in contradiction to nothing, leaves no friction where it holds first."""
    world = stack(1)
    world.equalities = [np.eye(6)]
    W, r = world.problem([1.0, 0, -1.0, 0, 0, 0])
    x, report = solve(W, r, 0.5, equalities=6)
    assert report.status == SOLVED
    assert np.abs(W @ x + r).max() < 1e-13


def test_a_stop_takes_what_friction_leaves():
    """A block pushed against a one-sided stop at the height of the floor: mu m g from the floor, the rest from it."""
    block = World([2.0], [np.full(3, 1e6)], [(0, 0, 0)])
    block.touch(GROUND, 0, (0, 0, 0))
    block.limits = [np.array([[-1.0, 0, 0, 0, 0, 0]])]
    W, r = block.problem([3.0, 0, -1.0, 0, 0, 0])
    x, report = solve(W, r, 0.5, limits=1)
    assert report.status == SOLVED
    assert np.abs(W @ x + r).max() < 1e-13
    assert violation(W, r, 0.5, x, 0, 1) < 1e-13
    assert x[1] == pytest.approx(2.0, rel=1e-12)
    assert x[0] + np.hypot(*x[2:]) == pytest.approx(6.0, rel=1e-12)


# --- problems without a solution --------------------------------------------------------------------------------------
@pytest.mark.parametrize("coefficient", [np.nan, -0.1])
def test_inadmissible_friction_is_reported(coefficient):
    W, r, mu, *_ = random_problem(0, 1, 2, 0.5)
    mu[1] = coefficient
    x, report = solve(W, r, mu)
    assert report.status == NOT_FINITE
    assert np.isnan(x).all()


@pytest.mark.parametrize("spoil", ["W", "r", "infinite"])
def test_an_input_that_is_not_finite_is_reported(spoil):
    W, r, mu, *_ = random_problem(0, 1, 2, 0.5)
    if spoil == "W":
        W[4, 1] = W[1, 4] = np.nan
    elif spoil == "r":
        r[0] = np.nan
    else:
        r[2] = np.inf
    x, report = solve(W, r, mu)
    assert report.status == NOT_FINITE
    assert np.isnan(x).all()


def test_a_guess_that_is_no_number_is_no_guess():
    W, r, mu, *_ = random_problem(3, 1, 2, 0.5)
    np.testing.assert_array_equal(solve(W, r, mu, guess=np.inf)[0], solve(W, r, mu)[0])


def test_contradictory_rows_are_reported_despite_friction():
    """Two equalities on one coordinate, of which the second requires another velocity."""
    world = stack(1)
    world.equalities = [np.eye(6)[:1], np.eye(6)[:1]]
    W, r = world.problem(world.falling([0, 0, -1.0]))
    r[1] += 1.0
    x, report = solve(W, r, 0.5, equalities=2)
    assert report.status == CONTRADICTORY
    assert np.isfinite(x).all()


def test_too_few_sweeps_are_reported_with_safe_impulses():
    W, r, mu, *_ = next(
        problem for seed in range(100) if solve(*(problem := random_problem(seed, 8, 20, 0.8)))[1].sweeps > 6
    )
    x, report = solve(W, r, mu, sweeps=2)
    assert report.status == UNFINISHED
    assert report.sweeps == 2
    assert report.residual > 1e-10
    assert gain(W, r, x) <= 0.0
    assert (x[::3] >= 0.0).all()
    assert (np.hypot(*x.reshape(-1, 3).T[1:]) <= mu * x[::3]).all()


def test_a_contact_that_nothing_moves_carries_nothing():
    """Between the ground and itself: rows of zeros, which want nothing either."""
    world = World([1.0], [cube(1.0, 1.0)], [(0, 0, 0)])
    world.touch(GROUND, 0, (0, 0, 0))
    world.touch(GROUND, GROUND, (1, 0, 0), frame((0, 0, 1)))
    W, r = world.problem([1.0, 0, -1.0, 0, 0, 0])
    x, report = solve(W, r, 0.5)
    assert report.status == SOLVED
    np.testing.assert_array_equal(x[3:], 0.0)


@pytest.mark.parametrize("tiny", [1e-309, 1e-300, 1e-176, 1e-160])
def test_velocities_next_to_nothing_are_no_danger(tiny):
    """A cylinder in a bearing that is pressed, and one that is not."""
    for pressed in (1.0, 0.0):
        W, r = np.diag([0.0, 1.0, 2.0]), np.array([0.0, tiny, -tiny])
        x, report = solve(W, r, 1.0, guess=[pressed, 0.0, 0.0], friction_patches=1)
        assert report.status == SOLVED
        assert np.isfinite(x).all()
        assert np.hypot(x[1], x[2]) <= 2.0 * tiny
