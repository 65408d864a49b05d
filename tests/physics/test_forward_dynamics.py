"""Forward and hybrid dynamics of random trees against dense equations of motion (tests/oracle.py)."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from machines import NO_GRAVITY, Machine, accelerations, observed, pack, shift, tree_link
from strategies import X, Y, Z, machines, random_state

from multibody_cli.constraint_solver.constrained_bodies import apply_inverse_mass
from multibody_cli.immutable import replace
from multibody_cli.joints.contract import PartCode, ball, sliding, turning

EPS = np.finfo(float).eps


def generalized_forces(packed, bodies, q, v):
    """Q (nv,) of all loads, drags, springs, dampers and actuators, and the wrenches on the bodies."""
    machine, nv = packed.machine, packed.model.nv
    Q = np.zeros(nv, np.longdouble)
    wrenches = [[np.zeros(3, np.longdouble), np.zeros(3, np.longdouble)] for _ in bodies]

    def add_wrench(row, r, force, torque):
        body = bodies[row - 1]
        nonlocal Q
        Q = Q + body.linear(r)[0].T @ force + body.angular()[0].T @ torque
        arm = (body.point(r).value - body.point(body.com).value)[:, 0]
        wrenches[row - 1][0] = wrenches[row - 1][0] + torque + np.cross(arm, force)
        wrenches[row - 1][1] = wrenches[row - 1][1] + force

    for row, load in machine.loads:
        R = bodies[row - 1].R.value if load.frame == "body" else np.eye(3)
        force, torque = (R @ np.array([s.constant for s in part]) for part in (load.force, load.torque))
        add_wrench(row, load.point, force, torque)
    for row, drag in machine.drags:
        body = bodies[row - 1]
        velocity, w = body.linear(body.com)[1], body.angular()[1]
        add_wrench(row, body.com, -drag.viscous.linear * velocity, -drag.viscous.angular * w)
    tau = joint_forces(packed, q, v)
    return Q + tau, tau, wrenches


def joint_forces(packed, q, v):
    """Springs, dampers and actuators, (nv,); a spring's torque is found by differencing its energy."""
    tau = np.zeros(packed.model.nv, np.longdouble)
    for row, item in packed.machine.joint_forces.items():
        this = packed.machine.tree_links[row - 1]
        iq, iv, rest = packed.tree.first_q[row], packed.tree.first_v[row], list(this.start.rest)
        k = 0
        for part in this.parts:
            x, r, n = np.array(q[iq : iq + part.nq]), np.array(rest[: part.nq]), part.nv
            if item.stiffness:
                tau[iv : iv + n] -= spring_torque(part, x, r, np.array(item.stiffness[k : k + n]))
            if item.damping:
                tau[iv : iv + n] -= np.array(item.damping[k : k + n]) * v[iv : iv + n]
            if item.force:
                tau[iv : iv + n] += [signal.constant for signal in item.force[k : k + n]]
            iq, iv, k, rest = iq + part.nq, iv + n, k + n, rest[part.nq :]
    return tau


def spring_energy(part, x, rest, stiffness):
    if part.code not in (PartCode.BALL, PartCode.FREE):
        return 0.5 * stiffness @ (x - rest) ** 2
    slides = part.nq - 4
    R = oracle.rotation_of_quaternion(rest[slides:]).T @ oracle.rotation_of_quaternion(x[slides:])
    sine = np.linalg.norm(oracle.vee(R).astype(float))
    p = oracle.vee(R) * (np.arctan2(sine, (np.trace(R) - 1) / 2) / sine)
    stretch = x[:slides] - rest[:slides]
    return 0.5 * stiffness[:slides] @ stretch**2 + 0.5 * stiffness[slides:] @ p**2


