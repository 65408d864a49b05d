"""Anderson acceleration: a linear iteration ends in as many steps as unknowns; other problems leave no trace."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_cli.contact_solver.friction.anderson import (
    extrapolate,
    extrapolate_unweighted,
    iterations_for,
    store_iteration,
)

M = 4


def error_after(storage, weighted, steps):
    """Return the error of x -> x + gap(x), with gap(x) = A (x - solution), after steps with acceleration."""
    rng = np.random.default_rng(3)
    A, R, solution = (rng.normal(size=shape) for shape in ((M, M), (M, M), M))
    W, x = R @ R.T + np.eye(M), np.zeros(M)
    storage.stored[0] = -1
    for step in range(steps):
        gap = A @ (x - solution)
        x = x + gap
        store_iteration(storage, gap, x, False)
        if step == 0:
            continue
        if weighted:
            extrapolate(storage, W, x)
        else:
            extrapolate_unweighted(storage, x)
    return x - solution


@pytest.mark.parametrize("weighted", [True, False])
def test_a_linear_iteration_ends_in_one_step_more_than_unknowns(weighted):
    assert np.abs(error_after(iterations_for(M), weighted, M)).max() > 1e-2
    np.testing.assert_allclose(error_after(iterations_for(M), weighted, M + 1), 0.0, atol=1e-9)


def test_the_storage_of_a_larger_problem_is_not_read():
    larger, own = iterations_for(M + 3), iterations_for(M)
    for array in (larger.gap, larger.x, larger.gap_changes, larger.x_changes, larger.product, larger.gram):
        array.fill(np.nan)
    assert error_after(larger, True, M).tobytes() == error_after(own, True, M).tobytes()
