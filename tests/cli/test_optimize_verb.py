"""`mbsim optimize`: known optima, derivatives, constraints, fronts, failed runs, resumption and refusals."""

from __future__ import annotations

import math
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_result import Command, minimized

import multibody_cli
from multibody_cli.errors import ArgumentError
from multibody_cli.output.rows import in_blocks
from multibody_cli.output.sweep_table import SweepTable
from multibody_cli.studies.fit import read_parameter
from multibody_cli.studies.optimize.derivatives import derivatives_of_numbers
from multibody_cli.studies.optimize.problem import read_constraint, read_problem
from multibody_cli.studies.optimize.study import Search, optimize, plan
from multibody_cli.studies.sweep.batch import SweepRun, SweepTask, run_batch
from multibody_cli.studies.sweep.kept_channels import read_kept

THROW = """\
mbsim: 1
name: throw
vars: {angle: 30 deg, speed: 10}
bodies:
  ball: {kind: point, mass: 1, velocity: {linear: ["${speed*cos(angle)}", 0, "${speed*sin(angle)}"]}}
simulation: {duration: 0.1 s, step: 10 ms, integrator: rk4}
"""

PLACE = """\
mbsim: 1
name: place
gravity: [0, 0, 0]
vars: {x: 3, y: 4}
bodies: {ball: {kind: point, mass: 1, position: ["${x}", "${y}", 0]}}
simulation: {duration: 20 ms, step: 10 ms}
"""

RANGE = (
    "-(bodies.ball.position.x + bodies.ball.linear_velocity.x/9.81*(bodies.ball.linear_velocity.z"
    " + sqrt(bodies.ball.linear_velocity.z**2 + 2*9.81*bodies.ball.position.z)))"
)
X, Y, Z = (f"bodies.ball.position.{axis}" for axis in "xyz")

FOUR_BAR = """\
mbsim: 1
name: synthesis
gravity: [0, 0, 0]
vars: {{a: 1, b: 3, c: 3.5, d: 4, u: 1.5, w: 1}}
bodies:
  crank: {{mass: 1, com: ["${{a/2}}", 0, 0], inertia: {{principal: [0.1, 0.1, 0.1]}}}}
  coupler: {{mass: 1, com: ["${{b/2}}", 0, 0], inertia: {{principal: [0.1, 0.1, 0.1]}}}}
  rocker: {{mass: 1, com: ["${{c/2}}", 0, 0], inertia: {{principal: [0.1, 0.1, 0.1]}}}}
  pen: {{mass: 1, inertia: {{principal: [0.1, 0.1, 0.1]}}}}
  slide: {{mass: 1, inertia: {{principal: [0.1, 0.1, 0.1]}}}}
  mark: {{mass: 1, inertia: {{principal: [0.1, 0.1, 0.1]}}}}
joints:
  O: {{type: revolute, axis: [0, -1, 0], child: crank, motion: {{position: "0.3 + 2*pi/9*t"}}}}
  A: {{type: revolute, axis: [0, -1, 0], parent: crank, child: coupler, origin: {{position: ["${{a}}", 0, 0]}},
      q: {q2}}}
  D: {{type: revolute, axis: [0, -1, 0], child: rocker, origin: {{position: ["${{d}}", 0, 0]}}, q: {q3}}}
  B: {{type: revolute, axis: [0, -1, 0], parent: coupler, child: rocker, origin: {{position: ["${{b}}", 0, 0]}},
      child_origin: {{position: ["${{c}}", 0, 0]}}}}
  tip: {{type: fixed, parent: coupler, child: pen, origin: {{position: ["${{u}}", 0, "${{w}}"]}}}}
  mx: {{type: prismatic, axis: [1, 0, 0], child: slide, motion: {{position: {{times: {times}, values: {xs}}}}}}}
  mz: {{type: prismatic, axis: [0, 0, 1], parent: slide, child: mark,
       motion: {{position: {{times: {times}, values: {zs}}}}}}}
simulation: {{duration: 8 s, step: 100 ms, integrator: rk4}}
output: {{every: 1 s}}
"""
DISTANCE = (
    "(bodies.pen.position.x - bodies.mark.position.x)**2 + (bodies.pen.position.z - bodies.mark.position.z)**2@mean"
)


