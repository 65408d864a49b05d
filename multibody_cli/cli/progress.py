"""The progress of a run: a bar where somebody looks at it, and the time from first to last instant."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from multibody_cli.cli import messages


class Progress:
    """Counts output instants.

    Parameters
    ----------
    instants
        How many there will be.
    """

    def __init__(self, instants: int) -> None:
        self._instants = instants
        self._started = self._last = time.perf_counter()
        self._bar: Any = None

    @property
    def seconds(self) -> float:
        """Time from the first instant, when everything is compiled, to the last."""
        return self._last - self._started

    def __enter__(self) -> Self:
        if messages.progress_wanted():
            from tqdm import tqdm

            tqdm.monitor_interval = 0  # no thread of its own
            self._bar = tqdm(total=self._instants, unit=" outputs", delay=0.5, leave=False)
        return self

    def __call__(self, done: int) -> None:
        """Note that `done` instants are finished."""
        self._last = time.perf_counter()
        if done == 1:
            self._started = self._last
        if self._bar is None:
            return
        if done == 1:
            self._bar.reset()  # what was compiled until now says nothing about the rest
        self._bar.update()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
