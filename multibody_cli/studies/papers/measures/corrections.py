"""Convergence of a root finder within the first step: the size of the correction after each iteration."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
from pydantic import Field

from multibody_cli.methods import variational
from multibody_cli.methods.contract import Status
from multibody_cli.studies.papers.contract import Curve, MeasureResult, MeasureSpec, Plot, Prepare
from multibody_cli.studies.papers.measures.stepping import RunSpec, Steps

LARGEST = 0.1
"""Largest correction, rad/s or m/s, of which the next one is predicted."""

ROUND_OFF = 1e-11


class Measure(MeasureSpec):
    """Largest component of the correction in each iteration, until it falls no more.

    Values of run `name`: `name_quadratic`, the largest ratio of a correction above round-off to the square of the one
    before, which is bounded if the convergence is quadratic, and infinite if there is no such pair;
    `name_iterations`, the number of corrections.
    """

    type: Literal["corrections"]
    most: int = Field(8, ge=2, description="Largest number of iterations.")
    set: list[str] = Field([], description="Values to replace in all scenes, each `KEY=VALUE`.")
    runs: dict[str, RunSpec] = Field(min_length=1, description="Runs by name.")

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Take the first step of each run, with 1, 2, 3, ... iterations."""
        rows: list[dict[str, Any]] = []
        values: dict[str, float] = {}
        curves: list[Curve] = []
        for name, run in self.runs.items():
            sizes = list(self._falling(prepare, run))
            rows.append(
                {"run": run.label, **{str(k + 1): sizes[k] if k < len(sizes) else None for k in range(self.most)}}
            )
            pairs = [(a, b) for a, b in pairwise(sizes) if a < LARGEST and b > ROUND_OFF]
            values[f"{name}_quadratic"] = max((b / (a * a) for a, b in pairs), default=np.inf)
            values[f"{name}_iterations"] = len(sizes)
            curves.append(Curve(run.label, list(range(1, len(sizes) + 1)), sizes))
        return MeasureResult(rows, values, Plot("iteration", "largest correction", curves, log_y=True))

    def _falling(self, prepare: Prepare, run: RunSpec) -> Iterator[float]:
        last = np.inf
        with patch.object(variational, "MAX_DENSE_DOFS", 0):  # without the fallback to Newton's method
            for k in range(1, self.most + 1):
                limit = [f"simulation.options.max_iterations={k}", "simulation.options.tolerance=1e-300"]
                steps = Steps(prepare, run, [*self.set, *limit])
                [report] = steps.take(1)
                size = float(np.abs(steps.work.response).max())
                if report.status is Status.OK or not size < last:  # at round-off
                    return
                last = size
                yield size
