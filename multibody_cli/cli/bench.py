"""`mbsim bench`: how fast methods are, how their cost grows, and what accuracy it buys."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.source import prepare_and_warn
from multibody_cli.errors import ArgumentError, MbsimError

if TYPE_CHECKING:
    from multibody_cli.studies.bench.campaign import Findings
    from multibody_cli.studies.bench.words import BenchSpec

SCENES = Path("scenes/bench")
"""Where scenes are taken from when none is named."""

INTERRUPTED = 130


@click.command("bench", cls=Verb, short_help="Measure how fast and how accurate methods are.")
@click.argument("scenes", metavar="[SCENE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--method", metavar="M[,M...]", help="Methods to measure, or `all`, instead of the scene's.")
@click.option("--integrator", metavar="I[,I...]", help="Integrators, or `all`, instead of the scene's.")
@click.option("--step", metavar="H[,H...]", help="Time steps of integrators of fixed step, as in 1ms,2ms.")
@click.option("--tolerance", metavar="E[,E...]", help="Relative tolerances of adaptive integrators.")
@click.option("--set", "set", metavar="KEY=VALUE", multiple=True, help="Replace a value of each scene.")
@click.option("--size", metavar="KEY=2,4,8", help="Measure each scene with these values.")
@click.option("--repeat", metavar="N", help="Blocks of each timing, 1 to 1000; 7 without it.")
@click.option("--accuracy", metavar="LENGTH", help="Measure errors as well; which run reaches this, as in 1mm.")
@click.option("--duration", metavar="TIME", help="Time to simulate for the errors, instead of the scene's.")
@click.option("--against", metavar="PEER[,PEER]", help="Time the scene in mujoco or pinocchio as well.")
@click.option("--suite", metavar="NAME", help="Take the words from scenes/bench/suites/NAME.yaml, or from a file.")
@click.option("--json", "json_file", metavar="FILE", help="Write everything as JSON; `-` to stdout, without tables.")
@click.option("--markdown", metavar="FILE", type=click.Path(path_type=Path), help="Write the tables as Markdown.")
@click.option("--plot", metavar="FILE", type=click.Path(path_type=Path), help="Draw growth and accuracy: PNG or SVG.")
def verb(suite: str | None, json_file: str | None, markdown: Path | None, plot: Path | None, **words: Any) -> int:
    """Measure the time per step and per evaluation of each SCENE; without one, of those in scenes/bench.

    Every scene is run with every method, integrator, step or tolerance, and size that is named; what a method
    or an integrator refuses is listed with its reason.  Nothing is written while the clock runs.  An evaluation
    is one computation of all accelerations.  Each time is the median of `--repeat` blocks of 20 ms or more,
    with the fastest and the slowest; the first call, in which kernels are compiled or loaded, stands apart.

    With --accuracy, whole runs are timed and compared with a fine reference run, and the cheapest that reaches
    the accuracy is recommended.  With --against, accelerations are compared first.  When it is interrupted, what
    was measured is reported and written.
    """
    given = {key: value for key, value in words.items() if value not in (None, ())}
    specs = _specs(suite, given)
    _require_files(json_file, markdown, plot, specs)
    return _bench(specs, json_file, markdown, plot)


def _specs(suite: str | None, given: dict[str, Any]) -> list[BenchSpec]:
    """Read what is asked for; what stands on the command line goes before what the suite says."""
    from multibody_cli.studies.bench.suite import read_suite

    asked = _read(given)
    if suite is not None:
        changes = {key: getattr(asked, key) for key in given}
        specs = [spec.model_copy(update=changes) for spec in read_suite(suite)]
    else:
        specs = [asked]
    scenes = _scenes_of_the_project() if not all(spec.scenes for spec in specs) else ()
    return [spec if spec.scenes else spec.model_copy(update={"scenes": scenes}) for spec in specs]


def _read(given: dict[str, Any]) -> BenchSpec:
    """Read the words of the command line, and refuse those that mean nothing, all of them at once."""
    from pydantic import ValidationError

    from multibody_cli.scene.explain import explain
    from multibody_cli.studies.bench.words import BenchSpec

    try:
        return BenchSpec.model_validate(given)
    except ValidationError as error:
        problems = dict.fromkeys(f"--{path[0]}: {message}" for path, message in explain(error, BenchSpec))
        raise ArgumentError("\n".join(problems)) from None


def _scenes_of_the_project() -> tuple[Path, ...]:
    scenes = tuple(sorted(SCENES.glob("*.yaml")))
    if not scenes:
        raise ArgumentError(f"there is no scene in {SCENES} here: name one, as in `mbsim bench SCENE`")
    return scenes


def _require_files(json_file: str | None, markdown: Path | None, plot: Path | None, specs: Sequence[BenchSpec]) -> None:
    """Refuse what could not be written or measured now rather than after the last measurement."""
    from multibody_cli.studies.bench.against import require_packages

    if plot is not None:
        from multibody_cli.pictures.style import require_format

        require_format(plot)
        if not any(spec.size or spec.accuracy for spec in specs):
            raise ArgumentError("--plot draws growth with size or cost against accuracy: add --size or --accuracy")
    for path in (Path(json_file) if json_file not in (None, "-") else None, markdown, plot):
        if path is not None:
            _require_writable(path)
    require_packages(list(dict.fromkeys(name for spec in specs for name in spec.against)))


def _require_writable(path: Path) -> None:
    """Refuse a file that cannot be written; one that is not there yet is not left behind."""
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
        run_benches(specs, prepare_and_warn, messages.note, found)
    except KeyboardInterrupt:
        status = "interrupted"
    except (MbsimError, MemoryError) as error:
        status, trouble = "failed", error
    if trouble is None or not found.is_empty:  # a bench that is refused leaves older files alone
        _report(found, status, json_file, markdown, plot)
    if trouble is not None:
        raise trouble
    if status == "interrupted":
        messages.error("interrupted: what was measured until then is reported")
        return INTERRUPTED
    return _peers_that_differ(found)


def _report(found: Findings, status: str, json_file: str | None, markdown: Path | None, plot: Path | None) -> None:
    """Tell and write what was found."""
    from multibody_cli.cli import bench_report

    if json_file not in (None, "-"):
        Path(str(json_file)).write_text(bench_report.as_json(found, status) + "\n", encoding="utf-8")
    if markdown is not None:
        markdown.write_text(bench_report.as_markdown(found, status), encoding="utf-8")
    if plot is not None:
        from multibody_cli.pictures.benchmarks import draw_findings

        if not draw_findings(found, plot):
            messages.warning(f"{plot}: nothing was measured that could be drawn")
    # last: whoever reads stdout may leave before the end
    if json_file == "-":
        click.echo(bench_report.as_json(found, status))
    else:
        for line in bench_report.as_text(found):
            click.echo(line)


def _peers_that_differ(found: Findings) -> int:
    """Tell of peers that disagree about the accelerations; 1 if there are any, else 0."""
    differing = [one for one in found.comparisons if one.status == "differs"]
    for one in differing:
        what = " ".join([one.scene, *one.settings, *([] if one.size is None else [f"{one.size_key}={one.size:g}"])])
        messages.error(f"{one.peer} {one.peer_version}: {what}: {one.reason}")
    return int(bool(differing))
