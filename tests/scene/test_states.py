"""Initial states by name: the chosen one, overrides after it, the resolved scene, and refusals."""

import math
import sys

import pytest
from scene_texts import load, problems

import mbsim
from multibody_cli.errors import SceneError

SCENE = """mbsim: 1
vars: {angle: 0.5}
bodies:
  arm: {mass: 1, inertia: {principal: [1, 1, 1]}}
  ball: {mass: 1, inertia: {principal: [1, 1, 1]}, position: [1, 2, 3]}
joints:
  hinge: {type: revolute, child: arm, axis: [0, 0, 1], q: 0.1, v: 0.2}
states:
  home: {joints: {hinge: {q: "${angle}"}}, bodies: {ball: {velocity: {linear: [1, 0, 0]}}}}
  away: {joints: {hinge: {v: 3}}, bodies: {ball: {position: [0, 0, 1]}}}
simulation: {duration: 0.01}
"""


def start(loaded):
    hinge, ball = loaded.scene.joints["hinge"], loaded.scene.bodies["ball"]
    return hinge.q[0], hinge.v[0], ball.position, ball.velocity.linear


NONE = (0.1, 0.2, (1, 2, 3), (0, 0, 0))
HOME = (0.5, 0.2, (1, 2, 3), (1, 0, 0))
AWAY = (0.1, 3.0, (0, 0, 1), (0, 0, 0))


@pytest.mark.parametrize(
    ("overrides", "wanted"),
    [
        ((), NONE),
        (("--state=home",), HOME),
        (("simulation.state=away",), AWAY),
        (("--state=home", "vars.angle=0.7"), (0.7, *HOME[1:])),
        (("joints.hinge.q=0.9", "--state=home"), (0.9, *HOME[1:])),
        (("states.home.joints.hinge.q=0.8", "--state=home"), (0.8, *HOME[1:])),
    ],
)
def test_the_chosen_state_replaces_the_fields_that_it_gives(tmp_path, overrides, wanted):
    """Before `--set`, which replaces values after it."""
    loaded = load(tmp_path, SCENE, *overrides)
    assert start(loaded) == wanted
    assert loaded.states == ("home", "away")


def test_a_state_gives_numbers_of_inputs(tmp_path):
    text = SCENE.replace(
        "states:", "inputs: {target: 1, other: sin(t)}\nstates:\n  up: {inputs: {target: 30 deg, other: 2}}"
    )
    for overrides, wanted in (
        ((), (1.0, None)),
        (("--state=up",), (math.pi / 6, 2.0)),
        (("--state=home",), (1.0, None)),
        (("--state=up", "inputs.target=3"), (3.0, 2.0)),
    ):
        inputs = load(tmp_path, text, *overrides).scene.inputs
        assert (inputs["target"].constant, inputs["other"].constant) == wanted


def test_the_resolved_scene_has_the_chosen_state_alone(tmp_path):
    resolved = load(tmp_path, SCENE, "--state=home", "joints.hinge.q=0.9")
    again = load(tmp_path, resolved.text)
    assert again.scene == resolved.scene
    assert start(again) == (0.9, *HOME[1:])
    assert again.states == ()
    assert problems(tmp_path, resolved.text, "--state=home") == [
        "--state home: simulation.state: unknown state `home`: the scene has no `states`: "
        "leave out the choice, or add the section"
    ]


@pytest.mark.parametrize("name", ["home pose", "2nd", "a.b", "7", "on", "1e3", "null", "a: b", "rést"])
def test_a_state_has_any_name_of_an_element(tmp_path, name):
    """`--state` takes a name as it is; a value of `--set` is YAML."""
    text = SCENE.replace("  home:", f"  '{name}':")
    assert start(load(tmp_path, text, f"--state={name}")) == HOME
    assert start(load(tmp_path, text, f"simulation.state='{name}'")) == HOME


def test_a_state_gives_initial_activations_of_filters(tmp_path):
    filtered = "actuators:\n  servo: {type: position, joint: hinge, kp: 1, target: 0, filter: 0.1}\nstates:\n"
    text = SCENE.replace("states:\n", f"{filtered}  on: {{actuators: {{servo: {{initial_activation: 30 deg}}}}}}\n")
    for overrides, wanted in (((), 0.0), (("--state=on",), math.pi / 6)):
        assert load(tmp_path, text, *overrides).scene.actuators["servo"].initial_activation == pytest.approx(wanted)
    assert "has no effect without `filter`" in problems(tmp_path, text.replace(", filter: 0.1", ""))[0]
    assert "unknown key `target`" in problems(tmp_path, text.replace("{initial_activation", "{target"))[0]
    assert "unknown actuator `motor`" in problems(tmp_path, text.replace("{servo: {initial", "{motor: {initial"))[0]


@pytest.mark.compiled
def test_programs_choose_a_state():
    assert mbsim.Simulation(mbsim.load(SCENE, state="away")).v["hinge"][0] == 3.0
    with pytest.raises(SceneError, match="unknown state `awa`: did you mean `away`"):
        mbsim.load(SCENE, state="awa")


def test_a_choice_that_is_no_name_is_refused(tmp_path):
    for value, found in (("[1]", "a list"), ("3", "`3`"), ("true", "true")):
        text = SCENE.replace("duration: 0.01", f"duration: 0.01, state: {value}")
        assert [one.partition("unknown state ")[2] for one in problems(tmp_path, text)] == [
            f"{found}: valid: away, home"
        ]


def test_the_cost_of_states_is_linear(tmp_path):
    """Function calls, as the entries of states and the joints of a scene become twice as many."""

    def calls(count):
        joints = [f"  j{k}: {{type: prismatic, child: b{k}, axis: [1, 0, 0], limits: [-1, 1]}}\n" for k in range(count)]
        bodies = [f"  b{k}: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}\n" for k in range(count)]
        entries = ", ".join(f"j{k}: {{q: 0.5}}" for k in range(count))
        text = (
            f"mbsim: 1\nbodies:\n{''.join(bodies)}joints:\n{''.join(joints)}"
            f"states: {{home: {{joints: {{{entries}}}}}}}\nsimulation: {{duration: 1}}\n"
        )
        found = 0

        def count_call(frame, event, argument):
            nonlocal found
            found += event == "call"

        sys.setprofile(count_call)
        try:
            load(tmp_path, text)
        finally:
            sys.setprofile(None)
        return found

    calls(5)  # imports
    few, more, many = map(calls, (20, 40, 80))
    assert many - more < 2.2 * (more - few)
