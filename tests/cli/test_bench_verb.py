"""`mbsim bench` and the study behind it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_result import Command

from multibody_cli.peers import PEERS
from multibody_cli.peers.contract import PeerKind
from multibody_cli.studies.bench import batches, campaign, timing
from multibody_cli.studies.bench import options as suites_of
from multibody_cli.studies.bench.measurement import Measurement, bytes_of, growth
from multibody_cli.studies.bench.timing import TimedBlock, count_long_enough, time_blocks

CHAIN = """\
mbsim: 1
name: chain
vars: {n: 2}
repeat:
  - count: "${n}"
    index: i
    bodies: {"link${i}": {mass: 1, shapes: [{type: box, size: [0.1, 0.1, 1]}]}}
    joints:
      "joint${i}": {type: revolute, parent: "${'world' if i == 0 else concat('link', i - 1)}",
                    child: "link${i}", axis: [0, 1, 0], child_origin: {position: [0, 0, 1]}, q: 0.1}
simulation: {duration: 1, step: 1 ms, integrator: semi_implicit_euler}
"""


@pytest.fixture
def chain(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(timing, "SHORTEST_BLOCK", 0.001)
    (folder / "chain.yaml").write_text(CHAIN)
    return "chain.yaml"


@pytest.mark.parametrize("exponent", [-1.0, 0.0, 1.0, 2.5])
def test_growth_estimates_the_exponent(exponent: float) -> None:
    sizes = [2.0, 4.0, 10.0, 50.0]
    fit = growth(sizes, [3e-6 * size**exponent for size in sizes])
    assert fit is not None
    assert fit.standard_error is not None
    np.testing.assert_allclose(fit.exponent, exponent, atol=1e-12)
    np.testing.assert_allclose(fit.standard_error, 0.0, atol=1e-12)


def test_growth_of_scattered_costs_has_the_error_of_linear_regression() -> None:
    x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.5, 1.5, 3.0])
    fit = growth(np.exp(x), np.exp(y))
    assert fit is not None
    # slope 0.9; residuals -0.15, 0.45, -0.45, 0.15; sqrt(0.45 / 2 / 5)
    np.testing.assert_allclose([fit.exponent, fit.standard_error], [0.9, np.sqrt(0.045)])


def test_growth_needs_two_sizes() -> None:
    assert growth([], []) is None
    assert growth([3.0, 3.0], [1.0, 2.0]) is None
    two = growth([1.0, 2.0], [1.0, 2.0])
    assert two is not None
    assert two.standard_error is None


def test_blocks_last_long_enough_and_the_median_is_of_costs() -> None:
    def block(count: int) -> TimedBlock:
        return TimedBlock(seconds=1e-6 * count, done=count)

    count = count_long_enough(block)
    assert 0.02 <= 1e-6 * count <= 0.1
    timing = time_blocks(block, count, 5)
    np.testing.assert_allclose([timing.median, timing.fastest, timing.slowest], 1e-6)


def test_blocks_stay_short_of_a_divergence() -> None:
    count = count_long_enough(lambda count: TimedBlock(1e-9 * count, count, succeeded=count < 1000))
    assert 1 <= count < 1000


def test_bytes_of_nested_arrays() -> None:
    assert bytes_of((np.zeros(3), (np.zeros((2, 2)), 5), ())) == 56


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


# --- what is asked for ----------------------------------------------------------------------------------------------
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
        (["--repeat", "0"], "--repeat: expected a whole number from 1 to 1000, found `0`"),
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


# --- suites ---------------------------------------------------------------------------------------------------------
SUITE = """\
description: Two benches.
benches:
  - {scenes: ../chain.yaml, size: "vars.n=2,4", repeat: 1}
  - {scenes: [../chain.yaml], method: [aba, redmax], set: vars.n=3, repeat: 1}
