"""Warm start of contacts: the impulses of the previous step are the initial guess of the next one.

Contacts are ordered by geoms, then by point, at every step, so that one pass over both lists matches them.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.rows import tangent_of
from multibody_cli.contacts.contract import Records
from multibody_cli.kernel import kernel, records
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross, dot

POINT = np.dtype([("geom_a", "i8"), ("geom_b", "i8"), ("feature", "i8"), ("impulse", "f8", 3)])
"""One contact of the previous step, with its impulse in world axes, N s."""


def warm_start_for(contacts: int) -> Records:
    """Allocate the warm-start records of so many contacts."""
    points: Records = records(np.zeros(contacts, POINT))
    return points


@kernel
def store_warm_start(contacts, count, points, number):
    """Store the impulses of the first `count` contacts."""
    number[0] = count
    for c in range(count):
        contact, point = contacts[c], points[c]
        point.geom_a = contact.geom_a
        point.geom_b = contact.geom_b
        point.feature = contact.feature
        n, x = load(contact.normal), load(contact.impulse)
        t = tangent_of(n)
        store(point.impulse, x.x * n + x.y * t + x.z * cross(n, t))


@kernel
def load_warm_start(contacts, count, points, number, x):
    """Load the stored impulses of the first `count` contacts into x (3 count,), 0 for new contacts."""
    before = 0
    for c in range(count):
        contact, first = contacts[c], PER_CONTACT * c
        x[first] = x[first + 1] = x[first + 2] = 0.0
        while before < number[0] and precedes(points[before], contact):
            before += 1
        k = before
        while k < number[0] and points[k].geom_a == contact.geom_a and points[k].geom_b == contact.geom_b:
            if points[k].feature == contact.feature:
                n, impulse = load(contact.normal), load(points[k].impulse)
                t = tangent_of(n)
                x[first] = max(dot(n, impulse), 0.0)
                x[first + 1] = dot(t, impulse)
                x[first + 2] = dot(cross(n, t), impulse)
            k += 1


@kernel
def precedes(point, contact):
    """Return whether a stored point belongs to an earlier pair of geoms than a contact."""
    return point.geom_a < contact.geom_a or (point.geom_a == contact.geom_a and point.geom_b < contact.geom_b)
