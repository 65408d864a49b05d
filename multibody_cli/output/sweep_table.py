"""Table of a sweep in HDF5: one row for each run; its columns are keys, the outcome and the kept numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py
import numpy as np
from h5py import h5d, h5g, h5t

from multibody_cli.errors import ResultError, nearest
from multibody_cli.output.file_replacement import replacement
from multibody_cli.output.global_heaps import open_checked
from multibody_cli.output.hdf5_checks import (
    Defect,
    datasets_of,
    plain_attributes,
    read_attribute,
    read_list,
    require_bounded,
    require_numbers,
    require_stored,
    sorted_parts,
)
from multibody_cli.output.rows import OUTCOMES, Column, Rows

if TYPE_CHECKING:
    from multibody_cli.model import Integers
    from multibody_cli.output.channel import Array

FORMAT = "mbsim-sweep"
FORMAT_VERSION = 1
BLOCK = 4096
"""Rows of a chunk, and rows that are in memory together."""

RUN = "run"
ROLES = {
    RUN: "number of the run, from 0, in the order of the design",
    "key": "value of a key that varies, in the unit of `units`",
    "outcome": "how the run ended",
    "result": "number that is kept of the run; NaN if the run did not reach its end",
}
"""Meaning of a column, by its attribute `role`."""

_FAILURES = (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError)
"""Errors of h5py about damaged files."""


class KeyValues(NamedTuple):
    """Column of a key: the values of runs are numbers, or texts of at most `length` bytes."""

    column: Column
    values: Callable[[Integers], Array]
    length: int = 0


def write_sweep_table(
    path: Path,
    attributes: Mapping[str, str | int],
    keys: Sequence[KeyValues],
    columns: Sequence[Column],
    lengths: Mapping[str, int],
    runs: Integers,
    rows_of: Callable[[Integers], Iterable[Rows]],
) -> None:
    """Write a table, or replace it by the whole table.

    Parameters
    ----------
    path
        The file.
    attributes
        Attributes of the file.
    keys
        Columns of the varied keys.
    columns
        Columns of the kept numbers of all rows, as `distinct_columns` returns them; a row without one of them has NaN
        there.
    lengths
        Length of the longest text of each column of `OUTCOMES`, bytes.
    runs
        Numbers of the runs with a row, in ascending order.
    rows_of
        Returns the rows of some of these runs, in any order.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    index_of = {(column.name, column.units): index for index, column in enumerate(columns)}
    with replacement(path) as new, h5py.File(new, "w") as file:
        file.attrs.update({"format": FORMAT, "format_version": FORMAT_VERSION, **attributes})
        create = _Creator(file, len(runs))
        run = create(Column(RUN, "", f"{ROLES[RUN].capitalize()}."), RUN, np.dtype(np.int64))
        varied = [create(one.column, "key", _type_of(one.length)) for one in keys]
        texts = [
            create(Column(name, "", about), "outcome", _type_of(max(1, lengths[name])))
            for name, about in OUTCOMES.items()
        ]
        kept = [create(column, "result", _type_of(0)) for column in _titled(columns)]
        for start in range(0, len(runs), BLOCK):
            some = runs[start : start + BLOCK]
            part = slice(start, start + len(some))
            endings = [np.empty(len(some), dataset.dtype) for dataset in texts]
            numbers = np.full((len(columns), len(some)), np.nan)
            for rows in rows_of(some):
                indices = np.searchsorted(some, rows.runs)
                for column, words in zip(endings, zip(*rows.endings, strict=True), strict=True):
                    column[indices] = [word.encode() for word in words]
                own = np.array([index_of[one.name, one.units] for one in rows.columns], np.int64)
                numbers[own[:, None], indices] = rows.values.T
            run[part] = some
            for dataset, one in zip(varied, keys, strict=True):
                dataset[part] = np.asarray(one.values(some)).astype(dataset.dtype)
            for dataset, values in zip((*texts, *kept), (*endings, *numbers), strict=True):
                dataset[part] = values


def _titled(columns: Sequence[Column]) -> list[Column]:
    """Return columns of which those that have one name and several units are named with their unit."""
    counts = Counter(column.name for column in columns)
    return [
        column if counts[column.name] == 1 else column._replace(name=f"{column.name} [{column.units or '1'}]")
        for column in columns
    ]


class _Creator:
    """Creates the datasets of a table in their order."""

    def __init__(self, file: Any, count: int) -> None:
        self._file, self._count, self._position = file, count, 0

    def __call__(self, column: Column, role: str, dtype: Any) -> Any:
        chunked = {"chunks": (min(BLOCK, self._count),), "compression": "gzip", "shuffle": True}
        layout = chunked if self._count else {}  # HDF5 has no chunks of a table without rows
        dataset = self._file.create_dataset(column.name, (self._count,), dtype, **layout)
        about = {"units": column.units, "description": column.description, "role": role, "position": self._position}
        dataset.attrs.update(about)
        self._position += 1
        return dataset


def _type_of(length: int) -> Any:
    """Return the type of a column: float64, or texts of at most `length` bytes."""
    return h5py.string_dtype("utf-8", length) if length else np.dtype(np.float64)


