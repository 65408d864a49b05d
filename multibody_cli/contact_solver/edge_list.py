"""Rows of a step that are edges of a pass over trees with joint friction (`edges`); islands that have other rows."""

from __future__ import annotations

import math

from multibody_cli.contact_solver.edges import term_of
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.impacts import PROPAGATING
from multibody_cli.contact_solver.islands import is_other_row, island_number, mark_islands
from multibody_cli.contact_solver.laws import COULOMB, EQUALITY, ONE_SIDED
from multibody_cli.contact_solver.resistance import normal_of
from multibody_cli.contact_solver.results import AT_LIMIT
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import cross, dot, power, shift_force
from multibody_cli.tree.articulated_body import rigid_body_inertia
from multibody_cli.tree.jacobian import column_of

STAYS_OPEN = 1e-3
"""Velocity with the gap, relative to that without impulses, above which a contact is expected to stay open."""

INTERNAL = 1e-20
"""Largest square of the sum of two wrenches, relative to theirs, at which they are action and reaction."""


@kernel
def list_edges(system, work, contact_work, equalities, constraint_rows, count, islands):
    """List the edges of all islands that have friction patches, and whose other rows are edges.

    Islands that have others are marked in `Groups.has_other_rows`, as are impacts that pass on.
    """
    groups, passes, edges = contact_work.groups, contact_work.tree_friction, contact_work.tree_friction.edges
    patches, options, step = len(contact_work.joint_friction.limit), system.contacts.options, contact_work.step
    first = step.sizes[0].first_contact
    edges.number[0] = 0
    for i in range(islands):
        groups.has_other_rows[i] = 1
    for p in range(patches):
        groups.has_other_rows[island_number(constraint_rows + PER_CONTACT * p, groups)] = 0
    for k in range(constraint_rows + PER_CONTACT * patches, first, PER_CONTACT):
        groups.has_other_rows[island_number(k, groups)] = 1  # a brake of a combination or of a path
    for r in range(len(work.rows)):
        if work.rows[r].primary and is_other_row(work.rows[r], passes.satisfied_by_tree[r]):
            mark_islands(work.rows[r], work.terms, groups)
    for adds in (False, True):
        edges.pair_count[0] = 0
        for k in range(constraint_rows):
            if not passes.satisfied_by_tree[contact_work.step.active_rows[k]]:
                law = EQUALITY if k < equalities else ONE_SIDED
                take_edge(adds, k, 1, law, 0.0, k, system.tree.links, groups, work, edges)
        for c in range(count):
            k = first + PER_CONTACT * c
            passes_on = options.impacts == PROPAGATING and contact_work.step.rebound[k] != 0.0
            if not passes_on:
                mu = contact_work.detection.contacts[c].friction
                take_edge(adds, k, PER_CONTACT, options.law, mu, k, system.tree.links, groups, work, edges)
            else:
                groups.has_other_rows[island_number(k, groups)] = 1
        for i in range(step.sizes[0].resistances):
            k, rows = first + PER_CONTACT * (count + i), 2 if step.resistances[i].spins else PER_CONTACT
            mu = step.resistances[i].coefficient
            take_edge(adds, k, rows, COULOMB, mu, normal_of(i, step), system.tree.links, groups, work, edges)


@kernel
def take_edge(adds, row, count, law, mu, load, links, groups, work, edges):
    """Add the edge of `count` rows from `row` on, with the load of row `load`, or mark its island if it cannot be one.

    If it is not loaded by itself, its first row is that of its load, and has no impulse.
    """
    number = island_number(row, groups)
    if number < 0 or groups.has_other_rows[number]:
        return
    first, term, pair = row if load == row else row + 1, term_of(edges, row), -1
    w = response_alone(edges, first, row + count - first, links, groups.body_of_coordinate, work)
    connects = edges.rows[row].last_term > edges.rows[row].first_term + 1
    if connects and w > 0.0:
        other = edges.terms[edges.rows[row].first_term + 1].body
        pair = pair_of(edges, term.body, other, -1 if is_internal(edges, row, count, work.bodies) else edges.number[0])
    if not w > 0.0 or (connects and pair < 0):
        groups.has_other_rows[number] = 1
    elif adds:
        edge = edges.edges[edges.number[0]]
        edge.row, edge.rows, edge.law, edge.mu, edge.w, edge.share = row, count, law, mu, w, 1.0
        edge.coordinate, edge.pair = term.iv, pair
        edge.body = edges.pairs[pair, 0] if connects else term.body
        edge.load = edges.number[0]
        while edges.edges[edge.load].row != load:
            edge.load -= 1
        edges.number[0] += 1


