"""`mbsim warm`: compile what scenes need, before they are run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from multibody_cli.cli import messages
from multibody_cli.cli.compilation import show_compilation
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.progress import Bar
from multibody_cli.cli.render import counted
from multibody_cli.cli.source import scene_file
from multibody_cli.errors import ArgumentError, OutputError, nearest

if TYPE_CHECKING:
    from multibody_cli.studies.warming import Warmed


@click.command("warm", cls=Verb, short_help="Compile what scenes need.")
@click.argument("scenes", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--method", "methods", metavar="NAME", multiple=True, help="Instead of each scene's: see `mbsim list methods`."
)
@click.option("--all", "everything", is_flag=True, help="With every method, and every integrator that it takes.")
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Number of processes that compile.  Default: all cores."
)
def verb(scenes: tuple[Path, ...], methods: tuple[str, ...], everything: bool, jobs: int | None) -> int:
    """Compile the kernels of SCENES, so that their first run need not.

    SCENES are scene files, or result files with a scene inside.  Without SCENES it takes three small scenes of its own,
    a tree, a closed loop and contacts, with `aba` and every integrator.  Combinations of scene, method and integrator
    that a run would refuse are left out.  Ends with 0, 2 if a scene cannot be used at all, 1 if code cannot be kept.
    """
    from multibody_cli.methods import METHODS
    from multibody_cli.studies import warming

    for name in methods:
        if name not in METHODS:
            raise ArgumentError(f"there is no method `{name}`: {nearest(name, METHODS)}")
    if jobs is not None:
        os.environ["MBSIM_JOBS"] = str(jobs)
    show_compilation(counted(len(scenes), "scene") if scenes else "trees, loops and contacts")
    chosen_methods = methods or (tuple(METHODS) if everything else () if scenes else ("aba",))
    pairs = warming.ways(chosen_methods, everything or not scenes)
    with tempfile.TemporaryDirectory() as folder:
        chosen = scenes or warming.write_examples(Path(folder))
        done: list[warming.Warmed] = []
        with Bar("scenes") as bar:
            for one in warming.warm(chosen, pairs, scene_file):
                done.append(one)
                messages.detail(f"{one.scene}: {one.way}: {one.refusal or counted(one.kernels, 'kernel')}")
                bar.show(len(done), len(chosen) * len(pairs))
        return _report(done, chosen)


def _report(done: list[Warmed], scenes: Sequence[Path]) -> int:
    """Say what was compiled; refuse scenes that no method could use, and a cache that keeps nothing."""
    from multibody_cli.kernel import store

    refusals = {scene: [one.refusal for one in done if one.scene == scene] for scene in scenes}
    useless = {scene: found[0] for scene, found in refusals.items() if all(found)}
    for text in useless.values():
        click.echo(text, err=True)
    compiled = sum(one.kernels for one in done)
    words = f"compiled {counted(compiled, 'kernel')} for {counted(len(scenes) - len(useless), 'scene')}"
    refused = sum(bool(text) for scene, found in refusals.items() if scene not in useless for text in found)
    words += f"; {counted(refused, 'combination')} of scene, method and integrator refused" if refused else ""
    click.echo(words + (f"; {counted(len(useless), 'scene')} cannot be used" if useless else ""))
    if store.trouble:
        raise OutputError(f"nothing can be kept in {store.cache_root()}: {store.trouble[0]}")
    return 2 if useless else 0
