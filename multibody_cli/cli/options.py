"""Options that several verbs share: values of a scene to replace, and the result file of a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from multibody_cli.errors import ArgumentError

if TYPE_CHECKING:
    from multibody_cli.studies.simulation import Simulation

Verb = Callable[..., int]

OUTPUTS = Path("outputs")

replaced_values = click.option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Replace a value of the scene."
)
"""The option `--set`: the verb receives `overrides`, each `KEY=VALUE`."""

SHORT_FORMS = {
    "method": click.option(
        "--method", metavar="NAME", help="Method, instead of the scene's; see `mbsim list methods`."
    ),
    "integrator": click.option(
        "--integrator", metavar="NAME", help="Integrator, instead of the scene's; see `mbsim list integrators`."
    ),
    "duration": click.option("--duration", metavar="TIME", help="Simulated time, as in 10s or '10 s'."),
    "step": click.option("--step", metavar="TIME", help="Time step, as in 1ms or '1 ms'."),
}
"""Short forms of `--set simulation.KEY=VALUE`."""


def run_settings(verb: Verb) -> Verb:
    """Add `--set` and its short forms to a verb, which receives `KEY=VALUE` and `--KEY=VALUE` as `overrides`."""

    @wraps(verb)
    def with_short_forms(overrides: tuple[str, ...], **words: Any) -> int:
        given = {key: words.pop(key) for key in SHORT_FORMS}
        short = (f"--{key}={value}" for key, value in given.items() if value is not None)
        return verb(overrides=(*overrides, *short), **words)

    decorated: Verb = with_short_forms
    for option in reversed([*SHORT_FORMS.values(), replaced_values]):
        decorated = option(decorated)
    return decorated


def result_file(verb: Verb) -> Verb:
    """Add `-o` and `--force` to a verb, which receives `output` and `force`."""
    kind = click.Path(path_type=Path, dir_okay=False)
    named = click.option("-o", "--output", metavar="FILE", type=kind, help="Default: outputs/<name>.h5")
    decorated: Verb = named(click.option("--force", is_flag=True, help="Replace an existing result file.")(verb))
    return decorated


def result_path(output: Path | None, simulation: Simulation, scene: Path) -> Path:
    """Return the path of the result file of a scene.

    Raises
    ------
    ArgumentError
        It is the scene itself.
    """
    result = output or OUTPUTS / f"{simulation.scene.name}.h5"
    if result.exists() and scene.exists() and result.samefile(scene):
        raise ArgumentError(f"{result} is the scene itself: use another name with -o")
    return result
