"""The family of errors that reach a user as a message, never as a traceback.

::

    MbsimError                    exit code 1
    ├── Refused                   exit code 2: nothing was run
    │   ├── SceneError            an invalid scene file, with all its problems
    │   ├── ArgumentError         an invalid argument or environment variable
    │   ├── ExpressionError       an invalid expression
    │   ├── QuantityError         an invalid number or unit
    │   └── ResultError           a result file that cannot be read, or that lacks requested data
    └── RunFailed                 the run started and failed
        └── OutputError           the result file could not be written
"""

from __future__ import annotations

from bisect import bisect
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from multibody_cli.immutable import Immutable, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence


class MbsimError(Exception):
    """Base class of errors with a message for the user; `exit_code` is the exit code of the process."""

    exit_code: ClassVar[int] = 1


class Refused(MbsimError):
    """The request is invalid; nothing was run."""

    exit_code = 2


class ArgumentError(Refused):
    """An invalid argument or environment variable."""


class UnknownName(ArgumentError, KeyError):
    """A name that a scene does not have."""

    __str__ = Exception.__str__


class ExpressionError(Refused, ValueError):
    """An expression that cannot be parsed or evaluated."""


class QuantityError(Refused, ValueError):
    """A number or unit that cannot be read, or that has the wrong dimension."""


class ResultError(Refused):
    """A result file that cannot be read, or that lacks requested data."""


class RunFailed(MbsimError):
    """The run started and failed."""


class OutputError(RunFailed):
    """The result file could not be written."""


MOST_SHOWN = 100
"""Number of problems in the message of a `SceneError`."""

MOST_COMPARED = 400
"""Number of valid words, around the place of an unknown one in the alphabet, that may be similar to it."""

LONGEST_WORD = 200
LONGEST_LINE = 3000


class Problem(Immutable):
    """A problem of a scene.

    Parameters
    ----------
    where
        `file:line:column`.
    path
        Path of the element, as in `joints.hinge.q`; empty if the problem concerns the whole file.
    message
        The problem and the expected form.
    remark
        The entry of a `repeat` that it concerns.
    """

    where: str
    path: str
    message: str
    remark: str = ""

    def __str__(self) -> str:
        text = ": ".join(part for part in (self.where, self.path, self.message) if part)
        return shortened(f"{text} ({self.remark})" if self.remark else text).replace("\n", "\\n")


class SceneError(Refused):
    """An invalid scene, with all its problems.

    Parameters
    ----------
    problems
        In the order of the file. Problems that differ only in their path, such as those of the entries of one
        `repeat`, are reported once with their number; of many, the message has the first `MOST_SHOWN`.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = _merge_similar(self.problems)
        if len(lines) > MOST_SHOWN:
            lines[MOST_SHOWN:] = [f"and at least {len(lines) - MOST_SHOWN} more problems"]
        super().__init__("\n".join(lines))

    def with_places(self, named: Callable[[str], str]) -> SceneError:
        """Return the error with other names of its places, as a function of these."""
        return SceneError([replace(problem, where=named(problem.where)) for problem in self.problems])


SYNONYMS = {"kd": "kv", "dq": "v", "qd": "v", "qdot": "v", "velocity": "v"}
"""Words of other programs with the same meaning as other words here."""


def closest(name: str, valid: Iterable[str]) -> str | None:
    """Return the valid word of the same meaning as `name`, or that closest to it apart from capitals, if one is."""
    if len(name) > LONGEST_WORD:
        return None
    words, wanted = {word.casefold(): word for word in sorted(valid)}, name.casefold()
    if wanted not in words and (meant := SYNONYMS.get(wanted)) in words:
        return meant
    lower = sorted(words)
    place = bisect(lower, wanted)
    candidates = lower[max(0, place - MOST_COMPARED // 2) : place + MOST_COMPARED // 2]
    return next((words[found] for found in get_close_matches(wanted, candidates, n=1, cutoff=0.6)), None)


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return a hint that names the valid word closest to `name`, or all valid words if none is close."""
    words = sorted(valid)
    if close := closest(name, words):
        return f"did you mean `{close}`?"
    shown = ", ".join(words[:20]) + (", ..." if len(words) > 20 else "")
    return f"valid: {shown}" if words else "none is defined"


def shortened(text: str, most: int = LONGEST_LINE) -> str:
    """Return a text of at most `most` characters; a longer one is cut."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def listed(words: Sequence[str], most: int, noun: str = "") -> str:
    """Return words separated by commas; of many, the first `most` and the number of the others."""
    rest = len(words) - most
    return ", ".join(words[:most]) + (f" and {rest} more {noun}".rstrip() if rest > 0 else "")


def series(words: Sequence[str], conjunction: str) -> str:
    """Return words as in `a, b and c`."""
    *others, last = words
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def _merge_similar(problems: Iterable[Problem]) -> list[str]:
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.where, problem.message), []).append(problem)
    return [str(first) if not others else f"{first} (and {len(others)} similar)" for first, *others in groups.values()]


def unreadable(error: OSError | ValueError) -> str:
    """Return the message of an error of reading a file, with the remedy for a folder or a misspelt name."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, IsADirectoryError):
        reason += "; name a file in it"
    elif isinstance(error, FileNotFoundError) and error.filename and (near := similar_file(Path(error.filename))):
        reason += f": did you mean `{near}`?"
    return f"cannot read the file: {reason}"


def similar_file(path: Path, endings: Collection[str] = ()) -> Path | None:
    """Return the file in the same folder with the most similar name; None if no name is similar.

    Only files with one of the endings count, by default that of the path.
    """
    try:
        others = [other for other in path.parent.iterdir() if other.suffix in (endings or (path.suffix,))]
        names = [other.name for other in others if other.is_file()]
    except OSError:
        return None
    near = closest(path.name, names)
    return path.with_name(near) if near else None
