"""`mbsim export --to mjcf` writes a scene as a model, and reports its losses with their places."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_result import Command

SCENE = """mbsim: 1
bodies:
  rod: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  hinge: {type: revolute, child: rod, limits: [null, 1]}
forces:
  push: {body: rod, force: [1, 0, 0]}
simulation: {duration: 1 ms, step: 1 ms}
"""


@pytest.fixture
def scene(folder: Path) -> Path:
    path = folder / "rod.yaml"
    path.write_text(SCENE)
    return path


def test_each_loss_is_a_line_with_its_place(mbsim: Command, scene: Path, folder: Path) -> None:
    ending = mbsim("export", scene.name, "--to", "mjcf")
    assert ending.code == 0
    assert ending.stdout == "outputs/models/rod.xml\n"
    assert ending.stderr.splitlines() == [
        "warning: rod.yaml:5:39: joints.hinge.limits: approximated: a missing bound is 1e+10",
        "warning: rod.yaml:7:3: forces.push: dropped: a force on bodies is not exported",
    ]
    root = ElementTree.parse(folder / "outputs/models/rod.xml").getroot()
    assert [joint.get("name") for joint in root.iter("joint")] == ["hinge"]


def test_strict_refuses_losses(mbsim: Command, scene: Path, folder: Path) -> None:
    ending = mbsim("export", scene.name, "--to", "mjcf", "--strict")
    assert ending.code == 2
    assert "--strict: rod.yaml has 2 losses; outputs/models/rod.xml is not written" in ending.stderr
    assert not (folder / "outputs").exists()


def test_an_existing_file_is_replaced_with_force_only(mbsim: Command, scene: Path, folder: Path) -> None:
    words = ["export", scene.name, "--to", "mjcf", "-o", "model.xml"]
    assert mbsim(*words).code == 0
    assert mbsim(*words).code == 2
    assert mbsim(*words, "--force").code == 0


def test_all_joints_without_counterpart_are_reported_together(mbsim: Command, scene: Path, folder: Path) -> None:
    scene.write_text(
        SCENE.replace("  rod:", "  nut: {mass: 1, inertia: {principal: [1, 1, 1]}}\n  rod:").replace(
            "  hinge: {type: revolute, child: rod, limits: [null, 1]}",
            "  bolt: {type: screw, child: rod, pitch: 1 mm}\n  other: {type: screw, child: nut, pitch: 1 mm}",
        )
    )
    ending = mbsim("export", scene.name, "--to", "mjcf")
    assert ending.code == 2
    assert ending.stderr.count("MJCF has no joint for this motion: `screw`") == 2
    assert not (folder / "outputs").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--to", "mjcf", "--every", "1 s"), "it takes no times"),
        (("joints/hinge/q", "--to", "mjcf"), "it takes no channels"),
        (("--strict",), "--strict has no effect without --to mjcf"),
    ],
)
def test_options_of_tables_and_of_models_do_not_mix(
    mbsim: Command, scene: Path, words: tuple[str, ...], message: str
) -> None:
    ending = mbsim("export", scene.name, *words)
    assert ending.code == 2
    assert message in ending.stderr
