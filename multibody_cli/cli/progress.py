"""Progress of long computations and of compilation: a line on a terminal, and the wall time of a run.

A display is redrawn several times a second from a thread of its own, so that its clock goes on while nothing is
reported.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import click

from multibody_cli.cli import messages

if TYPE_CHECKING:
    from multibody_cli.kernel.progress import CompilationProgress
    from multibody_cli.scene.timing import Timing
    from multibody_cli.studies.simulation import PreparedSimulation


PERIOD = 0.2
"""Time between two redraws, s, and before the first one."""


_HEAD = "{desc}{percentage:3.0f} %|{bar}| "


class Waiting:
    """Displays a text and the time that passed, unless a display within it is open.

    Parameters
    ----------
    text
        The work.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._line: Any = None
        self._stop_redrawing: Callable[[], None] = lambda: None

    def __enter__(self) -> Self:
        self._open(None, 0, bar_format="{desc} [{elapsed}]")
        return self

    def _open(self, total: float | None, done: float, **settings: Any) -> None:
        if self._line is None and messages.progress_wanted():
            from tqdm import tqdm

            tqdm.monitor_interval = 0  # the line has its own thread
            messages.clear_displays()
            self._line = line = tqdm(
                total=total, initial=done, desc=self._text, delay=PERIOD, leave=False, position=0, **settings
            )
            messages.before_writing.append(line.clear)

            def redraw() -> None:
                if messages.before_writing[-1] == line.clear:
                    line.refresh()

            self._stop_redrawing = redraw_regularly(redraw)

    def close(self) -> None:
        """Remove the line."""
        if self._line is not None:
            self._stop_redrawing()
            messages.before_writing.remove(self._line.clear)
            self._line.clear()  # `close` removes only the drawing of `update`
            self._line.close()
            self._line = None

    def __exit__(self, *_: object) -> None:
        self.close()


SIMULATED = {
    "unit": " s",
    "bar_format": _HEAD + "{n:.4g} of {total:.4g} s simulated [{elapsed}, {remaining} left, {rate_noinv_fmt}]",
}
"""Settings of a bar of simulated seconds, simulated seconds per second, and the time left."""

COMPILED = {"bar_format": "compiled {n_fmt} of {total_fmt} known kernels [{elapsed}]"}
"""Settings of a bar of kernels, whose total is not known in advance."""


class ProgressBar(Waiting):
    """Displays how much is done, the rate and the time left.

    Parameters
    ----------
    unit
        Unit that is counted.
    settings
        Settings of tqdm, in place of those of the unit.
    """

    def __init__(self, unit: str, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__("")
        figures = "{n_fmt} of {total_fmt} " + unit + " [{elapsed}, {remaining} left, {rate_noinv_fmt}]"
        self._settings = settings or {"unit": f" {unit}", "unit_scale": True, "bar_format": _HEAD + figures}

    def __enter__(self) -> Self:
        return self

    def show(self, done: float, total: float, text: str = "") -> None:
        """Show that `done` of `total` units are complete, and name the one in progress."""
        self._open(total, done, **self._settings)
        if self._line is not None:
            self._line.total = total
            self._line.set_description_str(f"{text}: " if text else "", refresh=False)
            self._line.update(done - self._line.n)


class Progress(ProgressBar):
    """Displays the simulated time of a run, and measures its wall time.

    Parameters
    ----------
    timing
        The output instants of the run.
    """

    def __init__(self, timing: Timing) -> None:
        from multibody_cli.kernel.progress import seconds  # its package is slow to import

        super().__init__("s", SIMULATED)
        self._timing = timing
        self._clock = seconds
        self._started = self._last = seconds()

    @property
    def seconds(self) -> float:
        """Wall time from the first instant to the last, without compilation."""
        return self._last - self._started

    def __call__(self, done: float) -> None:
        """Record that `done` instants are complete, or part of an interval more."""
        self._last = self._clock()
        if done == 1:
            self._started = self._last
        self.show((done - 1) * self._timing.every, self._timing.outputs * self._timing.every)


def redraw_regularly(redraw: Callable[[], object]) -> Callable[[], None]:
    """Call a function every `PERIOD` in a thread; return a function that stops, and waits for the last redraw."""
    ended = threading.Event()

    def redraw_until_end() -> None:
        while not ended.wait(PERIOD):
            redraw()

    def stop() -> None:
        ended.set()
        thread.join()

    thread = threading.Thread(target=redraw_until_end, name="redraw", daemon=True)
    thread.start()
    return stop


class _Display:
    """Display of progress for a purpose: one line, and a count for each session of compilation."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Reset to the initial state."""
        self.purpose = ""
        self.stop_asked: Callable[[], bool] = lambda: False
        self._count = ProgressBar("kernels", COMPILED)
        self._announced = False

    def __call__(self, progress: CompilationProgress) -> None:
        if self.stop_asked():
            self._count.close()
            raise KeyboardInterrupt
        if progress.done == progress.known:
            self._count.close()
            return
        if not self._announced:
            self._announced = True
            messages.note(f"compiling kernels for {self.purpose}, once on this machine")
        self._count.show(progress.done, progress.known)


_display = _Display()


def show_compilation(purpose: str) -> None:
    """Display compilation and its purpose until the verb ends.

    Parameters
    ----------
    purpose
        Text after "compiling kernels for".
    """
    from multibody_cli.kernel.progress import observers
    from multibody_cli.kernel.store import cache_root

    _display.purpose = purpose
    if _display not in observers:
        observers.append(_display)
        messages.detail(f"compiled code is kept in {cache_root()}")
        shown, warnings.showwarning = warnings.showwarning, _warn

        def end() -> None:
            observers.remove(_display)
            warnings.showwarning = shown
            _display.reset()

        click.get_current_context().find_root().call_on_close(end)


def stop_compilation_when(asked: Callable[[], bool]) -> None:
    """Stop compilation, like Ctrl-C, as soon as `asked` returns true."""
    _display.stop_asked = asked


def purpose_of(simulation: PreparedSimulation) -> str:
    """Return the structure of a scene and its method, which determine the kernels."""
    system, settings = simulation.compiled.model.system, simulation.scene.simulation
    if system.contacts:
        structure = "contacts"
    elif system.is_constrained:
        structure = "loops and constraints"
    else:
        structure = "a tree"
    return f"{structure} with {settings.method}"


def _warn(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    """Show a warning of the cache as a message of the command line."""
    messages.warning(str(message))
