"""Simulations step by step: forces that a program applies, sampled controllers, and linearizations."""

from __future__ import annotations

import numpy as np
import pytest
from swing import CART, GALLERY, SWING, load

import mbsim


@pytest.mark.parametrize("method", ["aba", "symbolic", "redmax", "baraff", "variational"])
def test_a_constant_applied_force_is_a_force_of_the_scene(method):
    sim = mbsim.Simulation(load(SWING, {"simulation.method": method}))
    run = load(SWING, {"simulation.method": method, "joints.hinge.force": 0.7}).run()
    sim.force["hinge"][:] = 0.7
    sim.advance(1.0)
    np.testing.assert_array_equal(sim.channel("joints/hinge/q"), run["joints/hinge/q"].values[-1])
    np.testing.assert_array_equal(
        sim.channel("energy/work/joints/hinge/applied"), run["energy/work/joints/hinge/force"].values[-1]
    )


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler", "linearly_implicit_euler", "sdirk2", "dop853"])
def test_forces_are_held_over_each_step(integrator):
    """A cart under piecewise constant forces: closed form; Euler's position differs by u h^2 / (2 m) a step."""
    overrides = {"simulation.integrator": integrator}
    sim = mbsim.Simulation(load(CART, overrides))
    h, x, v, work = sim.scene.step, 0.0, 0.0, 0.0
    euler = "euler" in integrator
    for k in range(60):
        force = 3.0 * np.sin(1.0 + k)
        sim.force["rail"][:] = force
        sim.step()
        moved = v * h + (1.0 if euler else 0.5) * force / 2.0 * h**2
        work += force * h * (v + 0.5 * force / 2.0 * h)
        x, v = x + moved, v + force / 2.0 * h
        np.testing.assert_allclose([sim.q["rail"][0], sim.v["rail"][0]], [x, v], rtol=0, atol=1e-12)
    np.testing.assert_allclose(sim.channel("energy/work/joints/rail/applied"), work, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sim.channel("energy/kinetic"), work, rtol=0, atol=1e-12)


def test_the_ledger_closes_under_a_controller():
    """Its residual is that of the integrator, although the force jumps at each step."""
    sim = mbsim.Simulation(load(SWING))
    for _ in range(1000):
        sim.force["hinge"][:] = -1.5 * np.sin(sim.q["hinge"]) - 0.2 * sim.v["hinge"]
        sim.step()
    assert abs(sim.channel("energy/ledger_residual")) < 1e-10
    assert abs(sim.channel("energy/work/joints/hinge/applied")) > 0.1


def test_computed_torque_in_python_is_that_of_the_scene():
    """An arm of six joints: Euler's step evaluates the forces of a scene at its start, like a controller in Python."""
    text = (GALLERY / "computed_torque.yaml").read_text(encoding="utf-8")
    short = text[: text.index("expect:")].replace("integrator: rk4", "integrator: semi_implicit_euler")
    followed = mbsim.Simulation(load(short))
    sim = mbsim.Simulation(load(short[: short.index("actuators:")] + short[short.index("simulation:") :]))
    size, pace = np.array([0.5, 0.3, 0.4, 0.5, 0.4, 0.5]), np.array([1.0, 2.0, 2.0, 2.0, 3.0, 3.0])
    middle = np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0])
    for k in range(2000):
        wave, slope = size * np.sin(pace * sim.time), size * pace * np.cos(pace * sim.time)
        error, error_rate = middle + wave - sim.q[...], slope - sim.v[...]
        sim.force[...][:] = sim.inverse_dynamics(-(pace**2) * wave + 100.0 * error + 20.0 * error_rate)
        sim.step()
        followed.step()
        if k % 100 == 99:
            np.testing.assert_allclose(sim.q[...], followed.q[...], rtol=0.0, atol=1e-12)
            np.testing.assert_allclose(sim.v[...], followed.v[...], rtol=0.0, atol=1e-12)
    assert np.abs(sim.q[...] - middle - size * np.sin(pace * 2.0)).max() < 2e-3  # the error of steps of 1 ms


