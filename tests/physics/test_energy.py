"""Energy and momentum balances, to the order of the integrator."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from machines import (
    NO_GRAVITY,
    JointForces,
    Machine,
    accelerations,
    evaluate,
    expression,
    observed,
    pack,
    shift,
    tree_link,
)
from scipy.spatial.transform import Rotation
from strategies import OBLIQUE, X, Y, Z, machines, random_rotation, random_state, runs_of_parts
from test_integrators import mixed_tree

from multibody_cli.forces.body_load import LoadSpec
from multibody_cli.forces.elements import apply_forces, elastic_energy
from multibody_cli.immutable import replace
from multibody_cli.joints.contract import ball, exponential_ball, floating, sliding, turning
from multibody_cli.methods.contract import Status
from multibody_cli.output.element_rows import element_rows
from multibody_cli.output.observers import observe
from multibody_cli.output.samples import samples_for
from multibody_cli.scene.body_kinds import Placement
from multibody_cli.tree.configuration import displace


def total(samples):
    return samples.kinetic + samples.potential + samples.elastic


def balance(packed, samples):
    """Energy less work done plus energy dissipated, at each instant: a constant."""
    signs = np.array([-1.0 if account.kind == "work" else 1.0 for account in packed.model.names.accounts])
    return total(samples) + samples.accounts @ signs


def history(packed, integrator, step, instants, **tolerances):
    """Samples at `instants`, the first of them the start."""
    method, state = packed.method(integrator, step, **tolerances), packed.fresh_state()
    samples, rows = samples_for(packed.model.names, len(instants)), element_rows(packed.model)
    for k, t in enumerate(instants):
        report = method.start(state) if k == 0 else method.advance(state, t)
        assert report.status is Status.OK
        observe(packed.model.system, state, method.work, rows, samples, k)
    return samples


def slope(f, h):
    """df/dx at 0 by central differences, extrapolated once: to the order h^4."""
    coarse, fine = ((f(x) - f(-x)) / (2 * x) for x in (h, h / 2))
    return (4 * fine - coarse) / 3


# `evaluate` would put prescribed coordinates back: their part of the ledger is tested along runs
@given(machines(driven=False))
def test_power_of_everything_is_the_rate_of_the_energy(machine):
    """d/dt (kinetic + potential + elastic) = power of the accounts, by the chain rule: q along v, and v along a."""
    packed = pack(machine)
    t = 0.4
    state, work, powers = accelerations(packed, t)
    signs = np.array([1.0 if account.kind == "work" else -1.0 for account in packed.model.names.accounts])

    def energies(moved, faster):
        """Kinetic, potential and elastic energy after q went on for a time, and v for another."""
        there = packed.fresh_state()
        there.q[:], there.v[:] = state.q, state.v + faster * state.a
        displace(packed.tree.tree, there.q, state.v, moved)
        evaluate(packed.model.system, work, t, there.q, there.v, there.a, powers.copy())
        samples = observed(packed, there, work)
        return np.array([samples.kinetic[0], samples.potential[0], samples.elastic[0]])

    # in v the energy is quadratic, its difference exact at any step: one that moves v by about itself
    step = 1.0 / (1.0 + np.abs(state.a).max(initial=0.0))
    by_position, by_speed = slope(lambda s: energies(s, 0.0), 2e-3), slope(lambda s: energies(0.0, s), step)
    size = np.abs(powers).sum() or np.abs(by_position).sum() + np.abs(by_speed).sum()
    assert (by_position + by_speed).sum() == pytest.approx(float(signs @ powers), rel=0, abs=1e-7 * size)


def test_the_ledger_balances_to_the_order_of_rk4():
    """Half the step divides the residual of the balance by 16: every account is there, with the right sign."""
    packed, residuals = mixed_tree(), []
    for step in (1 / 64, 1 / 128):
        samples = history(packed, "rk4", step, [0.0, 0.5])
        assert np.abs(samples.accounts[1]).max() > 0.1
        residuals.append(abs(np.diff(balance(packed, samples))[0]))
    assert residuals[1] < 1e-4
    assert math.log2(residuals[0] / residuals[1]) > 3.4


def test_the_ledger_balances_to_the_tolerance_of_dop853():
    packed = mixed_tree()
    samples = history(packed, "dop853", 1e-3, np.linspace(0.0, 1.0, 11), rtol=1e-10, atol=1e-10)
    found = balance(packed, samples)
    assert np.abs(found - found[0]).max() < 1e-6


def test_each_ledger_entry_takes_its_own_work():
    """One degree of freedom in closed form: m = 2 kg with q = sin t against spring, damper and gravity."""
    k, d, m, g = 7.0, 0.9, 2.0, 9.81
    forces = JointForces(stiffness=(k,), damping=(d,), motion=("position", [expression("sin(t)")]))
    packed = pack(Machine([tree_link(1, 0, (sliding(Z),), mass=m, rest=(0.0,))], joint_forces={1: forces}))
    samples = history(packed, "dop853", 1e-3, [0.0, 1.0], rtol=1e-12, atol=1e-12)
    work = {
        f"{account.kind} {account.cause}": value
        for account, value in zip(packed.model.names.accounts, samples.accounts[1], strict=True)
    }
    q, v = math.sin(1.0), math.cos(1.0)
    loss = d * (0.5 + math.sin(2.0) / 4)
    gained = 0.5 * m * (v**2 - 1.0) + m * g * q + 0.5 * k * q**2
    assert work["dissipation joints/j1/damping"] == pytest.approx(loss, rel=1e-9)
    assert work["work joints/j1/motion"] == pytest.approx(gained + loss, rel=1e-9)
    assert samples.elastic[1] == pytest.approx(0.5 * k * q**2)
    assert samples.potential[1] == pytest.approx(m * g * q)


free_trees = machines(max_bodies=6, driven=False, loaded=False, gravity=False, runs=runs_of_parts)


@given(free_trees)
@settings(max_examples=25)
def test_a_free_tree_keeps_its_momentum_and_energy(machine):
    """Any tree on a free body without gravity conserves linear and angular momentum and energy, to the error of rk4."""
    rng = np.random.default_rng(1)
    root = tree_link(1, 0, (floating(),), *random_state(rng, (floating(),)), com=(0.1, 0.0, 0.2))
    tree_links = [root, *(replace(item, row=item.row + 1, parent=item.parent + 1) for item in machine.tree_links)]
    packed = pack(Machine(tree_links, NO_GRAVITY))
    samples = history(packed, "rk4", 1 / 2048, [0.0, 1 / 16])
    size = 1.0 + samples.kinetic[0]
    np.testing.assert_allclose(samples.linear_momentum[1], samples.linear_momentum[0], atol=1e-7 * size)
    np.testing.assert_allclose(samples.angular_momentum[1], samples.angular_momentum[0], atol=1e-7 * size)
    assert samples.kinetic[1] == pytest.approx(samples.kinetic[0], rel=1e-6)


def test_momentum_changes_by_the_force_that_acts():
    """Gravity and a load give the impulse force * time, and the integral of their moment about the world's origin."""
    force, torque, gravity = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.0, 0.1]), np.array([0.0, 0.0, -2.0])
    point, coms = np.array([0.2, -0.1, 0.3]), [np.zeros(3), np.array([0.1, 0.2, 0.0])]
    load = LoadSpec(body="b", point=point.tolist(), force=force.tolist(), torque=torque.tolist())
    spin = (0.4, -0.3, 0.2, 0.5, -1.0, 0.8)
    tree_links = [
        tree_link(1, 0, (floating(),), (0.6, -0.4, 0.3, 1.0, 0.0, 0.0, 0.0), spin),
        tree_link(2, 1, (ball(),), v=(1.0, 2.0, 0.5), com=coms[1], origin=shift(0.3, 0.0, 0.0)),
    ]
    packed = pack(Machine(tree_links, tuple(gravity), loads=[(1, load)]))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    instants = [0.0, *(0.25 + 0.25 * nodes), 0.5]
    samples = history(packed, "dop853", 1e-3, instants, rtol=1e-11, atol=1e-11)

    def place(k, i, at):
        """Where a point of a body frame is in the world."""
        return samples.position[k, i] + Rotation.from_quat(samples.quaternion[k, i], scalar_first=True).apply(at)

    moments = [
        torque + np.cross(place(k, 0, point), force) + sum(np.cross(place(k, i, coms[i]), gravity) for i in range(2))
        for k in range(1, 13)
    ]
    impulse = 0.5 * (force + 2.0 * gravity)
    np.testing.assert_allclose(samples.linear_momentum[-1] - samples.linear_momentum[0], impulse, atol=1e-9)
    change = samples.angular_momentum[-1] - samples.angular_momentum[0]
    np.testing.assert_allclose(change, 0.25 * weights @ np.array(moments), atol=1e-9)


