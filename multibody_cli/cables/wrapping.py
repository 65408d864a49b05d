"""Arcs of a cable over the surfaces between two of its points, and their variation.

With a and b the points, the cable is a straight line from a to a tangent point P of the first surface that it touches,
a geodesic from P to Q, a straight line to the next surface, and so on to b.  Its direction is continuous at each P and
Q, so that the length is stationary with respect to them: with P and Q fixed in the bodies of their surfaces, the length
of a line from Q to P' with the direction u changes by u . (dP' - dQ).

Variation: with the tangent t, the normal N and b = N x t, the geodesic moves across by y along b, y'' + K y = 0
(Jacobi's equation).  Lines stay tangent to it.  For the line from Q of one arc to P' of the next one, of the length d,
whose ends move with the bodies by s relative to each other and whose surfaces turn by dw,

    y(P') - d y'(P') - (b_Q . b_P') y(Q) = -s . b_P' + d (dw' x t) . b_P'
    y(Q) + d y'(Q) - (b_Q . b_P') y(P') = s . b_Q - d (dw x t) . b_Q

which determine y and y' of all arcs, and the directions of the lines turn by y' b within the surface.

Newton's method for the arcs has the same equations, with what the lines miss of being tangent on the right-hand side.
Along the cable, P moves by x and Q by z,

    k d x = -miss . N - tau d y(P) + (b_Q . N_P') y(Q)

with normal curvature k and geodesic torsion tau, and likewise for z; the arc lengthens by z - x.

Source: Scholz, Sherman, Stavness, Delp, Kecskemethy, Multibody System Dynamics 36 (2016): natural geodesic variations.
"""

from __future__ import annotations

from multibody_cli.cables.surface import norm
from multibody_cli.cables.surface_kinds import approach, follow, is_exact, settle
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross, dot, transposed_times

SWEEPS = 4
"""Passes over several surfaces in a row."""

ROUNDS = 10
"""Solutions, after each of which surfaces are touched and left as it shows."""

STEPS = 12
"""Largest number of steps of Newton's method."""

CONVERGED = 1e-7
"""Step, relative to the size of the surface, behind which the next one is round-off."""

LONGEST = 0.3
"""Longest step, relative to the size of the surface, or rad."""

CLOSE = 1e-9
"""Distance of a point from a surface below which the arc begins there, relative to the size of the surface."""


# --- one arc ----------------------------------------------------------------------------------------------------------
@formula
def place(surface, body):
    """Write the ends of an arc in world axes."""
    C, lever = load(body.R) @ load(surface.axes), load(body.R) @ load(surface.centre)
    t, s = load(surface.heading), load(surface.end_heading)
    store(surface.enter, lever + C @ load(surface.start))
    store(surface.leave, lever + C @ load(surface.end))
    store(surface.entering, C @ t)
    store(surface.leaving, C @ s)
    store(surface.enter_across, C @ cross(load(surface.normal), t))
    store(surface.leave_across, C @ cross(load(surface.end_normal), s))


@formula
def approach_in(surface, body, a, b, rank):
    """Write the arc over a surface of a body between points of the world."""
    C = load(body.R) @ load(surface.axes)
    centre = load(body.x) + load(body.R) @ load(surface.centre)
    approach(surface, transposed_times(C, a - centre), transposed_times(C, b - centre), rank)


@formula
def complete(surface, body):
    """Write the end of an arc, and both ends in world axes."""
    follow(surface)
    place(surface, body)


@formula
def size_of(surface):
    """The least radius."""
    return min(surface.radii[0], min(surface.radii[1], surface.radii[2]))


# --- neighbors --------------------------------------------------------------------------------------------------------
@formula
def begin_of_line(points, first, k, bodies, a):
    """Where the line to the arc of entry k begins: at the arc before it, or at a."""
    i = k - 1
    while i >= first and points.surfaces[points.entries[i].surface].touches == 0:
        i -= 1
    begin = a
    if i >= first:
        begin = load(bodies[points.entries[i].row].x) + load(points.surfaces[points.entries[i].surface].leave)
    return begin


@formula
def end_of_line(points, last, k, bodies, b):
    """Where the line from the arc of entry k ends: at the arc behind it, or at b."""
    j = k + 1
    while j < last and points.surfaces[points.entries[j].surface].touches == 0:
        j += 1
    end = b
    if j < last:
        end = load(bodies[points.entries[j].row].x) + load(points.surfaces[points.entries[j].surface].enter)
    return end


