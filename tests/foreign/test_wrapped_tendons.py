"""Tendons of MJCF over spheres and cylinders have the lengths of MuJoCo, and those of one body are dropped."""

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
from multibody_cli.studies.import_check import check_import
from multibody_cli.studies.simulation import prepare

mujoco = pytest.importorskip("mujoco")

SLIDES = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
BODIES = "".join(f'<body name="{name}">{SLIDES}<geom size="0.01"/><site name="{name}"/></body>' for name in "ab")
GEOM = '<geom name="g" type="{kind}" size="0.3 0.4" pos="0.1 -0.2 0.3" quat="0.8 0.2 0.4 -0.3"/>'


def written(folder: Path, kind: str, side: str) -> Path:
    """A tendon between two bodies that move freely, over a geom; `side` is the position of its side site."""
    site, reference = (f'<site name="s" pos="{side}"/>', 'sidesite="s"') if side else ("", "")
    tendon = f'<spatial name="t"><site site="a"/><geom geom="g" {reference}/><site site="b"/></spatial>'
    world = f"<worldbody>{GEOM.format(kind=kind)}{site}{BODIES}</worldbody>"
    path = folder / "tendon.xml"
    path.write_text(f'<mujoco><option gravity="0 0 0"/>{world}<tendon>{tendon}</tendon></mujoco>')
    return path


@pytest.mark.filterwarnings("ignore::mbsim.SceneWarning")
@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
@pytest.mark.parametrize("side", ["", "0.6 0.1 0.35"])
def test_lengths_are_those_of_mujoco(kind: str, side: str, tmp_path: Path) -> None:
    path = written(tmp_path, kind, side)
    model = mujoco.MjModel.from_xml_path(str(path))
    data, simulation, wrapped = mujoco.MjData(model), mbsim.Simulation(mbsim.load(path)), 0
    for x in np.random.default_rng(0).normal(scale=0.5, size=(200, 6)):
        data.qpos[:] = x
        mujoco.mj_fwdPosition(model, data)
        simulation.q["a"], simulation.q["b"] = x[:3], x[3:]
        length = float(simulation.channel("paths/t/length").item())
        assert length == pytest.approx(data.ten_length[0], abs=1e-10)
        wrapped += length > np.linalg.norm(x[:3] - x[3:]) + 1e-9
    assert wrapped > 15


@pytest.mark.parametrize(
    ("side", "reason"),
    [("0.1 -0.2 0.35", "it wraps inside of a geom"), ("0.6 0.1 0.35", "")],
)
def test_a_tendon_within_a_geom_is_dropped(side: str, reason: str, tmp_path: Path) -> None:
    draft = read_model(written(tmp_path, "sphere", side), Options(), Problems())
    reports = "\n".join(ImportReport(draft.ledger).lines())
    assert (reason in reports) if reason else "wraps" not in reports
    assert ("paths" in draft.elements) == (not reason)


@pytest.mark.parametrize(
    ("entries", "moves"),
    [
        ('<site site="c"/><site site="d"/>', False),
        ('<site site="o"/><site site="p"/>', False),
        ('<site site="c"/><geom geom="ball"/><site site="d"/>', False),
        ('<site site="o"/><geom geom="ball"/><site site="p"/>', True),
        ('<site site="c"/><site site="d"/><pulley divisor="2"/><site site="d"/><site site="o"/>', True),
        ('<site site="c"/><site site="d"/><pulley divisor="2"/><site site="d"/><site site="c"/>', False),
    ],
)
def test_a_tendon_of_one_body_is_dropped(entries: str, moves: bool, tmp_path: Path) -> None:
    """Its length is constant: MuJoCo's Jacobian is zero, and its spring and actuator have no effect."""
    world = (
        '<site name="o" pos="-0.5 0.3 0.4"/><site name="p" pos="0.5 0.3 0.4"/><body name="B"><joint name="j"/>'
        '<geom name="ball" size="0.1" pos="0.05 0.3 0.38"/><site name="c" pos="-0.5 0.3 0.4"/>'
        '<site name="d" pos="0.5 0.3 0.4"/></body>'
    )
    more = f'<tendon><spatial name="t" stiffness="9" range="0 2" limited="true">{entries}</spatial></tendon>'
    path = tmp_path / "model.xml"
    path.write_text(f'<mujoco><worldbody>{world}</worldbody>{more}<actuator><motor tendon="t"/></actuator></mujoco>')
    engine = ENGINES["mjcf"].read(path)
    data = mujoco.MjData(model := mujoco.MjModel.from_xml_path(str(path)))
    mujoco.mj_forward(model, data)
    assert np.any(data.ten_J) == moves
    draft = read_model(path, Options(), Problems())
    found = check_import(prepare(ReadScene(path, draft.tree(), Usage())), draft, engine)
    assert max(found.differences["bias"], found.differences["inverse_dynamics"]) < 1e-12
    report = "\n".join(ImportReport(draft.ledger).lines())
    assert ("its points belong to one body" in report) == (not moves)
    assert ("actuators" in draft.elements) == moves
