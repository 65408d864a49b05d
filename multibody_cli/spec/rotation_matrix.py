"""Rotation matrix of a unit quaternion, for preprocessing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multibody_cli.spec.rotations import Quaternion


def rotation_matrix(rotation: Quaternion) -> NDArray[np.float64]:
    """Return the matrix (3, 3) of the unit quaternion (w, x, y, z), exact for quarter turns about an axis."""
    w, x, y, z = rotation
    R = np.array(
        [
            [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
    return np.where(np.abs(R) < 1e-15, 0.0, R)
