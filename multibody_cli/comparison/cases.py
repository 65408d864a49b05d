"""Comparison of several pairs of files; each pair is a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from multibody_cli.comparison.compare import Comparison, compare_files
from multibody_cli.comparison.recording import merged
from multibody_cli.comparison.sweep_tables import compare_tables
from multibody_cli.comparison.tolerance import Policy
from multibody_cli.errors import MbsimError, ResultError
from multibody_cli.immutable import Immutable
from multibody_cli.output.sweep_table import is_sweep_table

RESULTS = "**/*.h5"


class CaseVerdict(IntEnum):
    """Result of a comparison, in the order of severity."""

    SAME = 0
    NEW = 1
    DIFFERENT = 2
    MISSED = 3
    TROUBLE = 4

    @property
    def word(self) -> str:
        """The verdict in a report: all but the first in capitals."""
        return self.name.lower() if self is CaseVerdict.SAME else self.name

    @property
    def exit_code(self) -> int:
        """Exit code of the process: 2 if something could not be run or compared, 1 for any other failure."""
        return 2 if self is CaseVerdict.TROUBLE else int(self is not CaseVerdict.SAME)


class Case(Immutable):
    """One pair of runs.

    Parameters
    ----------
    name
        Name of the pair: the path of both files relative to their folders, or that of the result.
    comparison
        The comparison; None if the files could not be compared.
    trouble
        Reason why the files could not be compared, or why equal runs do not count as the same.
    verdict
        Result of the comparison.
    test
        Name of the test in a JUnit report; cases with the same name are one test.
    missed
        Expectations of the scene that the result misses, with the numbers found.
    accepted_misses
        Expectations that the result misses and that the accepted baseline misses as well.
    seconds
        Wall-clock time of the run and the comparison, s.
    """

    name: str
    comparison: Comparison | None
    trouble: str
    verdict: CaseVerdict
    test: str
    missed: tuple[str, ...] = ()
    accepted_misses: tuple[str, ...] = ()
    seconds: float = 0.0


class Change(NamedTuple):
    """A changed setting, and the names of the cases in which it changed."""

    text: str
    cases: tuple[str, ...]

    def __str__(self) -> str:
        first, *rest = self.cases
        return f"{self.text}  ({first}{f' and {len(rest)} more' if rest else ''})"


def changes_of(cases: Sequence[Case]) -> list[Change]:
    """List the changed settings of all cases; the same change of several cases is listed once."""
    changes: dict[str, list[str]] = {}
    for case in cases:
        for text in merged(case.comparison.settings) if case.comparison else ():
            changes.setdefault(text, []).append(case.name)
    return [Change(text, tuple(names)) for text, names in changes.items()]


def compare_case(
    name: str,
    reference: Path,
    result: Path,
    policy: Policy,
    on_numbers: Callable[[int, int], None] = lambda _done, _all: None,
) -> Case:
    """Compare two files; the case reports errors."""
    start = perf_counter()
    try:
        if is_sweep_table(reference):
            comparison = compare_tables(reference, result, policy)
        else:
            comparison = compare_files(reference, result, policy, on_numbers)
    except MbsimError as error:
        return Case(name, None, str(error), CaseVerdict.TROUBLE, name)
    verdict = CaseVerdict.SAME if comparison.same else CaseVerdict.DIFFERENT
    return Case(name, comparison, "", verdict, name, seconds=perf_counter() - start)


def compare_folders(
    reference: Path, result: Path, policy: Policy, on_numbers: Callable[[int, int], None]
) -> Iterator[Case]:
    """Compare every result file below a folder with the file of the same path below another folder.

    Raises
    ------
    ResultError
        The reference folder contains no result file.
    """
    names, found = (sorted(str(path.relative_to(one)) for path in one.glob(RESULTS)) for one in (reference, result))
    if not names:
        raise ResultError(f"{reference} contains no result file (*.h5), so there is nothing to compare with")
    for name in names:
        if name in found:
            yield compare_case(name, reference / name, result / name, policy, on_numbers)
        else:
            yield Case(name, None, f"{result / name} does not exist", CaseVerdict.DIFFERENT, name)
    for name in found:
        if name not in names:
            trouble = f"{reference / name} does not exist: there is nothing to compare with"
            yield Case(name, None, trouble, CaseVerdict.SAME, name)


def worst(cases: Sequence[Case]) -> CaseVerdict:
    """Return the most severe verdict."""
    return max((case.verdict for case in cases), default=CaseVerdict.SAME)
