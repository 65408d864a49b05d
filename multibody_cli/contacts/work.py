"""Work arrays for contact detection, and their growth on overflow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.contacts.contract import CONTACT, FACE_CORNERS, Floats, Geometry, Integers, Records
from multibody_cli.contacts.shapes.polytope import FACET, FACETS, POINT, POINTS, SPARE
from multibody_cli.contacts.shapes.solid import SOLID
from multibody_cli.kernel import records

PLACED = np.dtype([("x", "f8", 3), ("R", "f8", 9)])
"""World frame of a geom."""

CELL = np.dtype([("level", "i8"), ("x", "i8"), ("y", "i8"), ("z", "i8"), ("next", "i8")])
"""Grid cell of a geom, and the next geom in its bucket; -1 ends the list."""

POLYGON_ROOM = 2 * FACE_CORNERS
"""Largest number of corners of a clipped face: each cut adds at most one."""

FITS, PAIRS_OVERFLOW, CONTACTS_OVERFLOW = 0, 1, 2
"""Overflow flags of `detect`; the latter two are bits."""


class ConvexWork(NamedTuple):
    """Work arrays for one pair of convex solids."""

    solids: Records  # (2,) A and B
    points: Records  # (POINTS + SPARE,) of their difference
    facets: Records  # (FACETS,)
    edges: Integers  # (FACETS, 2) of the facets that a point takes away


class DetectionWorkspace(NamedTuple):
    """Work arrays for n geoms; `pairs` and `contacts` are the results."""

    placed: Records  # (n,)
    cells: Records  # (n,)
    buckets: Integers  # a power of two
    places: Integers  # (n + 1,) scratch for sorting pairs
    spare: Integers  # (np, 2) scratch for sorting pairs
    polygon: Floats  # (3, POLYGON_ROOM, 4) a face during clipping, and the clipping face
    convex: ConvexWork
    counted: Integers  # (2,) number of pairs, and of distances compared
    pairs: Integers  # (np, 2) numbers of geoms, ascending
    contacts: Records  # (nc,)


def detection_workspace_for(
    geometry: Geometry, pairs: int | None = None, contacts: int | None = None
) -> DetectionWorkspace:
    """Allocate the work arrays.

    Parameters
    ----------
    geometry
        The collision shapes.
    pairs, contacts
        Capacities; by default four pairs for each geom, and four contacts for each pair.
    """
    n = len(geometry.geoms)
    pairs = 4 * n if pairs is None else pairs
    return DetectionWorkspace(
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


def grown(geometry: Geometry, work: DetectionWorkspace, count: int, overflow: int) -> DetectionWorkspace:
    """Return larger work arrays after an overflow of `detect`, which returned `count` and `overflow`."""
    pairs, contacts = len(work.pairs), len(work.contacts)
    if overflow & PAIRS_OVERFLOW:
        pairs = 2 * int(work.counted[0])
    if overflow & CONTACTS_OVERFLOW:
        contacts = 2 * count
    return detection_workspace_for(geometry, pairs, contacts)
