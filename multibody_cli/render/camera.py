"""Cameras: direction of view, and the position from which given points fill the picture."""

from __future__ import annotations

import math
import re

import numpy as np

from multibody_cli.errors import ArgumentError
from multibody_cli.immutable import Immutable
from multibody_cli.model import Floats
from multibody_cli.render.drawing import GROUND, Drawing
from multibody_cli.render.motion import MotionHistory

FIELD_OF_VIEW = math.radians(26.0)
"""Vertical angle of view, rad."""

PARALLEL = 0.005
"""Tangent of half the angle of view of a camera so far away that its lines of sight are parallel, to this part."""

STEEPEST = math.radians(89.9)
"""Largest elevation of a view."""

MARGIN = 0.9
"""Part of the picture that the mechanism fills."""

FAR = 8.0
"""Length of a path, relative to the mechanism, from which the camera of a film follows it."""

SAMPLED = 150
"""Number of instants from which the extreme points of the motion are taken."""


class View(Immutable):
    """A direction of view.

    Parameters
    ----------
    azimuth
        Angle of the camera about `up`, from the x axis toward y if `up` is z, rad.
    elevation
        Angle of the camera above the horizontal plane, rad.
    zoom
        Size of the mechanism in the picture, relative to that which fills it.
    """

    azimuth: float
    elevation: float
    zoom: float = 1.0

    @property
    def words(self) -> str:
        """As `--camera` takes it."""
        return f"{math.degrees(self.azimuth):g},{math.degrees(self.elevation):g},{self.zoom:g}"


class Camera(Immutable, eq=False):
    """A perspective camera.

    Parameters
    ----------
    position, target
        Its place and the point in the middle of the picture, (3,), m.
    axes
        (3, 3) rows: unit vectors to the right, up, and from the target to the camera.
    slope
        Tangent of half the vertical angle of view.
    """

    position: Floats
    target: Floats
    axes: Floats
    slope: float = math.tan(0.5 * FIELD_OF_VIEW)

    def per_meter(self, depth: float | Floats, height: int) -> float | Floats:
        """Return the pixels per meter at a distance, m, from the camera in a picture of a height in pixels."""
        return 0.5 * height / (self.slope * depth)


def read_view(text: str) -> View:
    """Read `AZIMUTH,ELEVATION[,ZOOM]`, angles in degrees.

    Raises
    ------
    ArgumentError
        The text has another form, the elevation is not between -89 and 89 degrees, or the zoom is not positive.
    """
    number = r"\s*([-+]?\d+(?:\.\d*)?)\s*"
    found = re.fullmatch(rf"{number},{number}(?:,{number})?", text)
    if found is None:
        raise ArgumentError(
            f"--camera {text}: expected AZIMUTH,ELEVATION or AZIMUTH,ELEVATION,ZOOM with angles in degrees, as in "
            "--camera -60,20"
        )
    azimuth, elevation, zoom = (float(word) if word else 1.0 for word in found.groups())
    if abs(elevation) > 89.0 or zoom <= 0.0:
        raise ArgumentError(f"--camera {text}: expected an elevation from -89 to 89 degrees, and a positive zoom")
    return View(math.radians(azimuth), math.radians(elevation), zoom)


def upward(gravity: Floats) -> Floats:
    """Return the unit vector against gravity; z without gravity."""
    norm = float(np.linalg.norm(gravity))
    return -np.asarray(gravity) / norm if norm > 0.0 else np.array([0.0, 0.0, 1.0])