def coupler_point(lengths: tuple[float, ...], angle: float) -> tuple[np.ndarray, float, float]:
    """Return the point of a coupler, and the angles of coupler and rocker, by the intersection of two circles."""
    a, b, c, d, u, w = lengths
    end, pivot = a * np.array([math.cos(angle), math.sin(angle)]), np.array([d, 0.0])
    r = float(np.hypot(*(pivot - end)))
    along = (b**2 - c**2 + r**2) / (2.0 * r)
    e = (pivot - end) / r
    knee = end + along * e + math.sqrt(b**2 - along**2) * np.array([-e[1], e[0]])
    x = (knee - end) / b
    angles = (math.atan2(*one[::-1]) for one in (knee - end, knee - pivot))
    coupler, rocker = angles
    return end + u * x + w * np.array([-x[1], x[0]]), coupler - angle, rocker


def synthesis() -> str:
    """Return a four-bar linkage whose coupler passes nine points at nine angles of its crank."""
    times = np.arange(9.0)
    places = [coupler_point((1.0, 3.0, 3.5, 4.0, 1.5, 1.0), 0.3 + 2.0 * math.pi / 9.0 * t) for t in times]
    points = np.array([point for point, *_ in places])
    return FOUR_BAR.format(
        q2=places[0][1], q3=places[0][2], times=times.tolist(), xs=points[:, 0].tolist(), zs=points[:, 1].tolist()
    )


def test_the_widest_throw_takes_a_third_of_the_runs_with_derivatives(mbsim: Command, folder: Path) -> None:
    words = ("--minimize", f"{RANGE}@final", "--vary", "vars.angle=30 deg,5,85")
    found = minimized(mbsim, THROW, *words)
    assert found["derivatives"] == "exact derivatives"
    assert found["best"]["vars.angle"] == pytest.approx(45.0, abs=1e-6)
    for algorithm in ("cobyqa", "nelder-mead"):
        other = minimized(mbsim, THROW, *words, "--algorithm", algorithm)
        assert other["best"]["vars.angle"] == pytest.approx(45.0, abs=1e-5)
        assert 3 * found["runs"] <= other["runs"]


def test_derivatives_of_numbers_are_those_of_the_closed_form(folder: Path) -> None:
    (folder / "throw.yaml").write_text(THROW)
    words = (
        "bodies.ball.position.x",
        "bodies.ball.position.z@max",
        f"{X}**2@mean",
        "bodies/ball/position[z]@50ms",
        f"{X}@sum",
    )
    task = SweepTask(folder / "throw.yaml", (), tuple(map(read_kept, words)))
    parameters = [read_parameter(text) for text in ("vars.angle=60 deg", "vars.speed=7")]
    found = derivatives_of_numbers(task, parameters, np.array([60.0, 7.0]))
    a, s, t = math.radians(60.0), 7.0, np.linspace(0.0, 0.1, 11)
    c, d = math.cos(a), math.sin(a)
    by_angle = np.array([-s * d, s * c, np.mean(-2 * s**2 * d * c * t**2), s * c, -s * d])
    by_speed = np.array([c, d, np.mean(2 * s * c**2 * t**2), d, c])
    times = np.array([0.1, 0.1, 1.0, 0.05, t.sum()])
    expected = np.column_stack([np.radians(by_angle * times), by_speed * times])
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_derivatives_of_a_determined_loop_are_those_of_runs(folder: Path) -> None:
    """Also those of rates, with respect to lengths that change the configuration at all instants."""
    (folder / "bars.yaml").write_text(synthesis())
    kept = tuple(map(read_kept, (DISTANCE, "joints.D.v@3s", "bodies.pen.linear_velocity.x@max")))
    task = SweepTask(folder / "bars.yaml", ("simulation.assembly_tolerance=1e9",), kept)
    parameters = [read_parameter(text) for text in ("vars.a=1.05", "vars.c=3.4", "vars.w=1.1")]
    values = np.array([one.start for one in parameters])
    found = derivatives_of_numbers(task, parameters, values)

    def numbers(point: np.ndarray) -> np.ndarray:
        settings = tuple(one.override(value) for one, value in zip(parameters, point, strict=True))
        return np.array(run_batch(task, [SweepRun(0, settings)])[0].values[2:])

    for k, column in enumerate(found.T):
        step = 1e-3 * (np.arange(3) == k)
        near, far = (numbers(values + j * step) - numbers(values - j * step) for j in (1, 2))
        np.testing.assert_allclose(column, (8.0 * near - far) / 12e-3, rtol=1e-8, atol=1e-9)


