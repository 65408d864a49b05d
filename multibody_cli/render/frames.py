"""The pictures of a run: all that is drawn at an instant, as an image or as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.render.camera import Camera, extreme_points, fitted_camera
from multibody_cli.render.drawing import Placed, placed_at
from multibody_cli.render.image import ImageFormat, Pixels, draw_image, shadow_sphere
from multibody_cli.render.motion import nearest_row
from multibody_cli.render.picture import Picture
from multibody_cli.render.svg import draw_svg


def camera_of(picture: Picture, shape: ImageFormat) -> Camera:
    """Return the camera that shows the whole motion."""
    return fitted_camera(picture.points, picture.view, picture.up, shape.aspect)


def placed_with_ghosts(picture: Picture, row: int, ghosts: Sequence[Picture]) -> list[Placed]:
    """Return all that is drawn at an instant, with the bodies of other runs at the nearest instant."""
    placed, time = placed_at(picture.drawing, picture.motion, row), picture.motion.time[row]
    for ghost in ghosts:
        others = placed_at(ghost.drawing, ghost.motion, nearest_row(ghost.motion.time, time))
        placed += [replace(one, layer="ghost") for one in others if one.layer == "bodies"]
    return placed


def translucent_layers(picture: Picture) -> set[str]:
    """Return the layers that are drawn translucent: ghosts, and bodies with muscles."""
    return {"ghost", *(["bodies"] if any(bar.muscle >= 0 for bar in picture.drawing.bars) else [])}


def images(picture: Picture, ghosts: Sequence[Picture], shape: ImageFormat) -> Iterator[Pixels]:
    """Yield the image of each instant, by a camera at rest."""
    return _images(picture, ghosts, shape, picture.points, np.zeros((len(picture.rows), 3)))


def film(picture: Picture, ghosts: Sequence[Picture], shape: ImageFormat) -> Iterator[Pixels]:
    """Yield the image of each instant; the camera follows bodies that go far."""
    if picture.path is None:
        return images(picture, ghosts, shape)
    points = extreme_points(picture.drawing, picture.motion, picture.path)
    return _images(picture, ghosts, shape, points, picture.path)


def _images(
    picture: Picture, ghosts: Sequence[Picture], shape: ImageFormat, points: Floats, path: Floats
) -> Iterator[Pixels]:
    """Yield the images by a camera that shows points (n, 3) and moves along a path (T, 3), m."""
    camera, clear = fitted_camera(points, picture.view, picture.up, shape.aspect), translucent_layers(picture)
    centre, radius = shadow_sphere(points)
    for row, place in enumerate(path):
        placed = placed_with_ghosts(picture, row, ghosts)
        moved = Camera(camera.position + place, camera.target + place, camera.axes)
        layers = clear & {one.layer for one in placed}
        yield draw_image(placed, moved, picture.up, shape, (centre + place, radius), layers)


def strip(picture: Picture, ghosts: Sequence[Picture], shape: ImageFormat) -> Pixels:
    """Return the images of all instants side by side."""
    return np.concatenate(list(images(picture, ghosts, shape)), axis=1)


def svg(picture: Picture, ghosts: Sequence[Picture], shape: ImageFormat) -> bytes:
    """Return the pictures of all instants side by side as SVG."""
    camera, clear = camera_of(picture, shape), translucent_layers(picture)
    rows = range(len(picture.rows))
    parts = [draw_svg(placed_with_ghosts(picture, row, ghosts), camera, picture.up, shape, clear) for row in rows]
    if len(parts) == 1:
        return parts[0].encode()
    moved = [f'<svg x="{k * shape.width}">\n{part}</svg>\n' for k, part in enumerate(parts)]
    size = f'width="{len(parts) * shape.width}" height="{shape.height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{"".join(moved)}</svg>\n'.encode()
