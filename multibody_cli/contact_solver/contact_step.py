"""Contacts and dry friction in a time step: the velocities that their impulses leave.

A step takes v to v* = v + h a under everything but contacts.  At each point where two bodies are near, with the gap g
and u_n, u_t the velocities of B's point against A's along the normal and across it, the impulses of the step make of
v* the velocity v' with

    u_n' + max(g, 0) / h >= 0      the bodies may come as near as they touch, and no nearer
    u_n' + e u_n >= 0              instead, of a point that meets the other body at u_n < 0 (Newton's restitution)

and Coulomb's law across (`contact_solver.friction`).  Loops, constraints and limits that take part are rows of the same
problem, which falls into islands that touch each other.  Equalities stay as v* has them: it meets them where the step
ends, and not where it begins.  What the impulse x along u takes from the motion is
-x (u + u') / 2, with u from before the step; it is booked as dissipation, by impact along normals, by friction across
them.

Pads of joints with friction are rows of it as well (`contact_solver.joint_friction`).  Their limits depend on the
impulses: these are solved for with the limits of the step before, the limits that they bring about are put in their
place, and so on until they agree.  A pad that sticks agrees with any limit that it does not reach.

What is left of a penetration, as it will be at the end of the step, moves the bodies apart by the shortest way in the
metric of M, without a change of velocity.

Templates: `accelerate`, `respond` and `answer` stand for the kernels of a method (`bound_kernel`), `find_contacts`,
`carry` and `settle` for what a scene without contacts, or without friction in joints, leaves out.

Sources: Sueda, notes 1.11 and 2.11 (bilateral staggered projections); Stewart and Trinkle, Int. J. Numer. Methods Eng.
39 (1996).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from multibody_cli.constraint_solver.ineffective_rows import idle_bound
from multibody_cli.constraint_solver.loop_joints import impel_closures
from multibody_cli.constraint_solver.solver import (
    VELOCITY,
    accelerate,
    aim_nowhere,
    answer,
    clear_impulses,
    is_called,
    place,
)
from multibody_cli.constraints.rows import impel_row, velocity_of_row
from multibody_cli.contact_solver import solution
from multibody_cli.contact_solver.accounting import book, book_drives, tell
from multibody_cli.contact_solver.factors import factor_rows
from multibody_cli.contact_solver.islands import find_islands, find_mechanisms, find_sides, list_halves
from multibody_cli.contact_solver.joint_friction import carry, transmit_impulses, write_pads
from multibody_cli.contact_solver.joint_friction_step import (
    begin_rounds,
    book_pads,
    carry_nothing,
    settle,
    settle_nothing,
)
from multibody_cli.contact_solver.rows import PER_CONTACT, TERMS, copy_rows, impel_all, write_contacts
from multibody_cli.contact_solver.solution import solve_impulses, solve_parting
from multibody_cli.contact_solver.warm_start import recall, remember
from multibody_cli.contacts.detect import detect
from multibody_cli.kernel import bound_kernel, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import dot
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.markers import hand_on

IMPACT = 1e-6
"""A point that comes nearer by less than this, m/s, rests: nothing of it is given back."""


# --- what touches -------------------------------------------------------------------------------------------------
@kernel
def reach_of(geometry, bodies, margin, h) -> float:
    """How near two bodies must be for a contact to count: what the fastest of them covers in two steps."""
    geoms, fastest = geometry.geoms, 0.0
    for g in range(len(geoms)):
        body = bodies[geoms[g].body]
        w, v = load(body.w), load(body.v)
        if geoms[g].body > 0:
            arm = math.sqrt(dot(load(geoms[g].x), load(geoms[g].x))) + geoms[g].reach
            fastest = max(fastest, math.sqrt(dot(v, v)) + math.sqrt(dot(w, w)) * arm)
    g = load(bodies[0].a)
    return margin + 2.0 * h * (fastest + h * math.sqrt(dot(g, g)))


@kernel
def find_contacts(system, work, touch, h):
    """Find the contacts of the placed bodies; how many."""
    geometry, bodies = system.contacts.geometry, work.bodies
    count, overflow = detect(geometry, bodies, reach_of(geometry, bodies, system.contacts.margin, h), touch.found)
    touch.full[0] = overflow != 0
    touch.number[0] = count = min(count, len(touch.found.contacts))
    return count


@kernel
def find_none(system, work, touch, h):
    """Nothing touches."""
    return 0


# --- the problem --------------------------------------------------------------------------------------------------
@kernel
def call_static(rows, called) -> tuple[int, int]:
    """List the rows that take part beside contacts, equalities first; how many of both kinds there are."""
    count = 0
    for r in range(len(rows)):
        if not rows[r].primary and not rows[r].one_sided and is_called(rows[r], VELOCITY):
            called[count] = r
            count += 1
    equalities = count
    for r in range(len(rows)):
        if rows[r].one_sided and is_called(rows[r], VELOCITY):
            called[count] = r
            count += 1
    return equalities, count - equalities


@kernel
def bound_idle(tree, work, touch, static):
    """What each row beside contacts must answer to itself at least, so that it counts."""
    for k in range(static):
        clear_impulses(work)
        impel_row(touch.rows[k], touch.terms, 1.0, work.wrenches, work.impulse)
        impel_closures(tree, work.impulse, work)
        hand_on(tree, work.wrenches)
        touch.least[k] = idle_bound(tree.links, work, 0.0)


@kernel
def find_velocities(touch, bodies, v, first, last, u):
    """Velocities of the rows [first, last)."""
    for k in range(first, last):
        u[k] = velocity_of_row(touch.rows[k], touch.terms, bodies, v)


@kernel
def leave_room(touch, h, first, count):
    """Add to the velocities v* of contacts, with rows from `first` on, what gaps and restitution allow."""
    for c in range(count):
        contact, k = touch.found.contacts[c], first + PER_CONTACT * c
        arrives, approach = touch.r[k], touch.before[k]
        room = max(contact.gap, 0.0) / h
        if contact.restitution > 0.0 and approach < -IMPACT and arrives + room < 0.0:
            touch.r[k] += contact.restitution * approach
        else:
            touch.r[k] += room


@kernel
def recall_all(touch, static, count):
    """The guess: no impulses of other rows, and those of the step before of pads and contacts."""
    for k in range(static):
        touch.x[k] = 0.0
    rubbed = touch.journals.rubbed
    first = static + PER_CONTACT * len(rubbed)
    for k in range(static, first):
        touch.x[k] = rubbed[(k - static) // PER_CONTACT, (k - static) % PER_CONTACT]
    last = first + PER_CONTACT * count
    recall(touch.found.contacts, count, touch.points, touch.remembered, touch.x[first:last])


def apply_impulses(system, work, touch, size):
    """The response of all coordinates to the impulses of all rows, into `work.response`."""
    impel_all(work, touch, size)
    aim_nowhere(work)
    answer(system, work)


# --- a step -----------------------------------------------------------------------------------------------------------
def collide(system, work, touch, t, h, q, v, ledger) -> bool:
    """Take the velocities v* that a step of h would have without contacts and friction to those that it has, in place.

    False where there are more contacts than there is room for: then nothing has happened to q, v and the ledger.
    """
    G, settings, pads = touch.groups, system.contacts, system.contacts.journals.pads
    carry(pads, system.tree, work, touch.journals)
    count = find_contacts(system, work, touch, h)
    if touch.full[0]:
        return False
    if count + len(pads) == 0:
        touch.remembered[0] = 0
        return True
    contacts = touch.found.contacts
    equalities, limits = call_static(work.rows, touch.called)
    static = touch.static[0] = equalities + limits
    first = static + PER_CONTACT * len(pads)
    size, term = first + PER_CONTACT * count, len(work.terms)
    write_pads(pads, work.bodies, touch.rows, touch.terms, static, term)
    term += PER_CONTACT * TERMS * len(pads)
    write_contacts(contacts, count, work.bodies, touch.rows, touch.terms, first, term)
    find_velocities(touch, work.bodies, work.response, static, size, touch.before)
    place(system, t, q, v, touch.free, work)
    accelerate(system, work, work.response)
    copy_rows(touch.called, static, work.rows, work.terms, touch.rows, touch.terms)
    find_velocities(touch, work.bodies, v, 0, size, touch.r)
    for k in range(size):
        touch.after[k] = touch.r[k]
    for k in range(equalities):
        touch.r[k] = 0.0
    leave_room(touch, h, first, count)
    mechanisms = find_mechanisms(system, work, G)
    find_sides(static, touch.rows, touch.terms, pads, contacts, count, G)
    list_halves(size, mechanisms, touch.rows, G)
    islands = find_islands(size, mechanisms, G)
    bound_idle(system.tree, work, touch, static)
    if not factor_rows(system, work, v, mechanisms, touch.rows, touch.terms, G, touch.factors):
        touch.full[0] = 1
        return False
    recall_all(touch, static, count)
    begin_rounds(touch.journals)
    for island in range(islands):
        touch.settled[island] = 0
    for _ in range(settings.options.sweeps):
        solve_impulses(settings.options, touch, equalities, static, islands)
        apply_impulses(system, work, touch, size)
        if not settle(system, work, touch, h, static, size, settings.options.tolerance):
            break
    tell(touch, islands)
    book_pads(pads, touch, work.bodies, work.response, static, ledger)
    book(settings, touch, work.bodies, work.response, first, count, ledger)
    if len(system.motions.rows) > 0:
        transmit_impulses(system.tree, touch, static, size, work)
        book_drives(system.motions, work, v, ledger)
    remember(contacts, count, touch.points, touch.remembered)
    for j in range(len(v)):
        v[j] += work.response[j]
    if count > 0 and solve_parting(settings, touch, h, static, islands):
        apply_impulses(system, work, touch, size)
        displace(system.tree, q, work.response, 1.0)
        normalize(system.tree, q)
    return True


@cache
def bind(place: Any, accelerate: Any, respond: Any, solver: str, touches: bool, rubs: bool) -> Any:
    """Bind the step of contacts to a method's kernels, to one of `solution.SOLVERS`, and to what there is."""
    answer_ = bound_kernel(answer, respond=respond)
    return bound_kernel(
        collide,
        place=place,
        accelerate=accelerate,
        solve_impulses=solution.bind(solver),
        factor_rows=bound_kernel(factor_rows, respond=respond),
        apply_impulses=bound_kernel(apply_impulses, answer=answer_),
        find_contacts=find_contacts if touches else find_none,
        carry=carry if rubs else carry_nothing,
        settle=settle if rubs else settle_nothing,
    )
