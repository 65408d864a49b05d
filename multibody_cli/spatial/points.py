"""Points of moving bodies: velocity, and displacement along a motion change.

The lever r leads from the origin of the body's joint frame to the point, in world axes.
"""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross


@formula
def velocity_of(body, r):
    """Velocity of the point at the lever r: v + w x r."""
    return load(body.v) + cross(load(body.w), r)


@formula
def displacement_of(body, r):
    """Displacement of the point at the lever r, for the motion change of the body: dv + dw x r."""
    return load(body.dv) + cross(load(body.dw), r)
