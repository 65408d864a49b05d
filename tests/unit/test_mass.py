"""Mass properties: shapes against integration over their volume, sums against Steiner's rule, and changes of frame."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from multibody_cli.errors import Refused
from multibody_cli.mass import MassProperties, summed
from multibody_cli.scene.shapes import SHAPES

NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)
EXAMPLES = {
    "sphere": {"radius": 0.7},
    "box": {"size": [0.4, 0.9, 1.3]},
    "cylinder": {"radius": 0.3, "length": 1.1},
    "capsule": {"radius": 0.3, "length": 1.1},
    "ellipsoid": {"radii": [0.4, 0.9, 1.3]},
    "torus": {"major_radius": 0.8, "minor_radius": 0.3},
}


def volume_of(name, path=Path(), /, **fields):
    kind = SHAPES[name]
    return kind.volume(kind.spec.model_validate({"type": name, **fields}), path)


def over(low, high):
    """Nodes and weights of Gauss and Legendre between two bounds."""
    middle, half = (low + high) / 2, (high - low) / 2
    return middle + half * NODES, half * WEIGHTS


def layers(name):
    """(z, thickness, area, second moments of area about x and y) of thin layers across z."""
    e = EXAMPLES[name]
    if name == "box":
        a, b, c = e["size"]
        z, w = over(-c / 2, c / 2)
        one = np.ones_like(z)
        return z, w, a * b * one, a * b**3 / 12 * one, b * a**3 / 12 * one
    if name == "torus":
        R, r = e["major_radius"], e["minor_radius"]
        t, w = over(-math.pi / 2, math.pi / 2)  # z = r sin t keeps the integrand smooth
        outer, inner = R + r * np.cos(t), R - r * np.cos(t)
        second = math.pi / 4 * (outer**4 - inner**4)
        return r * np.sin(t), w * r * np.cos(t), math.pi * (outer**2 - inner**2), second, second
    if name == "cylinder":
        z, w = over(-e["length"] / 2, e["length"] / 2)
        one = np.full_like(z, e["radius"])
        return ellipses(z, w, one, one)
    if name == "capsule":
        r, half = e["radius"], e["length"] / 2
        z0, w0 = over(-half, half)
        t, wt = over(0.0, math.pi / 2)
        cap, weight, radius = half + r * np.sin(t), wt * r * np.cos(t), r * np.cos(t)
        z, w = np.concatenate([z0, cap, -cap]), np.concatenate([w0, weight, weight])
        return ellipses(z, w, *(np.concatenate([np.full_like(z0, r), radius, radius]),) * 2)
    a, b, c = e.get("radii", [e.get("radius")] * 3)
    t, w = over(-math.pi / 2, math.pi / 2)
    return ellipses(c * np.sin(t), w * c * np.cos(t), a * np.cos(t), b * np.cos(t))


def ellipses(z, w, a, b):
    return z, w, math.pi * a * b, math.pi * a * b**3 / 4, math.pi * a**3 * b / 4


@pytest.mark.parametrize("name", sorted(set(SHAPES) - {"plane", "mesh"}))
def test_volume_and_inertia_of_a_shape_by_layers(name):
    properties = volume_of(name, **EXAMPLES[name])
    z, w, area, about_x, about_y = layers(name)
    volume = w @ area
    squares = np.array([w @ about_y, w @ about_x, w @ (area * z**2)])  # integrals of x^2, y^2, z^2
    assert properties.volume == pytest.approx(volume, rel=1e-10)
    np.testing.assert_array_equal(properties.centre, np.zeros(3))
    inertia = np.diag(squares.sum() - squares) / volume
    np.testing.assert_allclose(properties.inertia, inertia, rtol=1e-10, atol=1e-15)
    of_mass = properties.of_mass(3.0)
    assert of_mass.mass == 3.0
    np.testing.assert_allclose(of_mass.inertia, 3.0 * inertia, rtol=1e-10, atol=1e-15)


def test_limits_of_shapes_agree():
    def inertia(name, **fields):
        return volume_of(name, **fields).inertia

    np.testing.assert_allclose(inertia("ellipsoid", radii=[0.4] * 3), inertia("sphere", radius=0.4))
    np.testing.assert_allclose(inertia("capsule", radius=0.4, length=1e-12), inertia("sphere", radius=0.4), rtol=1e-10)
    rod = inertia("cylinder", radius=1e-9, length=2.0)
    np.testing.assert_allclose(np.diag(rod), [1 / 3, 1 / 3, 0.0], atol=1e-15)


def test_a_plane_has_no_volume():
    assert SHAPES["plane"].volume is None


TETRAHEDRON = """v 0 0 0
v 1 0 0
v 0 2 0
v 0 0 3
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


