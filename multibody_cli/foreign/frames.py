"""Poses of frames: as the source writes them, composed and inverted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from multibody_cli.foreign.rounding import rotation as short_rotation
from multibody_cli.foreign.rounding import vector
from multibody_cli.immutable import Immutable
from multibody_cli.mass import Floats
from multibody_cli.spec.rotations import quaternion_of_matrix, rotation_matrix

ROUND_OFF = 1e-15
"""Components of a composed position below this fraction of its terms are round-off, and 0."""


class FramePose(Immutable, eq=False):
    """The pose of a frame in another one: x_outside = position + rotation x_inside.

    Parameters
    ----------
    position
        (3,) position of its origin, m.
    rotation
        (3, 3) rotation matrix.
    written
        The rotation in a form of the scene format, if the source writes it; empty if it is derived.
    """

    position: Floats
    rotation: Floats
    written: Mapping[str, Any] = {}

    @staticmethod
    def of_euler(position: Sequence[float] | Floats, angles: Sequence[float]) -> FramePose:
        """Return the pose with Euler angles about the fixed axes x, y, z in this order, rad: `rpy` of URDF and SDF."""
        r, p, y = angles
        (cr, cp, cy), (sr, sp, sy) = np.cos((r, p, y)), np.sin((r, p, y))
        rotation = np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )
        return FramePose(np.array(position, dtype=float), rotation, {"euler": list(angles), "order": "xyz"})

    @staticmethod
    def of_quaternion(position: Sequence[float] | Floats, quaternion: Sequence[float]) -> FramePose:
        """Return the pose with a quaternion (w, x, y, z) of any length."""
        unit = np.array(quaternion, dtype=float) / np.linalg.norm(quaternion)
        return FramePose(np.array(position, dtype=float), rotation_matrix(unit), {"quaternion": unit.tolist()})

    @cached_property
    def turns(self) -> bool:
        """Whether the rotation is not the identity, but for round-off."""
        return bool((np.abs(self.rotation - np.eye(3)) > ROUND_OFF).any())

    def at(self, inner: FramePose) -> FramePose:
        """Return the pose, outside, of a frame with the pose `inner` in this frame."""
        if not self.turns and not self.position.any():
            return inner
        if not inner.turns and not inner.position.any():
            return self
        shift = self.rotation @ inner.position
        position = self.position + shift
        position[np.abs(position) <= ROUND_OFF * (np.abs(self.position) + np.abs(inner.position).max())] = 0.0
        if not self.turns or not inner.turns:
            return FramePose(
                position, *((self.rotation, self.written) if self.turns else (inner.rotation, inner.written))
            )
        return FramePose(position, self.rotation @ inner.rotation)

    @property
    def inverse(self) -> FramePose:
        """The pose of the outer frame in this one."""
        return FramePose(0.0 - self.rotation.T @ self.position, self.rotation.T if self.turns else self.rotation)

    def data(self) -> dict[str, Any]:
        """Return the pose as `position` and `rotation` of the scene format, without those that are zero."""
        found: dict[str, Any] = {}
        if self.position.any():
            found["position"] = vector(self.position.tolist())
        if self.turns:
            found["rotation"] = dict(self.rotation_data)
        return found

    @cached_property
    def rotation_data(self) -> dict[str, Any]:
        """The rotation in a form of the scene format."""
        return short_rotation(self.written or {"quaternion": quaternion_of_matrix(self.rotation.tolist())})


IDENTITY = FramePose(np.zeros(3), np.eye(3))
"""The pose of a frame that coincides with the outer one."""


def turned_to(axis: Floats) -> FramePose:
    """Return a frame whose z axis is a unit vector (3,), by the smallest rotation."""
    x, y, z = axis
    if z <= -1.0 + 1e-12:
        return FramePose.of_quaternion(np.zeros(3), (0.0, 1.0, 0.0, 0.0))
    return FramePose.of_quaternion(np.zeros(3), (1.0 + z, -y, x, 0.0))
