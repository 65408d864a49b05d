"""`mbsim compare`: exit codes, reports and refusals."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_result import Command
from result_files import shifted, with_contacts, write_run


@pytest.fixture
def runs(folder: Path) -> Path:
    """Three runs: `a.h5`, `same.h5` with the same numbers, and `b.h5` with one position and one energy moved."""
    one = write_run(folder / "a.h5")
    write_run(folder / "same.h5", method="redmax")
    shifted(one, folder / "moved.h5", "bodies/position", (4, 1, 2), 0.5)
    shifted(folder / "moved.h5", folder / "b.h5", "energy/total", (7,), 0.25)
    return folder


def test_a_file_against_itself(mbsim: Command, runs: Path) -> None:
    end = mbsim("compare", "a.h5", "a.h5")
    assert (end.code, end.stderr) == (0, "")
    assert "verdict    same: 0 of " in end.stdout
    assert "\nfirst " not in end.stdout


def test_settings_stand_above_the_numbers(mbsim: Command, runs: Path) -> None:
    lines = mbsim("compare", "a.h5", "same.h5").stdout.splitlines()
    assert lines[2] == "settings   method: aba -> redmax"
    assert lines[3].startswith("instants   25 compared, of 25 and 25")


def test_the_first_difference_is_named(mbsim: Command, runs: Path) -> None:
    end = mbsim("compare", "a.h5", "b.h5")
    assert end.code == 1
    assert "\nfirst      at t = 0.333333333 s, coordinate bodies/position hand z is " in end.stdout
    assert "verdict    DIFFERENT: 2 of " in end.stdout


def test_json_contains_everything(mbsim: Command, runs: Path) -> None:
    end = mbsim("compare", "a.h5", "b.h5", "--json")
    data = json.loads(end.stdout)
    assert (end.code, data["exit_code"]) == (1, 1)
    case = data["cases"][0]
    assert (case["first_difference"]["first"], case["first_difference"]["role"]) == ("bodies/position", "coordinate")
    assert case["first_difference"]["time"] == pytest.approx(1.0 / 3.0)
    differing = {one["path"]: one for one in case["datasets"] if not one["same"]}
    assert set(differing) == {"bodies/position", "energy/total"}
    worst = differing["bodies/position"]["worst"]
    assert (worst["body"], worst["component"], worst["index"]) == ("hand", "z", [1, 2])
    assert worst["difference"] == pytest.approx(0.5)
    assert differing["energy/total"]["tolerance"] == {
        "rtol": 1e-6,
        "atol": 1e-9,
        "rtol_source": "reference file",
        "atol_source": "reference file",
    }


def test_tolerances_of_the_command_line_and_of_a_policy(mbsim: Command, runs: Path) -> None:
    assert mbsim("compare", "a.h5", "b.h5", "--atol", "0.6").code == 0
    (runs / "policy.yaml").write_text("bodies: {atol: 0.6}\nenergy/total: {ignore: true}\n")
    end = mbsim("compare", "a.h5", "b.h5", "--tolerances", "policy.yaml")
    assert end.code == 0
    assert "note       energy/total is ignored (policy.yaml:2:15)" in end.stdout
    assert "policy policy.yaml:1:9" in end.stdout
    assert mbsim("compare", "a.h5", "b.h5", "--tolerances", "policy.yaml", "--atol", "0.1").code == 1


def test_reports_for_ci(mbsim: Command, runs: Path) -> None:
    end = mbsim("compare", "a.h5", "b.h5", "--junit", "new/r.xml", "--markdown", "new/r.md")
    assert end.code == 1
    suite = ElementTree.parse(runs / "new/r.xml").getroot()[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("errors")) == (
        "mbsim compare",
        "1",
        "1",
        "0",
    )
    [test] = suite
    [failure] = test
    assert (test.get("name"), failure.get("type")) == ("b.h5", "different")
    assert float(test.get("time", "nan")) > 0.0
    datasets = [line for line in (failure.text or "").splitlines() if line.startswith("  ")]
    assert {line.split()[0] for line in datasets} == {"bodies/position", "energy/total"}
    [moved] = [line for line in datasets if "bodies/position" in line]
    assert moved.startswith("  bodies/position hand z at t = 0.333333333 s: ")
    assert "; 1 of 225 numbers beyond tolerance (rtol 1e-06, atol 1e-09 from reference file)" in moved
    page = (runs / "new/r.md").read_text()
    assert page.startswith("### Different: 1 comparison: 1 different\n")
    assert "| `bodies/position` |" in page


def test_folders_with_one_case_of_each_verdict(mbsim: Command, runs: Path) -> None:
    for name, other in (("one", ("a", "a", "a")), ("two", ("same", "b", "a"))):
        (runs / name).mkdir()
        for target, source in zip("pqr", other, strict=True):
            (runs / name / f"{target}.h5").write_bytes((runs / f"{source}.h5").read_bytes())
    (runs / "two/r.h5").write_text("cut")
    end = mbsim("compare", "one", "two", "--junit", "r.xml")
    assert end.code == 2
    lines = end.stdout.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [["same", "p.h5"], ["DIFFERENT", "q.h5"], ["TROUBLE", "r.h5"]]
    assert lines[3] == "changed    method: aba -> redmax  (p.h5)"
    assert lines[4] == "3 comparisons: 1 same, 1 different, 1 trouble"
    [suite] = ElementTree.parse(runs / "r.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [(test.get("name"), [one.tag for one in test]) for test in suite] == [
        ("p.h5", []),
        ("q.h5", ["failure"]),
        ("r.h5", ["error"]),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.h5"], "Missing argument 'RESULT'"),
        ([], "Missing argument 'REFERENCE'"),
        (["a.h5", "nowhere.h5"], "nowhere.h5 does not exist"),
        (["a.h5", "pendulum.yaml"], "pendulum.yaml is not a result file: it is not an HDF5 file"),
        (["a.h5", "."], ". is a folder and a.h5 is not: name two files or two folders"),
        ([".", "a.h5"], ". is a folder and a.h5 is not: name two files or two folders"),
        ([".", ".", "--plot", "x.png"], "--plot requires the result files of two runs"),
        ([".", ".", "--sensitivity"], "--sensitivity requires the result files of two runs"),
        (["a.h5", "b.h5", "--plot", "x.gif"], "x.gif: a picture is named *.png, *.svg or *.pdf"),
        (["a.h5", "b.h5", "--tolerances", "."], ".: cannot read the file: Is a directory"),
        (["a.h5", "b.h5", "--tolerances", "a.h5"], "a.h5: the file is not UTF-8 text (byte 0)"),
        (["a.h5", "b.h5", "--tolerances", "none.yaml"], "none.yaml: cannot read the file: No such file or directory"),
        (["a.h5", "b.h5", "--rtol", "nan"], "--rtol nan: expected a finite number of at least 0"),
        (["a.h5", "b.h5", "--atol", "inf"], "--atol inf: expected a finite number of at least 0"),
        (["a.h5", "b.h5", "--rtol", "-1"], "-1.0 is not in the range x>=0.0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_incomparable_files_are_refused_in_one_line(mbsim: Command, runs: Path, words: list[str], said: str) -> None:
    end = mbsim("compare", *words)
    assert (end.code, end.stdout) == (2, "")
    assert said in end.stderr
    assert "internal error" not in end.stderr


@pytest.mark.parametrize("option", ["--junit", "--markdown", "--plot"])
def test_a_report_that_cannot_be_written(mbsim: Command, runs: Path, option: str) -> None:
    end = mbsim("compare", "a.h5", "b.h5", option, "a.h5/report.png")
    assert end.code == 1
    assert end.stderr.startswith("error: cannot write a.h5/report.png: ")
    assert len(end.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["with space.h5", "pendulo-ñ-振.h5", "$\\frac$.h5", "bell\a.h5", "<a & 'b'>.h5"])
def test_any_name_of_a_file_can_be_reported(mbsim: Command, runs: Path, name: str) -> None:
    (runs / "b.h5").rename(runs / name)
    end = mbsim("compare", "a.h5", name, "--junit", "r.xml", "--markdown", "r.md", "--plot", "r.svg")
    assert (end.code, end.stderr) == (1, "")
    assert ElementTree.parse(runs / "r.xml").getroot()[0][0].get("name") == name.replace("\a", "\\u0007")


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such names")
def test_a_name_that_is_not_utf8_can_be_reported(start: Callable[..., subprocess.Popen[str]], runs: Path) -> None:
    name = os.fsdecode(b"b\xff.h5")
    (runs / "b.h5").rename(runs / name)
    process = start("compare", "a.h5", name, "--junit", "r.xml", "--markdown", "r.md", "--json")
    _, remarks = process.communicate(timeout=60)
    assert (process.returncode, remarks) == (1, "")
    ElementTree.parse(runs / "r.xml")


@pytest.mark.parametrize("pair", [("a.h5", "a.h5"), ("a.h5", "same.h5"), ("a.h5", "b.h5")], ids=" ".join)
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_picture(mbsim: Command, runs: Path, pair: tuple[str, str], ending: str) -> None:
    codes = [mbsim("compare", *pair, "--plot", f"{name}.{ending}").code for name in ("one", "two")]
    assert codes == [int("b.h5" in pair)] * 2
    picture = (runs / f"one.{ending}").read_bytes()
    assert picture.startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    assert picture == (runs / f"two.{ending}").read_bytes()


def test_picture_of_the_worst_channels_names_them(mbsim: Command, runs: Path) -> None:
    assert mbsim("compare", "a.h5", "b.h5", "--plot", "p.svg").code == 1
    text = (runs / "p.svg").read_text()
    for words in ("bodies/position hand z", "energy/total", "b.h5 against a.h5: the runs differ"):
        assert f">{words}</text>" in text


def test_picture_of_runs_whose_contacts_differ(mbsim: Command, runs: Path) -> None:
    contacts = [[{}] for _ in range(25)]
    with_contacts(runs / "a.h5", runs / "c.h5", contacts)
    contacts[3] = []
    with_contacts(runs / "b.h5", runs / "d.h5", contacts)
    end = mbsim("compare", "c.h5", "d.h5", "--plot", "p.png")
    assert (end.code, end.stderr) == (1, "")
    assert "contact mode contacts/" in end.stdout


def test_a_closed_pipe_is_no_error_of_compare(start: Callable[..., subprocess.Popen[str]], runs: Path) -> None:
    with start("compare", "a.h5", "b.h5", "-v") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 1


def test_verbose_shows_every_dataset(mbsim: Command, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multibody_cli.cli.reports.DATASETS_SHOWN", 3)
    short, long = (mbsim("compare", "a.h5", "b.h5", *words) for words in ([], ["-v"]))
    assert short.stdout.splitlines()[-1].endswith("all closer than these (-v shows all)")
    assert "joints/bolt/force" in long.stdout
    assert mbsim("compare", "a.h5", "b.h5", "-q").stdout == short.stdout


# --- two methods, and the growth of round-off ---------------------------------------------------------------
CHAOS = """\
mbsim: 1
name: chaos
bodies:
  upper: {mass: 1 kg, shapes: [{type: box, size: [0.05, 0.05, 1]}]}
  lower: {mass: 1 kg, shapes: [{type: box, size: [0.05, 0.05, 1]}]}
