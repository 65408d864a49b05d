"""Brakes, friction of joints with a given limit: closed forms, rest without creep, and passes against rows."""

from __future__ import annotations

import numpy as np
import pytest
from friction_trees import compare_with_rows, most_passes, prepared, simulated
from test_loop_friction import four_bar
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
