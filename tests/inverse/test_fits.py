"""Inverse kinematics: markers and poses of a known motion give this motion, in loops and in special positions too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from test_forces_of_runs import ARM, COUPLED, FOUR_BAR, TURNING

import mbsim
from multibody_cli.errors import ArgumentError
from multibody_cli.studies.inverse.fit import least_correction
from multibody_cli.studies.inverse.study import OVERRIDES, InverseProblem, Question
from multibody_cli.studies.inverse.trc import read_trc
from multibody_cli.studies.simulation import prepare

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

MARKED_ARM = ARM.replace(
    "com: [0.01, -0.12, 0]}", "com: [0.01, -0.12, 0], points: {tip: [0.05, -0.3, 0.1], side: [0.1, 0, 0.04]}}"
).replace("com: [0, -0.15, 0]}", "com: [0, -0.15, 0], points: {R.M: [0.1, -0.2, 0.05]}}")
MARKED_BAR = FOUR_BAR.replace("FORCE_OF_C", "0").replace(
    "com: [0.3, 0.05, 0]}", "com: [0.3, 0.05, 0], points: {p: [0.3, 0.2, 0.1]}}"
)
TURNED = TURNING.replace("every: 0.05 s", "every: 0.005 s").replace(
    "com: [0.1, 0, 0.05]}", "com: [0.1, 0, 0.05], points: {a: [0.1, 0, 0], b: [0, 0.1, 0], c: [0, 0, 0.2]}}"
)
TURNED = TURNED.replace("com: [0, 0.2, 0]}", "com: [0, 0.2, 0], points: {hand: [0, 0, 0]}}")


def table(path: Path, columns: dict[str, np.ndarray]) -> Path:
    rows = np.column_stack([*columns.values()]).tolist()
    path.write_text("\n".join([",".join(columns), *(",".join(map(repr, row)) for row in rows)]) + "\n")
    return path


def places(run: xr.Dataset, body: str, point: str, axes: str = "xyz") -> dict[str, np.ndarray]:
    values = np.asarray(run[f"points/{body}/{point}/position"])
    return {f"points/{body}/{point}/position[{axis}]": values[:, "xyz".index(axis)] for axis in axes}


def run_of(text: str, folder: Path) -> xr.Dataset:
    path = folder / "scene.yaml"
    path.write_text(text)
    return mbsim.load(path).run(folder / "run.h5", overwrite=True)


def fitted(folder: Path, columns: dict[str, np.ndarray], weights: tuple[str, ...] = ()) -> InverseProblem:
    motion = table(folder / "markers.csv", columns)
    return InverseProblem(prepare(folder / "scene.yaml", OVERRIDES), Question(motion, weights=weights))


def test_markers_of_a_tree(tmp_path: Path) -> None:
    run = run_of(MARKED_ARM, tmp_path)
    marks = places(run, "lower", "tip") | places(run, "lower", "side") | places(run, "upper", "R%2EM")
    problem = fitted(tmp_path, {"time": run["time"]} | marks)
    q = problem._fitted.configurations
    np.testing.assert_allclose(q[:, :2], run["joints/shoulder/q"], atol=1e-12)
    np.testing.assert_allclose(q[:, 2], np.asarray(run["joints/elbow/q"]).ravel(), atol=1e-12)
    assert [one.name for one in problem._fitted.misfits] == ["lower/tip", "lower/side", "upper/R.M"]
    assert max(one.largest for one in problem._fitted.misfits) < 1e-13
    assert not problem._fitted.remarks


@pytest.mark.parametrize("start", [(1.2, -0.8, 1.6), (2.24161787, -3.02358581, 3.86956863)])
def test_one_marker_on_the_coupler_of_a_four_bar(start: tuple[float, ...], tmp_path: Path) -> None:
    """Also where the scene starts on another assembly branch."""
    run = run_of(MARKED_BAR, tmp_path)
    other = MARKED_BAR
    for old, new in zip(("q: 1.2", "q: -0.8", "q: 1.6"), start, strict=True):
        other = other.replace(old, f"q: {new}")
    (tmp_path / "scene.yaml").write_text(other)
    problem = fitted(tmp_path, {"time": run["time"]} | places(run, "coupler", "p"))
    for k, name in enumerate(("a", "b", "d")):
        wanted = np.asarray(run[f"joints/{name}/q"]).ravel()
        turns = (problem._fitted.configurations[:, k] - wanted) / (2.0 * np.pi)
        np.testing.assert_allclose(turns, np.round(turns), atol=1e-11)
    found = problem.solve()
    assert not found.held
    assert max(one.largest for one in found.misfits) < 1e-12


def test_markers_and_an_orientation_of_bodies_that_turn_freely(tmp_path: Path) -> None:
    """Rates and accelerations are derivatives of a spline: their error falls with the fourth power of the interval."""
    run = run_of(TURNED, tmp_path)
    marks = {name: value for point in "abc" for name, value in places(run, "base", point).items()}
    turned = np.asarray(run["points/arm/hand/quaternion"])
    marks |= {f"bodies/arm/quaternion[{axis}]": turned[:, k] for k, axis in enumerate("wxyz")}
    motion = fitted(tmp_path, {"time": run["time"]} | marks).motion
    for own, channel, error in ((motion.q, "q", 1e-12), (motion.v, "v", 1e-7), (motion.a, "acceleration", 1e-3)):
        wanted = np.hstack([run[f"joints/{joint}/{channel}"] for joint in ("floating", "ball")])
        np.testing.assert_allclose(own[20:-20], wanted[20:-20], atol=error)


def test_a_coupling_is_satisfied_and_a_coordinate_may_be_measured(tmp_path: Path) -> None:
    text = COUPLED.replace("com: [0.01, -0.12, 0]}", "com: [0.01, -0.12, 0], points: {heel: [0.05, -0.4, 0]}}")
    run = run_of(text, tmp_path)
    columns = {"time": run["time"], "hip": np.asarray(run["joints/hip/q"]).ravel()} | places(run, "shank", "heel")
    q = fitted(tmp_path, columns)._fitted.configurations
    wanted = np.column_stack([np.asarray(run[f"joints/{name}/q"]).ravel() for name in ("hip", "glide", "knee")])
    np.testing.assert_allclose(q, wanted, atol=1e-11)


PLANE = """mbsim: 1
bodies:
  arm: {mass: 1, inertia: {principal: [1, 1, 1]}, points: {tip: [1, 0, 0]}}
  hand: {mass: 1, inertia: {principal: [1, 1, 1]}, points: {nail: [0.5, 0, 0]}}
