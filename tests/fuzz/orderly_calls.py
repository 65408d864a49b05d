"""Calls of the command line in this process, with the properties of every outcome."""

from __future__ import annotations

import contextlib
import io
import os
import re
import resource
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from multibody_cli.cli.app import main

RAW = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Characters that control a terminal."""

SMALL = "bytes=1e6,values=1e5,characters=1e5,elements=60,curve_points=20,steps=400,instants=400,contacts=300,result=1e7"
"""Limits under which every scene takes less than a second or so."""

CAMPAIGN = int(os.environ.get("MBSIM_FUZZ", "10000"))
"""Number of scenes that the tests of the tier `nightly` examine; of arguments and of files it is a fifth."""

MAX_SECONDS = 10.0
"""Longest call, in seconds of processor time of this process: a busy machine does not change it."""

HANG_SECONDS = 60.0
"""Processor time after which a call is ended."""

MAX_MEMORY = 2**20
"""Most memory that a call may take, kB, beyond that of this process, which grows with the tests that it has run."""


class Outcome(NamedTuple):
    """Exit code and texts of a call, and its processor time, s."""

    code: int
    out: str
    errors: str
    seconds: float


class Hang(BaseException):
    """A call took `HANG_SECONDS`; no handler of errors takes it for one of its own."""


def call(words: Sequence[str]) -> Outcome:
    """Call `mbsim` in this process; a `Hang` ends it after `HANG_SECONDS` of processor time."""
    out, errors = io.StringIO(), io.StringIO()
    start = time.process_time()
    with (
        _hang_is_an_error(words),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
        pytest.raises(SystemExit) as end,
    ):
        main(words)
    return Outcome(int(end.value.code or 0), out.getvalue(), errors.getvalue(), time.process_time() - start)


@contextlib.contextmanager
def _hang_is_an_error(words: Sequence[str]) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang(f"no end after {HANG_SECONDS:g} s of processor time: {words}")

    earlier = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, earlier)


def require_orderly(words: Sequence[str]) -> Outcome:
    """Call `mbsim`, require an exit code with a message and no traceback, in bounded time and memory."""
    memory = max(peak_memory(), held_memory() + MAX_MEMORY)
    outcome = call(words)
    if outcome.seconds > MAX_SECONDS:
        outcome = call(words)  # the first call may have compiled
    text = outcome.out + outcome.errors
    assert outcome.code in (0, 1, 2), (words, text)
    assert "Traceback" not in text
    assert "internal error" not in text, (words, text)
    assert "out of memory" not in text, words
    assert not RAW.search(text), (words, text)
    assert outcome.code == 0 or text, words
    assert outcome.seconds <= MAX_SECONDS, words
    assert peak_memory() <= memory, words
    return outcome


def held_memory() -> int:
    """Return the memory that this process holds now, kB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


def peak_memory() -> int:
    """Return the most memory that this process has had, kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Tally:
    """Number of the cases of a campaign, and the slowest one."""

    def __init__(self) -> None:
        self.count = 0
        self.slowest = (0.0, "")
        self._start = time.process_time()

    def add(self, seconds: float, case: str) -> None:
        """Count a case that took some processor time."""
        self.count += 1
        self.slowest = max(self.slowest, (seconds, case))

    def __str__(self) -> str:
        used = time.process_time() - self._start
        memory = peak_memory() / 1024
        return (
            f"{self.count} cases in {used:.0f} s of processor time, "
            f"at most {memory:.0f} MB and {self.slowest[0]:.2f} s for one"
        )
