"""Export of scenes as models of other programs; see `contract.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multibody_cli.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from multibody_cli.studies.export.contract import ExportFormat
    from multibody_cli.studies.export.losses import Loss
    from multibody_cli.studies.simulation import PreparedSimulation

SUFFIXES = {
    "mjcf": ".xml",
    "urdf": ".urdf",
}
"""Suffixes of the files of each format, by the name of its module."""


EXPORTS: Registry[ExportFormat] = Registry.of_modules(__name__, {name: f"{name}.FORMAT" for name in SUFFIXES})
"""Every format by its name."""


def export_scene(
    simulation: PreparedSimulation, name: str, folder: Path, states: Mapping[str, PreparedSimulation] | None = None
) -> tuple[str, list[Loss]]:
    """Return a scene as the text of a model, and the losses.

    Parameters
    ----------
    simulation
        The scene.
    name
        Name of the format.
    folder
        Folder of the file; paths of meshes are relative to it.
    states
        The scene in its other initial states, by their names.

    Raises
    ------
    SceneError
        The scene has elements without which the model would be a different mechanism; all are listed.
    """
    import xml.etree.ElementTree as ET

    from multibody_cli.studies.export.mechanism import ExportedMechanism

    chosen, mechanism = EXPORTS[name], ExportedMechanism(simulation, states or {})
    simulation.loaded.refuse(chosen.objections(mechanism))
    root = chosen.write(mechanism, folder)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n", mechanism.losses.all
