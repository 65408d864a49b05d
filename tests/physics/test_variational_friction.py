"""Dry friction of joints in variational steps: closed forms, momenta, energy, both methods, and short steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
import yaml

from multibody_cli import MemorySink, prepare

METHOD = pytest.mark.parametrize("method", ["variational", "variational_maximal"])
G, MU, REACH = 9.81, 0.4, 0.5


@pytest.fixture
def play(tmp_path):
    """Run a scene that is given as a mapping."""

    def play(method, scene, *settings):
        file = tmp_path / "scene.yaml"
        file.write_text(yaml.safe_dump({"mbsim": 1, **scene}), encoding="utf-8")
        sink = MemorySink()
        words = (f"simulation.method={method}", "simulation.alarms.phase=false", "simulation.alarms.ledger=false")
        prepare(file, [*words, *settings]).run(sink)
        trajectory = sink.trajectory()
        assert trajectory.attributes["status"] == "complete"
        assert not trajectory.attributes["message"]
        return trajectory

    return play


def slider_on_a_turntable(omega, h, **motion):
    guide = {"coefficient": MU, "surface": {"size": [0.1, 0.03, 0.03]}}
    slider = {"type": "prismatic", "axis": [1, 0, 0], "parent": "table", "child": "slider", "q": REACH}
    return {
        "bodies": {
            "table": {"mass": 1.0, "inertia": {"principal": [0.1] * 3}},
            "slider": {"mass": 2.0, "inertia": {"principal": [0.004] * 3}},
        },
        "joints": {
            "spin": {"type": "revolute", "child": "table", **(motion or {"v": omega})},
            "guide": {**slider, "friction": guide},
        },
        "simulation": {"duration": 0.5, "step": h},
        "output": {"every": h},
    }


@METHOD
@pytest.mark.parametrize("driven", [True, False])
def test_a_slider_on_a_turntable_stays_until_the_centrifugal_force_is_that_of_friction(play, method, driven):
    """The slider holds for omega^2 r < mu g although its velocity changes within the step; here omega h is 0.03."""
    for excess, slides in ((-1e-3, False), (1e-3, True)):
        omega = math.sqrt(MU * G / REACH) * (1.0 + excess)
        motion = {"motion": {"velocity": omega}} if driven else {}
        found = play(method, slider_on_a_turntable(omega, 1e-2, **motion))
        moved = found.channel("joints/guide/q").values[:, 0] - REACH
        if slides:
            assert moved[-1] > 1e-4
            assert np.diff(moved).min() > -1e-9
        else:
            assert np.abs(moved).max() < 1e-8


def floating_chain(n=5):
    rng = np.random.default_rng(1)
    bodies, joints = {}, {}
    for i in range(n):
        com, axis, rate = rng.uniform(-0.2, 0.2, 3).tolist(), rng.normal(size=3), 3.0 * float(rng.normal())
        bodies[f"b{i}"] = {"mass": 1.0, "com": com, "inertia": {"principal": [0.02, 0.025, 0.03]}}
        joints[f"j{i}"] = {
            "type": "revolute",
            "axis": (axis / np.linalg.norm(axis)).tolist(),
            "parent": f"b{i - 1}",
            "child": f"b{i}",
            "origin": {"position": [0.4, 0, 0]},
            "v": rate,
            "friction": {"coefficient": 0.3, "surface": {"radius": 0.03, "length": 0.1}},
        }
    joints["j0"] = {"type": "free", "child": "b0", "v": {"linear": [0.1, 0.2, 0.3], "angular": [1, 2, -1]}}
    settings = {"duration": 0.5, "step": 2e-3}
    return {"bodies": bodies, "joints": joints, "gravity": [0, 0, 0], "simulation": settings, "output": {"every": 2e-3}}


@METHOD
def test_friction_takes_energy_and_no_momentum(play, method):
    found = play(method, floating_chain())
    for momentum in ("momentum/discrete_linear", "momentum/discrete_angular"):
        values = found.channel(momentum).values[1:]
        np.testing.assert_allclose(values, np.broadcast_to(values[0], values.shape), atol=1e-8 * np.abs(values).max())
    energy = found.channel("energy/total").values
    assert np.diff(energy).max() < 0.0
    assert np.diff(found.channel("energy/modified").values[1:]).max() < 0.0
    lost = [found.channel(f"energy/dissipation/joints/j{i}/friction").values for i in range(1, 5)]
    assert min(np.diff(values).min() for values in lost) >= 0.0
    assert sum(values[-1] for values in lost) == pytest.approx(energy[0] - energy[-1], rel=1e-3)
    assert energy[0] - energy[-1] > 0.05 * energy[0]


@METHOD
def test_short_steps_have_the_motion_of_explicit_steps(play, method):
    """Both are of first order; the reference has steps of a thirty-second of the shortest."""
    ends = {}
    for name, h in ((method, 4e-3), (method, 2e-3), (method, 1e-3), ("aba", 1e-3 / 32)):
        words = (f"simulation.step={h}", f"output.every={h}", "simulation.duration=0.2")
        ends[name, h] = play(name, floating_chain(), *words).channel("bodies/position").values[-1]
    reference = ends["aba", 1e-3 / 32]
    errors = [np.abs(ends[method, h] - reference).max() for h in (4e-3, 2e-3, 1e-3)]
    assert max(errors) < 2e-5  # of which 1.2e-5 is the error of the reference


def pendulum():
    """Two bars on hinges with friction, of which the second one is held at first."""
    scene = floating_chain(3)
    scene["joints"]["j0"] = {**scene["joints"]["j1"], "parent": "world", "child": "b0", "v": 1.0}
    scene["joints"]["j2"]["friction"]["coefficient"] = 3.0
    scene["gravity"] = [0, 0, -G]
    return scene


def four_bar():
    """A crank and a rocker on parallel axes, and a coupler with ball joints; friction also in the loop joint."""
    journal = {"coefficient": 0.4, "surface": {"radius": 0.03, "length": 0.05}}
    socket = {"coefficient": 0.4, "surface": {"radius": 0.03}}
    bar = {"mass": 1.0, "com": [0.25, 0, 0], "inertia": {"principal": [0.005, 0.02, 0.02]}}
    tip = {"position": [0.5, 0, 0]}
    up, across = ({"axis": [0, 0, 1], "angle": f"{angle} deg"} for angle in (90, -90))
    hinge = {"type": "revolute", "v": 5.0, "friction": journal}
    ball = {"type": "spherical", "parent": "crank", "child": "coupler", "v": [0, 0, -5.0], "friction": socket}
    loop = {"type": "spherical", "parent": "rocker", "child": "coupler", "origin": tip, "child_origin": tip}
    return {
        "bodies": {"crank": bar, "rocker": bar, "coupler": bar},
        "joints": {
            "crank": {**hinge, "child": "crank", "origin": {"rotation": up}},
            "rocker": {**hinge, "child": "rocker", "origin": {**tip, "rotation": up}},
            "coupler": {**ball, "origin": {**tip, "rotation": across}},
            "loop": {**loop, "friction": socket},
        },
        "gravity": [0, -G, 0],
        "simulation": {"duration": 0.2, "step": 2e-3},
        "output": {"every": 2e-3},
    }


@pytest.mark.parametrize("scene", [pendulum(), floating_chain(), four_bar()], ids=["pendulum", "chain", "loop"])
def test_both_methods_have_the_same_motion_and_friction_from_the_first_step_on(play, scene):
    """They solve the same equations in different unknowns.  Explicit steps have the same limit."""
    found = {method: play(method, scene) for method in ("variational", "variational_maximal")}
    reduced, maximal = found["variational"], found["variational_maximal"]
    for channel in (
        "bodies/position",
        *(f"joints/{name}/friction" for name in scene["joints"] if "friction" in scene["joints"][name]),
    ):
        expected = reduced.channel(channel).values
        np.testing.assert_allclose(
            maximal.channel(channel).values, expected, atol=1e-7 * max(1.0, np.abs(expected).max())
        )
    fine = play("aba", scene, "simulation.step=0.1 ms").channel("bodies/position").values
    assert np.abs(maximal.channel("bodies/position").values - fine).max() < 5e-3


@METHOD
def test_contacts_elsewhere_do_not_change_the_loads_of_a_joint(play, method):
    """The friction of one hinge of a cross loads the other, whether or not a step has contacts."""
    cross = {
        "type": "universal",
        "child": "arm",
        "v": [3.0, -2.0],
        "friction": {"coefficient": 0.4, "surface": {"radius": 0.05, "length": 0.1}},
    }
    arm = {"mass": 1.0, "com": [0.1, 0.2, -0.3], "inertia": {"principal": [0.02, 0.025, 0.03]}}
    settings = {"simulation": {"duration": 0.1, "step": 1e-3}, "output": {"every": 1e-3}}
    alone = {"bodies": {"arm": arm}, "joints": {"cross": cross}, **settings}
    ball = {"mass": 1.0, "shapes": [{"type": "sphere", "radius": 0.1}], "position": [5.0, 0, 0.1001]}
    world = {"world": {"shapes": [{"type": "plane"}]}, "contacts": {"friction": 0.3}}
    beside = {**alone, **world, "bodies": {"arm": arm, "ball": ball}}
    for channel in ("joints/cross/v", "joints/cross/friction"):
        expected = play(method, alone).channel(channel).values
        np.testing.assert_allclose(play(method, beside).channel(channel).values, expected, atol=1e-8)


@METHOD
@pytest.mark.parametrize("h", [2e-3, 1e-3, 5e-4])
def test_the_drive_of_a_rope_that_catches_beside_friction_does_its_work_once(play, method, h):
    """A cart with a brake runs to the end of a rope on a driven one; the step of friction foresees it, or not."""
    solid = {"mass": 1.0, "inertia": {"principal": [0.01] * 3}}
    rail = {"type": "prismatic", "axis": [1, 0, 0]}
    driven = {**rail, "child": "driven", "motion": {"velocity": "0.5"}, "origin": {"position": [-1, 0, 0]}}
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"cart": solid, "driven": solid},
        "joints": {"cart": {**rail, "child": "cart", "v": 2.0, "friction": {"force": 0.5}}, "driven": driven},
        "constraints": {
            "rope": {"type": "distance", "between": [{"body": "cart"}, {"body": "driven"}], "limits": [None, 1.3]}
        },
        "simulation": {"duration": 0.4, "step": h},
        "output": {"every": 2e-3},
    }
    found = play(method, scene)
    caught = 3.0 - math.sqrt(9.0 - 1.2)  # 1.5 t - t^2 / 4 = 0.3
    closing = 1.5 - 0.5 * caught
    assert np.abs(found.channel("energy/ledger_residual").values).max() < h
    work = found.channel("energy/work/joints/driven/motion").values[-1]
    assert work == pytest.approx(-0.5 * closing, abs=h)
    assert found.channel("energy/dissipation/constraints/rope").values[-1] == pytest.approx(0.5 * closing**2, abs=h)


def two_bars(h, restitution):
    """Two bars on hinges with dry friction, without gravity; the inner hinge has an end stop."""
    friction = {"coefficient": 0.3, "surface": {"radius": 0.02, "length": 0.06}}
    bar = {"mass": 1.0, "com": [0, 0, 0], "inertia": {"principal": [0.02, 0.02, 0.001]}}
    hinge = {"type": "revolute", "axis": [0, 1, 0], "child_origin": {"position": [0, 0, 0.2]}, "friction": friction}
    stop = {"q": 0.6, "v": -10.0, "limits": [0, 2.0], "restitution": restitution}
    knee = {**hinge, **stop, "parent": "a", "child": "b", "origin": {"position": [0, 0, -0.2]}}
    return {
        "gravity": [0, 0, 0],
        "bodies": {"a": bar, "b": bar},
        "joints": {"hip": {**hinge, "child": "a"}, "knee": knee},
        "simulation": {"duration": 0.08, "step": h},
        "output": {"every": h},
    }


EVERY = pytest.mark.parametrize("method", ["aba", "baraff", "variational", "variational_maximal"])


@EVERY
@pytest.mark.parametrize("restitution", [0.0, 1.0])
@pytest.mark.parametrize("h", [1e-4, 4e-5])
def test_an_impact_at_a_limit_does_not_load_the_friction_of_joints(play, method, restitution, h):
    """The hip transmits no moment in the impact at the knee: the angular momentum about it is that before."""
    found = play(method, two_bars(h, restitution))
    x, v, w = (found.channel(f"bodies/{name}").values for name in ("position", "linear_velocity", "angular_velocity"))
    momentum = (0.02 * w[:, :, 1] + np.cross(x, v)[:, :, 1]).sum(axis=1)
    rate = found.channel("joints/knee/v").values[:, 0]
    hit = int(np.argmax(np.abs(np.diff(rate)) > 1.0))
    assert 0 < hit < len(rate) - 6
    assert np.abs(rate[hit] * restitution + rate[hit + 3]) < 0.02 * np.abs(rate[hit])
    usual = np.abs(np.diff(momentum)[: hit - 1]).max()
    assert np.abs(np.diff(momentum)[hit : hit + 5]).max() < 3.0 * usual


@EVERY
@pytest.mark.parametrize("h", [1e-4, 4e-5])
def test_a_rebound_at_a_limit_keeps_the_rate_of_a_hinge_with_friction(play, method, h):
    """A rod on one hinge: friction is c w^2, so that 1/|w| grows at a constant rate, through the rebound too."""
    scene = two_bars(h, 1.0)
    scene["bodies"] = {"a": scene["bodies"]["a"]}
    scene["joints"] = {"hip": {**scene["joints"]["hip"], "q": 0.6, "v": -10.0, "limits": [0, 2.0], "restitution": 1.0}}
    found = play(method, scene)
    slowness, time = 1.0 / np.abs(found.channel("joints/hip/v").values[:, 0]), found.time
    before = time < 0.05
    line = np.polynomial.Polynomial.fit(time[before], slowness[before], 1)
    assert found.channel("joints/hip/v").values[-1, 0] > 9.0
    np.testing.assert_allclose(slowness[-1], line(time[-1]), rtol=2.0 * h * 10.0)


@EVERY
@pytest.mark.parametrize("h", [1e-3, 2e-4])
def test_a_load_on_an_end_stop_loads_the_guide_that_carries_it(play, method, h):
    """A load drops onto the end stop of its rail on a sledge, and rests there: friction is mu (m1 + m2) g from then on.

    Before, it is mu m1 g; the impact causes none.
    """
    inertia = {"principal": [0.01] * 3}
    guide = {"coefficient": 0.2, "surface": {"size": [0.4, 0.02, 0.02]}}
    sledge = {"type": "prismatic", "axis": [1, 0, 0], "child": "sledge", "v": 3.0, "friction": guide}
    rail = {"type": "prismatic", "axis": [0, 0, 1], "parent": "sledge", "child": "load", "q": 0.05, "limits": [0, 1]}
    scene = {
        "bodies": {"sledge": {"mass": 1.0, "inertia": inertia}, "load": {"mass": 2.0, "inertia": inertia}},
        "joints": {"sledge": sledge, "rail": rail},
        "simulation": {"duration": 0.4, "step": h},
        "output": {"every": 4e-3},
    }
    found = play(method, scene)
    rate, height = (found.channel(f"joints/{path}").values[:, 0] for path in ("sledge/v", "rail/q"))
    time, lands = found.time, math.sqrt(2.0 * 0.05 / G)
    for begin, end, carried in ((0.0, lands - 5e-3, 1.0), (lands + 5e-3, 0.4, 3.0)):
        part = (time > begin) & (time < end)
        slope = np.polyfit(time[part], rate[part], 1)[0]
        assert slope == pytest.approx(-0.2 * G * carried / 3.0, rel=0.02)
    assert abs(height[-1]) < 1e-9
    around = [np.interp(t, time, rate) for t in (lands - 8e-3, lands + 8e-3)]
    assert around[0] - around[1] < 0.2 * G * 16e-3 * 1.1


@pytest.mark.parametrize("method", ["aba", "baraff", "variational"])
@pytest.mark.parametrize("h", [1e-3, 1e-4])
def test_the_jerk_of_a_rope_has_no_friction(play, method, h):
    """A rope over a disc with friction jerks a weight at rest: the momentum along the rope is that before."""
    inertia = {"principal": [0.01] * 3}
    disc = {"body": "world", "radius": 0.1, "axis": [0, 1, 0], "sense": 1, "slides": True, "friction": 0.3}
    slide = {"type": "prismatic", "axis": [0, 0, 1]}
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"a": {"mass": 1.0, "inertia": inertia}, "b": {"mass": 2.0, "inertia": inertia}},
        "joints": {
            "falls": {**slide, "child": "a", "origin": {"position": [-0.1, 0, -1]}, "v": -1.0},
            "rises": {**slide, "child": "b", "origin": {"position": [0.1, 0, -1]}},
        },
        "constraints": {"rope": {"type": "rope", "slack": [0.1], "over": [{"body": "a"}, disc, {"body": "b"}]}},
        "contacts": {"tolerance": 1e-8},
        "simulation": {"duration": 0.2, "step": h},
        "output": {"every": 0.01},
    }
    found = play(method, scene)
    assert found.channel("joints/falls/v").values[-1, 0] == pytest.approx(-1.0 / 3.0, abs=1e-6)
    assert found.channel("joints/rises/v").values[-1, 0] == pytest.approx(1.0 / 3.0, abs=1e-6)
