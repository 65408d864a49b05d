"""Given coordinates and rates of joints that close loops: they place and start the mechanism."""

from __future__ import annotations

import numpy as np
import pytest
from loops import close_loops, loaded, start
from test_assembly import bar, four_bar, refusal, without

from multibody_cli.compile import compile_scene


def test_an_inconsistent_rate_of_a_loop_joint_is_refused():
    message = refusal(four_bar(ja={"v": 2.0}, close={"v": 11.0}))
    assert "joints.close.v" in message
    assert "this joint closes a loop" in message


@pytest.mark.parametrize("off", [0.0, 2 * np.pi, 0.3, -np.pi])
def test_a_coordinate_of_a_loop_joint_that_its_bodies_contradict_has_a_warning(off):
    """Rounding and full turns agree; the start is that of the bodies in all cases."""
    plain = compile_scene(loaded(four_bar()))
    [closing] = (joint for joint in plain.model.names.joints if joint.name == "close")
    value = plain.state.q[closing.positions].item()
    found = compile_scene(loaded(four_bar(close={"q": value + 0.001 + off})))
    warned = [warning for warning in found.warnings if "joints.close.q: is not the start" in warning]
    assert len(warned) == (off in (0.3, -np.pi))
    for warning in warned:
        assert f"its bodies start at {found.state.q[closing.positions].item():.6g};" in warning
    bodies = slice(closing.positions.start)
    np.testing.assert_array_equal(found.state.q[bodies], plain.state.q[bodies])


@pytest.mark.parametrize("turns", [0, 1, -2])
@pytest.mark.parametrize("angle", [0.3, np.pi / 2, -2.5, np.pi])
def test_a_given_coordinate_of_a_loop_joint_is_the_start(angle, turns):
    """The second bar turns about the hinge that ties it to the world; its angle is counted as given, full turns too."""
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    scene = {
        "bodies": {"a": bar(1.0), "b": bar(1.0)},
        "joints": {
            "base": {**hinge, "child": "a"},
            "tip": {**hinge, "parent": "a", "child": "b", "origin": {"position": [1.0, 0, 0]}},
            "tie": {**hinge, "child": "b", "origin": {"position": [1.0, 0, 0]}, "q": angle + 2 * np.pi * turns},
        },
    }
    found = compile_scene(loaded(scene))
    assert not any("is not the start" in warning for warning in found.warnings)
    np.testing.assert_allclose(found.state.q, [0.0, angle, angle + 2 * np.pi * turns], rtol=0, atol=1e-10)


@pytest.mark.parametrize("stroke", [1.6, 1.3, 1.0, 0.8 + 1e-9, 0.8])
@pytest.mark.parametrize("crank", [0.0, 0.4, -2.0, np.pi])
def test_the_position_of_a_piston_places_the_crank(stroke, crank):
    """A crank of 0.4 m and a rod of 1.2 m, from any crank angle to any stroke, dead centres included."""
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    rod = -np.arcsin(0.4 / 1.2 * np.sin(crank)) - crank
    along = {"position": [0, 0, 0]}
    scene = {
        "bodies": {"crank": bar(0.4), "rod": bar(1.2), "piston": bar(0.1)},
        "joints": {
            "main": {**hinge, "child": "crank"},
            "pin": {**hinge, "parent": "crank", "child": "rod", "origin": {"position": [0.4, 0, 0]}},
            "wrist": {**hinge, "parent": "rod", "child": "piston", "origin": {"position": [1.2, 0, 0]}},
            "guide": {"type": "prismatic", "axis": [1, 0, 0], "child": "piston", "origin": along},
        },
    }
    for name, q in (("main", crank), ("pin", rod), ("wrist", -crank - rod)):
        scene["joints"][name]["q"] = float(q)
    closed = compile_scene(loaded(scene)).state.q
    for name in ("main", "pin", "wrist"):
        del scene["joints"][name]["q"]
    scene["joints"]["guide"]["q"] = stroke
    found = compile_scene(loaded(scene, assembly_tolerance=10.0)).state.q
    assert closed[3] == pytest.approx(0.4 * np.cos(crank) + np.sqrt(1.44 - 0.16 * np.sin(crank) ** 2), abs=1e-10)
    assert found[3] == pytest.approx(stroke, abs=1e-9)
    assert 0.4 * np.cos(found[0]) + np.sqrt(1.44 - 0.16 * np.sin(found[0]) ** 2) == pytest.approx(stroke, abs=1e-9)


def test_given_coordinates_of_the_tree_win_over_one_of_a_loop_joint():
    """The crank keeps its angle, and the loop joint, which it determines, has a warning."""
    scene = four_bar(close={"q": 0.9})
    found = compile_scene(loaded(without(without(scene, "jb", "q"), "jc", "q"), assembly_tolerance=5.0))
    assert found.state.q[0] == -0.9
    assert any("joints.close.q: is not the start" in warning for warning in found.warnings)


