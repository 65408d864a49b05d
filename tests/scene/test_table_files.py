"""The reader of tables: units of headings, separators, decimal commas, files of OpenSim, and lines of errors."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from scene_texts import HEAD, load

from multibody_cli.document.table_file import Heading, number_in, read_heading, read_table
from multibody_cli.errors import ArgumentError, SceneError
from multibody_cli.limits import Usage
from multibody_cli.studies.measurements import read_measurements
from multibody_cli.studies.sweep.design import RandomSampling, design_of

SLIDE = "joints: {j: {type: prismatic, child: ball, motion: {position: {file: t.csv, times: time, values: lift}}}}\n"


def table(folder: Path, text: str, name: str = "t.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return read_table(folder / name, Usage())


def rows(folder: Path, text: str) -> list[list[str]]:
    return [cells for _, cells in table(folder, text).rows]


@pytest.mark.parametrize(
    ("text", "name", "unit"),
    [
        ("lift", "lift", ""),
        ("lift (mm)", "lift", "mm"),
        ("lift [mm]", "lift", "mm"),
        ("lift[mm]", "lift", "mm"),
        ("lift, mm", "lift", "mm"),
        ("lift / mm", "lift", "mm"),
        ("lift/mm", "lift", "mm"),
        ("  lift  (mm) ", "lift", "mm"),
        ("speed / (m/s)", "speed", "m/s"),
        ("v m/s", "v", "m/s"),
        ("v kg*m^2/s", "v", "kg*m^2/s"),
        ("joints/a b/q", "joints/a b/q", ""),
        ("gain (N/(m*s))", "gain", "N/(m*s)"),
        ("knee (left) [deg]", "knee (left)", "deg"),
        ("load [-]", "load", "1"),
        ("joints/hinge/q", "joints/hinge/q", ""),
        ("joints/hinge/force[fz] (N)", "joints/hinge/force[fz]", "N"),
        ("joints/hinge/force[fz]", "joints/hinge/force[fz]", ""),
        ("joints/hinge/q[deg]", "joints/hinge/q", "deg"),
        ("joints.h.limits[0]", "joints.h.limits[0]", ""),
        ("joints.h.limits[0] (mm)", "joints.h.limits[0]", "mm"),
    ],
)
def test_a_heading_is_a_name_and_a_unit(text: str, name: str, unit: str) -> None:
    assert read_heading(text) == Heading(name, unit, " ".join(text.split()))


@pytest.mark.parametrize("heading", ["lift (mm)", "lift [mm]", '"lift, mm"', "lift / mm", "lift/mm"])
@pytest.mark.parametrize("values", ["lift", "lift (mm)"])
def test_all_forms_of_a_unit_give_the_same_scene(tmp_path: Path, heading: str, values: str) -> None:
    (tmp_path / "t.csv").write_text(f"time (ms),{heading}\n0,0\n1000,10\n")
    scene = load(tmp_path, HEAD + SLIDE.replace("values: lift", f"values: '{values}'")).scene
    [signal] = scene.joints["j"].motion.position
    assert (signal.times, signal.values) == ((0.0, 1.0), (0.0, 0.01))


def test_two_columns_of_one_name_are_named_with_their_units(tmp_path: Path) -> None:
    both = table(tmp_path, "lift (mm),lift (m)\n1,2\n")
    assert [both.index_of(word) for word in ("lift (mm)", "lift [m]")] == [0, 1]
    with pytest.raises(ArgumentError, match=r"t\.csv:1: more than one column `lift`; the columns are `lift \(mm\)`"):
        both.index_of("lift")


@pytest.mark.parametrize(
    ("heading", "message"),
    [
        ("lift (left)", "t.csv:2: column `lift`: unknown unit `left`"),
        ("lift [mmm]", "t.csv:2: column `lift`: unknown unit `mmm`"),
        ("lift / 2", "t.csv:2: column `lift`: `2` is not a unit"),
        ("lift (deg)", "t.csv:2:1: joints.j.motion.position.values[0]: expected a length (m), but `0 deg` is a"),
        ("lift [-]", "t.csv:2:1: joints.j.motion.position.values[0]: expected a length (m), but `0 rad` is a"),
    ],
)
def test_wrong_units_are_refused_with_the_line(tmp_path: Path, heading: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(f"# lift of a cam\ntime,{heading}\n0,0\n1,10\n")
    with pytest.raises(SceneError) as caught:
        load(tmp_path, HEAD + SLIDE)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("heading", "unit"), [("lift (mm) left", "mm"), ("lift mm", "mm"), ("[ms] t", "ms"), ("base_mm", "mm")]
)
def test_a_unit_within_a_name_is_not_ignored(tmp_path: Path, heading: str, unit: str) -> None:
    (tmp_path / "t.csv").write_text(f"time,{heading}\n0,0\n1,10\n")
    with pytest.raises(SceneError, match=rf"t\.csv:1: column `{re.escape(heading)}`: is `{unit}` its unit\? Write"):
        load(tmp_path, HEAD + SLIDE.replace("values: lift", f"values: '{heading}'"))
    (tmp_path / "t.csv").write_text(f"time,{heading} [m]\n0,0\n1,10\n")
    scene = load(tmp_path, HEAD + SLIDE.replace("values: lift", f"values: '{heading}'")).scene
    assert scene.joints["j"].motion.position[0].values == (0.0, 10.0)


@pytest.mark.parametrize("heading", ["q_min", "x_m", "lift_g", "in_turn", "b_1", "mm_left"])
def test_a_name_that_ends_as_a_unit_may_is_a_name(tmp_path: Path, heading: str) -> None:
    (tmp_path / "t.csv").write_text(f"time,{heading}\n0,0\n1,10\n")
    scene = load(tmp_path, HEAD + SLIDE.replace("values: lift", f"values: '{heading}'")).scene
    assert scene.joints["j"].motion.position[0].values == (0.0, 10.0)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("a;b\n0,5;1,25e-3\n", ["0.5", "1.25e-3"]),
        ("a\tb\n0,5\t-1,250\n", ["0.5", "-1.250"]),
        ("a;b\n1,234;2\n", ["1.234", "2"]),
        ("a;b\n2,5 mm;[1, 2]\n", ["2.5 mm", "[1, 2]"]),
        ("a\tb\n0.5\t1.25\n", ["0.5", "1.25"]),
        ("a;lift, mm\n0;1\n", ["0", "1"]),
        ('a,b\n"0","1"\n,\n', ["0", "1"]),
        ("sep=;\na, mm;b\n0,5;1\n", ["0.5", "1"]),
        ("sep=,\na,b\n0,1\n", ["0", "1"]),
        ("results\nversion=1\nnRows=1\nendheader\na  b\n 1   2\n", ["1", "2"]),
        ("results\r\nendheader\r\na\tb\r\n1\t2\r\n", ["1", "2"]),
    ],
)
def test_separators_and_decimal_marks(tmp_path: Path, text: str, cells: list[str]) -> None:
    assert rows(tmp_path, text) == [cells]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,knee\n0,0,5\n", r"t\.csv:2: expected 2 fields as in line 1, found 3; if commas are decimal marks"),
        ("time;knee\n0;0;5\n", r"t\.csv:2: expected 2 fields as in line 1, found 3$"),
        (
            "time, s, x, mm\n0,0\n",
            r"t\.csv:2: expected 4 fields as in line 1, found 2; if `s` is a unit, write it in bra",
        ),
        ("time,knee\n0\n", r"t\.csv:2: expected 2 fields as in line 1, found 1$"),
        ("a;b\n0,5;1\n1;1.5\n", r"t\.csv:3: the decimal mark of line 3 is a point, that of line 2 a comma"),
        ("a\tb\n1\t1,234\n2\t2,345\n", r"t\.csv:2: is the comma a decimal mark, or does it separate thousands"),
        ("a,b;c\n1,2;3\n", r"t\.csv:1: the headings are separated by commas and semicolons"),
        ("x\nnRows=2\nendheader\na\tb\n1\t2\n", r"t\.csv: the table has 1 rows, and its header states 2: is the file"),
        ("x\ndatarows 1\nendheader\na\tb\n1\t2\n1\t2\n", r"t\.csv: the table has 2 rows, and its header states 1"),
        ("x\nnColumns = 3\nendheader\na\tb\n1\t2\n", r"t\.csv:4: the line has 2 columns, and the header states 3"),
        ("x\ndatacolumns 1\nendheader\na\tb\n1\t2\n", r"t\.csv:4: the line has 2 columns, and the header states 1"),
        ('a,b\n1,"2\n', r"t\.csv:2: cannot read the cells: a quotation mark is not closed"),
    ],
)
def test_ambiguous_rows_are_refused_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        rows(tmp_path, text)


def test_times_that_do_not_rise_are_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time (ms),lift\n0,0\n5,1\n\n5,2\n6,3\n")
    with pytest.raises(SceneError, match=r"t\.csv:5: column `time`: expected times that rise .*, found 5 after 5$"):
        load(tmp_path, HEAD + SLIDE)


def test_exported_columns_of_a_force_or_a_torque_are_read_again(tmp_path: Path) -> None:
    """`N or N m` are numbers in SI units; alternatives of other units remain an error."""
    scene = (
        HEAD
        + "joints: {j: {type: prismatic, child: ball, force: {file: t.csv, times: time, values: actuators/m/force}}}\n"
    )
    table(tmp_path, "time (s),actuators/m/force (N or N m)\n0,1.5\n1,2.5\n")
    assert load(tmp_path, scene).scene.joints["j"].force[0].values == (1.5, 2.5)
    table(tmp_path, "time (s),actuators/m/force (kN or N m)\n0,1.5\n1,2.5\n")
    with pytest.raises(SceneError, match="unknown unit `or`"):
        load(tmp_path, scene)


def test_numbers_have_no_underscores() -> None:
    assert number_in("1e3") == 1000.0
    assert math.isnan(number_in("1_0"))


OPENSIM = "Coordinates\nversion=1\nnRows=2\ninDegrees={}\n\nendheader\ntime\tknee\tlift\n0\t0\t0\n1\t90\t2\n"


@pytest.mark.parametrize(("word", "angle"), [("yes", math.pi / 2), ("no", 90.0)])
def test_angles_of_opensim_are_converted(tmp_path: Path, word: str, angle: float) -> None:
    (tmp_path / "t.csv").write_text(OPENSIM.format(word))
    turn = SLIDE.replace("prismatic", "revolute").replace("lift", "knee")
    loaded = load(tmp_path, HEAD + turn)
    assert loaded.scene.joints["j"].motion.position[0].values == (0.0, angle)
    assert load(tmp_path, HEAD + SLIDE).scene.joints["j"].motion.position[0].values == (0.0, 2.0)
    assert load(tmp_path, loaded.text).scene == loaded.scene  # the resolved scene is complete by itself


def test_paths_in_options_are_relative_to_the_scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the scene, in `--set` and in a row of a sweep, which is an override as well."""
    (tmp_path / "scene" / "data").mkdir(parents=True)
    table(tmp_path / "scene" / "data", "time,lift (mm)\n0,0\n1,10\n")
    monkeypatch.chdir(tmp_path)
    key = "joints.j.motion.position"
    inside = load(tmp_path / "scene", HEAD + SLIDE.replace("t.csv", "data/t.csv"))
    table(tmp_path / "scene", "time,lift\n0,0\n1,1\n")
    by_option = load(tmp_path / "scene", HEAD + SLIDE, f"{key}.file=data/t.csv")
    whole = load(tmp_path / "scene", HEAD + SLIDE, f"{key}={{file: data/t.csv, times: time, values: lift}}")
    assert inside.scene == by_option.scene == whole.scene
    with pytest.raises(SceneError) as caught:
        load(tmp_path / "scene", HEAD + SLIDE, f"{key}.file=none/t.csv")
    assert f"{tmp_path}/scene/none/t.csv: cannot read the file: No such file" in str(caught.value)


def test_measurements_and_rows_have_the_same_reader(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time / ms;joints/j/q, deg;joints/j/v [deg/s]\n0;0,5;\n500;1;2\n")
    measured = read_measurements(tmp_path / "t.csv")
    assert measured.times.tolist() == [0.0, 0.5]
    assert measured.names == ("joints/j/q", "joints/j/v")
    assert measured.values[:, 0].tolist() == [0.5 * (math.pi / 180), math.pi / 180]
    assert math.isnan(measured.values[0, 1])
    (tmp_path / "t.csv").write_text("vars.a / deg;simulation.integrator (1)\n0,5;rk4\n")
    assert design_of([], tmp_path / "t.csv", RandomSampling()).texts(0) == ("0.5 deg", "rk4")
