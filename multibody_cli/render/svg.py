"""Pictures as SVG: triangles in flat shades without shadows, the farthest first.

The ground is drawn before all else.  Triangles that penetrate each other may be out of order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.render.camera import Camera, half_slope
from multibody_cli.render.drawing import Placed
from multibody_cli.render.image import CLEAR, Format, flat_colors, sun_of


def draw_svg(placed: Sequence[Placed], camera: Camera, up: Floats, shape: Format, clear: set[str]) -> str:
    """Return the SVG of placed meshes; arguments as in `draw_image`."""
    scale = 0.5 * shape.height / half_slope()
    near = 0.01 * float(np.linalg.norm(camera.position - camera.target))
    found: list[tuple[bool, float, str]] = []
    for one in placed:
        points = one.mesh.vertices @ one.linear.T + one.position
        seen = (points - camera.position) @ camera.axes.T
        depth = -seen[:, 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            flat = np.stack([scale * seen[:, 0] / depth, -scale * seen[:, 1] / depth], axis=1)
        flat += [0.5 * shape.width, 0.5 * shape.height]
        triangles = one.mesh.triangles[(depth[one.mesh.triangles] > near).all(axis=1)]
        corners = points[triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        facing = np.einsum("ij,ij->i", normals, camera.position - corners[:, 0])
        colors = flat_colors(np.where(facing[:, None] < 0.0, -normals, normals), one.color, sun_of(camera, up), up)
        is_open = one.layer == "ground"
        opacity = f' opacity="{CLEAR:g}"' if one.layer in clear else ""
        for k in np.flatnonzero((facing > 0.0) | is_open):
            outline = flat[triangles[k]]
            outside = (outline.max(axis=0) < 0.0).any() or (outline.min(axis=0) > [shape.width, shape.height]).any()
            if outside:
                continue
            words = " ".join(f"{x:.1f},{y:.1f}" for x, y in outline)
            r, g, b = colors[k]
            paint = f"#{r:02x}{g:02x}{b:02x}"
            polygon = f'<polygon points="{words}" fill="{paint}" stroke="{paint}"{opacity}/>'
            found.append((not is_open, -float(depth[triangles[k]].mean()), polygon))
    found.sort(key=lambda entry: entry[:2])
    size = f'width="{shape.width}" height="{shape.height}" viewBox="0 0 {shape.width} {shape.height}"'
    polygons = "\n".join(text for *_, text in found)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} stroke-width="0.4" stroke-linejoin="round">\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{polygons}\n</svg>\n'
    )
