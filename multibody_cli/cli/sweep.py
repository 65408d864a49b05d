"""`mbsim sweep`: runs a scene with many values, and writes a table."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, SCENE, result_path, run_settings
from multibody_cli.cli.progress import ProgressBar, Waiting, purpose_of, show_compilation
from multibody_cli.cli.source import FRAME, scene_of
from multibody_cli.cli.stop import StopRequest
from multibody_cli.cli.tables import counted, duration, show, show_json, size
from multibody_cli.immutable import Immutable, asdict

if TYPE_CHECKING:
    from multibody_cli.output.rows import Rows
    from multibody_cli.studies.simulation import PreparedSimulation
    from multibody_cli.studies.sweep.batch import SweepRun, SweepTask
    from multibody_cli.studies.sweep.sweep import Sweep, Tally

SCHEME_NAMES = ("random", "lhs", "sobol", "saltelli")


@click.command("sweep", cls=Verb, short_help="Run a scene with many values, and write one table.")
@click.argument("scene", type=SCENE)
@run_settings
@click.option(
    "--vary", "given", metavar="KEY=VALUES", multiple=True, help="Values of a key; several options make a grid."
)
@click.option(
    "--rows",
    "rows_file",
    metavar="FILE.csv",
    type=FILE,
    help="Values of several keys: one column for each key, one line for each run.",
)
@click.option("--samples", metavar="N", type=click.IntRange(1), help="Number of random values.")
@click.option("--seed", metavar="S", type=click.IntRange(0), default=0, help="Seed of random values. Default: 0.")
@click.option(
    "--sampling", type=click.Choice(SCHEME_NAMES), default="random", help="Scheme of random values. Default: random."
)
@click.option(
    "--keep",
    metavar="CHANNEL@REDUCTION",
    multiple=True,
    help="Numbers to keep of each run. Default: final coordinates and energies.",
)
@FRAME
@click.option("--trajectories", is_flag=True, help="Keep the result file of each run in a folder beside the table.")
@click.option(
    "--lanes/--no-lanes",
    "in_lanes",
    default=None,
    help="Step several runs at a time in vector registers, or each by itself. Default: whichever is faster.",
)
@click.option("--jobs", metavar="N", type=click.IntRange(1), help="Number of processes. Default: one for each core.")
@click.option("--dask", metavar="ADDRESS", help="Execute the runs on a Dask cluster, as in tcp://10.0.0.1:8786.")
@click.option("--dry-run", is_flag=True, help="Report the number of runs, the time and the size, and write nothing.")
@click.option("-o", "--output", metavar="FILE.h5", type=FILE, help="Default: outputs/<name>-sweep.h5")
@click.option("--parquet", is_flag=True, help="Also write the table as Parquet.")
@click.option("--force", is_flag=True, help="Replace an existing table.")
@click.option("--json", "as_json", is_flag=True, help="Write the summary as JSON.")
def verb(
    scene: Path,
    overrides: tuple[str, ...],
    given: tuple[str, ...],
    rows_file: Path | None,
    samples: int | None,
    seed: int,
    sampling: str,
    keep: tuple[str, ...],
    frame: str | None,
    trajectories: bool,
    in_lanes: bool | None,
    jobs: int | None,
    dask: str | None,
    dry_run: bool,
    output: Path | None,
    parquet: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Run SCENE once for each combination of values, and write one table with a row for each run.

    A KEY is that of --set: a variable (vars.a), an initial state (joints.hinge.q) or an option (simulation.step).
    VALUES are a list `10 deg, 20 deg`, a range START:STOP:COUNT, a range of equal ratios START:STOP:COUNT:log, or a
    distribution: uniform(LOW, HIGH), normal(MEAN, DEVIATION), loguniform(LOW, HIGH). Keys in one --vary that are
    separated by `;` vary together; several --vary make a grid.

    --keep names channels as `mbsim plot` does, or is an expression of channels as in `expect`. After `@` follow
    `final` (the default), `initial`, `max`, `min`, `mean`, `sum`, `period`, `time_of_max`, `time_of_min`, or the time
    of an output instant, separated by commas, as in joints/hinge/q@max,1s. --frame sets the axes of wrenches that are
    kept.

    Runs that differ in their initial states alone are stepped several at a time if that is faster (--lanes), which
    changes their numbers by round-off; --no-lanes makes each like `mbsim run`, to the last bit.

    A run that is refused, diverges or is untrusted is a row with its reason. The same command completes a sweep that
    was interrupted or killed. The table does not depend on the number of processes, nor on interruptions.

    Exit code: 0 if all runs have their rows, of any status; 1 if the table cannot be written; 2 if the sweep is
    rejected; 128 plus the number of the signal if one interrupts it: the table then has the rows so far.
    """
    from multibody_cli.output.file_replacement import require_hdf5_name
    from multibody_cli.studies.sweep.design import RandomSampling, design_of
    from multibody_cli.studies.sweep.kept_channels import read_kept
    from multibody_cli.studies.sweep.sweep import plan_sweep
    from multibody_cli.studies.wrenches import RECORDED

    if dask is not None and jobs is not None:
        raise click.UsageError("--jobs is the number of processes of this machine, and --dask uses others.")
    if trajectories and in_lanes:
        raise click.UsageError("--trajectories keeps the result files of single runs, and --lanes makes none.")
    if parquet:
        from multibody_cli.output.table_formats import FORMATS

        FORMATS["parquet"].require()
    design = design_of(given, rows_file, RandomSampling(samples, seed, sampling), overrides)
    kept, axes = [read_kept(text) for text in keep], frame or RECORDED
    show_compilation(f"the start of {scene.name}")
    source = scene_of(scene)
    with Waiting(f"preparing {scene.name}"):
        sweep, first = plan_sweep(source, overrides, design, kept, None, in_lanes, axes)
    table = result_path(output, f"{sweep.name}-sweep", scene)
    require_hdf5_name(table)
    if trajectories:
        folder = table.with_name(f"{table.stem}-runs")
        sweep, first = plan_sweep(source, overrides, design, kept, folder.absolute(), None, axes)
    show_compilation(purpose_of(first))
    for text in (*first.loaded.warnings, *first.compiled.warnings):
        messages.warning(f"in the first run: {design.as_given(sweep.accepted, text)}")
    plan = _Plan(sweep, first, table, jobs, dask, parquet)
    return _estimate(plan, as_json) if dry_run else _run(plan, force, as_json)


