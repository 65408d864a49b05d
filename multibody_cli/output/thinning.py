"""Sink that records a subset of the output instants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from multibody_cli.output.samples import Samples
    from multibody_cli.output.sink import Header, Outcome, Sink


class ThinningSink:
    """Passes every `every`-th instant and the last one to another sink.

    Parameters
    ----------
    sink
        The other sink.
    every
        Interval between recorded instants, from the first one.
    last
        Index of the last instant of the run.
    """

    accepts_partial_blocks = True

    def __init__(self, sink: Sink, every: int, last: int) -> None:
        self._sink = sink
        self._every = every
        self._last = last
        self._seen = 0

    def open(self, header: Header) -> None:
        """Begin a run."""
        kept = len(set(range(0, self._last + 1, self._every)) | {self._last})
        self._sink.open(replace(header, block_rows=min(header.block_rows, kept)))

    def write(self, samples: Samples, count: int) -> None:
        """Write the selected instants of a block."""
        numbers = np.arange(self._seen, self._seen + count)
        kept = np.flatnonzero((numbers % self._every == 0) | (numbers == self._last))
        self._seen += count
        if len(kept):
            self._sink.write(samples._replace(**{k: v[kept] for k, v in samples._asdict().items()}), len(kept))

    def close(self, outcome: Outcome | None) -> None:
        """End the run."""
        self._sink.close(outcome)
