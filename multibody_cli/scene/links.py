"""Links: bodies with their inboard joints, and joints that close loops, as data to be packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multibody_cli.joints.contract import Part, Start
from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Placement:
    """A frame in another one: position (3,) and rotation matrix (3, 3)."""

    position: Floats
    rotation: Floats

    def inverse(self) -> Placement:
        """The other frame in this one."""
        return Placement(-self.rotation.T @ self.position, self.rotation.T)

    def __matmul__(self, inner: Placement) -> Placement:
        return Placement(self.position + self.rotation @ inner.position, self.rotation @ inner.rotation)


IN_PLACE = Placement(np.zeros(3), np.eye(3))


@dataclass(frozen=True)
class Link:
    """A body with the joint that carries it, ready to be packed.

    Parameters
    ----------
    row, parent
        Rows of the body and of its parent.
    mass
        Mass properties in the body frame.
    parts, start, driven
        The run of parts of the joint, where it starts, and which coordinates have a prescribed motion.
    origin
        Frame F in the parent's body frame.
    child_origin
        Frame M in the body frame.
    sprung
        Whether springs or dampers act on the coordinates of the joint.
    weightless
        Whether gravity leaves it alone.
    """

    row: int
    parent: int
    mass: MassProperties
    parts: Sequence[Part]
    start: Start
    driven: Sequence[bool]
    origin: Placement = IN_PLACE
    child_origin: Placement = IN_PLACE
    sprung: bool = False
    weightless: bool = False


@dataclass(frozen=True)
class LoopJoint:
    """A joint whose child is held already, ready to be packed; the fields are as in `Link`.

    `normal` is that of the plane in which both its bodies move, in the axes of M; none where they move otherwise.
    """

    parent: int
    child: int
    parts: Sequence[Part]
    start: Start
    driven: Sequence[bool]
    origin: Placement = IN_PLACE
    child_origin: Placement = IN_PLACE
    normal: Vector | None = None
