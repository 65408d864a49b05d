"""`mbsim mass`: prints the mass of each body of a scene."""

from __future__ import annotations

from pathlib import Path

import click

from multibody_cli.cli.messages import Verb
from multibody_cli.cli.source import prepare_and_warn
from multibody_cli.cli.tables import show, show_json


@click.command("mass", cls=Verb, short_help="Print the mass of each body of a scene.")
@click.argument("scene", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Write the masses as JSON, in kg.")
def verb(scene: Path, as_json: bool) -> int:
    """Print the mass of each body of SCENE.

    Exit code: 0, or 2 if the scene cannot be run.
    """
    compiled = prepare_and_warn(scene).compiled
    masses = {name: float(body.mass) for name, body in compiled.masses.items()}
    if as_json:
        show_json(masses)
    else:
        show("\n".join(f"{name}: {mass:.6g} kg" for name, mass in masses.items()))
    return 0
