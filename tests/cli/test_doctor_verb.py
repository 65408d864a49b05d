"""`mbsim doctor`: figures and advice as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_result import Command


def test_figures_and_advice_in_order_of_weight(mbsim: Command, folder: Path) -> None:
    ending = mbsim("doctor", "stiff.yaml")
    assert ending.code == 0
    lines = ending.stdout.splitlines()
    assert lines[0].startswith("stiff: ")
    assert "  degrees of freedom  1 = 6 of 1 body - 5 by 1 joint" in lines
    first = lines[lines.index("advice, most important first") + 1]
    assert first.startswith("  1. stiff.yaml:")
    assert not (folder / "outputs").exists()


def test_the_same_as_json(mbsim: Command) -> None:
    data = json.loads(mbsim("doctor", "stiff.yaml", "--json").stdout)
    assert data["n_dofs"] == 1
    assert data["count"]["of_joints"] == 5
    assert data["longest_stable_steps"]["rk4"] < 1e-5
    assert data["longest_stable_steps"]["dop853"] == "adaptive"
    weights = [finding["weight"] for finding in data["findings"]]
    assert weights == sorted(weights, key=["wrong", "accuracy", "remark"].index)
    assert {"where", "path", "cause", "advice"} <= set(data["findings"][0])


def test_settings_of_the_run_have_short_forms(mbsim: Command) -> None:
    long = mbsim("doctor", "stiff.yaml", "--set", "simulation.step=1e-9", "--set", "simulation.duration=1e-8")
    assert mbsim("doctor", "stiff.yaml", "--step", "1e-9", "--duration", "1e-8").stdout == long.stdout
    assert long.stdout.splitlines()[0] != mbsim("doctor", "stiff.yaml").stdout.splitlines()[0]


def test_a_rejected_scene_has_no_advice(mbsim: Command) -> None:
    ending = mbsim("doctor", "pendulum.yaml", "--set", "joints.hinge.type=revolut")
    assert ending.code == 2
    assert "revolut" in ending.stderr
    assert not ending.stdout


def test_another_distribution_of_the_same_name_is_named(mbsim: Command, folder: Path, monkeypatch: pytest.MonkeyPatch):
    (folder / "empty.yaml").write_text("")  # refused at once
    assert not mbsim("doctor", "empty.yaml").stderr.startswith("warning")
    (folder / "mbsim-2.4.dist-info").mkdir()
    (folder / "mbsim-2.4.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: mbsim\nVersion: 2.4\n")
    monkeypatch.syspath_prepend(folder)
    assert mbsim("doctor", "empty.yaml").stderr.startswith(
        "warning: the distribution `mbsim` 2.4, another program, is installed beside `multibody-cli`, "
    )
