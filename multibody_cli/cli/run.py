"""`mbsim run`: runs a scene and writes a result file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.compilation import stop_compilation_when
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.progress import Progress
from multibody_cli.cli.render import counted, show_json
from multibody_cli.cli.source import prepare_and_warn
from multibody_cli.cli.stop import StopRequest
from multibody_cli.errors import ArgumentError

if TYPE_CHECKING:
    from multibody_cli.output.sink import Outcome
    from multibody_cli.output.trajectory import Trajectory
    from multibody_cli.studies.simulation import Simulation
    from multibody_cli.studies.verdict import Verdict
    from multibody_cli.timeline import Summary

OUTPUTS = Path("outputs")
EXIT_CODES = {"complete": 0, "diverged": 1, "interrupted": 130}


@dataclass(frozen=True)
class Report:
    """Summary of a finished run."""

    simulation: Simulation
    summary: Summary
    result: Path
    seconds: float
    energy_drift: float | None
    verdicts: list[Verdict]

    @property
    def outcome(self) -> Outcome:
        """The outcome of the run."""
        return self.summary.outcome

    @property
    def exit_code(self) -> int:
        """0 if complete, 1 if diverged or an expectation failed, 130 if interrupted."""
        missed = not all(verdict.passed for verdict in self.verdicts)
        return EXIT_CODES[self.outcome.status] or int(missed)

    @property
    def steps_per_second(self) -> float | None:
        """Speed of the run, output included."""
        return self.summary.steps / self.seconds if self.seconds > 0 else None


@click.command("run", cls=Verb, short_help="Run a scene and write a result file.")
@click.argument("scene", type=click.Path(path_type=Path))
@click.option("--method", metavar="NAME", help="Method, instead of the scene's; see `mbsim list methods`.")
@click.option("--integrator", metavar="NAME", help="Integrator, instead of the scene's; see `mbsim list integrators`.")
@click.option("--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Replace a value of the scene.")
@click.option("--duration", metavar="TIME", help="Simulated time, as in 10s or '10 s'.")
@click.option("--step", metavar="TIME", help="Time step, as in 1ms or '1 ms'.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Default: outputs/<name>.h5",
)
@click.option("--force", is_flag=True, help="Replace an existing result file.")
@click.option("--json", "as_json", is_flag=True, help="Write the summary as JSON.")
def verb(
    scene: Path,
    overrides: tuple[str, ...],
    output: Path | None,
    force: bool,
    as_json: bool,
    **settings: str | None,
) -> int:
    """Run SCENE, a scene file or the scene in a result file, and write a result file.

    Exit code: 0 if the run completes, 1 if it diverges or an expectation of the scene fails, 2 if the scene is
    rejected, 130 if it is interrupted. The result file contains all output up to the end of the run.
    """
    from multibody_cli.output.hdf5 import Hdf5Sink

    short_forms = [f"simulation.{key}={value}" for key, value in settings.items() if value is not None]
    simulation = prepare_and_warn(scene, [*overrides, *short_forms])
    result = output or OUTPUTS / f"{simulation.scene.name}.h5"
    if result.exists() and scene.exists() and result.samefile(scene):
        raise ArgumentError(f"{result} is the scene itself: use another name with -o")
    settings_of_output = simulation.scene.output
    sink = Hdf5Sink(result, settings_of_output.channels, settings_of_output.compression, force)
    with StopRequest() as stop, Progress(simulation.compiled.timing.outputs + 1) as progress:
        stop_compilation_when(stop.asked)
        summary = simulation.run(sink, progress, stop.asked)
    report = _report(simulation, summary, result, progress.seconds)
    show_json(_as_data(report)) if as_json else _show(report)
    if report.outcome.status != "complete":
        messages.error(f"{report.outcome.status}: {report.outcome.message}")
    elif report.outcome.message:
        messages.warning(report.outcome.message)
    return report.exit_code


def _report(simulation: Simulation, summary: Summary, result: Path, seconds: float) -> Report:
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.studies.expect import evaluate

    trajectory = read_trajectory(result)
    complete = summary.outcome.status == "complete"
    verdicts = evaluate(simulation.scene.expect, trajectory) if complete else []
    return Report(simulation, summary, result, seconds, _energy_drift(trajectory), verdicts)


def _energy_drift(trajectory: Trajectory) -> float | None:
    """Largest absolute residual of the energy balance, J; None if it was not recorded."""
    if "energy/ledger_residual" not in trajectory.paths:
        return None
    residual = trajectory.channel("energy/ledger_residual").values
    return float(abs(residual).max()) if residual.size else None


def _show(report: Report) -> None:
    scene, names = report.simulation.scene, report.simulation.compiled.model.names
    settings, summary = scene.simulation, report.summary
    n_dofs = report.simulation.compiled.n_dofs
    speed = f", {report.steps_per_second:.3g} steps/s" if report.steps_per_second else ""
    drift = "not recorded" if report.energy_drift is None else f"{report.energy_drift:.3g} J"
    parts = [
        counted(len(names.bodies), "body", "bodies"),
        counted(len(names.joints), "joint"),
        counted(n_dofs, "degree of freedom", "degrees of freedom"),
    ]
    click.echo(f"{scene.name}: {report.outcome.status}")
    click.echo(f"  scene         {', '.join(parts)}")
    method = ", ".join(word for word in (settings.method, report.simulation.integrator.name) if word)
    click.echo(f"  method        {method}, step {settings.step:g} s")
    of_all = "" if report.outcome.status == "complete" else f" of {settings.duration:g} s"
    click.echo(f"  run           {summary.reached:g} s{of_all} in {counted(summary.steps, 'step')}{speed}")
    click.echo(f"  energy drift  {drift}")
    for verdict in report.verdicts:
        color = "green" if verdict.passed else "red"
        click.echo("  expect        " + click.style(str(verdict), fg=color))
    click.echo(f"  result        {report.result}")


def _as_data(report: Report) -> dict[str, Any]:
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
        "duration": scene.simulation.duration,
        "steps": report.summary.steps,
        "instants": report.summary.instants,
        "seconds": report.seconds,
        "steps_per_second": report.steps_per_second,
        "energy_drift": report.energy_drift,
        "expect": [asdict(verdict) for verdict in report.verdicts],
        "exit_code": report.exit_code,
    }
