"""Loops of MJCF are hard: accelerations are those of MuJoCo's M, bias and Jacobian with equalities that do not give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbsim
from multibody_cli.document.source import ReadScene
from multibody_cli.errors import SceneError
from multibody_cli.foreign import read_model
from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.ledger import ImportReport
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
    <site name="end" pos="0.5 0 0.1"/><site name="turned" pos="0.5 0 0.1" euler="0 0 90"/></body>
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
SITES = '<site name="o"/><site name="p" pos="1 0 0"/>'
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
    "weld without turn": (FREE, '<weld name="D" body1="foot" body2="right" anchor="0 0.1 0" torquescale="0"/>'),
    "weld of sites without turn": (LINKAGE, '<weld name="D" site1="end" site2="tip" torquescale="0"/>'),
    "sites of one body": (
        LINKAGE + SITES,
        '<connect site1="o" site2="p"/><weld site1="end" site2="turned"/><connect site1="end" site2="tip"/>',
    ),
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


# --- free bodies that an equality holds -------------------------------------------------------------------------------
RIGHT, STRAIGHT, SKEW, UNTURNED = "1 0 0 1", "0 0 1 0", "0.3 -0.5 0.7 0.4", "1 0 0 0"
HINGED = (
    '<body name="D" pos="0.1 0 1" euler="0 20 90"><joint name="h"/><geom fromto="0 0 0 0.3 0 0.1"/>'
    '<site name="on_D" pos="0.2 0 0.1"/></body>'
)
HELD = {
    "D to F": '<connect body1="D" body2="F" anchor="0.2 0 0.1"/>',
    "F to D": '<connect body1="F" body2="D" anchor="0.1 0.02 0"/>',
    "sites of D and F": '<connect site1="on_D" site2="on_F"/>',
    "sites of F and D": '<connect site1="on_F" site2="on_D"/>',
    "F to the world": '<connect body1="F" anchor="0.1 0.02 0"/>',
    "sites of the world and F": '<connect site1="on_world" site2="on_F"/>',
    "a child to F": '<connect body1="G" body2="F" anchor="0 0 0"/>',
    "D to F by a weld without turn": '<weld body1="D" body2="F" anchor="0.1 0.02 0" torquescale="0"/>',
    "F to D by a weld without turn": '<weld site1="on_F" site2="on_D" torquescale="0"/>',
}


def turned(turn: str) -> Any:
    return FramePose.of_quaternion(np.zeros(3), [float(word) for word in turn.split()]).rotation


def floating(place: str, turn: str) -> str:
    """Return D, and F with a free joint and its child G."""
    return (
        f'{HINGED}<body name="F" pos="{place}" quat="{turn}"><freejoint/><geom type="box" size="0.2 0.1 0.05"/>'
        '<site name="on_F" pos="0.1 0.02 0"/><body name="G" pos="0 0 0.1"><joint axis="1 0 0"/>'
        '<geom fromto="0 0 0 0 0.2 0"/></body></body><site name="on_world" pos="0.5 0.2 1"/>'
    )


@pytest.mark.parametrize("held", ["D to F", "sites of D and F", "F to the world", "weld"])
def test_a_scene_with_a_body_that_an_equality_holds_agrees_with_all_joints_of_the_file(
    held: str, tmp_path: Path
) -> None:
    path = written(tmp_path, floating("0.7 0.2 1", SKEW), (HELD | {"weld": '<weld body1="D" body2="F"/>'})[held])
    draft = read_model(path, Options(), Problems())
    (name,) = draft.joints.keys() - {"h", "G"}
    found = check_import(prepared(draft), draft, ENGINES["mjcf"].read(path))
    assert (len(found.joints), found.absent) == (3, ())
    assert max(found.differences.values()) < 1e-11 < AGREEMENT
    pose = draft.joints[name].child_pose
    draft.joints[name].child_pose = FramePose(pose.position + np.array([1e-3, 0.0, 0.0]), pose.rotation)
    assert not check_import(prepared(draft), draft, ENGINES["mjcf"].read(path)).agrees


@pytest.mark.filterwarnings("ignore:.*depend on the others", "ignore:.*1 approximation")  # `torquescale`
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize(("turn", "other"), [(RIGHT, STRAIGHT), (STRAIGHT, SKEW), (SKEW, UNTURNED)])
def test_a_free_body_that_a_connect_holds_has_the_pose_and_motion_of_mujoco(
    turn: str, other: str, held: str, tmp_path: Path
) -> None:
    """At the start, and in a keyframe with another turn and a relative angular velocity."""
    arm, spin, twist = np.array([0.1, 0.02, 0.0]), np.array([1.0, -2.0, 3.0]), np.zeros(6)
    probe = mujoco.MjModel.from_xml_string(f"<mujoco>{DEFAULTS}<worldbody>{HINGED}</worldbody></mujoco>")
    data = mujoco.MjData(probe)
    mujoco.mj_forward(probe, data)
    is_on_D = "D" in held
    start = data.site("on_D").xpos.copy() if is_on_D else np.array([0.5, 0.2, 1.0])
    data.qpos[0], data.qvel[0] = 0.7, 1.5
    mujoco.mj_forward(probe, data)
    mujoco.mj_objectVelocity(probe, data, mujoco.mjtObj.mjOBJ_SITE, 0, twist, 0)
    point, speed = (data.site("on_D").xpos, twist[3:]) if is_on_D else (start, np.zeros(3))
    place, later = (" ".join(map(str, at - turned(own) @ arm)) for at, own in ((start, turn), (point, other)))
    rates = " ".join(map(str, [1.5, *(speed - turned(other) @ np.cross(spin, arm)), *spin, 0.0]))
    key = f'<keyframe><key name="k" qpos="0.7 {later} {other} 0" qvel="{rates}"/></keyframe>'
    path = written(tmp_path, floating(place, turn), HELD[held], key)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    for state in ({}, {"state": "k"}):
        if state:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_forward(model, data)
        simulation = mbsim.Simulation(mbsim.load(path, **state))
        for name in "DFG":
            quaternion = " ".join(map(str, simulation.channel(f"bodies/{name}/quaternion")))
            assert turned(quaternion) == pytest.approx(data.body(name).xmat.reshape(3, 3), abs=1e-14)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, model.body(name).id, twist, 0)
            assert simulation.channel(f"bodies/{name}/position") == pytest.approx(data.body(name).xpos, abs=1e-14)
            assert simulation.channel(f"bodies/{name}/angular_velocity") == pytest.approx(twist[:3], abs=1e-13)
            assert simulation.channel(f"bodies/{name}/linear_velocity") == pytest.approx(twist[3:], abs=1e-13)


@pytest.mark.filterwarnings("ignore:.*was assembled", "ignore:.*1 approximation")  # `torquescale`
@pytest.mark.parametrize("angle", [90, 150, 180])
@pytest.mark.parametrize(
    "weld",
    [
        '<weld site1="on_F" site2="on_D"/>',
        '<weld body1="F" body2="D" relpose="0 0 0 1 0 0 0"/>',
        '<weld body1="F" body2="D" relpose="0 0 0 1 0 0 0" torquescale="3"/>',
    ],
)
def test_welds_that_are_open_by_large_angles_are_assembled(weld: str, angle: float, tmp_path: Path) -> None:
    """MuJoCo's error is the sine of half the angle; the note has the angle, and the frames coincide at the start."""
    bodies = (
        '<body name="D" pos="0 0 1"><joint name="h"/><geom fromto="0 0 0 0.3 0 0.1"/><site name="on_D"/></body>'
        f'<body name="F" pos="0 0 1" euler="0 0 {angle}"><freejoint/><geom fromto="0 0 0 0.1 0 0"/>'
        '<site name="on_F"/></body>'
    )
    path = written(tmp_path, bodies, weld)
    (note,) = [text for _, text in read_model(path, Options(), Problems()).ledger.notes if "equalities" in text]
    assert f"errors up to {np.radians(angle):.3g} m or rad" in note
    simulation = mbsim.Simulation(mbsim.load(path))
    found = [simulation.channel(f"bodies/{name}/quaternion") for name in "DF"]
    assert abs(found[0] @ found[1]) == pytest.approx(1.0, abs=1e-14)
    assert simulation.channel("bodies/F/position") == pytest.approx([0.0, 0.0, 1.0], abs=1e-8)