class _Plan(Immutable):
    """The sweep, its processes and its output files."""

    sweep: Sweep
    first: PreparedSimulation
    table: Path
    jobs: int | None
    dask: str | None
    parquet: bool

    def execute(self, stop: StopRequest, task: SweepTask, runs: Iterable[SweepRun]) -> Iterator[list[Rows]]:
        """Execute runs in processes of this machine, or on a cluster."""
        if self.dask is not None:
            from multibody_cli.studies.sweep.cluster import connected

            with connected(self.dask) as cluster:
                yield from cluster.run(task, runs, stop.asked)
            return
        from multibody_cli.studies.sweep.workers import run_locally

        yield from run_locally(task, runs, min(self.processes, self.sweep.design.count), stop.asked)

    @property
    def processes(self) -> int:
        """Number of worker processes of this machine."""
        from multibody_cli.kernel.workers import cores

        return self.jobs or cores()


def _run(plan: _Plan, force: bool, as_json: bool) -> int:
    from multibody_cli.output.sweep_table import SweepTable
    from multibody_cli.studies.sweep.sweep import Tally, compile_kernels, execute, open_rows, tally_of, write_table

    sweep, tally, executed = plan.sweep, Tally(), 0
    count = sweep.design.count
    with StopRequest() as stop:
        rows = open_rows(sweep, plan.table, force)
        if rows is None:
            messages.note(f"{plan.table} has the rows of all {counted(count, 'run')}: nothing is left to run")
            if plan.parquet:
                _write_parquet(plan.table)
            return _conclude(plan, tally_of(SweepTable(plan.table)), 0, 0.0, as_json, 0)
        with rows:
            for block in rows.rows(rows.runs):
                tally.add(block)
            if tally.done:
                messages.note(f"{tally.done} of {counted(count, 'run')} have their rows: the others follow")
            if tally.done < count and plan.dask is None:
                compile_kernels(sweep, plan.first)
            began = time.perf_counter()
            with ProgressBar("runs") as bar:

                def on_rows(blocks: Iterable[Rows]) -> None:
                    nonlocal executed
                    for block in blocks:
                        tally.add(block)
                        executed += len(block.runs)
                    bar.show(tally.done, count, f"{tally.failures} not complete" if tally.failures else "")

                bar.show(tally.done, count)
                execute(sweep, rows, partial(plan.execute, stop), on_rows)
            seconds = time.perf_counter() - began
            with Waiting(f"writing {plan.table.name}"):
                write_table(sweep, rows, plan.table)
                if plan.parquet:
                    _write_parquet(plan.table)
    return _conclude(plan, tally, executed, seconds, as_json, stop.code if stop.asked() and tally.done < count else 0)


