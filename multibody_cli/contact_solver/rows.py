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
from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.solver import VELOCITY, clear_impulses, is_row_active
from multibody_cli.constraints.rows import apply_row_impulse, velocity_of_row, write_point_force
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contacts.paths import origin_at
from multibody_cli.joints.directions import find_dual_basis
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import Floats, Integers, Records
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.values import Force, Vec3
from multibody_cli.tree.workspace import BODY

TERMS = 2
"""Largest number of terms of a contact row."""

SIZES = np.dtype(
    [
        ("h", "f8"),  # length of the step, s
        ("equalities", "i8"),  # number of active equality rows, which come first
        ("constraint_rows", "i8"),  # number of these and of active unilateral rows
        ("first_contact", "i8"),  # number of these and of the rows of friction patches: first row of contacts
        ("first_resistance", "i8"),  # first row of the resistances of contacts, after those of all contacts
        ("rows", "i8"),
        ("contacts", "i8"),
        ("resistances", "i8"),
    ]
)
"""Rows of a step: equalities, unilateral rows (limits), friction patches of joints, contacts, and their resistances."""

RESISTANCE = np.dtype(
    [
        ("contact", "i8"),  # number of the contact
        ("spins", "i8"),  # whether it is about the normal
        ("coefficient", "f8"),  # m
    ]
)
"""The resistance of a contact to rolling, or to spinning (`resistance`)."""


class StepRows(NamedTuple):
    """The rows of a step: `placed` rows of bodies, c contacts, r resistances, p friction patches and e constraint rows.

    There are m = e + 3 (p + c + r) rows.
    """

    sizes: Annotated[Records, 1, SIZES]
    rows: Records  # (m,) constraint rows, then rows of friction patches, of contacts, and of their resistances
    terms: Records  # (m terms,) terms of these rows
    active_rows: Annotated[Integers, "e"]  # numbers of the active constraint rows
    resistances: Annotated[Records, "moments", RESISTANCE]
    start: Annotated[Records, "placed", BODY]  # twists of the bodies at the start of the step, in the fields w and v
    velocity_before: Annotated[Floats, "m"]  # velocities of the rows before the step
    velocity_after: Annotated[Floats, "m"]  # velocities of all rows after the step; before its solution, those of v*
    r: Annotated[Floats, "m"]  # velocities of all rows without impulses of rows
    r_without_coupled: Floats  # (m,) the same without impulses of coupled forces; (0,) if there are none
    closing: Annotated[Floats, "m"]  # gap of a contact over the step, m/s, at its normal
    rebound: Annotated[Floats, "m"]  # increase of r by restitution, at the normal
    turned_work: Annotated[Floats, "m"]  # dissipation of friction beyond its mean because slip turns, at the normal
    x: Annotated[Floats, "m"]  # impulses of all rows; where penetration is removed, those of the displacement
    row_impulses: Annotated[Floats, "e"]  # impulses of the constraint rows in the step


@formula
def tangent_of(n):
    """Return a unit vector perpendicular to the unit normal n, made from the coordinate axis least aligned with n."""
    x, y, z = abs(n.x), abs(n.y), abs(n.z)
    axis = Vec3(1.0, 0.0, 0.0) if x <= y and x <= z else (Vec3(0.0, 1.0, 0.0) if y <= z else Vec3(0.0, 0.0, 1.0))
    across = cross(n, axis)
    return (1.0 / math.sqrt(dot(across, across))) * across


@formula
def patch_axes(patch, bodies):
    """Return the axes of a friction patch of a joint, world frame: those of M, or others in the parent."""
    R = load(bodies[patch.carrier].R)
    return R if patch.carrier == patch.row else R @ load(patch.axes)


@formula
def slip_wrench(patch, work):
    """Return the wrench of a unit friction along the first slip direction, about the origin of M, world axes."""
    if patch.dual >= 0:
        return load_force(work.dual_basis[patch.dual])
    R = patch_axes(patch, work.bodies)
    return Force(R @ load(patch.along_t), R @ load(patch.along_f))


@kernel
def update_dual_wrenches(tree, table, work):
    """Compute the dual bases of joints of the tree with brakes on their rates; kinematics has those of loop joints."""
    for p in range(len(table.patches)):
        patch = table.patches[p]
        if patch.dual >= 0 and p == patch.first_patch:
            update_dual_basis(tree, patch.row, work)
    for k in range(len(table.brake_terms)):
        update_dual_basis(tree, table.brake_terms[k].row, work)