def test_nine_points_of_a_four_bar_linkage(mbsim: Command, folder: Path) -> None:
    """The lengths of the linkage that made the points, from others that are up to a tenth longer or shorter."""
    starts = {"a": (1.1, 0.5, 2), "b": (3.2, 1, 6), "c": (3.3, 1, 6), "d": (4.2, 1, 6), "u": (1.4, -3, 3)}
    words = [word for key, own in starts.items() for word in ("--vary", f"vars.{key}={','.join(map(str, own))}")]
    found = minimized(mbsim, synthesis(), "--minimize", DISTANCE, *words, "--derivatives", "differences")
    known = {"vars.a": 1.0, "vars.b": 3.0, "vars.c": 3.5, "vars.d": 4.0, "vars.u": 1.5}
    assert {key: found["best"][key] for key in known} == pytest.approx(known, abs=1e-6)


APART = [
    word for axis in "xz" for word in ("--least-squares", f"bodies.pen.position.{axis} - bodies.mark.position.{axis}")
]


def test_nine_points_by_least_squares_take_a_third_of_the_runs(mbsim: Command, folder: Path) -> None:
    """All six lengths, from others that are up to a tenth longer or shorter."""
    starts = {
        "a": (1.1, 0.5, 2),
        "b": (3.2, 1, 6),
        "c": (3.3, 1, 6),
        "d": (4.2, 1, 6),
        "u": (1.4, -3, 3),
        "w": (1.1, -3, 3),
    }
    words = [word for key, own in starts.items() for word in ("--vary", f"vars.{key}={','.join(map(str, own))}")]
    found = minimized(mbsim, synthesis(), *APART, *words, "--derivatives", "differences")
    known = {"vars.a": 1.0, "vars.b": 3.0, "vars.c": 3.5, "vars.d": 4.0, "vars.u": 1.5, "vars.w": 1.0}
    assert {key: found["best"][key] for key in known} == pytest.approx(known, abs=1e-10)
    assert found["algorithm"] == "trf"
    assert 3 * found["runs"] <= 493  # those of `cobyqa`


MOVING = PLACE.replace('["${x}", "${y}", 0]', '["${x}", 0, 0], velocity: {linear: ["${y}", 0, 0]}')


@pytest.mark.parametrize("words", [(), ("--derivatives", "differences"), ("--algorithm", "slsqp")])
def test_residuals_that_do_not_vanish_have_the_closed_form_of_regression(
    mbsim: Command, folder: Path, words: tuple[str, ...]
) -> None:
    """The line x + y t near a cube of t at three instants, of any slope, and of the largest slope that is allowed."""
    goal = ("--least-squares", f"{X} - (100*t)**3", "--vary", "vars.x=3,-50,50")
    t = np.array([0.0, 0.01, 0.02])
    slope, offset = np.polyfit(t, (100 * t) ** 3, 1)
    found = minimized(mbsim, MOVING, *goal, "--vary", "vars.y=4,-1000,1000", *words)
    assert (found["best"]["vars.x"], found["best"]["vars.y"]) == pytest.approx((offset, slope), rel=1e-6)
    total = np.sum((offset + slope * t - (100 * t) ** 3) ** 2)
    assert found["best"][f"({X} - (100*t)**3)**2 sum"] == pytest.approx(total, rel=1e-9)
    bounded = minimized(mbsim, MOVING, *goal, "--vary", "vars.y=4,-1000,100", *words)
    at_bound = np.mean((100 * t) ** 3 - 100 * t)
    assert (bounded["best"]["vars.x"], bounded["best"]["vars.y"]) == pytest.approx((at_bound, 100.0), rel=1e-6)