def spring_torque(part, x, rest, stiffness):
    """d energy / d displacement along each velocity, by central differences of fourth order."""
    if part.code not in (PartCode.BALL, PartCode.FREE):
        return stiffness * (x - rest)
    x, rest, h = x.astype(np.longdouble), rest.astype(np.longdouble), np.longdouble(1e-3)

    def at(j, s):
        u = np.zeros(part.nv, np.longdouble)
        u[j] = s
        moved = x.copy()
        slides = part.nq - 4
        moved[:slides] += u[:slides]
        moved[slides:] = turn_quaternion(x[slides:], u[slides:], inner=part.code == PartCode.FREE)
        return spring_energy(part, moved, rest, stiffness)

    return np.array([(8 * (at(j, h) - at(j, -h)) - (at(j, 2 * h) - at(j, -2 * h))) / (12 * h) for j in range(part.nv)])


def turn_quaternion(x, p, inner):
    """x turned by the rotation vector p, in the outer frame or in the inner one."""
    angle = np.sqrt(p @ p)
    w, u = np.cos(angle / 2), (np.sin(angle / 2) / angle if angle else 0.5) * p
    a, b = ((w, u), (x[0], x[1:])) if inner else ((x[0], x[1:]), (w, u))
    return np.array([a[0] * b[0] - a[1] @ b[1], *(a[0] * b[1] + b[0] * a[1] + np.cross(a[1], b[1]))])


def dense(packed, state):
    """The dense formulation at a state: bodies, M, h, Q, joint forces and wrenches."""
    bodies = oracle.place(packed.machine.tree_links, state.q, state.v)
    M, h = oracle.equations(bodies, packed.machine.gravity)
    M = M + np.diag(packed.tree.tree.armature)
    Q, tau, wrenches = generalized_forces(packed, bodies, state.q, state.v)
    return bodies, M, h, Q, tau, wrenches


def tolerance(M, free):
    """Bound of round-off: a few units in the last place, amplified by M^-1."""
    return 1e3 * EPS * max(np.linalg.cond(M[np.ix_(free, free)].astype(float)) if free.any() else 1.0, 1.0)


def largest(*arrays) -> float:
    """The largest magnitude in some arrays, at least 1."""
    return float(np.max(np.abs(np.concatenate([np.ravel(array) for array in arrays])), initial=1.0))


@given(machines())
@settings(max_examples=120)
def test_accelerations_efforts_and_reactions_of_random_trees(machine):
    packed = pack(machine)
    state, work, powers = accelerations(packed, t=0.35)
    driven = packed.tree.tree.driven
    bodies, M, h, Q, tau, wrenches = dense(packed, state)
    a, effort = oracle.solve_hybrid(M, Q - h, driven, state.a)
    # springs of rotations are differenced by the oracle to about 1e-12 of their torque
    size = largest(a, Q, h)
    bound = (tolerance(M, ~driven) + 1e-10) * size
    np.testing.assert_allclose(state.a, a.astype(float), rtol=0, atol=bound)

    forces = oracle.reactions(machine.tree_links, bodies, a, machine.gravity, wrenches)
    samples = observed(packed, state, work)
    scale = largest(forces)
    np.testing.assert_allclose(samples.reaction[0], forces.astype(float), rtol=0, atol=bound * 10 * scale)

    accounts = packed.model.names.accounts
    for k, account in enumerate(accounts):
        if account.cause.endswith("/motion"):
            row = int(account.cause.split("/")[1][1:])
            own = slice(
                packed.tree.first_v[row], packed.tree.first_v[row] + len(packed.machine.joint_forces[row].motion[1])
            )
            expected = float(effort[own] @ state.v[own])
            assert powers[k] == pytest.approx(expected, abs=bound * 10 * scale * largest(state.v))
    assert tau.shape == effort.shape


