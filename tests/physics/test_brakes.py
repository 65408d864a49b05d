"""Brakes, friction of joints with a given limit: closed forms, rest without creep, and passes against rows."""

from __future__ import annotations

import numpy as np
import pytest
from friction_trees import compare_with_rows, most_passes, prepared, simulated, started
from test_loop_friction import balls_in_space, four_bar
from test_tree_contacts import arm, compare

from multibody_cli import MemorySink
from multibody_cli.methods import METHODS

every_method = pytest.mark.parametrize("method", METHODS)
by_passes = pytest.mark.parametrize("method", ["aba", "redmax", "baraff", "variational", "variational_maximal"])
H = 1e-3
JOURNAL = {"coefficient": 0.3, "surface": {"radius": 0.02, "length": 0.06}}


def body(mass=2.0, **fields):
    return {"mass": mass, "inertia": {"principal": [0.2, 0.2, 0.2]}, **fields}


def braked(tmp_path, joint, method, duration, gravity=(0.0, 0.0, 0.0), **bodies):
    own = {} if METHODS[method].own_integrator else {"integrator": "semi_implicit_euler"}
    scene = {
        "gravity": list(gravity),
        "bodies": {"disc": body(**bodies)},
        "joints": {"axle": {"child": "disc", **joint}},
        "simulation": {"duration": duration, "step": H, "method": method, **own},
        "output": {"every": H},
    }
    sink = MemorySink()
    prepared(tmp_path, scene).run(sink)
    found = sink.trajectory()
    return lambda name: found.channel(name).values


# --- closed forms -----------------------------------------------------------------------------------------------------
LEAD = 0.01 / (2.0 * np.pi)
TYPES = {
    "revolute": ({"type": "revolute", "friction": {"torque": 0.5}}, 0.2, 0.5),
    "prismatic": ({"type": "prismatic", "axis": [0.6, 0.8, 0], "friction": {"force": 0.5}}, 2.0, 0.5),
    "screw": ({"type": "screw", "pitch": 0.01, "friction": {"torque": 0.5}}, 0.2 + 2.0 * LEAD**2, 0.5),
}


@every_method
@pytest.mark.parametrize("kind", TYPES)
def test_a_brake_stops_a_body_at_constant_deceleration(tmp_path, method, kind):
    """It stops within the step that contains v0 I / torque, dissipates all of its energy, and stays without creep."""
    joint, inertia, limit = TYPES[kind]
    stop = 0.6
    v0 = limit / inertia * stop
    found = braked(tmp_path, {**joint, "v": v0}, method, 1.0)
    time, v, q = found("time"), found("joints/axle/v")[:, 0], found("joints/axle/q")[:, 0]
    moving = time < stop - 1e-9
    np.testing.assert_allclose(v[moving], v0 - limit / inertia * time[moving], rtol=0, atol=1e-12 * v0)
    rest = time >= stop + H
    assert np.abs(v[rest]).max() < 1e-16
    assert np.ptp(q[rest]) < 1e-15
    np.testing.assert_allclose(q[-1], 0.5 * v0 * stop, rtol=2.0 * H / stop)
    np.testing.assert_allclose(found("energy/dissipation/joints/axle/friction")[-1], 0.5 * inertia * v0**2, rtol=1e-12)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-13


@every_method
@pytest.mark.parametrize(("force", "rate"), [(0.499, 0.0), (-0.499, 0.0), (0.7, 1.0), (-0.7, -1.0)])
def test_a_brake_holds_below_its_limit_and_slips_beyond(tmp_path, method, force, rate):
    """The rate is that of the excess, 0.2 N m on 0.2 kg m^2; the friction of a brake that holds balances the motor."""
    found = braked(tmp_path, {"type": "revolute", "force": force, "friction": {"torque": 0.5}}, method, 1.0)
    assert np.abs(found("joints/axle/v")[:, 0] - rate * found("time")).max() <= (1e-16 if rate == 0.0 else 1e-12)
    np.testing.assert_allclose(found("joints/axle/friction")[-1, 2], -np.clip(force, -0.5, 0.5), rtol=1e-12)


