"""Bodies that are eliminated together with their joint: the same matrix, factored row by row, and joint coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from loops import close_loops, n_dofs, random_body, random_joint, random_pose, start

from multibody_cli.constraint_solver.constrained_nodes import solve, solve_motions
from multibody_cli.constraint_solver.solver import update_rates
from multibody_cli.kkt.nodes import BY_ROWS, vector_for
from multibody_cli.methods.baraff import factor_bodies

KINDS = ("revolute", "prismatic", "screw", "spherical", "universal", "cylindrical", "planar", "fixed")
"""Joints with which a body is one block."""


def mechanism(seed, floating=False, reversed_joint="revolute"):
    """A random tree of joints; the joint between `base` and `side` has the body next to the ground as its child."""
    rng = np.random.default_rng(seed)
    bodies = ["base", "side", *(f"b{k}" for k in range(len(KINDS) + 1))]
    scene = {"gravity": rng.normal(size=3).tolist(), "bodies": {name: random_body(rng) for name in bodies}}
    scene["bodies"]["side"].update(random_pose(rng))
    kinds = [str(kind) for kind in rng.permutation([*KINDS, "revolute"])]
    joints = [("revolute", "world", "base"), (reversed_joint, "side", "base")]
    joints += [(kind, str(rng.choice(bodies[: k + 2])), f"b{k}") for k, kind in enumerate(kinds)]
    if floating:
        scene["bodies"]["base"].update(random_pose(rng))
        joints = joints[2:]
    scene["joints"] = {f"j{k}": random_joint(rng, *joint) for k, joint in enumerate(joints)}
    close_loops(scene)
    return scene, len(joints)


def solution(run, by_rows, seed=0):
    """Motions and multipliers for random right-hand sides, with all rows eliminated one by one or not."""
    work, sparse = run.method.work, run.method.work.scratch
    kkt = sparse.kkt._replace(nodes=sparse.kkt.nodes.copy())
    if by_rows:
        kkt.nodes["joint"], kkt.nodes["pivots"] = 0, kkt.nodes["last_row"] - kkt.nodes["first_row"]
        sparse = sparse._replace(joint_nodes=sparse.joint_nodes[:0])
    work = work._replace(scratch=sparse._replace(kkt=kkt))
    factor_bodies(run.compiled.model.system, work, np.zeros(len(run.state.v)))
    rng = np.random.default_rng(seed)
    x, y = vector_for(kkt), rng.normal(size=len(work.rows))
    x.numbers[6:] = rng.normal(size=len(x.numbers) - 6)
    solve(kkt, x, y)
    return x.numbers[6:].copy(), y


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_block_of_body_and_joint_is_that_of_single_rows(seed, floating):
    scene, nodes = mechanism(seed, floating)
    run = start(scene, "baraff", options={"stabilization": "baumgarte"})  # which reads the terms of single rows
    assert len(run.method.work.scratch.joint_nodes) == nodes
    for found, expected in zip(solution(run, False), solution(run, True), strict=True):
        assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize("joint", ["revolute", "spherical"])
def test_a_joint_may_have_the_body_next_to_the_ground_as_its_child(joint):
    scene, _ = mechanism(0, reversed_joint=joint)
    nodes = start(scene, "baraff").method.work.scratch.joint_nodes
    assert sorted(set(nodes["sign"])) == [-1.0, 1.0]


@pytest.mark.parametrize("joint", ["revolute", "prismatic", "spherical"])
def test_long_chains_agree_with_joint_coordinates(joint):
    """A hundred links: accelerations of the joints as with `aba`."""
    rng, names = np.random.default_rng(3), ["world", *(f"b{k}" for k in range(100))]
    scene = {"bodies": {name: random_body(rng) for name in names[1:]}}
    scene["joints"] = {f"j{k}": random_joint(rng, joint, names[k], names[k + 1]) for k in range(100)}
    found, expected = (start(scene, method).state for method in ("baraff", "aba"))
    joints = slice(len(found.v) - len(expected.v), None)
    assert np.abs(found.a[joints] - expected.a).max() < 1e-9 * np.abs(expected.a).max()


def test_rates_of_joints_are_those_given():
    """The rates follow from the twists of the bodies, after an evaluation with new poses and with new twists."""
    rng, names = np.random.default_rng(5), ["world", *(f"b{k}" for k in range(len(KINDS)))]
    scene = {"bodies": {name: random_body(rng) for name in names[1:]}, "joints": {}}
    for k, kind in enumerate([*KINDS[:-1], "spherical"]):
        joint = random_joint(rng, kind, names[k], names[k + 1])
        scene["joints"][f"j{k}"] = {**joint, "v": rng.normal(size=n_dofs(joint)).tolist()}
    run = start(scene, "baraff")
    expected, state = start(scene, "aba").state.v, run.state
    joints, work = slice(len(state.v) - len(expected), None), run.method.work
    assert np.abs(state.v[joints] - expected).max() < 1e-12
    state.v[joints] = 0.0
    update_rates(run.compiled.model.system, state.time[0], state.q, state.v, state.a, work)
    assert np.abs(state.v[joints] - expected).max() < 1e-12


def test_a_factored_tree_serves_any_number_of_right_hand_sides():
    run = start(mechanism(1)[0], "baraff")
    expected, _ = solution(run, False)
    kkt, multipliers = run.method.work.scratch.kkt, np.zeros(len(run.method.work.rows))
    factor_bodies(run.compiled.model.system, run.method.work, np.zeros(len(run.state.v)))
    for scale in (1.0, -2.0):
        rng = np.random.default_rng(0)
        x, y = vector_for(kkt), scale * rng.normal(size=len(multipliers))
        x.numbers[6:] = scale * rng.normal(size=len(expected))
        solve(kkt, x, y)
        np.testing.assert_allclose(x.numbers[6:], scale * expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_motions_do_not_depend_on_whether_multipliers_are_computed(seed):
    """The multipliers of single rows are computed anyway; the entries of the others stay right-hand sides."""
    run = start(mechanism(seed)[0], "baraff")
    kkt, work = run.method.work.scratch.kkt, run.method.work
    factor_bodies(run.compiled.model.system, work, np.zeros(len(run.state.v)))
    rng, found = np.random.default_rng(seed), []
    f, c = rng.normal(size=6 * len(kkt.nodes)), rng.normal(size=len(work.rows))
    f[:6] = 0.0
    for solution_with in (solve, solve_motions):
        x, y = vector_for(kkt), c.copy()
        x.numbers[:] = f
        solution_with(kkt, x, y)
        found.append((x.numbers.copy(), y))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-13, atol=1e-14)
    for node in kkt.nodes[1:]:
        rows = slice(node["first_row"], node["last_row"])
        expected = found[0][1] if node["joint"] == BY_ROWS else c
        np.testing.assert_allclose(found[1][1][rows], expected[rows], rtol=1e-12, atol=1e-13)