@kernel
def pair_of(edges, a, b, edge) -> int:
    """Return the number of a pair of bodies, which is added if it is new; -1 if there are too many.

    `edge` is the only edge of the pair, or -1 if all edges that are action and reaction share it.
    """
    for p in range(edges.pair_count[0]):
        same = (edges.pairs[p, 0] == a and edges.pairs[p, 1] == b) or (
            edges.pairs[p, 0] == b and edges.pairs[p, 1] == a
        )
        if same and edge < 0 and edges.edge_of_pair[p] < 0:
            return p
    p = edges.pair_count[0]
    if p == len(edges.pairs):
        return -1
    edges.pairs[p, 0], edges.pairs[p, 1], edges.edge_of_pair[p] = a, b, edge
    edges.pair_count[0] += 1
    return p


@kernel
def response_alone(edges, row, count, links, body_of_coordinate, work) -> float:
    """Return the largest response of rows if their bodies were free; 0 if that is infinite, or for no edge."""
    largest = 0.0
    for k in range(row, row + count):
        first, last = edges.rows[k].first_term, edges.rows[k].last_term
        if edges.terms[first].iv >= 0 and last == first + 1:
            return response_of_coordinate(edges.terms[first], links, body_of_coordinate, work)
        if last > first + 2 or (edges.terms[first].body == edges.terms[last - 1].body and last > first + 1):
            return 0.0
        w = 0.0
        for j in range(first, last):
            term = edges.terms[j]
            if term.iv >= 0:
                return 0.0
            link, W = links[term.body], load_force(term)
            inertia = link.central[0] + link.central[3] + link.central[5]
            if not (link.mass > 0.0 and inertia > 0.0):
                return 0.0
            moment = W.t - cross((1.0 / link.mass) * load(work.bodies[term.body].h), W.f)
            w += dot(W.f, W.f) / link.mass + dot(moment, moment) / inertia
        largest = max(largest, w)
    return largest


@kernel
def response_of_coordinate(term, links, body_of_coordinate, work) -> float:
    """Return the response of a term at a coordinate if its body were free; 0 if that is infinite."""
    S = column_of(work.columns[term.iv])
    i = body_of_coordinate[term.iv]
    inertia = power(S, rigid_body_inertia(links[i], work.bodies[i]) @ S) + work.armature[term.iv]
    return term.coefficient * term.coefficient / inertia if inertia > 0.0 else 0.0


@kernel
def is_internal(edges, row, count, bodies) -> bool:
    """Return whether the wrenches of rows on two bodies are action and reaction, up to round-off."""
    for k in range(row, row + count):
        one, other = edges.terms[edges.rows[k].first_term], edges.terms[edges.rows[k].first_term + 1]
        r = load(bodies[one.body].x) - load(bodies[other.body].x)
        W, back = load_force(one), load_force(other)
        total = shift_force(W, r) + back
        arm = dot(W.t, W.t) + dot(back.t, back.t) + dot(r, r) * dot(W.f, W.f)
        if not (dot(total.f, total.f) <= INTERNAL * dot(W.f, W.f) and dot(total.t, total.t) <= INTERNAL * arm):
            return False
    return True


# --- guess ------------------------------------------------------------------------------------------------------------
@kernel
def guess_edges(edges, contact_work):
    """Begin with the impulses of the last step; sliding contacts slide on with their speed, and sticking ones stick.

    A contact without impulse stays open if the velocity before the step does not close its gap.  Without impulses all
    contacts of a machine that lies on some of them close, and more of them than the machine has degrees of freedom.
    """
    for e in range(edges.number[0]):
        edge, pressed, x, u = edges.edges[e], False, edges.x[e], edges.u[e]
        for j in range(PER_CONTACT):
            x[j] = u[j] = edges.r[e, j] = edges.given[e, j] = 0.0
        for j in range(edge.rows):
            k = edge.row + j
            edges.r[e, j] = contact_work.step.r[k]
            x[j], u[j] = contact_work.step.x[k], 0.0
            if edge.rows == 1:
                edges.given[e, j] = -edges.rows[k].multiplier
            pressed = pressed or x[j] != edges.given[e, j]
        load = edges.x[edge.load, 0]
        if edge.load != e:
            pressed = load != 0.0
        if not pressed:
            for j in range(edge.rows):
                u[j] = edges.r[e, j]
            k = edge.row
            before = contact_work.step.velocity_before[k] + contact_work.step.closing[k] + contact_work.step.rebound[k]
            if edge.rows > 1 and edge.load == e and before > STAYS_OPEN * abs(u[0]):
                u[0] = before
        elif edge.rows > 1 and math.hypot(x[1], x[2]) >= (1.0 - AT_LIMIT) * edge.mu * load:
            u[1], u[2] = (
                contact_work.step.velocity_before[edge.row + 1],
                contact_work.step.velocity_before[edge.row + 2],
            )