@every_method
def test_both_hinges_of_a_cross_have_the_brake(tmp_path, method):
    """Torques beyond the limit about one hinge move that hinge alone."""
    for k in range(2):
        force = [0.7 if i == k else 0.4 for i in range(2)]
        joint = {"type": "universal", "force": force, "friction": {"torque": 0.5}}
        v = braked(tmp_path, joint, method, 0.2)("joints/axle/v")
        np.testing.assert_allclose(v[-1, k], 0.2, rtol=1e-9)
        assert np.abs(v[:, 1 - k]).max() < 1e-15


@every_method
def test_a_brake_adds_to_the_friction_of_loads(tmp_path, method):
    """A weight of m g on a journal of radius r across the axle, with 16 points: the torques add up.

    The load of the points does not depend on the brake, so that the difference of both decelerations is that of it; the
    loads of 16 points vary by 1 % with the angle, which differs by 0.007.
    """
    rates = []
    for torque in (0.0, 0.3):
        friction = {"coefficient": 0.3, "surface": {"radius": 0.02, "length": 0.06, "points": 16}, "torque": torque}
        joint = {"type": "revolute", "axis": [0, 1, 0], "v": 3.0, "friction": friction}
        v = braked(tmp_path, joint, method, 0.1, gravity=(0.0, 0.0, -9.81))("joints/axle/v")
        rates.append((v[-1] - v[0]) / 0.1)
    np.testing.assert_allclose(rates[1] - rates[0], -0.3 / 0.2, rtol=1e-4)
    np.testing.assert_allclose(rates[0], -0.3 * 0.02 * 2.0 * 9.81 / 0.2 * 1.26, rtol=0.05)


AXES = {
    "universal": ({"type": "universal"}, {"torque": [0.5, 0.3]}, "JJ"),
    "cylindrical": ({"type": "cylindrical", "axis": [0.6, 0.8, 0]}, {"torque": 0.5, "force": 3}, "Jm"),
    "planar": ({"type": "planar"}, {"force": [2, 3]}, "mm"),
    "translational": ({"type": "translational"}, {"force": [2, 3, 0]}, "mmm"),
    "free2d": ({"type": "free2d"}, {"force": [2, 3], "torque": 0.4}, "mmJ"),
    "spherical": ({"type": "spherical"}, {"torque": [0.5, 0.3, 0.2]}, "JJJ"),
    "free": ({"type": "free"}, {"force": [2, 3, 1], "torque": [0.5, 0.3, 0.2]}, "mmmJJJ"),
}
"""Joints of several coordinates with brakes in their order, and which have the inertia of a mass."""


def limits_of(friction, kinds):
    """The limit of each coordinate."""
    angles, lengths = (iter(np.atleast_1d(friction.get(name, ()))) for name in ("torque", "force"))
    return np.array([next(lengths if kind == "m" else angles) for kind in kinds], float)


@every_method
@pytest.mark.parametrize("kind", AXES)
def test_every_coordinate_has_a_brake_of_its_own(tmp_path, method, kind):
    """A force beyond the limit moves its coordinate alone, at the rate of the excess; others hold at 0.9 of theirs."""
    joint, friction, kinds = AXES[kind]
    limits, inertia = limits_of(friction, kinds), np.array([2.0 if one == "m" else 0.2 for one in kinds])
    k = len(kinds) - 1
    force = 0.9 * limits
    force[k] = -limits[k] - 0.1
    v = braked(tmp_path, {**joint, "friction": friction, "force": force.tolist()}, method, 0.1)("joints/axle/v")
    expected = np.zeros(len(kinds))
    expected[k] = -0.1 / inertia[k] * 0.1
    np.testing.assert_allclose(v[-1], expected, rtol=0, atol=1e-14)


