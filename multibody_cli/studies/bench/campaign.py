"""Execution of a benchmark, case by case; intermediate results are available at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from multibody_cli.errors import ArgumentError, MbsimError, RunFailed, SceneError
from multibody_cli.immutable import replace
from multibody_cli.studies.bench.accuracy import ReferenceComparison, Study
from multibody_cli.studies.bench.against import PeerComparison, compare
from multibody_cli.studies.bench.batches import BatchMeasurement, measure_batch
from multibody_cli.studies.bench.measurement import Measurement, measure
from multibody_cli.studies.bench.options import BenchCase, BenchSpec, Group, Setup, groups_of, setup_of
from multibody_cli.studies.simulation import PreparedSimulation

Prepare = Callable[[Path, Sequence[str]], PreparedSimulation]
"""Prepares a scene with replaced values."""


class NotMeasured(Setup):
    """A case that could not be measured.

    Parameters
    ----------
    status
        `refused`, or `diverged` if the first step diverges.
    reason
        Reason, for the user.
    """

    status: str
    reason: str


@dataclass
class Findings:
    """Results of a benchmark."""

    measurements: list[Measurement] = field(default_factory=list)
    not_measured: list[NotMeasured] = field(default_factory=list)
    studies: list[Study] = field(default_factory=list)
    comparisons: list[PeerComparison] = field(default_factory=list)
    batches: list[BatchMeasurement] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there are no results."""
        return not (self.measurements or self.not_measured or self.studies or self.comparisons)


def run_benches(specs: Iterable[BenchSpec], prepare: Prepare, announce: Callable[[str], None], found: Findings) -> None:
    """Measure all cases in sequence, each on one thread.

    Parameters
    ----------
    specs
        The requested benchmarks.
    prepare
        Prepares a scene.
    announce
        Receives a line for each case before it is measured.
    found
        Collects the results as they are obtained.

    Raises
    ------
    SceneError
        A scene is invalid with its own settings, or the only case is rejected.
    RunFailed
        The only case diverges at its first step, or a scene has no reference run.
    ArgumentError
        Every case was rejected.
    """
    benches = [(spec, list(groups_of(spec))) for spec in specs]
    alone = sum(len(group.cases) for _, groups in benches for group in groups) == 1
    for spec, groups in benches:
        for group in groups:
            _Bench(spec, group, alone, prepare, announce, found).run()
    if not found.measurements and found.not_measured:
        raise ArgumentError(f"none of the {len(found.not_measured)} cases could be measured")
    if found.comparisons and all(one.status == "refused" for one in found.comparisons):
        raise ArgumentError(f"no peer supports the scene: {found.comparisons[0].reason}")


@dataclass
class _Bench:
    """The cases of one scene at one size."""

    spec: BenchSpec
    group: Group
    alone: bool
    prepare: Prepare
    announce: Callable[[str], None]
    found: Findings

    def run(self) -> None:
        ready = list(self._ready())
        comparison = self._yardstick([simulation for _, simulation in ready])
        for case, simulation in ready:
            setup = self._setup(simulation)
            words = (str(self.group.scene), *self.group.settings, *self.group.sizing, setup.description)
            self.announce(" ".join(words).replace("`", ""))
            succeeded = self._measure(case, simulation, setup)
            if comparison is not None:
                self.found.studies[-1].runs.append(comparison.judge(simulation, self.spec.repeat, setup))
            if succeeded:
                comparisons = list(compare(simulation, self.spec.against, self.spec.repeat, setup, self.spec.duration))
                self.found.comparisons.extend(comparisons)
                if self.spec.batch is not None:
                    agreeing = [one.peer for one in comparisons if one.status == "timed"]
                    self.found.batches.append(
                        measure_batch(simulation, self.spec.batch, agreeing, self.spec.repeat, setup)
                    )

    def _setup(self, simulation: PreparedSimulation) -> Setup:
        return setup_of(simulation, self.group.settings, self.group.size, self.group.size_key)

    def _measure(self, case: BenchCase, simulation: PreparedSimulation, setup: Setup) -> bool:
        """Measure a case; return False if its first step diverges."""
        try:
            self.found.measurements.append(measure(simulation, self.spec.repeat, setup, self.spec.duration))
        except RunFailed as failure:
            self._leave_out(case, "diverged", failure)
            return False
        return True

    def _ready(self) -> Iterator[tuple[BenchCase, PreparedSimulation]]:
        """Prepare each valid case once; an integrator uses either the step or the tolerance."""
        seen: set[Setup] = set()
        for case in self.group.cases:
            try:
                simulation = self.prepare(self.group.scene, (*self.group.overrides, *case.settings))
            except SceneError as refusal:
                if not self.alone:
                    self._require_own_settings()
                self._leave_out(case, "refused", refusal)
                continue
            setup = self._setup(simulation)
            if setup.tolerance is not None:
                setup = replace(setup, time_step=0.0)
            if setup not in seen:
                seen.add(setup)
                yield case, simulation

    def _require_own_settings(self) -> None:
        """Raise an error if the scene is invalid with its own method, integrator and step.

        Options that are set are those of a method that the cases name.
        """
        self.prepare(self.group.scene, (*replace(self.group, duration=None).overrides, "simulation.options={}"))

    def _yardstick(self, simulations: Sequence[PreparedSimulation]) -> ReferenceComparison | None:
        if self.spec.accuracy is None or not simulations:
            return None
        self.announce(f"{self.group.scene}: reference run")
        comparison = ReferenceComparison(
            simulations, lambda settings: self.prepare(self.group.scene, (*self.group.overrides, *settings))
        )
        self.found.studies.append(
            Study(
                scene=simulations[0].scene.name,
                settings=self.group.settings,
                size=self.group.size,
                wanted=self.spec.accuracy,
                duration=comparison.duration,
                instants=comparison.instants,
                reference=comparison.reference,
                runs=[],
            )
        )
        return comparison

    def _leave_out(self, case: BenchCase, status: str, error: MbsimError) -> None:
        if self.alone:
            raise error
        scene, stepping = str(self.group.scene), (case.step, case.tolerance)
        sizing, reason = (self.group.size, self.group.size_key), " ".join(str(error).splitlines())
        setup = Setup(scene, case.method, case.integrator, *stepping, self.group.settings, *sizing)
        self.found.not_measured.append(NotMeasured(**vars(setup), status=status, reason=reason))
