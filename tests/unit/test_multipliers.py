"""Multipliers of constraint rows: against dense solvers, and against the conditions that define them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, lsq_linear, nnls

from multibody_cli.kernel import allocate
from multibody_cli.linalg.free_rows import Scratch, rank_of
from multibody_cli.linalg.multipliers import CONTRADICTORY, NOT_FINITE, SOLVED, solve_multipliers

HERE = Path(__file__)
INF = np.inf
SEEDS = st.integers(0, 2**32 - 1)


def solve(W, b, lower=-INF, upper=INF, guess=np.nan):
    """(x, status), with scratch full of rubbish and an upper triangle that must not be read."""
    m = len(b)
    only_lower = np.where(np.tri(m, dtype=bool), W, np.nan)
    scratch = allocate(Scratch, m=m + 2)
    for array in (*scratch.factors[1:], *scratch[3:]):
        array.fill(np.nan)
    x, lower, upper = (np.array(np.broadcast_to(each, m), float) for each in (guess, lower, upper))
    status = solve_multipliers(only_lower, np.asarray(b, float), lower, upper, x, scratch)
    return x, status


def redundant_rows(W):
    """(rank, numbers of the dependent rows)."""
    scratch = allocate(Scratch, m=len(W))
    return rank_of(W, scratch), list(np.flatnonzero(scratch.dependent))


def violation(W, b, lower, upper, x, least=1e-300):
    """Violation of the Karush-Kuhn-Tucker conditions by x, relative to the terms of each residual.

    Terms that should cancel exactly to 0 need a `least` size to compare with.
    """
    assert (x >= lower).all()
    assert (x <= upper).all()
    r = W @ x + b
    wrong = np.where(x > lower, np.maximum(r, 0), 0) + np.where(x < upper, np.maximum(-r, 0), 0)
    terms = np.abs(b) + np.abs(W) @ np.abs(x)
    return (wrong / np.maximum(terms, least)).max(initial=0.0)


def jacobian(rng, m, n, scales=0.0):
    """Random rows, those of every third problem dependent, with scales from 10^-scales to 10^scales."""
    J = rng.normal(size=(m, n))
    if m > 1 and rng.random() < 0.33:
        J[-1] = J[0] if rng.random() < 0.5 else J[:-1].sum(0)
    return J * 10.0 ** rng.uniform(-scales, scales, size=(m, 1))


def box(rng, m, scale):
    """A third each of equalities, one-sided rows and rows with finite limits."""
    kind, limit = rng.integers(3, size=m), rng.random(m) * scale
    return np.choose(kind, [-INF, 0.0, -limit]), np.choose(kind, [INF, INF, limit])


# --- equalities ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("m", [0, 1, 2, 5, 6, 30, 200])
def test_independent_equalities(m):
    rng = np.random.default_rng(m)
    J = rng.normal(size=(m, m + 5))
    W, b = J @ J.T, rng.normal(size=m)
    x, status = solve(W, b)
    assert status == SOLVED
    np.testing.assert_allclose(x, np.linalg.solve(W, -b), rtol=1e-13 * np.linalg.cond(W) if m else 0)


@given(SEEDS, st.integers(1, 9), st.integers(1, 7), st.booleans())
def test_dependent_equalities_have_the_solution_of_the_pseudo_inverse(seed, m, rank, consistent):
    """Least norm if there are solutions, and least squares of least norm if there are none."""
    rng = np.random.default_rng(seed)
    rank = min(rank, m)
    mix = np.linalg.qr(rng.normal(size=(m, m)))[0][:, :rank]  # condition number 1 to 16
    W = mix * rng.uniform(0.25, 4.0, size=rank) @ mix.T
    b = W @ rng.normal(size=m) if consistent else rng.normal(size=m)
    x, status = solve(W, b)
    # the kept rows may be far worse conditioned than W, down to the squared sine of 1e-12 that counts as dependent
    assert np.linalg.norm(x + np.linalg.pinv(W, rcond=1e-9, hermitian=True) @ b) < 1e-6 * np.linalg.norm(b)
    assert status == (SOLVED if consistent or rank == m else CONTRADICTORY)
    assert redundant_rows(W)[0] == rank


def test_three_supports_of_a_beam_share_its_load():
    """A rigid beam (mass 1, length 2) on both ends and the middle: the least-norm shares are thirds."""
    J = np.array([[1.0, -1.0], [1.0, 0.0], [1.0, 1.0]])
    W = J @ np.diag([1.0, 3.0]) @ J.T
    x, status = solve(W, J @ [-9.81, 0.0])
    assert status == SOLVED
    np.testing.assert_allclose(x, 9.81 / 3, rtol=1e-13)


def test_an_ineffective_row_has_zero_multiplier():
    J = np.array([[1.0, 2.0], [0.0, 0.0], [1e-17, -1e-17], [0.0, 1.0]])
    W, b = J @ J.T, J @ [3.0, -5.0]
    assert redundant_rows(W) == (2, [1, 2])
    x, status = solve(W, b)
    assert status == SOLVED
    np.testing.assert_allclose(x, [-3.0, 0.0, 0.0, 11.0], atol=1e-13)


def test_without_degrees_of_freedom_every_row_is_redundant():
    W = np.zeros((3, 3))
    assert redundant_rows(W) == (0, [0, 1, 2])
    assert solve(W, np.zeros(3))[1] == SOLVED
    for m in (1, 3):
        for lower in (-INF, 0.0):
            x, status = solve(np.zeros((m, m)), -np.ones(m), lower)
            assert status == CONTRADICTORY
            np.testing.assert_array_equal(x, 0.0)


def test_contradictory_equalities_have_the_least_squares_solution():
    J = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    W, b = J @ J.T, np.array([1.0, 3.0, -2.0, 4.0])
    x, status = solve(W, b)
    assert status == CONTRADICTORY
    np.testing.assert_allclose(x, np.linalg.lstsq(W, -b, rcond=1e-12)[0], rtol=1e-12)


# --- which rows are redundant ----------------------------------------------------------------------------------
def test_of_equal_rows_the_later_is_redundant():
    rng = np.random.default_rng(5)
    J = rng.normal(size=(7, 9))
    J[4], J[6] = J[1], -2.0 * J[0]
    assert redundant_rows(J @ J.T) == (5, [4, 6])


@given(SEEDS, st.integers(2, 9), st.integers(1, 6))
def test_redundant_rows_are_combinations_of_the_others(seed, m, n):
    J = jacobian(np.random.default_rng(seed), m, n)
    rank, named = redundant_rows(J @ J.T)
    kept = np.delete(J, named, axis=0)
    assert rank == len(kept) == np.linalg.matrix_rank(J, tol=1e-6)
    assert np.linalg.matrix_rank(kept, tol=1e-7) == rank


@given(SEEDS, st.integers(2, 8), st.integers(2, 8))
def test_the_solution_does_not_depend_on_units_of_rows(seed, m, n):
    """With units that differ by powers of two, nothing is rounded differently: 2^-20 to 2^20 is 1e-6 to 1e6."""
    rng = np.random.default_rng(seed)
    J = jacobian(rng, m, n)
    units = 2.0 ** rng.integers(-20, 21, size=m)
    W, b = J @ J.T, J @ rng.normal(size=n)
    scaled_W, scaled_b = units[:, None] * W * units, units * b
    assert redundant_rows(scaled_W) == redundant_rows(W)
    if redundant_rows(W)[0] == m:
        lower, upper = box(rng, m, 1.0)
        x, status = solve(W, b, lower, upper)
        scaled_x, scaled_status = solve(scaled_W, scaled_b, lower / units, upper / units)
        assert scaled_status == status
        np.testing.assert_array_equal(units * scaled_x, x)


# --- singular positions ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("theta", [1e-2, 1e-3, 1e-4, 1e-5, 2e-6, 1e-6, 9e-7, 1e-7, 1e-8, 1e-9, 0.0])
@pytest.mark.parametrize("lower", [-INF, 0.0], ids=["equalities", "one-sided"])
def test_two_nearly_dependent_rows(theta, lower):
    """W has the eigenvalues 2 and theta^2 / 2; b = -W (1, 2), up to 1e-14 of its entries of 3.

    The second row has the share theta^2.  Errors of 3e-14 in both entries of b become at most 6e-14 / theta^2 in x, and
    6e-14 / theta in J^T x.  Rows that are held to be one share x instead, which moves J^T x by theta / 2.
    """
    rng = np.random.default_rng(1)
    J = np.array([[1.0, 0.0], [np.cos(theta), np.sin(theta)]])
    W, wanted = J @ J.T, np.array([1.0, 2.0])
    for _ in range(20):
        b = -(W @ wanted) * (1.0 + 1e-14 * rng.uniform(-1, 1, size=2))
        x, status = solve(W, b, lower)
        assert status == SOLVED
        assert np.abs(W @ x + b).max() < 1e-11
        if theta > 1e-6:
            assert np.abs(x - wanted).max() < 7e-14 / theta**2
            assert np.abs(J.T @ (x - wanted)).max() < 7e-14 / theta
        else:
            np.testing.assert_allclose(x, 1.5, atol=0.01 if theta == 1e-6 else 1e-6)
            assert np.abs(J.T @ (x - wanted)).max() < 0.51 * theta + 1e-13


@pytest.mark.parametrize("theta", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 0.0])
def test_the_constrained_motion_is_bounded_near_a_singular_position(theta):
    """b = J a with any a: multipliers may grow as 1 / theta, but |J^T x| stays below |a|, for it is a projection."""
    a = np.array([0.3, 0.7])
    J = np.array([[1.0, 0.0], [np.cos(theta), np.sin(theta)]])
    x, _ = solve(J @ J.T, J @ a)
    assert np.linalg.norm(J.T @ x) < (1.0 + 1e-6) * np.linalg.norm(a)
    assert np.abs(x).max() < 1e6
    x, status = solve(J @ J.T, -J @ a, 0.0)
    assert status == SOLVED
    assert violation(J @ J.T, -J @ a, 0.0, INF, x) < 1e-10


# --- bounds ----------------------------------------------------------------------------------------------------
@given(SEEDS, st.integers(1, 10), st.integers(1, 10), st.sampled_from([0.0, 3.0, 6.0]), st.sampled_from([0.1, 1, 10]))
def test_random_box_problems_satisfy_complementarity(seed, m, n, scales, limits):
    """Well-posed, redundant and badly scaled rows; b comes from a motion, so that the rows can be satisfied."""
    rng = np.random.default_rng(seed)
    J = jacobian(rng, m, n, scales)
    W, b = J @ J.T, J @ rng.normal(size=n)
    lower, upper = box(rng, m, limits)
    x, status = solve(W, b, lower, upper)
    assert status == SOLVED
    assert violation(W, b, lower, upper, x) < 1e-10


@given(SEEDS, st.integers(1, 10), st.integers(1, 10))
def test_degenerate_box_problems_satisfy_complementarity(seed, m, n):
    """Many residuals and multipliers are 0 at once, and rows repeat."""
    rng = np.random.default_rng(seed)
    J = rng.integers(-1, 2, size=(m, n)).astype(float)
    W, b = J @ J.T, J @ rng.integers(-2, 3, size=n)
    kind = rng.integers(3, size=m)
    lower, upper = np.choose(kind, [-INF, 0.0, -1.0]), np.choose(kind, [INF, INF, 1.0])
    x, status = solve(W, b, lower, upper)
    assert status == SOLVED
    assert violation(W, b, lower, upper, x, least=1.0) < 1e-10


@given(SEEDS, st.integers(1, 8), st.integers(1, 8))
def test_box_problems_agree_with_bounded_least_squares(seed, m, n):
    """With b = J a the objective is |J^T x + a|^2 / 2, and J^T x is unique."""
    rng = np.random.default_rng(seed)
    J, a = jacobian(rng, m, n), rng.normal(size=n)
    lower, upper = box(rng, m, 1.0)
    x, status = solve(J @ J.T, J @ a, lower, upper)
    expected = lsq_linear(J.T, -a, (lower, upper), method="bvls", tol=1e-14, max_iter=500)
    assert status == SOLVED
    assert 0.5 * np.sum((J.T @ x + a) ** 2) < expected.cost + 1e-12
    if np.linalg.matrix_rank(J) == m:  # else the reference may stop short
        np.testing.assert_allclose(J.T @ x, J.T @ expected.x, atol=1e-6)


@given(SEEDS, st.integers(1, 9), st.integers(1, 9))
def test_unilateral_rows_agree_with_nonnegative_least_squares(seed, m, n):
    rng = np.random.default_rng(seed)
    J, a = jacobian(rng, m, n), rng.normal(size=n)
    x, status = solve(J @ J.T, J @ a, 0.0)
    assert status == SOLVED
    # round-off in W is that of squares: a nearly dependent set of rows loses half the digits of J^T x
    np.testing.assert_allclose(J.T @ x, J.T @ nnls(J.T, -a)[0], atol=1e-8)


def test_one_row():
    for b, expected in [(-6.0, 3.0), (4.0, -1.0), (1.0, -0.5)]:
        x, status = solve(np.array([[2.0]]), [b], -1.0, 10.0)
        assert (x[0], status) == (expected, SOLVED)


def test_four_legs_share_the_load_and_a_lifted_leg_has_none():
    """A table of mass 1 (inertias 1) on four legs; under a moment, two legs lift and two support it."""
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]], float)
    J = np.column_stack([np.ones(4), corners])
    x, status = solve(J @ J.T, J @ [-9.81, 0.0, 0.0], 0.0)
    assert status == SOLVED
    np.testing.assert_allclose(x, 9.81 / 4, rtol=1e-12)
    x, status = solve(J @ J.T, J @ [-9.81, -15.0, 0.0], 0.0)
    assert status == SOLVED
    np.testing.assert_allclose(x, [(9.81 + 15.0) / 4, 0.0, 0.0, (9.81 + 15.0) / 4], rtol=1e-12, atol=1e-13)


def test_repeated_rows_with_different_right_hand_sides():
    """r_i = x1 + x2 + b_i: the stricter row is active, the other is inactive."""
    x, status = solve(np.ones((2, 2)), [-1.0, 3.0], 0.0)
    assert status == SOLVED
    np.testing.assert_allclose(x, [1.0, 0.0], atol=1e-14)
    x, status = solve(np.ones((2, 2)), [-1.0, -3.0], 0.0, [INF, 2.0])
    assert status == SOLVED
    np.testing.assert_allclose(x, [0.0, 2.0], atol=1e-14)


def test_equalities_take_precedence_over_bounded_rows():
    """Two rows along one line: the bounded one is at its limit, and the equality compensates it."""
    x, status = solve(np.ones((2, 2)), [0.0, -5.0], [-INF, -1.0], [INF, 1.0])
    assert status == SOLVED
    np.testing.assert_allclose(x, [-1.0, 1.0], atol=1e-14)


def test_round_off_of_a_large_load_is_no_contradiction():
    """Two rows along one line, next to a row at its limit that balances all of their residuals but the last digit."""
    J = np.array([[1.0, 0.0], [3.0, 0.0], [1000.0, 1.0]])
    x, status = solve(J @ J.T, [np.nextafter(-100.0, 0.0), -300.0, -1e6], [-INF, -INF, 0.0], [INF, INF, 0.1])
    assert status == SOLVED
    np.testing.assert_allclose(x, [0.0, 0.0, 0.1], atol=1e-13)


@given(SEEDS, st.integers(2, 8), st.integers(1, 8))
def test_infeasible_problems_are_reported_with_bounded_multipliers(seed, m, n):
    """A unilateral row and the contradicting equality along the same line, among other rows."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(m, n))
    J[1] = J[0]
    W, b = J @ J.T, J @ rng.normal(size=n)
    b[1] -= 1.0
    lower = np.where(np.arange(m) == 0, -INF, 0.0)
    x, status = solve(W, b, lower)
    assert status == CONTRADICTORY
    assert (x >= lower).all()
    assert np.isfinite(x).all()


