"""`mbsim bench`: measurements, options, and accuracy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_result import Command

from multibody_cli.studies.bench import campaign
from multibody_cli.studies.bench.measurement import Measurement


def test_json_alone_on_stdout(mbsim: Command, chain: str) -> None:
    ending = mbsim("bench", chain, "--method", "aba", "--size", "vars.n=2,4,8", "--repeat", "3", "--json", "-")
    assert ending.code == 0
    data = json.loads(ending.stdout)
    assert data["status"] == "complete"
    assert [one["bodies"] for one in data["measurements"]] == [2, 4, 8]
    for one in data["measurements"]:
        for found in (one["step"], one["evaluation"]):
            assert 0 < found["fastest"] <= found["median"] <= found["slowest"]
        np.testing.assert_allclose(one["real_time_factor"], 1e-3 * one["steps_per_second"], rtol=1e-9)
        assert one["first_call"] > 0
    small, _, large = (one["memory"] for one in data["measurements"])
    assert small < large < 4 * small
    [fits] = data["growth"].values()
    assert set(fits) == {"step", "evaluation"}


def test_blocks_cover_the_duration_at_all_sizes(mbsim: Command, chain: str) -> None:
    words = ["--size", "vars.n=2,8", "--duration", "0.123", "--repeat", "1", "--json", "-"]
    ending = mbsim("bench", chain, *words)
    assert [one["step"]["count"] for one in json.loads(ending.stdout)["measurements"]] == [123, 123]


def test_a_warning_of_several_cases_is_reported_once(mbsim: Command, folder: Path) -> None:
    (folder / "door.yaml").write_text(
        "mbsim: 1\n"
        "bodies: {door: {mass: 20, com: [0.4, 0, 0.7], inertia: {principal: [5, 6, 1.1]}}}\n"
        "joints:\n"
        "  low: {type: revolute, child: door, v: 1}\n"
        "  high: {type: revolute, child: door, origin: {position: [0, 0, 1]}, child_origin: {position: [0, 0, 1]}}\n"
        "simulation: {duration: 10 ms, step: 1 ms}\n"
    )
    ending = mbsim("bench", "door.yaml", "--method", "aba,redmax", "--repeat", "1")
    assert ending.code == 0
    assert ending.stderr.count("warning:") == 1


def test_blocks_end_before_a_run_diverges(mbsim: Command, folder: Path) -> None:
    words = ["--set", "joints.slide.stiffness=1e6", "--step", "10ms", "--duration", "10", "--repeat", "1"]
    [found] = json.loads(mbsim("bench", "stiff.yaml", *words, "--json", "-").stdout)["measurements"]
    assert 1 <= found["step"]["count"] < 1000


def test_table_and_json_file(mbsim: Command, chain: str, folder: Path) -> None:
    ending = mbsim("bench", chain, "--size", "vars.n=2,4", "--repeat", "1", "--json", "bench.json")
    assert ending.code == 0
    head, *rows = ending.stdout.splitlines()
    assert "step us" in head
    assert len([row for row in rows if row.startswith("chain  aba")]) == 2
    assert "grows as size^" in ending.stdout
    assert len(json.loads((folder / "bench.json").read_text())["measurements"]) == 2


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C before the second case."""
    measured: list[Measurement] = []
    measure = campaign.measure

    def interrupt(*words: Any) -> Measurement:
        if measured:
            raise KeyboardInterrupt
        measured.append(measure(*words))
        return measured[-1]

    monkeypatch.setattr(campaign, "measure", interrupt)


@pytest.mark.usefixtures("interrupted")
def test_measurements_before_an_interruption_are_kept(mbsim: Command, chain: str) -> None:
    ending = mbsim("bench", chain, "--size", "vars.n=2,4", "--repeat", "1", "--json", "-")
    assert ending.code == 130
    data = json.loads(ending.stdout)
    assert data["status"] == "interrupted"
    assert [one["size"] for one in data["measurements"]] == [2]
    assert ending.stderr.endswith("error: interrupted: the measurements made so far are reported\n")


