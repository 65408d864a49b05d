"""A damaged or crafted result file is read, or refused in one line that names it; no verb ends in an internal error.

The test of the tier `nightly` damages a fifth as many files as `MBSIM_FUZZ` says.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from orderly_calls import CAMPAIGN, Tally, call, require_orderly
from result_files import TIME, with_contacts, write_run

from multibody_cli.output.attributes import ATTRIBUTES
from multibody_cli.output.checkpoint import FORMAT, checkpoint_path

SCENE = """\
mbsim: 1
name: pendulum
bodies: {rod: {mass: 2 kg, shapes: [{type: box, size: [0.1, 0.1, 1]}]}}
joints: {hinge: {type: revolute, child: rod, axis: [0, 1, 0], q: 30 deg, child_origin: {position: [0, 0, 0.5]}}}
simulation: {duration: 10 ms, step: 1 ms}
output: {every: 1 ms}
"""
SIGNATURES = (b"OHDR", b"OCHK", b"TREE", b"HEAP", b"SNOD", b"GCOL", b"FRHP", b"FHDB", b"BTHD", b"BTLF", b"\x89HDF")
"""Beginnings of the structures of HDF5."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Whole files: a run, one with every kind of channel, one with contacts, and a table of a sweep."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "scene.yaml").write_text(SCENE)
    assert call(["run", f"{folder / 'scene.yaml'}", "-o", f"{folder / 'run.h5'}"]).code == 0
    table = ["--vary", "gravity=[0, 0, -9],[0, 0, -8]", "--jobs", "1", "-o", f"{folder / 'table.h5'}"]
    assert call(["sweep", f"{folder / 'scene.yaml'}", *table]).code == 0
    every = write_run(folder / "every.h5")
    contacts = with_contacts(every, folder / "contacts.h5", [[{}, {"mode": 2}]] * len(TIME))
    return [folder / "run.h5", every, contacts, folder / "table.h5"]


# --- damages of bytes -----------------------------------------------------------------------------------------------
def damaged_bytes(data: bytes, chance: np.random.Generator) -> bytes:
    """Return bytes with some of them changed, removed or repeated, mostly near the structures of HDF5."""
    near = [at for word in SIGNATURES for at in _places(data, word)]
    for _ in range(chance.integers(1, 5)):
        start = (
            int(chance.choice(near) + chance.integers(64)) if chance.random() < 0.8 else int(chance.integers(len(data)))
        )
        size = int(chance.integers(1, 9))
        kind = chance.integers(10)
        if kind < 5:
            bits = bytes(byte ^ (1 << int(chance.integers(8))) for byte in data[start : start + size])
            data = data[:start] + bits + data[start + size :]
        elif kind < 8:
            fill = bytes([int(chance.choice([0, 0xFF, 0x7F, 0x80]))]) * size
            data = data[:start] + fill + data[start + size :]
        elif kind == 8:
            data = data[:start]
        else:
            data = data[:start] + data[start + size :]
    return data


def _places(data: bytes, word: bytes) -> Iterator[int]:
    at = data.find(word)
    while at >= 0:
        yield at
        at = data.find(word, at + 1)


# --- damages of content ---------------------------------------------------------------------------------------------
VALUES: tuple[Any, ...] = (
    *(3, -1, 2**63 - 1, 1.5, np.nan, np.inf, 1j, True, "", "text", "\x1b[2J", "[" * 2000, "a, b, c", b"\xff\xfe"),
    *(np.zeros(0), np.zeros(25), np.full(25, np.nan), np.arange(25), np.arange(26), np.zeros((25, 3)), -np.arange(25)),
    *(np.zeros((25, 3, 3)), np.zeros((11, 1)), np.zeros(25, "f4"), np.zeros(25, ">f8"), np.zeros(25, complex)),
    *(np.zeros(25, "V8"), np.zeros(25, [("a", "f8")]), np.array(["x"] * 25, "S5"), np.ones(25, bool)),
    *(h5py.Empty("f8"), h5py.Empty("S3"), np.zeros((25, 0)), np.full(25, 1e308), np.full(25, 2**62)),
)
LAYOUTS: tuple[dict[str, Any], ...] = (
    {"shape": (200_000_000,), "dtype": "f8", "chunks": (1000,)},
    {"shape": (200_000_000, 3), "dtype": "f8"},
    {"shape": (25,), "dtype": h5py.ref_dtype},
    {"shape": (25,), "dtype": h5py.string_dtype(), "chunks": (5,)},
    {"shape": (25,), "dtype": h5py.vlen_dtype("f8")},
    {"shape": (25,), "dtype": "f8", "external": [("other.h5", 0, 200)]},
    {"shape": (25,), "dtype": "f8", "chunks": (25,), "compression": "lzf"},
    {"data": np.zeros(10_000), "chunks": (10_000,), "compression": "gzip"},
)


def change_content(file: h5py.File, chance: np.random.Generator) -> None:
    """Change some objects of a file."""
    for _ in range(chance.integers(1, 4)):
        names: list[str] = []
        file.visit(names.append)
        one, other = (names[int(chance.integers(len(names)))] for _ in range(2))
        with contextlib.suppress(
            TypeError, ValueError, OSError, RuntimeError, KeyError, AttributeError
        ):  # a change that HDF5 refuses
            CHANGES[int(chance.integers(len(CHANGES)))](file, one, other, chance)


def _value(chance: np.random.Generator) -> Any:
    return VALUES[int(chance.integers(len(VALUES)))]


