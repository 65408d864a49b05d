"""`mbsim optimize`: parameters of a scene with which an expression of channels is least."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, PATH, result_path, run_settings
from multibody_cli.cli.progress import ProgressBar, Waiting, purpose_of, show_compilation
from multibody_cli.cli.source import scene_of
from multibody_cli.cli.stop import StopRequest
from multibody_cli.cli.tables import counted, show, show_json, show_table
from multibody_cli.errors import SceneError, shortened

if TYPE_CHECKING:
    from multibody_cli.output.rows import Rows
    from multibody_cli.studies.optimize.study import Optimization, Optimum
    from multibody_cli.studies.optimize.trials import Trial, Trials
    from multibody_cli.studies.sweep.batch import SweepRun, SweepTask

ALGORITHM_NAMES = ("slsqp", "l-bfgs-b", "cobyqa", "nelder-mead", "differential-evolution")
EXIT_CODES = {"converged": 0, "not converged": 1}

MOST_OF_FRONT = 30
"""Largest number of points of a front that are shown."""


LONGEST_NAME = 60
"""Number of characters of an expression that are shown."""


@click.command("optimize", cls=Verb, short_help="Find the parameters of a scene with which an expression is least.")
@click.argument("scene", type=PATH)
@click.option(
    "--minimize",
    "objectives",
    metavar="EXPRESSION[@WHAT]",
    multiple=True,
    required=True,
    help="Expression of channels to minimize; several give a Pareto front.",
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
    "--subject-to", "limits", metavar="CONSTRAINT", multiple=True, help="EXPRESSION[@WHAT] <=, >= or == NUMBER."
)
@run_settings
@click.option("--algorithm", type=click.Choice(ALGORITHM_NAMES), default="slsqp", help="Default: slsqp.")
@click.option(
    "--derivatives",
    type=click.Choice(("exact", "differences")),
    default="exact",
    help="Exact derivatives where there are any, which take fewer runs, or differences of runs. Default: exact.",
)
@click.option("--seed", metavar="S", type=click.IntRange(0), default=0, help="Seed of random points. Default: 0.")
@click.option(
    "--points", metavar="N", type=click.IntRange(2), default=11, help="Points of a Pareto front. Default: 11."
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
    starts: tuple[str, ...],
    limits: tuple[str, ...],
    algorithm: str,
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
    `min`, `mean`, or the time of an output instant. A CONSTRAINT compares such a number with a bound, as in
    'joints.hinge.q@max <= 30 deg'. To maximize, minimize the negative.

    Derivatives are exact where the run can be differentiated, else differences of runs. `cobyqa` and `nelder-mead`
    need none, and `differential-evolution` searches between all bounds. A run that fails, as where a loop cannot be
    assembled, bounds the search.

    Every run is a row of the table, as those of `mbsim sweep`. The same command continues an optimization that was
    interrupted.

    Exit code: 0 if it converges, 1 if not or if the run at the start fails, 2 if an argument or the scene is rejected;
    128 plus the number of the signal if one interrupts it: the table then has the runs so far.
    """
    from multibody_cli.output.file_replacement import require_hdf5_name, require_replaceable
    from multibody_cli.studies.fit import read_parameter
    from multibody_cli.studies.optimize.problem import Problem, read_constraint, read_objective
    from multibody_cli.studies.optimize.study import Search, plan

    if dask is not None and jobs is not None:
        raise click.UsageError("--jobs is the number of processes of this machine, and --dask uses others.")
    parameters = tuple(read_parameter(text) for text in starts)
    problem = Problem(parameters, tuple(map(read_objective, objectives)), tuple(map(read_constraint, limits)))
    if picture is not None:
        from multibody_cli.pictures.style import require_format

        require_format(picture)
    for file in filter(None, (picture, written)):
        require_replaceable(file, force)
    show_compilation(f"the start of {scene.name}")
    source = scene_of(scene)
    try:
        with Waiting(f"preparing {scene.name}"):
            search = Search(algorithm, derivatives == "exact", seed, points, most)
            study, first = plan(source, overrides, problem, search)
    except SceneError as error:
        given = {f"--set {one.override(one.start)}": f"--vary {one.override(one.start)}" for one in parameters}
        raise error.with_places(lambda place: given.get(place, place)) from None
    table = result_path(output, f"{study.name}-optimize", scene)
    require_hdf5_name(table)
    show_compilation(purpose_of(first))
    first.load_kernels()
    with StopRequest() as stop:
        found = _optimize(study, table, force, _Executor(jobs, dask, stop), stop)
        code = stop.code if found.status == "interrupted" else EXIT_CODES[found.status]
    if picture is not None:
        from multibody_cli.pictures.optimization import draw_optimization
        from multibody_cli.pictures.style import save

        save(draw_optimization(study, found), picture)
    if written is not None and found.best is not None:
        _write(study, found, written)
    files = [table, *(file for file in (picture, written) if file is not None and file.exists())]
    show_json(_as_data(study, found, files, code)) if as_json else _show(study, found, files)
    if found.status != "converged":
        messages.error(f"{found.status}: {found.message}")
    return code


