"""All contacts of a system at one instant: place the geoms, find near pairs, and touch each of them."""

from __future__ import annotations

import math

from multibody_cli.contacts.grid import find_pairs
from multibody_cli.contacts.ordering import sort_pairs
from multibody_cli.contacts.placing import place_geoms
from multibody_cli.contacts.shapes.switch import touch
from multibody_cli.contacts.work import CONTACTS_OVERFLOW, FITS, PAIRS_OVERFLOW
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import ZERO


@kernel
def detect(geometry, bodies, margin, work) -> tuple[int, int]:
    """Find the contacts of bodies that are placed: their number, and whether tables were too small.

    Parameters
    ----------
    geometry
        The shapes, a `Geometry`.
    bodies
        Records with the pose of every body in the fields x (m) and R.
    margin
        Contacts are those whose gap is below, m; not negative.
    work
        A `ContactWork`.  Its contacts are ordered by the numbers of their geoms, then by point.

    Returns
    -------
    tuple
        The number of contacts, and `FITS`, or the bits `PAIRS_OVERFLOW` and `CONTACTS_OVERFLOW`.  Where a table is too
        small the number may be above that of its rows: `work.grown` gives larger ones.
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
            n = touch(i, j, geometry, margin, work, n)
        else:
            n = touch(j, i, geometry, margin, work, n)
            _turn_round(contacts, first, n)
        _sign(contacts, first, n, i, j, a, b)
    overflow = PAIRS_OVERFLOW if work.counted[0] > pairs else FITS
    return n, (overflow | CONTACTS_OVERFLOW if n > len(contacts) else overflow)


@kernel
def _turn_round(contacts, first, last):
    """Let the contacts of a pair lead from its second geom to its first."""
    for k in range(first, min(last, len(contacts))):
        store(contacts[k].normal, -load(contacts[k].normal))


@kernel
def _sign(contacts, first, last, i, j, a, b):
    """Write who touches into the contacts of a pair, and how rough they are: friction is the geometric mean."""
    for k in range(first, min(last, len(contacts))):
        contact = contacts[k]
        contact.geom_a, contact.geom_b, contact.body_a, contact.body_b = i, j, a.body, b.body
        contact.friction = math.sqrt(a.friction * b.friction)
        contact.restitution = max(a.restitution, b.restitution)
        contact.mode = 0
        store(contact.impulse, ZERO)
