"""An iteration of a root finder in maximal coordinates, beside a dense solution of its linear system."""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np

from multibody_cli.studies.bench.measurement import growth
from multibody_cli.studies.papers.contract import Curve, Outcome, Plot, Prepare, SizedSpec
from multibody_cli.studies.papers.measures.stepping import RunSpec, Steps

STEPS = 20
"""Number of steps that are timed together."""


class Measure(SizedSpec):
    """Times of an iteration, us, over sizes: of a step divided by its iterations, and of LAPACK for as many unknowns.

    The unknowns are the velocities of all bodies and the rows of all joints.  Values: `sparse` and `dense`, s, at the
    last size, `sparse_growth` and `dense_growth`.
    """

    type: Literal["newton_step"]

    def measure(self, prepare: Prepare) -> Outcome:
        """Time all sizes."""
        rows: list[dict[str, Any]] = []
        for size in self.sizes:
            run = RunSpec(label=str(size), scene=self.scene, set=[*self.set, f"{self.size}={size}"])
            steps = Steps(prepare, run)
            tree = steps.system.tree
            unknowns = 6 * (len(tree.links) - 1) + int(sum(one["last_row"] - one["first_row"] for one in tree.closures))
            rows.append(
                {
                    "links": size,
                    "unknowns": unknowns,
                    "sparse, us": 1e6 * self._sparse(steps),
                    "dense, us": 1e6 * self._dense(unknowns),
                }
            )
        values: dict[str, float] = {}
        curves = []
        for part in ("sparse", "dense"):
            costs = [row[f"{part}, us"] for row in rows]
            values[part] = 1e-6 * costs[-1]
            fit = growth(self.sizes, costs)
            if fit is not None:
                values[f"{part}_growth"] = fit.exponent
            curves.append(Curve(part, self.sizes, costs))
        return Outcome(rows, values, Plot("links", "time of an iteration, us", curves, log_x=True, log_y=True))

    def _sparse(self, steps: Steps) -> float:
        least, done = np.inf, 0
        for _ in range(self.repeat):
            began = time.perf_counter()
            reports = [steps.method.advance(steps.state, (done + k + 1) * steps.step) for k in range(STEPS)]
            took = time.perf_counter() - began
            done += STEPS
            least = min(least, took / sum(report.iterations for report in reports))
        return float(least)

    def _dense(self, unknowns: int) -> float:
        matrix = np.random.default_rng(1).normal(size=(unknowns, unknowns))
        least = np.inf
        for _ in range(self.repeat):
            began = time.perf_counter()
            np.linalg.solve(matrix, matrix[0])
            least = min(least, time.perf_counter() - began)
        return float(least)