def test_an_equality_that_is_dropped_has_no_error_that_assembly_removes(tmp_path: Path) -> None:
    """The line of the report names its tendon."""
    tendons = "".join(f'<spatial name="{name}"><site site="end"/><site site="tip"/></spatial>' for name in "st")
    equality = '<tendon tendon1="s" tendon2="t" polycoef="0.02 1 0 0 0"/>'
    draft = read_model(written(tmp_path, LINKAGE, equality, f"<tendon>{tendons}</tendon>"), Options(), Problems())
    lines = list(ImportReport(draft.ledger).lines())
    assert not any("errors up to" in line for line in lines)
    assert any("<tendon>" in line and "along paths, of `s`" in line for line in lines)


@pytest.mark.parametrize("flag", ["limit", "frictionloss"])
def test_a_held_body_in_a_keyframe_outside_of_limits_is_turned_as_in_mujoco(flag: str, tmp_path: Path) -> None:
    """Disabled limits do not move the keyframe; others turn D to 10 degrees, and keep the turn of F."""
    hinged = HINGED.replace('name="h"', 'name="h" range="-10 10"')
    bodies = f'{hinged}<body name="F" pos="0.1 0 1"><freejoint/><geom fromto="0 0 0 0.2 0 0"/></body>'
    key = f'<keyframe><key name="k" qpos="0.7 0.1 0 1 {SKEW}"/></keyframe><option><flag {flag}="disable"/></option>'
    path = written(tmp_path, bodies, '<connect body1="D" body2="F" anchor="0 0 0"/>', key)
    simulation = mbsim.Simulation(mbsim.load(path, state="k"))
    assert simulation.q["h"] == pytest.approx([0.7 if flag == "limit" else np.radians(10.0)], abs=1e-15)
    found = " ".join(map(str, simulation.channel("bodies/F/quaternion")))
    assert turned(found) == pytest.approx(turned(SKEW), abs=1e-14)
