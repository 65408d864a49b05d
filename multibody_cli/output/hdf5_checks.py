"""Checks of the objects of an HDF5 file of unknown origin, before their values are read.

HDF5 can follow links and storage to other files, fill datasets that are not stored, and load filters as plug-ins.
Readers of result files accept none of these: an object is read only if its own file stores it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5, h5a, h5d, h5g, h5l, h5o, h5p, h5t, h5z

from multibody_cli.output.attributes import EARLIER, EarlierScene
from multibody_cli.output.channel import Array

MAX_DEPTH = 16
"""Largest number of nested groups; paths of the program have at most 6."""

MAX_CHUNK_BYTES = 2**28
"""Largest size of a chunk in memory, bytes."""

MAX_DEFLATION = 1032
"""Largest ratio of sizes before and after compression by deflate."""

MAX_INFLATION = 2**29
"""Largest difference of the sizes of compressed values in memory and in the file if they are read at once, bytes."""

TEXT_BYTES = 2**26
"""Largest size, bytes, of the texts that are read at once."""

SLACK_BYTES = 2**28
"""Memory that the reading of a text may take beyond twice the size of the file, bytes."""

ROWS_AT_ONCE = 2**17
"""Rows of `time` and of `contacts/offset` that are checked at once."""

MAX_TIME = 1e100
"""Largest time, s, and largest index: differences of larger times overflow."""

_FILTERS = frozenset({h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE, h5z.FILTER_FLETCHER32})


class Defect(ValueError):
    """An object of a file that differs from the format."""

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"{where}: {cause}")


def datasets_of(
    group: h5g.GroupID, path: str = "", seen: set[int] | None = None
) -> Iterator[tuple[str, h5d.DatasetID]]:
    """Yield the datasets of a group and of all groups in it, with their paths.

    They are in the order in which they were created, or, if the file does not keep it, sorted by name.

    Raises
    ------
    Defect
        A link leads to another place or to an object that has another name, or groups are nested too deeply.
    """
    seen = {h5o.get_info(group).addr} if seen is None else seen
    for name, kind, address in _links_of(group):
        try:
            where = path + name.decode()
        except UnicodeDecodeError:
            raise Defect(path + name.decode(errors="backslashreplace"), "its name is not UTF-8 text") from None
        if kind != h5l.TYPE_HARD:
            raise Defect(where, "is a link to another place, which is not followed")
        if address in seen:
            raise Defect(where, "is a second name of another object")
        seen.add(address)
        node = h5o.open(group, name)
        if isinstance(node, h5d.DatasetID):
            yield where, node
        elif isinstance(node, h5g.GroupID):
            if where.count("/") >= MAX_DEPTH:
                raise Defect(where[:60] + "...", f"groups are nested more than {MAX_DEPTH} deep")
            yield from datasets_of(node, where + "/", seen)


def _links_of(group: h5g.GroupID) -> list[tuple[bytes, int, int]]:
    """Return name, type and address of the links of a group."""
    links: list[tuple[bytes, int, int]] = []
    kept = group.get_create_plist().get_link_creation_order() & h5p.CRT_ORDER_TRACKED
    order = h5.INDEX_CRT_ORDER if kept else h5.INDEX_NAME
    group.links.iterate(lambda name, info: links.append((name, info.type, info.u)), idx_type=order, info=True)
    return links


def require_stored(where: str, dataset: h5d.DatasetID, file_bytes: int) -> None:
    """Refuse a dataset with values that its file does not store.

    Raises
    ------
    Defect
        Its storage is in other files, it has a filter other than deflate and shuffle, its chunks are too large, or it
        has more values than stored bytes.
    """
    creation = dataset.get_create_plist()
    layout = creation.get_layout()
    if layout == h5d.VIRTUAL or creation.get_external_count():
        raise Defect(where, "is stored in other files, which are not read")
    filters = {creation.get_filter(number)[0] for number in range(creation.get_nfilters())}
    if not filters <= _FILTERS:
        raise Defect(where, f"has the filter {max(filters - _FILTERS)}: only deflate, shuffle and checksums are read")
    item = dataset.get_type().get_size()
    if layout == h5d.CHUNKED and item * math.prod(creation.get_chunk()) > MAX_CHUNK_BYTES:
        raise Defect(where, f"has chunks of more than {MAX_CHUNK_BYTES} bytes")
    stored = dataset.get_storage_size()
    most = stored * (MAX_DEFLATION if h5z.FILTER_DEFLATE in filters else 1)
    if item * math.prod(dataset.shape) > most or stored > file_bytes:
        raise Defect(where, f"has the shape {dataset.shape}, but the file stores only {min(stored, file_bytes)} bytes")


def require_bounded(where: str, dataset: h5d.DatasetID, rows: int) -> None:
    """Refuse to read a number of rows that take much more space in memory than the dataset in the file.

    Raises
    ------
    Defect
        The difference exceeds `MAX_INFLATION`.
    """
    inflated = max(0, rows) * math.prod(dataset.shape[1:]) * dataset.get_type().get_size()
    if inflated - dataset.get_storage_size() > MAX_INFLATION:
        raise Defect(where, f"takes {inflated} bytes of memory, more than {MAX_INFLATION}: read fewer rows")


def require_numbers(where: str, dataset: h5d.DatasetID, wanted: str) -> None:
    """Refuse a dataset whose values have none of the wanted types of NumPy, separated by spaces, or without an axis."""
    found = _type_of(where, dataset)
    kinds = [np.dtype(kind) for kind in wanted.split()]
    if found not in kinds or not isinstance(dataset.get_type(), h5t.TypeIntegerID | h5t.TypeFloatID):
        names = " or ".join(kind.name for kind in kinds)
        raise Defect(where, f"expected values of type {names}, found {_name_of(found)}")
    if not dataset.shape:
        raise Defect(where, "expected an array, found a single value")


def read_texts(where: str, dataset: h5d.DatasetID, file_bytes: int) -> tuple[str, ...]:
    """Read the texts of a dataset with one axis, or the text of a dataset without axes.

    Raises
    ------
    Defect
        Its values are no texts, or they take more space than the whole file: all may refer to one stored text.
    """
    about = h5py.check_string_dtype(_type_of(where, dataset))
    if about is None:
        raise Defect(where, f"expected texts, found {_name_of(_type_of(where, dataset))}")
    if len(dataset.shape) > 1:
        raise Defect(where, f"expected one axis, found the shape {dataset.shape}")
    require_stored(where, dataset, file_bytes)
    values = h5py.Dataset(dataset)
    if not dataset.shape:
        with limited_memory(SLACK_BYTES + 2 * file_bytes):
            return (_decoded(where, values[()]),)
    found: list[str] = []
    left, some = file_bytes, max(1, TEXT_BYTES // max(1, file_bytes))
    for first in range(0, dataset.shape[0], some):
        with limited_memory(SLACK_BYTES + 2 * file_bytes):
            part = values[first : first + some]
        for text in part:
            found.append(_decoded(where, text))
            left -= len(text)
        if left < 0:
            raise Defect(where, "has texts that are longer than the file")
    return tuple(found)


def sorted_parts(file: h5py.File, path: str, least: float = -MAX_TIME) -> Iterator[Array]:
    """Read a channel of one axis in parts.

    Raises
    ------
    Defect
        A value is not a number, exceeds `MAX_TIME`, or is less than the one before or than `least`.
    """
    dataset = file[path]
    for first in range(0, dataset.shape[0], ROWS_AT_ONCE):
        part = dataset[first : first + ROWS_AT_ONCE]
        if not (part[0] >= least and part[-1] <= MAX_TIME and (part[1:] >= part[:-1]).all()):
            raise Defect(path, f"its values decrease, are not numbers, or exceed {MAX_TIME:g}")
        yield part
        least = part[-1]


@contextmanager
def limited_memory(more: int) -> Iterator[None]:
    """Let allocations of more than so many bytes fail, where the system states the memory of a process.

    HDF5 allocates a text of variable length before it reads it, with the length that the file states: up to 4 GB.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    except (ImportError, OSError):
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + more
    if before[0] == resource.RLIM_INFINITY or most < before[0]:
        resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def read_attribute(where: str, node: h5g.GroupID | h5d.DatasetID, name: str, kind: type) -> Any:
    """Read an attribute that is a text (`str`) or a number (`int`, `float`).

    Raises
    ------
    Defect
        The attribute does not exist, or is something else.
    """
    try:
        attribute = h5a.open(node, name.encode())
    except KeyError:
        raise Defect(_attribute(where, name), "is missing") from None
    found = attribute.get_type()
    is_text = isinstance(found, h5t.TypeStringID)
    if attribute.shape != () or not attribute.get_storage_size():
        raise Defect(_attribute(where, name), "expected a single value, found an array")
    if (kind is str) != is_text or not isinstance(found, _TYPES[kind]):
        raise Defect(_attribute(where, name), f"expected {'a text' if kind is str else 'a number'}")
    fixed = is_text and not found.is_variable_str()
    value = np.empty((), f"S{found.get_size()}" if fixed else _TEXT if is_text else kind)
    with limited_memory(SLACK_BYTES):
        attribute.read(value)
    return _decoded(_attribute(where, name), value.item()) if is_text else kind(value.item())


