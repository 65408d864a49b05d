"""Paths over surfaces in a picture: the line from point to point as a chain of bars, and the surfaces themselves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from multibody_cli.cables.wrapping import SURFACE, SurfaceCode, wrap
from multibody_cli.kernel import interpreted, records
from multibody_cli.meshes import solids
from multibody_cli.meshes.mesh import Mesh
from multibody_cli.model import Floats
from multibody_cli.render.drawing import GROUND, SURFACE_COLOR, Solid
from multibody_cli.render.motion import MotionHistory
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spatial.values import Vec3
from multibody_cli.spec.path import ArcSpec, WrapSpec
from multibody_cli.spec.rotations import rotation_matrix

SEGMENTS = 16
"""Number of straight pieces of an arc."""

SHRUNK = 0.985
"""Radius of a drawn surface, relative: shapes of bodies and paths on it are in front of it."""

_BODY = np.dtype([("R", "f8", 9), ("x", "f8", 3)])


def chain(arc: ArcSpec, number: Mapping[str, int], motion: MotionHistory, a: Floats, b: Floats) -> Iterator[Floats]:
    """Yield the ends (2, T, 3) of each piece of the path from points a to b (T, 3) over a surface, m, in the world."""
    body = number.get(arc.body, GROUND)
    origin = motion.point(body, (0.0, 0.0, 0.0)) + np.zeros((len(a), 3))
    lines = np.array(
        [_line(arc, *pose) for pose in zip(origin, motion.axes(body), a, b, strict=True)]
    )  # (T, SEGMENTS + 3, 3)
    yield from itertools.pairwise(lines.swapaxes(0, 1))


def _line(arc: ArcSpec, origin: Floats, axes: Floats, a: Floats, b: Floats) -> Floats:
    """Return points (SEGMENTS + 3, 3) along the path at one instant; equally many where it does not touch."""
    with interpreted():
        body, surface = records(np.zeros(1, _BODY))[0], records(np.zeros(1, SURFACE))[0]
        body["R"], body["x"] = axes.T.ravel(), origin
        surface["kind"], surface["centre"] = SurfaceCode[arc.wrap.type.upper()], arc.wrap.position
        surface["axes"] = rotation_matrix(arc.wrap.rotation).T.ravel()
        surface["radius"], surface["side"] = arc.wrap.radius, arc.side or (0.0, 0.0, 0.0)
        wrap(surface, body, Vec3(*a), Vec3(*b))
    if not surface["touches"]:
        return np.linspace(a, b, SEGMENTS + 3)
    return np.vstack([a, _arc(arc.wrap, surface, origin, axes), b])


def _arc(spec: WrapSpec, surface: Any, origin: Floats, axes: Floats) -> Floats:
    """Return points (SEGMENTS + 1, 3) along the arc: those of a circle about an axis that rise along it."""
    centre = origin + axes @ spec.position
    begin, end, along = origin + surface["enter"] - centre, origin + surface["leave"] - centre, surface["entering"]
    n = np.cross(begin, along)
    if spec.AXIS is not None:
        axis = axes @ rotation_matrix(spec.rotation) @ spec.AXIS
        n = np.sign(n @ axis) * axis
    n = n / np.linalg.norm(n)
    radial, rise = begin - (begin @ n) * n, (end - begin) @ n
    angle = np.sqrt(max(surface["arc"] ** 2 - rise**2, 0.0)) / spec.radius
    part = np.linspace(0.0, 1.0, SEGMENTS + 1)[:, None]
    turned = np.cos(part * angle) * radial + np.sin(part * angle) * np.cross(n, radial)
    points: Floats = centre + (begin @ n) * n + turned + part * rise * n
    return points


_MESHES: dict[str, Callable[[float], Mesh]] = {
    "sphere": lambda radius: solids.sphere(radius, 32),
    "cylinder": lambda radius: solids.cylinder(radius, 2.0 * radius, 40),
}


def surface_solids(scene: SceneSpec, number: Mapping[str, int]) -> Iterator[Solid]:
    """Yield the named surfaces; a cylinder with a length of two radii."""
    for name, spec in scene.surfaces.items():
        mesh = _MESHES[spec.type](SHRUNK * spec.radius).moved(spec.position, rotation_matrix(spec.rotation))
        yield Solid(f"surface {name}", "springs", number.get(spec.body, GROUND), mesh, SURFACE_COLOR)