joints:
  shoulder: {type: revolute, child: arm, axis: [0, 0, 1], q: 0.2}
  elbow: {type: revolute, parent: arm, child: hand, origin: {position: [1, 0, 0]}, axis: [0, 0, 1], q: 0.5}
simulation: {duration: 1, step: 10 ms}
"""
TIMES = np.linspace(0.0, 1.0, 21)


def circle(radius: float, angles: np.ndarray, name: str) -> dict[str, np.ndarray]:
    return {f"{name}_x": radius * np.cos(angles), f"{name}_y": radius * np.sin(angles)}


def test_residuals_are_the_least_weighted_sum_of_squares(tmp_path: Path) -> None:
    """Two marks of one hinge at the angles 0 and d: it turns to the mean direction of w r x."""
    (tmp_path / "scene.yaml").write_text(PLANE)
    zero, angle = np.zeros(21), np.full(21, 0.3)
    marks = {"time": TIMES} | circle(1.0, zero, "tip") | circle(1.0, angle, "elbow_mark") | circle(1.5, zero, "nail")
    scene = PLANE.replace("tip: [1, 0, 0]", "tip: [1, 0, 0], elbow_mark: [1, 0, 0]").replace(
        "type: revolute, parent", "type: fixed, parent"
    )
    (tmp_path / "scene.yaml").write_text(scene.replace(", axis: [0, 0, 1], q: 0.5", ""))
    problem = fitted(tmp_path, marks, ("elbow_mark=4",))
    resultant = 1.0 * 1.0 + 1.5 * 1.5 + 4.0 * np.exp(0.3j)
    np.testing.assert_allclose(problem._fitted.configurations[:, 0], np.angle(resultant), atol=1e-9)
    tip = next(one for one in problem._fitted.misfits if one.name == "arm/tip")
    np.testing.assert_allclose(tip.root_mean_square, 2.0 * np.sin(0.5 * np.angle(resultant)), rtol=1e-9)


def test_limits_are_bounds(tmp_path: Path) -> None:
    """Beyond a limit of the elbow, the shoulder takes the angle with which the tip of the hand is nearest."""
    (tmp_path / "scene.yaml").write_text(PLANE.replace("q: 0.5", "q: 0.5, limits: [0.2, 1]"))
    shoulder, elbow = np.full(21, 0.3), np.linspace(0.1, 1.2, 21)
    nail = np.exp(1j * shoulder) * (1.0 + 0.5 * np.exp(1j * elbow))
    marks = {"time": TIMES, "nail_x": nail.real, "nail_y": nail.imag} | circle(1.0, shoulder, "tip")
    q = fitted(tmp_path, marks)._fitted.configurations
    inside = (elbow > 0.2) & (elbow < 1.0)
    np.testing.assert_allclose(q[inside], np.column_stack([shoulder, elbow])[inside], atol=1e-12)
    assert q[:, 1].min() >= 0.2 - 1e-10
    assert q[:, 1].max() <= 1.0 + 1e-10
    # the shoulder turns both marks of the bent arm onto the measured ones: a mean direction, as above
    bound = 1.0 + 0.5 * np.exp(1j * q[-1, 1])
    turn = np.angle(np.exp(1j * shoulder[-1]) + nail[-1] * bound.conjugate())
    np.testing.assert_allclose(q[-1, 0], turn, atol=1e-9)


def test_a_marker_that_is_missing_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "scene.yaml").write_text(PLANE)
    shoulder, elbow = 0.5 * TIMES, 0.5 - TIMES
    nail = np.exp(1j * shoulder) * (1.0 + 0.5 * np.exp(1j * elbow))
    marks = {"time": TIMES, "nail_x": nail.real.copy(), "nail_y": nail.imag} | circle(1.0, shoulder, "tip")
    for name in ("tip_x", "tip_y"):
        marks[name] = np.where((TIMES > 0.2) & (TIMES < 0.35), np.nan, marks[name])
    marks["tip_y"][3] = np.nan
    problem = fitted(tmp_path, marks)
    np.testing.assert_allclose(problem._fitted.configurations, np.column_stack([shoulder, elbow]), atol=1e-8)
    assert problem._fitted.remarks[0] == "missing, and left out there: arm/tip at 3 of 21 instants"


@pytest.mark.parametrize("weights", [("nail=0.5",), ("tip=0",)])
def test_an_instant_at_which_nothing_counts_is_left_out(tmp_path: Path, weights: tuple[str, ...]) -> None:
    """Splines lead past it; a guess there would change rates and accelerations around it."""
    (tmp_path / "scene.yaml").write_text(PLANE)
    shoulder, elbow = 0.5 * np.sin(3.0 * TIMES), 0.8 + 0.3 * np.cos(2.0 * TIMES)
    nail = np.exp(1j * shoulder) * (1.0 + 0.5 * np.exp(1j * elbow))
    marks = {"time": TIMES, "nail_x": nail.real, "nail_y": nail.imag} | circle(1.0, shoulder, "tip")
    for name in [*marks][1:3] if weights == ("tip=0",) else [*marks][1:]:
        marks[name] = np.where(np.arange(21) == 7, np.nan, marks[name])
    problem, kept = fitted(tmp_path, marks, weights), np.arange(21) != 7
    np.testing.assert_allclose(problem._fitted.configurations, np.column_stack([shoulder, elbow])[kept], atol=1e-9)
    np.testing.assert_array_equal(problem._fitted.motion.times, TIMES[kept])
    assert problem._fitted.remarks[0] == "nothing is measured at t = 0.35 s: the motion has no such instant"
    acceleration = -4.5 * np.sin(3.0 * TIMES[kept])
    np.testing.assert_allclose(problem._fitted.motion.a[5:9, 0], acceleration[5:9], atol=5e-3)


def test_weights_of_which_none_counts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "scene.yaml").write_text(PLANE)
    with pytest.raises(ArgumentError, match="nothing that is measured has a weight above 0"):
        fitted(tmp_path, {"time": TIMES} | circle(1.0, TIMES, "tip"), ("tip=0",))


def test_a_stretched_arm_is_not_determined_by_its_tip_alone(tmp_path: Path) -> None:
    """At full reach; the motion goes on through it, from one branch to the other."""
    (tmp_path / "scene.yaml").write_text(PLANE)
    shoulder, elbow = 0.3 + 0.0 * TIMES, 0.5 - TIMES
    nail = np.exp(1j * shoulder) * (1.0 + 0.5 * np.exp(1j * elbow))
    problem = fitted(tmp_path, {"time": TIMES, "nail_x": nail.real, "nail_y": nail.imag})
    np.testing.assert_allclose(problem._fitted.configurations, np.column_stack([shoulder, elbow]), atol=1e-6)
    remark = next(text for text in problem._fitted.remarks if "do not determine" in text)
    assert "shoulder, elbow at 1 of 21 instants, the first at t = 0.5 s" in remark


def test_markers_on_a_line_leave_the_turn_about_it(tmp_path: Path) -> None:
    points = "points: {a: [0, 0, 0], b: [0, 0, 1], c: [0, 0, 2]}"
    scene = f"mbsim: 1\nbodies:\n  rod: {{mass: 1, inertia: {{principal: [1, 1, 1]}}, {points}}}\n"
    (tmp_path / "scene.yaml").write_text(
        scene + "joints: {loose: {type: free, child: rod}}\nsimulation: {duration: 1, step: 10 ms}\n"
    )
    lean = 0.4 * TIMES
    marks = {"time": TIMES}
    for k, name in enumerate("abc"):
        marks |= {f"{name}_x": k * np.sin(lean), f"{name}_y": 0.0 * lean, f"{name}_z": k * np.cos(lean)}
    problem = fitted(tmp_path, marks)
    assert "at 21 of 21 instants" in problem._fitted.remarks[0]
    assert "loose/5" in problem._fitted.remarks[0]
    np.testing.assert_allclose(problem.motion.v[:, 4], 0.4, atol=1e-5)  # the lean, without a turn about the line
    np.testing.assert_allclose(problem.motion.v[:, [3, 5]], 0.0, atol=1e-6)


TRC = """PathFileType\t4\t(X/Y/Z)\tarm.trc
DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames
20\t20\t21\t3\tmm\t20\t1\t21
Frame#\tTime\ttip\t\t\tnail\t\t\tsock
\t\tX1\tY1\tZ1\tX2\tY2\tZ2\tX3\tY3\tZ3

