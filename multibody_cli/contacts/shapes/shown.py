"""Supporting features of a solid along a direction: a flat face, or a straight edge.

Boxes and hulls have faces and edges; cylinders have caps, and lines along their sides; capsules have such lines as the
axes of their balls.  A cap is a regular polygon fixed to the body.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.direction_cells import cell_of
from multibody_cli.contacts.shapes.patch import direction
from multibody_cli.contacts.shapes.solid import is_cylinder, support, vertex
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import ZERO, dot, transposed_times
from multibody_cli.spatial.values import Vec3

NONE = -1
"""Number of a face if there is none."""

LINE = 2
"""Face number of the line along the side of a cylinder or capsule; 0 and 1 are the caps."""

STEEP = math.sqrt(0.5)
"""Cosine of the angle to the axis above which the supporting face of a cylinder is a cap."""

ALONG = 0.1
"""Sine of the angle to a plane below which an edge is parallel to it."""


@kernel
def face_toward(solid, geometry, m) -> tuple[int, Vec3]:
    """Return the face whose outward normal is best aligned with m, and the normal."""
    R = load(solid.R)
    u = transposed_times(R, m)
    best, far, normal = NONE, -math.inf, ZERO
    if is_cylinder(solid):
        best, normal = (1, Vec3(0.0, 0.0, 1.0)) if u.z >= 0.0 else (0, Vec3(0.0, 0.0, -1.0))
    elif solid.last_face > solid.first_face:
        cell = solid.first_face_cell + cell_of(u, solid.resolution)
        for k in range(geometry.cells[cell], geometry.cells[cell + 1]):
            face = geometry.candidates[k]
            toward = dot(load(geometry.faces[face].normal), u)
            if toward > far:
                best, far, normal = face - solid.first_face, toward, load(geometry.faces[face].normal)
    return best, R @ normal


@kernel
def supporting_face(solid, geometry, m):
    """Return the face, cap or line best aligned with m; none for a ball or an ellipsoid."""
    if solid.last_face > solid.first_face:
        return face_toward(solid, geometry, m)[0]
    if is_cylinder(solid):
        z = dot(load(solid.R).z, m)
        if abs(z) > STEEP:
            return 1 if z > 0.0 else 0
        return LINE
    return LINE if solid.half > 0.0 and solid.radii[2] == 0.0 else NONE


@kernel
def number_of_corners(solid, geometry, face, rim):
    """Return the number of corners of a face; `rim` for a cap."""
    if face == NONE:
        return 0
    if solid.last_face > solid.first_face:
        shown = geometry.faces[solid.first_face + face]
        return shown.last - shown.first
    return 2 if face == LINE else rim


@kernel
def corner_of_supporting_face(solid, geometry, face, k, count, m) -> Vec3:
    """Return corner k of a face toward m, counterclockwise as seen from outside."""
    R = load(solid.R)
    if solid.last_face > solid.first_face:
        row = geometry.corners[geometry.faces[solid.first_face + face].first + k]
        return load(solid.x) + R @ vertex(geometry.vertices, row)
    if face == LINE:
        return support(solid, geometry, m, k)[0]
    angle = (2.0 * math.pi / count) * (k if face == 1 else -k)
    radius = solid.radii[0]
    return load(solid.x) + R @ Vec3(
        radius * math.cos(angle), radius * math.sin(angle), solid.half if face == 1 else -solid.half
    )


@kernel
def supporting_edge(solid, geometry, m) -> tuple[Vec3, Vec3, bool]:
    """Return the ends of the straight edge farthest along m, and whether it is perpendicular to m."""
    p, q = ZERO, ZERO
    if solid.last_face > solid.first_face:
        u, best = transposed_times(load(solid.R), m), -math.inf
        vertices, faces, corners = geometry.vertices, geometry.faces, geometry.corners
        for face in range(solid.first_face, solid.last_face):
            first, last = faces[face].first, faces[face].last
            before = vertex(vertices, corners[last - 1])
            for k in range(first, last):
                here = vertex(vertices, corners[k])
                reach = min(dot(u, before), dot(u, here))
                if reach > best:
                    p, q, best = before, here, reach
                before = here
        p, q = load(solid.x) + load(solid.R) @ p, load(solid.x) + load(solid.R) @ q
    elif solid.half > 0.0 and solid.radii[2] == 0.0:
        p, q = support(solid, geometry, m, 0)[0], support(solid, geometry, m, 1)[0]
    along, length = direction(q - p, m)
    return p, q, length > 0.0 and abs(dot(along, m)) < ALONG
