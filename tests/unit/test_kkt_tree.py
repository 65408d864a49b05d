"""The sparse L D L^T of the KKT tree against a dense one, and constrained rigid bodies against joint coordinates."""

from __future__ import annotations

import numpy as np
import oracle
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
    mass_block,
    near_block,
    problem,
    shapes,
)
from machines import Machine, accelerations, pack, shift, tree_link
from strategies import X, Y, random_state

from multibody_cli.constraint_solver.constrained_nodes import constrained_tree_for, factor, solve
from multibody_cli.constraint_solver.row_elimination import no_row_elimination
from multibody_cli.constraints.rows import ROW, TERM
from multibody_cli.joints.contract import ball, turning
from multibody_cli.kernel import records
from multibody_cli.kkt.assembly import assemble
from multibody_cli.kkt.nodes import (
    INBOARD_JOINT,
    kkt_tree_for,
    vector_for,
)
from multibody_cli.tree.joint_wrenches import compute_joint_wrenches


# --- the solution -------------------------------------------------------------------------------------------------
@shapes
@kinds
@pytest.mark.parametrize("seed", range(3))
def test_motions_and_multipliers_are_those_of_a_dense_solve(parents, n_dofs, seed):
    """One factor serves any number of right-hand sides."""
    given = problem(parents, n_dofs, seed=seed)
    factor(given.tree)
    for k in range(3):
        assert given.error(*given.right_hand_side(k)) < 1e-10


@pytest.mark.parametrize("rows", range(1, 7))
@shapes
def test_a_rigid_body_may_have_any_number_of_rows(parents, rows):
    given = problem(parents, KINDS["rigid"], [0] + [rows] * COUNT)
    factor(given.tree)
    assert given.error(*given.right_hand_side(rows)) < 1e-10


@kinds
def test_floating_trees_are_factored(n_dofs):
    """Two trees: one with a floating root, one with a pinned root."""
    given = problem([0, 0, 1, 1, 3, 0, 5, 5, 7, 7], n_dofs, [0, 0, 1, 2, 1, 1, 2, 1, 1, 2])
    factor(given.tree)
    assert given.error(*given.right_hand_side(0)) < 1e-10


@shapes
def test_rigid_and_general_factorizations_agree(parents):
    """Six degrees of freedom: the rigid and the general factorization store the same numbers in the same places."""
    by_value, in_loops = problem(parents, KINDS["rigid"]), problem(parents, KINDS["rigid"])
    assert np.all(by_value.tree.nodes["rigid"][1:] == 1)
    in_loops.tree.nodes["rigid"][:] = 0
    for i in range(1, COUNT + 1):
        for given in (by_value, in_loops):
            block = mass_block(given.tree, i)
            block[np.triu_indices(RIGID, 1)] = np.nan  # the upper triangle is nobody's
    factor(by_value.tree)
    factor(in_loops.tree)
    np.testing.assert_allclose(by_value.tree.cells.numbers, in_loops.tree.cells.numbers, rtol=1e-9, atol=1e-11)
    right_hand_side = by_value.right_hand_side(0)
    assert max(by_value.error(*right_hand_side), in_loops.error(*right_hand_side)) < 1e-10


def test_more_than_six_rows_are_refused():
    with pytest.raises(ValueError, match="body 1 has 7 constraint rows: at most 6 are supported"):
        kkt_tree_for(np.array([(0, 0, 0), (0, 0, 7)], INBOARD_JOINT), [RIGID, AFFINE])


# --- the pattern --------------------------------------------------------------------------------------------------
@shapes
@kinds
def test_factors_have_no_fill_in(parents, n_dofs):
    """L has exactly the blocks of H, which are those that the tree keeps: two for a constraint, one for a pin."""
    given = problem(parents, n_dofs)
    H, nodes = given.matrix(), leaves_first(given)
    before = {(j, k) for k in range(len(nodes)) for j in range(k + 1, len(nodes)) if H[nodes[j], nodes[k]].any()}
    assert factored_blocks(H, nodes) == before
    factor(given.tree)
    kept = sum(block(given.tree, i).any() for block in (near_block, far_block) for i in range(1, COUNT + 1))
    assert len(before) == kept == sum(2 if parent else 1 for parent in parents[1:])


