"""When and where two geoms meet in a step: conservative advancement along the paths of their bodies.

Without contacts, a body with the velocities v, w and the velocity-product accelerations a, alpha moves within a step by

    x(t) = x + t v + t^2 a/2,    R(t) = exp(t w + t^2 alpha/2) R .

Let n be the direction of the distance d at t, turning with A from then on, and s(t') the separation of the geoms along
n at t' = t + T, from their support points; it is at most their distance.  Points of B have accelerations of at most k
in a frame that moves with A.  The separation of any two points is at least d along n at t, and at least s(t') at t', so
that it is positive in between if

    s(t') >= 0    and    k T^2 <= 2 d .

An advance goes to the largest such t', or to the root of s before it.  For bodies that do not turn, or turn
together, k = 0, and the advances are those of Newton's method for the root of a convex function.  A is the geom with
the smaller k, and changes after an advance to a root that is near.  Where both converge slowly, as between edges that
turn, an overlap at a later time brackets the time of contact.

A pair that moves by no more than the contact margin in a step, or that touches at its start, has the contacts of the
start.  The contacts of any other pair are those of the time at which it meets.  If it does not meet, those contacts of
the start remain that the velocities do not close in a step: they hold bodies that impulses of the step move.

Source: Mirtich, Impulse-based dynamic simulation of rigid body systems, thesis, Berkeley 1996, 2.3, with support points
in place of a bound of their velocities.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.shapes.solid import ANY, support, write_solid
from multibody_cli.contacts.shapes.switch import contact_points, shape_of
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import UNIT, ZERO, cross, dot, transposed_times
from multibody_cli.spatial.rotations import quaternion_of_vector, rotation_of_quaternion

PLANE, SPHERE, CAPSULE, CYLINDER = map(int, (GeomKind.PLANE, GeomKind.SPHERE, GeomKind.CAPSULE, GeomKind.CYLINDER))

TOUCH = 1e-4
"""Distance of geoms that touch, relative to the motion from which on paths are followed."""

ROUND_OFF = 1e-7
"""The same, relative to the size of the geoms, of whose nearest points the direction is exact."""

ADVANCES = 64
"""Number of advances after which the remaining ones are at least the step over this number."""

BISECTIONS = 40

PATIENCE = 8
"""Number of advances after which an overlap at a later time ends them."""

BRACKET = 0.01
"""The latest such time, relative to the step: the largest error of the time if the geoms meet twice until then."""

PROGRESS = 0.5
"""Share of the largest advance below which the direction turns with the other geom in the next one."""

BENT = 1.5
"""Ratio of the bound of an acceleration in a step to the larger of its values at both ends."""

SUSTAINED = 0.03
"""Distance at the start of a step, relative to the same motion, up to which impulses of a pair are not delayed."""

STEPS_OF_GRAVITY = 4.0
"""Number of steps in which gravity causes a velocity with which an impact is none that begins within a step."""


@formula
def _norm(a):
    return math.sqrt(dot(a, a))


@formula
def _acceleration(body, ground):
    """Return the velocity-product acceleration of the origin of a body."""
    return load(body.a) - load(ground.a)


@formula
def _turn(body, t):
    """Return the rotation of a body until t."""
    w, u = quaternion_of_vector(t * load(body.w) + (0.5 * t * t) * load(body.alpha))
    return rotation_of_quaternion(w, u.x, u.y, u.z)


@formula
def origin_at(body, ground, t):
    """Return the origin of a body at the time t of the step."""
    return load(body.x) + t * load(body.v) + (0.5 * t * t) * _acceleration(body, ground)


@kernel
def _place(geom, body, ground, t, placed):
    """Place a geom where it is at the time t of the step."""
    Q, R = _turn(body, t), load(body.R)
    store(placed.x, origin_at(body, ground, t) + Q @ (R @ load(geom.x)))
    store(placed.R, Q @ (R @ load(geom.R)))


@formula
def _nearest(contacts, first, last):
    """Return the smallest gap of some contacts, infinite if there are none, and its normal."""
    gap, normal = math.inf, ZERO
    for k in range(first, min(last, len(contacts))):
        if contacts[k].gap < gap:
            gap, normal = contacts[k].gap, load(contacts[k].normal)
    return gap, normal


@kernel
def _place_both(i, j, geometry, bodies, t, placed):
    """Place two geoms where they are at the time t of the step."""
    for k in (i, j):
        geom = geometry.geoms[k]
        _place(geom, bodies[geom.body], bodies[0], t, placed[k])


@kernel
def _distance(i, j, geometry, bodies, t, work):
    """Return the distance of two geoms at the time t of the step, and its direction; infinite above the margin."""
    _place_both(i, j, geometry, bodies, t, work.placed)
    return _nearest(work.trial, 0, contact_points(i, j, geometry, work.margin[0], work, work.trial, 0))


@kernel
def _separation(i, j, geometry, bodies, local, t, work) -> float:
    """Return the separation of two geoms at the time t of the step, along a direction in the frame of geom i."""
    _place_both(i, j, geometry, bodies, t, work.placed)
    a, b, one, other = geometry.geoms[i], geometry.geoms[j], work.convex.solids[0], work.convex.solids[1]
    A, B = shape_of(a, work.placed[i]), shape_of(b, work.placed[j])
    n = A.R @ local
    write_solid(a, A, A.x, 0.0, one)
    write_solid(b, B, A.x, 0.0, other)
    high = 0.0 if a.kind == PLANE else dot(n, support(one, geometry, n, ANY)[0])
    return dot(n, support(other, geometry, -n, ANY)[0]) - high - one.radius - other.radius


@formula
def _relative_motion(b, body_a, body_b, ground, t):
    """Return velocity and acceleration at t of the center of geom b in a frame that moves with body A."""
    w, wb = load(body_a.w) + t * load(body_a.alpha), load(body_b.w) + t * load(body_b.alpha)
    e = _turn(body_b, t) @ (load(body_b.R) @ load(b.x))
    r = origin_at(body_b, ground, t) + e - origin_at(body_a, ground, t)
    own, frame = _acceleration(body_b, ground), _acceleration(body_a, ground)
    u = load(body_b.v) + t * own + cross(wb, e) - (load(body_a.v) + t * frame) - cross(w, r)
    a = own + cross(load(body_b.alpha), e) + cross(wb, cross(wb, e))
    a = a - frame - cross(load(body_a.alpha), r) - cross(w, cross(w, r)) - 2.0 * cross(w, u)
    return u, a


@formula
def _swept_radius(geom):
    """Return the radius about its center within which the points of a geom move when it turns.

    A ball that is a part of the geom, as in `solid`, turns without effect.
    """
    if geom.kind == PLANE or geom.kind == SPHERE:
        return 0.0
    return geom.extent[1] if geom.kind == CAPSULE else geom.bounding_radius


@formula
def _turning(geom, body, frame, t):
    """Return angular velocity and acceleration at t, in a frame that moves with a body, with which a geom moves.

    A turn about its axis of symmetry does not move it.
    """
    wf, wb = load(frame.w) + t * load(frame.alpha), load(body.w) + t * load(body.alpha)
    w, alpha = wb - wf, load(body.alpha) - load(frame.alpha) - cross(wf, wb)
    if geom.kind == CAPSULE or geom.kind == CYLINDER:
        axis = _turn(body, t) @ (load(body.R) @ (load(geom.R) @ UNIT.z))
        spin = dot(w, axis)
        w, alpha = w - spin * axis, alpha - dot(alpha, axis) * axis + spin * cross(axis, w)
    return w, alpha


@formula
def _curvature(b, body_a, body_b, ground, t):
    """Return a bound of the accelerations at t of the points of geom b in a frame that moves with body A."""
    w, alpha = _turning(b, body_b, body_a, t)
    turning = _swept_radius(b) * (dot(w, w) + _norm(alpha))
    return _norm(_relative_motion(b, body_a, body_b, ground, t)[1]) + turning


@formula
def _largest_curvature(b, body_a, body_b, ground, h):
    """Return the same bound for a step of h."""
    first, last = _curvature(b, body_a, body_b, ground, 0.0), _curvature(b, body_a, body_b, ground, h)
    return BENT * max(first, last)


@lazy_kernel
def follow_paths(i, j, geometry, bodies, reach, h, work, first, n) -> int:
    """Replace the contacts [first, n) of the start of the step by those of the time at which two geoms meet.

    Return the next row.
    """
    a, b = geometry.geoms[i], geometry.geoms[j]
    body_a, body_b, ground = bodies[a.body], bodies[b.body], bodies[0]
    gap, normal = _nearest(work.contacts, first, n)
    if b.kind == PLANE:
        time = _time_of_contact(j, i, geometry, bodies, gap, -normal, reach, h, work)
    else:
        time = _time_of_contact(i, j, geometry, bodies, gap, normal, reach, h, work)
    if time <= 0.0:
        return n
    if time < h:
        n = contact_points(i, j, geometry, work.margin[0], work, work.contacts, first)
    _place_both(i, j, geometry, bodies, 0.0, work.placed)
    if time >= h:
        return _drop_closing(body_a, body_b, ground, h, work.contacts, first, n)
    starts = gap <= SUSTAINED * reach
    _set_times(body_a, body_b, ground, time, starts, reach, h, work.contacts, first, min(n, len(work.contacts)))
    return n


@kernel
def _time_of_contact(i, j, geometry, bodies, gap, normal, reach, h, work) -> float:
    """Return the time of the step at which two geoms meet, and leave them placed there; h if they do not.

    It is 0 for geoms that touch at the start, or move by no more than `reach` relative to each other.
    """
    a, b, t, advances = geometry.geoms[i], geometry.geoms[j], 0.0, 0
    body_a, body_b, ground = bodies[a.body], bodies[b.body], bodies[0]
    touch = TOUCH * reach + ROUND_OFF * (_swept_radius(a) + _swept_radius(b))
    if gap <= touch:
        return 0.0
    u, _ = _relative_motion(b, body_a, body_b, ground, 0.0)
    if h * (_norm(u) + _swept_radius(b) * _norm(_turning(b, body_b, body_a, 0.0)[0])) <= reach:
        return 0.0
    k = _largest_curvature(b, body_a, body_b, ground, h)
    other_k = _largest_curvature(a, body_b, body_a, ground, h) if a.kind != PLANE else math.inf
    if other_k < k:
        i, j, k, other_k, normal = j, i, other_k, k, -normal
    while True:
        advances += 1
        end = t + math.sqrt(2.0 * gap / k) if 2.0 * gap < k * (h - t) ** 2 else h
        before, t = t, _advance(i, j, geometry, bodies, normal, t, gap, end, touch, work)
        if advances > ADVANCES:  # a direction that separates nothing leads nowhere
            t = min(max(t, before + h / ADVANCES), h)
            work.unresolved[0] += advances == ADVANCES + 1
        if t >= h and advances <= ADVANCES:
            return h
        last = gap
        gap, normal = _distance(i, j, geometry, bodies, t, work)
        if gap < -touch:
            return _bisect(i, j, geometry, bodies, before, t, work)
        if gap <= touch or t >= h:
            return t
        if gap == math.inf:
            return h
        if advances > PATIENCE and gap < last:
            later = t + 2.0 * gap * (t - before) / (last - gap)
            if later <= min(t + BRACKET * h, h) and _distance(i, j, geometry, bodies, later, work)[0] < 0.0:
                return _bisect(i, j, geometry, bodies, t, later, work)
            _place_both(i, j, geometry, bodies, t, work.placed)
        if t - before < PROGRESS * (end - before) and geometry.geoms[i].kind != PLANE:
            i, j, k, other_k, normal = j, i, other_k, k, -normal


@kernel
def _advance(i, j, geometry, bodies, normal, t, gap, end, touch, work) -> float:
    """Return `end` if two geoms are separated along a direction then, or the root of their separation before it.

    The geoms are placed at t; the direction turns with geom i.
    """
    local = transposed_times(load(work.placed[i].R), normal)
    after = _separation(i, j, geometry, bodies, local, end, work)
    if after >= 0.0:
        return end
    for _ in range(BISECTIONS):
        middle = t + (end - t) * gap / (gap - after)
        middle = min(max(middle, t + 0.01 * (end - t)), end - 0.01 * (end - t))
        separation = _separation(i, j, geometry, bodies, local, middle, work)
        if separation < 0.0:
            end, after = middle, separation
        else:
            t, gap = middle, separation
            if gap <= 0.5 * touch:
                break
    return t


@kernel
def _bisect(i, j, geometry, bodies, before, after, work) -> float:
    """Return the last time at which two geoms that are apart `before` and penetrate `after` are apart."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (before + after)
        if _distance(i, j, geometry, bodies, middle, work)[0] < 0.0:
            after = middle
        else:
            before = middle
    _distance(i, j, geometry, bodies, before, work)
    return before


