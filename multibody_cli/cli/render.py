"""`mbsim render`: pictures and animations of mechanisms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, PATH, replaced_values
from multibody_cli.cli.progress import ProgressBar, show_compilation
from multibody_cli.cli.source import FROM, TO, Time, denotes_result, prepare_and_warn, stored_scene
from multibody_cli.cli.tables import show
from multibody_cli.errors import ArgumentError, listed, nearest, series

if TYPE_CHECKING:
    from multibody_cli.model import Floats
    from multibody_cli.output.trajectory import Trajectory
    from multibody_cli.render.image import Pixels
    from multibody_cli.render.motion import Integers
    from multibody_cli.render.picture import Picture
    from multibody_cli.scene.load import LoadedScene

MOST_INSTANTS = 10_000
"""Maximum number of output instants in a page, unless --fps chooses more."""

MOST_PIXELS = 4096
"""Maximum width and height of a picture."""

NAMED = 4
"""Maximum number of bodies that a note names."""


class Extras(NamedTuple):
    """Options of some files only: channels and traces of a page, playback, and the size of pictures in pixels."""

    channels: tuple[str, ...]
    traces: tuple[str, ...]
    speed: float
    fps: float
    size: tuple[int, int]


@click.command("render", cls=Verb, short_help="Draw a mechanism, or animate its motion.")
@click.argument("file", type=PATH)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=FILE,
    help="The file to write: *.html, *.png, *.svg, *.gif, *.mp4, *.gltf or *.glb. Default: outputs/renders/<file>.html",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option(
    "--at",
    metavar="TIME",
    type=Time(),
    multiple=True,
    help="Draw the output instant nearest to a time; several times make a strip.",
)
@FROM
@TO
@click.option("--fps", metavar="NUMBER", type=click.FloatRange(0.1, 1000.0), help="Pictures per second of playback.")
@click.option(
    "--speed",
    metavar="NUMBER",
    type=click.FloatRange(1e-6, 1e6),
    help="Simulated seconds per second of playback. Default: 1",
)
@click.option(
    "--camera",
    metavar="AZIMUTH,ELEVATION[,ZOOM]",
    help="Direction from the mechanism to the camera, in degrees, and magnification, as in --camera -60,20. "
    "The player shows these numbers with its keys.",
)
@click.option("--ghost", "ghosts", metavar="FILE", multiple=True, type=PATH, help="Draw a second result faintly.")
@click.option("--trace", "traces", metavar="BODY", multiple=True, help="Draw the path of the center of mass of a body.")
@click.option(
    "--channel",
    "channels",
    metavar="CHANNEL",
    multiple=True,
    help="Plot a channel, as in `mbsim plot`. Default: energies.",
)
@click.option("--points", "with_points", is_flag=True, help="Draw the named points of bodies, as frames.")
@click.option(
    "--free-body",
    "free",
    metavar="BODY",
    multiple=True,
    help="Draw all forces and moments on a body as arrows, and the other bodies faintly.",
)
@click.option("--size", metavar="WIDTHxHEIGHT", help="Size of a picture in pixels. Default: 1280x720")
@click.option(
    "--scene",
    metavar="SCENE",
    type=PATH,
    help="Take shapes and colors of a result from this scene file, as for meshes, which results do not contain.",
)
@replaced_values
def verb(
    file: Path,
    output: Path | None,
    force: bool,
    at: tuple[float, ...],
    start: float | None,
    end: float | None,
    fps: float | None,
    speed: float | None,
    camera: str | None,
    ghosts: tuple[Path, ...],
    traces: tuple[str, ...],
    channels: tuple[str, ...],
    with_points: bool,
    free: tuple[str, ...],
    size: str | None,
    scene: Path | None,
    overrides: tuple[str, ...],
) -> int:
    """Draw FILE: a result file as an animation, or a scene file as its assembled start.

    A page (*.html) is one file that shows the animation in any browser, without a network. It contains all output
    instants between --from and --to, up to 10000; --fps selects fewer. *.gif and *.mp4 are animations of 25 and 30
    pictures per second; *.png and *.svg show the first instant, or those of --at side by side. *.gltf and *.glb are
    models with animation tracks, as for Blender.
    """
    from multibody_cli.output.file_replacement import replacement, require_replaceable
    from multibody_cli.render.camera import read_view
    from multibody_cli.render.frames import FPS, require_encoder
    from multibody_cli.render.motion import choose_rows
    from multibody_cli.render.picture import Picture

    target = output or Path("outputs/renders") / f"{file.name.split('.')[0] or 'picture'}.html"
    suffix = target.suffix.lower()
    if suffix not in WRITERS:
        raise ArgumentError(f"{target}: the name of the file must end in {', '.join(WRITERS)}")
    given = {"--trace": traces, "--channel": channels, "--size": size, "--camera": camera, "--ghost": ghosts}
    given["--free-body"] = free
    _refuse_without_effect(suffix, {**given, "--fps": fps, "--speed": speed})
    require_encoder(suffix)
    view = None if camera is None else read_view(camera)
    if at and (start is not None or end is not None or fps):
        raise ArgumentError("--at selects instants: leave out --from, --to and --fps")
    rate = fps or FPS.get(suffix)
    pace = speed or 1.0
    extras = Extras(channels, traces, pace, rate or 0.0, _size(size or "1280x720"))

    def picture_of(path: Path, is_ghost: bool) -> Picture:
        loaded, trajectory = _opened(path, () if is_ghost else overrides)
        if scene is not None:
            loaded = _with_shapes_of(scene, loaded, trajectory)
        elif denotes_result(path):
            _note_missing_meshes(loaded)
        if is_ghost:
            return Picture(loaded, trajectory, _all_within(trajectory.time, rows_time))
        rows = choose_rows(trajectory.time, at, start, end, pace / rate if rate else 0.0)
        if suffix in STILLS and not at:
            rows = rows[:1]
        return Picture(loaded, trajectory, rows if rate else _thinned(rows), view, with_points, _cut_free(free, loaded))

    picture = picture_of(file, False)
    require_replaceable(target, force)  # behind the checks of all scenes, so that --force meets no further error
    rows_time = picture.motion.time
    if free:
        messages.note(picture.scale)
    show_compilation("the picture")
    content = WRITERS[suffix](picture, [picture_of(ghost, True) for ghost in ghosts], extras)
    with replacement(target) as new:
        new.write_bytes(content)
    show(target)
    return 0


def _page(picture: Picture, ghosts: list[Picture], extras: Extras) -> bytes:
    from multibody_cli.output.selection import select, select_energies
    from multibody_cli.render.page_data import Shown, events_of, has_too_many_reactions
    from multibody_cli.render.picture import about
    from multibody_cli.render.player import Page, player_html

    trajectory, bodies = picture.trajectory, picture.drawing.bodies
    for body in extras.traces:
        if body not in bodies:
            raise ArgumentError(f"--trace {body}: there is no such body: {nearest(body, bodies)}")
    if has_too_many_reactions(picture.motion):
        messages.note("the reactions of joints are left out, because they are too many: use --fps, --from or --to")
    energies = any(path.startswith("energy/") for path in trajectory.paths)
    several = len(picture.rows) > 1
    scalars = (
        select(trajectory, extras.channels)
        if extras.channels
        else select_energies(trajectory)
        if energies and several
        else []
    )
    shown = [Shown(Path(one.trajectory.source).name, one.drawing, one.motion) for one in (picture, *ghosts)]
    page = Page(
        title=str(trajectory.attributes["name"]),
        about=about(trajectory, [one.label for one in shown[1:]], picture.scale),
        runs=shown,
        trajectory=trajectory,
        rows=picture.rows,
        scalars=scalars,
        events=events_of(trajectory, picture.motion, picture.rows) if several else [],
        points=picture.points,
        up=picture.up,
        view=picture.view,
        speed=extras.speed,
        is_translucent=picture.shows_inside,
        traces=[bodies.index(body) for body in extras.traces],
    )
    with ProgressBar("parts") as bar:
        return player_html(page, bar.show)


def _still(picture: Picture, ghosts: list[Picture], extras: Extras, is_svg: bool = False) -> bytes:
    from multibody_cli.render.frames import png, strip, svg
    from multibody_cli.render.image import ImageFormat

    if is_svg:
        return svg(picture, ghosts, ImageFormat(*extras.size))
    return png(strip(picture, ghosts, ImageFormat(*extras.size, samples=4)))


def _film(picture: Picture, ghosts: list[Picture], extras: Extras, is_gif: bool = False) -> bytes:
    from multibody_cli.render.frames import film, gif, mp4
    from multibody_cli.render.image import ImageFormat

    with ProgressBar("pictures") as bar:

        def images() -> Iterator[Pixels]:
            for done, image in enumerate(film(picture, ghosts, ImageFormat(*extras.size, samples=2)), 1):
                yield image
                bar.show(done, len(picture.rows))

        return (gif if is_gif else mp4)(images(), extras.fps)


def _gltf(picture: Picture, ghosts: list[Picture], extras: Extras, is_binary: bool = False) -> bytes:
    from multibody_cli.render.gltf import gltf

    name = str(picture.trajectory.attributes["name"])
    return gltf(name, picture.drawing, picture.motion, picture.up, is_binary)


WRITERS: dict[str, Callable[[Picture, list[Picture], Extras], bytes]] = {
    ".html": _page,
    ".png": _still,
    ".svg": partial(_still, is_svg=True),
    ".gif": partial(_film, is_gif=True),
    ".mp4": _film,
    ".gltf": _gltf,
    ".glb": partial(_gltf, is_binary=True),
}
"""Function that returns the content of a file, by the suffix of its name."""

STILLS = (".png", ".svg")
PICTURES = (*STILLS, ".gif", ".mp4")
MODELS = (".gltf", ".glb")
SUFFIXES = {
    "--trace": (".html",),
    "--channel": (".html",),
    "--size": PICTURES,
    "--camera": (".html", *PICTURES),
    "--ghost": (".html", *PICTURES),
    "--free-body": (".html", *PICTURES),
    "--fps": (".html", ".gif", ".mp4", *MODELS),
    "--speed": (".html", ".gif", ".mp4", *MODELS),
}
"""Files on which an option has an effect."""


def _refuse_without_effect(suffix: str, given: Mapping[str, Any]) -> None:
    for option, value in given.items():
        if value and suffix not in SUFFIXES[option]:
            others = series([f"*{other}" for other in SUFFIXES[option]], "or")
            raise ArgumentError(f"{option} has no effect on *{suffix}: leave it out, or write {others}")


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)x(\d+)", text)
    width, height = (int(word) for word in found.groups()) if found else (0, 0)
    if not (16 <= width <= MOST_PIXELS and 16 <= height <= MOST_PIXELS):
        raise ArgumentError(f"--size {text}: expected WIDTHxHEIGHT from 16x16 to {MOST_PIXELS}x{MOST_PIXELS} pixels")
    return width, height


def _opened(path: Path, overrides: tuple[str, ...]) -> tuple[LoadedScene, Trajectory]:
    """Return a scene and its motion: that of a result file, or the start of a scene file."""
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.render.picture import start_of
    from multibody_cli.scene.load import load_scene

    if not denotes_result(path):
        simulation = prepare_and_warn(path, overrides, without=("loads", "rates"))
        return simulation.loaded, start_of(simulation)
    if overrides:
        raise ArgumentError(f"--set applies to a scene file, but {path} is a result: run the scene again")
    trajectory = read_trajectory(path)
    return load_scene(stored_scene(trajectory.scene_yaml, path)), trajectory


def _with_shapes_of(scene: Path, own: LoadedScene, trajectory: Trajectory) -> LoadedScene:
    """Return the scene of a file, which must have the bodies of the run, and add the planes of the run."""
    from multibody_cli.immutable import replace
    from multibody_cli.scene.load import load_scene

    loaded = load_scene(scene)
    differing = sorted(set(loaded.scene.bodies) ^ set(trajectory.bodies))
    if differing:
        where = scene if differing[0] in loaded.scene.bodies else trajectory.source
        raise ArgumentError(
            f"--scene {scene}: only {where} has the body `{differing[0]}`: name the scene of {trajectory.source}"
        )
    world = loaded.scene.world
    planes = [one for one in own.scene.world.shapes if one.type == "plane" and one not in world.shapes]
    world = world.model_copy(update={"shapes": [*world.shapes, *planes]})
    return replace(loaded, scene=loaded.scene.model_copy(update={"world": world}))


def _note_missing_meshes(loaded: LoadedScene) -> None:
    """Name the bodies whose meshes the result lacks: those without shapes and with an inertia as a matrix.

    Others show the shapes of their contacts instead, with `visible: true`; see `without_files`.
    """
    bodies = loaded.scene.bodies.items()
    bare = [name for name, body in bodies if not body.shapes and body.inertia is not None and body.inertia.matrix]
    shown = [
        name for name, body in bodies if any(one.visible and "visible" in one.model_fields_set for one in body.shapes)
    ]
    for names, how in ((bare, "without shapes"), (shown, "by the shapes of their contacts")):
        if names:
            messages.note(
                f"drawn {how}: {listed(names, NAMED, 'bodies')}; a result contains no meshes without contacts: "
                "--scene FILE draws them"
            )


def _cut_free(names: tuple[str, ...], loaded: LoadedScene) -> tuple[str, ...]:
    """Return the bodies of a free-body diagram, which the scene has."""
    for name in names:
        if name not in loaded.scene.bodies:
            raise ArgumentError(f"--free-body {name}: there is no such body: {nearest(name, loaded.scene.bodies)}")
        if loaded.scene.bodies[name].kind == "affine":
            raise ArgumentError(f"--free-body {name}: forces on an affine body deform it, and have no wrench")
    return tuple(dict.fromkeys(names))


def _thinned(rows: Integers) -> Integers:
    every = -(-len(rows) // MOST_INSTANTS)
    if every > 1:
        messages.note(f"one in {every} of {len(rows)} output instants is drawn: --fps selects others")
    return rows[::every]


def _all_within(time: Floats, shown: Floats) -> Integers:
    """Return the instants of a second run between the first and the last that are shown."""
    import numpy as np

    rows = np.flatnonzero((time >= shown[0] - 1e-9) & (time <= shown[-1] + 1e-9))
    return _thinned(rows) if len(rows) else np.array([int(np.argmin(np.abs(time - shown[0])))])