def _write_parquet(table: Path) -> None:
    from multibody_cli.output.file_replacement import replacement
    from multibody_cli.output.sweep_table import SweepTable
    from multibody_cli.output.table_formats import FORMATS

    with replacement(table.with_suffix(".parquet")) as new:
        FORMATS["parquet"].write(SweepTable(table), new)


def _conclude(plan: _Plan, tally: Tally, executed: int, seconds: float, as_json: bool, stop_code: int) -> int:
    """Show the summary, and return the exit code."""
    count = plan.sweep.design.count
    rate = executed / seconds if executed and seconds > 0.0 else None
    if as_json:
        show_json(_as_data(plan, tally, executed, seconds, stop_code))
    else:
        status = "complete" if tally.done == count else f"{tally.done} of {count} runs"
        show(f"{plan.sweep.name}: {status}")
        show(f"  keys     {', '.join(plan.sweep.design.keys)}")
        show(f"  runs     {', '.join(f'{number} {status}' for status, number in sorted(tally.statuses.items()))}")
        for status, (run, reason) in sorted(tally.reasons.items()):
            show(f"  reason   run {run} is {status}: {reason.splitlines()[0]}")
        if tally.missed:
            show(f"  expect   {counted(tally.missed, 'run')} missed an expectation")
        if rate is not None:
            show(f"  time     {seconds:.3g} s for {counted(executed, 'run')}, {rate:.3g} runs/s")
        if plan.sweep.task.reference is not None:
            show("  steps    of several runs at a time, in lanes")
        show(f"  table    {plan.table}")
    if stop_code:
        messages.error("interrupted: the same command completes the sweep")
    return stop_code


def _as_data(plan: _Plan, tally: Tally, executed: int, seconds: float, exit_code: int) -> dict[str, Any]:
    design = plan.sweep.design
    return {
        "name": plan.sweep.name,
        "table": str(plan.table),
        "keys": list(design.keys),
        "lanes": plan.sweep.task.reference is not None,
        "runs": design.count,
        "rows": tally.done,
        "executed": executed,
        "statuses": dict(sorted(tally.statuses.items())),
        "missed_expectations": tally.missed,
        "seconds": seconds,
        "runs_per_second": executed / seconds if executed and seconds > 0.0 else None,
        "exit_code": exit_code,
    }


def _estimate(plan: _Plan, as_json: bool) -> int:
    """Execute one run, and report the time and the size of the sweep."""
    from multibody_cli.studies.sweep.sweep import estimate

    found = estimate(plan.sweep, plan.first, 1 if plan.dask else plan.processes)
    if as_json:
        show_json({"name": plan.sweep.name, "table": str(plan.table), **asdict(found)})
        return 0
    show(f"{plan.sweep.name}: {counted(found.runs, 'run')}")
    show(f"  keys     {', '.join(plan.sweep.design.keys)}")
    where = f"one worker of {plan.dask}" if plan.dask else counted(plan.processes, "process", "processes")
    show(f"  time     {duration(found.seconds_of_run)} for one run, about {duration(found.seconds)} for all in {where}")
    show(f"  size     at most {size(found.table_bytes)} for the table")
    if found.trajectory_bytes:
        show(f"           about {size(found.trajectory_bytes)} for the result files")
    show(f"  columns  {', '.join(found.columns)}")
    return 0
