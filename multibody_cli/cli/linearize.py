"""`mbsim linearize`: writes the linear system of a scene about a state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, SCENE, about, replaced_values
from multibody_cli.cli.progress import Waiting
from multibody_cli.cli.source import prepare_and_warn
from multibody_cli.cli.tables import counted, show
from multibody_cli.errors import ArgumentError

if TYPE_CHECKING:
    from multibody_cli.studies.vibration.system import LinearSystem

FORMATS = (".npz", ".mat", ".json")


@click.command("linearize", cls=Verb, short_help="Write the matrices of the linearized motion.")
@click.argument("scene", type=SCENE)
@click.option("--to", "target", metavar="FILE.npz|mat|json", type=FILE, help="File of the matrices.")
@click.option(
    "--bode",
    "responses",
    metavar="FILE.png|svg|pdf|csv",
    type=FILE,
    multiple=True,
    help="Picture or table of magnitude and phase of each output over the frequency of each input.",
)
@click.option(
    "--frequencies", metavar="LOW,HIGH", help="With --bode: from LOW to HIGH.  Default: a decade beyond all modes."
)
@click.option(
    "--input",
    "inputs",
    metavar="NAME",
    multiple=True,
    help="An input: `force/JOINT`, `inputs/NAME`, or `drive/JOINT`.  Default: all but drives.",
)
@click.option(
    "--output", "outputs", metavar="CHANNEL", multiple=True, help="A channel.  Default: coordinates of the states."
)
@about
@replaced_values
@click.option("--force", is_flag=True, help="Replace an existing file.")
def verb(
    scene: Path,
    target: Path | None,
    responses: tuple[Path, ...],
    frequencies: str | None,
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
    `outputs`. States are deviations of independent coordinates and their rates. `--bode` writes the frequency response
    of each output to each input, as a picture or as a table.

    Exit code: 0; 1 if there is no equilibrium, or the run fails before TIME; 2 if an argument or the scene is rejected.
    """
    from multibody_cli.initial.singular_loop import EXACT, find_singular_loop
    from multibody_cli.output.file_replacement import replacement, require_replaceable
    from multibody_cli.pictures.bode import CHART
    from multibody_cli.studies.statics.study import OVERRIDES, read_instant, read_rates
    from multibody_cli.studies.vibration.response import read_frequencies, response_of
    from multibody_cli.studies.vibration.subject import subject_of
    from multibody_cli.studies.vibration.system import linear_system

    if target is None and not responses:
        raise ArgumentError("nothing to write: add --to FILE.npz for the matrices, or --bode FILE.png for a Bode plot")
    if frequencies is not None and not responses:
        raise ArgumentError("--frequencies is the range of a Bode plot: add --bode FILE.png")
    if target is not None and target.suffix not in FORMATS:
        raise ArgumentError(f"--to {target}: expected a name that ends in {', '.join(FORMATS)}")
    for path in responses:
        CHART.require(path)
    instant, rates, band = read_instant(at), read_rates(steady), read_frequencies(frequencies)
    for option, file in (("--to", target), *(("--bode", path) for path in responses)):
        if file is not None:
            require_replaceable(file, force, option)
    prepared = prepare_and_warn(
        scene,
        [*overrides, *OVERRIDES],
        runs=bool(instant) and not (equilibrium or rates),
        without=("loads", "rates") if equilibrium or rates else ("loads",),
    )
    with Waiting(f"linearizing {scene.name}"):
        subject = subject_of(prepared, instant, equilibrium, rates)
        found = linear_system(prepared, subject, inputs, outputs)
        singular = find_singular_loop(subject.model, subject.state, EXACT)
    if singular is not None:
        messages.warning(singular.remark)
    if found.differences:
        messages.note(f"derivatives are differences: {found.differences}")
    for remark in found.remarks:
        messages.warning(remark)
    sizes = [counted(len(getattr(found, noun + "s")), noun) for noun in ("state", "input", "output")]
    if target is not None:
        with replacement(target) as part:
            _write(found, target.suffix, part)
        show(f"{target}: {', '.join(sizes)}, at t = {found.time:g} s; derivatives: {found.derivatives}")
    if responses:
        response = response_of(found, *band)
        low, high = response.frequencies[[0, -1]]
        for path in responses:
            CHART.write(response, path)
            show(f"{path}: {', '.join(sizes[1:])}, from {low:g} to {high:g} Hz")
    return 0


def _write(found: LinearSystem, suffix: str, path: Path) -> None:
    """Write the matrices and names to a file that exists."""
    import numpy as np

    matrices = {name: getattr(found, name) for name in "ABCD"}
    names = {name: list(getattr(found, name)) for name in ("states", "inputs", "outputs")}
    about = {"time": found.time, "derivatives": found.derivatives}
    if suffix == ".json":
        data = {name: matrix.tolist() for name, matrix in matrices.items()}
        path.write_text(json.dumps({**data, **names, **about}, indent=1) + "\n", encoding="utf-8")
    elif suffix == ".npz":
        arrays = {name: np.array(own) for name, own in {**names, **about}.items()}
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **matrices, **arrays)
    else:
        from scipy.io import savemat

        cells = {name: np.array(own, dtype=object) for name, own in names.items()}
        with path.open("wb") as file:
            savemat(file, {**matrices, **cells, **about}, oned_as="column")
