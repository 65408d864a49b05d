"""`mbsim certify`: runs a scene with finer steps and with another method, and writes a result file with error bars."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.messages import Verb
from multibody_cli.cli.options import SCENE, result_file, result_path, run_settings
from multibody_cli.cli.progress import SIMULATED, Progress, ProgressBar, Waiting
from multibody_cli.cli.run import EXIT_CODES
from multibody_cli.cli.source import prepare_and_warn, scene_of
from multibody_cli.cli.stop import StopRequest
from multibody_cli.cli.tables import Colored, counted, show, show_json, show_table
from multibody_cli.immutable import Immutable, asdict

if TYPE_CHECKING:
    from multibody_cli.output.certificate import Certificate
    from multibody_cli.output.trajectory import Trajectory
    from multibody_cli.studies.simulation import PreparedSimulation
    from multibody_cli.studies.verdict import Verdict

MOST_ROWS = 40
"""Largest number of channels in the table; JSON lists all."""


class CertifiedRun(Immutable):
    """A certified run."""

    simulation: PreparedSimulation
    result: Path
    trajectory: Trajectory
    certificate: Certificate
    verdicts: list[Verdict]

    @property
    def exit_code(self) -> int:
        """0 if the run is certified and meets its expectations, else 1."""
        certified = self.certificate.status == "certified"
        return int(not certified or not all(verdict.passed for verdict in self.verdicts))


@click.command("certify", cls=Verb, short_help="Run a scene and estimate the errors of its results.")
@click.argument("scene", type=SCENE)
@click.option("--channels", metavar="NAME[,NAME...]", help="Channels to certify. Default: motion and energies.")
@click.option(
    "--against", metavar="METHOD", help="Other method. Default: one with other coordinates, if any supports the scene."
)
@run_settings
@result_file
@click.option("--json", "as_json", is_flag=True, help="Write the certificate as JSON.")
def verb(
    scene: Path,
    channels: str | None,
    against: str | None,
    overrides: tuple[str, ...],
    output: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Run SCENE as `mbsim run` does, and estimate the errors of its results.

    The scene is also run with a half and a quarter of its step, or with smaller tolerances, each with its own and with
    another method, and once with perturbed initial velocities. The result file contains the run of the scene, an error
    bar for every value of the certified channels, and the verdict.

    Exit code: 0 if all bars stay below a tenth of the size of their channel and all expectations are met, 1 if not,
    2 if the scene is rejected, 128 plus the number of the signal if one interrupts it.
    """
    from multibody_cli.alarms.remedies import said_once
    from multibody_cli.output.certificate import add_certificate
    from multibody_cli.output.hdf5 import Hdf5Sink
    from multibody_cli.output.trajectory import read_trajectory
    from multibody_cli.studies.certify import certify, plan_of
    from multibody_cli.studies.expect import evaluate
    from multibody_cli.studies.simulation import prepare
    from multibody_cli.timeline import Callbacks

    simulation = prepare_and_warn(scene, overrides)
    result = result_path(output, simulation.scene.name, scene)
    recorded = simulation.scene.output
    sink = Hdf5Sink(result, recorded.channels, recorded.compression, force, keep_part=True)
    source, names = scene_of(scene), channels.split(",") if channels else ()
    with Waiting("preparing finer runs"):
        plan = plan_of(simulation, lambda more: prepare(source, [*overrides, *more]), names, against)
    with StopRequest() as stop:
        with Progress(simulation.compiled.timing) as progress:
            outcome = simulation.run(sink, Callbacks(progress, stop.asked)).outcome
        if outcome.status != "complete":
            causes = list(map(str, said_once(outcome.later_alarms))) or [outcome.message]
            messages.error(f"{outcome.status}, so that it has no certificate:\n" + "\n".join(causes))
            return EXIT_CODES.get(outcome.status, stop.code)
        if outcome.message:
            messages.warning(outcome.message)
        with ProgressBar("s", SIMULATED) as bar:
            certificate = certify(read_trajectory(sink.part), plan, bar.show, stop.asked)
    add_certificate(sink.part, certificate)
    os.replace(sink.part, sink.path)
    trajectory = read_trajectory(result)
    report = CertifiedRun(simulation, result, trajectory, certificate, evaluate(simulation.scene.expect, trajectory))
    show_json(_as_data(report)) if as_json else _show(report)
    return report.exit_code


def _show(report: CertifiedRun) -> None:
    certificate = report.certificate
    color = "green" if certificate.status == "certified" else "red"
    show(f"{report.simulation.scene.name}: ", Colored(certificate.verdict, color))
    method = ", ".join(filter(None, (" and ".join(certificate.methods), report.simulation.integrator.name)))
    show(f"  runs    {method}; {'; '.join(certificate.settings)}")
    for verdict in report.verdicts:
        show("  expect  ", Colored(str(verdict), "green" if verdict.passed else "red"))
    show(f"  result  {report.result}")
    show()
    rows = [_row(path, report) for path in certificate.bars]
    show_table(rows[:MOST_ROWS], indent="  ")
    if len(rows) > MOST_ROWS:
        show(f"  and {counted(len(rows) - MOST_ROWS, 'channel')} more: name some with --channels, or use --json")


def _row(path: str, report: CertifiedRun) -> dict[str, Any]:
    """Return the row of a channel: the final value with the largest error bar, and the largest bar of the run."""
    bar = report.certificate.bars[path]
    finals = bar.values[-1].ravel()
    worst = int(finals.argmax())
    return {
        "channel": path,
        "final value": float(report.trajectory.channel(path).values[-1].ravel()[worst]),
        "error bar": float(finals[worst]),
        "largest": float(bar.values.max()),
        "unit": bar.units if len(set(bar.units.split(", "))) == 1 else "mixed",
        "order": None if bar.order != bar.order else round(bar.order, 1),
        "digits": bar.digits,
    }


def _as_data(report: CertifiedRun) -> dict[str, Any]:
    from multibody_cli.output.certificate import ATTRIBUTES

    certificate = report.certificate
    return {
        "name": report.simulation.scene.name,
        "result": str(report.result),
        **{name: getattr(certificate, name) for name in ATTRIBUTES},
        "channels": [
            {
                "path": path,
                "units": bar.units,
                "order": bar.order,
                "digits": bar.digits,
                "final": report.trajectory.channel(path).values[-1].tolist(),
                "final_error_bar": bar.values[-1].tolist(),
                "largest_error_bar": float(bar.values.max()),
            }
            for path, bar in certificate.bars.items()
        ],
        "expect": [asdict(verdict) for verdict in report.verdicts],
        "exit_code": report.exit_code,
    }
