"""`mbsim optimize`: parameters of a scene with which an expression of channels is least."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, SCENE, result_path, run_settings
from multibody_cli.cli.progress import ProgressBar, Waiting, purpose_of, show_compilation
from multibody_cli.cli.source import scene_of
from multibody_cli.cli.stop import StopRequest
from multibody_cli.cli.tables import counted, show, show_json, show_table
from multibody_cli.errors import shortened

if TYPE_CHECKING:
    from multibody_cli.studies.optimize.execution import Executor
    from multibody_cli.studies.optimize.study import Optimization, Optimum
    from multibody_cli.studies.optimize.trials import Trial, Trials

ALGORITHM_NAMES = ("slsqp", "l-bfgs-b", "cobyqa", "nelder-mead", "trf", "differential-evolution", "nsga2")
EXIT_CODES = {"converged": 0, "not converged": 1}

MOST_OF_FRONT = 30
"""Largest number of points of a front that are shown."""


LONGEST_NAME = 60
"""Number of characters of an expression that are shown."""


@click.command("optimize", cls=Verb, short_help="Find the parameters of a scene with which an expression is least.")
@click.argument("scene", type=SCENE)
@click.option(
    "--minimize",
    "objectives",
    metavar="EXPRESSION[@REDUCTION]",
    multiple=True,
    help="Expression of channels to minimize; several give a Pareto front.",
)
@click.option(
    "--maximize",
    "opposites",
    metavar="EXPRESSION[@REDUCTION]",
    multiple=True,
    help="Expression to maximize: its negative is minimized.",
)
@click.option(
    "--least-squares",
    "residuals",
    metavar="EXPRESSION",
    multiple=True,
    help="Expression of channels whose squares at all output instants are minimized; several add up.",
)
@click.option(
    "--vary",
    "starts",
    metavar="KEY=START[,LOW,HIGH]",
    multiple=True,
    required=True,
    help="A parameter: a number of the scene, with its first value and its bounds.",
)
@click.option(
    "--subject-to", "limits", metavar="CONSTRAINT", multiple=True, help="EXPRESSION[@REDUCTION] <=, >= or == NUMBER."
)
@run_settings
@click.option(
    "--algorithm",
    type=click.Choice(ALGORITHM_NAMES),
    help="Default: slsqp; for --least-squares without constraints trf.",
)
@click.option(
    "--derivatives",
    type=click.Choice(("exact", "differences")),
    default="exact",
    help="Exact derivatives where there are any, which take fewer runs, or differences of runs. Default: exact.",
)
@click.option("--seed", metavar="S", type=click.IntRange(0), default=0, help="Seed of random points. Default: 0.")
@click.option(
    "--points",
    metavar="N",
    type=click.IntRange(2),
    default=11,
    help="Points of a Pareto front; the population of nsga2 is 4 N. Default: 11.",
)
@click.option(
    "--runs", "most", metavar="N", type=click.IntRange(1, 10**6), default=2000, help="Most runs. Default: 2000."
)
@click.option("--jobs", metavar="N", type=click.IntRange(1), help="Number of processes. Default: one for each core.")
@click.option("--dask", metavar="ADDRESS", help="Execute the runs on a Dask cluster, as in tcp://10.0.0.1:8786.")
@click.option("-o", "--output", metavar="FILE.h5", type=FILE, help="Table. Default: outputs/<name>-optimize.h5")
@click.option("--plot", "picture", metavar="PNG|SVG|PDF", type=FILE, help="Draw the convergence and the Pareto front.")
@click.option("--write", "written", metavar="BEST.yaml", type=FILE, help="Write the scene with the best values.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
def verb(
    scene: Path,
    overrides: tuple[str, ...],
    objectives: tuple[str, ...],
    opposites: tuple[str, ...],
    residuals: tuple[str, ...],
    starts: tuple[str, ...],
    limits: tuple[str, ...],
    algorithm: str | None,
    derivatives: str,
    seed: int,
    points: int,
    most: int,
    jobs: int | None,
    dask: str | None,
    output: Path | None,
    picture: Path | None,
    written: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Find the values of parameters of SCENE with which an expression of the channels of a run is least.

    An EXPRESSION is that of `expect`, as in 'bodies.bob.position.x**2 + joints.hinge.v', or a channel. After `@`
    follows the number that a run is reduced to, as for `mbsim sweep --keep`: `final` (the default), `initial`, `max`,
    `min`, `mean`, `sum`, or the time of an output instant. A CONSTRAINT compares such a number with a bound, as in
    'joints.hinge.q@max <= 30 deg'.

    With --least-squares, the values of EXPRESSION at all output instants are residuals, and `trf` minimizes their sum
    of squares by Gauss-Newton steps, with the derivatives of each residual. The other algorithms minimize the same sum.

    Derivatives are exact where the run can be differentiated, else differences of runs. `cobyqa` and `nelder-mead`
    need none, and `differential-evolution` searches between all bounds. `nsga2` makes a Pareto front of several
    objectives with a population between all bounds; it requires pip install 'multibody-cli[optimize]'. A run that
    fails, as where a loop cannot be assembled, bounds the search.

    Every run is a row of the table, as those of `mbsim sweep`. The same command continues an optimization that was
    interrupted.

    Exit code: 0 if it converges, 1 if not or if the run at the start fails, 2 if an argument or the scene is rejected;
    128 plus the number of the signal if one interrupts it: the table then has the runs so far.
    """
    from multibody_cli.output.file_replacement import require_hdf5_name, require_replaceable
    from multibody_cli.studies.optimize.algorithms import local_algorithm
    from multibody_cli.studies.optimize.execution import Executor
    from multibody_cli.studies.optimize.problem import negative_of, read_problem
    from multibody_cli.studies.optimize.study import Search, plan, write_best

    if dask is not None and jobs is not None:
        raise click.UsageError("--jobs is the number of processes of this machine, and --dask uses others.")
    problem = read_problem(starts, (*objectives, *map(negative_of, opposites)), residuals, limits)
    if picture is not None:
        from multibody_cli.pictures.style import require_format

        require_format(picture)
    for option, file in (("--plot", picture), ("--write", written)):
        if file is not None:
            require_replaceable(file, force, option)
    show_compilation(f"the start of {scene.name}")
    source = scene_of(scene)
    with Waiting(f"preparing {scene.name}"):
        search = Search(algorithm or local_algorithm(problem), derivatives == "exact", seed, points, most)
        study, first = plan(source, overrides, problem, search)
    for text in (*first.loaded.warnings, *first.compiled.warnings):
        messages.warning(f"at the start: {text}")
    table = result_path(output, f"{study.name}-optimize", scene)
    require_hdf5_name(table)
    show_compilation(purpose_of(first))
    first.load_kernels()
    with StopRequest() as stop, Executor(jobs, dask, stop.asked) as executor:
        found = _optimize(study, table, force, executor, stop)
        code = stop.code if found.status == "interrupted" else EXIT_CODES[found.status]
    if picture is not None:
        from multibody_cli.pictures.optimization import draw_optimization
        from multibody_cli.pictures.style import save

        save(draw_optimization(found), picture)
    if written is not None and found.best is not None:
        write_best(found, written)
    files = [table, *(file for file in (picture, written) if file is not None and file.exists())]
    show_json(_as_data(found, files, code)) if as_json else _show(found, files)
    if found.status != "converged":
        messages.error(f"{found.status}: {found.message}")
    return code


