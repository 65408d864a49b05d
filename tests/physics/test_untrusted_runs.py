"""Runs that are not to be trusted, or diverge: their reports, and that their remedies make them right."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from alarm_scenes import ENGINE, OSCILLATOR, run

import mbsim
from multibody_cli.initial.initial_state import placed
from multibody_cli.initial.largest_force import _forces, start_of
from multibody_cli.studies.simulation import prepare

GALLERY = Path(__file__).parents[2] / "scenes" / "gallery"

FOUR_BAR = """
mbsim: 1
gravity: [0, -9.81, 0]
bodies:
  crank: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}}
  rod: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}}
  rocker: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}}
  rotor: {mass: 0.1, inertia: {principal: [1e-4, 1e-4, 1e-4]}}
joints:
  a: {type: revolute, child: crank, q: 90 deg}
  b: {type: revolute, parent: crank, child: rod, origin: {position: [1, 0, 0]}, q: -90 deg}
  c: {type: revolute, parent: rod, child: rocker, origin: {position: [2, 0, 0]}, q: -90 deg}
  d: {type: revolute, child: rocker, origin: {position: [2, 0, 0]}, child_origin: {position: [1, 0, 0]}}
  axle: {type: revolute, parent: rod, child: rotor, v: 2000}
simulation: {duration: 0.2 s}
"""
"""A four-bar that carries a rotor."""


def test_a_torn_engine_is_untrusted_and_the_remedy_makes_it_right(tmp_path: Path) -> None:
    outcome, torn = run(ENGINE, tmp_path, "simulation.integrator=semi_implicit_euler")
    assert outcome.status == torn.attributes["status"] == "untrusted"
    assert torn.channel("joints/wristpin/constraint_error").values.max() > 0.05
    alarms = {alarm.name: alarm for alarm in outcome.alarms}
    assert [alarms[name].level for name in ("constraints", "ledger", "spin")] == ["failed", "failed", "note"]
    assert alarms["constraints"].channel == "joints/wristpin/constraint_error"
    assert 0.0 < alarms["constraints"].time < 1.0
    integrator = re.search(r"`simulation\.integrator: (\w+)`", str(alarms["constraints"].remedy))
    assert integrator is not None
    remedied, right = run(ENGINE, tmp_path, f"simulation.integrator={integrator[1]}")
    reference = run(ENGINE, tmp_path, "simulation.integrator=dop853")[1]
    speeds = [found.channel("joints/bearing/v").values[-1, 0] for found in (right, reference)]
    assert (remedied.status, remedied.alarms) == ("complete", ())
    assert speeds[0] == pytest.approx(speeds[1], rel=1e-3)


def test_an_engine_with_a_long_variational_step_is_untrusted(tmp_path: Path) -> None:
    """Four steps in a revolution: the ledger warns, and the angle is off by a third of a radian."""
    settings = ("simulation.method=variational", "simulation.duration=1 s")
    outcome, wrong = run(ENGINE, tmp_path, *settings, "simulation.step=4 ms")
    alarms = {alarm.name: alarm for alarm in outcome.alarms}
    assert (outcome.status, alarms["ledger"].level, alarms["loop_spin"].level) == ("untrusted", "warning", "failed")
    remedied, right = run(ENGINE, tmp_path, *settings, f"simulation.step={alarms['ledger'].remedy.step} s")
    reference = run(ENGINE, tmp_path, "simulation.integrator=dop853", *settings[1:])[1]
    angles = [found.channel("joints/bearing/q").values[-1, 0] for found in (wrong, right, reference)]
    assert (remedied.status, remedied.alarms) == ("complete", ())
    assert abs(angles[0] - angles[2]) > 0.3
    assert angles[1] == pytest.approx(angles[2], abs=5e-3)


def test_an_engine_with_a_long_step_of_fourth_order_is_untrusted(tmp_path: Path) -> None:
    """A residual of 3 % at fourth order: four steps in a revolution do not resolve the motion."""
    outcome, wrong = run(ENGINE, tmp_path, "simulation.integrator=rk4", "simulation.step=5 ms", "output.every=5 ms")
    [ledger] = [alarm for alarm in outcome.alarms if alarm.name == "ledger"]
    assert (outcome.status, ledger.level) == ("untrusted", "failed")
    assert 0.02 < ledger.value < 0.1
    remedied, right = run(ENGINE, tmp_path, f"simulation.step={ledger.remedy.step} s")
    reference = run(ENGINE, tmp_path, "simulation.integrator=dop853")[1]
    places = [found.channel("joints/bore/q").values[-1, 0] for found in (wrong, right, reference)]
    assert (remedied.status, remedied.alarms) == ("complete", ())
    assert abs(places[0] - places[2]) > 0.03
    assert places[1] == pytest.approx(places[2], abs=1e-5)


@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_an_engine_whose_implicit_steps_lose_energy_is_untrusted(method: str, tmp_path: Path) -> None:
    """An implicit integrator may lose energy: only the angle of a step shows that the loop is not resolved."""
    settings = (f"simulation.method={method}", "simulation.integrator=sdirk2")
    outcome, wrong = run(ENGINE, tmp_path, *settings, "simulation.step=5 ms", "output.every=5 ms")
    [spin] = [alarm for alarm in outcome.alarms if alarm.name == "loop_spin"]
    assert (outcome.status, spin.level, spin.channel) == ("untrusted", "failed", "bodies/crank/angular_velocity")
    _, right = run(ENGINE, tmp_path, *settings, f"simulation.step={spin.remedy.step} s")
    reference = run(ENGINE, tmp_path, "simulation.integrator=dop853")[1]
    speeds = [found.channel("joints/bearing/v").values[-1, 0] for found in (wrong, right, reference)]
    assert speeds[0] != pytest.approx(speeds[2], rel=0.03)
    assert speeds[1] == pytest.approx(speeds[2], rel=1e-3)


def test_a_rotor_on_a_loop_is_not_in_the_loop(tmp_path: Path) -> None:
    """A rotor that turns by 2 rad in a step about its own axis, carried by the rod of a four-bar."""
    outcome, found = run(FOUR_BAR, tmp_path)
    speed = np.linalg.norm(found.channel("bodies/rotor/angular_velocity").values, axis=1)
    assert speed.max() * 1e-3 > 1.5
    assert [(alarm.name, alarm.level) for alarm in outcome.alarms] == [("spin", "note")]


@pytest.mark.parametrize("integrator", ["linearly_implicit_euler", "sdirk2"])
def test_a_stiff_servo_with_an_implicit_integrator_is_trusted(integrator: str, tmp_path: Path) -> None:
    """The energy of the fast approach is damped; the position that it leads to is right, and no other integrator is."""
    servo = """
