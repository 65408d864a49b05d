"""Rows of the elements of a scene in the arrays of a model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.model import Integers, Model


class ElementRows(NamedTuple):
    """Rows of bodies and joints, and the number of the body of each row."""

    bodies: Integers  # (nb,)
    joints: Integers  # (nj,) of the child, or of the loop frame
    numbers: Integers  # (rows of the tree,) -1 for the world


def element_rows(model: Model) -> ElementRows:
    """Return the rows of a model, in the order of the scene."""
    names = model.names
    numbers = np.full(len(model.system.tree.links), -1)
    numbers[names.body_rows] = np.arange(len(names.body_rows))
    return ElementRows(names.body_rows, np.array([joint.row for joint in names.joints], dtype=np.int64), numbers)
