"""Meshes: closed, oriented outward, and with the volume and area of the solid in the limit of fine tessellation."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from multibody_cli.meshes import solids, tubes
from multibody_cli.meshes.mesh import Mesh, creased, polyhedron

PI = math.pi
BOX = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-2.0, 2.0) for z in (-3.0, 3.0)])
BOX_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
BEND = np.stack([np.cos(np.linspace(0, PI / 2, 200)), np.sin(np.linspace(0, PI / 2, 200)), np.zeros(200)], axis=1)

EXACT = {
    "sphere": (lambda n: solids.sphere(2.0, n), 32 * PI / 3, 16 * PI),
    "cylinder": (lambda n: solids.cylinder(1.5, 4.0, n), 9 * PI, 16.5 * PI),
    "capsule": (lambda n: solids.capsule(1.0, 3.0, n), 13 * PI / 3, 10 * PI),
    "torus": (lambda n: solids.torus(3.0, 1.0, n), 6 * PI**2, 12 * PI**2),
    "cone": (lambda n: solids.lathe([(0, 0), (3, 0), (0, 4)], n), 12 * PI, 24 * PI),
    "bent tube": (lambda n: tubes.tube(BEND, 0.1, n), 0.005 * PI**2, 0.1 * PI**2 + 0.02 * PI),
    "ellipsoid": (lambda n: solids.sphere(1.0, n).stretched((1.0, 2.0, 3.0)), 8 * PI, None),
}


def volume(mesh: Mesh) -> float:
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", np.cross(a, b), c)) / 6.0


def area_vectors(mesh: Mesh) -> np.ndarray:
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return np.cross(b - a, c - a) / 2.0


@pytest.mark.parametrize("name", EXACT)
def test_volume_and_area_converge_quadratically(name):
    make, exact_volume, exact_area = EXACT[name]
    coarse, fine = make(16), make(64)
    off = [abs(volume(mesh) / exact_volume - 1.0) for mesh in (coarse, fine)]
    assert off[1] < 0.01
    assert off[1] < off[0] / 10.0
    if exact_area is not None:
        assert np.linalg.norm(area_vectors(fine), axis=1).sum() == pytest.approx(exact_area, rel=0.01)


@pytest.mark.parametrize("name", EXACT)
def test_a_surface_is_closed_and_its_normals_point_outward(name):
    mesh = EXACT[name][0](24)
    rounded = [tuple(point) for point in mesh.vertices.round(9) + 0.0]
    edges = Counter(
        (rounded[triangle[k]], rounded[triangle[(k + 1) % 3]]) for triangle in mesh.triangles for k in range(3)
    )
    assert all(edges[end, begin] == count for (begin, end), count in edges.items())
    areas = area_vectors(mesh)
    outward = areas / np.linalg.norm(areas, axis=1, keepdims=True)
    assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1.0)
    assert np.einsum("ij,ikj->ik", outward, mesh.normals[mesh.triangles]).min() > 0.8


def test_a_sphere_has_the_normals_of_its_points():
    mesh = solids.sphere(2.0)
    assert np.allclose(mesh.normals, mesh.vertices / 2.0)


def test_a_polyhedron_has_flat_faces():
    mesh = polyhedron(BOX, BOX_FACES)
    assert volume(mesh) == pytest.approx(48.0)
    areas = area_vectors(mesh)
    assert np.allclose(np.cross(areas, mesh.normals[mesh.triangles[:, 0]]), 0.0)


def test_edges_above_the_angle_are_creases():
    flat = polyhedron(BOX, BOX_FACES)
    numbers = np.array([int(np.argmin(np.linalg.norm(BOX - point, axis=1))) for point in flat.vertices])
    sharp, smooth = (creased(BOX, numbers[flat.triangles], angle) for angle in (1.5, 1.6))
    assert np.abs(sharp.normals).max(axis=1) == pytest.approx(1.0)
    assert np.abs(smooth.normals).max() < 0.99


def test_a_moved_mesh_turns_its_normals():
    quarter = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # about x
    mesh = solids.cylinder(1.0, 2.0).moved((1.0, 2.0, 3.0), quarter)
    assert mesh.vertices.mean(axis=0) == pytest.approx((1.0, 2.0, 3.0), abs=0.06)
    assert volume(mesh) == pytest.approx(2.0 * PI, rel=0.01)
    areas = area_vectors(mesh)
    assert (np.einsum("ij,ij->i", areas, mesh.normals[mesh.triangles[:, 0]]) > 0.0).all()
    assert np.ptp(mesh.vertices, axis=0) == pytest.approx((2.0, 2.0, 2.0), rel=0.01)
    assert np.abs(mesh.normals[:, 1]).max() == pytest.approx(1.0)


def test_a_coil_has_its_length_and_turns():
    coil = tubes.coil(0.2, 1.5, 0.01, 7)
    assert coil.vertices[:, 2].min() == pytest.approx(0.0, abs=0.02)
    assert coil.vertices[:, 2].max() == pytest.approx(1.5, abs=0.02)
    assert np.hypot(coil.vertices[:, 0], coil.vertices[:, 1]).max() == pytest.approx(0.21, rel=0.01)
    across = coil.vertices[:, 0] > 0.18
    groups = np.flatnonzero(np.diff(np.sort(coil.vertices[across, 2])) > 0.08)
    assert len(groups) + 1 == 6  # the first and the last half turn widen from the axis