mbsim: 1
name: servo
gravity: [0, 0, 0]
bodies: {finger: {mass: 0.01, inertia: {principal: [2e-5, 2e-5, 2e-5]}}}
joints: {hinge: {type: revolute, child: finger}}
actuators: {servo: {type: position, joint: hinge, kp: 1e4, kv: 20, target: 0.5}}
simulation: {duration: 0.1, step: 1 ms}
"""
    outcome, found = run(servo, tmp_path, f"simulation.integrator={integrator}")
    assert found.channel("joints/hinge/q").values[-1, 0] == pytest.approx(0.5, abs=1e-6)
    assert outcome.status == "complete"
    assert not [alarm for alarm in outcome.alarms if alarm.remedy.integrator]


def test_all_alarms_of_a_run_have_one_remedy_that_is_said_once(tmp_path: Path) -> None:
    outcome, _ = run(ENGINE, tmp_path, "simulation.integrator=semi_implicit_euler", "simulation.duration=0.5 s")
    levels = [alarm.level for alarm in outcome.alarms]
    assert len(levels) > 2
    assert levels == sorted(levels, key=("failed", "warning", "note").index)
    [remedy] = {str(alarm.remedy) for alarm in outcome.alarms}
    assert outcome.message.count(remedy) == 1
    found = re.fullmatch(r"use `simulation\.integrator: (\w+)` with the step of (\S+) s", remedy)
    assert found is not None
    settings = (f"simulation.integrator={found[1]}", f"simulation.step={found[2]} s", "simulation.duration=0.5 s")
    again, _ = run(ENGINE, tmp_path, *settings)
    assert (again.status, again.alarms) == ("complete", ())


def test_the_remedies_of_an_unstable_run_have_the_step_of_its_stability_limit(tmp_path: Path) -> None:
    """The values of a run that blows up would ask for steps that are much too short."""
    unstable = OSCILLATOR.replace("1e6", "4.5e6").replace("0.2 s", "0.02 s")
    outcome, _ = run(unstable, tmp_path)
    assert {alarm.name for alarm in outcome.alarms} >= {"stability", "ledger"}
    assert {alarm.remedy.step for alarm in outcome.alarms} == {2e-4}  # half of 2/sqrt(4.5e6) s, rounded down


def test_alarms_of_the_start_are_recorded(tmp_path: Path) -> None:
    unstable = OSCILLATOR.replace("1e6", "4.5e6").replace("0.2 s", "0.004 s")
    outcome, found = run(unstable, tmp_path, "joints.s.force=1e5*exp(-((t - 0.0025)/2e-5)**2)")
    recorded = json.loads(found.attributes["alarms"])
    early = {alarm["name"]: alarm for alarm in recorded if alarm["at_start"]}
    assert set(early) == {"stability", "signals"}
    assert early["stability"]["value"] == pytest.approx(1e-3 / (2.0 / math.sqrt(4.5e6)), rel=1e-3)
    assert all(alarm["remedy"] for alarm in recorded)
    assert "exceeds the stability limit" not in outcome.message  # it was reported before the first step
    off = [f"simulation.alarms.{name}=false" for name in ("stability", "signals")]
    assert prepare(tmp_path / "scene.yaml", off).compiled.alarms == ()


@pytest.mark.parametrize(("stiffness", "step"), [("1e9", 2e-5), ("1e12", 1e-6)])
def test_a_run_that_diverges_names_a_step(stiffness: str, step: float, tmp_path: Path) -> None:
    """Half of the stable step at the start, and at least a thousandth of the step."""
    outcome, _ = run(OSCILLATOR.replace("1e6", stiffness), tmp_path)
    assert outcome.status == "diverged"
    assert f"use `simulation.integrator: rk4` with the step of {step:g} s" in outcome.message


FAR_FROM_REST = """
mbsim: 1
bodies:
  a: {mass: 1, inertia: {principal: [10, 10, 10]}}
  b: {mass: 1, inertia: {principal: [10, 10, 10]}, position: [3, 0, 0]}
  c: {mass: 1, inertia: {principal: [10, 10, 10]}}