def test_semi_implicit_euler_keeps_the_energy_of_an_oscillator_bounded():
    """Symplectic: over a thousand periods the energy error oscillates with h, it does not grow."""
    packed = pack(
        Machine(
            [tree_link(1, 0, (sliding(X),), (1.0,), rest=(0.0,))],
            NO_GRAVITY,
            {1: JointForces(stiffness=(4 * math.pi**2,))},
        )
    )
    samples = history(packed, "semi_implicit_euler", 1e-3, [0.0, 0.25, 1.0, 500.0, 999.75, 1000.0])
    energy = total(samples)
    assert np.abs(energy / energy[0] - 1).max() < 0.5 * 1e-3 * 2 * math.pi * 1.2


# --- springs of rotations ----------------------------------------------------------------------------------
@pytest.mark.parametrize("part", [ball(), floating(), exponential_ball()], ids=lambda part: part.code.name)
@pytest.mark.parametrize("seed", range(4))
def test_spring_force_is_the_negative_gradient_of_its_energy(part, seed):
    """tau . v = - d energy / dt along every direction, anisotropic stiffness, any rest orientation."""

    rng = np.random.default_rng(seed)
    q, v = random_state(rng, (part,))
    rest, _ = random_state(rng, (part,))
    stiffness = tuple(rng.random(part.nv) * 5)
    packed = pack(
        Machine([tree_link(1, 0, (part,), q, v, rest=rest)], NO_GRAVITY, {1: JointForces(stiffness=stiffness)})
    )
    _, work, powers = accelerations(packed)
    system, h = packed.model.system, 1e-5
    apply_forces(system.forces, 0.0, packed.tree.q, np.zeros(part.nv), work, powers)
    for j in range(part.nv):
        ends = []
        for s in (-h, h):
            moved = packed.tree.q.copy()
            displace(packed.tree.tree, moved, np.eye(part.nv)[j], s)
            ends.append(elastic_energy(system.forces, moved, work.bodies))
        assert work.tau[j] == pytest.approx(-(ends[1] - ends[0]) / (2 * h), abs=1e-8)


