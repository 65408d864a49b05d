"""What contacts remember from step to step: the impulses at each point, as a guess of the next.

Contacts are ordered by their geoms, then by point, at every step, so that one walk finds those of the last step.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.contact_solver.rows import PER_CONTACT, tangent_of
from multibody_cli.contacts.contract import Records
from multibody_cli.kernel import kernel, records
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross, dot

POINT = np.dtype([("geom_a", "i8"), ("geom_b", "i8"), ("feature", "i8"), ("impulse", "f8", 3)])
"""One point of the last step, with its impulse in world axes, N s."""


def points_for(contacts: int) -> Records:
    """Allocate room for so many points."""
    points: Records = records(np.zeros(contacts, POINT))
    return points


@kernel
def remember(contacts, count, points, number):
    """Keep the impulses of the first `count` contacts."""
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
def recall(contacts, count, points, number, x):
    """Put what is remembered of the first `count` contacts into x, three numbers for each."""
    before = 0
    for c in range(count):
        contact, first = contacts[c], PER_CONTACT * c
        x[first] = x[first + 1] = x[first + 2] = 0.0
        while before < number[0] and stands_before(points[before], contact):
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
def stands_before(point, contact):
    """Whether a point belongs to an earlier pair than a contact."""
    return point.geom_a < contact.geom_a or (point.geom_a == contact.geom_a and point.geom_b < contact.geom_b)
