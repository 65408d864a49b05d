"""Mechanisms that lie in the world at the start: moved out of it, as a whole.

A mechanism moves along the translations of the joints that connect it to the world, such as those of a free base or of
a vertical slide, by the smallest displacement x that separates it from all shapes n of the world,

    minimize |x|    subject to    n . T x >= depth,

with the columns T of these translations.  Its other coordinates keep their values.

Source: Lawson and Hanson, Solving least squares problems (1974), 23.4, problem LDP.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from multibody_cli.contacts.contract import Geometry, GeomKind
from multibody_cli.contacts.detect import touching
from multibody_cli.initial.assemble import Assembler
from multibody_cli.initial.initial_state import placed
from multibody_cli.model import Floats, Model, State
from multibody_cli.tree.configuration import displace
from multibody_cli.tree.markers import bodies_of_rows
from multibody_cli.tree.workspace import Work

ROUNDS = 10
"""Largest number of displacements; a second one removes contacts that the first one makes."""

LEAST_SLOPE = 0.5
"""Smallest sine of the angle between a surface and the translations that separate a mechanism from it."""

UNSEPARATED = 1e-9
"""Residual of the least distance problem below which no displacement separates a mechanism."""


def separate_from_world(geometry: Geometry, model: Model, state: State) -> dict[int, Floats]:
    """Move mechanisms out of the world, in place.

    Those that constraints hold, and those in meshes of the world, whose convex shapes may exceed them, stay in place.

    Returns
    -------
    dict
        By row of the first body of a mechanism, its displacement (3,) in the world, m.
    """
    start, roots, moved = state.q.copy(), _roots(model), defaultdict[int, Floats](lambda: np.zeros(3))
    for _ in range(ROUNDS):
        work = placed(model, state)
        step = np.zeros(model.nv)
        for root, contacts in _contacts_with_world(geometry, work, roots).items():
            columns = _translations(model, work, root)
            x = _least_displacement(work.columns["linear"][columns], contacts)
            step[columns] = x
            moved[root] = moved[root] + x @ work.columns["linear"][columns]
        if not step.any():
            break
        displace(model.system.tree, state.q, step, 1.0)
    if moved and len(model.system.rows):
        held = Assembler(model, state).assemble_positions(np.zeros(model.nv, np.bool_))
        if not held.before.small:
            state.q[:] = start
            return {}
    return {root: shift for root, shift in moved.items() if shift.any()}


def _roots(model: Model) -> list[int]:
    """Return, by row, the first moving body of its mechanism; 0 for bodies that do not move, and their markers."""
    roots = [0]
    for row, link in enumerate(model.system.tree.links[1:], 1):
        inboard = roots[int(link["parent"])]
        roots.append(inboard or (row if link["nv"] else 0))
    bodies = bodies_of_rows(model.system.tree)
    return [roots[body] for body in bodies]


def _contacts_with_world(geometry: Geometry, work: Work, roots: list[int]) -> dict[int, list[tuple[Floats, float]]]:
    """Return normals from the world to a mechanism, and depths, of the contacts of each mechanism that overlaps it."""
    found = defaultdict(list)
    for contact in touching(geometry, work.bodies):
        a, b = roots[int(contact["body_a"])], roots[int(contact["body_b"])]
        fixed = geometry.geoms[contact["geom_a" if a == 0 else "geom_b"]]
        if (a == 0) != (b == 0) and fixed["kind"] != GeomKind.HULL:
            normal = np.array(contact["normal"])
            found[a or b].append((normal if a == 0 else -normal, -float(contact["gap"])))
    return found


def _translations(model: Model, work: Work, root: int) -> list[int]:
    """Return the columns of the first joint of a mechanism that do not turn it and that no motion drives."""
    link = model.system.tree.links[root]
    columns = range(int(link["iv"]), int(link["iv"]) + int(link["nv"]))
    return [k for k in columns if not work.columns["angular"][k].any() and not model.system.tree.driven[k]]


def _least_displacement(columns: Floats, contacts: list[tuple[Floats, float]]) -> Floats:
    """Return the smallest x (k,) with n . T x >= depth for all contacts that the translations T (k, 3) can separate."""
    rows = np.array([(*columns @ normal, depth) for normal, depth in contacts])
    G, h = rows[:, :-1], rows[:, -1]
    able = np.linalg.norm(G, axis=1) > LEAST_SLOPE
    G, h = G[able], h[able]
    if not len(h) or h.max() <= 0.0:
        return np.zeros(len(columns))
    from scipy.optimize import nnls  # on demand: it takes 150 ms

    size = h.max()
    E, f = np.vstack([G.T, h / size]), np.append(np.zeros(len(columns)), 1.0)
    residual = E @ nnls(E, f)[0] - f
    if np.linalg.norm(residual) < UNSEPARATED:
        return np.zeros(len(columns))
    return np.asarray(-size * residual[:-1] / residual[-1])
