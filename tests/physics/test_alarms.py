"""Alarms: each is raised by a scene made for it and by no sound scene, and its remedy helps."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alarm_scenes import ENGINE, OSCILLATOR, TOP, run
from random_machines import random_machine

from multibody_cli.alarms.catalogue import DESCRIPTIONS
from multibody_cli.alarms.monitor import alarms_of
from multibody_cli.alarms.phases import find_largest
from multibody_cli.alarms.record import Peak, RunRecord, open_rows
from multibody_cli.errors import SceneError
from multibody_cli.model import ConstraintEntry
from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.doctor.diagnosis import diagnose
from multibody_cli.studies.simulation import prepare
from multibody_cli.timeline import Callbacks

Data = dict[str, Any]

WHEEL = """
mbsim: 1
gravity: [0, 0, 0]
bodies: {wheel: {mass: 1, inertia: {principal: [1, 1, 1]}, velocity: {angular: [0, 0, 1500]}}}
simulation: {duration: 0.01 s, step: 1 ms}
"""

STACK = """
mbsim: 1
world: {shapes: [{type: plane}]}
contacts: {friction: 0.5, tolerance: 1e-10}
bodies:
  lower: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0, 0, 0.1],
          velocity: {linear: [1, 0.3, 0], angular: [0, 0, 2]}}
  upper: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0.03, 0, 0.3]}
simulation: {duration: 0.1 s, step: 1 ms}
"""

BLADE = """
mbsim: 1
gravity: [0, 0, 0]
world: {shapes: [{type: box, size: [0.2, 0.002, 0.2], position: [0.9, 0.5, 0]}]}
contacts: {}
bodies: {blade: {mass: 1, shapes: [{type: box, size: [1, 0.005, 0.02], position: [0.5, 0, 0]}]}}
joints: {hub: {type: revolute, child: blade, motion: {velocity: 10}}}
simulation: {duration: 0.1 s, step: 1 ms}
"""
"""A blade that a motion leads through a wall."""

PENDULUM = """
mbsim: 1
bodies:
  upper: {mass: 1, shapes: [{type: box, size: [0.1, 0.1, 1]}]}
  lower: {mass: 1, shapes: [{type: box, size: [0.1, 0.1, 1]}]}
joints:
  shoulder: {type: revolute, child: upper, axis: [0, 1, 0], child_origin: {position: [0, 0, 0.5]}, q: 90 deg}
  elbow: {type: revolute, parent: upper, child: lower, axis: [0, 1, 0], origin: {position: [0, 0, -0.5]},
          child_origin: {position: [0, 0, 0.5]}}
simulation: {duration: 3 s, step: 0.3 s, method: variational, options: {adaptive: true}}
"""

FAST_SPRING = """
mbsim: 1
gravity: [0, 0, 0]
bodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}}}
joints: {j: {type: prismatic, child: a, q: 0.1, stiffness: 1e5}}
simulation: {duration: 0.5 s, step: 1 ms, integrator: sdirk2}
"""
"""A spring of 50 Hz."""

LATTICE = """
mbsim: 1
gravity: [0, 0, 0]
bodies:
  a: {kind: point, mass: 1}
  b: {kind: point, mass: 1, position: [1, 0, 0]}
  c: {kind: point, mass: 1, position: [0.4, 1, 0]}
springs:
  ab: {between: [{body: a}, {body: b}], stiffness: 1e6, rest_length: 0.99}
  bc: {between: [{body: b}, {body: c}], stiffness: 2e6, rest_length: 1.1}
  ca: {between: [{body: c}, {body: a}], stiffness: 3e6, rest_length: 1.0}
simulation:
  {duration: 0.05 s, step: 1 ms, integrator: linearly_implicit_euler, alarms: {damping: false, oscillations: false}}
"""
"""A triangle of stiff springs, whose implicit forces couple all bodies."""

PAINLEVE = """
mbsim: 1
world: {shapes: [{type: plane}]}
contacts: {friction: 2}
bodies:
  rod: {mass: 1, com: [0, 0, 0], inertia: {principal: [1e-6, "${1/12}", "${1/12}"]},
        position: [-0.25, 0, "${sqrt(3)/4 + 1e-3}"], rotation: {axis: [0, 1, 0], angle: 60 deg},
        velocity: {linear: [2, 0, 0]}, shapes: [{type: sphere, radius: 1e-3, position: [0.5, 0, 0]}]}
simulation: {duration: 10 ms, alarms: {ledger: false, spin: false}}
"""
"""A rod that slides on its lower end, leans against the motion, and stops there; the critical friction is 1.35."""

ROD = """
mbsim: 1
gravity: [0, 0, 0]
world: {shapes: [{type: plane}]}
contacts: {friction: 1.48, restitution: 1, impacts: newton}
bodies:
  rod: {mass: 1, inertia: {principal: [1e-3, "${1/12}", "${1/12}"]}, position: [0, 0, 0.395],
        shapes: [{type: sphere, radius: 0.01, position: [0.5, 0, 0]}], rotation: {axis: [0, 1, 0], angle: 50 deg},
        velocity: {linear: [-0.4, 0, -1], angular: [0, 2, 0]}}
