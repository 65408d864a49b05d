"""Sink that writes to another sink in a thread of its own, while the next block is computed.

Compiled code, and the calls of the system that write files, run beside each other: they do not hold the lock of the
Python interpreter.
"""

from __future__ import annotations

from contextvars import copy_context
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multibody_cli.output.carried_state import Values
    from multibody_cli.output.hdf5 import Hdf5Sink
    from multibody_cli.output.samples import Samples
    from multibody_cli.output.sink import Header, Outcome


class BackgroundSink:
    """Writes blocks one after the other; every method but `write` returns when the blocks before are written.

    Parameters
    ----------
    sink
        The sink that writes.

    Raises
    ------
    OutputError
        From all methods, the next after a block that cannot be written.
    """

    def __init__(self, sink: Hdf5Sink) -> None:
        self._sink = sink
        self.accepts_partial_blocks = sink.accepts_partial_blocks
        self._thread: Thread | None = None
        self._error: BaseException | None = None

    def open(self, header: Header) -> None:
        """Begin a run."""
        self._sink.open(header)

    def write(self, samples: Samples, count: int) -> None:
        """Begin to write a block."""
        self._wait()

        def write() -> None:
            try:
                self._sink.write(samples, count)
            except BaseException as error:
                self._error = error

        # with the settings of NumPy for invalid numbers, which belong to a thread
        self._thread = Thread(target=copy_context().run, args=(write,))
        self._thread.start()

    def checkpoint(self, values: Values) -> None:
        """Keep the carried state of the run after the rows written so far."""
        self._wait()
        self._sink.checkpoint(values)

    def close(self, outcome: Outcome | None) -> None:
        """End the run."""
        try:
            self._wait()
        except BaseException:
            self._sink.close(None)
            raise
        self._sink.close(outcome)

    def _wait(self) -> None:
        """Wait for the block that is written, and raise its error."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error
