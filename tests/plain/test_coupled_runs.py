"""Runs with forces that depend on other coordinates, in compiled code: against exact motions, `rk4` and springs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from loops import start

pytestmark = pytest.mark.compiled  # many steps


RAIL = {"type": "prismatic", "axis": [1, 0, 0]}
CART = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}


def test_a_step_has_the_derivatives_at_its_start():
    """The force on b is -1000 t x, where x = t moves freely: a step changes v by -h 1000 t (x + h)."""
    joints = {"a": {**RAIL, "child": "a", "v": 1}, "b": {**RAIL, "child": "b", "force": "-1000*t*joints.a.q"}}
    scene, h = {"gravity": [0, 0, 0], "bodies": dict.fromkeys(joints, CART), "joints": joints}, 0.01
    found = start(scene, integrator="linearly_implicit_euler", step=h).advance(5 * h).state.v[1]
    assert found == pytest.approx(-1000 * h * sum(k * h * (k + 1) * h for k in range(5)), rel=1e-12)


@pytest.mark.parametrize("integrator", ["linearly_implicit_euler", "sdirk2"])
def test_a_clipped_activation_is_constant(integrator):
    joints = {name: {**RAIL, "child": name, "v": v} for name, v in (("a", 1), ("b", -2))}
    path = [{"body": "world", "point": [-0.5, 0, 0]}, {"body": "b"}]
    muscle = {"path": path, "max_isometric_force": 800, "optimal_length": 0.4, "tendon_slack_length": 0.1}
    scene = {"gravity": [0, 0, 0], "bodies": dict.fromkeys(joints, CART), "joints": joints}
    found, wanted = (
        start({**scene, "muscles": {"m": {**muscle, "activation": one}}}, integrator=integrator, step=0.01)
        .advance(0.05)
        .state
        for one in ("1.5 + joints.a.q", 1)
    )
    np.testing.assert_array_equal(found.q, wanted.q)
    np.testing.assert_array_equal(found.v, wanted.v)


def test_the_implicit_terms_of_an_activation_keep_momentum():
    joints = {name: {**RAIL, "child": name, "q": q, "v": v} for name, q, v in (("a", 0.0, 0.1), ("b", 0.5, -0.2))}
    muscle = {"path": [{"body": "a"}, {"body": "b"}], "max_isometric_force": 800, "optimal_length": 0.4}
    muscle |= {"tendon_slack_length": 0.1, "activation": "0.5 + 0.2*joints.a.v - 0.1*joints.b.q"}
    scene = {"gravity": [0, 0, 0], "bodies": dict.fromkeys(joints, CART), "joints": joints, "muscles": {"m": muscle}}
    found = start(scene, integrator="linearly_implicit_euler", step=0.01).advance(0.05).state.v
    assert abs(found[0]) > 1.0
    assert found.sum() == pytest.approx(-0.1, abs=1e-12)


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff"])
@pytest.mark.parametrize("on_body", [False, True])
def test_the_stages_of_sdirk2_have_prescribed_rates_of_their_own(method, on_body):
    """A damper to a cart with the acceleration s: u' = -c u - s for the difference u of the rates, of second order."""
    cart, rail = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}, {"type": "prismatic", "axis": [1, 0, 0]}
    joints = {"a": {**rail, "child": "a", "motion": {"position": "40*t**2"}}, "b": {**rail, "child": "b", "v": -3}}
    force = "-30*(joints.b.v - joints.a.v)"
    scene = {"gravity": [0, 0, 0], "bodies": dict.fromkeys(joints, cart), "joints": joints}
    if on_body:
        scene["forces"] = {"load": {"body": "b", "force": [force, 0, 0]}}
    else:
        joints["b"]["force"] = force
    c, s, time = 30.0, 80.0, 0.1
    wanted = (-3.0 + s / c) * np.exp(-c * time) - s / c + s * time
    ends = [start(scene, method, integrator="sdirk2", step=time / n).advance(time) for n in (20, 40, 80)]
    errors = np.abs([end.joint("b", "velocity")[0] - wanted for end in ends])
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), 2.0, atol=0.05)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
@pytest.mark.parametrize("on_body", [False, True])
def test_sdirk2_keeps_its_order_with_rates_of_loop_joints(method, on_body):
    """The slide of a crank closes the loop, with a velocity-product acceleration; the limit is that of rk4."""
    hinge, there = {"axis": [0, 0, 1], "type": "revolute"}, {"position": [0.5, 0, 0]}
    joints = {
        "crank": {**hinge, "child": "c", "q": 0.7, "v": 2},
        "rod": {**hinge, "parent": "c", "child": "r", "origin": there, "q": -1.4},
        "pin": {**hinge, "parent": "r", "child": "s", "origin": there, "q": 0.7},
        "slide": {"type": "prismatic", "axis": [1, 0, 0], "child": "s", "q": math.cos(0.7)},
    }
    body = {"mass": 1, "inertia": {"principal": [0.1, 0.1, 0.1]}}
    scene = {"gravity": [0, 0, 0], "bodies": dict.fromkeys("crs", body), "joints": joints}
    if on_body:
        scene["forces"] = {"load": {"body": "c", "torque": [0, 0, "-3*joints.slide.v"]}}
    else:
        joints["crank"]["force"] = "-3*joints.slide.v"
    time = 0.1
    wanted = start(scene, "aba", integrator="rk4", step=time / 40).advance(time).joint("crank", "velocity")[0]
    ends = [start(scene, method, integrator="sdirk2", step=time / n).advance(time) for n in (10, 20, 40)]
    errors = np.abs([end.joint("crank", "velocity")[0] - wanted for end in ends])
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), 2.0, atol=0.1)


