"""Keyframes of MJCF are states of a scene, with the motions and the forces of MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_mjcf import SPHERE, TWO, imported, written

import mbsim
from multibody_cli.foreign import read_model
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.nodes import Problems
from multibody_cli.peers import ENGINES
from multibody_cli.studies.import_check import check_import

mujoco = pytest.importorskip("mujoco")


def assert_motion(simulation: mbsim.Simulation, model: Any, data: Any, names: str) -> None:
    """Compare positions and velocities of bodies with those of MuJoCo."""
    twist = np.zeros(6)
    for name in names:
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, model.body(name).id, twist, 0)
        assert simulation.channel(f"bodies/{name}/position") == pytest.approx(data.body(name).xpos, abs=1e-14)
        assert simulation.channel(f"bodies/{name}/angular_velocity") == pytest.approx(twist[:3], abs=1e-14)
        assert simulation.channel(f"bodies/{name}/linear_velocity") == pytest.approx(twist[3:], abs=1e-14)


def test_keyframes_are_states_with_the_motion_of_mujoco(tmp_path: Path) -> None:
    body = (
        '<body name="a"><freejoint/><geom size="0.1"/>'
        '<body name="b" pos="0.3 0 0"><joint name="h" axis="0 1 0" ref="10"/><geom size="0.1"/>'
        '<body name="c" pos="0.3 0 0"><joint type="slide"/><joint type="ball"/>'
        '<geom size="0.05" pos="0.1 0 0"/></body></body></body>'
    )
    home = '<key name="home" qpos="1 2 3 1 0 0 1 0.2 0.1 0.7 0 0.7 0" qvel="1 2 3 .1 .2 .3 .5 .6 1 2 3"/>'
    path = written(tmp_path, body, f"<keyframe><key/>{home}</keyframe>")
    with pytest.warns(mbsim.SceneWarning, match="imported"):
        simulation = mbsim.Simulation(mbsim.load(path, state="home"))
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 1)
    mujoco.mj_forward(model, data)
    assert_motion(simulation, model, data, "abc")


CONTROLLED = """<actuator>
  <position name="l.1" joint="x" kp="20" kv="1.5" gear="3" ctrlrange="-1 0.4"/>
  <velocity name="v" joint="y" kv="2"/>
  <motor name="m" joint="h" gear="-2" ctrlrange="-3 3"/>
  <general name="g" joint="h" gainprm="2" biastype="affine" biasprm="0.4 3 0"/>
  <position name="late" joint="y" kp="3" timeconst="0.1"/>
  <general name="slow" joint="x" gainprm="4" biastype="affine" biasprm="0 5 0" dyntype="filter" dynprm="0.2"/>
</actuator>
<keyframe><key name="up" qpos="0.1 0.3 0.2" ctrl="0.9 0.5 -0.7 0.3 0.6 -0.2"/></keyframe>"""


def test_controls_of_keyframes_are_inputs_of_states(tmp_path: Path) -> None:
    """Forces of servos, motors and filters at the controls of a keyframe, which MuJoCo keeps within their range."""
    body = (
        TWO
        + '<body name="c" pos="0 2 0"><joint name="h" axis="0 1 0" ref="20"/><geom size="0.1" pos="0.1 0 0"/></body>'
    )
    path = written(tmp_path, body, '<option timestep="0.001" integrator="implicitfast"/>' + CONTROLLED)
    with pytest.warns(mbsim.SceneWarning, match="imported"):
        simulation = mbsim.Simulation(mbsim.load(path, state="up"))
    assert dict(simulation.inputs) == {"l.1": 0.4, "v": 0.5, "m": -0.7, "g": 0.3, "late": 0.6, "slow": -0.2}
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for step in (1, 100):
        mujoco.mj_step(model, data, step)
        simulation.step(step)
        for joint, reference in (("x", 0.0), ("y", 0.0), ("h", np.radians(20))):
            v, q = (simulation.channel(f"joints/{joint}/{word}") for word in "vq")
            assert v == pytest.approx(data.joint(joint).qvel, rel=2e-2)
            assert q + reference == pytest.approx(data.joint(joint).qpos, rel=1e-3)


ACTIVATED = """<actuator>
  <position name="late" joint="y" kp="30" timeconst="0.1"/>
  <general name="slow" joint="x" gainprm="4" gear="-2" biastype="affine" biasprm="1 -5 0" dyntype="filter" dynprm=".2"/>
  <general name="force" joint="h" gainprm="4" dyntype="filterexact" dynprm="0.2"/>
  <intvelocity name="sum" joint="h" kp="7" actrange="-1 1" ctrlrange="-0.1 0.1"/>
