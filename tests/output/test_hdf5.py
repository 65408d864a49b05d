"""The result file: complete, deterministic, and readable after any end of the run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from fakes import ANGLE, RICH, header_of, names_of, part_of, record, samples_of

from multibody_cli.errors import ArgumentError, OutputError, ResultError
from multibody_cli.model import Account
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.history import History
from multibody_cli.output.series import series_of
from multibody_cli.output.sink import MemorySink, Outcome
from multibody_cli.output.trajectory import read_trajectory

TIME = np.linspace(0.0, 2.0, 25)
DONE = Outcome("complete", "", 24)


@pytest.fixture
def written(tmp_path):
    record(Hdf5Sink(tmp_path / "run.h5"), RICH, samples_of(RICH, TIME), DONE)
    return tmp_path / "run.h5"


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("size", [25, 10, 7, 1])
@pytest.mark.parametrize("chunk", [25, 10, 1000])
def test_samples_survive_the_round_trip(tmp_path, size, chunk, compression):
    samples, path = samples_of(RICH, TIME), tmp_path / "new" / "run.h5"
    memory = MemorySink()
    record(Hdf5Sink(path, compression=compression), RICH, samples, DONE, blocks=size, block_rows=chunk)
    record(memory, RICH, samples, DONE, blocks=size)
    from_file, from_memory = read_trajectory(path), memory.trajectory()
    assert set(from_file.paths) == set(from_memory.paths) == {one.path for one in series_of(RICH)}
    for channel in from_file.paths:
        mine, other = from_file.channel(channel), from_memory.channel(channel)
        np.testing.assert_array_equal(mine.values, other.values)
        assert mine.values.dtype == other.values.dtype
        assert (mine.units, mine.rtol, mine.frame) == (other.units, other.rtol, other.frame)
    assert from_file.attributes == from_memory.attributes
    assert from_file.bodies == RICH.bodies
    np.testing.assert_array_equal(from_file.channel("bodies/position").values, samples.position)
    np.testing.assert_array_equal(from_file.channel("solver/iterations").values, samples.iterations)


def test_a_file_has_its_format_and_version(written):
    with h5py.File(written) as file:
        about = dict(file.attrs)
        assert file["scene/yaml"][()].decode() == "mbsim: 1\nname: Pöndel\n"
        assert list(file["joints"]) == ["hinge", "weld", "bolt10", "bolt9"]
        for one in series_of(RICH):
            assert {"units", "description", "rtol", "atol"} <= set(file[one.path].attrs)
    assert about["format"] == "mbsim-trajectory"
    assert about["format_version"] == 1
    assert (about["method"], about["integrator"], about["status"]) == ("aba", "rk4", "complete")
    assert (about["step"], about["duration"], about["options"]) == (1e-3, 0.1, '{"a": [1.5], "b": 1}')


def test_time_is_the_scale_of_every_channel(written):
    with h5py.File(written) as file:
        scale = file["time"].id
        for one in series_of(RICH)[1:]:
            assert h5py.h5ds.is_attached(file[one.path].id, scale, 0), one.path
            for axis, dimension in enumerate(one.dimensions, start=1):
                assert h5py.h5ds.is_attached(file[one.path].id, file[dimension.path].id, axis)
        assert len(scale_members(file)) == len(series_of(RICH)) - 1


def scale_members(file):
    """The datasets that the time scale itself lists."""
    return {file[reference].name for reference, _ in file["time"].attrs["REFERENCE_LIST"]}


def test_xarray_opens_root_and_groups(written):
    with xarray.open_dataset(written, engine="h5netcdf") as root:
        assert root.time.dims == ("time",)
        np.testing.assert_array_equal(root.time, TIME)
    with xarray.open_dataset(written, group="bodies", engine="h5netcdf") as bodies:
        assert bodies.position.dims == ("time", "name", "xyz")
        assert list(bodies["name"].values) == list(RICH.bodies)
        assert bodies.position.attrs["units"] == "m"
    with xarray.open_dataset(written, group="joints/bolt10", engine="h5netcdf") as joint:
        assert joint.q.dims == ("time", "coordinates_2")
        assert joint.force.dims == ("time", "moment_force")


def test_xarray_gives_groups_their_time(written):
    with xarray.open_datatree(written, engine="h5netcdf") as tree:
        at = tree["momentum"].to_dataset().linear.sel(time=TIME[3], xyz="z")
        assert float(at) == samples_of(RICH, TIME).linear_momentum[3, 2]
        assert tree["energy/work/joints/hinge"].to_dataset().force.dims == ("time",)


def test_same_run_gives_same_bytes(tmp_path):
    for name in ("a.h5", "b.h5"):
        record(Hdf5Sink(tmp_path / name), RICH, samples_of(RICH, TIME), DONE, blocks=7, block_rows=7)
        time.sleep(1.1)  # dates in a file have a resolution of a second
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_bytes_do_not_depend_on_the_size_of_blocks(tmp_path):
    for size in (1, 4, 7, 10):
        path = tmp_path / f"{size}.h5"
        record(Hdf5Sink(path), RICH, samples_of(RICH, TIME), DONE, blocks=size, block_rows=10)
        assert path.read_bytes() == (tmp_path / "1.h5").read_bytes()


@pytest.mark.parametrize("status", ["diverged", "interrupted"])
def test_a_run_that_ends_early_leaves_a_valid_file(tmp_path, status):
    samples, path = samples_of(RICH, TIME), tmp_path / "run.h5"
    record(Hdf5Sink(path), RICH, part_of(samples, 0, 13), Outcome(status, "why", 12), blocks=5, block_rows=10)
    run = read_trajectory(path)
    assert (run.attributes["status"], run.attributes["message"], run.attributes["steps"]) == (
        status,
        "why",
        12,
    )
    assert {len(run.channel(channel).values) for channel in run.paths} == {13}
    assert not (tmp_path / "run.h5.part").exists()


def test_a_run_without_an_instant_leaves_a_valid_file(tmp_path):
    sink = Hdf5Sink(tmp_path / "run.h5")
    sink.open(header_of(RICH))
    sink.close(Outcome("diverged", "at once"))
    assert read_trajectory(tmp_path / "run.h5").time.shape == (0,)


def test_not_a_number_is_kept(tmp_path):
    samples = samples_of(RICH, TIME)
    samples.position[20:] = np.nan
    samples.quaternion[20:] = np.nan
    record(Hdf5Sink(tmp_path / "run.h5"), RICH, samples, Outcome("diverged"))
    assert np.isnan(read_trajectory(tmp_path / "run.h5").channel("bodies/quaternion").values[20:]).all()


def test_only_chosen_channels_are_written(tmp_path):
    record(Hdf5Sink(tmp_path / "run.h5", channels=["joints/hinge/q"]), RICH, samples_of(RICH, TIME), DONE)
    assert set(read_trajectory(tmp_path / "run.h5").paths) == {"time", "joints/hinge/q"}


def test_odd_names_are_written_and_read(tmp_path):
    names = names_of(joints=[(name, (ANGLE,)) for name in (".", "..", "a/b", "a.b", "ä ö", "%2F")], bodies=["x/y", "."])
    samples = samples_of(names, TIME)
    record(Hdf5Sink(tmp_path / "run.h5"), names, samples, DONE)
    run = read_trajectory(tmp_path / "run.h5")
    np.testing.assert_array_equal(run.channel("joints/a%2Fb/q").values, samples.coordinates[:, 2:3])
    np.testing.assert_array_equal(run.channel("joints/%2E/q").values, samples.coordinates[:, :1])
    np.testing.assert_array_equal(run.channel("bodies/x/y/position").values, samples.position[:, 0])


def test_existing_file_needs_force(written):
    before = written.read_bytes()
    with pytest.raises(ArgumentError, match="--force"):
        Hdf5Sink(written)
    assert written.read_bytes() == before
    record(Hdf5Sink(written, force=True), RICH, samples_of(RICH, TIME, seed=5), DONE)
    assert written.read_bytes() != before


def test_a_failed_run_does_not_touch_the_older_file(written):
    before = written.read_bytes()
    sink = Hdf5Sink(written, force=True)
    sink.open(header_of(RICH))
    assert written.read_bytes() == before
    sink.close(DONE)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ArgumentError, match="folder"):
        Hdf5Sink(tmp_path)


def test_a_file_in_place_of_the_folder_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="not a folder: choose another place with -o"):
        Hdf5Sink(tmp_path / "file" / "run.h5").open(header_of(RICH))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_without_permission_is_explained(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="may not write there: choose another place with -o"):
        Hdf5Sink(tmp_path / "run.h5").open(header_of(RICH))


def test_two_runs_do_not_write_one_file(tmp_path):
    first = Hdf5Sink(tmp_path / "run.h5")
    first.open(header_of(RICH))
    script = "sink = Hdf5Sink(path)\nsink.open(header_of(RICH))"
    ended = in_another_process(script, tmp_path / "run.h5")
    assert "OutputError" in ended.stderr
    assert "another run is writing it" in ended.stderr
    first.write(samples_of(RICH, TIME), 25)
    first.close(DONE)
    assert len(read_trajectory(tmp_path / "run.h5").time) == 25


def test_a_killed_run_can_be_read_up_to_its_last_block(tmp_path):
    path = tmp_path / "run.h5"
    script = """
