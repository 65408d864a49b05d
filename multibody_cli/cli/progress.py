"""The progress of long work: a bar where somebody looks at it, and the time that a run took."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from multibody_cli.cli import messages


class Bar:
    """Shows how much of some work is done.

    Parameters
    ----------
    unit
        What is counted.
    total
        How much there is to do; None where the first call says so.
    """

    def __init__(self, unit: str, total: int | None = None) -> None:
        self._unit = unit
        self._total = total
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def show(self, done: int, total: int) -> None:
        """Show that `done` of `total` is done."""
        if self._bar is None and messages.progress_wanted():
            self._bar = self._make(total)
        if self._bar is not None:
            self._bar.total = total
            self._bar.update(done - self._bar.n)

    def _make(self, total: int) -> Any:
        from tqdm import tqdm

        tqdm.monitor_interval = 0  # no thread of its own
        return tqdm(total=total, unit=f" {self._unit}", unit_scale=True, delay=0.5, leave=False)

    def restart(self) -> None:
        """Forget the time until now."""
        self.close()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Count(Bar):
    """Counts what is done of work whose end is not known."""

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
        How many there will be.
    """

    def __init__(self, instants: int) -> None:
        super().__init__("outputs", instants)
        self._instants = instants
        self._started = self._last = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time from the first instant, when everything is compiled, to the last."""
        return self._last - self._started

    def __call__(self, done: int) -> None:
        """Note that `done` instants are finished."""
        self._last = time.perf_counter()
        if done == 1:
            self._started = self._last
            self.restart()  # what was compiled until now says nothing about the rest
        self.show(done, self._instants)
