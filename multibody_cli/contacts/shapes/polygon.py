"""Polygons in a plane, as tables of rows (u, v, height, edge).

A row is a corner: its position in the plane, its height above the plane, and the name of the edge to the next corner.

Source: Sutherland and Hodgman, Reentrant polygon clipping, 1974.
"""

from __future__ import annotations

import math

from multibody_cli.kernel import formula, kernel

BY_CHANCE = 1e-6
"""Ratio of areas within which two corners are equally significant."""


@kernel
def cut(corners, count, closed, x, y, bound, edge, kept) -> int:
    """Clip a polygon, or an open line, to x u + y v <= bound; return the number of corners."""
    m = 0
    for k in range(count):
        following = k + 1 if k + 1 < count else (0 if closed else k)
        here = bound - x * corners[k, 0] - y * corners[k, 1]
        there = bound - x * corners[following, 0] - y * corners[following, 1]
        if here >= 0.0:
            m = _append(corners, k, following, 0.0, corners[k, 3], kept, m)
            if there < 0.0:
                m = _append(corners, k, following, here / (here - there), edge, kept, m)
        elif there >= 0.0:
            m = _append(corners, k, following, here / (here - there), corners[k, 3], kept, m)
    return m


@formula
def _append(corners, k, following, share, edge, kept, m):
    """Write the point between two corners as corner m of the clipped polygon, if the table has space."""
    if m == len(kept):
        return m
    for i in range(3):
        kept[m, i] = corners[k, i] + share * (corners[following, i] - corners[k, i])
    kept[m, 3] = edge
    return m + 1


@kernel
def reduce_corners(corners, count, capacity, apart) -> int:
    """Drop corners closer than `apart` to the next one, then the least significant until at most `capacity` are left.

    Returns the number of corners.
    """
    for k in range(count - 1, -1, -1):
        following = k + 1 if k + 1 < count else 0
        if (
            count > 1
            and math.hypot(corners[k, 0] - corners[following, 0], corners[k, 1] - corners[following, 1]) <= apart
        ):
            count = _drop(corners, count, following)
    while count > capacity:
        least, smallest, largest = 0, math.inf, 0.0
        for k in range(count):
            largest = max(largest, _cut_off(corners, count, k))
        for k in range(count):
            lost = _cut_off(corners, count, k)
            if lost < smallest - BY_CHANCE * largest:
                least, smallest = k, lost
        count = _drop(corners, count, least)
    return count


@kernel
def _drop(corners, count, row):
    """Remove one row; return the number of rows."""
    for k in range(row, count - 1):
        for i in range(4):
            corners[k, i] = corners[k + 1, i]
    return count - 1


@formula
def _cut_off(corners, count, k):
    """Return twice the area lost by removing corner k."""
    i, j = (k - 1 if k > 0 else count - 1), (k + 1 if k + 1 < count else 0)
    ux, uy = corners[k, 0] - corners[i, 0], corners[k, 1] - corners[i, 1]
    vx, vy = corners[j, 0] - corners[k, 0], corners[j, 1] - corners[k, 1]
    return abs(ux * vy - uy * vx)
