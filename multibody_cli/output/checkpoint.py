"""Checkpoint: the carried state of a run at one instant, in a file beside the result file.

The file `RESULT.ckpt` holds a line with the format, a line with the SHA-256 of the rest, a line of JSON, and the bytes
of the arrays.  It is replaced atomically, after the rows that it refers to have been written to the disk.  `packed`
returns carried values alone, in the same form.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.errors import ResultError
from multibody_cli.immutable import Immutable
from multibody_cli.output.attributes import EarlierScene
from multibody_cli.output.carried_state import Values
from multibody_cli.output.file_replacement import replacement

FORMAT = b"mbsim-checkpoint 1\n"
TABLES = ("values", "history")
"""Fields of a checkpoint that contain arrays."""

MAX_BYTES = 2**29
"""Largest size of a checkpoint that is read, bytes; that of 10,000 bodies has about 50 MB."""


class Checkpoint(Immutable):
    """State of a run after some output instants.

    Parameters
    ----------
    scene_yaml, scene_sha256
        Those of the result file.
    mbsim_version
        Version of the program, with its commit.
    target
        The processor that the kernels were compiled for.
    instants
        Number of output instants that the result file holds and that the state follows.
    checksums
        CRC-32 of the rows of each dataset up to these instants.
    values
        The carried state of the run, as `timeline.Driver` collects it.
    history
        That of the sink.
    earlier
        Those of the result file, if the run is a branch.
    """

    scene_yaml: str
    scene_sha256: str
    mbsim_version: str
    target: str
    instants: int
    checksums: dict[str, int]
    values: Values
    history: Values
    earlier: tuple[EarlierScene, ...] = ()


def target() -> str:
    """Return the target of the kernels; results have the same bytes for the same target only."""
    from multibody_cli.kernel import is_interpreted
    from multibody_cli.kernel.target import architecture

    return "python" if is_interpreted() else architecture()


def checkpoint_path(result: Path) -> Path:
    """Return the path of the checkpoint of a result file."""
    return result.with_name(result.name + ".ckpt")


def write_checkpoint(result: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of a result file, or replace it.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    with replacement(checkpoint_path(result)) as new:
        new.write_bytes(_sealed(vars(checkpoint), TABLES))


def read_checkpoint(result: Path) -> Checkpoint | None:
    """Read the checkpoint of a result file; None if there is none.

    Raises
    ------
    ResultError
        The file cannot be read, has another format or is damaged.
    """
    path = checkpoint_path(result)
    remedy = "delete it to begin again at the start"
    if not path.exists():
        return None
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            raise ResultError(f"{path} is not a file of at most {MAX_BYTES} bytes: {remedy}")
        data = path.read_bytes()
    except OSError as error:
        raise ResultError(f"cannot read {path}: {error.strerror or error}") from error
    found: Checkpoint = _opened(data, TABLES, _parsed, str(path), remedy)
    return found


def packed(values: Values) -> bytes:
    """Return carried values as bytes."""
    return _sealed({"values": values}, ("values",))


def unpacked(data: bytes) -> Values:
    """Return the values that `packed` turned into bytes.

    Raises
    ------
    ResultError
        They are damaged, or were packed by another version.
    """
    found: Values = _opened(data, ("values",), lambda facts: facts["values"], "the checkpoint", "save it again")
    return found


def _sealed(content: Mapping[str, Any], tables: tuple[str, ...]) -> bytes:
    """Return the bytes of a checkpoint; `tables` are the entries that contain arrays."""
    arrays: list[Any] = []
    facts = {name: _without_arrays(part, arrays) if name in tables else part for name, part in content.items()}
    body = json.dumps(facts).encode() + b"\n" + b"".join(array.tobytes() for array in arrays)
    return FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _opened(
    data: bytes, tables: tuple[str, ...], parse: Callable[[dict[str, Any]], Any], source: str, remedy: str
) -> Any:
    """Return the parsed content of the bytes of a checkpoint."""
    if not data.startswith(FORMAT):
        raise ResultError(f"{source} is not a checkpoint of this version of mbsim: {remedy}")
    digest, _, body = data[len(FORMAT) :].partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ResultError(f"{source} is damaged: its checksum does not match; {remedy}")
    try:
        text, _, rest = body.partition(b"\n")
        facts, offset = json.loads(text), 0
        for name in tables:
            offset = _read_arrays(facts[name], rest, offset)
        return parse(facts)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        raise ResultError(f"{source} is damaged ({error}); {remedy}") from error


def _parsed(facts: dict[str, Any]) -> Checkpoint:
    """Return a checkpoint from its content; any of several errors of Python if it is not one."""
    facts["earlier"] = tuple(EarlierScene(*scene) for scene in facts["earlier"])
    kinds = {"instants": int, "checksums": dict, "values": dict, "history": dict, "earlier": tuple}
    for name in Checkpoint.FIELDS:
        if not isinstance(facts[name], kinds.get(name, str)):
            raise TypeError(f"`{name}` has the wrong type")
    if facts["instants"] < 0 or not all(isinstance(one, int) for one in facts["checksums"].values()):
        raise ValueError("a number of rows or a checksum is not a number of at least 0")
    if not all(isinstance(one.scene_yaml, str) and isinstance(one.until, float) for one in facts["earlier"]):
        raise TypeError("`earlier` has the wrong type")
    return Checkpoint(**facts)


def _without_arrays(values: Values, arrays: list[Any]) -> dict[str, Any]:
    """Return descriptions of values, and append the arrays among them to a list."""
    described: dict[str, Any] = {}
    for name, value in values.items():
        described[name] = {"value": value}
        if isinstance(value, np.ndarray):
            arrays.append(value)
            described[name] = {"dtype": value.dtype.descr, "shape": value.shape}
    return described


def _read_arrays(table: dict[str, Any], data: bytes, offset: int) -> int:
    """Replace descriptions by their values; return the offset behind the last array."""
    for name, about in table.items():
        if "value" in about:
            table[name] = about["value"]
            continue
        dtype = np.dtype(_descr(about["dtype"]))
        count = math.prod(map(int, about["shape"]))
        if not dtype.itemsize or not 0 <= count <= len(data) // dtype.itemsize:
            raise ValueError(f"`{name}` is no array of numbers")
        table[name] = np.frombuffer(data, dtype, count, offset).reshape(about["shape"]).copy()
        offset += count * dtype.itemsize
    return offset


def _descr(fields: list[Any]) -> Any:
    """Convert the description of a dtype of numbers from JSON."""
    if fields[0][0] == "" and len(fields) == 1:
        return _kind(fields[0][1])
    return [(name, _kind(kind), *(tuple(shape) for shape in shapes)) for name, kind, *shapes in fields]


def _kind(kind: Any) -> Any:
    """Return the description of a number or of a record; NumPy would evaluate other texts."""
    if isinstance(kind, list):
        return _descr(kind)
    if not re.fullmatch(r"[<|][bfiu][1248]", kind):
        raise ValueError(f"`{kind}` is no type of numbers")
    return kind
