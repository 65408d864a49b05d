"""Regression tests of scenes against stored baselines.

A baseline is a result file with few instants, `<folder>/<scene>/<method>.h5`, which also stores the reasons for its
acceptance.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import h5py

from multibody_cli.comparison.cases import Case, Verdict, compare_case
from multibody_cli.comparison.tolerance import Policy
from multibody_cli.errors import ArgumentError, OutputError, Refused
from multibody_cli.methods import METHODS
from multibody_cli.output.hdf5 import COMPACT_FORMAT, Hdf5Sink
from multibody_cli.output.sink import Outcome
from multibody_cli.output.thinning import ThinningSink
from multibody_cli.studies.simulation import Simulation, prepare
from multibody_cli.version import __version__

INTERVALS = 20
"""Approximate number of output intervals of a baseline."""

ACCEPTED = "accepted"
"""Attribute of a baseline: JSON list of the reasons for acceptance, the latest last."""

EVERY_METHOD = "all"


@dataclass(frozen=True)
class Trial:
    """One scene to be run with one method; None is the method of the scene.

    `optional` means that the method was not requested by name, so that it may reject the scene.
    """

    scene: Path
    method: str | None
    optional: bool

    @property
    def name(self) -> str:
        """Name of the trial before it runs."""
        return f"{self.scene.stem}/{self.method}" if self.method else self.scene.stem


def plan(scenes: Sequence[Path], baselines: Path, methods: Sequence[str]) -> list[Trial]:
    """List the trials.

    Parameters
    ----------
    scenes
        Scene files; the name of a file is the name of the folder of its baselines.
    baselines
        Folder of the baselines.
    methods
        Methods, or `all` alone.  If empty: the methods that have a baseline, else the method of the scene.

    Raises
    ------
    ArgumentError
        Two scenes have the same name.
    """
    named: dict[str, Path] = {}
    for scene in scenes:
        if scene.stem in named:
            raise ArgumentError(f"{scene} and {named[scene.stem]} would share their baselines: rename one of them")
        named[scene.stem] = scene
    every = list(methods) == [EVERY_METHOD]
    trials = []
    for name, scene in named.items():
        known = sorted(path.stem for path in (baselines / name).glob("*.h5"))
        asked: list[str | None] = [*METHODS] if every else [*methods]
        trials += [Trial(scene, method, every and method not in known) for method in asked or known or [None]]
    return trials


def run_trial(trial: Trial, baselines: Path, results: Path, policy: Policy, why: str | None) -> Case | None:
    """Run a scene, compare the result with its baseline, and update the baseline if requested.

    Parameters
    ----------
    trial
        The scene and the method.
    baselines, results
        Folders of the baselines and of the results, with the same file names.
    policy
        Tolerances that replace those of the baseline.
    why
        Reason for updating a baseline that differs or is missing; None leaves baselines unchanged.

    Returns
    -------
    Case or None
        The comparison; None if an optional method rejects the scene.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    try:
        simulation = prepare(trial.scene, [f"simulation.method={trial.method}"] if trial.method else [])
    except Refused as error:
        return None if trial.optional else Case(trial.name, None, str(error), Verdict.TROUBLE)
    name = f"{trial.scene.stem}/{simulation.scene.simulation.method}"
    result, baseline = (folder / f"{name}.h5" for folder in (results, baselines))
    outcome = _run(simulation, result)
    if baseline.exists():
        case = compare_case(name, baseline, result, policy)
    else:
        case = Case(
            name,
            None,
            "has no baseline yet: look at the result (-o keeps it), then give --accept --why",
            Verdict.DIFFERENT,
        )
    if why is None or case.verdict is Verdict.SAME:
        return case
    if outcome.status != "complete":
        message = f"not accepted, since the run {outcome.status}: {outcome.message}"
        return Case(name, case.comparison, message, Verdict.DIFFERENT)
    _accept(result, baseline, why)
    return Case(name, case.comparison, "accepted", Verdict.SAME)


def acceptance_reasons(baseline: Path) -> list[str]:
    """Return the reasons for which a baseline was accepted; empty if the file cannot be read."""
    try:
        with h5py.File(baseline, "r") as file:
            found: list[str] = json.loads(file.attrs.get(ACCEPTED, "[]"))
    except OSError:
        return []
    return found


def _run(simulation: Simulation, result: Path) -> Outcome:
    outputs = simulation.compiled.timing.outputs
    sink = Hdf5Sink(result, simulation.scene.output.channels, force=True, compact=True)
    return simulation.run(ThinningSink(sink, max(1, round(outputs / INTERVALS)), outputs)).outcome


def _accept(result: Path, baseline: Path, why: str) -> None:
    """Replace the baseline by a result; append the new reason to the stored reasons."""
    history = [*acceptance_reasons(baseline), f"{__version__}: {why}"]
    part = baseline.with_name(baseline.name + ".part")
    try:
        baseline.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(result, part)
        with h5py.File(part, "r+", libver=COMPACT_FORMAT) as file:
            file.attrs[ACCEPTED] = json.dumps(history, ensure_ascii=False)
        part.replace(baseline)
    except OSError as error:
        raise OutputError(f"cannot write {baseline}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # already renamed
            part.unlink()
