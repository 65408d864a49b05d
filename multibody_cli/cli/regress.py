"""`mbsim regress`: tests whether scenes reproduce their baselines."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH, comparison_report
from multibody_cli.cli.progress import ProgressBar
from multibody_cli.cli.tables import counted
from multibody_cli.errors import ArgumentError


@click.command("regress", cls=Verb, short_help="Run scenes and compare them with stored baselines.")
@click.argument("scenes", metavar="SCENE...", nargs=-1, required=True, type=PATH)
@click.option(
    "--baseline",
    "baselines",
    metavar="FOLDER",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the baselines, <scene>/<method>.h5.",
)
@click.option("--method", "methods", metavar="M[,M...]", help="Methods, or `all`. Default: those with a baseline.")
@click.option("--accept", is_flag=True, help="Replace baselines that differ, and create missing ones.")
@click.option("--why", metavar="TEXT", help="Reason, stored in the baseline; required by --accept.")
@comparison_report
@click.option("-o", "--output", metavar="FOLDER", type=PATH, help="Keep the results in FOLDER.")
def verb(
    scenes: tuple[Path, ...],
    baselines: Path,
    methods: str | None,
    accept: bool,
    why: str | None,
    tolerances: Path | None,
    output: Path | None,
    **formats: Any,
) -> int:
    """Run each SCENE and compare the result with its baseline, a result file of about 20 instants.

    A SCENE may be a table of `mbsim sweep`, which is compared with the accepted table, <table>/sweep.h5.

    A result that misses an expectation of its scene fails, unless its baseline was accepted with the same miss. A
    baseline whose scene is in no folder of the given ones is named. `-v` lists the datasets of a single comparison.

    --accept replaces the baselines that differ and creates missing ones; the reason given by --why is appended to the
    history in the file, and expectations that the result misses are marked there.

    Exit code: 0 if all results agree or are accepted, 1 if one differs, has no baseline or misses an expectation, 2 if
    one cannot be run or compared, 130 if interrupted; the results obtained so far are reported.
    """
    if accept != bool(why and why.strip()):
        raise click.UsageError("--accept and --why TEXT must be given together: a baseline stores its reason")
    from multibody_cli.cli import reports
    from multibody_cli.comparison.cases import Case, worst
    from multibody_cli.comparison.tolerance import Policy, read_rules
    from multibody_cli.studies.regression import plan, run_trial, without_scene

    if output is not None and output.resolve() == baselines.resolve():
        raise ArgumentError(f"{output} holds the baselines: use another folder with -o, or --accept to replace them")
    policy = Policy(rules=read_rules(tolerances) if tolerances is not None else ())
    trials = plan(scenes, baselines, methods.split(",") if methods else ())
    if not accept and not baselines.is_dir():
        raise ArgumentError(f"{baselines}: no such folder: correct --baseline, or create it with --accept --why TEXT")
    cases: list[Case] = []
    interrupted = False
    with ExitStack() as stack:
        results = output or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mbsim-")))
        bar = stack.enter_context(ProgressBar("runs"))
        try:
            for done, trial in enumerate(trials):

                def show_part(part: float, done: int = done, name: str = trial.name) -> None:
                    bar.show(done + part, len(trials), name)

                show_part(0.0)
                messages.detail(trial.name)
                case = run_trial(trial, baselines, results, policy, why, show_part)
                if case is None:
                    messages.detail(f"{trial.name}: the method does not support this scene")
                else:
                    cases.append(case)
        except KeyboardInterrupt:
            interrupted = True
        remarks = without_scene(scenes, baselines)
        reports.write(cases, "mbsim regress", remarks, in_detail=messages.is_verbose(), **formats)
    if interrupted:
        messages.error(f"interrupted after {counted(len(cases), 'run')} of {len(trials)}")
        return messages.INTERRUPTED
    return worst(cases).exit_code
