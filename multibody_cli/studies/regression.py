"""Regression tests of scenes against stored baselines.

A baseline is a result file with few instants, `<folder>/<scene>/<method>.h5`, which also stores the reasons for its
acceptance, and the expectations of the scene that it misses.  The expectations are evaluated on all output instants.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter

import h5py

from multibody_cli.comparison.cases import Case, CaseVerdict, compare_case
from multibody_cli.comparison.tolerance import Policy
from multibody_cli.errors import ArgumentError, OutputError, Refused, ResultError
from multibody_cli.immutable import Immutable, replace
from multibody_cli.methods import METHODS
from multibody_cli.output.hdf5 import COMPACT_FORMAT, Hdf5Sink
from multibody_cli.output.sink import MemorySink, Outcome, TeeSink, ThinningSink
from multibody_cli.output.sweep_table import SweepTable, is_sweep_table
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.expect import channels_read, evaluate
from multibody_cli.studies.simulation import PreparedSimulation, prepare
from multibody_cli.studies.verdict import Verdict as Checked
from multibody_cli.timeline import Callbacks
from multibody_cli.version import __version__

INTERVALS = 20
"""Approximate number of output intervals of a baseline."""

ACCEPTED = "accepted"
"""Attribute of a baseline: JSON list of the reasons for acceptance, the latest last."""

ACCEPTED_MISSES = "accepted_misses"
"""Attribute of a baseline: JSON list of the expectations that it misses, as in `expect.Verdict.entry`."""

EVERY_METHOD = "all"

SWEEP = "sweep"
"""Name of the baseline of a table of a sweep, in place of that of a method."""


class BaselineTrial(Immutable):
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


def plan(scenes: Sequence[Path], baselines: Path, methods: Sequence[str]) -> list[BaselineTrial]:
    """List the trials.

    Parameters
    ----------
    scenes
        Scene files, or tables of sweeps; the name of a file is the name of the folder of its baselines.
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
        if is_sweep_table(scene):
            trials.append(BaselineTrial(scene, None, False))
            continue
        known = sorted(path.stem for path in (baselines / name).glob("*.h5"))
        asked: list[str | None] = [*METHODS] if every else [*methods]
        trials += [BaselineTrial(scene, method, every and method not in known) for method in asked or known or [None]]
    return trials


def without_scene(scenes: Sequence[Path], baselines: Path) -> list[str]:
    """Name the baselines whose scenes are in no folder of the given ones, as after a scene was deleted or renamed."""
    kinds = {(scene.parent, scene.suffix) for scene in scenes}  # a table beside a scene may have its stem
    there = {place.stem for folder, suffix in kinds for place in folder.glob(f"*{suffix}") if place.is_file()}
    return [
        f"{folder} has no scene: name the scene, or remove the folder"
        for folder in sorted({baseline.parent for baseline in baselines.glob("*/*.h5")})
        if folder.name not in there
    ]


def run_trial(
    trial: BaselineTrial,
    baselines: Path,
    results: Path,
    policy: Policy,
    why: str | None,
    on_part: Callable[[float], None] = lambda _part: None,
) -> Case | None:
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
    on_part
        Called after each output instant of the run with the part of its duration that is done.

    Returns
    -------
    Case or None
        The comparison; None if an optional method rejects the scene.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    if is_sweep_table(trial.scene):
        return _run_of_table(trial, baselines, policy, why)
    start = perf_counter()
    try:
        simulation = prepare(trial.scene, [f"simulation.method={trial.method}"] if trial.method else [])
    except Refused as error:
        return None if trial.optional else Case(trial.name, None, str(error), CaseVerdict.TROUBLE, trial.scene.stem)
    name = f"{trial.scene.stem}/{simulation.scene.simulation.method}"
    result, baseline = (folder / f"{name}.h5" for folder in (results, baselines))
    outcome, missed = _run(simulation, result, on_part)
    remedy = "check the result (-o keeps it), then use --accept --why"
    if outcome.status != "complete":
        remedy = f"none can be accepted, since the run {outcome.status}: {outcome.message}"
    case = _compare(name, baseline, result, policy, remedy)
    known = accepted_misses(baseline)
    unknown = tuple(miss.text for miss in missed if miss.entry not in known)
    case = replace(
        case,
        test=trial.scene.stem,
        verdict=max(case.verdict, CaseVerdict.MISSED) if unknown else case.verdict,
        missed=unknown,
        accepted_misses=tuple(miss.text for miss in missed if miss.entry in known),
        seconds=perf_counter() - start,
    )
    if why is None or case.verdict is CaseVerdict.SAME:
        return case
    if outcome.status != "complete":
        return replace(case, trouble=f"not accepted, since the run ended {outcome.status}: {outcome.message}")
    agrees = case.comparison is not None and case.comparison.same
    _accept(baseline if agrees else result, baseline, why, [miss.entry for miss in missed])
    misses = tuple(miss.text for miss in missed)
    return replace(case, trouble="accepted", verdict=CaseVerdict.SAME, missed=(), accepted_misses=misses)


