"""Joints unsuitable for the kinds of their bodies are refused before the run, with a message."""

from __future__ import annotations

import pytest
from scene_texts import problems as refused_on_reading

from multibody_cli import prepare
from multibody_cli.errors import SceneError

BODIES = {
    "bead": "{kind: point, mass: 1}",
    "jelly": "{kind: affine, mass: 1, inertia: {principal: [1, 1, 1]}}",
    "puck": "{kind: planar, mass: 1, inertia: {principal: [1, 1, 1]}, position: [0, 0, 0.1]}",
    "arm": "{mass: 1, inertia: {principal: [1, 1, 1]}}",
}
HEAD = "mbsim: 1\nsimulation: {duration: 1, method: baraff}\n"
BALLS = "{type: revolute, axis: [0, 0, 1]}, {type: revolute, axis: [0, 1, 0]}, {type: revolute, axis: [1, 0, 0]}"
SLIDE = "{type: prismatic, axis: [1, 0, 0]}"


def scene(bodies, rest):
    entries = "".join(f"  {name}: {BODIES.get(name) or bodies[name]}\n" for name in bodies)
    return f"{HEAD}bodies:\n{entries}{rest}"


def refusals(folder, text):
    path = folder / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    try:
        prepare(path)
    except SceneError as error:
        return [str(problem).removeprefix(f"{folder}/").split(": ", 1)[1] for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "joint",
    [
        "type: revolute",
        "type: translational",
        "type: fixed",
        "type: spherical, motion: {velocity: [0, 0, 1]}",
        f"type: composite, parts: [{BALLS}, {SLIDE}]",  # slides along a direction that turns with the body
    ],
)
def test_a_joint_that_constrains_a_rotation(tmp_path, joint):
    (message,) = refusals(tmp_path, scene(["bead"], f"joints: {{held: {{child: bead, {joint}}}}}"))
    start = "joints.held: constrains a rotation of `bead`, which is of kind `point` and has no orientation"
    assert message.startswith(start)
    of_affine = refusals(tmp_path, scene(["jelly"], f"joints: {{held: {{child: jelly, {joint}}}}}"))
    assert not any("constrains a rotation" in message for message in of_affine)


@pytest.mark.parametrize("kind", ["bead", "jelly"])
@pytest.mark.parametrize("joint", ["type: spherical", "type: free", f"type: composite, parts: [{SLIDE}, {BALLS}]"])
def test_suitable_joints_are_accepted(tmp_path, kind, joint):
    assert refusals(tmp_path, scene([kind], f"joints: {{held: {{child: {kind}, {joint}}}}}")) == []


def test_the_other_side_of_a_joint_decides_as_well(tmp_path):
    """As a parent, a point takes forces at F: sliding after turning is right there, and wrong the other way round."""
    for parts, wrong in ((f"[{BALLS}, {SLIDE}]", 0), (f"[{SLIDE}, {BALLS}]", 1)):
        joint = f"joints: {{held: {{parent: bead, child: arm, type: composite, parts: {parts}}}}}"
        assert len(refusals(tmp_path, scene(["bead", "arm"], joint))) == wrong


@pytest.mark.parametrize(
    "field", ["stiffness: [0, 1, 0]", "damping: 1", "force: [1, 0, 0]", "friction: {torque: [0, 1, 0]}"]
)
def test_forces_on_an_angle(tmp_path, field):
    joint = f"joints: {{held: {{parent: arm, child: bead, type: spherical, {field}}}}}"
    name = field.partition(":")[0]
    assert refusals(tmp_path, scene(["arm", "bead"], joint)) == [
        f"joints.held.{name}: applies a torque to `bead`, which is of kind `point` and has no orientation"
    ]


def test_forces_on_a_displacement(tmp_path):
    joint = f"joints: {{wire: {{child: bead, type: composite, parts: [{SLIDE}, {BALLS}], stiffness: [9, 0, 0, 0]}}}}"
    assert refusals(tmp_path, scene(["bead"], joint)) == []


def test_a_coupling_of_an_angle(tmp_path):
    rest = (
        f"joints:\n  wire: {{child: bead, type: composite, parts: [{SLIDE}, {BALLS}]}}\n  hinge: {{child: arm, "
        "type: revolute}\ncouplings: {belt: {type: gear, joints: [hinge, wire/1], ratio: 1}}"
    )
    (message,) = refusals(tmp_path, scene(["bead", "arm"], rest))
    assert (
        message
        == "couplings.belt.joints[1]: applies a torque to `bead`, which is of kind `point` and has no orientation"
    )


def test_a_displacement_across_the_plane(tmp_path):
    hinge = "joints: {hinge: {child: puck, type: revolute}}"
    (message,) = refusals(tmp_path, scene(["puck"], hinge))
    assert message.startswith("joints.hinge: has an error of 0.1 m or rad out of the plane of its bodies")


def test_shapes_beside_the_origin(tmp_path):
    shape = "shapes: [{type: sphere, radius: 0.1, position: [0, 0, 1]}]"
    for kind in ("point", "affine"):
        (message,) = refusals(tmp_path, scene({"one": f"{{kind: {kind}, density: 1, {shape}}}"}, ""))
        assert "the centre of mass is at [0, 0, 1]: the frame of a body of kind" in message


def test_an_affine_body_without_thickness(tmp_path):
    plate = {"plate": "{kind: affine, mass: 1, inertia: {principal: [1, 1, 2]}}"}
    (message,) = refusals(tmp_path, scene(plate, ""))
    assert message.startswith("bodies.plate.inertia: ")
    assert "has no extent along [0, 0, 1]" in message


def test_a_body_of_another_kind_keeps_its_place_beside_a_joint(tmp_path):
    """No joint places it, so that its written start has an effect."""
    assert refused_on_reading(tmp_path, scene(["puck"], "joints: {hinge: {child: puck, type: revolute}}")) == []
