"""Inputs: named values that expressions, targets and motions read, and that programs set between steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from multibody_cli import MemorySink, Simulation, load
from multibody_cli.api.views import UnknownName
from multibody_cli.errors import ArgumentError, SceneError

SCENE = """\
mbsim: 1
gravity: [0, 0, 0]
inputs: {throttle: 0.5, "the-gain": 3 N, wave: 0.2*sin(3*t), ramp: {times: [0, 1], values: [0, 2]}}
bodies:
  a: {mass: 2, inertia: {principal: [1, 1, 1]}}
  b: {mass: 2, inertia: {principal: [1, 1, 1]}}
  c: {mass: 2, inertia: {principal: [1, 1, 1]}}
joints:
  a: {type: prismatic, child: a, axis: [1, 0, 0], force: '4*inputs.throttle + inputs.throttle*inputs["the-gain"]*v'}
  b: {type: prismatic, child: b, axis: [1, 0, 0]}
  c: {type: prismatic, child: c, axis: [1, 0, 0], motion: {position: inputs.wave + t**2}}
actuators:
  servo: {type: pd, joint: b, kp: 50, kd: 7, target: inputs.wave + inputs.throttle}
simulation: {duration: 1 s, step: 1 ms, integrator: rk4}
"""


def test_inputs_stand_for_their_values_with_exact_derivatives():
    """The same scene with the values written in place has the same motion."""
    written = (
        SCENE.replace("inputs.throttle", "0.5")
        .replace('inputs["the-gain"]', "3")
        .replace("inputs.wave", "0.2*sin(3*t)")
    )
    found = []
    for text in (SCENE, written):
        sink = MemorySink()
        load(text).prepared.run(sink)
        found.append(sink.trajectory())
    for name in ("joints/a/q", "joints/b/q", "joints/c/q", "joints/c/v", "joints/c/acceleration"):
        np.testing.assert_allclose(found[0].channel(name).values, found[1].channel(name).values, rtol=1e-13, atol=1e-15)
    run = found[0]
    time = run.channel("time").values
    np.testing.assert_array_equal(run.channel("inputs/throttle").values, 0.5)
    np.testing.assert_array_equal(run.channel("inputs/the-gain").values, 3.0)
    np.testing.assert_allclose(run.channel("inputs/wave").values, 0.2 * np.sin(3 * time), atol=1e-15)
    np.testing.assert_allclose(run.channel("inputs/ramp").values, 2 * time, atol=1e-15)


def test_a_program_sets_inputs_between_steps_and_saves_them():
    simulation = Simulation(load(SCENE))
    simulation.advance(0.5)
    saved = simulation.save()
    simulation.inputs["throttle"] = 0.0
    assert simulation.inputs["throttle"] == 0.0
    assert simulation.channel("inputs/throttle") == 0.0
    speed = float(simulation.v["a"][0])
    simulation.step(100)
    assert float(simulation.v["a"][0]) == speed  # no force
    later = simulation.save()
    simulation.step(100)
    end = simulation.q[...].copy()
    simulation.restore(later)
    assert simulation.inputs["throttle"] == 0.0
    simulation.step(100)
    np.testing.assert_array_equal(simulation.q[...], end)
    simulation.restore(saved)
    assert simulation.inputs["throttle"] == 0.5
    simulation.reset()
    assert dict(simulation.inputs) == {"throttle": 0.5, "the-gain": 3.0}
    simulation.inputs["the-gain"] = 0.0
    simulation.advance(1.0)
    assert float(simulation.q["a"][0]) == pytest.approx(0.5, rel=1e-11)  # 2 N on 2 kg for 1 s


def test_the_bits_are_those_of_a_scene_with_that_value():
    one, other = Simulation(load(SCENE)), Simulation(load(SCENE, {"inputs.throttle": 0.25}))
    one.inputs["throttle"] = 0.25
    for simulation in (one, other):
        simulation.step(200)
    np.testing.assert_array_equal(one.q[...], other.q[...])


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("throtle", 1.0, UnknownName, "no input `throtle`"),
        ("wave", 1.0, ArgumentError, "is a function of time in the scene"),
        ("throttle", math.inf, ArgumentError, "a finite number"),
        ("throttle", "fast", ArgumentError, "a finite number"),
    ],
)
def test_refusals_of_values(name, value, error, message):
    with pytest.raises(error, match=message):
        Simulation(load(SCENE)).inputs[name] = value


def test_refusals_of_scenes():
    wrong = SCENE.replace("4*inputs.throttle", "inputs.throtle").replace(
        "{throttle: 0.5", "{throttle: 0.5, x: inputs.wave"
    )
    wrong = wrong.replace("position: inputs.wave", "position: inputs.wave.x")
    with pytest.raises(SceneError) as found:
        load(wrong)
    text = str(found.value)
    assert "unknown input `throtle`; did you mean `throttle`?" in text
    assert "`inputs.wave` depends on inputs or functions: it is a function of the time `t` alone" in text
    assert "expected an input, `inputs.NAME`" in text
