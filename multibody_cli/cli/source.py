"""SCENE on the command line: a scene file, or a result file with the scene that it was made from."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from multibody_cli.cli import messages
from multibody_cli.cli.compilation import purpose_of, show_compilation

if TYPE_CHECKING:
    from multibody_cli.studies.simulation import Simulation

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def is_result(path: Path) -> bool:
    """Whether a file is an HDF5 file; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(_HDF5_SIGNATURE)) == _HDF5_SIGNATURE
    except OSError:
        return False


def means_result(path: Path) -> bool:
    """Whether a path means a result file; if it is missing or damaged, its name tells what was meant."""
    from multibody_cli.output.trajectory import ENDINGS

    return is_result(path) or path.suffix in ENDINGS


def prepare_and_warn(path: Path, overrides: Sequence[str] = ()) -> Simulation:
    """Make a scene ready to run, and tell the user what the scene means but for now does not do.

    Raises
    ------
    Refused
        The scene, or the result file that it should be taken from, cannot be used.
    """
    from multibody_cli.studies.simulation import prepare

    began = time.perf_counter()
    show_compilation(f"the start of {path.name}")
    with scene_file(path) as scene:
        simulation = prepare(scene, overrides)
    show_compilation(purpose_of(simulation))
    messages.detail(f"{path}: read and compiled in {time.perf_counter() - began:.2f} s")
    for text in (*simulation.loaded.warnings, *simulation.compiled.warnings):
        messages.warning(text)
    return simulation


@contextmanager
def scene_file(path: Path) -> Iterator[Path]:
    """Give the scene file, written out for the time being if it lies in a result file."""
    if not is_result(path):
        yield path
        return
    from multibody_cli.output.trajectory import read_trajectory

    text = read_trajectory(path).scene_yaml
    # beside nothing else: the resolved scene includes no other file
    with tempfile.TemporaryDirectory(prefix="mbsim-") as folder:
        scene = Path(folder) / f"{os.path.basename(path)}.yaml"
        scene.write_text(text, encoding="utf-8")
        yield scene
