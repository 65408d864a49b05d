"""Times of the run: whole numbers of steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from multibody_cli.errors import QuantityError
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.timing import is_adaptive, multiples, require_divisor, timing


def check_times(draft: Draft) -> None:
    """Check the duration against the step, and the output instants against both."""
    if draft.broken & {"simulation", "output"}:
        return
    simulation, output = draft.scene.simulation, draft.scene.output
    steps = per_output = None
    if is_adaptive(simulation):
        with _told(draft, "output", "every"):
            timing(simulation, output)
        return
    with _told(draft, "simulation", "duration"):
        steps = multiples(simulation.duration, simulation.step, "duration", "step")
    with _told(draft, "output", "every"):
        if output.every is not None:
            per_output = multiples(output.every, simulation.step, "every", "step")
        if steps is not None and per_output is not None:
            require_divisor(steps, per_output, simulation.step)


@contextmanager
def _told(draft: Draft, *path: str) -> Iterator[None]:
    """Tell what goes wrong as a problem of an element."""
    try:
        yield
    except QuantityError as error:
        draft.tell(path, str(error))
