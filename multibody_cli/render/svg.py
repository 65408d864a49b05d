"""Pictures as SVG: the visible triangles in flat shades with outlines, without shadows, the farthest first.

A triangle is visible if it is the nearest one at a sample of the picture.  The ground is drawn before all else.
Visible triangles that penetrate each other may be out of order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import SupportsInt

import numpy as np
from numpy.typing import NDArray

from multibody_cli.model import Floats
from multibody_cli.render.camera import Camera
from multibody_cli.render.drawing import Placed
from multibody_cli.render.image import CLEAR, ImageFormat, Seen, Triangles, encoded_color, flat_colors, look, sun_of
from multibody_cli.render.raster import EDGE

SAMPLES = 2
"""Samples of a pixel along each side by which visible triangles are found."""

OUTLINE = 0.9
"""Width of outlines in pixels."""


def draw_svg(
    placed: Sequence[Placed], camera: Camera, up: Floats, shape: ImageFormat, clear: set[str], legend: str = ""
) -> str:
    """Return the SVG of placed meshes below the elements of a legend; other arguments as in `draw_image`."""
    opaque = [one for one in placed if one.layer not in clear]
    translucent = [one for one in placed if one.layer in clear]
    entries = _polygons(opaque, opaque, camera, up, shape, "")
    if translucent:
        entries += _polygons([*translucent, *opaque], translucent, camera, up, shape, f' opacity="{CLEAR:g}"')
    entries.sort(key=lambda entry: entry[:2])
    size = f'width="{shape.width}" height="{shape.height}" viewBox="0 0 {shape.width} {shape.height}"'
    polygons = "\n".join(text for *_, text in entries)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} stroke-width="0.4" stroke-linejoin="round">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{polygons}\n{legend}</svg>\n'
    )


def _polygons(
    placed: Sequence[Placed], drawn: Sequence[Placed], camera: Camera, up: Floats, shape: ImageFormat, more: str
) -> list[tuple[bool, float, str]]:
    """Return the visible triangles of the first meshes of `placed`, which are `drawn`.

    Each is a polygon after the keys by which it is sorted: whether it is above the ground, and its nearness.
    """
    found = look(placed, camera, ImageFormat(shape.width, shape.height, SAMPLES))
    count = sum(len(one.mesh.triangles) for one in drawn)
    visible = np.unique(found.owner[found.owner >= 0])
    visible = visible[found.triangles.numbers[visible] < count]
    points = found.triangles.points[visible]
    normals = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    away = np.einsum("ij,ij->i", normals, camera.position - points[:, 0]) < 0.0
    colors = flat_colors(
        np.where(away[:, None], -normals, normals), found.triangles.colors[visible], sun_of(camera, up), up
    )
    entries = []
    for k, color in zip(visible, colors, strict=True):
        paint, words = _paint(color), " ".join(map(_place, found.corners[k]))
        # a thin stroke closes the gap between neighbors; on translucent ones it would show
        style = more or f' stroke="{paint}"'
        polygon = f'<polygon points="{words}" fill="{paint}"{style}/>'
        entries.append((bool(found.triangles.objects[k] >= 0), float(found.corners[k, :, 2].mean()), polygon))
    return entries if more else [*entries, *_outlines(found, camera, count)]


def _outlines(found: Seen, camera: Camera, count: int) -> Iterator[tuple[bool, float, str]]:
    """Yield the lines of the visible silhouettes of the first `count` triangles, with the keys of their order.

    A line is visible if the object of its triangle is seen beside the middle of the line.
    """
    rows, columns = found.owner.shape
    for k, j in np.argwhere(_silhouette(found.triangles, camera)):
        ends = found.corners[k, [j, (j + 1) % 3]]
        x, y = np.clip(np.round(ends[:, :2].mean(axis=0)), 0, (columns - 1, rows - 1)).astype(int)
        beside = found.owner[max(y - 1, 0) : min(y + 2, rows), max(x - 1, 0) : min(x + 2, columns)]
        seen = found.triangles.objects[beside[beside >= 0]] == found.triangles.objects[k]
        if found.triangles.numbers[k] < count and seen.any():
            paint = _paint(np.round(255.0 * encoded_color(EDGE * found.triangles.colors[k])))
            path = f'<path d="M{_place(ends[0])}L{_place(ends[1])}" stroke="{paint}" stroke-width="{OUTLINE}"/>'
            yield True, float(ends[:, 2].mean()), path


def _place(corner: Floats) -> str:
    """Return the place of a corner in pixels."""
    return f"{(corner[0] + 0.5) / SAMPLES:.1f},{(corner[1] + 0.5) / SAMPLES:.1f}"


def _paint(color: Iterable[SupportsInt]) -> str:
    return "#" + "".join(f"{int(one):02x}" for one in color)


def _silhouette(triangles: Triangles, camera: Camera) -> NDArray[np.bool_]:
    """Return whether each edge (n, 3), from corner j to the next, belongs to the silhouette of its object.

    That is an edge of one triangle that faces the camera.  The ground has no outlines.
    """
    points, objects = triangles.points, triangles.objects
    normals = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    faces = np.einsum("ij,ij->i", normals, camera.position - points[:, 0]) > 0.0
    step = 1e-7 * max(float(np.ptp(points.reshape(-1, 3), axis=0).max(initial=0.0)), 1e-300)
    places = np.column_stack([np.repeat(objects, 3), np.round(points.reshape(-1, 3) / step)])
    corners = np.unique(places, axis=0, return_inverse=True)[1].reshape(-1, 3)
    ends = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=-1), axis=-1).reshape(-1, 2)
    edges = np.unique(ends, axis=0, return_inverse=True)[1].ravel()
    facing = np.repeat(faces & (objects >= 0), 3)
    single: NDArray[np.bool_] = facing & (np.bincount(edges, weights=facing)[edges] == 1.0)
    return single.reshape(-1, 3)
