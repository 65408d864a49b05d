"""`mbsim regress`: comparison of scenes with their baselines, and renewal of baselines."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import h5py
import pytest
from command_result import Command, Ending
from result_files import shifted

from multibody_cli import __version__
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.regression import acceptance_reasons, accepted_misses

Regress = Callable[..., Ending]


@pytest.fixture
def regress(mbsim: Command, folder: Path) -> Regress:
    """`mbsim regress` with baselines in the folder `base`, which is empty at first."""
    (folder / "base").mkdir()
    return lambda *words: mbsim("regress", *words, "--baseline", "base")


@pytest.fixture
def accepted(regress: Regress, folder: Path) -> Path:
    assert regress("pendulum.yaml", "--accept", "--why", "first of all").code == 0
    return folder / "base" / "pendulum" / "aba.h5"


def test_a_scene_without_baseline_is_new_and_fails(regress: Regress, folder: Path) -> None:
    end = regress("pendulum.yaml")
    assert end.code == 1
    assert end.stdout.splitlines()[0] == (
        "NEW        pendulum/aba  has no baseline: check the result (-o keeps it), then use --accept --why"
    )
    assert not list((folder / "base").iterdir())


def test_an_unchanged_scene_passes(regress: Regress, accepted: Path) -> None:
    assert len(read_trajectory(accepted).time) == 11
    before = accepted.read_bytes()
    end = regress("pendulum.yaml")
    assert end.code == 0
    assert end.stdout == "same       pendulum/aba  equal in every digit\n1 comparison: 1 same\n"
    assert "verdict    same: 0 of " in regress("pendulum.yaml", "-v").stdout
    assert regress("pendulum.yaml", "--accept", "--why", "nothing new").code == 0
    assert accepted.read_bytes() == before  # nothing to accept


def test_a_change_fails_until_it_is_accepted_with_a_reason(regress: Regress, folder: Path, accepted: Path) -> None:
    text = (folder / "pendulum.yaml").read_text()
    (folder / "pendulum.yaml").write_text(text.replace("2 kg", "2.001 kg"))
    before = accepted.read_bytes()
    end = regress("pendulum.yaml", "--junit", "r.xml")
    assert end.code == 1
    [first, *rest] = end.stdout.splitlines()
    assert first.startswith("DIFFERENT  pendulum/aba  worst energy/")
    assert rest == ["changed    bodies.rod.mass: 2 kg -> 2.001 kg  (pendulum/aba)", "1 comparison: 1 different"]
    assert accepted.read_bytes() == before
    assert ElementTree.parse(folder / "r.xml").getroot()[0].get("failures") == "1"
    end = regress("pendulum.yaml", "--accept", "--why", "a heavier rod, schwerer", "--junit", "r.xml")
    assert end.code == 0
    assert ElementTree.parse(folder / "r.xml").getroot()[0].get("failures") == "0"
    assert end.stdout.startswith("same       pendulum/aba  accepted; worst energy/")
    assert acceptance_reasons(accepted) == [f"{__version__}: first of all", f"{__version__}: a heavier rod, schwerer"]
    assert regress("pendulum.yaml").code == 0
    assert [path.name for path in accepted.parent.iterdir()] == ["aba.h5"]


def test_baselines_without_a_scene_are_named(regress: Regress, folder: Path, accepted: Path) -> None:
    (folder / "other.yaml").write_text((folder / "pendulum.yaml").read_text())
    assert "pendulum has no scene" not in regress("other.yaml", "--accept", "--why", "a copy").stdout
    (folder / "pendulum.yaml").rename(folder / "pendulum.csv")  # a table has the name of the scene
    end = regress("other.yaml", "--markdown", "r.md")
    remark = "base/pendulum has no scene: name the scene, or remove the folder"
    assert (end.code, end.stdout.splitlines()[-1]) == (0, remark)
    assert remark in (folder / "r.md").read_text()
    assert json.loads(regress("other.yaml", "--json").stdout)["remarks"] == [remark]


def test_a_damaged_baseline_is_an_error_and_can_be_renewed(regress: Regress, accepted: Path) -> None:
    accepted.write_text("cut")
    end = regress("pendulum.yaml")
    assert end.code == 2
    assert "is not a result file" in end.stdout
    assert regress("pendulum.yaml", "--accept", "--why", "the file was damaged").code == 0
    assert acceptance_reasons(accepted) == [f"{__version__}: the file was damaged"]


def test_each_method_has_its_baseline(regress: Regress, folder: Path, accepted: Path) -> None:
    assert regress("pendulum.yaml", "--method", "aba,redmax", "--accept", "--why", "both").code == 0
    end = regress("pendulum.yaml", "--json")
    assert [case["name"] for case in json.loads(end.stdout)["cases"]] == ["pendulum/aba", "pendulum/redmax"]
    shifted(accepted.with_name("redmax.h5"), folder / "moved.h5", "energy/total", (10,), 1.0)
    (folder / "moved.h5").replace(accepted.with_name("redmax.h5"))
    end = regress("pendulum.yaml")
    assert end.code == 1
    assert [line.split()[0] for line in end.stdout.splitlines()[:2]] == ["same", "DIFFERENT"]
    assert "worst energy/total at t = 0.1 s: " in end.stdout


def test_a_policy_loosens_the_comparison(regress: Regress, folder: Path, accepted: Path) -> None:
    shifted(accepted, folder / "moved.h5", "energy/total", (10,), 1.0)
    (folder / "moved.h5").replace(accepted)
    (folder / "policy.yaml").write_text("energy: {atol: 2}\n")
    assert regress("pendulum.yaml").code == 1
    assert regress("pendulum.yaml", "--tolerances", "policy.yaml").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pendulum.yaml", "--accept"], "--accept and --why TEXT must be given together"),
        (["pendulum.yaml", "--why", "so"], "--accept and --why TEXT must be given together"),
        (["pendulum.yaml", "--accept", "--why", "  "], "--accept and --why TEXT must be given together"),
        ([], "Missing argument 'SCENE...'"),
        (
            ["pendulum.yaml", "deep/pendulum.yaml"],
            "deep/pendulum.yaml and pendulum.yaml would share their baselines: rename one of them",
        ),
        (["pendulum.yaml", "-o", "./base"], "base holds the baselines: use another folder with -o"),
        (["pendulum.yaml", "--tolerances", "."], ".: cannot read the file: Is a directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_arguments_are_refused_before_any_run(
    regress: Regress, folder: Path, words: list[str], said: str
) -> None:
    end = regress(*words)
    assert (end.code, end.stdout) == (2, "")
    assert said in end.stderr
    assert not list((folder / "base").iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.yaml"], "none.yaml: cannot read the file: No such file or directory"),
        (["pendulum.yaml", "--method", "abba"], "did you mean `aba`?"),
        (["."], "cannot read the file: Is a directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_scene_that_cannot_run_is_an_error_in_one_line(regress: Regress, words: list[str], said: str) -> None:
    end = regress(*words)
    assert end.code == 2
    assert end.stdout.startswith("TROUBLE")
    assert said in end.stdout.splitlines()[0]
    assert len(end.stdout.splitlines()) == 2


def test_several_problems_of_a_scene_are_one_line(regress: Regress, folder: Path) -> None:
    (folder / "bad.yaml").write_text("mbsim: 1\nname: bad\nbodies: {a: {mas: 1}}\nsimulation: {duration: x}\n")
    end = regress("bad.yaml", "pendulum.yaml")
    assert [line.split()[0] for line in end.stdout.splitlines()] == ["TROUBLE", "NEW", "2"]


def test_an_optional_method_may_refuse_a_scene(mbsim: Command, folder: Path) -> None:
    (folder / "reduced.yaml").write_text(
        "mbsim: 1\nname: reduced\n"
        "bodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}}, b: {mass: 1, inertia: {principal: [1, 1, 1]}}}\n"
        "joints: {a: {type: revolute, child: a, v: 1}, b: {type: revolute, child: b}}\n"
        "couplings: {gear: {type: gear, joints: [a, b], ratio: 2, reduce: true}}\n"
        "simulation: {duration: 10 ms, step: 1 ms, method: aba}\n"
    )
    (folder / "base").mkdir()
    end = mbsim("regress", "reduced.yaml", "--baseline", "base", "--method", "all", "--json")
    able = ["aba", "redmax", "symbolic", "variational"]
    assert [case["name"] for case in json.loads(end.stdout)["cases"]] == [f"reduced/{method}" for method in able]
    assert mbsim("regress", "reduced.yaml", "--baseline", "base", "--method", "variational_maximal").code == 2


def test_a_run_that_diverges_is_never_accepted(regress: Regress, folder: Path) -> None:
    end = regress("stiff.yaml", "--accept", "--why", "let us see")
    assert end.code == 1
    assert end.stdout.startswith("NEW        stiff/aba  not accepted, since the run ended diverged: ")
    assert not list((folder / "base").iterdir())


def test_results_are_kept_in_the_output_folder(regress: Regress, folder: Path, accepted: Path) -> None:
    assert regress("pendulum.yaml", "-o", "kept").code == 0
    with h5py.File(folder / "kept/pendulum/aba.h5") as file:
        assert "accepted" not in file.attrs


def test_a_baseline_that_cannot_be_written(regress: Regress, folder: Path) -> None:
    (folder / "base" / "pendulum").write_text("in the way")
    end = regress("pendulum.yaml", "--accept", "--why", "so")
    assert end.code == 1
    assert end.stderr.splitlines()[-1].startswith("error: cannot write base/pendulum/aba.h5: ")


def test_an_interrupt_reports_the_completed_cases(start: Callable[..., subprocess.Popen[str]], folder: Path) -> None:
    text = (folder / "pendulum.yaml").read_text()
    (folder / "slow.yaml").write_text(text.replace("duration: 0.1 s", "duration: 2e5 s").replace("10 ms", "1 s"))
    (folder / "base").mkdir()
    process = start("regress", "pendulum.yaml", "slow.yaml", "--baseline", "base", "-o", "kept")
    for _ in range(600):
        if (folder / "kept/slow/aba.h5.part").exists():
            break
        time.sleep(0.1)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    report, remarks = process.communicate(timeout=60)
    assert process.returncode == 130
    assert remarks.splitlines()[-1] == "error: interrupted after 1 run of 2"
    assert report.startswith("NEW        pendulum/aba  has no baseline")


def test_an_interrupt_of_the_first_run_reports_no_case(
    start: Callable[..., subprocess.Popen[str]], folder: Path
) -> None:
    text = (folder / "pendulum.yaml").read_text()
    (folder / "slow.yaml").write_text(text.replace("duration: 0.1 s", "duration: 2e5 s").replace("10 ms", "1 s"))
    (folder / "base").mkdir()
    process = start("regress", "slow.yaml", "--baseline", "base", "-o", "kept", "--junit", "r.xml")
    for _ in range(600):
        if (folder / "kept/slow/aba.h5.part").exists():
            break
        time.sleep(0.1)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, remarks = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in remarks
    assert "internal error" not in remarks
    assert [len(suite) for suite in ElementTree.parse(folder / "r.xml").getroot()] == [0]


def test_a_missing_folder_of_baselines_is_an_error(mbsim: Command, folder: Path) -> None:
    end = mbsim("regress", "pendulum.yaml", "--baseline", "bsae")
    assert (end.code, end.stdout) == (2, "")
    assert end.stderr == "error: bsae: no such folder: correct --baseline, or create it with --accept --why TEXT\n"


# --- expectations -------------------------------------------------------------------------------------------
RELEASE = -9.81 * 0.5 * 0.5 / (1.01 / 12 + 0.25)
"""Angular acceleration of the rod at release, -m g L/2 sin(30 deg) / I, rad/s^2; the mass cancels."""


def expecting(folder: Path, *entries: str) -> None:
    """Write `pendulum.yaml` with expectations."""
    text = (folder / "pendulum.yaml").read_text().partition("expect:")[0]
    lines = "".join(f"  - {{{entry}}}\n" for entry in entries)
    (folder / "pendulum.yaml").write_text(text + (f"expect:\n{lines}" if entries else ""))


ACCELERATION = "channel: joints/hinge/acceleration, at: 0, rtol: 1e-9"


def test_a_result_that_misses_an_expectation_fails_although_it_agrees(
    regress: Regress, folder: Path, accepted: Path
) -> None:
    expecting(folder, f"{ACCELERATION}, value: {RELEASE}")
    assert regress("pendulum.yaml").code == 0
    expecting(folder, f"{ACCELERATION}, value: {1.01 * RELEASE}")
    end = regress("pendulum.yaml", "--junit", "r.xml")
    assert end.code == 1
    assert f"MISSED     pendulum/aba  misses joints/hinge/acceleration at 0.0 s: found {RELEASE:.5f}" in end.stdout
    [failure] = ElementTree.parse(folder / "r.xml").getroot().iter("failure")
    assert failure.get("type") == "missed"


def test_an_accepted_miss_is_marked_and_no_other_miss_passes(regress: Regress, folder: Path, accepted: Path) -> None:
    wrong = f"{ACCELERATION}, value: {1.01 * RELEASE}"
    expecting(folder, wrong)
    end = regress("pendulum.yaml", "--accept", "--why", "known to be off")
    assert end.code == 0
    assert "; accepted miss: joints/hinge/acceleration at 0.0 s: found " in end.stdout
    assert accepted_misses(accepted) == ["joints/hinge/acceleration at 0.0 s"]
    end = regress("pendulum.yaml", "--markdown", "r.md")
    assert end.code == 0
    assert "accepted miss: joints/hinge/acceleration at 0.0 s: found " in end.stdout
    assert "1 same; 1 with an accepted miss of an expectation" in (folder / "r.md").read_text()
    expecting(folder, wrong, "energy_drift: {max: 0}")
    case = json.loads(regress("pendulum.yaml", "--json").stdout)["cases"][0]
    assert case["verdict"] == "missed"
    assert [text.split(":")[0] for text in case["missed"]] == ["energy_drift"]
    expecting(folder)
    (folder / "pendulum.yaml").write_text((folder / "pendulum.yaml").read_text().replace("30 deg", "31 deg"))
    assert regress("pendulum.yaml", "--accept", "--why", "another start").code == 0
    assert accepted_misses(accepted) == []


def test_marking_a_miss_keeps_the_numbers_of_a_baseline_that_agrees(
    regress: Regress, folder: Path, accepted: Path
) -> None:
    shifted(accepted, folder / "moved.h5", "energy/total", (10,), 1e-10)
    (folder / "moved.h5").replace(accepted)
    before = read_trajectory(accepted).channel("energy/total").values
    expecting(folder, f"{ACCELERATION}, value: {1.01 * RELEASE}")
    assert regress("pendulum.yaml", "--accept", "--why", "known to be off").code == 0
    assert accepted_misses(accepted)
    assert read_trajectory(accepted).channel("energy/total").values.tolist() == before.tolist()


def test_expectations_are_evaluated_at_all_output_instants(regress: Regress, folder: Path) -> None:
    text = (folder / "pendulum.yaml").read_text()
    (folder / "pendulum.yaml").write_text(text.replace("every: 10 ms", "every: 1 ms"))
    expecting(folder, "channel: bodies/rod/com, component: z, at: 1 ms, value: -0.4330, atol: 1e-4")
    assert regress("pendulum.yaml", "--accept", "--why", "first").code == 0
    assert regress("pendulum.yaml").code == 0
    assert 0.001 not in read_trajectory(folder / "base/pendulum/aba.h5").time


# --- several comparisons ------------------------------------------------------------------------------------
CHAIN = """\
mbsim: 1
name: chain
vars: {m: 2 kg}
repeat:
  - count: 30
    index: i
    bodies:
      "link${i}": {mass: "${m}", inertia: {principal: [1, 1, 1]}, position: ["${i}", 0, 0]}
