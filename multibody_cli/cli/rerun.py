"""`mbsim rerun`: repeats a run from its own result file, and tests whether the bytes are the same."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, PATH
from multibody_cli.cli.progress import Progress
from multibody_cli.cli.source import prepare_and_warn
from multibody_cli.cli.stop import StopRequest
from multibody_cli.cli.tables import show, show_json
from multibody_cli.errors import ArgumentError, ResultError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from multibody_cli.output.trajectory import Trajectory


@click.command("rerun", cls=Verb, short_help="Repeat a run from its result file, and compare.")
@click.argument("file", metavar="FILE", type=PATH)
@click.option("-o", "--output", metavar="NEW", type=FILE, help="Keep the new result file; the default is to delete it.")
@click.option("--force", is_flag=True, help="Replace an existing file NEW.")
@click.option("--json", "as_json", is_flag=True, help="Write the report as JSON.")
def verb(file: Path, output: Path | None, force: bool, as_json: bool) -> int:
    """Repeat the run of a result file with the scene in it, and test whether the new file has the same bytes.

    If it has not, the files are compared as by `mbsim compare`. A certificate is copied, not computed again.

    Exit code: 0 if the bytes are the same, 1 if they differ, 2 if the run cannot be repeated, 128 plus the number of
    the signal if one interrupts it.
    """
    from multibody_cli.comparison.cases import compare_case
    from multibody_cli.comparison.tolerance import Policy
    from multibody_cli.methods import METHODS
    from multibody_cli.output.certificate import add_certificate
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.version import described, full_version

    run = read_trajectory(file)
    recorded = run.attributes
    if recorded["status"] in ("running", "interrupted"):
        raise ResultError(f"{file}: the run was not completed: continue it with `mbsim run --resume {file}`")
    if recorded["method"] not in METHODS:
        raise ResultError(f"{file} has no run but `{recorded['method']}`: repeat the command that wrote it")
    if output is not None and output.exists() and output.samefile(file):
        raise ArgumentError(f"{output} is the file to repeat: use another name with -o")
    with _place(output) as new:
        if stop_code := _repeat(run, file, new, force):
            return stop_code
        certificate = run.certificate
        if certificate is not None:  # a copy: `mbsim certify` repeats its runs
            add_certificate(new, certificate)
        written = described(recorded["mbsim_version"], recorded.get("mbsim_commit", ""))
        versions = f"written by mbsim {written}, repeated by {full_version()}"
        if file.read_bytes() == new.read_bytes():
            show_json({"file": str(file), "same_bytes": True}) if as_json else show(f"{file}: same bytes")
            return 0
        from multibody_cli.cli import reports

        case = compare_case(str(file), file, new, Policy())
        reports.write([case], "mbsim rerun", [f"{file}: different bytes; {versions}"], as_json)
    return 1


@contextmanager
def _place(output: Path | None) -> Iterator[Path]:
    """Yield the path of the new file; without a name, in a folder that is removed."""
    if output is not None:
        yield output
        return
    with tempfile.TemporaryDirectory(prefix="mbsim-") as folder:
        yield Path(folder) / "rerun.h5"


def _repeat(run: Trajectory, file: Path, new: Path, force: bool) -> int:
    """Run the scenes of a result file; return 0, or the exit code if the run was interrupted."""
    from multibody_cli.output.hdf5 import Hdf5Sink
    from multibody_cli.studies.branching import repeated
    from multibody_cli.timeline import Callbacks

    prepared = prepare_and_warn(file, text=run.scene_yaml)
    with (
        StopRequest() as stop,
        Progress(prepared.compiled.timing) as progress,
        repeated(run.earlier, prepared, stop.asked, progress) as (simulation, continued),
    ):
        settings = simulation.scene.output
        sink = Hdf5Sink(new, settings.channels, settings.compression, force, continued=continued)
        carried = continued.checkpoint.values if continued else None
        outcome = simulation.run(sink, Callbacks(progress, stop.asked), carried).outcome
        return stop.code if outcome.status == "interrupted" else 0