def test_forces_act_on_joints_that_close_loops():
    """A force on the joint of a loop that opens it does the work that the energy grows by."""
    sim = mbsim.Simulation(load(GALLERY / "stewart_platform.yaml"))
    name = next(name for name in sim.force if not sim.q[name].flags.writeable)
    before = sim.channel("energy/ledger_residual")
    sim.force[name][:] = 0.5
    sim.step(20)
    assert abs(sim.channel("energy/ledger_residual") - before) < 1e-8
    assert sim.channel(f"energy/work/joints/{name}/applied") != 0.0


SAMPLED = """\
mbsim: 1
name: sampled
gravity: [0, 0, 0]
bodies: {cart: {mass: 2, inertia: {principal: [1, 1, 1]}}}
joints: {rail: {type: prismatic, child: cart, axis: [1, 0, 0], q: 0.1}}
actuators:
  p: {type: pid, joint: rail, kp: 3, ki: 40, kd: 0.5, target: 0.7, period: 10 ms, delay: DELAY}
simulation: {duration: 1 s, step: 1 ms, integrator: rk4}
"""


@pytest.mark.parametrize("delay", [0.0, 0.004])
def test_a_sampled_controller_reads_a_state_that_is_written_at_its_instant(delay):
    """Against the difference equations of the controller and the exact motion of the cart between samples."""
    scene = load(SAMPLED.replace("DELAY", str(delay)))
    sim, other = mbsim.Simulation(scene), mbsim.Simulation(scene)
    x, v, integral, held = 0.1, 0.0, 0.0, 0.0
    for k in range(30):
        if k in (0, 7, 8, 20):  # at the instant of sample k, which has been taken once
            x, v = 0.3 - 0.02 * k, 0.4
            sim.q["rail"][:], sim.v["rail"][:] = x, v
            if k == 7:
                sim.channel("energy/total")
            if k == 8:
                other.restore(sim.save())
                sim = other
        force = 3.0 * (0.7 - x) + integral - 0.5 * v
        integral += 0.01 * 40.0 * (0.7 - x)
        for F, h in ((held, delay), (force, 0.01 - delay)):
            x, v = x + h * v + F / 2.0 * h**2 / 2.0, v + F / 2.0 * h
        held = force
        sim.step(10)
        np.testing.assert_allclose([sim.q["rail"][0], sim.v["rail"][0]], [x, v], rtol=0.0, atol=1e-12)


def test_held_forces_are_constant_in_a_linearization_and_continuous_ones_are_not():
    sampled = SAMPLED.replace("DELAY", "0")
    continuous = sampled.replace("pid", "pd").replace("ki: 40, ", "").replace(", period: 10 ms, delay: 0", "")
    with pytest.warns(mbsim.SceneWarning, match="keeps the values that sampled controllers hold, of `actuators.p`"):
        A = mbsim.Simulation(load(sampled)).linearize().A
    np.testing.assert_allclose(A, [[0, 1], [0, 0]], rtol=0.0, atol=1e-9)
    A = mbsim.Simulation(load(continuous)).linearize().A
    np.testing.assert_allclose(A, [[0, 1], [-3.0 / 2.0, -0.5 / 2.0]], rtol=0.0, atol=1e-9)


def test_a_linearization_names_the_contacts_and_friction_that_it_ignores():
    """A is that of the scene without them."""
    free = mbsim.Simulation(load(CART)).linearize()
    sliding = CART.replace("axis: [1, 0, 0]", "axis: [1, 0, 0], friction: {coefficient: 0.3, surface: SURFACE}")
    sliding = sliding.replace("SURFACE", "{type: box, size: [0.2, 0.1, 0.1]}").replace("rk4", "semi_implicit_euler")
    sim = mbsim.Simulation(load(sliding + "contacts: {}\n"))
    with pytest.warns(mbsim.SceneWarning, match="`linearize` ignores `contacts`, `joints.rail.friction` of the scene"):
        model = sim.linearize()
    np.testing.assert_allclose(model.A, free.A, rtol=0.0, atol=1e-12)
