"""Events of simulations step by step: the instants and the bits of a run; written values pass them; copies go on."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest
from swing import GALLERY, load

import mbsim
from multibody_cli.errors import ArgumentError, RunFailed

METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")

CART = """
mbsim: 1
name: cart
gravity: [0, 0, -10]
inputs: {push: 1, brake: 0}
bodies: {cart: {mass: 2, inertia: {principal: [1, 1, 1]}}, load: {mass: 3, inertia: {principal: [1, 1, 1]}}}
joints:
  rail: {type: prismatic, child: cart, axis: [1, 0, 0]}
  other: {type: prismatic, child: load, axis: [1, 0, 0]}
forces: {drive: {body: cart, force: ["inputs.push - inputs.brake", 0, 0]}}
constraints:
  latch: {type: velocity, active: false, terms: [{body: cart, linear: [1, 0, 0]}, {body: load, linear: [-1, 0, 0]}]}
events:
  half: {when: joints.rail.q - 0.5}
  stop: {when: joints.rail.q - 1, set: {inputs.push: 3 N}}
  meet: {when: joints.rail.q - 2, set: {constraints.latch.active: true}}
simulation: {duration: 4 s, step: 1 ms}
"""


def assert_equal_bits(simulation: mbsim.Simulation, run: object, row: int) -> None:
    for path in (
        "joints/rail/q",
        "joints/other/v",
        "energy/total",
        "energy/ledger_residual",
        "energy/work/events/meet",
    ):
        np.testing.assert_array_equal(simulation.channel(path), run[path].values[row], err_msg=path)


@pytest.mark.parametrize("method", METHODS)
def test_steps_have_the_instants_and_the_bits_of_a_run(method: str) -> None:
    scene = load(CART, {"simulation.method": method, "output.every": "10 ms"})
    run = scene.run(check=False)
    once, single = mbsim.Simulation(scene), mbsim.Simulation(scene)
    for k in range(1, 8):
        once.advance(0.5 * k)
        assert_equal_bits(once, run, 50 * k)
    for k in range(1, 351):
        single.step(10)
        if k % 100 == 0:
            assert_equal_bits(single, run, k)
    assert once.events.as_rows() == single.events.as_rows() == json.loads(run.attrs["events"])
    assert single.events.time[0] == pytest.approx(math.sqrt(2.0), abs=1e-12)  # q = t^2/4
    assert once.events.time[1] == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize("name", ["bouncing_ball", "clutch", "crane_release", "thrown_ball"])
def test_scenes_of_the_gallery_have_the_bits_of_their_runs(name: str) -> None:
    scene = load(GALLERY / f"{name}.yaml", ["expect=[]"])
    run, simulation = scene.run(check=False), mbsim.Simulation(scene)
    while simulation.time < scene.duration and not simulation.ended_by:
        simulation.step()
    for path in run.data_vars:
        if run[path].dims[0] == "time" and not path.startswith("solver/"):
            found, known = simulation.channel(path), run[path].values[-1]
            if path == "bodies/quaternion":  # its sign is continuous from row to row
                found, known = abs(found), abs(known)
            np.testing.assert_array_equal(found, known, err_msg=path)
    assert simulation.events.as_rows() == json.loads(run.attrs["events"])


def test_an_adaptive_integrator_finds_the_instants_of_a_run() -> None:
    scene = load(CART, {"simulation.integrator": "dop853", "output.every": "0.1 s"})
    run, simulation = scene.run(check=False), mbsim.Simulation(scene)
    simulation.advance(3.0)  # the ledger of applied forces is part of the error that its steps keep small
    np.testing.assert_allclose(simulation.channel("joints/rail/q"), run["joints/rail/q"].values[30], rtol=1e-12)
    np.testing.assert_allclose(simulation.events.time, [math.sqrt(2.0), 2.0, 8.0 / 3.0], atol=1e-11)


def test_written_inputs_and_forces_pass_an_event() -> None:
    """The event changes one input; the other one, and the applied force, are those that a program wrote."""
    simulation = mbsim.Simulation(load(CART))
    simulation.inputs["push"], simulation.inputs["brake"] = 5.0, 1.0
    simulation.force["rail"] = -2.0
    simulation.advance(2.0)  # q = t^2/2, and 1 m at sqrt(2) s
    start = math.sqrt(2.0)
    assert simulation.events.of("stop") == pytest.approx([start], abs=1e-12)
    with pytest.raises(mbsim.UnknownName, match="unknown event `stp`: did you mean `stop`"):
        simulation.events.of("stp")
    assert (simulation.inputs["push"], simulation.inputs["brake"]) == (3.0, 1.0)
    assert simulation.v["rail"][0] == pytest.approx(start, abs=1e-11)  # 3 - 1 - 2 = 0
    simulation.force["rail"] = 0.0
    rate, at = start, 1.0 + start * (2.0 - start)
    simulation.step(100)
    assert simulation.q["rail"][0] == pytest.approx(at + 0.1 * rate + 0.005, abs=1e-11)
    np.testing.assert_allclose(simulation.channel("energy/ledger_residual"), 0.0, atol=1e-11)


def test_a_written_state_is_no_event() -> None:
    simulation = mbsim.Simulation(load(CART))
    simulation.q["rail"] = 1.5
    simulation.step(10)
    assert not simulation.events.time.size
    simulation.v["rail"] = -200.0
    simulation.step(10)
    assert [simulation.events.names[k] for k in simulation.events.event] == ["stop", "half"]


def test_saved_and_copied_simulations_go_on_in_their_phase() -> None:
    scene = load(CART)
    simulation = mbsim.Simulation(scene)
    simulation.advance(2.5)
    other, data = copy.copy(simulation), simulation.save()
    for one in (simulation, other):
        one.advance(3.5)
    assert other.q["rail"][0] == simulation.q["rail"][0]
    assert other.events.time.tolist() == simulation.events.time.tolist()
    assert len(other.events.time) == 3
    end, rows = simulation.q[...].copy(), simulation.events.as_rows()
    simulation.reset()
    assert not simulation.events.time.size
    simulation.restore(data)
    simulation.advance(3.5)
    np.testing.assert_array_equal(simulation.q[...], end)
    assert simulation.events.as_rows() == rows


def test_equations_of_motion_are_those_of_the_phase() -> None:
    text = CART.replace("stop: {when: joints.rail.q - 1, set: {inputs.push: 3 N}}",
                        "stop: {when: joints.rail.q - 1, set: {bodies.cart.mass: 7}}")  # fmt: skip
    simulation = mbsim.Simulation(load(text))
    assert simulation.mass_matrix()[0, 0] == 2.0
    simulation.advance(2.1)
    assert simulation.mass_matrix()[0, 0] == 7.0
    simulation.force["rail"] = 4.0
    assert simulation.inverse_dynamics(np.zeros(2))[0] == pytest.approx(-1.0)
    assert simulation.channel("joints/rail/acceleration") == pytest.approx(5.0 / 7.0)


def test_an_event_that_ends_the_run_ends_the_steps() -> None:
    simulation = mbsim.Simulation(load(CART, {"events.half.end": True}))
    simulation.advance(3.0)
    assert (simulation.ended_by, simulation.time) == ("half", pytest.approx(math.sqrt(2.0), abs=1e-12))
    with pytest.raises(ArgumentError, match=r"the event `half` ended the simulation at 1\.41421356 s: call `reset`"):
        simulation.step()
    simulation.reset()
    simulation.step(10)
    assert (simulation.ended_by, simulation.time) == ("", 0.01)


def test_constraints_that_are_not_met_are_reported() -> None:
    text = CART.replace("type: velocity", "type: expression, inputs: {x: other}, value: x - 1").replace(
        ", terms: [{body: cart, linear: [1, 0, 0]}, {body: load, linear: [-1, 0, 0]}]", ""
    )
    simulation = mbsim.Simulation(load(text))
    with pytest.raises(RunFailed, match="the event `meet` moves bodies at once"):
        simulation.advance(4.0)
