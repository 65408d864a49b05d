"""Warnings of values that are valid, and probably mistakes."""

from __future__ import annotations

import pytest

from multibody_cli.document.source import SceneText
from multibody_cli.scene.load import load_scene

SCENE = """\
mbsim: 1
name: t
bodies:
  arm: {mass: 1, inertia: {principal: [1, 1, 1]}BODY}
  other: {mass: 1, inertia: {principal: [1, 1, 1]}OTHER}
joints:
  hinge: {type: revolute, child: arm, axis: [0, 1, 0]JOINT}
MOREsimulation: {duration: 1 ms, step: 1 ms}
"""


def warnings_of(body="", other=", position: [1, 0, 0]", joint="", more=""):
    text = SCENE.replace("BODY", body).replace("OTHER", other).replace("JOINT", joint).replace("MORE", more)
    return list(load_scene(SceneText(text, "t.yaml")).warnings)


@pytest.mark.parametrize(
    ("joint", "place", "said"),
    [
        (", q: 90", "joints.hinge.q", "90 rad is 14.3 turns; did you mean `90 deg`?"),
        (", q: -45.0", "joints.hinge.q", "-45 rad is 7.16 turns; did you mean `-45 deg`?"),
        (", limits: [-90, null]", "joints.hinge.limits[0]", "-90 rad is 14.3 turns; did you mean `-90 deg`?"),
        (
            ", child_origin: {rotation: {euler: [0, 90, 0]}}",
            "joints.hinge.child_origin.rotation.euler[1]",
            "90 rad is 14.3 turns; did you mean `90 deg`?",
        ),
        (
            ", child_origin: {rotation: {axis: [1, 0, 0], angle: 30}}",
            "joints.hinge.child_origin.rotation.angle",
            "30 rad is 4.77 turns; did you mean `30 deg`?",
        ),
    ],
)
def test_an_angle_of_many_turns_in_whole_numbers_is_probably_in_degrees(joint, place, said):
    (warning,) = warnings_of(joint=joint)
    assert warning.startswith("t.yaml:7:")
    assert warning.endswith(f": {place}: {said}")


POINT = "{body: arm, point: [1, 0, 0], coordinate: COORDINATE, range: [0, 40]}"
PATHS = f"paths: {{p: {{path: [{{body: world}}, {POINT}, {{body: arm}}]}}}}\n"


def test_a_range_of_an_angle_in_whole_numbers_beyond_a_turn():
    """A range of a coordinate that slides is none."""
    (warning,) = warnings_of(more=PATHS.replace("COORDINATE", "hinge"))
    assert warning.endswith(": paths.p.path[1].range[1]: 40 rad is 6.37 turns; did you mean `40 deg`?")
    slide = "  slide: {type: prismatic, parent: arm, child: other, axis: [0, 1, 0]}\n"
    assert warnings_of(other="", more=slide + PATHS.replace("COORDINATE", "slide")) == []


SERVOS = "actuators: {servo: {type: position, joint: JOINT, kp: 9, target: TARGET}}\n"


def test_a_target_of_a_servo_of_an_angle_in_whole_numbers_beyond_a_turn():
    (warning,) = warnings_of(more=SERVOS.replace("JOINT", "hinge").replace("TARGET", "45"))
    assert warning.endswith(": actuators.servo.target: 45 rad is 7.16 turns; did you mean `45 deg`?")
    (warning,) = warnings_of(more=SERVOS.replace("JOINT", "hinge").replace("TARGET", "1, input_limits: [-90, 3]"))
    assert warning.endswith(": actuators.servo.input_limits[0]: -90 rad is 14.3 turns; did you mean `-90 deg`?")
    assert warnings_of(more=SERVOS.replace("JOINT", "hinge").replace("TARGET", "45*t")) == []
    slide = "  slide: {type: prismatic, parent: arm, child: other, axis: [0, 1, 0]}\n"
    assert warnings_of(other="", more=slide + SERVOS.replace("JOINT", "slide").replace("TARGET", "45")) == []


NOT_IN_DEGREES = (
    *(", q: 90 deg", ", q: 6", ", q: 31.4159", ", q: -6", ", v: 90"),
    *(", limits: [-1, 3]", ", limits: [-.inf, 3]"),
)


@pytest.mark.parametrize("joint", NOT_IN_DEGREES)
def test_other_angles_are_not(joint):
    assert warnings_of(joint=joint) == []


def test_lengths_are_no_angles():
    slide = "  slide: {type: prismatic, parent: arm, child: other, axis: [0, 1, 0], q: 90}\n"
    assert warnings_of(other="", more=slide) == []


def test_a_body_that_nothing_holds():
    (warning,) = warnings_of(other="")
    assert warning == (
        "t.yaml:5:3: bodies.other: has no joint, and nothing acts on it but gravity: it moves freely from the origin; "
        "is a joint with `child: other` missing?"
    )


@pytest.mark.parametrize(
    ("other", "more"),
    [
        (", velocity: {linear: [1, 0, 0]}", ""),
        ("", "contacts: {}\n"),
        ("", "forces: {f: {body: other, force: [1, 0, 0]}}\n"),
        ("", "springs: {s: {between: [{body: arm}, {body: other}], stiffness: 1, rest_length: 1}}\n"),
        ("", "constraints: {c: {type: distance, between: [{body: arm}, {body: other}], length: 1}}\n"),
    ],
)
def test_bodies_that_move_freely_by_intention(other, more):
    assert warnings_of(other=other, more=more) == []


USED = (
    "vars: {a: 1, b: 2}\nforces: {push: {body: arm, force: ['${b}', 0, 'a*t']}}\n",
    "vars: {a: 1, b: '${2*a}'}\nforces: {push: {body: arm, force: [0, 0, '${b}*t']}}\n",
    "vars: {a: 1, word: arm}\nforces: {'push${a}': {body: '${word}', force: [1, 0, 0]}}\n",
    "vars: {a: 1, n: 2}\nrepeat: [{count: '${n}', forces: {'f${i}': {body: arm, force: ['${a}', 0, 0]}}}]\n",
)


@pytest.mark.parametrize("more", USED)
def test_a_variable_that_nothing_uses_is_probably_misspelt(more):
    """Values, keys, formulas, counts and other variables use it."""
    assert not warnings_of(more=more)
    [warning] = warnings_of(more=more.replace("vars: {a: 1", "vars: {a: 1, aa: 3"))
    assert warning.startswith("t.yaml:8:14: vars.aa: nothing uses this variable")


def test_variables_of_included_files_and_of_options_may_be_unused_by_the_scene(tmp_path):
    (tmp_path / "parts.yaml").write_text("mbsim: 1\nvars: {spare: 1}\n")
    words = {"BODY": "", "OTHER": ", position: [1, 0, 0]", "JOINT": "", "MORE": "include: [parts.yaml]\nvars: {h: 1}\n"}
    text = SCENE
    for word, value in words.items():
        text = text.replace(word, value)
    (tmp_path / "t.yaml").write_text(text)
    assert not load_scene(tmp_path / "t.yaml", ["bodies.arm.mass=${h}"]).warnings
    [warning] = load_scene(tmp_path / "t.yaml").warnings
    assert "vars.h: nothing uses this variable" in warning
