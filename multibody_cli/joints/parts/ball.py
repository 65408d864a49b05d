"""Ball part: a rotation stored as a unit quaternion, without singularity.

X = (R(q), 0), v is the angular velocity in the outer frame, S = [1; 0], c = 0.  Numbers q (4,), v (3,).
"""

from __future__ import annotations

from multibody_cli.joints.parts.crossing import Crossing, write_column
from multibody_cli.kernel import formula
from multibody_cli.spatial.products import ZERO
from multibody_cli.spatial.rotations import rotation_of_quaternion
from multibody_cli.spatial.values import Motion, Vec3


@formula
def turn(P, iq, iv, q, v):
    """Return outer orientation and relative angular velocity; S is the outer orientation itself."""
    R = P @ rotation_of_quaternion(q[iq], q[iq + 1], q[iq + 2], q[iq + 3])
    return R, R @ Vec3(v[iv], v[iv + 1], v[iv + 2])


@formula
def across(P, iq, iv, q, v, columns):
    """Cross a ball from the orientation P of its inner frame; write its three columns of S."""
    R, spin = turn(P, iq, iv, q, v)
    write_column(columns[iv], R.x, ZERO)
    write_column(columns[iv + 1], R.y, ZERO)
    write_column(columns[iv + 2], R.z, ZERO)
    return Crossing(R, ZERO, Motion(spin, ZERO), Motion(ZERO, ZERO))