def test_least_squares_obey_constraints_by_sequential_quadratic_programming(mbsim: Command, folder: Path) -> None:
    words = ("--vary", "vars.x=3,-5,5", "--vary", "vars.y=4,-5,5", "--subject-to", f"{X} + {Y}@initial == 1")
    found = minimized(mbsim, PLACE, "--least-squares", f"{X} - 2", "--least-squares", f"{Y} - 1", *words)
    assert found["algorithm"] == "slsqp"
    assert (found["best"]["vars.x"], found["best"]["vars.y"]) == pytest.approx((1.0, 0.0), abs=1e-6)


def test_least_squares_refine_the_best_of_a_population(mbsim: Command, folder: Path) -> None:
    words = ("--least-squares", f"{X} - 1", "--vary", "vars.x=4.6,-5,5", "--derivatives", "differences")
    found = minimized(mbsim, PLACE, *words, "--algorithm", "differential-evolution", "--seed", "3")
    assert found["best"]["vars.x"] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("algorithm", ["slsqp", "cobyqa"])
def test_constraints_hold_at_the_optimum(mbsim: Command, folder: Path, algorithm: str) -> None:
    """The point of the line x + y = 1 with y >= 0.2 that is nearest to (2, 1): (0.8, 0.2) instead of (1, 0)."""
    words = ("--vary", "vars.x=3,-5,5", "--vary", "vars.y=4,-5,5", "--subject-to", f"{X} + {Y}@initial == 1")
    limits = ("--subject-to", f"{Y}@initial >= 20 cm", "--algorithm", algorithm)
    found = minimized(mbsim, PLACE, "--minimize", f"({X}-2)**2 + ({Y}-1)**2@initial", *words, *limits)
    assert (found["best"]["vars.x"], found["best"]["vars.y"]) == pytest.approx((0.8, 0.2), abs=1e-5)


def test_a_bound_of_zero_holds_to_round_off(mbsim: Command, folder: Path) -> None:
    words = ("--minimize", f"({X}-2)**2@initial", "--subject-to", f"{X}@initial <= 0", "--vary", "vars.x=-1,-5,5")
    found = minimized(mbsim, PLACE, *words)
    assert found["best"]["vars.x"] == pytest.approx(0.0, abs=1e-7)


def test_constraints_that_no_run_satisfies_are_no_optimum(mbsim: Command, folder: Path) -> None:
    (folder / "place.yaml").write_text(PLACE)
    words = ("--minimize", f"{X}**2@initial", "--subject-to", f"{X}@initial >= 9", "--vary", "vars.x=-1,-5,5")
    ending = mbsim("optimize", "place.yaml", *words)
    assert ending.code == 1
    assert f"no run satisfies the constraints: the nearest one has 5 in `{X}@initial >= 9`: relax it" in ending.stderr
    ending = mbsim("optimize", "place.yaml", *words[:3], f"{X}@initial >= 900 cm", *words[4:], "-o", "cm.h5")
    assert f"the nearest one has 500 cm in `{X}@initial >= 900 cm`" in ending.stderr


def test_the_front_of_two_distances_is_the_line_between_the_points(mbsim: Command, folder: Path) -> None:
    """Of the squared distances f and g to two points 1 apart: sqrt(f) + sqrt(g) = 1."""
    goals = ("--minimize", f"{X}**2 + {Y}**2@initial", "--minimize", f"({X}-1)**2 + {Y}**2@initial")
    varied = ("--vary", "vars.x=3,-5,5", "--vary", "vars.y=4,-5,5")
    words = ("--plot", "front.png", "--write", "best.yaml", "--derivatives", "differences")
    found = minimized(mbsim, PLACE, *goals, *varied, "--points", "3", *words)
    points = np.array([[one[name] for name in one if "@" not in name][1:] for one in found["front"]])
    f, g = points[:, 0], points[:, 1]
    np.testing.assert_allclose(np.sqrt(np.abs(f)) + np.sqrt(np.abs(g)), 1.0, atol=1e-6)
    assert [round(value, 6) + 0.0 for value in g] == [1.0, 0.5, 0.0]
    assert Path("front.png").read_bytes().startswith(b"\x89PNG")
    assert mbsim("validate", "best.yaml").code == 0


