"""Dry friction of joints: what their pads carry, and what that lets them rub.

A pad (`joints.friction`) slips with u = (its wrenches) . (twist of the child against the parent), and friction of one
step is an impulse along u in the disc of radius

    limit = coefficient * sum |a|,   a = loads . (h F + G - friction at the points),

where F is what the joint carries without impulses, and G what the impulses of the step make it carry, those of friction
themselves included: through the tree that is what is left of I (change of motion) - impulses of all that it bears, and
at a loop the multipliers of its rows.

Source: Sueda, notes 2.11 (bilateral staggered projections), (2.117) with the term in dJ/dt that it lacks: F is what the
accelerations take, and so it has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_joints import impel_closures
from multibody_cli.constraints.rows import write_wrench
from multibody_cli.contact_solver.rows import PER_CONTACT, TERMS, impel_all
from multibody_cli.kernel import formula, kernel, records
from multibody_cli.model import Floats, Integers, Journals, Records
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import dot, no_force, shift_force, transposed_times
from multibody_cli.spatial.values import Force
from multibody_cli.tree.articulated_body import change_of, own_inertia
from multibody_cli.tree.jacobian import gather_wrenches
from multibody_cli.tree.joint_wrenches import transmit_all
from multibody_cli.tree.markers import hand_on
from multibody_cli.tree.workspace import WRENCH


class JournalWork(NamedTuple):
    """Work arrays for p pads."""

    carried: Records  # (p,) F, in the joint frames
    kept: Integers  # (1,) whether they are those of the step that begins, found before output took its own
    pressed: Floats  # (points,) N s
    largest: Floats  # (bodies,) sum of `pressed` of a pad of an island, at most
    limit: Floats  # (p,) N s, that the impulses of the last solution allow
    tried: Floats  # (p, 3) the limit of the round before, what it was short of, and the next stride without a secant
    rubbed: Floats  # (p, 3) of the step before: limit and impulses, N s
    pushes: Floats  # (p, 3) these as forces, for output, N


def journal_work_for(journals: Journals, bodies: int) -> JournalWork:
    """Allocate the work arrays."""
    pads = len(journals.pads)
    return JournalWork(
        carried=records(np.zeros(pads, WRENCH)),
        kept=np.zeros(1, np.int64),
        pressed=np.zeros(len(journals.points)),
        largest=np.zeros(bodies),
        limit=np.zeros(pads),
        tried=np.zeros((pads, 3)),
        rubbed=np.zeros((pads, PER_CONTACT)),
        pushes=np.zeros((pads, PER_CONTACT)),
    )


# --- rows -----------------------------------------------------------------------------------------------------------
@kernel
def write_pads(pads, bodies, rows, terms, row, term):
    """Write the rows of all pads, three for each: the first has no effect, and stands for what presses."""
    for p in range(len(pads)):
        pad = pads[p]
        for j in range(PER_CONTACT):
            rows[row + j].first_term = rows[row + j].last_term = term
            rows[row + j].rate = rows[row + j].bias = 0.0
        write_slip(pad, Force(load(pad.along_t), load(pad.along_f)), bodies, rows[row + 1], terms, term)
        if pad.slips == 2:
            write_slip(pad, Force(load(pad.across_t), load(pad.across_f)), bodies, rows[row + 2], terms, term + TERMS)
        row += PER_CONTACT
        term += PER_CONTACT * TERMS


@kernel
def write_slip(pad, slip, bodies, row, terms, first):
    """Write the row of a pad along one wrench, given in the joint frame; the ground takes no term."""
    at, k = bodies[pad.row], first
    W = Force(load(at.R) @ slip.t, load(at.R) @ slip.f)
    if pad.parent > 0:
        W_parent = shift_force(W, load(at.x) - load(bodies[pad.parent].x))
        write_wrench(terms[k], pad.parent, -W_parent.t, -W_parent.f)
        k += 1
    W_child = shift_force(W, load(at.x) - load(bodies[pad.child].x))
    write_wrench(terms[k], pad.child, W_child.t, W_child.f)
    row.first_term = first
    row.last_term = k + 1


# --- loads ----------------------------------------------------------------------------------------------------------
@kernel
def carry(pads, tree, work, journals):
    """What the joints of all pads carry without impulses, from placed and accelerated bodies."""
    if not journals.kept[0]:
        transmit_all(tree, work)
        for p in range(len(pads)):
            store_force(journals.carried[p], carried_by(pads[p], work))
    journals.kept[0] = 0


@formula
def carried_by(pad, work):
    """The wrench of a pad's joint in the axes of its frame."""
    R, W = load(work.bodies[pad.row].R), load_force(work.wrenches[pad.row])
    return Force(transposed_times(R, W.t), transposed_times(R, W.f))


@kernel
def transmit_impulses(tree, touch, static, size, work):
    """What the impulses of all rows make every joint carry, into `work.wrenches`.

    The changes of motion that belong to them are in the bodies, and primary rows have their multipliers.
    """
    impel_all(work, touch, size)
    impel_closures(tree, work.impulse, work)
    hand_on(tree, work.wrenches)
    links, bodies, wrenches = tree.links, work.bodies, work.wrenches
    store_force(wrenches[0], no_force())
    for i in range(1, len(links)):
        body = bodies[i]
        store_force(wrenches[i], own_inertia(links[i], body) @ change_of(body) - load_force(wrenches[i]))
    gather_wrenches(tree, work)
    for k in range(static):
        if touch.called[k] < len(tree.locks):
            work.rows[touch.called[k]].multiplier = touch.x[k]
    for c in range(len(tree.closures)):
        closure = tree.closures[c]
        W = no_force()
        for r in range(closure.first_row, closure.last_row):
            W = W + work.rows[r].multiplier * load_force(work.locks[r])
        store_force(wrenches[closure.ghost], W)


@kernel
def find_limits(journals, table, x, work, h):
    """Limits of all pads, from what their joints carry in a step of h with the impulses x of the pads.

    Points share friction as they were pressed in the round before.
    """
    pads = table.pads
    for p in range(len(pads)):
        pad = pads[p]
        W = h * load_force(journals.carried[p]) + carried_by(pad, work)
        W = W - friction_of(pad, x[PER_CONTACT * p + 1], x[PER_CONTACT * p + 2], table.points, journals.pressed)
        journals.limit[p] = pad.coefficient * press(pad, W, table, journals.pressed)


@kernel
def friction_of(pad, along, across, points, pressed) -> Force:
    """The wrench of the friction at all points of a pad, which share it as they are pressed."""
    total, W = 0.0, no_force()
    for k in range(pad.first_point, pad.last_point):
        total += pressed[k]
    for k in range(pad.first_point, pad.last_point):
        if total > 0.0:
            share, point = pressed[k] / total, points[k]
            W = W + (share * along) * Force(load(point.along_t), load(point.along_f))
            W = W + (share * across) * Force(load(point.across_t), load(point.across_f))
    return W


@kernel
def press(pad, W, table, pressed) -> float:
    """How a wrench presses the points of a pad; the sum of that."""
    points, loads, total = table.points, table.loads, 0.0
    for k in range(pad.first_point, pad.last_point):
        pressed[k] = 0.0
        for i in range(points[k].first_load, points[k].last_load):
            a = load_force(loads[i])
            pressed[k] += abs(dot(a.t, W.t) + dot(a.f, W.f))
        total += pressed[k]
    return total