simulation: {duration: 10 ms, step: 1 ms}
"""


def test_one_edit_is_one_line_and_one_failure_for_each_scene(regress: Regress, folder: Path) -> None:
    (folder / "chain.yaml").write_text(CHAIN)
    words = ("pendulum.yaml", "chain.yaml", "--method", "aba,redmax")
    assert regress(*words, "--accept", "--why", "first").code == 0
    (folder / "chain.yaml").write_text(CHAIN.replace("2 kg", "2.001 kg"))
    end = regress(*words, "--junit", "r.xml", "--markdown", "r.md")
    assert end.code == 1
    lines = end.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["same", "pendulum/aba"],
        ["same", "pendulum/redmax"],
        ["DIFFERENT", "chain/aba"],
        ["DIFFERENT", "chain/redmax"],
        ["changed", "bodies.link0.mass:"],
        ["4", "comparisons:"],
    ]
    assert all(line.split()[2] == "worst" for line in lines[2:4])
    assert lines[4] == "changed    bodies.link0.mass: 2 kg -> 2.001 kg (and 29 similar)  (chain/aba and 1 more)"
    assert lines[5] == "4 comparisons: 2 same, 2 different"
    root = ElementTree.parse(folder / "r.xml").getroot()
    [suite] = root
    assert {root.get("name"), suite.get("name")} == {"mbsim regress"}
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert [(test.get("name"), len(test)) for test in suite] == [("pendulum", 0), ("chain", 1)]
    times = [float(test.get("time", "nan")) for test in suite]
    assert min(times) > 0.0
    assert float(suite.get("time", "nan")) == pytest.approx(sum(times), abs=2e-3)
    [failure] = suite[1]
    assert (failure.get("message") or "").endswith("; 2 of 2 runs fail")
    assert (failure.text or "").count("bodies.link0.mass") == 1
    assert (folder / "r.md").read_text().count("bodies.link0.mass") == 1
