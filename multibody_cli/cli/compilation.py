"""The progress of compiling: one line of what it is for, and a bar where somebody looks at it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from multibody_cli.cli import messages
from multibody_cli.cli.progress import Bar

if TYPE_CHECKING:
    from multibody_cli.kernel.progress import Progress
    from multibody_cli.studies.simulation import Simulation


class _Display:
    """Shows progress for a purpose: a line once, and a bar for each session of compiling."""

    def __init__(self) -> None:
        self.purpose = ""
        self._bar: Bar | None = None
        self._announced = False

    def __call__(self, progress: Progress) -> None:
        if progress.done == progress.known:
            if self._bar is not None:
                self._bar.__exit__(None, None, None)
                self._bar = None
            return
        if not self._announced:
            self._announced = True
            messages.note(f"compiling up to {progress.most} kernels for {self.purpose}, once on this machine")
        if self._bar is None:
            self._bar = Bar("kernels").__enter__()
        self._bar.show(progress.done, progress.known)


_display = _Display()


def show_compilation(purpose: str) -> None:
    """Show from now on what is compiled, and what for.

    Parameters
    ----------
    purpose
        Words behind "compiling kernels for".
    """
    from multibody_cli.kernel import store
    from multibody_cli.kernel.progress import observers

    _display.purpose = purpose
    messages.detail(f"compiled code is kept in {store.cache_root()}")
    if _display not in observers:
        observers.append(_display)
        warnings.showwarning = _warn


def purpose_of(simulation: Simulation) -> str:
    """Name the structure of a scene and its method, which decide about the kernels."""
    system, settings = simulation.compiled.model.system, simulation.scene.simulation
    if system.contacts:
        structure = "contacts"
    elif system.is_held:
        structure = "loops and constraints"
    else:
        structure = "a tree"
    return f"{structure} with {settings.method}"


def _warn(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    """Show a warning of the cache in the words of the command line."""
    messages.warning(str(message))
