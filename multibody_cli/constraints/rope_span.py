"""Spans of ropes: the straight line between two discs, or points, of bodies, with its first and second derivatives.

A disc has the centre c, the axis n and the radius r, and the rope goes about it in the sense s, 1 or -1.  The span
from disc A to disc B leaves A at c_A + r_A e_A, and meets B at c_B + r_B e_B, with unit vectors e in the planes of the
discs.
With t = n x e, the vector d from one end to the other, and its direction u,

    d . e_A = 0,    d . e_B = 0,    s u . t > 0.

Each end is therefore where the tangent in the plane of the disc points at the projection of the other end onto this
plane: a rope that leaves the plane is held by the flanks of the groove.  Of two discs about parallel axes the span is
their common tangent.  A point is a disc of radius 0.

The rope to a mark at an angle of A, and from a mark of B, has the length l = |d| + s_A r_A theta_A - s_B r_B theta_B,
with the angles theta of the ends about the axes, in the bodies.  With the velocities V of the bodies at the ends,

    G [dtheta_A/dt, dtheta_B/dt] = -[h_A, h_B],    h = (V_B - V_A) . e + w . (e x d),
    G = [d . t_A, r_B t_B . e_A; -r_A t_A . e_B, d . t_B],    G^T lambda = [r_A (s_A - u . t_A), r_B (u . t_B - s_B)],
    dl/dt = (u - lambda_A e_A - lambda_B e_B) . (V_B - V_A) - lambda_A w_A . (e_A x d) - lambda_B w_B . (e_B x d).

In the plane of a disc lambda is 0: the tension acts on each body along the span.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraints.rows import write_wrench
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.points import lever_arm_of, position_of
from multibody_cli.spatial.products import cross, dot

END = np.dtype(
    [
        ("row", "i8"),  # of the body
        ("centre", "f8", 3),  # in the joint frame
        ("axis", "f8", 3),  # 0 of a point
        ("across", "f8", 3),  # direction from which angles count
        ("radius", "f8"),
        ("sense", "f8"),
        ("slides", "i8"),  # whether the rope slides over the disc
        ("iq", "i8"),  # coordinate that counts the turns of a disc over which it does not slide
        ("turn", "f8"),  # rate of the rotation about the axis per rate of this coordinate
        ("reference", "f8"),  # angle of the end, or wrap angle, from which it differs by less than `FARTHEST`
    ]
)
"""An end of a span."""

STEPS = 30
"""Largest number of steps of Newton's method for the ends of a span; discs with parallel axes take one."""

CONVERGED = 1e-7
"""Step, rad, behind which the next one is round-off."""

FARTHEST = 0.45
"""Distance of an angle from its reference, turns, above which its whole turns are uncertain."""

COINCIDENT = 1e-150
"""Distance below which its square underflows, m."""


class Ends(NamedTuple):
    """Ends of a span, world axes: centres, axes, directions e of both ends, and the vector d between the ends."""

    c_a: Any
    c_b: Any
    n_a: Any
    n_b: Any
    e_a: Any
    e_b: Any
    d: Any


@formula
def direction_of_end(n, d, radius, sense):
    """Direction from the centre to the end of the tangent to a point at d, along which it leaves in this sense.

    It is undefined (NaN) for a point within the circle.
    """
    p = d - dot(n, d) * n
    distance = max(math.sqrt(dot(p, p)), COINCIDENT)
    cosine = radius / distance
    sine = math.sqrt(1.0 - cosine * cosine) if cosine <= 1.0 else math.nan
    return (1.0 / distance) * (cosine * p - (sense * sine) * cross(n, p))


@formula
def turned(e, n, angle):
    """Unit vector, turned about an axis orthogonal to it."""
    return math.cos(angle) * e + math.sin(angle) * cross(n, e)


