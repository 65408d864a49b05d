"""Meshes with a unit along each axis, open meshes in pictures, COLLADA, and meshes of MuJoCo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError
from test_mesh_contacts import CUBE, OPEN

from multibody_cli.errors import Refused
from multibody_cli.scene.shapes.mesh import MeshSpec, mesh, triangles_of, volume

pytest.importorskip("trimesh")


def test_each_axis_has_its_unit_and_a_negative_one_mirrors(tmp_path: Path) -> None:
    """A slanted solid: volume and inertia are those of the scaled one, and triangles stay oriented outward."""
    file = tmp_path / "cube.obj"
    file.write_text(CUBE.replace("v 0 1 1", "v 0 2 3"))
    plain = volume(MeshSpec(type="mesh", file="cube.obj"), file)
    scales = np.array([2.0, -3.0, 0.5])
    scaled = volume(MeshSpec(type="mesh", file="cube.obj", scale=scales.tolist()), file)
    assert scaled.volume == pytest.approx(3 * plain.volume, rel=1e-12)
    np.testing.assert_allclose(scaled.centre, scales * plain.centre, rtol=1e-12)
    second = np.trace(plain.inertia) / 2 * np.eye(3) - plain.inertia
    moments = scales[:, None] * second * scales
    np.testing.assert_allclose(scaled.inertia, np.trace(moments) * np.eye(3) - moments, rtol=1e-10)
    with pytest.raises(ValidationError, match="expected numbers other than 0"):
        MeshSpec(type="mesh", file="cube.obj", scale=[1, 0, 1])


def test_an_open_mesh_has_a_picture_and_no_volume(tmp_path: Path) -> None:
    file = tmp_path / "open.obj"
    file.write_text(OPEN)
    shape = MeshSpec(type="mesh", file="open.obj")
    assert mesh(shape, file).areas.sum(axis=0) == pytest.approx([0, 0, -1])  # of the missing face
    with pytest.raises(Refused, match="not closed"):
        volume(shape, file)


@pytest.mark.parametrize("unit", ["1", "0.01"])
def test_collada_has_the_unit_of_the_file(unit: str, tmp_path: Path) -> None:
    pytest.importorskip("collada")
    file = tmp_path / "triangle.dae"
    file.write_text(COLLADA.replace("UNIT", unit))
    found = triangles_of(MeshSpec(type="mesh", file="triangle.dae", scale=2.0), file)
    assert found.extents == pytest.approx(2 * float(unit) * np.array([1, 2, 3]))


def msh(vertices: np.ndarray, triangles: np.ndarray) -> bytes:
    """Return a file of MuJoCo, with normals and texture coordinates."""
    counts = np.array([len(vertices), len(vertices), len(vertices), len(triangles)], "<i4")
    numbers = np.concatenate([vertices.ravel(), np.zeros(5 * len(vertices))]).astype("<f4")
    return counts.tobytes() + numbers.tobytes() + triangles.astype("<i4").tobytes()


def test_a_mesh_of_mujoco_has_the_volume_of_its_tetrahedron(tmp_path: Path) -> None:
    file = tmp_path / "corner.msh"
    corners, triangles = (
        np.vstack([np.zeros(3), np.diag([1.0, 2.0, 3.0])]),
        np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
    )
    file.write_bytes(msh(corners, triangles))
    found = volume(MeshSpec(type="mesh", file=file.name, scale=0.1), file)
    assert found.volume == pytest.approx(1e-3)
    assert found.centre == pytest.approx([0.025, 0.05, 0.075])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"$MeshFormat\n", "no header"),
        (b"$MeshFormat 2.2 0 8 x\n$EndMesh", "counts do not suit its size"),
        (msh(np.zeros((3, 3)), np.array([[0, 1, 3]])), "a vertex that is not in the file"),
        (msh(np.zeros((3, 3)), np.array([[0, 1, 2]]))[:-4], "counts do not suit its size"),
        (np.array([-1, 0, 0, 1], "<i4").tobytes(), "counts do not suit its size"),
    ],
)
def test_what_is_no_mesh_of_mujoco_is_refused(data: bytes, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "other.msh"
    file.write_bytes(data)
    with pytest.raises(Refused, match=reason):
        triangles_of(MeshSpec(type="mesh", file=file.name), file)


VTP = """<?xml version="1.0"?>
<VTKFile type="PolyData"><PolyData>{pieces}</PolyData></VTKFile>"""

PIECE = """<Piece NumberOfPoints="5" NumberOfStrips="0">
<PointData Normals="Normals"><DataArray Name="Normals" format="ascii">9 9 9</DataArray></PointData>
<Points><DataArray type="Float32" NumberOfComponents="3" format="ascii">
{x} 0 0  {x} 2 0  {x}.5 2 0  {x}.5 0 0  {x} 0 3</DataArray></Points>
<Polys><DataArray Name="connectivity" format="ascii">0 1 2 3  0 3 4  3 2 4  2 1 4  1 0 4</DataArray>
<DataArray Name="offsets" format="ascii">4 7 10 13 16</DataArray></Polys></Piece>"""


def test_a_mesh_of_vtk_has_the_volume_of_its_pyramids(tmp_path: Path) -> None:
    """Two pieces, each with a rectangle of 0.5 x 2 m as its base, and 3 m high; normals are no vertices."""
    file = tmp_path / "pyramids.vtp"
    file.write_text(VTP.format(pieces=PIECE.format(x=0) + PIECE.format(x=4)))
    found = volume(MeshSpec(type="mesh", file=file.name), file)
    assert found.volume == pytest.approx(2.0)
    assert found.centre == pytest.approx([2.1875, 0.75, 0.75])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("1 0 4</", "1 0 5</", "a vertex that is not in the file"),
        ("13 16<", "13 17<", "offsets of its polygons do not suit"),
        ("4 7 10", "4 11 10", "offsets of its polygons do not suit"),
        ('Name="offsets" format="ascii"', 'Name="offsets" format="appended"', "not text: save it with `ascii`"),
        ('NumberOfStrips="0"', 'NumberOfStrips="1"', "strips of triangles"),
        ("</Piece>", "", "not XML"),
        ("4 0 0", "4 0 zero", "could not convert"),
        ("<VTKFile", '<!DOCTYPE a [<!ENTITY b "c">]><VTKFile', "declares entities"),
    ],
)
def test_a_faulty_mesh_of_vtk_is_refused(old: str, new: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "other.vtp"
    content = VTP.format(pieces=PIECE.format(x=4))
    assert old in content
    file.write_text(content.replace(old, new))
    with pytest.raises(Refused, match=reason):
        triangles_of(MeshSpec(type="mesh", file=file.name), file)


COLLADA = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="any" meter="UNIT"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="9">0 0 0 1 0 3 0 2 0</float_array><technique_common>
<accessor source="#a" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""
