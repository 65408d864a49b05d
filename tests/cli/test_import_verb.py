"""`mbsim import`, and other verbs with models of other programs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_result import Command

from mbsim import SceneWarning, load

ROBOT = Path(__file__).parents[1] / "foreign" / "robot.urdf"
GROUND = "mbsim: 1\ninclude: [robot.urdf]\nsimulation: {duration: 2 ms}\nworld: {shapes: [{type: plane}]}\n"


@pytest.fixture
def robot(folder: Path) -> Path:
    return Path(shutil.copy(ROBOT, folder))


def test_the_report_has_what_a_scene_loses(mbsim: Command, robot: Path) -> None:
    ending = mbsim("import", "robot.urdf")
    assert ending.code == 0
    lines = ending.stdout.splitlines()
    items = sum(1 + len(element.attrib) for element in ElementTree.parse(robot).iter())
    kept = items - 5 - 3  # five attributes, and an element with an attribute and another element
    assert lines[0] == f"robot.urdf: {kept} elements and attributes are kept; 6 drops"
    assert "  line 87: <gazebo>: settings of Gazebo" in lines
    words = ("effort=", "visual name=", "<gazebo")
    places = {k for k, line in enumerate(robot.read_text().splitlines(), 1) if any(word in line for word in words)}
    report = json.loads(mbsim("import", "robot.urdf", "--report", "json").stdout)
    assert report["kept"] == kept
    assert {loss["line"] for loss in report["losses"]} == places


def test_a_scene_that_is_written_is_the_model(mbsim: Command, robot: Path, folder: Path) -> None:
    """Run directly and as a written scene: the same bytes of the state."""
    assert mbsim("import", "robot.urdf", "-o", "scenes/robot.yaml").code == 0
    written = (folder / "scenes/robot.yaml").read_text()
    assert "# robot.urdf:19: with tool" in written
    assert mbsim("import", "robot.urdf", "-o", "scenes/robot.yaml").code == 2  # exists
    ending = mbsim("import", "robot.urdf", "-o", "robot.urdf", "--force")
    assert (ending.code, ending.stderr) == (2, "error: -o robot.urdf: it is the model itself: choose another name\n")
    for scene, result in (("robot.urdf", "one.h5"), ("scenes/robot.yaml", "two.h5")):
        ending = mbsim("run", scene, "--duration", "0.01", "-o", result)
        assert ending.code == 0, ending.stderr
        direct = "warning: robot.urdf: imported: 6 drops: `mbsim import robot.urdf` lists them"
        assert (direct in ending.stderr) == (scene == "robot.urdf")
    assert mbsim("compare", "one.h5", "two.h5").code == 0


def test_a_scene_includes_a_model(mbsim: Command, robot: Path, folder: Path) -> None:
    """Its settings replace those of the model, whose bodies can be named."""
    (folder / "scene.yaml").write_text(GROUND + "joints: {pin: {type: fixed, parent: thumb, child: stone}}\n")
    with (folder / "scene.yaml").open("a") as file:
        file.write("bodies: {stone: {density: 1000, shapes: [{type: sphere, radius: 0.1}]}}\n")
    ending = mbsim("run", "scene.yaml")
    assert ending.code == 0, ending.stderr
    assert "0.002 s in 2 steps" in ending.stdout


def test_bases_are_free_or_fixed(mbsim: Command, robot: Path, folder: Path) -> None:
    robot.write_text(
        '<robot name="a"><link name="box"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" '
        'iyy="1" iyz="0" izz="1"/></inertial></link></robot>'
    )
    for option, degrees in (("--free", 6), ("--fixed", 0)):
        assert mbsim("import", "robot.urdf", "-o", "a.yaml", "--force", option).code == 0
        assert ("box_to_world" in (folder / "a.yaml").read_text()) == (degrees == 0)


def test_masses_from_a_density(mbsim: Command, robot: Path, folder: Path) -> None:
    """A model without masses is refused with the remedy, and has the mass of its shapes with it."""
    robot.write_text(
        '<robot name="a"><link name="ball"><visual><geometry><mesh filename="no.stl"/></geometry></visual>'
        '<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>'
    )
    ending = mbsim("run", "robot.urdf")
    assert ending.code == 2
    assert "robot.urdf: no body has a mass: `mbsim import robot.urdf --density 1000" in ending.stderr
    ending = mbsim("import", "robot.urdf", "--density", "2 g/cm^3", "-o", "a.yaml")
    assert ending.code == 0
    assert "note: " not in ending.stderr
    assert "<mesh>: no such file; searched: no.stl" in ending.stdout
    assert "density: 2000" in (folder / "a.yaml").read_text()
    assert mbsim("run", "a.yaml", "--duration", "0.01").code == 0


def test_losses_are_errors_with_strict(mbsim: Command, robot: Path) -> None:
    ending = mbsim("import", "robot.urdf", "--strict")
    assert ending.code == 2
    assert "robot.urdf:87:3: <gazebo>: dropped: settings of Gazebo" in ending.stderr


def test_a_wrong_package_is_refused(mbsim: Command, robot: Path) -> None:
    ending = mbsim("import", "robot.urdf", "--package", "arm=nowhere")
    assert ending.code == 2
    assert "--package arm=nowhere: there is no folder nowhere" in ending.stderr
    ending = mbsim("import", "robot.urdf", "--package", "arm")
    assert ending.code == 2
    assert "--package arm: expected NAME=DIR" in ending.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["validate"],
        ["info"],
        ["doctor"],
        ["render", "-o", "robot.html"],
        ["bench", "--method", "aba", "--repeat", "1"],
        ["sweep", "--duration", "2ms", "--vary", "joints.shoulder.q=0,0.1", "--json"],
    ],
    ids=lambda words: words[0],
)
def test_verbs_take_a_model(words: list[str], mbsim: Command, robot: Path) -> None:
    verb, *options = words
    ending = mbsim(verb, "robot.urdf", *options)
    assert ending.code == 0, ending.stdout + ending.stderr
    assert "imported: 6 drops: `mbsim import robot.urdf` lists them" in ending.stderr


def test_python_takes_a_model(robot: Path) -> None:
    with pytest.warns(SceneWarning) as found:
        scene = load(robot)
    assert ["imported: 6 drops" in str(one.message) for one in found] == [True, False]  # and contacts are off
    assert scene.bodies == ("upper", "fore", "finger", "thumb", "camera")


@pytest.mark.parametrize("gravity", ["-9.81", "0"])
def test_a_comparison_with_the_engine_is_part_of_the_report(mbsim: Command, folder: Path, gravity: str) -> None:
    pytest.importorskip("mujoco")
    body = '<body name="a"><joint name="h" axis="0 1 0"/><geom type="sphere" size="0.1" pos="0.3 0 0"/></body>'
    Path("m.xml").write_text(f'<mujoco><option gravity="0 0 {gravity}"/><worldbody>{body}</worldbody></mujoco>')
    text = mbsim("import", "m.xml", "--check")
    assert (text.code, text.stdout.splitlines()[1]) == (0, "MuJoCo: 1 joint at 6 states")
    found = json.loads(mbsim("import", "m.xml", "--check", "--report", "json").stdout)["check"]
    assert (found["engine"], found["agrees"], found["absent"], list(found["joints"])) == ("MuJoCo", True, [], ["h"])


def test_a_floor_lies_below_the_model(mbsim: Command, robot: Path, folder: Path) -> None:
    """By the option of a run, in a written scene, and in a picture of the result."""
    assert mbsim("run", "robot.urdf", "--floor", "--duration", "0.01", "-o", "one.h5").code == 0
    assert mbsim("import", "robot.urdf", "--floor", "-o", "robot.yaml").code == 0
    assert "contacts:\n  overlap: exclude\n  floor: 0" in (folder / "robot.yaml").read_text()
    assert mbsim("run", "robot.yaml", "--duration", "0.01", "-o", "two.h5").code == 0
    assert mbsim("compare", "one.h5", "two.h5").code == 0
    assert mbsim("render", "one.h5", "-o", "plain.png", "--size", "100x100").code == 0
    assert mbsim("render", "one.h5", "--scene", "robot.urdf", "-o", "shapes.png", "--size", "100x100").code == 0
    ending = mbsim("run", "--floor", "robot.urdf")
    assert ending.code == 2
    assert "--floor robot.urdf: expected a length (m), found `robot.urdf`; without a distance, write" in ending.stderr
