"""A file that HDF5 changes in place, and whose path nevertheless leads to a complete state at every instant.

HDF5 updates a file by many writes, between which the file cannot be read.  A `CommittedFile` therefore keeps two
copies: the one at its path, and the working copy at `PATH.new`, which HDF5 changes.  `commit` exchanges their names and
repeats the changes in the other copy.  A process killed at any time leaves the state of the last commit.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from multibody_cli.output.file_replacement import synchronize

PIECE = 2**20
"""Bytes that are copied at once."""


class CommittedFile(io.RawIOBase):
    """Binary file for h5py's driver `fileobj`.

    Errors of the system and interrupts do not reach HDF5, which may crash when it closes a file that it could not
    write: the first one is kept in `error`, and `commit` and `finish` raise it.

    Parameters
    ----------
    path
        Path of the committed state.  It is created at the first commit, and replaces an existing file.

    Raises
    ------
    BlockingIOError
        Another process writes the file.
    OSError
        The working copy cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._new = path.with_name(path.name + ".new")
        self._old = path.with_name(path.name + ".old")
        self._working = self._other = -1
        self._position = 0
        self._waiting = memoryview(bytearray(PIECE))
        self._start = self._end = 0
        self._changed: list[tuple[int, int]] = []
        self._is_new = True
        self.error: BaseException | None = None
        with ExitStack() as held:
            # until the new files are locked, so that of two runs that begin at once only one removes and creates files
            for one in (self._new, path, self._old):
                held.enter_context(_claimed(one))
            for one in (self._new, self._old):
                with suppress(FileNotFoundError):
                    os.unlink(one)
            self._working = _create(self._new)
            self._other = _create(self._old)

    def commit(self) -> None:
        """Make the present state the one at the path."""
        self._write_waiting()
        self._require_written()
        if not self._is_new:
            _add_name(self._path, self._old)
        self._is_new = False
        os.replace(self._new, self._path)
        os.replace(self._old, self._new)
        self._working, self._other = self._other, self._working
        self._repeat_changes()

    def synchronize(self) -> None:
        """Write the committed state to the disk (fsync)."""
        os.fsync(self._other)

    def finish(self, path: Path) -> None:
        """Write the present state to the disk and move it to another path of the same folder; end the file."""
        try:
            self._write_waiting()
            self._require_written()
            os.fsync(self._working)
            os.replace(self._new, self._path)
            os.replace(self._path, path)
            synchronize(path.parent)
        finally:
            self.close()

    def close(self) -> None:
        """End the file; the committed state remains."""
        for name in (self._new, self._old):
            with suppress(OSError):  # renamed
                if os.path.samestat(os.lstat(name), os.fstat(self._other if name == self._old else self._working)):
                    os.unlink(name)
        for descriptor in (self._working, self._other):
            with suppress(OSError):  # closed already
                os.close(descriptor)
        self._working = self._other = -1

    # --- as h5py calls it -----------------------------------------------------------------------------------------
    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position, relative to the start, the present position or the end."""
        if whence == os.SEEK_CUR:
            position += self._position
        elif whence == os.SEEK_END:
            self._write_waiting()
            position += os.fstat(self._working).st_size
        self._position = position
        return position

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; bytes beyond the end are 0."""
        self._write_waiting()
        data = os.pread(self._working, len(buffer), self._position)
        buffer[:] = data + bytes(len(buffer) - len(data))
        self._position += len(buffer)
        return len(buffer)

    def write(self, data: Any) -> int:
        """Write bytes at the position; those of successive writes wait for each other, and are written together."""
        start, count = self._position, len(data)
        end = self._position = start + count
        if start != self._end or end - self._start > PIECE:
            self._write_waiting()
            self._start = start
        if count > PIECE:
            self._write(data, start)
            self._start = end
        else:
            self._waiting[start - self._start : end - self._start] = data
        self._end = end
        return count

    def _write_waiting(self) -> None:
        """Write the bytes that wait, those from `_start` to `_end`."""
        if self._end > self._start:
            self._write(self._waiting[: self._end - self._start], self._start)
            self._start = self._end

    def _write(self, data: Any, start: int) -> None:
        self._changed.append((start, start + len(data)))
        if self.error is None:
            try:
                _write(self._working, data, start)
            except BaseException as error:
                self.error = error

    def truncate(self, size: int | None = None) -> int:
        """Set the size, by default to the position."""
        self._write_waiting()
        size = self._position if size is None else size
        if self.error is None:
            try:
                os.ftruncate(self._working, size)
            except BaseException as error:
                self.error = error
        return size

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    # --------------------------------------------------------------------------------------------------------------
    def _require_written(self) -> None:
        if self.error is not None:
            raise self.error

    def _repeat_changes(self) -> None:
        """Make the working copy equal to the committed one."""
        size = os.fstat(self._other).st_size
        for start, end in _merged(self._changed):
            _copy(self._other, self._working, start, min(end, size))
        os.ftruncate(self._working, size)
        self._changed = []


def refuse_while_written(path: Path) -> None:
    """Raise `BlockingIOError` if another process has a file open that it writes."""
    with _claimed(path):
        pass


@contextmanager
def _claimed(path: Path) -> Iterator[None]:
    """Hold the lock of an existing file, unless it is a link or may not be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield
        return
    try:
        _claim(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _create(path: Path) -> int:
    """Create and lock a file, and return its descriptor."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    except FileExistsError:  # of a run that began at the same time
        raise _is_written(path) from None
    try:
        _claim(descriptor, path)
    except BlockingIOError:
        os.close(descriptor)
        raise
    return descriptor


def _claim(descriptor: int, path: Path) -> None:
    """Lock a file until it is closed, as HDF5 does."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _is_written(path) from None
    except OSError:
        pass  # a file system without locks


def _is_written(path: Path) -> BlockingIOError:
    return BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(path))


def _add_name(path: Path, other: Path) -> None:
    """Give a file a second name."""
    try:
        os.link(path, other, follow_symlinks=False)
    except OSError:  # a file system without hard links: the first name is missing until another file takes it
        os.replace(path, other)


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in ascending order, without overlaps."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _copy(source: int, target: int, start: int, end: int) -> None:
    """Copy a range of a file to the same range of another."""
    while start < end:
        try:  # within the system, in a sixth of the time
            done = os.copy_file_range(source, target, end - start, start, start)
        except (AttributeError, OSError):  # a system or a file system without this call
            done = 0
        if not done:
            data = os.pread(source, min(PIECE, end - start), start)
            if not data:
                raise OSError(errno.EIO, os.strerror(errno.EIO))  # something else has shortened the file
            _write(target, data, start)
            done = len(data)
        start += done


def _write(descriptor: int, data: Any, position: int) -> None:
    """Write all bytes."""
    rest = memoryview(data)
    while rest:
        done = os.pwrite(descriptor, rest, position)
        rest, position = rest[done:], position + done