@given(machines())
def test_energies_momenta_and_poses_of_random_trees(machine):
    packed = pack(machine)
    state, work, _ = accelerations(packed)
    samples = observed(packed, state, work)
    bodies = oracle.place(machine.tree_links, state.q, state.v)
    M, _ = oracle.equations(bodies, machine.gravity)
    M = M + np.diag(packed.tree.tree.armature)
    g = np.array(machine.gravity)
    kinetic = 0.5 * state.v @ M.astype(float) @ state.v
    potential, linear, angular, size = 0.0, np.zeros(3), np.zeros(3), 1.0
    for k, body in enumerate(bodies):
        _, velocity, _ = body.linear(body.com)
        _, w, _ = body.angular()
        x = body.point(body.com).value[:, 0]
        inertia = body.R.value @ body.inertia @ body.R.value.T
        potential -= body.mass * g @ x
        linear = linear + body.mass * velocity
        angular = angular + body.mass * np.cross(x, velocity) + inertia @ w
        size += float(np.abs(x).max() * (1 + np.abs(velocity).max()) + np.abs(w).max())
        np.testing.assert_allclose(samples.position[0, k], body.x.value[:, 0].astype(float), atol=1e-13 * size)
        R = oracle.rotation_of_quaternion(samples.quaternion[0, k])
        np.testing.assert_allclose(R, body.R.value.astype(float), atol=1e-13)
        assert np.linalg.norm(samples.quaternion[0, k]) == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(samples.angular_velocity[0, k], w.astype(float), atol=1e-13 * size)
        origin = body.linear(np.zeros(3))[1].astype(float)
        np.testing.assert_allclose(samples.linear_velocity[0, k], origin, atol=1e-13 * size)
    assert samples.kinetic[0] == pytest.approx(kinetic, rel=1e-12, abs=1e-12)
    assert samples.potential[0] == pytest.approx(float(potential), rel=1e-12, abs=1e-12 * size)
    np.testing.assert_allclose(samples.linear_momentum[0], linear.astype(float), atol=1e-12 * size)
    np.testing.assert_allclose(samples.angular_momentum[0], angular.astype(float), atol=1e-12 * size**2)


@given(machines(loaded=False))
def test_inverse_mass_product_vanishes_for_prescribed_coordinates(machine):
    packed = pack(machine)
    state, work, _ = accelerations(packed)
    driven = packed.tree.tree.driven
    free = ~driven
    M, _ = oracle.equations(oracle.place(machine.tree_links, state.q, state.v), machine.gravity)
    x = np.random.default_rng(5).normal(size=packed.model.nv)
    y = np.full(packed.model.nv, np.nan)
    work.wrenches["t"] = work.wrenches["f"] = 0.0
    apply_inverse_mass(packed.model.system, work, x, y)
    expected = np.zeros(packed.model.nv)
    if free.any():
        expected[free] = oracle.solve(M[np.ix_(free, free)], x[free].astype(np.longdouble))
    bound = tolerance(M, free) * largest(expected)
    np.testing.assert_allclose(y, expected, rtol=0, atol=bound)


# --- long chains -------------------------------------------------------------------------------------------
def chain(parts_of, count=100):
    """Rods of one metre, hinged at their ends; all frames are exact in double precision."""
    rng = np.random.default_rng(100)
    tree_links = []
    for row in range(1, count + 1):
        parts = parts_of(row)
        q, v = random_state(rng, parts)
        origin = shift(0.0, 0.0, -1.0 if row > 1 else 0.0)
        com = (0.0, 0.0, -0.5)
        tree_links.append(
            tree_link(row, row - 1, parts, q, v, com=com, inertia=(0.0859375, 0.0859375, 0.015625), origin=origin)
        )
    return pack(Machine(tree_links))


@pytest.mark.parametrize(
    ("parts_of", "bound"),
    [
        (lambda row: (turning(Y),), 1e-12),
        (lambda row: (turning(X if row % 2 else Y),), 1e-12),
        (lambda row: (ball(),), 1e-11),
    ],
    ids=["revolute", "revolute, alternating", "ball"],
)
def test_accelerations_of_long_chains_are_accurate(parts_of, bound):
    packed = chain(parts_of)
    state, _, _ = accelerations(packed)
    bodies = oracle.place(packed.machine.tree_links, state.q, state.v)
    M, h = oracle.equations(bodies, packed.machine.gravity)
    a = oracle.solve(M, -h)
    assert float(np.abs(state.a - a).max() / np.abs(a).max()) < bound


