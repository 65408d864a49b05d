"""`mbsim compare`: tests whether two runs agree, and locates their first difference."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import PATH, comparison_report
from multibody_cli.cli.progress import ProgressBar, Waiting
from multibody_cli.errors import ArgumentError, ResultError

if TYPE_CHECKING:
    from multibody_cli.comparison.cases import Case
    from multibody_cli.comparison.compare import Comparison
    from multibody_cli.comparison.tolerance import Policy


@click.command("compare", cls=Verb, short_help="Compare result files, or folders of them.")
@click.argument("reference", type=PATH)
@click.argument("result", type=PATH)
@click.option("--rtol", type=click.FloatRange(0.0), metavar="R", help="Relative tolerance of all datasets.")
@click.option("--atol", type=click.FloatRange(0.0), metavar="A", help="Absolute tolerance of all datasets.")
@comparison_report
@click.option("--sensitivity", is_flag=True, help="Test whether round-off alone explains the difference.")
@click.option("--plot", metavar="FILE", type=PATH, help="Plot the largest differences: PNG, SVG or PDF.")
def verb(
    reference: Path,
    result: Path,
    rtol: float | None,
    atol: float | None,
    tolerances: Path | None,
    sensitivity: bool,
    plot: Path | None,
    **formats: Any,
) -> int:
    """Compare RESULT with REFERENCE: two result files, two tables of sweeps, or two folders of these.

    Numbers may differ by atol + rtol * |reference|. The tolerances are taken from the command line, else from the last
    matching rule of the policy file, else from the reference file. The sign of quaternions, multiples of 2 pi in angles
    and the order of contacts are ignored. Runs with different output instants are compared at the instants they share,
    and tables at the runs they share.

    Exit code: 0 if the runs agree, 1 if they differ, 2 if they cannot be compared.
    """
    from multibody_cli.cli import reports
    from multibody_cli.comparison.cases import worst
    from multibody_cli.output.sweep_table import is_sweep_table

    policy = _policy(rtol, atol, tolerances)
    folders = reference.is_dir() or result.is_dir()
    if (plot or sensitivity) and (folders or is_sweep_table(reference)):
        raise ArgumentError(f"{'--plot' if plot else '--sensitivity'} requires the result files of two runs")
    if plot is not None:
        from multibody_cli.pictures.style import require_format

        require_format(plot)
    with ProgressBar("numbers") as bar:
        cases = _cases(reference, result, policy, bar)
    if not folders and cases[0].comparison is None:
        raise ResultError(cases[0].trouble)
    remarks = _explain(cases[0].comparison) if sensitivity and cases[0].comparison is not None else ()
    if plot is not None and cases[0].comparison is not None:
        from multibody_cli.pictures.comparisons import draw_worst
        from multibody_cli.pictures.style import save

        with Waiting(f"drawing {plot.name}"):
            save(draw_worst(cases[0].comparison), plot)
    reports.write(cases, "mbsim compare", remarks, **formats)
    return worst(cases).exit_code


def _policy(rtol: float | None, atol: float | None, tolerances: Path | None) -> Policy:
    from multibody_cli.comparison.tolerance import Policy, read_rules

    for name, value in (("--rtol", rtol), ("--atol", atol)):
        if value is not None and not math.isfinite(value):
            raise click.UsageError(f"{name} {value}: expected a finite number of at least 0")
    return Policy(rtol, atol, read_rules(tolerances) if tolerances is not None else ())


def _cases(reference: Path, result: Path, policy: Policy, bar: ProgressBar) -> list[Case]:
    from multibody_cli.comparison.cases import compare_case, compare_folders

    if reference.is_dir() and result.is_dir():
        return list(compare_folders(reference, result, policy, bar.show))
    if reference.is_dir() or result.is_dir():
        folder, file = (reference, result) if reference.is_dir() else (result, reference)
        raise ArgumentError(f"{folder} is a folder and {file} is not: name two files or two folders")
    return [compare_case(str(result), reference, result, policy, bar.show)]


def _explain(comparison: Comparison) -> tuple[str, ...]:
    """Repeat the reference run with perturbations, and report whether their growth explains the difference."""
    from multibody_cli.cli.source import prepare_and_warn
    from multibody_cli.studies.sensitivity import COPIES, explain

    if comparison.first_difference is None:
        return ("sensitivity: nothing to explain, all differences are within tolerance",)
    simulation = prepare_and_warn(comparison.reference)
    with ProgressBar("runs") as bar:
        return (str(explain(comparison, simulation, lambda done: bar.show(done, COPIES + 1))),)