@pytest.mark.usefixtures("interrupted")
def test_an_interrupted_bench_writes_its_files(mbsim: Command, chain: str, folder: Path) -> None:
    words = ["--step", "1ms,2ms", "--accuracy", "1mm", "--duration", "0.1", "--repeat", "1"]
    files = ["--json", "b.json", "--markdown", "b.md", "--plot", "b.png"]
    ending = mbsim("bench", chain, *words, *files)
    assert ending.code == 130
    data = json.loads((folder / "b.json").read_text())
    assert (data["status"], len(data["measurements"]), len(data["accuracy"][0]["runs"])) == ("interrupted", 1, 1)
    assert "The benchmark was interrupted; these are the measurements made so far." in (folder / "b.md").read_text()
    assert (folder / "b.png").read_bytes().startswith(b"\x89PNG")


def test_an_invalid_scene_ends_with_2_and_the_other_scenes_are_measured(mbsim: Command, chain: str) -> None:
    ending = mbsim("bench", chain, "missing.yaml", "--repeat", "1", "--json", "-")
    assert ending.code == 2
    assert "missing.yaml" in ending.stderr
    assert len(json.loads(ending.stdout)["measurements"]) == 1


# --- options --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "aba,abba"], "--method: unknown method `abba`: did you mean `aba`?"),
        (["--integrator", "rk5"], "--integrator: unknown integrator `rk5`: did you mean `rk4`?"),
        (["--step", "1kg"], "--step: expected a time (s), but `1kg` is a mass"),
        (["--step", "0"], "--step: expected a time (s) above 0, found `0`"),
        (["--tolerance", "tight"], "--tolerance: expected a plain number, found `tight`"),
        (["--size", "vars.n"], "--size: expected KEY=2,4,8 with numbers above 0, found `vars.n`"),
        (["--size", "vars.n=0,1"], "--size: expected KEY=2,4,8 with numbers above 0, found `vars.n=0,1`"),
        (["--repeat", "0"], "--repeat: expected at least 1, found `0`"),
        (["--accuracy", "1s"], "--accuracy: expected a length (m), but `1s` is a time"),
        (["--against", "bullet"], "--against: unknown peer `bullet`: valid: all, drake, exudyn, mujoco, pinocchio"),
        (["--plot", "b.gif", "--accuracy", "1"], "b.gif: a picture is named *.png, *.svg or *.pdf"),
        (["--plot", "b.png"], "--plot shows growth with size or cost against accuracy: add --size or --accuracy"),
        (["--json", "."], "cannot write .: Is a directory"),
        (["--markdown", "chain.yaml/b.md"], "cannot write chain.yaml/b.md: "),
    ],
)
def test_invalid_arguments_are_refused_before_any_measurement(
    mbsim: Command, chain: str, words: list[str], message: str
) -> None:
    ending = mbsim("bench", chain, *words)
    assert (ending.code, ending.stdout) == (2, "")
    assert ending.stderr.startswith(f"error: {message}")


def test_all_invalid_arguments_are_reported_together(mbsim: Command, chain: str) -> None:
    ending = mbsim("bench", chain, "--method", "x", "--step", "1m")
    assert ending.stderr.count("\n") == 2
    assert "--method: " in ending.stderr
    assert "--step: " in ending.stderr


@pytest.mark.parametrize("words", [["missing.yaml"], ["pendulum.yaml", "--method", "x"]], ids=["scene", "word"])
def test_a_refused_bench_leaves_existing_files_unchanged(mbsim: Command, folder: Path, words: list[str]) -> None:
    (folder / "old.json").write_text("old")
    assert mbsim("bench", *words, "--json", "old.json", "--markdown", "new.md").code == 2
    assert (folder / "old.json").read_text() == "old"
    assert not (folder / "new.md").exists()


