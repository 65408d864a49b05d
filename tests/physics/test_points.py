"""Named points: their motion, and scenes that name them beside scenes that give their coordinates."""

from __future__ import annotations

import json

import numpy as np
import pytest
from oracle import rotation_of_quaternion
from test_sensors import closed_loop, every_method, open_chain, random_pose, run

import mbsim

LEVELS = ("position", "quaternion", "linear_velocity", "angular_velocity", "acceleration")


def motion(found, point):
    """Position, quaternion, velocities and acceleration of a point, (T, 3) or (T, 4) each."""
    return tuple(found[f"points/{point}/{level}"].values for level in LEVELS)


@every_method
@pytest.mark.filterwarnings("ignore:.*impulsive start from rest")
@pytest.mark.parametrize("mechanism", [open_chain, closed_loop])
def test_points_move_with_their_bodies(method, mechanism):
    """Poses and velocities are those of the bodies, and accelerations those of sensors at the same frames."""
    rng = np.random.default_rng(3)
    scene = mechanism(rng)
    for body in scene["bodies"].values():
        body["points"] = {"site": random_pose(rng)}
    scene["sensors"] = {body: {"body": body, "point": "site"} for body in scene["bodies"]}
    found = run(scene, method, duration=0.02, step=1e-3, integrator="rk4")
    for k, (name, body) in enumerate(scene["bodies"].items()):
        site = body["points"]["site"]
        x, p, v, w, a = motion(found, f"{name}/site")
        for j in range(len(x)):
            R = rotation_of_quaternion(found["bodies/quaternion"].values[j, k])
            r, axes = R @ site["position"], R @ rotation_of_quaternion(np.array(site["rotation"]["quaternion"]))
            omega = found["bodies/angular_velocity"].values[j, k]
            np.testing.assert_allclose(x[j], found["bodies/position"].values[j, k] + r, atol=1e-12)
            np.testing.assert_allclose(rotation_of_quaternion(p[j]), axes, atol=1e-12)
            np.testing.assert_allclose(w[j], omega, atol=1e-12)
            np.testing.assert_allclose(
                v[j], found["bodies/linear_velocity"].values[j, k] + np.cross(omega, r), atol=1e-12
            )
            specific = found[f"sensors/{name}/specific_force"].values[j]
            np.testing.assert_allclose(a[j], axes @ specific + np.array(scene.get("gravity", [0, 0, -9.81])), atol=1e-9)


def test_the_sign_of_a_quaternion_is_continuous():
    """Over two turns, in blocks of any size; the first has a positive first component."""
    axle = {"type": "revolute", "child": "wheel", "axis": [0, 0, 1], "v": 10.0}
    wheel = {"mass": 1, "inertia": {"principal": [1, 1, 1]}, "points": {"rim": random_pose(np.random.default_rng(1))}}
    found = run({"bodies": {"wheel": wheel}, "joints": {"axle": axle}}, "aba", duration=2.0, step=0.01)
    p = found["points/wheel/rim/quaternion"].values
    assert p[0, 0] >= 0.0
    assert (np.einsum("ij,ij->i", p[1:], p[:-1]) > 0.9).all()


BODY = {"mass": 1, "inertia": {"principal": [0.1, 0.2, 0.15]}}
HOOK, TOOL = [0.1, -0.2, 0.3], {"position": [0.3, 0, 0.1], "rotation": {"axis": [1, 2, 3], "angle": 0.7}}


