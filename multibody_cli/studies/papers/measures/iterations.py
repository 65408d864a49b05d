"""Iterations of the root finder in each step: mean, deviation and maximum, and the step that fails."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field

from multibody_cli.methods.contract import Status
from multibody_cli.studies.papers.contract import Curve, MeasureResult, MeasureSpec, Plot, Prepare
from multibody_cli.studies.papers.measures.stepping import RunSpec, Steps


class CountedSpec(RunSpec):
    """A run with its published mean."""

    published: float | None = Field(None, description="Published mean of the iterations of a step.")


class Measure(MeasureSpec):
    """Iterations of steps.

    Values of run `name`: `name_mean`, `name_deviation`, `name_most`, and `name_steps`, the number of steps without
    failure; and `steps`, the number of steps that each run is to take.
    """

    type: Literal["iterations"]
    steps: int = Field(ge=1, description="Number of steps.")
    set: list[str] = Field([], description="Values to replace in all scenes, each `KEY=VALUE`.")
    runs: dict[str, CountedSpec] = Field(min_length=1, description="Runs by name.")

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Take the steps of all runs."""
        rows: list[dict[str, Any]] = []
        values: dict[str, float] = {"steps": self.steps}
        curves: list[Curve] = []
        for name, run in self.runs.items():
            reports = list(Steps(prepare, run, self.set).take(self.steps))
            counts = np.array([report.iterations for report in reports if report.status is Status.OK])
            found = {"mean": counts.mean(), "deviation": counts.std(), "most": counts.max()} if len(counts) else {}
            numbers = {key: float(found.get(key, np.nan)) for key in ("mean", "deviation", "most")}
            numbers["steps"] = len(counts)
            rows.append({"run": run.label, "published mean": run.published, **numbers})
            values |= {f"{name}_{key}": number for key, number in numbers.items()}
            curves.append(Curve(run.label, list(range(1, len(counts) + 1)), counts.tolist()))
        return MeasureResult(rows, values, Plot("step", "iterations", curves))
