"""Contacts in a time step: the velocities that all impulses of contact leave.

A step takes v to v* = v + h a under everything but contacts.  At each point where two bodies are near, with the gap g
and u_n, u_t the velocities of B's point against A's along the normal and across it, the impulses of the step make of
v* the velocity v' with

    u_n' + max(g, 0) / h >= 0      the bodies may come as near as they touch, and no nearer
    u_n' + e u_n >= 0              instead, of a point that meets the other body at u_n < 0 (Newton's restitution)

and Coulomb's law across (`dynamics.friction`).  Loops, constraints and limits that take part are rows of the same
problem.  What the impulse x along u takes from the motion is -x (u + u') / 2, with u from before the step; it is booked
as dissipation, by impact along normals, by friction across them.

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
from multibody_cli.dynamics.closures import follow_closures, impel_closures
from multibody_cli.dynamics.configuration import displace, normalize
from multibody_cli.dynamics.contact_rows import PER_CONTACT, write_contacts
from multibody_cli.dynamics.friction.islands import solve_contacts
from multibody_cli.dynamics.idle_rows import idle_bound
from multibody_cli.dynamics.markers import follow_markers, hand_on
from multibody_cli.dynamics.multipliers import SOLVED, solve_multipliers
from multibody_cli.dynamics.restraint import (
    VELOCITY,
    accelerate,
    aim_nowhere,
    answer,
    clear_impulses,
    is_called,
    place,
    respond,
)
from multibody_cli.kernel import bound_kernel, kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import dot

IMPACT = 1e-6
"""A point that comes nearer by less than this, m/s, rests: nothing of it is given back."""

PENETRATION = 1e-15
"""A penetration, m, that is left alone."""

NEARLY = 1e-9
"""Share of the limit of friction by which a contact may be below it and slip."""

STILL = 1e-10
"""A point that moves by less than this across the normal, m/s, does not slip."""

OPEN, STICK, SLIP = range(3)


# --- what touches -------------------------------------------------------------------------------------------------
@kernel
def reach_of(system, work, h):
    """How near two bodies must be for a contact to count: what the fastest of them covers in two steps."""
    geoms, fastest = system.contacts.geometry.geoms, 0.0
    for g in range(len(geoms)):
        body = work.bodies[geoms[g].body]
        w, v = load(body.w), load(body.v)
        if geoms[g].body > 0:
            arm = math.sqrt(dot(load(geoms[g].x), load(geoms[g].x))) + geoms[g].reach
            fastest = max(fastest, math.sqrt(dot(v, v)) + math.sqrt(dot(w, w)) * arm)
    g = load(work.bodies[0].a)
    return system.contacts.margin + 2.0 * h * (fastest + h * math.sqrt(dot(g, g)))


@kernel
def find_contacts(system, work, h):
    """Find the contacts of the placed bodies, and their rows with the velocities before the step; how many."""
    touch = work.touch
    count, overflow = detect(system.contacts.geometry, work.bodies, reach_of(system, work, h), touch.found)
    if overflow:
        touch.overflows[0] += 1
    count = min(count, len(touch.mu))
    write_contacts(touch.found.contacts, count, work.bodies, touch.rows, touch.terms)
    for k in range(PER_CONTACT * count):
        touch.before[k] = velocity_of_row(touch.rows[k], touch.terms, work.bodies, work.response)
    touch.number[0] = count
    return count


# --- the problem --------------------------------------------------------------------------------------------------
@kernel
def call_static(work):
    """List the rows that take part beside contacts, equalities first; how many of both kinds there are."""
    rows, called, count = work.rows, work.touch.called, 0
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
def impel(work, static, k, x):
    """Add the impulses of row k of the problem with the multiplier x."""
    touch = work.touch
    if k < static:
        impel_row(work.rows[touch.called[k]], work.terms, x, work.wrenches, work.impulse)
    else:
        impel_row(touch.rows[k - static], touch.terms, x, work.wrenches, work.impulse)


@kernel
def change(work, static, k):
    """What the response makes of row k of the problem."""
    touch = work.touch
    if k < static:
        return change_of_row(work.rows[touch.called[k]], work.terms, work.bodies, work.response)
    return change_of_row(touch.rows[k - static], touch.terms, work.bodies, work.response)


def build(system, work, static, size):
    """W of all rows that take part; a row without effect where the system is becomes 0."""
    tree, W = system.tree, work.touch.W
    for k in range(size):
        clear_impulses(work)
        impel(work, static, k, 1.0)
        impel_closures(tree, work.impulse, work)
        hand_on(tree, work.wrenches)
        least = idle_bound(tree.links, work, 0.0)
        respond(system, work, work.impulse, work.response)
        follow_markers(tree, work.bodies)
        follow_closures(tree, work.response, work)
        for i in range(k, size):
            W[i, k] = change(work, static, i)
        if W[k, k] <= least:
            for i in range(size):
                W[max(i, k), min(i, k)] = 0.0
        for i in range(k, size):
            W[k, i] = W[i, k]


@kernel
def lay_out(work, h, v, static, count):
    """Residuals of all rows at the velocities v*, with what gaps and restitution allow."""
    touch = work.touch
    for k in range(static):
        touch.r[k] = velocity_of_row(work.rows[touch.called[k]], work.terms, work.bodies, v)
    for c in range(count):
        contact, first = touch.found.contacts[c], PER_CONTACT * c
        touch.mu[c] = contact.friction
        for j in range(first, first + PER_CONTACT):
            touch.r[static + j] = velocity_of_row(touch.rows[j], touch.terms, work.bodies, v)
        arrives, approach = touch.r[static + first], touch.before[first]
        room = max(contact.gap, 0.0) / h
        if contact.restitution > 0.0 and approach < -IMPACT and arrives + room < 0.0:
            touch.r[static + first] += contact.restitution * approach
        else:
            touch.r[static + first] += room


@kernel
def solve(system, work, equalities, limits, size, count):
    """Impulses of all rows."""
    touch = work.touch
    for k in range(size):
        touch.x[k] = math.nan  # no guess, so that impulses have no history
    report = solve_contacts(
        touch.W[:size, :size],
        touch.r[:size],
        touch.mu[:count],
        equalities,
        limits,
        system.contacts.options,
        touch.x[:size],
        touch.friction,
    )
    if report.status != SOLVED:
        touch.unsolved[0] += 1
    touch.sweeps[0] = max(touch.sweeps[0], report.sweeps)
    touch.residual[0] = max(touch.residual[0], report.residual)


def apply_impulses(system, work, static, size):
    """The response of all coordinates to the impulses of all rows, into `work.response`."""
    clear_impulses(work)
    for k in range(size):
        impel(work, static, k, work.touch.x[k])
    aim_nowhere(work)
    answer(system, work)


@kernel
def book(system, work, static, count, ledger):
    """Book what contacts dissipate, and keep impulses and velocities with each contact."""
    touch, settings = work.touch, system.contacts
    for c in range(count):
        contact, first = touch.found.contacts[c], PER_CONTACT * c
        for j in range(PER_CONTACT):
            k = first + j
            x, after = touch.x[static + k], velocity_of_row(touch.rows[k], touch.terms, work.bodies, work.response)
            after += change_of_row(touch.rows[k], touch.terms, work.bodies, work.response)
            contact.impulse[j] = x
            touch.after[k] = after
            account = settings.friction_account if j > 0 else settings.impact_account
            ledger[account] -= 0.5 * x * (touch.before[k] + after)
        contact.mode = mode_of(contact, touch.after[first + 1], touch.after[first + 2])


@kernel
def mode_of(contact, along, across):
    """Whether a contact is open, sticks, or slips: it moves, with all the friction that there may be."""
    n, t, b = contact.impulse
    if n <= 0.0:
        return OPEN
    at_limit = math.sqrt(t * t + b * b) >= (1.0 - NEARLY) * contact.friction * n
    return SLIP if at_limit and math.sqrt(along * along + across * across) > STILL else STICK


# --- penetration ----------------------------------------------------------------------------------------------------
@kernel
def lay_out_depths(work, h, static, size, count):
    """How far normals will be open at the end of the step; the deepest of them, m, as a positive number."""
    touch, deepest = work.touch, 0.0
    for k in range(size):
        touch.r[k] = 0.0
        touch.lower[k] = -math.inf if k < static else 0.0
        touch.upper[k] = math.inf if k < static else 0.0
        touch.x[k] = math.nan
    for c in range(count):
        k = static + PER_CONTACT * c
        touch.r[k] = touch.found.contacts[c].gap + h * touch.after[PER_CONTACT * c]
        touch.upper[k] = math.inf
        deepest = max(deepest, -touch.r[k])
    return deepest


def part(system, work, h, q, static, size, count):
    """Move bodies apart that will penetrate each other."""
    touch = work.touch
    deepest = lay_out_depths(work, h, static, size, count)
    if deepest <= PENETRATION:
        return
    solve_multipliers(
        touch.W[:size, :size], touch.r[:size], touch.lower[:size], touch.upper[:size], touch.x[:size], touch.solver
    )
    apply_impulses(system, work, static, size)
    displace(system.tree, q, work.response, 1.0)
    normalize(system.tree, q)


# --- a step -----------------------------------------------------------------------------------------------------------
def collide(system, work, t, h, q, v, ledger):
    """Take the velocities v* that a step of h would have without contacts to those that it has, in place."""
    touch = work.touch
    count = find_contacts(system, work, h)
    if count == 0:
        return
    place(system, t, q, v, touch.free, work)
    accelerate(system, work, work.response)
    equalities, limits = call_static(work)
    static = equalities + limits
    size = static + PER_CONTACT * count
    lay_out(work, h, v, static, count)
    build(system, work, static, size)
    solve(system, work, equalities, limits, size, count)
    apply_impulses(system, work, static, size)
    book(system, work, static, count, ledger)
    for j in range(len(v)):
        v[j] += work.response[j]
    part(system, work, h, q, static, size, count)


@cache
def bind(method: str, accelerate: Any, respond: Any) -> Any:
    """Bind the step of contacts to a method's two kernels."""
    answer_ = bound_kernel(answer, method, respond=respond)
    apply_ = bound_kernel(apply_impulses, method, answer=answer_)
    return bound_kernel(
        collide,
        method,
        accelerate=accelerate,
        build=bound_kernel(build, method, respond=respond),
        apply_impulses=apply_,
        part=bound_kernel(part, method, apply_impulses=apply_),
    )


# --- for output -------------------------------------------------------------------------------------------------------
@kernel
def push_contacts(work):
    """Push the bodies with the impulses of the last step over its length."""
    touch, weight = work.touch, work.touch.weight[0]
    if weight == 0.0:
        return
    clear_impulses(work)
    for c in range(touch.number[0]):
        for j in range(PER_CONTACT):
            row = touch.rows[PER_CONTACT * c + j]
            impel_row(row, touch.terms, weight * touch.found.contacts[c].impulse[j], work.wrenches, work.impulse)
    for i in range(1, len(work.wrenches)):
        store_force(work.bodies[i], load_force(work.bodies[i]) - load_force(work.wrenches[i]))
