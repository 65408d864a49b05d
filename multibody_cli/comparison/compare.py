"""Comparison of two result files: every dataset, at every common output instant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from multibody_cli.comparison.contacts import compare_contacts
from multibody_cli.comparison.differences import ComparedValue, DatasetDifference, Differences, Location
from multibody_cli.comparison.recording import Instants, Recording, Setting, common_instants, differing_settings
from multibody_cli.comparison.tolerance import Policy
from multibody_cli.errors import ResultError, listed
from multibody_cli.immutable import Immutable
from multibody_cli.output.channel import ROLES
from multibody_cli.output.result_file import Dataset

CENTERS = Dataset("bodies/com_offset", (), np.dtype(np.float64), units="m", role="input")
"""The centers of mass of the bodies, the only numeric array that is constant in time."""


class FirstDifference(NamedTuple):
    """The first instant at which two runs differ beyond tolerance.

    Parameters
    ----------
    time
        Time of the instant, s.
    findings
        Datasets beyond tolerance at that instant, the likeliest cause first: by role, then by excess.
    """

    time: float
    findings: tuple[DatasetDifference, ...]


class Comparison(Immutable):
    """Two runs, compared.

    Parameters
    ----------
    reference, result
        Paths of the files.
    settings
        Differences of the settings; they alone do not make the runs different.
    mismatches
        Messages about differences other than values: the end of a run, a missing dataset or body.
    notes
        Notes for the user: datasets only in the result, instants only in one run, unused rules.
    instants
        Numbers of instants: compared, in the reference, in the result.
    findings
        Finding of each dataset, in the order of the reference.
    first_difference
        First instant with a difference beyond tolerance; None if there is none.
    rows
        The rows that are compared pair by pair: instants, or the runs of two sweeps.
    """

    reference: Path
    result: Path
    settings: tuple[Setting, ...]
    mismatches: tuple[str, ...]
    notes: tuple[str, ...]
    instants: tuple[int, int, int]
    findings: tuple[DatasetDifference, ...]
    first_difference: FirstDifference | None
    rows: str = "instants"

    @property
    def same(self) -> bool:
        """Whether nothing differs beyond tolerance."""
        return not self.mismatches and not any(finding.differs for finding in self.findings)


def compare_files(
    reference: Path,
    result: Path,
    policy: Policy | None = None,
    on_numbers: Callable[[int, int], None] = lambda _done, _all: None,
) -> Comparison:
    """Compare two result files.

    Parameters
    ----------
    reference, result
        The files.
    policy
        Tolerances that replace those of the reference file.
    on_numbers
        Called with the count of values compared so far and the total count.

    Raises
    ------
    ResultError
        A file cannot be read, or the files have no common output instant.
    """
    with Recording(reference) as one, Recording(result) as other:
        return _Comparer(one, other, policy or Policy(), on_numbers).compare()


class _Comparer:
    """State of a comparison in progress."""

    def __init__(
        self, reference: Recording, result: Recording, policy: Policy, on_numbers: Callable[[int, int], None]
    ) -> None:
        self._reference = reference
        self._result = result
        self._policy = policy
        self._on_numbers = on_numbers
        self._mismatches: list[str] = []
        self._notes: list[str] = []
        self._common = common_instants(reference, result)
        self._pairs = self._common.number
        if not self._pairs:
            raise ResultError(_nothing_in_common(reference, result))
        self._bodies = [name for name in reference.bodies if name in result.bodies]

    def compare(self) -> Comparison:
        reference, result = self._reference, self._result
        self._compare_ends()
        self._compare_bodies()
        datasets = [dataset for path, dataset in reference.datasets.items() if self._is_comparable(path)]
        known = {**reference.datasets, **reference.contacts, CENTERS.path: CENTERS}
        extra = [path for path in (*result.datasets, *result.contacts) if path not in known]
        if extra:
            self._notes.append(f"only in the result: {listed(extra, 6)}")
        self._notes += [
            f"{rule.where}: the rule `{rule.pattern}` matches no dataset of the reference"
            for rule in self._policy.unused_rules(known)
        ]
        total = sum(self._pairs * int(np.prod(dataset.shape[1:], dtype=np.int64)) for dataset in datasets)
        findings, done = [], 0
        for dataset in datasets:
            findings.append(self._compare(dataset, done, total))
            done += findings[-1].compared
        self._notes += _notes_on_error_bars(reference, result, self._common, findings)
        contacts = [path for path in reference.contacts if self._is_comparable(path)]
        findings += compare_contacts(reference, result, self._common, self._policy, contacts, self._notes, self._time)
        self._notes += [
            f"{finding.path} differs by up to {finding.largest.place.difference:g}: a number of iterations is no result"
            for finding in findings
            if finding.exceeding and not finding.differs and finding.largest
        ]
        if not self._is_ignored(CENTERS.path):
            findings.append(self._compare_centers(CENTERS))
        return Comparison(
            reference=reference.path,
            result=result.path,
            settings=tuple(differing_settings(reference, result)),
            mismatches=tuple(self._mismatches),
            notes=tuple(self._notes),
            instants=(self._pairs, reference.instants, result.instants),
            findings=tuple(findings),
            first_difference=_first_difference(findings),
        )

    # --- metadata -------------------------------------------------------------------------------------------
    def _compare_ends(self) -> None:
        reference, result = self._reference, self._result
        before, after = (run.attributes.get("status") for run in (reference, result))
        if before != after:
            message = " ".join(str(result.attributes.get("message", "")).split())
            self._mismatches.append(f"status: {before} -> {after}" + (f" ({message})" if message else ""))
        if self._common.pair(-1) != (reference.instants - 1, result.instants - 1):
            ends = (run.time_at(run.instants - 1) for run in (reference, result))
            self._mismatches.append("the last instant: " + " -> ".join(f"{end:.12g} s" for end in ends))
        unmatched = reference.instants - self._pairs
        if reference.instants == result.instants and unmatched:
            self._mismatches.append(
                f"time: {unmatched} of {reference.instants} instants are not those of the reference"
            )
        elif reference.instants != result.instants:
            self._notes.append(
                f"instants differ: the {self._pairs} that both have are compared, of {reference.instants} in the "
                f"reference and {result.instants} in the result"
            )

    def _compare_bodies(self) -> None:
        reference, result = self._reference.bodies, self._result.bodies
        for name in reference:
            if name not in result:
                self._mismatches.append(f"body {name} is missing from the result")
        for name in result:
            if name not in reference:
                self._mismatches.append(f"body {name} is only in the result")

    def _is_ignored(self, path: str) -> bool:
        """Whether the policy ignores a dataset; adds a note."""
        where = self._policy.ignores(path)
        if where:
            self._notes.append(f"{path} is ignored ({where})")
        return bool(where)

    def _is_comparable(self, path: str) -> bool:
        """Whether a dataset can be compared; adds a mismatch or a note if not."""
        if self._is_ignored(path):
            return False
        one, other = (run.datasets.get(path) or run.contacts.get(path) for run in (self._reference, self._result))
        if one is None or other is None:
            self._mismatches.append(f"{path} is missing from the result")
            return False
        if one.units != other.units:
            self._mismatches.append(f"{path} is in {one.units} in the reference, in {other.units} in the result")
            return False
        shapes = [data.shape[1:] for data in (one, other)]
        if path in self._reference.datasets and self._reference.is_of_bodies(path):
            shapes = [shape[1:] for shape in shapes]
        if shapes[0] != shapes[1]:
            self._mismatches.append(f"{path} has shape {one.shape} in the reference, {other.shape} in the result")
            return False
        return True

    # --- numbers --------------------------------------------------------------------------------------------
    def _compare(self, dataset: Dataset, done: int, total: int) -> DatasetDifference:
        differences = Differences(self._policy.tolerance_of(dataset), dataset.same)
        columns = self._columns(dataset.path)
        row = 0
        for rows, others in self._common.slabs(dataset.rows_of_a_slab):
            values = [self._reference.take(dataset.path, rows), self._result.take(dataset.path, others)]
            if columns is not None:
                values = [array[:, order] for array, order in zip(values, columns, strict=True)]
            differences.add(values[0], values[1], row)
            row += len(values[0])
            self._on_numbers(done + differences.compared, total)
        return self._finding(dataset, differences)

    def _compare_centers(self, described: Dataset) -> DatasetDifference:
        runs = self._reference, self._result
        centers = [run.com[[run.bodies.index(name) for name in self._bodies]].reshape(-1, 3) for run in runs]
        differences = Differences(self._policy.tolerance_of(described))
        differences.add(centers[0][None], centers[1][None], 0)

        def locate(place: ComparedValue) -> Location:
            return Location(None, self._bodies[place.index[0]], "xyz"[place.index[1]], place)

        return DatasetDifference.of(described.path, described.units, described.role, differences, locate)

    def _finding(self, dataset: Dataset, differences: Differences) -> DatasetDifference:
        of_bodies = self._reference.is_of_bodies(dataset.path)
        labels: list[Sequence[str]] = []
        if differences.worst is not None:
            labels = [self._reference.labels(dataset.path, axis) for axis in range(1, len(dataset.shape))]

        def locate(place: ComparedValue) -> Location:
            body = self._bodies[place.index[0]] if of_bodies else ""
            rest = list(zip(labels, place.index, strict=True))[int(of_bodies) :]
            component = " ".join(words[step] for words, step in rest if len(words) > 1)
            return Location(self._time(place.row), body, component, place)

        return DatasetDifference.of(dataset.path, dataset.units, dataset.role, differences, locate)

    def _columns(self, path: str) -> tuple[list[int], list[int]] | None:
        """Return the columns of the common bodies in both files; None if the bodies are the same."""
        if not self._reference.is_of_bodies(path) or self._reference.bodies == self._result.bodies:
            return None
        orders = [[run.bodies.index(name) for name in self._bodies] for run in (self._reference, self._result)]
        return orders[0], orders[1]

    def _time(self, instant: int) -> float:
        """Return the time of a common instant, s."""
        return self._reference.time_at(self._common.pair(instant)[0])


def _notes_on_error_bars(
    reference: Recording, result: Recording, common: Instants, findings: Sequence[DatasetDifference]
) -> Iterator[str]:
    """Yield notes about the certificates of two runs, and about the largest differences beyond their error bars.

    Differences are compared with the sum of the error bars of both runs, if both have the same bodies.
    """
    runs = reference, result
    for name, run in zip(("reference", "result"), runs, strict=True):
        if run.certificate is not None:
            yield f"the {name} is {run.certificate.verdict}"
    one, other = reference.certificate, result.certificate
    if one is None or other is None or reference.bodies != result.bodies:
        return
    for finding in findings:
        bars, others = one.bar(finding.path, reference.bodies), other.bar(finding.path, result.bodies)
        if finding.largest is None or bars is None or others is None:
            continue
        place = finding.largest.place
        row, other_row = common.pair(place.row)
        both = float(bars[row][place.index]) + float(others[other_row][place.index])
        if place.difference > both:
            yield (
                f"{finding.path} differs by up to {place.difference:.3g} {finding.units}, more than the error bars of "
                f"both runs there, {both:.3g}"
            )


def _first_difference(findings: Sequence[DatasetDifference]) -> FirstDifference | None:
    differing = [finding for finding in findings if finding.differs and finding.first is not None]
    if not differing:
        return None
    time = min(finding.first.time or 0.0 for finding in differing if finding.first)
    at_once = [finding for finding in differing if finding.first and (finding.first.time or 0.0) == time]
    ranks = {role: rank for rank, role in enumerate(ROLES)}
    at_once.sort(key=lambda one: (ranks.get(one.role, len(ROLES)), -(one.first.place.excess if one.first else 0.0)))
    return FirstDifference(time, tuple(at_once))


def _nothing_in_common(reference: Recording, result: Recording) -> str:
    def span(run: Recording) -> str:
        if not run.instants:
            return "none"
        first, last = (run.time_at(row) for row in (0, run.instants - 1))
        return f"{run.instants} from {first:g} s to {last:g} s"

    return (
        f"{reference.path} and {result.path} have no output instant in common: {span(reference)} against "
        f"{span(result)}; run one of them again with the `output.every` of the other"
    )
