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

A centre that moves in its body (`cables.moving`) has a velocity beside that of the body: V includes it, and the force
on the end has a generalized force on the coordinate.

In the plane of a disc lambda is 0: the tension acts on each body along the span.

Of an elastic rope, the tension T of the straight part and the force N that feeds material differ: the forces of
T d|d| + N (s_A r_A dtheta_A - s_B r_B dtheta_B) have G^T lambda = [r_A (N s_A - T u . t_A), r_B (T u . t_B - N s_B)],
and T u in place of u.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.cables.lines import drift_of
from multibody_cli.cables.variation import drift_change_of
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.points import lever_arm_of, position_of
from multibody_cli.spatial.products import ZERO, cross, dot

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
        ("iv", "i8"),
        ("turn", "f8"),  # rate of the rotation about the axis per rate of this coordinate
        ("state", "i8"),  # of the angle at which it leaves the disc, less the reference; the next one is of its arrival
        ("reference", "f8"),  # angle of the end about the carrier of the disc, or wrap angle, at the start
        ("angle", "f8"),  # of the end in the disc, at the last evaluation of an elastic rope
        ("entry", "i8"),  # of the point in `CablePoints` that the centre is, if it moves in its body; else -1
    ]
)
"""An end of a span."""

STEPS = 30
"""Largest number of steps of Newton's method for the ends of a span; discs with parallel axes take one."""

CONVERGED = 1e-7
"""Step, rad, behind which the next one is round-off."""

FARTHEST = 0.45
"""Distance of an angle from that of its state, turns, above which its whole turns are uncertain."""

COINCIDENT = 1e-150
"""Distance below which its square underflows, m."""


@formula
def move_end(end, points):
    """Write the centre of an end that moves in its body, after `moving.place_points`."""
    if end.entry >= 0:
        store(end.centre, load(points.entries[end.entry].point))


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
    sine = math.sqrt(1.0 - cosine * cosine) if abs(cosine) <= 1.0 else math.nan
    return (1.0 / distance) * (cosine * p - (sense * sine) * cross(n, p))


@formula
def turned(e, n, angle):
    """Unit vector, turned about an axis orthogonal to it."""
    return math.cos(angle) * e + math.sin(angle) * cross(n, e)


@kernel
def ends_of(a, b, bodies):
    """Return the ends of a span: Newton's method from those of discs in one plane, which are then exact.

    The vector between them is undefined (NaN) without such ends: of a crossed span, the discs overlap along their axes.
    """
    c_a = position_of(bodies[a.row], lever_arm_of(bodies[a.row], a.centre))
    c_b = position_of(bodies[b.row], lever_arm_of(bodies[b.row], b.centre))
    n_a, n_b = lever_arm_of(bodies[a.row], a.axis), lever_arm_of(bodies[b.row], b.axis)
    beside = a.radius - max(a.sense * b.sense * dot(n_a, n_b), 0.0) * b.radius  # exact in one plane
    e_a = direction_of_end(n_a, c_b - c_a, beside, a.sense)
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
def counted(states, k, zero, angle, rate):
    """The angle with the whole turns that are nearest to those of state k, and the rate of the state.

    The state is the angle from `zero`.  Where it is not integrated by its rate, it takes the angle, and keeps no more
    than the whole turns of the value before: the number of evaluations changes no bit.
    """
    state = states[k]
    found = nearest_turn(angle, zero + state.value)
    state.rate = rate if math.isfinite(rate) else 0.0
    if state.step + state.pending > 0.0 and math.isfinite(found):
        state.value = found - zero
        if state.pending > 0.0:
            state.start = state.value
    return found


@formula
def turn_of(end, q):
    """Angle by which the coordinate that turns the disc of an end has turned it; 0 without such a coordinate."""
    return end.turn * q[end.iq] if end.iq >= 0 else 0.0


@formula
def spin_of(end, v):
    """Rate of `turn_of`."""
    return end.turn * v[end.iv] if end.iv >= 0 else 0.0


@formula
def leaving_angle(end, states, angle, rate, q, v):
    """Angle in a disc that turns with the rope at which the rope leaves it."""
    return counted(states, end.state, end.reference - turn_of(end, q), angle, rate + spin_of(end, v))


@formula
def arrival_angle(end, states, angle, rate, q, v):
    """Angle in a disc that turns with the rope at which the rope arrives at it."""
    return counted(states, end.state + 1, end.reference - turn_of(end, q), angle, rate + spin_of(end, v))


