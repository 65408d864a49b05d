"""Contacts of meshes that are not convex: by their hull, or by convex parts; their mass is that of the mesh."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scene_texts import load, problems

from multibody_cli.compile import compile_scene
from multibody_cli.meshes import decomposition
from multibody_cli.studies.simulation import prepare

pytestmark = pytest.mark.compiled
pytest.importorskip("trimesh")

CORNERS = [(0, 0), (1, 0), (1, 0.2), (0.2, 0.2), (0.2, 1), (0, 1)]
"""An angle of two legs of 1 m and a thickness of 0.2 m; its area is 0.36 m^2, that of its hull 0.68 m^2."""


def angle(folder, scale=""):
    """The prism of this angle, 0.3 m high, as a shape of a mesh."""
    lines = [f"v {x} {y} {z}" for z in (0.0, 0.3) for x, y in CORNERS]
    caps = [(1, 2, 3), (1, 3, 4), (1, 4, 5), (1, 5, 6)]
    lines += [f"f {a} {c} {b}\nf {a + 6} {b + 6} {c + 6}" for a, b, c in caps]
    for k in range(6):
        a, b = k + 1, (k + 1) % 6 + 1
        lines += [f"f {a} {b} {b + 6}\nf {a} {b + 6} {a + 6}"]
    (folder / "angle.obj").write_text("\n".join(lines))
    return f"{{type: mesh, file: angle.obj{scale}, density: 1000, %s}}"


def scene(shape, more="", body=""):
    return (
        "mbsim: 1\ncontacts: {friction: 0.5}\nworld: {shapes: [{type: plane}]}\n"
        f"bodies:\n  angle: {{shapes: [{shape}]{body}}}\n{more}"
        "simulation: {duration: 0.5, step: 1 ms}\n"
    )


def geoms(loaded):
    return compile_scene(loaded).model.system.contacts.geometry.geoms


def test_the_hull_has_its_excess_volume_in_a_warning_and_the_mass_of_the_mesh(tmp_path):
    loaded = load(tmp_path, scene(angle(tmp_path) % "hull: true"))
    excess = 100.0 * (0.68 / 0.36 - 1.0)
    [warning] = [text for text in loaded.warnings if "volume" in text]
    assert warning.endswith(
        f"bodies.angle.shapes[0]: in contacts, its convex hull has {excess:.3g} % more volume than the mesh"
    )
    assert len(geoms(loaded)) == 2
    mass = compile_scene(loaded).masses["angle"]
    assert mass.mass == pytest.approx(1000 * 0.36 * 0.3)
    x = (0.2 * 0.5 + 0.16 * 0.1) / 0.36
    np.testing.assert_allclose(mass.com, [x, x, 0.15])


def test_a_mesh_that_is_not_closed_has_a_hull(tmp_path):
    shape = angle(tmp_path) % "hull: true"
    path = tmp_path / "angle.obj"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    given = ", mass: 1, inertia: {principal: [1, 1, 1]}"
    loaded = load(tmp_path, scene(shape.replace("density: 1000, ", ""), body=given))
    assert any("cannot be compared with that of the mesh, which is not closed" in text for text in loaded.warnings)
    assert len(geoms(loaded)) == 2


def test_the_parts_fill_the_mesh_and_are_those_of_every_run(tmp_path, monkeypatch):
    pytest.importorskip("coacd")
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(decomposition, "CACHED", 0.0)
    text = scene(angle(tmp_path) % "decompose: true")
    decomposition._decompose.cache_clear()
    first = geoms(load(tmp_path, text))
    assert len(first) == 3  # the plane and both legs
    [stored] = (tmp_path / "cache/decompositions").iterdir()
    decomposition._decompose.cache_clear()
    monkeypatch.setattr(decomposition, "_run", lambda *_: pytest.fail("the parts are stored"))
    loaded = load(tmp_path, text)
    np.testing.assert_array_equal(geoms(loaded), first)
    [warning] = [text for text in loaded.warnings if "volume" in text]
    excess = float(warning.split("parts have ")[1].split(" %")[0])
    assert 0.0 <= excess < 0.5
    monkeypatch.undo()
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path / "cache"))
    decomposition._decompose.cache_clear()
    stored.write_bytes(b"damaged")
    np.testing.assert_array_equal(geoms(load(tmp_path, text)), first)


def test_a_ball_falls_into_an_angle_of_parts_and_off_its_hull(tmp_path):
    """The angle stands on one leg, its notch upward; the hull closes the notch with a slope."""
    pytest.importorskip("coacd")
    ball = (
        "  ball: {mass: 0.1, shapes: [{type: sphere, radius: 0.1}], position: [0.45, -0.15, 1.2]}\n"
        "joints: {held: {type: fixed, child: angle, origin: {rotation: {axis: [1, 0, 0], angle: 90 deg}}}}\n"
    )
    ends = {}
    for how in ("decompose: true", "hull: true"):
        (tmp_path / "scene.yaml").write_text(scene(angle(tmp_path) % how, ball))
        _, trajectory = prepare(tmp_path / "scene.yaml").run_in_memory()
        ends[how] = trajectory.channel("bodies/ball/position").values[-1]
    x, y, z = ends["decompose: true"].ravel()
    assert (x, y) == pytest.approx((0.45, -0.15), abs=1e-3)
    assert z == pytest.approx(0.3, abs=2e-3)
    x, _, z = ends["hull: true"].ravel()
    assert (x - 0.45) > 0.1
    assert x + z > 1.2


def test_a_stored_scene_has_the_same_parts_without_the_file(tmp_path):
    pytest.importorskip("coacd")
    path = tmp_path / "scene.yaml"
    path.write_text(scene(angle(tmp_path) % "decompose: true"))
    simulation = prepare(path)
    expected, text = simulation.compiled, simulation.header().scene_yaml
    (tmp_path / "angle.obj").unlink()
    again = compile_scene(load(tmp_path, text))
    np.testing.assert_array_equal(
        again.model.system.contacts.geometry.vertices, expected.model.system.contacts.geometry.vertices
    )
    np.testing.assert_array_equal(again.masses["angle"].inertia, expected.masses["angle"].inertia)


def test_without_the_package_the_refusal_names_its_installation(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path))
    decomposition._decompose.cache_clear()
    [problem] = problems(tmp_path, scene(angle(tmp_path) % "decompose: {threshold: 0.2}"))
    assert problem.endswith("`decompose` requires the package coacd: pip install 'multibody-cli[import]'")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("hull: true, decompose: true", "expected one of `hull` and `decompose`"),
        ("decompose: {threshold: 2}", "expected a plain number of at most 1, found `2`"),
        ("decompose: {parts: 2}", "unknown key `parts`; did you mean `max_parts`?"),
        ("hull: true, contact: false", "has no effect: the contacts of this shape are disabled (`contact: false`)"),
    ],
)
def test_fields_of_parts_are_checked(tmp_path, fields, message):
    found = problems(tmp_path, scene(angle(tmp_path) % fields))
    assert any(message in problem for problem in found), found
