"""Events that change the scene, by all methods: instants, motion and energies are those of closed forms."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.document.source import SceneText
from multibody_cli.errors import ArgumentError, SceneError
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.branching import earlier_scenes
from multibody_cli.studies.simulation import prepare

METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")
ORDER = {method: ("simulation.options.order=6",) for method in METHODS[4:]}
"""Settings with which the error of a method is round-off in smooth motion."""

ROUND_OFF = 1e-12
by_all_methods = pytest.mark.parametrize("method", METHODS)


def run(text, *settings):
    summary, trajectory = prepare(SceneText(text, Path("scene.yaml")), settings).run_in_memory()
    assert summary.outcome.status == "complete", summary.outcome.message
    return trajectory


def final(trajectory, channel):
    return float(np.ravel(trajectory.channel(channel).values[-1])[0])


def largest(trajectory, channel):
    return float(np.abs(trajectory.channel(channel).values).max())


BALL = """
mbsim: 1
gravity: [0, 0, -10]
bodies:
  ball: {mass: 2, position: [0, 0, 1], velocity: {linear: [0.5, 0, 0]}, inertia: {principal: [1, 1, 1]}}
constraints:
  floor: {type: velocity, terms: [{body: ball, linear: [0, 0, 1]}], active: false}
events:
  bounce: {when: bodies.ball.position.z, direction: falling, impact: {constraint: floor, restitution: 0.8}}
simulation: {duration: 2, step: 1 ms}
"""


def bounces(end):
    """Return the instants of a ball that falls by 1 m, before an end."""
    v = math.sqrt(20.0)
    found = [v / 10.0]
    while (after := found[-1] + 0.16 * v) < end:
        found.append(after)
        v *= 0.8
    return found


@pytest.mark.parametrize(
    "settings", [*([f"simulation.method={one}"] for one in METHODS), ["simulation.integrator=dop853"]]
)
def test_a_bouncing_ball(settings):
    trajectory = run(BALL, *settings)
    expected = bounces(2.0)
    np.testing.assert_allclose(trajectory.events.time, expected, atol=ROUND_OFF)
    assert final(trajectory, "energy/work/events/bounce") == pytest.approx(
        -20.0 * (1.0 - 0.64 ** len(expected)), abs=1e-11
    )
    assert largest(trajectory, "energy/ledger_residual") < 1e-11
    flight, v = 2.0 - expected[-1], math.sqrt(20.0) * 0.8 ** len(expected)
    assert final(trajectory, "bodies/ball/position") == pytest.approx(1.0, abs=ROUND_OFF)
    position = trajectory.channel("bodies/ball/position").values[-1]
    assert position[2] == pytest.approx(v * flight - 5.0 * flight**2, abs=1e-11)


CLUTCH = """
mbsim: 1
gravity: [0, 0, 0]
bodies:
  engine: {mass: 1, inertia: {principal: [2, 2, 2]}}
  load: {mass: 1, inertia: {principal: [3, 3, 3]}}
joints:
  crank: {type: revolute, parent: world, child: engine, axis: [0, 0, 1], v: 10}
  shaft: {type: revolute, parent: world, child: load, axis: [0, 0, 1], damping: 0.5}
constraints:
  clutch:
    type: velocity
    active: false
    terms: [{body: engine, angular: [0, 0, 1]}, {body: load, angular: [0, 0, -1]}]
events:
  engage: {when: joints.crank.q - 2.00005, once: true, set: {constraints.clutch.active: true}}
  open: {when: joints.shaft.v - 3.5, direction: falling, set: {constraints.clutch.active: false}}
