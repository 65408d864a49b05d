"""`mbsim plot`: plots channels of result files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.results import explain_channels, joined, split_words, stem
from multibody_cli.cli.run import OUTPUTS
from multibody_cli.cli.source import is_result
from multibody_cli.errors import ArgumentError, ResultError

if TYPE_CHECKING:
    from multibody_cli.output.selection import Scalar
    from multibody_cli.output.trajectory import Trajectory

PICTURES = OUTPUTS / "plots"


@click.command("plot", cls=Verb, short_help="Plot channels of result files.")
@click.argument("words", metavar="FILE... [CHANNEL]...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    metavar="PNG|SVG",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Default: outputs/plots/<files>-<channels>.png",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
def verb(words: tuple[str, ...], output: Path | None, force: bool) -> int:
    """Plot channels of each FILE against time; without a CHANNEL, the energies.

    An argument is a FILE if it ends in .h5, .hdf5 or .part, or if a file of that name exists; every other argument is a
    CHANNEL, for all files. A CHANNEL is a path (joints/hinge/q), a group (energy, joints/hinge), a channel of one body
    (bodies/rod/com), or any of these with `*` as a wildcard; a component may follow in brackets, as in
    'joints/hinge/force[fz]' or 'bodies/position[z]'. Quote `*` and brackets, which have a meaning in shells.

    Channels with the same units share a panel; error channels have their own panel. Several files are overlaid.
    """
    from multibody_cli.output.place import require_replaceable
    from multibody_cli.pictures.style import require_format

    files, channels = split_words(words)
    picture = output or PICTURES / f"{joined(files, channels)}.png"
    require_format(picture)
    require_replaceable(picture, force)
    if is_result(picture):
        raise ArgumentError(f"{picture} is a result file, not a picture: use another name with -o")
    _draw(files, channels, picture)
    click.echo(picture)
    return 0


def _draw(files: Sequence[str], channels: Sequence[str], picture: Path) -> None:
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.pictures.channels import MOST_RUNS, Run, draw
    from multibody_cli.pictures.style import save

    if len(files) > MOST_RUNS:
        raise ArgumentError(f"{len(files)} files are too many for one picture: the maximum is {MOST_RUNS}")
    trajectories = [read_trajectory(file) for file in files]
    stems = [stem(file) for file in files]
    labels = stems if len(set(stems)) == len(files) else files
    runs = [Run(label, one, _chosen(one, channels)) for label, one in zip(labels, trajectories, strict=True)]
    figure, remarks = draw(runs)
    for remark in remarks:
        messages.warning(remark)
    save(figure, picture)


def _chosen(trajectory: Trajectory, channels: Sequence[str]) -> list[Scalar]:
    from multibody_cli.output.selection import select, select_energies

    try:
        return select(trajectory, channels) if channels else select_energies(trajectory)
    except ResultError as error:
        raise explain_channels(error, channels) from error
