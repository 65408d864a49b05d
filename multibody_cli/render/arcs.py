"""Paths over surfaces in a picture: the line from point to point as a chain of bars, and the surfaces themselves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from multibody_cli.cables.lines import POINT, fixed_points
from multibody_cli.cables.surface import SURFACE
from multibody_cli.cables.surface_kinds import SurfaceCode, follow
from multibody_cli.cables.wrapping import wrap
from multibody_cli.kernel import interpreted, records
from multibody_cli.meshes import solids
from multibody_cli.meshes.mesh import Mesh
from multibody_cli.model import Floats
from multibody_cli.render.drawing import GROUND, SURFACE_COLOR, Solid
from multibody_cli.render.motion import MotionHistory
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spatial.values import Vec3
from multibody_cli.spec.path import ArcSpec
from multibody_cli.spec.rotations import rotation_matrix

SEGMENTS = 16
"""Number of straight pieces of an arc."""

SHRUNK = 0.985
"""Size of a drawn surface, relative: shapes of bodies and paths on it are in front of it."""

_BODY = np.dtype([("R", "f8", 9), ("x", "f8", 3)])


def chain(
    arcs: Sequence[ArcSpec], number: Mapping[str, int], motion: MotionHistory, a: Floats, b: Floats
) -> Iterator[Floats]:
    """Yield the ends (2, T, 3) of each piece of the path from points a to b (T, 3) over surfaces, m, in the world."""
    bodies = [number.get(arc.body, GROUND) for arc in arcs]
    axes = [motion.axes(body) for body in bodies]
    origins = [motion.point(body, (0.0, 0.0, 0.0)) + np.zeros((len(a), 3)) for body in bodies]
    poses = ([one[k] for one in origins] for k in range(len(a))), ([one[k] for one in axes] for k in range(len(a)))
    lines = np.array([_line(arcs, *pose) for pose in zip(*poses, a, b, strict=True)])
    yield from itertools.pairwise(lines.swapaxes(0, 1))


def _line(arcs: Sequence[ArcSpec], origins: Sequence[Floats], axes: Sequence[Floats], a: Floats, b: Floats) -> Floats:
    """Return points along the path at one instant, equally many over surfaces that it touches and others."""
    copies = [(*one, twin) for one in zip(arcs, origins, axes, strict=True) for twin in one[0].wrap.TWINS]
    count = len(copies)
    with interpreted():
        bodies, surfaces = records(np.zeros(count, _BODY)), records(np.zeros(count, SURFACE))
        entries = records(np.array([(k, np.zeros(3), 1.0, k, -1) for k in range(count)], POINT))
        for (arc, origin, R, twin), body, surface in zip(copies, bodies, surfaces, strict=True):
            body["R"], body["x"] = R.T.ravel(), origin
            write_surface(surface, arc)
            surface["twin"] = twin
        wrap(fixed_points(entries, surfaces), 0, count, bodies, Vec3(*a), Vec3(*b))
        pieces = [a[None]]
        for (arc, origin, R, _), surface in zip(copies, surfaces, strict=True):
            if surface["touches"]:
                pieces.append(_arc(surface, origin + R @ arc.wrap.position, R @ rotation_matrix(arc.wrap.rotation)))
    missing = (SEGMENTS + 1) * (count + 1 - len(pieces))
    return np.vstack([*pieces, np.linspace(pieces[-1][-1], b, missing + 2)[1:]])


def write_surface(surface: Any, arc: ArcSpec) -> None:
    """Write the constants of a surface in its body frame to a record."""
    spec = arc.wrap
    surface["kind"], surface["centre"] = SurfaceCode[spec.type.upper()], spec.position
    surface["axes"] = rotation_matrix(spec.rotation).T.ravel()
    surface["radii"], surface["side"] = spec.size, arc.side or (0.0, 0.0, 0.0)
    surface["only_cut"] = arc.only_cut


def _arc(surface: Any, centre: Floats, axes: Floats) -> Floats:
    """Return points (SEGMENTS + 1, 3) along the geodesic of an arc."""
    points, length = [], surface["arc"]
    for part in np.linspace(0.0, 1.0, SEGMENTS + 1):
        surface["arc"] = part * length
        follow(surface)
        points.append(centre + axes @ surface["end"])
    return np.array(points)


_MESHES: dict[str, Callable[[Any], Mesh]] = {
    "sphere": lambda spec: solids.sphere(SHRUNK * spec.radius, 32),
    "cylinder": lambda spec: solids.cylinder(SHRUNK * spec.radius, SHRUNK * (spec.length or 2.0 * spec.radius), 40),
    "torus": lambda spec: solids.torus(spec.major_radius, SHRUNK * spec.minor_radius),
    "ellipsoid": lambda spec: solids.sphere(SHRUNK, 32).stretched(spec.radii),
}


def surface_solids(scene: SceneSpec, number: Mapping[str, int]) -> Iterator[Solid]:
    """Yield the named surfaces; a cylinder without a length with that of two radii."""
    for name, spec in scene.surfaces.items():
        mesh = _MESHES[spec.type](spec).moved(spec.position, rotation_matrix(spec.rotation))
        yield Solid(f"surface {name}", "springs", number.get(spec.body, GROUND), mesh, SURFACE_COLOR)
