"""Sensors: closed forms, the motion of their points, a dense formulation, and the impulses of contacts."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import KINDS, accelerations_of, oracle_of, quaternion, random_loops, random_pose, start
from oracle import rotation_of_quaternion
from scipy.spatial.transform import Rotation
from strategies import random_quaternion
from structured import CLOSING, structured_loops
from test_loop_runs import at, bar, spatial_four_bar

import mbsim
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS

BY_ACCELERATION = ("aba", "redmax", "symbolic", "baraff")
VARIATIONAL = ("variational", "variational_maximal")
G = 9.81

every_method = pytest.mark.parametrize("method", METHODS)


def run(scene, method, *, duration, step, **simulation):
    """All channels of a run, after each step."""
    options = {"duration": duration, "step": step, "method": method, **simulation}
    if method in VARIATIONAL:
        options.pop("integrator", None)
    text = json.dumps({"mbsim": 1, **scene, "simulation": options, "output": {"every": step}}, indent=1)
    return mbsim.load(text).run()


def signals(found, sensor):
    """Specific force and angular velocity of a sensor, each (T, 3)."""
    return tuple(found[f"sensors/{sensor}/{name}"].values for name in ("specific_force", "angular_velocity"))


def order(method):
    """Tolerance of smooth motion with steps of 1 ms."""
    return 2e-4 if method in VARIATIONAL else 1e-8


# --- closed forms -----------------------------------------------------------------------------------------------------
@every_method
def test_a_rotating_arm_measures_the_centripetal_acceleration(method):
    """At r from the axis f = -w^2 r in the axes of the arm, and one with x inwards measures +w^2 r."""
    w, r, lift = 7.0, 0.6, 0.2
    sensors = {
        "end": {"body": "arm", "position": [r, 0, lift]},
        "inwards": {"body": "arm", "position": [0, r, 0], "rotation": {"axis": [0, 0, 1], "angle": -np.pi / 2}},
        "axis": {"body": "arm", "position": [0, 0, lift]},
        "ground": {"body": "world"},
    }
    hinge = {"type": "revolute", "child": "arm", "axis": [0, 0, 1], "v": w}
    scene = {"bodies": {"arm": bar()}, "joints": {"hinge": hinge}, "sensors": sensors}
    found = run(scene, method, duration=0.2, step=1e-3)
    wanted = {"end": (-w * w * r, 0), "inwards": (w * w * r, 0), "axis": (0, 0), "ground": (0, 0)}
    for name, (x, y) in wanted.items():
        force, rate = signals(found, name)
        np.testing.assert_allclose(force, np.broadcast_to([x, y, G], force.shape), atol=order(method))
        spin = [0, 0, 0 if name == "ground" else w]
        np.testing.assert_allclose(rate, np.broadcast_to(spin, rate.shape), atol=order(method))


@every_method
@pytest.mark.parametrize("degrees", [60, 90, 180, 0])
def test_a_swinging_rod(method, degrees):
    """At r from the hinge f = r q'^2 + g cos q along the rod and (g - 3 g r/(2 L)) sin q across it.

    At the center of percussion, r = 2 L/3, nothing is left across; upright and hanging rods stay at rest.
    """
    L, q0 = 0.8, np.radians(degrees)
    hinge = {"type": "revolute", "child": "rod", "axis": [0, 1, 0], "child_origin": at(0, 0, L / 2), "q": q0}
    rod = {"mass": 0.5, "com": [0, 0, 0], "inertia": {"principal": [0.5 * L**2 / 12, 0.5 * L**2 / 12, 1e-3]}}
    lengths = {"hinge": 0.0, "percussion": 2 * L / 3, "tip": L}
    sensors = {name: {"body": "rod", "position": [0, 0, L / 2 - r]} for name, r in lengths.items()}
    scene = {"bodies": {"rod": rod}, "joints": {"hinge": hinge}, "sensors": sensors}
    found = run(scene, method, duration=0.5, step=1e-3)
    q = found["joints/hinge/q"].values[:, 0]
    squared = 3 * G / L * (np.cos(q) - np.cos(q0))
    for name, r in lengths.items():
        force, rate = signals(found, name)
        wanted = np.stack([-(G - 1.5 * G * r / L) * np.sin(q), 0 * q, G * np.cos(q) + r * squared], axis=1)
        np.testing.assert_allclose(force, wanted, atol=10 * order(method))
        np.testing.assert_allclose(rate[:, 1] ** 2, squared, atol=10 * order(method))
        assert abs(rate[:, [0, 2]]).max() < 1e-12


@every_method
def test_nothing_is_measured_in_free_fall_but_the_rotation(method):
    """At the center of mass of a thrown body f = 0; at r from it f = dw/dt x r + w x (w x r) of the free rotation."""
    J, w = np.array([0.02, 0.03, 0.04]), np.array([3.0, -2.0, 5.0])
    body = {"mass": 2.0, "com": [0.1, -0.2, 0.3], "inertia": {"principal": J.tolist()}}
    body |= {"velocity": {"linear": [1, 2, 3], "angular": w.tolist()}}
    r = np.array([0.2, 0.3, -0.1])
    sensors = {"com": {"body": "b", "position": body["com"]}}
    sensors["off"] = {"body": "b", "position": (np.array(body["com"]) + r).tolist()}
    found = run({"bodies": {"b": body}, "sensors": sensors}, method, duration=0.1, step=1e-3)
    assert abs(signals(found, "com")[0]).max() < 1e-10
    force, rate = signals(found, "off")
    turn = np.cross(np.cross(J * rate, rate) / J, r) + np.cross(rate, np.cross(rate, r))
    np.testing.assert_allclose(rate[0], w, atol=1e-14)
    np.testing.assert_allclose(force, turn, atol=1e-10)


@every_method
@pytest.mark.parametrize("theta", [np.pi / 2, 0.8])
def test_a_gyroscope_on_a_precessing_top(method, theta):
    """Steady precession at the rate p: A p^2 cos(theta) - C s p + m g c = 0 with the spin s about the axis.

    With ZXZ angles p t, theta and u t the body rates are (p sin(theta) sin(u t), p sin(theta) cos(u t), s).
    """
    m, c, A, C, p = 0.5, 0.1, 0.008, 0.002, 3.0
    s = (A * p**2 * np.cos(theta) + m * G * c) / (C * p)
    u = s - p * np.cos(theta)
    top = {"mass": m, "com": [0, 0, c], "inertia": {"principal": [A - m * c * c, A - m * c * c, C]}}
    pivot = {"type": "spherical", "child": "top", "q": {"rotvec": [theta, 0, 0]}, "v": [0, p * np.sin(theta), s]}
    turned = Rotation.from_rotvec([0.3, -0.7, 0.5])
    sensors = {"own": {"body": "top", "position": [0, 0, c], "rotation": {"rotvec": turned.as_rotvec().tolist()}}}
    scene = {"bodies": {"top": top}, "joints": {"pivot": pivot}, "sensors": sensors}
    step = 1e-4 if method in VARIATIONAL else 1e-3
    found = run(scene, method, duration=0.3, step=step, integrator="rk4")
    t = found["time"].values
    rate = np.stack([p * np.sin(theta) * np.sin(u * t), p * np.sin(theta) * np.cos(u * t), s + 0 * t], axis=1)
    across = np.stack([np.sin(p * t), -np.cos(p * t), 0 * t], axis=1)  # of the axis, horizontally
    force = -(p**2) * c * np.sin(theta) * across + [0, 0, G]
    pose = Rotation.from_euler("ZXZ", np.stack([p * t, theta + 0 * t, u * t], axis=1)) * turned
    tolerance = 2e-3 if method in VARIATIONAL else 2e-5
    measured, gyroscope = signals(found, "own")
    np.testing.assert_allclose(gyroscope, turned.inv().apply(rate), atol=tolerance)
    np.testing.assert_allclose(measured, pose.inv().apply(force), atol=tolerance)


# --- the motion of points ---------------------------------------------------------------------------------------------
def open_chain(rng):
    """A floating base with a chain of hinges, a ball and a slider, with springs, dampers, loads and a motion."""
    names = ["base", "arm", "hand", "rod"]
    bodies = {name: bar(0.3 + rng.random(), 1 + rng.random()) for name in names}
    bodies["base"] |= {"velocity": {"linear": [1, -2, 0.5], "angular": [0.7, 1, -2]}}
    joints = {
        "shoulder": {"type": "spherical", "parent": "base", "child": "arm", "v": [1, 2, -1], "stiffness": 3},
        "wrist": {
            "type": "universal",
            "parent": "arm",
            "child": "hand",
            "q": [0.5, -0.3],
            "v": [-2, 1],
            "damping": 0.1,
        },
        "slide": {"type": "cylindrical", "parent": "hand", "child": "rod", "axis": [1, 0, 2], "q": [0.2, 0.1]},
    }
    for joint in joints.values():
        joint |= {"origin": random_pose(rng), "child_origin": random_pose(rng)}
    joints["slide"]["motion"] = {"position": ["0.2 + 0.3*sin(4*t)", None]}
    forces = {"wind": {"body": "hand", "force": ["3*cos(5*t)", 1, -2], "point": [0.1, 0.2, 0]}}
    return {"gravity": [1, 2, -9], "bodies": bodies, "joints": joints, "forces": forces}


def closed_loop(rng):
    """A spatial four-bar linkage with a pendulum that a distance holds, and a gear."""
    scene = spatial_four_bar()
    scene["bodies"] |= {"bob": bar(0.5), "wheel": bar(0.2)}
    scene["joints"]["hang"] = {"type": "universal", "parent": "coupler", "child": "bob", "v": [1.0, -0.5]}
    scene["joints"]["axle"] = {"type": "revolute", "parent": "rocker", "child": "wheel", "axis": [0, 0, 1]}
    scene["couplings"] = {"mesh": {"type": "gear", "joints": ["swing", "axle"], "ratio": -2.5}}
    return scene


def with_sensors(rng, scene):
    """A sensor at a random place of each body."""
    scene["sensors"] = {f"on_{body}": {"body": body, **random_pose(rng)} for body in scene["bodies"]}
    return scene


def from_positions(found, scene, sensor, k, h):
    """Specific force and angular velocity at instant k, from differences of the poses of five instants."""
    spec, names = scene["sensors"][sensor], list(scene["bodies"])
    body, inner = names.index(spec["body"]), Rotation.from_quat(np.roll(spec["rotation"]["quaternion"], -1))
    R = [rotation_of_quaternion(found["bodies/quaternion"].values[j, body]) for j in range(k - 2, k + 3)]
    x = found["bodies/position"].values[k - 2 : k + 3, body]
    points = x + np.array([turn @ np.array(spec["position"]) for turn in R])
    acceleration = np.array([-1, 16, -30, 16, -1]) @ points / (12 * h * h)
    rate = np.tensordot(np.array([1, -8, 0, 8, -1]) / (12 * h), R, 1) @ R[2].T
    w = np.array([rate[2, 1] - rate[1, 2], rate[0, 2] - rate[2, 0], rate[1, 0] - rate[0, 1]]) / 2
    axes = R[2] @ inner.as_matrix()
    return axes.T @ (acceleration - scene["gravity"]), axes.T @ w


def deviation(scene, method, h, until=0.02):
    """Largest difference of the signals of all sensors from those of the positions."""
    found = run(scene, method, duration=until + 4 * h, step=h, integrator="rk4")
    k, largest = round(until / h), 0.0
    for sensor in scene["sensors"]:
        for signal, wanted in zip(signals(found, sensor), from_positions(found, scene, sensor, k, h), strict=True):
            largest = max(largest, float(abs(signal[k] - wanted).max() / (1 + abs(wanted).max())))
    return largest


@every_method
@pytest.mark.filterwarnings("ignore:.*impulsive start from rest")
@pytest.mark.parametrize("mechanism", [open_chain, closed_loop])
def test_sensors_measure_the_motion_of_their_points(method, mechanism):
    """With the order of the steps of a variational method: four times as well with half of the step."""
    rng = np.random.default_rng(7)
    scene = with_sensors(rng, mechanism(rng))
    if method in VARIATIONAL:
        errors = [deviation(scene, method, h) for h in (2e-3, 1e-3, 5e-4)]
        assert errors[-1] < 1e-3
        assert all(3.5 < before / after < 4.5 for before, after in pairwise(errors))
    else:
        assert deviation(scene, method, 5e-4) < 1e-6  # of the differences, of fourth order


@pytest.mark.parametrize("method", ["aba", "baraff"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_sensors_on_sliders_measure_the_accelerations_of_the_coordinates(method, integrator):
    """With implicit springs, dampers and coupled forces too: two sliders on one line, one carried by the other."""
    rail = {"type": "prismatic", "axis": [1, 0, 0]}
    joints = {
        "a": {**rail, "child": "a", "q": 0.1, "stiffness": 50, "damping": 2},
        "b": {**rail, "parent": "a", "child": "b", "v": 1.0, "force": "-4*joints.a.v"},
    }
    ends = [{"body": "world", "point": [2, 1, 0]}, {"body": "b"}]
    springs = {"s": {"between": ends, "stiffness": 90, "damping": 1.5, "rest_length": 1}}
    scene = {"bodies": dict.fromkeys("ab", bar(0.0)), "joints": joints, "springs": springs}
    scene["sensors"] = {name: {"body": name} for name in "ab"}
    found = run(scene, method, duration=0.02, step=1e-3, integrator=integrator)
    a, b = (found[f"joints/{name}/acceleration"].values[:, 0] for name in "ab")
    assert abs(b).max() > 10
    np.testing.assert_allclose(signals(found, "a")[0][:, 0], a, rtol=1e-12)
    np.testing.assert_allclose(signals(found, "b")[0][:, 0], a + b, rtol=1e-12)


# --- a dense formulation ----------------------------------------------------------------------------------------------
def check_against_dense_formulation(machine, rng, tolerance):
    scene = with_sensors(rng, machine.scene)
    for method in ("aba", "redmax", "baraff"):
        one = start(scene, method)
        loops, v = oracle_of(one)
        expected = loops.solve(v, machine.given(0.0))
        if not expected.is_sharp:
            return
        samples, size = one.observed(), 1.0 + np.abs(expected.a).max()
        np.testing.assert_allclose(accelerations_of(one, loops), expected.a, rtol=0, atol=tolerance * size)
        for k, (sensor, body) in enumerate(zip(scene["sensors"].values(), scene["bodies"], strict=True)):
            R = rotation_of_quaternion(samples.quaternion[0, k])
            axes, r = R @ rotation_of_quaternion(np.array(sensor["rotation"]["quaternion"])), R @ sensor["position"]
            a, alpha = np.split(expected.a[loops.body_columns(body)], 2)
            w = samples.angular_velocity[0, k]
            force = a + np.cross(alpha, r) + np.cross(w, np.cross(w, r)) - scene["gravity"]
            np.testing.assert_allclose(samples.specific_force[0, k], axes.T @ force, rtol=0, atol=5 * tolerance * size)
            np.testing.assert_allclose(samples.sensor_angular_velocity[0, k], axes.T @ w, rtol=0, atol=1e-12 * size)


@settings(max_examples=25)
@given(st.data())
def test_sensors_on_random_mechanisms(data):
    machine = data.draw(random_loops(data.draw(st.sampled_from(KINDS))))
    check_against_dense_formulation(machine, np.random.default_rng(1), 1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_sensors_on_mechanisms_in_special_positions(seed):
    machine = structured_loops(seed, CLOSING[seed % len(CLOSING)])
    check_against_dense_formulation(machine, np.random.default_rng(seed), 1e-3)


# --- contacts, friction and limits ------------------------------------------------------------------------------------
SURFACE = {"surface": {"size": [0.1, 0.03, 0.03]}}
FLOOR = {"shapes": [{"type": "plane", "friction": 0.5}]}


@every_method
def test_a_sensor_at_rest_on_a_table_measures_g_upwards(method):
    turned = random_quaternion(np.random.default_rng(3))
    box = {"mass": 1, "shapes": [{"type": "box", "size": [0.2, 0.2, 0.2]}], "position": [0, 0, 0.1]}
    sensors = {"imu": {"body": "box", "position": [0.1, 0, 0.1], "rotation": quaternion(turned)}}
    scene = {"world": FLOOR, "bodies": {"box": box}, "contacts": {}, "sensors": sensors}
    force, rate = signals(run(scene, method, duration=0.1, step=1e-3), "imu")
    wanted = rotation_of_quaternion(turned).T @ [0, 0, G]
    np.testing.assert_allclose(force[1:], np.broadcast_to(wanted, force[1:].shape), atol=1e-8)
    assert abs(rate).max() < 1e-10


@every_method
def test_the_impulses_of_a_bouncing_ball_are_measured_exactly(method):
    """The sum of h f over all steps is the change of the velocity without that of gravity, impacts included."""
    ball = {"mass": 0.3, "shapes": [{"type": "sphere", "radius": 0.1, "restitution": 0.6}], "position": [0, 0, 0.15]}
    sensors = {"imu": {"body": "ball"}}
    scene = {"world": FLOOR, "bodies": {"ball": ball}, "contacts": {}, "sensors": sensors}
    h = 1e-3
    found = run(scene, method, duration=0.8, step=h)
    force, v = signals(found, "imu")[0], found["bodies/linear_velocity"].values[:, 0]
    assert force[:, 2].max() > 100 * G  # an impact
    np.testing.assert_allclose(np.diff(v, axis=0), h * (force[1:] - [0, 0, G]), atol=1e-12)


@every_method
def test_a_ball_that_slides_with_friction(method):
    """The center has a = -mu g, and the rotation alpha = 5 mu g/(2 R); at r from it f has the terms of the rotation."""
    mu, R = 0.3, 0.1
    ball = {"mass": 0.7, "shapes": [{"type": "sphere", "radius": R, "friction": mu}], "position": [0, 0, R]}
    ball |= {"velocity": {"linear": [3, 0, 0]}}
    world = {"shapes": [{"type": "plane", "friction": mu}]}
    r = np.array([0.02, -0.05, 0.03])
    sensors = {"center": {"body": "ball"}, "off": {"body": "ball", "position": r.tolist()}}
    found = run(
        {"world": world, "bodies": {"ball": ball}, "contacts": {}, "sensors": sensors}, method, duration=0.1, step=1e-3
    )
    pose = Rotation.from_quat(np.roll(found["bodies/quaternion"].values[1:, 0], -1, axis=1))
    w, alpha = found["bodies/angular_velocity"].values[1:, 0], np.array([0, 2.5 * mu * G / R, 0])
    center, off = (pose.apply(signals(found, name)[0][1:]) for name in sensors)
    wanted = np.broadcast_to([-mu * G, 0, G], center.shape)
    arm = pose.apply(r)
    np.testing.assert_allclose(center, wanted, atol=1e-8)
    np.testing.assert_allclose(off, wanted + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm)), atol=1e-8)
    np.testing.assert_allclose(pose.apply(signals(found, "off")[1][1:]), w, atol=1e-12)


@every_method
def test_dry_friction_of_a_joint_is_measured(method):
    """A block on a rail of slope b slides with f = g cos(b) across it and mu g cos(b) along it, or it sticks."""
    b = 0.4
    for mu, along in ((0.2, 0.2 * G * np.cos(b)), (0.9, G * np.sin(b))):
        rail = {"type": "prismatic", "child": "block", "axis": [1, 0, 0], "friction": {"coefficient": mu, **SURFACE}}
        rail["origin"] = {"rotation": {"axis": [0, 1, 0], "angle": b}}  # x points downwards
        scene = {"bodies": {"block": bar(0.0)}, "joints": {"rail": rail}, "sensors": {"imu": {"body": "block"}}}
        force, _ = signals(run(scene, method, duration=0.05, step=1e-3), "imu")
        np.testing.assert_allclose(force[5:], np.broadcast_to([-along, 0, G * np.cos(b)], force[5:].shape), atol=1e-6)


@every_method
def test_a_rod_at_rest_on_its_limit_measures_g(method):
    hinge = {"type": "revolute", "child": "rod", "axis": [0, 1, 0], "q": 0.5, "limits": [-1, 0.5]}
    scene = {"bodies": {"rod": bar()}, "joints": {"hinge": hinge}, "sensors": {"imu": {"body": "rod", **at(1, 0, 0)}}}
    force, _ = signals(run(scene, method, duration=0.02, step=1e-3), "imu")
    wanted = [-G * np.sin(0.5), 0, G * np.cos(0.5)]
    np.testing.assert_allclose(force[1:], np.broadcast_to(wanted, force[1:].shape), atol=1e-8)


@every_method
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_impacts_on_limits_are_not_measured(method, restitution):
    """A slider falls on its stop from 0.1 m: f is 0 in flight and g at rest, never more."""
    rail = {"type": "prismatic", "child": "block", "axis": [0, 0, 1], "q": 0.1, "limits": [0, 1]}
    rail |= {"restitution": restitution}
    scene = {"bodies": {"block": bar(0.0)}, "joints": {"rail": rail}, "sensors": {"imu": {"body": "block"}}}
    found = run(scene, method, duration=0.6, step=1e-3)
    force, v = signals(found, "imu")[0], found["joints/rail/v"].values[:, 0]
    assert np.diff(v).max() > 1.0  # an impact
    assert abs(force[:, :2]).max() < 1e-10
    assert ((abs(force[:, 2]) < 1e-8) | (abs(force[:, 2] - G) < 1e-8)).all()
    assert force[-1, 2] == pytest.approx(G, abs=1e-8)


# --- the interface ----------------------------------------------------------------------------------------------------
def test_programs_read_sensors_between_steps():
    hinge = {"type": "revolute", "child": "rod", "axis": [0, 1, 0], "q": 0.5}
    scene = {"bodies": {"rod": bar()}, "joints": {"hinge": hinge}, "sensors": {"imu": {"body": "rod", **at(1, 0, 0)}}}
    text = json.dumps({"mbsim": 1, **scene, "simulation": {"duration": 0.01, "step": 1e-3}}, indent=1)
    sim, found = mbsim.Simulation(mbsim.load(text)), mbsim.load(text).run()
    sim.advance(0.01)
    for name in ("specific_force", "angular_velocity"):
        np.testing.assert_array_equal(sim.channel(f"sensors/imu/{name}"), found[f"sensors/imu/{name}"][-1])
    assert sim.channel("sensors/imu/angular_velocity[y]") == sim.v["hinge"][0]


def test_expressions_read_the_state_and_no_sensors():
    hinge = {"type": "revolute", "child": "rod", "force": "-sensors.imu.angular_velocity.z"}
    scene = {"bodies": {"rod": bar()}, "joints": {"hinge": hinge}, "sensors": {"imu": {"body": "rod"}}}
    with pytest.raises(SceneError, match=r"joints\.hinge\.force: `sensors.*`: expected a quantity of the state"):
        mbsim.load(json.dumps({"mbsim": 1, **scene, "simulation": {"duration": 1}}, indent=1))
