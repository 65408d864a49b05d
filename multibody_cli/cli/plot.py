"""`mbsim plot`: plots channels of result files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, OUTPUTS
from multibody_cli.cli.progress import Waiting
from multibody_cli.cli.source import (
    FRAME,
    FROM,
    TO,
    explain_channels,
    expressed,
    is_result,
    joined,
    scene_in,
    split_words,
    stem,
    stored_scene,
)
from multibody_cli.cli.tables import show
from multibody_cli.errors import ArgumentError, ResultError, nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from multibody_cli.output.selection import ScalarChannel
    from multibody_cli.output.trajectory import Trajectory
    from multibody_cli.pictures.channels import PicturedRun
    from multibody_cli.pictures.style import Style

PICTURES = OUTPUTS / "plots"
FORM_NAMES = ("curves", "map", "parallel", "surface", "effects", "indices")
STYLE_NAMES = ("screen", "paper", "talk", "dark")


@click.command("plot", cls=Verb, short_help="Plot channels of result files, or a sweep.")
@click.argument("words", metavar="FILE... [CHANNEL]...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="PNG|SVG|PDF", type=FILE, help="Default: outputs/plots/<files>-<channels>.png")
@click.option("--x", "across", metavar="CHANNEL", help="Scalar of the horizontal axis, instead of the time.")
@FROM
@TO
@FRAME
@click.option("--muscle", metavar="NAME", help="Draw the curves of a muscle, with its operating points.")
@click.option("--differences", is_flag=True, help="Show below the differences of the other files from the first.")
@click.option(
    "--as", "form", type=click.Choice(FORM_NAMES), help="Form of a picture of a sweep. Default: by the number of keys."
)
@click.option("--style", type=click.Choice(STYLE_NAMES), default="screen", help="Default: screen.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def verb(
    words: tuple[str, ...],
    output: Path | None,
    across: str | None,
    start: float | None,
    end: float | None,
    frame: str | None,
    muscle: str | None,
    differences: bool,
    form: str | None,
    style: str,
    force: bool,
) -> int:
    """Plot channels of each FILE against time; without a CHANNEL, the energies.

    An argument is a FILE if it ends in .h5, .hdf5 or .part, or if a file of that name exists; every other argument is a
    CHANNEL, for all files. A CHANNEL is a path (joints/hinge/q), a group (energy, joints/hinge), a channel of one body
    (bodies/rod/com), or any of these with `*` as a wildcard; a component may follow in brackets, as in
    'joints/hinge/force[fz]' or 'bodies/position[z]'. Quote `*` and brackets, which have a meaning in shells.

    Channels with the same units share a panel; error channels have their own panel. Several files are overlaid.

    --x draws channels against another scalar, as in `joints/hinge/v --x joints/hinge/q` for a phase plane. --frame
    rotates moments and forces of joints, bushings and elements to the axes of the body on which they act, or of the
    world; those of joints and bushings are recorded in the axes of their own frame on the child.

    Of a table of `mbsim sweep`, a CHANNEL is a column: --as draws columns as curves over a key, with bands of 50 and 90
    percent of the runs, as a map over a grid of two keys, as a surface, the contours over two keys of runs anywhere, as
    effects, the means over the values of each key, as indices of Sobol, or in parallel coordinates. --x is the
    horizontal key.

    --muscle draws the curves of a muscle of one FILE: active and passive force by the length of the fibers, the factor
    of their velocity, and the force of an elastic tendon, each with the operating points along the run.

    The styles `paper` and `talk` have the sizes of a page and of slides, `dark` a dark background.
    """
    from multibody_cli.output.file_replacement import require_replaceable
    from multibody_cli.output.selection import select_instants
    from multibody_cli.output.sweep_table import SweepTable, is_sweep_table
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.pictures.channels import MOST_RUNS, PicturedRun, draw
    from multibody_cli.pictures.style import STYLES, require_format
    from multibody_cli.pictures.sweeps import draw_sweep

    files, channels = split_words(words)
    picture = output or PICTURES / f"{joined(files, [*channels, *filter(None, [muscle])])}.png"
    require_format(picture)
    require_replaceable(picture, force)
    if is_result(picture):
        raise ArgumentError(f"{picture} is a result file, not a picture: use another name with -o")
    if any(is_sweep_table(Path(file)) for file in files):
        if len(files) > 1 or differences or frame or start is not None or end is not None:
            raise ArgumentError(f"{files[0]} is a table of a sweep: it is drawn alone, with --as, --x and --style")
        table = SweepTable(Path(files[0]))
        return _write(picture, lambda: draw_sweep(table, channels, STYLES[style], form, across))
    if muscle is not None:
        if len(files) > 1 or channels or differences or frame or across or start is not None or end is not None:
            raise ArgumentError("--muscle draws one file alone, with --style and -o")
        return _write(picture, lambda: (_muscle(files[0], muscle, STYLES[style]), []))
    if differences and len(files) == 1:
        raise ArgumentError("--differences requires two or more files")
    if len(files) > MOST_RUNS:
        raise ArgumentError(f"{len(files)} files are too many for one picture: the maximum is {MOST_RUNS}")
    trajectories = [expressed(read_trajectory(file), frame) for file in files]
    if form is not None:
        raise ArgumentError(f"--as {form} draws a table of `mbsim sweep`, and {files[0]} is the result of a run")
    stems = [stem(file) for file in files]
    labels = stems if len(set(stems)) == len(files) else files
    runs = [
        PicturedRun(
            label,
            one,
            _chosen(one, channels),
            _single(one, across) if across else None,
            select_instants(one, start, end),
            frame or "",
        )
        for label, one in zip(labels, trajectories, strict=True)
    ]
    if frame and not any(_has_wrenches(run) for run in runs):
        messages.note(f"--frame {frame} has no effect: it sets the axes of wrenches, and no drawn channel is one")
    return _write(picture, lambda: draw(runs, STYLES[style], differences))


def _has_wrenches(run: PicturedRun) -> bool:
    from multibody_cli.studies.wrenches import is_wrench

    scene = scene_in(run.trajectory)
    return any(is_wrench(scene, one.channel) for one in (*run.scalars, *filter(None, [run.x])))


def _write(picture: Path, draw: Callable[[], tuple[Figure, list[str]]]) -> int:
    """Draw a picture, write it, and show the remarks about it."""
    from multibody_cli.pictures.style import save

    with Waiting(f"drawing {picture.name}"):
        figure, remarks = draw()
        for remark in remarks:
            messages.warning(remark)
        save(figure, picture)
    show(picture)
    return 0


def _muscle(file: str, name: str, style: Style) -> Figure:
    """Draw a muscle of a result."""
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.pictures.muscles import draw_muscle
    from multibody_cli.scene.load import load_scene

    trajectory = read_trajectory(file)
    muscles = load_scene(stored_scene(trajectory.scene_yaml, file)).scene.muscles
    if name not in muscles:
        raise ArgumentError(f"{file} has no muscle `{name}`: {nearest(name, muscles)}")
    return draw_muscle(muscles[name], trajectory, name, style)


def _single(trajectory: Trajectory, word: str) -> ScalarChannel:
    """Return the scalar that a word selects."""
    chosen = _chosen(trajectory, [word])
    if len(chosen) > 1:
        names = ", ".join(map(str, chosen[:6])) + (", ..." if len(chosen) > 6 else "")
        raise ArgumentError(f"--x {word} selects {len(chosen)} scalars: name one of {names}")
    return chosen[0]


def _chosen(trajectory: Trajectory, channels: Sequence[str]) -> list[ScalarChannel]:
    from multibody_cli.output.selection import select, select_energies

    try:
        return select(trajectory, channels) if channels else select_energies(trajectory)
    except ResultError as error:
        raise explain_channels(error, channels) from error
