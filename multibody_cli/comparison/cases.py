"""Several comparisons at once: a case for each pair of files."""

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
    """How a comparison ended; the number is what the process ends with."""

    SAME = 0
    DIFFERENT = 1
    TROUBLE = 2


@dataclass(frozen=True)
class Case:
    """One pair of runs.

    Parameters
    ----------
    name
        Which pair: the path of both files in their folders, or that of the result.
    comparison
        What was found; None where nothing could be compared.
    trouble
        Why not, or what keeps two compared runs from counting as the same.
    verdict
        How it ended.
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
    """Compare two files; what cannot be compared is told in the case."""
    try:
        comparison = compare_files(reference, result, policy, on_numbers)
    except MbsimError as error:
        return Case(name, None, str(error), Verdict.TROUBLE)
    return Case(name, comparison, "", Verdict.SAME if comparison.same else Verdict.DIFFERENT)


def compare_folders(
    reference: Path, result: Path, policy: Policy, on_numbers: Callable[[int, int], None]
) -> Iterator[Case]:
    """Compare every result file below a folder with that of the same path below another.

    Raises
    ------
    ResultError
        The folder of the references holds no result file.
    """
    names, found = (sorted(str(path.relative_to(one)) for path in one.glob(RESULTS)) for one in (reference, result))
    if not names:
        raise ResultError(f"{reference} holds no result file (*.h5), so there is nothing to compare with")
    for name in names:
        if name in found:
            yield compare_case(name, reference / name, result / name, policy, on_numbers)
        else:
            yield Case(name, None, f"{result / name} does not exist", Verdict.DIFFERENT)
    for name in found:
        if name not in names:
            yield Case(name, None, f"{reference / name} does not exist: there is nothing to compare with", Verdict.SAME)


def worst(cases: list[Case]) -> Verdict:
    """Tell how all of them ended together."""
    return max((case.verdict for case in cases), default=Verdict.SAME)
