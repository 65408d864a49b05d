"""`mbsim codegen`: writes the forward dynamics of a scene as source code."""

from __future__ import annotations

from pathlib import Path

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH, SCENE, replaced_values
from multibody_cli.cli.source import scene_of
from multibody_cli.cli.tables import show
from multibody_cli.errors import ArgumentError


@click.command("codegen", cls=Verb, short_help="Write the code of method `symbolic` for a scene.")
@click.argument("scene", type=SCENE)
@click.option("-o", "--output", type=PATH, metavar="FILE", help="Output file. Default: stdout.")
@click.option("--force", is_flag=True, help="Replace an existing FILE.")
@replaced_values
def verb(scene: Path, output: Path | None, force: bool, overrides: tuple[str, ...]) -> int:
    """Write the program that computes dv/dt of SCENE, as method `symbolic` compiles it.

    SCENE is a scene file or a result file, which contains its scene. The program is a self-contained Python module;
    comments refer to the equation numbers of Si and Guenter.
    """
    from multibody_cli.output.file_replacement import require_replaceable, write_text
    from multibody_cli.studies.codegen import code_of

    if output is not None:
        require_replaceable(output, force)
        if output.suffix != ".py":
            raise ArgumentError(f"{output}: the program is written as Python: write {output.with_suffix('.py')}")
    text = code_of(scene_of(scene), overrides)
    if output is None:
        show(text, nl=False)
        return 0
    write_text(output, text)
    messages.detail(f"{len(text.splitlines())} lines")
    show(output)
    return 0
