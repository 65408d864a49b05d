"""Comparison of two tables of sweeps: every column of numbers, at every run that both have."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from multibody_cli.comparison.compare import Comparison
from multibody_cli.comparison.differences import ComparedValue, DatasetDifference, Differences, Location
from multibody_cli.comparison.recording import Setting
from multibody_cli.comparison.tolerance import Policy
from multibody_cli.errors import ResultError, listed
from multibody_cli.output.result_file import Dataset
from multibody_cli.output.rows import OUTCOMES, Column
from multibody_cli.output.sweep_table import RUN, SweepTable

RTOL, ATOL = 1e-6, 1e-9
"""Tolerances of kept numbers, as of most channels; keys are equal in every digit."""

COMPARED = ("mbsim_version", "name", "runs", "definition", "status")
"""Attributes whose differences are reported."""


def compare_tables(reference: Path, result: Path, policy: Policy) -> Comparison:
    """Compare two tables.

    Parameters
    ----------
    reference, result
        The files.
    policy
        Tolerances that replace the default ones.

    Raises
    ------
    ResultError
        A file is no table of a sweep, or the tables have no common run.
    """
    one, other = SweepTable(reference), SweepTable(result)
    runs, rows, others = np.intersect1d(one.read(RUN), other.read(RUN), return_indices=True)
    if not len(runs):
        raise ResultError(f"{reference} and {result} have no run in common")
    mismatches, notes, findings = [], [], []
    if one.count != other.count:
        mismatches.append(f"rows: {one.count} -> {other.count}")
    names = {column.name for column in other.columns}
    extra = [column.name for column in other.columns if column not in one.columns]
    if extra:
        notes.append(f"only in the result: {listed(extra, 6)}")
    for column in one.columns:
        where = policy.ignores(column.name)
        if where:
            notes.append(f"{column.name} is ignored ({where})")
        elif column.name not in names:
            mismatches.append(f"{column.name} is missing from the result")
        elif column.units != other.column(column.name).units:
            units = f"{column.units} in the reference, in {other.column(column.name).units} in the result"
            mismatches.append(f"{column.name} is in {units}")
        elif column.name != RUN:
            first, second = one.read(column.name)[rows], other.read(column.name)[others]
            if first.dtype == object or second.dtype == object:
                if column.name not in OUTCOMES or column.name == "status":
                    mismatches += _differing_texts(column, first.astype(str), second.astype(str), runs)
            else:
                findings.append(_compared(column, first, second, runs, policy, column in one.keys))
    pairs = ((name, str(one.attributes.get(name)), str(other.attributes.get(name))) for name in COMPARED)
    return Comparison(
        reference=reference,
        result=result,
        settings=tuple(Setting(name, before, after, name) for name, before, after in pairs if before != after),
        mismatches=tuple(mismatches),
        notes=tuple(notes),
        instants=(len(runs), one.count, other.count),
        findings=tuple(findings),
        first_difference=None,
        rows="runs",
    )


def _differing_texts(column: Column, first: np.ndarray, second: np.ndarray, runs: np.ndarray) -> list[str]:
    differing = np.flatnonzero(first != second)
    if not len(differing):
        return []
    place = differing[0]
    more = f", and of {len(differing) - 1} more" if len(differing) > 1 else ""
    return [f"{column.name} of run {runs[place]}{more}: {first[place]} -> {second[place]}"]


def _compared(
    column: Column, first: np.ndarray, second: np.ndarray, runs: np.ndarray, policy: Policy, is_key: bool
) -> DatasetDifference:
    rtol, atol = (0.0, 0.0) if is_key else (RTOL, ATOL)
    role = "input" if is_key else ""
    differences = Differences(policy.tolerance_of(Dataset(column.name, first.shape, first.dtype, rtol=rtol, atol=atol)))
    differences.add(first, second, 0)

    def locate(place: ComparedValue) -> Location:
        return Location(None, "", f"run {runs[place.row]}", place)

    return DatasetDifference.of(column.name, column.units, role, differences, locate)
