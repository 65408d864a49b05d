"""Wrenches of force elements and of constraints on bodies.

The wrench of an element on a body is the change of the wrench on the body where the element alone acts, so that the
kernel of a force element is all that its wrenches need.
"""

from __future__ import annotations

from multibody_cli.forces.one_element import apply_element
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import no_force, shift_force
from multibody_cli.spatial.values import Force, Vec3


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store the wrench of each element on each of its bodies about the origin of the body frame, world axes."""
    wrenches, bodies = samples.wrench[k], work.bodies
    for e in range(len(rows.sources)):
        one = rows.sources[e]
        for i in range(one.first, one.last):
            store_wrench(wrenches[i], load_force(bodies[rows.targets[i]]))  # kept here until the element has acted
            store_force(bodies[rows.targets[i]], no_force())
        for j in range(one.first_record, one.last_record):
            place, record = rows.records[j, 0], rows.records[j, 1]
            apply_element(system.forces, place, record, state.time[0], state.q, state.v, work, rows.powers)
        for i in range(one.first, one.last):
            row, W = rows.targets[i], wrenches[i]
            body = bodies[row]
            own = wrench_of_rows(work, one, row) - load_force(body)
            store_force(body, load_wrench(W))
            store_wrench(W, shift_force(own, -(load(body.R) @ load(system.tree.frames[row].origin))))


@kernel
def wrench_of_rows(work, one, row):
    """Wrench of the constraint rows of an element on the body `row` about the origin of its joint frame."""
    total = no_force()
    for r in range(one.first_row, one.last_row):
        for j in range(work.rows[r].first_term, work.rows[r].last_term):
            term = work.terms[j]
            if term.iv < 0 and term.body == row:
                total = total + work.rows[r].multiplier * load_force(term)
    return total


@formula
def load_wrench(numbers):
    """Return the wrench [moment; force]."""
    return Force(Vec3(numbers[0], numbers[1], numbers[2]), Vec3(numbers[3], numbers[4], numbers[5]))


@kernel
def store_wrench(numbers, W):
    """Store a wrench as [moment; force]."""
    store(numbers[:3], W.t)
    store(numbers[3:], W.f)
