"""Mass matrix, bias, inverse dynamics, Jacobians and linearization, against dense equations and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from machines import accelerations, pack
from strategies import machines
from test_forward_dynamics import dense, largest

import mbsim
from multibody_cli.api.equations_of_motion import EquationsOfMotion

ARM = """
mbsim: 1
name: arm
bodies:
  base: {mass: 2.0, inertia: {principal: [0.02, 0.03, 0.04]}}
  upper: {mass: 1.0, com: [0.0, 0.02, 0.3], inertia: {principal: [0.03, 0.04, 0.01]}}
  lower: {mass: 0.5, com: [0.1, 0.0, 0.2], inertia: {principal: [0.02, 0.01, 0.03]}}
  loose: {mass: 0.7, com: [0.0, 0.1, 0.0], inertia: {principal: [0.02, 0.05, 0.03]}, position: [2, 0, 0]}
joints:
  slide: {type: prismatic, child: base, axis: [1, 0, 0], q: 0.1, v: 0.3, stiffness: 20, damping: 2}
  shoulder: {type: spherical, parent: base, child: upper, v: [0.4, -0.7, 0.9], damping: [0.1, 0.1, 0.1],
    origin: {position: [0, 0, 0.1]}, q: {axis: [1, 2, 0], angle: 40 deg}}
  elbow: {type: revolute, parent: upper, child: lower, axis: [0, 1, 0], q: 30 deg, v: -1.1, force: 0.2,
    origin: {position: [0, 0, 0.6]}, child_origin: {position: [0, 0, -0.1]}}
simulation: {duration: 1 s, step: 0.1 ms}
"""

ROTOR = (
    "actuators={motor: {type: motor, joint: elbow, gear: 20, rotor_inertia: 1e-4, command: 0.3, "
    "stall_torque: 1, no_load_speed: 1000}}"
)
"""A rotor of 0.04 kg*m^2, as seen from the elbow."""

FOUR_BAR = """
mbsim: 1
name: four_bar
bodies:
  crank: {mass: 1.0, com: [0.2, 0, 0], inertia: {principal: [0.01, 0.02, 0.02]}}
  coupler: {mass: 1.5, com: [0.5, 0, 0], inertia: {principal: [0.01, 0.1, 0.1]}}
  rocker: {mass: 1.0, com: [0.4, 0, 0], inertia: {principal: [0.01, 0.05, 0.05]}}
joints:
  a: {type: revolute, child: crank, axis: [0, 1, 0], q: -70 deg, v: 2.0}
  b: {type: revolute, parent: crank, child: coupler, axis: [0, 1, 0], origin: {position: [0.4, 0, 0]}}
  d: {type: revolute, child: rocker, axis: [0, 1, 0], origin: {position: [0.9, 0, 0]}, stiffness: 3}
  c: {type: revolute, parent: coupler, child: rocker, axis: [0, 1, 0],
    origin: {position: [1.0, 0, 0]}, child_origin: {position: [0.8, 0, 0]}}
simulation: {duration: 1 s, step: 0.1 ms, assembly_tolerance: 10}
"""


def loaded(text: str, overrides=()) -> mbsim.Simulation:
    """A simulation of a scene that may be assembled with a warning."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        return mbsim.Simulation(mbsim.load(text, overrides))


@given(machines())
@settings(max_examples=60)
def test_mass_matrix_and_inverse_dynamics_of_random_trees(machine):
    packed = pack(machine)
    state, _, _ = accelerations(packed, t=0.35)
    _, M, h, Q, _, _ = dense(packed, state)
    equations = EquationsOfMotion(packed.model)
    a = np.random.default_rng(1).normal(size=packed.model.nv)
    expected = M @ a + h - Q
    bound = 1e-10 * largest(expected, h, Q, M)
    np.testing.assert_allclose(equations.mass_matrix(state), M.astype(float), rtol=0, atol=bound)
    np.testing.assert_allclose(equations.inverse_dynamics(state, a), expected.astype(float), rtol=0, atol=bound)


