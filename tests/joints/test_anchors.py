"""Parts of a composite joint with anchors of their own: several joints in one body, and their states."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from loops import start
from shape_oracle import FIELDS_OF_SHAPES

from multibody_cli.document.source import SceneText
from multibody_cli.joints.composite import PARTS
from multibody_cli.methods import METHODS
from multibody_cli.studies.simulation import prepare

SCENE = """\
mbsim: 1
gravity: [1, -2, -9]
bodies:
  torso: {mass: 3, com: [0.1, 0.2, 0.3], inertia: {principal: [0.2, 0.3, 0.4], rotation: {rotvec: [0.3, 0.1, -0.2]}}}
  thigh: {mass: 1, com: [0, 0.1, -0.3], inertia: {principal: [0.1, 0.2, 0.25]}}
joints:
  waist:
    type: composite
    child: torso
    origin: {position: [0.3, -0.1, 1], rotation: {rotvec: [0.2, -0.4, 0.1]}}
    parts:
      - {type: revolute, axis: [0, 0, 1], position: [0, 0, 0.1]}
      - {type: revolute, axis: [0, 1, 0], position: [0.1, 0, -0.2]}
      - {type: prismatic, axis: [1, 0, 2], position: [0, 5, 0]}
    damping: [0.3, 0.2, 1]
    stiffness: [0, 5, 20]
  hip:
    type: composite
    parent: torso
    child: thigh
    origin: {position: [0, 0.2, -0.3], rotation: {rotvec: [0, 0, 1.2]}}
    parts:
      - {type: revolute, axis: [1, 0, 0], position: [0.02, 0, 0.05]}
      - {type: revolute, axis: [1, 2, 0], position: [0, 0, -0.3]}
      - {type: spherical, position: [-0.03, 0.04, 0]}
simulation: {duration: 0.2, step: 1 ms}
"""

MJCF = """\
<mujoco>
  <compiler angle="radian" inertiafromgeom="false"/>
  <option gravity="1 -2 -9" integrator="Euler"><flag contact="disable"/></option>
  <worldbody>
    <body pos="0.3 -0.1 1" quat="{first}">
      <inertial pos="0.1 0.2 0.3" mass="3" diaginertia="0.2 0.3 0.4" quat="{tilt}"/>
      <joint type="hinge" axis="0 0 1" pos="0 0 0.1" damping="0.3"/>
      <joint type="hinge" axis="0 1 0" pos="0.1 0 -0.2" damping="0.2" stiffness="5"/>
      <joint type="slide" axis="1 0 2" pos="0 5 0" damping="1" stiffness="20"/>
      <body pos="0 0.2 -0.3" quat="{second}">
        <inertial pos="0 0.1 -0.3" mass="1" diaginertia="0.1 0.2 0.25"/>
        <joint type="hinge" axis="1 0 0" pos="0.02 0 0.05"/>
        <joint type="hinge" axis="1 2 0" pos="0 0 -0.3"/>
        <joint type="ball" pos="-0.03 0.04 0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


FIELDS = {"screw": {"pitch": 0.3}, "cylindrical": {"axis": [1, 0, 1]}} | FIELDS_OF_SHAPES
STATES = {name: (0.3, 0.8) for name in PARTS} | {
    "spherical": ({"rotvec": [0.4, -0.2, 0.9]}, [0.3, 0.2, -0.5]),
    **{
        name: ([0.3, 0.4], [0.2, -0.7]) for name in ("cylindrical", "universal", "planar", "spline_surface", "symbolic")
    },
    "surface_surface": ([0.3, 0.4, 0.5, -0.3, 0.2], [0.2, -0.7, 0.6, 0.1, 0.4]),
    **{name: ([0.3, 0.4, 0.5], [0.2, -0.7, 0.6]) for name in ("translational", "free2d", "curve_curve")},
}


def quaternion(rotvec: Any) -> list[float]:
    angle = math.hypot(*rotvec)
    axis = np.array(rotvec) / angle if angle else np.zeros(3)
    return [math.cos(0.5 * angle), *(math.sin(0.5 * angle) * axis)]


