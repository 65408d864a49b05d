"""Instants of events: closed forms, by all methods and integrators; runs that record events take the same steps."""

from __future__ import annotations

import math
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.special import ellipk

from multibody_cli.document.source import SceneText
from multibody_cli.errors import ResultError, SceneError
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.simulation import prepare

SCENES = Path(__file__).parents[2] / "scenes" / "gallery"
METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")
ROUND_OFF = 1e-12

SLIDER = """
mbsim: 1
gravity: [0, 0, -10]
bodies:
  ball: {mass: 2, inertia: {principal: [1, 1, 1]}}
joints:
  slide: {type: prismatic, parent: world, child: ball, axis: [0, 0, 1], v: 3}
simulation: {duration: 1, step: 1 ms}
"""

PENDULUM = """
mbsim: 1
bodies:
  bob: {mass: 1, com: [0, 0, -0.5], inertia: {principal: [0.1, 0.1, 0.1]}}
joints:
  hinge: {type: revolute, parent: world, child: bob, axis: [0, 1, 0], q: 1.2}
simulation: {duration: 1, step: 0.5 ms}
"""


def run(text, events, *settings):
    """Run a scene with events; return the outcome and the trajectory."""
    source = SceneText(f"{text}\nevents:\n  {events}\n", Path("slider.yaml"))
    summary, trajectory = prepare(source, settings).run_in_memory()
    return summary.outcome, trajectory


def times(trajectory, name):
    return trajectory.events.of(name)


@pytest.mark.parametrize("method", METHODS)
def test_instants_of_a_parabola(method):
    events = "\n  ".join(
        [
            "apex: {when: joints.slide.v}",
            "pass: {when: joints.slide.q - 0.4}",
            "up: {when: joints.slide.q - 0.4, direction: rising}",
            "down: {when: joints.slide.q - 0.4, direction: falling}",
            "first: {when: joints.slide.q - 0.4, once: true}",
            "clock: {when: t - 0.12345}",
            "end: {when: joints.slide.q + 1, end: true}",
            "never: {when: joints.slide.q + 1.0001}",
        ]
    )
    outcome, trajectory = run(SLIDER, events, f"simulation.method={method}")
    up, down = 0.2, 0.4
    end = (3.0 + math.sqrt(29.0)) / 10.0
    expected = {
        "apex": [0.3], "pass": [up, down], "up": [up], "down": [down], "first": [up],
        "clock": [0.12345], "end": [end], "never": [],
    }  # fmt: skip
    for name, instants in expected.items():
        np.testing.assert_allclose(times(trajectory, name), instants, atol=ROUND_OFF, err_msg=name)
    assert np.all(np.diff(trajectory.events.time) >= 0.0)
    assert trajectory.events.direction[trajectory.events.event == 1].tolist() == [1, -1]
    assert (outcome.status, trajectory.time[-1]) == ("complete", pytest.approx(end, abs=ROUND_OFF))
    assert trajectory.channel("joints/slide/q").values[-1] == pytest.approx(-1.0, abs=ROUND_OFF)
    assert trajectory.channel("joints/slide/v").values[-1] == pytest.approx(3.0 - 10.0 * end, abs=ROUND_OFF)
    assert np.all(np.diff(trajectory.time) > 0.0)


@pytest.mark.parametrize(
    "settings",
    [
        *((f"simulation.method={method}",) for method in METHODS[:4]),
        ("simulation.integrator=dop853", "simulation.tolerance=1e-13"),
        *((f"simulation.method={method}", "simulation.options.order=6") for method in METHODS[4:]),
    ],
)
def test_the_quarter_period_of_a_pendulum(settings):
    """The first passage through the lowest point, by the complete elliptic integral."""
    rate = math.sqrt(9.81 * 0.5 / (0.1 + 0.25))
    quarter = ellipk(math.sin(0.6) ** 2) / rate
    _, trajectory = run(PENDULUM, "low: {when: joints.hinge.q, direction: falling}", *settings)
    np.testing.assert_allclose(times(trajectory, "low"), [quarter], atol=2e-12)


def test_the_instant_of_an_euler_step_is_that_of_the_shortened_step():
    """q + L (v - L g) = 0 from the state before, where semi-implicit Euler is exact for no parabola."""
    h, g, q, v, t = 1e-3, 10.0, 0.0, 3.0, 0.0
    while q + h * (v - h * g) > -0.5:
        v -= h * g
        q += h * v
        t += h
    length = (v + math.sqrt(v * v + 4.0 * g * (q + 0.5))) / (2.0 * g)
    settings = "simulation.integrator=semi_implicit_euler"
    _, trajectory = run(SLIDER, "low: {when: joints.slide.q + 0.5, direction: falling}", settings)
    np.testing.assert_allclose(times(trajectory, "low"), [t + length], atol=ROUND_OFF)


RECORDED = {
    "contacts": ("falling_boxes", "simulation.duration=0.2"),
    "contacts, variational": ("falling_boxes", "simulation.duration=0.2", "simulation.method=variational"),
    "a loop": ("couplings", "simulation.method=redmax"),
    "adaptive steps": ("windmill", "simulation.integrator=dop853"),
    "maximal coordinates": ("couplings", "simulation.method=variational_maximal"),
    "friction": ("stick_slip",),
    "sampled controllers": ("pid_control", "simulation.duration=2"),
    "knots": ("actuator_table",),
    "knots, variational": ("actuator_table", "simulation.method=variational"),
    "implicit springs": ("springs", "simulation.integrator=linearly_implicit_euler"),
}


