"""Loops of MJCF are hard: accelerations are those of MuJoCo's M, bias and Jacobian with equalities that do not give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multibody_cli.document.source import ReadScene
from multibody_cli.errors import SceneError
from multibody_cli.foreign import read_model
from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.peers import ENGINES
from multibody_cli.studies.import_check import AGREEMENT, ImportCheck, check_import
from multibody_cli.studies.simulation import PreparedSimulation, prepare

mujoco = pytest.importorskip("mujoco")

DEFAULTS = '<default><geom type="capsule" size="0.02" contype="0" conaffinity="0"/><joint axis="0 1 0"/></default>'
LINKAGE = """
<body name="crank" pos="0 0 0.5">
  <joint name="A" stiffness="2" springref="10" damping="0.1"/><geom fromto="0 0 0 0 0 0.2"/>
  <body name="coupler" pos="0 0 0.2"><joint name="B" frictionloss="0.02"/><geom fromto="0 0 0 0.5 0 0.1"/>
    <site name="end" pos="0.5 0 0.1"/></body>
</body>
<body name="rocker" pos="0.5 0 0.5">
  <joint name="C" armature="0.01" range="-60 60"/><geom fromto="0 0 0 0 0 0.3"/><site name="tip" pos="0 0 0.3"/>
</body>"""
FREE = """
<body name="trunk" pos="0 0 1" euler="10 20 30"><freejoint name="root"/><geom type="box" size="0.2 0.1 0.05"/>
  <body name="left" pos="0 0.2 0"><joint name="l" type="ball"/><geom fromto="0 0 0 0 0 -0.3"/>
    <body name="foot" pos="0 0 -0.3"><joint name="f" axis="1 0 0"/><geom fromto="0 0 0 0 -0.4 0"/></body></body>
  <body name="right" pos="0 -0.2 0"><joint name="r" axis="1 0 0"/><joint name="s" type="slide" axis="0 0 1"/>
    <geom fromto="0 0 0 0 0 -0.3"/></body>
</body>"""
MODELS = {
    "connect": (LINKAGE, '<connect name="D" body1="coupler" body2="rocker" anchor="0.5 0 0.1"/>'),
    "sites": (LINKAGE, '<connect name="D" site1="end" site2="tip"/>'),
    "weld": (FREE, '<weld name="D" body1="foot" body2="right" anchor="0 0.1 0"/>'),
    "weld of a pose": (FREE, '<weld name="D" body1="foot" body2="right" relpose="0 -0.35 0.25 1 0 0 0"/>'),
    "weld of a pose and a point": (
        FREE,
        '<weld name="D" body1="foot" body2="right" relpose="0.01 -0.37 0.29 1 0.05 0 0" anchor="0.01 0.02 0"/>',
    ),
    "weld to the world": (FREE, '<weld name="D" body1="trunk"/>'),
    "joint": (LINKAGE, '<joint joint1="A" joint2="C" polycoef="0 -2 0 0 0"/>'),
    "curve": (LINKAGE, '<joint joint1="A" joint2="C" polycoef="0 -2 0.4 0.1 0.3"/>'),
    "redundant": (LINKAGE, '<connect site1="end" site2="tip"/><connect site1="end" site2="tip"/>'),
}


def written(folder: Path, bodies: str, equalities: str, more: str = "") -> Path:
    path = folder / "model.xml"
    text = f"{DEFAULTS}<worldbody>{bodies}</worldbody><equality>{equalities}</equality>{more}"
    path.write_text(f"<mujoco>{text}</mujoco>")
    return path


def prepared(draft: Draft) -> PreparedSimulation:
    return prepare(ReadScene(draft.source, draft.tree(), Usage()))


def checked(path: Path) -> ImportCheck:
    draft = read_model(path, Options(), Problems())
    return check_import(prepared(draft), draft, ENGINES["mjcf"].read(path))


@pytest.mark.parametrize("name", MODELS)
def test_accelerations_with_loops_are_those_of_hard_equalities(name: str, tmp_path: Path) -> None:
    """At rest and in motion, with springs, dampers, armature and gravity, without dry friction and limits."""
    found = checked(written(tmp_path, *MODELS[name]))
    assert found.agrees
    assert max(found.whole["acceleration_at_rest"], found.whole["acceleration"]) < 1e-12 < AGREEMENT


def test_a_model_without_equalities_has_no_such_comparison(tmp_path: Path) -> None:
    assert "acceleration" not in checked(written(tmp_path, LINKAGE, "")).differences


@pytest.mark.parametrize("part", ["anchor", "type"])
def test_a_wrong_loop_is_noticed(part: str, tmp_path: Path) -> None:
    path = written(tmp_path, *MODELS["weld"])
    draft = read_model(path, Options(), Problems())
    loop = draft.joints["D"]
    if part == "type":
        loop.type = "spherical"
    else:
        loop.pose = FramePose(loop.pose.position + np.array([0.0, 0.0, 1e-3]), loop.pose.rotation)
    found = check_import(prepared(draft), draft, ENGINES["mjcf"].read(path))
    assert not found.agrees
    assert max(found.differences["mass_matrix"], found.differences["bias"]) < AGREEMENT


def test_accelerations_by_lagrange_multipliers_of_mujoco(tmp_path: Path) -> None:
    """The check itself: accelerations of a run at the start, and the system of M and J of MuJoCo as one matrix."""
    path = written(tmp_path, *MODELS["connect"])
    simulation = prepared(read_model(path, Options(), Problems()))
    state = simulation.fresh_state()
    simulation.method_for(state).start(state)
    model: Any = mujoco.MjModel.from_xml_path(str(path))
    model.dof_frictionloss[:] = 0.0
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    M = np.zeros((3, 3))
    mujoco.mj_fullM(model, data, M)
    J = data.efc_J.reshape(-1, 3)[[0, 2]]  # the plane of the linkage
    whole = np.block([[M, J.T], [J, np.zeros((2, 2))]])
    forces = np.concatenate([data.qfrc_passive - data.qfrc_bias, np.zeros(2)])
    assert state.a[:3] == pytest.approx(np.linalg.solve(whole, forces)[:3], rel=0.02)  # with the friction of a joint


@pytest.mark.parametrize("key", ["", '<keyframe><key name="up" qpos="0.4 0 0"/></keyframe>'], ids=["start", "keyframe"])
def test_loops_that_are_open_at_the_start_are_assembled(key: str, tmp_path: Path) -> None:
    """Where MuJoCo pulls soft loops together: by up to twice the error that MuJoCo has, which a note states."""
    equality = MODELS["sites"][1]
    path = written(tmp_path, LINKAGE.replace('pos="0 0 0.3"', f'pos="0.1 0 {0.3 if key else 0.2}"'), equality, key)
    draft = read_model(path, Options(), Problems())
    (note,) = [text for _, text in draft.ledger.notes if "equalities" in text]
    if not key:
        assert "errors up to 0.1 m or rad" in note
    simulation = prepared(draft)
    assert any("the initial state was assembled" in text for text in simulation.compiled.warnings)
    found = check_import(simulation, draft, ENGINES["mjcf"].read(path))
    assert found.differences["acceleration"] < AGREEMENT


def test_loops_that_cannot_be_closed_are_refused_with_their_error(tmp_path: Path) -> None:
    path = written(tmp_path, LINKAGE.replace('name="tip" pos="0 0 0.3"', 'name="tip" pos="2 0 0"'), MODELS["sites"][1])
    with pytest.raises(
        SceneError, match=r"model.xml:9:\d+: joints.D: cannot be closed: .* an error of 1.55 m along x remains"
    ):
        prepared(read_model(path, Options(), Problems()))
