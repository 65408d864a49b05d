"""Sleeping islands: an island whose problem is that of a step that ended at rest keeps the impulses of that step.

The impulses of an island of contacts are a function of its coordinates q and of its velocities v* without impulses; for
the same q and v*, the solution is the same.  An articulation is *calm* in a step whose impulses take away its kinetic
energy:

    T(v') <= REST^2 T(v*).

An island whose articulations are calm for two steps is *at rest*: in the second step, v* is due to the forces of one
step alone.  Its velocities v' are then set to 0 and its q, v* and impulses are stored.  In the next step it sleeps, and
keeps these impulses and v' = 0, if no bit of its q and v* has changed, and if it touches nothing that is awake.  All
forces on a body, gravity, springs, signals and those of programs, are in its v*.  Hence whatever changes the problem
wakes the island in the step in which it does, and nothing has to be known about the cause.

REST is far above round-off, and far below the relative velocities that the solver resolves: a body on an incline whose
friction is too small by one part in 1e9 gains more than REST v* in a step, and does not sleep.

Islands with constraint rows in the problem (active limits, and loops and couplings that the method does not eliminate)
or dry friction of joints do not sleep.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.problem import BLOCKS_PER_ROW, PER_CONTACT
from multibody_cli.contact_solver.warm_start import load_axial_impulses
from multibody_cli.kernel import kernel
from multibody_cli.model import Floats, Integers
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import power
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.articulated_body import load_motion_change, rigid_body_inertia

REST = 1e-10
"""Speed after a step, relative to that without impulses, below which a body is at rest."""


class Sleep(NamedTuple):
    """State of sleeping bodies, for l bodies; an articulation is numbered by `islands.find_articulations`."""

    q: Annotated[Floats, "nq"]  # coordinates in the last step
    v: Annotated[Floats, "nv"]  # velocities v* in the last step
    calm: Annotated[Integers, "l"]  # whether a body was calm in the last step
    at_rest: Annotated[Integers, "l"]  # whether the island of a body was at rest at the end of the last step
    awake: Annotated[Integers, "l"]  # whether an articulation has changed, or is not calm
    asleep: Annotated[Integers, "l"]  # whether an articulation sleeps in this step
    island_asleep: Annotated[Integers, "l"]  # whether an island sleeps in this step


@kernel
def wake_all(S):
    """Wake all bodies: there are no contacts."""
    for i in range(len(S.at_rest)):
        S.calm[i] = S.at_rest[i] = 0


# --- before the solution --------------------------------------------------------------------------------------------
@kernel
def find_sleeping_islands(system, contact_work, q, v, articulations, islands, first):
    """Find the islands that sleep; contacts have the rows from `first` on, and v (nv,) is v*."""
    S, G = contact_work.sleep, contact_work.groups
    for c in range(articulations):
        S.awake[c] = S.asleep[c] = 0
    for island in range(islands):
        S.island_asleep[island] = 0
    if not system.contacts.options.sleeping:
        return
    for i in range(1, len(S.at_rest)):
        if not S.at_rest[i]:
            S.awake[G.articulation[i]] = 1
    wake_changed_articulations(system.tree, q, v, G, S)
    wake_separated_articulations(system.contacts.geometry.geoms, contact_work, G, S)
    for island in range(islands):
        if all_rest(island, first, G, S):
            S.island_asleep[island] = 1
            for i in range(G.first_row[island], G.first_row[island + 1]):
                for side in range(BLOCKS_PER_ROW):
                    if G.row_articulations[G.rows[i], side] >= 0:
                        S.asleep[G.row_articulations[G.rows[i], side]] = 1


@kernel
def wake_changed_articulations(tree, q, v, G, S):
    """Wake the articulations whose q or v* differ from those of the last step."""
    plain, quaternions = tree.plain, tree.quaternions
    for k in range(len(plain)):
        if q[plain[k].iq] != S.q[plain[k].iq]:
            wake(G.body_of_coordinate[plain[k].iv], G, S)
    for k in range(len(quaternions)):
        for j in range(quaternions[k].iq, quaternions[k].iq + 4):
            if q[j] != S.q[j]:
                wake(G.body_of_coordinate[quaternions[k].iv], G, S)
    for j in range(len(v)):
        if v[j] != S.v[j]:
            wake(G.body_of_coordinate[j], G, S)


@kernel
def wake_separated_articulations(geoms, contact_work, G, S):
    """Wake the articulations that have lost a pressed contact."""
    for k in range(contact_work.warm_start_count[0]):
        point = contact_work.warm_start[k]
        if point.successor < 0 and point.axial[0] > 0.0:
            wake(geoms[point.geom_a].body, G, S)
            wake(geoms[point.geom_b].body, G, S)


@kernel
def wake(body, G, S):
    """Wake the articulation of a body; 0 is the ground."""
    if body > 0:
        S.awake[G.articulation[body]] = 1


@kernel
def keep_impulses(contact_work, islands, first):
    """Load the impulses of sleeping contacts unchanged, and mark the impulses of their islands as converged."""
    S, G = contact_work.sleep, contact_work.groups
    for island in range(islands):
        reset_island(island, contact_work)
        contact_work.converged[island] = S.island_asleep[island] or is_solved(island, G)
    for k in range(contact_work.warm_start_count[0]):
        point = contact_work.warm_start[k]
        if point.successor >= 0 and contact_sleeps(first + PER_CONTACT * point.successor, G, S):
            load_axial_impulses(point, contact_work.x, first + PER_CONTACT * point.successor)


@kernel
def reset_island(island, contact_work):
    """Set the diagnostics of an island to those of a solved one."""
    contact_work.island_steps[island] = 0
    contact_work.island_failed[island] = contact_work.island_jams[island] = 0
    contact_work.island_residual[island] = 0.0


@kernel
def is_solved(island, G) -> bool:
    """Return whether passes over a tree have solved an island."""
    k, solved = G.rows[G.first_row[island]], False
    for side in range(BLOCKS_PER_ROW):
        solved = solved or (G.row_articulations[k, side] >= 0 and G.solved[G.row_articulations[k, side]] != 0)
    return solved


@kernel
def all_solved(islands, contact_work) -> bool:
    """Return whether passes over trees have solved all islands that are left."""
    solved = True
    for island in range(islands):
        solved = solved and is_solved(island, contact_work.groups)
    return solved


@kernel
def contact_sleeps(k, G, S) -> bool:
    """Return whether the contact with a row k sleeps."""
    a, b = G.row_articulations[k, 0], G.row_articulations[k, 1]
    return (a >= 0 and S.asleep[a] != 0) or (b >= 0 and S.asleep[b] != 0)


# --- after the solution ---------------------------------------------------------------------------------------------
@kernel
def settle(system, work, contact_work, q, v, articulations, islands, first):
    """Stop the islands at rest: the changes `work.response` (nv,) of their velocities become -v*."""
    S, G = contact_work.sleep, contact_work.groups
    if not system.contacts.options.sleeping:
        return
    for c in range(articulations):
        S.awake[c] = not S.asleep[c] and not stays_calm(c, system.tree.links, work.bodies, G, S)
    for i in range(len(S.at_rest)):
        S.at_rest[i] = 0
    for island in range(islands):
        if S.island_asleep[island] or (not contact_work.island_failed[island] and all_rest(island, first, G, S)):
            set_at_rest(island, 1, G, S)
    for j in range(len(v)):
        S.v[j] = v[j]
        if S.at_rest[G.body_of_coordinate[j]]:
            work.response[j] = -v[j]
    for k in range(len(q)):
        S.q[k] = q[k]


@kernel
def stays_calm(c, links, bodies, G, S) -> bool:
    """Return whether an articulation is calm in this step and was calm in the last one."""
    before, after, was_calm = 0.0, 0.0, True
    for i in range(G.first_body[c], G.first_body[c + 1]):
        body, was_calm = bodies[G.bodies[i]], was_calm and S.calm[G.bodies[i]] != 0
        V, inertia = Motion(load(body.w), load(body.v)), rigid_body_inertia(links[G.bodies[i]], body)
        before += power(V, inertia @ V)
        V = V + load_motion_change(body)
        after += power(V, inertia @ V)
    calm = after <= REST * REST * before
    for i in range(G.first_body[c], G.first_body[c + 1]):
        S.calm[G.bodies[i]] = calm
    return calm and was_calm


@kernel
def all_rest(island, first, G, S) -> bool:
    """Return whether an island has rows of contacts alone, and no articulation that is awake."""
    for i in range(G.first_row[island], G.first_row[island + 1]):
        if G.rows[i] < first:
            return False
        for side in range(BLOCKS_PER_ROW):
            if G.row_articulations[G.rows[i], side] >= 0 and S.awake[G.row_articulations[G.rows[i], side]]:
                return False
    return True


@kernel
def set_at_rest(island, at_rest, G, S):
    """Set whether the bodies of an island are at rest."""
    for i in range(G.first_row[island], G.first_row[island + 1]):
        for side in range(BLOCKS_PER_ROW):
            c = G.row_articulations[G.rows[i], side]
            if c >= 0:
                for k in range(G.first_body[c], G.first_body[c + 1]):
                    S.at_rest[G.bodies[k]] = at_rest


@kernel
def hold_bodies_at_rest(system, contact_work, q):
    """Restore the quaternions of bodies at rest: normalization may change their last bits in every step."""
    S, quaternions = contact_work.sleep, system.tree.quaternions
    for k in range(len(quaternions)):
        if S.at_rest[contact_work.groups.body_of_coordinate[quaternions[k].iv]]:
            for j in range(quaternions[k].iq, quaternions[k].iq + 4):
                q[j] = S.q[j]
