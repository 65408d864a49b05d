"""`mbsim export --to fmu`: units that FMPy validates and steps to the numbers of a run."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command_result import Command

import mbsim as library

fmpy = pytest.importorskip("fmpy")
pytest.importorskip("pythonfmu3")

SWING = """\
mbsim: 1
name: swing rod
inputs: {torque: 0.5}
bodies:
  rod: {mass: 1, com: [0, 0, -0.5], inertia: {principal: [0.02, 0.02, 0.01]}}
joints: {hinge: {type: revolute, child: rod, axis: [0, 1, 0], q: 60 deg, force: inputs.torque}}
simulation: {duration: 1 s, step: 5 ms, integrator: rk4}
output: {every: 20 ms}
"""


def exported(mbsim: Command, *words: str) -> str:
    """Write the scene and its unit; return the name of the file."""
    Path("swing.yaml").write_text(SWING)
    ending = mbsim("export", "swing.yaml", *words, "--to", "fmu", "-o", "swing.fmu", "--force")
    assert (ending.code, ending.stdout) == (0, "swing.fmu\n"), ending.stderr
    return "swing.fmu"


def test_a_unit_has_no_finding_and_the_numbers_of_the_run(mbsim: Command, folder: Path) -> None:
    from fmpy.validation import validate_fmu

    unit = exported(mbsim)
    assert validate_fmu(unit) == []
    description = fmpy.read_model_description(unit)
    assert (description.fmiVersion, description.modelName) == ("3.0", "swing_rod")
    found = fmpy.simulate_fmu(unit, stop_time=1.0, step_size=5e-3, output_interval=20e-3)
    run = library.load(SWING).run()
    np.testing.assert_array_equal(found["joints.hinge.q"], run["joints/hinge/q"].values[:, 0])
    np.testing.assert_array_equal(found["joints.hinge.v"], run["joints/hinge/v"].values[:, 0])


def test_inputs_act_from_the_next_step_on(mbsim: Command, folder: Path) -> None:
    unit = exported(mbsim, "joints/hinge/q", "bodies/rod/com[z]", "energy/total")
    times = np.array([0.0, 0.5, 0.5, 1.0])
    torque = np.array(list(zip(times, [0.0, 0.0, 2.0, 2.0], strict=True)), [("time", float), ("inputs.torque", float)])
    found = fmpy.simulate_fmu(unit, stop_time=1.0, step_size=5e-3, output_interval=5e-3, input=torque)
    assert found.dtype.names == ("time", "joints.hinge.q", "bodies.rod.com.z", "energy.total")
    simulation = library.Simulation(library.load(SWING))
    simulation.inputs["torque"] = 0.0
    simulation.step(100)
    assert found["joints.hinge.q"][100] == simulation.q["hinge"][0]
    simulation.inputs["torque"] = 2.0
    simulation.step(100)
    assert found["joints.hinge.q"][-1] == simulation.q["hinge"][0]


BALL = """\
mbsim: 1
name: ball
gravity: [0, 0, -10]
bodies: {ball: {mass: 2, position: [0, 0, 1], inertia: {principal: [1, 1, 1]}}}
constraints: {floor: {type: velocity, terms: [{body: ball, linear: [0, 0, 1]}], active: false}}
events:
  bounce: {when: bodies.ball.position.z, direction: falling, impact: {constraint: floor, restitution: 0.5}}
  end: {when: t - 1.2345, end: true}
simulation: {duration: 2 s, step: 1 ms}
output: {every: 0.1 s}
"""


@pytest.fixture
def instance(mbsim: Command, folder: Path) -> Iterator[fmpy.fmi3.FMU3Slave]:
    """Return a started unit of the bouncing ball."""
    Path("ball.yaml").write_text(BALL)
    assert mbsim("export", "ball.yaml", "--to", "fmu", "-o", "ball.fmu").code == 0
    description, place = fmpy.read_model_description("ball.fmu"), fmpy.extract("ball.fmu")
    unit = fmpy.simulation.instantiate_fmu(place, description, "CoSimulation")
    unit.enterInitializationMode(startTime=0.0)
    unit.exitInitializationMode()
    unit.places = {one.name: [one.valueReference] for one in description.modelVariables}
    yield unit
    unit.terminate()
    unit.freeInstance()
    shutil.rmtree(place)


def step_to(unit: fmpy.fmi3.FMU3Slave, first: int, last: int) -> list[float]:
    """Step by 0.1 s; return the heights of the ball."""
    found = []
    for k in range(first, last):
        assert not unit.doStep(0.1 * k, 0.1)[1]
        found += unit.getFloat64(unit.places["bodies.ball.position.z"])
    return found


def test_events_act_within_a_step_and_end_the_unit(instance: fmpy.fmi3.FMU3Slave) -> None:
    """The ball bounces at sqrt(0.2) s and, after half the speed, at twice this instant, and the unit ends."""
    heights = library.load(BALL).run(check=False)["bodies/position"].values[1:13, 0, 2]
    np.testing.assert_array_equal(step_to(instance, 0, 12), heights)
    bounce = math.sqrt(0.2)
    t = 0.8 - bounce
    assert heights[7] == pytest.approx(5.0 * bounce * t - 5.0 * t * t, abs=1e-12)
    assert instance.doStep(1.2, 0.1)[1]  # `terminateSimulation`
    assert instance.getFloat64(instance.places["time"]) == [pytest.approx(1.2345, abs=1e-12)]
    with pytest.raises(Exception, match="fmi3DoStep failed"):
        instance.doStep(1.3, 0.1)


def test_a_state_is_saved_and_set_again_with_the_same_bits(instance: fmpy.fmi3.FMU3Slave) -> None:
    step_to(instance, 0, 6)
    state = instance.getFMUState()
    data = instance.serializeFMUState(state)
    first = step_to(instance, 6, 12)
    instance.setFMUState(state)
    assert step_to(instance, 6, 12) == first
    instance.setFMUState(instance.deserializeFMUState(data))
    assert step_to(instance, 6, 12) == first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["joints/elbow/q"], "no channel or group `joints/elbow/q`: did you mean `joints/hinge/q`?"),
        (["--from", "1s"], "--to fmu writes one scene: it takes no times"),
        (["-o", "swing.csv"], "-o swing.csv: expected a name that ends in .fmu"),
    ],
)
def test_refusals(mbsim: Command, folder: Path, words: list[str], message: str) -> None:
    (folder / "swing.yaml").write_text(SWING)
    ending = mbsim("export", "swing.yaml", *words, "--to", "fmu")
    assert ending.code == 2
    assert message in ending.stderr