"""


@pytest.fixture
def suites(chain: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(suites_of, "bench_scenes", Path)
    (folder / "suites").mkdir()
    (folder / "suites/two.yaml").write_text(SUITE)
    return folder / "suites"


def test_a_suite_is_several_benches(mbsim: Command, suites: Path) -> None:
    data = json.loads(mbsim("bench", "--suite", "two", "--json", "-").stdout)
    found = [(one["method"], one["bodies"], one["step"]["blocks"]) for one in data["measurements"]]
    assert found == [("aba", 2, 1), ("aba", 4, 1), ("aba", 3, 1), ("redmax", 3, 1)]
    assert [one["settings"] for one in data["measurements"]] == [[], [], ["vars.n=3"], ["vars.n=3"]]


def test_arguments_of_the_command_line_override_the_suite(mbsim: Command, suites: Path) -> None:
    ending = mbsim("bench", "--suite", "suites/two.yaml", "--method", "aba", "--repeat", "2", "--json", "-")
    data = json.loads(ending.stdout)
    assert [(one["method"], one["step"]["blocks"]) for one in data["measurements"]] == [("aba", 2)] * 3


def test_cases_without_the_options_of_a_suite_are_listed(mbsim: Command, suites: Path) -> None:
    """Options belong to a method: with another one, the scene itself is valid."""
    optional = "  - {scenes: ../chain.yaml, method: symbolic, set: simulation.options.recursion=numeric, repeat: 1}\n"
    (suites / "optional.yaml").write_text(SUITE + optional)
    ending = mbsim("bench", "--suite", "optional", "--method", "aba", "--json", "-")
    assert ending.code == 0
    data = json.loads(ending.stdout)
    assert len(data["measurements"]) == 3
    [refused] = data["not_measured"]
    assert "method `aba` has no option `recursion`: it is an option of `symbolic`" in refused["reason"]


def test_an_unknown_suite_is_refused_with_the_known_names(mbsim: Command, suites: Path) -> None:
    ending = mbsim("bench", "--suite", "tow")
    assert (ending.code, ending.stdout) == (2, "")
    assert ending.stderr == "error: no suite `tow`: did you mean `two`?; available: two\n"


@pytest.mark.parametrize("place", ["scenes", "multibody_cli/scenes"])
def test_suites_of_the_project_are_beside_the_package_or_in_it(
    chain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    suites = tmp_path / "installed" / place / "bench" / "suites"
    suites.mkdir(parents=True)
    shutil.copy(chain, suites.parent / "chain.yaml")
    (suites / "two.yaml").write_text(SUITE)
    monkeypatch.setattr(suites_of, "__file__", str(tmp_path / "installed/multibody_cli/studies/bench/options.py"))
    benches = suites_of.read_suite("two")
    assert [bench.scenes[0].absolute() for bench in benches] == [suites.parent / "chain.yaml"] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("benches: [{metod: aba}]\n", ":1:19: benches[0].metod: unknown key `metod`; did you mean `method`?"),
        ("benches:\n- step: [1 ms, 2 kg]\n", ":2:16: benches[0].step[1]: expected a time (s), but `2 kg` is a mass"),
        ("benches: [{size: n}]\n", ":1:18: benches[0].size: expected KEY=2,4,8 with numbers above 0, found `n`"),
        ("benches: []\n", ":1:1: benches: expected at least 1 entry"),
        ("bench: []\n", ":1:1: bench: unknown key `bench`; did you mean `benches`?"),
        ("benches: [\n", ": not YAML"),
    ],
)  # fmt: skip
def test_problems_of_a_suite_are_reported_with_their_locations(
    mbsim: Command, suites: Path, text: str, message: str
) -> None:
    (suites / "wrong.yaml").write_text(text)
    ending = mbsim("bench", "--suite", "wrong")
    assert (ending.code, ending.stdout) == (2, "")
    assert message in ending.stderr


@pytest.mark.parametrize("name", ["growth", "accuracy", "general_joints", "peers", "scale"])
def test_suites_of_the_project_can_be_read_in_any_folder(name: str, folder: Path) -> None:
    benches = suites_of.read_suite(name)
    assert benches
    assert all(scene.is_file() for bench in benches for scene in bench.scenes)


# --- batches ----------------------------------------------------------------------------------------------------------
def test_a_batch_beside_single_runs_and_a_peer(mbsim: Command, chain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mujoco")
    monkeypatch.setattr(batches, "SHORTEST_BATCH", 0.001)
    options = ("--batch", "20", "--duration", "0.1 s", "--against", "mujoco", "--repeat", "2")
    ending = mbsim("bench", chain, *options, "--json", "bench.json")
    assert ending.code == 0
    table = ending.stdout[ending.stdout.index("Batches of runs") :]
    assert [word in table for word in ("batch", "single runs", "mujoco", "batch is faster by")] == [True] * 4
    [found] = json.loads(Path("bench.json").read_text())["batches"]
    assert (found["runs"], found["steps"], found["in_lanes"], found["reason"]) == (20, 100, 20, "")
    assert found["batch"]["count"] == 2000
    for cost, ratio in (found["single"], found["peers"]["mujoco"]):
        assert cost["median"] > 0.0
        assert ratio > 0.0


def test_a_batch_of_single_runs_has_a_reason(mbsim: Command, chain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "SHORTEST_BATCH", 0.001)
    options = ("--batch", "3", "--duration", "10 ms", "--integrator", "sdirk2", "--repeat", "1")
    ending = mbsim("bench", chain, *options)
    assert ending.code == 0
    assert "because lanes do not support integrators other than semi_implicit_euler and rk4" in ending.stdout


def test_a_batch_of_one_run_is_refused(mbsim: Command, chain: str) -> None:
    ending = mbsim("bench", chain, "--batch", "1")
    assert (ending.code, ending.stdout) == (2, "")
    assert "--batch: expected a whole number from 2 to 10000000, found `1`" in ending.stderr


# --- peers ------------------------------------------------------------------------------------------------------------
def test_a_peer_whose_package_is_missing_is_refused_at_once(
    mbsim: Command, chain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multibody_cli.studies.bench.against.find_spec", lambda _: None)
    ending = mbsim("bench", chain, "--against", "mujoco")
    assert (ending.code, ending.stdout) == (2, "")
    assert ending.stderr == "error: `mujoco` cannot be imported: pip install 'multibody-cli[peers]'\n"


def test_a_peer_with_different_accelerations_ends_with_1(
    mbsim: Command, chain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Still:
        def accelerations(self) -> np.ndarray:
            return np.zeros(2)

    kind = PeerKind("still", "numpy", "numpy", lambda _: Still(), {}, "nothing")
    monkeypatch.setitem(PEERS, "still", kind)
    ending = mbsim("bench", chain, "--against", "still", "--repeat", "1")
    assert ending.code == 1
    assert "differs" in ending.stdout
    assert ending.stderr.endswith(
        f"error: still {np.__version__}: chain: not timed: accelerations differ by 1.0e+00 of the largest, "
        "more than 1e-06\n"
    )


def test_a_scene_that_no_peer_supports_is_refused(mbsim: Command, chain: str) -> None:
    pytest.importorskip("mujoco")
    ending = mbsim("bench", chain, "--against", "mujoco", "--set", "joints.joint0.damping=1", "--repeat", "1")
    assert ending.code == 2
    assert ending.stderr.endswith(
        "error: no peer supports the scene: peers support only joints, loops of hinges and balls, and contacts under "
        "gravity, and this scene has springs or dampers of joints\n"
    )
