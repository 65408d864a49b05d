"""Steps of a scene, taken one by one, for measures of root finders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from multibody_cli.methods.contract import Report, Status
from multibody_cli.methods.method import Method
from multibody_cli.spec import Spec
from multibody_cli.studies.bench.options import OUTPUT_DISABLED
from multibody_cli.studies.papers.contract import Prepare


class RunSpec(Spec):
    """A scene with its settings."""

    label: str = Field(description="Name of the run in the paper.")
    scene: Path = Field(description="The scene.")
    set: list[str] = Field([], description="Values to replace in the scene, each `KEY=VALUE`.")


class Steps:
    """A method at the start of a scene.

    Parameters
    ----------
    prepare
        Prepares a scene.
    run
        The scene with its settings.
    settings
        Values to replace in all scenes, each `KEY=VALUE`.
    """

    def __init__(self, prepare: Prepare, run: RunSpec, settings: Sequence[str] = ()) -> None:
        simulation = prepare(run.scene, [*OUTPUT_DISABLED, "simulation.duration=3600", *settings, *run.set])
        self.joints = simulation.scene.joints
        self.system = simulation.compiled.model.system
        self.step = simulation.scene.simulation.step
        self._simulation = simulation
        self.restart()

    def restart(self) -> None:
        """Return to the start of the scene."""
        self.state = self._simulation.fresh_state()
        self.method: Method = self._simulation.method_for(self.state)
        self.method.start(self.state)

    def take(self, count: int) -> Iterator[Report]:
        """Take steps one by one, until one fails; yield their reports, that of the failed one too."""
        for k in range(1, count + 1):
            report = self.method.advance(self.state, k * self.step)
            yield report
            if report.status is not Status.OK:
                return

    @property
    def work(self) -> Any:
        """Work arrays of the method."""
        return self.method.work