@kernel
def ends_of(a, b, bodies):
    """Return the ends of a span: Newton's method from those that point at each other's first approximation.

    The vector between them is undefined (NaN) without such ends: of a crossed span, the discs overlap along their axes.
    """
    c_a = position_of(bodies[a.row], lever_arm_of(bodies[a.row], a.centre))
    c_b = position_of(bodies[b.row], lever_arm_of(bodies[b.row], b.centre))
    n_a, n_b = lever_arm_of(bodies[a.row], a.axis), lever_arm_of(bodies[b.row], b.axis)
    e_a = direction_of_end(n_a, c_b - c_a, a.radius, a.sense)
    e_b = direction_of_end(n_b, c_a + a.radius * e_a - c_b, b.radius, -b.sense)
    e_a = direction_of_end(n_a, c_b + b.radius * e_b - c_a, a.radius, a.sense)
    d = c_b + b.radius * e_b - c_a - a.radius * e_a
    step, count = 1.0, 0
    while step > CONVERGED and count < STEPS:
        t_a, t_b = cross(n_a, e_a), cross(n_b, e_b)
        turn_a, turn_b = solve_ends(a, b, e_a, e_b, t_a, t_b, d, dot(d, e_a), dot(d, e_b))
        e_a, e_b = turned(e_a, n_a, -turn_a), turned(e_b, n_b, -turn_b)
        d = c_b + b.radius * e_b - c_a - a.radius * e_a
        step, count = max(abs(turn_a), abs(turn_b)), count + 1
    if step > CONVERGED or not (leaves(a, e_a, n_a, d) and leaves(b, e_b, n_b, d)):
        d = math.nan * d
    return Ends(c_a, c_b, n_a, n_b, e_a, e_b, d)


@formula
def leaves(end, e, n, d):
    """Whether a span leads along the sense of its disc, s u . t > 0, by more than round-off."""
    return end.radius == 0.0 or end.sense * dot(cross(n, e), d) > CONVERGED * math.sqrt(dot(d, d))


@formula
def coupling_of(a, b, e_a, e_b, t_a, t_b, d):
    """The entries of G by rows; 1 on the diagonal of a point."""
    gaa = dot(d, t_a) if a.radius > 0.0 else 1.0
    gbb = dot(d, t_b) if b.radius > 0.0 else 1.0
    return gaa, b.radius * dot(t_b, e_a), -a.radius * dot(t_a, e_b), gbb


@formula
def solve_ends(a, b, e_a, e_b, t_a, t_b, d, x, y):
    """Solve G z = [x, y]."""
    gaa, gab, gba, gbb = coupling_of(a, b, e_a, e_b, t_a, t_b, d)
    determinant = gaa * gbb - gab * gba
    return (gbb * x - gab * y) / determinant, (gaa * y - gba * x) / determinant


@formula
def angle_of(end, e, n, bodies):
    """Angle of the end about the axis of its disc, from a direction that is fixed in the body, -pi to pi."""
    across = lever_arm_of(bodies[end.row], end.across)
    return math.atan2(dot(e, cross(n, across)), dot(e, across))


@formula
def nearest_turn(angle, reference):
    """The angle in whole turns from the given one that is nearest to a reference; NaN if that is half a turn away."""
    turns = (angle - reference) / math.tau
    whole = math.floor(turns + 0.5)
    return angle - math.tau * whole if abs(turns - whole) < FARTHEST else math.nan


@formula
def material_angle(end, angle, q):
    """Angle of an end in a disc that turns with the rope, with the whole turns that its coordinate counts."""
    rotation = end.turn * q[end.iq]
    return nearest_turn(angle + rotation, end.reference) - rotation


@formula
def rates_of_ends(a, b, ends, bodies):
    """Return the velocity of one end relative to the other, fixed in the bodies, and the rates of both angles."""
    c_a, c_b, n_a, n_b, e_a, e_b, d = ends
    body_a, body_b = bodies[a.row], bodies[b.row]
    w_a, w_b = load(body_a.w), load(body_b.w)
    t_a, t_b = cross(n_a, e_a), cross(n_b, e_b)
    r_a, r_b = c_a + a.radius * e_a - load(body_a.x), c_b + b.radius * e_b - load(body_b.x)
    apart = load(body_b.v) + cross(w_b, r_b) - load(body_a.v) - cross(w_a, r_a)
    h_a, h_b = dot(apart, e_a) + dot(w_a, cross(e_a, d)), dot(apart, e_b) + dot(w_b, cross(e_b, d))
    rate_a, rate_b = solve_ends(a, b, e_a, e_b, t_a, t_b, d, -h_a, -h_b)
    return apart, rate_a, rate_b


