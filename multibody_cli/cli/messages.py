"""Messages of a verb, written to stderr so that stdout holds the result alone."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from multibody_cli.escaping import escaped

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

_VERBOSITY = "multibody_cli.verbosity"
_SAID = "multibody_cli.warnings"

before_writing: list[Callable[[], object]] = []
"""Functions that remove displays of progress from the terminal before a message."""

before_output: list[Callable[[], object]] = []
"""Functions that end displays before the first output of a verb."""


class Verb(click.Command):
    """A click command that also takes `-q` and `-v`, refuses two values of one option, and shows that it is working.

    Until its first output, the terminal has its name and the time, unless a display of its own is open.
    """

    def __init__(self, *words: Any, **settings: Any) -> None:
        super().__init__(*words, **settings)
        self.params += switches()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for option in self.params:
            takes_one = isinstance(option, click.Option) and not option.multiple
            is_switch = getattr(option, "is_flag", False) and not option.secondary_opts
            if takes_one and not is_switch and given.count(option) > 1:
                raise click.UsageError(f"{option.opts[-1]} is given twice: give it once.", ctx)
        try:
            return super().parse_args(ctx, list(args))  # click empties its list
        except click.UsageError as error:
            if (hint := _split_quantity(args)) is None:
                raise
            raise click.UsageError(f"{error.message.rstrip('.')}: {hint}", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Call the verb."""
        from multibody_cli.cli.progress import Waiting

        with Waiting(ctx.command_path) as working:
            before_output.append(working.close)
            try:
                return super().invoke(ctx)
            finally:
                before_output.remove(working.close)


def _split_quantity(args: Sequence[str]) -> str | None:
    """Return the remedy for a number and a unit that are two words; None if no such words follow each other."""
    from multibody_cli.errors import QuantityError
    from multibody_cli.spec.units import parse_unit, split_quantity

    for number, unit in itertools.pairwise(args):
        split = split_quantity(number)
        if split is None or split[1] or not unit.isalpha():
            continue
        try:
            parse_unit(unit)
        except QuantityError:
            continue
        return f"write a number and its unit as one word, {number}{unit} or '{number} {unit}'."
    return None


def switches() -> list[click.Parameter]:
    """Return the options `-q` and `-v`, which are accepted before and after the verb."""
    return [
        _switch("-q", "--quiet", -1, "Print only warnings and errors to stderr."),
        _switch("-v", "--verbose", 1, "Print more details to stderr."),
    ]


def colors_wanted() -> bool | None:
    """Return False if the user disables colors, else None: colors on a terminal only."""
    return False if os.environ.get("NO_COLOR") else None


def usage(text: str) -> None:
    """Remind of the arguments of a verb."""
    _write(text)


def error(text: str) -> None:
    """Report why the command failed."""
    _write(text, click.style("error: ", fg="red", bold=True))


def warning(text: str) -> None:
    """Report a probable mistake of the user, once in a command that prepares a scene several times."""
    said: set[str] = click.get_current_context().meta.setdefault(_SAID, set())
    if text in said:
        return
    said.add(text)
    _write(text, click.style("warning: ", fg="yellow", bold=True))


def note(text: str) -> None:
    """Report progress, unless `-q` is given."""
    if _verbosity() >= 0:
        _write(text)


def detail(text: str) -> None:
    """Report details if `-v` is given."""
    if is_verbose():
        _write(text)


def is_verbose() -> bool:
    """Whether `-v` is given."""
    return _verbosity() > 0


def progress_wanted() -> bool:
    """Whether stderr is a terminal and `-q` is not given."""
    return _verbosity() >= 0 and sys.stderr.isatty()


def problems(text: str) -> None:
    """Report the problems of a scene, each on a line."""
    for line in text.splitlines():
        error(line)


def clear_displays() -> None:
    """Remove displays of progress from the terminal, until they are drawn again."""
    for clear in before_writing:
        clear()


def _write(text: str, head: str = "") -> None:
    """Write a message; text of files cannot control the terminal."""
    clear_displays()
    click.echo(head + escaped(text), err=True, color=colors_wanted())


def _verbosity() -> int:
    level: int = click.get_current_context().meta.get(_VERBOSITY, 0)
    return level


def _switch(short: str, long: str, level: int, text: str) -> click.Option:
    def remember(context: click.Context, _option: click.Parameter, given: bool) -> None:
        if given:
            context.meta[_VERBOSITY] = level

    return click.Option([short, long], is_flag=True, expose_value=False, callback=remember, help=text)
