"""The family of errors that reach a user as a message, never as a traceback.

::

    MbsimError                    exit code 1
    ├── Refused                   exit code 2: nothing was run
    │   ├── SceneError            a scene file with problems, all of them listed
    │   ├── ArgumentError         words of the command line that cannot be followed
    │   ├── ExpressionError       arithmetic that cannot be read or worked out
    │   ├── QuantityError         a number or unit that cannot be read
    │   └── ResultError           a result file that cannot be read, or lacks what is asked of it
    └── RunFailed                 the run began and did not end well
        └── OutputError           the result file could not be written
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class MbsimError(Exception):
    """An error whose text is written for the user; `exit_code` is what the process ends with."""

    exit_code: ClassVar[int] = 1


class Refused(MbsimError):
    """Nothing was run: what was asked for cannot be done."""

    exit_code = 2


class ArgumentError(Refused):
    """Words of the command line that cannot be followed."""


class ExpressionError(Refused, ValueError):
    """Arithmetic that cannot be read or worked out."""


class QuantityError(Refused, ValueError):
    """A number or unit that cannot be read, or that has the wrong dimension."""


class ResultError(Refused):
    """A result file that cannot be read, or that lacks what is asked of it."""


class RunFailed(MbsimError):
    """The run began and did not end well."""


class OutputError(RunFailed):
    """The result file could not be written."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scene.

    Parameters
    ----------
    where
        `file:line:column`.
    path
        Which element, as in `joints.hinge.q`; empty when the file as a whole is meant.
    message
        What is wrong and what was expected.
    remark
        Which of the entries of a `repeat` it is.
    """

    where: str
    path: str
    message: str
    remark: str = ""

    def __str__(self) -> str:
        text = ": ".join(part for part in (self.where, self.path, self.message) if part)
        return f"{text} ({self.remark})" if self.remark else text


class SceneError(Refused):
    """A scene that cannot be used, with every problem that was found in it.

    Parameters
    ----------
    problems
        In the order of the file.  Problems that differ only in their path, as those of the entries of one
        `repeat` do, are told once with their number.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(_told_once(self.problems)))


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return a remark that names the valid word nearest to `name`, or all of them when none is near."""
    words = sorted(valid)
    if close := get_close_matches(name, words, n=1, cutoff=0.6):
        return f"did you mean `{close[0]}`?"
    shown = ", ".join(words[:20]) + (", ..." if len(words) > 20 else "")
    return f"valid: {shown}" if words else "none is defined"


def _told_once(problems: Iterable[Problem]) -> list[str]:
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.where, problem.message), []).append(problem)
    return [
        str(first) if not others else f"{first} (and {len(others)} more like it)" for first, *others in groups.values()
    ]
