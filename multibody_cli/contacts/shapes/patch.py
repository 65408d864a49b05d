"""Contact points: writing of a contact, and unit vectors."""

from __future__ import annotations

import math

from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import store
from multibody_cli.spatial.products import dot

NO_LENGTH = 1e-150
"""Length below which the squares of components underflow, m."""


@formula
def write_contact(contacts, n, margin, p, normal, gap, feature):
    """Write contact n if its gap is below the margin; p is the point on the surface of A.

    Returns the next row, even if the table is full, so that the caller knows the number of contacts.
    """
    if not gap < margin:
        return n
    if n < len(contacts):
        contact = contacts[n]
        contact.gap = gap
        contact.time = contact.delay = 0.0
        contact.feature = feature
        store(contact.point, p + (0.5 * gap) * normal)
        store(contact.normal, normal)
    return n + 1


@formula
def direction(d, spare):
    """Return the unit vector along d and the length of d; `spare` and 0 if d is 0."""
    length = math.sqrt(dot(d, d))
    if length > NO_LENGTH:
        return (1.0 / length) * d, length
    return spare, 0.0
