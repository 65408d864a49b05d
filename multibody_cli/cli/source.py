"""The argument SCENE: a scene file, or a result file that contains its scene."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from multibody_cli.cli import messages
from multibody_cli.cli.compilation import purpose_of, show_compilation
from multibody_cli.cli.progress import Waiting

if TYPE_CHECKING:
    from multibody_cli.document.source import StoredScene
    from multibody_cli.studies.simulation import Simulation

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def is_result(path: Path) -> bool:
    """Whether a file is an HDF5 file; False if it cannot be read, or is a pipe, which can be read only once."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_HDF5_SIGNATURE)) == _HDF5_SIGNATURE
    except OSError:
        return False


def denotes_result(path: Path) -> bool:
    """Whether a path denotes a result file; for a missing or damaged file, its extension decides."""
    from multibody_cli.output.trajectory import ENDINGS

    return is_result(path) or path.suffix in ENDINGS


def prepare_and_warn(
    path: Path, overrides: Sequence[str] = (), text: str = "", reported: set[str] | None = None
) -> Simulation:
    """Load and compile a scene, and report its warnings.

    Parameters
    ----------
    path
        A scene file, or a result file.
    overrides
        Values to replace, each `KEY=VALUE`.
    text
        The resolved scene of the result file, if it is read already.
    reported
        Warnings that are not repeated; those of this scene are added.

    Raises
    ------
    Refused
        The scene, or the result file that contains it, cannot be used.
    """
    from multibody_cli.studies.simulation import prepare

    began = time.perf_counter()
    show_compilation(f"the start of {path.name}")
    scene = stored_scene(text, path) if text else scene_of(path)
    with Waiting(f"preparing {path.name}"):
        simulation = prepare(scene, overrides)
    show_compilation(purpose_of(simulation))
    messages.detail(f"{path}: read and compiled in {time.perf_counter() - began:.2f} s")
    reported = set() if reported is None else reported
    for warning in (*simulation.loaded.warnings, *simulation.compiled.warnings):
        if warning not in reported:
            messages.warning(warning)
        reported.add(warning)
    return simulation


def scene_of(path: Path) -> Path | StoredScene:
    """Return a scene file, or the scene in a result file."""
    if not is_result(path):
        return path
    from multibody_cli.output.trajectory import read_trajectory

    return stored_scene(read_trajectory(path).scene_yaml, path)


def stored_scene(text: str, path: Path | str) -> StoredScene:
    """Return the scene in a result file, whose text is read already."""
    from multibody_cli.document.source import StoredScene

    return StoredScene(text, str(path))
