"""Impacts and jams of contacts that are edges of passes over trees (`edges`).

Contacts separate at -e u_n.  The laws of `impacts` hold: a single contact of an island that is pressed has the impulse
of its path.  It is a given impulse on its bodies, and the passes solve for the joints and all other edges beside it.
The path has the responses of the contact in the mechanism, three passes without friction of joints.

Impulses that add energy, that act across a gap, or that press a contact that is held (`impact_order`) leave the step to
rows, as do paths beside equalities, and joints that wedge: their loads have several solutions, and rows begin with the
smallest.
"""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import IMPACT_SPEED, jacobian_product_of_row
from multibody_cli.contact_solver.edges import add_change_of_row, apply_unit_impulse
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.friction_states import slide_without_friction
from multibody_cli.contact_solver.impact_order import TIE
from multibody_cli.contact_solver.impact_path import follow_impact
from multibody_cli.contact_solver.impacts import CENTRAL, ENERGETIC, ROUND_OFF
from multibody_cli.contact_solver.results import AT_LIMIT
from multibody_cli.contact_solver.tree_motion import solve_motion
from multibody_cli.kernel import formula, kernel

WEDGED = 10.0
"""Impulse of a contact, relative to that of its path and that without friction, beyond which joints may wedge."""


@formula
def is_contact(edges, e):
    """Return whether an edge is a contact, not a resistance of one."""
    return edges.edges[e].rows == PER_CONTACT and edges.edges[e].load == e


@formula
def velocity_without_impulses(k, step):
    """Return the velocity of a row without impulses, gap and rebound."""
    return step.r[k] - step.closing[k] - step.rebound[k]


@kernel
def rebounds(contact_work) -> bool:
    """Return whether an edge rebounds."""
    edges, found = contact_work.tree_friction.edges, False
    for e in range(edges.number[0]):
        found = found or contact_work.step.rebound[edges.edges[e].row] != 0.0
    return found


# --- responses of one contact -----------------------------------------------------------------------------------------
@kernel
def keep_states(contact_work):
    """Keep the states of all joints, and let them slide without friction."""
    passes = contact_work.tree_friction
    for p in range(len(passes.state)):
        passes.kept_state[p] = passes.state[p]
    slide_without_friction(contact_work.joint_friction, passes)


@kernel
def restore_states(passes):
    """Restore the states of `keep_states`."""
    for p in range(len(passes.state)):
        passes.state[p] = passes.kept_state[p]


@kernel
def find_jams(system, work, contact_work, h, v) -> bool:
    """Find contacts that slid and stop without a collision, and set `Edges.jams` as `solution.jams` does.

    Return whether there are any, so that the motion is to be computed again.  The responses are those of joints without
    friction.
    """
    passes, edges, before, found = (
        contact_work.tree_friction,
        contact_work.tree_friction.edges,
        contact_work.step.velocity_before,
        False,
    )
    for e in range(edges.number[0]):
        edge, x = edges.edges[e], edges.x[e]
        if not is_contact(edges, e) or math.hypot(x[1], x[2]) >= (1.0 - AT_LIMIT) * edge.mu * x[0]:
            continue
        along, across, least = before[edge.row + 1], before[edge.row + 2], IMPACT_SPEED * edges.rows[edge.row].speed
        speed = math.hypot(along, across)
        if not (speed > least and before[edge.row] > -least):
            continue
        if not found:
            keep_states(contact_work)
        found = True
        apply_unit_impulse(edges, e, 0, work.armature)
        if solve_motion(system, work, contact_work.joint_friction, passes, h, v):
            normal = add_change_of_row(0.0, edges, edge, 0, work.bodies, work.response)
            pressing = along * add_change_of_row(0.0, edges, edge, 1, work.bodies, work.response)
            pressing += across * add_change_of_row(0.0, edges, edge, 2, work.bodies, work.response)
            if normal * speed < edge.mu * pressing:
                edges.jams[0] = 1
    if found:
        restore_states(passes)
    return found


# --- a single contact -------------------------------------------------------------------------------------------------
@kernel
def follow_paths(system, work, contact_work, h, v) -> bool:
    """Set the given impulse of each contact that rebounds, and is all that is pressed in its island.

    Return whether there are any, so that the motion is to be computed again.
    """
    passes, groups, step = contact_work.tree_friction, contact_work.groups, contact_work.step
    edges, contacts, found = passes.edges, contact_work.detection.contacts, False
    for e in range(edges.number[0]):
        edge = edges.edges[e]
        if not has_path(e, edges, groups, step):
            continue
        if not found:
            keep_states(contact_work)
        found = regular = True
        for j in range(PER_CONTACT):
            apply_unit_impulse(edges, e, j, work.armature)
            regular = regular and solve_motion(system, work, contact_work.joint_friction, passes, h, v)
            for i in range(PER_CONTACT):
                edges.response[i, j] = add_change_of_row(0.0, edges, edge, i, work.bodies, work.response)
        if regular:
            c = (edge.row - step.sizes[0].first_contact) // PER_CONTACT
            give_impulse(e, contacts[c], edges, step)
    if found:
        restore_states(passes)
    return found


@kernel
def has_path(e, edges, groups, step) -> bool:
    """Return whether an edge is a contact that rebounds, and the only edge of its island that is pressed or resists."""
    island = groups.row_island[edges.edges[e].row]
    if not (step.rebound[edges.edges[e].row] != 0.0 and edges.x[e, 0] > 0.0 and is_contact(edges, e)):
        return False
    for other in range(edges.number[0]):
        edge = edges.edges[other]
        acts = edge.row >= step.sizes[0].equalities and (edges.x[other, 0] > 0.0 or edge.load != other)
        if other != e and acts and groups.row_island[edge.row] == island:
            return False
    return True


