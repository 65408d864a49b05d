"""Contacts of cylinders, ellipsoids and convex meshes; other shapes are refused with reason and remedy."""

from __future__ import annotations

import numpy as np
import pytest
from scene_texts import load, problems

from multibody_cli.compile import compile_scene
from multibody_cli.contacts.contract import GeomKind
from multibody_cli.scene.dump import without_files
from multibody_cli.studies.simulation import prepare

pytest.importorskip("trimesh")

CUBE = """v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1
v 0 1 1
f 1 4 3 2
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""
DENTED = CUBE.replace("f 5 6 7 8", "v 0.5 0.5 0.75\nf 5 6 9\nf 6 7 9\nf 7 8 9\nf 8 5 9")
OPEN = CUBE.replace("f 5 6 7 8\n", "")
INSIDE_OUT = "\n".join(
    " ".join([line.split()[0], *reversed(line.split()[1:])]) if line.startswith("f") else line
    for line in CUBE.splitlines()
)
GIVEN = "mass: 1, inertia: {principal: [1, 1, 1]}"


def scene_of(*shapes, body="mass: 1", contacts="contacts: {}\n"):
    return (
        f"mbsim: 1\nbodies:\n  thing: {{{body}, shapes: [{', '.join(shapes)}]}}\n"
        f"simulation: {{duration: 1, integrator: semi_implicit_euler}}\n{contacts}"
    )


def mesh(folder, text, more=""):
    (folder / "thing.obj").write_text(text)
    return f"{{type: mesh, file: thing.obj{more}}}"


def test_a_convex_mesh_acts_as_the_hull_of_its_corners_with_its_flat_faces(tmp_path):
    loaded = load(tmp_path, scene_of(mesh(tmp_path, CUBE, ", scale: 2")))
    geometry = compile_scene(loaded).model.system.contacts.geometry
    (geom,) = geometry.geoms
    assert geom["kind"] == GeomKind.HULL
    assert geom["bounding_radius"] == pytest.approx(np.sqrt(12.0))
    assert (geom["first_vertex"], geom["last_vertex"]) == (0, 8)
    assert len(geometry.faces) == 6
    assert len(geometry.corners) == 24


def test_cylinders_and_ellipsoids_touch(tmp_path):
    loaded = load(
        tmp_path, scene_of("{type: cylinder, radius: 0.1, length: 0.4}", "{type: ellipsoid, radii: [0.1, 0.2, 0.3]}")
    )
    cylinder, ellipsoid = compile_scene(loaded).model.system.contacts.geometry.geoms
    assert (cylinder["kind"], *cylinder["extent"][:2]) == (GeomKind.CYLINDER, 0.1, 0.2)
    assert (ellipsoid["kind"], *ellipsoid["extent"]) == (GeomKind.ELLIPSOID, 0.1, 0.2, 0.3)


def test_a_nonconvex_mesh_is_refused_with_its_deviation_from_convexity(tmp_path):
    """The bottom of the dent lies 0.25 m below the top; the corners stand off the planes of its sides."""
    assert problems(tmp_path, scene_of(mesh(tmp_path, DENTED))) == [
        f"scene.yaml:3:48: bodies.thing.shapes[0].file: the mesh {tmp_path}/thing.obj is not convex (a vertex lies "
        f"{0.5 / np.sqrt(1.25):.3g} m above the plane of a face), but contacts require convex shapes: set "
        "`hull: true`, `decompose: true` or `contact: false`"
    ]
    assert problems(tmp_path, scene_of(mesh(tmp_path, DENTED, ", contact: false"))) == []
    assert problems(tmp_path, scene_of(mesh(tmp_path, DENTED), contacts="")) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (OPEN, "is not closed, so its volume is undefined"),
        (INSIDE_OUT, "has the volume -1: its triangles must be oriented outward"),
    ],
    ids=["open", "inside out"],
)
@pytest.mark.parametrize("body", ["mass: 1", GIVEN], ids=["weighed", "given"])
def test_a_mesh_without_an_interior_is_refused_even_with_a_given_mass(tmp_path, text, complaint, body):
    (problem,) = problems(tmp_path, scene_of(mesh(tmp_path, text), body=body))
    assert problem.endswith(f"bodies.thing.shapes[0].file: the mesh {tmp_path}/thing.obj {complaint}")


def test_a_torus_is_refused(tmp_path):
    (problem,) = problems(tmp_path, scene_of("{type: torus, major_radius: 1, minor_radius: 0.1}"))
    assert problem.endswith("shapes[0].type: contacts of a torus are not supported: set `contact: false`")


def test_the_scene_in_a_result_contains_the_meshes_of_contacts(tmp_path):
    """Without its shape a scene could be repeated, and would be another one."""
    for more, contacts, kept in (("", "contacts: {}\n", 1), (", contact: false", "contacts: {}\n", 0), ("", "", 0)):
        loaded = load(tmp_path, scene_of(mesh(tmp_path, CUBE, more), contacts=contacts))
        data = without_files(loaded.data, compile_scene(loaded).masses, lambda *_: [np.eye(3)])
        assert len(data["bodies"]["thing"].get("shapes", ())) == kept


def test_the_stored_scene_has_the_same_contacts_without_the_file(tmp_path):
    (tmp_path / "scene.yaml").write_text(scene_of(mesh(tmp_path, CUBE, ", scale: 0.1")))
    simulation = prepare(tmp_path / "scene.yaml")
    compiled, text = simulation.compiled, simulation.header().scene_yaml
    (tmp_path / "thing.obj").unlink()
    again = compile_scene(load(tmp_path, text))
    for name in ("corners", "faces"):
        expected, found = (getattr(one.model.system.contacts.geometry, name, None) for one in (compiled, again))
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(again.masses["thing"].inertia, compiled.masses["thing"].inertia)
    np.testing.assert_array_equal(
        again.model.system.contacts.geometry.geoms, compiled.model.system.contacts.geometry.geoms
    )


def test_the_hull_of_vertices_has_the_mass_of_its_volume(tmp_path):
    """A tetrahedron with three edges a along the axes: a^3/6, its centre at a/4; a point inside changes nothing."""
    points = "[[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2], [0.1, 0.1, 0.1]]"
    shape = f"{{type: mesh, vertices: {points}, density: 3}}"
    mass = compile_scene(load(tmp_path, scene_of(shape, body="kind: rigid", contacts=""))).masses["thing"]
    assert mass.mass == pytest.approx(4.0)
    np.testing.assert_allclose(mass.com, 0.5)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("", "expected one of `file` and `vertices`"),
        ("file: a.stl, vertices: [[0, 0, 0]]", "expected one of `file` and `vertices`"),
        ("vertices: [[0, 0, 0]], scale: 2", "`scale` has no effect on `vertices`"),
        ("vertices: [[0, 0, 0]]", "expected `vertices` that do not lie in one plane, at least four"),
        ("vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]", "expected `vertices` that do not lie in one plane"),
    ],
)
def test_a_mesh_has_one_source(tmp_path, fields, message):
    [problem] = problems(tmp_path, scene_of(f"{{type: mesh, {fields}}}"))
    assert message in problem
