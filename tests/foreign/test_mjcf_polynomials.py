"""Terms of `stiffness` and `damping` beyond the first, in MuJoCo from release 3.7, have its forces and motions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.document.source import ReadScene
from multibody_cli.foreign import read_model
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.peers import ENGINES
from multibody_cli.studies.import_check import AGREEMENT, check_import
from multibody_cli.studies.simulation import prepare

mujoco = pytest.importorskip("mujoco")

pytestmark = pytest.mark.skipif(not hasattr(mujoco.MjModel, "jnt_stiffnesspoly"), reason="MuJoCo before release 3.7")

GEOM = '<geom contype="0" conaffinity="0" type="capsule" size="0.03" fromto="0 0 0 0.3 0 0.1"/>'
ARM = GEOM + '<site name="b" pos="0.3 0 0"/>'
HINGE = '<body name="A" pos="0 0 1"><joint name="f" axis="0 1 0" {}/>' + ARM + "</body>"
FIXED = '<tendon><fixed name="t" {}><joint joint="f" coef="-1.5"/></fixed></tendon>'
SPATIAL = '<tendon><spatial name="t" {}><site site="a"/><site site="b"/></spatial></tendon>'
POLYNOMIALS = {
    "spring": ('stiffness="1 20 30" springref="15" ref="20"', "", ""),
    "damper": ('damping="0.01 0.05 0.03"', "", ""),
    "damper without linear term": ('damping="0 0.2"', "", ""),
    "default": ("", "", '<default><joint damping="0 0.2" stiffness="0 0 3"/></default>'),
    "composite": ('stiffness="1 3"/><joint axis="1 0 0" damping="0.1 0.2" stiffness="0 4"', "", ""),
    "fixed tendon": ("", FIXED.format('stiffness="1 2 3" damping="0.01 0.02 0.03" springlength="-0.2"'), ""),
    "range of a fixed tendon": ("", FIXED.format('stiffness="1 2 3" springlength="-0.1 0.2"'), ""),
    "spatial tendon": ("", SPATIAL.format('stiffness="1 200" damping="1 2 3"'), ""),
    "disabled": (
        'stiffness="1 20" damping="1 2"',
        "",
        '<option><flag spring="disable" damper="disable"/></option>',
    ),
}


def written(folder: Path, body: str, more: str) -> Path:
    path = folder / "model.xml"
    path.write_text(f'<mujoco>{more}<worldbody><site name="a" pos="0 0 1.4"/>{body}</worldbody></mujoco>')
    return path


@pytest.mark.filterwarnings("ignore:.*1 approximation")  # `ref`
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_terms_beyond_the_first_are_forces_of_mujoco(name: str, tmp_path: Path) -> None:
    """At the initial pose, right angles and random states with velocities of both signs, and after 0.2 s."""
    joint, tendon, more = POLYNOMIALS[name]
    path = written(tmp_path, HINGE.format(joint), tendon + more)
    draft = read_model(path, Options(), Problems())
    simulation = prepare(ReadScene(path, draft.tree(), Usage()))
    found = check_import(simulation, draft, ENGINES["mjcf"].read(path), states=10)
    assert found.agrees
    assert max(found.differences["bias"], found.differences["inverse_dynamics"]) < 1e-12 < AGREEMENT

    overrides = ["simulation.integrator=rk4", "simulation.step=1 ms"]
    run = mbsim.Simulation(mbsim.load(path, overrides))
    run.step(200)
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-3
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 200)
    mujoco.mj_forward(model, data)
    assert run.channel("bodies/A/position") == pytest.approx(data.body("A").xpos, abs=1e-15)
    assert run.channel("bodies/A/com") == pytest.approx(data.body("A").xipos, rel=1e-9)
    assert run.channel("bodies/A/angular_velocity") == pytest.approx(data.body("A").cvel[:3], rel=1e-8, abs=1e-12)


def test_terms_of_a_ball_are_reported(tmp_path: Path) -> None:
    body = f'<body><joint name="ball" type="ball" damping="1 2"/>{ARM}</body>'
    draft = read_model(written(tmp_path, body, ""), Options(), Problems())
    (line,) = [line for line in ImportReport(draft.ledger).lines() if "damping" in line]
    assert "line 1: <joint damping> `ball`" in line
    assert "without its terms beyond the first, 2 0" in line
    assert ImportReport(draft.ledger).summary
    assert np.all(draft.joints["ball"].fields["damping"] == 1.0)
