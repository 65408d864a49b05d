"""`mbsim codegen`: forward dynamics of a scene as source."""

from __future__ import annotations

from pathlib import Path

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.source import scene_file
from multibody_cli.errors import OutputError


@click.command("codegen", cls=Verb, short_help="Write the code of method `symbolic` for a scene.")
@click.argument("scene", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Instead of stdout.")
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
@click.option("--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Replace a value of the scene.")
def verb(scene: Path, output: Path | None, force: bool, overrides: tuple[str, ...]) -> int:
    """Write the program that works out dv/dt of SCENE, as the method `symbolic` compiles it.

    SCENE is a scene file, or a result file with the scene that it was made from.  The program is a module of Python
    that runs as it is, with the numbers of the equations of Si and Guenter beside its lines.
    """
    from multibody_cli.output.place import require_replaceable
    from multibody_cli.studies.codegen import code_of

    with scene_file(scene) as file:
        text = code_of(file, overrides)
    if output is None:
        click.echo(text, nl=False)
        return 0
    require_replaceable(output, force)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{output}: {error.strerror or error}") from None
    messages.detail(f"{len(text.splitlines())} lines")
    click.echo(output)
    return 0
