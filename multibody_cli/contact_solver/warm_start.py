"""Warm start of contacts: the impulses of the previous step are the initial guess of the next one.

Contacts are ordered by geoms, then by point, at every step, so that one pass over both lists matches them.  Impulses
are stored in world axes, because the axes of a contact turn with it, and along the axes of the contact as well, for
contacts that sleep (`sleeping`).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.rows import tangent_of
from multibody_cli.kernel import kernel
from multibody_cli.model import Integers, Records
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross, dot

POINT = np.dtype(
    [
        ("geom_a", "i8"),
        ("geom_b", "i8"),
        ("feature", "i8"),
        ("successor", "i8"),  # number of the same contact in this step, -1 if it is lost
        ("impulse", "f8", 3),  # in world axes, N s
        ("axial", "f8", 3),  # along the normal and the tangents, N s
        ("moment", "f8", 3),  # of resistances, along the same axes, N m s
    ]
)
"""One contact of the previous step."""


class WarmStart(NamedTuple):
    """Impulses of the contacts of the previous step."""

    points: Annotated[Records, "contacts", POINT]
    number: Annotated[Integers, 1]  # of contacts


@kernel
def store_warm_start(contacts, count, warm_start):
    """Store the impulses of the first `count` contacts."""
    warm_start.number[0] = count
    for c in range(count):
        contact, point = contacts[c], warm_start.points[c]
        point.geom_a = contact.geom_a
        point.geom_b = contact.geom_b
        point.feature = contact.feature
        n, x = load(contact.normal), load(contact.impulse)
        t = tangent_of(n)
        store(point.impulse, x.x * n + x.y * t + x.z * cross(n, t))
        store(point.axial, x)
        store(point.moment, load(contact.moment))


@kernel
def load_initial_guess(contacts, previous_impulses, warm_start, step):
    """Guess the impulses of a step: 0 for constraint rows, the previous impulses for friction patches and contacts.

    New contacts have 0.
    """
    x, sizes, points, before = step.x, step.sizes[0], warm_start.points, 0
    for k in range(sizes.constraint_rows):
        x[k] = 0.0
    for k in range(sizes.first_contact - sizes.constraint_rows):
        x[sizes.constraint_rows + k] = previous_impulses[k // PER_CONTACT, k % PER_CONTACT]
    for k in range(warm_start.number[0]):
        points[k].successor = -1
    for c in range(sizes.contacts):
        contact, first = contacts[c], sizes.first_contact + PER_CONTACT * c
        x[first] = x[first + 1] = x[first + 2] = 0.0
        while before < warm_start.number[0] and precedes(points[before], contact):
            before += 1
        k = before
        while k < warm_start.number[0] and points[k].geom_a == contact.geom_a and points[k].geom_b == contact.geom_b:
            if points[k].feature == contact.feature:
                n, impulse = load(contact.normal), load(points[k].impulse)
                t = tangent_of(n)
                x[first] = max(dot(n, impulse), 0.0)
                x[first + 1] = dot(t, impulse)
                x[first + 2] = dot(cross(n, t), impulse)
                points[k].successor = c
            k += 1


@kernel
def load_axial_impulses(point, x, first):
    """Load the stored impulses of a contact whose axes have not changed into three entries of x, from `first` on."""
    for i in range(PER_CONTACT):
        x[first + i] = point.axial[i]


@kernel
def precedes(point, contact):
    """Return whether a stored point belongs to an earlier pair of geoms than a contact."""
    return point.geom_a < contact.geom_a or (point.geom_a == contact.geom_a and point.geom_b < contact.geom_b)