@formula
def _gap_velocity(contact, body_a, body_b, ground):
    """Return the rate of the gap of a contact at its time."""
    p, t = load(contact.point), contact.time
    u = load(body_b.v) + cross(load(body_b.w), p - origin_at(body_b, ground, t))
    return dot(load(contact.normal), u - load(body_a.v) - cross(load(body_a.w), p - origin_at(body_a, ground, t)))


@kernel
def _drop_closing(body_a, body_b, ground, h, contacts, first, last) -> int:
    """Leave out the contacts of the start that velocities without contacts would close; return the next row."""
    n = first
    for k in range(first, last):
        if contacts[k].gap + h * _gap_velocity(contacts[k], body_a, body_b, ground) >= 0.0:
            contacts[n] = contacts[k]
            n += 1
    return n


@kernel
def _set_times(body_a, body_b, ground, time, starts, reach, h, contacts, first, last):
    """Set the time of the contacts of a pair, and their delay, which is 0 if the pair `starts` or closes slowly.

    Slow are velocities that cover no more than `reach` in a step, or that gravity causes in `STEPS_OF_GRAVITY` steps.
    Without delay, the gaps are those at the start; else they are those at the end of the delay, when the nearest is 0.
    """
    slow, closing, nearest, gap = max(reach, STEPS_OF_GRAVITY * h * h * _norm(load(ground.a))), 0.0, 0.0, math.inf
    for k in range(first, last):
        contacts[k].time = time
        u = _gap_velocity(contacts[k], body_a, body_b, ground)
        if contacts[k].gap + (h - time) * u < 0.0:
            closing = max(closing, -u)
        if contacts[k].gap < gap:
            gap, nearest = contacts[k].gap, -u
    starts = starts or h * closing <= slow
    delay = time + gap / nearest if gap < nearest * (h - time) else time
    for k in range(first, last):
        if starts:
            contacts[k].gap -= time * _gap_velocity(contacts[k], body_a, body_b, ground)
        else:
            contacts[k].gap, contacts[k].delay = contacts[k].gap - gap, delay