# --- springs of length 0, written as loads ----------------------------------------------------------------------------
POINT, PLACE = [0.1, -0.1, 0.15], [0.3, 0.4, 0.5]
BOX = {"mass": 1.3, "position": PLACE, "shapes": [{"type": "box", "size": [0.2, 0.3, 0.4]}]}


def check_spring(scene, method, read):
    """Compare runs with a spring from the ground to the body, and with a load that reads the position of its end."""
    ends = [{"body": "world", "point": [0, 0, 0]}, {"body": "body", "point": POINT}]
    spring = {"between": ends, "stiffness": 900, "rest_length": 0}
    load = {"body": "body", "point": POINT, "force": [f"-900*{read}.position.{axis}" for axis in "xyz"]}
    for integrator in ("linearly_implicit_euler", "sdirk2"):
        found, wanted = (
            start({**scene, **force}, method, integrator=integrator, step=0.01).advance(0.05).state
            for force in ({"forces": {"load": load}}, {"springs": {"spring": spring}})
        )
        np.testing.assert_allclose(found.q, wanted.q, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(found.v, wanted.v, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
def test_a_load_takes_the_steps_of_the_spring_that_it_writes(method):
    body = {**BOX, "velocity": {"linear": [1, 2, 3], "angular": [1, -2, 0.5]}}
    check_spring({"bodies": {"body": body}}, method, f"bodies.body.point({', '.join(map(str, POINT))})")


def test_a_load_at_a_marker_of_an_affine_body_takes_the_steps_of_the_spring():
    """The load reads the body on a ball joint at the marker."""
    body = {**BOX, "kind": "affine", "velocity": {"linear": [1, 2, 3], "angular": [0, 0, 0]}}
    end = {"mass": 0.5, "inertia": {"principal": [0.01, 0.02, 0.015]}}
    joints = {
        "rail": {"type": "translational", "child": "end", "q": np.add(POINT, PLACE).tolist(), "v": [1, 2, 3]},
        "ball": {"type": "spherical", "parent": "body", "child": "end", "origin": {"position": POINT}},
    }
    check_spring({"bodies": {"body": body, "end": end}, "joints": joints}, "baraff", "bodies.end")


def test_rates_relative_to_a_marker_have_the_acceleration_of_its_body():
    """With the place p and rate u relative to the falling marker, (m + h c + h^2 k) (x - g) = -k (p + h u) - c u."""
    m, k, c, h, g = 0.5, 900.0, 40.0, 0.01, 3.0
    parts = [{"type": kind, "axis": axis} for kind in ("prismatic", "revolute") for axis in np.eye(3).tolist()]
    body = {**BOX, "kind": "affine", "velocity": {"linear": [1, 2, 3], "angular": [0, 0, 0]}}
    joints = {
        "rail": {"type": "translational", "child": "end", "q": [0.5, 0.6, 0.7], "v": [4, 0, 2]},
        "gap": {"type": "composite", "parts": parts, "parent": "body", "child": "end", "origin": {"position": POINT}},
    }
    joints["gap"]["q"] = [0.1, 0.3, 0.05, 0, 0, 0]
    end = {"mass": m, "inertia": {"principal": [0.01, 0.02, 0.015]}}
    load = {"body": "end", "force": [f"-{k}*joints.gap.q[0] - {c}*joints.gap.v[0]", 0, 0]}
    scene = {"gravity": [g, 0, 0], "bodies": {"body": body, "end": end}, "joints": joints, "forces": {"load": load}}
    found = start(scene, "baraff", integrator="linearly_implicit_euler", step=h).advance(h).joint("rail", "velocity")
    x = g - (k * (0.1 + h * 3.0) + c * 3.0) / (m + h * c + h * h * k)
    np.testing.assert_allclose(found, [4.0 + h * x, 0.0, 2.0], rtol=0.0, atol=1e-12)
