"""What a picture of a mechanism consists of: solids fixed in bodies, and bars and coils between points of bodies."""

from __future__ import annotations

from typing import Literal

import numpy as np

from multibody_cli.immutable import Immutable
from multibody_cli.meshes import solids
from multibody_cli.meshes.mesh import Mesh
from multibody_cli.model import Floats
from multibody_cli.render.motion import MotionHistory
from multibody_cli.spec import Vector
from multibody_cli.spec.rotations import frame_about

GROUND = -1
"""Index of the world among the bodies."""

Layer = Literal["bodies", "ground", "joints", "springs", "points"]
"""What a viewer shows or hides together."""

BODY_COLORS: tuple[Vector, ...] = (
    (0.298, 0.471, 0.659),
    (0.961, 0.522, 0.094),
    (0.329, 0.635, 0.294),
    (0.894, 0.341, 0.337),
    (0.447, 0.718, 0.698),
    (0.698, 0.475, 0.635),
    (0.933, 0.792, 0.231),
    (0.616, 0.459, 0.365),
)
"""Colors of bodies without a color, in the order of the scene, from the beginning again where they do not suffice."""

GROUND_COLOR: Vector = (0.86, 0.87, 0.88)
STEEL: Vector = (0.24, 0.27, 0.31)
SURFACE_COLOR: Vector = (0.62, 0.68, 0.74)
SPRING_COLOR: Vector = (0.44, 0.47, 0.52)
RELAXED: Vector = (0.27, 0.38, 0.74)
ACTIVE: Vector = (0.86, 0.09, 0.09)
"""Colors of a muscle at activation 0 and 1."""
CONTACT_COLOR: Vector = (0.84, 0.15, 0.16)
FORCE_COLOR: Vector = (0.55, 0.24, 0.68)
MOMENT_COLOR: Vector = (0.10, 0.52, 0.46)


class Solid(Immutable, eq=False):
    """A mesh that is fixed in a body.

    Parameters
    ----------
    name
        What it shows, as in `body rod` or `joint hinge`.
    layer
        Its layer.
    body
        Index of the body, or `GROUND`.
    mesh
        The mesh in the body frame, m.
    color
        (r, g, b), 0 to 1.
    """

    name: str
    layer: Layer
    body: int
    mesh: Mesh
    color: Vector


class Bar(Immutable, eq=False):
    """A mesh that reaches from one point to another, each fixed in a body.

    Parameters
    ----------
    name
        What it shows.
    bodies
        Indices of both bodies, or `GROUND`.
    points
        (2, 3) the points in the body frames, m; (2, T, 3) if they move in them.
    mesh
        A mesh along z; its end at z = 0 lies in the first point.
    length
        Length of the mesh, m; it is stretched along z to the distance of the points.
    color
        (r, g, b), 0 to 1.
    muscle
        Index of the muscle whose activation determines the color; -1 for none.
    """

    name: str
    bodies: tuple[int, int]
    points: Floats
    mesh: Mesh
    length: float
    color: Vector
    muscle: int = -1

    def points_at(self, row: int) -> Floats:
        """Return the points (2, 3) at an instant."""
        return self.points if self.points.ndim == 2 else self.points[:, row]


class JointFrame(Immutable, eq=False):
    """Joint frame M of a joint in its child: index of the body, position (3,), m, and rotation (3, 3)."""

    name: str
    body: int
    position: Floats
    rotation: Floats


class Drawing(Immutable, eq=False):
    """The elements of a mechanism.

    Parameters
    ----------
    bodies
        Names of the bodies.
    centres
        (B, 3) centers of mass in the body frames, m.
    solids, bars
        The elements.
    joints
        Joint frames, in the order of the joints of `Motion.reaction`.
    symbol
        Size of symbols, such as the radius of the pin of a joint, m.
    reach
        Size of the mechanism in its motion, m.
    """

    bodies: tuple[str, ...]
    centres: Floats
    solids: tuple[Solid, ...]
    bars: tuple[Bar, ...]
    joints: tuple[JointFrame, ...]
    symbol: float
    reach: float


class Placed(Immutable, eq=False):
    """A mesh at one instant: vertices x of the mesh lie at position + linear x."""

    mesh: Mesh
    position: Floats
    linear: Floats
    color: Vector
    layer: str


ARROW = solids.lathe([(0.0, 0.0), (0.4, 0.0), (0.4, 0.76), (1.0, 0.76), (0.0, 1.0)], 20)
"""An arrow of length 1 along z; its head has the radius 1."""


def placed_at(drawing: Drawing, motion: MotionHistory, row: int) -> list[Placed]:
    """Return all solids, bars and contact forces at one instant of a motion."""
    axes = {body: motion.axes(body)[row] for body in range(GROUND, len(drawing.bodies))}
    origins = {GROUND: np.zeros(3), **dict(enumerate(motion.position[row]))}
    found = [Placed(one.mesh, origins[one.body], axes[one.body], one.color, one.layer) for one in drawing.solids]
    for bar in drawing.bars:
        begin, end = (origins[b] + axes[b] @ point for b, point in zip(bar.bodies, bar.points_at(row), strict=True))
        linear = stretch(begin, end, bar.length)
        found.append(Placed(bar.mesh, begin, linear, bar_color(bar, motion, row), "springs"))
    scale = force_scale(motion, drawing.reach)
    contacts = motion.contacts
    for k in range(contacts.offset[row], contacts.offset[row + 1]):
        force = contacts.force[k] * scale
        length = float(np.linalg.norm(force))
        if length > 0.2 * drawing.symbol:
            force *= min(1.0, LONGEST * drawing.reach / length)
            linear = stretch(contacts.point[k], contacts.point[k] + force, 1.0)
            widths = np.diag([drawing.symbol, drawing.symbol, 1.0])
            found.append(Placed(ARROW, contacts.point[k], linear @ widths, CONTACT_COLOR, "contacts"))
    return found


def stretch(begin: Floats, end: Floats, length: float) -> Floats:
    """Return the matrix (3, 3) that maps `length` along z to the vector from one point to another."""
    along = end - begin
    distance = float(np.linalg.norm(along))
    z = along / distance if distance > 0.0 else np.array([0.0, 0.0, 1.0])
    return np.column_stack([*frame_about(z)[:, :2].T, z * distance / length])


def bar_color(bar: Bar, motion: MotionHistory, row: int) -> Vector:
    """Return the color of a bar at an instant; that of a muscle without recorded activation is its own."""
    if bar.muscle < 0 or np.isnan(motion.activation[row, bar.muscle]):
        return bar.color
    a = float(np.clip(motion.activation[row, bar.muscle], 0.0, 1.0))
    r, g, b = ((1.0 - a) * p + a * q for p, q in zip(RELAXED, ACTIVE, strict=True))
    return r, g, b


LONGEST = 0.45
"""Largest length of a force arrow, relative to the size of the mechanism."""

TYPICAL = 0.22
"""The same for the force that 95 % of the contacts do not exceed."""


def force_scale(motion: MotionHistory, reach: float) -> float:
    """Return the length of contact-force arrows per newton, m/N."""
    norms = np.linalg.norm(motion.contacts.force, axis=1)
    positive = norms[norms > 0.0]
    return TYPICAL * reach / float(np.quantile(positive, 0.95)) if len(positive) else 0.0
