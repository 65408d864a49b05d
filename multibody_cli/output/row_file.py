"""Rows of a sweep in progress: a file to which each complete row is appended, in any order.

Each line is a checksum and a JSON text: the digest of the sweep, the columns of following rows, or a row.  A killed
process leaves complete lines and at most one that is cut off, which is removed when the file is opened again.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np

from multibody_cli.errors import ArgumentError, OutputError
from multibody_cli.output.sweep_table import OUTCOMES, Column, Row, distinct_columns

VERSION = 1
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
        self._offsets = np.full(count, _MISSING, np.int64)
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
    def missing(self) -> list[int]:
        """Numbers of the runs without a row."""
        found: list[int] = np.flatnonzero(self._offsets == _MISSING).tolist()
        return found

    def add(self, rows: Sequence[Row]) -> None:
        """Append rows and write them to the disk (fsync).

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        try:
            self._file.seek(0, os.SEEK_END)
            place = self._file.tell()
            lines: list[bytes] = []
            columns: tuple[Column, ...] | None = None
            for row in rows:
                if self._offsets[row.run] != _MISSING:
                    continue
                if row.columns is not columns:  # those of the row before are often the same object
                    columns = row.columns
                    if columns not in self._columns:
                        lines.append(_line({"columns": columns}))
                        place += len(lines[-1])
                        self._columns.append(columns)
                        self._first_run.append(row.run)
                    index = self._columns.index(columns)
                texts = {name: getattr(row, name) for name in OUTCOMES}
                lines.append(_line({RUN: row.run, **texts, "of": index, "values": row.values}))
                self._note(row.run, index, texts, place)
                place += len(lines[-1])
            self._file.write(b"".join(lines))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}; make space and resume") from error

    def columns(self) -> list[Column]:
        """Return the columns of all rows, in the order of the runs in which they first occur."""
        ordered = sorted(range(len(self._columns)), key=self._first_run.__getitem__)
        return distinct_columns(column for index in ordered for column in self._columns[index])

    def rows(self) -> Iterator[Row]:
        """Yield the rows in the order of the runs."""
        place = -1
        for run in np.flatnonzero(self._offsets != _MISSING).tolist():
            if place != self._offsets[run]:  # a seek discards what was read ahead
                place = int(self._offsets[run])
                self._file.seek(place)
            line = self._file.readline()
            place += len(line)
            content = _content(line)
            if content is None:
                raise OutputError(f"{self.path} was changed by another program: run the sweep again with --force")
            texts = {name: content[name] for name in OUTCOMES}
            yield Row(run, columns=self._columns[content["of"]], values=tuple(content["values"]), **texts)

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
        place = 0
        self._file.seek(0)
        for line in self._file:
            content = _content(line)
            if content is None:
                break
            if "digest" in content:
                if content["digest"] != digest:
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
                self._note(content[RUN], content["of"], {name: content[name] for name in OUTCOMES}, place)
            place += len(line)
        self._file.truncate(place)
        self._file.seek(place)
        if not place:
            self._file.write(_line({"digest": digest, "version": VERSION}))
            self._file.flush()
            os.fsync(self._file.fileno())

    def _note(self, run: int, index: int, texts: dict[str, str], place: int) -> None:
        self._offsets[run] = place
        self._first_run[index] = min(self._first_run[index], run)
        for name, text in texts.items():
            self.lengths[name] = max(self.lengths[name], len(text.encode()))


RUN = "run"


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
