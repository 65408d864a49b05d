"""`mbsim optimize --algorithm nsga2`: known fronts, constraints, failed runs, limits, resumption and refusals.

The objectives are 1 - exp(-r1^2) and 1 - exp(-r2^2) of the distances r1 and r2 to two points 2 apart (Fonseca and
Fleming, Evol. Comput. 3, 1995): r1 + r2 >= 2, with equality between the points, and the front is concave in its middle.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from command_result import Command, minimized

from multibody_cli.errors import ArgumentError
from multibody_cli.output.rows import Row, Rows, in_blocks
from multibody_cli.studies.optimize.pareto import not_dominated
from multibody_cli.studies.optimize.problem import read_problem
from multibody_cli.studies.optimize.study import Optimization, Optimum, Search, optimize, plan
from multibody_cli.studies.optimize.trials import Trial
from multibody_cli.studies.sweep.batch import SweepRun, SweepTask

PLACE = """\
mbsim: 1
name: place
gravity: [0, 0, 0]
vars: {x: 2, y: 1}
bodies: {ball: {kind: point, mass: 1, position: ["${x}", "${y}", 0]}}
simulation: {duration: 10 ms, step: 10 ms}
"""
X, Y = (f"bodies.ball.position.{axis}" for axis in "xy")
VARIED = ("vars.x=2,-4,4", "vars.y=1,-4,4")
NEAR, FAR = GOALS = tuple(f"1 - exp(-({X} {sign} 1)**2 - {Y}**2)@initial" for sign in "+-")


def planned(
    folder: Path,
    *goals: str,
    limits: tuple[str, ...] = (),
    varied: tuple[str, ...] = VARIED,
    algorithm: str = "nsga2",
    **search: int,
) -> Optimization:
    (folder / "place.yaml").write_text(PLACE)
    problem = read_problem(varied, goals or GOALS, [], limits)
    return plan(folder / "place.yaml", (), problem, Search(algorithm, **search))[0]


class Places:
    """Executes runs of `PLACE` by its initial place alone, until a number of them; counts them, and its calls."""

    def __init__(self, study: Optimization, most: float = np.inf) -> None:
        self._study, self._most, self.runs, self.calls = study, most, 0, 0

    def __call__(self, task: SweepTask, runs: Iterable[SweepRun]) -> Iterator[list[Rows]]:
        self.calls += 1
        for run in runs:
            if self.runs >= self._most:
                return
            self.runs += 1
            place = {"x": 2.0, "y": 1.0} | {one[5]: float(one[7:]) for one in run.overrides}
            texts = [one.channel.replace(X, "x").replace(Y, "y") for one in task.kept]
            with np.errstate(invalid="ignore"):
                values = tuple(float(eval(text, {"exp": np.exp, "sqrt": np.sqrt} | place)) for text in texts)
            yield in_blocks([Row(run.number, "complete", columns=self._study.columns, values=values)])


def evolved(folder: Path, *goals: str, **given: object) -> Optimum:
    study = planned(folder, *goals, **given)
    return optimize(study, folder / "table.h5", Places(study), force=True)


def objectives(front: Iterable[Trial]) -> np.ndarray:
    return np.array([one.numbers[:2] for one in front]).reshape(-1, 2)


def distances(front: Iterable[Trial]) -> np.ndarray:
    """Return the distances (k, 2) of the points of a front to the two points."""
    return np.sqrt(-np.log1p(-objectives(front)))


def largest_gap(values: np.ndarray, low: float, high: float) -> float:
    return float(np.diff(np.sort([low, *values, high])).max())


def test_runs_approach_a_concave_front_and_cover_it(mbsim: Command, folder: Path) -> None:
    """By runs of the command line; the same numbers by the closed form of the place."""
    words = [word for one in GOALS for word in ("--minimize", one)] + [
        word for one in VARIED for word in ("--vary", one)
    ]
    words += ["--algorithm", "nsga2", "--points", "5", "--plot", "front.png", "--write", "best.yaml"]
    found = minimized(mbsim, PLACE, *words)
    assert found["message"] == "the front changed by less than 0.5% of its extent in 10 generations"
    own = evolved(folder, points=5)
    assert [one["run"] for one in found["front"]] == [one.number for one in own.front]
    assert found["runs"] == len(own.trials)
    r = distances(own.front)
    assert np.min(r.sum(axis=1) - 2.0) > -1e-7
    assert np.max(r.sum(axis=1) - 2.0) < 0.15
    assert np.mean(r.sum(axis=1) - 2.0) < 0.02
    assert largest_gap(r[:, 0], 0.0, 2.0) < 0.25
    assert Path("front.png").read_bytes().startswith(b"\x89PNG")
    assert mbsim("validate", "best.yaml").code == 0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_points_that_no_weighted_sum_has_are_those_of_the_epsilon_constraints(folder: Path, seed: int) -> None:
    found = evolved(folder, seed=seed)
    exact = planned(folder, algorithm="slsqp", exact=False, points=7, varied=("vars.x=0.5,-4,4", "vars.y=0.1,-4,4"))
    other = optimize(exact, folder / "exact.h5", Places(exact))
    front = objectives(found.front)
    weights = np.linspace(0.0, 1.0, 101)
    best = distances([found.front[k] for k in np.argmin(front @ [weights, 1.0 - weights], axis=0)])
    assert not ((best[:, 0] > 0.5) & (best[:, 0] < 1.5)).any()
    for point in objectives(other.front):
        assert np.hypot(*(front - point).T).min() < 0.06
        assert (front > point - 1e-6).any(axis=1).all()


def test_a_constraint_cuts_the_front_and_a_start_may_violate_it(folder: Path) -> None:
    """Of a disc between the points, the part of the front is as long as its diameter: no point of the first generation
    is in the disc."""
    limits = (f"{X}**2 + {Y}**2@initial <= 0.04",)
    found = evolved(folder, limits=limits)
    assert not any(found.study.problem.is_feasible(one.numbers) for one in found.trials[:44])
    r = distances(found.front)
    assert found.status == "converged"
    assert np.max(np.abs(r[:, 0] - 1.0)) < 0.2 + 1e-6
    assert np.min(r.sum(axis=1) - 2.0) > -1e-7
    assert np.max(r.sum(axis=1) - 2.0) < 0.02
    assert largest_gap(r[:, 0], 0.8, 1.2) < 0.05
    assert all(found.study.problem.is_feasible(one.numbers) for one in found.front)


def test_the_nearest_violation_is_reported_where_no_run_is_feasible(folder: Path) -> None:
    found = evolved(folder, limits=(f"{X}@initial >= 5", f"{Y}@initial <= 0"), most=500)
    assert (found.status, found.front, found.best) == ("not converged", (), None)
    best = max(found.trials, key=lambda one: one.numbers[2] - max(one.numbers[3], 0.0))
    assert best.values[0] == pytest.approx(4.0, abs=0.05)


def test_runs_that_fail_bound_the_front(folder: Path) -> None:
    """The number of a place on one side of the middle is not finite: half of the front is left."""
    found = evolved(
        folder, f"{NEAR.removesuffix('@initial')} + 0*sqrt(-{X})@initial", FAR, varied=("vars.x=-1,-4,4", VARIED[1])
    )
    assert found.status == "converged"
    assert 40 < sum(bool(one.reason) for one in found.trials) < len(found.trials) / 2
    r = distances(found.front)
    assert np.max(r[:, 0]) < 1.0 + 1e-6
    assert np.max(r.sum(axis=1) - 2.0) < 0.15
    assert largest_gap(r[:, 0], 0.0, 1.0) < 0.1


def test_objectives_without_conflict_have_a_front_of_one_point(folder: Path) -> None:
    found = evolved(folder, f"({X} - 1)**2 + {Y}**2@initial", f"3 + 5*({X} - 1)**2 + 5*{Y}**2@initial")
    assert found.status == "converged"
    assert len(found.front) == 1
    np.testing.assert_allclose(found.front[0].values, [1.0, 0.0], atol=0.05)


def test_three_objectives_span_the_triangle_between_three_points(folder: Path) -> None:
    corners = ((0.0, 0.0), (2.0, 0.0), (0.0, 2.0))
    found = evolved(folder, *(f"({X} - {x})**2 + ({Y} - {y})**2@initial" for x, y in corners), most=1000)
    places = np.array([one.values for one in found.front])
    outside = np.maximum(np.maximum(-places.min(axis=1), places.sum(axis=1) - 2.0), 0.0)
    assert np.mean(outside) < 0.1
    for x, y in (*corners, (0.6, 0.6), (1.0, 1.0)):
        assert np.hypot(places[:, 0] - x, places[:, 1] - y).min() < 0.25


def test_runs_are_at_most_those_that_are_allowed_and_each_generation_is_one_call(folder: Path) -> None:
    study = planned(folder, points=5, most=50)
    execute = Places(study)
    found = optimize(study, folder / "table.h5", execute)
    assert (found.status, found.message) == ("not converged", "50 runs are made: --runs allows more")
    assert (len(found.trials), execute.runs, execute.calls) == (50, 50, 3)
    assert found.trials[0].values.tolist() == [2.0, 1.0]
    numbers = objectives(found.trials)
    assert {one.number for one in found.front} == {
        k for k, one in enumerate(numbers) if not ((numbers <= one).all(axis=1) & (numbers < one).any(axis=1)).any()
    }


def test_an_interrupted_evolution_continues_with_the_same_bytes(folder: Path) -> None:
    study = planned(folder, points=4, most=200, seed=3)
    whole, part, rest = Places(study), Places(study, 70), Places(study)
    optimize(study, folder / "whole.h5", whole)
    first = optimize(study, folder / "part.h5", part)
    assert (first.status, first.executed) == ("interrupted", 70)
    last = optimize(study, folder / "part.h5", rest)
    assert (last.executed, rest.runs) == (whole.runs - 70, whole.runs - 70)
    assert (folder / "part.h5").read_bytes() == (folder / "whole.h5").read_bytes()
    other = planned(folder, points=4, most=200, seed=4)
    optimize(other, folder / "other.h5", Places(other))
    assert (folder / "other.h5").read_bytes() != (folder / "whole.h5").read_bytes()


def test_the_text_shows_points_from_end_to_end_of_the_front(mbsim: Command, folder: Path) -> None:
    (folder / "place.yaml").write_text(PLACE)
    words = ("--minimize", f"{X}@initial", "--minimize", f"-{X}@initial", "--vary", "vars.x=2,-4,4", "--runs", "88")
    ending = mbsim("optimize", "place.yaml", *words, "--algorithm", "nsga2", "--jobs", "1")
    assert ending.code == 1
    assert "88 runs are made: --runs allows more" in ending.stderr
    shown = [float(line.split()[0]) for line in ending.stdout.splitlines()[2:32]]
    assert "ompiled" not in ending.stdout + ending.stderr
    assert shown == sorted(shown)
    assert shown[0] < -3.0
    assert shown[-1] > 3.0
    assert "  and 58 more points of the front between them\n" in ending.stdout


def test_points_of_equal_objectives_are_one_point_of_a_front() -> None:
    table = [(1.0, 2.0), (0.0, 3.0), (1.0, 2.0), (0.0, 4.0), (2.0, 2.0), (3.0, -1.0)]
    trials = [Trial(k, np.zeros(1), np.array([*one, 9.0 - k]), None, "") for k, one in enumerate(table)]
    assert [one.number for one in not_dominated(trials, 2)] == [1, 0, 5]
    assert not_dominated([], 2) == []


@pytest.mark.parametrize(
    ("goals", "limits", "given", "message"),
    [
        ([X], (), {}, "nsga2 minimizes several objectives, found one: use differential-evolution"),
        (
            GOALS,
            (f"{Y} == 1",),
            {},
            "only constraints with <= or >=, found `bodies.ball.position.y == 1`: use slsqp, cobyqa",
        ),
        ([X], (f"{Y} == 1",), {"algorithm": "differential-evolution"}, "takes only constraints with <= or >=, found"),
        (GOALS, (), {"varied": ("vars.x=2",)}, "nsga2 needs bounds of all parameters"),
        (GOALS, (), {"algorithm": "trf"}, "nor several objectives: use slsqp, cobyqa, differential-evolution, nsga2"),
        (
            [X],
            (f"{Y} <= 1",),
            {"algorithm": "trf"},
            "nor several objectives: use slsqp, cobyqa, differential-evolution$",
        ),
    ],
)
def test_refusals(folder: Path, goals: list[str], limits: tuple[str, ...], given: dict, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        planned(folder, *goals, limits=limits, **given)


def test_a_missing_package_is_named_with_its_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymoo", None)
    with pytest.raises(
        ArgumentError, match=r"^--algorithm nsga2 needs pymoo: pip install 'multibody-cli\[optimize\]'$"
    ):
        planned(folder)
    assert planned(folder, algorithm="slsqp").task.digest


def test_an_algorithm_that_repeats_its_points_ends(tmp_path):
    """On flat objectives, COBYQA asks for the same points again, which are no runs and do not count as such."""
    study = planned(tmp_path, varied=("vars.x=0.5,-4,4", "vars.y=0.1,-4,4"), algorithm="cobyqa", points=3, most=600)
    places = Places(study)
    found = optimize(study, tmp_path / "places.h5", places)
    assert found.status == "not converged"
    assert "evaluations" in found.message
    assert places.runs < 600
