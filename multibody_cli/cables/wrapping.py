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

Newton's method for the arcs has the same equations, with the errors of tangency on the right-hand side.
Along the cable, P' moves by x and Q by z,

    k (d x + x^2 / 2) = g,    g = -miss . N - tau d y(P') + (b_Q . N_P') y(Q)

with normal curvature k and geodesic torsion tau, and likewise for z; the arc lengthens by z - x.  g is the height of Q
above the tangent plane at P'.  The square matters where the line is short: it vanishes for a point on the surface.
Lengths d along the tangent are negative where the arc is beyond such a point.

Source: Scholz, Sherman, Stavness, Delp, Kecskemethy, Multibody System Dynamics 36 (2016): natural geodesic variations.
"""

from __future__ import annotations

import math

from multibody_cli.cables.arcs import ROUGH, approach_in, begin_of_line, complete, end_of_line, next_arc, size_of
from multibody_cli.cables.ring import divide_or_join, is_too_long, join_if_flat, leads_through, thicken
from multibody_cli.cables.surface import norm
from multibody_cli.cables.surface_kinds import is_exact, settle
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot

SWEEPS = 4
"""Passes over several surfaces in a row."""

ROUNDS = 10
"""Solutions, after each of which surfaces are touched and left as it shows."""

STEPS = 30
"""Largest number of steps of Newton's method."""

THIN, GROWTHS = 0.05, (8, 40)
"""Part of their radius from which tubes grow where a solution from the first approximation fails, and steps: more where
few fail."""

CONVERGED = 1e-7
"""Step, relative to the size of the surface, behind which the next one is round-off."""

SETTLED, EXACT = 1e-11, 1e-13
"""Accuracies of the geodesics from which the last step is computed, and of those behind it."""

PART = 1e-4
"""Accuracy of the geodesics behind a step, relative to its square, which is the size of the next one."""

LONGEST = 0.3
"""Longest step, relative to the size of the surface, or rad."""

FLAT = 1e-3
"""Curvature along an arc, relative to that of the size, in place of one that is not positive."""

CLOSE = 1e-6
"""Length of a line below which the arc begins at its point, relative to the size of the surface.

The height of the point is half of the square of this, which is round-off of its coordinates.
"""

CONJUGATE = 1e-8
"""Least distance by which the end of an arc moves for a turn of 1 rad, relative to the size of the surface.

Below it, both ends are conjugate points, as opposite ones of a sphere: the direction does not follow from them, and
remains.
"""


# --- arcs between two points ------------------------------------------------------------------------------------------
@lazy_kernel
def wrap(points, first, last, bodies, a, b):
    """Compute the arcs over the surfaces of the entries `first` to `last` - 1 between points a and b of the world."""
    if last - first == 1:
        surface, body = points.surfaces[points.entries[first].surface], bodies[points.entries[first].row]
        approach_in(surface, body, a, b, 0)
        if surface.touches:
            complete(surface, body, ROUGH)
            if is_exact(surface):
                surface.before = norm(load(body.x) + load(surface.enter) - a)
                surface.after = norm(b - load(body.x) - load(surface.leave))
            else:
                solve_one(points, first, bodies, a, b)
    else:
        wrap_in_a_row(points, first, last, bodies, a, b)


@lazy_kernel
def solve_one(points, k, bodies, a, b):
    """Solve for the arc over the surface of entry k between two points; of two ways, take the shorter one."""
    surface, body = points.surfaces[points.entries[k].surface], bodies[points.entries[k].row]
    solved, rivals = solve(points, k, k + 1, bodies, a, b), surface.rivals
    if rivals:
        length = surface.before + surface.arc + surface.after
        approach_in(surface, body, a, b, 1)
        complete(surface, body, ROUGH)
        other = solve(points, k, k + 1, bodies, a, b)
        if not other or (solved and length <= surface.before + surface.arc + surface.after):
            approach_in(surface, body, a, b, 0)
            complete(surface, body, ROUGH)
            solve(points, k, k + 1, bodies, a, b)
        solved = solved or other
    if not solved:
        surface.doubtful = 1


