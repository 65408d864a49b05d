"""Jacobian and its derivative against derivatives of poses; products with it against the dense matrix."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from machines import accelerations, pack
from strategies import machines
from twists import free_columns, jacobian_of_poses, placed, put_wrenches

from multibody_cli.tree.configuration import displace
from multibody_cli.tree.jacobian import (
    accumulate_wrenches_inward,
    add_jacobian_transposed_times,
    fill_jacobians,
    jacobian_times,
    write_ball_columns,
)
from multibody_cli.tree.kinematics import forward_kinematics

EPS = np.finfo(float).eps


def jacobians_at(packed, q, v, a=None):
    """J and dJ/dt at (q, v), and the work arrays."""
    tree = packed.tree.tree
    work = packed.method("rk4", 1e-3, name="redmax", mass_matrix="jacobian").work
    forward_kinematics(tree, q, v, np.zeros_like(v) if a is None else a, work)
    write_ball_columns(tree, work)
    J, dJ = np.zeros((2, 6 * (len(tree.links) - 1), len(v)))
    fill_jacobians(tree, work, J, dJ)
    return J, dJ, work


@given(machines(loaded=False, gravity=False))
def test_jacobian_is_the_derivative_of_the_poses(machine):
    packed = pack(machine)
    q, v = packed.tree.q, packed.tree.v
    J, _, work = jacobians_at(packed, q, v)
    expected = jacobian_of_poses(machine, q, v)
    size = 1 + np.abs(expected).max(initial=0)
    np.testing.assert_allclose(J, expected, rtol=0, atol=100 * EPS * size)
    np.testing.assert_allclose(
        J @ v, placed(work, "w", "v"), rtol=0, atol=1000 * EPS * size * (1 + np.abs(v).max(initial=0))
    )


@given(machines(driven=False, loaded=False, gravity=False))
def test_its_rate_is_its_derivative_along_the_motion(machine):
    packed = pack(machine)
    q, v, h = packed.tree.q, packed.tree.v, 1e-4
    _, dJ, work = jacobians_at(packed, q, v)

    def at(s):
        moved = q.copy()
        displace(packed.tree.tree, moved, v, s)
        return jacobians_at(packed, moved, v)[0]

    # fourth order: the truncation is h^4 v^5 J / 30, the rounding eps J / h
    expected = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    size = 1 + np.abs(expected).max(initial=0)
    speed = 1 + np.abs(work.bodies["w"]).max() + np.abs(v).max(initial=0)
    np.testing.assert_allclose(dJ, expected, rtol=0, atol=size * (1e-10 + h**4 * speed**5))
    np.testing.assert_allclose(dJ @ v, placed(work, "alpha", "a"), rtol=0, atol=1000 * EPS * size * speed**2)


@given(machines(loaded=False, gravity=False))
def test_products_agree_with_the_dense_matrix(machine):
    packed = pack(machine)
    tree, rng = packed.tree.tree, np.random.default_rng(1)
    J, _, work = jacobians_at(packed, packed.tree.q, packed.tree.v)
    J = free_columns(packed, J)
    x, y, given_x = rng.normal(size=J.shape[1]), rng.normal(size=J.shape[0]), rng.normal(size=J.shape[1])
    bound = 100 * EPS * (1 + np.abs(J).sum())
    jacobian_times(tree, x, work)
    Jx = placed(work, "dw", "dv")
    np.testing.assert_allclose(Jx, J @ x, rtol=0, atol=bound)
    put_wrenches(work, y)
    z = given_x.copy()
    add_jacobian_transposed_times(tree, work, z)
    np.testing.assert_allclose(z, given_x + J.T @ y, rtol=0, atol=bound)
    np.testing.assert_array_equal(z[tree.driven], given_x[tree.driven])
    np.testing.assert_allclose(y @ Jx, x @ (z - given_x), rtol=0, atol=10 * bound)


@given(machines(loaded=False, gravity=False, driven=False))
def test_accumulated_wrenches_balance_the_ground_reaction(machine):
    """The wrench on the ground is the sum of all wrenches, each moved to the world's origin."""
    packed = pack(machine)
    _, _, work = jacobians_at(packed, packed.tree.q, packed.tree.v)
    y = np.random.default_rng(2).normal(size=6 * len(machine.tree_links))
    put_wrenches(work, y)
    accumulate_wrenches_inward(packed.tree.tree, work)
    t, f = np.split(y.reshape(-1, 6), 2, axis=1)
    x = work.bodies["x"][1:]
    bound = 100 * EPS * (1 + np.abs(x).sum()) * np.abs(y).sum()
    np.testing.assert_allclose(work.wrenches["t"][0], (t + np.cross(x, f)).sum(axis=0), rtol=0, atol=bound)
    np.testing.assert_allclose(work.wrenches["f"][0], f.sum(axis=0), rtol=0, atol=bound)


@given(machines())
def test_prescribed_motion_enters_through_its_columns(machine):
    """The placed accelerations are dJ/dt v, J a of prescribed motion, and a ground that rises."""
    packed = pack(machine)
    state, _, _ = accelerations(packed, t=0.2)
    J, dJ, work = jacobians_at(packed, state.q, state.v, state.a)
    driven = packed.tree.tree.driven
    lift = np.tile(np.concatenate([np.zeros(3), -np.array(machine.gravity)]), len(machine.tree_links))
    expected = dJ @ state.v + J @ np.where(driven, state.a, 0.0) + lift
    bound = 1000 * EPS * (1 + np.abs(J).max(initial=0) + np.abs(dJ).max(initial=0)) * (1 + np.abs(state.v).sum())
    np.testing.assert_allclose(placed(work, "alpha", "a"), expected, rtol=0, atol=bound * (1 + np.abs(expected).max()))