def test_a_minimum_among_others_is_found_between_all_bounds(mbsim: Command, folder: Path) -> None:
    """Of 0.1 (x - 1)^2 - cos(5 (x - 1)), with minima near each 2 pi / 5."""
    words = ("--minimize", f"0.1*({X}-1)**2 - cos(5*({X}-1))@initial", "--vary", "vars.x=4.6,-5,5")
    assert minimized(mbsim, PLACE, *words)["best"]["vars.x"] > 3.0
    found = minimized(mbsim, PLACE, *words, "--algorithm", "differential-evolution", "--seed", "3")
    assert found["best"]["vars.x"] == pytest.approx(1.0, abs=1e-6)


def test_a_loop_that_cannot_be_assembled_is_a_bound(mbsim: Command, folder: Path) -> None:
    """The shortest coupler that reaches from the crank to the rocker: |r - c| with their distance r."""
    reach = math.hypot(4.0 - math.cos(0.3), math.sin(0.3))
    scene = synthesis().replace("duration: 8 s", "duration: 100 ms").replace("every: 1 s", "every: 100 ms")
    scene = scene.replace('["${u}", 0, "${w}"]', '["${b}", 0, 0]')  # the pen is at the end of the coupler
    X, Z = (f"(bodies.pen.position.{axis} - bodies.coupler.position.{axis})**2" for axis in "xz")
    words = ("--vary", "vars.b=3,0.1,6", "--minimize", f"{X} + {Z}@initial", "--algorithm", "nelder-mead")
    found = minimized(mbsim, scene, *words)
    assert found["failed"] > 0
    assert found["best"]["vars.b"] == pytest.approx(abs(reach - 3.5), abs=1e-4)


def test_steps_of_least_squares_to_a_loop_that_cannot_be_assembled_are_shortened(mbsim: Command, folder: Path) -> None:
    """A coupler as long as 0.3, which is too short to reach from the crank to the rocker: the shortest that does."""
    reach = math.hypot(4.0 - math.cos(0.3), math.sin(0.3))
    scene = synthesis().replace("duration: 8 s", "duration: 100 ms").replace("every: 1 s", "every: 100 ms")
    scene = scene.replace('["${u}", 0, "${w}"]', '["${b}", 0, 0]')  # the pen is at the end of the coupler
    X, Z = (f"(bodies.pen.position.{axis} - bodies.coupler.position.{axis})**2" for axis in "xz")
    words = ("--least-squares", f"sqrt({X} + {Z}) - 0.3", "--vary", "vars.b=3,0.01,9")
    found = minimized(mbsim, scene, *words, "--derivatives", "differences")
    assert found["failed"] > 0
    assert found["best"]["vars.b"] == pytest.approx(abs(reach - 3.5), abs=1e-5)


@pytest.mark.parametrize(
    ("goals", "algorithm"), [([[f"{RANGE}@final"], []], "cobyqa"), ([[], [f"{X} - 3", f"{Z} - 1"]], "trf")]
)
def test_an_interrupted_optimization_continues_with_the_same_bytes(
    folder: Path, goals: list[list[str]], algorithm: str
) -> None:
    (folder / "throw.yaml").write_text(THROW)
    problem = read_problem(["vars.angle=30 deg,5,85"], *goals, [])
    made: list[int] = []

    def execute(task, runs):
        for run in runs:
            made.append(run.number)
            yield in_blocks(run_batch(task, [run]))

    study, _ = plan(folder / "throw.yaml", (), problem, Search(algorithm))
    none = optimize(study, folder / "none.h5", lambda task, runs: iter(()))
    assert (none.status, none.executed, none.best) == ("interrupted", 0, None)
    whole = optimize(study, folder / "whole.h5", execute)
    count = len(made)
    part = optimize(study, folder / "part.h5", execute, stop_asked=lambda: len(made) >= count + 5)
    assert (part.status, part.executed) == ("interrupted", 5)
    rest = optimize(study, folder / "part.h5", execute)
    assert (rest.status, rest.executed) == ("converged", count - 5)
    assert len(made) == 2 * count
    assert (folder / "part.h5").read_bytes() == (folder / "whole.h5").read_bytes()
    table = SweepTable(folder / "part.h5")
    np.testing.assert_array_equal(table.read("vars.angle"), [one.values[0] for one in whole.trials])
    with h5py.File(folder / "part.h5") as file:
        assert file["vars.angle"].attrs["units"] == "deg"


