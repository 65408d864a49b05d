"""Length of a mechanism: the scale of tolerances and offsets, from the dimensions of its bodies alone."""

from __future__ import annotations

import numpy as np

from multibody_cli.model import Floats, Tree


def length_of(tree: Tree) -> float:
    """Return the length of a mechanism, m: the largest distance in a body, or 1 without any.

    The distances are those of the centre of mass and of the joints of a body from its inboard joint, and its radii of
    gyration.  Distances on the ground and coordinates do not count, so that the place of a mechanism has no effect.
    """
    links, closures = tree.links, tree.closures
    moving, at_child = links["parent"] > 0, closures["child"] < len(links)
    massive = links["mass"] > 0.0
    at_parent = (closures["parent"] > 0) & (closures["parent"] < len(links))
    arms: list[Floats] = [
        links["com"],
        links["origin"][moving],
        closures["origin"][at_parent],
        closures["child_origin"][at_child],
    ]
    largest = [np.linalg.norm(arm, axis=1).max(initial=0.0) for arm in arms]
    spread = np.abs(links["central"][massive]).max(axis=1, initial=0.0) / links["mass"][massive]
    return float(max(*largest, np.sqrt(spread.max(initial=0.0)))) or 1.0
