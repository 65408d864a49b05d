"""Meshes of the shapes of bodies and of the world."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.forms import Form
from multibody_cli.meshes import solids
from multibody_cli.meshes.mesh import Mesh, polyhedron
from multibody_cli.model import Floats
from multibody_cli.scene.shapes import SHAPES
from multibody_cli.scene.shapes.contract import ShapeSpec

TILES = 24
"""Number of tiles along the edge of a plane."""


def shape_meshes(shape: ShapeSpec, file: Path) -> list[Mesh]:
    """Return the meshes of a shape in the body frame, m; none for a plane, whose size depends on the scene.

    A round shape is two meshes, to be drawn in two shades that show how it rotates.

    Parameters
    ----------
    shape
        The shape.
    file
        The file of a mesh; ignored by other shapes.
    """
    kind = SHAPES[shape.type]
    form = kind.form(shape, file) if kind.mesh is None and kind.form is not None else None
    if kind.mesh is not None:
        meshes = [kind.mesh(shape, file)]
    elif form is None or form.kind is GeomKind.PLANE:
        meshes = []
    else:
        mesh = _FORMS[form.kind](form)
        meshes = quarters(mesh) if form.kind in _ROUND else [mesh]
    return [mesh.moved(shape.position, shape.axes) for mesh in meshes]


def quarters(mesh: Mesh) -> list[Mesh]:
    """Return two meshes of the triangles in opposite quarters about z."""
    x, y, _ = mesh.vertices[mesh.triangles].mean(axis=1).T
    halves = []
    for half in (x * y > 0.0, x * y <= 0.0):
        used, triangles = np.unique(mesh.triangles[half], return_inverse=True)
        halves.append(Mesh(mesh.vertices[used], mesh.normals[used], triangles.reshape(-1, 3)))
    return halves


def plane_tiles(shape: ShapeSpec, around: Floats, size: float) -> Iterator[Mesh]:
    """Yield the light and the dark tiles of a plane.

    Parameters
    ----------
    shape
        The plane.
    around
        Point near which it is drawn, (3,), m.
    size
        Length of its edge, m.
    """
    R, origin = shape.axes, np.array(shape.position)
    tile = 10.0 ** np.floor(np.log10(size / TILES))
    tile *= next(factor for factor in (1.0, 2.0, 5.0, 10.0) if factor * tile * TILES >= size)
    corner = tile * np.round(((around - origin) @ R)[:2] / tile) - 0.5 * TILES * tile
    i, j = np.meshgrid(np.arange(TILES), np.arange(TILES), indexing="ij")
    parity = (i + j + int(np.round(corner.sum() / tile))) % 2
    for wanted in (0, 1):
        low = corner + tile * np.stack([i[parity == wanted], j[parity == wanted]], axis=1)
        square = tile * np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
        flat = (low[:, None] + square).reshape(-1, 2)
        vertices = np.concatenate([flat, np.zeros((len(flat), 1))], axis=1)
        first = 4 * np.arange(len(low))[:, None]
        triangles = np.concatenate([first + np.array(one) for one in ((0, 1, 2), (0, 2, 3))])
        normals = np.tile([0.0, 0.0, 1.0], (len(flat), 1))
        yield Mesh(vertices, normals, triangles).moved(origin, R)


def _polyhedron(form: Form) -> Mesh:
    return polyhedron(form.vertices, [face.corners for face in form.faces])


_ROUND = (GeomKind.SPHERE, GeomKind.CAPSULE, GeomKind.CYLINDER, GeomKind.ELLIPSOID)

_FORMS = {
    GeomKind.SPHERE: lambda form: solids.sphere(form.size[0]),
    GeomKind.CAPSULE: lambda form: solids.capsule(form.size[0], 2.0 * form.size[1]),
    GeomKind.BOX: _polyhedron,
    GeomKind.CYLINDER: lambda form: solids.cylinder(form.size[0], 2.0 * form.size[1]),
    GeomKind.ELLIPSOID: lambda form: solids.sphere(1.0).stretched(form.size),
    GeomKind.HULL: _polyhedron,
}
"""Mesh of each kind of form."""
