"""Forces of contacts in inverse dynamics: those of a run, and those of the last step of a simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.studies.inverse.inverse_dynamics import InverseDynamics

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

SLEDGE = """mbsim: 1
gravity: [0, 0, -10]
world: {shapes: [{type: plane}]}
bodies:
  sledge: {mass: 2, inertia: {principal: [0.1, 0.1, 0.1]}, shapes: [{type: box, size: [0.4, 0.3, 0.2]}]}
  arm: {mass: 0.5, inertia: {principal: [0.01, 0.01, 0.002]}, com: [0, 0, 0.2]}
joints:
  slide:
    type: composite
    child: sledge
    parts: [{type: prismatic, axis: [1, 0, 0]}, {type: prismatic, axis: [0, 0, 1]}]
    q: [0, 0.1]
    v: [2, 0]
    force: ["3*sin(4*t)", "2*t"]
  hinge: {type: revolute, parent: sledge, child: arm, axis: [0, 1, 0], q: 0.3, force: "0.2*cos(5*t)"}
contacts: {friction: 0.2}
simulation: {duration: 0.5, step: 1 ms}
output: {every: 10 ms}
"""

TURNING = SLEDGE.replace(
    "{type: prismatic, axis: [0, 0, 1]}", "{type: prismatic, axis: [0, 0, 1]}, {type: revolute, axis: [0, 0, 1]}"
)
TURNING = (
    TURNING.replace("q: [0, 0.1]", "q: [0, 0.1, 0]")
    .replace("v: [2, 0]", "v: [2, 0, 1]")
    .replace('"2*t"]', '"2*t", 0.3]')
)


def forces_of(text: str, folder: Path) -> InverseDynamics:
    path, run = folder / "sledge.yaml", folder / "run.h5"
    path.write_text(text)
    mbsim.load(path).run(run, overwrite=True)
    return mbsim.inverse(path, run, loads=[str(run)])


def test_the_forces_of_a_run_with_contacts(tmp_path: Path) -> None:
    """A sledge that slips over the ground with an arm on it: the contacts of the run count as measured."""
    found = forces_of(SLEDGE, tmp_path)
    t = found.times
    wanted = np.array([3.0 * np.sin(4.0 * t), 2.0 * t, 0.2 * np.cos(5.0 * t)]).T
    np.testing.assert_allclose(found.forces, wanted, atol=1e-10)
    run = mbsim.read(tmp_path / "run.h5")
    assert np.abs(run["bodies/contact_force"]).max() > 20.0


def test_moments_of_contacts_refer_to_the_start_of_their_step(tmp_path: Path) -> None:
    """Where contacts move over a body that turns, their moments have an error in proportion to the step."""
    errors = [
        np.abs(forces_of(TURNING.replace("1 ms", step), tmp_path).forces[:, 2] - 0.3).max()
        for step in ("1 ms", "0.5 ms")
    ]
    assert errors[0] < 0.1
    np.testing.assert_allclose(errors[0] / errors[1], 2.0, rtol=0.1)


def test_contacts_of_the_last_step_of_a_simulation() -> None:
    """The force that keeps the speed of a block that slips is that of friction: 0.2 m g, with all that lies on it."""
    sim = mbsim.Simulation(
        mbsim.load(SLEDGE.replace('force: ["3*sin(4*t)", "2*t"]', "").replace(', force: "0.2*cos(5*t)"', ""))
    )
    sim.force["slide"][:] = 1.5, 0.7
    sim.step(20)
    sim.channel("joints/slide/acceleration")
    wanted = sim.a[...].copy()
    np.testing.assert_allclose(sim.inverse_dynamics(wanted, contacts=True), [1.5, 0.7, 0.0], atol=1e-10)
    ground = sim.inverse_dynamics(wanted)[:2] - [1.5, 0.7]  # without the contacts, the ground is one of the forces
    np.testing.assert_allclose(ground, sim.channel("bodies/contact_force")[0, ::2], atol=1e-10)
    np.testing.assert_allclose(ground[0], -0.2 * ground[1], atol=1e-10)


def test_a_result_file_without_contacts_is_no_load(tmp_path: Path) -> None:
    (tmp_path / "free.yaml").write_text(SLEDGE.replace("contacts: {friction: 0.2}\n", ""))
    mbsim.load(tmp_path / "free.yaml").run(tmp_path / "free.h5")
    with pytest.raises(
        mbsim.ArgumentError, match="no channel bodies/contact_force: no contacts of a run were recorded"
    ):
        mbsim.inverse(tmp_path / "free.yaml", tmp_path / "free.h5", loads=[str(tmp_path / "free.h5")])