def _run_of_table(trial: BaselineTrial, baselines: Path, policy: Policy, why: str | None) -> Case:
    """Compare a table of a sweep, which is a result itself, with its baseline."""
    name = f"{trial.scene.stem}/{SWEEP}"
    baseline = baselines / f"{name}.h5"
    case = _compare(name, baseline, trial.scene, policy, "check the table, then use --accept --why")
    if why is None or case.verdict is CaseVerdict.SAME:
        return case
    _accept(trial.scene, baseline, why, ())
    return replace(case, trouble="accepted", verdict=CaseVerdict.SAME)


def acceptance_reasons(baseline: Path) -> list[str]:
    """Return the reasons for which a baseline was accepted; empty if the file cannot be read."""
    return _read_list(baseline, ACCEPTED)


def accepted_misses(baseline: Path) -> list[str]:
    """Return the expectations that a baseline was accepted without; empty if the file cannot be read."""
    return _read_list(baseline, ACCEPTED_MISSES)


def _read_list(baseline: Path, attribute: str) -> list[str]:
    try:
        is_table = is_sweep_table(baseline)
        recorded = (SweepTable(baseline) if is_table else read_trajectory(baseline)).attributes
        found: list[str] = json.loads(recorded.get(attribute, "[]"))
    except ResultError:
        return []
    return found


def _run(
    simulation: PreparedSimulation, result: Path, on_part: Callable[[float], None]
) -> tuple[Outcome, list[Checked]]:
    """Run a scene; return the outcome and the expectations that a complete run misses."""
    scene, outputs = simulation.scene, simulation.compiled.timing.outputs
    recorder = ThinningSink(
        Hdf5Sink(result, scene.output.channels, force=True, compact=True), max(1, round(outputs / INTERVALS)), outputs
    )
    memory = MemorySink(channels_read(scene.expect, simulation.compiled.model.names, scene.output.channels))
    outcome = simulation.run(TeeSink(recorder, memory), Callbacks(lambda done: on_part((done - 1) / outputs))).outcome
    if outcome.status != "complete":
        return outcome, []
    return outcome, [one for one in evaluate(scene.expect, memory.trajectory()) if not one.passed]


def _compare(name: str, baseline: Path, result: Path, policy: Policy, remedy: str) -> Case:
    if baseline.exists():
        return compare_case(name, baseline, result, policy)
    return Case(name, None, f"has no baseline: {remedy}", CaseVerdict.NEW, name)


def _accept(source: Path, baseline: Path, why: str, misses: Sequence[str]) -> None:
    """Replace the baseline by a file, append the new reason to the stored reasons, and mark the misses."""
    history = [*acceptance_reasons(baseline), f"{__version__}: {why}"]
    part = baseline.with_name(baseline.name + ".part")
    try:
        baseline.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, part)
        with h5py.File(part, "r+", libver=COMPACT_FORMAT) as file:
            file.attrs[ACCEPTED] = json.dumps(history, ensure_ascii=False)
            file.attrs.pop(ACCEPTED_MISSES, None)
            if misses:
                file.attrs[ACCEPTED_MISSES] = json.dumps(misses, ensure_ascii=False)
        part.replace(baseline)
    except OSError as error:
        raise OutputError(f"cannot write {baseline}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # already renamed
            part.unlink()
