"""An iteration of a root finder in maximal coordinates, beside a dense solution of its linear system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from multibody_cli.errors import RunFailed
from multibody_cli.methods.contract import Status
from multibody_cli.studies.bench.measurement import growth
from multibody_cli.studies.papers.contract import Curve, MeasureResult, Plot, Prepare, SizedSpec
from multibody_cli.studies.papers.measures.least_times import CLOCK, least_times
from multibody_cli.studies.papers.measures.stepping import RunSpec, Steps

STEPS = 20
"""Number of steps that are timed together."""


class Measure(SizedSpec):
    """Times of an iteration, us, over sizes: of a step divided by its iterations, and of LAPACK for as many unknowns.

    The unknowns are the velocities of all bodies and the rows of all joints.  Values: `sparse` and `dense`, s, at the
    last size; `sparse_growth` and `dense_growth`, the exponents of the size, and `sparse_last_growth` and
    `dense_last_growth`, those of the last two sizes.
    """

    type: Literal["newton_step"]

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Time all sizes."""
        rows: list[dict[str, Any]] = []
        blocks: dict[tuple[str, int], Callable[[], float]] = {}
        for size in self.sizes:
            run = RunSpec(label=str(size), scene=self.scene, set=[*self.set, f"{self.size}={size}"])
            steps = Steps(prepare, run)
            tree = steps.system.tree
            unknowns = 6 * (len(tree.links) - 1) + int(sum(one["last_row"] - one["first_row"] for one in tree.closures))
            blocks["sparse", size] = _sparse(steps)
            blocks["dense", size] = _dense(unknowns)
            rows.append({"links": size, "unknowns": unknowns})
        found = least_times(blocks, self.rounds)
        for row in rows:
            row |= {f"{part}, us": 1e6 * found.seconds[part, row["links"]] for part in ("sparse", "dense")}
        values: dict[str, float] = {}
        curves = []
        for part in ("sparse", "dense"):
            costs = [row[f"{part}, us"] for row in rows]
            values[part] = 1e-6 * costs[-1]
            for name, first in (("growth", 0), ("last_growth", -2)):
                fit = growth(self.sizes[first:], costs[first:])
                if fit is not None:
                    values[f"{part}_{name}"] = fit.exponent
            curves.append(Curve(part, self.sizes, costs))
        plot = Plot("links", "time of an iteration, us", curves, log_x=True, log_y=True)
        return MeasureResult(rows, values, plot, found.disturbance)


def _sparse(steps: Steps) -> Callable[[], float]:
    """Return a function that takes the first steps, and returns the mean time of an iteration, s."""

    def mean() -> float:
        steps.restart()
        began = CLOCK()
        reports = list(steps.take(STEPS))
        seconds = CLOCK() - began
        if reports[-1].status is not Status.OK:
            raise RunFailed("a step whose iterations are timed does not converge")
        return seconds / sum(report.iterations for report in reports)

    return mean


def _dense(unknowns: int) -> Callable[[], float]:
    """Return a function that solves a dense system, and returns the time, s."""
    matrix = np.random.default_rng(1).normal(size=(unknowns, unknowns))

    def solve() -> float:
        began = CLOCK()
        np.linalg.solve(matrix, matrix[0])
        return CLOCK() - began

    return solve