@pytest.mark.parametrize("overrides", [(), (ROTOR,)])
def test_inverse_dynamics_is_the_inverse_of_the_motion(overrides):
    """The applied forces M a + bias cause the accelerations a, in simulated steps."""
    sim = loaded(ARM, overrides)
    sim.step(50)
    wanted = np.linspace(-2.0, 7.0, len(sim.a[...]))
    tau = sim.inverse_dynamics(wanted)
    free = {name: slice(0, 0) for name in sim.v}
    for name in sim.force:
        start = sim.v[name].__array_interface__["data"][0] - sim.v[...].__array_interface__["data"][0]
        free[name] = slice(start // 8, start // 8 + sim.v[name].size)
        sim.force[name][:] = tau[free[name]]
    sim.channel("time")  # the accelerations now
    for name in sim.force:
        np.testing.assert_allclose(sim.a[name], wanted[free[name]], rtol=0, atol=1e-9)
    assert "loose" not in sim.force
    expected = np.where(np.arange(len(tau)) < sim.force[...].size, tau, 0.0)  # the free body has no applied forces
    np.testing.assert_allclose(sim.inverse_dynamics(sim.a[...]), expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(sim.mass_matrix() @ sim.a[...] + sim.bias(), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("overrides", [(), (ROTOR,)])
def test_the_mass_matrix_gives_the_kinetic_energy(overrides):
    sim = loaded(ARM, overrides)
    v = sim.v[...]
    np.testing.assert_allclose(0.5 * v @ sim.mass_matrix() @ v, sim.channel("energy/kinetic"), rtol=1e-13)


@pytest.mark.parametrize(
    ("body", "point"), [("lower", (0.1, -0.2, 0.3)), ("loose", (0.0, 0.4, 0.1)), ("base", (1, 2, 3))]
)
def test_the_jacobian_maps_velocities_to_those_of_a_point(body, point):
    sim = loaded(ARM)
    sim.advance(0.05)
    J = sim.jacobian(body, point)
    before = position(sim, body, point)
    twist = J @ sim.v[...]
    np.testing.assert_allclose(twist[:3], sim.channel(f"bodies/{body}/angular_velocity"), rtol=0, atol=1e-13)
    sim.step()
    after = position(sim, body, point)
    middle = 0.5 * (twist + sim.jacobian(body, point) @ sim.v[...])
    np.testing.assert_allclose((after - before) / sim.scene.step, middle[3:], rtol=0, atol=1e-6)


def position(sim: mbsim.Simulation, body: str, point) -> np.ndarray:
    """World position of a point of a body."""
    w, x, y, z = sim.channel(f"bodies/{body}/quaternion")
    u, r = np.array([x, y, z]), np.array(point, float)
    return sim.channel(f"bodies/{body}/position") + r + 2.0 * np.cross(u, np.cross(u, r) + w * r)


def deviation(sim: mbsim.Simulation, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Deviation of a state from (q, v), rotations in the frame of their angular velocity."""
    equations = sim.equations
    n = equations.n
    return np.concatenate([equations._difference(sim.q[...], q)[:n], (sim.v[...] - v)[:n]])


def flow(sim: mbsim.Simulation, data: bytes, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The state some steps after a checkpoint."""
    sim.restore(data)
    sim.step(steps)
    return sim.q[...].copy(), sim.v[...].copy()


def test_the_linear_model_predicts_the_flow_of_an_arm():
    """exp(A t) x is the difference of two runs of 0.4 ms, to second order of their length and of the deviation."""
    sim = loaded(ARM)
    sim.advance(0.02)
    model, data = sim.linearize(), sim.save()
    n, steps, size = len(model.basis), 4, 1e-5
    t = steps * sim.scene.step
    np.testing.assert_array_equal(model.basis, np.eye(n))
    q, v = flow(sim, data, steps)
    for column in range(2 * n):
        differences = []
        for sign in (1.0, -1.0):
            sim.restore(data)
            displace(sim, column, sign * size)
            sim.step(steps)
            differences.append(deviation(sim, q, v))
        rate = ((differences[0] - differences[1]) / (2.0 * size) - np.eye(2 * n)[column]) / t
        expected = model.A[:, column] + 0.5 * t * (model.A @ model.A)[:, column]
        np.testing.assert_allclose(rate, expected, rtol=0, atol=2e-3 * max(1.0, np.abs(model.A).max()))


def displace(sim: mbsim.Simulation, column: int, size: float) -> None:
    """Change one component of the deviation."""
    from multibody_cli.tree.configuration import displace as move

    n = sim.equations.n
    if column >= n:
        sim.v[...][column - n] += size
        return
    shift = np.zeros(len(sim.v[...]))
    shift[column] = size
    move(sim._model.system.tree, sim.q[...], shift, 1.0)


def test_the_response_to_forces_is_that_of_the_motion():
    sim = loaded(ARM)
    model = sim.linearize()
    assert model.inputs[-1] == "elbow"
    a = {}
    for torque in (0.0, 1.0):
        sim.force["elbow"][:] = torque
        sim.channel("time")
        a[torque] = sim.a[...].copy()
    np.testing.assert_allclose(model.B[len(model.basis) :, -1], a[1.0] - a[0.0], rtol=0, atol=1e-9)
    assert not model.B[: len(model.basis)].any()


def test_the_linear_model_of_a_moving_loop_predicts_its_flow():
    """One degree of freedom, with a curved configuration space and a velocity."""
    sim = loaded(FOUR_BAR)
    model, data = sim.linearize(), sim.save()
    assert model.A.shape == (2, 2)
    N, n = model.basis, len(model.basis)
    q, v = sim.q[...].copy(), sim.v[...].copy()
    steps = 5
    t = steps * sim.scene.step

    def reduced(q0: np.ndarray, v0: np.ndarray) -> np.ndarray:
        x = deviation(sim, q0, v0)
        return np.concatenate([N.T @ x[:n], N.T @ x[n:]])

    q1, v1 = flow(sim, data, steps)
    starts, ends = [], []
    for direction in np.eye(2):
        for sign in (1.0, -1.0):
            sim.restore(data)
            sim.q[...][:n] += sign * 1e-4 * direction[0] * N[:, 0]
            sim.v[...][:n] += sign * 1e-3 * direction[1] * N[:, 0]
            sim.channel("time")  # back to the loop
            starts.append(reduced(q, v))
            sim.step(steps)
            ends.append(reduced(q1, v1))
    starts, ends = np.array(starts).T, np.array(ends).T
    X, Y = starts[:, ::2] - starts[:, 1::2], ends[:, ::2] - ends[:, 1::2]
    rate = (Y @ np.linalg.inv(X) - np.eye(2)) / t
    expected = model.A + 0.5 * t * model.A @ model.A
    np.testing.assert_allclose(rate, expected, rtol=0, atol=3e-3 * np.abs(model.A).max())


def test_maximal_coordinates_have_no_mass_matrix_of_joints():
    sim = loaded(ARM, {"simulation.method": "baraff"})
    with pytest.raises(mbsim.ArgumentError, match="`baraff` uses maximal coordinates"):
        sim.mass_matrix()


def test_accelerations_of_another_length_are_refused():
    with pytest.raises(mbsim.ArgumentError, match=r"expected accelerations of shape \(11,\), found \(2,\)"):
        loaded(ARM).inverse_dynamics([1.0, 2.0])