def test_a_rotation_spring_is_a_function_of_the_rotation_alone():
    """Beyond a half turn the energy is that of the shortest rotation back, and the ledger balances."""
    spin, inertia = 12.0, 0.2
    turning_ball = tree_link(1, 0, (ball(),), v=(0.0, spin, 0.0), inertia=(inertia,) * 3, rest=(1.0, 0.0, 0.0, 0.0))
    packed = pack(Machine([turning_ball], NO_GRAVITY, {1: JointForces(stiffness=(1.0, 1.0, 1.0))}))
    samples = history(packed, "rk4", 1 / 2048, np.linspace(0.0, 1.0, 65))
    angle = np.linalg.norm(samples.coordinates, axis=1)
    assert angle.max() > 3.0
    np.testing.assert_allclose(samples.elastic, 0.5 * angle**2, atol=1e-12)
    # at the half turn the torque jumps between pi and -pi: there a step errs by its impulse
    found = balance(packed, samples)
    assert np.abs(found - found[0]).max() < 4 * 2 * math.pi * spin / 2048


def test_dampers_only_dissipate():
    rng = np.random.default_rng(3)
    parts = (ball(), sliding(OBLIQUE))
    forces = JointForces(damping=(0.1, 0.2, 0.3, 0.4))
    packed = pack(Machine([tree_link(1, 0, parts, *random_state(rng, parts))], NO_GRAVITY, {1: forces}))
    _, _, powers = accelerations(packed)
    v = packed.tree.v
    assert powers == pytest.approx([np.array(forces.damping) @ v**2])
    samples = history(packed, "rk4", 1 / 256, np.linspace(0.0, 2.0, 9))
    assert (np.diff(samples.accounts[:, 0]) > 0).all()
    assert (np.diff(samples.kinetic) < 0).all()


def test_rotating_the_world_turns_the_motion_with_it():
    """Rotating gravity and the first joint frame leaves the motion of the internal coordinates unchanged."""
    rng = np.random.default_rng(17)
    R = random_rotation(rng)
    tree_links = [
        tree_link(1, 0, (turning(Y),), (0.3,), (1.0,), com=(0.2, 0.1, -0.4)),
        tree_link(2, 1, (ball(),), *random_state(rng, (ball(),)), com=(0.1, 0, -0.3), origin=shift(0.1, 0.2, -0.5)),
    ]
    turned = [replace(tree_links[0], origin=Placement(np.zeros(3), R)), tree_links[1]]
    a = accelerations(pack(Machine(tree_links)))[0].a
    b = accelerations(pack(Machine(turned, tuple(R @ [0.0, 0.0, -9.81]))))[0].a
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
