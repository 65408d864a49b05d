"""`mbsim regress`: scenes against their baselines, and what it takes to renew one."""

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
from ending import Command, Ending
from recorded import shifted

from multibody_cli import __version__
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.regression import acceptance_reasons

Regress = Callable[..., Ending]


@pytest.fixture
def regress(mbsim: Command, folder: Path) -> Regress:
    """`mbsim regress` with baselines in the folder `base`."""
    return lambda *words: mbsim("regress", *words, "--baseline", "base")


@pytest.fixture
def accepted(regress: Regress, folder: Path) -> Path:
    assert regress("pendulum.yaml", "--accept", "--why", "first of all").code == 0
    return folder / "base" / "pendulum" / "aba.h5"


def test_a_scene_without_baseline_is_no_success(regress: Regress, folder: Path) -> None:
    end = regress("pendulum.yaml")
    assert end.code == 1
    assert end.stdout.splitlines()[0] == (
        "DIFFERENT  pendulum/aba  has no baseline yet: look at the result (-o keeps it), then give --accept --why"
    )
    assert not (folder / "base").exists()


def test_the_same_again(regress: Regress, accepted: Path) -> None:
    assert len(read_trajectory(accepted).time) == 11
    before = accepted.read_bytes()
    end = regress("pendulum.yaml")
    assert end.code == 0
    assert "verdict    same: 0 of " in end.stdout
    assert regress("pendulum.yaml", "--accept", "--why", "nothing new").code == 0
    assert accepted.read_bytes() == before  # nothing to accept


def test_a_change_is_found_and_accepted_with_its_reason(regress: Regress, folder: Path, accepted: Path) -> None:
    text = (folder / "pendulum.yaml").read_text()
    (folder / "pendulum.yaml").write_text(text.replace("2 kg", "2.001 kg"))
    before = accepted.read_bytes()
    end = regress("pendulum.yaml", "--junit", "r.xml")
    assert end.code == 1
    assert "settings   scene bodies.rod.mass: 2 kg -> 2.001 kg" in end.stdout
    assert accepted.read_bytes() == before
    assert ElementTree.parse(folder / "r.xml").getroot()[0].get("name") == "pendulum/aba"
    end = regress("pendulum.yaml", "--accept", "--why", "a heavier rod, schwerer", "--junit", "r.xml")
    assert end.code == 0
    assert ElementTree.parse(folder / "r.xml").getroot()[0].get("failures") == "0"
    assert "verdict    same: accepted; " in end.stdout
    assert acceptance_reasons(accepted) == [f"{__version__}: first of all", f"{__version__}: a heavier rod, schwerer"]
    assert regress("pendulum.yaml").code == 0
    assert [path.name for path in accepted.parent.iterdir()] == ["aba.h5"]


def test_a_damaged_baseline_is_trouble_and_can_be_renewed(regress: Regress, accepted: Path) -> None:
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
    assert "parts at t = 0.1 s, energy energy/total is " in end.stdout


def test_a_policy_loosens_the_comparison(regress: Regress, folder: Path, accepted: Path) -> None:
    shifted(accepted, folder / "moved.h5", "energy/total", (10,), 1.0)
    (folder / "moved.h5").replace(accepted)
    (folder / "policy.yaml").write_text("energy: {atol: 2}\n")
    assert regress("pendulum.yaml").code == 1
    assert regress("pendulum.yaml", "--tolerances", "policy.yaml").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pendulum.yaml", "--accept"], "--accept and --why TEXT require each other"),
        (["pendulum.yaml", "--why", "so"], "--accept and --why TEXT require each other"),
        (["pendulum.yaml", "--accept", "--why", "  "], "--accept and --why TEXT require each other"),
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
def test_what_is_refused_before_anything_runs(regress: Regress, folder: Path, words: list[str], said: str) -> None:
    end = regress(*words)
    assert (end.code, end.stdout) == (2, "")
    assert said in end.stderr
    assert not (folder / "base").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.yaml"], "none.yaml: cannot read the file: No such file or directory"),
        (["pendulum.yaml", "--method", "abba"], "did you mean `aba`?"),
        (["."], "cannot read the file: Is a directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_run_is_trouble_in_one_line(regress: Regress, words: list[str], said: str) -> None:
    end = regress(*words)
    assert end.code == 2
    assert end.stdout.startswith("TROUBLE")
    assert said in end.stdout.splitlines()[0]
    assert len(end.stdout.splitlines()) == 2


def test_several_problems_of_a_scene_stay_in_its_line(regress: Regress, folder: Path) -> None:
    (folder / "bad.yaml").write_text("mbsim: 1\nname: bad\nbodies: {a: {mas: 1}}\nsimulation: {duration: x}\n")
    end = regress("bad.yaml", "pendulum.yaml")
    assert [line.split()[0] for line in end.stdout.splitlines()] == ["TROUBLE", "DIFFERENT", "2"]


def test_a_method_that_need_not_run_a_scene(mbsim: Command, folder: Path) -> None:
    (folder / "soft.yaml").write_text(
        "mbsim: 1\nname: soft\nbodies: {a: {mass: 1, kind: affine, shapes: [{type: box, size: [1, 1, 1]}]}}\n"
        "simulation: {duration: 10 ms, step: 1 ms, method: baraff}\n"
    )
    end = mbsim("regress", "soft.yaml", "--baseline", "base", "--method", "all", "--json")
    assert [case["name"] for case in json.loads(end.stdout)["cases"]] == ["soft/baraff"]
    assert mbsim("regress", "soft.yaml", "--baseline", "base", "--method", "aba").code == 2


def test_a_run_that_diverges_is_never_accepted(regress: Regress, folder: Path) -> None:
    end = regress("stiff.yaml", "--accept", "--why", "let us see")
    assert end.code == 1
    assert end.stdout.startswith("DIFFERENT  stiff/aba  not accepted, since the run diverged: ")
    assert not (folder / "base").exists()


def test_results_are_kept_where_they_are_asked_for(regress: Regress, folder: Path, accepted: Path) -> None:
    assert regress("pendulum.yaml", "-o", "kept").code == 0
    with h5py.File(folder / "kept/pendulum/aba.h5") as file:
        assert "accepted" not in file.attrs


def test_a_baseline_that_cannot_be_written(regress: Regress, folder: Path) -> None:
    (folder / "base").mkdir()
    (folder / "base" / "pendulum").write_text("in the way")
    end = regress("pendulum.yaml", "--accept", "--why", "so")
    assert end.code == 1
    assert end.stderr.splitlines()[-1].startswith("error: cannot write base/pendulum/aba.h5: ")


def test_an_interrupt_reports_what_was_done(start: Callable[..., subprocess.Popen[str]], folder: Path) -> None:
    text = (folder / "pendulum.yaml").read_text()
    (folder / "slow.yaml").write_text(text.replace("duration: 0.1 s", "duration: 2e5 s").replace("10 ms", "1 s"))
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
    assert report.startswith("DIFFERENT  pendulum/aba  has no baseline yet")


def test_an_interrupt_of_the_first_run_reports_nothing_done(
    start: Callable[..., subprocess.Popen[str]], folder: Path
) -> None:
    text = (folder / "pendulum.yaml").read_text()
    (folder / "slow.yaml").write_text(text.replace("duration: 0.1 s", "duration: 2e5 s").replace("10 ms", "1 s"))
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
    assert len(ElementTree.parse(folder / "r.xml").getroot()) == 0
