"""`mbsim regress`: whether scenes still give what their baselines say."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.progress import Bar
from multibody_cli.cli.render import counted
from multibody_cli.errors import ArgumentError

INTERRUPTED = 130


@click.command("regress", cls=Verb, short_help="Run scenes and compare them with stored baselines.")
@click.argument("scenes", metavar="SCENE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    "baselines",
    metavar="FOLDER",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the baselines: <scene>/<method>.h5.",
)
@click.option("--method", "methods", metavar="M[,M...]", help="Methods to run, or `all`; else those with a baseline.")
@click.option("--accept", is_flag=True, help="Renew the baselines that differ, and make those that are not there.")
@click.option("--why", metavar="TEXT", help="The reason, which is kept in the baseline; needed by --accept.")
@click.option(
    "--tolerances", metavar="FILE", type=click.Path(path_type=Path), help="Policy file: tolerances of datasets."
)
@click.option("-o", "--output", metavar="FOLDER", type=click.Path(path_type=Path), help="Keep the results here.")
@click.option("--json", "as_json", is_flag=True, help="Write the report as JSON.")
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path), help="Write a JUnit report for CI.")
@click.option("--markdown", metavar="FILE", type=click.Path(path_type=Path), help="Write the report as Markdown.")
def verb(
    scenes: tuple[Path, ...],
    baselines: Path,
    methods: str | None,
    accept: bool,
    why: str | None,
    tolerances: Path | None,
    output: Path | None,
    as_json: bool,
    junit: Path | None,
    markdown: Path | None,
) -> int:
    """Run each SCENE and compare the result with its baseline, a result file of some 20 instants.

    --accept renews the baselines that differ and makes those that are missing; the reason given by --why is kept in
    the file, behind those of before.

    Ends with 0 where all are the same or accepted, 1 where one differs or has no baseline, 2 where one cannot be run
    or compared, 130 when it was interrupted; what was found until then is reported.
    """
    if accept != bool(why and why.strip()):
        raise click.UsageError("--accept and --why TEXT go together: a baseline says why it was accepted")
    from multibody_cli.cli import reports
    from multibody_cli.comparison.cases import Case, worst
    from multibody_cli.comparison.tolerance import Policy, read_rules
    from multibody_cli.studies.regression import attempt, plan

    if output is not None and output.resolve() == baselines.resolve():
        raise ArgumentError(f"{output} holds the baselines: give another folder with -o, and --accept to renew them")
    policy = Policy(rules=read_rules(tolerances) if tolerances is not None else ())
    trials = plan(scenes, baselines, methods.split(",") if methods else ())
    cases: list[Case] = []
    interrupted = False
    with ExitStack() as stack:
        results = output or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mbsim-")))
        bar = stack.enter_context(Bar("runs", len(trials)))
        try:
            for done, trial in enumerate(trials, start=1):
                messages.detail(trial.name)
                case = attempt(trial, baselines, results, policy, why)
                if case is None:
                    messages.detail(f"{trial.name}: the method cannot run this scene")
                else:
                    cases.append(case)
                bar.show(done, len(trials))
        except KeyboardInterrupt:
            interrupted = True
        reports.write(cases, as_json, junit, markdown)
    if interrupted:
        messages.error(f"interrupted after {counted(len(cases), 'run')} of {len(trials)}")
        return INTERRUPTED
    return int(worst(cases))