simulation: {duration: 20 ms, step: 1 ms}
"""
"""A rod whose lower end hits the floor and stops to slip."""

SCREW = """
mbsim: 1
bodies: {nut: {mass: 1, inertia: {principal: [0.09, 0.09, 0.09]}}}
joints:
  thread: {type: screw, child: nut, axis: [0, 0, 1], pitch: 1, v: -1,
           friction: {coefficient: 0.2, surface: {radius: 0.01, length: 0.1}}}
simulation: {duration: 5 ms, step: 0.1 ms}
"""
"""A nut on a steep thread."""

FINE = ("simulation.step=10 ms",)


CASES = {
    "constraints": (ENGINE, ("simulation.integrator=semi_implicit_euler",), ()),
    "ledger": (OSCILLATOR, ("simulation.step=1.9 ms", "simulation.duration=190 ms"), ("simulation.step=0.05 ms",)),
    "spin": (TOP, (), ("simulation.step=0.05 ms",)),
    "loop_spin": (ENGINE, ("simulation.integrator=rk4", "simulation.step=2 ms"), ()),
    "phase": (json.dumps(random_machine(0)), ("simulation.integrator=semi_implicit_euler",), ()),
    "damping": (OSCILLATOR, ("simulation.integrator=linearly_implicit_euler",), ("simulation.step=0.05 ms",)),
    "penetration": (BLADE, (), ("joints.hub.motion=null", "joints.hub.v=10")),
    "contacts": (STACK, ("contacts.max_iterations=1", "contacts.tolerance=1e-14"), ()),
    "implicit": (LATTICE, ("simulation.options={implicit_iterations: 1}",), ()),
    "oscillations": (FAST_SPRING, (), ("simulation.step=0.0002",)),
    "step_search": (PENDULUM, (), FINE),
    "jams": (PAINLEVE, (), ("contacts.friction=1",)),
    "added_energy": (ROD, (), ("contacts.impacts=energetic",)),
    "uniqueness": (SCREW, (), ("joints.thread.friction.surface.radius=0.05",)),
}


@pytest.mark.parametrize("name", CASES)
def test_an_alarm_is_raised_by_its_scene_and_not_by_the_sound_twin(name: str, tmp_path: Path) -> None:
    text, bad, sound = CASES[name]
    outcome, _ = run(text, tmp_path, *bad)
    [found] = [alarm for alarm in outcome.alarms if alarm.name == name]
    assert found.remedy
    assert found.value > found.threshold
    assert found.message in outcome.message
    assert outcome.message.count(str(found.remedy)) == 1
    assert run(text, tmp_path, *sound)[0].alarms == ()
    off, _ = run(text, tmp_path, *bad, f"simulation.alarms.{name}=false")
    assert name not in [alarm.name for alarm in off.alarms]


def test_every_alarm_of_a_run_has_its_scene() -> None:
    assert set(CASES) | {"stability", "signals", "jumps", "overlap"} == set(DESCRIPTIONS)


def test_the_remedy_of_the_implicit_alarm_gives_the_converged_motion(tmp_path: Path) -> None:
    """Every step misses its tolerance with one iteration, and none with enough of them."""
    limit = "simulation.options={{implicit_iterations: {}}}"
    outcome, rough = run(LATTICE, tmp_path, limit.format(1))
    [alarm] = [alarm for alarm in outcome.alarms if alarm.name == "implicit"]
    assert (alarm.level, alarm.value) == ("warning", 101.0)  # at 0 s, and at both ends of each of 50 steps
    assert "accelerations with implicit forces did not converge to their tolerance 101 times" in outcome.message
    assert "increase `simulation.options.implicit_iterations`" in str(alarm.remedy)
    (few, converged), (_, many) = (run(LATTICE, tmp_path, limit.format(n)) for n in (20, 1000))
    assert few.alarms == ()
    positions = [one.channel("bodies/position").values[-1] for one in (rough, converged, many)]
    np.testing.assert_allclose(positions[1], positions[2], rtol=0, atol=1e-12)
    assert np.abs(positions[0] - positions[2]).max() > 1e-6


@pytest.mark.parametrize("count", [4, 51])
def test_the_remedy_of_staggered_projections_solves_all_steps(count: int, tmp_path: Path) -> None:
    """They do not converge where boxes slide and tip, nor solve more than 50 boxes on each other; `proximal` does."""
    box = {"shapes": [{"type": "box", "size": [0.1, 0.1, 0.1], "density": 500}], "velocity": {"linear": [0.5, 0, 0]}}
    tower: Data = {
        "mbsim": 1,
        "world": {"shapes": [{"type": "plane"}]},
        "contacts": {"method": "staggered_projections"},
        "bodies": {f"box{i}": box | {"position": [0, 0, 0.05 + 0.1 * i]} for i in range(count)},
        "simulation": {"duration": "2 ms"},
    }
    outcome, _ = run(json.dumps(tower), tmp_path)
    [alarm] = outcome.alarms
    assert str(alarm.remedy) == "use `contacts.method: proximal`"
    assert run(json.dumps(tower), tmp_path, "contacts.method=proximal")[0].alarms == ()


def test_the_alarm_of_stability_can_be_set(tmp_path: Path) -> None:
    scene = tmp_path / "scene.yaml"
    scene.write_text(OSCILLATOR.replace("1e6", "9e6"), encoding="utf-8")
    assert any("stability limit" in text for text in prepare(scene).compiled.warnings)
    for threshold in ("false", "2"):  # the step is 1.5 times the limit
        assert prepare(scene, [f"simulation.alarms.stability={threshold}"]).compiled.warnings == ()


@pytest.mark.parametrize("count", [30, 31])
def test_the_springs_of_a_large_model_are_checked(count: int, tmp_path: Path) -> None:
    """A chain of masses on springs: w = 2 sqrt(k/m) cos(pi/(2 (2 n + 1)))."""
    scene: Data = {"mbsim": 1, "bodies": {}, "joints": {}}
    for k in range(count):
        scene["bodies"][f"b{k}"] = {"mass": 1, "inertia": {"principal": [1, 1, 1]}}
        slider = {"type": "prismatic", "axis": [1, 0, 0], "child": f"b{k}", "stiffness": 1e6}
        scene["joints"][f"j{k}"] = slider | ({"parent": f"b{k - 1}"} if k else {})
    limit = math.sqrt(2.0) / (1e3 * math.cos(math.pi / (4.0 * count + 2.0)))
    for factor in (0.99, 1.01):
        scene["simulation"] = {"duration": factor * limit, "step": factor * limit, "integrator": "rk4"}
        path = tmp_path / "scene.yaml"
        path.write_text(json.dumps(scene), encoding="utf-8")
        found = [text for text in prepare(path).compiled.warnings if "stability limit" in text]
        assert len(found) == (1 if factor > 1.0 else 0)


def test_an_interrupted_run_reports_its_alarms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multibody_cli.timeline.INSTANTS_AT_ONCE", 1)
    scene = tmp_path / "scene.yaml"
    scene.write_text(WHEEL, encoding="utf-8")
    instants: list[int] = []
    summary = prepare(scene).run(MemorySink(), Callbacks(instants.append, lambda: len(instants) > 5))
    assert summary.outcome.status == "interrupted"
    assert [alarm.name for alarm in summary.outcome.alarms] == ["spin"]
    assert "stopped on request" in summary.outcome.message


def test_the_doctor_reports_the_alarms_of_the_run_with_its_thresholds(tmp_path: Path) -> None:
    bad = ["simulation.integrator=semi_implicit_euler", "simulation.duration=0.5 s"]
    alarms = {alarm.message for alarm in run(ENGINE, tmp_path, *bad)[0].alarms}
    assert alarms
    assert alarms <= {found.cause.split(" (from")[0] for found in diagnose(tmp_path / "scene.yaml", bad).findings}
    off = [*bad, *(f"simulation.alarms.{name}=false" for name in DESCRIPTIONS)]
    assert "trial run" not in {found.check for found in diagnose(tmp_path / "scene.yaml", off).findings}


def test_round_off_at_rest_is_no_error_of_the_energy(tmp_path: Path) -> None:
    scene = tmp_path / "scene.yaml"
    scene.write_text(TOP.replace("2000", "0"), encoding="utf-8")
    simulation = prepare(scene)
    for residual, names in ((1.6e-17, []), (1e-9, ["ledger"])):
        record = RunRecord(simulation.compiled.model, simulation.run_settings())
        record.residual.add(np.array([0.0]), np.array([[residual]]))
        assert [alarm.name for alarm in alarms_of(simulation.run_settings(), record, ())] == names


def test_alarms_do_not_depend_on_the_recorded_channels(tmp_path: Path) -> None:
    bad = "simulation.integrator=semi_implicit_euler"
    every, _ = run(ENGINE, tmp_path, bad)
    assert run(ENGINE, tmp_path, bad, "output.channels=[time]")[0] == every


@pytest.mark.parametrize("method", ["baraff", "variational_maximal"])
def test_bodies_that_coincide_to_round_off_have_the_length_of_their_mechanism(method: str, tmp_path: Path) -> None:
    """The origins of the bodies of a folded pendulum are 6e-17 m apart; its loops are closed to round-off."""
    folded = ("joints.shoulder.q=0", "joints.shoulder.v=1", "joints.elbow.q=180 deg")
    settings = f"simulation={{duration: 0.1 s, step: 1 ms, method: {method}}}"
    outcome, _ = run(PENDULUM, tmp_path, settings, *folded)
    assert not outcome.alarms


def test_a_threshold_replaces_the_default(tmp_path: Path) -> None:
    off = [f"simulation.alarms.{name}=false" for name in DESCRIPTIONS]
    assert run(ENGINE, tmp_path, "simulation.integrator=semi_implicit_euler", *off)[0].status == "complete"
    strict, _ = run(ENGINE, tmp_path, "simulation.alarms.ledger=1e-9")
    assert [(alarm.name, alarm.level) for alarm in strict.alarms] == [("ledger", "warning")]


def test_an_unknown_alarm_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"simulation\.alarms: unknown alarm `leger`: did you mean `ledger`\?"):
        run(ENGINE, tmp_path, "simulation.alarms.leger=1")


def test_implicit_steps_may_lose_energy(tmp_path: Path) -> None:
    """An implicit integrator damps a fast oscillation, which is reported, but as no error of the ledger."""
    outcome, found = run(OSCILLATOR, tmp_path, "simulation.integrator=linearly_implicit_euler")
    residual = found.channel("energy/ledger_residual").values
    assert residual.min() < -0.9 * found.channel("energy/total").values[0]
    assert [(alarm.name, alarm.level) for alarm in outcome.alarms] == [("oscillations", "warning"), ("damping", "note")]


def machines(count: int, nightly: int) -> list[Any]:
    return [pytest.param(seed, marks=[pytest.mark.nightly] if seed >= count else []) for seed in range(count + nightly)]


@pytest.mark.parametrize("seed", machines(6, 94))
def test_nothing_alarms_in_random_machines_with_defaults(seed: int, tmp_path: Path) -> None:
    outcome, _ = run(json.dumps(random_machine(seed)), tmp_path)
    assert (outcome.status, outcome.message) == ("complete", "")


def test_the_largest_vector_of_an_instant_is_found_whatever_its_size() -> None:
    """Vectors of lengths far below 1, and one that is not a number, which counts as infinite."""
    vectors = np.array([[[3e-4, 0.0, 4e-4], [0.0, 1e-5, 0.0]], [[0.0, 0.0, 0.0], [0.0, 2e-9, 0.0]]])
    sizes, elements = np.empty(3), np.empty(3, np.int64)
    find_largest(np.concatenate([vectors, [[[1.0, 0.0, 0.0], [0.0, math.nan, 0.0]]]]), sizes, elements)
    assert sizes == pytest.approx([5e-4, 2e-9, math.inf], rel=1e-12)
    assert elements.tolist() == [0, 1, 1]


def test_a_peak_knows_when_its_value_exceeded_a_bound() -> None:
    peak, times = Peak(), np.linspace(0.0, 1.0, 101)
    values = np.stack([times, -10.0 * times**2], axis=1)
    peak.add(times[:50], values[:50])
    peak.add(times[50:], values[50:])
    assert (peak.largest, peak.element) == (10.0, 1)
    assert 0.25 <= peak.time_above(2.5) <= 0.75  # exact: 0.5
    assert np.isnan(peak.time_above(16.0))


@pytest.mark.parametrize("count", [1, 2])
def test_a_common_velocity_of_bodies_is_no_error(tmp_path: Path, count: int) -> None:
    """Satellites at 7.5 km/s, which move by many times their distance in a step, as at rest."""
    body = {"mass": 1, "inertia": {"principal": [1, 1, 1]}, "velocity": {"linear": [7500, 0, 0]}}
    scene = {
        "mbsim": 1,
        "gravity": [0, 0, 0],
        "bodies": {f"b{k}": body | {"position": [2 * k, 0, 0]} for k in range(count)},
        "simulation": {"duration": 0.1, "step": 0.01},
    }
    path = tmp_path / "docked.yaml"
    path.write_text(json.dumps(scene))
    assert not prepare(path).run(MemorySink()).outcome.alarms


def test_of_one_sided_rows_the_violation_counts() -> None:
    """A slack rope is open by any length; one that is too long, or has no length, is an error."""
    rows = {
        2: ConstraintEntry("constraints", "rope", slice(2, 3), True),
        0: ConstraintEntry("couplings", "gear", slice(0, 1)),
    }
    errors = np.array([[0.1, 9.0, 0.3], [-0.1, 9.0, -0.2], [0.0, 9.0, math.nan]])
    np.testing.assert_array_equal(open_rows(errors, rows), [[0.0, 0.1], [-0.2, -0.1], [math.nan, 0.0]])
