"""Options that several verbs share: values of a scene to replace, result files, and reports of comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import click

from multibody_cli.errors import ArgumentError

Verb = Callable[..., int]

OUTPUTS = Path("outputs")

PATH, FILE = click.Path(path_type=Path), click.Path(path_type=Path, dir_okay=False)
"""Types of arguments: any path, and the path of a file."""


def _each_once(_context: click.Context, _option: click.Parameter, overrides: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse two values of one key."""
    keys = [text.partition("=")[0].strip() for text in overrides]
    for key in keys:
        if keys.count(key) > 1:
            raise click.UsageError(f"--set {key} is given twice: give it once.")
    return overrides


_SET = click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_each_once,
    help="Replace a value of the scene; null removes it.",
)

_STATE = {"state": click.option("--state", metavar="NAME", help="Start in this one of the `states` of the scene.")}

SHORT_FORMS = {
    "method": click.option(
        "--method", metavar="NAME", help="Method, instead of the scene's; see `mbsim list methods`."
    ),
    "integrator": click.option(
        "--integrator", metavar="NAME", help="Integrator, instead of the scene's; see `mbsim list integrators`."
    ),
    "duration": click.option("--duration", metavar="TIME", help="Simulated time, as in 10s or '10 s'."),
    "step": click.option("--step", metavar="TIME", help="Time step, as in 1ms or '1 ms'."),
    **_STATE,
}
"""Short forms of `--set simulation.KEY=VALUE`."""


def run_settings(verb: Verb) -> Verb:
    """Add `--set` and its short forms to a verb, which receives `KEY=VALUE` and `--KEY=VALUE` as `overrides`."""
    return _with_options(verb, SHORT_FORMS)


def replaced_values(verb: Verb) -> Verb:
    """Add `--set` and `--state` to a verb: see `run_settings`."""
    return _with_options(verb, _STATE)


def _with_options(verb: Verb, short_forms: Mapping[str, Callable[..., Any]]) -> Verb:
    @wraps(verb)
    def with_short_forms(overrides: tuple[str, ...], **words: Any) -> int:
        given = {key: value for key in short_forms if (value := words.pop(key)) is not None}
        for key in given:
            if any(text.startswith(f"simulation.{key}=") for text in overrides):
                raise click.UsageError(f"--{key} and --set simulation.{key} are given: give one of them.")
        short = (f"--{key}={value}" for key, value in given.items())
        return verb(overrides=(*overrides, *short), **words)

    decorated: Verb = with_short_forms
    for option in reversed([*short_forms.values(), _SET]):
        decorated = option(decorated)
    return decorated


def result_file(verb: Verb) -> Verb:
    """Add `-o` and `--force` to a verb, which receives `output` and `force`."""
    named = click.option("-o", "--output", metavar="FILE", type=FILE, help="Default: outputs/<name>.h5")
    decorated: Verb = named(click.option("--force", is_flag=True, help="Replace an existing result file.")(verb))
    return decorated


def result_path(output: Path | None, name: str, scene: Path) -> Path:
    """Return the path of the result file of a scene, by default `name` among the outputs.

    Raises
    ------
    ArgumentError
        It is the scene itself.
    """
    result = output or OUTPUTS / f"{name}.h5"
    if result.exists() and scene.exists() and result.samefile(scene):
        raise ArgumentError(f"{result} is the scene itself: use another name with -o")
    return result


def comparison_report(verb: Verb) -> Verb:
    """Add the options of a comparison to a verb, which receives `tolerances` and the formats of `reports.write`."""
    decorated = verb
    for option in (
        click.option("--markdown", metavar="FILE", type=PATH, help="Write the report as Markdown."),
        click.option("--junit", metavar="FILE", type=PATH, help="Write a JUnit report for CI."),
        click.option("--json", "as_json", is_flag=True, help="Write the report as JSON."),
        click.option("--tolerances", metavar="FILE", type=PATH, help="Policy file with tolerances of datasets."),
    ):
        decorated = option(decorated)
    return decorated