# --- arcs between two points ------------------------------------------------------------------------------------------
@kernel
def wrap(points, first, last, bodies, a, b):
    """Compute the arcs over the surfaces of the entries `first` to `last` - 1 between points a and b of the world."""
    if last - first == 1:
        surface, body = points.surfaces[points.entries[first].surface], bodies[points.entries[first].row]
        approach_in(surface, body, a, b, 0)
        if surface.touches:
            complete(surface, body)
            if is_exact(surface):
                surface.before = norm(load(body.x) + load(surface.enter) - a)
                surface.after = norm(b - load(body.x) - load(surface.leave))
            else:
                solve_one(points, first, bodies, a, b)
    else:
        wrap_in_a_row(points, first, last, bodies, a, b)


@kernel
def solve_one(points, k, bodies, a, b):
    """Solve for the arc over the surface of entry k between two points; of two ways, take the shorter one."""
    surface, body = points.surfaces[points.entries[k].surface], bodies[points.entries[k].row]
    solved, rivals = solve(points, k, k + 1, bodies, a, b), surface.rivals
    if rivals:
        length = surface.before + surface.arc + surface.after
        approach_in(surface, body, a, b, 1)
        complete(surface, body)
        other = solve(points, k, k + 1, bodies, a, b)
        if not other or (solved and length <= surface.before + surface.arc + surface.after):
            approach_in(surface, body, a, b, 0)
            complete(surface, body)
            solve(points, k, k + 1, bodies, a, b)
        solved = solved or other
    if not solved:
        surface.doubtful = 1


@kernel
def wrap_in_a_row(points, first, last, bodies, a, b):
    """Compute the arcs over several surfaces between two points."""
    entries, surfaces = points.entries, points.surfaces
    for k in range(first, last):
        surfaces[entries[k].surface].touches = 0
    sweep(points, first, last, bodies, a, b, False)
    changed, rounds = True, 0
    while changed and rounds < ROUNDS:
        changed, rounds = False, rounds + 1
        if not solve(points, first, last, bodies, a, b):
            sweep(points, first, last, bodies, a, b, True)
            changed = True
        for k in range(first, last):
            surface, body = surfaces[entries[k].surface], bodies[entries[k].row]
            if not surface.touches:
                begin, end = begin_of_line(points, first, k, bodies, a), end_of_line(points, last, k, bodies, b)
                approach_in(surface, body, begin, end, 0)
                if surface.touches:
                    complete(surface, body)
                    changed = True
            elif surface.arc <= 0.0:
                surface.touches, surface.arc, changed = 0, 0.0, True
    if changed:
        for k in range(first, last):
            surfaces[entries[k].surface].doubtful = 1


@kernel
def sweep(points, first, last, bodies, a, b, exact):
    """Wrap each surface between the arcs beside it, several times, by a first approximation or exactly."""
    for _ in range(SWEEPS):
        for k in range(first, last):
            surface, body = points.surfaces[points.entries[k].surface], bodies[points.entries[k].row]
            begin, end = begin_of_line(points, first, k, bodies, a), end_of_line(points, last, k, bodies, b)
            approach_in(surface, body, begin, end, 0)
            if surface.touches:
                complete(surface, body)
                if exact and not is_exact(surface):
                    solve(points, k, k + 1, bodies, begin, end)


@kernel
def solve(points, first, last, bodies, a, b) -> bool:
    """Solve for the arcs of all surfaces that are touched, by Newton's method; return whether it converges."""
    entries, surfaces, largest = points.entries, points.surfaces, 1.0
    steps = 0
    while largest > CONVERGED and steps < STEPS:
        for k in range(first, last):
            surface, body = surfaces[entries[k].surface], bodies[entries[k].row]
            if surface.touches:
                d = load(body.x) + load(surface.enter) - begin_of_line(points, first, k, bodies, a)
                e = end_of_line(points, last, k, bodies, b) - load(body.x) - load(surface.leave)
                surface.before, surface.after = norm(d), norm(e)
                surface.miss[0], surface.miss[1] = (
                    -dot(d, load(surface.enter_across)),
                    dot(e, load(surface.leave_across)),
                )
        solve_across(points, first, last)
        largest = solve_along(points, first, last, bodies, a, b)
        scale = min(1.0, LONGEST / max(largest, LONGEST))
        for k in range(first, last):
            surface = surfaces[entries[k].surface]
            if surface.touches:
                move(surface, scale)
                complete(surface, bodies[entries[k].row])
        steps += 1
    for k in range(first, last):
        surface, body = surfaces[entries[k].surface], bodies[entries[k].row]
        if surface.touches:
            surface.before = norm(load(body.x) + load(surface.enter) - begin_of_line(points, first, k, bodies, a))
            surface.after = norm(end_of_line(points, last, k, bodies, b) - load(body.x) - load(surface.leave))
    return largest <= CONVERGED


