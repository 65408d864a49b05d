"""`mbsim validate`: lists every problem of scenes without running them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH, replaced_values
from multibody_cli.cli.source import prepare_and_warn
from multibody_cli.cli.tables import show, show_json
from multibody_cli.errors import Refused, SceneError
from multibody_cli.immutable import asdict


@click.command("validate", cls=Verb, short_help="List all problems of scenes without running them.")
@click.argument("scenes", metavar="SCENE...", nargs=-1, required=True, type=PATH)
@replaced_values
@click.option("--json", "as_json", is_flag=True, help="Write the problems as JSON.")
def verb(scenes: tuple[Path, ...], overrides: tuple[str, ...], as_json: bool) -> int:
    """Check each SCENE and list all its problems, one per line: file:line:column: element: problem.

    Exit code: 0 if all scenes can be run, else 2.
    """
    problems = {scene: _problems_of(scene, overrides, quiet=as_json) for scene in scenes}
    if as_json:
        show_json([{"scene": str(scene), "valid": not found, "problems": found} for scene, found in problems.items()])
    return 2 if any(problems.values()) else 0


def _problems_of(scene: Path, overrides: tuple[str, ...], quiet: bool) -> list[dict[str, Any]]:
    """Return the problems of a scene, and print them unless `quiet`."""
    try:
        prepare_and_warn(scene, overrides)
    except SceneError as error:
        text, found = str(error), [asdict(problem) for problem in error.problems]
    except Refused as error:
        text, found = f"{scene}: {error}", [{"where": str(scene), "path": "", "message": str(error)}]
    else:
        text, found = f"{scene}: ok", []
    if not quiet:
        show(text)
    return found