simulation: {duration: 2, step: 1 ms}
"""


@by_all_methods
def test_a_clutch_that_engages_and_opens(method):
    """Momentum and loss of the engagement; then both slow down together, and each by itself."""
    trajectory = run(CLUTCH, f"simulation.method={method}", *ORDER.get(method, ()))
    engaged = 0.200005
    opened = engaged + math.log(4.0 / 3.5) * 5.0 / 0.5
    np.testing.assert_allclose(trajectory.events.time, [engaged, opened], atol=ROUND_OFF)
    assert final(trajectory, "energy/work/events/engage") == pytest.approx(
        0.5 * 5.0 * 16.0 - 0.5 * 2.0 * 100.0, rel=1e-12
    )
    assert final(trajectory, "energy/work/events/open") == pytest.approx(0.0, abs=1e-12)
    assert final(trajectory, "joints/crank/v") == pytest.approx(3.5, rel=1e-12)
    assert final(trajectory, "joints/shaft/v") == pytest.approx(
        3.5 * math.exp(-(2.0 - opened) / 6.0), rel=1e-9 if method in ORDER else 1e-12
    )
    # variational ledgers integrate the loss of the damper by the trapezoidal rule
    assert largest(trajectory, "energy/ledger_residual") < (1e-7 if method in ORDER else 1e-10)
    time = trajectory.time
    both = (time > engaged) & (time < opened)
    torque = trajectory.channel("constraints/clutch/multiplier").values[:, 0]
    speed = 4.0 * np.exp(-(time[both] - engaged) / 10.0)
    np.testing.assert_allclose(np.abs(torque[both]), 2.0 * speed / 10.0, rtol=2e-4 if method in ORDER else 1e-10)
    assert not torque[~both].any()


@by_all_methods
@pytest.mark.parametrize("step", [5e-4, 2.5e-4])
def test_a_clutch_that_engages_at_the_end_of_a_step(method, step):
    """The rest of the step is round-off, from which nothing may be extrapolated to the next one."""
    scene = CLUTCH.replace("2.00005", "2.005").replace("step: 1 ms", f"step: {step}")
    trajectory = run(scene, f"simulation.method={method}", *ORDER.get(method, ()))
    opened = 0.2005 + math.log(4.0 / 3.5) * 5.0 / 0.5
    np.testing.assert_allclose(trajectory.events.time, [0.2005, opened], atol=1e-7 if method in ORDER else ROUND_OFF)
    assert final(trajectory, "joints/crank/v") == pytest.approx(3.5, rel=1e-7 if method in ORDER else 1e-12)


THROWN = """
mbsim: 1
bodies:
  heavy: {kind: point, mass: 0.6, position: [-0.2, 0, 1], velocity: {linear: [1, -0.8, 3]}}
  light: {kind: point, mass: 0.3, position: [0.4, 0, 1], velocity: {linear: [1, 1.6, 3]}}
  board:
    {kind: planar, mass: 0.5, shapes: [{type: box, size: [0.3, 0.2, 0.1]}], position: [2, 0, 1],
      velocity: {linear: [1, 0, 0]}}
constraints: {rod: {type: distance, between: [{body: heavy}, {body: light}], length: 0.6}}
events: {nothing: {when: t - INSTANT, set: {constraints.rod.length: 0.6}}}
simulation: {duration: 30 ms, step: 1 ms}
output: {every: 30 ms}
"""


@by_all_methods
@pytest.mark.parametrize("offset", [1e-16, -1e-16, 1e-14, -1e-14, 1e-12, -1e-12, 1e-9, 1e-7])
def test_an_event_close_to_the_end_of_a_step_has_no_effect_of_its_own(method, offset):
    """Mean rates over a part of a step of that length are round-off, which the momenta must not contain.

    The center of mass of both points has a parabola for its path, and the angular momentum about it is 0.288 kg m2/s.
    """
    scene = THROWN.replace("INSTANT", repr(0.02 + offset))
    trajectory = run(scene, f"simulation.method={method}", *ORDER.get(method, ()))
    velocity = trajectory.channel("bodies/linear_velocity").values[-1]
    np.testing.assert_allclose((2.0 * velocity[0] + velocity[1]) / 3.0, [1.0, 0.0, 3.0 - 9.81 * 0.03], atol=1e-10)
    position = trajectory.channel("bodies/position").values[-1]
    momentum = 0.2 * np.cross(position[1] - position[0], velocity[1] - velocity[0])
    np.testing.assert_allclose(momentum, [0.0, 0.0, 0.2 * 0.6 * 2.4], atol=1e-10)
    np.testing.assert_allclose(velocity[2][0], 1.0, atol=1e-10)


CRANE = """
mbsim: 1
gravity: [0, 0, -10]
bodies:
  jib: {mass: 4, inertia: {principal: [1, 1, 1]}}
  load: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  flex: {type: prismatic, parent: world, child: jib, axis: [0, 0, 1], stiffness: 400, q: -0.125}
  fall: {type: prismatic, parent: world, child: load, axis: [0, 0, 1], q: -0.125}
