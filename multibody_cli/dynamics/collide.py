"""Contacts in a time step: the velocities that all impulses of contact leave.

A step takes v to v* = v + h a under everything but contacts.  At each point where two bodies are near, with the gap g
and u_n, u_t the velocities of B's point against A's along the normal and across it, the impulses of the step make of
v* the velocity v' with

    u_n' + max(g, 0) / h >= 0      the bodies may come as near as they touch, and no nearer
    u_n' + e u_n >= 0              instead, of a point that meets the other body at u_n < 0 (Newton's restitution)

and Coulomb's law across (`dynamics.friction`).  Loops, constraints and limits that take part are rows of the same
problem, which falls into islands that touch each other.  What the impulse x along u takes from the motion is
-x (u + u') / 2, with u from before the step; it is booked as dissipation, by impact along normals, by friction across
them.

What is left of a penetration, as it will be at the end of the step, moves the bodies apart by the shortest way in the
metric of M, without a change of velocity.

Templates: `accelerate`, `respond` and `answer` stand for the kernels of a method (`bound_kernel`).

Sources: Sueda, notes 1.11 and 2.11; Stewart and Trinkle, Int. J. Numer. Methods Eng. 39 (1996).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from multibody_cli.constraints.rows import change_of_row, impel_row, velocity_of_row
from multibody_cli.contacts.detect import detect
from multibody_cli.dynamics import contact_solution
from multibody_cli.dynamics.closures import impel_closures
from multibody_cli.dynamics.configuration import displace, normalize
from multibody_cli.dynamics.contact_factors import factor_rows
from multibody_cli.dynamics.contact_islands import find_islands, find_mechanisms, find_sides, list_halves
from multibody_cli.dynamics.contact_memory import recall, remember
from multibody_cli.dynamics.contact_rows import PER_CONTACT, copy_rows, write_contacts
from multibody_cli.dynamics.contact_solution import solve_impulses, solve_parting
from multibody_cli.dynamics.idle_rows import idle_bound
from multibody_cli.dynamics.markers import hand_on
from multibody_cli.dynamics.restraint import (
    VELOCITY,
    accelerate,
    aim_nowhere,
    answer,
    clear_impulses,
    is_called,
    place,
)
from multibody_cli.kernel import bound_kernel, kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import dot, no_force

IMPACT = 1e-6
"""A point that comes nearer by less than this, m/s, rests: nothing of it is given back."""

NEARLY = 1e-9
"""Share of the limit of friction by which a contact may be below it and slip."""

STILL = 1e-10
"""A point that moves by less than this across the normal, m/s, does not slip."""

OPEN, STICK, SLIP = range(3)


# --- what touches -------------------------------------------------------------------------------------------------
@kernel
def reach_of(geometry, bodies, margin, h):
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


# --- the problem --------------------------------------------------------------------------------------------------
@kernel
def call_static(rows, called):
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
def leave_room(touch, h, static, count):
    """Add to the velocities v* of contacts what gaps and restitution allow."""
    for c in range(count):
        contact, k = touch.found.contacts[c], static + PER_CONTACT * c
        arrives, approach = touch.r[k], touch.before[k]
        room = max(contact.gap, 0.0) / h
        if contact.restitution > 0.0 and approach < -IMPACT and arrives + room < 0.0:
            touch.r[k] += contact.restitution * approach
        else:
            touch.r[k] += room


def apply_impulses(system, work, touch, size):
    """The response of all coordinates to the impulses of all rows, into `work.response`."""
    clear_impulses(work)
    for k in range(size):
        impel_row(touch.rows[k], touch.terms, touch.x[k], work.wrenches, work.impulse)
    aim_nowhere(work)
    answer(system, work)


@kernel
def book(settings, touch, bodies, response, static, count, ledger):
    """Book what contacts dissipate, and keep impulses and velocities with each contact."""
    sides = settings.options.sides
    share = (1.0 - NEARLY) * (math.cos(math.pi / sides) if sides > 0 else 1.0)
    for c in range(count):
        contact, first = touch.found.contacts[c], static + PER_CONTACT * c
        for j in range(PER_CONTACT):
            k = first + j
            x = touch.x[k]
            touch.after[k] += change_of_row(touch.rows[k], touch.terms, bodies, response)
            contact.impulse[j] = x
            account = settings.friction_account if j > 0 else settings.impact_account
            ledger[account] -= 0.5 * x * (touch.before[k] + touch.after[k])
        contact.mode = mode_of(contact, share, touch.after[first + 1], touch.after[first + 2])


@kernel
def mode_of(contact, share, along, across):
    """Whether a contact is open, sticks, or slips: it moves, with that share of its limit of friction at least."""
    n, t, b = contact.impulse
    if n <= 0.0:
        return OPEN
    at_limit = math.sqrt(t * t + b * b) >= share * contact.friction * n
    return SLIP if at_limit and math.sqrt(along * along + across * across) > STILL else STICK


# --- a step -----------------------------------------------------------------------------------------------------------
def collide(system, work, touch, t, h, q, v, ledger):
    """Take the velocities v* that a step of h would have without contacts to those that it has, in place.

    False where there are more contacts than there is room for; then nothing has happened.
    """
    G = touch.groups
    count = find_contacts(system, work, touch, h)
    if touch.full[0]:
        return False
    if count == 0:
        touch.remembered[0] = 0
        return True
    contacts = touch.found.contacts
    equalities, limits = call_static(work.rows, touch.called)
    static = touch.static[0] = equalities + limits
    size = static + PER_CONTACT * count
    write_contacts(contacts, count, work.bodies, touch.rows, touch.terms, static, len(work.terms))
    find_velocities(touch, work.bodies, work.response, static, size, touch.before)
    place(system, t, q, v, touch.free, work)
    accelerate(system, work, work.response)
    copy_rows(touch.called, static, work.rows, work.terms, touch.rows, touch.terms)
    find_velocities(touch, work.bodies, v, 0, size, touch.r)
    for k in range(size):
        touch.after[k] = touch.r[k]
    leave_room(touch, h, static, count)
    mechanisms = find_mechanisms(system.tree, work.rows, work.terms, G)
    find_sides(static, touch.rows, touch.terms, contacts, count, G)
    list_halves(size, mechanisms, G)
    islands = find_islands(size, mechanisms, G)
    bound_idle(system.tree, work, touch, static)
    if not factor_rows(system, work, v, mechanisms, touch.rows, touch.terms, G, touch.factors):
        touch.full[0] = 1
        return False
    for k in range(static):
        touch.x[k] = 0.0
    recall(contacts, count, touch.points, touch.remembered, touch.x[static:size])
    solve_impulses(system.contacts.options, touch, equalities, static, islands)
    apply_impulses(system, work, touch, size)
    book(system.contacts, touch, work.bodies, work.response, static, count, ledger)
    remember(contacts, count, touch.points, touch.remembered)
    for j in range(len(v)):
        v[j] += work.response[j]
    if solve_parting(system.contacts, touch, h, static, islands):
        apply_impulses(system, work, touch, size)
        displace(system.tree, q, work.response, 1.0)
        normalize(system.tree, q)
    return True


@cache
def bind(owner: str, place: Any, accelerate: Any, respond: Any, solver: str) -> Any:
    """Bind the step of contacts to a method's kernels, and to one of `contact_solution.SOLVERS`."""
    answer_ = bound_kernel(answer, owner, respond=respond)
    return bound_kernel(
        collide,
        owner,
        place=place,
        accelerate=accelerate,
        solve_impulses=contact_solution.bind(solver),
        factor_rows=bound_kernel(factor_rows, owner, respond=respond),
        apply_impulses=bound_kernel(apply_impulses, owner, answer=answer_),
    )


# --- for output -------------------------------------------------------------------------------------------------------
@kernel
def find_pushes(work, touch, h):
    """What the impulses of the last step, over its length, push the bodies with."""
    clear_impulses(work)
    for c in range(touch.number[0]):
        for j in range(PER_CONTACT):
            row = touch.rows[touch.static[0] + PER_CONTACT * c + j]
            impel_row(row, touch.terms, touch.found.contacts[c].impulse[j] / h, work.wrenches, work.impulse)
    for i in range(1, len(work.pushes)):
        store_force(work.pushes[i], load_force(work.wrenches[i]))


@kernel
def push_contacts(work):
    """Push the bodies as the contacts do."""
    for i in range(1, len(work.pushes)):
        store_force(work.bodies[i], load_force(work.bodies[i]) - load_force(work.pushes[i]))


@kernel
def push_no_more(work):
    """Contacts push nothing."""
    for i in range(1, len(work.pushes)):
        store_force(work.pushes[i], no_force())
