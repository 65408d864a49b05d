"""What a verb tells besides its result: on stderr, so that a result can go into a pipe or a file."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

_VERBOSITY = "multibody_cli.verbosity"


class Verb(click.Command):
    """A click command that also takes `-q` and `-v`."""

    def __init__(self, *words: Any, **settings: Any) -> None:
        super().__init__(*words, **settings)
        self.params += switches()


def switches() -> list[click.Parameter]:
    """Make `-q` and `-v`, which may stand before the verb and behind it."""
    return [
        _switch("-q", "--quiet", -1, "Tell nothing on stderr but warnings and errors."),
        _switch("-v", "--verbose", 1, "Tell more on stderr."),
    ]


def colors_wanted() -> bool | None:
    """Say False where the user wants no colors, else None: colors on a terminal alone."""
    return False if os.environ.get("NO_COLOR") else None


def error(text: str) -> None:
    """Tell why nothing came out."""
    _tell(click.style("error: ", fg="red", bold=True) + text)


def warning(text: str) -> None:
    """Tell what the user probably did not mean."""
    _tell(click.style("warning: ", fg="yellow", bold=True) + text)


def note(text: str) -> None:
    """Tell what is going on, unless `-q` is given."""
    if _verbosity() >= 0:
        _tell(text)


def detail(text: str) -> None:
    """Tell what is going on where `-v` is given."""
    if is_verbose():
        _tell(text)


def is_verbose() -> bool:
    """Whether `-v` is given."""
    return _verbosity() > 0


def progress_wanted() -> bool:
    """Whether somebody looks at stderr and did not give `-q`."""
    return _verbosity() >= 0 and sys.stderr.isatty()


def _tell(text: str) -> None:
    click.echo(text, err=True, color=colors_wanted())


def _verbosity() -> int:
    level: int = click.get_current_context().meta.get(_VERBOSITY, 0)
    return level


def _switch(short: str, long: str, level: int, text: str) -> click.Option:
    def remember(context: click.Context, _option: click.Parameter, given: bool) -> None:
        if given:
            context.meta[_VERBOSITY] = level

    return click.Option([short, long], is_flag=True, expose_value=False, callback=remember, help=text)
