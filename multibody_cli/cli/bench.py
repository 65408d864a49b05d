"""`mbsim bench`: measures the speed of methods, the growth of their cost, and cost against accuracy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH
from multibody_cli.cli.progress import Waiting
from multibody_cli.cli.source import prepare_and_warn
from multibody_cli.cli.tables import show
from multibody_cli.errors import ArgumentError, MbsimError
from multibody_cli.escaping import escaped

if TYPE_CHECKING:
    from multibody_cli.studies.bench.campaign import Findings
    from multibody_cli.studies.bench.options import BenchSpec


@click.command("bench", cls=Verb, short_help="Measure the speed and accuracy of methods.")
@click.argument("scenes", metavar="[SCENE]...", nargs=-1, type=PATH)
@click.option("--method", metavar="M[,M...]", help="Methods to measure, or `all`, instead of the scene's.")
@click.option("--integrator", metavar="I[,I...]", help="Integrators, or `all`, instead of the scene's.")
@click.option("--step", metavar="H[,H...]", help="Time steps of fixed-step integrators, as in 1ms,2ms.")
@click.option("--tolerance", metavar="E[,E...]", help="Relative tolerances of adaptive integrators.")
@click.option(
    "--set", "set", metavar="KEY=VALUE", multiple=True, help="Replace a value of each scene; null removes it."
)
@click.option("--state", metavar="NAME", help="Start in this one of the `states` of each scene.")
@click.option("--size", metavar="KEY=2,4,8", help="Measure each scene with each of these values.")
@click.option("--repeat", metavar="N", help="Blocks per timing, 1 to 1000. Default: 7.")
@click.option("--accuracy", metavar="LENGTH", help="Measure errors as well, for this accuracy, as in 1mm.")
@click.option("--batch", metavar="N", help="Time N runs together as well, from scattered initial velocities.")
@click.option("--duration", metavar="TIME", help="Simulated time of these runs, and of each block of steps.")
@click.option("--against", metavar="PEER[,PEER]", help="Time the scene in other programs as well.")
@click.option("--suite", metavar="NAME", help="Read the options from a suite of the project, or from a file NAME.yaml.")
@click.option("--json", "json_file", metavar="FILE", help="Write all data as JSON; `-`: to stdout, without tables.")
@click.option("--markdown", metavar="FILE", type=PATH, help="Write the tables as Markdown.")
@click.option("--plot", metavar="FILE", type=PATH, help="Plot growth and accuracy as PNG, SVG or PDF.")
def verb(
    suite: str | None, json_file: str | None, markdown: Path | None, plot: Path | None, state: str | None, **words: Any
) -> int:
    """Measure the time per step and per evaluation of each SCENE, or of the benchmarks of the project.

    Runs every scene with every combination of the given methods, integrators, steps or tolerances, and sizes. A
    combination that a method or an integrator does not support is listed with the reason. Output is disabled while
    timing. An evaluation is one computation of all accelerations. Each time is the median of `--repeat` blocks of at
    least 20 ms, with the minimum and the maximum; the first call, which compiles or loads kernels, is listed
    separately.

    With --accuracy, complete runs are timed and compared with a fine reference run, and the cheapest run that reaches
    the accuracy is recommended. With --batch, N runs are made on all cores, in lanes where these are supported. With
    --against, accelerations are compared before timing, and the peer makes a batch too. Scenes with loops or contacts
    take the same steps in all programs, over --duration if it is given, and their accuracy at the end is compared. An
    interrupted benchmark reports and writes the measurements made so far.
    """
    if state is not None:
        words["set"] = (*words["set"], f"--state={state}")
    given = {key: value for key, value in words.items() if value not in (None, ())}
    specs = _specs(suite, given)
    _require_files(json_file, markdown, plot, specs)
    return _bench(specs, json_file, markdown, plot)


def _specs(suite: str | None, given: dict[str, Any]) -> list[BenchSpec]:
    """Return the requested benchmarks; options of the command line take precedence over the suite."""
    from multibody_cli.studies.bench.options import bench_scenes, read_suite

    asked = _read(given)
    if suite is not None:
        changes = {key: getattr(asked, key) for key in given}
        specs = [spec.model_copy(update=changes) for spec in read_suite(suite)]
    else:
        specs = [asked]
    scenes = tuple(sorted(bench_scenes().glob("*.yaml")))
    return [spec if spec.scenes else spec.model_copy(update={"scenes": scenes}) for spec in specs]


def _read(given: dict[str, Any]) -> BenchSpec:
    """Validate the options of the command line; report all invalid ones together."""
    from pydantic import ValidationError

    from multibody_cli.scene.explain import explain
    from multibody_cli.studies.bench.options import BenchSpec

    try:
        return BenchSpec.model_validate(given)
    except ValidationError as error:
        problems = dict.fromkeys(f"--{path[0]}: {message}" for path, message in explain(error, BenchSpec))
        raise ArgumentError("\n".join(problems)) from None


def _require_files(json_file: str | None, markdown: Path | None, plot: Path | None, specs: Sequence[BenchSpec]) -> None:
    """Check output files and packages before the first measurement."""
    from multibody_cli.studies.bench.against import require_packages

    if plot is not None:
        from multibody_cli.pictures.style import require_format

        require_format(plot)
        if not any(spec.size or spec.accuracy for spec in specs):
            raise ArgumentError("--plot shows growth with size or cost against accuracy: add --size or --accuracy")
    for path in (Path(json_file) if json_file not in (None, "-") else None, markdown, plot):
        if path is not None:
            _require_writable(path)
    require_packages(list(dict.fromkeys(name for spec in specs for name in spec.against)))


def _require_writable(path: Path) -> None:
    """Raise an error if a file cannot be written; leave no new file behind."""
    new = not path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise ArgumentError(f"cannot write {path}: {error.strerror or error}") from None
    if new:
        os.remove(path)


def _bench(specs: Sequence[BenchSpec], json_file: str | None, markdown: Path | None, plot: Path | None) -> int:
    from multibody_cli.studies.bench.campaign import Findings, run_benches

    found = Findings()
    status, trouble = "complete", None
    try:
        with Waiting("measuring"):
            run_benches(specs, prepare_and_warn, messages.note, found)
    except KeyboardInterrupt:
        status = "interrupted"
    except (MbsimError, MemoryError) as error:
        status, trouble = "failed", error
    if trouble is None or not found.is_empty:  # a rejected benchmark leaves existing files unchanged
        _report(found, status, json_file, markdown, plot)
    if trouble is not None:
        raise trouble
    if status == "interrupted":
        messages.error("interrupted: the measurements made so far are reported")
        return messages.INTERRUPTED
    return _peers_that_differ(found)


def _report(found: Findings, status: str, json_file: str | None, markdown: Path | None, plot: Path | None) -> None:
    """Write the results to stdout and to the requested files."""
    from multibody_cli.cli import bench_report
    from multibody_cli.output.file_replacement import write_text

    if json_file not in (None, "-"):
        write_text(Path(str(json_file)), bench_report.as_json(found, status) + "\n")
    if markdown is not None:
        write_text(markdown, escaped(bench_report.as_markdown(found, status)))
    if plot is not None:
        from multibody_cli.pictures.benchmarks import draw_findings

        if not draw_findings(found, plot):
            messages.warning(f"{plot}: no measurements to plot")
    # last, because the reader of a pipe may exit early
    if json_file == "-":
        show(bench_report.as_json(found, status))
    else:
        for line in bench_report.as_text(found):
            show(line)


def _peers_that_differ(found: Findings) -> int:
    """Report peers whose accelerations disagree; return 1 if there are any, else 0."""
    differing = [one for one in found.comparisons if one.status == "differs"]
    for one in differing:
        run = " ".join([one.scene, *one.settings, *([] if one.size is None else [f"{one.size_key}={one.size:g}"])])
        messages.error(f"{one.peer} {one.peer_version}: {run}: {one.reason}")
    return int(bool(differing))