@given(SEEDS, st.integers(2, 10), st.integers(1, 6), st.booleans())
def test_contradictions_are_detected(seed, m, n, whole):
    """There is no solution if and only if some d in the recession cone has W d = 0 and b.d < 0."""
    rng = np.random.default_rng(seed)
    J = rng.integers(-1, 2, size=(m, n)).astype(float) if whole else jacobian(rng, m, n)
    b = J @ rng.normal(size=n)
    b[rng.integers(m)] -= 1.0
    lower, upper = box(rng, m, 1.0)
    x, status = solve(J @ J.T, b, lower, upper)
    endless = np.column_stack([np.where(lower == -INF, -1.0, 0.0), np.where(upper == INF, 1.0, 0.0)])
    fall = linprog(b, A_eq=J.T, b_eq=np.zeros(n), bounds=endless).fun
    assert status == (CONTRADICTORY if fall < -1e-6 else SOLVED)
    assert np.abs(x).max() < 1e8
    if status == SOLVED:
        assert violation(J @ J.T, b, lower, upper, x, least=1e-3) < 1e-10


@pytest.mark.parametrize("limits", [INF, 0.05])
def test_many_rows(limits):
    rng = np.random.default_rng(8)
    J = rng.normal(size=(150, 60))
    W, b = J @ J.T, J @ rng.normal(size=60)
    lower = 0.0 if limits == INF else -limits
    x, status = solve(W, b, lower, limits)
    assert status == SOLVED
    assert violation(W, b, lower, limits, x) < 1e-10
    assert 0 < np.count_nonzero((x > lower) & (x < limits)) < 150


