"""Experiments of papers: published numbers that are reproduced, verdicts, and the verb."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from multibody_cli.cli.app import main
from multibody_cli.cli.reproduce import _page
from multibody_cli.studies.papers.contract import ClaimSpec, MeasureResult
from multibody_cli.studies.papers.measures import (
    MEASURES,
    code_size,
    corrections,
    cost,
    elimination,
    expectations,
    history,
    iterations,
    multipliers,
    newton_step,
    point_friction,
)
from multibody_cli.studies.papers.reading import papers, read_paper
from multibody_cli.studies.papers.running import judge
from multibody_cli.studies.simulation import prepare

ROOT = Path(__file__).parents[2]
CHAIN = ROOT / "scenes/bench/chain.yaml"


def measured(kind: Any, **options: Any) -> MeasureResult:
    outcome: MeasureResult = kind.Measure.model_validate({"type": kind.__name__.rpartition(".")[2], **options}).measure(
        prepare
    )
    return outcome


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main_with(words)
    return int(end.value.code or 0)


def main_with(words: tuple[str, ...]) -> None:
    before, sys.argv = sys.argv, ["mbsim", *words]
    try:
        main()
    finally:
        sys.argv = before


# --- published numbers ----------------------------------------------------------------------------------------------
FAST = ("-1", "0", "2", "3", "5", "11", "18", "34")
"""Scenes of the notes that take little time; all are run nightly."""


def test_euler_steps_have_the_digits_that_redmax_lists() -> None:
    folder, paper = read_paper("redmax")
    measure: Any = paper.experiments["euler"].measure
    few = measure.model_copy(update={"rows": {name: measure.rows[name] for name in FAST}})
    outcome = few.measure(lambda scene, overrides: prepare(folder / scene, overrides))
    assert outcome.values["equal"] == len(FAST)


@pytest.mark.nightly
@pytest.mark.parametrize("experiment", ["recursive", "dense", "euler"])
def test_every_column_of_redmax_is_reproduced(experiment: str) -> None:
    assert run("reproduce", "redmax", "--only", experiment) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("paper", [name for name in papers() if name != "redmax"])
def test_every_experiment_is_run_and_judged(paper: str, tmp_path: Path) -> None:
    """Claims on times may fail on a busy machine; those on energies, gaps, iterations and multipliers hold."""
    data = tmp_path / "data.json"
    run("reproduce", paper, "--quick", "--json", str(data), "--plot", str(tmp_path), "--markdown", str(tmp_path))
    experiments = json.loads(data.read_text())["papers"][paper]["experiments"]
    _, content = read_paper(paper)
    assert [one["name"] for one in experiments] == list(content.experiments)
    for one in experiments:
        if content.experiments[one["name"]].measure.type in ("history", "iterations", "corrections"):
            assert all(claim["verdict"] != "does not hold" or claim["reason"] for claim in one["claims"])


# --- measures -------------------------------------------------------------------------------------------------------
def chain(label: str, *settings: str) -> dict[str, Any]:
    return {"label": label, "scene": str(CHAIN), "set": list(settings)}


def test_multipliers_are_those_of_the_dense_system() -> None:
    found = measured(
        multipliers,
        scene=str(CHAIN),
        set=["vars.joint=spherical", "vars.swing=0.3"],
        size="vars.n",
        sizes=[3, 9],
        rounds=1,
    )
    assert [row["multipliers"] for row in found.rows] == [9, 27]
    assert found.values["error"] < 1e-11
    assert 0 < found.values["steps"] <= 5 * 27


def test_newton_doubles_the_digits_of_a_correction_and_riqn_does_not() -> None:
    settings = ["simulation.method=variational", "simulation.step=10 ms", "vars.n=4", "vars.swing=0.5"]
    runs = {name: chain(name, f"simulation.options.root_finder={name}") for name in ("newton", "riqn")}
    found = measured(corrections, set=[*settings, "simulation.options.initial_guess=ig1"], runs=runs)
    assert found.values["newton_quadratic"] < 1.0
    assert found.values["riqn_quadratic"] > 100.0
    assert found.values["newton_iterations"] < found.values["riqn_iterations"]


def test_one_correction_is_no_convergence() -> None:
    settings = ["simulation.method=variational_maximal", "simulation.step=10 ms", "vars.n=2", "vars.swing=0.5"]
    found = measured(corrections, most=2, set=settings, runs={"newton": chain("newton")})
    assert found.values["newton_quadratic"] == math.inf


def test_iterations_are_counted_until_a_step_fails() -> None:
    settings = ["simulation.method=variational", "simulation.step=10 ms", "vars.n=3", "vars.swing=0.3"]
    limit = "simulation.options.max_iterations"
    found = measured(iterations, steps=5, set=settings, runs={"good": chain("good"), "bad": chain("bad", f"{limit}=1")})
    assert (found.values["steps"], found.values["good_steps"], found.values["bad_steps"]) == (5, 5, 0)
    assert 1 <= found.values["good_mean"] <= found.values["good_most"]


def test_the_change_of_a_channel_is_that_of_its_closed_form(tmp_path: Path) -> None:
    scene = tmp_path / "fall.yaml"
    scene.write_text(
        "mbsim: 1\nname: fall\nbodies: {ball: {mass: 2, inertia: {principal: [1, 1, 1]}}}\n"
        "gravity: [0, 0, -10]\nsimulation: {duration: 1 s, step: 10 ms, integrator: heun}\noutput: {every: 10 ms}\n"
    )
    runs = {"fall": {"label": "fall", "scene": str(scene)}}
    found = measured(history, channel="energy/potential", label="J", runs=runs)
    assert found.values["fall_end"] == pytest.approx(-2 * 10 * 5)
    assert found.values["fall_largest"] == pytest.approx(100)
    assert found.plot is not None
    assert found.plot.curves[0].y[50] == pytest.approx(2 * 10 * 10 * 0.5**2 / 2)


def test_costs_stand_beside_published_times() -> None:
    rows = {"chain": {**chain("hinges"), "published": [2e-6, 4e-6]}}
    found = measured(cost, rows=rows, size="vars.n", sizes=[2, 4], size_label="links", rounds=1)
    assert [row["published, us"] for row in found.rows] == [2.0, 4.0]
    assert found.values["chain_published_growth"] == pytest.approx(1.0)
    assert found.values["chain"] > 0


def test_a_newton_step_has_the_unknowns_of_bodies_and_rows() -> None:
    settings = ["simulation.method=variational_maximal", "simulation.step=10 ms", "vars.swing=0.01"]
    found = measured(newton_step, scene=str(CHAIN), set=settings, size="vars.n", sizes=[1, 4], rounds=1)
    assert [row["unknowns"] for row in found.rows] == [11, 44]


def test_contacts_at_points_of_hinges_have_the_motion_of_joint_friction() -> None:
    """Algorithms 7 and 8 of the notes, for links with their centers beside the hinges, which slide and stick."""
    scene = str(ROOT / "scenes/bench/chain_with_friction.yaml")
    axes = "vars.axes=[[0, 1, 0], [1, 0, 0]]"
    options = {"set": [axes, "vars.swing=0.5"], "size": "vars.n", "sizes": [1, 3], "before": 3, "steps": 2, "rounds": 1}
    found = measured(point_friction, scene=scene, **options)
    assert [row["rows"] for row in found.rows] == [24, 72]
    assert found.values["unsolved"] == 0
    assert found.values["error"] < 1e-9


def test_operations_are_counted_without_those_of_indices() -> None:
    loop = "def generated(a, b):\n    for i in range(0, 3 * 2, 1):\n"
    text = f"{loop}        x = -b[i + 1] * 2.0 + sin(a[i])\n        a[i + 1] = x\n"
    assert code_size.operations_in(text) == 4


def test_the_code_of_a_chain_does_not_grow_and_its_memory_does() -> None:
    rows = {"short": chain("short", "vars.n=5"), "long": chain("long", "vars.n=50")}
    found = measured(code_size, rows=rows)
    short, long = found.rows
    assert short["operations I"] == long["operations I"] > short["operations II"] == long["operations II"] > 0
    factors = 8 * 8e-3  # kB a link: V, c and 1 / Omega
    assert long["evaluation I, kB"] - short["evaluation I, kB"] == pytest.approx(45 * factors)
    assert long["evaluation II, kB"] - short["evaluation II, kB"] > 45 * factors
    assert found.values == {"scenes": 2, "larger": 2, "heavier": 2, "smaller": 2}


def test_the_elimination_of_a_hinge_saves_the_row_that_stays_zero() -> None:
    """U and 1 / Omega of a unit S are entries of the inertia, and six entries less are updated by a product each."""
    found = measured(elimination, rows={"hinge": chain("hinge"), "balls": chain("balls", "vars.joint=spherical")})
    hinge, balls = found.rows
    assert (hinge["coordinates"], balls["coordinates"]) == (1, 3)
    products_of_U = 6 * 6 + 6 * 5
    assert hinge["without"] - hinge["with"] > products_of_U
    assert balls["without"] - balls["with"] > 3 * products_of_U


def test_expectations_are_counted_by_method(tmp_path: Path) -> None:
    """A scene with another gravity misses expectations by the method that has it alone."""
    path = tmp_path / "falling.yaml"
    path.write_text(
        "mbsim: 1\nname: falling\ngravity: [0, 0, -10]\n"
        "bodies: {ball: {shapes: [{type: sphere, radius: 1}], density: 1}}\n"
        "simulation: {duration: 0.2 s, step: 10 ms, integrator: rk4}\n"
        "expect:\n"
        "  - {at: 0, channel: bodies/ball/position, component: z, value: 0, atol: 1e-9}\n"
        "  - {at: 0.2, channel: bodies/ball/position, component: z, value: -0.2, atol: 1e-9}\n"
    )
    good = {"scene": str(path)}
    bad = good | {"set": {"aba": ["gravity=[0, 0, -9]"]}}
    found = measured(expectations, methods=["aba", "redmax"], rows={"falling": good})
    assert found.rows == [{"scene": "falling", "aba": "2 of 2", "redmax": "2 of 2"}]
    assert found.values == {"scenes": 1, "twice": 1}
    found = measured(expectations, methods=["aba", "redmax"], rows={"falling": bad})
    assert found.rows == [{"scene": "falling", "aba": "1 of 2", "redmax": "2 of 2"}]
    assert found.values == {"scenes": 1, "twice": 0}


def test_every_measure_is_used_by_a_paper() -> None:
    assert {one.measure.type for name in papers() for one in read_paper(name)[1].experiments.values()} == set(MEASURES)


# --- papers and verdicts --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", papers())
@pytest.mark.parametrize("quick", [False, True])
def test_every_paper_can_be_read_and_its_scenes_exist(name: str, quick: bool) -> None:
    folder, paper = read_paper(name, quick)
    for experiment in paper.experiments.values():
        measure: Any = experiment.measure
        runs = getattr(measure, "rows", None) or getattr(measure, "runs", None) or {"": measure}
        assert all((folder / run.scene).is_file() for run in runs.values())
        assert experiment.claims


def test_a_verdict_is_the_best_that_its_conditions_allow() -> None:
    claim = ClaimSpec(text="fast", holds="time < 2", better="time < 1", because="of the load")
    assert [str(judge(claim, MeasureResult([], {"time": time}))) for time in (0.5, 1.5, 2.5)] == [
        "holds better",
        "holds",
        "does not hold, because of the load",
    ]
    unexplained = judge(ClaimSpec(text="fast", holds="time < 2"), MeasureResult([], {"time": 3.0}))
    assert unexplained.is_unexplained
    assert str(unexplained) == "does not hold, and no reason is known"


def test_a_verdict_has_the_values_that_its_condition_compares() -> None:
    claim = ClaimSpec(text="linear", holds="long/short < 2.5 and error[1] < 1e-3*scale", better="long/short < 1")
    values = {"long": 3.0, "short": 2.0, "error": [0.5, 1e-5], "scale": 2.0}
    verdict = judge(claim, MeasureResult([], values))
    assert (str(verdict), verdict.measured) == ("holds", "long / short = 1.5, error[1] = 1e-05, 0.001 * scale = 0.002")
    assert judge(ClaimSpec(text="all", holds="count == 37"), MeasureResult([], {"count": 37})).measured == "count = 37"


def test_a_busy_machine_is_a_reason_of_claims_that_do_not_hold() -> None:
    claim = ClaimSpec(text="fast", holds="time < 2")
    slow = judge(claim, MeasureResult([], {"time": 3.0}, disturbance=0.4))
    assert str(slow).startswith("does not hold, because other programs had the processor for 40% of the timings")
    assert str(judge(claim, MeasureResult([], {"time": 1.0}, disturbance=0.4))) == "holds"


def test_the_verb_writes_tables_pages_data_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data.json"
    words = ("--only", "convergence", "--json", str(data), "--markdown", str(tmp_path), "--plot", str(tmp_path))
    assert run("reproduce", "lee2016", *words) == 0
    shown = capsys.readouterr().out
    assert "convergence: Convergence of one step, from zero coordinates (figure 4a)" in shown
    assert "  holds: Newton converges quadratically" in shown
    [experiment] = json.loads(data.read_text())["papers"]["lee2016"]["experiments"]
    assert [curve["label"] for curve in experiment["curves"]] == ["Newton", "RIQN", "Broyden"]
    assert "## Convergence of one step" in (tmp_path / "lee2016.md").read_text(encoding="utf-8")
    assert (tmp_path / "lee2016-convergence.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("lee",), "no paper `lee`: did you mean `lee2016`?"),
        (("lee2016", "--only", "speed"), "no experiment `speed`; available: energy, step_sizes, frames"),
    ],
)
def test_unknown_names_are_refused(words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("reproduce", *words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", papers())
def test_other_claims_and_differences_name_files_and_tests_that_exist(name: str) -> None:
    _, paper = read_paper(name)
    file = Path()
    for text in (*paper.elsewhere.values(), *paper.differences.values(), *paper.notes):
        for path, test in re.findall(r"`((?:docs|scenes|tests)/[\w./-]+)?(?:::(\w+))?`", text):
            if path:
                file = ROOT / path
                assert file.is_file(), path
            if test:
                assert f"def {test}(" in file.read_text(encoding="utf-8"), test


@pytest.mark.parametrize("name", papers())
def test_a_page_has_all_claims_differences_and_errata(name: str) -> None:
    _, paper = read_paper(name)
    page = "\n".join(_page(name, paper, [], False))
    assert all(one in page for one in (*paper.elsewhere, *paper.differences, *paper.errata))