class SweepTable:
    """Read access to a table.

    Parameters
    ----------
    path
        The file.

    Attributes
    ----------
    attributes
        Attributes of the file.
    columns
        The columns in their order.
    count
        Number of rows.

    Raises
    ------
    ResultError
        The file is no table of a sweep, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _translating_errors(path), open_checked(path) as file:
            root = h5g.open(file.id, b"/")
            self.attributes = plain_attributes(root)
            if self.attributes.get("format") != FORMAT:
                raise ResultError(f"{path} is not a table of `mbsim sweep`")
            if (version := self.attributes.get("format_version")) != FORMAT_VERSION:
                raise ResultError(f"{path} has format version {version}; this mbsim reads {FORMAT_VERSION}")
            for name in ("accepted", "accepted_misses"):
                read_list(f"attribute `{name}`", str(self.attributes.get(name, "[]")))
            file_bytes = path.stat().st_size
            found = []
            for name, node in datasets_of(root):
                role = _role_of(name, node, file_bytes)
                texts = (read_attribute(name, node, word, str) for word in ("units", "description"))
                found.append((read_attribute(name, node, "position", int), role, Column(name, *texts), node.shape))
            found.sort()
            self.columns = tuple(column for _, _, column, _ in found)
            self._roles = {column.name: role for _, role, column, _ in found}
            missing = {RUN, *OUTCOMES} - {*self._roles}
            if missing:
                raise Defect(min(missing), "is missing")
            (self.count,) = shape = next(shape for _, _, column, shape in found if column.name == RUN)
            other = next((column.name for _, _, column, own in found if own != shape), None)
            if other is not None:
                raise Defect(other, "has another number of rows than `run`")
            _require_distinct_runs(file)

    @property
    def keys(self) -> list[Column]:
        """Columns of the varied keys."""
        return self.of_role("key")

    def of_role(self, role: str) -> list[Column]:
        """Return the columns of a role, a key of `ROLES`."""
        return [column for column in self.columns if self._roles[column.name] == role]

    def column(self, name: str) -> Column:
        """Return the column of a name.

        Raises
        ------
        ResultError
            There is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise ResultError(f"{self.path} has no column `{name}`: {nearest(name, [one.name for one in self.columns])}")

    def read(self, name: str, rows: slice = slice(None)) -> Array:
        """Return values of a column, (K,): numbers, or texts as objects."""
        self.column(name)
        with _translating_errors(self.path), open_checked(self.path) as file:
            dataset = file[name]
            require_bounded(name, dataset.id, len(range(self.count)[rows]))
            if h5py.check_string_dtype(dataset.dtype):
                return np.asarray(dataset.asstr()[rows], object)
            return np.asarray(dataset[rows])

    # --- as `output.table_formats` reads it -------------------------------------------------------------------------
    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    @property
    def units(self) -> list[str]:
        """Units of the columns; 1 for plain numbers and texts."""
        return [column.units or "1" for column in self.columns]

    @property
    def descriptions(self) -> list[str]:
        """Sentences that describe the columns."""
        return [column.description for column in self.columns]

    def blocks(self) -> Iterator[list[Array]]:
        """Read the table in blocks of rows: the next K values of each column."""
        for start in range(0, max(1, self.count), BLOCK):
            yield [_plain(self.read(name, slice(start, start + BLOCK))) for name in self.names]

    row_blocks = blocks

    def whole_columns(self) -> Iterator[Array]:
        """Read column after column, (N,)."""
        return (_plain(self.read(name)) for name in self.names)


def _plain(values: Array) -> Array:
    """Return texts as an array of texts instead of objects."""
    return values.astype(str) if values.dtype == object else values


def _role_of(name: str, node: h5d.DatasetID, file_bytes: int) -> str:
    """Return the role of a column, a key of `ROLES`; refuse other values than those of its role."""
    role: str = read_attribute(name, node, "role", str)
    if role not in ROLES or (role == RUN) != (name == RUN) or (role == "outcome") != (name in OUTCOMES):
        raise Defect(name, f"cannot have the role `{role}`")
    if len(node.shape) != 1:
        raise Defect(name, f"expected one axis, found the shape {node.shape}")
    kind = node.get_type()
    is_text = isinstance(kind, h5t.TypeStringID) and not kind.is_variable_str()
    if role == "outcome" and not is_text:
        raise Defect(name, "expected texts of a fixed length")
    if role == RUN or not (is_text and role in ("key", "outcome")):
        require_numbers(name, node, "<i8" if role == RUN else "<f8")
    require_stored(name, node, file_bytes)
    return role


def _require_distinct_runs(file: h5py.File) -> None:
    """Refuse a table whose rows are not in the order of the runs, or of which two belong to one run."""
    last = -1
    for runs in sorted_parts(file, RUN, 0):
        if (np.diff(runs, prepend=last) < 1).any():
            raise Defect(RUN, "two rows have the same number")
        last = runs[-1]


@contextmanager
def _translating_errors(path: Path) -> Iterator[None]:
    """Translate errors of HDF5, and defects, into a `ResultError` with a remedy."""
    try:
        yield
    except _FAILURES as error:
        raise ResultError(f"{path} is damaged: {error}; run the sweep again") from error


def is_sweep_table(path: Path) -> bool:
    """Whether a file is a table of a sweep, by its attribute `format`."""
    try:
        with open_checked(path) as file:
            return plain_attributes(h5g.open(file.id, b"/")).get("format") == FORMAT
    except _FAILURES:
        return False
