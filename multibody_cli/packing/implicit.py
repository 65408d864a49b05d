"""Marks of a model for implicit forces: see `implicit.implicit_forces`."""

from __future__ import annotations

import numpy as np

from multibody_cli.forces.elements import Forces
from multibody_cli.kernel import frozen
from multibody_cli.model import Records, Tree


def needs_implicit_solve(tree: Tree, forces: Forces) -> bool:
    """Whether stiffness or damping couples more than single coordinates of joints that carry bodies."""
    if forces.has_body_stiffness_or_damping:
        return True
    behind = tree.closures["iv"][0] if len(tree.closures) else len(tree.driven)
    return any(coordinates.start >= behind for coordinates in forces.sprung_coordinates)


def mark_implicit_bodies(links: Records, forces: Forces) -> Records:
    """Return the links with the bodies marked whose inertia implicit forces add to."""
    rows = forces.implicit_bodies
    marked = np.array(links)
    marked["has_side_children"][rows[rows < len(links)]] = 1
    return frozen(marked)
