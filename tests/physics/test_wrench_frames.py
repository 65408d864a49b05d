"""Wrenches of joints in the axes of the child and of the world."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_cli.output.bodies import rotate
from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.simulation import prepare
from multibody_cli.studies.wrenches import express_wrenches

WORLD, BODY = "world", "body"

SCENE = """\
mbsim: 1
name: turned
bodies:
  arm: {mass: 2, inertia: {principal: [0.1, 0.2, 0.3]}, com: [0.3, 0.1, 0.2]}
joints:
  ball:
    type: spherical
    child: arm
    origin: {rotation: {axis: [1, 2, 0], angle: 40 deg}}
    child_origin: {position: [0.1, 0, 0], rotation: {axis: [0, 1, 3], angle: 70 deg}}
    v: [1, 2, 3]
simulation: {duration: 0.2 s, step: 1 ms, integrator: rk4}
output: {every: 1 ms}
"""


WEIGHT = np.array([0.0, 0.0, -2 * 9.81])  # N


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "turned.yaml"
    path.write_text(SCENE)
    simulation, sink = prepare(path), MemorySink()
    simulation.run(sink)
    return simulation.scene, sink.trajectory()


def test_the_force_on_a_body_is_the_rate_of_its_momentum_minus_its_weight(run):
    scene, trajectory = run
    force = express_wrenches(trajectory, scene, WORLD).channel("joints/ball/force").values[:, 3:]
    rate = np.gradient(trajectory.channel("momentum/linear").values, 1e-3, axis=0)
    np.testing.assert_allclose(force[2:-2], rate[2:-2] - WEIGHT, atol=5e-4)  # of central differences


def test_the_moment_about_the_centre_of_mass_is_the_rate_of_the_angular_momentum(run):
    scene, trajectory = run
    wrench = express_wrenches(trajectory, scene, WORLD).channel("joints/ball/force").values
    moment, force = wrench[:, :3], wrench[:, 3:]
    arm = trajectory.channel("bodies/arm/com").values  # from the origin of the world, where the ball is
    rate = np.gradient(trajectory.channel("momentum/angular").values, 1e-3, axis=0)
    weight = np.cross(arm, WEIGHT)
    np.testing.assert_allclose(moment[2:-2] + weight[2:-2], rate[2:-2], atol=1e-4)
    assert np.abs(force).max() > 1


def test_axes_of_the_body_turn_with_it(run):
    scene, trajectory = run
    world, body = (express_wrenches(trajectory, scene, frame).channel("joints/ball/force") for frame in (WORLD, BODY))
    orientation = trajectory.channel("bodies/arm/quaternion").values
    np.testing.assert_allclose(rotate(orientation, body.values[:, 3:]), world.values[:, 3:], atol=1e-12)
    assert (world.frame, body.frame) == ("world", "body")
    own = trajectory.channel("joints/ball/force").values
    assert np.abs(own - body.values).max() > 1
    np.testing.assert_array_equal(
        express_wrenches(trajectory, scene, WORLD).channel("energy/total").values,
        trajectory.channel("energy/total").values,
    )
