"""Times of the run: whole numbers of steps."""

from __future__ import annotations

from multibody_cli.errors import QuantityError
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.timing import multiples


def check_times(draft: Draft) -> None:
    """Check the duration against the step, and the output instants against both."""
    if draft.broken & {"simulation", "output"}:
        return
    simulation, output = draft.scene.simulation, draft.scene.output
    _check(draft, ("simulation", "duration"), simulation.duration, simulation.step, "duration", "step")
    if output.every is not None:
        _check(draft, ("output", "every"), output.every, simulation.step, "every", "step")
        _check(draft, ("output", "every"), simulation.duration, output.every, "duration", "every")


def _check(draft: Draft, path: tuple[str, str], time: float, unit: float, name: str, unit_name: str) -> None:
    try:
        multiples(time, unit, name, unit_name)
    except QuantityError as error:
        draft.tell(path, str(error))