@every_method
def test_brakes_of_a_ball_stop_its_components_one_by_one(tmp_path, method):
    """Each component of the angular velocity in the axes of the body falls at its own rate, without creep after."""
    v0, torque = np.array([1.0, -0.5, 0.8]), np.array([0.5, 0.3, 0.2])
    joint = {"type": "spherical", "v": v0.tolist(), "friction": {"torque": torque.tolist()}}
    found = braked(tmp_path, joint, method, 1.0)
    time, v = found("time")[:, None], found("joints/axle/v")
    expected = np.sign(v0) * np.maximum(np.abs(v0) - torque / 0.2 * time, 0.0)
    turns_in_steps = 1e-6 if "variational" in method else 1e-12  # the discrete momentum turns with the body
    assert np.abs(v - expected).max() < turns_in_steps + H * (torque / 0.2).max() * 1.01
    assert np.abs(v[time[:, 0] > 0.81]).max() < 1e-15
    np.testing.assert_allclose(found("energy/dissipation/joints/axle/friction")[-1], 0.1 * v0 @ v0, rtol=1e-9)


GIMBAL = {
    "type": "composite",
    "parts": [
        {"type": "revolute", "axis": [1, 0, 0]},
        {"type": "revolute", "axis": [1, 0, 1], "position": [0.1, 0, 0]},
        {"type": "prismatic", "axis": [0, 1, 0]},
    ],
}
"""Two hinges about different points, which are not perpendicular, and a slider."""


@every_method
@pytest.mark.parametrize("k", range(3))
def test_parts_of_a_composite_joint_have_brakes(tmp_path, method, k):
    """The part beyond its limit moves with the inertia about its own axis; the others hold."""
    limits = np.array([0.5, 0.3, 3.0])
    force = 0.9 * limits
    force[k] = limits[k] + 0.1
    joint = {**GIMBAL, "force": force.tolist(), "friction": {"brake": limits.tolist()}}
    found = braked(tmp_path, joint, method, 0.1, com=[0.1, 0.2, 0.0], inertia={"principal": [0.2, 0.25, 0.3]})
    inertia = [0.2 + 2.0 * 0.2**2, (0.2 + 0.3) / 2 + 2.0 * (0.2**2) / 1.0, 2.0][k]
    expected = np.zeros(3)
    expected[k] = 0.1 / inertia * 0.1
    error = 1e-12 if method in ("aba", "redmax", "symbolic") else 1e-6  # bodies turn in a step, or rates change in it
    np.testing.assert_allclose(found("joints/axle/v")[-1], expected, rtol=0, atol=error)
    if "variational" in method:
        assert np.ptp(np.delete(found("joints/axle/q"), k, axis=1), axis=0).max() < 1e-11
    limit_of_moment = found("joints/axle/friction")[-1, 0]
    np.testing.assert_allclose(limit_of_moment, [-0.5, -0.39, -0.45][k], rtol=0, atol=1e-3)


@every_method
def test_a_bead_on_a_wire_has_a_brake(tmp_path, method):
    """On a helix of constant speed ds/dq: the rate falls by brake / (m (ds/dq)^2), then the bead stays."""
    curve = {"type": "helix", "radius": 0.5, "pitch": 0.6}
    joint = {"type": "curve", "curve": curve, "v": 1.0, "friction": {"brake": 0.4}}
    found = braked(tmp_path, joint, method, 2.0)
    time, v = found("time"), found("joints/axle/v")[:, 0]
    slope = 0.4 / (2.0 * (0.5**2 + (0.6 / (2.0 * np.pi)) ** 2))
    error = 1e-3 if method == "baraff" else 1e-10
    moving = time < 1.0 / slope - 1e-9
    np.testing.assert_allclose(v[moving], 1.0 - slope * time[moving], rtol=0, atol=error)
    assert np.abs(v[time > 1.0 / slope + 2e-3]).max() < (1e-6 if method == "baraff" else 1e-15)


@every_method
def test_a_composite_cross_has_the_brakes_of_a_cross(tmp_path, method):
    """Two perpendicular hinges, while both slip, stick and reverse."""
    cross = {"type": "composite", "parts": [{"type": "revolute", "axis": axis} for axis in ([1, 0, 0], [0, 1, 0])]}
    ends = []
    for joint, word in (({"type": "universal"}, "torque"), (cross, "brake")):
        force = ["2*sin(9*t)", "2*cos(5*t)"]
        fields = {**joint, "v": [3.0, -2.0], "force": force, "friction": {word: [0.5, 0.8]}}
        found = braked(tmp_path, fields, method, 1.0, gravity=(0.0, 0.0, -9.81), com=[0.1, 0.0, -0.2])
        ends.append(np.hstack([found("joints/axle/v"), found("energy/dissipation/joints/axle/friction")[:, None]]))
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-6 if method == "baraff" else 1e-10)


