"""`mbsim export`: writes channels of a result file as a table, or a scene as a model or an FMU, for other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, OUTPUTS
from multibody_cli.cli.progress import ProgressBar, Waiting
from multibody_cli.cli.source import (
    FRAME,
    FROM,
    Time,
    explain_channels,
    expressed,
    is_result,
    joined,
    prepare_and_warn,
    scene_in,
    split_words,
)
from multibody_cli.cli.tables import show
from multibody_cli.errors import ArgumentError, ResultError
from multibody_cli.studies.export import EXPORTS, SUFFIXES

TABLES = OUTPUTS / "tables"
MODELS = OUTPUTS / "models"
FMU = "fmu"


class _TimeOrFormat(Time):
    """A time, or a format of models."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the time in s, or the format."""
        if value in WRITERS:
            return value
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if value[:1].isdecimal():
                raise
            formats = ", ".join(f"`{name}`" for name in WRITERS)
            self.fail(f"{error.message}; or a format of models: {formats}", param, ctx)


@click.command("export", cls=Verb, short_help="Write a table of a result, or a scene as MJCF, URDF or FMU.")
@click.argument("words", metavar="FILE [CHANNEL]...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    metavar="FILE.csv|parquet|mat|npz|sto|mot|xml|urdf|fmu",
    type=FILE,
    help="Default: outputs/tables/<file>-<channels>.csv, or outputs/models/<scene>.xml, .urdf or .fmu",
)
@FROM
@click.option(
    "--to",
    "end",
    metavar=f"TIME|{'|'.join([*SUFFIXES, FMU])}",
    type=_TimeOrFormat(),
    help="Last time; or the format of a model, to write a scene.",
)
@click.option("--every", metavar="TIME", type=Time(positive=True), help="Interval, a multiple of the output interval.")
@FRAME
@click.option("--reactions", is_flag=True, help="Write the wrenches of all joints as one table, with a row for each.")
@click.option("--strict", is_flag=True, help="Refuse a scene of which the model cannot keep everything.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def verb(
    words: tuple[str, ...],
    output: Path | None,
    start: float | None,
    end: Any,
    every: float | None,
    frame: str | None,
    reactions: bool,
    strict: bool,
    force: bool,
) -> int:
    """Write channels of FILE as a table; without a CHANNEL, all that have one value for each output instant.

    A CHANNEL is a path, a group or a component, with `*` as a wildcard, as for `mbsim plot`. Each component is a column
    with its unit; the first column is the time. Channels of contacts (contacts, or contacts/gap) make a table with one
    row for each contact. A table of `mbsim sweep` is exported as a whole.

    The suffix of the output is the format: comma-separated values, whose numbers read back to the same bits; Parquet,
    with the units as metadata; MATLAB, with one variable for each column; NumPy, with one array for each column;
    storages of OpenSim (sto, mot).

    --reactions writes one table of all joints: for each instant and joint the force and the moment of the joint on its
    child, about the origin of its joint frame there. --frame sets the axes of wrenches: of the world, of the body on
    which they act, or of the frame of the joint on the child, in which they are recorded.

    With `--to mjcf`, FILE is a scene, which is written as a model of MuJoCo, and with `--to urdf` as one of ROS. Each
    element that the model approximates or drops is reported. With `--to fmu`, it is a unit of FMI 3.0 for
    co-simulation, whose inputs are those of the scene and whose outputs are the CHANNELs; it runs where this package
    is installed.

    Exit code: 0; 2 if FILE cannot be used, or has losses with --strict.
    """
    if end in WRITERS:
        if start is not None or every is not None:
            raise ArgumentError(f"--to {end} writes one scene: it takes no times")
        if frame or reactions:
            raise ArgumentError(f"--to {end} writes one scene: --frame and --reactions are for tables")
        return WRITERS[end](words, end, output, strict, force)
    if strict:
        raise ArgumentError(f"--strict has no effect without --to {'|'.join(EXPORTS)}")
    from multibody_cli.output.file_replacement import require_replaceable
    from multibody_cli.output.selection import select_instants
    from multibody_cli.output.sweep_table import SweepTable, is_sweep_table
    from multibody_cli.output.table import table_of
    from multibody_cli.output.table_formats import format_of
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.studies.wrenches import reactions_of

    files, channels = split_words(words)
    if len(files) > 1:
        raise ArgumentError(f"{len(files)} files are too many: a table has the channels of one")
    target = output or TABLES / f"{joined(files, ['reactions'] if reactions else channels)}.csv"
    format_ = format_of(target)
    require_replaceable(target, force)
    if is_result(target):
        raise ArgumentError(f"{target} is a result file, not a table: use another name with -o")
    if is_sweep_table(Path(files[0])):
        if channels or reactions or frame or start is not None or end is not None or every is not None:
            raise ArgumentError(f"{files[0]} is a table of a sweep: it is exported as a whole, without other arguments")
        format_.replace(SweepTable(Path(files[0])), target)
        show(target)
        return 0
    trajectory = expressed(read_trajectory(files[0]), frame)
    rows = select_instants(trajectory, start, end, every)
    if reactions:
        if channels:
            raise ArgumentError("--reactions writes the wrenches of all joints: it takes no channels")
        format_.replace(reactions_of(trajectory, scene_in(trajectory), rows, frame), target)
        show(target)
        return 0
    with ProgressBar("values") as bar:
        try:
            table = table_of(trajectory, channels, rows, bar.show)
        except ResultError as error:
            raise explain_channels(error, channels) from error
        format_.replace(table, target)
    show(target)
    return 0


