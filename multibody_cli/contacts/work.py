"""Work arrays for finding contacts, and how they grow where they are too small."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.contacts.contract import CONTACT, FACE_CORNERS, Floats, Geometry, Integers, Records
from multibody_cli.contacts.shapes.polytope import FACET, FACETS, POINT, POINTS, SPARE
from multibody_cli.contacts.shapes.solid import SOLID
from multibody_cli.kernel import records

PLACED = np.dtype([("x", "f8", 3), ("R", "f8", 9)])
"""The frame of a geom in the world."""

CELL = np.dtype([("level", "i8"), ("x", "i8"), ("y", "i8"), ("z", "i8"), ("next", "i8")])
"""Where a geom lies in the grid, and the next one of its bucket; -1 ends the chain."""

POLYGON_ROOM = 2 * FACE_CORNERS
"""Corners of a face that was cut along another: each cut adds one at most."""

FITS, PAIRS_OVERFLOW, CONTACTS_OVERFLOW = 0, 1, 2
"""What `detect` says about its tables; the latter two are bits."""


class ConvexWork(NamedTuple):
    """Work arrays for one pair of convex solids."""

    solids: Records  # (2,) A and B
    points: Records  # (POINTS + SPARE,) of their difference
    facets: Records  # (FACETS,)
    edges: Integers  # (FACETS, 2) of the facets that a point takes away


class ContactWork(NamedTuple):
    """Work arrays for n geoms; `pairs` and `contacts` are what is found."""

    placed: Records  # (n,)
    cells: Records  # (n,)
    buckets: Integers  # a power of two
    places: Integers  # (n + 1,) of pairs while they are sorted
    spare: Integers  # (np, 2) likewise
    polygon: Floats  # (3, POLYGON_ROOM, 4) a face while it is clipped, and the one that it is clipped along
    convex: ConvexWork
    counted: Integers  # (2,) pairs found, and distances compared to find them
    pairs: Integers  # (np, 2) numbers of geoms, ascending
    contacts: Records  # (nc,)


def contact_work_for(geometry: Geometry, pairs: int | None = None, contacts: int | None = None) -> ContactWork:
    """Allocate the work arrays.

    Parameters
    ----------
    geometry
        What they are for.
    pairs, contacts
        Room for so many of them; unless given, for four pairs a geom, and for four contacts a pair.
    """
    n = len(geometry.geoms)
    pairs = 4 * n if pairs is None else pairs
    return ContactWork(
        placed=records(np.zeros(n, PLACED)),
        cells=records(np.zeros(n, CELL)),
        buckets=np.zeros(1 << max(2 * n - 1, 1).bit_length(), np.int64),
        places=np.zeros(n + 1, np.int64),
        spare=np.zeros((pairs, 2), np.int64),
        polygon=np.zeros((3, POLYGON_ROOM, 4)),
        convex=ConvexWork(
            solids=records(np.zeros(2, SOLID)),
            points=records(np.zeros(POINTS + SPARE, POINT)),
            facets=records(np.zeros(FACETS, FACET)),
            edges=np.zeros((FACETS, 2), np.int64),
        ),
        counted=np.zeros(2, np.int64),
        pairs=np.zeros((pairs, 2), np.int64),
        contacts=records(np.zeros(4 * pairs if contacts is None else contacts, CONTACT)),
    )


def grown(geometry: Geometry, work: ContactWork, count: int, overflow: int) -> ContactWork:
    """Give work arrays with more room where `detect`, which returned `count` and `overflow`, found too little."""
    pairs, contacts = len(work.pairs), len(work.contacts)
    if overflow & PAIRS_OVERFLOW:
        pairs = 2 * int(work.counted[0])
    if overflow & CONTACTS_OVERFLOW:
        contacts = 2 * count
    return contact_work_for(geometry, pairs, contacts)
