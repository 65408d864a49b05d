"""The rows of contacts: at each point one along the normal and two along tangents.

With n the normal from body A to body B, r the arm of the point from the origin of a body's joint frame, and t, b two
tangents, the rows are the velocities of B's point against A's along n, t and b:

    u_n = n . (v_B + w_B x r_B - v_A - w_A x r_A)        and so on.

Their multipliers are the impulses along the same directions, on B; A takes the opposite ones.  A body's terms come in
the order A, B; the ground takes none.
"""

from __future__ import annotations

import math

from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.constraints.points import write_pull
from multibody_cli.constraints.rows import impel_row
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.values import Vec3

PER_CONTACT = 3
"""Rows of a contact."""

TERMS = 2
"""Terms that a row has at most."""


@formula
def tangent_of(n):
    """A unit vector across a unit normal: the axis least along it, made perpendicular."""
    x, y, z = abs(n.x), abs(n.y), abs(n.z)
    axis = Vec3(1.0, 0.0, 0.0) if x <= y and x <= z else (Vec3(0.0, 1.0, 0.0) if y <= z else Vec3(0.0, 0.0, 1.0))
    across = cross(n, axis)
    return (1.0 / math.sqrt(dot(across, across))) * across


@kernel
def write_contacts(contacts, count, bodies, rows, terms, row, term):
    """Write the rows of the first `count` contacts, three for each, from these rows and terms on."""
    for c in range(count):
        contact = contacts[c]
        n = load(contact.normal)
        t = tangent_of(n)
        write_direction(contact, n, bodies, rows[row], terms, term)
        write_direction(contact, t, bodies, rows[row + 1], terms, term + TERMS)
        write_direction(contact, cross(n, t), bodies, rows[row + 2], terms, term + 2 * TERMS)
        row += PER_CONTACT
        term += PER_CONTACT * TERMS


@kernel
def write_direction(contact, d, bodies, row, terms, first):
    """Write the row of a contact along one direction, and its terms from the first on."""
    point = load(contact.point)
    k = write_pull(terms, first, contact.body_a, point - load(bodies[contact.body_a].x), -d)
    k = write_pull(terms, k, contact.body_b, point - load(bodies[contact.body_b].x), d)
    row.first_term = first
    row.last_term = k
    row.rate = 0.0
    row.bias = 0.0


@kernel
def copy_rows(called, statics, source, source_terms, rows, terms):
    """Write the rows that take part beside contacts, with their terms: the first rows of the table."""
    term = 0
    for k in range(statics):
        row = source[called[k]]
        rows[k].first_term = term
        for i in range(row.first_term, row.last_term):
            terms[term] = source_terms[i]
            term += 1
        rows[k].last_term = term
        rows[k].rate = row.rate


@kernel
def impel_all(work, touch, size):
    """Lay out the impulses of all rows of a step."""
    clear_impulses(work)
    for k in range(size):
        impel_row(touch.rows[k], touch.terms, touch.x[k], work.wrenches, work.impulse)