@pytest.mark.parametrize("case", RECORDED)
def test_a_run_that_records_events_has_the_same_bits(case):
    scene, *settings = RECORDED[case]
    path, settings = SCENES / f"{scene}.yaml", ["expect=[]", *settings]
    _, plain = prepare(path, settings).run_in_memory()
    kinetic = plain.channel("energy/kinetic").values
    level = 0.5 * float(kinetic.min() + kinetic.max())
    _, recorded = prepare(path, [*settings, f"events={{half: {{when: energy.kinetic - {level!r}}}}}"]).run_in_memory()
    assert recorded.events.time.size > 0
    for channel in plain.paths:
        np.testing.assert_array_equal(recorded.channel(channel).values, plain.channel(channel).values, err_msg=channel)


def test_a_value_that_is_zero_at_the_end_of_a_step():
    """1 - 8 t is zero at 1/8 s, an instant of steps of 1/1024 s, and 1/4 - t touches zero at the end."""
    steps = "simulation.step=0.0009765625", "simulation.duration=0.25"
    _, trajectory = run(SLIDER, "zero: {when: 1 - 8*t}\n  last: {when: 0.25 - t}", *steps)
    assert times(trajectory, "zero").tolist() == [0.125]
    assert times(trajectory, "last").tolist() == []


def test_a_value_that_is_zero_at_the_start_makes_no_event():
    _, trajectory = run(SLIDER, "start: {when: joints.slide.q, direction: rising}")
    assert times(trajectory, "start").tolist() == []


def test_an_end_at_an_output_instant_is_recorded_once():
    outcome, trajectory = run(SLIDER, "end: {when: 0.25 - t, end: true}", "simulation.step=0.0009765625")
    assert trajectory.time[-1] == 0.25
    assert np.all(np.diff(trajectory.time) > 0.0)
    assert outcome.message == "ended by the event `end` at t = 0.25 s"


def test_the_earliest_event_of_a_step_ends_the_run():
    events = (
        "late: {when: t - 0.50008, end: true}\n  early: {when: t - 0.50003, end: true}\n  first: {when: t - 0.50001}"
    )
    outcome, trajectory = run(SLIDER, events, "simulation.step=0.1 ms")
    assert [trajectory.events.names[k] for k in trajectory.events.event] == ["first", "early"]
    assert trajectory.time[-1] == pytest.approx(0.50003, abs=ROUND_OFF)
    assert "`early`" in outcome.message


def test_an_expression_without_a_value_makes_no_event_where_it_begins():
    _, trajectory = run(SLIDER, "root: {when: sqrt(joints.slide.q - 0.2) - 0.1}")
    expected = [(3.0 - math.sqrt(9.0 - 20.0 * 0.21)) / 10.0, (3.0 + math.sqrt(9.0 - 20.0 * 0.21)) / 10.0]
    np.testing.assert_allclose(times(trajectory, "root"), expected, atol=ROUND_OFF)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("{when: joints.slid.q}", "events.one.when: unknown channel `joints/slid/q`; did you mean `joints/slide/q`?"),
        ("{when: bodies.ball.position}", "`bodies/ball/position` has 3 components: select one"),
        ("{when: joints.slide.q.x}", "has no effect: `joints/slide/q` is a single number"),
        ("{when: 3}", "expected an expression of channels, such as `joints.a.q`, found `3`"),
        ("{when: t - 1, direction: up}", "events.one.direction"),
        ("{direction: rising}", "events.one: `when` is required"),
    ],
)
def test_messages(event, message):
    with pytest.raises(SceneError) as error:
        run(SLIDER, f"one: {event}")
    assert message in str(error.value)


def test_the_table_of_a_result_file_is_checked(tmp_path):
    sink = Hdf5Sink(tmp_path / "run.h5")
    prepare(SceneText(SLIDER + "events: {apex: {when: joints.slide.v}}", Path("slider.yaml"))).run(sink)
    table = read_trajectory(sink.path).events
    assert table.as_rows() == [{"event": "apex", "time": pytest.approx(0.3, abs=ROUND_OFF), "direction": "falling"}]
    with h5py.File(sink.path, "r+") as file:
        file["events/event"][0] = 1
    with pytest.raises(ResultError, match="an index of an event that does not exist"):
        _ = read_trajectory(sink.path).events
    with h5py.File(sink.path, "r+") as file:
        del file["events/time"]
        file["events/time"] = np.zeros(2)
    with pytest.raises(ResultError, match="columns of different lengths"):
        _ = read_trajectory(sink.path).events


def test_lanes_do_not_take_scenes_with_events():
    from multibody_cli.studies.sweep.lanes import objection_to_lanes

    assert objection_to_lanes([prepare(SceneText(SLIDER + "events: {}", Path("slider.yaml")))]) is None
    with_events = prepare(SceneText(SLIDER + "events: {low: {when: joints.slide.q}}", Path("slider.yaml")))
    assert objection_to_lanes([with_events]) == "lanes do not support events"
