"""Checks of the method, the integrator and the options: the names exist, and the options are valid."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from pydantic import ValidationError

from multibody_cli.document.overrides import is_override
from multibody_cli.errors import QuantityError, nearest
from multibody_cli.limits import LimitError
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.nodes import find
from multibody_cli.scene.checks.partial_scene import PartialScene
from multibody_cli.scene.explain import explain
from multibody_cli.scene.timing import integer_multiple, is_adaptive, timing


def check_methods(partial: PartialScene) -> None:
    """Check that the method and the integrator exist, and that the options are valid."""
    if "simulation" in partial.broken:
        return
    settings = partial.scene.simulation
    if settings.integrator in METHODS:
        word = settings.integrator
        partial.report(("simulation", "integrator"), f"`{word}` is a method: use `simulation.method: {word}`")
    else:
        _require_known(partial, "integrator", settings.integrator, INTEGRATORS)
    _require_known(partial, "method", settings.method, METHODS)
    if settings.method not in METHODS:
        return
    options = METHODS[settings.method].Options
    for name in settings.options.keys() - options.model_fields.keys():
        able = " and ".join(f"`{other}`" for other, kind in METHODS.items() if name in kind.Options.model_fields)
        remark = f"it is an option of {able}" if able else nearest(name, options.model_fields)
        partial.report(("simulation", "options", name), f"method `{settings.method}` has no option `{name}`: {remark}")
    known = {name: value for name, value in settings.options.items() if name in options.model_fields}
    try:
        options.model_validate(known)
    except ValidationError as error:
        for path, message in explain(error, options):
            partial.report(("simulation", "options", *path), message)


def _require_known(partial: PartialScene, key: str, word: str, valid: Collection[str]) -> None:
    if word not in valid:
        partial.report(("simulation", key), f"unknown {key} `{word}`: {nearest(word, valid)}")


# --- checks of times: durations are whole multiples of the step -------------------------------------------------------
def check_times(partial: PartialScene) -> None:
    """Check the duration and the output interval against the step."""
    if partial.broken & {"simulation", "output"}:
        return
    simulation, output = partial.scene.simulation, partial.scene.output
    whole = is_adaptive(simulation)
    if not whole:
        # an option that does not fit the file is named, rather than a line of the file
        changed = is_override(find(partial.tree, ("simulation", "step")).mark)
        written = is_override(find(partial.tree, ("simulation", "duration")).mark)
        with _reported(partial, "simulation", "step" if changed and not written else "duration"):
            whole = integer_multiple(simulation.duration, simulation.step, "duration", "step") > 0
    with _reported(partial, "output", "every"):
        if whole:
            timing(simulation, output)
        elif output.every is not None:
            integer_multiple(output.every, simulation.step, "every", "step")


@contextmanager
def _reported(partial: PartialScene, *path: str) -> Iterator[None]:
    """Report an invalid time as a problem of an element."""
    try:
        yield
    except (QuantityError, LimitError) as error:
        partial.report(path, str(error))
