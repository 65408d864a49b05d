"""Ropes whose length is a function of time: lifts of a given motion, tension, work of the winch, slack and jerks."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import mbsim
from multibody_cli.api.scene import UnsuccessfulRun
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS

every_method = pytest.mark.parametrize("method", METHODS)
G, DURATION, H = 9.81, 0.3, 1e-3


def body(mass):
    return {"mass": mass, "inertia": {"principal": [0.01, 0.01, 0.01]}}


def loaded(rope, method, *, mass=2.0, v=0.0, duration=DURATION, gravity=G, **joints):
    """A load on a slider 2 m below the winch."""
    own = {} if METHODS[method].own_integrator else {"integrator": "rk4"}
    lift = {"type": "prismatic", "child": "load", "axis": [0, 0, 1], "origin": {"position": [0, 0, -2]}, "v": v}
    scene = {"mbsim": 1, "gravity": [0, 0, -gravity], "bodies": {"load": body(mass)}, "joints": {"lift": lift} | joints,
             "constraints": {"rope": {"type": "rope", "over": [{"body": "load"}, {"body": "world"}], **rope}},
             "simulation": {"duration": duration, "step": H, "method": method, **own},
             "output": {"every": H}}  # fmt: skip
    return mbsim.load(json.dumps(scene, indent=1))


def run(rope, method, **settings):
    found = loaded(rope, method, **settings).run()
    return lambda name: found[name].values


@every_method
def test_a_winch_lifts_at_its_speed(method):
    """The tension is the weight, and the work of the winch lifts it."""
    found = run({"length": "2 - 1.5*t"}, method, v=1.5)
    time = found("time")
    np.testing.assert_allclose(found("joints/lift/q")[:, 0], 1.5 * time, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found("joints/lift/v")[:, 0], 1.5, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found("constraints/rope/tension")[:, 0], 2.0 * G, rtol=1e-10)
    np.testing.assert_allclose(found("constraints/rope/rate")[:, 0], -1.5, rtol=1e-10)
    np.testing.assert_allclose(found("energy/work/constraints/rope"), 2.0 * G * 1.5 * time, rtol=1e-10, atol=1e-12)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-10
    assert np.abs(found("energy/dissipation/constraints/rope")).max() < 1e-20


@every_method
@pytest.mark.parametrize("table", [False, True], ids=["expression", "table"])
def test_a_length_of_any_form_accelerates_the_load(method, table):
    """T = m (g - L'')."""
    times = np.linspace(0.0, DURATION, 301)
    values = (2.0 - 0.05 * (1.0 - np.cos(8.0 * times))).tolist()
    length = (
        {"times": times.tolist(), "values": values, "interpolation": "cubic"} if table else "2 - 0.05*(1 - cos(8*t))"
    )
    found = run({"length": length}, method)
    time = found("time")
    # the spline begins at 2e-7 m/s, by which the rope is slack beside a load at rest
    np.testing.assert_allclose(found("joints/lift/q")[:, 0], 0.05 * (1.0 - np.cos(8.0 * time)), rtol=0, atol=2e-8)
    tension = 2.0 * (G + 3.2 * np.cos(8.0 * time))
    np.testing.assert_allclose(found("constraints/rope/tension")[:, 0], tension, rtol=0, atol=1e-2)
    v = 0.4 * np.sin(8.0 * time)
    work = v**2 + 2.0 * G * 0.05 * (1.0 - np.cos(8.0 * time))
    np.testing.assert_allclose(found("energy/work/constraints/rope"), work, rtol=0, atol=2e-5)
    assert np.abs(found("energy/ledger_residual")).max() < 2e-5  # of variational steps, with the square of the step


@every_method
def test_the_load_flies_where_the_winch_slows_too_fast(method):
    """L'' > g: the rope is slack until the load has fallen into it."""
    found = run({"length": "2 - 2*t + 20*t**2"}, method, v=2.0, duration=0.12)
    time = found("time")
    np.testing.assert_allclose(found("joints/lift/q")[:, 0], 2.0 * time - 0.5 * G * time**2, rtol=0, atol=2e-2)
    assert not found("constraints/rope/tension").any()


@every_method
@pytest.mark.parametrize("slack", [0.1, 0.0993])
def test_a_winch_that_takes_up_slack_jerks_its_load(method, slack):
    """Without gravity, after 0.1 s the load has the speed of the rope: the winch does m v^2, half of it is lost."""
    found = run({"length": f"{2.0 + slack} - t"}, method, gravity=0.0)
    time, v = found("time"), found("joints/lift/v")[:, 0]
    np.testing.assert_allclose(v[time < 0.1 - H], 0.0, atol=1e-15)
    np.testing.assert_allclose(v[time > 0.1 + 2 * H], 1.0, rtol=1e-9)
    np.testing.assert_allclose(found("energy/work/constraints/rope")[-1], 2.0, rtol=1e-9)
    np.testing.assert_allclose(found("energy/dissipation/constraints/rope")[-1], 1.0, rtol=1e-9)
    assert np.abs(found("energy/ledger_residual")).max() < 1e-9


@every_method
def test_a_winch_pulls_over_a_post_with_friction(method):
    """The winch is at the last end: its tension is exp(mu theta) times the weight."""
    ratio = math.exp(0.2 * math.pi / 2.0)
    post = {"body": "world", "point": [0.1, 0, 0], "radius": 0.1, "axis": [0, 1, 0], "slides": True, "friction": 0.2}
    over = [{"body": "load"}, post, {"body": "world", "point": [1.1, 0, 0.1]}]
    own = {} if METHODS[method].own_integrator else {"integrator": "semi_implicit_euler"}
    lift = {"type": "prismatic", "child": "load", "axis": [0, 0, 1], "origin": {"position": [0, 0, -2]}, "v": 1.0}
    scene = {"mbsim": 1, "bodies": {"load": body(2.0)}, "joints": {"lift": lift},
             "constraints": {"rope": {"type": "rope", "over": over, "length": f"{3.0 + 0.05 * math.pi!r} - t"}},
             "simulation": {"duration": 0.2, "step": H, "method": method, **own}, "output": {"every": H}}  # fmt: skip
    found = mbsim.load(json.dumps(scene, indent=1)).run()
    np.testing.assert_allclose(found["joints/lift/v"].values[:, 0], 1.0, rtol=1e-10)
    tensions = found["constraints/rope/tension"].values[1:]
    np.testing.assert_allclose(tensions, np.tile([2.0 * G, 2.0 * G * ratio], (len(tensions), 1)), rtol=1e-9)
    np.testing.assert_allclose(found["energy/work/constraints/rope"].values[-1], 2.0 * G * ratio * 0.2, rtol=1e-9)
    lost = found["energy/dissipation/constraints/rope"].values[-1]
    np.testing.assert_allclose(lost, 2.0 * G * (ratio - 1.0) * 0.2, rtol=1e-9)
    assert np.abs(found["energy/ledger_residual"].values).max() < 1e-9


@pytest.mark.parametrize(
    ("length", "message"),
    [
        ("2 - x", "unknown name `x`"),
        ("2 - q", "depends on the state"),
        (-1.0, "expected a length"),
        ({"times": [0, 1], "values": [2, 1], "interpolation": "linear"}, "cubic"),
    ],
)
def test_lengths_that_are_none_are_refused(length, message):
    with pytest.raises(SceneError, match=message):
        loaded({"length": length}, "aba")


def test_a_length_that_jumps_is_reported():
    """The load receives no impulse from a jump, whose rate is zero on both sides, so that the run is untrusted."""
    with pytest.warns(match=r"constraints.rope.length: jumps by 0.1"), pytest.raises(UnsuccessfulRun, match="ledger"):
        loaded({"length": "2 - 0.05*(1 + sign(t - 0.1004))"}, "aba").run()
