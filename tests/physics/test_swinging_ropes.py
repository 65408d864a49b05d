"""Ropes that swing while they slide: the law of the capstan has the part of the tension that turns the rope."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from test_capstan import DURATION, H, body, every_method, loaded, rope, run, slider

SWING = {"friction": 0.3, "gravity": 9.81, "force": 2.0}


def swung(method, step, friction, gravity, force, bodies=(), held=()):
    """A mass n swings on a rope from a corner, over which it draws a mass m on a slide, beside other bodies.

    Return the times, the polar coordinates (r, angle) of n, its tension and that of m, and the gap of the rope.
    """
    r, angle, rate, turn = 0.5, 0.4, 0.3, 3.0
    s, c = math.sin(angle), math.cos(angle)
    start, velocity = [r * s, 0.0, -r * c], [rate * s + r * turn * c, 0.0, -rate * c + r * turn * s]
    joints = {
        "l": slider("l", -1, 0, (1, 0, 0), force=-force, v=rate),
        "r": {"type": "translational", "child": "r", "origin": {"position": start}, "v": velocity},
    }
    over = "l", {"body": "world", "point": [0, 0, 0], "friction": friction}, "r"
    moving = {"l": body(1.0), "r": body(2.0), **dict(bodies)}
    settings = {"step": step, "gravity": [0, 0, -gravity], "contacts": {} if bodies else None}
    found = loaded(moving, {**joints, **dict(held)}, {"rope": rope(*over)}, method, **settings).run()
    at = found["joints/r/q"].values + start
    lengths, tensions = np.hypot(at[:, 0], at[:, 2]), found["constraints/rope/tension"].values
    gap = found["joints/l/q"].values[:, 0] - (lengths - r)
    return found["time"].values, lengths, np.arctan2(at[:, 0], -at[:, 2]), tensions[:, 1], tensions[:, 0], gap


def swing(friction, gravity, force):
    """The same with T2 = T1 exp(mu theta), integrated: m r'' = T1 - force, n (r angle'^2 + g cos angle - r'') = T2."""

    def slopes(_, y):
        r, rate, angle, turn = y
        ratio = math.exp(friction * (0.5 * math.pi - angle))
        change = (2.0 * (r * turn**2 + gravity * math.cos(angle)) - ratio * force) / (2.0 + ratio)
        return rate, change, turn, -(gravity * math.sin(angle) + 2.0 * rate * turn) / r

    start = [0.5, 0.3, 0.4, 3.0]
    return solve_ivp(slopes, (0.0, DURATION), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@every_method
@pytest.mark.parametrize(
    "loads",
    [SWING, {**SWING, "friction": 0.0}, {**SWING, "gravity": 0.0, "force": 0.0}],
    ids=["friction", "smooth", "only-the-swing-pulls"],
)
def test_a_rope_that_swings_as_it_slides_has_the_ratio_of_the_capstan(method, loads):
    """The errors are of first order at least; the rope is never open."""
    r, _, angle, _ = swing(**loads)
    errors, ratios = [], []
    for step in (H, 0.5 * H):
        _, lengths, angles, second, first, gap = swung(method, step, **loads)
        assert np.abs(gap).max() < 1e-13
        assert (first[1:] > 0.0).all()
        errors.append([lengths[-1] - r, angles[-1] - angle])
        ratios.append(np.log(second[1:] / first[1:]) - loads["friction"] * (0.5 * math.pi - angles[1:]))
    assert_first_order(errors, H)
    assert_first_order(ratios, 3.0 * H)


@every_method
def test_a_contact_elsewhere_leaves_the_friction_of_a_rope_as_it_is(method):
    """A ball lies on another one that the world holds."""
    ball = {**body(1.0), "shapes": [{"type": "sphere", "radius": 0.1}]}
    balls = {"above": {**ball, "position": [5.0, 0.0, 0.2]}, "below": ball}
    alone = swung(method, H, **SWING)
    held = {"below": {"type": "fixed", "child": "below", "origin": {"position": [5.0, 0.0, 0.0]}}}
    beside = swung(method, H, **SWING, bodies=balls, held=held)
    for one, other in zip(alone, beside, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
def test_a_taut_rope_beside_a_brake_moves_as_the_rod_of_its_length(method):
    """Two masses on crossed rails; the rope stays taut as it turns fast, and neither it nor the brake adds energy."""

    def states(rule):
        bodies = {"x": body(1.7), "y": body(0.7)}
        joints = {
            "x": slider("x", 0, 0, (1, 0, 0), q=0.72, v=1.68, friction={"force": 0.3}),
            "y": slider("y", 0, 0, (0, 1, 0), q=0.96, v=-1.26),
        }
        rod = {"type": "distance", "between": [{"body": "x"}, {"body": "y"}], **rule}
        found = loaded(bodies, joints, {"rod": rod}, method, step=H, duration=1.0).run(check=False)
        assert not any(alarm["name"] == "added_energy" for alarm in json.loads(found.attrs["alarms"]))
        return np.hstack([found[f"joints/{name}/{value}"].values for name in "xy" for value in "qv"])

    np.testing.assert_allclose(states({"limits": [None, 1.2]}), states({"length": 1.2}), rtol=0, atol=1e-9)


def assert_first_order(errors, bound):
    """Errors with steps of h and of h / 2; those below 1e-12 are round-off."""
    coarse, fine = (np.abs(part).max() for part in errors)
    assert coarse < bound
    assert fine < 0.52 * coarse + 1e-12


@every_method
def test_three_bodies_that_swing_about_a_guide_on_one_of_them_have_the_ratio_of_the_capstan(method):
    """The guide is a point of a free body; the outer ones turn about it while the rope slides, without other forces."""
    free = {"l": ([-0.6, 0, 0], [0.2, 0, -1.0]), "m": ([0, 0, 0], [0, 0, 0]), "r": ([0, 0, -0.8], [1.5, 0, -0.2])}
    joints = {
        name: {"type": "translational", "child": name, "origin": {"position": x}, "v": v}
        for name, (x, v) in free.items()
    }
    over = "l", {"body": "m", "point": [0, 0, 0], "friction": 0.3}, "r"
    errors = []
    for step in (H, 0.5 * H):
        bodies = {"l": body(1.0), "m": body(5.0), "r": body(2.0)}
        found = run(bodies, joints, {"rope": rope(*over)}, method, step=step)
        left, m, right = (found(f"joints/{name}/q") + free[name][0] for name in "lmr")
        lengths = [np.linalg.norm(end - m, axis=1) for end in (left, right)]
        np.testing.assert_allclose(sum(lengths), 1.4, rtol=0, atol=1e-13)
        angles = np.arccos(((m - left) * (right - m)).sum(axis=1) / (lengths[0] * lengths[1]))
        tensions = found("constraints/rope/tension")[1:]
        errors.append(np.log(tensions[:, 1] / tensions[:, 0]) - 0.3 * angles[1:])
        momentum = found("joints/l/v") + 5.0 * found("joints/m/v") + 2.0 * found("joints/r/v")
        np.testing.assert_allclose(momentum, np.tile([3.2, 0.0, -1.4], (len(momentum), 1)), rtol=0, atol=1e-12)
    assert_first_order(errors, 3.0 * H)