class _Executor:
    """Executes runs: a single one in this process, several in processes of this machine, or all on a cluster."""

    def __init__(self, jobs: int | None, dask: str | None, stop: StopRequest) -> None:
        from multibody_cli.kernel.workers import cores

        self._jobs, self._dask, self._stop = jobs or cores(), dask, stop

    def __call__(self, task: SweepTask, runs: Iterable[SweepRun]) -> Iterator[list[Rows]]:
        from multibody_cli.output.rows import in_blocks
        from multibody_cli.studies.sweep.batch import run_batch
        from multibody_cli.studies.sweep.workers import run_locally, run_on_cluster

        runs = list(runs)
        if self._dask is not None:
            yield from run_on_cluster(self._dask, task, runs, self._stop.asked)
        elif min(self._jobs, len(runs)) > 1:
            yield from run_locally(task, runs, min(self._jobs, len(runs)), self._stop.asked)
        else:
            for run in runs:
                if self._stop.asked():
                    return
                yield in_blocks(run_batch(task, [run]))


def _optimize(study: Optimization, table: Path, force: bool, executor: _Executor, stop: StopRequest) -> Optimum:
    from multibody_cli.studies.optimize.algorithms import best_of
    from multibody_cli.studies.optimize.study import optimize

    with ProgressBar("runs") as bar:

        def on_trial(trials: Trials) -> None:
            best = best_of(trials.all, study.problem, 0)
            text = "" if best is None else f"{study.columns[0].name} {best.numbers[0]:.6g}"
            bar.show(len(trials.all), study.search.most, text)

        return optimize(study, table, executor, force, stop.asked, on_trial)


def _write(study: Optimization, found: Optimum, path: Path) -> None:
    """Write the scene with the best values, all values resolved."""
    from multibody_cli.output.file_replacement import write_text
    from multibody_cli.studies.fit import ASSEMBLED
    from multibody_cli.studies.simulation import prepare

    assert found.best is not None
    own = [one for one in study.task.overrides if one != ASSEMBLED]
    values = study.problem.overrides(found.best.values)
    best = prepare(study.task.scene, [*own, *values, *found.settings])
    write_text(path, best.header().scene_yaml)


def _show(study: Optimization, found: Optimum, files: list[Path]) -> None:
    how = f"{study.search.algorithm}, {found.derivatives}" if found.derivatives else study.search.algorithm
    show(f"{found.status} after {counted(len(found.trials), 'run')}: {how}")
    failures = [one for one in found.trials if one.reason]
    if failures:
        show(f"  {counted(len(failures), 'run')} failed and bound the search; the first one: {failures[0].reason}")
    if found.best is None:
        show("  no run satisfies the constraints")
    elif found.front:
        points = [_point(study, one) for one in found.front[:MOST_OF_FRONT]]
        show_table([{shortened(key, LONGEST_NAME): x for key, x in one.items()} for one in points], indent="  ")
        if len(found.front) > MOST_OF_FRONT:
            show(f"  and {len(found.front) - MOST_OF_FRONT} more points of the front")
    else:
        first = found.trials[0]
        show_table(
            [
                {"": name, "start": before, "best": after, "unit": unit}
                for name, before, after, unit in _rows(study, first, found.best)
            ],
            indent="  ",
        )
        options = (*study.problem.overrides(found.best.values), *found.settings)
        show("\nto run the scene with these values:")
        show("  " + " ".join(f"--set '{one}'" for one in options))
    for file in files:
        show(file)


def _rows(study: Optimization, first: Trial, best: Trial) -> Iterator[tuple[str, float, float, str]]:
    for k, one in enumerate(study.problem.parameters):
        yield one.key, float(first.values[k]), float(best.values[k]), one.unit
    for k, column in enumerate(study.columns):
        yield shortened(column.name, LONGEST_NAME), float(first.numbers[k]), float(best.numbers[k]), column.units


def _point(study: Optimization, trial: Trial) -> dict[str, Any]:
    numbers = dict(zip((column.name for column in study.columns), trial.numbers.tolist(), strict=True))
    return numbers | dict(zip((one.key for one in study.problem.parameters), trial.values.tolist(), strict=True))


def _as_data(study: Optimization, found: Optimum, files: list[Path], exit_code: int) -> dict[str, Any]:
    return {
        "status": found.status,
        "message": found.message,
        "algorithm": study.search.algorithm,
        "derivatives": found.derivatives,
        "runs": len(found.trials),
        "executed": found.executed,
        "failed": sum(bool(one.reason) for one in found.trials),
        "best": None if found.best is None else {"run": found.best.number, **_point(study, found.best)},
        "front": [{"run": one.number, **_point(study, one)} for one in found.front],
        "settings": list(found.settings),
        "files": [str(file) for file in files],
        "exit_code": exit_code,
    }
