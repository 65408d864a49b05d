"""Ropes that slide with friction: the law of Euler and Eytelwein at guides and pulleys, rest without creep, belts."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS

every_method = pytest.mark.parametrize("method", METHODS)
DURATION, H = 0.1, 1e-3


def body(mass, inertia=0.01):
    return {"mass": mass, "inertia": {"principal": [inertia, inertia, inertia]}}


def slider(child, x, z, axis=(0, 0, 1), **fields):
    return {"type": "prismatic", "child": child, "axis": list(axis), "origin": {"position": [x, 0, z]}, **fields}


def hinge(child, x=0.0, z=0.0, **fields):
    return {"type": "revolute", "child": child, "axis": [0, 1, 0], "origin": {"position": [x, 0, z]}, **fields}


def post(radius=0.2, sense=1, x=0.0, z=0.0, name="world", **fields):
    return {"body": name, "point": [x, 0, z], "radius": radius, "axis": [0, 1, 0], "sense": sense, "slides": True,
            **fields}  # fmt: skip


def rope(*over, **fields):
    return {"type": "rope", "over": [one if isinstance(one, dict) else {"body": one} for one in over], **fields}


def loaded(bodies, joints, constraints, method, duration=DURATION, gravity=(0, 0, 0), contacts=None, **simulation):
    own = {} if METHODS[method].own_integrator else {"integrator": "semi_implicit_euler"}
    settings = {"duration": duration, "step": H, "method": method, **own, **simulation}
    scene = {"mbsim": 1, "gravity": list(gravity), "bodies": bodies, "joints": joints, "constraints": constraints}
    scene |= {} if contacts is None else {"contacts": contacts}
    return mbsim.load(json.dumps({**scene, "simulation": settings, "output": {"every": H}}, indent=1))


def run(*scene, **settings):
    found = loaded(*scene, **settings).run()
    return lambda name: found[name].values


# --- one post ---------------------------------------------------------------------------------------------------------
def over_a_post(forces, masses, method, friction, turns=0, moving="", **settings):
    """Two weights, with forces that draw them down, on a rope over a post.

    Weights that are `moving` carry points of the world, in which the rope ends.
    """
    bodies = {"l": body(masses[0]), "r": body(masses[1])}
    joints = {"l": slider("l", -0.2, -1, force=-forces[0]), "r": slider("r", 0.2, -1.5, force=-forces[1])}
    points = {"l": [-0.2, 0, "-1 + q"], "r": [0.2, 0, "-1.5 + q"]}
    left, right = (
        {"body": "world", "coordinate": one, "moving": points[one]} if one in moving else {"body": one} for one in "lr"
    )
    over = left, post(friction=friction, turns=turns), right
    return run(bodies, joints, {"rope": rope(*over)}, method, **settings)


@every_method
@pytest.mark.parametrize(
    ("turns", "friction", "forces", "masses"),
    [
        (0, 0.1, (10.0, 20.0), (1.0, 2.0)),
        (0, 0.2, (30.0, 10.0), (3.0, 1.0)),
        (1, 0.1, (10.0, 500.0), (1.0, 50.0)),
        (5, 0.1, (10.0, 400.0), (1.0, 2.0)),
        (5, 0.2, (10.0, 2e4), (1.0, 300.0)),
    ],
)
@pytest.mark.parametrize("moving", ["", "r", "lr"])
def test_beyond_slip_the_tensions_have_the_ratio_of_the_capstan(method, turns, friction, forces, masses, moving):
    """T2 / T1 = exp(mu theta) with theta = pi and whole turns, and each weight accelerates by its own."""
    ratio = math.exp(friction * math.pi * (2 * turns + 1))
    factor = ratio if forces[1] > forces[0] else 1.0 / ratio
    a = (forces[1] - factor * forces[0]) / (masses[1] + factor * masses[0])
    assert a * (forces[1] - forces[0]) > 0.0
    first, last = forces[0] + masses[0] * a, forces[1] - masses[1] * a
    found = over_a_post(forces, masses, method, friction, turns, moving)
    time = found("time")
    np.testing.assert_allclose(found("joints/l/v")[:, 0], a * time, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found("joints/r/v")[:, 0], -a * time, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found("constraints/rope/multiplier")[1:, 0], last, rtol=1e-10)
    lost = abs(last - first) * abs(a) * DURATION**2 / 2.0
    np.testing.assert_allclose(found("energy/dissipation/constraints/rope")[-1], lost, rtol=1e-9)
    work = abs(forces[1] - forces[0]) * abs(a) * DURATION**2 / 2.0
    assert np.abs(found("energy/ledger_residual")).max() < 1e-10 * work


@every_method
@pytest.mark.parametrize("turns", [1, 5])
def test_below_slip_the_rope_does_not_creep(method, turns):
    """The tensions are the forces; their ratio is just below that of the capstan."""
    forces = (10.0, 10.0 * math.exp(0.05 * math.pi * (2 * turns + 1)) * (1.0 - 1e-6))
    found = over_a_post(forces, (1.0, 2.0), method, 0.05, turns, duration=0.5)
    for name in "lr":
        assert np.abs(found(f"joints/{name}/q")).max() < 1e-16
        assert np.abs(found(f"joints/{name}/v")).max() < 1e-15
    np.testing.assert_allclose(found("constraints/rope/multiplier")[1:, 0], forces[1], rtol=1e-12)
    assert np.abs(found("energy/dissipation/constraints/rope")).max() < 1e-15


@every_method
def test_a_rope_that_comes_to_rest_stays_there(method):
    """It slips until friction has stopped both weights, whose forces balance."""
    friction, v, force = 0.3, 0.2, 20.0
    ratio = math.exp(friction * math.pi)
    a = force * (ratio - 1.0) / (1.0 + 2.0 * ratio)
    bodies = {"l": body(1.0), "r": body(2.0)}
    joints = {"l": slider("l", -0.2, -1, force=-force, v=-v), "r": slider("r", 0.2, -1.5, force=-force, v=v)}
    found = run(bodies, joints, {"rope": rope("l", post(friction=friction), "r")}, method)
    time, rate = found("time"), found("joints/r/v")[:, 0]
    np.testing.assert_allclose(rate, np.maximum(v - a * time, 0.0), rtol=0, atol=1e-11)
    rests = time > v / a + H
    assert np.ptp(found("joints/r/q")[rests]) < 1e-15
    np.testing.assert_allclose(found("energy/dissipation/constraints/rope")[-1], 1.5 * v**2, rtol=1e-10)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-12


@every_method
def test_a_rope_reverses_its_slip(method):
    """Friction brakes the weights, whose forces then draw the rope back against it: two accelerations, exactly."""
    (left, right), (m, n), friction, steps = (10.0, 20.0), (1.0, 2.0), 0.1, 40
    ratio = math.exp(friction * math.pi)
    brakes, returns = (left - ratio * right) / (m + ratio * n), (ratio * left - right) / (n + ratio * m)
    v = -brakes * steps * H  # rest at the end of a step
    bodies = {"l": body(m), "r": body(n)}
    joints = {"l": slider("l", -0.2, -1, force=-left, v=-v), "r": slider("r", 0.2, -1.5, force=-right, v=v)}
    found = run(bodies, joints, {"rope": rope("l", post(friction=friction), "r")}, method)
    time, rate = found("time"), found("joints/r/v")[:, 0]
    wanted = np.where(time <= steps * H, v + brakes * time, returns * (time - steps * H))
    np.testing.assert_allclose(rate, wanted, rtol=0, atol=1e-11)
    tensions = found("constraints/rope/tension")[1:]
    np.testing.assert_allclose(tensions[: steps - 1, 0] / tensions[: steps - 1, 1], ratio, rtol=1e-9)
    np.testing.assert_allclose(tensions[steps:, 1] / tensions[steps:, 0], ratio, rtol=1e-9)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-11


@every_method
def test_a_rope_that_touches_a_post_without_wrapping_it_has_no_friction(method):
    bodies = {"l": body(1.0), "r": body(2.0)}
    joints = {name: slider(name, x, 0.2, (1, 0, 0), force=f) for name, x, f in (("l", -1, -10.0), ("r", 1, 22.0))}
    found = run(bodies, joints, {"rope": rope("l", post(friction=2.0), "r")}, method)
    np.testing.assert_allclose(found("joints/r/v")[:, 0], 4.0 * found("time"), rtol=1e-10, atol=1e-12)
    assert np.abs(found("energy/dissipation/constraints/rope")).max() < 1e-12


@every_method
def test_a_coefficient_of_zero_is_a_rope_without_friction(method):
    """The bytes are those of the same rope without the field."""
    bodies = {"l": body(1.0), "r": body(2.0)}
    joints = {"l": slider("l", -0.2, -1, force=-1.0), "r": slider("r", 0.2, -1.5, force=-3.0)}
    with_field, without = (
        run(bodies, joints, {"rope": rope("l", post(**fields), "r")}, method) for fields in ({"friction": 0.0}, {})
    )
    np.testing.assert_array_equal(with_field("joints/r/v"), without("joints/r/v"))
    np.testing.assert_allclose(without("joints/r/v")[:, 0], -2.0 / 3.0 * without("time"), rtol=1e-10)


@every_method
def test_a_slack_rope_has_no_friction(method):
    """Until it is taut each weight falls on its own; then the tensions have the ratio of the capstan."""
    friction, slack = 0.2, 0.01
    bodies = {"l": body(1.0), "r": body(2.0)}
    joints = {"l": slider("l", -0.2, -1, force=-10.0), "r": slider("r", 0.2, -1.5, force=-60.0)}
    found = run(bodies, joints, {"rope": rope("l", post(friction=friction), "r", slack=[slack])}, method)
    time, rates = found("time"), np.hstack([found("joints/l/v"), found("joints/r/v")])
    taut = math.sqrt(2.0 * slack / 40.0)
    free = time < taut - H
    np.testing.assert_allclose(rates[free], -np.outer(time, [10.0, 30.0])[free], rtol=1e-12, atol=1e-15)
    assert not found("constraints/rope/multiplier")[free].any()
    ratio = math.exp(friction * math.pi)
    a = (60.0 - ratio * 10.0) / (2.0 + ratio)
    late = time > taut + 2 * H
    np.testing.assert_allclose(np.diff(rates[late], axis=0), np.tile([a * H, -a * H], (late.sum() - 1, 1)), rtol=1e-9)
    np.testing.assert_allclose(found("constraints/rope/multiplier")[late, 0], 60.0 - 2.0 * a, rtol=1e-9)


@every_method
@pytest.mark.parametrize("begin", [0.0, 1e-9, -0.01])
def test_a_slack_rope_whose_ends_meet_lets_them_part(method, begin):
    """A slider starts at the other end of its rope, beside it, or passes it on a step, and stops where it is taut."""
    rail = {"r": slider("r", 0, 0, (1, 0, 0), q=begin, v=2.0)}
    end = {"body": "world", "point": [0, 0, 0]}
    found = run({"r": body(1.0)}, rail, {"rope": rope(end, "r", length=0.15)}, method)
    q, t = found("joints/r/q")[:, 0], found("time")
    np.testing.assert_allclose(q, np.minimum(begin + 2.0 * t, 0.15), rtol=0, atol=1e-9)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-12


# --- guides, several of them, and such that move ----------------------------------------------------------------------
@every_method
def test_guides_multiply_the_ratio_by_the_angles_of_their_turns(method):
    """A rope goes round three corners of a square and half round a post: 3 mu pi/2 + nu pi."""
    corners = [{"body": "world", "point": point, "friction": 0.2} for point in ([0, 0, 0], [0, 0, 1], [1, 0, 1])]
    bodies = {"l": body(1.0), "r": body(2.0)}
    joints = {"l": slider("l", -1, 0, (1, 0, 0), force=-5.0), "r": slider("r", 1.4, 0.3, force=120.0)}
    over = "l", *corners, post(0.2, -1, 1.2, 0.1, friction=0.1), "r"
    found = run(bodies, joints, {"rope": rope(*over)}, method)
    ratio = math.exp(0.2 * 1.5 * math.pi + 0.1 * math.pi)
    a = (120.0 - 5.0 * ratio) / (2.0 + ratio)
    np.testing.assert_allclose(found("joints/r/v")[:, 0], a * found("time"), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found("joints/l/v")[:, 0], a * found("time"), rtol=1e-10, atol=1e-10)
    tensions = found("constraints/rope/tension")
    steps = [1.0, *[math.exp(0.2 * k * math.pi / 2.0) for k in (1, 2, 3)], ratio]
    np.testing.assert_allclose(tensions[1:], np.tile((5.0 + a) * np.array(steps), (len(tensions) - 1, 1)), rtol=1e-9)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-11


@every_method
def test_some_guides_stick_while_others_slip(method):
    """The middle weight, in the bight between two posts, falls: it draws rope over one of them alone."""
    bodies = {"l": body(1.0), "m": body(1.0), "r": body(4.0)}
    joints = {"l": slider("l", -0.2, -1, force=-10.0), "m": slider("m", 0.5, -1.0, force=-30.0),
              "r": slider("r", 1.2, -1, force=-40.0)}  # fmt: skip
    over = "l", post(friction=0.1), post(0.3, -1, 0.5, -1.0, "m"), post(friction=0.5, x=1.0), "r"
    over[2]["point"] = [0, 0, 0]
    found = run(bodies, joints, {"rope": rope(*over)}, method)
    ratio = math.exp(0.1 * math.pi)
    # T1 to the left, T2 on both sides of the middle one, which falls half as fast as the left one rises
    b = (30.0 - 2.0 * ratio * 10.0) / (1.0 + 4.0 * ratio)
    np.testing.assert_allclose(found("joints/m/v")[:, 0], -b * found("time"), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found("joints/l/v")[:, 0], 2.0 * b * found("time"), rtol=1e-9, atol=1e-10)
    assert np.abs(found("joints/r/q")).max() < 1e-12  # the solver has the tolerance of the slip
    second = ratio * (10.0 + 2.0 * b)
    expected = [10.0 + 2.0 * b, second, second, 40.0]
    np.testing.assert_allclose(found("constraints/rope/tension")[1:], np.tile(expected, (100, 1)), rtol=1e-9)


@every_method
@pytest.mark.parametrize(("held", "slips"), [(4.0, True), (6.0, False)])
def test_a_windlass_lifts_by_a_small_force(method, held, slips):
    """A drum that a motor turns at 30 rad/s drags the rope by exp(mu theta) times the force that holds its tail.

    With a larger force the rope moves with the drum.
    """
    ratio = math.exp(0.2 * 3.0 * math.pi)
    bodies = {"load": body(2.0), "tail": body(0.1), "drum": body(1.0)}
    rate = 0.0 if slips else 6.0
    joints = {
        "load": slider("load", -0.2, -1, force=-20.0, v=rate),
        "tail": slider("tail", 0.2, -1, force=-held, v=-rate),
        "motor": hinge("drum", motion={"velocity": 30.0}),
    }
    over = "load", post(name="drum", friction=0.2, turns=1), "tail"
    found = run(bodies, joints, {"rope": rope(*over)}, method)
    a = (ratio * held - 20.0) / (2.0 + 0.1 * ratio) if slips else 0.0
    assert (a > 0.0) == slips
    v = found("joints/load/v")[:, 0]
    np.testing.assert_allclose(v, rate + a * found("time"), rtol=1e-9, atol=1e-9)
    first, last = 20.0 + 2.0 * a, held - 0.1 * a
    work = 0.2 * (first - last) * 30.0 * DURATION
    np.testing.assert_allclose(found("energy/work/joints/motor/motion")[-1], work, rtol=1e-9)
    slip = 6.0 * DURATION - 0.5 * a * DURATION**2 if slips else 0.0
    lost = (first - last) * slip
    np.testing.assert_allclose(found("energy/dissipation/constraints/rope")[-1], lost, rtol=1e-9, atol=1e-11)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-10


@every_method
def test_a_sliding_rope_turns_a_free_pulley_by_friction(method):
    """A heavy pulley that the rope does not hold takes the moment r (T2 - T1) and slips behind."""
    friction, r, inertia = 0.1, 0.2, 0.5
    ratio = math.exp(friction * math.pi)
    bodies = {"l": body(1.0), "r": body(1.0), "wheel": body(1.0, inertia)}
    joints = {"l": slider("l", -r, -1, force=-10.0), "r": slider("r", r, -1, force=-20.0), "axle": hinge("wheel")}
    found = run(bodies, joints, {"rope": rope("l", post(r, name="wheel", friction=friction), "r")}, method)
    a = (20.0 - ratio * 10.0) / (1.0 + ratio)
    difference = (ratio - 1.0) * (10.0 + a)
    time = found("time")
    np.testing.assert_allclose(found("joints/l/v")[:, 0], a * time, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found("joints/axle/v")[:, 0], difference * r / inertia * time, rtol=1e-9, atol=1e-10)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-12


# --- belts ------------------------------------------------------------------------------------------------------------
def drive(method, pretension, *, sense=1, torque=5.0, friction=0.3):
    """Two pulleys; the belt is held by the first one, which a motor turns, and slides over the second."""
    bodies = {"a": body(1.0, 0.05), "b": body(1.0, 0.4)}
    joints = {"a": hinge("a", force=torque), "b": hinge("b", 1.0, 0.2)}
    over = [{"body": "a", "radius": 0.1, "axis": [0, 1, 0]}, post(0.25, sense, name="b", friction=friction)]
    return run(bodies, joints, {"belt": {"type": "belt", "over": over, "pretension": pretension}}, method)


@every_method
@pytest.mark.filterwarnings("ignore:.*no effect in the initial state.*")
@pytest.mark.parametrize("sense", [1, -1], ids=["open", "crossed"])
@pytest.mark.parametrize("pretension", [10.0, 1000.0], ids=["slips", "holds"])
def test_a_belt_drive_slips_beyond_its_grip(method, sense, pretension):
    """The moment is at most r (T2 - T1), where T1 + T2 is twice the pretension and T2 = T1 exp(mu theta)."""
    angle = math.pi + 2.0 * math.asin((0.25 - sense * 0.1) / math.hypot(1.0, 0.2))
    most = 2.0 * pretension * math.tanh(0.3 * angle / 2.0)
    together = 5.0 / (0.05 + 0.4 * 0.4**2)
    difference = min(most, 0.4 * 0.4 * together / 0.25)
    assert (difference == most) == (pretension == 10.0)
    found = drive(method, pretension, sense=sense)
    time = found("time")
    np.testing.assert_allclose(
        found("joints/a/v")[:, 0], (5.0 - 0.1 * difference) / 0.05 * time, rtol=1e-10, atol=1e-11
    )
    np.testing.assert_allclose(
        found("joints/b/v")[:, 0], sense * difference * 0.25 / 0.4 * time, rtol=1e-10, atol=1e-11
    )
    tensions = found("constraints/belt/tension")[1:]
    np.testing.assert_allclose(tensions.sum(axis=1), 2.0 * pretension, rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.diff(tensions)), difference, rtol=1e-9)
    slip = (5.0 - 0.1 * difference) / 0.05 * 0.1 - difference * 0.25 / 0.4 * 0.25
    lost = found("energy/dissipation/constraints/belt")[-1]
    np.testing.assert_allclose(lost, difference * slip * DURATION**2 / 2.0, rtol=1e-9, atol=1e-12)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-12


@every_method
def test_a_tightener_gives_a_belt_its_tension(method):
    """A pulley on a slider, drawn away by 2 T0, tightens the belt about it and a heavy pulley, which a motor brakes."""
    bodies = {"a": body(1.0, 0.05), "b": body(3.0, 0.4), "s": body(1.0)}
    joints = {
        "a": hinge("a"),
        "s": slider("s", 1.0, 0.0, (1, 0, 0), force=40.0),
        "b": hinge("b", parent="s", force=30.0),
    }
    over = [{"body": "a", "radius": 0.2, "axis": [0, 1, 0]}, post(name="b", friction=0.1)]
    found = run(bodies, joints, {"belt": {"type": "belt", "over": over, "pretension": 0.0}}, method)
    difference = 40.0 * math.tanh(0.1 * math.pi / 2.0)
    time = found("time")
    np.testing.assert_allclose(found("joints/a/v")[:, 0], difference * 0.2 / 0.05 * time, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found("joints/b/v")[:, 0], (30.0 - difference * 0.2) / 0.4 * time, rtol=1e-9, atol=1e-10)
    assert np.abs(found("joints/s/q")).max() < 1e-14
    np.testing.assert_allclose(found("constraints/belt/tension")[1:].sum(axis=1), 40.0, rtol=1e-9)
    np.testing.assert_allclose(found("constraints/belt/multiplier")[1:], 20.0, rtol=1e-9)


# --- refusals ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("over", "fields", "message"),
    [
        (["l", {"body": "r", "friction": 0.1}], {}, "friction: has no effect at the end of a rope"),
        (["l", post(slides=False, friction=0.1), "r"], {}, "friction: has no effect on a pulley that"),
        (["l", post(friction=-0.1), "r"], {}, "expected a plain number of at least 0"),
        (["l", post(friction=0.1), "r"], {"integrator": "rk4"}, "`rk4` supports neither impacts nor dry friction"),
    ],
)
def test_friction_that_cannot_act_is_refused(over, fields, message):
    bodies = {"l": body(1.0), "r": body(2.0)}
    joints = {"l": slider("l", -0.2, -1), "r": slider("r", 0.2, -1.5)}
    with pytest.raises(SceneError, match=message):
        loaded(bodies, joints, {"rope": rope(*over)}, "aba", **fields)


def test_a_belt_with_friction_needs_a_pretension():
    with pytest.raises(SceneError, match="pretension: is required with `friction`"):
        drive("aba", None)
