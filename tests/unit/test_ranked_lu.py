"""Unsymmetric equations of any rank against the singular values of numpy; and unilateral rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from multibody_cli.constraints.rows import ROW
from multibody_cli.kernel import allocate, records
from multibody_cli.linalg.free_rows import Scratch
from multibody_cli.linalg.multipliers import SOLVED, solve_multipliers
from multibody_cli.linalg.ranked_lu import RankedLU, solve_ranked
from multibody_cli.variational.newton_constraints import NewtonConstraintWork, solve_complementarity


def solved(A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, int]:
    """Unknowns and rank, with arrays larger than the system."""
    n = len(b)
    F, x = allocate(RankedLU, m=n + 2), np.full(n, np.nan)
    F.A[:n, :n] = A
    return x, solve_ranked(F, n, b, x)


@pytest.mark.parametrize("rank", [0, 1, 4, 6])
def test_consistent_equations_are_solved_at_any_rank(rank: int) -> None:
    rng = np.random.default_rng(rank)
    A = rng.normal(size=(6, rank)) @ rng.normal(size=(rank, 6))
    b = A @ rng.normal(size=6)
    x, found = solved(A, b)
    assert found == rank == np.linalg.matrix_rank(A)
    np.testing.assert_allclose(A @ x, b, rtol=0, atol=1e-13)


def test_the_solution_does_not_depend_on_units_of_rows_and_columns() -> None:
    """Rows in mm, columns in GN: the same rank, and the same unknowns in their units."""
    rng = np.random.default_rng(7)
    A, b = rng.normal(size=(5, 4)) @ rng.normal(size=(4, 5)), rng.normal(size=5)
    b = A @ b
    rows, columns = 10.0 ** rng.integers(-9, 9, 5), 10.0 ** rng.integers(-9, 9, 5)
    plain, scaled = solved(A, b), solved(rows[:, None] * A * columns, rows * b)
    assert plain[1] == scaled[1] == 4
    np.testing.assert_allclose(A @ (columns * scaled[0]), b, rtol=0, atol=1e-12)


def test_pivots_of_either_sign_are_accepted_down_to_the_bound() -> None:
    """A small pivot, the product of both distances from a singular position, beside two regular rows."""
    for pivot, rank in ((-1e-4, 3), (1e-9, 3), (-1e-9, 3), (1e-11, 2)):
        A = np.array([[2.0, 1.0, 1.0], [1.0, 3.0, 1.0], [1.0, 1.0, 0.0]])
        A[2, 2] = np.linalg.solve(A[:2, :2], A[:2, 2]) @ A[2, :2] + pivot
        x = np.array([1.0, -2.0, 3.0])
        found, of = solved(A, A @ x)
        assert of == rank
        if rank == 3:
            np.testing.assert_allclose(found, x, rtol=1e-5)


# --- rows of which some only push -----------------------------------------------------------------------------------
class Dual(NamedTuple):
    """The fields of the multiplier problem that the solver reads."""

    active_rows: Any
    W: Any
    r: Any
    lower: Any
    x: Any


class Work(NamedTuple):
    """The fields of the work arrays that the solver reads."""

    rows: Any
    dual: Dual


@pytest.mark.parametrize("seed", range(20))
def test_unilateral_rows_solve_the_bounded_least_squares_problem(seed: int) -> None:
    """Where W is symmetric and definite the solution is that of another algorithm, and there is but one."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 9))
    J = rng.normal(size=(m, m + 1))
    W, r, one_sided = J @ J.T, rng.normal(size=m), rng.random(m) < 0.6
    lower = np.where(one_sided, -rng.random(m), -np.inf)
    expected = np.full(m, np.nan)
    assert solve_multipliers(W.copy(), r.copy(), lower, np.full(m, np.inf), expected, allocate(Scratch, m=m)) == SOLVED
    rows = np.zeros(m, ROW)
    rows["one_sided"], rows["weight"] = one_sided, 10.0 ** rng.uniform(-3.0, 3.0, m)
    dual = Dual(np.arange(m), W, r, lower, np.zeros(m))
    whole = np.zeros(m, np.int64)
    solve_complementarity(
        Work(records(rows), dual),
        NewtonConstraintWork(allocate(RankedLU, m=m), np.zeros(m), np.zeros(m), whole, whole.copy()),
        m,
        0.0,
    )
    np.testing.assert_allclose(dual.x, expected, rtol=0, atol=1e-9)
