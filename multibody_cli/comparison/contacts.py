"""Contacts of two runs: paired at each instant, whatever their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from multibody_cli.comparison.differences import Differences, Place
from multibody_cli.comparison.finding import Finding, Location
from multibody_cli.comparison.instants import Stretch
from multibody_cli.comparison.recording import Recording
from multibody_cli.comparison.tolerance import Policy
from multibody_cli.output.contact_channels import GROUP, OFFSET

if TYPE_CHECKING:
    from multibody_cli.model import Floats, Integers
    from multibody_cli.output.channel import Array

INSTANTS_AT_ONCE = 1000

WHO = (f"{GROUP}/body_a", f"{GROUP}/body_b")
POINT = f"{GROUP}/point"
TURNED = (f"{GROUP}/normal", f"{GROUP}/tangential_impulse")
"""What changes its sign where A and B change places."""


class Contacts(NamedTuple):
    """The contacts of one run at one instant: every dataset by its path, with a row for each contact."""

    columns: dict[str, Array]

    def pairs(self) -> Integers:
        """(n, 2) numbers of the bodies that touch, the smaller first."""
        pairs: Integers = np.sort(np.column_stack([self.columns[path] for path in WHO]), axis=1)
        return pairs


def compare_contacts(
    reference: Recording,
    result: Recording,
    stretches: Sequence[Stretch],
    policy: Policy,
    mismatches: list[str],
    notes: list[str],
    time_of: Callable[[int], float],
) -> list[Finding]:
    """Compare every dataset of contacts; a contact that only one run has is a difference of all of them.

    Parameters
    ----------
    reference, result
        The runs.
    stretches
        The instants that they have in common.
    policy
        The tolerances.
    mismatches
        Takes datasets that the result lacks.
    notes
        Takes datasets that are ignored, and why nothing is compared where contacts cannot be paired.
    time_of
        Time (s) of the n-th common instant.
    """
    missing = [path for path in reference.contacts if path not in result.contacts]
    mismatches += [f"{path} is missing from the result" for path in missing]
    paths = [path for path in reference.contacts if path not in missing and not policy.ignores(path)]
    notes += [f"{path} is ignored ({where})" for path in reference.contacts if (where := policy.ignores(path))]
    unknown = [path for path in (*WHO, POINT) if path not in reference.contacts or path not in result.contacts]
    if unknown:
        if paths:
            notes.append(f"contacts are not compared: to pair them takes {', '.join(unknown)} in both files")
        return []
    bodies = [*reference.bodies, *(name for name in result.bodies if name not in reference.bodies)]
    gathered = {
        path: Differences(policy.tolerance_of(reference.contacts[path]), reference.contacts[path].same)
        for path in paths
    }
    columns = tuple(dict.fromkeys((*WHO, POINT, *paths)))
    runs = [_Run(run, columns, None) for run in (reference, result)]
    if reference.bodies != result.bodies:
        runs = [run._replace(numbers=np.array([*map(bodies.index, run.file.bodies), -1])) for run in runs]
    for instant, (one, other) in enumerate(_instants(runs, stretches)):
        left, right = _paired(one, other)
        for path in paths:
            pairs = _taken(one.columns[path], left), _taken(other.columns[path], right)
            gathered[path].add(pairs[0][None], pairs[1][None], instant)

    def finding(path: str) -> Finding:
        def locate(place: Place) -> Location:
            contact, *index = place.index
            labels = [reference.labels(path, axis + 1) for axis in range(len(index))]
            component = " ".join(row[step] for row, step in zip(labels, index, strict=True) if len(row) > 1)
            one, other = next(_instants(runs, [_single(stretches, place.row)]))
            left, right = _paired(one, other)
            pair = one.pairs()[left[contact]] if left[contact] >= 0 else other.pairs()[right[contact]]
            who = " and ".join(bodies[body] if body >= 0 else "world" for body in pair)
            return Location(time_of(place.row), f"contact of {who}", component, place)

        described = reference.contacts[path]
        return Finding.of(path, described.units, described.role, gathered[path], locate)

    return [finding(path) for path in paths]


class _Run(NamedTuple):
    """One run: its file, the datasets to read, and new numbers for its bodies where the runs number theirs differently.

    The last of the numbers is that of the world, so that it is found under -1.
    """

    file: Recording
    paths: Sequence[str]
    numbers: Integers | None

    def contacts(self, rows: slice) -> list[Contacts]:
        """Read the contacts of some instants."""
        offset = self.file.read(OFFSET, slice(rows.start, rows.stop + 1))
        begin = int(offset[0])
        columns = {path: self.file.read(path, slice(begin, int(offset[-1]))) for path in self.paths}
        if self.numbers is not None:
            columns = _renumbered(columns, self.numbers)
        return [
            Contacts({path: values[offset[at] - begin : offset[at + 1] - begin] for path, values in columns.items()})
            for at in range(0, len(offset) - 1, rows.step)
        ]


def _renumbered(columns: dict[str, Array], numbers: Integers) -> dict[str, Array]:
    """Give bodies new numbers, and let A be the smaller one, whatever body the run began with."""
    a, b = (numbers[columns[path]] for path in WHO)
    signs = np.where(a > b, -1.0, 1.0)[:, None]
    turned = {path: signs * columns[path] for path in TURNED if path in columns}
    return columns | dict(zip(WHO, np.sort([a, b], axis=0), strict=True)) | turned


def _instants(runs: Sequence[_Run], stretches: Sequence[Stretch]) -> Iterator[tuple[Contacts, Contacts]]:
    """Give the contacts of both runs at each common instant; many instants are read at once."""
    for stretch in stretches:
        for first in range(0, stretch.count, INSTANTS_AT_ONCE):
            rows = stretch.rows(first, min(INSTANTS_AT_ONCE, stretch.count - first))
            one, other = (run.contacts(which) for run, which in zip(runs, rows, strict=True))
            yield from zip(one, other, strict=True)


def _single(stretches: Sequence[Stretch], instant: int) -> Stretch:
    """Cut one pair of rows out of the stretches."""
    for stretch in stretches:
        if instant < stretch.count:
            rows, others = stretch.rows(instant, 1)
            return Stretch(rows.start, others.start, 1, 1, 1)
        instant -= stretch.count
    raise IndexError(instant)


def _paired(one: Contacts, other: Contacts) -> tuple[Integers, Integers]:
    """Pair contacts of the same two bodies by the distance of their points; -1 stands for one that is missing."""
    pairs, others = one.pairs(), other.pairs()
    if np.array_equal(pairs, others) and np.array_equal(one.columns[POINT], other.columns[POINT]):
        everyone = np.arange(len(pairs))
        return everyone, everyone
    left: list[int] = []
    right: list[int] = []
    for who in np.unique(np.concatenate([pairs, others]), axis=0):
        mine, theirs = (np.flatnonzero((rows == who).all(axis=1)) for rows in (pairs, others))
        apart = np.linalg.norm(one.columns[POINT][mine][:, None] - other.columns[POINT][theirs], axis=2)
        matched = linear_sum_assignment(apart)
        left += [*mine[matched[0]], *np.delete(mine, matched[0]), *[-1] * (len(theirs) - len(matched[1]))]
        right += [*theirs[matched[1]], *[-1] * (len(mine) - len(matched[0])), *np.delete(theirs, matched[1])]
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)


def _taken(values: Array, rows: Integers) -> Floats:
    """Take rows of an array of numbers; NaN for what is missing."""
    taken: Floats = np.full((len(rows), *values.shape[1:]), np.nan)
    taken[rows >= 0] = values[rows[rows >= 0]]
    return taken
