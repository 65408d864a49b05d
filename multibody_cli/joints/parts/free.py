"""Free part: six degrees of freedom, with position and unit quaternion.

q (7,) is the position p of the outer origin in the inner frame, then the quaternion of the rotation R; v (6,) is
[dp/dt; angular velocity], both in the axes of the inner frame.  In the axes of the inner frame S = [[0, 1], [1, 0]] is
constant; in the outer frame S = [[0, R^T], [R^T, 0]], so that the bias, whose components are those of the outer frame,
is c = [0; -w x dp/dt] there.
"""

from __future__ import annotations

from multibody_cli.joints.parts.crossing import Crossing, write_column
from multibody_cli.kernel import formula
from multibody_cli.spatial.products import ZERO, cross
from multibody_cli.spatial.rotations import rotation_of_quaternion
from multibody_cli.spatial.values import Motion, Vec3


@formula
def across(P, iq, iv, q, v, columns):
    """Cross a free part from the orientation P of its inner frame; write its six columns of S."""
    write_column(columns[iv], ZERO, P.x)
    write_column(columns[iv + 1], ZERO, P.y)
    write_column(columns[iv + 2], ZERO, P.z)
    write_column(columns[iv + 3], P.x, ZERO)
    write_column(columns[iv + 4], P.y, ZERO)
    write_column(columns[iv + 5], P.z, ZERO)
    spin = P @ Vec3(v[iv + 3], v[iv + 4], v[iv + 5])
    slip = P @ Vec3(v[iv], v[iv + 1], v[iv + 2])
    return Crossing(
        P @ rotation_of_quaternion(q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6]),
        P @ Vec3(q[iq], q[iq + 1], q[iq + 2]),
        Motion(spin, slip),
        Motion(ZERO, -cross(spin, slip)),
    )
