"""Sink that passes a run to several sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multibody_cli.output.samples import Samples
    from multibody_cli.output.sink import Header, Outcome, Sink


class TeeSink:
    """Passes every instant to each of several sinks.

    Parameters
    ----------
    sinks
        The other sinks, in the order in which they are called.
    """

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks
        self.accepts_partial_blocks = all(sink.accepts_partial_blocks for sink in sinks)

    def open(self, header: Header) -> None:
        """Begin a run."""
        for sink in self._sinks:
            sink.open(header)

    def write(self, samples: Samples, count: int) -> None:
        """Write a block."""
        for sink in self._sinks:
            sink.write(samples, count)

    def close(self, outcome: Outcome | None) -> None:
        """End the run."""
        for sink in self._sinks:
            sink.close(outcome)