ELEMENT
events:
  release: {when: t - 0.30003, set: {SECTION.rope.active: false}}
simulation: {duration: 1, step: 1 ms}
"""
ROPES = {
    "couplings": "couplings: {rope: {type: linear, terms: {fall: 1, flex: -1}}}",
    "constraints": "constraints: {rope: {type: velocity, terms: [{body: jib, linear: [0, 0, 1]}, "
    "{body: load, linear: [0, 0, -1]}]}}",
}


@pytest.mark.parametrize("section", ROPES)
@by_all_methods
def test_the_release_of_a_loaded_crane(method, section):
    """At rest up to the release; then the jib oscillates about its own equilibrium, and the load falls."""
    text = CRANE.replace("ELEMENT", ROPES[section]).replace("SECTION", section)
    trajectory = run(text, f"simulation.method={method}", *ORDER.get(method, ()))
    t = trajectory.time - 0.30003
    after = t > 0.0
    assert trajectory.events.time == pytest.approx([0.30003], abs=ROUND_OFF)
    q = trajectory.channel("joints/flex/q").values[:, 0]
    np.testing.assert_allclose(q[~after], -0.125, atol=1e-11)
    np.testing.assert_allclose(q[after], -0.1 - 0.025 * np.cos(10.0 * t[after]), atol=1e-10)
    fallen = trajectory.channel("joints/fall/q").values[:, 0]
    np.testing.assert_allclose(fallen[after], -0.125 - 5.0 * t[after] ** 2, atol=1e-10)
    assert final(trajectory, "energy/work/events/release") == pytest.approx(0.0, abs=1e-11)
    assert largest(trajectory, "energy/ledger_residual") < (1e-8 if method in ORDER else 1e-10)


SPRING = """
mbsim: 1
gravity: [0, 0, 0]
bodies:
  cart: {mass: 2, inertia: {principal: [1, 1, 1]}}
joints:
  rail: {type: prismatic, parent: world, child: cart, axis: [1, 0, 0], q: 0.5}
inputs: {push: 0}
forces:
  motor: {body: cart, force: ["inputs.push", 0, 0]}
springs:
  tether: {between: [{body: world, point: [0, 0, 0]}, {body: cart, point: [2, 0, 0]}], stiffness: 8, rest_length: 2}
events:
  snap: {when: joints.rail.q + 0.3, direction: falling, once: true, set: {springs.tether.stiffness: 0}}
  turn: {when: joints.rail.q + 1, direction: falling, set: {inputs.push: 4}}
simulation: {duration: 3, step: 1 ms}
"""


@by_all_methods
def test_a_spring_that_snaps_and_an_input_that_changes(method):
    trajectory = run(SPRING, f"simulation.method={method}", *ORDER.get(method, ()))
    snapped = math.acos(-0.6) / 2.0
    v = -2.0 * 0.5 * math.sin(2.0 * snapped)
    turned = snapped + 0.7 / -v
    np.testing.assert_allclose(trajectory.events.time, [snapped, turned], atol=ROUND_OFF)
    assert final(trajectory, "energy/work/events/snap") == pytest.approx(-0.5 * 8.0 * 0.09, abs=1e-11)
    assert final(trajectory, "energy/work/events/turn") == pytest.approx(0.0, abs=1e-12)
    t = 3.0 - turned
    assert final(trajectory, "joints/rail/q") == pytest.approx(-1.0 + v * t + t * t, abs=1e-11)
    assert largest(trajectory, "energy/ledger_residual") < (1e-8 if method in ORDER else 1e-10)


@by_all_methods
def test_an_engagement_within_a_mechanism_balances_momentum(method):
    """The elbow of a free double pendulum stops: linear and angular momentum stay, and the relative rate is 0."""
    text = """
