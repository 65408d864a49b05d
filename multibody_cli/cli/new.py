"""`mbsim new`: writes a commented scene to start from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH
from multibody_cli.cli.tables import show
from multibody_cli.errors import ArgumentError

FILES = Path(__file__).parent / "templates"
"""Folder of the files of templates, in which the name of the scene replaces the word NAME."""

_ALONE = ("pendulum", "linkage", "vehicle", "robot", "muscle", "contact")

TEMPLATES: dict[str, dict[str, str]] = {
    **{name: {f"{name}.yaml": "NAME.yaml", "README.md": "README.md"} for name in _ALONE},
    "ci": {
        "pendulum.yaml": "scenes/NAME.yaml",
        "ci_README.md": "README.md",
        "regression.yml": ".github/workflows/regression.yml",
    },
}
"""Files of `FILES` that each template has, with their paths in the new folder."""


@click.command("new", cls=Verb, short_help="Write a commented scene to start from.")
@click.argument("folder", metavar="NAME", type=PATH)
@click.option("--template", type=click.Choice(list(TEMPLATES)), default="pendulum", help="Default: pendulum.")
def verb(folder: Path, template: str) -> int:
    """Write a folder NAME with a commented scene that runs, its JSON Schema for editors, and a README with commands.

    The template `ci` has the scene in a folder `scenes`, and a workflow for GitHub that compares runs with baselines.
    """
    from multibody_cli.output.file_replacement import write_text
    from multibody_cli.spec.names import NAME

    if not re.match(NAME, folder.name):
        raise ArgumentError(
            f"{folder.name or folder} is no name of a scene: use letters, digits, `_` and `-`, beginning with a letter "
            "or `_`"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArgumentError(f"{folder} exists: choose another name")
    for path, text in _texts(template, folder.name):
        write_text(folder / path, text)
        show(folder / path)
    messages.note(f"next: cd {folder}, and the commands of README.md")
    return 0


def _texts(template: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file of a new folder."""
    from multibody_cli.scene.export import scene_schema_text

    for file, path in TEMPLATES[template].items():
        text = (FILES / file).read_text(encoding="utf-8").replace("NAME", name)
        yield path.replace("NAME", name), text
        if path.endswith("NAME.yaml"):
            yield str(Path(path).with_name("scene.schema.json")), scene_schema_text()