joints: {s: {type: prismatic, child: c, axis: [0, 0, 1], stiffness: 1000}}
springs:
  weak: {between: [{body: a}, {body: world, point: [0, 0, 1]}], stiffness: 1000, rest_length: 0.1}
  u: {type: bushing, parent: a, child: b, stiffness: {linear: [1e6, 1e6, 1e6], angular: [1e5, 1e5, 1e5]}}
simulation: {duration: 0.05 s, step: 0.1 ms}
"""


@pytest.mark.parametrize("method", ["aba", "variational", "variational_maximal"])
def test_a_run_that_diverges_at_once_names_the_element_far_from_rest(method: str, tmp_path: Path) -> None:
    """A bushing of 3e6 N; frames that coincide at the start are the remedy, which is followed."""
    outcome, _ = run(FAR_FROM_REST.replace("0.1 ms", "5 ms"), tmp_path, f"simulation.method={method}")
    assert outcome.status == "diverged"
    said = "the largest force at the start is that of bushing `u`, 3e+06 N: correct its frames or the start "
    assert f"{said}(`mbsim equilibrium` computes one at rest), or " in outcome.message
    near = FAR_FROM_REST.replace("child: b,", "child: b, origin: {position: [3, 0, 0]},")
    again, _ = run(near, tmp_path, f"simulation.method={method}")
    assert (again.status, again.message) == ("complete", "")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("stiffness: 1000, rest", "stiffness: 1e12, rest", "spring `weak`, 9e+11 N: correct its rest length or the"),
        ("stiffness: 1000}", "stiffness: 1e12, q: 2}", "joint `s`, 2e+12 N: correct its `rest` or the start"),
        (
            "simulation:",
            "forces: {f: {body: a, torque: [0, 1e13, 0]}}\nsimulation:",
            "load `f`, 1e+13 N m: correct its",
        ),
    ],
)
def test_the_element_far_from_rest_is_of_any_kind(old: str, new: str, named: str, tmp_path: Path) -> None:
    outcome, _ = run(FAR_FROM_REST.replace(old, new).replace("0.1 ms", "5 ms"), tmp_path)
    assert f"the largest force at the start is that of {named}" in outcome.message


@pytest.mark.parametrize("scene", ["elastic_ropes", "combinations", "excitation", "moving_points"])
def test_the_force_of_each_element_alone_is_computed(scene: str) -> None:
    """Elements read tables of their own: spans of ropes, terms of combinations, curves of muscles, signals."""
    sim = mbsim.Simulation(mbsim.load(GALLERY / f"{scene}.yaml"))
    forces = list(_forces(sim._model, start_of(sim._state, placed(sim._model, sim._state))))
    assert len(forces) == sum(map(len, sim._model.system.forces.tables))
    assert all(math.isfinite(one.size) for one in forces)
    if scene == "elastic_ropes":  # the load of 20 kg hangs from two parts of the tackle, and the belt has 200 N twice
        sizes = {one.element[1]: one.value for one in forces}
        assert sizes["tackle"] == pytest.approx(20 * 9.81, rel=1e-12)
        assert sizes["belt"] == pytest.approx(2 * 200, rel=1e-12)


PULLED = """
mbsim: 1
bodies: {a: {mass: 1, com: [0, 0, -0.5], inertia: {principal: [1, 1, 1]}}}
joints: {h: {type: revolute, child: a, axis: [0, 1, 0]}}
springs: {weak: {between: [{body: a, point: [0, 0, -1]}, {body: world}], stiffness: 1, rest_length: 1}}
muscles:
  pull:
    path: [{body: a, point: [0, 0, -0.1]}, {body: world, point: [0, 0, 0.1]}]
    max_isometric_force: 100
    optimal_length: 0.1
    tendon_slack_length: 0.1
    curves: millard2012
    activation: "sqrt(joints.h.q)"
