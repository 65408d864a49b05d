"""Contact channels of varying length: every contact is written, at its instant."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from fakes import CROWD, RICH, TOUCHING, header_of, names_of, part_of, record, samples_of

from multibody_cli.errors import ArgumentError, ResultError
from multibody_cli.output.channel import BOUND, CONTACT, INSTANT, ROWS
from multibody_cli.output.channels import CHANNELS
from multibody_cli.output.contact_channels import CONTACT_CHANNELS
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.hdf5_layout import CONTACT_ROWS
from multibody_cli.output.selection import select
from multibody_cli.output.series import SCALES, select_channels, series_of
from multibody_cli.output.sink import MemorySink, Outcome, ThinningSink, block_rows
from multibody_cli.output.trajectory import read_trajectory

TIME = np.linspace(0.0, 2.0, 25)
SAMPLES = samples_of(TOUCHING, TIME, seed=10)
DONE = Outcome("complete", "", 24)

FIELDS = {
    "body_a": lambda samples: samples.contact_body_a,
    "body_b": lambda samples: samples.contact_body_b,
    "point": lambda samples: samples.contact_point,
    "normal": lambda samples: samples.contact_normal,
    "gap": lambda samples: samples.contact_gap,
    "normal_impulse": lambda samples: samples.contact_normal_impulse,
    "tangential_impulse": lambda samples: samples.contact_tangential_impulse,
    "moment_impulse": lambda samples: samples.contact_moment_impulse,
    "mode": lambda samples: samples.contact_mode,
}
"""Where the numbers of a flat channel come from: (K, C, ...)."""


def require_contacts(run, samples):
    """Compare each contact of each instant with the samples."""
    assert len(run.time) == len(samples.time)
    np.testing.assert_array_equal(run.channel("contacts/count").values, samples.contact_count)
    np.testing.assert_array_equal(run.channel("contacts/creep").values, samples.creep)
    offset = run.channel("contacts/offset").values
    assert offset.tolist() == [0, *itertools.accumulate(samples.contact_count.tolist())]
    whole = {name: run.channel(f"contacts/{name}").values for name in FIELDS}
    for k, count in enumerate(samples.contact_count):
        found = run.contacts(k)
        assert set(found) == {*FIELDS, "instant"}
        assert found["instant"].tolist() == [k] * count
        for name, field in FIELDS.items():
            np.testing.assert_array_equal(found[name], field(samples)[k, :count], err_msg=f"{name} at {k}")
            np.testing.assert_array_equal(whole[name][offset[k] : offset[k + 1]], found[name])


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run.h5"
    record(Hdf5Sink(path), TOUCHING, SAMPLES, DONE)
    return path


def force_one_by_one(samples, a, b):
    """Force of body a on body b, contact by contact, (K, 3)."""
    force = np.zeros((len(samples.time), 3))
    for k, count in enumerate(samples.contact_count):
        for c in range(count):
            impulse = (
                samples.contact_normal_impulse[k, c] * samples.contact_normal[k, c]
                + samples.contact_tangential_impulse[k, c]
            )
            bodies = (samples.contact_body_a[k, c], samples.contact_body_b[k, c])
            force[k] += {(a, b): 1, (b, a): -1}.get(bodies, 0) * impulse / samples.contact_step[k]
    return force


def test_the_force_of_a_pair_is_the_sum_over_its_contacts(written):
    memory = MemorySink()
    record(memory, TOUCHING, SAMPLES, DONE)
    for run, (a, b) in itertools.product(
        (read_trajectory(written), memory.trajectory()), itertools.permutations(("world", "arm", "hand"), 2)
    ):
        path = f"contacts/{a}:{b}/force"
        found = run.channel(path)
        index = {"world": -1, "arm": 0, "hand": 1}
        expected = force_one_by_one(SAMPLES, index[a], index[b])
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(found.values, expected, rtol=1e-12, atol=1e-12)
        assert (found.units, found.labels, found.frame, found.per) == ("N", (("x", "y", "z"),), "world", INSTANT)
        for rows in (slice(3, 11), slice(0, 25, 4), slice(5, 20, 3), slice(0, 0), slice(9, 4), slice(24, 25)):
            np.testing.assert_array_equal(run.channel(path, rows).values, found.values[rows])


def test_pairs_are_selected_by_name_and_by_patterns_with_a_colon(written):
    run = read_trajectory(written)
    assert {one.name for one in select(run, ["contacts/*:*/force"])} >= {
        "contacts/world:arm/force",
        "contacts/world:hand/force",
        "contacts/arm:hand/force",
    }
    # each pair once, in the order that the pattern asks for
    assert [str(one) for one in select(run, ["contacts/hand:arm/force[z]"])] == ["contacts/hand:arm/force[z]"]
    assert {one.name for one in select(run, ["contacts/hand:*"])} >= {
        "contacts/hand:world/force",
        "contacts/hand:arm/force",
    }
    assert not any(":" in one.name for word in ("*", "contacts") for one in select(run, [word]))


def test_unknown_pairs_have_hints(written):
    run = read_trajectory(written)
    for path, remedy in {
        "contacts/wrld:arm/force": "there is no body `wrld`: did you mean `world`?",
        "contacts/arm:leg/force": "there is no body `leg`: valid: arm, hand, world",
        "contacts/arm:arm/force": "a pair has two different bodies",
        "contacts/arm:hand/forces": "did you mean `contacts/arm:hand/force`?",
    }.items():
        with pytest.raises(ResultError) as refused:
            select(run, [path])
        assert str(refused.value).endswith(f"`{path}`: {remedy}")
    with pytest.raises(ResultError, match="there is no body `wrld`"):
        run.channel("contacts/wrld:arm/force")
    memory = MemorySink(["contacts/point"])
    record(memory, TOUCHING, SAMPLES, DONE)
    with pytest.raises(ResultError, match=r"contacts/arm:hand/force requires contacts/step"):
        select(memory.trajectory(), ["contacts/arm:hand/force"])


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("size", [25, 7, 1])
@pytest.mark.parametrize("names", [TOUCHING, CROWD], ids=["few", "crowd"])
def test_contacts_survive_the_round_trip_through_file_and_memory(tmp_path, names, size, compression):
    samples, memory = samples_of(names, TIME, seed=3), MemorySink()
    assert 0 < samples.contact_count.min() + 1 < samples.contact_count.max()
    record(Hdf5Sink(tmp_path / "run.h5", compression=compression), names, samples, DONE, blocks=size, block_rows=10)
    record(memory, names, samples, DONE, blocks=size)
    from_file, from_memory = read_trajectory(tmp_path / "run.h5"), memory.trajectory()
    require_contacts(from_file, samples)
    require_contacts(from_memory, samples)
    assert set(from_file.paths) == set(from_memory.paths)
    for path in from_file.paths:
        mine, other = from_file.channel(path), from_memory.channel(path)
        np.testing.assert_array_equal(mine.values, other.values)
        assert mine.values.dtype == other.values.dtype
        assert (mine.per, mine.labels, mine.units, mine.role) == (other.per, other.labels, other.units, other.role)


@pytest.mark.parametrize("first", [0, 3, 30], ids="contacts from row {}".format)
@pytest.mark.parametrize("block_rows", [10, 101])
def test_bytes_do_not_depend_on_the_size_of_blocks(tmp_path, block_rows, first):
    samples = samples_of(CROWD, np.linspace(0.0, 1.0, 101))
    samples.contact_count[:first] = 0
    assert samples.contact_count.sum() > 10 * CONTACT_ROWS
    for size in (1, 4, 7, block_rows):
        path = tmp_path / f"{size}.h5"
        record(Hdf5Sink(path), CROWD, samples, DONE, blocks=size, block_rows=block_rows)
        assert path.read_bytes() == (tmp_path / "1.h5").read_bytes(), size


def test_a_scene_without_contacts_has_no_contact_channels(tmp_path):
    assert not any(one.path.startswith("contacts") for one in series_of(RICH))
    record(Hdf5Sink(tmp_path / "run.h5"), RICH, samples_of(RICH, TIME), DONE)
    with h5py.File(tmp_path / "run.h5") as file:
        assert "contacts" not in file
    with pytest.raises(ResultError, match=r"has no contacts: the scene has none, or `output\.channels` excludes them"):
        read_trajectory(tmp_path / "run.h5").contacts(0)
    with pytest.raises(ArgumentError, match="no channel or group `contacts/count`"):
        select_channels(["contacts/count"], RICH)


def test_every_kind_of_row_is_known_and_has_its_scale():
    assert {channel.per for channel in CHANNELS} == set(ROWS) == set(SCALES)
    kinds = {channel.path: channel.per for channel in CHANNELS}
    assert all(kinds[path] == per for per, path in SCALES.items())
    assert {f"contacts/{name}" for name in FIELDS} < {path for path, per in kinds.items() if per == CONTACT}
    assert kinds["contacts/offset"] == BOUND
    assert kinds["contacts/count"] == kinds["contacts/creep"] == INSTANT
    shared = {channel.path for channel in CONTACT_CHANNELS if channel.element == "impulses"}  # with friction of joints
    assert shared == {"contacts/residual", "contacts/unsolved"}
    assert {channel.element for channel in CONTACT_CHANNELS if channel.path not in shared} == {"contacts", "moments"}


def test_a_flat_dataset_is_marked_and_has_the_scale_of_its_contacts(written):
    with h5py.File(written) as file:
        group = file["contacts"]
        for name in (*FIELDS, "instant"):
            assert group[name].attrs["per"] == "contact"
            assert group[name].shape[0] == SAMPLES.contact_count.sum()
            assert group[name].chunks[0] == min(CONTACT_ROWS, 25 * 7)
            if name != "instant":
                assert not h5py.h5ds.is_attached(group[name].id, file["time"].id, 0)
                assert h5py.h5ds.is_attached(group[name].id, group["instant"].id, 0)
        for name in ("count", "creep"):
            assert "per" not in group[name].attrs
            assert h5py.h5ds.is_attached(group[name].id, file["time"].id, 0)
        assert group["offset"].shape == (26,)
    with xarray.open_datatree(written, engine="h5netcdf") as tree:
        contacts = tree["contacts"].to_dataset()
        k = int(np.argmax(SAMPLES.contact_count > 1))
        np.testing.assert_array_equal(
            contacts.point.sel(instant=k), SAMPLES.contact_point[k, : SAMPLES.contact_count[k]]
        )
        assert contacts["count"].dims == ("time",)


def test_offset_and_instant_come_with_any_channel_of_contacts(tmp_path):
    def chosen(*patterns):
        return [one.path for one in select_channels(patterns, TOUCHING)]

    assert chosen("contacts/gap") == ["time", "contacts/offset", "contacts/instant", "contacts/gap"]
    assert chosen("contacts/count") == ["time", "contacts/count"]
    assert chosen("contacts") == ["time", *(one.path for one in CONTACT_CHANNELS if one.path.startswith("contacts/"))]
    record(Hdf5Sink(tmp_path / "run.h5", ["contacts/gap"]), TOUCHING, SAMPLES, DONE)
    found = read_trajectory(tmp_path / "run.h5").contacts(-1)
    assert set(found) == {"gap", "instant"}
    np.testing.assert_array_equal(found["gap"], SAMPLES.contact_gap[-1, : SAMPLES.contact_count[-1]])


@pytest.mark.parametrize("row", [25, -26])
def test_a_missing_instant_is_an_error(written, row):
    with pytest.raises(ResultError, match=f"has no row {row}: it has 25 output instants"):
        read_trajectory(written).contacts(row)


def test_a_run_without_instants_has_one_offset(tmp_path):
    memory = MemorySink()
    for sink in (Hdf5Sink(tmp_path / "run.h5"), memory):
        sink.open(header_of(TOUCHING))
        sink.close(Outcome("diverged", "at once"))
    for run in (read_trajectory(tmp_path / "run.h5"), memory.trajectory()):
        assert run.time.shape == (0,)
        assert run.channel("contacts/offset").values.tolist() == [0]
        assert run.channel("contacts/point").values.shape == (0, 3)
        with pytest.raises(ResultError, match="has no row 0: it has 0 output instants"):
            run.contacts(0)


def test_a_run_without_any_contact(tmp_path):
    samples = SAMPLES._replace(contact_count=np.zeros(25, dtype=np.int64))
    record(Hdf5Sink(tmp_path / "run.h5"), TOUCHING, samples, DONE, blocks=7, block_rows=10)
    require_contacts(read_trajectory(tmp_path / "run.h5"), samples)


def test_thinning_keeps_the_contacts_of_the_instants_it_keeps(tmp_path):
    samples, memory = samples_of(CROWD, TIME), MemorySink()
    kept = [0, 7, 14, 21, 24]
    expected = samples._replace(**{name: column[kept] for name, column in samples._asdict().items()})
    for sink in (Hdf5Sink(tmp_path / "run.h5"), memory):
        record(ThinningSink(sink, 7, 24), CROWD, samples, DONE, blocks=4)
    require_contacts(read_trajectory(tmp_path / "run.h5"), expected)
    require_contacts(memory.trajectory(), expected)


def test_a_killed_run_can_be_read_up_to_its_last_block(tmp_path):
    script = """
