"""`mbsim linearize`: writes the linear system of a scene about a state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, PATH, about, replaced_values
from multibody_cli.cli.progress import Waiting
from multibody_cli.cli.source import prepare_and_warn
from multibody_cli.cli.tables import counted, show
from multibody_cli.errors import ArgumentError

if TYPE_CHECKING:
    from multibody_cli.studies.vibration.system import LinearSystem

FORMATS = (".npz", ".mat", ".json")


@click.command("linearize", cls=Verb, short_help="Write the matrices of the linearized motion.")
@click.argument("scene", type=PATH)
@click.option("--to", "target", metavar="FILE.npz|mat|json", type=FILE, required=True, help="File of the matrices.")
@click.option(
    "--input",
    "inputs",
    metavar="NAME",
    multiple=True,
    help="An input: `force/JOINT`, or `inputs/NAME` of the scene.  Default: all.",
)
@click.option(
    "--output", "outputs", metavar="CHANNEL", multiple=True, help="A channel.  Default: coordinates of the states."
)
@about
@replaced_values
@click.option("--force", is_flag=True, help="Replace an existing file.")
def verb(
    scene: Path,
    target: Path,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    at: str | None,
    equilibrium: bool,
    steady: tuple[str, ...],
    overrides: tuple[str, ...],
    force: bool,
) -> int:
    """Write the matrices A, B, C and D of SCENE, linearized about its start, an instant, or its equilibrium.

    dx/dt = A x + B u and y = C x + D u, in SI units. The file has the matrices, and the names `states`, `inputs` and
    `outputs`. States are deviations of independent coordinates and of their rates.

    Exit code: 0; 1 if there is no equilibrium, or the run fails before TIME; 2 if an argument or the scene is rejected.
    """
    from multibody_cli.output.file_replacement import replacement, require_replaceable
    from multibody_cli.studies.statics.study import OVERRIDES, read_instant, read_rates
    from multibody_cli.studies.vibration.subject import subject_of
    from multibody_cli.studies.vibration.system import linear_system

    if target.suffix not in FORMATS:
        raise ArgumentError(f"--to {target}: expected a name that ends in {', '.join(FORMATS)}")
    instant, rates = read_instant(at), read_rates(steady)
    require_replaceable(target, force)
    prepared = prepare_and_warn(scene, [*overrides, *OVERRIDES], runs=bool(instant) and not (equilibrium or rates))
    with Waiting(f"linearizing {scene.name}"):
        subject = subject_of(prepared, instant, equilibrium, rates)
        found = linear_system(prepared, subject, inputs, outputs)
    for remark in found.remarks:
        messages.warning(remark)
    with replacement(target) as part:
        _write(found, target.suffix, part)
    sizes = [counted(len(getattr(found, noun + "s")), noun) for noun in ("state", "input", "output")]
    show(f"{target}: {', '.join(sizes)}, at t = {found.time:g} s")
    return 0


def _write(found: LinearSystem, suffix: str, path: Path) -> None:
    """Write the matrices and names to a file that exists."""
    import numpy as np

    matrices = {name: getattr(found, name) for name in "ABCD"}
    names = {name: list(getattr(found, name)) for name in ("states", "inputs", "outputs")}
    if suffix == ".json":
        data = {name: matrix.tolist() for name, matrix in matrices.items()}
        path.write_text(json.dumps({**data, **names, "time": found.time}, indent=1) + "\n", encoding="utf-8")
    elif suffix == ".npz":
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **matrices, **{name: np.array(own) for name, own in names.items()})
    else:
        from scipy.io import savemat

        cells = {name: np.array(own, dtype=object) for name, own in names.items()}
        with path.open("wb") as file:
            savemat(file, {**matrices, **cells, "time": found.time}, oned_as="column")
