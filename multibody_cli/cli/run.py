"""`mbsim run`: runs a scene and writes a result file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import FILE, SCENE, result_file, result_path, run_settings
from multibody_cli.cli.progress import Progress
from multibody_cli.cli.source import prepare_and_warn
from multibody_cli.cli.stop import StopRequest
from multibody_cli.cli.tables import Colored, counted, show, show_json
from multibody_cli.errors import ArgumentError
from multibody_cli.immutable import Immutable, asdict, replace

if TYPE_CHECKING:
    from multibody_cli.output.attributes import EarlierScene
    from multibody_cli.output.events import EventTable
    from multibody_cli.output.hdf5 import Continued
    from multibody_cli.output.sink import Outcome
    from multibody_cli.output.trajectory import Trajectory
    from multibody_cli.studies.simulation import PreparedSimulation
    from multibody_cli.studies.verdict import Verdict
    from multibody_cli.timeline import Summary

DURATION = ("--duration=", "simulation.duration=")
EXIT_CODES = {"complete": 0, "untrusted": 1, "diverged": 1}
NEAR = 10.0
"""Ratio of the longest stable step to the step up to which the summary shows it."""

SHOW = {"note": messages.note, "warning": messages.warning, "failed": messages.error}


class RunReport(Immutable):
    """Summary of a finished run."""

    simulation: PreparedSimulation
    summary: Summary
    result: Path
    seconds: float
    verdicts: list[Verdict]
    allow_untrusted: bool
    stop_code: int

    @property
    def outcome(self) -> Outcome:
        """The outcome of the run."""
        return self.summary.outcome

    @property
    def exit_code(self) -> int:
        """0 if complete, 1 if untrusted, diverged or an expectation failed, `stop_code` if interrupted."""
        missed = not all(verdict.passed for verdict in self.verdicts)
        status = "complete" if self.allow_untrusted and self.outcome.reached_end else self.outcome.status
        return EXIT_CODES.get(status, self.stop_code) or int(missed)

    @property
    def steps_per_second(self) -> float | None:
        """Speed of the run, output included."""
        steps = self.summary.steps - self.summary.steps_before
        return steps / self.seconds if self.seconds > 0 else None


@click.command("run", cls=Verb, short_help="Run a scene and write a result file.")
@click.argument("scene", type=SCENE, required=False)
@run_settings
@result_file
@click.option(
    "--resume",
    metavar="FILE",
    type=FILE,
    help="Continue an interrupted or killed run, or a complete one with a longer --duration.",
)
@click.option(
    "--from", "instant", metavar="TIME", help="With --resume: write a new file that goes on from this instant of FILE."
)
@click.option("--allow-untrusted", is_flag=True, help="Exit with 0 even if an alarm makes the run untrusted.")
@click.option("--json", "as_json", is_flag=True, help="Write the summary as JSON.")
def verb(
    scene: Path | None,
    overrides: tuple[str, ...],
    output: Path | None,
    force: bool,
    resume: Path | None,
    instant: str | None,
    allow_untrusted: bool,
    as_json: bool,
) -> int:
    """Run SCENE, a scene file or the scene in a result file, and write a result file.

    With --resume, the run of a result file is continued in that file, with the same bytes as without the interruption.
    The state of a run is kept beside its file, in FILE.ckpt, every 10 s and when it is interrupted.

    With --resume and --from, the run of a result file is repeated up to an output instant, and goes on from there in a
    new file, with the changes of the other options. FILE is not changed.

    Exit code: 0 if the run completes, 1 if it diverges, an alarm makes it untrusted, an expectation of the scene fails
    or the result file cannot be written, 2 if the scene is rejected, 128 plus the number of the signal if one
    interrupts it: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP. The result file contains all output up to the end of
    the run.
    """
    if resume is not None and instant is not None:
        start = _branched(resume, scene, instant, overrides, output, force)
    elif resume is not None:
        _require_alone(resume, scene, overrides, output is not None or force)
        start = _resumed(resume, overrides)
    elif instant is not None:
        raise click.UsageError("--from requires --resume FILE, the run to branch from.")
    elif scene is not None:
        simulation = prepare_and_warn(scene, overrides)
        start = _Start(simulation, result_path(output, simulation.scene.name, scene), force)
    else:
        raise click.UsageError("Missing argument 'SCENE'.")
    return _run(start, allow_untrusted, as_json)


class _Start(Immutable):
    """How a run starts.

    Parameters
    ----------
    simulation, result, force
        The scene, its result file, and whether to replace an existing file.
    earlier
        Earlier scenes to repeat.
    continued
        The recorded run that goes on.
    recorded
        The run that a branch must agree with up to its start.
    """

    simulation: PreparedSimulation
    result: Path
    force: bool
    earlier: tuple[EarlierScene, ...] = ()
    continued: Continued | None = None
    recorded: Trajectory | None = None


def _require_alone(resume: Path, scene: Path | None, overrides: Sequence[str], elsewhere: bool) -> None:
    """Refuse arguments that would change the run or write another file."""
    if scene is not None or elsewhere or not all(one.startswith(DURATION) for one in overrides):
        raise ArgumentError(
            f"--resume {resume} continues the scene in that file: only --duration, --allow-untrusted and --json go "
            "with it; for other settings add --from TIME, and another name after -o"
        )


def _resumed(path: Path, durations: Sequence[str]) -> _Start:
    """Return the start of a run that is resumed in its file."""
    from multibody_cli.studies.branching import find_resumption

    found = find_resumption(path)
    simulation = prepare_and_warn(found.result, text=found.scene_yaml)
    changes = found.overrides(durations, simulation)
    if changes:
        simulation = prepare_and_warn(found.result, changes, found.scene_yaml)
        found = found.extended(simulation)
    if found.remark:
        messages.warning(found.remark)
    if found.continued is None:
        return _Start(simulation, found.result, True, found.earlier)
    return _Start(replace(simulation, earlier=found.earlier), found.result, True, continued=found.continued)


def _branched(
    path: Path, scene: Path | None, instant: str, overrides: Sequence[str], output: Path | None, force: bool
) -> _Start:
    """Return the start of a branch of a run."""
    from multibody_cli.output.file_replacement import require_replaceable
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.studies.branching import earlier_scenes, interval_of

    if scene is not None:
        raise ArgumentError(f"--resume {path} runs the scene in that file: omit {scene}, and change values with --set")
    run = read_trajectory(path)
    simulation = prepare_and_warn(path, text=run.scene_yaml)
    earlier = earlier_scenes(run, simulation, instant)
    if overrides:
        simulation = prepare_and_warn(path, [*interval_of(simulation), *overrides], run.scene_yaml)
    result = result_path(output, simulation.scene.name, path)
    require_replaceable(result, force)
    return _Start(simulation, result, force, earlier, recorded=run)


def _run(start: _Start, allow_untrusted: bool, as_json: bool) -> int:
    """Run, show the summary, and return the exit code."""
    from multibody_cli.output.hdf5 import BackgroundSink, Hdf5Sink
    from multibody_cli.studies.branching import repeated, require_same_rows
    from multibody_cli.timeline import Callbacks

    timing = start.simulation.compiled.timing
    with StopRequest() as stop, Progress(timing) as repeating:  # noqa: SIM117
        with repeated(start.earlier, start.simulation, stop.asked, repeating) as (simulation, again):
            if start.recorded is not None and again is not None:
                require_same_rows(start.recorded, again)
            continued, settings = start.continued or again, simulation.scene.output
            file = Hdf5Sink(start.result, settings.channels, settings.compression, start.force, continued=continued)
            sink = BackgroundSink(file)
            carried = continued.checkpoint.values if continued else None
            with Progress(timing) as progress:

                def conclude(summary: Summary | None) -> int:
                    if summary is None:
                        messages.error("interrupted")
                        return stop.code
                    report = _report(simulation, summary, start.result, progress.seconds, allow_untrusted, stop.code)
                    return _conclude(report, as_json)

                callbacks = Callbacks(
                    progress,
                    stop.asked,
                    sink.checkpoint,
                    lambda end_run: stop.while_computing(lambda: conclude(end_run())),
                )
                summary = simulation.run(sink, callbacks, carried)
    return conclude(summary)


def _conclude(report: RunReport, as_json: bool) -> int:
    """Show the summary and the alarms of a run, and return the exit code."""
    from multibody_cli.alarms.remedies import said_once

    show_json(_as_data(report)) if as_json else _show(report)
    if report.outcome.status == "interrupted":
        messages.error(f"interrupted: {report.outcome.message}; `mbsim run --resume {report.result}` continues it")
        return report.exit_code
    if not report.outcome.reached_end:
        messages.error(f"{report.outcome.status}: {report.outcome.message}")
        return report.exit_code
    for alarm in said_once(report.outcome.later_alarms):
        SHOW[alarm.level](str(alarm))
    return report.exit_code


def _report(
    simulation: PreparedSimulation,
    summary: Summary,
    result: Path,
    seconds: float,
    allow_untrusted: bool,
    stop_code: int,
) -> RunReport:
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.studies.expect import evaluate

    expectations = simulation.scene.expect if summary.outcome.reached_end else []
    verdicts = evaluate(expectations, read_trajectory(result)) if expectations else []
    return RunReport(simulation, summary, result, seconds, verdicts, allow_untrusted, stop_code)


def _show(report: RunReport) -> None:
    scene, names = report.simulation.scene, report.simulation.compiled.model.names
    settings, summary = scene.simulation, report.summary
    n_dofs = report.simulation.compiled.n_dofs
    speed = f", {report.steps_per_second:.3g} steps/s" if report.steps_per_second else ""
    parts = [
        counted(len(names.bodies), "body", "bodies"),
        counted(len(names.joints), "joint"),
        counted(n_dofs, "degree of freedom", "degrees of freedom"),
    ]
    show(f"{scene.name}: {report.outcome.status}")
    show(f"  scene         {', '.join(parts)}")
    method = ", ".join(word for word in (settings.method, report.simulation.integrator.name) if word)
    stable = report.simulation.compiled.stable_step
    limit = f", stable up to {stable:.3g} s at the start" if stable <= NEAR * settings.step else ""
    show(f"  method        {method}, step {settings.step:g} s{limit}")
    of_all = "" if report.outcome.reached_end else f" of {settings.duration:g} s"
    show(f"  run           {summary.reached:g} s{of_all} in {counted(summary.steps, 'step')}{speed}")
    show(f"  energy drift  {summary.energy_drift:.3g} J")
    for text in _texts_of_events(report.outcome.events):
        show(f"  event         {text}")
    for verdict in report.verdicts:
        color = "green" if verdict.passed else "red"
        show("  expect        ", Colored(str(verdict), color))
    show(f"  result        {report.result}")


def _texts_of_events(table: EventTable | None) -> Iterator[str]:
    """Yield a line about the instants of each event."""
    for name, found in table.by_name().items() if table else ():
        times = [f"{time:.12g} s" for time in found]
        ends = f"{times[0]} to {times[-1]}" if len(times) > 2 else " and ".join(times)
        yield f"{name}: {counted(len(times), 'time')}" + (f", {ends}" if times else "")


def _as_data(report: RunReport) -> dict[str, Any]:
    scene, model = report.simulation.scene, report.simulation.compiled.model
    return {
        "name": scene.name,
        "status": report.outcome.status,
        "message": report.outcome.message,
        "result": str(report.result),
        "bodies": len(model.names.bodies),
        "joints": len(model.names.joints),
        "n_dofs": report.simulation.compiled.n_dofs,
        "method": scene.simulation.method,
        "integrator": report.simulation.integrator.name,
        "step": scene.simulation.step,
        "stable_step": stable if math.isfinite(stable := report.simulation.compiled.stable_step) else None,
        "duration": scene.simulation.duration,
        "steps": report.summary.steps,
        "instants": report.summary.instants,
        "seconds": report.seconds,
        "steps_per_second": report.steps_per_second,
        "energy_drift": report.summary.energy_drift,
        "alarms": [alarm.as_data() for alarm in report.outcome.alarms],
        "events": table.as_rows() if (table := report.outcome.events) else [],
        "expect": [asdict(verdict) for verdict in report.verdicts],
        "exit_code": report.exit_code,
    }
