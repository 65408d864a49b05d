"""Comparison of contacts: the contacts of two runs are paired at each instant, independently of their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.comparison.differences import ComparedValue, DatasetDifference, Differences, Location
from multibody_cli.comparison.recording import Instants, Recording, RowRange
from multibody_cli.comparison.tolerance import Policy, Tolerance
from multibody_cli.errors import ResultError
from multibody_cli.model import Floats, Integers
from multibody_cli.output.channel import Array
from multibody_cli.output.contact_channels import BODY_PAIR, GROUP, OFFSET

INSTANTS_AT_ONCE = 1000

POINT = f"{GROUP}/point"
MOMENT_IMPULSE = f"{GROUP}/moment_impulse"
SIGN_CHANGING = (f"{GROUP}/normal", f"{GROUP}/tangential_impulse", MOMENT_IMPULSE)
"""Datasets that change sign when bodies A and B are exchanged."""
WORLD = -1
NORMAL, NORMAL_IMPULSE, TANGENTIAL_IMPULSE, MODE = (
    f"{GROUP}/{name}" for name in ("normal", "normal_impulse", "tangential_impulse", "mode")
)
NON_FINITE_DISTANCE = 1e300
"""Distance assigned to points with non-finite coordinates, m."""


class ContactsAtInstant(NamedTuple):
    """The contacts of one run at one instant: datasets by path, with one row for each contact."""

    columns: dict[str, Array]

    def pairs(self) -> Integers:
        """Indices of the bodies in contact, (n, 2), the smaller first."""
        pairs: Integers = np.sort(np.column_stack([self.columns[path] for path in BODY_PAIR]), axis=1)
        return pairs


def compare_contacts(
    reference: Recording,
    result: Recording,
    common: Instants,
    policy: Policy,
    paths: Sequence[str],
    notes: list[str],
    time_of: Callable[[int], float],
) -> list[DatasetDifference]:
    """Compare every dataset of contacts; a contact that only one run has is a difference in each of them.

    Parameters
    ----------
    reference, result
        The runs.
    common
        The common instants.
    policy
        The tolerances.
    paths
        The datasets to compare, present in both files.
    notes
        List to which a note is added if contacts cannot be paired in either file.
    time_of
        Function that returns the time of the n-th common instant, s.

    Raises
    ------
    ResultError
        One of the files has contacts without their bodies or points.
    """
    if not paths:
        return []
    lacking = [run.lacks([*BODY_PAIR, POINT]) for run in (reference, result)]
    if lacking[0] and lacking[0] == lacking[1]:
        notes.append(f"contacts are not compared: pairing requires {', '.join(lacking[0])} in both files")
        return []
    for run, names in zip((reference, result), lacking, strict=True):
        if names:
            raise ResultError(
                f"{run.path} has contacts without {names[0]}; run the scene again with all of `{GROUP}` recorded"
            )
    bodies = list(dict.fromkeys([*reference.bodies, *result.bodies]))
    gathered = {
        path: Differences(policy.tolerance_of(reference.contacts[path]), reference.contacts[path].same)
        for path in paths
    }
    loads = [path for path in (NORMAL_IMPULSE, TANGENTIAL_IMPULSE, MOMENT_IMPULSE, MODE) if path in gathered]
    undetermined = 0
    for instant, (one, other) in enumerate(_instants(reference, result, common, paths)):
        left, right = _paired(one, other)
        redistributed = np.zeros(len(left), np.bool_)
        values = {
            path: (_rows_or_nan(one.columns[path], left), _rows_or_nan(other.columns[path], right)) for path in gathered
        }
        if NORMAL_IMPULSE in gathered and any(gathered[path].exceeds(*values[path]) for path in loads):
            with np.errstate(invalid="ignore", over="ignore"):  # numbers may not be finite
                redistributed = _redistributed(one, other, left, right, gathered[NORMAL_IMPULSE].tolerance)
        undetermined += bool(redistributed.any())
        for path, (ours, theirs) in values.items():
            if path in loads:
                theirs[redistributed] = ours[redistributed]
            if path == MODE and NORMAL_IMPULSE in gathered:
                unloaded = np.maximum(*values[NORMAL_IMPULSE]) <= gathered[NORMAL_IMPULSE].tolerance.atol
                theirs[unloaded] = ours[unloaded]  # round-off decides the mode of a contact without a load
            gathered[path].add(ours[None], theirs[None], instant)
    if undetermined:
        notes.append(
            f"at {undetermined} of {common.number} instants only the distribution of impulses among the contacts of "
            "two bodies differs, which rigid bodies leave undetermined; resultant impulses and moments agree"
        )

    def finding(path: str) -> DatasetDifference:
        def locate(place: ComparedValue) -> Location:
            contact, *index = place.index
            labels = [reference.labels(path, axis + 1) for axis in range(len(index))]
            component = " ".join(row[step] for row, step in zip(labels, index, strict=True) if len(row) > 1)
            one, other = next(_instants(reference, result, common.alone(place.row), paths))
            left, right = _paired(one, other)
            pair = one.pairs()[left[contact]] if left[contact] >= 0 else other.pairs()[right[contact]]
            body_pair = " and ".join(bodies[body] if body != WORLD else "world" for body in pair)
            return Location(time_of(place.row), f"contact of {body_pair}", component, place)

        described = reference.contacts[path]
        return DatasetDifference.of(path, described.units, described.role, gathered[path], locate)

    return [finding(path) for path in paths]


def _redistributed(
    one: ContactsAtInstant, other: ContactsAtInstant, left: Integers, right: Integers, tolerance: Tolerance
) -> NDArray[np.bool_]:
    """Return the contacts (n,) whose impulses are distributed otherwise between two bodies, with equal resultants.

    Resultant impulses agree within the tolerance, for the sum of the impulses between the two bodies, and moments about
    the mean contact point within that times the extent of the contacts.  A change from sticking to slipping is a
    difference.
    """
    found = np.zeros(len(left), np.bool_)
    if not {POINT, NORMAL, NORMAL_IMPULSE, TANGENTIAL_IMPULSE} <= one.columns.keys():
        return found
    paired = np.flatnonzero((left >= 0) & (right >= 0))
    pairs = one.pairs()[left[paired]]
    for pair in np.unique(pairs, axis=0):
        among = paired[(pairs == pair).all(axis=1)]
        rows = (one, left[among]), (other, right[among])
        impulses = [_impulses(run, which) for run, which in rows]
        points = [run.columns[POINT][which] for run, which in rows]
        allowed = tolerance.atol + tolerance.rtol * np.linalg.norm(impulses[0], axis=1).sum()
        arms = [place - points[0].mean(axis=0) for place in points]
        forces = [impulse.sum(axis=0) for impulse in impulses]
        own = [run.columns[MOMENT_IMPULSE][which] if MOMENT_IMPULSE in run.columns else 0.0 for run, which in rows]
        moments = [
            (np.cross(arm, impulse) + moment).sum(axis=0)
            for arm, impulse, moment in zip(arms, impulses, own, strict=True)
        ]
        agree = np.abs(forces[1] - forces[0]).max() <= allowed
        agree = agree and np.abs(moments[1] - moments[0]).max() <= allowed * np.abs(arms[0]).max()
        found[among] = agree and not _slips_otherwise(rows) and len(among) > 1
    return found


def _impulses(run: ContactsAtInstant, rows: Integers) -> Floats:
    """Impulses of some contacts on body B, (n, 3), N s."""
    normal = run.columns[NORMAL_IMPULSE][rows, None] * run.columns[NORMAL][rows]
    found: Floats = normal + run.columns[TANGENTIAL_IMPULSE][rows]
    return found


def _slips_otherwise(rows: Sequence[tuple[ContactsAtInstant, Integers]]) -> bool:
    """Whether a contact sticks in one run and slips in the other."""
    if MODE not in rows[0][0].columns:
        return False
    before, after = (run.columns[MODE][which] for run, which in rows)
    return bool(((before != after) & (before > 0) & (after > 0)).any())


def _instants(
    reference: Recording, result: Recording, common: Instants, paths: Sequence[str]
) -> Iterator[tuple[ContactsAtInstant, ContactsAtInstant]]:
    """Yield the contacts of both runs at each common instant; many instants are read at once."""
    names = list(dict.fromkeys([*reference.bodies, *result.bodies]))
    for rows, others in common.slabs(INSTANTS_AT_ONCE):
        yield from zip(_contacts(reference, rows, paths, names), _contacts(result, others, paths, names), strict=True)


def _contacts(run: Recording, rows: RowRange, paths: Sequence[str], names: Sequence[str]) -> list[ContactsAtInstant]:
    """Read contacts, with bodies as indices in `names`."""
    offset = run.read(OFFSET, rows.start, rows.stop + 1)
    begin = int(offset[0])
    columns = {path: run.read(path, begin, int(offset[-1])) for path in {POINT, *BODY_PAIR, *paths}}
    columns |= _renumbered(columns, np.array([*(names.index(name) for name in run.bodies), WORLD]))
    return [
        ContactsAtInstant(
            {path: values[offset[at] - begin : offset[at + 1] - begin] for path, values in columns.items()}
        )
        for at in rows.which
    ]


def _renumbered(columns: dict[str, Array], places: Integers) -> dict[str, Array]:
    """Renumber the bodies, the world last, and exchange A and B where A has the larger index."""
    a, b = (places[columns[path]] for path in BODY_PAIR)
    signs = np.where(a > b, -1.0, 1.0)[:, None]
    turned = {path: signs * columns[path] for path in SIGN_CHANGING if path in columns}
    return dict(zip(BODY_PAIR, np.sort([a, b], axis=0), strict=True)) | turned


def _paired(one: ContactsAtInstant, other: ContactsAtInstant) -> tuple[Integers, Integers]:
    """Pair contacts of the same two bodies by minimum distance of their points; -1 marks a missing contact."""
    from scipy.optimize import linear_sum_assignment

    pairs, others = one.pairs(), other.pairs()
    if np.array_equal(pairs, others) and np.array_equal(one.columns[POINT], other.columns[POINT]):
        every_contact = np.arange(len(pairs))
        return every_contact, every_contact
    left: list[int] = []
    right: list[int] = []
    for body_pair in np.unique(np.concatenate([pairs, others]), axis=0):
        mine, theirs = (np.flatnonzero((rows == body_pair).all(axis=1)) for rows in (pairs, others))
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.linalg.norm(one.columns[POINT][mine][:, None] - other.columns[POINT][theirs], axis=2)
        matched = linear_sum_assignment(np.nan_to_num(apart, nan=NON_FINITE_DISTANCE, posinf=NON_FINITE_DISTANCE))
        left += [*mine[matched[0]], *np.delete(mine, matched[0]), *[-1] * (len(theirs) - len(matched[1]))]
        right += [*theirs[matched[1]], *[-1] * (len(mine) - len(matched[0])), *np.delete(theirs, matched[1])]
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)


def _rows_or_nan(values: Array, rows: Integers) -> Floats:
    """Return rows of an array, with NaN for missing rows (-1)."""
    taken: Floats = np.full((len(rows), *values.shape[1:]), np.nan)
    taken[rows >= 0] = values[rows[rows >= 0]]
    return taken