# --- input -----------------------------------------------------------------------------------------------------
@given(SEEDS, st.integers(1, 8), st.integers(1, 8), st.booleans())
def test_the_motion_does_not_depend_on_the_initial_guess(seed, m, n, good):
    rng = np.random.default_rng(seed)
    J = jacobian(rng, m, n)
    W, b = J @ J.T, J @ rng.normal(size=n)
    lower, upper = box(rng, m, 1.0)
    x, _ = solve(W, b, lower, upper)
    again, status = solve(W, b, lower, upper, x if good else 3.0 * rng.normal(size=m))
    assert status == SOLVED
    assert violation(W, b, lower, upper, again) < 1e-10
    np.testing.assert_allclose(J.T @ again, J.T @ x, atol=1e-8)


def test_the_solution_is_deterministic():
    """Bit for bit, after any earlier use of the scratch, and as a corner of larger arrays."""
    rng = np.random.default_rng(9)
    J = jacobian(rng, 9, 7)
    W, b = J @ J.T, J @ rng.normal(size=7)
    lower, upper = box(rng, 9, 0.3)
    expected, _ = solve(W, b, lower, upper)
    scratch, large = allocate(Scratch, m=20), np.full((20, 20), np.nan)
    large[:9, :9] = W
    for m in (9, 4, 9):
        x = np.full(20, np.nan)
        solve_multipliers(large[:m, :m], b[:m], lower[:m], upper[:m], x[:m], scratch)
    np.testing.assert_array_equal(x[:9], expected)
    assert np.isnan(x[9:]).all()


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("lower", [-INF, 0.0])
@pytest.mark.parametrize("wrong", [np.nan, INF])
def test_nonfinite_problems_are_not_solved(m, lower, wrong):
    for place in ("W", "b"):
        W, b = np.eye(m), np.ones(m)
        if place == "W":
            W[-1, 0] = wrong
        else:
            b[-1] = wrong
        x, status = solve(W, b, lower)
        assert status == NOT_FINITE
        assert np.isnan(x).all()


def test_kernels_run_as_plain_python():
    chosen = (
        test_three_supports_of_a_beam_share_its_load,
        test_an_ineffective_row_has_zero_multiplier,
        test_contradictory_equalities_have_the_least_squares_solution,
        test_two_nearly_dependent_rows,
        test_the_constrained_motion_is_bounded_near_a_singular_position,
        test_box_problems_agree_with_bounded_least_squares,
        test_four_legs_share_the_load_and_a_lifted_leg_has_none,
        test_repeated_rows_with_different_right_hand_sides,
        test_infeasible_problems_are_reported_with_bounded_multipliers,
    )
    tests = [f"{HERE}::{test.__name__}" for test in chosen]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        cwd=HERE.parents[2],
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