def test_the_text_has_options_that_repeat_the_best_run(mbsim: Command, folder: Path) -> None:
    (folder / "throw.yaml").write_text(THROW)
    words = ("--minimize", f"{RANGE}@final", "--vary", "vars.angle=30 deg,5,85", "--write", "best.yaml")
    ending = mbsim("optimize", "throw.yaml", *words)
    assert ending.code == 0, ending.stderr
    assert ending.stdout.startswith("converged after ")
    assert "--set 'vars.angle=4" in ending.stdout
    assert mbsim("run", "best.yaml", "-o", "best.h5").code == 0
    with h5py.File("best.h5") as file:
        x, z = file["bodies/linear_velocity"][0, 0, [0, 2]]
    assert x == pytest.approx(z, rel=1e-7)


@pytest.mark.parametrize(("word", "rise"), [("max", 0.005), ("min", 0.0), ("mean", 0.005 / 3), ("10 ms", 0.005)])
def test_the_largest_value_is_the_least_one_of_the_negative(
    mbsim: Command, folder: Path, word: str, rise: float
) -> None:
    """x - y = x0 - x0^2 + t - 50 t^2 at 0, 10 and 20 ms: the optimum of each reduction is at x0 = 1/2."""
    scene = PLACE.replace("gravity: [0, 0, 0]", "gravity: [-100, 0, 0]").replace('"${y}"', '"${x**2}"')
    scene = scene.replace("position:", "velocity: {linear: [1, 0, 0]}, position:")
    found = minimized(mbsim, scene, "--maximize", f"{X} - {Y}@{word}", "--vary", "vars.x=3,-5,5")
    assert found["best"]["vars.x"] == pytest.approx(0.5, abs=1e-6)
    (value,) = (number for name, number in found["best"].items() if name.startswith("-("))
    assert value == pytest.approx(-0.25 - rise, abs=1e-12)


