"""Points of moving bodies: position, velocity and acceleration, and displacement along a motion change.

The lever arm r of a point leads from the origin of the body's joint frame to the point, in world axes.  For a point
that is fixed in the body, with angular velocity w and angular acceleration alpha,

    velocity      v + w x r,
    acceleration  a + alpha x r + w x (w x r).
"""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross


@formula
def lever_arm_of(body, point):
    """Lever arm, m, in world axes, of a point given in the joint frame."""
    return load(body.R) @ load(point)


@formula
def position_of(body, r):
    """Position, m, of the point at the lever arm r."""
    return load(body.x) + r


@formula
def velocity_of(body, r):
    """Velocity, m/s, of the point at the lever arm r."""
    return load(body.v) + cross(load(body.w), r)


@formula
def centripetal_acceleration_of(body, r):
    """Centripetal acceleration, m/s^2, of the point at the lever arm r: w x (w x r)."""
    w = load(body.w)
    return cross(w, cross(w, r))


@formula
def displacement_of(body, r):
    """Displacement of the point at the lever arm r, for the motion change of the body: dv + dw x r."""
    return load(body.dv) + cross(load(body.dw), r)