@lazy_kernel
def wrap_in_a_row(points, first, last, bodies, a, b):
    """Compute the arcs over several surfaces between two points, or both arcs over a torus."""
    entries, surfaces = points.entries, points.surfaces
    for k in range(first, last):
        surface = surfaces[entries[k].surface]
        surface.touches, surface.doubtful = 0, 0
    sweep(points, first, last, bodies, a, b, False)
    solved, tries = touch_and_leave(points, first, last, bodies, a, b), 0
    while not solved and tries < len(GROWTHS):
        solved, tries = grow(points, first, last, bodies, a, b, GROWTHS[tries]), tries + 1
    if not solved:
        for k in range(first, last):
            surface = surfaces[entries[k].surface]
            surface.doubtful = 1
            if surface.twin:  # whose radius may not be its own
                surface.touches, surface.arc, surface.radii[1] = 0, 0.0, surface.radii[2]


@kernel
def touch_and_leave(points, first, last, bodies, a, b) -> bool:
    """Touch and leave surfaces as each solution shows, until one does not; return whether this is reached."""
    entries, surfaces, changed, rounds = points.entries, points.surfaces, True, 0
    while changed and rounds < ROUNDS:
        changed, rounds = not solve(points, first, last, bodies, a, b), rounds + 1
        if changed:
            if has_ring(points, first, last):
                return False
            sweep(points, first, last, bodies, a, b, True)
        for k in range(first, last):
            surface, body = surfaces[entries[k].surface], bodies[entries[k].row]
            if surface.twin > 0 and not leads_through(points, first, k, last, bodies, a, b):
                return False
            if surface.twin > 0 and divide_or_join(points, first, k, last, bodies, a, b):
                changed = True
            if not surface.touches and (surface.twin >= 0 or not changed):
                begin, end = begin_of_line(points, first, k, bodies, a), end_of_line(points, last, k, bodies, b)
                approach_in(surface, body, begin, end, 0)
                if surface.touches:
                    complete(surface, body, ROUGH)
                    changed = True
            elif surface.touches and surface.arc <= 0.0:
                surface.touches, surface.arc, changed = 0, 0.0, True
    return not changed


@formula
def has_ring(points, first, last):
    """Whether one of the surfaces is a torus."""
    found = False
    for k in range(first, last):
        found = found or points.surfaces[points.entries[k].surface].twin != 0
    return found


@kernel
def grow(points, first, last, bodies, a, b, growth) -> bool:
    """Compute the arcs while the tubes of all tori grow to their size in some steps; return whether this succeeds."""
    for k in range(first, last):
        points.surfaces[points.entries[k].surface].touches = 0
    for n in range(1, growth + 1):
        for k in range(first, last):
            surface = points.surfaces[points.entries[k].surface]
            if surface.twin:
                thicken(surface, THIN ** (1.0 - n / growth), bodies[points.entries[k].row])
            if surface.twin < 0:
                join_if_flat(points.surfaces[points.entries[k - 1].surface], surface, bodies[points.entries[k].row])
        if n == 1:
            sweep(points, first, last, bodies, a, b, False)
        if not touch_and_leave(points, first, last, bodies, a, b):
            return False
    return True


@kernel
def sweep(points, first, last, bodies, a, b, exact):
    """Wrap each surface between the arcs beside it, several times, by a first approximation or exactly.

    A torus between two points has no neighbors that a second pass would move.
    """
    alone = last - first == 2 and points.surfaces[points.entries[first].surface].twin > 0
    for _ in range(1 if alone else SWEEPS):
        for k in range(first, last):
            surface, body = points.surfaces[points.entries[k].surface], bodies[points.entries[k].row]
            begin, end = begin_of_line(points, first, k, bodies, a), end_of_line(points, last, k, bodies, b)
            if surface.twin >= 0:
                approach_in(surface, body, begin, end, 0)
            if surface.touches:
                complete(surface, body, ROUGH)
                if exact and not is_exact(surface):
                    solve(points, k, k + 1, bodies, begin, end)