</actuator>
<keyframe>
  <key name="still" qpos="0.1 0.3 0.2"/>
  <key name="active" ctrl="0.6 -0.2 0.1 0" act="0.4 1.5 -0.8 0.9"/>
</keyframe>"""


@pytest.mark.parametrize("state", ["still", "active"])
def test_activations_of_keyframes_are_initial_ones_of_filters_and_inputs_of_integrators(
    state: str, tmp_path: Path
) -> None:
    body = TWO + '<body name="c" pos="0 2 0"><joint name="h" axis="0 1 0"/><geom size="0.1" pos="0.1 0 0"/></body>'
    path = written(tmp_path, body, '<option timestep="0.0001" integrator="implicitfast"/>' + ACTIVATED)
    draft, _ = imported(path)
    lost = [
        entry.attribute for entry in ImportReport(draft.ledger).losses if entry.element.tag in ("key", "intvelocity")
    ]
    assert lost == ["actrange"]
    with pytest.warns(mbsim.SceneWarning, match="imported"):
        simulation = mbsim.Simulation(mbsim.load(path, state=state))
    assert simulation.inputs["sum"] == (0.9 if state == "active" else 0.0)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(state).id)
    mujoco.mj_forward(model, data)
    for joint in "xyh":  # the forces of all actuators at the start
        found = simulation.channel(f"joints/{joint}/acceleration")
        assert found == pytest.approx(data.joint(joint).qacc, rel=1e-9, abs=1e-12)
    mujoco.mj_step(model, data, 1000)
    simulation.step(1000)
    for joint in "xyh":
        assert simulation.channel(f"joints/{joint}/q") == pytest.approx(data.joint(joint).qpos, rel=1e-3, abs=1e-6)


def test_keyframes_of_a_free_body_that_an_equality_holds(tmp_path: Path) -> None:
    """A joint of the tree takes the place of the free one: a ball has its rotation, and a weld nothing to change."""
    body = (
        f'<body name="a" pos="1 0 1"><freejoint/>{SPHERE}</body><body name="b" pos="3 0 0"><freejoint/>{SPHERE}</body>'
    )
    held = '<equality><connect body1="a" anchor="0 0 0.2"/><weld body1="b"/></equality>'
    R = Rotation.from_quat([0.6, 0, 0.8, 0], scalar_first=True).as_matrix()
    place = np.array([1, 0, 1.2]) - R @ [0, 0, 0.2]
    row = " ".join(map(str, [*place, 0.6, 0, 0.8, 0, 3, 0, 0, 1, 0, 0, 0]))
    spin = np.array([1.0, 2.0, 3.0])
    speeds = " ".join(map(str, [*(R @ -np.cross(spin, [0, 0, 0.2])), *spin, *[0] * 6]))
    key = f'<keyframe><key name="k" qpos="{row}" qvel="{speeds}"/></keyframe>'
    path = written(tmp_path, body, held + key)
    draft, _ = imported(path)
    assert any("determines the pose of `b`" in text for _, text in draft.ledger.notes)
    simulation = mbsim.Simulation(mbsim.load(path, state="k"))
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert_motion(simulation, model, data, "ab")
    found = check_import(imported(path)[1], draft, ENGINES["mjcf"].read(path))
    assert found.agrees
    assert not found.absent


def test_keyframes_of_free_joints_are_poses_in_the_world(tmp_path: Path) -> None:
    body = f'<body name="a" pos="1 0 1" quat="0.8 0.6 0 0"><joint type="free" damping="1"/>{SPHERE}</body>'
    key = '<keyframe><key name="up" qpos="1 2 3 0.6 0 0.8 0" qvel="1 2 3 4 5 6"/></keyframe>'
    path = written(tmp_path, body, key)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    simulation = mbsim.Simulation(mbsim.load(path, state="up"))
    assert simulation.channel("bodies/a/position") == pytest.approx(data.body("a").xpos, abs=1e-14)
    spin = data.body("a").xmat.reshape(3, 3) @ [4, 5, 6]
    assert simulation.channel("bodies/a/angular_velocity") == pytest.approx(spin, abs=1e-14)


def test_a_keyframe_beyond_limits_is_noted(tmp_path: Path) -> None:
    body = f'<body><joint name="x" type="slide" range="0 1" limited="true"/>{SPHERE}</body>'
    draft = read_model(written(tmp_path, body, '<keyframe><key qpos="1.5"/></keyframe>'), Options(), Problems())
    assert any("`key_1`" in line and "1.5" in line for line in ImportReport(draft.ledger).lines())