def test_rates_follow_from_a_given_rate_of_a_loop_joint():
    """The rate of the joint that closes the loop determines those of a four-bar, as that of its crank does."""
    by_crank = compile_scene(loaded(four_bar(ja={"v": 2.0}))).state.v
    scene = four_bar(close={"v": float(by_crank[3])})
    np.testing.assert_allclose(compile_scene(loaded(scene)).state.v, by_crank, rtol=0, atol=1e-11)
    scene["bodies"]["driven"] = bar(0.3)
    scene["joints"]["shaft"] = {"type": "revolute", "child": "driven", "motion": {"velocity": "1"}}
    beside = start(scene)
    assert beside.joint("ja", "velocity")[0] == pytest.approx(2.0, abs=1e-11)
    assert beside.joint("shaft", "velocity")[0] == 1.0


def test_given_rates_of_a_loop_joint_and_of_the_tree_are_both_kept():
    """A five-bar has two degrees of freedom; one given rate of each determine the others."""
    scene = four_bar()
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    scene["bodies"]["d"] = bar(0.4)
    joints = scene["joints"]
    closing = joints.pop("close")
    joints["jd"] = {**hinge, "parent": "b", "child": "d", "origin": {"position": [1.2, 0, 0]}, "q": 0.4}
    joints["close"] = closing | {"parent": "d", "origin": {"position": [0.4, 0, 0]}, "q": 0.1}
    close_loops(scene)
    del joints["close"]["q"]
    joints["ja"]["v"] = 1.5
    joints["close"]["v"] = -0.7
    found = compile_scene(loaded(scene))
    assert found.state.v[0] == 1.5
    assert found.state.v[4] == pytest.approx(-0.7, abs=1e-11)
    del joints["close"]["v"]
    joints["jd"]["v"] = float(found.state.v[2])
    np.testing.assert_allclose(compile_scene(loaded(scene)).state.v, found.state.v, rtol=0, atol=1e-10)


def ring(order, place=None, **hinge):
    """A ring of six bars that a free joint carries, with its joints in an order."""
    ends = {"origin": {"position": [0.5, 0, 0], "rotation": {"axis": [0, 1, 0], "angle": np.pi / 3}}}
    ends["child_origin"] = {"position": [-0.5, 0, 0]}
    joints = {
        f"h{i}": {"type": "revolute", "axis": [0, 1, 0], "parent": f"b{i}", "child": f"b{(i + 1) % 6}", **ends}
        for i in range(6)
    }
    joints["h2"] |= hinge
    joints["base"] = {
        "type": "free",
        "child": "b0",
        "q": place or {},
        "v": {"linear": [1, 2, 3], "angular": [3, -1, 2]},
    }
    bodies = {f"b{i}": {"mass": 1.0 + i, "inertia": {"principal": [0.1, 0.2, 0.2]}} for i in range(6)}
    return {"gravity": [0, 0, 0], "bodies": bodies, "joints": {name: joints[name] for name in order.split()}}


ORDERS = ("base h0 h1 h2 h3 h4 h5", "h5 base h0 h1 h2 h3 h4", "h3 h2 h5 h1 base h4 h0", "h4 h0 h1 h2 h3 h5 base")
TILTED = {"position": [0.3, -0.2, 0.5], "rotation": {"axis": [1, 2, 3], "angle": 2.0}}


@pytest.mark.parametrize("place", [None, TILTED])
@pytest.mark.parametrize("order", ORDERS)
def test_consistent_rates_are_the_start_in_any_order_of_the_joints(order, place):
    """The hinges leave their rates out, so that the ring turns as one rigid body, as the free joint has it."""
    run = start(ring(order, place))
    found = run.observed()
    x, v, w = found.position[0], found.linear_velocity[0], found.angular_velocity[0]
    np.testing.assert_allclose(x[0], TILTED["position"] if place else 0.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(w, np.tile([3.0, -1.0, 2.0], (6, 1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(v - np.cross(w, x - x[0]), np.tile([1.0, 2.0, 3.0], (6, 1)), rtol=0, atol=1e-12)
    assert run.errors()[0] < 1e-12
    assert not any("that the scene leaves out" in warning for warning in run.compiled.warnings)


@pytest.mark.parametrize("hinge", [{"v": 2.0}, {"motion": {"velocity": 2.0}}])
def test_rates_that_follow_are_those_of_least_energy_in_any_order_of_the_joints(hinge):
    """One hinge turns relative to the others; all given rates are kept, also those that are 0."""
    runs = [start(ring(order, TILTED, **hinge)) for order in ORDERS]
    for run in runs:
        assert run.joint("h2", "velocity")[0] == pytest.approx(2.0, abs=1e-11)
        np.testing.assert_allclose(run.joint("base", "velocity"), [1, 2, 3, 3, -1, 2], rtol=0, atol=1e-11)
        np.testing.assert_allclose(run.joint("h4", "velocity"), runs[0].joint("h4", "velocity"), rtol=0, atol=1e-11)
        assert run.observed().kinetic[0] == pytest.approx(runs[0].observed().kinetic[0], rel=1e-11)
