"""Trajectory: access to a finished run by channel and by time, and its errors."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from fakes import RICH, record, samples_of

from multibody_cli.errors import ResultError
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.sink import MemorySink, Outcome
from multibody_cli.output.trajectory import read_trajectory

TIME = np.arange(21) * 0.05


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run.h5"
    record(Hdf5Sink(path), RICH, samples_of(RICH, TIME), Outcome("complete"))
    return path


@pytest.fixture(scope="module")
def run(file):
    return read_trajectory(file)


def rotation_matrices(quaternions):
    w, x, y, z = quaternions.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def test_channels_of_one_body(run):
    samples = samples_of(RICH, TIME)
    matrices = rotation_matrices(samples.quaternion[:, 1])
    offset = np.array([3.0, 4.0, 5.0])
    expected = {
        "position": samples.position[:, 1],
        "linear_velocity": samples.linear_velocity[:, 1],
        "angular_velocity": samples.angular_velocity[:, 1],
        "com": samples.position[:, 1] + matrices @ offset,
        "angular_velocity_body": np.einsum("kji,kj->ki", matrices, samples.angular_velocity[:, 1]),
    }
    for quantity, values in expected.items():
        record = run.channel(f"bodies/hand/{quantity}")
        np.testing.assert_allclose(record.values, values, atol=1e-14)
    assert run.channel("bodies/hand/com").units == "m"
    assert run.channel("bodies/hand/angular_velocity_body").frame == "body"


def test_rows_by_time(run):
    assert run.at(0.0) == 0
    assert run.at(0.1 + 0.2) == 6
    assert run.at(1.0) == 20
    with pytest.raises(ResultError, match=r"no output instant at 0\.07 s: the nearest is 0\.05 s"):
        run.at(0.07)
    with pytest.raises(ResultError, match="the last 1 s"):
        run.at(1.05)


def test_unknown_channels_name_the_nearest(run):
    with pytest.raises(ResultError, match="did you mean `joints/hinge/q`"):
        run.channel("joints/hing/q")
    with pytest.raises(ResultError, match="did you mean `bodies/hand/com`"):
        run.channel("bodies/hand/con")


def test_a_body_channel_reports_its_missing_sources():
    memory = MemorySink(["bodies/position"])
    record(memory, RICH, samples_of(RICH, TIME), Outcome("complete"))
    run = memory.trajectory()
    assert run.channel("bodies/arm/position").values.shape == (21, 3)
    with pytest.raises(
        ResultError, match=r"bodies/arm/com requires bodies/quaternion, which `output\.channels` excludes"
    ):
        run.channel("bodies/arm/com")


def test_a_file_contains_its_scene(run):
    assert run.scene_yaml.startswith("mbsim: 1")


def test_a_file_open_elsewhere_can_be_read(file):
    with h5py.File(file):
        assert len(read_trajectory(file).time) == 21


def table_of_a_sweep(path, good):
    path.write_bytes(good)
    with h5py.File(path, "r+") as file:
        file.attrs["format"] = "mbsim-sweep"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path, good: None, "does not exist"),
        (lambda path, good: path.mkdir(), "is a folder"),
        (lambda path, good: path.write_text("mbsim: 1\n"), "not an HDF5 file"),
        (lambda path, good: path.write_bytes(b""), "not an HDF5 file"),
        (lambda path, good: path.write_bytes(good[: len(good) // 2]), "damaged or truncated"),
        (lambda path, good: path.write_bytes(good[:600]), "damaged or truncated"),
        (lambda path, good: h5py.File(path, "w").close(), "not a result file of mbsim"),
        (table_of_a_sweep, "is a table of `mbsim sweep`, not a result file: `mbsim info` shows it"),
    ],
    ids=["missing", "folder", "text", "empty", "half", "head", "foreign", "table"],
)
def test_other_files_are_refused(tmp_path, file, make, message):
    path = tmp_path / "other.h5"
    make(path, file.read_bytes())
    with pytest.raises(ResultError, match=message):
        read_trajectory(path)


@pytest.mark.parametrize("damage", ["format_version", "time", "scene"])
def test_an_incomplete_file_is_refused(tmp_path, file, damage):
    path = tmp_path / "other.h5"
    path.write_bytes(file.read_bytes())
    with h5py.File(path, "r+") as other:
        if damage == "format_version":
            other.attrs["format_version"] = 7
        else:
            del other[damage]
    with pytest.raises(ResultError, match="format version 7" if damage == "format_version" else "damaged"):
        read_trajectory(path)
