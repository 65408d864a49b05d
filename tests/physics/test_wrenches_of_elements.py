"""Wrenches of elements on their bodies, against closed forms; `test_balance_of_forces.py` has all scenes."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_cli.methods import METHODS
from multibody_cli.output.bodies import rotate
from multibody_cli.output.sink import MemorySink
from multibody_cli.spec import Pose
from multibody_cli.studies.simulation import prepare
from multibody_cli.studies.wrenches import express_wrenches

SCENE = """\
mbsim: 1
name: mounts
gravity: [0, 0, 0]
bodies:
  frame: {mass: 3, inertia: {principal: [1, 2, 3]}, position: [1, 0, 0]}
  engine:
    mass: 2
    inertia: {principal: [0.1, 0.2, 0.3]}
    position: [1.2, 0.1, 0.3]
    rotation: {axis: [1, 2, 3], angle: 30 deg}
springs:
  mount:
    type: bushing
    parent: frame
    child: engine
    origin: {position: [0.1, 0, 0.2], rotation: {axis: [0, 1, 0], angle: 90 deg}}
    child_origin: {position: [0, 0.2, 0], rotation: {axis: [2, 0, 1], angle: 50 deg}}
    stiffness: {linear: [100, 200, 300], angular: [10, 20, 30]}
  to_ground:
    type: bushing
    parent: engine
    child: world
    origin: {position: [0.05, 0, 0]}
    stiffness: {linear: [40, 40, 40]}
  tie: {between: [{body: world}, {body: engine, point: [0, 0, 0.1]}], stiffness: 50, rest_length: 0.1}
forces:
  push: {body: engine, point: [0.1, 0.2, 0.3], force: [1, -2, 4], torque: [0.3, 0, 0.1], frame: body}
  drag: {body: frame, viscous: {linear: 2}}
simulation: {duration: 20 ms, step: 1 ms, method: METHOD}
output: {every: 10 ms}
"""


@pytest.fixture(scope="module", params=list(METHODS))
def run(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "mounts.yaml"
    path.write_text(SCENE.replace("METHOD", request.param))
    simulation, sink = prepare(path), MemorySink()
    simulation.run(sink)
    return simulation.scene, sink.trajectory()


def frame_of(trajectory, body, pose):
    """Origins (T, 3) and orientations as functions of vectors, of a frame on a body."""
    if body == "world":
        quaternion, position = np.tile([1.0, 0, 0, 0], (3, 1)), np.zeros((3, 3))
    else:
        words = ("quaternion", "position")
        quaternion, position = (trajectory.channel(f"bodies/{body}/{word}").values for word in words)
    own = np.array([pose.rotation])

    def turn(vectors):
        return rotate(quaternion, rotate(own, vectors))

    return position + rotate(quaternion, np.array(pose.position)), turn


def test_a_spring_pulls_along_its_line(run):
    _, trajectory = run
    engine, turn = frame_of(trajectory, "engine", Pose())
    end = engine + turn(np.array([0, 0, 0.1]))
    length = np.linalg.norm(end, axis=1, keepdims=True)
    force = -50 * (length - 0.1) * end / length
    wrench = trajectory.channel("wrenches/springs/tie/engine").values
    np.testing.assert_allclose(wrench[:, 3:], force, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(wrench[:, :3], np.cross(end - engine, force), rtol=1e-12, atol=1e-12)


def test_a_load_acts_at_its_point_in_axes_of_its_body(run):
    scene, trajectory = run
    _, turn = frame_of(trajectory, "engine", scene.springs["to_ground"].child_origin)
    wrench = trajectory.channel("wrenches/forces/push/engine").values
    arm, force = np.array([0.1, 0.2, 0.3]), np.array([1, -2, 4])
    moment = np.array([0.3, 0, 0.1]) + np.cross(arm, force)
    np.testing.assert_allclose(wrench[:, 3:], turn(np.tile(force, (3, 1))), rtol=1e-12)
    np.testing.assert_allclose(wrench[:, :3], turn(np.tile(moment, (3, 1))), rtol=1e-12)
    own = express_wrenches(trajectory, scene, "body").channel("wrenches/forces/push/engine")
    np.testing.assert_allclose(own.values, np.tile([*moment, *force], (3, 1)), rtol=1e-12)
    assert own.frame == "body"


def test_a_bushing_acts_on_both_bodies_at_its_frame_on_the_child(run):
    scene, trajectory = run
    for name, parent, child in (("mount", "frame", "engine"), ("to_ground", "engine", "world")):
        spec = scene.springs[name]
        F, turn = frame_of(trajectory, parent, spec.origin)
        M, _ = frame_of(trajectory, child, spec.child_origin)
        axes = np.stack([turn(np.tile(axis, (3, 1))) for axis in np.eye(3)], axis=1)  # rows are axes of F
        offset = np.einsum("tij,tj->ti", axes, M - F)
        force = -np.einsum("tij,ti->tj", axes, np.array(spec.stiffness.linear) * offset)
        in_world = express_wrenches(trajectory, scene, "world").channel(f"springs/{name}/wrench")
        np.testing.assert_allclose(in_world.values[:, 3:], force, rtol=1e-11, atol=1e-11)
        on_parent = trajectory.channel(f"wrenches/springs/{name}/{parent}").values
        origin = trajectory.channel(f"bodies/{parent}/position").values
        np.testing.assert_allclose(on_parent[:, 3:], -force, rtol=1e-11, atol=1e-11)
        moment = -in_world.values[:, :3] - np.cross(M - origin, force)
        np.testing.assert_allclose(on_parent[:, :3], moment, rtol=1e-11, atol=1e-11)
    assert np.abs(in_world.values[:, 3:]).max() > 1
    # without rotation from F to M there is no moment at M
    np.testing.assert_allclose(in_world.values[:, :3], 0, atol=1e-12)


def test_drag_opposes_the_velocity(run):
    _, trajectory = run
    wrench = trajectory.channel("wrenches/forces/drag/frame").values
    velocity = trajectory.channel("bodies/frame/linear_velocity").values
    np.testing.assert_allclose(wrench[:, 3:], -2 * velocity, rtol=1e-12)
    assert np.abs(wrench[-1]).max() > 0.01
