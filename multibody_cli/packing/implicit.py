"""What implicit forces need of a model: see `implicit.implicit_forces`."""

from __future__ import annotations

import numpy as np

from multibody_cli.forces.elements import Forces
from multibody_cli.kernel import records
from multibody_cli.model import Records, Tree


def resists(tree: Tree, forces: Forces) -> bool:
    """Whether forces answer to motion otherwise than joint by joint along the tree."""
    if forces.resist:
        return True
    behind = tree.closures["iv"][0] if len(tree.closures) else len(tree.driven)
    sprung = (*forces.joint_springs["iv"], *forces.rotation_springs["iv"])
    return any(iv >= behind for iv in sprung)


def handed(links: Records, forces: Forces) -> Records:
    """Mark the bodies to which forces hand in what they add to the inertia."""
    rows = np.concatenate(
        [forces.points["row"], forces.drags["row"], forces.bushings["parent"], forces.bushings["child"]]
    )
    marked = np.array(links)
    marked["branches"][rows[rows < len(links)]] = 1
    marked.flags.writeable = False
    found: Records = records(marked)
    return found
