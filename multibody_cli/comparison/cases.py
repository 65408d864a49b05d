"""Comparison of several pairs of files; each pair is a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from multibody_cli.comparison.compare import Comparison, compare_files
from multibody_cli.comparison.tolerance import Policy
from multibody_cli.errors import MbsimError, ResultError

RESULTS = "**/*.h5"


class Verdict(IntEnum):
    """Result of a comparison; the value is the exit code of the process."""

    SAME = 0
    DIFFERENT = 1
    TROUBLE = 2


@dataclass(frozen=True)
class Case:
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
    """

    name: str
    comparison: Comparison | None
    trouble: str
    verdict: Verdict


def compare_case(
    name: str,
    reference: Path,
    result: Path,
    policy: Policy,
    on_numbers: Callable[[int, int], None] = lambda _done, _all: None,
) -> Case:
    """Compare two files; the case reports errors."""
    try:
        comparison = compare_files(reference, result, policy, on_numbers)
    except MbsimError as error:
        return Case(name, None, str(error), Verdict.TROUBLE)
    return Case(name, comparison, "", Verdict.SAME if comparison.same else Verdict.DIFFERENT)


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
            yield Case(name, None, f"{result / name} does not exist", Verdict.DIFFERENT)
    for name in found:
        if name not in names:
            yield Case(name, None, f"{reference / name} does not exist: there is nothing to compare with", Verdict.SAME)


def worst(cases: list[Case]) -> Verdict:
    """Return the most severe verdict."""
    return max((case.verdict for case in cases), default=Verdict.SAME)
