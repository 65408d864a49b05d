"""Result files of unknown origin: a file is checked once, when it is opened, and then read by channel.

Paths, types and shapes of the datasets are those that `CHANNELS` declares.  A dataset with another path is a channel if
it has the attribute `rtol`; other datasets are not read.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import h5py
import numpy as np
from h5py import h5a, h5d, h5g

from multibody_cli.errors import ResultError
from multibody_cli.immutable import Immutable
from multibody_cli.output.attributes import ATTRIBUTES, FORMAT, FORMAT_VERSION, Status
from multibody_cli.output.certificate import ATTRIBUTES as CERTIFICATE_ATTRIBUTES
from multibody_cli.output.certificate import GROUP as CERTIFICATE
from multibody_cli.output.certificate import Certificate, ErrorBar
from multibody_cli.output.channel import AXES, BOUND, CONTACT, INSTANT, OF_ONE_ELEMENT, ROWS, Array, Channel
from multibody_cli.output.channels import declaration_of
from multibody_cli.output.contact_channels import BODY_PAIR, OFFSET
from multibody_cli.output.events import EventTable, read_events
from multibody_cli.output.global_heaps import open_checked
from multibody_cli.output.hdf5_checks import (
    Defect,
    datasets_of,
    plain_attributes,
    read_attribute,
    read_earlier_scenes,
    read_list,
    read_texts,
    require_bounded,
    require_numbers,
    require_stored,
    sorted_parts,
)
from multibody_cli.output.sweep_table import FORMAT as TABLE_FORMAT

if TYPE_CHECKING:
    from multibody_cli.model import Floats, Integers

SLAB_BYTES = 2**22
"""Size of a slab of a dataset, bytes; at least one chunk."""

_FAILURES = (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError, OverflowError)
"""Errors of h5py about damaged files."""


class Dataset(Immutable):
    """A channel of a result file with its attributes; `shape` is that of the complete rows.

    The last ones are `DATASET_ATTRIBUTES`; the tolerances are None if the file has none.
    """

    path: str
    shape: tuple[int, ...]
    number_type: np.dtype[Any]
    rows_of_a_chunk: int = 1
    units: str = ""
    description: str = ""
    frame: str = ""
    rtol: float | None = None
    atol: float | None = None
    role: str = ""
    same: str = ""
    per: str = INSTANT

    @property
    def rows_of_a_slab(self) -> int:
        """Number of rows of a slab: whole chunks, so that no chunk is decompressed twice."""
        row = self.number_type.itemsize * math.prod(self.shape[1:])
        return max(1, SLAB_BYTES // max(1, row * self.rows_of_a_chunk)) * self.rows_of_a_chunk


class _Stored(NamedTuple):
    """Shape of a channel in the file, the meaning of a row, and its declaration, if there is one."""

    shape: tuple[int, ...]
    per: str
    declaration: Channel | None


class ResultFile:
    """A checked result file.

    Parameters
    ----------
    path
        The file.

    Attributes
    ----------
    attributes
        Attributes of the root group that are texts or numbers.
    scene_yaml, earlier, bodies, com
        As in `output.trajectory.Trajectory`.
    rows
        Number of complete rows of each channel, by its path.

    Raises
    ------
    ResultError
        The file is not a result file of this program, or is damaged.  `open` raises it too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stored: dict[str, _Stored] = {}
        with self.translating_errors(), open_checked(path) as file:
            self._identity = _identity_of(file)
            self.attributes = self._read_attributes(file.id)
            self._read_datasets(file.id)
            for _ in sorted_parts(file, "time"):
                pass
            offset = list(sorted_parts(file, OFFSET, 0)) if OFFSET in self._stored else None
            self.rows = complete_rows(
                {name: stored.per for name, stored in self._stored.items()},
                {name: stored.shape[0] for name, stored in self._stored.items()},
                np.concatenate([np.zeros(0, np.int64), *offset]) if offset is not None else None,
            )

    def open(self) -> OpenFile:
        """Open the checked file again, for reading until the end of a `with` block.

        Raises
        ------
        ResultError
            It has changed since it was checked.
        """
        with self.translating_errors():
            file = open_checked(self.path)
            if _identity_of(file) != self._identity:
                file.close()
                raise ResultError(f"{self.path} has changed since it was opened: is a run writing it?")
            return OpenFile(self, file)

    @property
    def file_bytes(self) -> int:
        """Size of the file."""
        return self._identity[2]

    def stored(self, path: str) -> _Stored:
        """Return the metadata of a channel.

        Raises
        ------
        ResultError
            The file has no such channel.
        """
        if path not in self._stored:
            raise ResultError(f"{self.path} has no channel `{path}`")
        return self._stored[path]

    def shape(self, path: str) -> tuple[int, ...]:
        """Return the shape of the complete rows of a channel."""
        return self.rows[path], *self.stored(path).shape[1:]

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Translate errors of HDF5, and defects, into a `ResultError` with a remedy."""
        try:
            yield
        except BlockingIOError as error:
            raise ResultError(f"{self.path} is being written by a run: wait for it to finish") from error
        except Defect as error:
            raise ResultError(f"{self.path} is damaged at {error}; run the scene again") from error
        except _FAILURES as error:
            raise ResultError(f"{self.path} is damaged or truncated ({error}); run the scene again") from error

    def _read_attributes(self, file: h5g.GroupID) -> dict[str, Any]:
        found = plain_attributes(h5g.open(file, b"/"))
        if found.get("format") == TABLE_FORMAT:
            raise ResultError(
                f"{self.path} is a table of `mbsim sweep`, not a result file: `mbsim info` shows it, and "
                "`mbsim export` or h5py reads its columns"
            )
        if found.get("format") != FORMAT:
            raise ResultError(f"{self.path} is an HDF5 file, but not a result file of mbsim")
        if found.get("format_version") != FORMAT_VERSION:
            raise ResultError(
                f"{self.path} has format version {found.get('format_version')}; this mbsim reads {FORMAT_VERSION}"
            )
        for name, attribute in ATTRIBUTES.items():
            if attribute.is_required or h5a.exists(file, name.encode()):
                found[name] = read_attribute("", file, name, attribute.kind)
        if found["status"] not in get_args(Status):
            raise Defect("attribute `status`", f"expected one of {', '.join(get_args(Status))}")
        for name, kind in (("accepted", str), ("accepted_misses", str), ("alarms", dict)):
            read_list(f"attribute `{name}`", found.get(name, "[]"), kind)
        return found

    def _read_datasets(self, file: h5g.GroupID) -> None:
        """Read the constant datasets, and note the channels."""
        # names without handles: an open dataset takes 80 kB
        names = [name for name, _ in datasets_of(h5g.open(file, b"/"))]
        for name in ("scene/yaml", "bodies/name", "bodies/com_offset", "time"):
            if name not in names:
                raise Defect(name, "is missing")
        scene, bodies, com = (h5d.open(file, name) for name in (b"scene/yaml", b"bodies/name", b"bodies/com_offset"))
        if scene.shape:
            raise Defect("scene/yaml", "expected one text, found an array")
        (self.scene_yaml,) = read_texts("scene/yaml", scene, self.file_bytes)
        self.earlier = read_earlier_scenes(file, names, self.file_bytes)
        self.bodies = read_texts("bodies/name", bodies, self.file_bytes)
        if len(set(self.bodies)) < len(self.bodies):
            raise Defect("bodies/name", "has the same name twice")
        self._require_array("bodies/com_offset", com, "<f8", (len(self.bodies), 3))
        self.com: Floats = h5py.Dataset(com)[:]
        for name in names:
            dataset = h5d.open(file, name.encode())
            declaration = declaration_of(name)
            if declaration is not None or (h5a.exists(dataset, b"rtol") and not name.startswith(f"{CERTIFICATE}/")):
                self._stored[name] = self._checked(name, dataset, declaration)

    def _checked(self, name: str, dataset: h5d.DatasetID, declaration: Channel | None) -> _Stored:
        """Refuse a channel whose type, shape or storage is not as declared."""
        if declaration is not None:
            known = {"body": len(self.bodies), **{axis: len(labels) for axis, labels in AXES.items()}}
            lengths = (known.get(dimension) for dimension in declaration.dimensions)
            self._require_array(name, dataset, declaration.dtype, (None, *lengths))
            return _Stored(dataset.shape, declaration.per, declaration)
        self._require_array(name, dataset, "<f8 <i8", (None,) * len(dataset.shape))
        per = read_attribute(name, dataset, "per", str) if h5a.exists(dataset, b"per") else INSTANT
        if per not in ROWS or per == BOUND:
            raise Defect(name, f"has rows for `{per}`, which is unknown")
        return _Stored(dataset.shape, per, None)

    def _require_array(self, name: str, dataset: h5d.DatasetID, kinds: str, shape: tuple[int | None, ...]) -> None:
        require_numbers(name, dataset, kinds)
        fits = len(dataset.shape) == len(shape) and all(
            wanted in (None, length) for wanted, length in zip(shape, dataset.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("any" if length is None else str(length) for length in shape)
            raise Defect(name, f"has the shape {dataset.shape}, expected ({wanted})")
        require_stored(name, dataset, self.file_bytes)


class OpenFile(AbstractContextManager["OpenFile"]):
    """An open result file that has been checked; its methods raise a `ResultError` if the file is damaged."""

    def __init__(self, result: ResultFile, file: h5py.File) -> None:
        self._result = result
        self._file = file

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def numbers(self, path: str, start: int = 0, stop: int | None = None) -> Array:
        """Read the rows `start` to `stop` - 1 of a channel, or of all complete rows.

        Raises
        ------
        ResultError
            The file has no such channel, or its compressed values take too much memory.
        """
        self._result.stored(path)
        start, stop, _ = slice(start, stop).indices(self._result.rows[path])
        with self._result.translating_errors():
            dataset = h5py.Dataset(h5d.open(self._file.id, path.encode()))
            require_bounded(path, dataset.id, stop - start)
            values: Array = dataset[start:stop]
            if path in BODY_PAIR and values.size and not -1 <= values.min() <= values.max() < len(self._result.bodies):
                raise Defect(path, "has an index of a body that does not exist")
        return values

    def text(self, path: str, name: str) -> str:
        """Read an attribute of a channel; empty if it has none."""
        with self._result.translating_errors():
            return self._text(path, h5d.open(self._file.id, path.encode()), name)

    def _text(self, path: str, node: h5d.DatasetID, name: str) -> str:
        found: str = read_attribute(path, node, name, str) if h5a.exists(node, name.encode()) else ""
        count, last = found.count(",") + 1, self._result.stored(path).shape[-1:]
        if name in ("units", "same") and count not in (1, *last):
            raise Defect(path, f"attribute `{name}`: expected one text or one for each component, found {count}")
        return found

    def describe(self, path: str) -> Dataset:
        """Read the metadata of a channel."""
        with self._result.translating_errors():
            node = h5d.open(self._file.id, path.encode())
            creation = node.get_create_plist()
            chunk = creation.get_chunk()[0] if creation.get_layout() == h5d.CHUNKED else 1
            about: dict[str, Any] = {name: _tolerance(path, node, name) for name in ("rtol", "atol")}
            about |= {name: self._text(path, node, name) for name in ("units", "description", "frame", "role", "same")}
            return Dataset(
                path, self._result.shape(path), node.dtype, chunk, per=self._result.stored(path).per, **about
            )

    def labels(self, path: str) -> tuple[tuple[str, ...], ...]:
        """Return the labels of each axis of a channel after the first; the indices if it has none."""
        stored = self._result.stored(path)
        names = stored.declaration.dimensions if stored.declaration else ("",) * len(stored.shape[1:])
        with self._result.translating_errors():
            return tuple(
                self._labels_of(name, length, path) for name, length in zip(names, stored.shape[1:], strict=True)
            )

    def _labels_of(self, dimension: str, length: int, path: str) -> tuple[str, ...]:
        found = self._result.bodies if dimension == "body" else AXES.get(dimension, ())
        labels = f"{path.rpartition('/')[0]}/{dimension}"
        if dimension in OF_ONE_ELEMENT and labels in self._file:
            found = read_texts(labels, self._file[labels].id, self._result.file_bytes)
        return found if len(found) == length else tuple(str(place) for place in range(length))

    def certificate(self) -> Certificate | None:
        """Read the certificate; None if the file has none.

        Raises
        ------
        ResultError
            It is incomplete, or its error bars do not have the shape of their channels.
        """
        with self._result.translating_errors():
            return self._read_certificate() if CERTIFICATE in self._file else None

    def _read_certificate(self) -> Certificate:
        group = h5g.open(self._file.id, CERTIFICATE.encode())
        found: dict[str, Any] = {"bars": {name: self._bar(name, dataset) for name, dataset in datasets_of(group)}}
        for name, kind in CERTIFICATE_ATTRIBUTES.items():
            value = read_attribute(CERTIFICATE, group, name, str if kind is tuple else kind)
            found[name] = read_list(CERTIFICATE, value) if kind is tuple else value
        return Certificate(**found)

    def _bar(self, name: str, dataset: h5d.DatasetID) -> ErrorBar:
        where, shape = f"{CERTIFICATE}/{name}", self._result.stored(name).shape
        require_numbers(where, dataset, "<f8")
        require_stored(where, dataset, self._result.file_bytes)
        if dataset.shape != shape or not math.prod(shape):
            raise Defect(where, f"has the shape {dataset.shape}, and its channel {shape}")
        return ErrorBar(
            h5py.Dataset(dataset)[()],
            read_attribute(where, dataset, "units", str),
            read_attribute(where, dataset, "order", float),
            read_attribute(where, dataset, "digits", int),
        )

    def events(self) -> EventTable | None:
        """Read the table of events; None if the file has none."""
        with self._result.translating_errors():
            return read_events(self._file, self._result.file_bytes)


def complete_rows(kinds: Mapping[str, str], lengths: Mapping[str, int], offset: Integers | None) -> dict[str, int]:
    """Return the number of rows of each channel, by its path, that belong to complete output instants.

    The datasets of a killed run may have different lengths, and the offsets of contacts may not match the contacts.

    Parameters
    ----------
    kinds
        Meaning of a row of each channel, a key of `output.channel.ROWS`.
    lengths
        Number of rows of each channel in the file.
    offset
        First row of the contacts of each instant, and their number at the end; None if the file has no contacts.

    The order of the channels is that in which the run created them, where the file keeps it: that of the scene.

    Raises
    ------
    KeyError
        There are contacts, but no offsets.
    """
    shortest = {per: min(lengths[name] for name in kinds if kinds[name] == per) for per in set(kinds.values())}
    instants, contacts, bounds = shortest[INSTANT], 0, 0
    if offset is None and CONTACT in shortest:
        raise KeyError(f"there is no `{OFFSET}`")
    if offset is not None:
        bounds = len(offset)
        instants = max(0, min(instants, bounds - 1))
        if CONTACT in shortest and bounds:
            # instants with a known end and with all their contacts
            instants = max(0, int(np.searchsorted(offset[: instants + 1], shortest[CONTACT], "right")) - 1)
            contacts = int(offset[instants])
    rows = {INSTANT: instants, CONTACT: contacts, BOUND: min(instants + 1, bounds)}
    return {name: rows[per] for name, per in kinds.items()}


def _tolerance(path: str, node: h5d.DatasetID, name: str) -> float | None:
    if not h5a.exists(node, name.encode()):
        return None
    found: float = read_attribute(path, node, name, float)
    if not 0.0 <= found < math.inf:
        raise Defect(path, f"attribute `{name}`: expected a finite number of at least 0")
    return found


def _identity_of(file: h5py.File) -> tuple[int, int, int, int]:
    status = os.fstat(file.id.get_vfd_handle())
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