mbsim: 1
gravity: [0, 0, 0]
bodies:
  a: {mass: 1, com: [0.1, 0, -0.4], inertia: {principal: [0.1, 0.2, 0.3]}, velocity: {angular: [0.3, 1, 2]}}
  b: {mass: 2, com: [0, 0.1, -0.4], inertia: {principal: [0.3, 0.2, 0.1]}}
joints:
  elbow: {type: revolute, parent: a, child: b, axis: [0.6, 0.8, 0], origin: {position: [0, 0, -0.8]}, q: 0.3, v: 2}
constraints:
  stop: {type: expression, inputs: {x: elbow}, value: x - 0.5, active: false}
events:
  stopped: {when: joints.elbow.q - 0.5, once: true, set: {constraints.stop.active: true}}
simulation: {duration: 0.5, step: 0.5 ms}
"""
    trajectory = run(text, f"simulation.method={method}", *ORDER.get(method, ()))
    time = trajectory.events.time[0]
    assert 0.05 < time < 0.4
    for name in ("linear", "angular"):
        momentum = trajectory.channel(f"momentum/{name}").values
        np.testing.assert_allclose(momentum - momentum[0], np.zeros_like(momentum), atol=1e-10, err_msg=name)
    stopped = trajectory.time > time
    np.testing.assert_allclose(trajectory.channel("joints/elbow/v").values[stopped], 0.0, atol=1e-11)
    np.testing.assert_allclose(trajectory.channel("joints/elbow/q").values[stopped], 0.5, atol=1e-11)
    kinetic = trajectory.channel("energy/kinetic").values
    work = trajectory.channel("energy/work/events/stopped").values
    assert work[-1] < -0.01
    np.testing.assert_allclose(kinetic - work, kinetic[0], atol=1e-8 if method in ORDER else 1e-10)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("{when: t - 1, set: {springs.tether.stifness: 0}}", "stifness"),
        ("{when: t - 1, set: {springs.rope.stiffness: 0}}", 'events.one.set."springs.rope.stiffness"'),
        ("{when: t - 1, set: {springs.tether.stiffness: soft}}", "stiffness"),
        ("{when: t - 1, set: {joints.rail.q: 0}}", "is part of the start of a run"),
        ("{when: t - 1, set: {simulation.step: 1}}", "an event changes elements and `inputs`, not `simulation`"),
        ("{when: t - 1, set: {joints.rail.type: revolute}}", "changes coordinates, channels or energy accounts"),
        ("{when: t - 1, end: true, set: {inputs.push: 0}}", "the run ends at the event: omit `set` and `impact`"),
        ("{when: t - 1, impact: {constraint: floor}}", "events.one.impact.constraint: unknown constraint `floor`"),
        ("{when: joints.rail.q > 1}", "a comparison cannot be used here; expected an expression that changes its sign"),
        ("{when: joints/rail/q - 1}", "of channels with dots"),
        ("{when: joints.rail.q - 1 mm}", "of numbers in SI units, such as `joints.a.q - 0.5`"),
    ],
)
def test_messages(event, message):
    with pytest.raises(SceneError) as error:
        prepare(SceneText(SPRING, Path("scene.yaml")), [f"events={{one: {event}}}"])
    assert message in str(error.value)


def test_events_that_undo_each_other():
    """The second follows the first at its instant, and each occurs once in a step."""
    events = "{on: {when: t - 0.50003, set: {inputs.push: 2}}, high: {when: inputs.push - 1, set: {inputs.push: 0}}}"
    trajectory = prepare(SceneText(SPRING, Path("scene.yaml")), [f"events={events}"]).run_in_memory()[1]
    assert [trajectory.events.names[k] for k in trajectory.events.event] == ["on", "high"]
    np.testing.assert_allclose(trajectory.events.time, 0.50003, atol=ROUND_OFF)
    assert not trajectory.channel("inputs/push").values.any()


@pytest.mark.parametrize("instant", [0.50003, 0.50007, 0.5])
@by_all_methods
def test_an_event_before_a_change_in_one_step_is_recorded_once(method, instant):
    """An event that records, at the instant of a change or before it in the same step, has one row."""
    change = instant if instant == 0.5 else 0.50007
    events = f"{{mark: {{when: t - {instant}}}, on: {{when: t - {change}, set: {{inputs.push: 2}}}}}}"
    trajectory = run(SPRING, f"simulation.method={method}", f"events={events}", "simulation.duration=0.51")
    assert [trajectory.events.names[k] for k in trajectory.events.event] == ["mark", "on"]
    np.testing.assert_allclose(trajectory.events.time, [instant, change], atol=ROUND_OFF)


@pytest.mark.parametrize("first", ["mark", "stop"])
def test_all_events_at_the_end_of_a_run_are_recorded(first):
    entries = {"mark": "mark: {when: t - 0.50003}", "stop": "stop: {when: t - 0.50003, end: true}"}
    events = f"{{{entries.pop(first)}, {next(iter(entries.values()))}, late: {{when: t - 0.50005}}}}"
    trajectory = run(SPRING, f"events={events}")
    assert sorted(trajectory.events.names[k] for k in trajectory.events.event) == ["mark", "stop"]
    np.testing.assert_allclose(trajectory.events.time, 0.50003, atol=ROUND_OFF)


def test_branches_of_runs_whose_events_change_the_scene_are_refused(tmp_path):
    sink = Hdf5Sink(tmp_path / "run.h5")
    simulation = prepare(SceneText(BALL, Path("scene.yaml")))
    simulation.run(sink)
    with pytest.raises(ArgumentError, match="has events that change the scene"):
        earlier_scenes(read_trajectory(sink.path), simulation, "1 s")


@pytest.mark.parametrize("study", ["modes", "linearize", "inverse", "kinematics"])
def test_studies_of_one_model_refuse_events_that_change_it(study, tmp_path):
    """After the spring has snapped, the mode and the force are others."""
    scene, table = tmp_path / "scene.yaml", tmp_path / "motion.csv"
    scene.write_text(SPRING)
    table.write_text("time,rail\n" + "".join(f"{k / 100},{0.5 - (k / 100) ** 2}\n" for k in range(21)))
    given = {"motion": table} if study in ("inverse", "kinematics") else {"at": 0.2}
    with pytest.raises(ArgumentError, match=r"the event `snap` changes the scene, .*--set events=\{\}"):
        getattr(mbsim, study)(scene, **given)
    getattr(mbsim, study)(scene, **given, overrides=["events={}"])


def test_modes_about_the_start_are_those_before_all_events(tmp_path):
    scene = tmp_path / "scene.yaml"
    scene.write_text(SPRING)
    assert [mode.damped_frequency for mode in mbsim.modes(scene).modes] == pytest.approx([math.sqrt(8 / 2) / math.tau])


def test_constraints_that_are_not_met_are_reported():
    text = CRANE.replace("ELEMENT", "couplings: {rope: {type: linear, terms: {fall: 1, flex: -1}, active: false}}")
    text = text.replace("{SECTION.rope.active: false}", "{couplings.rope.active: true}")
    outcome = prepare(SceneText(text, Path("scene.yaml"))).run_in_memory()[0].outcome
    assert outcome.status == "diverged"
    assert "t = 0.30003 s: the event `release` moves bodies at once, by" in outcome.message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["simulation.options.stabilization=baumgarte"], "events.bounce: events that change the scene require"),
        (
            [
                "actuators={hold: {type: pd, joint: slide, kp: 1, kd: 1, period: 0.01}}",
                "joints={slide: {type: prismatic, parent: world, child: ball, axis: [0, 0, 1]}}",
                "bodies.ball={mass: 1, inertia: {principal: [1, 1, 1]}}",
            ],
            "events.bounce: sampled controllers count their periods in whole steps",
        ),
    ],
)
def test_what_events_cannot_change_beside(settings, message):
    with pytest.raises(SceneError) as error:
        prepare(SceneText(BALL, Path("scene.yaml")), settings)
    assert message in str(error.value)