def test_the_mass_of_a_mesh_is_that_of_its_volume(tmp_path):
    """A corner of a box: volume abc/6, centre (a, b, c)/4, moments of the known tetrahedron; scaled by 2."""
    pytest.importorskip("trimesh")
    file = tmp_path / "corner.obj"
    file.write_text(TETRAHEDRON)
    properties = volume_of("mesh", file, file=str(file), scale=2.0)
    edges = 2.0 * np.array([1.0, 2.0, 3.0])
    assert properties.volume == pytest.approx(edges.prod() / 6)
    np.testing.assert_allclose(properties.centre, edges / 4)
    second = np.outer(edges, edges) / 20 * (np.ones((3, 3)) + np.eye(3)) - np.outer(edges, edges) / 16
    np.testing.assert_allclose(properties.inertia, np.trace(second) * np.eye(3) - second, atol=1e-12)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e6])
def test_vertices_that_a_file_repeats_at_one_position_are_one(tmp_path, size):
    """The corner above, with a normal and a texture coordinate for each vertex of each face."""
    pytest.importorskip("trimesh")
    corners = [line.split()[1:] for line in TETRAHEDRON.splitlines()]
    vertices, faces = corners[:4], corners[4:]
    lines = [f"v {' '.join(str(size * float(x)) for x in vertex)}" for vertex in vertices]
    lines += [f"vt 0.{k} 0\nvn 0 {k} 1" for k in range(1, 5)]
    lines += ["f " + " ".join(f"{vertex}/{k}/{k}" for vertex in face) for k, face in enumerate(faces, 1)]
    file = tmp_path / "corner.obj"
    file.write_text("\n".join(lines))
    assert volume_of("mesh", file, file=str(file)).volume == pytest.approx(size**3, rel=1e-9)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (TETRAHEDRON.replace("f 2 3 4\n", ""), "not closed"),
        ("nonsense", "has no triangles"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "has no triangles"),
    ],
    ids=["open", "nonsense", "points"],
)
def test_a_mesh_without_a_volume_is_refused(tmp_path, text, complaint):
    pytest.importorskip("trimesh")
    file = tmp_path / "mesh.obj"
    file.write_text(text)
    with pytest.raises(Refused, match=complaint):
        volume_of("mesh", file, file=str(file))


# --- sums and frames ---------------------------------------------------------------------------------------
def cloud(rng, count):
    """Point masses: (masses, positions)."""
    return rng.random(count) + 0.1, rng.normal(size=(count, 3))


def point_mass_properties(masses, points):
    mass = masses.sum()
    com = masses @ points / mass
    r = points - com
    inertia = np.einsum("k,kij->ij", masses, (r**2).sum(1)[:, None, None] * np.eye(3) - r[:, :, None] * r[:, None, :])
    return MassProperties(mass, com, inertia)


def test_mass_properties_of_parts_are_sums_over_points():
    rng = np.random.default_rng(3)
    clouds = [cloud(rng, n) for n in (3, 7, 1, 5)]
    together = point_mass_properties(np.concatenate([m for m, _ in clouds]), np.concatenate([p for _, p in clouds]))
    found = summed(point_mass_properties(*each) for each in clouds)
    assert found.mass == pytest.approx(together.mass)
    np.testing.assert_allclose(found.com, together.com)
    np.testing.assert_allclose(found.inertia, together.inertia, rtol=1e-13)


def test_a_change_of_frame_transforms_the_points():
    rng = np.random.default_rng(4)
    masses, points = cloud(rng, 6)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R *= np.linalg.det(R)
    d = rng.normal(size=3)
    found, expected = point_mass_properties(masses, points).moved(d, R), point_mass_properties(masses, points @ R.T + d)
    np.testing.assert_allclose(found.com, expected.com)
    np.testing.assert_allclose(found.inertia, expected.inertia, rtol=1e-12, atol=1e-14)


def test_inertia_about_a_point_is_that_of_the_points_about_it():
    rng = np.random.default_rng(5)
    masses, points = cloud(rng, 6)
    pivot = rng.normal(size=3)
    r = points - pivot
    expected = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, r, strict=True))
    np.testing.assert_allclose(point_mass_properties(masses, points).about(pivot), expected)


def test_an_empty_sum_has_zero_mass():
    for nothing in (summed([]), summed([MassProperties(0.0, np.ones(3), np.zeros((3, 3)))])):
        assert nothing.mass == 0.0
        assert np.isfinite(nothing.com).all()
        assert not nothing.inertia.any()