@kernel
def solve_across(points, first, last):
    """Solve for y and y' of all arcs: elimination from first to last, in which y at the next arc is unknown."""
    entries, surfaces, i = points.entries, points.surfaces, -1
    for k in range(first, last):
        s = entries[k].surface
        if surfaces[s].touches:
            here = surfaces[s]
            j, miss, own = here.jacobi, here.miss[0], 1.0
            if i >= 0:
                before = surfaces[i]
                c = dot(load(before.leave_across), load(here.enter_across))
                miss += c * (before.jacobi[0] * before.given[0] + before.jacobi[2] * before.given[1])
                own -= c * (before.jacobi[0] * before.given[2] + before.jacobi[2] * before.given[3])
            n = next_arc(points, k, last)
            c = dot(load(here.leave_across), load(surfaces[n].enter_across)) if n >= 0 else 0.0
            by_shift, by_turn = j[0] + here.after * j[1], j[2] + here.after * j[3]
            scale = 1.0 / (own * by_turn + here.before * by_shift)
            here.given[0] = scale * (by_turn * miss + here.before * here.miss[1])
            here.given[1] = scale * (own * here.miss[1] - by_shift * miss)
            here.given[2], here.given[3] = scale * here.before * c, scale * own * c
            i = s
    y = 0.0
    for back in range(last - first):
        here = surfaces[entries[last - 1 - back].surface]
        if here.touches:
            j = here.jacobi
            here.shift[0] = here.given[0] + here.given[2] * y
            here.turn[0] = here.given[1] + here.given[3] * y
            here.shift[1] = j[0] * here.shift[0] + j[2] * here.turn[0]
            here.turn[1] = j[1] * here.shift[0] + j[3] * here.turn[0]
            y = here.shift[0]


@formula
def next_arc(points, k, last):
    """Number of the next surface that is touched; -1 if there is none."""
    j = k + 1
    while j < last and points.surfaces[points.entries[j].surface].touches == 0:
        j += 1
    return points.entries[j].surface if j < last else -1


@kernel
def solve_along(points, first, last, bodies, a, b) -> float:
    """Compute the displacements of both ends of all arcs along them; return the largest step, relative to the sizes."""
    entries, surfaces, i, largest = points.entries, points.surfaces, -1, 0.0
    for k in range(first, last):
        s = entries[k].surface
        here, body = surfaces[s], bodies[entries[k].row]
        if here.touches:
            size, n = size_of(here), next_arc(points, k, last)
            N, M = (
                cross(load(here.entering), load(here.enter_across)),
                cross(load(here.leaving), load(here.leave_across)),
            )
            d = load(body.x) + load(here.enter) - begin_of_line(points, first, k, bodies, a)
            e = end_of_line(points, last, k, bodies, b) - load(body.x) - load(here.leave)
            x = -dot(d, N) - here.bend[1] * here.before * here.shift[0]
            z = -dot(e, M) - here.end_bend[1] * here.after * here.shift[1]
            if i >= 0:
                x += dot(load(surfaces[i].leave_across), N) * surfaces[i].shift[1]
            if n >= 0:
                z -= dot(load(surfaces[n].enter_across), M) * surfaces[n].shift[0]
            here.along[0] = x / (here.bend[0] * here.before) if here.before > CLOSE * size else 0.0
            here.along[1] = z / (here.end_bend[0] * here.after) if here.after > CLOSE * size else 0.0
            moved = max(max(abs(here.shift[0]), abs(here.shift[1])), max(abs(here.along[0]), abs(here.along[1])))
            largest = max(largest, max(moved / size, abs(here.turn[0])))
            i = s
    return largest


@formula
def move(surface, scale):
    """Move the start of an arc across and along it, turn its direction, and change its length."""
    t = load(surface.heading)
    across = cross(load(surface.normal), t)
    moved = load(surface.start) + (scale * surface.along[0]) * t + (scale * surface.shift[0]) * across
    surface.arc += scale * (surface.along[1] - surface.along[0])
    settle(surface, moved, t + (scale * surface.turn[0]) * across)
