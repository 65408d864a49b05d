"""`mbsim export --to fmu`: units that FMPy validates and steps to the numbers of a run."""

from __future__ import annotations

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
