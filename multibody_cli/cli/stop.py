"""Ctrl-C and SIGTERM during a run: a request to stop, not an error."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Context in which the first signal requests a stop and the second one terminates the process."""

    def __init__(self) -> None:
        self._asked = False
        self._before: dict[signal.Signals, Any] = {}

    def asked(self) -> bool:
        """Whether a signal was received."""
        return self._asked

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        # a handler may interrupt a print, so Python's buffers are bypassed
        os.write(2, b"\nstopping; interrupt again to abort immediately\n")
