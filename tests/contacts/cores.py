"""Independent formulation of the gap of spheres, capsules and boxes.

Each is a ball around its *core*: the points c + G u with |u| <= 1 in every component, where G has no, one or three
columns.  Cores apart: bounded least squares.  Cores that meet: their Minkowski difference is a body of the same sort,
and its faces are spanned by pairs of columns.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import lsq_linear

from multibody_cli.contacts.contract import GeomKind


def core_of(form, pose):
    """Center, columns and radius."""
    if form.kind is GeomKind.SPHERE:
        return pose.x, np.zeros((3, 0)), form.size[0]
    if form.kind is GeomKind.CAPSULE:
        return pose.x, form.size[1] * pose.R[:, 2:], form.size[0]
    assert form.kind is GeomKind.BOX
    return pose.x, pose.R * form.size, 0.0


def distance(form_a, a, form_b, b) -> float:
    """Distance of the cores, 0 where they meet."""
    (x, G, _), (y, H, _) = core_of(form_a, a), core_of(form_b, b)
    columns = np.hstack([G, -H])
    if columns.shape[1] == 0:
        return float(np.linalg.norm(y - x))
    solved = lsq_linear(columns, y - x, (-1.0, 1.0), method="bvls", tol=1e-15, max_iter=1000)
    return float(np.linalg.norm(columns @ solved.x - (y - x)))


def way_out(form_a, a, form_b, b, directions) -> np.ndarray:
    """Displacement of B along each unit vector (n, 3) that separates it from A, for overlapping shapes."""
    (x, G, r), (y, H, s) = core_of(form_a, a), core_of(form_b, b)
    reach = np.abs(directions @ G).sum(axis=1) + np.abs(directions @ H).sum(axis=1)
    return reach + r + s - directions @ (y - x)


def gap(form_a, a, form_b, b) -> float:
    """Signed distance: that of the cores if positive, else minus the shortest separating displacement."""
    (_, G, r), (_, H, s) = core_of(form_a, a), core_of(form_b, b)
    apart = distance(form_a, a, form_b, b)
    if apart > 1e-9:
        return apart - r - s
    normals = np.array([np.cross(g, h) for g, h in combinations(np.hstack([G, H]).T, 2)])
    lengths = np.linalg.norm(normals, axis=1)
    normals = normals[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    return -float(way_out(form_a, a, form_b, b, np.vstack([normals, -normals])).min())
