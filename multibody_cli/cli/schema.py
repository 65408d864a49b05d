"""`mbsim schema`: writes the formats of scenes and results as JSON, and the reference pages generated from them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.tables import counted, show

FORMATS = {"scene": "schemas/scene.schema.json", "result": "schemas/trajectory.schema.json"}
"""Files of the formats, by their argument on the command line."""


@click.command("schema", cls=Verb, short_help="Show the formats of scenes and results.")
@click.argument("format_name", metavar="[scene|result]", type=click.Choice(list(FORMATS)), default="scene")
@click.option("--write", is_flag=True, help="Update the generated files of the project.")
@click.option("--check", is_flag=True, help="List generated files that are not current; exit code 1 if any.")
@click.option(
    "--root",
    metavar="FOLDER",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=".",
    help="Root of the project, for --write and --check. Default: the working directory.",
)
def verb(format_name: str, write: bool, check: bool, root: Path) -> int:
    """Show the JSON Schema of scenes, or the list of datasets of results.

    The project keeps both in schemas/, and pages generated from them in docs/reference/. --write updates these files;
    --check tests whether they are current.
    """
    if write and check:
        raise click.UsageError("--write and --check exclude each other")
    texts = generate()
    if not (write or check):
        show(texts[FORMATS[format_name]], nl=False)
        return 0
    stale = []
    for path, text in texts.items():
        file = root / path
        if file.is_file() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        show(path)
        if write:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    messages.note(f"{counted(len(stale), 'file')} {'written' if write else 'not current'}, {len(texts)} in all")
    return int(check and bool(stale))


def generate() -> dict[str, str]:
    """Return the text of every generated file of the project, by path."""
    from multibody_cli.cli import reference
    from multibody_cli.output.schema import describe, render_markdown
    from multibody_cli.scene.export import scene_schema_text

    return {
        FORMATS["scene"]: scene_schema_text(),
        FORMATS["result"]: json.dumps(describe(), indent=2, ensure_ascii=False) + "\n",
        "docs/reference/scene.md": reference.scene_page(),
        "docs/reference/result-file.md": render_markdown(),
        "docs/reference/catalogues.md": reference.catalogues_page(),
        "docs/reference/commands.md": reference.commands_page(),
        "docs/reference/mjcf.md": reference.mjcf_page(),
    }