def test_a_star_is_dense_in_delassus_form_and_sparse_in_kkt_form():
    """J M^-1 J^T of a star has no zero block, and eliminating the hub first would fill in; the tree order does not."""
    given = problem(SHAPES["star"], KINDS["rigid"])
    H, split = given.matrix(), given.rows(1).start
    M, J = H[:split, :split], H[split:, :split]
    A = J @ np.linalg.solve(M, J.T)
    rows = [slice(given.rows(i).start - split, given.rows(i).stop - split) for i in range(1, COUNT + 1)]
    assert all(A[a, b].any() for a in rows for b in rows)
    nodes = leaves_first(given)
    hub = nodes[-2]
    assert hub == given.bodies(1)
    hub_first = [hub, *(node for node in nodes if node != hub)]
    assert len(factored_blocks(H, nodes)) == 2 * COUNT - 1
    assert len(factored_blocks(H, hub_first)) > COUNT * (COUNT - 1) / 2


def test_the_delassus_matrix_of_a_chain_is_block_tridiagonal():
    given = problem(SHAPES["chain"], KINDS["rigid"])
    H, split = given.matrix(), given.rows(1).start
    M, J = H[:split, :split], H[split:, :split]
    A = J @ np.linalg.solve(M, J.T)
    rows = [slice(given.rows(i).start - split, given.rows(i).stop - split) for i in range(1, COUNT + 1)]
    assert all(A[a, b].any() == (abs(i - j) <= 1) for i, a in enumerate(rows) for j, b in enumerate(rows))