def test_an_objective_that_no_parameter_changes_is_refused_with_a_remedy(mbsim: Command, folder: Path) -> None:
    """A start at the minimum has a gradient of 0 as well, and converges."""
    found = minimized(mbsim, PLACE, "--minimize", f"{Y}@initial", "--vary", "vars.x=3,-5,5", code=1)
    assert (found["status"], found["runs"]) == ("not converged", 2)
    assert found["message"].startswith(f"no parameter changes `{Y} initial`, which is ")
    assert "minimize another expression" in found["message"]
    found = minimized(mbsim, PLACE, "--minimize", f"{X}**2", "--vary", "vars.x=0,-5,5")
    assert (found["status"], found["best"]["vars.x"]) == ("converged", 0.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--minimize", "joints.hinge.q"], "`joints.hinge.q`: the run has no channel `joints/hinge/q`"),
        (["--minimize", "bodies/ball/position"], "selects 3 numbers"),
        (["--minimize", f"{X}@best"], "--minimize bodies.ball.position.x@best: `best` is neither a reduction"),
        (["--minimize", f"{X}@max,min"], "expected one reduction"),
        (["--minimize", "1/0"], "--minimize 1/0: no expression of channels: `1/0` reads no channel"),
        (
            ["--minimize", f"1/({X}-3)"],
            f"at the start, `1/({X}-3) final` is not finite: a value is not finite; start elsewhere",
        ),
        (["--minimize", X, "--vary", "vars.y=4,5,1"], "of vars.y, the lower one first: write --vary vars.y=4,1,5"),
        (["--minimize", X, "--subject-to", f"{Y} < 2"], "expected an expression, one of <=, >=, =="),
        (["--minimize", X, "--subject-to", f"{Y} <= 0,1"], "30 deg': a decimal comma? write `0.1`"),
        (["--minimize", X, "--subject-to", f"{Y} <= high"], "expected an expression, one of <=, >=, =="),
        (
            ["--minimize", X, "--subject-to", f"{Y} <= 30 deg"],
            f"`{Y}` is in m, but `deg` is the unit of a",
        ),
        (["--minimize", X, "--subject-to", f"{Y} <= 1", "--algorithm", "nelder-mead"], "takes neither constraints"),
        (["--minimize", X, "--vary", "vars.x=1"], "a parameter is varied twice"),
        (["--minimize", X, "--minimize", X], "an objective is given twice"),
        (["--minimize", X, "--algorithm", "differential-evolution"], "needs bounds of all parameters"),
        (["--maximize", "bodies/ball/position"], "--maximize bodies/ball/position: expected an expression of channels"),
        (["--maximize", f"{X}@period"], f"--maximize {X}@period: expected an expression of channels"),
        ([], "expected --minimize or --maximize EXPRESSION, or --least-squares EXPRESSION, found neither"),
        (["--minimize", X, "--least-squares", Y], "or --least-squares EXPRESSION, found both"),
        (["--minimize", X, "--algorithm", "trf"], "--algorithm trf needs residuals: use --least-squares"),
        (
            ["--least-squares", f"{X}@max"],
            f"--least-squares {X}@max: expected an expression of channels, whose values at",
        ),
        (["--least-squares", "bodies/ball/position"], "expected an expression of channels, whose values at"),
        (["--least-squares", "1/0"], "--least-squares 1/0: no expression of channels"),
        (["--least-squares", "joints.hinge.q"], "`joints.hinge.q`: the run has no channel `joints/hinge/q`"),
        (["--least-squares", X, "--least-squares", X], "a residual is given twice"),
        (["--least-squares", X, "--subject-to", f"{Y} <= 1", "--algorithm", "trf"], "takes neither constraints"),
        (
            ["--least-squares", X, "--duration", "10 s"],
            "1001 residuals, of 1001 output instants, are more than 1000",
        ),
        (["--least-squares", f"1/({X}-3)"], f"at the start, `(1/({X}-3))**2 sum` is not finite: a value is not finite"),
    ],
)
def test_refusals(mbsim: Command, folder: Path, words: list[str], message: str) -> None:
    (folder / "place.yaml").write_text(PLACE)
    ending = mbsim("optimize", "place.yaml", "--vary", "vars.x=3", *words)
    assert ending.code == (1 if "at the start" in message else 2)
    assert message in ending.stderr


def test_python_has_the_same_optimum(mbsim: Command, folder: Path) -> None:
    limits = (f"{X} + {Y}@initial == 1", f"{Y}@initial >= 20 cm")
    words = [word for one in limits for word in ("--subject-to", one)]
    goal = f"({X}-2)**2 + ({Y}-1)**2@initial"
    best = minimized(mbsim, PLACE, "--minimize", goal, "--vary", "vars.x=3,-5,5", "--vary", "vars.y=4,-5,5", *words)
    own = multibody_cli.optimize(PLACE, goal, {"vars.x": (3, -5, 5), "vars.y": (4, -5, 5)}, subject_to=limits, jobs=1)
    assert own.x | own.values == {key: value for key, value in best["best"].items() if key != "run"}
    assert len(own.trials) == best["runs"]
    squares = multibody_cli.optimize(PLACE, vary={"vars.x": (3, -5, 5)}, least_squares=f"1 - {X}**2", jobs=1)
    assert squares.x["vars.x"] == pytest.approx(1.0, abs=1e-10)


def test_a_start_that_fails_is_an_error_with_a_remedy(mbsim: Command, folder: Path) -> None:
    (folder / "bars.yaml").write_text(synthesis())
    ending = mbsim("optimize", "bars.yaml", "--minimize", DISTANCE, "--vary", "vars.b=0.1,0.05,6")
    assert ending.code == 2
    assert "joints.B" in ending.stderr


def test_a_constraint_without_a_unit_is_in_si() -> None:
    assert read_constraint("joints.a.q@max <= 30 deg").bound == pytest.approx(math.radians(30.0))
    assert read_constraint("joints.a.q >= -2").bound == -2.0
    with pytest.raises(ArgumentError, match="expected"):
        read_constraint("joints.a.q <= 1 <= 2")
