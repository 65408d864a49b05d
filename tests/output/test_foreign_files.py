"""Result files and checkpoints of unknown origin: only data that the file itself holds are read, in bounded memory."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import resource
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from result_files import DATASETS, EVERYTHING, TIME, changed, with_contacts, write_run

from multibody_cli.errors import ResultError
from multibody_cli.output import global_heaps, hdf5_checks
from multibody_cli.output.attributes import ATTRIBUTES
from multibody_cli.output.channels import CHANNELS, declaration_of
from multibody_cli.output.checkpoint import FORMAT, checkpoint_path, read_checkpoint
from multibody_cli.output.result_file import ResultFile
from multibody_cli.output.series import series_of
from multibody_cli.output.trajectory import read_trajectory

CHANNEL = "energy/kinetic"
ABOUT = {"units": "J", "description": "", "rtol": 1e-6, "atol": 1e-9}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "run.h5")


def dataset(path: str = CHANNEL, **options: Any) -> Callable[[h5py.File], None]:
    """Replace a dataset."""

    def change(file: h5py.File) -> None:
        del file[path]
        file.create_dataset(path, **options).attrs.update(ABOUT)

    return change


def attribute(name: str, value: Any, path: str = "/") -> Callable[[h5py.File], None]:
    return lambda file: file[path].attrs.__setitem__(name, value)


def link(target: Any, path: str = CHANNEL) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file.pop(path, None)
        file[path] = target if isinstance(target, h5py.SoftLink | h5py.ExternalLink) else file[target]

    return change


def nested(file: h5py.File) -> None:
    group = file
    for _ in range(10_000):
        group = group.create_group("g")


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=TIME.shape, dtype="f8")
    layout[:] = h5py.VirtualSource("other.h5", "energy/total", shape=TIME.shape)
    del file[CHANNEL]
    file.create_virtual_dataset(CHANNEL, layout).attrs.update(ABOUT)


def one_text_for_all(file: h5py.File) -> None:
    """Names that all refer to one long text, as no writer does."""
    del file["bodies/name"]
    names = file.create_dataset("bodies/name", shape=(10_000,), dtype=h5py.string_dtype(), chunks=(10_000,))
    names[0] = "x" * 1_000_000
    reference = names.id.read_direct_chunk((0,))[1][:16]
    names.id.write_direct_chunk((0,), reference * 10_000)


def odd_name(file: h5py.File) -> None:
    h5py.h5g.create(file.id, b"\xff")


def instants_of_unix(file: h5py.File) -> None:
    """A type of HDF5 that NumPy does not have."""
    del file[CHANNEL]
    h5py.h5d.create(file.id, CHANNEL.encode(), h5py.h5t.UNIX_D32LE, h5py.h5s.create_simple((25,)))


def rows_of_meals(file: h5py.File) -> None:
    file.create_dataset("more", data=np.zeros(25)).attrs.update({**ABOUT, "per": "meal"})


def certificate(**changes: Any) -> Callable[[h5py.File], None]:
    about = {"status": "certified", "verdict": "", "digits": 3, "until": 1.0, "methods": '["aba"]', "settings": "[]"}

    def change(file: h5py.File) -> None:
        group = file.create_group("certificate")
        group.attrs.update({name: changes.get(name, value) for name, value in about.items()})
        bars = group.create_dataset(CHANNEL, data=changes.get("data", np.zeros(len(TIME))))
        bars.attrs.update({"units": "J", "order": 1.0, "digits": 3})

    return change


DAMAGES = {
    "values without storage": (dataset(shape=(200_000_000,), dtype="f8", chunks=(1000,)), "stores only 0 bytes"),
    "times without storage": (dataset("time", shape=(200_000_000,), dtype="f8", chunks=(1000,)), "stores only 0 bytes"),
    "names without storage": (
        dataset("bodies/name", shape=(10_000_000,), dtype=h5py.string_dtype(), chunks=(1000,)),
        "stores only 0 bytes",
    ),
    "a huge chunk": (
        dataset(shape=(25,), maxshape=(None,), dtype="f8", chunks=(400_000_000,), compression="gzip"),
        "has chunks of more than",
    ),
    "one text for all names": (one_text_for_all, "has texts that are longer than the file"),
    "nested groups": (nested, "groups are nested more than 16 deep"),
    "a group in itself": (link("/", "loop"), "at loop: is a second name of another object"),
    "a soft link": (link(h5py.SoftLink("/energy/total")), "is a link to another place"),
    "an external link": (link(h5py.ExternalLink("other.h5", "/energy/total")), "is a link to another place"),
    "an external link beside": (link(h5py.ExternalLink("other.h5", "/"), "note"), "at note: is a link"),
    "external storage": (dataset(shape=(25,), dtype="f8", external=[("other.h5", 0, 200)]), "stored in other files"),
    "virtual storage": (virtual, "stored in other files"),
    "another filter": (dataset(data=np.zeros(25), compression="lzf"), "has the filter 32000"),
    "texts": (dataset(data=["x"] * 25), "expected values of type float64, found text"),
    "complex numbers": (dataset(data=np.zeros(25, complex)), "found complex128"),
    "records": (dataset(data=np.zeros(25, [("a", "f8")])), "found void64"),
    "references": (dataset(shape=(25,), dtype=h5py.ref_dtype), "found references or lists"),
    "lists": (dataset(shape=(25,), dtype=h5py.vlen_dtype("f8")), "found references or lists"),
    "single precision": (dataset(data=np.zeros(25, "f4")), "found float32"),
    "a single value": (dataset(data=1.0), "expected an array, found a single value"),
    "another shape": (dataset(data=np.zeros((25, 3))), "has the shape (25, 3), expected (any)"),
    "another number of bodies": (dataset("bodies/position", data=np.zeros((25, 2, 3))), "expected (any, 3, 3)"),
    "a scene that is a number": (dataset("scene/yaml", data=3), "at scene/yaml: expected texts, found int64"),
    "a scene that is an array": (dataset("scene/yaml", data=["a", "b"]), "at scene/yaml: expected one text"),
    "a scene of other letters": (dataset("scene/yaml", data=np.bytes_(b"\xff")), "at scene/yaml: is not UTF-8 text"),
    "no bodies": (lambda file: file.pop("bodies/name"), "at bodies/name: is missing"),
    "a body twice": (dataset("bodies/name", data=["a", "a", "b"]), "at bodies/name: has the same name twice"),
    "times that decrease": (dataset("time", data=TIME[::-1]), "at time: its values decrease"),
    "times that no axis shows": (
        dataset("time", data=1e101 + 0.0 * TIME),
        "at time: its values decrease, are not numbers, or exceed 1e+100",
    ),
    "a time that is not a number": (dataset("time", data=[math.nan, *TIME[1:]]), "at time: its values decrease, are"),
    "a status that is an array": (attribute("status", [1, 2]), "at attribute `status`: expected a single value"),
    "an unknown status": (attribute("status", "happy"), "at attribute `status`: expected one of running, complete"),
    "steps that are a text": (attribute("steps", "many"), "at attribute `steps`: expected a number"),
    "an empty name": (attribute("name", h5py.Empty("S3")), "at attribute `name`: expected a single value"),
    "alarms that are no objects": (
        attribute("alarms", "[3]"),
        "at attribute `alarms`: expected a JSON list of entries",
    ),
    "earlier scenes without instants": (
        lambda file: file.create_dataset("scene/earlier", data=["a"]),
        "at scene/earlier: expected an attribute `until`",
    ),
    "a name of other letters": (odd_name, "\\xff: its name is not UTF-8 text"),
    "a type of no numbers": (instants_of_unix, "has a type that cannot be read"),
    "a table of names": (dataset("bodies/name", data=[["a"], ["b"], ["c"]]), "expected one axis, found the shape"),
    "rows of another kind": (rows_of_meals, "at more: has rows for `meal`, which is unknown"),
    "reasons that are no list": (attribute("accepted", "{}"), "at attribute `accepted`: expected a JSON list"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_not_as_declared_is_refused_when_it_is_opened(run: Path, tmp_path: Path, damage: str) -> None:
    change, message = DAMAGES[damage]
    write_run(tmp_path / "other.h5")
    path = changed(run, tmp_path / "bad.h5", change)
    with pytest.raises(ResultError) as error:
        read_trajectory(path)
    assert str(error.value).startswith(f"{path} is damaged at ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_texts_are_the_same_if_they_are_read_one_by_one(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_trajectory(run).bodies
    monkeypatch.setattr(hdf5_checks, "TEXT_BYTES", 1)
    assert read_trajectory(run).bodies == whole
    assert len(whole) > 1


READ = {
    "units that are a number": (attribute("units", 3, CHANNEL), "attribute `units`: expected a text"),
    "too many units": (attribute("units", "J, J", CHANNEL), "expected one text or one for each component, found 2"),
    "a tolerance that is no number": (attribute("rtol", np.nan, CHANNEL), "`rtol`: expected a finite number"),
}


@pytest.mark.parametrize("damage", READ)
def test_a_channel_is_checked_when_it_is_read(run: Path, tmp_path: Path, damage: str) -> None:
    change, message = READ[damage]
    with pytest.raises(ResultError, match=f"damaged at {CHANNEL}.*{message}"):
        read_trajectory(changed(run, tmp_path / "bad.h5", change)).channel(CHANNEL)


def test_compressed_values_are_not_expanded_beyond_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multibody_cli.output.hdf5_checks.MAX_INFLATION", 2**20)
    path = write_run(tmp_path / "run.h5", channels=["time", CHANNEL])
    for name in ("time", CHANNEL):
        changed(path, tmp_path / "bad.h5", dataset(name, data=np.zeros(140_000), chunks=(10_000,), compression="gzip"))
        (tmp_path / "bad.h5").replace(path)
    with pytest.raises(ResultError, match=f"damaged at {CHANNEL}: takes 1120000 bytes of memory, more than 1048576"):
        read_trajectory(path).channel(CHANNEL)
    assert read_trajectory(path).channel(CHANNEL, slice(0, 10)).values.shape == (10,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (certificate(data=np.zeros(3)), r"has the shape \(3,\), and its channel \(25,\)"),
        (certificate(data=["x"] * 25), "expected values of type float64, found text"),
        (certificate(methods="[" * 100_000), "expected a JSON list of entries of the type str"),
        (certificate(until="late"), "attribute `until`: expected a number"),
        (lambda file: file.create_group("certificate"), "attribute `status`: is missing"),
    ],
)
def test_a_certificate_that_is_not_as_declared_is_refused(run: Path, tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(ResultError, match=f"damaged at certificate.*{message}"):
        read_trajectory(changed(run, tmp_path / "bad.h5", change)).certificate  # noqa: B018


@pytest.mark.parametrize(
    ("path", "place", "value", "message"),
    [
        ("contacts/offset", 0, -5, "its values decrease"),
        ("contacts/offset", 5, 20, "its values decrease"),
        ("contacts/body_a", 3, 77, "index of a body that does not exist"),
    ],
)
def test_indices_of_contacts_are_checked(
    run: Path, tmp_path: Path, path: str, place: int, value: int, message: str
) -> None:
    whole = with_contacts(run, tmp_path / "whole.h5", [[{}]] * len(TIME))
    assert read_trajectory(whole).contacts(3)["body_a"].tolist() == [0]
    bad = changed(whole, tmp_path / "bad.h5", lambda file: file[path].__setitem__(place, value))
    with pytest.raises(ResultError, match=f"damaged at {path}: .*{message}"):
        read_trajectory(bad).contacts(3)


def test_contacts_end_with_the_rows_that_are_there(run: Path, tmp_path: Path) -> None:
    whole = with_contacts(run, tmp_path / "whole.h5", [[{}]] * len(TIME))
    bad = changed(whole, tmp_path / "bad.h5", lambda file: file["contacts/offset"].__setitem__(-1, 2**62))
    assert len(read_trajectory(bad).time) == len(TIME) - 1


def test_a_file_that_changes_after_it_was_checked_is_refused(run: Path, tmp_path: Path) -> None:
    path = changed(run, tmp_path / "run.h5", lambda file: None)
    trajectory = read_trajectory(path)
    changed(run, path, dataset(data=["x"] * 25))
    with pytest.raises(ResultError, match="has changed since it was opened"):
        trajectory.channel(CHANNEL)


def test_other_datasets_and_attributes_are_allowed_and_not_read(run: Path, tmp_path: Path) -> None:
    def annotate(file: h5py.File) -> None:
        file.attrs.update({"author": "me", "numbers": [1, 2]})
        file["notes/of mine"] = ["a", "b"]
        file["own/channel"] = np.zeros((len(TIME), 2))
        file["own/channel"].attrs.update(ABOUT)

    found = read_trajectory(changed(run, tmp_path / "own.h5", annotate))
    assert set(found.paths) == {*DATASETS, "own/channel"}
    assert found.channel("own/channel").labels == (("0", "1"),)
    assert found.attributes["author"] == "me"
    assert "numbers" not in found.attributes


def test_every_channel_has_its_declaration() -> None:
    for series in series_of(EVERYTHING):
        assert declaration_of(series.path) is series.channel
    assert {
        declaration_of(one.path.format(**dict.fromkeys(["work", "dissipation"], "a/b")))
        for one in CHANNELS
        if ("{work}" in one.path or "{dissipation}" in one.path)
    } == {one for one in CHANNELS if "{work}" in one.path or "{dissipation}" in one.path}
    for path in ("joints", "joints/hinge", "joints/hinge/other", "joints/a/b/q", "scene/yaml", "certificate/time", ""):
        assert declaration_of(path) is None


def test_every_file_has_the_declared_attributes(run: Path) -> None:
    with h5py.File(run) as file:
        found = dict(file.attrs)
    assert set(found) <= set(ATTRIBUTES)
    assert {name for name, one in ATTRIBUTES.items() if one.is_required} <= set(found)


def test_labels_are_those_of_the_scales(run: Path) -> None:
    """They follow from the declarations, and xarray reads them from the scales that the writer attaches."""
    result = ResultFile(run)
    with result.open() as checked, h5py.File(run) as file:
        for path in result.rows:
            scales = [file[path].dims[axis][0].asstr()[:].tolist() for axis in range(1, file[path].ndim)]
            assert list(map(list, checked.labels(path))) == scales, path


# --- checkpoints ----------------------------------------------------------------------------------------------------
def stored(tmp_path: Path, body: bytes) -> Path:
    path = checkpoint_path(tmp_path / "run.h5")
    path.write_bytes(FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    return tmp_path / "run.h5"


FACTS: dict[str, Any] = {
    **dict.fromkeys(("scene_yaml", "scene_sha256", "mbsim_version", "target"), ""),
    **{"instants": 2, "checksums": {"time": 1}, "history": {}, "earlier": [["", 1.0]]},
    "values": {"a": {"dtype": [["", "<f8"]], "shape": [2]}},
}


# --- global heaps ---------------------------------------------------------------------------------------------------
def free_space(content: bytes) -> int:
    """Return the offset of the size of the free space of the first global heap collection that has one."""
    start = content.find(b"GCOL")
    while start >= 0:
        end = start + int.from_bytes(content[start + 8 : start + 16], "little")
        place = start + 16
        while place + 16 <= end:
            length = int.from_bytes(content[place + 8 : place + 16], "little")
            if content[place] == content[place + 1] == 0:
                return place + 8
            place += 16 + (length + 7) // 8 * 8
        start = content.find(b"GCOL", start + 1)
    raise AssertionError("no collection has free space")


@pytest.mark.parametrize("size", [0, 2**64 - 8, 2**32])
@pytest.mark.parametrize("piece", [2**24, 7])
def test_a_heap_on_which_hdf5_loops_is_refused(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, piece: int
) -> None:
    """HDF5 2.0 never returns from a free space of zero bytes."""
    monkeypatch.setattr(global_heaps, "_PIECE", piece)
    content = bytearray(run.read_bytes())
    place = free_space(content)
    content[place : place + 8] = size.to_bytes(8, "little")
    (tmp_path / "heap.h5").write_bytes(content)
    with pytest.raises(ResultError, match=rf"damaged at byte {place - 8}: a global heap holds an object without"):
        ResultFile(tmp_path / "heap.h5")


def test_numbers_with_the_bytes_of_a_heap_are_read(run: Path, tmp_path: Path) -> None:
    number = np.frombuffer(global_heaps.SIGNATURE + b"\1\2\3")[0]
    after = np.full(len(TIME), 1.5)
    after[0] = number
    path = changed(run, tmp_path / "bytes.h5", dataset(data=after))
    assert number.tobytes() + after[1].tobytes() in path.read_bytes()
    assert read_trajectory(path).channel(CHANNEL).values[0] == number


def test_holes_of_a_file_are_not_searched(run: Path, tmp_path: Path) -> None:
    """A terabyte without stored bytes takes no time."""
    path = changed(run, tmp_path / "holes.h5", lambda file: None)
    os.truncate(path, 2**40)
    assert ResultFile(path).rows == ResultFile(run).rows


def test_other_sizes_of_addresses_are_refused(tmp_path: Path) -> None:
    properties = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    properties.set_sizes(4, 4)
    h5py.h5f.create(bytes(tmp_path / "short.h5"), fcpl=properties).close()
    with pytest.raises(ResultError, match="superblock: expected addresses and lengths of 8 bytes"):
        ResultFile(tmp_path / "short.h5")


def test_a_checkpoint_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = read_checkpoint(stored(tmp_path, json.dumps(FACTS).encode() + b"\n" + np.array([1.0, 2.0]).tobytes()))
    assert found is not None
    np.testing.assert_array_equal(found.values["a"], [1.0, 2.0])


@pytest.mark.parametrize(
    "change",
    [
        {"values": {"a": {"dtype": [["", "<f8"]], "shape": [3]}}},
        {"values": {"a": {"dtype": [["", "<f8"]], "shape": [2**40, 2**40]}}},
        {"values": {"a": {"dtype": [["", "<f8"]], "shape": [-2]}}},
        {"values": {"a": {"dtype": [["", "|O"]], "shape": [2]}}},
        {"values": {"a": {"dtype": [["", "|V0"]], "shape": [2]}}},
        {"values": {"a": {"dtype": [["x", "<f8", [0]]], "shape": [2]}}},
        {"values": {"a": {"dtype": [["", "<08"]], "shape": [2]}}},
        {"values": {"a": {"dtype": 3, "shape": [2]}}},
        {"values": {"a": {"dtype": [["b", [["c", "O"]]]], "shape": [2]}}},
        {"values": {"a": 3}},
        {"values": [1]},
        {"history": None},
        {"instants": "2"},
        {"instants": -1},
        {"checksums": {"time": "1"}},
        {"scene_yaml": 3},
        {"earlier": [3]},
        {"earlier": [["", "1"]]},
        {"more": 1},
    ],
)
def test_a_checkpoint_with_other_content_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(ResultError, match=r"run\.h5\.ckpt is damaged \(.*delete it to begin again"):
        read_checkpoint(stored(tmp_path, json.dumps(FACTS | change).encode() + b"\n" + np.zeros(2).tobytes()))


@pytest.mark.parametrize("body", [b"", b"[]\n", b"[" * 100_000, b"\xff\n", b"null"])
def test_a_checkpoint_without_facts_is_refused(tmp_path: Path, body: bytes) -> None:
    with pytest.raises(ResultError, match=r"run\.h5\.ckpt is damaged \(.*delete it to begin again"):
        read_checkpoint(stored(tmp_path, body))


def test_a_checkpoint_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = stored(tmp_path, b"{}")

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ResultError, match=r"cannot read .*run\.h5\.ckpt: Permission denied"):
        read_checkpoint(result)


def test_a_huge_checkpoint_is_not_read(tmp_path: Path) -> None:
    result = stored(tmp_path, b"{}")
    with checkpoint_path(result).open("r+b") as file:
        file.truncate(2**40)  # a hole
    with pytest.raises(ResultError, match="is not a file of at most"):
        read_checkpoint(result)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not state the memory of a process")
@pytest.mark.parametrize("place", ["attribute", "dataset"])
def test_a_text_with_a_length_of_gigabytes_takes_no_memory(place: str, run: Path, tmp_path: Path) -> None:
    """HDF5 allocates the length that a file states for a text: here of the method, or of the name of a body."""
    with h5py.File(run) as file:
        text = str(file.attrs["method"]) if place == "attribute" else file["bodies/name"][0].decode()
    whole = run.read_bytes()
    heaps = [found.start() for found in re.finditer(b"GCOL", whole)]
    references = [struct.pack("<IQI", len(text), heap, index) for heap in heaps for index in range(1, 300)]
    places = [whole.find(reference) for reference in references if reference in whole]
    for at in places:
        damaged = bytearray(whole)
        damaged[at : at + 4] = b"\xf0\xff\xff\xff"
        (tmp_path / "long.h5").write_bytes(damaged)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with suppress(ResultError):  # other texts of the same length are not read
            read_trajectory(tmp_path / "long.h5")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 2**19  # kB
    assert places
