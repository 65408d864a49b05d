"""Entries of a scene that refer to bodies, points and coordinates, and the model into which they are packed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from multibody_cli.spec.geometry import Pose, Position, Vector
from multibody_cli.spec.points import Attachment
from multibody_cli.spec.quantities import Spec
from multibody_cli.spec.signal import SignalSpec
from multibody_cli.symbolic.tables import Piecewise

Vector3 = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix3 = np.ndarray[tuple[int, int], np.dtype[np.float64]]
NodePath = tuple[str | int, ...]
"""Path of a name in an entry of the scene: `("between", 0, "body")`."""


class EntrySpec(Spec):
    """An entry that names bodies, points of bodies or coordinates of joints, each with its path in the entry."""

    @property
    def points(self) -> Sequence[tuple[NodePath, Attachment]]:
        """Points of bodies, and surfaces, from end to end; the former use only the position, not the orientation."""
        return ()

    @property
    def bodies(self) -> Sequence[tuple[NodePath, str]]:
        """Bodies: those of the points, unless it names others."""
        return [((*place, "body"), end.body) for place, end in self.points]

    @property
    def coordinates(self) -> Sequence[tuple[NodePath, str]]:
        """Coordinates of joints: `hinge`, or `wrist/1`."""
        return ()

    @property
    def turning(self) -> Sequence[tuple[NodePath, str, Vector]]:
        """Bodies whose turns about an axis, in the body frame, it counts by a coordinate, each with its place."""
        return ()


class ForceSpec(Spec):
    """The base of every entry of `forces:`."""

    @property
    def coordinates(self) -> Sequence[tuple[NodePath, str]]:
        """Coordinates of joints, `joint` or `joint/k`, each with its place in the entry."""
        return []


class BodyForceSpec(ForceSpec):
    """The base of every force on a body."""

    body: str

    @property
    def points(self) -> list[tuple[NodePath, Position]]:
        """Points of the body, in the body frame, m, each with its place in the entry."""
        return []

    @property
    def turning(self) -> list[NodePath]:
        """Fields that need a body with an orientation."""
        return []


class BetweenSpec(EntrySpec):
    """An entry of the scene that acts between bodies."""


def placed(field: str, points: Sequence[Attachment]) -> list[tuple[NodePath, Attachment]]:
    """Points of one field, each with its place; that of a surface is the place of its fields."""
    return [((field, k, *(("wrap",) if hasattr(point, "wrap") else ())), point) for k, point in enumerate(points)]


def split_coordinate(word: str) -> tuple[str, str]:
    """Split the name of a coordinate, `wrist/1`, into its joint and its index; the index of `hinge` is empty."""
    joint, _, index = word.rpartition("/")
    return (joint, index) if index.isdecimal() and joint else (word, "")


class PackingContext(Protocol):
    """The model into which forces and constraints are packed.

    A body is identified by its row, 0 for the world.  Kernels know a body by its joint frame; scenes give points and
    directions in its body frame.
    """

    def row(self, body: str) -> int:
        """Row of a body; 0 for the world."""

    def point(self, body: str, point: Vector) -> Vector3:
        """Return a point of the body frame in the body's joint frame, m; of the world: unchanged."""

    def attachment(self, body: str, point: Vector) -> tuple[int, Vector3]:
        """Row that moves with a point of a body, and the point there: the body, or a marker of an affine body."""

    def direction(self, body: str, direction: Vector) -> Vector3:
        """Return a direction of the body frame in the body's joint frame; of the world: unchanged."""

    def com(self, body: str) -> Vector3:
        """Centre of mass in the joint frame, m."""

    def axes(self, body: str) -> Matrix3:
        """Rotation of the body frame in the joint frame."""

    def frame(self, body: str, pose: Pose) -> tuple[int, Vector3, Matrix3]:
        """Row of a body, and a frame that is fixed in it: origin and rotation in the joint frame."""

    def cable(self, points: Sequence[Attachment]) -> tuple[int, int]:
        """Add the points of a cable to `Forces.points`; the range that they take."""

    def spans(self, spans: Sequence[tuple[Any, ...]]) -> tuple[int, int]:
        """Add the spans of an elastic rope to `Forces.spans`; the range that they take."""

    def coordinate(self, name: str) -> tuple[int, int]:
        """Indices of a coordinate in q and in v, by its name as in `split_coordinate`."""

    def joint_of(self, coordinate: str) -> tuple[int, int, int, int, int]:
        """Joint of a coordinate: its first column in v and the end, and the rows of its frame, parent and child."""

    def turning(self, body: str, axis: Vector) -> tuple[int, int, float]:
        """Indices in q and v of the coordinate that turns a body about an axis of its frame, and its sign about it."""

    def signal(self, spec: SignalSpec) -> int:
        """Number of a function of time and state."""

    def curve(self, curve: Piecewise) -> int:
        """Number of a curve of a muscle, in normalized numbers."""

    def state(self) -> int:
        """Number of a new state of a force element."""

    def activation(self, spec: Any) -> int:
        """Number of the activation of a muscle, from its `MuscleSpec`."""
