"""`mbsim render`: pictures and animations of mechanisms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.source import denotes_result, prepare_and_warn, written_scene
from multibody_cli.errors import ArgumentError, QuantityError

if TYPE_CHECKING:
    from multibody_cli.model import Floats
    from multibody_cli.output.trajectory import Trajectory
    from multibody_cli.render.motion import Integers
    from multibody_cli.render.picture import Picture
    from multibody_cli.scene.load import LoadedScene

MOST_INSTANTS = 10_000
"""Maximum number of output instants in a page, unless --fps chooses more."""


@click.command("render", cls=Verb, short_help="Draw a mechanism, or animate its motion.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write, *.html. Default: outputs/renders/<file>.html",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--at", metavar="TIME", multiple=True, help="Draw the output instant nearest to a time.")
@click.option("--from", "begin", metavar="TIME", help="Begin the animation at a time.")
@click.option("--to", "end", metavar="TIME", help="End the animation at a time.")
@click.option("--fps", metavar="NUMBER", type=click.FloatRange(0.1, 1000.0), help="Pictures per second of playback.")
@click.option(
    "--speed",
    metavar="NUMBER",
    type=click.FloatRange(1e-6, 1e6),
    default=1.0,
    help="Simulated seconds per second of playback. Default: 1",
)
@click.option(
    "--camera",
    metavar="AZIMUTH,ELEVATION[,ZOOM]",
    help="Direction from the mechanism to the camera, in degrees, and magnification, as in --camera -60,20. "
    "The player shows these numbers with its keys.",
)
@click.option(
    "--ghost",
    "ghosts",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Draw a second result faintly.",
)
@click.option("--trace", "traces", metavar="BODY", multiple=True, help="Draw the path of the center of mass of a body.")
@click.option(
    "--channel",
    "channels",
    metavar="CHANNEL",
    multiple=True,
    help="Plot a channel, as in `mbsim plot`. Default: energies.",
)
@click.option("--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Replace a value of a scene file.")
def verb(
    file: Path,
    output: Path | None,
    force: bool,
    at: tuple[str, ...],
    begin: str | None,
    end: str | None,
    fps: float | None,
    speed: float,
    camera: str | None,
    ghosts: tuple[Path, ...],
    traces: tuple[str, ...],
    channels: tuple[str, ...],
    overrides: tuple[str, ...],
) -> int:
    """Draw FILE: a result file as an animation, or a scene file as its assembled start.

    A page (*.html) is one file that shows the animation in any browser, without a network. It contains all output
    instants between --from and --to, up to 10000; --fps selects fewer.
    """
    from multibody_cli.output.place import require_replaceable, write_whole
    from multibody_cli.render.camera import read_view
    from multibody_cli.render.motion import choose_rows
    from multibody_cli.render.picture import Picture

    target = output or Path("outputs/renders") / f"{_stem(file)}.html"
    if target.suffix.lower() != ".html":
        raise ArgumentError(f"{target}: the name of the file must end in .html")
    require_replaceable(target, force)
    view = None if camera is None else read_view(camera)
    first, last = _seconds("--from", begin), _seconds("--to", end)
    instants = [one for text in at if (one := _seconds("--at", text)) is not None]
    if at and (begin or end or fps):
        raise ArgumentError("--at selects instants: leave out --from, --to and --fps")

    def picture_of(path: Path, is_ghost: bool) -> Picture:
        loaded, trajectory = _opened(path, () if is_ghost else overrides)
        if is_ghost:
            return Picture(loaded, trajectory, _all_within(trajectory.time, rows_time))
        rows = choose_rows(trajectory.time, instants, first, last, speed / fps if fps else 0.0)
        return Picture(loaded, trajectory, _thinned(rows) if fps is None else rows, view)

    picture = picture_of(file, False)
    rows_time = picture.motion.time
    content = _page(picture, [picture_of(ghost, True) for ghost in ghosts], channels, traces, speed)
    write_whole(target, content)
    click.echo(target)
    return 0


def _page(
    picture: Picture, ghosts: list[Picture], channels: tuple[str, ...], traces: tuple[str, ...], speed: float
) -> bytes:
    from multibody_cli.errors import nearest
    from multibody_cli.output.selection import select, select_energies
    from multibody_cli.render.events import events_of
    from multibody_cli.render.page_data import Shown, has_too_many_reactions
    from multibody_cli.render.picture import about
    from multibody_cli.render.player import Page, player_html

    trajectory, bodies = picture.trajectory, picture.drawing.bodies
    for body in traces:
        if body not in bodies:
            raise ArgumentError(f"--trace {body}: there is no such body: {nearest(body, bodies)}")
    if has_too_many_reactions(picture.motion):
        messages.note("the reactions of joints are left out, because they are too many: use --fps, --from or --to")
    energies = any(path.startswith("energy/") for path in trajectory.paths)
    several = len(picture.rows) > 1
    scalars = select(trajectory, channels) if channels else select_energies(trajectory) if energies and several else []
    shown = [Shown(_label(one), one.drawing, one.motion) for one in (picture, *ghosts)]
    return player_html(
        Page(
            title=str(trajectory.attributes["name"]),
            about=about(trajectory, [one.label for one in shown[1:]]),
            runs=shown,
            trajectory=trajectory,
            rows=picture.rows,
            scalars=scalars,
            events=events_of(trajectory, picture.motion, picture.rows) if several else [],
            points=picture.points,
            up=picture.up,
            view=picture.view,
            speed=speed,
            traces=[bodies.index(body) for body in traces],
        )
    )


def _opened(path: Path, overrides: tuple[str, ...]) -> tuple[LoadedScene, Trajectory]:
    """Return a scene and its motion: that of a result file, or the start of a scene file."""
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.render.picture import start_of
    from multibody_cli.scene.load import load_scene

    if not denotes_result(path):
        simulation = prepare_and_warn(path, overrides)
        return simulation.loaded, start_of(simulation)
    if overrides:
        raise ArgumentError(f"--set applies to a scene file, but {path} is a result: run the scene again")
    trajectory = read_trajectory(path)
    with written_scene(trajectory.scene_yaml, path) as scene:
        return load_scene(scene), trajectory


def _seconds(option: str, text: str | None) -> float | None:
    from multibody_cli.spec import units
    from multibody_cli.spec.quantities import read_quantity

    try:
        return None if text is None else read_quantity(text, units.TIME)
    except QuantityError as error:
        raise ArgumentError(f"{option}: {error}") from error


def _thinned(rows: Integers) -> Integers:
    every = -(-len(rows) // MOST_INSTANTS)
    if every > 1:
        messages.note(f"every {every}th of {len(rows)} output instants is drawn: --fps selects others")
    return rows[::every]


def _all_within(time: Floats, shown: Floats) -> Integers:
    """Return the instants of a second run between the first and the last that are shown."""
    import numpy as np

    rows = np.flatnonzero((time >= shown[0] - 1e-9) & (time <= shown[-1] + 1e-9))
    return _thinned(rows) if len(rows) else np.array([int(np.argmin(np.abs(time - shown[0])))])


def _label(picture: Picture) -> str:
    return Path(picture.trajectory.source).name


def _stem(file: Path) -> str:
    return file.name.split(".")[0] or "picture"
