"""Contacts and friction as forces, for output: the impulses of the last step over its length."""

from __future__ import annotations

from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.constraints.rows import impel_row
from multibody_cli.contact_solver.rows import PER_CONTACT
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.spatial.products import no_force


@kernel
def find_pushes(work, touch, h):
    """What the impulses of the last step, over its length, push the bodies with."""
    clear_impulses(work)
    pushes, static = touch.journals.pushes, touch.static[0]
    for p in range(len(pushes)):
        for j in range(1, PER_CONTACT):
            pushes[p, j] = touch.journals.rubbed[p, j] / h
            row = touch.rows[static + PER_CONTACT * p + j]
            impel_row(row, touch.terms, pushes[p, j], work.wrenches, work.impulse)
    first = static + PER_CONTACT * len(pushes)
    for c in range(touch.number[0]):
        for j in range(PER_CONTACT):
            row = touch.rows[first + PER_CONTACT * c + j]
            impel_row(row, touch.terms, touch.found.contacts[c].impulse[j] / h, work.wrenches, work.impulse)
    for i in range(1, len(work.pushes)):
        store_force(work.pushes[i], load_force(work.wrenches[i]))


@kernel
def push_contacts(work):
    """Push the bodies as contacts and friction do."""
    for i in range(1, len(work.pushes)):
        store_force(work.bodies[i], load_force(work.bodies[i]) - load_force(work.pushes[i]))


@kernel
def push_no_more(work):
    """Contacts and friction push nothing."""
    for i in range(1, len(work.pushes)):
        store_force(work.pushes[i], no_force())
