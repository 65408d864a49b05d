"""Ellipsoids of MJCF in a fluid: the passive forces of MuJoCo, where its added masses are the exact ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli.document.source import ReadScene
from multibody_cli.forces.fluid_on_ellipsoid import added_mass
from multibody_cli.foreign import read_model
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.studies.import_check import check_import
from multibody_cli.studies.simulation import prepare

mujoco = pytest.importorskip("mujoco")

from multibody_cli.peers.mujoco_engine import MujocoEngine  # noqa: E402

FISH = """<mujoco>
  <option density="1000" viscosity="2" wind="0.5 -0.3 0.2" gravity="0 0 0"/>
  <default><default class="wing"><geom fluidshape="ellipsoid" fluidcoef="0.6 0.3 1.2 0.8 1.4"/></default></default>
  <worldbody>
    <body name="fish" euler="10 20 30">
      <freejoint/>
      <geom type="ellipsoid" size=".1 .2 .05" pos=".1 0 0" euler="20 0 10" fluidshape="ellipsoid"/>
      <geom type="sphere" size=".05" pos="0 .2 0" fluidshape="ellipsoid" fluidcoef="0.5 0.25 1.5 1 1"/>
      <body name="fin" pos=".1 .2 0">
        <joint name="fin" axis="1 2 3"/>
        <geom class="wing" type="box" size=".03 .2 .01" pos="0 .1 .2"/>
        <geom class="wing" type="cylinder" size=".03 .1" euler="0 90 0"/>
        <geom type="box" size=".1 .1 .1"/>
      </body>
      <body name="tail" pos="0 -.2 0">
        <joint name="tail" type="ball"/>
        <geom class="wing" type="capsule" size=".02 .1" pos="0 -.1 0"/>
        <body name="bulb" pos="0 -.2 0"><joint name="bulb" axis="0 0 1"/><geom type="box" size=".03 .05 .04"/></body>
      </body>
    </body>
  </worldbody>
</mujoco>"""


def test_passive_forces_are_those_of_mujoco(tmp_path: Path) -> None:
    """At the initial pose, one of right angles, and random states; bodies without ellipsoids have their box."""
    path = tmp_path / "fish.xml"
    path.write_text(FISH)
    draft = read_model(path, Options(), Problems())
    simulation = prepare(ReadScene(path, draft.tree(), Usage()))
    model = mujoco.MjModel.from_xml_path(str(path))
    forces = {name: entry.value for name, entry in draft.elements["forces"].items()}
    assert [force["body"] for force in forces.values()] == ["fish", "fish", "fin", "fin", "tail", "bulb"]
    ellipsoids = [force["ellipsoid"] for force in forces.values() if "ellipsoid" in force]
    rows = np.flatnonzero(model.geom_fluid[:, 0] > 0)
    assert len(rows) == len(ellipsoids)
    for row, semiaxes in zip(rows, ellipsoids, strict=True):
        exact = np.concatenate(added_mass(tuple(semiaxes)))
        np.testing.assert_allclose(model.geom_fluid[row, 6:], exact, rtol=2e-6, atol=1e-18)
        model.geom_fluid[row, 6:] = exact
    found = check_import(simulation, draft, MujocoEngine(mujoco, model), states=12)
    assert max(found.differences.values()) < 1e-12
    still = mujoco.MjModel.from_xml_path(str(path))
    still.opt.density = still.opt.viscosity = 0.0
    without = check_import(simulation, draft, MujocoEngine(mujoco, still))
    assert without.differences["bias"] > 1.0  # the fluid is more than a round-off


def test_the_error_of_the_added_mass_of_mujoco_is_in_the_ledger(tmp_path: Path) -> None:
    path = tmp_path / "fish.xml"
    path.write_text(FISH)
    report = ImportReport(read_model(path, Options(), Problems()).ledger)
    found = [entry for entry in report.entries if entry.fate == "approximated"]
    assert len(found) == 5
    for entry in found:
        assert "added mass" in entry.reason
        assert float(entry.effect.split()[0]) < 2e-6


def test_ellipsoids_without_a_fluid_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "fish.xml"
    path.write_text(FISH.replace('density="1000" viscosity="2"', ""))
    draft = read_model(path, Options(), Problems())
    assert "forces" not in draft.elements
    assert ImportReport(draft.ledger).count("approximated", "dropped", "unknown") == 0
