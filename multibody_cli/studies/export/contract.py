"""The formats of an export, and how to add one.

A scene becomes a model of another program in these steps::

    PreparedSimulation ──ExportedMechanism──▶ links, steps, relations ──ExportFormat.write──▶ XML
                                   │                                   │
                                   └──────────────▶ Losses ◀───────────┘

1. `ExportedMechanism` is the scene as a tree of links at zero coordinates.  A joint is a sequence of steps, each with
   an anchor and an axis in the body frame; couplings and loops are listed beside the tree.
2. `ExportFormat.objections` yields the elements without which the model would be a different mechanism.  The scene is
   refused with all of them.
3. `ExportFormat.write` writes everything that the format holds.  All else is `losses.approximate(path, how)` or
   `losses.drop(path, why)`, once for each element of the scene.

A format is one file `studies/export/<name>.py` with its `FORMAT`, and one line of `SUFFIXES` in
`studies/export/__init__.py`.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from pathlib import Path

from multibody_cli.immutable import Immutable
from multibody_cli.nodes import NodePath
from multibody_cli.studies.export.mechanism import ExportedMechanism


class ExportFormat(Immutable):
    """A format of models of another program.

    Parameters
    ----------
    title
        Its name in messages.
    objections
        `objections(mechanism)` yields the path and the reason of each element without which the model would be a
        different mechanism.
    write
        `write(mechanism, folder)` returns the root element; paths of meshes are relative to the folder of the file.
    """

    title: str
    objections: Callable[[ExportedMechanism], Iterable[tuple[NodePath, str]]]
    write: Callable[[ExportedMechanism, Path], ET.Element]
