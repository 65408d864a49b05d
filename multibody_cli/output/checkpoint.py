"""Checkpoint: the carried state of a run at one instant, in a file beside the result file.

The file `RESULT.ckpt` holds a line with the format, a line with the SHA-256 of the rest, a line of JSON, and the bytes
of the arrays.  It is replaced atomically, after the rows that it refers to have been written to the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.errors import ResultError
from multibody_cli.output.carried_state import Values
from multibody_cli.output.trajectory import EarlierScene

FORMAT = b"mbsim-checkpoint 1\n"
TABLES = ("values", "history")
"""Fields of a checkpoint that contain arrays."""


@dataclass(frozen=True)
class Checkpoint:
    """State of a run after some output instants.

    Parameters
    ----------
    scene_yaml, scene_sha256, mbsim_version
        Those of the result file.
    target
        The processor that the kernels were compiled for.
    instants
        Number of output instants that the result file holds and that the state follows.
    checksums
        CRC-32 of the rows of each dataset up to these instants.
    values
        The carried state of the run, as `timeline.simulate` collects it.
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
    OSError
        The file cannot be written.
    """
    arrays: list[Any] = []
    facts = dict(vars(checkpoint))
    for name in TABLES:
        facts[name] = _without_arrays(facts[name], arrays)
    body = json.dumps(facts).encode() + b"\n" + b"".join(array.tobytes() for array in arrays)
    path = checkpoint_path(result)
    new = path.with_name(path.name + ".new")
    with new.open("wb") as file:
        file.write(FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


def read_checkpoint(result: Path) -> Checkpoint | None:
    """Read the checkpoint of a result file; None if there is none.

    Raises
    ------
    ResultError
        The file cannot be read, has another format or is damaged.
    """
    path = checkpoint_path(result)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultError(f"cannot read {path}: {error.strerror or error}") from error
    remedy = "delete it to begin again at the start"
    if not data.startswith(FORMAT):
        raise ResultError(f"{path} is not a checkpoint of this version of mbsim: {remedy}")
    digest, _, body = data[len(FORMAT) :].partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ResultError(f"{path} is damaged: its checksum does not match; {remedy}")
    text, _, rest = body.partition(b"\n")
    facts = json.loads(text)
    offset = 0
    for name in TABLES:
        offset = _read_arrays(facts[name], rest, offset)
    facts["earlier"] = tuple(EarlierScene(*scene) for scene in facts["earlier"])
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
        count = int(np.prod(about["shape"]))
        table[name] = np.frombuffer(data, dtype, count, offset).reshape(about["shape"]).copy()
        offset += count * dtype.itemsize
    return offset


def _descr(fields: list[Any]) -> Any:
    """Convert the description of a dtype from JSON."""
    if fields[0][0] == "" and len(fields) == 1:
        return fields[0][1]
    return [(name, kind, *(tuple(shape) for shape in shapes)) for name, kind, *shapes in fields]
