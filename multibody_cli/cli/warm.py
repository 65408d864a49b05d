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
from multibody_cli.errors import ArgumentError, nearest

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

    Without SCENES it takes three small scenes of its own: a tree, a closed loop, and contacts.  A scene that refuses a
    method or an integrator is left out with it.  Ends with 0, or 2 if a scene cannot be used at all.
    """
    from multibody_cli.methods import METHODS
    from multibody_cli.studies import warming

    for name in methods:
        if name not in METHODS:
            raise ArgumentError(f"there is no method `{name}`: {nearest(name, METHODS)}")
    if jobs is not None:
        os.environ["MBSIM_JOBS"] = str(jobs)
    show_compilation(counted(len(scenes), "scene") if scenes else "trees, loops and contacts")
    pairs = warming.ways(methods or (tuple(METHODS) if everything else ()), everything)
    with tempfile.TemporaryDirectory() as folder:
        chosen = scenes or warming.write_examples(Path(folder))
        done: list[warming.Warmed] = []
        with Bar("scenes") as bar:
            for one in warming.warm(chosen, pairs):
                done.append(one)
                messages.detail(f"{one.scene} {one.method} {one.integrator}: {one.refusal or one.kernels}")
                bar.show(len(done), len(chosen) * len(pairs))
        return _report(done, chosen)


def _report(done: list[Warmed], scenes: Sequence[Path]) -> int:
    """Say what was compiled; refuse if a scene could not be used with any method."""
    useless = []
    for scene in map(str, scenes):
        refusals = [one.refusal for one in done if one.scene == scene]
        if all(refusals):
            useless.append(refusals[0])
    refused = sum(bool(one.refusal) for one in done)
    compiled = counted(sum(one.kernels for one in done), "kernel")
    words = f"compiled {compiled} for {counted(len(scenes), 'scene')}"
    click.echo(words + (f"; {counted(refused, 'combination')} refused" if refused else ""))
    for text in useless:
        click.echo(text, err=True)
    return 2 if useless else 0
