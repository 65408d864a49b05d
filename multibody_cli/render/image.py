"""Images of placed meshes as a camera sees them, with light, shadows and outlines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multibody_cli.immutable import Immutable
from multibody_cli.model import Floats
from multibody_cli.render.camera import Camera
from multibody_cli.render.drawing import Placed
from multibody_cli.render.motion import Integers
from multibody_cli.render.raster import GROUND_LIGHT, LIT, SKY, find_nearest, shade

Pixels = NDArray[np.uint8]
"""(rows, columns, 3) colors in sRGB."""

SHADOW = 1536
"""Number of samples of the shadow map along each side."""

TOP, BOTTOM = (1.0, 1.0, 1.0), (0.90, 0.92, 0.94)
"""Colors of the background in sRGB, above and below."""

CLEAR = 0.45
"""Opacity of translucent solids."""


class ImageFormat(Immutable):
    """Size of an image in pixels, and samples of a pixel along each side."""

    width: int
    height: int
    samples: int = 3

    @property
    def aspect(self) -> float:
        """Width over height."""
        return self.width / self.height


class Triangles(NamedTuple):
    """Corners (n, 3, 3), m, normals, linear colors (n, 3), numbers of their objects (n,), and own numbers (n,)."""

    points: Floats
    normals: Floats
    colors: Floats
    objects: Integers
    numbers: Integers

    def picked(self, which: Any) -> Triangles:
        """Return some of the triangles."""
        points, normals, colors, objects, numbers = (np.ascontiguousarray(one[which]) for one in self)
        return Triangles(points, normals, colors, objects, numbers)


class Seen(NamedTuple):
    """View of a camera: all triangles, those before it, their corners in samples, and the nearest of each sample."""

    every: Triangles
    triangles: Triangles
    corners: Floats
    owner: Integers


def draw_image(
    placed: Sequence[Placed],
    camera: Camera,
    up: Floats,
    shape: ImageFormat,
    sunlit: tuple[Floats, float],
    clear: set[str],
) -> Pixels:
    """Return the image of placed meshes.

    Parameters
    ----------
    placed
        The meshes.
    camera, up
        The camera, and the unit vector against gravity.
    shape
        Size of the image.
    sunlit
        Centre (3,) and radius, m, of the sphere in which bodies cast shadows.
    clear
        Layers that are drawn translucent.
    """
    opaque = _image([one for one in placed if one.layer not in clear], camera, up, shape, sunlit)
    if clear:
        whole = _image(placed, camera, up, shape, sunlit)
        opaque = (1.0 - CLEAR) * opaque + CLEAR * whole
    return np.round(255.0 * encoded_color(opaque)).astype(np.uint8)


def _image(
    placed: Sequence[Placed], camera: Camera, up: Floats, shape: ImageFormat, sunlit: tuple[Floats, float]
) -> Floats:
    found = look(placed, camera, shape)
    sun = sun_of(camera, up)
    shadow_map, shadow = _shadow(found.every, [one.layer == "ground" for one in placed], sun, *sunlit)
    lights = np.concatenate([[sun, up, camera.position], shadow_map])
    image = np.empty((shape.height, shape.width, 3))
    image[:] = np.linspace(decoded_color(TOP), decoded_color(BOTTOM), shape.height)[:, None]
    shade(found.corners, *found.triangles[:4], found.owner, lights, shadow, image)
    return image


def look(placed: Sequence[Placed], camera: Camera, shape: ImageFormat) -> Seen:
    """Project placed meshes into a picture, and find the nearest triangle of each sample."""
    rows, columns = shape.height * shape.samples, shape.width * shape.samples
    every = _triangles(placed)
    seen = (every.points - camera.position) @ camera.axes.T
    depth = -seen[..., 2]
    in_front = (depth > 0.01 * float(np.linalg.norm(camera.position - camera.target))).all(axis=1)
    seen, depth = seen[in_front], depth[in_front]
    scale = 0.5 * rows / camera.slope
    x = 0.5 * (columns - 1) + scale * seen[..., 0] / depth
    y = 0.5 * (rows - 1) - scale * seen[..., 1] / depth
    corners = np.stack([x, y, 1.0 / depth], axis=-1)
    return Seen(every, every.picked(in_front), corners, _nearest(corners, rows, columns)[1])


def _triangles(placed: Sequence[Placed]) -> Triangles:
    """Return all triangles in the world; normals follow the inverse transpose of a stretch."""
    points, normals, colors, objects = [np.zeros((0, 3, 3))], [np.zeros((0, 3, 3))], [np.zeros((0, 3))], [np.zeros(0)]
    for number, one in enumerate(placed):
        triangles = one.mesh.triangles
        points.append((one.mesh.vertices @ one.linear.T + one.position)[triangles])
        turned = one.mesh.normals @ np.linalg.pinv(one.linear)
        norms = np.linalg.norm(turned, axis=1, keepdims=True)
        normals.append((turned / np.where(norms > 0.0, norms, 1.0))[triangles])
        colors.append(np.tile(decoded_color(one.color), (len(triangles), 1)))
        # the tiles of the ground have no outlines among each other
        objects.append(np.full(len(triangles), -1.0 if one.layer == "ground" else number))
    owners = np.concatenate(objects).astype(np.int64)
    every = np.concatenate(points), np.concatenate(normals), np.concatenate(colors)
    return Triangles(*every, owners, np.arange(len(owners)))


def _nearest(corners: Floats, rows: int, columns: int) -> tuple[Floats, Integers]:
    nearness, owner = np.full((rows, columns), -np.inf), np.full((rows, columns), -1)
    find_nearest(np.ascontiguousarray(corners), nearness, owner)
    return nearness, owner


def sun_of(camera: Camera, up: Floats) -> Floats:
    """Return the unit vector to the sun: high, to the left behind the camera."""
    level = np.cross(up, camera.axes[2])
    level /= max(float(np.linalg.norm(level)), 1e-12)
    sun = 1.5 * up - 0.7 * level + 0.8 * camera.axes[2]
    unit: Floats = sun / np.linalg.norm(sun)
    return unit


def _shadow(
    triangles: Triangles, on_ground: Sequence[bool], sun: Floats, centre: Floats, radius: float
) -> tuple[Floats, Floats]:
    """Return the map (4, 3) from a place to the shadow map, and the shadow map; the ground casts no shadow."""
    casting = triangles.objects >= 0 if any(on_ground) else np.ones(len(triangles.objects), bool)
    side = np.cross(sun, np.eye(3)[int(np.argmin(np.abs(sun)))])
    side /= np.linalg.norm(side)
    axes = np.array([side, np.cross(sun, side), sun]) * [[0.5 * SHADOW / radius], [0.5 * SHADOW / radius], [1.0]]
    offset = np.array([0.5 * SHADOW, 0.5 * SHADOW, 0.0]) - axes @ centre
    corners = triangles.points[casting] @ axes.T + offset
    return np.concatenate([axes, offset[None]]), _nearest(corners, SHADOW, SHADOW)[0]


def decoded_color(color: ArrayLike) -> Floats:
    """Return linear colors of colors in sRGB."""
    c = np.asarray(color, dtype=float)
    linear: Floats = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return linear


def encoded_color(color: Floats) -> Floats:
    """Return colors in sRGB of linear colors, at most 1."""
    c = np.clip(color, 0.0, 1.0)
    encoded: Floats = np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1.0 / 2.4) - 0.055)
    return encoded


def flat_colors(normals: Floats, colors: Floats, sun: Floats, up: Floats) -> Pixels:
    """Return the colors (n, 3) in sRGB of flat faces with normals (n, 3) and linear colors (n, 3), without shadows."""
    unit = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    sky = GROUND_LIGHT + (SKY - GROUND_LIGHT) * (0.5 + 0.5 * unit @ up)
    light = sky + LIT * np.maximum(unit @ sun, 0.0)
    return np.round(255.0 * encoded_color(light[:, None] * colors)).astype(np.uint8)


def shadow_sphere(points: Floats) -> tuple[Floats, float]:
    """Return the centre and the radius of a sphere about points (n, 3), m, with space for their shadows."""
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * (low + high), 0.6 * max(float(np.linalg.norm(high - low)), 1e-9) * math.sqrt(1.2)