def crosses(friction=True, gimbal=False):
    """A chain of all joints with brakes on several coordinates, in motion."""
    rng, bodies, joints, parent = np.random.default_rng(3), {}, {}, "world"
    more = {"gimbal": (GIMBAL, {"torque": [0.2, 0.1], "force": [1.0]}, "JJm")} if gimbal else {}
    for name, (joint, limits, kinds) in (AXES | more).items():
        if joint["type"] == "free":
            continue
        v = rng.uniform(0.3, 1.0, len(kinds)).tolist()
        bodies[name] = {"mass": 1.0, "com": [0.05, 0.02, -0.1], "inertia": {"principal": [0.02, 0.03, 0.04]}}
        limits = {"brake": limits_of(limits, kinds).tolist()} if friction and name == "gimbal" else limits
        given = {"friction": limits} if friction else {"force": (-limits_of(limits, kinds)).tolist()}
        place = {"origin": {"position": [0.1, 0, -0.2], "rotation": {"rotvec": [0.3, 0.2, -0.4]}}}
        joints[name] = {**joint, "parent": parent, "child": name, "v": v, **place, **given}
        parent = name
    return simulated(bodies, joints)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
def test_sliding_brakes_are_constant_forces(tmp_path, method):
    """As long as no rate reverses, a chain moves as with forces in place of its brakes."""
    ends = []
    for friction in (True, False):
        state, stepper = started(prepared(tmp_path, crosses(friction, gimbal=True), f"simulation.method={method}"))
        for _ in range(10):
            assert stepper.step(state, 1) is None
        ends.append(state.q.copy())
    np.testing.assert_allclose(
        *ends, rtol=0, atol=1e-6 if method == "baraff" else 1e-11
    )  # the columns of S turn in the step


# --- passes against rows ----------------------------------------------------------------------------------------------
def chain(n, friction, **more):
    bodies, joints = {}, {}
    for i in range(n):
        bodies[f"link{i}"] = {"mass": 1.0, "shapes": [{"type": "cylinder", "radius": 0.02, "length": 0.3}]}
        joints[f"joint{i}"] = {
            "type": "revolute",
            "parent": "world" if i == 0 else f"link{i - 1}",
            "child": f"link{i}",
            "axis": [[0, 1, 0], [1, 0, 0]][i % 2],
            "origin": {"position": [0, 0, 0 if i == 0 else -0.15]},
            "child_origin": {"position": [0, 0, 0.15]},
            "q": float(0.8 * np.sin(1 + i)),
            "v": float(np.cos(1 + i)),
            "friction": friction[i % len(friction)],
        }
    return simulated(bodies, joints, **more)


MIXED = ({"torque": 0.4}, {**JOURNAL, "torque": 0.2}, JOURNAL)


@by_passes
def test_brakes_in_a_tree_move_it_as_with_rows(tmp_path, monkeypatch, method):
    compare_with_rows(tmp_path, monkeypatch, chain(6, MIXED), method, 60)


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff"])
def test_brakes_beside_implicit_forces_move_as_with_rows(tmp_path, monkeypatch, method):
    scene = chain(5, MIXED, integrator="linearly_implicit_euler")
    ends = [{"body": "link1"}, {"body": "link4"}]
    scene["springs"] = {"spring": {"between": ends, "stiffness": 1e4, "damping": 10.0, "rest_length": 0.5}}
    compare_with_rows(tmp_path, monkeypatch, scene, method, 40)


@by_passes
def test_brakes_of_several_coordinates_move_a_tree_as_with_rows(tmp_path, monkeypatch, method):
    compare_with_rows(tmp_path, monkeypatch, crosses(), method, 80)


