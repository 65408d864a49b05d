"""Couplings, constraints and limits as a scene file writes them."""

import math

import pytest
from scene_texts import BALL, load, problems

HEAD = "mbsim: 1\nsimulation: {duration: 1}\nbodies:\n"
BODIES = "".join(f"  {name}: {BALL}\n" for name in ("a", "b", "c", "d", "skate", "disc"))
JOINTS = """
joints:
  input: {type: revolute, child: a, limits: [-90 deg, null]}
  output: {type: revolute, child: b, limits: [-.inf, 120 deg], q: 1}
  slide: {type: prismatic, child: c}
  wrist: {type: universal, child: d, limits: [null, [-1, 1]]}
"""
COUPLINGS = """
couplings:
  train:  {type: gear, joints: [input, output], ratio: -2.5}
  fingers: {type: equal, joints: [input, output, wrist/0], reduce: true}
  mix:    {type: linear, terms: {input: 1.0, slide: 2.0, wrist/1: -1.0}, value: 0}
"""
CONSTRAINTS = """
constraints:
  strut: {type: distance, between: [{body: a, point: [0, 0, 1]}, {body: world, point: [1, 0, 0]}], length: 0.5}
  track: {type: point_on_plane, point: {body: a}, plane: {body: world, normal: [0, 0, 2], position: [0, 0, 0]}}
  wheel: {type: rolling, body: disc, radius: 30 cm, axis: [0, 1, 0], plane: {normal: [0, 0, 1], position: [0, 0, 0]}}
  blade: {type: knife_edge, body: skate, point: [0, 0, 0], edge: [1, 0, 0]}
  rack:  {type: rack_pinion, rack: slide, pinion: input, radius: 0.05}
  lead:  {type: velocity, terms: [{body: a, angular: [0, 0, 1]}, {body: b, linear: [1, 0, 0], point: [0, 0, 0]}]}
"""
ALL = HEAD + BODIES + JOINTS + COUPLINGS + CONSTRAINTS


def test_every_entry_is_read(tmp_path):
    scene = load(tmp_path, ALL).scene
    assert scene.couplings["train"].ratio == -2.5
    assert not scene.couplings["train"].reduce
    assert scene.couplings["fingers"].reduce
    assert scene.couplings["mix"].terms == {"input": 1, "slide": 2, "wrist/1": -1}
    assert scene.constraints["strut"].between[1].body == "world"
    assert scene.constraints["track"].plane.normal == (0, 0, 1)
    assert scene.constraints["wheel"].radius == 0.3
    assert scene.constraints["blade"].normal == (0, 0, 1)
    assert scene.constraints["rack"].offset == 0
    assert scene.constraints["lead"].value.constant == 0
    assert scene.joints["input"].limits == ((-math.pi / 2, math.inf),)
    assert scene.joints["wrist"].limits == (None, (-1, 1))


def test_the_resolved_scene_is_the_same_again(tmp_path):
    first = load(tmp_path, ALL)
    assert load(tmp_path, first.text).scene == first.scene


def test_entries_are_repeated_and_included(tmp_path):
    (tmp_path / "rack.yaml").write_text("constraints: {top: {type: knife_edge, body: skate, edge: [1, 0, 0]}}\n")
    repeat = """
include: [rack.yaml]
repeat:
  - count: 2
    couplings: {"g${i}": {type: gear, joints: [input, "wrist/${i}"], ratio: "${1 + i}"}}
    constraints: {"s${i}": {type: distance, between: [{body: a}, {body: b}], length: "${1 + i}"}}
"""
    scene = load(tmp_path, HEAD + BODIES + JOINTS + repeat).scene
    assert scene.couplings["g1"].joints == ["input", "wrist/1"]
    assert scene.couplings["g1"].ratio == 2
    assert set(scene.constraints) == {"top", "s0", "s1"}


@pytest.mark.parametrize(
    ("terms", "value", "expected"),
    [
        ("{input: 1, output: 2}", "30 deg", math.pi / 6),
        ("{slide: 2}", "5 mm", 5e-3),
        ("{slide: 2, input: 1}", "5 mm", 5e-3),
        ("{slide: 2, input: 1}", "180 deg", math.pi),
    ],
)
def test_the_value_of_a_linear_coupling_is_of_the_kind_of_its_coordinates(tmp_path, terms, value, expected):
    text = HEAD + BODIES + JOINTS + f"couplings: {{mix: {{type: linear, terms: {terms}, value: {value}}}}}\n"
    assert load(tmp_path, text).scene.couplings["mix"].value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("terms", "value", "expected"),
    [
        ("{body: a, angular: [0, 0, 1]}", "60 rpm", math.tau),
        ("{body: a, linear: [0, 0, 1]}", "1 km/h", 1 / 3.6),
        ("{body: a, angular: [0, 0, 1], linear: [0, 0, 1]}", "1 mm/s", 1e-3),
    ],
)
def test_the_value_of_a_velocity_constraint_is_an_angular_speed_where_nothing_is_linear(
    tmp_path, terms, value, expected
):
    text = HEAD + BODIES + f"constraints: {{lead: {{type: velocity, terms: [{terms}], value: {value}}}}}\n"
    assert load(tmp_path, text).scene.constraints["lead"].value.constant == pytest.approx(expected)


def test_a_start_at_its_limit_is_within(tmp_path):
    text = HEAD + BODIES + "joints: {hinge: {type: revolute, child: a, q: 1.5707963267948966, limits: [0, 90 deg]}}\n"
    assert problems(tmp_path, text) == []


def test_an_error_elsewhere_is_reported_once(tmp_path):
    """A coupling of a joint that is wrong itself has no problem of its own; others of its section are still checked."""
    joints = "joints: {input: {type: revolute, child: a, axs: 1}, output: {type: revolute, child: b}}\n"
    couplings = (
        "couplings: {one: {type: equal, joints: [input, output]}, two: {type: equal, joints: [outputs, output]}}\n"
    )
    found = problems(tmp_path, HEAD + BODIES + joints + couplings)
    assert [problem.split(": ")[1] for problem in found] == ["joints.input.axs", "couplings.two.joints[0]"]
