"""Checks of times: durations are whole multiples of the step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from multibody_cli.document.nodes import find
from multibody_cli.document.overrides import is_override
from multibody_cli.errors import QuantityError
from multibody_cli.limits import LimitError
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.timing import integer_multiple, is_adaptive, timing


def check_times(draft: Draft) -> None:
    """Check the duration and the output interval against the step."""
    if draft.broken & {"simulation", "output"}:
        return
    simulation, output = draft.scene.simulation, draft.scene.output
    whole = is_adaptive(simulation)
    if not whole:
        # an option that does not fit the file is named, rather than a line of the file
        changed = is_override(find(draft.tree, ("simulation", "step")).mark)
        written = is_override(find(draft.tree, ("simulation", "duration")).mark)
        with _reported(draft, "simulation", "step" if changed and not written else "duration"):
            whole = integer_multiple(simulation.duration, simulation.step, "duration", "step") > 0
    with _reported(draft, "output", "every"):
        if whole:
            timing(simulation, output)
        elif output.every is not None:
            integer_multiple(output.every, simulation.step, "every", "step")


@contextmanager
def _reported(draft: Draft, *path: str) -> Iterator[None]:
    """Report an invalid time as a problem of an element."""
    try:
        yield
    except (QuantityError, LimitError) as error:
        draft.report(path, str(error))