_TEXT = h5py.string_dtype()
_TYPES = {str: h5t.TypeStringID, int: h5t.TypeIntegerID, float: h5t.TypeIntegerID | h5t.TypeFloatID}
"""Types of HDF5 by the type of Python that an attribute is read as."""


def _attribute(where: str, name: str) -> str:
    return f"{where} attribute `{name}`".lstrip()


def read_list(where: str, text: str, kind: type = str) -> tuple[Any, ...]:
    """Read a JSON list of texts, or of entries of another kind.

    Raises
    ------
    Defect
        The text is something else.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(entry, kind) for entry in found):
        raise Defect(where, f"expected a JSON list of entries of the type {kind.__name__}")
    return tuple(found)


def plain_attributes(node: h5g.GroupID) -> dict[str, Any]:
    """Read the attributes of a group that are texts or numbers; others are left out."""
    found: dict[str, Any] = {}
    for index in range(h5a.get_num_attrs(node)):
        name = h5a.open(node, index=index).name.decode(errors="backslashreplace")
        for kind in (str, int, float):
            try:
                found[name] = read_attribute("", node, name, kind)
                break
            except Defect:
                continue
    return found


def _type_of(where: str, node: h5d.DatasetID) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = node.dtype
    except (TypeError, ValueError, RuntimeError) as error:
        raise Defect(where, f"has a type that cannot be read ({error})") from None
    return found


def _name_of(found: np.dtype[Any]) -> str:
    if h5py.check_string_dtype(found) is not None:
        return "text"
    return "references or lists" if found.hasobject else found.name


def _decoded(where: str, text: Any) -> str:
    """Return a text as HDF5 stores it, with NUL bytes at its end left out."""
    try:
        return text if isinstance(text, str) else bytes(text).decode()
    except UnicodeDecodeError:
        raise Defect(where, "is not UTF-8 text") from None


def read_earlier_scenes(file: h5g.GroupID, names: Collection[str], file_bytes: int) -> tuple[EarlierScene, ...]:
    """Read the earlier scenes of a branch from a file with datasets of these names."""
    if EARLIER not in names:
        return ()
    dataset = h5d.open(file, EARLIER.encode())
    texts = read_texts(EARLIER, dataset, file_bytes)
    until = np.asarray(h5py.Dataset(dataset).attrs.get("until"))
    if until.dtype != np.float64 or until.shape != (len(texts),) or not np.isfinite(until).all():
        raise Defect(EARLIER, "expected an attribute `until` with an instant for each scene")
    return tuple(EarlierScene(text, time) for text, time in zip(texts, until.tolist(), strict=True))
