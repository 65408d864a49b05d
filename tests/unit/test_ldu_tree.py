"""The sparse L D U of an unsymmetric KKT tree against a dense one, and against the symmetric tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kkt_problems import (
    AFFINE,
    COUNT,
    KINDS,
    POINT,
    RIGID,
    SHAPES,
    factored_blocks,
    far_block,
    kinds,
    leaves_first,
    near_block,
    problem,
    shapes,
    unsymmetric,
)

from multibody_cli.constraint_solver import constrained_nodes
from multibody_cli.kkt.ldu_tree import factor

SIDES = (
    (near_block, "body_rows"),
    (far_block, "parent_rows"),
    (near_block, "body_rows_k"),
    (far_block, "parent_rows_k"),
)
EPSILON = np.finfo(float).eps


# --- the solution -------------------------------------------------------------------------------------------------
@shapes
@kinds
@pytest.mark.parametrize("seed", range(3))
def test_motions_and_multipliers_are_those_of_a_dense_solve(parents, n_dofs, seed):
    """One factor serves any number of right-hand sides."""
    given = unsymmetric(problem(parents, n_dofs, seed=seed), seed=seed)
    factor(given.tree)
    for k in range(3):
        assert given.error(*given.right_hand_side(k)) < 1e-10


@pytest.mark.parametrize("rows", range(1, 7))
@shapes
def test_a_rigid_body_may_have_any_number_of_rows(parents, rows):
    given = unsymmetric(problem(parents, KINDS["rigid"], [0] + [rows] * COUNT))
    factor(given.tree)
    assert given.error(*given.right_hand_side(rows)) < 1e-10


@kinds
def test_floating_trees_are_factored(n_dofs):
    """Two trees: one with a floating root, one with a pinned root."""
    given = unsymmetric(problem([0, 0, 1, 1, 3, 0, 5, 5, 7, 7], n_dofs, [0, 0, 1, 2, 1, 1, 2, 1, 1, 2]))
    factor(given.tree)
    assert given.error(*given.right_hand_side(0)) < 1e-10


@shapes
def test_rigid_and_general_factorizations_agree(parents):
    """Six degrees of freedom: the rigid and the general factorization store the same numbers in the same places."""
    by_value, in_loops = (unsymmetric(problem(parents, KINDS["rigid"])) for _ in range(2))
    assert np.all(by_value.tree.nodes["rigid"][1:] == 1)
    in_loops.tree.nodes["rigid"][:] = 0
    factor(by_value.tree)
    factor(in_loops.tree)
    np.testing.assert_allclose(by_value.tree.cells.numbers, in_loops.tree.cells.numbers, rtol=1e-9, atol=1e-11)
    right_hand_side = by_value.right_hand_side(0)
    assert max(by_value.error(*right_hand_side), in_loops.error(*right_hand_side)) < 1e-10


@shapes
@kinds
def test_symmetric_problems_agree_with_the_symmetric_factorization(parents, n_dofs):
    """D symmetric and K = J: motions and multipliers of `kkt_tree`."""
    sibling = problem(parents, n_dofs)
    given = unsymmetric(sibling, change=0.0)
    constrained_nodes.factor(sibling.tree)
    factor(given.tree)
    f, c = given.right_hand_side(0)
    np.testing.assert_allclose(given.solved(f, c), sibling.solved(f, c), rtol=1e-9, atol=1e-10)


@kinds
def test_solving_does_not_change_the_factors(n_dofs):
    """Earlier solutions, and the entries of a vector for the ground, change not a bit of a solution."""
    given = unsymmetric(problem(SHAPES["grown by chance"], n_dofs))
    factor(given.tree)
    factors, right_hand_side = given.tree.cells.numbers.copy(), given.right_hand_side(0)
    first = given.solved(*right_hand_side)
    for k in range(1, 4):
        given.solved(*given.right_hand_side(k))
    assert np.array_equal(given.solved(*right_hand_side), first)
    assert np.array_equal(given.tree.cells.numbers, factors)


# --- digits -------------------------------------------------------------------------------------------------------
@shapes
@kinds
@pytest.mark.parametrize("seed", range(3))
def test_the_error_is_bounded_by_the_condition_number(parents, n_dofs, seed):
    """The bound of a dense solve with pivoting, although no pivot is searched for."""
    given = unsymmetric(problem(parents, n_dofs, seed=seed), seed=seed)
    factor(given.tree)
    assert given.error(*given.right_hand_side(seed)) < 2 * EPSILON * np.linalg.cond(given.matrix())


@pytest.mark.parametrize("rows", [1, 3, 5, 6])
@pytest.mark.parametrize("heavy", [lambda i: i % 2, lambda i: i == 25], ids=["every other", "the last"])
def test_the_error_grows_at_most_with_the_mass_ratio(rows, heavy):
    """A ratio of 10^4 takes four digits, where the condition number, of up to 10^12, would leave four."""
    ratio, given = 1e4, problem([0, *range(25)], [RIGID] * 25, [0] + [rows] * 25)
    masses = [M * (ratio if heavy(i) else 1.0) for i, M in enumerate(given.masses)]
    given = unsymmetric(replace(given, masses=masses), change=0.05)
    factor(given.tree)
    assert given.error(*given.right_hand_side(0)) < 50 * EPSILON * ratio


# --- the pattern --------------------------------------------------------------------------------------------------
@shapes
@kinds
def test_factors_have_no_fill_in(parents, n_dofs):
    """L has exactly the blocks of the matrix, and the tree keeps each of them twice, for L and for U."""
    given = unsymmetric(problem(parents, n_dofs))
    H, nodes = given.matrix(), leaves_first(given)
    pairs = [(j, k) for k in range(len(nodes)) for j in range(k + 1, len(nodes))]
    before = {(j, k) for j, k in pairs if H[nodes[j], nodes[k]].any()}
    assert before == {(j, k) for j, k in pairs if H[nodes[k], nodes[j]].any()}
    assert factored_blocks(H, nodes) == factored_blocks(H.T, nodes) == before
    factor(given.tree)
    kept = sum(block(given.tree, i, side).any() for block, side in SIDES for i in range(1, COUNT + 1))
    assert kept == 2 * len(before)


@pytest.mark.parametrize("n_dofs", [RIGID, POINT, AFFINE])
def test_storage_grows_by_the_same_cells_with_every_body(n_dofs):
    """One block for a body, four sides and one factor of its constraint: nothing that grows with the tree."""

    def cells(count):
        tree = unsymmetric(problem([0, *range(count)], [n_dofs] * count, [0] + [3] * count)).tree
        return len(tree.cells.numbers) // 6

    wide = -(-n_dofs // 6)
    assert cells(40) - cells(20) == cells(60) - cells(40) == 20 * (n_dofs * wide + 4 * 3 * wide + 3)
