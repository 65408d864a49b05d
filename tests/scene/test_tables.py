"""Tables: numbers from CSV files, interpolations, and warnings of splines that overshoot."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest

from multibody_cli.errors import SceneError
from multibody_cli.interpolation import INTERPOLATIONS, overshoot
from multibody_cli.scene.load import load_scene

STEP = ([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 1.0, 1.0, 1.0])
GAIT = "# recorded\ntime [ms], knee [deg], load\n0,0,1e0\n\n200, 30 ,2\n 600,90,-2.5\n"


def scene_with(tmp_path, csv=None, **joint):
    scene = {
        "mbsim": 1,
        "bodies": {"rod": {"mass": 1, "inertia": {"principal": [1, 1, 1]}}},
        "joints": {"hinge": {"type": "revolute", "child": "rod", **joint}},
        "simulation": {"duration": 1},
    }
    (tmp_path / "scene.yaml").write_text(json.dumps(scene), encoding="utf-8")
    if csv is not None:
        (tmp_path / "gait.csv").write_text(csv, encoding="utf-8")
    return load_scene(tmp_path / "scene.yaml")


def test_columns_of_a_csv_file_with_units(tmp_path):
    knee = {"file": "gait.csv", "times": "time", "values": "knee"}
    loaded = scene_with(tmp_path, GAIT, motion={"position": knee})
    [signal] = loaded.scene.joints["hinge"].motion.position
    np.testing.assert_allclose(signal.times, [0, 0.2, 0.6])
    np.testing.assert_allclose(signal.values, np.radians([0, 30, 90]))
    assert signal.interpolation == "cubic"
    assert "file" not in loaded.data["joints"]["hinge"]["motion"]["position"]


def test_a_column_without_unit_is_in_si_units(tmp_path):
    load = {"file": "gait.csv", "times": "time", "values": "load"}
    [signal] = scene_with(tmp_path, GAIT, force=load).scene.joints["hinge"].force
    assert (signal.values, signal.interpolation) == ((1.0, 2.0, -2.5), "linear")


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        (None, "/gait.csv: cannot read the file: No such file or directory"),
        ("time,knee\n0,1\n", "gait.csv:1: no column `load`; the columns are `time`, `knee`"),
        ("time,load,load\n0,1,2\n", "gait.csv:1: more than one column `load`"),
        ("# a comment\ntime,load\n0,1\n1,two\n", "gait.csv:4: column `load`: expected a number, found `two`"),
        ("time,load\n0,1\n1\n", "gait.csv:3: expected 2 fields as in line 1, found 1"),
        ("time,load\n0,1\n1,nan\n", "gait.csv:3: column `load`: expected a number, found `nan`"),
        ("time,load [furlongs^2/x]\n0,1\n1,2\n", "gait.csv:1: column `load`: unknown unit `x`"),
        ("time,load\n0,1\n", "expected at least two `times`"),
        (
            "time,load [m]\n0,1\n1,2\n2,3\n",
            "gait.csv:1:1: joints.hinge.force.values[0]: expected a torque (N*m), but `1 m` is a length (2 more",
        ),
        ("", "gait.csv is empty"),
    ],
)
def test_files_without_the_numbers_are_refused(tmp_path, csv, message):
    with pytest.raises(SceneError) as caught:
        scene_with(tmp_path, csv, force={"file": "gait.csv", "times": "time", "values": "load"})
    assert message in str(caught.value)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "gait.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SceneError, match=r"gait\.csv is not UTF-8 text$"):
        scene_with(tmp_path, force={"file": "gait.csv", "times": "time", "values": "load"})


def test_a_result_file_is_no_table(tmp_path):
    with h5py.File(tmp_path / "gait.csv", "w") as file:
        file["time"] = [0.0, 1.0]
    with pytest.raises(SceneError, match=r"gait\.csv is an HDF5 file, and no table: `mbsim export .*` writes a table"):
        scene_with(tmp_path, force={"file": "gait.csv", "times": "time", "values": "load"})


def test_a_file_without_a_column_is_one_problem(tmp_path):
    with pytest.raises(SceneError) as caught:
        scene_with(tmp_path, GAIT, force={"file": "gait.csv", "times": "time"})
    [problem] = caught.value.problems
    assert problem.message == "`values` is required with `file`: the name of a column of the file"


def test_a_file_without_any_column_lacks_its_columns(tmp_path):
    with pytest.raises(SceneError) as caught:
        scene_with(tmp_path, GAIT, force={"file": "gait.csv", "time": "time"})
    times, values, wrong = (problem.message for problem in caught.value.problems)
    assert times.startswith("`times` is required: ")
    assert values.startswith("`values` is required: ")
    assert values.endswith("with `file`, the name of a column")
    assert wrong == "unknown key `time`; did you mean `times`?"


def test_a_linear_prescribed_position_is_refused(tmp_path):
    table = {"times": STEP[0], "values": STEP[1], "interpolation": "linear"}
    with pytest.raises(SceneError, match="expected `interpolation` to be `cubic`, `natural` or `pchip`"):
        scene_with(tmp_path, motion={"position": table})
    assert scene_with(tmp_path, motion={"velocity": table}).scene.joints["hinge"].motion.velocity


def test_a_spline_that_overshoots_is_reported_with_a_remedy(tmp_path):
    table = {"times": STEP[0], "values": STEP[1]}
    [warning] = scene_with(tmp_path, motion={"position": table}).warnings
    assert "joints.hinge.motion.position[0]: the cubic table leaves the range of its values by" in warning
    assert "interpolation: pchip" in warning
    assert not scene_with(tmp_path, motion={"position": {**table, "interpolation": "pchip"}}).warnings
    assert not scene_with(tmp_path, force={**table, "interpolation": "linear"}).warnings


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("seed", range(5))
def test_overshoot_is_that_of_a_dense_sample(interpolation, seed):
    rng = np.random.default_rng(seed)
    times, values = np.cumsum(rng.uniform(0.1, 1.0, 9)), rng.normal(size=9)
    pieces = INTERPOLATIONS[interpolation](times, values)
    sample = np.linspace(times[0], times[-1], 200001)
    k = np.clip(np.searchsorted(times, sample, side="right") - 1, 0, len(times) - 2)
    s = sample - times[k]
    curve = sum(pieces[k, power] * s**power for power in range(4))
    np.testing.assert_allclose(pieces[:, 0], values, atol=1e-13)
    assert np.abs(np.diff(curve)).max() < 1e-2  # continuous, so that it passes through the values from both sides
    found, _ = overshoot(times, values, interpolation)
    excess = max(curve.max() - values.max(), values.min() - curve.min(), 0.0) / np.ptp(values)
    assert found == pytest.approx(excess, abs=1e-8)
    assert interpolation in ("cubic", "natural") or found < 1e-12
