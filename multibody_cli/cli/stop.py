"""Ctrl-C, SIGTERM and SIGHUP during a run: a request to stop, not an error."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from threading import Lock, Thread, Timer
from types import FrameType, TracebackType
from typing import Any, Self

import click

from multibody_cli.cli import messages
from multibody_cli.cli.progress import stop_compilation_when

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 0.1
"""Seconds after a request at which a run that computes a slow step is ended without waiting for the step."""


class StopRequest:
    """Context in which the first signal requests a stop and the second one ends the process at once.

    The exit code is 128 plus the number of the signal, as in shells.  A signal that is ignored, as under `nohup`,
    remains ignored.

    Python calls its handlers in the main thread, after compiled code has returned.  A thread therefore receives the
    signals.  If the main thread computes a slow step, the thread ends the run in its place and then the process.
    """

    def __init__(self) -> None:
        self._number = 0
        self._before: dict[signal.Signals, Any] = {}
        self._end_run: Callable[[], int] | None = None
        self._sink_is_free = Lock()

    def asked(self) -> bool:
        """Whether a signal was received."""
        return self._number > 0

    @property
    def code(self) -> int:
        """Exit code of a process that the first signal ended."""
        return 128 + (self._number or signal.SIGINT)

    def while_computing(self, end_run: Callable[[], int]) -> AbstractContextManager[None]:
        """Return a context for compiled code in which a signal may end the run and the process.

        Parameters
        ----------
        end_run
            Ends the run at its last recorded instant, and returns the exit code.  It is called in another thread, in
            the context of the verb, while the main thread is in the context or waits to leave it.
        """
        verb = click.get_current_context()

        def end() -> int:
            with verb.scope(cleanup=False):
                try:
                    return end_run()
                except Exception as error:
                    messages.error(" ".join(str(error).split()))
                    return 1

        self._end_run = end
        self._sink_is_free.acquire()
        return _Released(self._sink_is_free)

    def __enter__(self) -> Self:
        stop_compilation_when(lambda: self.asked() and self._end_run is None)
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._timer = Timer(GRACE, self._end_in_place_of_main)
        self._timer.daemon = True
        taken = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._note) for number in taken}
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._thread = Thread(target=self._receive, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stop_compilation_when(lambda: False)
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._timer.cancel()
        os.close(self._write)
        self._thread.join()
        os.close(self._read)
        if kind is KeyboardInterrupt and self.asked():
            messages.error("interrupted")
            raise click.exceptions.Exit(self.code)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._number = self._number or number

    def _receive(self) -> None:
        """Receive the numbers of signals until the context ends."""
        first = os.read(self._read, 1)
        if not first:
            return
        self._number = self._number or first[0]
        self._timer.start()
        with suppress(OSError):  # the terminal is closed
            os.write(2, b"\nstopping; interrupt again to abort immediately\n")
        second = os.read(self._read, 1)
        if second:
            os._exit(128 + second[0])

    def _end_in_place_of_main(self) -> None:
        if self._end_run is None:
            return
        with self._sink_is_free:
            code = self._end_run()
            with suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)


class _Released:
    """Context, which may be entered again, in which a mutex is free that is held outside of it."""

    def __init__(self, mutex: Lock) -> None:
        self._mutex = mutex

    def __enter__(self) -> None:
        self._mutex.release()

    def __exit__(self, *_: object) -> None:
        self._mutex.acquire()