def test_combinations_that_are_refused_are_listed(mbsim: Command, chain: str) -> None:
    """With limits, `dop853` is refused; the others are measured."""
    limited = ("--set", "joints.joint0.limits=[-1, 1]")
    ending = mbsim("bench", chain, *limited, "--integrator", "rk4,dop853", "--repeat", "1", "--json", "-")
    assert ending.code == 0
    data = json.loads(ending.stdout)
    assert [one["integrator"] for one in data["measurements"]] == ["rk4"]
    [refused] = data["not_measured"]
    assert (refused["integrator"], refused["status"]) == ("dop853", "refused")
    assert "integrator `dop853` has a variable step size" in refused["reason"]
    # alone it is an error
    ending = mbsim("bench", chain, *limited, "--integrator", "dop853", "--repeat", "1")
    assert (ending.code, ending.stdout) == (2, "")
    assert "integrator `dop853` has a variable step size" in ending.stderr


def test_a_bench_without_a_supported_combination_is_refused(mbsim: Command, chain: str) -> None:
    ending = mbsim("bench", chain, "--step", "0.3,0.7")
    assert ending.code == 2
    assert ending.stderr.endswith("error: none of the 2 cases could be measured\n")
    assert "to be a multiple of `step`, 0.3 s" in ending.stdout


def test_a_case_that_diverges_in_its_first_step_is_listed(mbsim: Command, folder: Path) -> None:
    sizes = ("--size", "joints.slide.stiffness=1,1e300")
    data = json.loads(mbsim("bench", "stiff.yaml", *sizes, "--repeat", "1", "--json", "-").stdout)
    assert [one["size"] for one in data["measurements"]] == [1]
    [burst] = data["not_measured"]
    assert (burst["size"], burst["status"]) == (1e300, "diverged")
    assert burst["reason"] == "stiff: the first step diverges"


def test_an_adaptive_integrator_is_measured_once_for_all_steps(mbsim: Command, chain: str) -> None:
    own = ("--set", "simulation.integrator=dop853")
    ending = mbsim(
        "bench", chain, *own, "--step", "1ms,2ms", "--tolerance", "1e-6,1e-9", "--repeat", "1", "--json", "-"
    )
    data = json.loads(ending.stdout)
    assert [one["tolerance"] for one in data["measurements"]] == [1e-6, 1e-9]


# --- accuracy -------------------------------------------------------------------------------------------------------
def test_accuracy_recommends_a_row_of_its_table(mbsim: Command, chain: str, folder: Path) -> None:
    words = ["--integrator", "rk4,semi_implicit_euler", "--step", "1ms,5ms,20ms", "--accuracy", "0.1 mm"]
    ending = mbsim("bench", chain, *words, "--repeat", "1", "--json", "b.json", "--markdown", "b.md", "--plot", "b.svg")
    assert ending.code == 0
    [study] = json.loads((folder / "b.json").read_text())["accuracy"]
    assert study["reference"]["error"] < 1e-9
    runs = study["runs"]
    assert len(runs) == 6
    chosen = runs[study["recommended"]]
    reaching = [run for run in runs if run["error"] <= 1e-4]
    assert chosen["cost"]["median"] == min(run["cost"]["median"] for run in reaching)
    assert chosen["on_front"]
    assert study["recommendation"].startswith(
        f"for 0.0001 m use `{chosen['method']}` with `{chosen['integrator']}` at {chosen['time_step']:g} s"
    )
    [row] = [line for line in ending.stdout.splitlines() if line.endswith("front, recommended")]
    assert row.split()[:3] == [chosen["method"], chosen["integrator"], f"{chosen['time_step']:g}"]
    markdown = (folder / "b.md").read_text()
    assert "## Cost against accuracy: chain" in markdown
    assert f"Chain: {study['recommendation']}." in markdown
    assert (folder / "b.svg").read_text().startswith("<?xml")


def test_runs_that_diverge_are_rows(mbsim: Command, folder: Path) -> None:
    words = ["--step", "10ms,0.1ms", "--set", "joints.slide.stiffness=1e6", "--accuracy", "1mm", "--duration", "0.5"]
    ending = mbsim("bench", "stiff.yaml", *words, "--repeat", "1", "--json", "-")
    [study] = json.loads(ending.stdout)["accuracy"]
    status = {run["time_step"]: (run["status"], run["error"] is None, run["on_front"]) for run in study["runs"]}
    assert status[0.01] == ("diverged", True, False)
    assert status[1e-4][:2] == ("complete", False)