def everything(hook, tool, corner):
    """A scene in which every kind of field takes a point."""
    return {
        "bodies": {
            "arm": {**BODY, "points": {"hook": HOOK, "tool": TOOL}},
            "hand": BODY,
            "load": {**BODY, "position": [0.5, 0.2, 0]},
            "lid": {**BODY, "position": [2, 0, 0]},
        },
        "world": {"points": {"corner": [1, 1, 1]}},
        "joints": {
            "shoulder": {"type": "spherical", "child": "arm", "v": [0.3, 1, -1]},
            "wrist": {"type": "revolute", "parent": "arm", "child": "hand", "axis": [0, 1, 0], "origin": tool},
        },
        "springs": {
            "cord": {"between": [{"body": "arm", "point": hook}, {"body": "world", "point": corner}], "stiffness": 9,
                     "rest_length": 0.3},
            "mount": {"type": "bushing", "parent": "arm", "child": "load", "origin": tool,
                      "stiffness": {"linear": [9, 8, 7], "angular": [1, 2, 3]}},
        },
        "muscles": {
            "biceps": {"path": [{"body": "world", "point": corner}, {"body": "arm", "point": hook}],
                       "optimal_length": 1.0, "tendon_slack_length": 0.2, "max_isometric_force": 5, "activation": 0.4},
        },
        "strands": {
            "rope": {"nodes": [[0.1, -0.2, 0.3], [0.1, -0.2, 0.6], [0.1, -0.2, 0.9]], "mass": 0.1, "stiffness": 20,
                     "attach": {0: {"body": "arm", "point": hook}}},
        },
        "forces": {
            "wind": {"body": "arm", "point": hook, "force": [1, "2*cos(t)", 0]},
            "air": {"body": "arm", "point": hook, "quadratic": 0.3},
        },
        "constraints": {
            "track": {"type": "point_on_plane", "point": {"body": "load", "point": [0, 0, 0]},
                      "plane": {"body": "world", "position": corner, "normal": [0, 0, 1]}},
            "skate": {"type": "velocity", "terms": [
                {"body": "arm", "point": hook, "linear": [0, 0, 1]}, {"body": "lid", "linear": [0, 0, 1]}]},
        },
        "sensors": {"imu": {"body": "arm", **({"point": tool} if isinstance(tool, str) else tool)}},
    }  # fmt: skip


def loaded(scene):
    return mbsim.load(
        json.dumps({"mbsim": 1, **scene, "simulation": {"duration": 0.05, "integrator": "rk4"}}, indent=1)
    )


@pytest.mark.filterwarnings("ignore:.*impulsive start from rest")
def test_names_and_coordinates_are_the_same_scene():
    """All channels have the same bits, and the resolved scene with names runs again."""
    named = everything("hook", "tool", "corner")
    named["constraints"]["track"]["plane"]["position"] = [0, 0, 0]
    given = everything(HOOK, TOOL, [1, 1, 1])
    given["constraints"]["track"]["plane"]["position"] = [0, 0, 0]
    first, second = loaded(named).run(), loaded(given).run()
    again = mbsim.load(loaded(named).text).run()
    points = {path for path in first.data_vars if path.startswith("points/")}
    assert points
    assert set(first.data_vars) == set(again.data_vars)
    for path in first.data_vars:
        np.testing.assert_array_equal(first[path].values, second[path].values)
        np.testing.assert_array_equal(first[path].values, again[path].values)


def test_a_plane_and_a_wheel_take_points_of_the_world():
    """The wheel rolls on the plane through the corner, 1 m below its center."""
    wheel = {
        **BODY,
        "position": [0, 0, 2.0],
        "points": {"hub": [0, 0, 0]},
        "velocity": {"linear": [1, 0, 0], "angular": [0, 1, 0]},
    }
    rolling = {"type": "rolling", "body": "wheel", "point": "hub", "radius": 1.0, "plane": {"position": "corner"}}
    scene = {"bodies": {"wheel": wheel}, "world": {"points": {"corner": [5, 5, 1]}}, "constraints": {"roll": rolling}}
    found = loaded(scene).run()
    np.testing.assert_allclose(found["points/wheel/hub/position"].values[-1], [0.05, 0, 2], atol=1e-12)


def test_expressions_read_points():
    """A spring as an expression of a point is a spring."""
    hinge = {"type": "revolute", "child": "rod", "axis": [0, 1, 0], "q": 0.5}
    rod = {**BODY, "points": {"tip": [0, 0, -1]}}
    scene = {"gravity": [0, 0, 0], "bodies": {"rod": rod}, "joints": {"hinge": hinge}}
    pull = {"body": "rod", "point": "tip", "force": ["-3*points.rod.tip.position.x", 0, 0]}
    spring = {"body": "rod", "point": "tip", "force": ["-3*bodies.rod.point(0, 0, -1).position.x", 0, 0]}
    first, second = (loaded({**scene, "forces": {"pull": one}}).run() for one in (pull, spring))
    np.testing.assert_array_equal(first["joints/hinge/q"].values, second["joints/hinge/q"].values)
    x, _, _, _, a = motion(first, "rod/tip")
    lever = -first["joints/hinge/q"].values
    np.testing.assert_allclose(x[:, 0], np.sin(lever).ravel(), atol=1e-12)
    # J q'' = (tip x force)_y = -z_tip (3 x_tip) with J = 0.2 kg m^2 about the hinge
    np.testing.assert_allclose(
        first["joints/hinge/acceleration"].values.ravel(), -3 * x[:, 0] * x[:, 2] / 0.2, atol=1e-9
    )
    assert np.isfinite(a).all()