@kernel
def solve(points, first, last, bodies, a, b) -> bool:
    """Solve for the arcs of all surfaces that are touched, by Newton's method; return whether it converges."""
    entries, surfaces, largest, steps, converged = points.entries, points.surfaces, 1.0, 0, False
    while not converged and steps < STEPS:
        accuracy = EXACT
        for k in range(first, last):
            surface, body = surfaces[entries[k].surface], bodies[entries[k].row]
            if surface.touches:
                accuracy = max(accuracy, surface.accuracy)
                d = load(body.x) + load(surface.enter) - begin_of_line(points, first, k, bodies, a)
                e = end_of_line(points, last, k, bodies, b) - load(body.x) - load(surface.leave)
                surface.before, surface.after = dot(d, load(surface.entering)), dot(e, load(surface.leaving))
                surface.miss[0], surface.miss[1] = (
                    -dot(d, load(surface.enter_across)),
                    dot(e, load(surface.leave_across)),
                )
        solve_across(points, first, last)
        largest = solve_along(points, first, last, bodies, a, b)
        scale = min(1.0, LONGEST / max(largest, LONGEST))
        converged = largest <= CONVERGED and accuracy <= SETTLED
        accuracy = EXACT if converged else min(max(PART * largest * largest, EXACT), ROUGH)
        for k in range(first, last):
            surface = surfaces[entries[k].surface]
            if surface.touches:
                move(surface, scale)
                if surface.twin and is_too_long(surface):
                    return False
                complete(surface, bodies[entries[k].row], accuracy)
        steps += 1
    for k in range(first, last):
        surface, body = surfaces[entries[k].surface], bodies[entries[k].row]
        if surface.touches:
            d = load(body.x) + load(surface.enter) - begin_of_line(points, first, k, bodies, a)
            e = end_of_line(points, last, k, bodies, b) - load(body.x) - load(surface.leave)
            surface.before, surface.after = dot(d, load(surface.entering)), dot(e, load(surface.leaving))
    return converged


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
            moved = own * by_turn + here.before * by_shift
            scale = moved / (moved * moved + (CONJUGATE * size_of(here)) ** 2)
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
            z = dot(e, M) + here.end_bend[1] * here.after * here.shift[1]
            if i >= 0:
                x += dot(load(surfaces[i].leave_across), N) * surfaces[i].shift[1]
            if n >= 0:
                z += dot(load(surfaces[n].enter_across), M) * surfaces[n].shift[0]
            here.along[0] = step_along(x, here.bend[0], here.before, size)
            here.along[1] = -step_along(z, here.end_bend[0], here.after, size)
            moved = max(max(abs(here.shift[0]), abs(here.shift[1])), max(abs(here.along[0]), abs(here.along[1])))
            largest = max(largest, max(moved / size, abs(here.turn[0])))
            i = s
    return largest


@formula
def step_along(height, bend, distance, size):
    """How much longer the line to a point is when it is tangent; the arc may be straight, or hollow.

    The height of the point is above the tangent plane, and its distance is along the tangent.
    """
    curved = bend if bend > 0.0 else FLAT / size
    square = distance * distance + 2.0 * height / curved
    return (math.sqrt(square) if square > (CLOSE * size) ** 2 else 0.0) - distance


@formula
def move(surface, scale):
    """Move the start of an arc across and along it, turn its direction, and change its length."""
    t = load(surface.heading)
    across = cross(load(surface.normal), t)
    moved = load(surface.start) + (scale * surface.along[0]) * t + (scale * surface.shift[0]) * across
    surface.arc += scale * (surface.along[1] - surface.along[0])
    settle(surface, moved, t + (scale * surface.turn[0]) * across)