@formula
def arrive(end, states, rate):
    """Store the part of the arriving span in the rate of the angle by which the rope wraps a disc and slides."""
    states[end.state].rate = -end.sense * rate


@formula
def wrap_angle(end, states, angle, rate):
    """Angle by which the rope wraps a disc over which it slides, from the angle between both ends, after `arrive`.

    It is undefined (NaN) for a rope that has left the disc.
    """
    rate = end.sense * rate + states[end.state].rate
    return on_disc(counted(states, end.state, end.reference, end.sense * angle, rate))


@formula
def on_disc(wrap):
    """The angle by which a rope wraps a disc; NaN if it has left the disc by `FARTHEST`."""
    return wrap if wrap > -FARTHEST * math.tau else math.nan


class SpanMotion(NamedTuple):
    """Changes along twists of the bodies of a span.

    Of the vector between ends that are fixed in the bodies, of the angles of its ends in the bodies, of the vectors e,
    t and d, and of the levers of its ends.
    """

    apart: Any
    rate_a: Any
    rate_b: Any
    de_a: Any
    de_b: Any
    dt_a: Any
    dt_b: Any
    dd: Any
    dr_a: Any
    dr_b: Any


@formula
def levers_of(a, b, ends, bodies):
    """Levers of both ends about the origins of the joint frames."""
    r_a = ends.c_a + a.radius * ends.e_a - load(bodies[a.row].x)
    return r_a, ends.c_b + b.radius * ends.e_b - load(bodies[b.row].x)


class EndMotion(NamedTuple):
    """Twist or motion change of the body of an end, world axes.

    v includes `drift`, that of the centre relative to the body, and `bend` is the change of the velocity of the latter
    for constant rates.
    """

    w: Any
    v: Any
    drift: Any
    bend: Any


@formula
def motion_of_end(end, points, bodies, in_time):
    """Twist of the body of an end, or its motion change."""
    body, drift, bend = bodies[end.row], ZERO, ZERO
    w = load(body.w) if in_time else load(body.dw)
    if end.entry >= 0:
        drift = drift_of(points, end.entry, bodies, in_time)
        bend = drift_change_of(points, end.entry, w, bodies, in_time)
    return EndMotion(w, (load(body.v) if in_time else load(body.dv)) + drift, drift, bend)


@formula
def motions_of(span, points, bodies, in_time):
    """Twists of the bodies of both ends of a span, or their motion changes."""
    return motion_of_end(span.a, points, bodies, in_time), motion_of_end(span.b, points, bodies, in_time)


@formula
def span_motion(a, b, ends, bodies, motions):
    """Changes of a span along the motions of its ends."""
    e_a, e_b, d = ends.e_a, ends.e_b, ends.d
    of_a, of_b = motions
    w_a, v_a, w_b, v_b = of_a.w, of_a.v, of_b.w, of_b.v
    t_a, t_b = cross(ends.n_a, e_a), cross(ends.n_b, e_b)
    r_a, r_b = levers_of(a, b, ends, bodies)
    apart = v_b + cross(w_b, r_b) - v_a - cross(w_a, r_a)
    h_a, h_b = dot(apart, e_a) + dot(w_a, cross(e_a, d)), dot(apart, e_b) + dot(w_b, cross(e_b, d))
    rate_a, rate_b = solve_ends(a, b, e_a, e_b, t_a, t_b, d, -h_a, -h_b)
    return SpanMotion(
        apart,
        rate_a,
        rate_b,
        cross(w_a, e_a) + rate_a * t_a,
        cross(w_b, e_b) + rate_b * t_b,
        cross(w_a, t_a) - rate_a * e_a,
        cross(w_b, t_b) - rate_b * e_b,
        apart + (b.radius * rate_b) * t_b - (a.radius * rate_a) * t_a,
        cross(w_a, r_a) + of_a.drift + (a.radius * rate_a) * t_a,
        cross(w_b, r_b) + of_b.drift + (b.radius * rate_b) * t_b,
    )


@formula
def lengthening_rate(span, points, ends, bodies):
    """Rate of the length of the straight part of a span, m/s."""
    motion = span_motion(span.a, span.b, ends, bodies, motions_of(span, points, bodies, True))
    return dot(ends.d, motion.dd) / max(math.sqrt(dot(ends.d, ends.d)), COINCIDENT)


