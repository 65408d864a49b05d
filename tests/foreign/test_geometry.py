"""Meshes of a model: where they are searched, their units, and their convex shapes in contacts."""

from __future__ import annotations

from pathlib import Path

import pytest

import mbsim
from multibody_cli.foreign import read_model
from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.foreign.writing import text
from multibody_cli.nodes import Problems

pytest.importorskip("trimesh")

CUBE = """v -1 -1 -1
v 1 -1 -1
v 1 1 -1
v -1 1 -1
v -1 -1 1
v 1 -1 1
v 1 1 1
v -1 1 1
f 1 4 3 2
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""
DENTED = CUBE + "v 0 0 0.5\nf 5 6 9\nf 6 7 9\nf 7 8 9\nf 8 5 9\n"

ROBOT = """<robot name="stone"><link name="stone">
<inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
<collision><origin xyz="0 0 0.3"/><geometry><mesh filename="NAME" scale="0.1 0.1 0.2"/></geometry></collision>
</link></robot>"""


def model(folder: Path, name: str, mesh: str = "meshes/cube.obj") -> Path:
    """Write a model `robots/a/robot.urdf` in a package `stones`, and its mesh."""
    (folder / mesh).parent.mkdir(parents=True)
    (folder / mesh).write_text(DENTED)
    path = folder / "robots" / "a" / "robot.urdf"
    path.parent.mkdir(parents=True)
    path.write_text(ROBOT.replace("NAME", name))
    return path


def read(path: Path, **options: object) -> Draft:
    return read_model(path, Options(**options), Problems())


@pytest.mark.parametrize("name", ["../../meshes/cube.obj", "file://../../meshes/cube.obj"])
def test_a_mesh_is_found_from_the_folder_of_the_model(name: str, tmp_path: Path) -> None:
    assert read(model(tmp_path, name)).bodies["stone"].shapes[0].mesh.samefile(tmp_path / "meshes/cube.obj")


@pytest.mark.parametrize("manifest", [True, False])
def test_a_package_is_found_above_the_model(manifest: bool, tmp_path: Path) -> None:
    """By its manifest, or by the name of its folder."""
    folder = tmp_path / ("other" if manifest else "stones")
    path = model(folder, "package://stones/meshes/cube.obj")
    if manifest:
        (folder / "package.xml").write_text("<package>\n  <name> stones </name></package>")
    assert read(path).bodies["stone"].shapes[0].mesh.samefile(folder / "meshes/cube.obj")


def test_a_copied_part_of_a_package_has_its_meshes(tmp_path: Path) -> None:
    """The model `robots/a/robot.urdf` and the meshes in `robots/meshes` are all that was copied of the package."""
    path = model(tmp_path, "package://stones/all/robots/meshes/cube.obj", "robots/meshes/cube.obj")
    assert read(path).bodies["stone"].shapes[0].mesh.samefile(tmp_path / "robots/meshes/cube.obj")


def test_meshes_of_one_package_that_is_missing_are_one_line(tmp_path: Path) -> None:
    path = model(tmp_path, "package://rocks/a.obj")
    visual = '<visual><geometry><mesh filename="package://rocks/b.obj"/></geometry></visual></link>'
    path.write_text(path.read_text().replace("</link>", visual))
    lines = [line for line in ImportReport(read(path).ledger).lines() if "<mesh>" in line]
    assert len(lines) == 1
    assert "<mesh>, 2 times: no such file; searched: " in lines[0]


def test_a_package_is_named_by_an_option(tmp_path: Path) -> None:
    path = model(tmp_path / "other", "package://stones/meshes/cube.obj")
    [loss] = ImportReport(read(path).ledger).losses
    assert "no such file; searched: " in loss.reason
    assert loss.reason.endswith("; --package stones=FOLDER names its folder")
    assert read(path, packages={"stones": tmp_path / "other"}).bodies["stone"].shapes


@pytest.mark.filterwarnings("ignore")
def test_a_mesh_that_is_not_convex_rests_on_the_face_of_its_hull(tmp_path: Path) -> None:
    """Its dent lies below, and the face of the hull carries it: at 0.3 m - 0.2 m above the ground."""
    path = model(tmp_path, "../../meshes/cube.obj")
    path.write_text(path.read_text().replace('xyz="0 0 0.3"', 'xyz="0 0 0.3" rpy="3.14159265358979 0 0"'))
    [loss] = ImportReport(read(path).ledger).losses
    assert (loss.fate, loss.reason) == ("approximated", "in contacts, by its convex hull")
    scene = tmp_path / "scene.yaml"
    scene.write_text(
        "mbsim: 1\ninclude: [robots/a/robot.urdf]\ncontacts: {}\n"
        "world: {shapes: [{type: plane, position: [0, 0, 0.1]}]}\n"
        "simulation: {duration: 0.02, step: 0.001, integrator: semi_implicit_euler}\n"
    )
    loaded = mbsim.load(scene)
    assert not any("volume" in warning for warning in loaded.prepared.loaded.warnings)  # the report has the choice
    run = loaded.run()
    assert abs(float(run["bodies/position"][-1, 0, 2])) < 1e-9
    assert int(run["contacts/count"][-1]) == 4


def test_parts_instead_of_the_hull(tmp_path: Path) -> None:
    draft = read(model(tmp_path, "../../meshes/cube.obj"), decompose=True)
    assert draft.bodies["stone"].shapes[0].fields["decompose"] is True
    assert "hull" not in draft.bodies["stone"].shapes[0].fields


def test_an_open_mesh_has_the_mass_of_its_hull_by_a_density(tmp_path: Path) -> None:
    path = model(tmp_path, "../../meshes/cube.obj")
    (tmp_path / "meshes/cube.obj").write_text(CUBE)  # without the upper face
    path.write_text(path.read_text().replace(ROBOT[ROBOT.index("<inertial>") : ROBOT.index("<collision>")], ""))
    draft = read(path, density=500.0)
    scene = tmp_path / "scene.yaml"
    scene.write_text(text(draft, tmp_path))
    matrix = mbsim.Simulation(mbsim.load(scene)).mass_matrix()
    assert matrix[0, 0] == pytest.approx(500 * 0.2 * 0.2 * 0.4)
