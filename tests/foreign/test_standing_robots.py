"""A robot with position servos stands from a keyframe as in MuJoCo, without the creep of soft contacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbsim

mujoco = pytest.importorskip("mujoco")

LEG = """
<body name="{name}_hip" pos="{x} {y} 0"><joint name="{name}_hip" axis="1 0 0" range="-50 50"/>
  <geom type="sphere" size="0.04" mass="0.5" contype="0" conaffinity="0"/>
  <body name="{name}_thigh" pos="0 {side} 0"><joint name="{name}_thigh" axis="0 1 0" range="-60 200"/>
    <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.2" mass="1" contype="0" conaffinity="0"/>
    <body name="{name}_calf" pos="0 0 -0.2"><joint name="{name}_calf" axis="0 1 0" range="-160 -40"/>
      <geom type="capsule" size="0.01" fromto="0 0 0 0 0 -0.2" mass="0.15" contype="0" conaffinity="0"/>
      <geom type="sphere" size="0.023" pos="0 0 -0.2" mass="0.06"/>
    </body></body></body>"""
SERVO = '<position name="{name}_{joint}" joint="{name}_{joint}" kp="100" kv="4" forcerange="-40 40" ctrlrange="-3 3"/>'
CORNERS = {"FR": (0.19, -0.05), "FL": (0.19, 0.05), "RR": (-0.19, -0.05), "RL": (-0.19, 0.05)}
MODEL = """<mujoco>
  <option timestep="0.002" integrator="implicitfast" cone="elliptic" impratio="100"/>
  <default><joint armature="0.01" damping="0.5"/><geom friction="0.8"/></default>
  <worldbody><geom type="plane" size="0 0 1"/>
    <body name="trunk" pos="0 0 0.3"><freejoint/><geom type="box" size="0.19 0.05 0.06" mass="5"/>{legs}</body>
  </worldbody>
  <actuator>{servos}</actuator>
  <keyframe><key name="home" qpos="0 0 0.305 1 0 0 0 {q}" ctrl="{q}"/></keyframe>
</mujoco>"""


@pytest.fixture(scope="module")
def quadruped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    legs = [LEG.format(name=name, x=x, y=y, side=0.08 * np.sign(y)) for name, (x, y) in CORNERS.items()]
    servos = [SERVO.format(name=name, joint=joint) for name in CORNERS for joint in ("hip", "thigh", "calf")]
    path = tmp_path_factory.mktemp("robot") / "quadruped.xml"
    path.write_text(MODEL.format(legs="".join(legs), servos="".join(servos), q="0 0.8 -1.6 " * 4))
    return path


def places(simulation: Any, names: list[str]) -> Any:
    return np.array([simulation.channel(f"bodies/{name}/position") for name in names])


def test_a_quadruped_with_servos_stands_as_in_mujoco(quadruped: Path) -> None:
    """Five seconds, from a fall by some millimeters: bodies within 2 mm, with the sinking of MuJoCo's feet."""
    with pytest.warns(mbsim.SceneWarning, match="imported"):
        simulation = mbsim.Simulation(mbsim.load(quadruped, state="home"))
    model = mujoco.MjModel.from_xml_path(str(quadruped))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    names = [model.body(k).name for k in range(1, model.nbody)]
    mujoco.mj_step(model, data, 2500)
    simulation.step(2000)
    before = places(simulation, names)
    simulation.step(500)
    assert np.abs(places(simulation, names) - before).max() < 1e-10  # m in the last second, the end of a decay
    assert np.abs(places(simulation, names) - data.xpos[1:]).max() < 2e-3
    heights = places(simulation, names)[:, 2] - data.xpos[1:, 2]
    sunk = -np.mean([contact.dist for contact in data.contact])
    assert heights.mean() == pytest.approx(sunk, abs=5e-4)


def test_servos_hold_the_controls_that_a_program_sets(quadruped: Path) -> None:
    """Inputs are the controls of MuJoCo: the robot lies down in both."""
    with pytest.warns(mbsim.SceneWarning, match="imported"):
        simulation = mbsim.Simulation(mbsim.load(quadruped, state="home"))
    model = mujoco.MjModel.from_xml_path(str(quadruped))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for name in CORNERS:
        for joint, control in (("thigh", 1.2), ("calf", -2.4)):
            simulation.inputs[f"{name}_{joint}"] = control
            data.ctrl[model.actuator(f"{name}_{joint}").id] = control
    mujoco.mj_step(model, data, 1000)
    simulation.step(1000)
    height = simulation.channel("bodies/trunk/position")[2]
    assert height == pytest.approx(data.body("trunk").xpos[2], abs=2e-3)
    assert height < 0.2
