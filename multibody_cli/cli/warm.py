"""`mbsim warm`: compiles the kernels of scenes in advance."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH
from multibody_cli.cli.progress import ProgressBar, show_compilation
from multibody_cli.cli.source import scene_of
from multibody_cli.cli.tables import counted, show
from multibody_cli.errors import ArgumentError, OutputError, nearest

if TYPE_CHECKING:
    from multibody_cli.studies.warming import Warmed


@click.command("warm", cls=Verb, short_help="Compile the kernels of scenes in advance.")
@click.argument("scenes", nargs=-1, type=PATH)
@click.option(
    "--method",
    "methods",
    metavar="NAME",
    multiple=True,
    help="Method, instead of the scene's; see `mbsim list methods`.",
)
@click.option("--all", "everything", is_flag=True, help="Compile for every method with every integrator it supports.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Number of compiling processes. Default: all cores.")
def verb(scenes: tuple[Path, ...], methods: tuple[str, ...], everything: bool, jobs: int | None) -> int:
    """Compile the kernels of SCENES and of pictures, so that their first run and their first picture do not have to.

    SCENES are scene files, or result files that contain a scene. Without SCENES, three small built-in scenes (a tree, a
    closed loop, contacts) are compiled for `aba` and every integrator. Combinations of scene, method and integrator
    that a run would reject are skipped. Exit code: 0 on success, 2 if a scene cannot be used at all, 1 if the cache
    cannot be written.
    """
    from multibody_cli.kernel.loading import complete
    from multibody_cli.methods import METHODS
    from multibody_cli.studies import warming

    for name in methods:
        if name not in METHODS:
            raise ArgumentError(f"unknown method `{name}`: {nearest(name, METHODS)}")
    if jobs is not None:
        os.environ["MBSIM_JOBS"] = str(jobs)
    show_compilation(counted(len(scenes), "scene") if scenes else "trees, loops and contacts")
    chosen_methods = methods or (tuple(METHODS) if everything else () if scenes else ("aba",))
    pairs = warming.combinations(chosen_methods, everything or not scenes)
    with complete(), tempfile.TemporaryDirectory() as folder:
        examples = warming.write_examples(Path(folder))
        chosen = scenes or examples
        done: list[warming.Warmed] = []
        with ProgressBar("combinations") as bar:
            bar.show(0, len(chosen) * len(pairs))
            for one in warming.warm(chosen, pairs, scene_of):
                done.append(one)
                messages.detail(f"{one.scene}: {one.combination}: {one.refusal or counted(one.kernels, 'kernel')}")
                bar.show(len(done), len(chosen) * len(pairs))
        return _report(done, chosen, _compile_pictures(examples[0]))


def _compile_pictures(scene: Path) -> int:
    """Draw the start of a scene, and return the number of compiled kernels."""
    import numpy as np

    from multibody_cli.kernel import workers
    from multibody_cli.render.frames import images
    from multibody_cli.render.image import ImageFormat
    from multibody_cli.render.picture import Picture, start_of
    from multibody_cli.studies.simulation import prepare

    before = workers.compiled()
    simulation = prepare(scene)
    picture = Picture(simulation.loaded, start_of(simulation), np.array([0]))
    next(images(picture, [], ImageFormat(64, 40)))
    return workers.compiled() - before


def _report(done: list[Warmed], scenes: Sequence[Path], for_pictures: int) -> int:
    """Print the number of compiled kernels; raise an error for unusable scenes or an unusable cache."""
    from multibody_cli.kernel import store

    refusals = {scene: [one.refusal for one in done if one.scene == scene] for scene in scenes}
    useless = {scene: found[0] for scene, found in refusals.items() if all(found)}
    for text in useless.values():
        messages.problems(text)
    compiled = sum(one.kernels for one in done) + for_pictures
    words = f"compiled {counted(compiled, 'kernel')} for {counted(len(scenes) - len(useless), 'scene')}"
    refused = sum(bool(text) for scene, found in refusals.items() if scene not in useless for text in found)
    words += f"; {counted(refused, 'combination')} of scene, method and integrator not supported" if refused else ""
    show(words + (f"; {counted(len(useless), 'scene')} cannot be used" if useless else ""))
    if store.trouble:
        raise OutputError(f"cannot write to the cache {store.cache_root()}: {store.trouble[0]}")
    return 2 if useless else 0