@pytest.mark.parametrize("n_dofs", [RIGID, POINT, AFFINE])
def test_storage_grows_by_the_same_cells_with_every_body(n_dofs):
    """Blocks for one body, two sides and one factor of its constraint: nothing that grows with the tree."""

    def cells(count):
        parents = [0, *range(count)]
        tree = problem(parents, [n_dofs] * count, [0] + [3] * count).tree
        return len(tree.cells.numbers) // 6

    wide = -(-n_dofs // 6)
    assert cells(40) - cells(20) == cells(60) - cells(40) == 20 * (n_dofs * wide + 3 * wide + 3 * wide + 3)


# --- rigid bodies, against joint coordinates ----------------------------------------------------------------------
def hanging(parts_of, count, parent_of=lambda row: row - 1):
    """Rods of one metre, hinged at their ends; all frames are exact in double precision."""
    rng = np.random.default_rng(100)
    tree_links = []
    for row in range(1, count + 1):
        parts = parts_of(row)
        q, v = random_state(rng, parts)
        origin = shift(0.0, 0.0, -1.0 if row > 1 else 0.0)
        inertia = (0.0859375, 0.0859375, 0.015625)
        tree_links.append(
            tree_link(row, parent_of(row), parts, q, v, com=(0.0, 0.0, -0.5), inertia=inertia, origin=origin)
        )
    return pack(Machine(tree_links))


def maximal(packed):
    """Each joint as rows between free bodies: the tree factored, x and y solved, and the rows' wrenches."""
    state, work, _ = accelerations(packed)
    links, bodies, columns = packed.model.system.tree.links, work.bodies, work.columns
    wrenches = [np.zeros((0, 6))]
    for i in range(1, len(links)):
        axes = [columns[k]["angular"] for k in range(links[i]["iv"], links[i]["iv"] + links[i]["nv"])]
        across = np.linalg.svd(np.array(axes))[2][len(axes) :]
        wrenches.append(np.block([[np.zeros((3, 3)), np.eye(3)], [across, np.zeros((len(across), 3))]]))
    last = np.cumsum([len(w) for w in wrenches])
    inboard_joints = np.zeros(len(links), INBOARD_JOINT)
    inboard_joints["parent"], inboard_joints["last_row"], inboard_joints["first_row"][1:] = (
        links["parent"],
        last,
        last[:-1],
    )
    rows, terms = np.zeros(last[-1], ROW), np.zeros(2 * last[-1], TERM)
    rows["active"] = 1
    rows["first_term"], rows["last_term"] = 2 * np.arange(last[-1]), 2 * np.arange(last[-1]) + 2
    constrained = np.repeat(np.arange(len(links)), [len(w) for w in wrenches])
    terms["body"][::2], terms["body"][1::2] = constrained, links["parent"][constrained]
    near = np.concatenate(wrenches)
    arm = np.concatenate([np.tile(bodies[i]["r"], (len(w), 1)) for i, w in enumerate(wrenches)])
    terms["t"][::2], terms["f"][::2] = near[:, :3], near[:, 3:]
    terms["t"][1::2], terms["f"][1::2] = -near[:, :3] - np.cross(arm, near[:, 3:]), -near[:, 3:]
    kkt = kkt_tree_for(inboard_joints, [RIGID] * len(links))
    tree = constrained_tree_for(kkt, no_row_elimination(len(links)), int(last[-1]))
    x, y = vector_for(tree), np.zeros(last[-1])
    x.wrenches["t"][1:], x.wrenches["f"][1:] = -bodies["t"][1:], -bodies["f"][1:]
    assemble(
        tree,
        np.arange(len(links) + 1),
        packed.model.system.tree,
        work._replace(rows=records(rows), terms=records(terms)),
    )
    factor(tree)
    solve(tree, x, y)
    compute_joint_wrenches(packed.model.system.tree, work)
    multipliers = np.array(
        [y[first:end] @ w for first, end, w in zip(inboard_joints["first_row"], last, wrenches, strict=True)]
    )
    return state, work, x.numbers.reshape(-1, 6), multipliers


MECHANISMS = {
    "hinges": (lambda row: (turning(X if row % 2 else Y),), 40, lambda row: row - 1),
    "universal joints": (lambda row: (turning(X), turning(Y)), 40, lambda row: row - 1),
    "balls in a tree": (lambda row: (ball(),), 31, lambda row: row // 2),
    "any": (lambda row: [(turning(X),), (ball(),), (turning(Y), turning(X))][row % 3], 40, lambda row: (2 * row) // 3),
}


@pytest.mark.parametrize(("parts_of", "count", "parent_of"), MECHANISMS.values(), ids=MECHANISMS)
def test_constrained_free_bodies_agree_with_joint_coordinates(parts_of, count, parent_of):
    """Accelerations are those of articulated bodies, and the multipliers are the wrenches that the joints transmit."""
    _, work, a, multipliers = maximal(hanging(parts_of, count, parent_of))
    change = np.hstack([work.bodies["dw"], work.bodies["dv"]])[1:]
    transmitted = np.hstack([work.wrenches["t"], work.wrenches["f"]])[1:]
    assert np.abs(a[1:] - change).max() < 1e-11 * np.abs(change).max()
    assert np.abs(multipliers[1:] - transmitted).max() < 1e-11 * np.abs(transmitted).max()


def test_accelerations_of_a_hundred_ball_joints_are_accurate():
    """Against dense equations of motion in long double."""
    packed = hanging(lambda row: (ball(),), 100)
    state, work, a, _ = maximal(packed)
    relative = np.diff(a[:, :3], axis=0)
    rates = np.concatenate([work.bodies[i]["R"].reshape(3, 3) @ relative[i - 1] for i in range(1, 101)])
    bodies = oracle.place(packed.machine.tree_links, state.q, state.v)
    M, h = oracle.equations(bodies, packed.machine.gravity)
    expected = oracle.solve(M, -h)
    assert float(np.abs(rates - expected).max() / np.abs(expected).max()) < 1e-11
