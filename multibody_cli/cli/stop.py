"""Ctrl-C and SIGTERM during a run: a wish that the run ends soon, not an accident."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """While it is entered, the first signal is noted; the second ends the process at once."""

    def __init__(self) -> None:
        self._asked = False
        self._before: dict[signal.Signals, Any] = {}

    def asked(self) -> bool:
        """Whether a signal has come."""
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
        # a handler may come in the midst of a print: past Python's buffers
        os.write(2, b"\nstopping; once more to give up at once\n")