class Pull(NamedTuple):
    """Forces of a span: f on body A and -f on body B, with moments beside those of the levers, and multipliers."""

    f: Any
    moment_a: Any
    moment_b: Any
    lambda_a: Any
    lambda_b: Any


@formula
def pull_of(a, b, ends, pull, feed_a, feed_b):
    """Forces of a span with the tension `pull`, whose material both ends feed against the forces `feed`."""
    e_a, e_b, d = ends.e_a, ends.e_b, ends.d
    t_a, t_b = cross(ends.n_a, e_a), cross(ends.n_b, e_b)
    u = (1.0 / max(math.sqrt(dot(d, d)), COINCIDENT)) * d
    gaa, gab, gba, gbb = coupling_of(a, b, e_a, e_b, t_a, t_b, d)
    determinant = 1.0 / (gaa * gbb - gab * gba)
    x, y = a.radius * (feed_a * a.sense - pull * dot(u, t_a)), b.radius * (pull * dot(u, t_b) - feed_b * b.sense)
    lambda_a, lambda_b = determinant * (gbb * x - gba * y), determinant * (gaa * y - gab * x)
    f = pull * u - lambda_a * e_a - lambda_b * e_b
    return Pull(f, lambda_a * cross(e_a, d), lambda_b * cross(e_b, d), lambda_a, lambda_b)


@formula
def pull_change(a, b, ends, forces, motion, pull, changes):
    """Changes of the forces of a span, without the multipliers, for the `changes` of the tension and both feeds."""
    e_a, e_b, d, dd = ends.e_a, ends.e_b, ends.d, motion.dd
    t_a, t_b = cross(ends.n_a, e_a), cross(ends.n_b, e_b)
    lambda_a, lambda_b = forces.lambda_a, forces.lambda_b
    de_a, de_b, dt_a, dt_b = motion.de_a, motion.de_b, motion.dt_a, motion.dt_b
    dpull, dfeed_a, dfeed_b = changes
    inverse = 1.0 / max(math.sqrt(dot(d, d)), COINCIDENT)
    u = inverse * d
    du = inverse * (dd - dot(u, dd) * u)
    gaa, gab, gba, gbb = coupling_of(a, b, e_a, e_b, t_a, t_b, d)
    determinant = 1.0 / (gaa * gbb - gab * gba)
    x = a.radius * (dfeed_a * a.sense - dpull * dot(u, t_a) - pull * (dot(du, t_a) + dot(u, dt_a)))
    x -= (dot(dd, t_a) + dot(d, dt_a)) * lambda_a
    x += a.radius * (dot(dt_a, e_b) + dot(t_a, de_b)) * lambda_b
    y = b.radius * (dpull * dot(u, t_b) - dfeed_b * b.sense + pull * (dot(du, t_b) + dot(u, dt_b)))
    y -= (dot(dd, t_b) + dot(d, dt_b)) * lambda_b
    y -= b.radius * (dot(dt_b, e_a) + dot(t_b, de_a)) * lambda_a
    dlambda_a, dlambda_b = determinant * (gbb * x - gba * y), determinant * (gaa * y - gab * x)
    df = dpull * u + pull * du - dlambda_a * e_a - lambda_a * de_a - dlambda_b * e_b - lambda_b * de_b
    turn_a = dlambda_a * cross(e_a, d) + lambda_a * (cross(de_a, d) + cross(e_a, dd))
    turn_b = dlambda_b * cross(e_b, d) + lambda_b * (cross(de_b, d) + cross(e_b, dd))
    return df, turn_a, turn_b


@formula
def rate_change_of(a, b, ends, pull, motion, velocities, changes, bodies):
    """Change of the power of the forces of a span at constant velocities, along the `changes` with this `motion`."""
    of_a, of_b = velocities
    along_a, along_b = changes
    r_a, r_b = levers_of(a, b, ends, bodies)
    df, turn_a, turn_b = pull_change(a, b, ends, pull, motion, 1.0, (0.0, 0.0, 0.0))
    apart = of_b.v + cross(of_b.w, r_b) - of_a.v - cross(of_a.w, r_a)
    swing = cross(of_b.w, motion.dr_b) + along_b.bend - cross(of_a.w, motion.dr_a) - along_a.bend
    return dot(df, apart) + dot(pull.f, swing) - dot(turn_a, of_a.w) - dot(turn_b, of_b.w)