sink = Hdf5Sink(path)
sink.open(header_of(RICH, block_rows=10))
sink.write(part_of(samples, 0, 10), 10)
sink.write(part_of(samples, 10, 20), 10)
os._exit(9)
"""
    assert in_another_process(script, path).returncode == 9
    with pytest.raises(ResultError, match=r"run\.h5\.part"):
        read_trajectory(path)
    run = read_trajectory(tmp_path / "run.h5.part")
    assert run.attributes["status"] == "running"
    samples = samples_of(RICH, TIME)
    np.testing.assert_array_equal(run.time, TIME[:20])
    np.testing.assert_array_equal(run.channel("joints/hinge/force").values, samples.reaction[:20, 0])


def test_a_full_disk_is_explained(tmp_path):
    script = """
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
sink = Hdf5Sink(path)
sink.open(header_of(RICH, block_rows=25))
try:
    for _ in range(100):
        sink.write(samples, 25)
except OutputError as error:
    print(error)
try:
    sink.write(samples, 25)
except OutputError as again:
    print(str(again))
sink.close(Outcome("interrupted"))
"""
    ended = in_another_process(script, tmp_path / "run.h5")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    # the same words again for whoever tries to save the last rows
    assert ended.stdout.count("run.h5.part: files may not grow that large here: record less") == 2
    assert not (tmp_path / "run.h5").exists()


def in_another_process(script: str, path: Path) -> subprocess.CompletedProcess[str]:
    preamble = """