simulation: {duration: 0.05 s, step: 1 ms}
"""


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("activation:", "tendon: elastic\n    activation:", ["muscles.pull `sqrt(joints.h.q)`"]),
        ("activation:", "activation:", ["muscles.pull `sqrt(joints.h.q)`"]),
        (
            "axis: [0, 1, 0]",
            "axis: [0, 1, 0], force: log(joints.h.q + 1)",
            ["joints.h `log(joints.h.q + 1)`", "muscles.pull `sqrt(joints.h.q)`"],
        ),
    ],
)
def test_forces_that_are_not_finite_at_the_start_are_named(
    old: str, new: str, named: list[str], tmp_path: Path
) -> None:
    """An elastic tendon had fibers of a large length there, and the run was complete."""
    outcome, _ = run(PULLED.replace(old, new), tmp_path, "joints.h.q=-1")
    assert outcome.status == "diverged"
    assert outcome.message.startswith("no finite value at the start: ")
    places = re.findall(r"scene\.yaml:\d+:\d+: (\S+ `[^`]+`)", outcome.message)
    assert places == named


DOMAINS = {
    "force": "joints: {h: {type: revolute, child: a, axis: [0, 1, 0], q: 0.3, force: -sqrt(joints.h.q + 0.25)}}",
    "moving point": """
