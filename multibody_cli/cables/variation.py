"""Variation of cables: changes of lines, of arcs and of rates along a motion change of the bodies, or in time."""

from __future__ import annotations

from multibody_cli.cables.lines import (
    COINCIDENT,
    are_fixed,
    drift_of,
    is_passed,
    kept_line,
    line_to,
    motion_of,
    motion_of_body,
    moves,
    next_point,
    surfaces_from,
)
from multibody_cli.cables.moving import coordinate_change, slope_change_of
from multibody_cli.cables.wrapping import solve_across
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import ZERO, cross, dot


@formula
def vary_arcs(points, first, last, bodies, in_time):
    """Compute the changes of all arcs of a cable along the motion change of the bodies, or their rates of change."""
    k = first + 1 if len(points.surfaces) > 0 else last
    while k < last - 1:
        end = next_point(points, k)
        begin, stop = surfaces_from(points, k, end)
        if stop > begin:
            vary_in_a_row(points, k, end, begin, stop, bodies, in_time)
        k = end + 1


@lazy_kernel
def vary_in_a_row(points, first, last, begin, stop, bodies, in_time):
    """Compute the changes of the arcs over the entries `begin` to `stop` - 1, between the points beside first:last."""
    entries, surfaces, i = points.entries, points.surfaces, first - 1
    for k in range(first, last + 1):
        if is_passed(points, k):
            r, s, _, _ = line_to(points, i, k, bodies)
            turn, moved = motion_of(points, i, r, bodies, in_time)
            other_turn, other_moved = motion_of(points, k, s, bodies, in_time)
            apart = other_moved - moved
            if k < last:
                arc = surfaces[entries[k].surface]
                swept = arc.before * cross(other_turn, load(arc.entering))
                arc.miss[0] = dot(swept - apart, load(arc.enter_across))
            if i >= first:
                arc = surfaces[entries[i].surface]
                swept = arc.after * cross(turn, load(arc.leaving))
                arc.miss[1] = dot(apart - swept, load(arc.leave_across))
            i = k
    solve_across(points, begin, stop)
    for k in range(begin, stop):
        if is_passed(points, k):
            arc = surfaces[entries[k].surface]
            store(arc.enter_slide, arc.shift[0] * load(arc.enter_across))
            store(arc.leave_slide, arc.shift[1] * load(arc.leave_across))


@formula
def drift_change_of(points, k, turn, bodies, in_time):
    """Change of the velocity of a point relative to its body, for the rotation `turn` of this and constant rates."""
    entry, change = points.entries[k], ZERO
    if moves(points, entry):
        motion = points.motions[entry.motion]
        shift = motion.rate if in_time else coordinate_change(motion, bodies)
        change = motion.rate * slope_change_of(motion, bodies[entry.row], turn, shift)
    return change


@kernel
def path_change(points, first, last, bodies, displacement_factor, velocity_factor, exact):
    """Changes of length and rate of a cable along a motion change; that of the rate with the pose where `exact`.

    After `keep_lines`.
    """
    if exact:
        vary_arcs(points, first, last, bodies, False)
    entries, i = points.entries, first
    length, rate = 0.0, 0.0
    for k in range(first + 1, last):
        if is_passed(points, k):
            factor = entries[k].factor
            r, s, u, distance = kept_line(points, k)
            moved = relative_displacement(points, i, k, r, s, bodies)
            along = factor * dot(u, moved)
            length += displacement_factor * along
            rate += velocity_factor * along
            if exact:
                quickened = rate_change_of(points, i, k, r, s, u, distance, bodies, False)
                rate += (factor * displacement_factor) * quickened
            i = k
    return length, rate


@formula
def rate_change_of(points, i, k, r, s, u, distance, bodies, in_time):
    """Change of the rate of length of the line from entry i to entry k, for constant velocities, after `vary_arcs`."""
    one, other = bodies[points.entries[i].row], bodies[points.entries[k].row]
    turn, moved = motion_of_body(one, r, in_time)
    other_turn, other_moved = motion_of_body(other, s, in_time)
    w, velocity = motion_of_body(one, r, True)
    other_w, other_velocity = motion_of_body(other, s, True)
    apart, shift, other_shift, bent = other_moved - moved, cross(turn, r), cross(other_turn, s), ZERO
    relative = other_velocity - velocity
    if not are_fixed(points, i, k):
        before = slide_after(points, i) + drift_of(points, i, bodies, in_time)
        behind = slide_before(points, k) + drift_of(points, k, bodies, in_time)
        apart, shift, other_shift = apart + behind - before, shift + before, other_shift + behind
        relative = relative + drift_of(points, k, bodies, True) - drift_of(points, i, bodies, True)
        bent = drift_change_of(points, k, other_turn, bodies, in_time) - drift_change_of(
            points, i, turn, bodies, in_time
        )
    swung = cross(other_w, other_shift) - cross(w, shift)
    return dot(turn_of(u, apart, distance), relative) + dot(u, swung + bent)


@formula
def relative_displacement(points, i, k, r, s, bodies):
    """Displacement of the end of the line from entry i to entry k, less that of its start; points of arcs are fixed."""
    _, moved = motion_of(points, i, r, bodies, False)
    _, other_moved = motion_of(points, k, s, bodies, False)
    return other_moved - moved


@formula
def turn_of(u, apart, distance):
    """Change of the direction u of a line, 0 if it has none, for the displacement of its end less that of its start."""
    return (1.0 / max(distance, COINCIDENT)) * (apart - dot(u, apart) * u) if distance > 0.0 else ZERO


@formula
def slide_before(points, k):
    """Displacement of the end of the line to entry k, relative to the body."""
    surface = points.entries[k].surface
    if surface >= 0:
        return load(points.surfaces[surface].enter_slide)
    return ZERO


@formula
def slide_after(points, k):
    """Displacement of the start of the line from entry k, relative to the body."""
    surface = points.entries[k].surface
    if surface >= 0:
        return load(points.surfaces[surface].leave_slide)
    return ZERO