@formula
def lengthening_rate(a, b, ends, bodies):
    """Rate of the length of the straight part of a span, m/s."""
    apart, rate_a, rate_b = rates_of_ends(a, b, ends, bodies)
    dd = apart + (b.radius * rate_b) * cross(ends.n_b, ends.e_b) - (a.radius * rate_a) * cross(ends.n_a, ends.e_a)
    return dot(ends.d, dd) / max(math.sqrt(dot(ends.d, ends.d)), COINCIDENT)


@formula
def write_span(a, b, ends, sign, bodies, terms, k):
    """Write the terms of the length of a span, times a sign, from term k on; return its bias."""
    c_a, c_b, n_a, n_b, e_a, e_b, d = ends
    body_a, body_b = bodies[a.row], bodies[b.row]
    w_a, w_b = load(body_a.w), load(body_b.w)
    t_a, t_b = cross(n_a, e_a), cross(n_b, e_b)
    r_a, r_b = c_a + a.radius * e_a - load(body_a.x), c_b + b.radius * e_b - load(body_b.x)
    inverse = 1.0 / max(math.sqrt(dot(d, d)), COINCIDENT)
    u = inverse * d
    gaa, gab, gba, gbb = coupling_of(a, b, e_a, e_b, t_a, t_b, d)
    determinant = 1.0 / (gaa * gbb - gab * gba)
    x, y = a.radius * (a.sense - dot(u, t_a)), b.radius * (dot(u, t_b) - b.sense)
    lambda_a, lambda_b = determinant * (gbb * x - gba * y), determinant * (gaa * y - gab * x)
    f = u - lambda_a * e_a - lambda_b * e_b
    moment_a, moment_b = lambda_a * cross(e_a, d), lambda_b * cross(e_b, d)
    if a.row > 0:
        write_wrench(terms[k], a.row, -sign * (cross(r_a, f) + moment_a), -sign * f)
        k += 1
    if b.row > 0:
        write_wrench(terms[k], b.row, sign * (cross(r_b, f) - moment_b), sign * f)
    # rates of the ends, then those of the factors of the velocities
    apart, rate_a, rate_b = rates_of_ends(a, b, ends, bodies)
    de_a, de_b = cross(w_a, e_a) + rate_a * t_a, cross(w_b, e_b) + rate_b * t_b
    dt_a, dt_b = cross(w_a, t_a) - rate_a * e_a, cross(w_b, t_b) - rate_b * e_b
    dd = apart + (b.radius * rate_b) * t_b - (a.radius * rate_a) * t_a
    du = inverse * (dd - dot(u, dd) * u)
    x = -a.radius * (dot(du, t_a) + dot(u, dt_a)) - (dot(dd, t_a) + dot(d, dt_a)) * lambda_a
    x += a.radius * (dot(dt_a, e_b) + dot(t_a, de_b)) * lambda_b
    y = b.radius * (dot(du, t_b) + dot(u, dt_b)) - (dot(dd, t_b) + dot(d, dt_b)) * lambda_b
    y -= b.radius * (dot(dt_b, e_a) + dot(t_b, de_a)) * lambda_a
    dlambda_a, dlambda_b = determinant * (gbb * x - gba * y), determinant * (gaa * y - gab * x)
    df = du - dlambda_a * e_a - lambda_a * de_a - dlambda_b * e_b - lambda_b * de_b
    turn_a = dlambda_a * cross(e_a, d) + lambda_a * (cross(de_a, d) + cross(e_a, dd))
    turn_b = dlambda_b * cross(e_b, d) + lambda_b * (cross(de_b, d) + cross(e_b, dd))
    swing_b = cross(w_b, cross(w_b, r_b) + (b.radius * rate_b) * t_b)
    swing_a = cross(w_a, cross(w_a, r_a) + (a.radius * rate_a) * t_a)
    return sign * (dot(df, apart) + dot(f, swing_b - swing_a) - dot(turn_a, w_a) - dot(turn_b, w_b))
