"""Work arrays for contact detection, and their growth on overflow."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.contacts.contract import CONTACT, FACE_CORNERS, Floats, Geometry, Integers, Records
from multibody_cli.contacts.shapes.polytope import FACET, FACETS, POINT, POINTS, SPARE
from multibody_cli.contacts.shapes.solid import SOLID
from multibody_cli.kernel import allocate

PLACED = np.dtype([("x", "f8", 3), ("R", "f8", 9)])
"""World frame of a geom."""

CELL = np.dtype([("level", "i8"), ("x", "i8"), ("y", "i8"), ("z", "i8"), ("next", "i8")])
"""Grid cell of a geom, and the next geom in its bucket; -1 ends the list."""

POLYGON_CAPACITY = 2 * FACE_CORNERS
"""Largest number of corners of a clipped face: each cut adds at most one."""

TRIAL = 32
"""Capacity for the contacts of one pair."""

FITS, PAIRS_OVERFLOW, CONTACTS_OVERFLOW = 0, 1, 2
"""Overflow flags of `detect`; the latter two are bits."""


class ConvexWork(NamedTuple):
    """Work arrays for one pair of convex solids."""

    solids: Annotated[Records, 2, SOLID]  # A and B
    points: Annotated[Records, POINTS + SPARE, POINT]  # of their difference
    facets: Annotated[Records, FACETS, FACET]
    edges: Annotated[Integers, FACETS, 2]  # of the facets that a point takes away


class DetectionWorkspace(NamedTuple):
    """Work arrays for n geoms; `pairs` and `contacts` are the results."""

    placed: Annotated[Records, "n", PLACED]
    cells: Annotated[Records, "n", CELL]
    buckets: Annotated[Integers, "nb"]  # a power of two
    places: Annotated[Integers, "ends"]  # (n + 1,) scratch for sorting pairs
    spare: Annotated[Integers, "np", 2]  # scratch for sorting pairs
    polygon: Annotated[Floats, 3, POLYGON_CAPACITY, 4]  # a face during clipping, and the clipping face
    convex: ConvexWork
    near: Annotated[Integers, "nv"]  # vertices of a hull near a plane
    counted: Annotated[Integers, 2]  # number of pairs, and of distances compared
    margin: Annotated[Floats, 1]  # below which the gaps of these pairs may be, m
    overflow: Annotated[Integers, 1]  # whether a step has exceeded a capacity
    unresolved: Annotated[Integers, 1]  # pairs of this step whose paths are not followed to the end
    trial: Annotated[Records, TRIAL, CONTACT]  # contacts of one pair, on its path
    pairs: Annotated[Integers, "np", 2]  # numbers of geoms, ascending
    contacts: Annotated[Records, "nc", CONTACT]


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
    nc = 4 * pairs if contacts is None else contacts
    buckets = 1 << max(2 * n - 1, 1).bit_length()
    nv = int(np.max(geometry.geoms["last_vertex"] - geometry.geoms["first_vertex"], initial=0))
    return allocate(DetectionWorkspace, n=n, ends=n + 1, nb=buckets, nv=nv, np=pairs, nc=nc)


def grown(geometry: Geometry, work: DetectionWorkspace, count: int, overflow: int) -> DetectionWorkspace:
    """Return larger work arrays after an overflow of `detect`, which returned `count` and `overflow`."""
    pairs, contacts = len(work.pairs), len(work.contacts)
    if overflow & PAIRS_OVERFLOW:
        pairs = 2 * int(work.counted[0])
    if overflow & CONTACTS_OVERFLOW:
        contacts = 2 * count
    return detection_workspace_for(geometry, pairs, contacts)
