"""Triangle meshes from files: closed, oriented outward, and in contacts convex, or their hull, or convex parts."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from multibody_cli.contacts import forms
from multibody_cli.errors import Refused
from multibody_cli.limits import LimitError, require_within
from multibody_cli.mass import Floats
from multibody_cli.meshes import FORMATS
from multibody_cli.meshes.decomposition import decompose
from multibody_cli.meshes.mesh import Mesh, creased
from multibody_cli.meshes.msh import read_msh
from multibody_cli.meshes.vtp import read_vtp
from multibody_cli.scene.shapes.contract import ShapeKind, SolidSpec, VolumeProperties
from multibody_cli.spec import Position, Quantity, Spec, Vector, Vector3, units
from multibody_cli.spec.quantities import NUMBER_SCHEMA, WholeNumber, list_schema

CONVEX = 1e-6
"""Tolerance of convexity relative to the size of the mesh; files store about seven digits."""

FLAT = 1e-9
"""Smallest extent of vertices, relative to the largest, that have a volume."""

DIGITS, SMALLEST = 8, 1e-100
"""Digits, relative to the extent of a mesh, in which vertices at one position agree; smallest extent."""

OWN_READERS = {".msh": read_msh, ".vtp": read_vtp}
"""Readers of formats that trimesh does not have, from bytes to vertices and triangles."""

CREASE = 0.7
"""Angle of an edge above which a picture shows it, rad."""

_AT_ONCE = 2**22
"""Number of vertex-face distances that are computed at once."""


class DecomposeSpec(Spec):
    """Parameters of the decomposition into convex parts."""

    EXAMPLE = "{threshold: 0.05}"

    threshold: Annotated[float, Quantity(units.NUMBER, least=0.01, most=1.0)] = Field(
        0.05, description="Concavity up to which a part is not divided, relative to the size of the mesh, 0.01 to 1."
    )
    max_parts: Annotated[int | None, WholeNumber(1)] = Field(
        None, description="Largest number of parts. Default: as many as the threshold requires."
    )


class MeshSpec(SolidSpec):
    """A closed triangle mesh from a file, or the convex hull of points.

    A mesh that is not convex has contacts by its hull or by convex parts.

    It requires the package trimesh: pip install 'multibody-cli[mesh]'.
    """

    type: Literal["mesh"]
    file: str = Field(
        "",
        description="Mesh file (STL, OBJ, PLY, OFF, COLLADA, MSH of MuJoCo or VTP of VTK), relative to the scene file.",
    )
    vertices: tuple[Position, ...] = Field(
        (), description="Instead of a file, points of which the mesh is the convex hull."
    )
    scale: Vector = Field(
        (1.0, 1.0, 1.0),
        description="Length unit of the file, m: a number, or one along each of its axes; a negative one mirrors.",
        json_schema_extra={"anyOf": [NUMBER_SCHEMA, list_schema(NUMBER_SCHEMA, 3)]},
    )

    hull: bool = Field(False, description="Whether contacts are those of the convex hull of the mesh.")
    decompose: DecomposeSpec | None = Field(
        None,
        description="Contacts are those of convex parts that approximate the mesh: `true`, or {threshold, max_parts}. "
        "It requires the package coacd: pip install 'multibody-cli[import]'.",
    )

    @field_validator("decompose", mode="before", json_schema_input_type=bool | DecomposeSpec | None)
    @classmethod
    def _read_decompose(cls, value: Any) -> Any:
        return ({} if value else None) if isinstance(value, bool) else value

    @field_validator("scale", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_scale(cls, value: Any) -> Vector:
        if not isinstance(value, list | tuple):
            return (Quantity(units.NUMBER, above=0.0).read(value),) * 3
        scale = Vector3(units.NUMBER).read(value)
        if not all(scale):
            raise ValueError("expected numbers other than 0")
        return scale

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        if bool(self.file) == bool(self.vertices):
            raise ValueError("expected one of `file` and `vertices`")
        if self.vertices and "scale" in self.model_fields_set:
            raise ValueError("`scale` has no effect on `vertices`, which are lengths")
        if self.vertices and (self.hull or self.decompose):
            raise ValueError("`hull` and `decompose` have no effect on `vertices`, which are convex")
        if self.hull and self.decompose:
            raise ValueError("expected one of `hull` and `decompose`")
        if self.vertices:
            extents = np.linalg.svd(np.subtract(self.vertices, self.vertices[0]), compute_uv=False)
            if not (len(extents) == 3 and extents[2] > FLAT * extents[0]):
                raise ValueError("expected `vertices` that do not lie in one plane, at least four")
        return self


def surface_of(shape: MeshSpec, file: Path) -> Any:
    """Read the closed surface of a mesh, scaled; a `trimesh.Trimesh`.

    Raises
    ------
    Refused
        As in `triangles_of`, or if the mesh is not closed or is oriented inward.
    """
    mesh = triangles_of(shape, file)
    if shape.vertices:
        return mesh
    if not mesh.is_watertight:
        raise Refused(f"the mesh {file} is not closed, so its volume is undefined")
    volume = float(mesh.volume)
    if volume <= 0.0:
        raise Refused(f"the mesh {file} has the volume {volume:g}: its triangles must be oriented outward")
    return mesh


def triangles_of(shape: MeshSpec, file: Path) -> Any:
    """Read the triangles of a mesh, scaled, whether they are closed or not; a `trimesh.Trimesh`.

    Raises
    ------
    Refused
        The mesh cannot be read, or exceeds a limit.
    """
    try:
        import trimesh
    except ImportError:
        raise Refused("a mesh requires the package trimesh: pip install 'multibody-cli[mesh]'") from None
    if shape.vertices:
        return trimesh.Trimesh(shape.vertices).convex_hull
    if file.suffix.lower() not in FORMATS:
        raise Refused(f"the mesh {file} cannot be read: expected a file {', '.join(FORMATS)}")
    try:
        require_within("bytes", file.stat().st_size)
        suffix, content = file.suffix.lower(), file.read_bytes()
        if suffix in OWN_READERS:
            mesh = trimesh.Trimesh(*OWN_READERS[suffix](content), process=False)
        else:
            mesh = trimesh.load_mesh(BytesIO(content), file_type=suffix[1:], process=False)
        mesh.apply_scale(_unit_of(mesh))
        if not len(mesh.faces):
            raise Refused(f"the mesh {file} has no triangles")
        # a file may repeat a vertex for its normals and texture coordinates
        extent = max(float(np.ptp(mesh.vertices, axis=0).max()), SMALLEST)
        mesh.merge_vertices(merge_tex=True, merge_norm=True, digits_vertex=DIGITS - math.ceil(math.log10(extent)))
    except (LimitError, Refused):
        raise
    except Exception as error:  # a reader of many formats fails in many ways
        raise Refused(f"the mesh {file} cannot be read: {error}") from None
    mesh.apply_transform(np.diag([*shape.scale, 1.0]))  # which turns triangles that are mirrored
    return mesh


def _unit_of(mesh: Any) -> float:
    """Return the unit of length that a file states, m; 1 if it states none."""
    number, times, _ = str(mesh.metadata.get("units", "")).partition(" * meters")
    return float(number) if times else 1.0


def convex_parts(shape: MeshSpec, file: Path) -> list[Floats]:
    """Read the vertices (n, 3) of the convex parts of a mesh in contacts, m.

    Raises
    ------
    Refused
        As in `triangles_of` for a hull, otherwise as in `surface_of`; or if the mesh is not convex.
    """
    if shape.vertices:
        require_within("vertices", len(shape.vertices))
        return [np.array(shape.vertices)]
    mesh = triangles_of(shape, file) if shape.hull else surface_of(shape, file)
    vertices = np.asarray(mesh.vertices, dtype=float)
    require_within("vertices", forms.count_corners(vertices) if shape.hull else len(vertices))
    if shape.hull:
        vertices = forms.hull_vertices(vertices)
    require_within("vertices", len(vertices))
    if shape.hull:
        return [vertices]
    if shape.decompose:
        parameters = shape.decompose.threshold, shape.decompose.max_parts or -1
        return list(decompose(vertices, np.asarray(mesh.faces), *parameters))
    off = _farthest_off(vertices, np.asarray(mesh.triangles, dtype=float))
    if off > CONVEX * float(np.ptp(vertices, axis=0).max()):
        raise Refused(
            f"the mesh {file} is not convex (a vertex lies {off:.3g} m above the plane of a face), but contacts "
            "require convex shapes: set `hull: true`, `decompose: true` or `contact: false`"
        )
    return [vertices]


def excess_volume(shape: MeshSpec, file: Path) -> str:
    """Return by how much the hull or the parts of a mesh in contacts exceed it, in words; empty for a convex mesh."""
    if not (shape.hull or shape.decompose):
        return ""
    mesh, parts = triangles_of(shape, file), convex_parts(shape, file)
    subject = "its convex hull has" if shape.hull else f"its {len(parts)} convex parts have"
    if not (mesh.is_watertight and mesh.volume > 0.0):
        return f"in contacts, {subject} a volume that cannot be compared with that of the mesh, which is not closed"
    excess = sum(forms.hull_volume(part) for part in parts) / float(mesh.volume) - 1.0
    if excess <= CONVEX:
        return ""
    return f"in contacts, {subject} {100.0 * excess:.3g} % more volume than the mesh"


def _farthest_off(vertices: Floats, triangles: Floats) -> float:
    """Largest distance of a vertex above the plane of a triangle, m; degenerate triangles are ignored."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    flat = areas > 1e-12 * areas.max()
    normals, bases = normals[flat] / areas[flat, None], triangles[flat, 0]
    off, many = 0.0, max(1, _AT_ONCE // len(vertices))
    for first in range(0, len(normals), many):
        some = slice(first, first + many)
        heights = vertices @ normals[some].T - (bases[some] * normals[some]).sum(axis=1)
        off = max(off, float(heights.max()))
    return off


def volume(shape: MeshSpec, file: Path) -> VolumeProperties:
    """Return volume, centre and inertia, of the hull of an open mesh that has contacts by it."""
    mesh = triangles_of(shape, file)
    mesh = mesh.convex_hull if shape.hull and not mesh.is_watertight else surface_of(shape, file)
    enclosed = float(mesh.volume)
    return VolumeProperties(enclosed, np.array(mesh.center_mass), np.array(mesh.moment_inertia) / enclosed)


def contact_forms(shape: MeshSpec, file: Path) -> list[forms.Form]:
    """Return the forms in contacts: convex hulls."""
    return [forms.hull(part) for part in convex_parts(shape, file)]


def mesh(shape: MeshSpec, file: Path) -> Mesh:
    """Return the surface in pictures."""
    surface = triangles_of(shape, file)
    return creased(np.asarray(surface.vertices, dtype=float), np.asarray(surface.faces, dtype=np.int64), CREASE)


KIND = ShapeKind("mesh", MeshSpec, volume, parts=contact_forms, mesh=mesh)
