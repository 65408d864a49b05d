"""Writer of the result file: an HDF5 file whose bytes are reproducible.

A run writes to `FILE.part`, a `CommittedFile` that always holds all rows up to the last block, and renames it to `FILE`
at the end.  A channel with one row for each instant is stored in chunks of one block, and a full block is written
directly as a chunk.  The file uses the format of HDF5 1.8: later formats mark a file as open for writing, so that the
file of a killed run could not be read.

A checkpoint beside the file (`checkpoint`) holds the state of the run after the rows that were written.  A run that
continues a file copies these rows to a new one, with the same bytes as if it had computed them.

A `BackgroundSink` writes in a thread of its own, while the next block is computed: compiled code, and the calls of the
system that write files, run beside each other, since they do not hold the lock of the Python interpreter.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py

from multibody_cli.errors import ArgumentError, OutputError
from multibody_cli.output.carried_state import Values, collect, restore
from multibody_cli.output.checkpoint import Checkpoint, checkpoint_path, target, write_checkpoint
from multibody_cli.output.committed_file import CommittedFile, refuse_while_written
from multibody_cli.output.events import write_events
from multibody_cli.output.file_replacement import require_hdf5_name, require_replaceable, without_links
from multibody_cli.output.hdf5_columns import DatasetColumn, Datasets, append_lead, append_rows
from multibody_cli.output.hdf5_layout import FileLayout
from multibody_cli.output.history import History
from multibody_cli.output.recorded_rows import copy_rows
from multibody_cli.output.series import select_channels
from multibody_cli.output.sink import Outcome
from multibody_cli.version import full_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from multibody_cli.output.samples import Samples
    from multibody_cli.output.sink import Header

LIBRARY_FORMAT = ("v108", "v108")
COMPACT_FORMAT = ("v110", "v110")
"""Halves the size of a file with few instants."""

ELSEWHERE = "choose another place with -o"
RECORD_LESS = "record less (`output.every`, `output.channels`)"
REMEDIES = {
    errno.ENOSPC: f"the disk is full: free some space, or {RECORD_LESS}",
    errno.EDQUOT: f"your disk quota is used up: free some space, or {RECORD_LESS}",
    errno.EFBIG: f"files may not grow that large here: {RECORD_LESS}",
    errno.EACCES: f"you may not write there: {ELSEWHERE}",
    errno.EPERM: f"you may not write there: {ELSEWHERE}",
    errno.EROFS: f"that disk is read-only: {ELSEWHERE}",
    errno.ENOTDIR: f"a part of the path is a file, not a folder: {ELSEWHERE}",
    errno.EEXIST: f"a part of the path is a file or a broken link, not a folder: {ELSEWHERE}",
    errno.ENOENT: f"its folder was removed, or files cannot be created in it: {ELSEWHERE}",
    errno.EAGAIN: f"another run is writing it: wait for it, or {ELSEWHERE}",
}


def _unfinished(file: Path, result: Path, end: str) -> str:
    """Return the refusal of a file from a run that can be continued."""
    return (
        f"{file} exists, from a run that {end}: `mbsim run --resume {result}` continues it, --force replaces it, "
        "-o chooses another name"
    )


class Continued(NamedTuple):
    """A run to continue: the file with its rows, and its checkpoint."""

    rows: Path
    checkpoint: Checkpoint


class Hdf5Sink:
    """Sink that writes a run to a result file.

    Parameters
    ----------
    path
        Path of the file; missing parent folders are created.
    channels
        Channels to record, as in `select_channels`; None records all.
    compression
        `none`, or `gzip` (slow; trajectories compress poorly).
    force
        Whether to replace an existing file.
    compact
        Use the more compact file format, which cannot be read while it is written.
    continued
        The run that this one continues; None for a run from the start.
    keep_part
        Whether the file of a complete run remains at `part`, where the caller completes and renames it.

    Raises
    ------
    ArgumentError
        The file, or the `.part` file of a run that was killed, exists and `force` is not given, or the name ends
        otherwise than that of an HDF5 file.
    OutputError
        Another run writes the file.  From `open`, `write` and `close`: the file cannot be written; the message states
        the cause and a remedy.
    """

    def __init__(
        self,
        path: Path | str,
        channels: Sequence[str] | None = None,
        compression: str = "none",
        force: bool = False,
        compact: bool = False,
        continued: Continued | None = None,
        keep_part: bool = False,
    ) -> None:
        self.path = without_links(Path(path))
        if self.path.is_file() and checkpoint_path(self.path).exists() and not force:
            raise ArgumentError(_unfinished(self.path, self.path, "was interrupted"))
        require_replaceable(self.path, force)
        require_hdf5_name(self.path)
        self.part = part_path(self.path)
        self._columns: list[DatasetColumn] = []
        self._file: Any = None
        self._datasets: Datasets | None = None
        self._storage: CommittedFile | None = None
        self._failure: BaseException | None = None
        with self._translating_errors():
            refuse_while_written(self.part)
        if os.path.lexists(self.part) and not force:
            raise ArgumentError(_unfinished(self.part, self.path, "was killed"))
        self._continued = continued
        self._keep_part = keep_part
        self._channels = channels
        self._compression = compression
        self._format = COMPACT_FORMAT if compact else LIBRARY_FORMAT
        self.accepts_partial_blocks = compression == "none"  # gzip compresses a chunk again at each write
        self._checkpoint_is_current = False

    def open(self, header: Header) -> None:
        """Create the file with all groups, attributes and empty datasets."""
        series = select_channels(self._channels, header.names)
        self._header = header
        self._history = History(header.names)
        with self._translating_errors():
            self.part.parent.mkdir(parents=True, exist_ok=True)
            self._storage = CommittedFile(self.part)
            if not self._continued:
                checkpoint_path(self.path).unlink(missing_ok=True)
            self._file = h5py.File(self._storage, "w", libver=self._format)
            self._file.attrs.update(header.attributes() | Outcome("running").attributes())
            layout = FileLayout(self._file, header, self._compression)
            for one in series:
                layout.add(one)
            layout.finish()
            self._columns = [DatasetColumn(one, layout.chunk_of(one)) for one in series]
            self._datasets = Datasets(self._file, self._compression == "none")
            append_lead(self._datasets, self._columns)
            self._datasets.flush()
            if self._continued:
                rows, checkpoint = self._continued
                copy_rows(rows, self._datasets, self._columns, checkpoint.instants, header.block_rows)
                restore({"history": self._history}, checkpoint.history)
            self._storage.commit()

    def write(self, samples: Samples, count: int) -> None:
        """Append a block and commit it."""
        if self._failure is not None:
            raise self._failure
        assert self._storage is not None
        assert self._datasets is not None
        block = self._history.block(samples, count)
        with self._translating_errors():
            append_rows(
                self._datasets,
                self._columns,
                lambda column: column.series.read(block),
                count,
                block.contacts.instant,
            )
            self._storage.commit()
        self._checkpoint_is_current = False

    def checkpoint(self, values: Values) -> None:
        """Keep the carried state of the run after the rows written so far."""
        assert self._storage is not None
        with self._translating_errors():
            self._storage.synchronize()
            checkpoint = Checkpoint(
                scene_yaml=self._header.scene_yaml,
                scene_sha256=self._header.scene_sha256,
                mbsim_version=full_version(),
                target=target(),
                instants=self._history.instants,
                checksums={column.series.path: column.checksum for column in self._columns},
                values=values,
                history=collect({"history": self._history}),
                earlier=self._header.earlier,
            )
            write_checkpoint(self.path, checkpoint)
        self._checkpoint_is_current = True

    def close(self, outcome: Outcome | None) -> None:
        """Write the outcome of the run and rename the file to its final name.

        After an error the `.part` file remains, and an older file is not replaced.  The checkpoint of an interrupted
        run is kept, that of any other only if it is the state at the end.
        """
        if outcome is None:
            self._abandon()
        if outcome is None or self._file is None or self._storage is None:
            return
        with self._translating_errors():
            self._file.attrs.update(outcome.attributes())
            if outcome.events is not None:
                write_events(self._file, outcome.events)
            self._columns, self._datasets = [], None
            self._file.close()
            self._file = None
            self._storage.finish(self.part if self._keep_part and outcome.status == "complete" else self.path)
            if outcome.status != "interrupted" and not self._checkpoint_is_current:
                checkpoint_path(self.path).unlink(missing_ok=True)

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        """Translate errors of the operating system and of HDF5 into an `OutputError` with a remedy."""
        try:
            yield
        except BaseException as error:
            self._abandon()
            self._failure = cause = (self._storage and self._storage.error) or error
            if not isinstance(cause, OSError | RuntimeError):
                raise cause from None
            self._failure = OutputError(f"cannot write {self.part}: {_remedy(cause)}")
            raise self._failure from cause

    def _abandon(self) -> None:
        """Close a file that can no longer be written; the committed rows remain in the `.part` file."""
        self._columns, self._datasets, file, self._file = [], None, self._file, None
        try:
            if file is not None:
                file.close()
        except (OSError, RuntimeError):
            pass  # the first error is already reported
        if self._storage is not None:
            self._storage.close()


def part_path(result: Path) -> Path:
    """Return the path of a result file while its run is in progress."""
    return result.with_name(result.name + ".part")


def _remedy(error: Exception) -> str:
    """Return the remedy for a write error; HDF5 reports the error number of the system in its message only."""
    match = re.search(r"errno = (\d+)", str(error))
    number = int(match[1]) if match else getattr(error, "errno", None)
    return REMEDIES.get(number or 0) or (os.strerror(number) if number else str(error))


class BackgroundSink:
    """Writes blocks one after the other; every method but `write` returns when the blocks before are written.

    Parameters
    ----------
    sink
        The sink that writes.

    Raises
    ------
    OutputError
        From all methods, the next after a block that cannot be written.
    """

    def __init__(self, sink: Hdf5Sink) -> None:
        self._sink = sink
        self.accepts_partial_blocks = sink.accepts_partial_blocks
        self._thread: Thread | None = None
        self._error: BaseException | None = None

    def open(self, header: Header) -> None:
        """Begin a run."""
        self._sink.open(header)

    def write(self, samples: Samples, count: int) -> None:
        """Begin to write a block."""
        self._wait()

        def write() -> None:
            try:
                self._sink.write(samples, count)
            except BaseException as error:
                self._error = error

        # with the settings of NumPy for invalid numbers, which belong to a thread
        self._thread = Thread(target=copy_context().run, args=(write,))
        self._thread.start()

    def checkpoint(self, values: Values) -> None:
        """Keep the carried state of the run after the rows written so far."""
        self._wait()
        self._sink.checkpoint(values)

    def close(self, outcome: Outcome | None) -> None:
        """End the run."""
        try:
            self._wait()
        except BaseException:
            self._sink.close(None)
            raise
        self._sink.close(outcome)

    def _wait(self) -> None:
        """Wait for the block that is written, and raise its error."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error
