"""Dense reduced dynamics, both ways to form its mass matrix, against dense equations from poses and against `aba`."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from machines import JointForces, Machine, accelerations, expression, n_dofs, pack, shift, tree_link
from strategies import X, Y, Z, machines, random_state
from test_forward_dynamics import chain, dense, largest, tolerance
from twists import free_columns, jacobian_of_poses, placed, put_wrenches

from multibody_cli.joints.contract import ball, sliding, turning
from multibody_cli.methods.redmax import accelerate, apply_inverse_mass
from multibody_cli.tree.mass_matrix import factor, fill_mass_matrix, solve
from multibody_cli.tree.projection import project_inertia

EPS = np.finfo(float).eps
ROUTES = ("composite", "jacobian")
routes = pytest.mark.parametrize("route", ROUTES)


def along_paths(paths, rows):
    """The symmetric matrix (nv, nv) of rows that are kept along the ways of the coordinates; 0 elsewhere."""
    M = np.zeros((len(paths.depth),) * 2)
    for j, depth in enumerate(paths.depth):
        path = paths.path[j, : depth + 1]
        M[j, path] = M[path, j] = rows[j, : depth + 1]
    return M


def mass_matrix(packed, work):
    """M of the placed bodies in work arrays of `redmax`, by the route that these are for."""
    tree, scratch = packed.tree.tree, work.scratch
    if len(scratch.J):
        project_inertia(tree, work, scratch.paths, scratch.J, scratch.M)
    else:
        fill_mass_matrix(tree, work, scratch.paths, scratch.composites, scratch.M)
    return along_paths(scratch.paths, scratch.M)


def oracle_mass_matrix(packed, state):
    M, _ = oracle.equations(oracle.place(packed.machine.tree_links, state.q, state.v), packed.machine.gravity)
    return M


@routes
def test_mass_matrix_of_random_trees(route):
    @given(machines(loaded=False))
    def check(machine):
        packed = pack(machine)
        state, work, _ = accelerations(packed, t=0.1, name="redmax", mass_matrix=route)
        free = ~packed.tree.tree.driven
        expected = np.where(np.outer(free, free), oracle_mass_matrix(packed, state).astype(float), 0.0)
        found = mass_matrix(packed, work)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max(initial=0))

    check()


@given(machines())
@settings(max_examples=120)
def test_accelerations_of_random_trees(machine):
    packed = pack(machine)
    reference, _, reference_powers = accelerations(packed, t=0.35)
    driven = packed.tree.tree.driven
    _, M, h, Q, _, _ = dense(packed, reference)
    expected, _ = oracle.solve_hybrid(M, Q - h, driven, reference.a)
    bound = (tolerance(M, ~driven) + 1e-10) * largest(expected, Q, h)
    for route in ROUTES:
        state, _, powers = accelerations(packed, t=0.35, name="redmax", mass_matrix=route)
        np.testing.assert_allclose(state.a, expected.astype(float), rtol=0, atol=bound)
        np.testing.assert_allclose(state.a, reference.a, rtol=0, atol=bound)
        scale = largest(reference.v) * 100 * len(machine.tree_links)
        np.testing.assert_allclose(powers, reference_powers, rtol=0, atol=bound * scale)


@given(machines())
def test_body_accelerations_agree_with_joint_accelerations(machine):
    """`dw` and `dv` are J a of the free coordinates."""
    packed = pack(machine)
    state, work, _ = accelerations(packed, t=0.35, name="redmax")
    J = free_columns(packed, jacobian_of_poses(machine, state.q, state.v))
    bound = 1000 * EPS * (1 + np.abs(J).sum() * np.abs(state.a).max(initial=0))
    np.testing.assert_allclose(placed(work, "dw", "dv"), J @ state.a, rtol=0, atol=bound)


@given(machines(loaded=False))
def test_response_to_impulses_and_generalized_impulses(machine):
    packed = pack(machine)
    system, rng = packed.model.system, np.random.default_rng(3)
    state, work, _ = accelerations(packed, name="redmax")
    free = ~packed.tree.tree.driven
    J = free_columns(packed, jacobian_of_poses(machine, state.q, state.v))
    M = oracle_mass_matrix(packed, state)
    x, w, y = rng.normal(size=len(free)), rng.normal(size=J.shape[0]), np.full(len(free), np.nan)
    put_wrenches(work, w)
    apply_inverse_mass(system, work, x, y)
    loaded, expected = x + J.T @ w, np.zeros(len(free))
    if free.any():
        expected[free] = oracle.solve(M[np.ix_(free, free)], loaded[free].astype(np.longdouble))
    bound = tolerance(M, free) * largest(expected, loaded)
    np.testing.assert_allclose(y, expected, rtol=0, atol=bound)
    np.testing.assert_allclose(placed(work, "dw", "dv"), J @ expected, rtol=0, atol=bound * (1 + np.abs(J).sum()))


@given(machines())
def test_armature_is_inertia_of_the_coordinates(machine):
    """(M + diag) a = Q - h: both routes, and the response that follows."""
    packed = pack(machine)
    driven = packed.tree.tree.driven
    extra = 0.5 + np.random.default_rng(4).random(len(driven))
    for route in ROUTES:
        state, work, _ = accelerations(packed, name="redmax", mass_matrix=route)
        _, M, h, Q, _, _ = dense(packed, state)
        M = M + np.diag(np.where(driven, 0, extra - packed.tree.tree.armature))
        work.armature[:] = extra
        accelerate(packed.model.system, work, state.a)
        expected, _ = oracle.solve_hybrid(M, Q - h, driven, state.a)
        bound = (tolerance(M, ~driven) + 1e-10) * largest(expected, Q, h)
        np.testing.assert_allclose(state.a, expected.astype(float), rtol=0, atol=bound)


# --- the factorization -----------------------------------------------------------------------------------------
def bush(parts_of=lambda row: (turning(Z if row % 2 else Y),)):
    """Three branches on one trunk, of which one forks again; the rows of the branches alternate."""
    rng, parents = np.random.default_rng(12), [0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10]
    tree_links = []
    for row, parent in enumerate(parents, start=1):
        parts = parts_of(row)
        q, v = random_state(rng, parts)
        tree_links.append(tree_link(row, parent, parts, q, v, com=(0.1, 0.0, -0.2), origin=shift(0.1, 0.2, 0.4)))
    return pack(Machine(tree_links))


def test_factors_have_the_sparsity_of_the_tree():
    """M = L^T D L, with L zero wherever two coordinates lie on different branches."""
    packed = bush()
    _, work, _ = accelerations(packed, name="redmax")
    paths, tree = work.scratch.paths, packed.tree.tree
    M = mass_matrix(packed, work)
    factor(paths, work.scratch.M)
    F = along_paths(paths, work.scratch.M)
    L, D = np.tril(F, -1) + np.eye(len(F)), np.diag(1 / np.diag(F))
    np.testing.assert_allclose(L.T @ D @ L, M, rtol=0, atol=20 * EPS * np.abs(M).max())
    for j in range(len(F)):  # one hinge a body: coordinate j moves body j + 1
        above, body = set(), j + 1
        while body > 0:
            above.add(body - 1)
            body = tree.links[body]["parent"]
        assert set(np.flatnonzero(L[j])) == above
    assert work.scratch.M.shape == (14, 6)
    x = np.random.default_rng(0).normal(size=14)
    y = x.copy()
    solve(paths, work.scratch.M, y)
    np.testing.assert_allclose(M @ y, x, rtol=0, atol=100 * EPS * np.abs(M).max() * np.abs(y).max())


@routes
def test_joints_with_many_degrees_of_freedom_on_branches(route):
    runs = [(ball(),), (turning(X), turning(Y)), (sliding(X), turning(Z)), ()]
    packed = bush(lambda row: runs[row % 4])
    state, _, _ = accelerations(packed, name="redmax", mass_matrix=route)
    _, M, h, Q, _, _ = dense(packed, state)
    a = oracle.solve(M, Q - h)
    free = np.ones(len(a), dtype=bool)
    np.testing.assert_allclose(state.a, a.astype(float), rtol=0, atol=tolerance(M, free) * largest(a, h))
    assert n_dofs(packed.machine.tree_links[0].parts) == 2


@routes
@pytest.mark.parametrize("parts", [(turning(Y),), (ball(),)], ids=["revolute", "ball"])
def test_accuracy_of_long_chains_follows_the_condition_of_the_mass_matrix(route, parts):
    """The mass matrix of 60 rods has a condition of 1e7 and more, and no method that forms it can do better."""
    packed = chain(lambda _row: parts, count=60)
    state, _, _ = accelerations(packed, name="redmax", mass_matrix=route)
    M, h = oracle.equations(oracle.place(packed.machine.tree_links, state.q, state.v), packed.machine.gravity)
    a = oracle.solve(M, -h)
    bound = 10 * EPS * np.linalg.cond(M.astype(float))
    assert bound < 1e-5
    assert float(np.abs(state.a - a).max() / np.abs(a).max()) < bound


@routes
def test_a_mechanism_without_a_free_coordinate(route):
    welded = tree_link(1, 0, (), origin=shift(1.0, 0.0, 0.0))
    lift = tree_link(2, 1, (sliding(Z),), (0.0,), mass=2.0)
    packed = pack(Machine([welded, lift], joint_forces={2: JointForces(motion=("position", [expression("1.5*t**2")]))}))
    state, _, powers = accelerations(packed, t=2.0, name="redmax", mass_matrix=route)
    assert (state.q[0], state.v[0], state.a[0]) == pytest.approx((6.0, 6.0, 3.0))
    assert powers == pytest.approx([2.0 * 12.81 * 6.0])  # m (g + a) v


@routes
def test_dynamics_does_not_depend_on_the_distance_from_the_origin(route):
    """Only differences of positions enter."""

    def accelerate_at(distance):
        here = tree_link(1, 0, (sliding(X),), (0.0,), origin=shift(distance, -distance, distance))
        arm = tree_link(
            2, 1, (turning(X), sliding(Z), turning(Y)), (0.3, 0.7, 0.9), (1.1, -0.4, 0.6), com=(0.2, 0.1, -0.3)
        )
        return accelerations(pack(Machine([here, arm])), name="redmax", mass_matrix=route)[0].a

    np.testing.assert_allclose(accelerate_at(2.0**20), accelerate_at(0.0), rtol=1e-13, atol=1e-13)