@kernel
def paths_meet_equalities(contact_work) -> bool:
    """Return whether an equality is in the island of a contact with a path: the responses of edges do not have it."""
    edges, groups, step = contact_work.tree_friction.edges, contact_work.groups, contact_work.step
    for other in range(edges.number[0]):
        if edges.edges[other].row < step.sizes[0].equalities:
            island = groups.row_island[edges.edges[other].row]
            for e in range(edges.number[0]):
                if groups.row_island[edges.edges[e].row] == island and has_path(e, edges, groups, step):
                    return True
    return False


@kernel
def give_impulse(e, contact, edges, step):
    """Set the given impulse of a contact with the responses of `Edges`, as `impacts.replace_by_path` does."""
    edge, k, W, impulse, velocity = edges.edges[e], edges.edges[e].row, edges.response, edges.given[e], edges.y
    if edge.mu * math.hypot(W[0, 1], W[0, 2]) <= CENTRAL * W[0, 0]:
        return
    for i in range(PER_CONTACT):
        velocity[i] = step.velocity_before[k + i]
    dissipated = follow_impact(W, edge.mu, contact.restitution, velocity, impulse)
    before, free, straight = step.velocity_before[k], velocity_without_impulses(k, step), 0.0
    for i in range(1, PER_CONTACT):
        straight -= 0.5 * impulse[i] * (step.velocity_before[k + i] + velocity[i])
    share = max(1.0 - max(free - before, 0.0) / (velocity[0] - before), 0.0)
    step.turned_work[k] = share * (dissipated - straight)
    edges.r[e, 0], step.x[k] = free - velocity[0], max(velocity[0] - free, 0.0) / W[0, 0]
    for i in range(PER_CONTACT):
        impulse[i] *= share
        edges.x[e, i] = impulse[i]


@kernel
def joints_wedge(edges, step) -> bool:
    """Return whether friction of joints multiplies the impulse of a contact, that of `step.x` without friction."""
    for e in range(edges.number[0]):
        if edges.given[e, 0] > 0.0 and edges.x[e, 0] > WEDGED * (edges.given[e, 0] + step.x[edges.edges[e].row]):
            return True
    return False


# --- all impacts ------------------------------------------------------------------------------------------------------
@kernel
def follows_law(work, contact_work, law) -> bool:
    """Return whether the impulses `step.x` of the edges obey the law of impact: no energy, and impacts in order."""
    groups, step, edges = contact_work.groups, contact_work.step, contact_work.tree_friction.edges
    contacts, own_delay = contact_work.detection.contacts, contact_work.impact_times.own_delay
    for e in range(edges.number[0]):
        c = (edges.edges[e].row - step.sizes[0].first_contact) // PER_CONTACT
        if is_contact(edges, e) and own_delay[c] > 0.0 and step.x[edges.edges[e].row] > 0.0:
            return False
    for island in range(groups.islands[0] if law == ENERGETIC else 0):
        if groups.has_other_rows[island]:
            continue
        island_rows, fastest = groups.rows[groups.first_row[island] : groups.first_row[island + 1]], 0.0
        for k in island_rows:
            if step.rebound[k] != 0.0:
                fastest = max(fastest, -step.velocity_before[k])
        if fastest > 0.0 and (
            acts_across_gap(island, TIE * fastest, edges, contacts, groups, step)
            or adds_energy(island_rows, step, work)
        ):
            return False
    return True


@kernel
def acts_across_gap(island, touching, edges, contacts, groups, step) -> bool:
    """Return whether a contact has an impulse whose bodies are apart, do not meet on their own, and do not rebound."""
    for e in range(edges.number[0]):
        k = edges.edges[e].row
        if is_contact(edges, e) and groups.row_island[k] == island and step.x[k] > 0.0:
            apart = step.closing[k] > touching and velocity_without_impulses(k, step) + step.closing[k] > 0.0
            if apart and not bodies_rebound(e, edges, contacts, step):
                return True
    return False


@kernel
def bodies_rebound(e, edges, contacts, step) -> bool:
    """Return whether the two bodies of a contact rebound from each other."""
    first, found = step.sizes[0].first_contact, False
    one = contacts[(edges.edges[e].row - first) // PER_CONTACT]
    for c in range(step.sizes[0].contacts):
        same = contacts[c].body_a == one.body_a and contacts[c].body_b == one.body_b
        found = found or (same and step.rebound[first + PER_CONTACT * c] != 0.0)
    return found


@kernel
def adds_energy(island_rows, step, work) -> bool:
    """Return whether the impulses of an island add energy to the motion before the step and to that without them."""
    sizes, by_before, by_free, size = step.sizes[0], 0.0, 0.0, 0.0
    for k in island_rows:
        is_load = sizes.constraint_rows <= k < sizes.first_contact and (k - sizes.constraint_rows) % PER_CONTACT == 0
        if k < sizes.equalities or is_load:
            continue
        free, x = velocity_without_impulses(k, step), step.x[k]
        before = free if k < sizes.constraint_rows else step.velocity_before[k]
        after = free + jacobian_product_of_row(step.rows[k], step.terms, work.bodies, work.response)
        by_before += 0.5 * x * (before + after)
        by_free += 0.5 * x * (free + after)
        size += abs(x) * (abs(before) + abs(after))
    return min(by_before, by_free) > ROUND_OFF * size
