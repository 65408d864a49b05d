"""Displays of progress: their text on a terminal, that they go on by themselves, and that a pipe gets nothing."""

from __future__ import annotations

import io
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from multibody_cli.cli import messages, progress
from multibody_cli.cli.progress import COMPILED, SIMULATED, Progress, ProgressBar, Waiting
from multibody_cli.cli.tables import show
from multibody_cli.comparison.tolerance import Policy
from multibody_cli.output.sink import MemorySink
from multibody_cli.scene.timing import Timing
from multibody_cli.studies.certify import certify, plan_of
from multibody_cli.studies.regression import plan, run_trial
from multibody_cli.studies.simulation import prepare
from multibody_cli.timeline import Callbacks


class Terminal(io.StringIO):
    """A stream that is a terminal, and waits for texts."""

    def __init__(self, is_terminal: bool = True) -> None:
        super().__init__()
        self._is_terminal = is_terminal
        self._written = threading.Condition()

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        with self._written:
            self._written.notify_all()
            return super().write(text)

    def wait_for(self, shown: Callable[[str], bool]) -> None:
        """Wait until the text fulfils a condition; fail after a minute."""
        with self._written:
            assert self._written.wait_for(lambda: shown(self.getvalue()), timeout=20), self.getvalue()[-300:]


Use = Callable[[Terminal], Terminal]


@pytest.fixture(autouse=True)
def _command(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Call displays within a command, with quick redraws."""
    monkeypatch.setattr(progress, "PERIOD", 0.01)
    with click.Context(click.Command("trial")).scope():
        yield
    assert messages.before_writing == []


def tickers() -> list[threading.Thread]:
    """The threads that redraw."""
    return [thread for thread in threading.enumerate() if thread.name == "redraw"]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    """Make a stream the stderr of the test; before the test itself, pytest would replace it."""

    def take(stream: Terminal) -> Terminal:
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return take


def test_a_display_goes_on_while_nothing_is_reported(use: Use) -> None:
    terminal = use(Terminal())
    with Waiting("thinking"):
        terminal.wait_for(lambda text: text.count("thinking [00:0") >= 3)
    shown = terminal.getvalue()
    assert shown.endswith("\r")  # the line is removed
    assert tickers() == []


def test_the_innermost_display_alone_is_drawn(use: Use) -> None:
    terminal = use(Terminal())
    with Waiting("outer"):
        terminal.wait_for(lambda text: "outer" in text)
        with Waiting("inner"):
            terminal.wait_for(lambda text: text.count("inner") >= 3)
            shown = terminal.getvalue()
            assert "outer" not in shown[shown.index("inner") :]
        terminal.wait_for(lambda text: "outer" in text[text.rindex("inner") :])
    assert "\n" not in terminal.getvalue()  # in one line
    assert tickers() == []


def test_a_verb_is_displayed_until_its_first_output(use: Use) -> None:
    terminal = use(Terminal())

    @click.command("trial", cls=messages.Verb)
    def verb() -> None:
        terminal.wait_for(lambda text: text.count("trial [00:0") >= 3)
        show("a result")
        assert tickers() == []
        with Waiting("more"):
            terminal.wait_for(lambda text: "more" in text)

    verb.main([], prog_name="trial", standalone_mode=False)
    assert "trial" not in terminal.getvalue().partition("more")[2]
    assert messages.before_output == []


def test_a_run_shows_simulated_seconds_with_rate_and_time_left(use: Use) -> None:
    terminal = use(Terminal())
    with Progress(Timing(step=0.01, steps_per_output=10, outputs=20, pauses=10)) as run:
        run(1)
        run(6)
        terminal.wait_for(lambda text: "0.5 of 2 s simulated" in text)
        last = terminal.getvalue().rpartition("\r")[2]
        assert last.startswith(" 25 %|")
        assert last.endswith(" s/s]")
        assert " left, " in last


def test_the_rate_of_a_resumed_run_begins_at_its_checkpoint(use: Use) -> None:
    terminal = use(Terminal())
    with Progress(Timing(step=1.0, steps_per_output=1, outputs=1000, pauses=1)) as run:
        run(901)
        terminal.wait_for(lambda text: "900 of 1000 s simulated" in text)
        assert "?" in terminal.getvalue()  # no rate yet


@pytest.mark.parametrize(
    ("bar", "expected"),
    [
        (ProgressBar("runs"), "trial:  50 %|"),
        (ProgressBar("runs"), " 2.00 of 4.00 runs ["),
        (ProgressBar("s", SIMULATED), "2 of 4 s simulated ["),
        (ProgressBar("kernels", COMPILED), "compiled 2 of 4 known kernels ["),
    ],
)
def test_a_bar_shows_how_much_is_done(use: Use, bar: ProgressBar, expected: str) -> None:
    terminal = use(Terminal())
    with bar:
        bar.show(0, 4, "trial")
        bar.show(2, 4, "trial")
        terminal.wait_for(lambda text: expected in text)


def test_a_message_removes_the_display_first(use: Use) -> None:
    terminal = use(Terminal())
    with Waiting("thinking"):
        terminal.wait_for(lambda text: "thinking" in text)
        messages.warning("careful")
    before, _, _ = terminal.getvalue().partition("warning: ")
    assert re.search(r"\r +\r(\x1b\[\d+m)*$", before)


@pytest.mark.parametrize("quiet", [False, True])
def test_a_pipe_and_a_quiet_command_get_nothing(use: Use, quiet: bool) -> None:
    stream = use(Terminal(is_terminal=quiet))
    if quiet:
        click.get_current_context().meta[messages._VERBOSITY] = -1
    with Waiting("thinking"), ProgressBar("runs") as bar, Progress(Timing(0.1, 1, 10, 1)) as run:
        for done in range(1, 11):
            bar.show(done, 10)
            run(done)
        assert tickers() == []
    assert stream.getvalue() == ""


def test_certify_reports_the_simulated_time_of_all_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multibody_cli.timeline.INSTANTS_AT_ONCE", 1)
    simulation, own = prepare("pendulum.yaml"), MemorySink()
    simulation.run(own)
    prepared = plan_of(simulation, lambda more: prepare("pendulum.yaml", more))
    seen: list[tuple[float, float]] = []
    certify(own.trajectory(), prepared, lambda done, total: seen.append((done, total)))
    runs = len(prepared.levels) + len(prepared.others) + 1
    assert [total for _, total in seen] == pytest.approx([0.1 * runs] * len(seen))
    assert seen == sorted(seen)
    assert seen[-1][0] == pytest.approx(0.1 * runs)
    assert len(seen) == 11 * runs


def test_a_trial_reports_the_part_of_its_run_that_is_done(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multibody_cli.timeline.INSTANTS_AT_ONCE", 1)
    [trial] = plan([Path("pendulum.yaml")], Path("none"), ())
    seen: list[float] = []
    run_trial(trial, Path("none"), Path("results"), Policy(rules=()), None, seen.append)
    assert seen == pytest.approx([k / 10 for k in range(11)])


def test_a_long_interval_is_reported_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multibody_cli.timeline.SHOW_AFTER", 0.0)
    simulation = prepare(folder / "pendulum.yaml", ["output.every=100 ms"])
    seen: list[float] = []
    simulation.run(MemorySink(), Callbacks(seen.append))
    assert (seen[0], seen[-1]) == (1, 2)
    assert len(seen) > 3
    assert seen == sorted(seen)
