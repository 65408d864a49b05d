"""Checks of times: durations are whole multiples of the step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from multibody_cli.errors import QuantityError
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.timing import integer_multiple, is_adaptive, require_divisor, timing


def check_times(draft: Draft) -> None:
    """Check the duration and the output interval against the step."""
    if draft.broken & {"simulation", "output"}:
        return
    simulation, output = draft.scene.simulation, draft.scene.output
    steps = per_output = None
    if is_adaptive(simulation):
        with _reported(draft, "output", "every"):
            timing(simulation, output)
        return
    with _reported(draft, "simulation", "duration"):
        steps = integer_multiple(simulation.duration, simulation.step, "duration", "step")
    with _reported(draft, "output", "every"):
        if output.every is not None:
            per_output = integer_multiple(output.every, simulation.step, "every", "step")
        if steps is not None and per_output is not None:
            require_divisor(steps, per_output, simulation.step)


@contextmanager
def _reported(draft: Draft, *path: str) -> Iterator[None]:
    """Report a `QuantityError` as a problem of an element."""
    try:
        yield
    except QuantityError as error:
        draft.report(path, str(error))
