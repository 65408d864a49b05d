"""Alarms of unsolved steps: each cause has its message, the joint or the residual, and its own remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from friction_trees import without_passes

from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.simulation import prepare

SCENES = Path(__file__).parents[2] / "scenes" / "validation"

STACK = """
mbsim: 1
world: {shapes: [{type: plane}]}
contacts: {friction: 0.5, tolerance: 1e-15}
bodies:
  lower: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0, 0, 0.1],
          velocity: {linear: [1, 0.3, 0], angular: [0, 0, 2]}}
  upper: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0.03, 0, 0.3]}
simulation: {duration: 0.1 s, step: 1 ms}
"""
"""A tolerance below round-off."""

CARTS = """
mbsim: 1
gravity: [0, 0, 0]
bodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}}, b: {mass: 1, inertia: {principal: [1, 1, 1]}}}
joints:
  a: {type: prismatic, axis: [1, 0, 0], child: a, force: "1 - 200*joints.b.v", limits: [0, null]}
  b: {type: prismatic, axis: [1, 0, 0], child: b, force: "-200*joints.a.v"}
simulation: {duration: 0.05 s, step: 10 ms, integrator: linearly_implicit_euler, alarms: {ledger: false}}
"""
"""Two carts that destabilize each other: without a solution at the limit in steps of more than 5 ms."""

BALL = """
mbsim: 1
world: {shapes: [{type: plane}]}
contacts: {friction: 0.3, restitution: 0, max_iterations: 1}
bodies: {ball: {mass: 1, shapes: [{type: sphere, radius: 0.1}], position: [0, 0, 0.1], velocity: {linear: [1, 0, -1]}}}
forces: {push: {body: ball, force: ["20*bodies.ball.linear_velocity.z", 0, 0]}}
simulation: {duration: 0.01 s, step: 10 ms, integrator: linearly_implicit_euler, alarms: {ledger: false}}
"""
"""An impact changes a force in the same step."""


WHEEL = """
mbsim: 1
gravity: [0, 0, 0]
contacts: {{friction: 0}}
bodies:
  wheel: {{mass: 1, shapes: [{shape}]}}
  ball: {{mass: 1, shapes: [{{type: sphere, radius: 0.01}}], position: [0.510001, 0, 0]}}
joints: {{hinge: {{type: revolute, axis: [0, 0, 1], child: wheel, v: 1000}}}}
simulation: {{duration: 10 ms, step: 1 ms}}
"""
"""A wheel that turns by 1 rad in a step, 1e-6 m beside a ball."""


def alarm_of(name: str, scene: Path, *settings: str):
    """Run a scene; return the alarm of this name."""
    [found] = [
        alarm
        for alarm in prepare(scene, ["expect=[]", *settings]).run(MemorySink()).outcome.alarms
        if alarm.name == name
    ]
    return found


@pytest.fixture
def written(tmp_path):
    """Write a scene to a file."""

    def write(text):
        path = tmp_path / "scene.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_residual_of_coulombs_law_is_named_and_a_tolerance_that_it_meets(written):
    path = written(STACK)
    alarm = alarm_of("contacts", path)
    assert (
        f"in {alarm.value:.0f} of 100 steps: the impulses of {alarm.value:.0f} miss Coulomb's law by up to"
        in alarm.message
    )
    [tolerance] = [word for word in str(alarm.remedy).split() if word.startswith("1e-")]
    assert f"set `contacts.tolerance` to {tolerance}" in str(alarm.remedy)
    assert prepare(path, [f"contacts.tolerance={tolerance}"]).run(MemorySink()).outcome.alarms == ()


def test_friction_that_disagrees_with_its_loads_names_the_joint(monkeypatch):
    """Scene 31 with a single iteration of limits, by rows."""
    without_passes(monkeypatch)
    alarm = alarm_of("contacts", SCENES / "redmax_scene_31.yaml", "contacts.max_iterations=1")
    assert "the friction of joints disagrees with their loads, most in joint `hinge" in alarm.message
    assert "reduce the friction of `hinge" in str(alarm.remedy)
    assert "increase `contacts.max_iterations`" in str(alarm.remedy)


@pytest.mark.parametrize("method", ["variational", "variational_maximal"])
def test_friction_that_disagrees_with_a_variational_step_names_the_joint(method):
    """A tolerance of the step below round-off."""
    settings = (f"simulation.method={method}", "simulation.options={tolerance: 1e-16}")
    alarm = alarm_of("contacts", SCENES / "redmax_scene_30.yaml", *settings)
    assert "the friction of joints disagrees with slip and loads in the step, most in joint `" in alarm.message
    assert "increase `simulation.options.tolerance`" in str(alarm.remedy)


def test_coupled_forces_without_a_solution_are_no_lack_of_convergence(written):
    alarm = alarm_of("implicit", written(CARTS))
    assert "(coupled forces) and limits of joints have no solution, or several" in alarm.message
    assert "converge" not in alarm.message
    assert str(alarm.remedy) == "reduce `simulation.step` to 0.001 s, or weaken the coupled forces"
    assert prepare(written(CARTS), ["simulation.step=1 ms"]).run(MemorySink()).outcome.alarms == ()


def test_coupled_forces_that_miss_the_impulses_of_contacts_are_named(written):
    path = written(BALL)
    alarm = alarm_of("implicit", path)
    assert "(coupled forces) disagree with the impulses of contacts in 1 steps" in alarm.message
    assert "increase `contacts.max_iterations`" in str(alarm.remedy)
    assert prepare(path, ["contacts.max_iterations=200"]).run(MemorySink()).outcome.alarms == ()


def test_shapes_that_pass_too_closely_to_follow_their_paths_are_reported(written):
    """A cylinder that turns about its axis does not move; of an ellipsoid the symmetry is not known."""
    close = written(WHEEL.format(shape="{type: ellipsoid, radii: [0.5, 0.5, 0.1]}"))
    assert "in 10 shapes pass each other so closely" in alarm_of("contacts", close).message
    apart = prepare(written(WHEEL.format(shape="{type: cylinder, radius: 0.5, length: 0.1}"))).run(MemorySink())
    assert [alarm.name for alarm in apart.outcome.alarms] == ["spin"]
