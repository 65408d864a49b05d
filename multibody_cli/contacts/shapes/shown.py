"""Supporting features of a solid along a direction: a flat face, or a straight edge.

Boxes and hulls have faces and edges; cylinders have caps, and lines along their sides; capsules have such lines as the
axes of their balls.  A cap is a regular polygon fixed to the body.
"""

from __future__ import annotations

import math

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
def face_toward(solid, faces, m) -> tuple[int, Vec3]:
    """Return the face whose outward normal is best aligned with m, and the normal."""
    R = load(solid.R)
    u = transposed_times(R, m)
    best, far, normal = NONE, -math.inf, ZERO
    for k in range(solid.first_face, solid.last_face):
        toward = dot(load(faces[k].normal), u)
        if toward > far:
            best, far, normal = k - solid.first_face, toward, load(faces[k].normal)
    if is_cylinder(solid):
        best, normal = (1, Vec3(0.0, 0.0, 1.0)) if u.z >= 0.0 else (0, Vec3(0.0, 0.0, -1.0))
    return best, R @ normal


@kernel
def supporting_face(solid, faces, m):
    """Return the face, cap or line best aligned with m; none for a ball or an ellipsoid."""
    if solid.last_face > solid.first_face:
        return face_toward(solid, faces, m)[0]
    if is_cylinder(solid):
        z = dot(load(solid.R).z, m)
        if abs(z) > STEEP:
            return 1 if z > 0.0 else 0
        return LINE
    return LINE if solid.half > 0.0 and solid.radii[2] == 0.0 else NONE


@kernel
def number_of_corners(solid, faces, face, rim):
    """Return the number of corners of a face; `rim` for a cap."""
    if face == NONE:
        return 0
    if solid.last_face > solid.first_face:
        return faces[solid.first_face + face].last - faces[solid.first_face + face].first
    return 2 if face == LINE else rim


@kernel
def corner_of_supporting_face(solid, vertices, faces, corners, face, k, count, m) -> Vec3:
    """Return corner k of a face toward m, counterclockwise as seen from outside."""
    R = load(solid.R)
    if solid.last_face > solid.first_face:
        return load(solid.x) + R @ vertex(vertices, corners[faces[solid.first_face + face].first + k])
    if face == LINE:
        return support(solid, vertices, m, k)[0]
    angle = (2.0 * math.pi / count) * (k if face == 1 else -k)
    radius = solid.radii[0]
    return load(solid.x) + R @ Vec3(
        radius * math.cos(angle), radius * math.sin(angle), solid.half if face == 1 else -solid.half
    )


@kernel
def supporting_edge(solid, vertices, faces, corners, m) -> tuple[Vec3, Vec3, bool]:
    """Return the ends of the straight edge farthest along m, and whether it is perpendicular to m."""
    p, q = ZERO, ZERO
    if solid.last_face > solid.first_face:
        u, best = transposed_times(load(solid.R), m), -math.inf
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
        p, q = support(solid, vertices, m, 0)[0], support(solid, vertices, m, 1)[0]
    along, length = direction(q - p, m)
    return p, q, length > 0.0 and abs(dot(along, m)) < ALONG
