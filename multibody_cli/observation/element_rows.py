"""Rows of the elements of a scene in the arrays of a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from multibody_cli.escaping import path_component
from multibody_cli.forces.elements import CONTROLS, TENSIONS
from multibody_cli.model import Account, Integers, Model, Records
from multibody_cli.tree.markers import bodies_of_rows


class ElementRows(NamedTuple):
    """Rows of bodies and joints, the number of the body of each row, and the rows of other elements."""

    bodies: Integers  # (nb,)
    joints: Integers  # (nj,) of the child, or of the loop frame
    numbers: Integers  # (rows of the tree,) -1 for the world
    actuators: Integers  # (forces of actuators,) numbers of signals; -1 - k for command k
    activations: Integers  # (filtered actuators,) numbers of signals
    sensors: Records  # of `FIXED_FRAME`
    points: Records
    combinations: Integers  # (n, 3) signals


def element_rows(model: Model) -> ElementRows:
    """Return the rows of a model, in the order of the scene."""
    names = model.names
    numbers = np.full(len(model.system.tree.links), -1)
    numbers[names.body_rows] = np.arange(len(names.body_rows))
    numbers = numbers[bodies_of_rows(model.system.tree)]
    joints = np.array([joint.row for joint in names.joints], dtype=np.int64)
    actuators = np.array(list(_actuator_rows(model)), dtype=np.int64)
    own = model.activations, model.sensors, model.points, model.combinations
    return ElementRows(names.body_rows, joints, numbers, actuators, *own)


def _actuator_rows(model: Model) -> Iterator[int]:
    tables, commands = model.system.forces.tables, model.system.commands
    number = {account: k for k, account in enumerate(model.names.accounts)}
    for actuator in model.names.actuators:
        account = number[Account("work", f"actuators/{path_component(actuator.name)}")]
        found = [
            int(k) for one in (CONTROLS, TENSIONS) for k in tables[one]["signal"][tables[one]["account"] == account]
        ]
        yield from found[: len(actuator.coordinates)]  # those of a combination have the same force
        yield from (-1 - np.flatnonzero(commands["account"] == account)).tolist()
