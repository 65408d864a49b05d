"""Farthest corners and faces of hulls by cells of directions, against comparisons with all of them, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from geoms import at, contacts_of, random_pose
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from multibody_cli.contacts import forms
from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.direction_cells import FEW, RESOLUTION, points_by_cell
from multibody_cli.contacts.forms import Collider, Face, Form, geometry_of, hull
from multibody_cli.contacts.shapes.polytope import BESIDE
from multibody_cli.contacts.shapes.solid import ANY, farthest_vertex
from multibody_cli.kernel import kernel
from multibody_cli.spatial.values import Vec3

GENERATOR = np.random.default_rng(3)
TURN = Rotation.random(rng=GENERATOR).as_matrix()


def sphere(n):
    points = GENERATOR.normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1)[:, None]


def prism(sides, half):
    angles = 2.0 * np.pi * np.arange(sides) / sides
    return np.array([(np.cos(angle), np.sin(angle), z) for angle in angles for z in (-half, half)])


def box_grid(n):
    """A grid of points on the faces of a cube: most of them are on faces and edges, and no corners."""
    grid = np.linspace(-1.0, 1.0, n)
    points = np.array([(x, y, z) for x in grid for y in grid for z in grid])
    return points[np.abs(points).max(axis=1) == 1.0]


UPRIGHT = {
    "ball": sphere(1500),
    "few corners": sphere(FEW + 1),
    "cylinder of 1000 sides": prism(1000, 1.0),
    "disc of 1000 sides": prism(1000, 1e-4),
    "thin disc": prism(200, 1e-12),
    "needle": prism(100, 1.0) * [1e-6, 1e-6, 1.0],
    "box with a grid on its faces": box_grid(9),
    "latitudes and longitudes": np.concatenate([prism(60, z) * [r, r, 1.0] for z, r in ((0.8, 0.6), (0.6, 0.8))]),
    "half a box of random points": np.abs(GENERATOR.uniform(-1.0, 1.0, (300, 3))).round(1),
    "every corner twice": np.repeat(sphere(100), 2, axis=0),
    "corners at the distance of round-off": np.concatenate([sphere(100)] * 2) + GENERATOR.normal(0.0, 1e-16, (200, 3)),
}
POINTS = {
    **UPRIGHT,
    **{f"{name}, turned": points @ TURN.T for name, points in UPRIGHT.items()},
    "ball far from its origin": sphere(300) + np.array([100.0, -20.0, 3.0]),
    "small ball": 1e-6 * sphere(300),
    "large ball": 1e6 * sphere(300),
}


def directions_of(points):
    """Random directions, and special ones: of the cells, faces and edges, exact and beside them."""
    nodes = np.linspace(-1.0, 1.0, RESOLUTION + 1)
    grid = np.array([(x, y, z) for x in nodes for y in nodes for z in nodes])
    faces = ConvexHull(points, qhull_options="QJ").equations[:, :3]
    edges = points - np.roll(points, 1, axis=0)
    across = np.cross(edges, np.eye(3)[GENERATOR.integers(0, 3, len(points))])
    some = [faces[GENERATOR.permutation(len(faces))[:300]], edges[:200], across[:200], points[:200], points[:200] - 1.0]
    special = np.concatenate([grid, *some, np.eye(3), -np.eye(3)])
    special = special[np.abs(special).max(axis=1) > 0.0]
    lengths = np.linalg.norm(special, axis=1)[:, None]
    beside = special / lengths + np.array([BESIDE.x, BESIDE.y, BESIDE.z])
    return np.concatenate([special, -special, beside, special / lengths, GENERATOR.normal(size=(3000, 3))])


def geometry_with(points):
    """One hull with these vertices, behind another one."""
    spare, flat = hull(np.vstack([np.zeros(3), np.eye(3)])), [Face(np.array([0.0, 0.0, 1.0]), [0, 1, 2])]
    return geometry_of([Collider(spare), Collider(Form(GeomKind.HULL, (), 1.0, points, flat))])


@kernel
def write_farthest(geometry, directions, rows):
    for k in range(len(rows)):
        u = Vec3(directions[k, 0], directions[k, 1], directions[k, 2])
        rows[k] = farthest_vertex(geometry.geoms[1], geometry, u)


def farthest_rows(points, directions):
    geometry = geometry_with(points)
    rows = np.zeros(len(directions), np.int64)
    write_farthest(geometry, directions, rows)
    return rows - geometry.geoms["first_vertex"][1]


def require_those_of_all(points, directions, monkeypatch):
    """The rows are those of the comparison with all points, whose heights are the largest ones up to round-off."""
    rows = farthest_rows(points, directions)
    monkeypatch.setattr(forms, "FEW", len(points))
    assert (rows == farthest_rows(points, directions)).all()
    lost = (directions @ points.T).max(axis=1) - (directions * points[rows]).sum(axis=1)
    assert (lost <= 1e-15 * np.abs(directions).max(axis=1) * np.abs(points).max()).all()


@pytest.mark.parametrize("name", POINTS)
def test_the_farthest_corner_is_that_of_the_comparison_with_all(name, monkeypatch):
    """Also of ties: between equal corners, along edges and on coplanar faces."""
    require_those_of_all(POINTS[name], directions_of(POINTS[name]), monkeypatch)


@pytest.mark.parametrize("length", [1e-200, 1e-9, 1e200])
def test_the_length_of_a_direction_has_no_effect(length, monkeypatch):
    """Also those whose squares underflow or overflow."""
    points = np.concatenate([sphere(200), 1e3 * sphere(100)])
    directions = length * np.sign(GENERATOR.integers(-1, 2, (300, 3))).astype(float)
    directions = directions[np.abs(directions).max(axis=1) > 0.0]
    require_those_of_all(points, directions, monkeypatch)


def test_a_direction_that_is_none_has_a_corner_or_none():
    """Nothing is read beside the table, as in a run that diverges."""
    bad = [[0.0, 0.0, 0.0], [5e-324, 0.0, 0.0], [1e-310, -5e-324, 1e-315], [np.inf, -np.inf, 1.0]]
    rows = farthest_rows(POINTS["ball"], np.array([*bad, [np.nan, 1.0, 0.0], [np.nan] * 3]))
    none = ANY - len(np.eye(3)) - 1
    assert ((rows == none) | ((rows >= 0) & (rows < len(POINTS["ball"])))).all()
    assert (rows[-2:] == none).all()


@pytest.mark.parametrize("name", ["ball", "disc of 1000 sides, turned", "needle", "latitudes and longitudes"])
def test_contacts_of_hulls_are_those_of_the_comparison_with_all_corners_and_faces(name, monkeypatch):
    """Bit by bit, with a box and with each other, from deep in each other to apart."""
    points = np.unique(POINTS[name][: 6 * FEW], axis=0)
    by_cells = hull(points)
    assert len(by_cells.vertices) > FEW
    brick, poses = forms.box([0.4, 0.8, 1.6]), [random_pose(GENERATOR, 0.9) for _ in range(12)]
    poses += [at(0.0, 0.0, 1.0), at(1.0, 0.0, 0.0), at(0.0, 0.0, 0.0), at(0.5, 0.5, 1e-9)]

    def found():
        return [contacts_of(by_cells, at(0.0, 0.0, 0.0), other, pose) for pose in poses for other in (by_cells, brick)]

    with_cells = found()
    monkeypatch.setattr(forms, "FEW", 10**9)
    assert [contacts.tobytes() for contacts in with_cells] == [contacts.tobytes() for contacts in found()]
    assert any(len(contacts) > 1 for contacts in with_cells)


def test_cells_have_few_points_of_a_ball():
    """As many as lie in it and in a margin of the distance of neighbors: 2000 points over 384 cells."""
    lengths = [len(rows) for rows in points_by_cell(sphere(2000), RESOLUTION)]
    assert len(lengths) == 6 * RESOLUTION**2
    assert np.mean(lengths) < 4 * 2000 / len(lengths)
    assert max(lengths) < 60