import os, resource, sys
from fakes import *
from multibody_cli.errors import OutputError
from multibody_cli.model import Account
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.history import History
from multibody_cli.output.sink import Outcome
path = sys.argv[1]
samples = samples_of(RICH, np.linspace(0.0, 2.0, 25))
"""
    tests = Path(__file__).parents[1]
    search = os.pathsep.join([str(tests), str(tests.parent)])
    return subprocess.run(
        [sys.executable, "-c", preamble + script, str(path)],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=False,
    )


def test_blocks_are_written_without_the_general_indexing_of_datasets(tmp_path, monkeypatch):
    """Indexing costs 0.2 ms for each of 514 datasets in each block; chunks are written directly."""
    names = names_of(joints=[(f"j{i}", (ANGLE,)) for i in range(100)], bodies=[f"b{i}" for i in range(100)])
    samples = samples_of(names, np.linspace(0.0, 0.05, 50))
    sink = Hdf5Sink(tmp_path / "run.h5")
    sink.open(header_of(names, block_rows=50))
    indexed = []
    general = h5py.Dataset.__setitem__
    monkeypatch.setattr(
        h5py.Dataset, "__setitem__", lambda one, place, values: (indexed.append(one.name), general(one, place, values))
    )
    for _ in range(3):
        sink.write(samples, 50)
    sink.close(DONE)
    assert indexed == []
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["time"].shape == (150,)


def test_the_balance_of_energy_does_not_depend_on_the_blocks():
    names = names_of(accounts=tuple(Account("work", f"forces/{k}") for k in range(23)))
    samples = samples_of(names, TIME)
    whole = History(names).block(samples, len(TIME)).ledger_residual
    single = History(names)
    rows = [
        single.block(samples._replace(**{k: v[row : row + 1] for k, v in samples._asdict().items()}), 1).ledger_residual
        for row in range(len(TIME))
    ]
    np.testing.assert_array_equal(np.concatenate(rows), whole)
