"""Islands with more rows than the dense matrix of staggered projections."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from rigid import factored, proximal_scratch, solve_factored, stack

from multibody_cli.contact_solver.friction.problem import Options
from multibody_cli.contact_solver.friction.solvers import solve_by_staggered_projections
from multibody_cli.contact_solver.friction.staggered_projections import MAX_STAGGERED_ROWS, staggered_scratch_for
from multibody_cli.linalg.multipliers import NOT_FINITE, SOLVED, UNFINISHED


class Island(NamedTuple):
    proximal: Any
    staggered: Any


def solve_island(world, v):
    problem = factored(world, v, 0.5)
    x = np.full(len(problem.r), np.nan)
    island = Island(proximal_scratch(world), staggered_scratch_for(MAX_STAGGERED_ROWS))
    return x, solve_by_staggered_projections(problem, Options(staggered=True), x, island)


def test_a_large_island_is_solved_by_the_proximal_method_and_reported():
    world = stack(51)
    v = world.falling([0.0, 0.0, -1.0])
    assert MAX_STAGGERED_ROWS < 12 * 51
    x, report = solve_island(world, v)
    assert report.status == UNFINISHED
    expected, production = solve_factored(world, v, 0.5)
    assert production.status == SOLVED
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize(("count", "speed", "status"), [(1, 1.0, SOLVED), (51, np.nan, NOT_FINITE)])
def test_the_status_is_otherwise_that_of_the_solver(count, speed, status):
    world = stack(count)
    assert solve_island(world, world.falling([0.0, 0.0, -speed]))[1].status == status
