"""Links: bodies with their inboard joints, and loop joints, as data to be packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multibody_cli.joints.contract import JointStart, Part
from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Placement:
    """A frame relative to another one: position (3,), m, and rotation matrix (3, 3)."""

    position: Floats
    rotation: Floats

    def inverse(self) -> Placement:
        """Return the reference frame relative to this frame."""
        return Placement(-self.rotation.T @ self.position, self.rotation.T)

    def __matmul__(self, inner: Placement) -> Placement:
        return Placement(self.position + self.rotation @ inner.position, self.rotation @ inner.rotation)


IN_PLACE = Placement(np.zeros(3), np.eye(3))


@dataclass(frozen=True)
class LinkData:
    """A body with its inboard joint, ready to be packed.

    Parameters
    ----------
    row, parent
        Rows of the body and of its parent.
    mass
        Mass properties in the body frame.
    parts, start, driven
        The parts of the joint, its initial state, and the flags of coordinates with prescribed motion.
    origin
        Frame F in the parent's body frame.
    child_origin
        Frame M in the body frame.
    has_spring_or_damper
        Whether springs or dampers act on the coordinates of the joint.
    ignores_gravity
        Whether gravity does not act on the body.
    normal
        Normal, in world axes, of the plane in which the joint carries a planar body; None for other bodies.
    """

    row: int
    parent: int
    mass: MassProperties
    parts: Sequence[Part]
    start: JointStart
    driven: Sequence[bool]
    origin: Placement = IN_PLACE
    child_origin: Placement = IN_PLACE
    has_spring_or_damper: bool = False
    ignores_gravity: bool = False
    normal: Vector | None = None


@dataclass(frozen=True)
class LoopJoint:
    """A loop joint, ready to be packed; the fields are as in `LinkData`.

    `normal` is that of the common plane of motion of both bodies, in the axes of M; None without one.
    """

    parent: int
    child: int
    parts: Sequence[Part]
    start: JointStart
    driven: Sequence[bool]
    origin: Placement = IN_PLACE
    child_origin: Placement = IN_PLACE
    normal: Vector | None = None
