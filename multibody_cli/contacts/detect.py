"""Contact detection at one instant: geom poses, broad phase and narrow phase."""

from __future__ import annotations

import math

from multibody_cli.contacts.grid import find_pairs
from multibody_cli.contacts.ordering import sort_pairs
from multibody_cli.contacts.placing import place_geoms
from multibody_cli.contacts.shapes.switch import contact_points_of_pair
from multibody_cli.contacts.work import CONTACTS_OVERFLOW, FITS, PAIRS_OVERFLOW
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import ZERO


@kernel
def detect(geometry, bodies, margin, work) -> tuple[int, int]:
    """Detect the contacts of bodies with current poses; return their number and an overflow flag.

    Parameters
    ----------
    geometry
        The shapes, a `Geometry`.
    bodies
        Records with the pose of every body in the fields x (m) and R.
    margin
        Contacts with a gap below this margin are detected, m; not negative.
    work
        A `DetectionWorkspace`.  Its contacts are ordered by the numbers of their geoms, then by point.

    Returns
    -------
    tuple
        Number of contacts, and `FITS`, or the bits `PAIRS_OVERFLOW` and `CONTACTS_OVERFLOW`.
        On overflow the number may exceed the number of rows; `work.grown` returns larger tables.
    """
    geoms, placed, contacts = geometry.geoms, work.placed, work.contacts
    place_geoms(geoms, bodies, placed)
    find_pairs(geometry, margin, work)
    pairs = min(work.counted[0], len(work.pairs))
    sort_pairs(work.pairs, pairs, work.places, work.spare)
    n = 0
    for k in range(pairs):
        i, j = work.pairs[k, 0], work.pairs[k, 1]
        first, a, b = n, geoms[i], geoms[j]
        if a.kind <= b.kind:
            n = contact_points_of_pair(i, j, geometry, margin, work, n)
        else:
            n = contact_points_of_pair(j, i, geometry, margin, work, n)
            _turn_round(contacts, first, n)
        _sign(contacts, first, n, i, j, a, b)
    overflow = PAIRS_OVERFLOW if work.counted[0] > pairs else FITS
    return n, (overflow | CONTACTS_OVERFLOW if n > len(contacts) else overflow)


@kernel
def _turn_round(contacts, first, last):
    """Reverse the normals of the contacts of a pair whose geoms were exchanged."""
    for k in range(first, min(last, len(contacts))):
        store(contacts[k].normal, -load(contacts[k].normal))


@kernel
def _sign(contacts, first, last, i, j, a, b):
    """Write geoms, bodies and material of a pair's contacts: friction is the geometric mean."""
    for k in range(first, min(last, len(contacts))):
        contact = contacts[k]
        contact.geom_a, contact.geom_b, contact.body_a, contact.body_b = i, j, a.body, b.body
        contact.friction = math.sqrt(a.friction * b.friction)
        contact.restitution = max(a.restitution, b.restitution)
        contact.mode = 0
        store(contact.impulse, ZERO)
