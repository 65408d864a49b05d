"""Progress of long computations: a progress bar on a terminal, and the wall time of a run."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from multibody_cli.cli import messages


class Bar:
    """Displays the progress of a computation.

    Parameters
    ----------
    unit
        Unit that is counted.
    """

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def show(self, done: int, total: int) -> None:
        """Show that `done` of `total` units are complete."""
        if self._bar is None and messages.progress_wanted():
            self._bar = self._make(total)
        if self._bar is not None:
            self._bar.total = total
            self._bar.update(done - self._bar.n)

    def _make(self, total: int) -> Any:
        from tqdm import tqdm

        tqdm.monitor_interval = 0  # no thread of its own
        return tqdm(total=total, unit=f" {self._unit}", unit_scale=True, delay=0.5, leave=False)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Count(Bar):
    """Counts completed units when the total is not known in advance."""

    def _make(self, total: int) -> Any:
        from tqdm import tqdm

        tqdm.monitor_interval = 0
        words = "compiled {n_fmt} of {total_fmt} known " + self._unit + " [{elapsed}]"
        return tqdm(total=total, bar_format=words, delay=0.2, leave=False)


class Progress(Bar):
    """Counts the output instants of a run.

    Parameters
    ----------
    instants
        Total number of output instants.
    """

    def __init__(self, instants: int) -> None:
        super().__init__("outputs")
        self._instants = instants
        self._started = self._last = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Wall time from the first instant, after compilation, to the last."""
        return self._last - self._started

    def __call__(self, done: int) -> None:
        """Record that `done` instants are complete."""
        self._last = time.perf_counter()
        if done == 1:
            self._started = self._last
            self.close()  # the next bar has a clock without the time of compilation
        self.show(done, self._instants)
