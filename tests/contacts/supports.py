"""Independent formulation of the gap of two convex shapes by support functions and a search over all directions.

The signed distance is the maximum over all unit vectors n of the distance between the shapes along n.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, minimize

from multibody_cli.contacts.contract import GeomKind

ALL_WAYS = np.random.default_rng(1).normal(size=(20000, 3))
ALL_WAYS /= np.linalg.norm(ALL_WAYS, axis=1)[:, None]
WAYS = ALL_WAYS[:5000]


def reach(form, pose, ways) -> np.ndarray:
    """Support function of a shape for unit vectors (n, 3)."""
    u, size = ways @ pose.R, form.size
    if form.kind is GeomKind.SPHERE:
        far = np.full(len(u), size[0])
    elif form.kind is GeomKind.CAPSULE:
        far = size[0] + size[1] * np.abs(u[:, 2])
    elif form.kind is GeomKind.BOX:
        far = np.abs(u) @ np.array(size)
    elif form.kind is GeomKind.CYLINDER:
        far = size[0] * np.hypot(u[:, 0], u[:, 1]) + size[1] * np.abs(u[:, 2])
    elif form.kind is GeomKind.ELLIPSOID:
        far = np.linalg.norm(u * size, axis=1)
    else:
        assert form.kind is GeomKind.HULL
        far = (u @ form.vertices.T).max(axis=1)
    return far + ways @ pose.x


def between(form_a, a, form_b, b, ways) -> np.ndarray:
    """Separation of A and B along unit vectors (n, 3)."""
    return -reach(form_a, a, ways) - reach(form_b, b, -ways)


def gap(form_a, a, form_b, b, starts=6) -> float:
    """Signed distance, by a search from the best of many directions."""
    found = between(form_a, a, form_b, b, ALL_WAYS)
    best = -np.inf
    for k in np.argsort(-found)[:starts]:
        n = ALL_WAYS[k]
        e = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
        across = np.array([e / np.linalg.norm(e), np.cross(n, e / np.linalg.norm(e))])

        def lost(y, n=n, across=across):
            way = n + y @ across
            return -between(form_a, a, form_b, b, (way / np.linalg.norm(way))[None])[0]

        options = {"xatol": 1e-11, "fatol": 1e-14, "maxiter": 2000, "initial_simplex": [[0, 0], [0.02, 0], [0, 0.02]]}
        best = max(best, -minimize(lost, [0.0, 0.0], method="Nelder-Mead", options=options).fun)
    return float(best)


def contains(vertices, p) -> bool:
    """Whether a point is a mean of vertices (n, 3), by a linear program."""
    equations = np.vstack([vertices.T, np.ones(len(vertices))])
    return linprog(np.zeros(len(vertices)), A_eq=equations, b_eq=[*p, 1.0], bounds=(0.0, None)).status == 0
