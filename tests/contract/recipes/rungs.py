"""A toy format of exports, slides above each other: `<rungs><rung name="a" z="1" mass="2"/></rungs>`."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from multibody_cli.joints.contract import PartCode
from multibody_cli.nodes import NodePath
from multibody_cli.studies.export.contract import ExportFormat
from multibody_cli.studies.export.mechanism import ExportedMechanism


def objections(mechanism: ExportedMechanism) -> Iterator[tuple[NodePath, str]]:
    """Yield the joints that are no screws."""
    return mechanism.objections("rungs", (PartCode.SCREW,))


def write(mechanism: ExportedMechanism, folder: Path) -> ET.Element:
    """Return the rungs with their initial heights."""
    root = ET.Element("rungs")
    for link in mechanism.links.values():
        z = sum(step.axis[2] * step.q[0] for step in link.steps) + link.pose.position[2]
        ET.SubElement(root, "rung", name=link.name, z=repr(float(z)), mass=repr(link.mass.mass))
        for k, _ in enumerate(mechanism.scene.bodies[link.name].shapes):
            mechanism.losses.drop(("bodies", link.name, "shapes", k), "rungs have no shape")
    mechanism.losses.drop_sections(mechanism.scene)
    return root


FORMAT = ExportFormat("rungs", objections, write)
