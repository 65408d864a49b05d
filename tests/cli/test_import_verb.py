"""`mbsim import`, and other verbs with models of other programs."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_result import Command

from mbsim import SceneWarning, load

ROBOT = Path(__file__).parents[1] / "foreign" / "robot.urdf"
GROUND = "mbsim: 1\ninclude: [robot.urdf]\nsimulation: {duration: 2 ms}\nworld: {shapes: [{type: plane}]}\n"

TRIANGLE = """solid part
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid part
"""


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


ARM = """<robot name="arm">
  <link name="base">{inertial}<visual><geometry><mesh filename="package://parts/base.stl"/></geometry></visual></link>
  <link name="fore">{inertial}<visual><geometry><mesh filename="package://parts/fore.stl"/></geometry></visual></link>
  <joint name="elbow" type="continuous"><parent link="base"/><child link="fore"/></joint>
</robot>"""


@pytest.mark.parametrize("verb", ["run", "validate", "info"])
def test_verbs_warn_once_of_what_surprises(verb: str, mbsim: Command, folder: Path) -> None:
    """Of a base that is free, of meshes without files, and of inertias that no body has, each with its remedy."""
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
    (folder / "arm.urdf").write_text(ARM.replace("{inertial}", f'<inertial><mass value="1"/>{inertia}</inertial>'))
    ending = mbsim(verb, "arm.urdf")
    assert ending.code == 0
    free, meshes, inertias = (
        [line for line in ending.stderr.splitlines() if word in line] for word in ("free", "mesh", "no body has")
    )
    fixed = "`mbsim import arm.urdf --fixed -o arm.yaml` fixes it"
    assert free == [f"warning: arm.urdf: no joint connects `base` to the world, so that the model is free: {fixed}"]
    there = "`mbsim import arm.urdf --package parts=FOLDER -o arm.yaml` reads them from there"
    first = "`package://parts/base.stl`"
    assert meshes == [f"warning: arm.urdf: no file is found of 2 meshes, as {first}: {there}"]
    assert len(inertias) == 1
    assert "bodies.base.inertia: no body has this inertia (and that of `fore`)" in inertias[0]


def test_a_scene_may_hold_the_base_of_a_model(mbsim: Command, folder: Path) -> None:
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    text = ARM.replace("{inertial}", f'<inertial><mass value="1"/>{inertia}</inertial>')
    (folder / "arm.urdf").write_text(text.replace("package://parts/", ""))
    (folder / "scene.yaml").write_text(
        "mbsim: 1\ninclude: [arm.urdf]\njoints: {mount: {type: fixed, child: base}}\nsimulation: {duration: 10 ms}\n"
    )
    ending = mbsim("run", "scene.yaml")
    assert ending.code == 0
    assert "1 degree of freedom" in ending.stdout
    assert "free" not in ending.stderr
    assert (
        "arm.urdf: no file is found of 2 meshes, as `base.stl`: `mbsim import arm.urdf` lists the places"
        in ending.stderr
    )


def test_remedies_lead_to_a_run_without_these_warnings(mbsim: Command, folder: Path) -> None:
    (folder / "meshes").mkdir()
    for name in ("base", "fore"):
        (folder / f"meshes/{name}.stl").write_text(TRIANGLE)
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    (folder / "arm.urdf").write_text(ARM.replace("{inertial}", f'<inertial><mass value="1"/>{inertia}</inertial>'))
    ending = mbsim("import", "arm.urdf", "--fixed", "--package", "parts=meshes", "-o", "arm.yaml")
    assert ending.code == 0, ending.stderr
    ending = mbsim("info", "arm.yaml")
    assert (ending.code, ending.stderr) == (0, "")


@pytest.mark.parametrize("verb", ["import", "run", "info"])
def test_a_mesh_is_refused_with_a_scene_that_has_it(verb: str, mbsim: Command, folder: Path) -> None:
    (folder / "part.stl").write_text(TRIANGLE)
    ending = mbsim(verb, "part.stl")
    assert ending.code == 2
    body = "bodies: {part: {density: 1000, shapes: [{type: mesh, file: part.stl}]}}"
    assert ending.stderr == f"error: part.stl: a mesh is no model, but a shape of a body: a scene has it as `{body}`\n"


def test_a_number_and_its_unit_are_one_word(mbsim: Command, robot: Path) -> None:
    for words in (["--floor", "20", "cm"], ["--duration", "1", "s"]):
        ending = mbsim("run", "robot.urdf", *words)
        assert ending.code == 2
        remedy = f"write a number and its unit as one word, {''.join(words[1:])} or '{' '.join(words[1:])}'."
        assert remedy in " ".join(ending.stderr.split())
    ending = mbsim("run", "robot.urdf", "20", "other")
    assert "unexpected extra arguments (20 other)" in ending.stderr
    assert "one word" not in ending.stderr


def test_a_check_without_its_engine_names_the_package(
    mbsim: Command, robot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    ending = mbsim("import", "robot.urdf", "--check")
    assert (ending.code, ending.stderr) == (2, "error: --check needs pinocchio: pip install pin\n")


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


def test_a_scene_is_no_model_of_another_program(mbsim: Command, folder: Path) -> None:
    ending = mbsim("import", "pendulum.yaml")
    assert ending.code == 2
    assert ending.stderr == (
        "error: pendulum.yaml is a scene, and no model of another program: `mbsim run pendulum.yaml` reads it\n"
    )


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
