"""Points of moving bodies: where they are, how they move, and how a force at one of them becomes a term of a row.

The arm r of a point leads from the origin of the body's joint frame to the point, in world axes.  For a point that is
fixed in the body, with w the angular velocity and alpha the angular acceleration,

    velocity      v + w x r,
    acceleration  a + alpha x r + w x (w x r).

The ground takes no term: it does not move.
"""

from __future__ import annotations

from multibody_cli.constraints.rows import write_wrench
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross


@formula
def arm_of(body, point):
    """Arm of a point that is given in the joint frame."""
    return load(body.R) @ load(point)


@formula
def place_of(body, r):
    """Position of the point at the arm r."""
    return load(body.x) + r


@formula
def velocity_of(body, r):
    """Velocity of the point of the body at the arm r."""
    return load(body.v) + cross(load(body.w), r)


@formula
def centripetal_of(body, r):
    """What a turning body adds to the acceleration of its point at the arm r: w x (w x r)."""
    w = load(body.w)
    return cross(w, cross(w, r))


@formula
def write_pull(terms, k, row, r, f):
    """Let term k be the force f at the arm r of the body in a row, and give the number of the next term."""
    if row > 0:
        write_wrench(terms[k], row, cross(r, f), f)
        k += 1
    return k
