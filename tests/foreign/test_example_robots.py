"""Mass matrices and biases of the robots of `example-robot-data` agree with those of Pinocchio, and the robots move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.document.source import ReadScene
from multibody_cli.errors import MbsimError
from multibody_cli.foreign import read_model
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.peers import ENGINES
from multibody_cli.studies.import_check import check_import
from multibody_cli.studies.simulation import prepare

pin = pytest.importorskip("pinocchio")
pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]

REFUSED = {
    "ur3.urdf": "the model has no bodies",
    "icub.urdf": "joints.neck_roll: moves no mass or inertia at the start",
}
"""Robots that are not run: a file without links, and one whose mass matrix is singular at the start."""

WITHOUT_COLLISION = ("alexander_v1.lowerBodyOnly.urdf", "TwoDofs.urdf", "human.urdf", "simple_humanoid_classical.urdf")
"""Robots that have no shape to touch a floor."""

STEPS = {"icub_reduced.urdf": "0.1 ms"}
"""Steps of robots with strong damping on light links."""


def robots() -> Iterator[Path]:
    folder = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    yield from sorted(folder.rglob("*.urdf"))


@pytest.mark.parametrize("path", list(robots()), ids=lambda path: f"{path.parents[1].name}/{path.name}")
def test_a_robot_runs_and_agrees_with_pinocchio(path: Path) -> None:
    if path.name in REFUSED:
        with pytest.raises(MbsimError, match=REFUSED[path.name]):
            mbsim.load(path)
        return
    draft = read_model(path, Options(), Problems())
    found = check_import(prepare(ReadScene(path, draft.tree(), Usage())), draft, ENGINES["urdf"].read(path))
    assert found.agrees, found
    mbsim.Simulation(mbsim.load(path, {"simulation.duration": 0.01})).step(10)


@pytest.mark.parametrize("path", list(robots()), ids=lambda path: f"{path.parents[1].name}/{path.name}")
def test_a_robot_starts_above_its_floor_and_does_not_jump(path: Path) -> None:
    if path.name in REFUSED:
        return
    overrides = ["--floor=1 mm", "contacts.overlap=exclude", "simulation.duration=20 ms"]
    if path.name in WITHOUT_COLLISION:
        with pytest.raises(MbsimError, match="no shape takes part in contacts"):
            prepare(path, overrides)
        return
    _, run = prepare(path, [*overrides, f"simulation.step={STEPS.get(path.name, '1 ms')}"]).run_in_memory(["energy"])
    kinetic, potential = (run.channel(f"energy/{name}").values for name in ("kinetic", "potential"))
    assert kinetic.max() < 1.1 * np.ptp(potential) + 1e-6