@by_passes
def test_brakes_of_a_composite_joint_in_a_tree_move_it_as_with_rows(tmp_path, monkeypatch, method):
    compare_with_rows(tmp_path, monkeypatch, crosses(gimbal=True), method, 80)


@by_passes
def test_brakes_of_a_ball_in_a_loop_move_it_as_with_rows(tmp_path, monkeypatch, method):
    """Brakes alone on all joints: moments across the plane are indeterminate, and load no friction."""
    scene = four_bar(closing="spherical")
    for joint in scene["joints"].values():
        joint["friction"] = {"torque": 0.1}
    scene["joints"]["d_last"]["friction"] = {"torque": [0, 0.3, 0]}
    compare_with_rows(tmp_path, monkeypatch, scene, method)


@by_passes
def test_brakes_of_balls_in_a_loop_in_space_move_it_as_with_rows(tmp_path, monkeypatch, method):
    scene = balls_in_space()
    brakes = {"revolute": {"torque": 0.01}, "prismatic": {"force": 0.1}, "spherical": {"torque": [0.002, 0.003, 0.001]}}
    for joint in scene["joints"].values():
        joint["friction"] = brakes[joint["type"]]
    compare_with_rows(tmp_path, monkeypatch, scene, method)


@by_passes
def test_brakes_in_a_loop_move_it_as_with_rows(tmp_path, monkeypatch, method):
    scene = four_bar()
    for k, joint in enumerate(scene["joints"].values()):
        joint["friction"] = MIXED[k % 2]
    compare_with_rows(tmp_path, monkeypatch, scene, method)


@by_passes
def test_brakes_beside_a_contact_move_as_with_rows(tmp_path, monkeypatch, method):
    scene = arm(4)
    for i, joint in enumerate(scene["joints"].values()):
        joint["friction"] = MIXED[i % 2]
    assert compare(tmp_path, monkeypatch, scene, method, 330) > 10


def test_chains_of_brakes_take_few_passes(tmp_path):
    assert most_passes(prepared(tmp_path, chain(100, ({"torque": 0.2},)))) < 13


@pytest.mark.parametrize(
    ("friction", "message"),
    [
        ({}, "expected `coefficient` and `surface`, `torque`"),
        ({"coefficient": 0.3}, "expected `coefficient` and `surface`, `torque`"),
        ({"coefficient": 0.3, "torque": 1}, "expected `coefficient` and `surface`, `torque`"),
        ({"torque": -1}, "at least 0"),
        ({"torque": "1 N"}, "expected a torque"),
    ],
)
def test_friction_without_a_limit_is_refused(tmp_path, friction, message):
    with pytest.raises(Exception, match=message):
        braked(tmp_path, {"type": "revolute", "friction": friction}, "aba", 0.1)


def test_a_brake_of_limit_0_is_open(tmp_path):
    v = braked(tmp_path, {"type": "revolute", "v": 3.0, "friction": {"torque": 0}}, "aba", 0.1)("joints/axle/v")
    np.testing.assert_array_equal(v, 3.0)


def test_brakes_of_a_ball_on_a_slider_act_on_mean_rates(tmp_path):
    """Both variational methods approach `aba` with the step while all brakes slip; mean rates are those of the ball."""
    parts = [{"type": "prismatic", "axis": [1, 0, 0]}, {"type": "spherical"}]
    joint = {
        "type": "composite",
        "parts": parts,
        "v": [2.0, [1.5, -1.2, 2.0]],
        "friction": {"brake": [0.3, 0.1, 0.2, 0.1]},
    }
    ends = {}
    for method in ("aba", "variational", "variational_maximal"):
        found = braked(tmp_path, joint, method, 0.5, com=[0.05, 0.02, -0.1], inertia={"principal": [0.2, 0.25, 0.3]})
        ends[method] = found("bodies/position")[-1, 0], found("joints/axle/v")[-1]
        assert np.abs(found("energy/ledger_residual")).max() < 2e-3
    for k in range(2):
        np.testing.assert_allclose(ends["variational"][k], ends["aba"][k], rtol=0, atol=2e-3)
        np.testing.assert_allclose(ends["variational_maximal"][k], ends["variational"][k], rtol=0, atol=1e-6)
