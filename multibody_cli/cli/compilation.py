"""Display of compilation progress: one line that states the purpose, and a bar on a terminal."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.cli import messages
from multibody_cli.cli.progress import Count

if TYPE_CHECKING:
    from multibody_cli.kernel.progress import Progress
    from multibody_cli.studies.simulation import Simulation


class _Display:
    """Display of progress for a purpose: one line, and a count for each session of compilation."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Reset to the initial state."""
        self.purpose = ""
        self.stop_asked: Callable[[], bool] = lambda: False
        self._count = Count("kernels")
        self._announced = False

    def __call__(self, progress: Progress) -> None:
        if self.stop_asked():
            self._count.close()
            raise KeyboardInterrupt
        if progress.done == progress.known:
            self._count.close()
            return
        if not self._announced:
            self._announced = True
            about = f"about {progress.most} kernels" if progress.most > 2 else "code"
            messages.note(f"compiling {about} for {self.purpose}, once on this machine")
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


def purpose_of(simulation: Simulation) -> str:
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