def _replace(file: h5py.File, name: str, chance: np.random.Generator) -> None:
    attributes = dict(file[name].attrs)
    del file[name]
    if chance.random() < 0.5:
        file[name] = _value(chance)
    else:
        file.create_dataset(name, **LAYOUTS[int(chance.integers(len(LAYOUTS)))])
    for key, value in attributes.items():
        with contextlib.suppress(TypeError, ValueError, OSError):
            file[name].attrs[key] = value


def _exchange(file: h5py.File, one: str, other: str) -> None:
    file.move(one, "spare")
    file.move(other, one)
    file.move("spare", other)


def _write_number(file: h5py.File, name: str, chance: np.random.Generator) -> None:
    dataset = file[name]
    if dataset.dtype.kind == "O":  # HDF5 may crash on a number in place of a list or a reference
        return
    place = tuple(int(chance.integers(max(1, length))) for length in dataset.shape)
    with np.errstate(invalid="ignore"):  # not a number, as an integer
        dataset[place] = chance.choice([np.nan, np.inf, -1.0, 1e308, 77.0, -(2.0**62)])


def _link(file: h5py.File, name: str, target: Any) -> None:
    del file[name]
    file[name] = target


def _set_attribute(file: h5py.File, name: str, chance: np.random.Generator) -> None:
    node = file[name] if chance.random() < 0.5 else file
    known = [*node.attrs] if node is not file else [*ATTRIBUTES]
    key = known[int(chance.integers(len(known)))]
    if chance.random() < 0.3:
        del node.attrs[key]
    else:
        node.attrs[key] = _value(chance)


CHANGES: tuple[Callable[[h5py.File, str, str, np.random.Generator], None], ...] = (
    lambda file, one, other, chance: _replace(file, one, chance),
    lambda file, one, other, chance: _replace(file, one, chance),
    lambda file, one, other, chance: _set_attribute(file, one, chance),
    lambda file, one, other, chance: _set_attribute(file, one, chance),
    lambda file, one, other, chance: _write_number(file, one, chance),
    lambda file, one, other, chance: _exchange(file, one, other),
    lambda file, one, other, chance: file.__delitem__(one),
    lambda file, one, other, chance: _link(file, one, h5py.SoftLink(f"/{other}")),
    lambda file, one, other, chance: _link(file, one, h5py.ExternalLink("other.h5", f"/{other}")),
    lambda file, one, other, chance: _link(file, one, file[other]),
    lambda file, one, other, chance: file.create_group(f"{one}/" + "g/" * int(chance.integers(1, 40))),
)


# --- the tests ------------------------------------------------------------------------------------------------------
def require_one_line_or_success(words: tuple[object, ...], path: Path) -> float:
    """Call a verb on a file; return the processor time, s."""
    outcome = require_orderly([str(word) for word in words])
    if outcome.code == 2 and words[0] in ("info", "compare", "plot"):
        assert len(outcome.errors.splitlines()) == 1, (words, outcome.errors)
        assert path.name in outcome.errors, (words, outcome.errors)
    return outcome.seconds


def examine(folder: Path, whole: Path, seed: int) -> float:
    """Damage a file and read it with the verbs; return the processor time, s."""
    chance = np.random.default_rng(seed)
    path = folder / "bad.h5"
    shutil.copyfile(whole, path)
    if chance.random() < 0.5:
        path.write_bytes(damaged_bytes(whole.read_bytes(), chance))
    else:
        with h5py.File(path, "r+") as file:
            change_content(file, chance)
    pair = (whole, path) if seed % 2 else (path, whole)
    seconds = require_one_line_or_success(("info", path), path) + require_one_line_or_success(("compare", *pair), path)
    if seed % 5 == 0:
        seconds += require_one_line_or_success(("plot", path, "-o", folder / "picture.svg", "--force"), path)
    if seed % 5 == 1:
        seconds += require_one_line_or_success(("rerun", path), path)
        seconds += require_one_line_or_success(("run", "--resume", path), path)
    return seconds


def test_damaged_files(files: list[Path], tmp_path: Path) -> None:
    for seed in range(100):
        examine(tmp_path, files[seed % len(files)], seed)


@pytest.mark.nightly
def test_many_damaged_files(files: list[Path], tmp_path: Path) -> None:
    tally = Tally()
    first = int.from_bytes(os.urandom(4))
    for seed in range(first, first + CAMPAIGN // 5):
        print(f"\r{seed}", end=" ")  # a failure, a crash and an endless loop show the seed
        tally.add(examine(tmp_path, files[seed % len(files)], seed), f"seed {seed}")
        if tally.count % 1000 == 0:
            print(tally, flush=True)
    print(f"{tally}\nslowest case: {tally.slowest[1]}")


def test_damaged_checkpoints(files: list[Path], tmp_path: Path) -> None:
    """With a digest that fits, so that the content is read."""
    import hashlib

    from multibody_cli import timeline

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline, "FLUSH_AFTER", 0.0)
        assert call(["run", f"{files[0].with_name('scene.yaml')}", "-o", f"{tmp_path / 'run.h5'}"]).code == 0
    checkpoint = checkpoint_path(tmp_path / "run.h5")
    body = checkpoint.read_bytes()[len(FORMAT) + 65 :]
    result = (tmp_path / "run.h5").read_bytes()
    for seed in range(60):
        chance = np.random.default_rng(seed)
        start = int(chance.integers(body.index(b"\n")))
        damaged = (
            body[:start] + chance.choice([b"", b"0", b'"', b"{}", b"-", b"1e999", b"null", b"[3]"]) + body[start + 1 :]
        )
        (tmp_path / "run.h5").write_bytes(result)
        checkpoint.write_bytes(FORMAT + hashlib.sha256(damaged).hexdigest().encode() + b"\n" + damaged)
        require_one_line_or_success(("run", "--resume", tmp_path / "run.h5", "--duration", "20 ms"), checkpoint)
