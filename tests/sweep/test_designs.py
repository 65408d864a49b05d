"""Values of `--vary` and their combinations."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from multibody_cli.errors import ArgumentError
from multibody_cli.limits import LimitError
from multibody_cli.studies.sweep.design import RandomSampling, design_of
from multibody_cli.studies.sweep.values import numbers_of, read_values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("10 deg, 20 deg", ("10 deg", "20 deg")),
        ("[1, 2], [3, 4]", ("[1, 2]", "[3, 4]")),
        ("'a, b', c", ("'a, b'", "c")),
        ("rk4,dop853", ("rk4", "dop853")),
        ("0 deg : 90 deg : 4", ("0.0 deg", "30.0 deg", "60.0 deg", "90.0 deg")),
        ("1e-2:1:3:log", ("0.01", "0.1", "1.0")),
        ("0, 1:2:2, 5", ("0", "1.0", "2.0", "5")),
        ("2:3:1", ("2.0",)),
        ("0 mm : 1 m : 2", ("0.0", "1.0")),
    ],
)
def test_lists_and_ranges(text: str, values: tuple[str, ...]) -> None:
    assert read_values(text) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a value is missing"),
        ("1,,2", "a value is missing"),
        ("1:2", "expected a range START:STOP:COUNT"),
        ("1:2:3:lin", "expected a range START:STOP:COUNT"),
        ("1:2:0", "at least 1, found `0`"),
        ("1:2:2.5", "at least 1, found `2.5`"),
        ("a:2:3", "expected a number, with or without a unit, found `a`"),
        ("0 deg:1 m:3", "write both numbers with the same unit"),
        ("0:1 m:3", "write both numbers with the same unit"),
        ("-1:1:3:log", "have the same sign"),
        ("0 foo:1 foo:3", "unknown unit `foo`"),
        ("uniform(2, 1)", "the smaller first"),
        ("uniform(1)", "takes two numbers, 1 given"),
        ("normal(1, 0)", "a positive standard deviation"),
        ("loguniform(0, 1)", "two positive numbers"),
        ("unifrom(0, 1)", "did you mean `uniform`?"),
    ],
)
def test_invalid_values_are_refused_with_the_expected_form(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=r"--vary a=") as refusal:
        design_of([f"a={text}"], None, RandomSampling(samples=4))
    assert message in str(refusal.value)


def test_a_grid_has_every_combination_and_the_last_factor_is_the_fastest() -> None:
    design = design_of(["a=1,2", "b=x,y;c=3,4"], None, RandomSampling())
    assert design.count == 4
    assert [design.texts(run) for run in range(4)] == [
        ("1", "x", "3"), ("1", "y", "4"), ("2", "x", "3"), ("2", "y", "4"),
    ]  # fmt: skip
    assert design.overrides(3) == ("a=2", "b=y", "c=4")


@pytest.mark.parametrize(
    ("given", "fixed", "message"),
    [
        ([], (), "nothing varies"),
        (["a"], (), "expected KEY=VALUES"),
        (["a=1,2", "a=3"], (), "`a` varies twice"),
        (["a=1,2"], ("a=3",), "--set a=3: `a` varies as well"),
        (["a=1,2; b=1,2,3"], (), "found 2 of a, 3 of b"),
        (["a=uniform(0, 1)"], (), "give the number of values with --samples"),
    ],
)
def test_contradictions_are_refused(given: list[str], fixed: tuple[str, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        design_of(given, None, RandomSampling(), fixed)


def test_samples_without_random_values_are_refused() -> None:
    with pytest.raises(ArgumentError, match="--samples needs a random value"):
        design_of(["a=1,2"], None, RandomSampling(samples=3))


def test_a_grid_beyond_the_limit_is_refused() -> None:
    with pytest.raises(LimitError, match="runs of a sweep"):
        design_of([f"{key}=0:1:1000" for key in "abc"], None, RandomSampling())


@pytest.mark.parametrize("scheme", ["random", "lhs", "sobol"])
def test_random_values_have_their_distribution(scheme: str) -> None:
    given = ["a=uniform(2 m, 4 m)", "b=normal(5, 0.5)", "c=loguniform(1e-3, 10)", "d=1,2"]
    design = design_of(given, None, RandomSampling(1024, 7, scheme))
    assert design.count == 2048
    columns = [numbers_of(texts) for texts in zip(*map(design.texts, range(design.count)), strict=True)]
    assert [units for units, _ in columns] == ["m", "", "", ""]
    a, b, c = (numbers[::2] for _, numbers in columns[:3] if numbers is not None)
    # five standard errors of 1024 independent samples; the other schemes are more even
    assert a.mean() == pytest.approx(3.0, abs=5 * 2 / math.sqrt(12 * 1024))
    assert 2.0 <= a.min() < a.max() <= 4.0
    assert b.mean() == pytest.approx(5.0, abs=5 * 0.5 / 32)
    assert b.std() == pytest.approx(0.5, rel=5 / math.sqrt(2 * 1024))
    assert np.log(c).mean() == pytest.approx(math.log(0.1), abs=5 * math.log(1e4) / math.sqrt(12 * 1024))
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / 32
    assert design == design_of(given, None, RandomSampling(1024, 7, scheme))
    assert design != design_of(given, None, RandomSampling(1024, 8, scheme))


def test_points_of_saltelli_differ_in_one_key() -> None:
    design = design_of(["a=uniform(0, 1)", "b=uniform(0, 1)"], None, RandomSampling(8, 1, "saltelli"))
    assert (design.count, design.base) == (32, 8)
    A, B, with_a, with_b = np.array([list(map(float, design.texts(run))) for run in range(32)]).reshape(4, 8, 2)
    np.testing.assert_array_equal(with_a, np.column_stack([B[:, 0], A[:, 1]]))
    np.testing.assert_array_equal(with_b, np.column_stack([A[:, 0], B[:, 1]]))
    with pytest.raises(ArgumentError, match="needs a power of two"):
        design_of(["a=uniform(0, 1)"], None, RandomSampling(6, 1, "saltelli"))
    with pytest.raises(ArgumentError, match="varies random keys alone"):
        design_of(["a=uniform(0, 1)", "b=1,2"], None, RandomSampling(8, 1, "saltelli"))


@pytest.mark.parametrize("scheme", ["lhs", "sobol"])
def test_even_schemes_have_one_value_in_each_of_n_parts(scheme: str) -> None:
    design = design_of(["a=uniform(0, 64)", "b=uniform(0, 64)"], None, RandomSampling(64, 1, scheme))
    for texts in zip(*map(design.texts, range(64)), strict=True):
        assert sorted(int(float(text)) for text in texts) == list(range(64))


def test_rows_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("vars.a (deg), joints.h.limits[0]\n# measured\n10, 1\n\n20, -2 rad\n")
    design = design_of(["b=x,y"], path, RandomSampling())
    assert design.keys == ("b", "vars.a", "joints.h.limits[0]")
    assert [design.texts(run) for run in (0, 3)] == [("x", "10 deg", "1"), ("y", "20 deg", "-2 rad")]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_of_a_file_are_separated_as_its_header(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "rows.csv"
    lines = [("vars.a (deg)", "vars.b"), ("10", "[1, 2]" if separator != "," else '"[1, 2]"')]
    path.write_text("".join(f"{separator.join(line)}\n" for line in lines))
    design = design_of([], path, RandomSampling())
    assert design.keys == ("vars.a", "vars.b")
    assert design.texts(0) == ("10 deg", "[1, 2]")


def test_a_message_names_the_option_of_each_value(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("b\n5 kg\n")
    design = design_of(["a=1,2"], path, RandomSampling())
    assert design.as_given(1, "--set a=2: no angle") == "--vary a=2: no angle"
    assert design.as_given(1, "--set b=5 kg: no angle") == f"--rows {path}: b=5 kg: no angle"
    assert design.as_given(1, "--set c=2: no angle") == "--set c=2: no angle"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b;c\n1,2;3\n", r"rows.csv:1: the headings are separated by commas and semicolons: use one of them"),
        ("a,b\n1,2,5\n", r"rows.csv:2: expected 2 fields as in line 1, found 3; if commas are decimal marks, write"),
        ("a (foo),b\n1,2\n", r"rows.csv:1: column `a`: unknown unit `foo`"),
        ("inDegrees=yes\nendheader\na\n1\n", r"`inDegrees=yes` has no meaning for keys of a scene"),
        (
            "a (deg)\n1\n2 rad\n",
            r"rows.csv:3: column `a`: the heading has the unit deg: expected a number without a unit, found `2 r",
        ),
        (
            "a (deg)\nx\n",
            r"rows.csv:2: column `a`: the heading has the unit deg: expected a number without a unit, found `x`",
        ),
        ("a,b\n", "expected a header with the keys and a line for each run"),
        ("a,b\n1\n", r"rows.csv:2: expected 2 fields as in line 1, found 1"),
        ("a,b\n1,\n", r"rows.csv:2: column `b`: the value is missing"),
        ("a,\n1,2\n", r"rows.csv:1: expected a key"),
        ("a,a\n1,2\n", "`a` varies twice"),
    ],
)
def test_invalid_files_are_refused_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(ArgumentError, match=message):
        design_of([], path, RandomSampling())


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="cannot read the file: No such file"):
        design_of([], tmp_path / "none.csv", RandomSampling())


@pytest.mark.parametrize(
    ("texts", "units", "numbers"),
    [
        (["1 deg", "2 deg"], "deg", [1.0, 2.0]),
        (["1", "2.5"], "", [1.0, 2.5]),
        (["1 mm", "1 m"], "m", [1e-3, 1.0]),
        (["180 deg", "1 rad"], "rad", [math.pi, 1.0]),
        (["1", "1 m"], "", None),
        (["rk4", "1"], "", None),
        (["1 m", "1 s"], "", None),
    ],
)
def test_columns_of_keys(texts: list[str], units: str, numbers: list[float] | None) -> None:
    unit, found = numbers_of(texts)
    assert unit == units
    assert (None if found is None else found.tolist()) == numbers
