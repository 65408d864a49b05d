"""Tendons of MJCF over spheres and cylinders have the lengths of MuJoCo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.foreign import read_model
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.nodes import Problems

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