def _optimize(study: Optimization, table: Path, force: bool, executor: Executor, stop: StopRequest) -> Optimum:
    from multibody_cli.studies.optimize.algorithms import best_of
    from multibody_cli.studies.optimize.study import optimize

    with ProgressBar("runs") as bar:

        def on_trial(trials: Trials) -> None:
            best = best_of(trials.all, study.problem, 0)
            text = "" if best is None else f"{study.columns[0].name} {best.numbers[0]:.6g}"
            bar.show(len(trials.all), study.search.most, text)

        return optimize(study, table, executor, force, stop.asked, on_trial)


def _show(found: Optimum, files: list[Path]) -> None:
    study = found.study
    how = f"{study.search.algorithm}, {found.derivatives}" if found.derivatives else study.search.algorithm
    show(f"{found.status} after {counted(len(found.trials), 'run')}: {how}")
    failures = [one for one in found.trials if one.reason]
    if failures:
        show(f"  {counted(len(failures), 'run')} failed and bound the search; the first one: {failures[0].reason}")
    if found.best is None:
        show("  no run satisfies the constraints")
    elif found.front:
        places = dict.fromkeys(k * (len(found.front) - 1) // (MOST_OF_FRONT - 1) for k in range(MOST_OF_FRONT))
        points = [found.numbers(one) | found.parameters(one) for one in (found.front[k] for k in places)]
        show_table([{shortened(key, LONGEST_NAME): x for key, x in one.items()} for one in points], indent="  ")
        if len(found.front) > MOST_OF_FRONT:
            show(f"  and {len(found.front) - MOST_OF_FRONT} more points of the front between them")
    else:
        show_table(
            [
                {"": name, "start": before, "best": after, "unit": unit}
                for name, before, after, unit in _rows(found, found.trials[0], found.best)
            ],
            indent="  ",
        )
        options = (*study.problem.overrides(found.best.values), *found.settings)
        show("\nto run the scene with these values:")
        show("  " + " ".join(f"--set '{one}'" for one in options))
    for file in files:
        show(file)


def _rows(found: Optimum, first: Trial, best: Trial) -> Iterator[tuple[str, float, float, str]]:
    for k, one in enumerate(found.study.problem.parameters):
        yield one.key, float(first.values[k]), float(best.values[k]), one.unit
    for k, column in enumerate(found.study.columns[: len(found.study.problem.reduced)]):
        yield shortened(column.name, LONGEST_NAME), float(first.numbers[k]), float(best.numbers[k]), column.units


def _as_data(found: Optimum, files: list[Path], exit_code: int) -> dict[str, Any]:
    def data(trial: Trial) -> dict[str, Any]:
        return {"run": trial.number, **found.numbers(trial), **found.parameters(trial)}

    return {
        "status": found.status,
        "message": found.message,
        "algorithm": found.study.search.algorithm,
        "derivatives": found.derivatives,
        "runs": len(found.trials),
        "executed": found.executed,
        "failed": sum(bool(one.reason) for one in found.trials),
        "best": None if found.best is None else data(found.best),
        "front": [data(one) for one in found.front],
        "settings": list(found.settings),
        "files": [str(file) for file in files],
        "exit_code": exit_code,
    }