def test_dynamics_does_not_depend_on_the_distance_from_the_origin():
    """Only differences of positions enter: a mechanism at a distance of 1e6 m has the same accelerations."""

    def accelerate_at(distance):
        here = tree_link(1, 0, (sliding(X),), (0.0,), origin=shift(distance, -distance, distance))
        arm = tree_link(
            2,
            1,
            (turning(X), sliding(Z), turning(Y)),
            (0.3, 0.7, 0.9),
            (1.1, -0.4, 0.6),
            com=(0.2, 0.1, -0.3),
        )
        return accelerations(pack(Machine([here, arm])))[0].a

    far, near = accelerate_at(2.0**20), accelerate_at(0.0)
    np.testing.assert_allclose(far, near, rtol=1e-13, atol=1e-13)


def test_a_prescribed_slider_supports_its_load():
    """A mass of 2 kg lifted with 3 m/s^2 requires the force m (g + a) and the power m (g + a) v."""
    from machines import JointForces, expression

    lift = tree_link(1, 0, (sliding(Z),), (0.0,), mass=2.0)
    packed = pack(Machine([lift], joint_forces={1: JointForces(motion=("position", [expression("1.5*t**2")]))}))
    state, work, powers = accelerations(packed, t=2.0)
    assert (state.q[0], state.v[0], state.a[0]) == pytest.approx((6.0, 6.0, 3.0))
    assert observed(packed, state, work).reaction[0, 0] == pytest.approx([0, 0, 0, 0, 0, 2.0 * 12.81])
    assert powers == pytest.approx([2.0 * 12.81 * 6.0])


def test_a_mechanism_at_rest_without_forces_stays_at_rest():
    rng = np.random.default_rng(0)
    tree_links = [
        tree_link(1, 0, (ball(),), random_state(rng, (ball(),))[0]),
        tree_link(2, 1, (turning(X), turning(Y))),
    ]
    packed = pack(Machine(tree_links, NO_GRAVITY))
    state, work, _ = accelerations(packed)
    assert np.abs(state.a).max() == 0.0
    assert np.abs(observed(packed, state, work).reaction).max() == 0.0


def test_an_evaluation_does_not_depend_on_the_previous_one():
    """An evaluation depends on its arguments alone, not on earlier evaluations with the same work arrays."""
    from machines import evaluate

    rng = np.random.default_rng(8)
    runs = [(ball(),), (turning(X), turning(Y)), (turning(Z),), (ball(),), (sliding(X),), (turning(Y),)]
    tree_links = [
        tree_link(k + 1, [0, 1, 1, 2, 2, 1][k], parts, *random_state(rng, parts), origin=shift(0.1, 0.2, 0.3))
        for k, parts in enumerate(runs)
    ]
    packed = pack(Machine(tree_links))
    first, work, powers = accelerations(packed)
    other = packed.fresh_state()
    other.v[:] = 7.0
    evaluate(packed.model.system, work, 0.0, other.q, other.v, other.a, powers)
    again = packed.fresh_state()
    evaluate(packed.model.system, work, 0.0, again.q, again.v, again.a, powers)
    np.testing.assert_array_equal(again.a, first.a)


def test_pack_does_not_depend_on_how_a_pose_is_split():
    """The joint frame may be given in the parent or the body may be drawn elsewhere: the same motion."""
    rng = np.random.default_rng(3)
    base = tree_link(1, 0, (turning(Y),), (0.4,), (1.0,), com=(0.1, 0.2, 0.3), origin=shift(0.5, 0.25, 0.0))
    moved = replace(base, child_origin=shift(0.25, 0.5, -1.0))
    properties = base.mass.moved(np.array([0.25, 0.5, -1.0]), np.eye(3))
    moved = replace(moved, mass=properties)
    q, v = random_state(rng, (ball(),))
    tip = tree_link(2, 1, (ball(),), q, v, origin=shift(0.0, 0.0, 1.0))
    tip_moved = replace(tip, origin=shift(0.25, 0.5, 0.0))
    a, b = (accelerations(pack(Machine(tree_links)))[0].a for tree_links in ([base, tip], [moved, tip_moved]))
    np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
