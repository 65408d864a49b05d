"""Channels over the time of runs: the size of their oscillation and their trend."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from multibody_cli.errors import ArgumentError, nearest
from multibody_cli.studies.papers.contract import Curve, MeasureResult, MeasureSpec, Plot, Prepare
from multibody_cli.studies.papers.measures.stepping import RunSpec


class Measure(MeasureSpec):
    """The change of a channel since the start, over runs that may end early.

    The change is the norm over the components of all channels that match.  Values of run `name`: `name_largest`;
    `name_oscillation`, the 99th percentile; `name_trend`, of a straight line over the time of the run; `name_end`, at
    the end, signed where the channel is one number; `name_reached`, the time at which the run ended, s.
    """

    type: Literal["history"]
    set: list[str] = Field([], description="Values to replace in all scenes, each `KEY=VALUE`.")
    channel: str = Field(description="Path of a channel; `*` matches any word.")
    label: str = Field(description="Label of the change, with its unit.")
    log: bool = Field(True, description="Whether its axis is logarithmic.")
    runs: dict[str, RunSpec] = Field(min_length=1, description="Runs by name.")

    def measure(self, prepare: Prepare) -> MeasureResult:
        """Run the scenes."""
        rows: list[dict[str, Any]] = []
        values: dict[str, float] = {}
        curves: list[Curve] = []
        for name, spec in self.runs.items():
            time, change, signed = self._change(spec, prepare)
            trend = float(np.polyfit(time, signed, 1)[0] * time[-1]) if len(time) > 1 else 0.0
            numbers = {
                "largest": float(change.max()),
                "oscillation": float(np.percentile(change, 99)),
                "trend": trend,
                "end": float(signed[-1]),
                "reached": float(time[-1]),
            }
            rows.append(
                {
                    "run": spec.label,
                    **{key: numbers[key] for key in ("reached", "largest", "oscillation", "trend", "end")},
                }
            )
            values |= {f"{name}_{key}": number for key, number in numbers.items()}
            curves.append(Curve(spec.label, time.tolist(), change.tolist()))
        return MeasureResult(rows, values, Plot("time, s", self.label, curves, log_y=self.log))

    def _change(self, spec: RunSpec, prepare: Prepare) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return times, sizes of the change and, of one number, the signed change."""
        simulation = prepare(spec.scene, [*self.set, *spec.set, "expect=[]"])
        _, run = simulation.run_in_memory()
        paths = [path for path in run.paths if Path(path).match(self.channel)]
        if not paths:
            raise ArgumentError(f"{spec.scene}: no channel {self.channel}: {nearest(self.channel, run.paths)}")
        values = np.column_stack([run.channel(path).values.reshape(len(run.time), -1) for path in paths])
        change = values - values[0]
        size = np.sqrt((change * change).sum(axis=1))
        signed: Any = change[:, 0] if change.shape[1] == 1 else size
        return run.time, size, signed
