"""The arguments SCENE, a scene file or a result file that contains its scene, FILE, CHANNEL and times."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.options import OUTPUTS
from multibody_cli.cli.progress import Waiting, purpose_of, show_compilation
from multibody_cli.errors import ArgumentError, QuantityError, ResultError, similar_file

if TYPE_CHECKING:
    from multibody_cli.document.source import SceneSource, StoredScene
    from multibody_cli.output.trajectory import Trajectory
    from multibody_cli.scene.schema import SceneSpec
    from multibody_cli.studies.simulation import PreparedSimulation


FRAMES = ("world", "body", "joint")

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
    path: Path,
    overrides: Sequence[str] = (),
    text: str = "",
    source: SceneSource | None = None,
    runs: bool = True,
    without: tuple[str, ...] = (),
) -> PreparedSimulation:
    """Load and compile a scene, and report its warnings.

    Parameters
    ----------
    path
        A scene file, or a result file.
    overrides
        Values to replace, each `KEY=VALUE`.
    text
        The resolved scene of the result file, if it is read already.
    source
        The scene, if it is more than that of the file.
    runs
        Whether the scene is run: otherwise the length of its steps is not checked.
    without
        `rates`, `loads`: no warnings that concern these alone.

    Raises
    ------
    Refused
        The scene, or the result file that contains it, cannot be used.
    """
    from multibody_cli.studies.simulation import prepare

    began = time.perf_counter()
    show_compilation(f"the start of {path.name}")
    scene = source or (stored_scene(text, path) if text else scene_of(path))
    with Waiting(f"preparing {path.name}"):
        simulation = prepare(scene, overrides)
    show_compilation(purpose_of(simulation))
    messages.detail(f"{path}: read and compiled in {time.perf_counter() - began:.2f} s")
    from multibody_cli.initial.redundant_rows import OfLoads, OfRates

    kinds = tuple({"rates": OfRates, "loads": OfLoads}[word] for word in without)
    unchecked = {text for text in simulation.compiled.warnings if isinstance(text, kinds)}
    if not runs:
        from multibody_cli.compile import without_check_of_step

        kept = without_check_of_step(simulation.compiled.alarms)
        unchecked |= {str(alarm) for alarm in simulation.compiled.alarms if alarm not in kept}
    for warning in (*simulation.loaded.warnings, *simulation.compiled.warnings):
        if warning not in unchecked:
            messages.warning(warning)
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


def expressed(trajectory: Trajectory, frame: str | None) -> Trajectory:
    """Return a run with its wrenches in other axes; without a frame, as they are recorded."""
    if frame is None:
        return trajectory
    from multibody_cli.studies.wrenches import express_wrenches

    return express_wrenches(trajectory, scene_in(trajectory), frame)


def scene_in(trajectory: Trajectory) -> SceneSpec:
    """Return the scene of a run."""
    from multibody_cli.scene.load import load_scene

    return load_scene(stored_scene(trajectory.scene_yaml, trajectory.source)).scene


_LONGEST_NAME = 180
"""Maximum length of a generated file name in bytes; file systems accept 255."""


class Time(click.ParamType[float]):
    """A time with or without a unit: `0.5`, `10ms` or '10 ms'.

    Parameters
    ----------
    positive
        Whether 0 and negative times are refused.
    """

    name = "time"

    def __init__(self, positive: bool = False) -> None:
        self._positive = positive

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the time in s."""
        from multibody_cli.spec.quantities import Quantity
        from multibody_cli.spec.units import TIME

        try:
            return Quantity(TIME, above=0.0 if self._positive else None).read(value)
        except QuantityError as error:
            self.fail(str(error), param, ctx)


FROM = click.option("--from", "start", metavar="TIME", type=Time(), help="First time, as in 1s or '500 ms'.")
FRAME = click.option(
    "--frame", type=click.Choice(FRAMES), help="Axes of wrenches. Default: those in which they are recorded."
)
TO = click.option("--to", "end", metavar="TIME", type=Time(), help="Last time.")


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the arguments into files and channels.

    Raises
    ------
    ArgumentError
        There is no file.
    """
    files = list(dict.fromkeys(word for word in words if os.path.isfile(word) or denotes_result(Path(word))))
    if not files:
        raise ArgumentError(_why_no_file(words))
    return files, [word for word in words if word not in files]


def explain_channels(error: ResultError, channels: Sequence[str]) -> ResultError:
    """Add to an error about channels the files that were probably meant."""
    from multibody_cli.output.trajectory import ENDINGS

    # a file with a misspelled extension was interpreted as a channel
    files = [(word, near) for word in channels if (near := similar_file(Path(word), ENDINGS))]
    hints = [f"no file `{word}` either: did you mean `{near}`?" for word, near in files]
    return ResultError("\n".join([str(error), *hints]))


def stem(file: str) -> str:
    """Return the name of a result file without folder and suffixes."""
    return re.sub(r"(\.(h5|hdf5|part))+$", "", Path(file).name)


def joined(files: Sequence[str], channels: Sequence[str]) -> str:
    """Return the name of a file made from results and channels; of many, the name has the first ones and a count."""
    words = [plain for word in [*map(stem, files), *channels] if (plain := re.sub(r"[^\w.]+", "-", word).strip("-."))]
    for shown in range(len(words), 0, -1):
        left_out = len(words) - shown
        name = "-".join([*words[:shown], *([f"and-{left_out}-more"] if left_out else [])])
        if len(os.fsencode(name)) <= _LONGEST_NAME:
            return name
    raise ArgumentError("the names of the file and its channels are too long for a file name: give one with -o")


def _why_no_file(words: Sequence[str]) -> str:
    from multibody_cli.output.trajectory import ENDINGS

    word = words[0]
    if os.path.isdir(word):
        return f"{word} is a folder, not a result file"
    near = similar_file(Path(word), ENDINGS) or similar_file(OUTPUTS / word, ENDINGS)
    hint = f"did you mean `{near}`?" if near else "name a file written by `mbsim run`, as in outputs/swing.h5"
    return f"no result file `{word}`: {hint}"
