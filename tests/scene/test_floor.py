"""The floor of a scene: its height, its direction, the shapes that touch it, and the option that adds it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scene_texts import load, problems

from multibody_cli.contacts.detect import detect
from multibody_cli.contacts.work import detection_workspace_for
from multibody_cli.initial.initial_state import placed_bodies
from multibody_cli.methods import METHODS
from multibody_cli.studies.simulation import prepare

pytestmark = pytest.mark.compiled

SHAPES = {
    "sphere": "type: sphere, radius: 0.2",
    "capsule": "type: capsule, radius: 0.1, length: 0.5",
    "cylinder": "type: cylinder, radius: 0.2, length: 0.3",
    "box": "type: box, size: [0.2, 0.3, 0.4]",
    "ellipsoid": "type: ellipsoid, radii: [0.1, 0.2, 0.3]",
    "mesh": "type: mesh, vertices: [[0, 0, 0], [0.3, 0, 0], [0, 0.4, 0], [0, 0, 0.5], [0.2, 0.2, 0.3]]",
}
UPRIGHT = "{axis: [1, 0, 0], angle: 0}"
TURNS = (UPRIGHT, "{axis: [1, 0, 0], angle: 90 deg}", "{axis: [1, -2, 3], angle: 1.3}", "{axis: [3, 1, 1], angle: -2}")


def scene_of(shape: str, turn: str, contacts: str, gravity: str = "[0, 0, -9.81]") -> str:
    return f"""
mbsim: 1
gravity: {gravity}
contacts: {contacts}
bodies:
  thing:
    mass: 1 kg
    inertia: {{principal: [1, 1, 1]}}
    position: [0.3, -0.2, 0.7]
    rotation: {turn}
    shapes: [{{{SHAPES[shape]}, position: [0.1, 0.2, -0.3], rotation: {{axis: [0, 1, 1], angle: 0.4}}}}]
simulation: {{duration: 0.01 s, step: 1 ms}}
"""


@pytest.mark.parametrize("gravity", ["[0, 0, -9.81]", "[1, -2, 2]", "[0, 9.81, 0]"])
@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_contact_nearest_to_the_floor_has_its_distance(tmp_path: Path, shape: str, turn: str, gravity: str) -> None:
    """Gaps of the detection of contacts, whose formulas are others."""
    for distance in (0.0, 0.25):
        (tmp_path / "scene.yaml").write_text(scene_of(shape, turn, f"{{floor: {distance}}}", gravity))
        compiled = prepare(tmp_path / "scene.yaml").compiled
        geometry = compiled.model.system.contacts.geometry
        work = detection_workspace_for(geometry)
        count, _ = detect(geometry, placed_bodies(compiled.model, compiled.state), 10.0, work)
        assert count
        assert work.contacts[:count]["gap"].min() == pytest.approx(distance, abs=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_falls_its_distance_and_rests_on_the_floor(tmp_path: Path, method: str) -> None:
    text = (
        scene_of("sphere", UPRIGHT, "{floor: 20 cm}")
        .replace("0.01 s", "0.5 s")
        .replace("[0.1, 0.2, -0.3]", "[0, 0, 0]")
    )
    (tmp_path / "ball.yaml").write_text(text.replace("step: 1 ms", f"step: 1 ms, method: {method}"))
    summary, run = prepare(tmp_path / "ball.yaml").run_in_memory()
    height, time = run.channel("bodies/position").values[:, 0, 2], run.time
    assert summary.outcome.status == "complete"
    lands = math.sqrt(2.0 * 0.2 / 9.81)
    falling = time < lands - 0.002
    assert height[falling] == pytest.approx(0.7 - 0.5 * 9.81 * time[falling] ** 2, abs=0.003)
    assert height[time > lands + 0.002] == pytest.approx(0.5, abs=1e-6)


def test_the_resolved_scene_has_the_plane(tmp_path: Path) -> None:
    (tmp_path / "scene.yaml").write_text(scene_of("box", UPRIGHT, "{floor: 0.1}", "[0, 3, -4]"))
    first = prepare(tmp_path / "scene.yaml")
    assert "floor" not in first.loaded.text
    (tmp_path / "again.yaml").write_text(first.loaded.text)
    again = prepare(tmp_path / "again.yaml")
    np.testing.assert_array_equal(
        again.compiled.model.system.contacts.geometry.geoms["x"],
        first.compiled.model.system.contacts.geometry.geoms["x"],
    )


def test_shapes_of_the_world_are_above_the_floor(tmp_path: Path) -> None:
    text = scene_of("sphere", UPRIGHT, "{floor: 0}")
    text += (
        "world: {shapes: [{type: box, size: [1, 1, 1], position: [5, 0, 0]}, {type: plane, position: [0, 0, -3]}]}\n"
    )
    (tmp_path / "scene.yaml").write_text(text)
    plane = prepare(tmp_path / "scene.yaml").scene.world.shapes[-1]
    assert plane.position == (0.0, 0.0, -0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (scene_of("box", UPRIGHT, "{floor: -1}"), "contacts.floor: "),
        (scene_of("box", UPRIGHT, "{floor: 0}", "[0, 0, 0]"), "a floor lies across gravity, but `gravity` is 0"),
        (
            scene_of("box", UPRIGHT, "{floor: 0}").replace("type: box", "type: box, contact: false"),
            "no shape takes part",
        ),
    ],
)
def test_floors_without_a_place_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """Before anything is compiled."""
    (found,) = problems(tmp_path, text)
    assert message in found


def test_the_option_enables_contacts(tmp_path: Path) -> None:
    without = scene_of("box", UPRIGHT, "{}").replace("contacts: {}\n", "")
    assert load(tmp_path, without, "--floor=20 cm").scene.contacts.floor == 0.2
    kept = load(tmp_path, scene_of("box", UPRIGHT, "{friction: 0.3}"), "--floor=0").scene.contacts
    assert (kept.floor, kept.friction.static) == (0.0, 0.3)
    assert problems(tmp_path, without, "contacts.friction=0.3")