def extreme_points(drawing: Drawing, motion: MotionHistory, path: Floats | None = None) -> Floats:
    """Return points (n, 3) of the convex hull of all that moves and of the joints, m, without shapes of the world.

    With the `path` (T, 3) of a camera that follows the bodies, m, the points are those of bodies, relative to it.
    """
    rows = np.unique(np.linspace(0, len(motion.time) - 1, SAMPLED).round().astype(int))
    origin = np.zeros((len(rows), 3)) if path is None else path[rows]
    places = []
    for solid in drawing.solids:
        if solid.layer != "ground" and (path is None or solid.body != GROUND):
            moved = np.einsum("tij,nj->tni", motion.axes(solid.body)[rows], solid.mesh.corners)
            places.append(((motion.point(solid.body, (0.0, 0.0, 0.0))[rows] - origin)[:, None] + moved).reshape(-1, 3))
    for bar in drawing.bars:
        for body, point in zip(bar.bodies, bar.points, strict=True):
            if path is None or body != GROUND:
                places.append(motion.point(body, point)[rows] - origin)
    points = np.concatenate(places)
    points = points[np.isfinite(points).all(axis=1)]
    directions = np.array([(i, j, k) for i in range(-2, 3) for j in range(-2, 3) for k in range(-2, 3) if i or j or k])
    chosen: Floats = points[np.unique(np.argmax(points @ directions.T, axis=0))]
    return chosen


def default_view(points: Floats, up: Floats, is_hollow: bool = False) -> View:
    """Return a view across the larger horizontal extent, oblique enough to show depth.

    Flat motion is seen from above, and a mechanism that `is_hollow`, such as one in a bowl, from higher still.
    """
    x, y, z = (points @ level_axes(up).T).T
    across = float(np.ptp(x)) >= float(np.ptp(y))
    flat = float(np.ptp(z)) < 0.3 * max(float(np.ptp(x)), float(np.ptp(y)))
    elevation = 48.0 if is_hollow else 34.0 if flat else 17.0
    return View(math.radians(-62.0 if across else 28.0), math.radians(elevation))


def level_axes(up: Floats) -> Floats:
    """Return rows: two horizontal unit vectors, and `up`; the axes of the world if `up` is z."""
    first = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(up, first), up])


def view_along(normal: Floats, up: Floats) -> View:
    """Return the view along the normal of a plane, from the side on which its largest extent leads to the right."""
    right, normal = np.cross(up, normal), level_axes(up) @ normal
    if abs(normal[2]) > 1.0 - 1e-9:
        return View(math.radians(-90.0), STEEPEST)
    x, y, z = normal if right[np.argmax(np.abs(right))] > 0.0 else -normal
    return View(math.atan2(y, x), min(max(math.asin(z), -STEEPEST), STEEPEST))


def fitted_camera(points: Floats, view: View, up: Floats, aspect: float, slope: float | None = None) -> Camera:
    """Return the camera that shows all points, as close as possible.

    Each side of the frustum touches a point: with s the slope of a side, right and left require
    max(x + s z) = x_c + s z_c and max(-x + s z) = -x_c + s z_c.

    Parameters
    ----------
    points
        (n, 3) points to show, m.
    view
        Direction, and the zoom about the fitted camera.
    up
        Unit vector that points up in the picture.
    aspect
        Width of the picture over its height.
    slope
        Tangent of half the vertical angle of view; None for that of `FIELD_OF_VIEW`.
    """
    half = half_slope() if slope is None else slope
    a, e = view.azimuth, view.elevation
    back = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)]) @ level_axes(up)
    right = np.cross(up, back)
    right /= np.linalg.norm(right)
    axes = np.array([right, np.cross(back, right), back])
    seen = points @ axes.T
    place = np.zeros(3)
    for k, side in enumerate((MARGIN * aspect * half, MARGIN * half)):
        high, low = (seen[:, k] + side * seen[:, 2]).max(), (-seen[:, k] + side * seen[:, 2]).max()
        place[k] = 0.5 * (high - low)
        place[2] = max(place[2], (high + low) / (2.0 * side)) if k else (high + low) / (2.0 * side)
    middle = 0.5 * (seen[:, 2].min() + seen[:, 2].max())
    distance = max(place[2] - middle, 1e-6) / view.zoom
    target = np.array([place[0], place[1], middle]) @ axes
    return Camera(target + distance * back, target, axes, half)


def half_slope() -> float:
    """Return the tangent of half the vertical angle of view."""
    return math.tan(0.5 * FIELD_OF_VIEW)