joints:
  shoulder: {type: revolute, child: upper, axis: [0, 1, 0], child_origin: {position: [0, 0, 0.5]}, q: 170 deg}
  elbow:
    type: revolute
    parent: upper
    child: lower
    axis: [0, 1, 0]
    origin: {position: [0, 0, -0.5]}
    child_origin: {position: [0, 0, 0.5]}
    q: 1 deg
simulation: {duration: 20 s, step: 2 ms, integrator: rk4}
output: {every: 20 ms}
"""


@pytest.fixture
def chaos(mbsim: Command, folder: Path) -> Path:
    (folder / "chaos.yaml").write_text(CHAOS)
    assert mbsim("run", "chaos.yaml", "-o", "aba.h5").code == 0
    return folder


def test_two_methods_agree_at_their_tolerance_and_not_in_every_digit(mbsim: Command, chaos: Path) -> None:
    for method in ("aba", "redmax"):
        assert mbsim("run", "chaos.yaml", "--method", method, "--duration", "2 s", "-o", f"short_{method}.h5").code == 0
    assert mbsim("compare", "short_aba.h5", "short_redmax.h5").code == 0
    end = mbsim("compare", "short_aba.h5", "short_redmax.h5", "--rtol", "1e-15", "--atol", "1e-15")
    assert end.code == 1
    assert "\nfirst      at t = " in end.stdout


def test_round_off_explains_a_chaotic_difference_of_two_methods(mbsim: Command, chaos: Path) -> None:
    assert mbsim("run", "chaos.yaml", "--method", "redmax", "-o", "redmax.h5").code == 0
    end = mbsim("compare", "aba.h5", "redmax.h5", "--sensitivity")
    assert end.code == 1  # explained, and still another result
    assert "sensitivity: round-off explains the difference: " in end.stdout


def test_round_off_does_not_explain_another_gravity(mbsim: Command, chaos: Path) -> None:
    gravity = f"gravity=[0, 0, {-9.81 * (1 + 1e-7)!r}]"
    assert mbsim("run", "chaos.yaml", "--set", gravity, "-o", "other.h5").code == 0
    end = mbsim("compare", "aba.h5", "other.h5", "--sensitivity")
    assert end.code == 1
    assert "sensitivity: round-off does not explain the difference: " in end.stdout


def test_round_off_does_not_explain_differences_without_a_difference_in_motion(mbsim: Command, chaos: Path) -> None:
    shifted(chaos / "aba.h5", chaos / "planted.h5", "joints/elbow/force", (5, 3), 1e-3)
    end = mbsim("compare", "aba.h5", "planted.h5", "--sensitivity", "--json")
    remark = json.loads(end.stdout)["remarks"][0]
    assert remark.startswith("sensitivity: round-off does not explain the difference: ")
    assert " in joints/elbow/force at t = 0.1 s" in remark


def test_nothing_to_explain(mbsim: Command, chaos: Path) -> None:
    end = mbsim("compare", "aba.h5", "aba.h5", "--sensitivity")
    assert "sensitivity: nothing to explain" in end.stdout
