"""Displacement error of bodies, m.

The error of a body is the root mean square displacement of its mass elements from their reference positions,

    e^2 = |dc|^2 + tr(dR P dR^T) / m,

with dc the difference of the centers of mass, dR that of the rotation matrices, m the mass and P the second moments of
the mass about its center, P = tr(J)/2 - J. It does not depend on the body frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats


class Motion(NamedTuple):
    """Motion of B bodies at T instants: (T, B, 3) frame origins, m, and (T, B, 4) quaternions (w, x, y, z)."""

    position: Floats
    quaternion: Floats


def largest_displacement(found: Motion, wanted: Motion, masses: Sequence[MassProperties]) -> float:
    """Return the largest error of any body at any instant, m; the origin represents a body without mass."""
    worst = 0.0
    R, R_wanted = _rotations(found.quaternion), _rotations(wanted.quaternion)
    for k, body in enumerate(masses):
        dR = R[:, k] - R_wanted[:, k]
        dc = found.position[:, k] - wanted.position[:, k] + dR @ body.com
        square = np.einsum("ti,ti->t", dc, dc)
        if body.mass > 0.0:
            P = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
            square += np.einsum("tij,jk,tik->t", dR, P, dR) / body.mass
        worst = max(worst, float(square.max(initial=0.0)))
    return float(np.sqrt(worst))


def _rotations(q: Floats) -> Floats:
    """(..., 4) unit quaternions to (..., 3, 3) rotation matrices."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))
