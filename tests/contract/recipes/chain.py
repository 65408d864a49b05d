"""A toy format of another program, thin rods on each other: `<chain><rod name="a" length="1" mass="2"/></chain>`."""

from __future__ import annotations

import numpy as np

from multibody_cli.foreign.contract import Format
from multibody_cli.foreign.draft import WORLD, Draft
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.reading import Reading
from multibody_cli.mass import MassProperties


def read(root: Element, reading: Reading) -> Draft:
    """Read a chain, which begins horizontally along x; `color` of a rod is dropped."""
    draft = Draft(reading.path, reading.ledger, reading.problems)
    reading.ledger.keep(root)
    parent, tip = WORLD, 0.0
    for rod in reading.children(root, "rod"):
        name, length, mass = reading.text(rod, "name"), reading.number(rod, "length"), reading.number(rod, "mass")
        if "color" in rod.attributes:
            reading.ledger.drop(rod, "rods have no shape", attribute="color")
        body = draft.add_body(name, rod)
        moments = np.array([0.0, 1.0, 1.0]) * mass * length**2 / 12
        body.mass = MassProperties(mass, np.array([length / 2, 0.0, 0.0]), np.diag(moments))
        joint = draft.add_joint(name, rod, "revolute", parent, name)
        joint.pose, joint.fields["axis"] = FramePose(np.array([tip, 0.0, 0.0]), np.eye(3)), [0.0, 1.0, 0.0]
        parent, tip = name, length
    draft.set("simulation", root, {"duration": 0.1, "step": 0.01})
    return draft


FORMAT = Format("chain", ("chain",), read)
