"""Pictures as SVG: the visible triangles in flat shades without shadows, the farthest first.

A triangle is visible if it is the nearest one at a sample of the picture.  The ground is drawn before all else.
Visible triangles that penetrate each other may be out of order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.render.camera import Camera
from multibody_cli.render.drawing import Placed
from multibody_cli.render.image import CLEAR, Format, flat_colors, look, sun_of

SAMPLES = 2
"""Samples of a pixel along each side by which visible triangles are found."""


def draw_svg(placed: Sequence[Placed], camera: Camera, up: Floats, shape: Format, clear: set[str]) -> str:
    """Return the SVG of placed meshes; arguments as in `draw_image`."""
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
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{polygons}\n</svg>\n'
    )


def _polygons(
    placed: Sequence[Placed], drawn: Sequence[Placed], camera: Camera, up: Floats, shape: Format, more: str
) -> list[tuple[bool, float, str]]:
    """Return the visible triangles of the first meshes of `placed`, which are `drawn`.

    Each is a polygon after the keys by which it is sorted: whether it is above the ground, and its nearness.
    """
    found = look(placed, camera, Format(shape.width, shape.height, SAMPLES))
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
    for k, (r, g, b) in zip(visible, colors, strict=True):
        flat = (found.corners[k, :, :2] + 0.5) / SAMPLES
        paint = f"#{r:02x}{g:02x}{b:02x}"
        words = " ".join(f"{x:.1f},{y:.1f}" for x, y in flat)
        # a thin stroke closes the gap between neighbors; on translucent ones it would show
        style = more or f' stroke="{paint}"'
        polygon = f'<polygon points="{words}" fill="{paint}"{style}/>'
        entries.append((bool(found.triangles.objects[k] >= 0), float(found.corners[k, :, 2].mean()), polygon))
    return entries
