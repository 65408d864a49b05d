"""Options that several verbs share: values of a scene to replace, result files, and reports of comparisons."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import click

from multibody_cli.errors import ArgumentError, Problem, QuantityError, SceneError, unreadable

Verb = Callable[..., int]

OUTPUTS = Path("outputs")

PATH, FILE = click.Path(path_type=Path), click.Path(path_type=Path, dir_okay=False)
"""Types of arguments: any path, and the path of a file."""


class _Scene(click.Path):
    """The path of a scene or of a result file; one that is missing is refused before a verb imports its modules."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path.

        Raises
        ------
        SceneError
            There is no such file.
        """
        try:
            os.stat(value)
        except OSError as error:
            raise SceneError([Problem(str(value), "", unreadable(error))]) from None
        return super().convert(value, param, ctx)


SCENE = _Scene(path_type=Path)
"""Type of the argument SCENE."""


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


def _read_distance(_context: click.Context, _option: click.Parameter, word: str | None) -> str | None:
    """Refuse a word that is no distance, such as the file behind a --floor without one."""
    if word is None:
        return None
    from multibody_cli.spec.quantities import Quantity
    from multibody_cli.spec.units import LENGTH

    try:
        Quantity(LENGTH, least=0.0).read(word)
    except QuantityError as error:
        raise click.UsageError(
            f"--floor {word}: {error}; without a distance, write --floor as the last word."
        ) from None
    return word


FLOOR = click.option(
    "--floor",
    metavar="[DISTANCE]",
    is_flag=False,
    flag_value="0",
    callback=_read_distance,
    help="Add a floor with contacts below the lowest point at the start, touching it or at a distance, as in 20cm.",
)

_OF_THE_START = {
    "state": click.option("--state", metavar="NAME", help="Start in this one of the `states` of the scene."),
    "floor": FLOOR,
}

SHORT_FORMS = {
    "method": click.option(
        "--method", metavar="NAME", help="Method, instead of the scene's; see `mbsim list methods`."
    ),
    "integrator": click.option(
        "--integrator", metavar="NAME", help="Integrator, instead of the scene's; see `mbsim list integrators`."
    ),
    "duration": click.option("--duration", metavar="TIME", help="Simulated time, as in 10s or '10 s'."),
    "step": click.option("--step", metavar="TIME", help="Time step, as in 1ms or '1 ms'."),
    **_OF_THE_START,
}
"""Short forms of `--set simulation.KEY=VALUE`, and of `--set contacts.floor=VALUE`."""

BESIDE = {"floor": "contacts.overlap=exclude"}
"""Values that come with those of a short form: shapes of a robot overlap where no joint connects their links."""


def run_settings(verb: Verb) -> Verb:
    """Add `--set` and its short forms to a verb, which receives `KEY=VALUE` and `--KEY=VALUE` as `overrides`."""
    return _with_options(verb, SHORT_FORMS)


def replaced_values(verb: Verb) -> Verb:
    """Add `--set`, `--state` and `--floor` to a verb: see `run_settings`."""
    return _with_options(verb, _OF_THE_START)


def _with_options(verb: Verb, short_forms: Mapping[str, Callable[..., Any]]) -> Verb:
    @wraps(verb)
    def with_short_forms(overrides: tuple[str, ...], **words: Any) -> int:
        from multibody_cli.document.overrides import section_of

        given = {key: value for key in short_forms if (value := words.pop(key)) is not None}
        for key in given:
            if any(text.startswith(f"{section_of(key)}.{key}=") for text in overrides):
                raise click.UsageError(f"--{key} and --set {section_of(key)}.{key} are given: give one of them.")
        short = [f"--{key}={value}" for key, value in given.items()]
        return verb(overrides=(*short, *(BESIDE[key] for key in given if key in BESIDE), *overrides), **words)

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


def about(verb: Verb) -> Verb:
    """Add `--at`, `--equilibrium` and `--steady` to a verb: the state that it studies."""
    decorated = verb
    for option in (
        click.option(
            "--steady",
            metavar="COORDINATE[=RATE]",
            multiple=True,
            help="The steady motion with this constant rate, rad/s or m/s; by default that of the start.",
        ),
        click.option("--equilibrium", is_flag=True, help="The equilibrium to which the start leads."),
        click.option("--at", metavar="TIME", help="An instant of the run, as in 2s, or that of the equilibrium."),
    ):
        decorated = option(decorated)
    return decorated


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
