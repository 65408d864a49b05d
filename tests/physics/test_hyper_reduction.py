"""Couplings as a change of coordinates: functions with `reduce`, chains of them, and relations among their outputs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import loaded, start

from multibody_cli import compile_scene
from multibody_cli.errors import SceneError

METHODS = ["aba", "redmax", "symbolic", "variational"]
NAMES = "abcd"


def arm(reduce, **joints):
    """Four links: b = a + sin(a)/5, c = a b/2 by the output of another map, d = 2 c - b by a relation."""
    rod = {"mass": 1.0, "shapes": [{"type": "box", "size": [0.2, 0.05, 0.04]}]}
    hinge = {"type": "revolute", "child_origin": {"position": [-0.1, 0, 0]}}
    chain = {
        name: {**hinge, "child": name, "axis": [0.2 * k, 1.0, 0.1], **joints.get(name, {})}
        for k, name in enumerate(NAMES)
    }
    for parent, name in itertools.pairwise(NAMES):
        chain[name] |= {"parent": parent, "origin": {"position": [0.1, 0, 0]}}
    return {
        "bodies": dict.fromkeys(NAMES, rod),
        "joints": chain,
        "couplings": {
            "late": {"type": "linear", "terms": {"d": 1, "c": -2, "b": 1}, "reduce": reduce},
            "two": {"type": "function", "output": "c", "inputs": {"x": "a", "y": "b"}, "value": "x*y/2"},
            "one": {"type": "function", "output": "b", "inputs": {"x": "a"}, "value": "x + sin(x)/5"},
        },
    } | {"gravity": [0, 0, -9.81]}


def coordinates_of_arm(a):
    b = a + np.sin(a) / 5
    c = a * b / 2
    return np.array([a, b, c, 2 * c - b])


def reduced(**joints):
    scene = arm(True, **joints)
    for coupling in scene["couplings"].values():
        coupling["reduce"] = True
    return scene


def energy(samples):
    return samples.kinetic[0] + samples.potential[0]


START = {"q": 0.7, "v": 0.4, "stiffness": 3.0, "damping": 0.05, "force": "0.3*cos(3*t)"}


@pytest.mark.parametrize("method", METHODS[:3])
def test_the_motion_is_that_of_the_constrained_system(method):
    options = {"integrator": "rk4", "step": 1e-3}
    sprung = {"a": START, "d": {"stiffness": 5.0, "rest": 0.2}, "b": {"damping": 0.1}}
    runs = [start(scene, method, **options) for scene in (arm(False, **sprung), reduced(**sprung))]
    for run in runs:
        run.advance(0.5)
    (one,), (other,) = ([run.state.q[:4]] for run in runs)
    np.testing.assert_allclose(other, one, atol=1e-10)
    np.testing.assert_allclose(runs[1].state.v[:4], runs[0].state.v[:4], atol=1e-10)
    np.testing.assert_allclose(runs[1].state.a[:4], runs[0].state.a[:4], atol=1e-8)
    np.testing.assert_array_equal(other, coordinates_of_arm(other[0]))  # no drift, to the last bit


@pytest.mark.parametrize("method", METHODS[1:])
def test_methods_agree(method):
    step = 1e-3 if method != "variational" else 1e-4
    runs = [
        start(reduced(a=START), "aba", integrator="rk4", step=1e-3),
        start(reduced(a=START), method, integrator="rk4", step=step),
    ]
    one, other = (run.advance(0.2).state.q[:4].copy() for run in runs)
    np.testing.assert_allclose(other, one, atol=1e-10 if method != "variational" else 1e-7)
    np.testing.assert_allclose(other, coordinates_of_arm(other[0]), rtol=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_energy_is_conserved(method):
    run = start(reduced(a={"q": 0.7, "v": 0.4}), method, integrator="rk4", step=1e-3)
    before = energy(run.observed())
    tolerance = 1e-9 if method != "variational" else 1e-4
    assert energy(run.advance(1.0).observed()) == pytest.approx(before, abs=tolerance)


def slides(**more):
    """Two bodies on slides along z: b = a^2 - a."""
    body = {"mass": 1.0, "inertia": {"principal": [1.0, 1.0, 1.0]}}
    slide = {"type": "prismatic", "axis": [0, 0, 1]}
    joints = {name: {**slide, "child": name, **more.get(name, {})} for name in "ab"}
    parabola = {"type": "function", "output": "b", "inputs": {"x": "a"}, "value": "x**2 - x", "reduce": True}
    return {"bodies": {"a": body, "b": {**body, "mass": 3.0}}, "joints": joints, "couplings": {"map": parabola}}


@pytest.mark.parametrize("method", METHODS[:3])
@pytest.mark.parametrize("a", [0.5, 0.0, 2.0])
def test_accelerations_are_those_of_one_coordinate(method, a):
    """E^T M E and the force by hand; the map is stationary at a = 0.5."""
    speed, stiffness, damping = 0.3, 7.0, 0.4
    scene = slides(a={"q": a, "v": speed, "force": 2.0}, b={"stiffness": stiffness, "damping": damping, "rest": 0.1})
    run = start(scene, method)
    slope, b, rate = 2 * a - 1, a * a - a, (2 * a - 1) * speed
    load = 2.0 - 9.81 + slope * (-stiffness * (b - 0.1) - damping * rate - 3 * 9.81)
    expected = (load - 3 * slope * 2 * speed**2) / (1 + 3 * slope**2)
    assert run.state.a[0] == pytest.approx(expected, rel=1e-12)
    assert run.state.a[1] == pytest.approx(slope * expected + 2 * speed**2, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_of_a_dependent_coordinate_stops_the_independent_one(method):
    """b = a^2 - a falls to its least value -1/4 if nothing stops it; from a = 1 it meets -0.2 at a = 0.7236."""
    scene = slides(a={"q": 1.0, "v": -1.0}, b={"limits": [-0.2, None]}) | {"gravity": [0, 0, 0]}
    run = start(scene, method, integrator="semi_implicit_euler", step=1e-3).advance(1.0)
    assert run.state.q[0] == pytest.approx((1 + np.sqrt(0.2)) / 2, abs=2e-6)
    np.testing.assert_allclose(run.state.v[:2], 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"again": {"output": "b", "inputs": {"x": "c"}}}, "its output is prescribed, or that of another coupling"),
        (
            {"back": {"output": "a", "inputs": {"x": "d"}}},
            "its coordinates depend on each other in a circle: `",
        ),
    ],
)
def test_maps_that_determine_no_coordinates_are_refused(change, message):
    scene = reduced()
    for name, one in change.items():
        scene["couplings"][name] = {"type": "function", "value": "x", "reduce": True, **one}
    with pytest.raises(SceneError, match=rf"couplings\.\w+\.reduce: cannot be reduced: {message}"):
        compile_scene(loaded(scene))


def test_a_prescribed_output_is_refused():
    with pytest.raises(SceneError, match=r"couplings.map.reduce: cannot be reduced: its output is prescribed"):
        compile_scene(loaded(slides(b={"motion": {"position": "0.1*t"}})))


def test_an_output_follows_a_prescribed_input():
    run = start(slides(a={"motion": {"position": "0.2 + 0.5*t"}}), "aba", step=1e-3).advance(0.4)
    np.testing.assert_allclose([run.state.q[1], run.state.v[1], run.state.a[1]], [0.16 - 0.4, -0.1, 0.5], atol=1e-12)


@pytest.mark.parametrize(("word", "good", "bad"), [("q", 0.75, 0.8), ("v", 0.4, 0.5)])
def test_a_given_output_that_contradicts_its_input_is_refused(word, good, bad):
    scene = slides(a={"q": 1.5, "v": 0.2})
    scene["joints"]["b"][word] = good
    assert not compile_scene(loaded(scene)).warnings
    scene["joints"]["b"][word] = bad
    with pytest.raises(SceneError, match=rf"joints.b.{word}: contradicts `{word}` of `a`, which a coupling with"):
        compile_scene(loaded(scene))


def test_maximal_coordinates_are_refused():
    with pytest.raises(SceneError, match="does not support couplings with `reduce: true`"):
        loaded(slides(), method="baraff")