@kernel
def update_dual_basis(tree, row, work):
    """Compute the dual basis of the joint with this row, if it is one of the tree."""
    if row < len(tree.links):
        link = tree.links[row]
        find_dual_basis(work.columns, link.iv, link.iv + link.nv, tree.driven, work.basis, work.dual_basis)


@kernel
def list_active_rows(rows, near, step) -> int:
    """List the active constraint rows, equalities first; return the number of unilateral rows.

    Limits of bodies in contact are rows where they are near, as contacts are: an impulse elsewhere may bring the bodies
    there within the step.  `near` is relative to the error by a turn of 1 rad or a displacement by the length.
    """
    sizes, count = step.sizes[0], 0
    for r in range(len(rows)):
        if not rows[r].primary and not rows[r].one_sided and is_row_active(rows[r], VELOCITY):
            step.active_rows[count] = r
            count += 1
    sizes.equalities = count
    for r in range(len(rows)):
        is_near = rows[r].in_contact and rows[r].restitution == 0.0 and rows[r].error * rows[r].weight < near
        if rows[r].one_sided and (is_row_active(rows[r], VELOCITY) or is_near):
            step.active_rows[count] = r
            count += 1
    sizes.constraint_rows = count
    return count - sizes.equalities


@kernel
def write_contacts(contacts, bodies, groups, step, term):
    """Write the three rows of each contact of a step, with terms from `term` on.

    The places of a contact on its two bodies coincide at the time of the contact.  On bodies of one articulation the
    rows have their mean at the start of the step, where the joints are: an impulse then is no torque on both together.
    """
    rows, terms, row = step.rows, step.terms, step.sizes[0].first_contact
    articulation, body_of_row = groups.articulation, groups.body_of_row
    for c in range(step.sizes[0].contacts):
        contact = contacts[c]
        n, point, ground = load(contact.normal), load(contact.point), bodies[0]
        t = tangent_of(n)
        a = point - origin_at(bodies[contact.body_a], ground, contact.time)
        b = point - origin_at(bodies[contact.body_b], ground, contact.time)
        if articulation[body_of_row[contact.body_a]] == articulation[body_of_row[contact.body_b]]:
            apart = load(bodies[contact.body_b].x) + b - load(bodies[contact.body_a].x) - a
            a, b = a + 0.5 * apart, b - 0.5 * apart
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
def copy_rows(source, source_terms, step):
    """Copy the active constraint rows and their terms to the start of the tables.

    The multiplier of a row becomes the impulse of a pressed one-sided row that v* contains.
    """
    rows, term, h = step.rows, 0, step.sizes[0].h
    for k in range(step.sizes[0].constraint_rows):
        row = source[step.active_rows[k]]
        rows[k].first_term = term
        for i in range(row.first_term, row.last_term):
            step.terms[term] = source_terms[i]
            term += 1
        rows[k].last_term = term
        rows[k].rate, rows[k].bias, rows[k].account, rows[k].error = row.rate, row.bias, row.account, row.error
        rows[k].in_contact, rows[k].start_rate = row.in_contact, row.start_rate
        is_pressed = row.one_sided and row.active == 1 and not row.in_contact
        rows[k].multiplier = h * row.multiplier if is_pressed else 0.0


@kernel
def add_impulses_to_multipliers(work, step):
    """Add the mean forces of the impulses of one-sided rows to their multipliers, N or N m."""
    for k in range(step.sizes[0].equalities, step.sizes[0].constraint_rows):
        work.rows[step.active_rows[k]].multiplier += step.x[k] / step.sizes[0].h


@kernel
def compute_row_velocities(step, bodies, v, first, u):
    """Compute the velocities of the rows from `first` on into u (m,)."""
    for k in range(first, step.sizes[0].rows):
        u[k] = velocity_of_row(step.rows[k], step.terms, bodies, v)


@kernel
def apply_row_impulses(work, step):
    """Apply the impulses of all rows of a step."""
    clear_impulses(work)
    for k in range(step.sizes[0].rows):
        apply_row_impulse(step.rows[k], step.terms, step.x[k], work.wrenches, work.impulse)