def _export_model(words: Sequence[str], format_: str, output: Path | None, strict: bool, force: bool) -> int:
    """Write a scene as a model, and report the losses."""
    if len(words) > 1:
        raise ArgumentError(f"--to {format_} writes one scene: it takes no channels")
    from multibody_cli.nodes import format_path
    from multibody_cli.output.file_replacement import require_replaceable, write_text
    from multibody_cli.studies.export import export_scene
    from multibody_cli.studies.simulation import prepare

    path = Path(words[0])
    simulation = prepare_and_warn(path)
    target = output or MODELS / f"{simulation.scene.name}{SUFFIXES[format_]}"
    require_replaceable(target, force)
    states = {name: prepare(path, [f"--state={name}"]) for name in simulation.loaded.states}
    text, losses = export_scene(simulation, format_, target.parent, states)
    for loss in losses:
        place = simulation.loaded.where(*loss.path)
        messages.warning(f"{place}: {format_path(loss.path)}: {loss.fate}: {loss.reason}")
    if losses and strict:
        raise ArgumentError(f"--strict: {path} has {len(losses)} losses; {target} is not written")
    write_text(target, text)
    show(target)
    return 0


def _export_fmu(words: Sequence[str], format_: str, output: Path | None, strict: bool, force: bool) -> int:
    """Write a scene as a functional mock-up unit, which keeps everything."""
    from multibody_cli.output.file_replacement import require_replaceable
    from multibody_cli.studies.fmu import require_packer, write_fmu

    require_packer()
    simulation = prepare_and_warn(Path(words[0]))
    target = output or MODELS / f"{simulation.scene.name}.{format_}"
    if target.suffix.lower() != f".{format_}":
        raise ArgumentError(f"-o {target}: expected a name that ends in .{format_}")
    require_replaceable(target, force)
    with Waiting(f"packing {target.name}"):
        try:
            write_fmu(simulation, words[1:], target)
        except ResultError as error:
            raise explain_channels(error, words[1:]) from error
    show(target)
    return 0


WRITERS: dict[str, Callable[[Sequence[str], str, Path | None, bool, bool], int]] = {
    **dict.fromkeys(SUFFIXES, _export_model),
    FMU: _export_fmu,
}
"""Functions that write a scene, by the word of `--to`."""
