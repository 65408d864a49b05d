"""Surfaces over which cables wrap: the arc between the lines to the points before and after, and its variation.

With a and b the points before and after, the cable is a straight line from a to a tangent point P, a geodesic of the
surface from P to Q, and a straight line from Q to b.  Its direction is continuous at P and Q, so that the length is
stationary with respect to both: with P and Q fixed in the body of the surface, it changes by u_P . (dP - da) + u_Q .
(db - dQ).

Sphere: P and Q lie in the plane through a, b and the centre.  Cylinder: the geodesic is a helix, a straight line on the
developed surface; seen along the axis, the cable is that over a circle, and its height is proportional to the length of
this projection.  In the plane of a circle of radius R, with the angle D from a to b about its centre,

    |a - P| = sqrt(a^2 - R^2),    arc = R (D - atan(|a - P| / R) - atan(|b - Q| / R)),

and the cable touches the circle while the arc is positive.  Without a side, D is the smaller of the two angles; with a
side e it is the one that does not cross the direction -e.

Variation, relative to the surface: with the tangent t, the normal N and b = N x t, the geodesic moves across by y along
b, y'' + K y = 0 (Jacobi's equation).  The lines stay tangent to it:

    y(P) - |a - P| y'(P) = da . b_P,    y(Q) + |b - Q| y'(Q) = db . b_Q,

which determine y, and the directions of the lines turn by

    du_P = y'(P) b_P - (da . N_P / |a - P|) N_P,    du_Q = y'(Q) b_Q + (db . N_Q / |b - Q|) N_Q.

Source: Scholz, Sherman, Stavness, Delp, Kecskemethy, Multibody System Dynamics 36 (2016), for Jacobi fields.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross, dot, transposed_times
from multibody_cli.spatial.values import Vec3


class SurfaceCode(IntEnum):
    """Kind of a surface."""

    SPHERE = 0
    CYLINDER = 1


_CYLINDER = int(SurfaceCode.CYLINDER)

SURFACE = np.dtype(
    [
        ("kind", "i8"),
        ("centre", "f8", 3),  # in the joint frame
        ("axes", "f8", 9),  # of the surface, in the joint frame
        ("radius", "f8"),
        ("side", "f8", 3),  # in the axes of the surface; 0 for the shortest way
        # at the positions of the last `wrap`, in world axes; levers are relative to the origin of the body
        ("touches", "i8"),
        ("doubtful", "i8"),  # whether the way round has no direction, or a point is within the surface
        ("enter", "f8", 3),  # lever of P
        ("leave", "f8", 3),  # lever of Q
        ("entering", "f8", 3),  # direction of the line to P
        ("leaving", "f8", 3),  # direction of the line from Q
        ("enter_across", "f8", 3),  # N x t
        ("leave_across", "f8", 3),
        ("before", "f8"),  # lengths of the lines and of the arc
        ("after", "f8"),
        ("arc", "f8"),
        ("jacobi", "f8", 4),  # y(Q) and y'(Q) for y = 1, y' = 0 at P, and for y = 0, y' = 1
        # for the last `vary`
        ("enter_turn", "f8", 3),  # changes of the directions
        ("leave_turn", "f8", 3),
        ("enter_slide", "f8", 3),  # displacements of P and Q across the cable, relative to the body
        ("leave_slide", "f8", 3),
    ]
)
"""A surface over which one cable wraps, and the arc of the cable there."""

ON_SURFACE = 1e-9
"""Depth of a point below a surface that counts as on it, relative to the radius."""

AMBIGUOUS = 1e-6
"""Sine of the angle between the directions to both points below which a way round is not defined."""


@formula
def angle_about(n, a, b):
    """Angle from a to b about the unit vector n, rad, between -pi and pi."""
    return math.atan2(dot(n, cross(a, b)), dot(a, b))


@formula
def any_normal(a):
    """A unit vector perpendicular to a."""
    x, y, z = abs(a.x), abs(a.y), abs(a.z)
    other = Vec3(1.0, 0.0, 0.0) if x <= y and x <= z else (Vec3(0.0, 1.0, 0.0) if y <= z else Vec3(0.0, 0.0, 1.0))
    n = cross(a, other)
    return (1.0 / math.sqrt(dot(n, n))) * n


@formula
def plane_of(surface, a, b):
    """Unit normal of the plane in which the cable goes round, and the sine of the angle of a and b in it."""
    n = Vec3(0.0, 0.0, 1.0)
    sine = abs(a.x * b.y - a.y * b.x) / max(math.hypot(a.x, a.y) * math.hypot(b.x, b.y), 1e-300)
    if surface.kind != _CYLINDER:
        n, size = cross(a, b), math.sqrt(dot(a, a) * dot(b, b))
        sine = math.sqrt(dot(n, n)) / max(size, 1e-300)
        if sine < 1e-14:
            n = cross(a, load(surface.side))
            if dot(n, n) < 1e-28 * dot(a, a):
                n = any_normal(a)
        n = (1.0 / math.sqrt(dot(n, n))) * n
    return n, sine


@kernel
def wrap(surface, body, a, b):
    """Compute the arc over a surface of `body` between the points a and b, world axes."""
    C = load(body.R) @ load(surface.axes)
    lever = load(body.R) @ load(surface.centre)
    centre = load(body.x) + lever
    p, q = transposed_times(C, a - centre), transposed_times(C, b - centre)
    surface.touches, surface.doubtful, surface.arc = 0, 0, 0.0
    R, side = surface.radius, load(surface.side)
    n, sine = plane_of(surface, p, q)
    p2, q2 = p - dot(n, p) * n, q - dot(n, q) * n
    p_size, q_size = math.sqrt(dot(p2, p2)), math.sqrt(dot(q2, q2))
    if min(p_size, q_size) < R * (1.0 - ON_SURFACE):
        surface.doubtful = 1
        return
    angle = angle_about(n, p2, q2)
    has_side = dot(side, side) > 0.0
    if has_side:
        angle = angle_about(n, side, q2) - angle_about(n, side, p2)
    elif sine < AMBIGUOUS and dot(p2, q2) < 0.0:
        surface.doubtful = 1
    if angle < 0.0:
        angle, n = -angle, -n
    before, after = math.sqrt(max(p_size - R, 0.0) * (p_size + R)), math.sqrt(max(q_size - R, 0.0) * (q_size + R))
    arc = R * (angle - math.atan2(before, R) - math.atan2(after, R))
    if arc <= 0.0:
        return
    surface.touches = 1
    enter = (R / (p_size * p_size)) * (R * p2 + before * cross(n, p2))
    leave = (R / (q_size * q_size)) * (R * q2 - after * cross(n, q2))
    enter_normal, leave_normal = (1.0 / R) * enter, (1.0 / R) * leave
    flat, rise = before + arc + after, dot(Vec3(0.0, 0.0, 1.0), q - p) if surface.kind == _CYLINDER else 0.0
    slant = math.sqrt(flat * flat + rise * rise)
    along, up, stretch = flat / slant, Vec3(0.0, 0.0, rise / slant), slant / flat
    entering, leaving = along * cross(n, enter_normal) + up, along * cross(n, leave_normal) + up
    if surface.kind == _CYLINDER:
        enter = enter + Vec3(0.0, 0.0, p.z + rise * (before / flat))
        leave = leave + Vec3(0.0, 0.0, q.z - rise * (after / flat))
    surface.before, surface.after, surface.arc = stretch * before, stretch * after, stretch * arc
    write_jacobi_field(surface)
    store(surface.enter, lever + C @ enter)
    store(surface.leave, lever + C @ leave)
    store(surface.entering, C @ entering)
    store(surface.leaving, C @ leaving)
    store(surface.enter_across, C @ cross(enter_normal, entering))
    store(surface.leave_across, C @ cross(leave_normal, leaving))


@formula
def write_jacobi_field(surface):
    """Write the solutions of Jacobi's equation at the end of an arc on a surface of constant curvature."""
    jacobi, arc, R = surface.jacobi, surface.arc, surface.radius
    if surface.kind == _CYLINDER:
        jacobi[0], jacobi[1], jacobi[2], jacobi[3] = 1.0, 0.0, arc, 1.0
    else:
        c, s = math.cos(arc / R), math.sin(arc / R)
        jacobi[0], jacobi[1], jacobi[2], jacobi[3] = c, -s / R, R * s, c


@kernel
def vary(surface, dw, p, q):
    """Compute the changes of the arc for a rotation dw of the body, and displacements p and q of a and b in it."""
    t, s = load(surface.entering), load(surface.leaving)
    across, other_across = load(surface.enter_across), load(surface.leave_across)
    normal, other_normal = cross(t, across), cross(s, other_across)
    before, after, jacobi = surface.before, surface.after, surface.jacobi
    by_shift, by_turn = jacobi[0] + after * jacobi[1], jacobi[2] + after * jacobi[3]
    turn = (dot(other_across, q) - by_shift * dot(across, p)) / (by_turn + before * by_shift)
    shift = dot(across, p) + before * turn
    other_shift, other_turn = jacobi[0] * shift + jacobi[2] * turn, jacobi[1] * shift + jacobi[3] * turn
    lift = -dot(normal, p) / before if before > 0.0 else 0.0
    other_lift = dot(other_normal, q) / after if after > 0.0 else 0.0
    store(surface.enter_turn, turn * across + lift * normal + cross(dw, t))
    store(surface.leave_turn, other_turn * other_across + other_lift * other_normal + cross(dw, s))
    store(surface.enter_slide, shift * across)
    store(surface.leave_slide, other_shift * other_across)