def words(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def states():
    """Zero, right angles, and any: coordinates of the waist, hinges and rotation vector of the hip, and rates."""
    rng, right = np.random.default_rng(3), 0.5 * math.pi
    yield np.zeros(3), np.zeros(2), np.zeros(3), np.zeros(8)
    yield np.array([right, 2 * right, 0.2]), np.array([-right, right]), np.array([0, 0, right]), np.ones(8)
    for _ in range(3):
        yield rng.normal(size=3), rng.normal(size=2), rng.normal(size=3), rng.normal(size=8)


def accelerations(*settings: str) -> np.ndarray:
    simulation = prepare(SceneText(SCENE, Path("anchors.yaml")), settings)
    state = simulation.fresh_state()
    simulation.method_for(state).start(state)
    return state.a.copy()


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_the_joint_of_its_type_at_its_anchor(name: str) -> None:
    """After a hinge about another point, as in a chain with a body between; its state is in the form of its joint."""
    near, far = np.array([0.1, 0.2, -0.3]), np.array([-0.2, 0.5, 0.4])
    own, hinge = {"type": name, **FIELDS.get(name, {})}, {"type": "revolute", "axis": [1, 2, 2]}
    q, v = STATES[name]
    body = {"mass": 1, "inertia": {"principal": [1, 1, 1]}}
    parts = [{**hinge, "position": near.tolist()}, {**own, "position": far.tolist()}]
    bodies = {"between": body, "chain": body, "one": body}
    joints = {
        "hinge": {**hinge, "child": "between", "origin": {"position": near.tolist()}, "q": 0.7, "v": -0.4},
        "second": {
            **own,
            "parent": "between",
            "child": "chain",
            "origin": {"position": (far - near).tolist()},
            "child_origin": {"position": far.tolist()},
            "q": q,
            "v": v,
        },
        "both": {"type": "composite", "child": "one", "parts": parts, "q": [0.7, q], "v": [-0.4, v]},
    }
    run = start({"bodies": bodies, "joints": joints}, "aba")
    for channel in ("position", "quaternion", "linear_velocity", "angular_velocity"):
        np.testing.assert_allclose(run.body("one", channel), run.body("chain", channel), atol=1e-14)
    chain = [*run.joint("hinge", "coordinates"), *run.joint("second", "coordinates")]
    np.testing.assert_array_equal(run.joint("both", "coordinates"), chain)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"aba"}))
def test_methods_agree_about_joints_of_one_body(method: str) -> None:
    """Errors of variational steps are of second order in the step; other differences are those of round-off."""
    scene = yaml.safe_load(SCENE)
    scene["joints"]["waist"] |= {"q": [0.3, -0.4, 0.1], "v": [1.0, 2.0, -0.5]}
    scene["joints"]["hip"] |= {"q": [0.7, -0.2, {"rotvec": [0.2, 0.5, -0.3]}], "v": [0.5, -1.0, [1.0, 0.5, 2.0]]}
    one, other = (start(scene, name, step=1e-3).advance(0.1) for name in ("aba", method))
    allowed = 1e-5 if method.startswith("variational") else 1e-10
    for channel in ("position", "linear_velocity", "angular_velocity"):
        np.testing.assert_allclose(other.body("thigh", channel), one.body("thigh", channel), atol=allowed)


@pytest.mark.parametrize("k", range(5))
def test_joints_of_one_body_have_the_accelerations_of_mujoco(k: int) -> None:
    """`position` and `axis` of a part are `pos` and `axis` of a joint of MJCF."""
    mujoco = pytest.importorskip("mujoco")
    waist, hinges, ball, v = list(states())[k]
    frames = [quaternion(rotvec) for rotvec in ([0.2, -0.4, 0.1], [0.3, 0.1, -0.2], [0, 0, 1.2])]
    first, tilt, second = map(words, frames)
    model = mujoco.MjModel.from_xml_string(MJCF.format(first=first, tilt=tilt, second=second))
    data = mujoco.MjData(model)
    data.qpos[:] = [*waist, *hinges, *quaternion(ball)]
    data.qvel[:] = v
    mujoco.mj_forward(model, data)
    found = accelerations(
        f"joints.waist.q={waist.tolist()}",
        f"joints.waist.v={v[:3].tolist()}",
        f"joints.hip.q={[*hinges.tolist(), {'rotvec': ball.tolist()}]}",
        f"joints.hip.v={[*v[3:5].tolist(), v[5:].tolist()]}",
    )
    np.testing.assert_allclose(found, data.qacc, rtol=1e-10, atol=1e-10 * np.abs(data.qacc).max())
