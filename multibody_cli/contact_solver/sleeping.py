"""Sleeping islands: an island whose problem is that of a step that ended at rest keeps the impulses of that step.

The impulses of an island of contacts are a function of its coordinates q and of its velocities v* without impulses; for
the same q and v*, the solution is the same.  An articulation is *calm* in a step whose impulses take away its kinetic
energy:

    T(v') <= REST^2 T(v*).

An island whose articulations are calm for two steps is *at rest*: in the second step, v* is due to the forces of one
step alone.  Its velocities v' are then set to 0 and its q, v* and impulses are stored.  In the next step it sleeps, and
keeps these impulses and v' = 0, if no bit of its q and v* has changed, and if it touches nothing that is awake.  All
forces on a body, gravity, springs, signals and those of programs, are in its v*.  Hence any change of the problem
wakes the island in the step in which it does, and nothing has to be known about the cause.

REST is far above round-off, and far below the relative velocities that the solver resolves: a body on an incline whose
friction is too small by one part in 1e9 gains more than REST v* in a step, and does not sleep.

Active limits are part of the problem, and keep their impulses as contacts do.  Islands with other constraint rows in
the problem (loops and couplings that the method does not eliminate) or dry friction of joints do not sleep.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.problem import BLOCKS_PER_ROW, PER_CONTACT
from multibody_cli.contact_solver.islands import body_of_term, is_solved, reset_reports
from multibody_cli.contact_solver.warm_start import load_axial_impulses
from multibody_cli.kernel import kernel
from multibody_cli.model import Floats, Integers
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import power
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.articulated_body import load_motion_change, rigid_body_inertia

REST = 1e-10
"""Speed after a step, relative to that without impulses, below which a body is at rest."""

INACTIVE = -1.0
"""Stored impulse of a one-sided row that was not active."""


class Sleep(NamedTuple):
    """State of sleeping bodies, for l bodies; an articulation is numbered by `islands.find_articulations`."""

    q: Annotated[Floats, "nq"]  # coordinates in the last step
    v: Annotated[Floats, "nv"]  # velocities v* in the last step
    calm: Annotated[Integers, "l"]  # whether a body was calm in the last step
    at_rest: Annotated[Integers, "l"]  # whether the island of a body was at rest at the end of the last step
    awake: Annotated[Integers, "l"]  # whether an articulation has changed, or is not calm
    asleep: Annotated[Integers, "l"]  # whether an articulation sleeps in this step
    island_asleep: Annotated[Integers, "l"]  # whether an island sleeps in this step
    limits: Annotated[Floats, "rows"]  # impulses of one-sided rows in the last step; `INACTIVE` of those without


@kernel
def wake_all(sleep):
    """Wake all bodies: there are no contacts that rows solve."""
    for i in range(len(sleep.at_rest)):
        sleep.calm[i] = sleep.at_rest[i] = 0
    for c in range(len(sleep.asleep)):
        sleep.asleep[c] = 0
    for island in range(len(sleep.island_asleep)):
        sleep.island_asleep[island] = 0


# --- before the solution --------------------------------------------------------------------------------------------
@kernel
def find_sleeping_islands(system, work, step, warm_start, groups, sleep, q, v):
    """Find the islands that sleep; v (nv,) is v*."""
    for c in range(groups.articulations[0]):
        sleep.awake[c] = sleep.asleep[c] = 0
    for island in range(groups.islands[0]):
        sleep.island_asleep[island] = 0
    if not system.contacts.options.sleeping:
        return
    for i in range(1, len(sleep.at_rest)):
        if not sleep.at_rest[i]:
            sleep.awake[groups.articulation[i]] = 1
    wake_changed_articulations(system.tree, q, v, groups, sleep)
    wake_separated_articulations(system.contacts.geometry.geoms, warm_start, groups, sleep)
    wake_articulations_at_limits(work, step, groups, sleep)
    for island in range(groups.islands[0]):
        if is_island_at_rest(island, step, groups, sleep):
            sleep.island_asleep[island] = 1
            for i in range(groups.first_row[island], groups.first_row[island + 1]):
                k = groups.rows[i]
                for side in range(BLOCKS_PER_ROW):
                    if groups.row_articulations[k, side] >= 0:
                        sleep.asleep[groups.row_articulations[k, side]] = 1


@kernel
def wake_changed_articulations(tree, q, v, groups, sleep):
    """Wake the articulations whose q or v* differ from those of the last step."""
    plain, quaternions = tree.plain, tree.quaternions
    for k in range(len(plain)):
        if q[plain[k].iq] != sleep.q[plain[k].iq]:
            wake(groups.body_of_coordinate[plain[k].iv], groups, sleep)
    for k in range(len(quaternions)):
        for j in range(quaternions[k].iq, quaternions[k].iq + 4):
            if q[j] != sleep.q[j]:
                wake(groups.body_of_coordinate[quaternions[k].iv], groups, sleep)
    for j in range(len(v)):
        if v[j] != sleep.v[j]:
            wake(groups.body_of_coordinate[j], groups, sleep)


@kernel
def wake_separated_articulations(geoms, warm_start, groups, sleep):
    """Wake the articulations that have lost a pressed contact."""
    for k in range(warm_start.number[0]):
        point = warm_start.points[k]
        if point.successor < 0 and point.axial[0] > 0.0:
            wake(geoms[point.geom_a].body, groups, sleep)
            wake(geoms[point.geom_b].body, groups, sleep)


@kernel
def wake_articulations_at_limits(work, step, groups, sleep):
    """Wake the articulations that have reached a limit, or lost a pressed one."""
    for k in range(step.sizes[0].equalities, step.sizes[0].constraint_rows):
        c = groups.row_articulations[k, 0]
        if c >= 0 and sleep.limits[step.active_rows[k]] == INACTIVE:
            sleep.awake[c] = 1
    for r in range(len(sleep.limits)):
        row = work.rows[r]
        if sleep.limits[r] > 0.0 and row.active != 1:
            for i in range(row.first_term, row.last_term):
                wake(body_of_term(work.terms[i], groups), groups, sleep)


@kernel
def wake(body, groups, sleep):
    """Wake the articulation of a body or of another row; 0 is the ground."""
    if body > 0:
        sleep.awake[groups.articulation[groups.body_of_row[body]]] = 1


@kernel
def keep_impulses(warm_start, step, groups, sleep, reports):
    """Load the impulses of sleeping contacts and limits unchanged, and mark those of their islands as converged."""
    reset_reports(groups, reports)
    for island in range(groups.islands[0]):
        reports.converged[island] = sleep.island_asleep[island] or is_solved(island, groups)
    for k in range(warm_start.number[0]):
        point = warm_start.points[k]
        first = step.sizes[0].first_contact + PER_CONTACT * point.successor
        if point.successor >= 0 and contact_sleeps(first, groups, sleep):
            load_axial_impulses(point, step.x, first)
    for k in range(step.sizes[0].equalities, step.sizes[0].constraint_rows):
        c = groups.row_articulations[k, 0]
        if c >= 0 and sleep.asleep[c] != 0:
            step.x[k] = sleep.limits[step.active_rows[k]]


@kernel
def contact_sleeps(k, groups, sleep) -> bool:
    """Return whether the contact with a row k sleeps."""
    a, b = groups.row_articulations[k, 0], groups.row_articulations[k, 1]
    return (a >= 0 and sleep.asleep[a] != 0) or (b >= 0 and sleep.asleep[b] != 0)


# --- after the solution ---------------------------------------------------------------------------------------------
@kernel
def stop_islands_at_rest(system, work, step, groups, reports, sleep, q, v):
    """Stop the islands at rest: the changes `work.response` (nv,) of their velocities become -v*."""
    if not system.contacts.options.sleeping:
        return
    for c in range(groups.articulations[0]):
        sleep.awake[c] = not sleep.asleep[c] and not stays_calm(c, system.tree.links, work.bodies, groups, sleep)
    for i in range(len(sleep.at_rest)):
        sleep.at_rest[i] = 0
    for island in range(groups.islands[0]):
        if sleep.island_asleep[island] or (
            not reports.failed[island] and is_island_at_rest(island, step, groups, sleep)
        ):
            set_at_rest(island, 1, groups, sleep)
    for j in range(len(v)):
        sleep.v[j] = v[j]
        if sleep.at_rest[groups.body_of_coordinate[j]]:
            work.response[j] = -v[j]
    for k in range(len(q)):
        sleep.q[k] = q[k]
    for r in range(len(sleep.limits)):
        sleep.limits[r] = INACTIVE
    for k in range(step.sizes[0].equalities, step.sizes[0].constraint_rows):
        sleep.limits[step.active_rows[k]] = step.x[k]


@kernel
def stays_calm(c, links, bodies, groups, sleep) -> bool:
    """Return whether an articulation is calm in this step and was calm in the last one."""
    before, after, was_calm = 0.0, 0.0, True
    for i in range(groups.first_body[c], groups.first_body[c + 1]):
        body, was_calm = bodies[groups.bodies[i]], was_calm and sleep.calm[groups.bodies[i]] != 0
        V, inertia = Motion(load(body.w), load(body.v)), rigid_body_inertia(links[groups.bodies[i]], body)
        before += power(V, inertia @ V)
        V = V + load_motion_change(body)
        after += power(V, inertia @ V)
    calm = after <= REST * REST * before
    for i in range(groups.first_body[c], groups.first_body[c + 1]):
        sleep.calm[groups.bodies[i]] = calm
    return calm and was_calm


@kernel
def is_island_at_rest(island, step, groups, sleep) -> bool:
    """Return whether an island has rows of contacts and limits alone, and no articulation that is awake."""
    for i in range(groups.first_row[island], groups.first_row[island + 1]):
        k = groups.rows[i]
        if k < step.sizes[0].equalities or step.sizes[0].constraint_rows <= k < step.sizes[0].first_contact:
            return False
        for side in range(BLOCKS_PER_ROW):
            if groups.row_articulations[k, side] >= 0 and sleep.awake[groups.row_articulations[k, side]]:
                return False
    return True


@kernel
def set_at_rest(island, at_rest, groups, sleep):
    """Set whether the bodies of an island are at rest."""
    for i in range(groups.first_row[island], groups.first_row[island + 1]):
        k = groups.rows[i]
        for side in range(BLOCKS_PER_ROW):
            c = groups.row_articulations[k, side]
            if c >= 0:
                for b in range(groups.first_body[c], groups.first_body[c + 1]):
                    sleep.at_rest[groups.bodies[b]] = at_rest


@kernel
def hold_bodies_at_rest(system, sleep, groups, q):
    """Restore the quaternions of bodies at rest: normalization may change their last bits in every step."""
    quaternions = system.tree.quaternions
    for k in range(len(quaternions)):
        if sleep.at_rest[groups.body_of_coordinate[quaternions[k].iv]]:
            for j in range(quaternions[k].iq, quaternions[k].iq + 4):
                q[j] = sleep.q[j]
