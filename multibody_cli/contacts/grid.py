"""Broad phase: pairs of geoms with nearby bounding spheres and boxes, on a hierarchical grid.

Each geom is stored in the grid cell of its center.  Cell widths are one to two times the diameter of the geom, margin
included.  Grids of different widths are *levels*, each half as wide as the one above, in one hash table.  A geom is
compared with the geoms in the cells about its center that are within its reach, on its own level and on every coarser
level in use, so that each pair is found from its smaller geom.  The cost is proportional to the numbers of geoms and of
pairs, for any sizes, unless geoms of a level crowd in one cell.  Few geoms are all on one level.  Planes are
unbounded and are compared with all geoms.

Of pairs with nearby spheres, those remain whose boxes overlap, within the margin, along the axes of both: two of the
three groups of separating axes of boxes, as edges rarely separate boxes that faces do not.
Source: Gottschalk, Lin, Manocha, OBBTree: a hierarchical structure for rapid interference detection, SIGGRAPH 1996.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.shapes.separation import half_width
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import dot

# --- filtering of pairs of geoms by body, group and exclusion ---------------------------------------------------------
_ROWS = 2**31


def key_of(body_a: int, body_b: int) -> int:
    """Encode a pair of body rows, the lower one first, as one number."""
    return body_a * _ROWS + body_b


def pair_of(key: int) -> tuple[int, int]:
    """Decode a pair of body rows."""
    return divmod(key, _ROWS)


@kernel
def may_touch(a, b, excluded):
    """Return whether two geoms form a pair: not of one weld, one collides with a group of the other, not excluded."""
    if a.weld == b.weld or ((a.group & b.mask) | (b.group & a.mask)) == 0:
        return False
    return place_of_pair(excluded, a.body, b.body) < 0


@kernel
def place_of_pair(ascending, body_a, body_b) -> int:
    """Return the place of a pair of body rows among ascending pairs, each as one number; -1 if it is not there."""
    key, low, high = min(body_a, body_b) * _ROWS + max(body_a, body_b), 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(ascending) and ascending[low] == key else -1


PLANE, SPHERE = int(GeomKind.PLANE), int(GeomKind.SPHERE)
LEVELS = 48
"""Largest number of levels; smaller geoms are stored on the finest level."""

FEW = 64
"""Number of geoms up to which one level takes less time than several, even if the geoms crowd in one cell."""

NARROWEST = 1e-200
"""Width of cells for geoms without extent, m."""

FARTHEST = 2.0**31
"""Cell numbers are clamped to this value, so that products of them do not overflow."""

NOISE = 1.000001
"""Factor to distances that exceeds the round-off of cells up to the farthest one."""


@kernel
def boxes_are_near(a, b, placed, i, j, margin) -> bool:
    """Return whether no axis of the bounding boxes of geoms i (A) and j (B) separates them by more than a margin."""
    if a.kind == SPHERE and b.kind == SPHERE:
        return True
    R, Q, half, other = load(placed[i].R), load(placed[j].R), load(a.box_half), load(b.box_half)
    apart = load(placed[j].x) + Q @ load(b.box_center) - load(placed[i].x) - R @ load(a.box_center)
    return (
        abs(dot(R.x, apart)) < half.x + half_width(Q, other, R.x) + margin
        and abs(dot(R.y, apart)) < half.y + half_width(Q, other, R.y) + margin
        and abs(dot(R.z, apart)) < half.z + half_width(Q, other, R.z) + margin
        and abs(dot(Q.x, apart)) < other.x + half_width(R, half, Q.x) + margin
        and abs(dot(Q.y, apart)) < other.y + half_width(R, half, Q.y) + margin
        and abs(dot(Q.z, apart)) < other.z + half_width(R, half, Q.z) + margin
    )


@kernel
def find_pairs(geometry, margin, work):
    """Write the pairs (a, b), a < b, of geoms whose bounds are nearer than the margin, in no particular order.

    `work.counted` receives the number of pairs, which may exceed the rows of `work.pairs`, and the number of distances
    compared.
    """
    work.counted[0] = work.counted[1] = 0
    _pair_with_planes(geometry, margin, work)
    widest = _widest_cell(geometry.geoms, margin)
    levels = _fill(geometry.geoms, margin, widest, work)
    for i in range(len(geometry.geoms)):
        if geometry.geoms[i].kind != PLANE:
            for level in range(work.cells[i].level + 1):
                if (levels >> level) & 1:
                    _search_level(geometry, i, level, margin, widest, work)


@kernel
def _pair_with_planes(geometry, margin, work):
    geoms, placed = geometry.geoms, work.placed
    for p in range(len(geoms)):
        if geoms[p].kind == PLANE:
            normal, origin = load(placed[p].R).z, load(placed[p].x)
            for i in range(len(geoms)):
                if geoms[i].kind != PLANE:
                    work.counted[1] += 1
                    R = load(placed[i].R)
                    center = load(placed[i].x) + R @ load(geoms[i].box_center)
                    if dot(normal, center - origin) < half_width(R, load(geoms[i].box_half), normal) + margin:
                        _keep(geometry, p, i, work)


@kernel
def _keep(geometry, i, j, work):
    """Store a pair that passes the filter, if the table has space."""
    if may_touch(geometry.geoms[i], geometry.geoms[j], geometry.excluded):
        k = work.counted[0]
        if k < len(work.pairs):
            work.pairs[k, 0] = min(i, j)
            work.pairs[k, 1] = max(i, j)
        work.counted[0] = k + 1


@kernel
def _widest_cell(geoms, margin):
    """Return the cell width of level 0: the diameter of the largest geom plus the margin."""
    bounding_radius = 0.0
    for i in range(len(geoms)):
        if geoms[i].kind != PLANE:
            bounding_radius = max(bounding_radius, geoms[i].bounding_radius)
    return max(2.0 * bounding_radius + margin, NARROWEST)


@formula
def _width(level, widest):
    """Return the cell width of a level."""
    return widest * 0.5**level


@formula
def _level(geom, margin, widest, levels):
    """Return the finest of some levels whose cells are at least as wide as the geom plus the margin."""
    level, width = 0, 0.5 * widest
    while level < levels - 1 and width >= 2.0 * geom.bounding_radius + margin:
        level, width = level + 1, 0.5 * width
    return level


@formula
def _cell_along(x, width):
    """Return the cell number along one axis."""
    return int(min(max(math.floor(x / width), -FARTHEST), FARTHEST))


@formula
def _bucket(x, y, z, level, buckets):
    """Return the hash bucket of a cell."""
    return (x * 73856093 ^ y * 19349663 ^ z * 83492791 ^ level * 49979687) & (len(buckets) - 1)


@kernel
def _fill(geoms, margin, widest, work) -> int:
    """Insert all geoms into the grid; return the levels in use, as bits."""
    cells, buckets = work.cells, work.buckets
    for k in range(len(buckets)):
        buckets[k] = -1
    levels = 0
    for i in range(len(geoms) - 1, -1, -1):  # so that chains ascend
        if geoms[i].kind != PLANE:
            cell, center = cells[i], load(work.placed[i].x)
            cell.level = _level(geoms[i], margin, widest, LEVELS if len(geoms) > FEW else 1)
            width = _width(cell.level, widest)
            cell.x, cell.y, cell.z = (
                _cell_along(center.x, width), _cell_along(center.y, width), _cell_along(center.z, width)
            )  # fmt: skip
            k = _bucket(cell.x, cell.y, cell.z, cell.level, buckets)
            cell.next = buckets[k]
            buckets[k] = i
            levels |= 1 << cell.level
    return levels


@formula
def _neighbors(x, width, reach):
    """Return the cell of x along one axis, and the first and last cell within reach."""
    cell = _cell_along(x, width)
    beyond = x - cell * width
    return cell, (cell - 1 if beyond < reach else cell), (cell + 1 if beyond + reach >= width else cell)


@kernel
def _search_level(geometry, i, level, margin, widest, work):
    """Compare a geom with the geoms of one level, its own or a coarser one, in the cells about its center.

    The radii of these geoms are at most (width - margin) / 2.  On its own level, the earlier cell of two searches the
    later one.
    """
    center, width, own = load(work.placed[i].x), _width(level, widest), work.cells[i].level == level
    reach = NOISE * (geometry.geoms[i].bounding_radius + 0.5 * (width + margin))
    x, first_x, last_x = _neighbors(center.x, width, reach)
    y, first_y, last_y = _neighbors(center.y, width, reach)
    z, first_z, last_z = _neighbors(center.z, width, reach)
    for cx in range(x if own else first_x, last_x + 1):
        for cy in range(y if own and cx == x else first_y, last_y + 1):
            for cz in range(z if own and cx == x and cy == y else first_z, last_z + 1):
                j = work.buckets[_bucket(cx, cy, cz, level, work.buckets)]
                if j >= 0:
                    after = i if own and cx == x and cy == y and cz == z else -1
                    _search_cell(geometry, i, after, j, level, cx, cy, cz, margin, work)


@kernel
def _search_cell(geometry, i, after, j, level, x, y, z, margin, work):
    """Compare geom i with the geoms of a cell and numbers above `after`; j is the first one in its bucket."""
    geoms = geometry.geoms
    while j >= 0:
        cell = work.cells[j]
        if j > after and cell.level == level and cell.x == x and cell.y == y and cell.z == z:
            work.counted[1] += 1
            apart = load(work.placed[j].x) - load(work.placed[i].x)
            near = geoms[i].bounding_radius + geoms[j].bounding_radius + margin
            if dot(apart, apart) < near * near and boxes_are_near(geoms[i], geoms[j], work.placed, i, j, margin):
                _keep(geometry, i, j, work)
        j = cell.next
