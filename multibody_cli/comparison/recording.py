"""Recordings: open result files that are read slab by slab; instants that two share, and settings that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.document.formats import yaml
from multibody_cli.errors import ResultError, SceneError, shortened
from multibody_cli.model import Floats, Integers
from multibody_cli.nodes import NodePath, Problems, format_path, plain
from multibody_cli.output.channel import CONTACT, INSTANT, Array
from multibody_cli.output.channels import declaration_of
from multibody_cli.output.contact_channels import INSTANT_OF_CONTACT
from multibody_cli.output.trajectory import open_result


class RowRange(NamedTuple):
    """Rows of a file: the offsets `which` from `start`, within the range `start` to `stop`."""

    start: int
    stop: int
    which: Integers


class Recording(AbstractContextManager["Recording"]):
    """A result file, open for reading until the end of a `with` block.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ResultError
        The file cannot be read or is not a result file; all methods raise it for a damaged dataset.
    """

    def __init__(self, path: Path) -> None:
        result = open_result(path)
        self.path = path
        self.attributes = result.attributes
        self.scene_yaml = result.scene_yaml
        self.bodies = result.bodies
        self.com = result.com
        self._file = result.open()
        self.certificate = self._file.certificate()
        described = [self._file.describe(name) for name in result.rows]
        self.instants = result.rows["time"]
        self.datasets = {one.path: one for one in described if one.per == INSTANT}
        # the instants of contacts are indices, not results
        self.contacts = {one.path: one for one in described if one.per == CONTACT and one.path != INSTANT_OF_CONTACT}

    def __exit__(self, *_: object) -> None:
        self._file.__exit__()

    def read(self, path: str, start: int, stop: int) -> Array:
        """Read the rows `start` to `stop` - 1 of a dataset."""
        return self._file.numbers(path, start, stop)

    def take(self, path: str, rows: RowRange) -> Array:
        """Read selected rows of a dataset; the whole range is read because strided reads of HDF5 are slow."""
        every: Array = self.read(path, rows.start, rows.stop)
        return every if len(rows.which) == len(every) else every[rows.which]

    def time_at(self, row: int) -> float:
        """Read the time of an instant, s."""
        return float(self.read("time", row, row + 1)[0])

    def lacks(self, paths: Sequence[str]) -> list[str]:
        """Return the datasets of contacts that the file does not have."""
        return [path for path in paths if path not in self.contacts]

    def labels(self, path: str, axis: int) -> tuple[str, ...]:
        """Return the labels of an axis after time; indices if the file has none."""
        return self._file.labels(path)[axis - 1]

    def is_of_bodies(self, path: str) -> bool:
        """Whether the second axis of a dataset is the axis of bodies."""
        declaration = declaration_of(path)
        return declaration is not None and declaration.dimensions[:1] == ("body",)


NEAR = 1e-6
"""Instants are equal if they differ by less than this fraction of the smallest interval."""


class Instants(NamedTuple):
    """Common instants of two runs, in order: their rows (n,) in both files."""

    reference: Integers
    result: Integers

    @property
    def number(self) -> int:
        """Number of common instants."""
        return len(self.reference)

    def pair(self, number: int) -> tuple[int, int]:
        """Return the rows of one instant in both files; a negative number counts from the end."""
        return int(self.reference[number]), int(self.result[number])

    def alone(self, number: int) -> Instants:
        """Return one instant."""
        return Instants(self.reference[number, None], self.result[number, None])

    def slabs(self, most: int) -> Iterator[tuple[RowRange, RowRange]]:
        """Yield all pairs in slabs that span `most` rows of each file at most, or in single pairs."""
        first = 0
        while first < self.number:
            ends = [int(np.searchsorted(rows, rows[first] + most)) for rows in self]
            last = max(first + 1, min(ends))
            one, other = (rows[first:last] for rows in self)
            yield _taken(one), _taken(other)
            first = last


def _taken(rows: Integers) -> RowRange:
    return RowRange(int(rows[0]), int(rows[-1]) + 1, rows - rows[0])


def common_instants(reference: Recording, result: Recording) -> Instants:
    """Return the pairs of rows of equal instants, in order."""
    return Instants(*common_rows(*(run.read("time", 0, run.instants) for run in (reference, result))))


def common_rows(first: Floats, *others: Floats) -> list[Integers]:
    """Return the rows of the instants that all runs have, in each of them, from their times, s."""
    rows = [np.arange(len(first))]
    for times in others:
        found, partners = _pairs(first[rows[0]], times)
        rows = [*(own[found] for own in rows), partners]
    return rows


def _pairs(times: Floats, others: Floats) -> tuple[Integers, Integers]:
    """Return the rows of equal instants of two runs; each has one partner."""
    if not len(times) or not len(others):
        return np.arange(0), np.arange(0)
    steps = np.concatenate([np.diff(times), np.diff(others)])
    spacing = np.min(steps[steps > 0.0], initial=np.inf)
    near = NEAR * spacing if np.isfinite(spacing) else 1e-12
    after = np.clip(np.searchsorted(others, times), 0, len(others) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(others[before] - times) <= np.abs(others[after] - times), before, after)
    found = np.flatnonzero(np.abs(others[nearest] - times) <= near + 1e-12 * np.abs(times))
    found = found[np.unique(nearest[found], return_index=True)[1]]
    return found, nearest[found]


ABSENT = "(absent)"

COMPARED = ("mbsim_version", "format_version", "name", "method", "integrator", "options", "step", "duration")
"""Attributes of the file whose differences are reported."""

_NOT_REPORTED = {("simulation", word) for word in ("method", "integrator", "step", "duration", "options")} | {
    ("name",),
    ("description",),
}
"""Paths in the scene that are attributes as well, or have no effect on the result."""


class Setting(NamedTuple):
    """One setting that differs between two runs.

    `kind` is the same for corresponding fields of the elements of a section, as `bodies.mass`.
    """

    name: str
    reference: str
    result: str
    kind: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reference} -> {self.result}"


def differing_settings(reference: Recording, result: Recording) -> list[Setting]:
    """List the differences between the attributes and the scenes of two files."""
    pairs = ((name, reference.attributes.get(name), result.attributes.get(name)) for name in COMPARED)
    settings = [Setting(name, _shortened(one), _shortened(other), name) for name, one, other in pairs if one != other]
    if reference.attributes.get("scene_sha256") != result.attributes.get("scene_sha256"):
        scenes = _read(reference), _read(result)
        settings += [
            Setting(format_path(path), _shortened(one), _shortened(other), _kind(path))
            for path, one, other in _leaves(*scenes, ())
            if path[:2] not in _NOT_REPORTED
        ]
    return settings


def merged(settings: Sequence[Setting]) -> list[str]:
    """Describe settings with one line for each kind, since one edit of a variable may change many elements."""
    kinds: dict[str, list[Setting]] = {}
    for setting in settings:
        kinds.setdefault(setting.kind, []).append(setting)
    return [str(first) + (f" (and {len(rest)} similar)" if rest else "") for first, *rest in kinds.values()]


def _kind(path: NodePath) -> str:
    """Return the path without the name of the element and without indices."""
    return format_path([step for place, step in enumerate(path) if place != 1 and isinstance(step, str)])


def _read(run: Recording) -> Any:
    problems = Problems()
    try:
        # the parser of scenes bounds the number of values, those of aliases included, and their depth
        tree = yaml.read(run.scene_yaml, "scene/yaml", problems)
        problems.raise_any()
    except SceneError as error:
        first = error.problems[0]
        raise ResultError(f"{run.path} is damaged at {first.where} ({first.message}); run the scene again") from error
    return plain(tree)


def _leaves(one: Any, other: Any, path: NodePath) -> Iterator[tuple[NodePath, Any, Any]]:
    """Yield the deepest paths at which two trees of plain data differ."""
    steps = _steps(one, other)
    if steps is None:
        if one != other:
            yield path, one, other
        return
    for step in steps:
        yield from _leaves(_child(one, step), _child(other, step), (*path, step))


def _steps(one: Any, other: Any) -> list[str | int] | None:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return [*one, *(key for key in other if key not in one)]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return list(range(len(one)))
    return None


def _child(tree: Any, step: Any) -> Any:
    return tree.get(step, ABSENT) if isinstance(tree, Mapping) else tree[step]


def _shortened(value: Any) -> str:
    return shortened(" ".join(str(value).split()) or "none", 60)
