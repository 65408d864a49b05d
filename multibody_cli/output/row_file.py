"""Rows of a sweep in progress: a file to which complete rows are appended, in any order.

Each line is a checksum and a JSON text: the digest of the sweep, the columns of following rows, or rows, whose numbers
are the bytes of float64 in base64.  A killed process leaves complete lines and at most one that is cut off, which is
removed when the file is opened again.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np

from multibody_cli.errors import ArgumentError, OutputError
from multibody_cli.model import Integers
from multibody_cli.output.rows import OUTCOMES, Column, Rows, distinct_columns

VERSION = 2
_MISSING = -1


def row_file_path(table: Path) -> Path:
    """Return the path of the rows of a table while its sweep is in progress."""
    return table.with_name(table.name + ".rows")


class RowFile:
    """The complete rows of a sweep.

    Parameters
    ----------
    path
        The file; it is created if it does not exist.
    digest
        Digest of the definition of the sweep.
    count
        Number of runs of the sweep.
    discard
        Whether to discard the rows of another sweep.

    Raises
    ------
    ArgumentError
        The file has rows of another sweep, or another process writes it.
    OutputError
        The file cannot be written.
    """

    def __init__(self, path: Path, digest: str, count: int, discard: bool = False) -> None:
        self.path = path
        self._offsets = np.full(count, _MISSING, np.int64)  # of the line of each run
        self._columns: list[tuple[Column, ...]] = []
        self._first_run: list[int] = []  # by index of the columns
        self.lengths = dict.fromkeys(OUTCOMES, 0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "r+b")
            with ExitStack() as held:
                held.enter_context(self._file)
                self._claim()
                self._read(digest, discard)
                held.pop_all()
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another place") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def missing(self) -> Integers:
        """Numbers of the runs without a row."""
        return np.flatnonzero(self._offsets == _MISSING)

    @property
    def runs(self) -> Integers:
        """Numbers of the runs with a row."""
        return np.flatnonzero(self._offsets != _MISSING)

    def add(self, blocks: Sequence[Rows]) -> None:
        """Append rows and write them to the disk (fsync); a run that has a row keeps it.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        try:
            self._file.seek(0, os.SEEK_END)
            offset = self._file.tell()
            for block in blocks:
                rows = block.only(self._offsets[block.runs] == _MISSING)
                if not len(rows.runs):
                    continue
                if rows.columns not in self._columns:
                    self._columns.append(rows.columns)
                    self._first_run.append(len(self._offsets))
                    offset += self._file.write(_line({"columns": rows.columns}))
                index = self._columns.index(rows.columns)
                content = {"runs": rows.runs.tolist(), "endings": rows.endings, "of": index}
                values = b64encode(np.ascontiguousarray(rows.values, "<f8").data).decode()
                self._note(rows, index, offset)
                offset += self._file.write(_line({**content, "values": values}))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}; make space and resume") from error

    def columns(self) -> list[Column]:
        """Return the columns of all rows, in the order of the runs in which they first occur."""
        ordered = sorted(range(len(self._columns)), key=self._first_run.__getitem__)
        return distinct_columns(column for index in ordered for column in self._columns[index])

    def rows(self, runs: Integers) -> Iterator[Rows]:
        """Yield the rows of some runs, in the order of the file."""
        wanted = np.zeros(len(self._offsets), bool)
        wanted[runs] = True
        end = -1
        for offset in np.unique(self._offsets[runs]).tolist():
            if offset != end:  # a seek discards data that was read ahead
                self._file.seek(offset)
            line = self._file.readline()
            end = offset + len(line)
            content = _content(line)
            if content is None:
                raise OutputError(f"{self.path} was changed by another program: run the sweep again with --force")
            rows = self._rows_of(content)
            yield rows.only(wanted[rows.runs] & (self._offsets[rows.runs] == offset))

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def _claim(self) -> None:
        """Lock the file until it is closed."""
        try:
            # unlike a lock of `flock`, this one is not inherited by workers, which may live longer
            fcntl.lockf(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise ArgumentError(f"{self.path} is written by another sweep: wait, or choose another table") from None

    def _read(self, digest: str, discard: bool) -> None:
        """Read the rows up to the first line that is not complete, and remove the rest; `discard` those of others."""
        offset = 0
        self._file.seek(0)
        for line in self._file:
            content = _content(line)
            if content is None:
                break
            if "digest" in content:
                if (content["digest"], content["version"]) != (digest, VERSION):
                    if discard:
                        break
                    raise ArgumentError(
                        f"{self.path} has rows of another sweep: repeat its command to complete it, use --force to "
                        "discard them, or choose another table with -o"
                    )
            elif "columns" in content:
                self._columns.append(tuple(Column(*one) for one in content["columns"]))
                self._first_run.append(len(self._offsets))
            else:
                self._note(self._rows_of(content), content["of"], offset)
            offset += len(line)
        self._file.truncate(offset)
        self._file.seek(offset)
        if not offset:
            self._file.write(_line({"digest": digest, "version": VERSION}))
            self._file.flush()
            os.fsync(self._file.fileno())

    def _rows_of(self, content: dict[str, Any]) -> Rows:
        columns, runs = self._columns[content["of"]], np.array(content["runs"])
        values = np.frombuffer(b64decode(content["values"]), "<f8").reshape(len(runs), len(columns))
        return Rows(runs, [*map(tuple, content["endings"])], columns, values)

    def _note(self, rows: Rows, index: int, offset: int) -> None:
        self._offsets[rows.runs] = offset
        self._first_run[index] = min(self._first_run[index], int(rows.runs.min()))
        for ending in {*rows.endings}:
            for name, text in zip(OUTCOMES, ending, strict=True):
                self.lengths[name] = max(self.lengths[name], len(text.encode()))


def _line(content: dict[str, Any]) -> bytes:
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _content(line: bytes) -> dict[str, Any] | None:
    """Return the content of a line; None if it is not complete."""
    checksum, _, text = line.partition(b" ")
    if not text.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text[:-1]):
        return None
    found: dict[str, Any] = json.loads(text)
    return found
