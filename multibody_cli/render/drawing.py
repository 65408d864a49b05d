"""Elements of a picture of a mechanism: solids fixed in bodies, and bars and coils between points of bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from multibody_cli.immutable import Immutable
from multibody_cli.meshes import solids
from multibody_cli.meshes.mesh import Mesh
from multibody_cli.model import Floats
from multibody_cli.render.motion import AppliedHistory, MotionHistory
from multibody_cli.spec import Vector
from multibody_cli.spec.rotations import frame_about

GROUND = -1
"""Index of the world among the bodies."""

Layer = Literal["bodies", "ground", "joints", "springs", "points"]
"""Elements that a viewer shows or hides together."""

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
        The element that it shows, as in `body rod` or `joint hinge`.
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
        The element that it shows.
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
    """Return all solids, bars and arrows of forces at one instant of a motion."""
    axes = {body: motion.axes(body)[row] for body in range(GROUND, len(drawing.bodies))}
    origins = {GROUND: np.zeros(3), **dict(enumerate(motion.position[row]))}
    free = motion.applied.bodies if motion.applied else None
    found = [
        Placed(one.mesh, origins[one.body], axes[one.body], one.color, _layer_of(one.layer, one.body, free))
        for one in drawing.solids
    ]
    for bar in drawing.bars:
        begin, end = (origins[b] + axes[b] @ point for b, point in zip(bar.bodies, bar.points_at(row), strict=True))
        linear = stretch(begin, end, bar.length)
        found.append(Placed(bar.mesh, begin, linear, bar_color(bar, motion, row), _layer_of("springs", GROUND, free)))
    contacts = motion.contacts
    these, scale = slice(contacts.offset[row], contacts.offset[row + 1]), arrow_scale(contacts.force, drawing.reach)
    points = contacts.point[these]
    for k, end in _ends(drawing, points, scale * contacts.force[these]):
        found.append(_arrow(drawing, points[k], end, CONTACT_COLOR, "contacts"))
    if applied := motion.applied:
        for arrows, color in zip(shown_arrows(drawing, applied, row), (FORCE_COLOR, MOMENT_COLOR), strict=True):
            found += [_arrow(drawing, applied.point[row, k], end, color, "applied") for k, end in arrows]
    return found


def shown_arrows(drawing: Drawing, applied: AppliedHistory, row: int) -> Iterator[list[tuple[int, Floats]]]:
    """Yield the numbers and the ends (3,), m, of forces of a free-body diagram that can be seen, and of moments."""
    for vectors in scaled_arrows(applied, drawing.reach):
        yield [*_ends(drawing, applied.point[row], vectors[row])]


def _layer_of(layer: str, body: int, free: frozenset[int] | None) -> str:
    """Return the layer of an element of a body, where some bodies are cut free of the others."""
    return layer if free is None or layer == "ground" or (layer == "bodies" and body in free) else "ghost"


def _ends(drawing: Drawing, points: Floats, vectors: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield the numbers and the ends of arrows (n, 3) at points (n, 3), m, but those too short to be seen."""
    for k, (point, vector) in enumerate(zip(points, vectors, strict=True)):
        length = float(np.linalg.norm(vector))
        if length > 0.2 * drawing.symbol:
            yield k, point + vector * min(1.0, LONGEST * drawing.reach / length)


def _arrow(drawing: Drawing, point: Floats, end: Floats, color: Vector, layer: str) -> Placed:
    widths = np.diag([drawing.symbol, drawing.symbol, 1.0])
    return Placed(ARROW, point, stretch(point, end, 1.0) @ widths, color, layer)


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
"""The same for the force that 95 % of the contacts, or of the elements of a free-body diagram, do not exceed."""


NEGLIGIBLE = 1e-9
"""Largest force or moment that counts as round-off, relative to the largest force, and to its moment at the reach."""


def arrow_scale(vectors: Floats, reach: float) -> float:
    """Return the length of arrows per newton, m/N, or per newton meter; 0 if all vectors (..., 3) are 0."""
    norms = np.linalg.norm(vectors, axis=-1)
    positive = norms[norms > 1e-9 * norms.max(initial=0.0)]
    return TYPICAL * reach / float(np.quantile(positive, 0.95)) if len(positive) else 0.0


def arrow_scales(applied: AppliedHistory, reach: float) -> tuple[float, float]:
    """Return the scales of the forces and of the moments of a free-body diagram; 0 for those of round-off alone."""
    largest = [float(np.abs(vectors).max(initial=0.0)) for vectors in (applied.force, applied.moment)]
    negligible = NEGLIGIBLE * max(largest[0], largest[1] / reach)
    return (
        arrow_scale(applied.force, reach) if largest[0] > negligible else 0.0,
        arrow_scale(applied.moment, reach) if largest[1] > negligible * reach else 0.0,
    )


def scaled_arrows(applied: AppliedHistory, reach: float) -> tuple[Floats, Floats]:
    """Return the arrows (T, n, 3) of the forces and of the moments of a free-body diagram, m."""
    force, moment = arrow_scales(applied, reach)
    return force * applied.force, moment * applied.moment