joints: {h: {type: revolute, child: a, axis: [0, 1, 0], q: 0.3}}
springs:
  s:
    path: [{body: world, point: [1, 0, 0]}, {body: a, coordinate: h, moving: ["sqrt(q + 0.25)", 0, 0]}]
    stiffness: 0.1
    rest_length: 0.1""",
    "constraint": """
joints: {h: {type: revolute, child: a, axis: [0, 1, 0], q: 0.3}, g: {type: prismatic, child: b, axis: [1, 0, 0]}}
constraints:
  c: {type: expression, inputs: {x: g, q: h}, value: "x - 0.1*sqrt(q + 0.25) + 0.1*sqrt(0.55)"}""",
}


@pytest.mark.parametrize("method", ["aba", "baraff", "variational"])
@pytest.mark.parametrize(("kind", "named"), list(zip(DOMAINS, ["joints.h", "springs.s", "constraints.c"], strict=True)))
def test_expressions_that_leave_their_domain_are_named(kind: str, named: str, method: str, tmp_path: Path) -> None:
    """Place, element, expression and time; the pendulum passes -0.25 rad."""
    inertia = "inertia: {principal: [0.1, 0.1, 0.1]}"
    other = f", b: {{mass: 0.1, {inertia}}}" if kind == "constraint" else ""
    text = f"mbsim: 1\nbodies: {{a: {{mass: 1, com: [0, 0, -1], {inertia}}}{other}}}\n{DOMAINS[kind].strip()}\n"
    integrator = "auto" if method == "variational" else "semi_implicit_euler"
    text += f"simulation: {{duration: 2 s, step: 1 ms, method: {method}, integrator: {integrator}}}\n"
    outcome, _ = run(text, tmp_path)
    assert outcome.status == "diverged"
    found = re.match(r"no finite value at t = ([\d.]+) s: .*scene\.yaml:\d+:\d+: (\S+) `[^`]*sqrt\(", outcome.message)
    assert found is not None, outcome.message
    assert found[2] == named
    assert 0.3 < float(found[1]) < 2.0


def test_elastic_energy_at_the_start_is_available(tmp_path: Path) -> None:
    """Of a bushing that stores 4.5e6 J and only stores more after an unstable step."""
    outcome, _ = run(FAR_FROM_REST.replace("0.1 ms", "5 ms"), tmp_path)
    [ledger] = [alarm for alarm in outcome.alarms if alarm.name == "ledger"]
    assert " of the 4.5e+06 J that were available" in ledger.message


def test_a_run_with_a_long_step_near_rest_names_no_force(tmp_path: Path) -> None:
    outcome, _ = run(OSCILLATOR.replace("1e6", "1e9").replace("q: 1,", "q: 1e-9,"), tmp_path)
    assert outcome.status == "diverged"
    assert "largest force" not in outcome.message


def test_an_engine_with_defaults_runs_right(tmp_path: Path) -> None:
    outcome, found = run(ENGINE, tmp_path)
    reference = run(ENGINE, tmp_path, "simulation.integrator=dop853")[1]
    assert (outcome.status, found.attributes["integrator"]) == ("complete", "rk4")
    for channel in ("joints/bearing/v", "joints/bore/q"):
        speeds = [one.channel(channel).values for one in (found, reference)]
        assert speeds[0] == pytest.approx(speeds[1], rel=1e-3, abs=1e-3 * np.abs(speeds[1]).max())
