"""Constraint rows of contacts: one normal and two tangential rows for each contact.

With n the normal from body A to body B and r the vector from the origin of a body's joint frame to the contact point,
both at the time of the contact, and t, b two tangents, the rows are the velocities of B relative to A at the point
along n, t and b:

    u_n = n . (v_B + w_B x r_B - v_A - w_A x r_A)        and so on.

Their multipliers are impulses along n, t and b on B; the opposite impulses act on A.  Terms are ordered A, B; the
ground has no term.
"""

from __future__ import annotations

import math

from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.constraints.points import write_point_force
from multibody_cli.constraints.rows import apply_row_impulse
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contacts.paths import origin_at
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.values import Vec3

TERMS = 2
"""Largest number of terms of a contact row."""


@formula
def tangent_of(n):
    """Return a unit vector perpendicular to the unit normal n, made from the coordinate axis least aligned with n."""
    x, y, z = abs(n.x), abs(n.y), abs(n.z)
    axis = Vec3(1.0, 0.0, 0.0) if x <= y and x <= z else (Vec3(0.0, 1.0, 0.0) if y <= z else Vec3(0.0, 0.0, 1.0))
    across = cross(n, axis)
    return (1.0 / math.sqrt(dot(across, across))) * across


@formula
def patch_axes(patch, bodies):
    """Return the axes of a friction patch of a joint, world frame."""
    return load(bodies[patch.carrier].R) @ load(patch.axes)


@kernel
def write_contacts(contacts, count, bodies, rows, terms, row, term):
    """Write the three rows of each of the first `count` contacts, starting at `row` and `term`."""
    for c in range(count):
        contact = contacts[c]
        n, point, ground = load(contact.normal), load(contact.point), bodies[0]
        t = tangent_of(n)
        a = point - origin_at(bodies[contact.body_a], ground, contact.time)
        b = point - origin_at(bodies[contact.body_b], ground, contact.time)
        write_direction(contact, n, a, b, rows[row], terms, term)
        write_direction(contact, t, a, b, rows[row + 1], terms, term + TERMS)
        write_direction(contact, cross(n, t), a, b, rows[row + 2], terms, term + 2 * TERMS)
        row += PER_CONTACT
        term += PER_CONTACT * TERMS


@kernel
def write_direction(contact, d, a, b, row, terms, first):
    """Write the row of a contact along the direction d, at a and b from the origins of its bodies."""
    k = write_point_force(terms, first, contact.body_a, a, -d)
    k = write_point_force(terms, k, contact.body_b, b, d)
    row.first_term = first
    row.last_term = k
    row.rate = 0.0
    row.bias = 0.0


@kernel
def copy_rows(active_rows, constraint_rows, source, source_terms, rows, terms):
    """Copy the active constraint rows and their terms to the start of the tables."""
    term = 0
    for k in range(constraint_rows):
        row = source[active_rows[k]]
        rows[k].first_term = term
        for i in range(row.first_term, row.last_term):
            terms[term] = source_terms[i]
            term += 1
        rows[k].last_term = term
        rows[k].rate, rows[k].account = row.rate, row.account


@kernel
def apply_row_impulses(work, contact_work, size):
    """Apply the impulses of all `size` rows of a step."""
    clear_impulses(work)
    for k in range(size):
        apply_row_impulse(contact_work.rows[k], contact_work.terms, contact_work.x[k], work.wrenches, work.impulse)
