"""Complete runs of one model in memory, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.output.history import block_of_runs
from multibody_cli.output.samples import Samples
from multibody_cli.output.series import select_channels
from multibody_cli.output.sink import Header, Outcome, trajectory_in_memory
from multibody_cli.output.trajectory import Trajectory

if TYPE_CHECKING:
    from multibody_cli.output.channel import Array


class RunsInMemory:
    """Channels of R runs with K instants each.

    Parameters
    ----------
    header
        The metadata of the runs.
    channels
        Channels to keep, as in `select_channels`.
    samples
        The samples of the runs, R K rows.
    runs
        Their number R.
    """

    def __init__(self, header: Header, channels: Sequence[str], samples: Samples, runs: int) -> None:
        self._header = header
        self._series = {series.path: series for series in select_channels(channels, header.names)}
        self._instants = len(samples.time) // runs
        block = block_of_runs(header.names, samples, runs)
        self._values = {path: np.array(series.read(block)) for path, series in self._series.items()}

    def all_runs(self, outcome: Outcome) -> Trajectory:
        """Return all runs as one trajectory of R K rows."""
        return trajectory_in_memory(self._header, outcome, self._series, self._values.__getitem__)

    def run(self, number: int, outcome: Outcome) -> Trajectory:
        """Return one run with its outcome."""
        rows = slice(number * self._instants, (number + 1) * self._instants)

        def values_of(path: str) -> Array:
            return self._values[path][rows]

        return trajectory_in_memory(self._header, outcome, self._series, values_of)