import os, sys
from fakes import *
from multibody_cli.output.hdf5 import Hdf5Sink
samples = samples_of(TOUCHING, np.linspace(0.0, 2.0, 25), seed=10)
sink = Hdf5Sink(sys.argv[1])
sink.open(header_of(TOUCHING, block_rows=10))
sink.write(part_of(samples, 0, 10), 10)
sink.write(part_of(samples, 10, 17), 7)
os._exit(9)
"""
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)])}
    path = tmp_path / "run.h5"
    ended = subprocess.run([sys.executable, "-c", script, str(path)], env=environment, check=False)
    assert ended.returncode == 9
    require_contacts(read_trajectory(tmp_path / "run.h5.part"), part_of(SAMPLES, 0, 17))


@pytest.mark.parametrize(
    ("lost", "left", "instants"),
    [
        ("contacts/offset", lambda offset: 11, 10),  # the bounds of 10 instants
        ("contacts/offset", lambda offset: 1, 0),
        ("contacts/offset", lambda offset: 0, 0),
        ("contacts/point", lambda offset: offset[10], 10),
        ("contacts/point", lambda offset: offset[10] + 1, 10),
        ("contacts/mode", lambda offset: offset[11] - 1, 10),
        ("contacts/gap", lambda offset: 0, 0),
        ("contacts/count", lambda offset: 10, 10),
        ("time", lambda offset: 10, 10),
    ],
)
def test_a_run_ends_with_its_shortest_dataset(tmp_path, written, lost, left, instants):
    assert SAMPLES.contact_count[0] > 0
    assert SAMPLES.contact_count[10] > 1
    path = tmp_path / "cut.h5"
    shutil.copyfile(written, path)
    with h5py.File(path, "r+") as file:
        file[lost].resize(int(left(file["contacts/offset"][:])), axis=0)
    run = read_trajectory(path)
    if lost == "contacts/offset" and instants == 0:
        assert run.time.shape == (0,)
        assert run.channel("contacts/point").values.shape == (0, 3)
    else:
        require_contacts(run, part_of(SAMPLES, 0, instants))


def test_contacts_without_offsets_are_refused(tmp_path, written):
    path = tmp_path / "cut.h5"
    shutil.copyfile(written, path)
    with h5py.File(path, "r+") as file:
        del file["contacts/offset"]
    with pytest.raises(ResultError, match=r"damaged or truncated \('there is no `contacts/offset`'\)"):
        read_trajectory(path)


def test_a_larger_contact_capacity_makes_blocks_smaller():
    names = names_of(contacts=20_000)
    rows = block_rows(100_000, names)
    one = samples_of(names, [0.0])
    assert 2**25 <= rows * sum(column.nbytes for column in one) <= 1.6 * 2**26


def test_flat_datasets_cannot_be_drawn(written):
    run = read_trajectory(written)
    of_instants = ["contacts/count", "contacts/creep", "contacts/step", "contacts/residual", "contacts/unsolved"]
    assert [str(one) for one in select(run, ["contacts"])] == of_instants
    assert not any(one.name.startswith("contacts/p") for one in select(run, ["*"]))
    with pytest.raises(ResultError) as refused:
        select(run, ["contacts/point[x]", "contacts/offset", "contacts/*_impulse"])
    assert str(refused.value).splitlines() == [
        f"{run.source}: {path} has one row for {rows}, so it is not a function of time: "
        "use contacts/count or contacts/creep, or read it with `mbsim export` or, in Python, with `Trajectory.contacts`"
        for path, rows in (
            ("contacts/point", ROWS[CONTACT]),
            ("contacts/offset", ROWS[BOUND]),
            ("contacts/normal_impulse", ROWS[CONTACT]),
        )
    ]
