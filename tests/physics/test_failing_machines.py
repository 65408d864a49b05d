"""Machines that go wrong report it, and are right after the remedy that the report prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from failing_machines import MACHINES, Machine, double_pendulum

from multibody_cli.alarms.contract import Raised
from multibody_cli.output.sink import MemorySink, Outcome
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.studies.simulation import PreparedSimulation, prepare

PAGE = Path(__file__).parents[2] / "docs" / "alarms.md"

STARTS = ("stability limit", "within a step", "jumps by")
"""Words of the warnings at the start of a run."""

SETTINGS = {
    r"`(simulation\.integrator): (\w+)`": "{}={}",
    r"`(simulation\.step)` to (\S+) s": "{}={} s",
    r"`(simulation\.tolerance)` to (\S+)": "{}={}",
    r"`(simulation\.options\.baumgarte_rate)` to ([^ ,]+)": "{}={}",
    r"`(simulation\.options)\.stabilization: projection`()": "{}={{}}{}",
}
"""Remedies that are settings, and the values for `--set`."""

MOST_ROUNDS = 4
"""Largest number of runs until the remedies are exhausted."""


def run(machine: Machine, folder: Path, *overrides: str) -> tuple[PreparedSimulation, Outcome, Trajectory]:
    path = folder / "scene.yaml"
    path.write_text(json.dumps(machine.scene), encoding="utf-8")
    every = f"output.every={machine.scene['simulation']['step']}"
    simulation, sink = prepare(path, [every, *overrides]), MemorySink()
    return simulation, simulation.run(sink).outcome, sink.trajectory()


def reports_of(simulation: PreparedSimulation, outcome: Outcome) -> list[str]:
    """Return the reports of a run: warnings at the start, then alarms, the severest first."""
    order: list[Raised] = sorted(outcome.alarms, key=lambda alarm: ("failed", "warning", "note").index(alarm.level))
    start = [text for text in simulation.compiled.warnings if any(word in text for word in STARTS)]
    return [*start, *(str(alarm) for alarm in order)]


def remedy_of(reports: list[str]) -> str:
    """Return the first remedy of the reports that is a setting."""
    found = ((re.search(pattern, text), form) for text in reports for pattern, form in SETTINGS.items())
    return next(form.format(*match.groups()) for match, form in found if match)


def remedied(machine: Machine, folder: Path) -> tuple[list[str], PreparedSimulation, Trajectory]:
    """Follow the remedies until nothing is reported; return the settings, and the last run."""
    settings = list(machine.change)
    for _ in range(MOST_ROUNDS):
        simulation, outcome, found = run(machine, folder, *settings)
        reports = reports_of(simulation, outcome)
        if not reports:
            assert outcome.status == "complete"
            return settings, simulation, found
        change = remedy_of(reports)
        settings = [one for one in settings if one.split("=")[0] != change.split("=")[0]] + [change]
    raise AssertionError(f"after {settings}: {reports}")


def reference(machine: Machine, settings: list[str], simulation: PreparedSimulation, folder: Path) -> Trajectory:
    """Run the twin with another formulation, a quarter of its step, and the default integrator."""
    changes = [one for one in settings if not one.startswith("simulation.")]
    own = ["method=redmax", "integrator=auto", "options={}", "tolerance=1e-9"]
    step = simulation.scene.simulation.step / 4.0
    return run(machine, folder, *changes, *(f"simulation.{one}" for one in own), f"simulation.step={step!r}")[2]


@pytest.mark.parametrize("machine", [pytest.param(one, id=one.name) for one in MACHINES])
def test_a_machine_that_goes_wrong_reports_it_and_its_twin_is_right(machine: Machine, tmp_path: Path) -> None:
    simulation, outcome, wrong = run(machine, tmp_path)
    assert machine.alarm in [alarm.name for alarm in outcome.alarms] or any(
        machine.alarm in text for text in simulation.compiled.warnings
    )
    settings, twin, right = remedied(machine, tmp_path)
    values = reference(machine, settings, twin, tmp_path).channel(machine.channel).values
    size = max(float(np.abs(values).max()), 1e-3)
    errors = [np.abs(one.channel(machine.channel).values[-1] - values[-1]).max() / size for one in (wrong, right)]
    assert errors[0] > machine.tolerance > errors[1]
    shown = machine.described or ", ".join(f"`{one}`" for one in settings)
    assert f"| {machine.name} | {machine.alarm} | {shown} |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["drive beyond its reach", "drives that contradict each other"])
def test_the_remedy_of_constraints_that_motions_violate_is_another_motion(name: str, tmp_path: Path) -> None:
    machine = next(one for one in MACHINES if one.name == name)
    alarms = run(machine, tmp_path)[1].alarms
    [remedy] = [str(alarm.remedy) for alarm in alarms if alarm.name == "constraints"]
    assert remedy.endswith("prescribe motions that the loops, couplings and constraints permit")


def test_a_chaotic_machine_raises_no_alarm(tmp_path: Path) -> None:
    """Every step is accurate; only another run, as in `mbsim certify`, shows how errors grow."""
    chaotic = Machine("double pendulum", double_pendulum(30.0), "", "joints/elbow/q")
    outcome, first = run(chaotic, tmp_path)[1:]
    second = run(chaotic, tmp_path, "simulation.step=0.5 ms")[2]
    assert outcome.alarms == ()
    values = [one.channel("joints/elbow/q").values[-1, 0] for one in (first, second)]
    assert abs(values[0] - values[1]) > 0.5
