"""Variational methods on mechanisms: two ways to the same motion, limits, and searches that are hard or fail."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loops import joint_kinds
from variational_runs import METHODS, both_methods, delivered, end_of, failed, finely, stepped

from multibody_cli import Hdf5Sink, prepare, read_trajectory
from multibody_cli.methods.contract import Status

ROD = {"mass": 1.0, "com": [0.5, 0, 0], "inertia": {"principal": [0.01, 0.1, 0.1]}}


# --- two ways to the same motion ----------------------------------------------------------------------------------
def hung_on(kind: str) -> dict[str, Any]:
    """Two bodies that move: one on a joint of this kind, which another of its kind carries."""
    joint = joint_kinds()[kind]
    if joint["type"] == "spherical":
        joint["q"] = {"rotvec": [0.3, 1.1, 0.2]}
    body = {"mass": 1.3, "com": [0.1, -0.2, 0.1], "inertia": {"principal": [0.1, 0.2, 0.25]}}
    place = {"position": [0.3, 0.1, -0.4], "rotation": {"rotvec": [0.3, 0.5, -0.2]}}
    swing = {"type": "revolute", "axis": [1, 2, 2], "child": "a", "q": 0.4, "v": 1.0}
    return {
        "bodies": {"a": ROD, "b": body, "c": body},
        "joints": {
            "swing": swing,
            "one": {**joint, "parent": "a", "child": "b", "origin": place},
            "two": {**joint, "parent": "b", "child": "c", "origin": place, "child_origin": place},
        },
    }


@pytest.mark.parametrize("kind", joint_kinds())
def test_both_methods_give_the_same_motion(kind: str) -> None:
    """Joint by joint they solve the same equations, in other unknowns; the tolerance is all they may differ by."""
    runs = [stepped(hung_on(kind), method, 0.01) for method in METHODS]
    for t in (0.05, 0.2, 0.4):  # soon after, the XZX angles are singular
        ends = [end_of(run, t) for run in runs]
        assert np.abs(ends[0] - ends[1]).max() < 1e-8
    assert np.abs(ends[0] - end_of(stepped(hung_on(kind), "variational", 0.01), 0.0)).max() > 0.1  # it moved


@both_methods
@pytest.mark.parametrize("scene", ["double_pendulum_rods", "redmax_scene_4", "sphere_roll_incline"])
def test_the_final_state_does_not_depend_on_output_instants(scene: str, method: str) -> None:
    """Trees, loops, and rows of velocities."""
    at_once, in_pieces = (stepped(delivered(scene), method, 0.001) for _ in range(2))
    last = at_once.advance(0.1)
    for k in range(1, 51):
        in_pieces.advance(0.002 * k)
    np.testing.assert_allclose(end_of(in_pieces, 0.1), end_of(last, 0.1), rtol=0, atol=1e-12 * size_of(last))


@both_methods
@pytest.mark.parametrize("scene", ["universal_joint", "surface_surface_joint", "windmill"])
def test_steps_do_not_depend_on_where_a_call_ends(scene: str, method: str) -> None:
    """Evaluations fit coordinates of loops again: a slow machine, whose calls are short, must give the same bytes."""
    simulation = prepare(Path("scenes/gallery") / f"{scene}.yaml", [f"simulation.method={method}"])
    h, ends = simulation.scene.simulation.step, []
    for pieces in (1, 10):
        state = simulation.fresh_state()
        run = simulation.method_for(state)
        run.start(state)
        for k in range(10 * pieces):
            run.advance(state, (k + 1) * (10 // pieces) * h)
        ends.append(np.concatenate([state.time, state.q, state.v]))
    np.testing.assert_array_equal(*ends)


def size_of(run: Any) -> float:
    """Largest of the compared numbers."""
    return float(np.abs(end_of(run, 0.0)).max())


# --- loops --------------------------------------------------------------------------------------------------------
@both_methods
def test_loops_are_closed_at_the_tolerance_wherever_a_step_ends(method: str) -> None:
    """Positions and velocities alike; the bars are 10 long and fall at some hundreds a second."""
    run = stepped(delivered("redmax_scene_4"), method, 0.001)
    worst = np.array([run.advance(0.001 * k).errors() for k in range(1, 201)]).max(axis=0)
    assert worst[0] < 1e-11
    assert worst[1] < 1e-10


# --- limits -------------------------------------------------------------------------------------------------------
@both_methods
def test_a_pendulum_comes_to_rest_on_its_limit(method: str) -> None:
    """It never passes the limit, loses all it has, and the ledger says where that went."""
    joint = {"type": "revolute", "child": "rod", "axis": [0, 1, 0], "q": -0.4, "limits": [None, 0.5]}
    run = stepped({"bodies": {"rod": ROD}, "joints": {"hinge": joint}}, method, 0.002)
    total, before = run.energy()
    angles, rates = [], []
    for k in range(1, 501):
        run.advance(0.002 * k)
        angles.append(run.joint("hinge", "coordinates")[0])
        rates.append(run.joint("hinge", "velocity")[0])
    assert max(angles) < 0.5 + 1e-12
    assert min(np.diff(angles)) > -1e-12  # no rebound
    assert max(rates) > 2.0
    assert abs(rates[-1]) < 1e-12
    lost = 9.81 * 0.5 * (np.sin(0.5) + np.sin(0.4))
    after, left = run.energy()
    assert after - total == pytest.approx(-lost, rel=1e-9)
    assert abs(left - before) < 0.02 * lost  # the step of the impact: effects over h there are of first order


@both_methods
def test_a_limit_releases_a_body_under_an_outward_force(method: str) -> None:
    joint = {"type": "prismatic", "child": "a", "axis": [0, 0, 1], "limits": [0, None], "force": "40*t"}
    run = stepped({"bodies": {"a": ROD}, "joints": {"lift": joint}}, method, 0.001)
    leaves = 9.81 / 40
    for t in (0.1, 0.2):
        assert run.advance(t).joint("lift", "coordinates")[0] == pytest.approx(0.0, abs=1e-12)
    run.advance(1.0)
    rise = 40 / 6 * (1.0 - leaves) ** 3
    assert run.joint("lift", "coordinates")[0] == pytest.approx(rise, rel=2e-3)


@pytest.mark.parametrize("finder", ["riqn", "newton"])
@both_methods
def test_limits_that_are_reached_in_consecutive_steps_have_responses_of_their_own(method: str, finder: str) -> None:
    """A body of 1 kg and one of 1000 kg rebound one step apart: a step has the Delassus matrix of its own rows."""
    inertia = {"principal": [1.0, 1.0, 1.0]}
    bodies = {"light": {"mass": 1.0, "inertia": inertia}, "heavy": {"mass": 1000.0, "inertia": inertia}}
    limit = {"type": "prismatic", "axis": [1, 0, 0], "limits": [None, 0.0], "restitution": 1, "v": 1.0}
    joints = {"a": {**limit, "child": "light", "q": -0.0105}, "b": {**limit, "child": "heavy", "q": -0.0115}}
    run = stepped({"gravity": [0, 0, 0], "bodies": bodies, "joints": joints}, method, 0.001, root_finder=finder)
    run.advance(0.02)
    for name, start in (("a", 0.0105), ("b", 0.0115)):
        assert run.joint(name, "velocity")[0] == pytest.approx(-1.0, abs=1e-10)
        assert run.joint(name, "coordinates")[0] == pytest.approx(start - 0.02, abs=1e-3)


# --- searches -----------------------------------------------------------------------------------------------------
LARGE = 0.3
"""A step in which the double pendulum turns by too much to be found at once."""


@both_methods
def test_a_step_that_is_too_large_is_cut_where_that_is_allowed(method: str) -> None:
    scene = delivered("double_pendulum_rods")
    report = failed(stepped(scene, method, LARGE), 3.0)
    assert report.status is Status.NOT_CONVERGED
    assert report.culprit >= 0
    run = stepped(scene, method, LARGE, adaptive=True)
    step_subdivisions = 0
    for k in range(1, 11):
        report = run.method.advance(run.state, LARGE * k)
        assert report.status is Status.OK
        step_subdivisions += report.diagnostics.step_subdivisions
    assert step_subdivisions > 0
    assert run.state.time[0] == pytest.approx(3.0)


@both_methods
def test_a_run_that_fails_names_the_coordinate_and_leaves_a_valid_file(method: str, tmp_path: Path) -> None:
    scene = Path(__file__).parents[2] / "scenes/validation/double_pendulum_rods.yaml"
    settings = [f"simulation.method={method}", "simulation.step=0.3 s", "simulation.duration=30 s", "expect=[]"]
    summary = prepare(scene, [*settings, "output.every=0.3 s"]).run(Hdf5Sink(tmp_path / "run.h5"))
    assert summary.outcome.status == "diverged"
    assert "did not converge; " in summary.outcome.message
    assert re.search("joint (shoulder|elbow)|body (upper|lower)", summary.outcome.message)
    run = read_trajectory(tmp_path / "run.h5")
    assert run.attributes["status"] == "diverged"
    assert len(run.time) == summary.instants >= 1
    assert np.isfinite(run.channel("joints/shoulder/q").values).all()


def test_a_run_whose_steps_were_cut_says_so(tmp_path: Path) -> None:
    scene = Path(__file__).parents[2] / "scenes/validation/double_pendulum_rods.yaml"
    settings = ["simulation.method=variational", "simulation.step=0.3 s", "simulation.duration=3 s", "expect=[]"]
    adaptive = ["simulation.options.adaptive=true", "output.every=0.3 s", "simulation.alarms={ledger: false}"]
    outcome = prepare(scene, [*settings, *adaptive]).run(Hdf5Sink(tmp_path / "run.h5")).outcome
    assert outcome.status == "complete"
    step_subdivisions = read_trajectory(tmp_path / "run.h5").channel("solver/step_subdivisions").values.sum()
    assert f"steps were halved {step_subdivisions} times" in outcome.message


@both_methods
def test_guesses_lead_to_the_same_step_by_ever_shorter_ways(method: str) -> None:
    """From no motion, from the step before, from the accelerations, and from the errors of these before."""
    ends, corrections = [], []
    for guess in ("ig1", "ig2", "ig3", "extrapolated"):
        run = stepped(delivered("ball_chain_2"), method, 0.005, tolerance=1e-12, initial_guess=guess)
        reports = [run.method.advance(run.state, 0.005 * k) for k in range(1, 201)]
        corrections.append(sum(report.iterations for report in reports[2:]))
        ends.append(end_of(run, 1.0))
    assert max(np.abs(end - ends[0]).max() for end in ends) < 1e-10
    assert corrections == sorted(corrections, reverse=True)
    assert corrections[0] > corrections[1] > corrections[2]


def test_newton_converges_quadratically_and_riqn_does_not() -> None:
    """Twice the digits cost one correction more; by the factors of the start each brings some part of the last."""
    more = {finder: corrections_of(finder, 1e-12) - corrections_of(finder, 1e-6) for finder in ("newton", "riqn")}
    assert more["newton"] <= 1
    assert more["riqn"] >= 3


def corrections_of(finder: str, tolerance: float) -> int:
    """Most corrections of a step of a fast double pendulum, from no motion."""
    options = {"root_finder": finder, "initial_guess": "ig1", "tolerance": tolerance}
    run = stepped(delivered("double_pendulum_rods"), "variational_maximal", 0.01, **options)
    return max(run.method.advance(run.state, 0.01 * k).iterations for k in range(1, 101))


def test_a_fine_reference_is_met() -> None:
    """Both ends of this module's own comparisons: order 6 at 2 ms is the reference to 1e-9."""
    scene = delivered("ball_chain_2")
    for method in METHODS:
        apart = end_of(stepped(scene, method, 0.005, order=6), 1.0) - end_of(finely(scene), 1.0)
        assert np.abs(apart).max() < 1e-9
