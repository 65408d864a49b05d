"""Points of a patch: how a contact is written, and the direction from one point to another."""

from __future__ import annotations

import math

from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import store
from multibody_cli.spatial.products import dot

NO_LENGTH = 1e-150
"""Length up to which the squares of components have lost their digits, m."""


@formula
def put(contacts, n, margin, p, normal, gap, feature):
    """Write contact n if its gap is below the margin; p is the point on the surface of A.

    Gives the number of the next one, also where the table has no room left: so the caller learns how many there are.
    """
    if not gap < margin:
        return n
    if n < len(contacts):
        contact = contacts[n]
        contact.gap = gap
        contact.feature = feature
        store(contact.point, p + (0.5 * gap) * normal)
        store(contact.normal, normal)
    return n + 1


@formula
def direction(d, spare):
    """Unit vector along d and the length of d; `spare` and 0 where d is zero."""
    length = math.sqrt(dot(d, d))
    if length > NO_LENGTH:
        return (1.0 / length) * d, length
    return spare, 0.0
