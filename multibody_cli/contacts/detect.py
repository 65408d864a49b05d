"""Contact detection: geom poses, broad phase and narrow phase, at one instant or in a step."""

from __future__ import annotations

from multibody_cli.contacts.contract import Geometry, Records
from multibody_cli.contacts.grid import find_pairs
from multibody_cli.contacts.paths import follow_paths
from multibody_cli.contacts.shapes.switch import contact_points, place_geoms
from multibody_cli.contacts.surfaces import set_surfaces
from multibody_cli.contacts.work import CONTACTS_OVERFLOW, FITS, PAIRS_OVERFLOW, detection_workspace_for, grown
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import store
from multibody_cli.spatial.products import ZERO


# --- counting sort of pairs, linear in the numbers of pairs and of geoms ----------------------------------------------
@kernel
def sort_pairs(pairs, count, places, spare):
    """Sort the first `count` rows of `pairs` (np, 2), by the first number, then by the second.

    `places` (n + 1,) with n above all numbers, and `spare` (np, 2), are scratch.
    """
    _sort_by(1, pairs, count, places, spare)
    _sort_by(0, spare, count, places, pairs)  # equal ones keep their order


@kernel
def _sort_by(column, pairs, count, places, ordered):
    for i in range(len(places)):
        places[i] = 0
    for k in range(count):
        places[pairs[k, column] + 1] += 1
    for i in range(1, len(places)):
        places[i] += places[i - 1]
    for k in range(count):
        i = pairs[k, column]
        ordered[places[i], 0] = pairs[k, 0]
        ordered[places[i], 1] = pairs[k, 1]
        places[i] += 1


@kernel
def find_near_pairs(geometry, bodies, margin, work) -> int:
    """Place the geoms of bodies with current poses, and list the pairs nearer than a margin; return their number.

    The pairs are ordered by the numbers of their geoms.
    """
    place_geoms(geometry.geoms, bodies, work.placed)
    find_pairs(geometry, margin, work)
    work.margin[0] = margin
    pairs = min(work.counted[0], len(work.pairs))
    sort_pairs(work.pairs, pairs, work.places, work.spare)
    return pairs


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
    n = 0
    for k in range(find_near_pairs(geometry, bodies, margin, work)):
        i, j, first = work.pairs[k, 0], work.pairs[k, 1], n
        n = contact_points(i, j, geometry, margin, work, work.contacts, n)
        _sign(work.contacts, first, n, i, j, geometry)
    return n, _overflow(n, work)


def touching(geometry: Geometry, bodies: Records) -> Records:
    """Return all contacts without a gap of bodies with poses in the fields x and R."""
    work = detection_workspace_for(geometry)
    while True:
        count, overflow = detect(geometry, bodies, 0.0, work)
        if not overflow:
            return work.contacts[:count]
        work = grown(geometry, work, count, overflow)


@kernel
def detect_in_step(geometry, bodies, reach, h, work) -> tuple[int, int]:
    """`detect` for a step of h, from the pairs of `find_near_pairs` and the velocities of the bodies without contacts.

    The contacts of a pair that moves by more than `reach` (m) are those of its path: see `paths`.
    """
    n, work.unresolved[0] = 0, 0
    for k in range(min(work.counted[0], len(work.pairs))):
        i, j, first = work.pairs[k, 0], work.pairs[k, 1], n
        n = contact_points(i, j, geometry, work.margin[0], work, work.contacts, n)
        if first < n <= len(work.contacts) and reach < work.margin[0]:
            n = follow_paths(i, j, geometry, bodies, reach, h, work, first, n)
        _sign(work.contacts, first, n, i, j, geometry)
    return n, _overflow(n, work)


@kernel
def _overflow(n, work) -> int:
    """Return the overflow flag for n contacts."""
    overflow = PAIRS_OVERFLOW if work.counted[0] > len(work.pairs) else FITS
    return overflow | CONTACTS_OVERFLOW if n > len(work.contacts) else overflow


@kernel
def _sign(contacts, first, last, i, j, geometry):
    """Write geoms, bodies and coefficients of a pair's contacts."""
    a, b, last = geometry.geoms[i], geometry.geoms[j], min(last, len(contacts))
    set_surfaces(contacts, first, last, a, b, geometry)
    for k in range(first, last):
        contact = contacts[k]
        contact.geom_a, contact.geom_b, contact.body_a, contact.body_b = i, j, a.body, b.body
        contact.mode = 0
        store(contact.impulse, ZERO)
        store(contact.moment, ZERO)