"""


@pytest.mark.parametrize(
    ("column", "near"), [("points/arm/tpi_x", "points/arm/tip"), ("elbw", "elbow"), ("force_vx", None)]
)
def test_a_misspelled_column_has_the_nearest_name(tmp_path: Path, column: str, near: str | None) -> None:
    (tmp_path / "scene.yaml").write_text(PLANE)
    places = {**circle(1.0, 0.5 * TIMES, "tip"), **circle(1.5, 0.5 * TIMES, "nail")}
    path = table(tmp_path / "m.csv", {"time": TIMES, **places, column: TIMES})
    problem = InverseProblem(prepare(tmp_path / "scene.yaml", OVERRIDES), Question(path))
    assert problem._ignored == (column,)
    hints = [text for text in problem._remarks if "did you mean" in text]
    assert hints == ([f"the column `{column}` moves nothing: did you mean `{near}`?"] if near else [])


@pytest.mark.parametrize(("heading", "count"), [("elbow", 1), ("elbow (deg)", 0), ("elbow (rad)", 0)])
def test_angles_beyond_a_turn_without_a_unit_are_remarked(tmp_path: Path, heading: str, count: int) -> None:
    (tmp_path / "scene.yaml").write_text(PLANE)
    path = table(tmp_path / "m.csv", {"time": TIMES, "shoulder": TIMES, heading: 90.5 * TIMES})
    problem = InverseProblem(prepare(tmp_path / "scene.yaml", OVERRIDES), Question(path))
    hint = f"{path}:1: `elbow` has no unit, and 90.5 rad is 14.4 turns: of degrees, write `elbow (deg)`"
    assert [one for one in problem._remarks if "turns" in one] == count * [hint]


def test_markers_in_a_trc_file(tmp_path: Path) -> None:
    (tmp_path / "scene.yaml").write_text(PLANE)
    shoulder, elbow = 0.5 * TIMES, 0.5 - 0.3 * TIMES
    tip, nail = np.exp(1j * shoulder), np.exp(1j * shoulder) * (1.0 + 0.5 * np.exp(1j * elbow))
    rows = [
        "\t".join(map(repr, [k + 1, t, 1e3 * a.real, 1e3 * a.imag, 0.0, 1e3 * b.real, 1e3 * b.imag, 0.0]))
        for k, (t, a, b) in enumerate(zip(TIMES.tolist(), tip.tolist(), nail.tolist(), strict=True))
    ]
    path = tmp_path / "arm.trc"
    path.write_text(TRC + "\n".join(rows) + "\n")
    problem = InverseProblem(prepare(tmp_path / "scene.yaml", OVERRIDES), Question(path))
    np.testing.assert_allclose(problem._fitted.configurations, np.column_stack([shoulder, elbow]), atol=1e-12)
    assert problem._ignored == ("sock",)
    assert np.isnan(read_trc(path)[2][:, 2]).all()
    for old, new, message in (
        ("mm", "kg", "Units: expected a length, found `kg`"),
        ("Frame#", "Frame", "line 4 begins with Frame#"),
        ("\ttip\t\t\tnail\t", "\tpit\t\t\tlian\t", "no marker is a point of the scene: it has pit, lian, sock"),
    ):
        path.write_text((TRC + "\n".join(rows) + "\n").replace(old, new))
        with pytest.raises(ArgumentError, match=message):
            InverseProblem(prepare(tmp_path / "scene.yaml", OVERRIDES), Question(path))


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "scene.yaml").write_text(PLANE)
    marks = {"time": TIMES} | circle(1.0, TIMES, "tip")
    for weight, message in (
        ("toe=1", "`toe` is not measured: arm/tip are"),
        ("tip=-1", "expected NAME=NUMBER with a number of 0 or more"),
    ):
        with pytest.raises(ArgumentError, match=message):
            fitted(tmp_path, marks, (weight,))
    with pytest.raises(ArgumentError, match="--weight has no effect"):
        fitted(tmp_path, {"time": TIMES, "shoulder": TIMES}, ("tip=1",))
    with pytest.raises(ArgumentError, match="are the same quantity"):
        fitted(tmp_path, marks | {"points/arm/tip/position[x]": TIMES})
    with pytest.raises(ArgumentError, match="has no length of 1"):
        fitted(tmp_path, {"time": TIMES} | {f"bodies/arm/quaternion[{axis}]": TIMES for axis in "wxyz"})


def test_the_least_correction_meets_random_inequalities() -> None:
    """Beside the conditions of optimality: u = G^T m with m >= 0, and m = 0 where G u > h."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        G, h = rng.normal(size=(4, 6)), rng.normal(size=4)
        u = least_correction(G, h)
        slack = G @ u - h
        m = np.linalg.lstsq(G.T, u, rcond=None)[0]
        assert slack.min() > -1e-10
        assert m.min() > -1e-10
        np.testing.assert_allclose(m * slack, 0.0, atol=1e-10)
