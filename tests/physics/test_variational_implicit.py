"""Forces within a variational step: the implicit midpoint rule, and with order 1 the implicit Euler method."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from loops import loaded, start
from variational_runs import both_methods, end_of, finely, orders, stepped

from multibody_cli.errors import SceneError
from multibody_cli.tree.configuration import displace
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.tree.kinematics import forward_kinematics
from multibody_cli.variational.newton import composite_jacobian
from multibody_cli.variational.newton_forces import add_force_derivatives
from multibody_cli.variational.poses import compute_poses
from multibody_cli.variational.step import drnea_inward_pass, drnea_residuals
from multibody_cli.variational.step_forces import evaluate_forces

IMPLICIT = {"implicit_forces": True}


# --- linear oscillators -------------------------------------------------------------------------------------------
def slider(**fields: Any) -> dict[str, Any]:
    """A body of 2 kg on a rail, 0.3 m from where its spring is relaxed."""
    rail = {"type": "prismatic", "child": "body", "axis": [1, 0, 0], "q": 0.3, "v": 0.5, **fields}
    body = {"mass": 2.0, "inertia": {"principal": [0.1] * 3}}
    return {"gravity": [0, 0, 0], "bodies": {"body": body}, "joints": {"rail": rail}}


def line(stiffness: float, damping: float) -> dict[str, Any]:
    """The same with a bushing between the body and the world."""
    scene = slider()
    of = {"parent": "world", "stiffness": {"linear": [stiffness, 0, 0]}, "damping": {"linear": [damping, 0, 0]}}
    scene["springs"] = {"bushing": {"type": "bushing", "child": "body", **of}}
    return scene


@both_methods
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("stiffness", "damping"), [(50.0, 3.0), (1e6, 30.0), (1e6, 0.0), (0.0, 1e5), (1e9, 1e6)])
@pytest.mark.parametrize("of_joint", [True, False])
def test_a_linear_oscillator_takes_the_steps_of_the_rule(
    of_joint: bool, stiffness: float, damping: float, order: int, method: str
) -> None:
    """x' = x + h v*, v' = v + h A v*, with the velocity v* of the middle, or of the end; up to h w = 220."""
    h, m, theta = 0.01, 2.0, 1.0 / order
    scene = slider(stiffness=stiffness, damping=damping) if of_joint else line(stiffness, damping)
    run = stepped(scene, method, h, order=order, tolerance=1e-14, **IMPLICIT)
    A = np.array([[0.0, 1.0], [-stiffness / m, -damping / m]])
    one = np.linalg.solve(np.eye(2) - theta * h * A, np.eye(2) + (1.0 - theta) * h * A)
    x = np.array([0.3, 0.5])
    for k in range(1, 20):
        x, seen = one @ x, run.advance(k * h)
        found = [*seen.joint("rail", "coordinates"), *seen.joint("rail", "velocity")]
        np.testing.assert_allclose(found, x, rtol=0, atol=1e-10 * (1.0 + 0.3 * math.sqrt(stiffness / m)))


@both_methods
def test_the_energy_of_an_oscillator_stays(method: str) -> None:
    """The midpoint rule keeps it, at any step, and its ledger has all that a damper takes."""
    for damping in (0.0, 30.0):
        run = stepped(slider(stiffness=1e6, damping=damping), method, 0.01, tolerance=1e-14, **IMPLICIT)
        _, before = run.energy()
        total, left = run.advance(1.0).energy()
        assert left == pytest.approx(before, rel=1e-10)
        assert (total < 0.9 * before) == (damping > 0.0)


@both_methods
def test_a_stiff_damper_is_stable_where_the_explicit_step_diverges(method: str) -> None:
    """A damper of 1e5 N s/m stops 2 kg within 20 us; a step of 10 ms is 500 times as long."""
    scene = slider(damping=1e5)
    explicit = start(scene, method, step=0.01, duration=1.0)
    report = explicit.method.advance(explicit.state, 1.0)
    assert not abs(explicit.state.v[0]) < 1.0 or report.status != 0
    run = start(scene, method, step=0.01, duration=1.0, options={"order": 1, **IMPLICIT}).advance(1.0)
    assert abs(run.joint("rail", "velocity")[0]) < 1e-10
    assert run.joint("rail", "coordinates")[0] == pytest.approx(0.3 + 0.5 * 2.0 / 1e5, rel=1e-9)


# --- mechanisms ---------------------------------------------------------------------------------------------------
def mechanism() -> dict[str, Any]:
    """A hinged body, one on a ball joint behind it, and a free one; springs of joints and between all bodies."""
    return {
        "gravity": [0, 0, -9.81],
        "bodies": {
            "a": {"mass": 2.0, "inertia": {"principal": [0.1, 0.2, 0.15]}, "com": [0.05, 0.02, -0.1]},
            "b": {"mass": 1.0, "inertia": {"principal": [0.05, 0.02, 0.04]}, "com": [0, 0.1, -0.2]},
            "c": {"mass": 0.7, "inertia": {"principal": [0.03, 0.02, 0.04]}, "com": [0.03, 0, 0.02]},
        },
        "joints": {
            "hinge": {"type": "revolute", "child": "a", "axis": [0, 1, 0.3], "v": 1.5, "stiffness": 20, "damping": 0.8},
            "ball": {"type": "spherical", "parent": "a", "child": "b", "origin": {"position": [0, 0, -0.4]},
                     "v": [1, 2, -0.5], "stiffness": 5, "damping": 0.1},
            "free": {"type": "free", "child": "c", "origin": {"position": [1, 0, 0]},
                     "v": {"linear": [0, 1, 0.5], "angular": [1, 3, 2]}},
        },
        "springs": {
            "line": {"between": [{"body": "b", "point": [0, 0, -0.3]}, {"body": "c", "point": [0.1, 0.1, 0]}],
                     "stiffness": 300, "damping": 4, "rest_length": 1.3},
            "bushing": {"type": "bushing", "parent": "a", "child": "c", "origin": {"position": [1, 0, 0]},
                        "stiffness": {"linear": [50, 80, 20], "angular": [3, 4, 5]},
                        "damping": {"linear": [1, 2, 1], "angular": [0.2, 0.1, 0.3]}},
        },
        "forces": {"air": {"body": "b", "viscous": {"linear": 0.5, "angular": 0.1}},
                   "push": {"body": "c", "force": ["3*sin(5*t)", 0, 0], "point": [0, 0.1, 0], "frame": "body"}},
    }  # fmt: skip


def linkage() -> dict[str, Any]:
    """A four-bar linkage with a spring and a damper also in the joint that closes it."""
    bar = {"mass": 1.0, "inertia": {"principal": [0.02, 0.1, 0.1]}, "com": [0.5, 0, 0]}
    end = {"position": [1, 0, 0]}
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    return {
        "bodies": {name: dict(bar) for name in "abc"},
        "joints": {
            "ground": {**hinge, "child": "a", "q": -1.36720529, "v": 1.5},
            "left": {**hinge, "parent": "a", "child": "b", "origin": end, "q": 1.34655261,
                     "damping": 2, "stiffness": 30},
            "other": {**hinge, "child": "c", "origin": {"position": [1.2, 0, 0]}, "q": -1.56882209},
            "closing": {**hinge, "parent": "c", "child": "b", "origin": end, "child_origin": end,
                        "damping": 3, "stiffness": 50},
        },
        "simulation": {"assembly_tolerance": 0.01},
    }  # fmt: skip


def driven() -> dict[str, Any]:
    """The mechanism with a prescribed hinge, against its own spring and those of the bodies behind it."""
    scene = mechanism()
    del scene["joints"]["hinge"]["v"]
    scene["joints"]["hinge"]["motion"] = {"position": "0.5*sin(3*t)"}
    return scene


def wound() -> dict[str, Any]:
    """The mechanism with a cable from the world over a point of a body."""
    scene = mechanism()
    points = [{"body": "world", "point": [0, 1, 1]}, {"body": "a", "point": [0.1, 0.1, 0]}, {"body": "c"}]
    scene["springs"]["cable"] = {"path": points, "stiffness": 200, "damping": 5, "rest_length": 1.5}
    return scene


SCENES = {"mechanism": mechanism, "linkage": linkage, "driven": driven, "wound": wound}


@pytest.mark.parametrize("scene", SCENES)
def test_both_methods_agree_and_are_of_second_order(scene: str) -> None:
    """Motion, and energy less the accounts; in joint coordinates and in those of the bodies to round-off."""
    data, until, errors, gaps = SCENES[scene](), 0.4, [], []
    exact = end_of(finely(data), until)
    for h in (0.01, 0.005, 0.0025):
        runs = [
            stepped(data, method, h, tolerance=1e-12, **IMPLICIT) for method in ("variational", "variational_maximal")
        ]
        _, before = runs[0].energy()
        ends = [end_of(run, until) for run in runs]
        np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-9)
        assert [run.energy()[1] for run in runs][1] == pytest.approx(runs[0].energy()[1], abs=1e-8)
        errors.append(np.abs(ends[0] - exact).max())
        gaps.append(abs(runs[0].energy()[1] - before))
    assert orders(errors)[-1] == pytest.approx(2.0, abs=0.15)
    assert orders(gaps)[-1] == pytest.approx(2.0, abs=0.3)


@both_methods
@pytest.mark.parametrize("implicit", [False, True])
def test_affine_bodies_are_of_second_order(implicit: bool, method: str) -> None:
    """An affine body under its weight, on springs between its points and the world."""
    spring = {"stiffness": 10.0, "damping": 0.3, "rest_length": 0.3}
    soft = {"kind": "affine", "shapes": [{"type": "box", "size": [0.4, 0.3, 0.2]}], "mass": 2.0,
            "velocity": {"linear": [0.3, 0, 0], "angular": [0, 1, 2]}}  # fmt: skip
    scene: dict[str, Any] = {"bodies": {"soft": soft}, "springs": {}}
    for k, point in enumerate(([0.2, 0.1, 0], [-0.2, 0, 0.1])):
        ends = [{"body": "world", "point": [k, 0, 0.5]}, {"body": "soft", "point": point}]
        scene["springs"][str(k)] = {"between": ends, **spring}
    exact = finely(scene).advance(0.2).state.q
    errors = [
        np.abs(stepped(scene, method, h, implicit_forces=implicit).advance(0.2).state.q - exact).max()
        for h in (0.002, 0.001)
    ]
    assert orders(errors) == [pytest.approx(2.0, abs=0.1)]


@both_methods
def test_order_1_is_of_first_order(method: str) -> None:
    """The implicit Euler method for springs and dampers."""
    data = mechanism()
    exact = end_of(finely(data), 0.4)
    errors = [
        float(np.abs(end_of(stepped(data, method, h, order=1, **IMPLICIT), 0.4) - exact).max()) for h in (0.002, 0.001)
    ]
    assert orders(errors) == [pytest.approx(1.0, abs=0.15)]


@both_methods
@pytest.mark.parametrize("order", [1, 2])
def test_springs_between_bodies_conserve_momenta(order: int, method: str) -> None:
    """Linear and angular momentum of three bodies that nothing holds."""
    scene = mechanism()
    scene["gravity"], scene["forces"] = [0, 0, 0], {}
    scene["joints"]["hinge"] = {"type": "free", "child": "a", "v": {"angular": [1, -2, 0.5], "linear": [0.2, 0, 0]}}
    run = stepped(scene, method, 0.01, order=order, tolerance=1e-12, **IMPLICIT)
    first = momenta(run.advance(0.01))
    for t in (0.5, 2.0):
        np.testing.assert_allclose(momenta(run.advance(t)), first, rtol=0, atol=1e-9)


def momenta(run: Any) -> np.ndarray:
    """Linear and angular momentum of the last step."""
    return run.method._stepper._scratch[0].momentum.copy()


def test_the_modified_energy_is_of_fourth_order() -> None:
    """Of the mechanism without losses and loads, in joint coordinates."""
    scene = mechanism()
    del scene["forces"]
    scene["joints"]["ball"] |= {"stiffness": 0.0, "damping": 0.0}
    scene["joints"]["hinge"]["damping"] = 0.0
    scene["springs"]["line"]["damping"] = 0.0
    del scene["springs"]["bushing"]["damping"]
    changes: dict[str, list[float]] = {"modified": [], "energy": []}
    for h in (0.004, 0.002):
        run, modified, energy = stepped(scene, "variational", h, **IMPLICIT), [], []
        for k in range(1, 40):
            report = run.method.advance(run.state, 0.02 * k)
            modified.append(report.diagnostics.modified_energy)
            energy.append(run.energy()[0])
        changes["modified"].append(np.ptp(modified))
        changes["energy"].append(np.ptp(energy))
    assert orders(changes["energy"]) == [pytest.approx(2.0, abs=0.2)]
    assert orders(changes["modified"]) == [pytest.approx(4.0, abs=0.4)]


# --- Newton's method ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scene", ["mechanism", "wound"])
def test_newtons_matrix_is_the_derivative_of_the_residual(scene: str, order: int) -> None:
    """Column by column, by finite differences, at large rates: bodies turn by up to 0.1 rad in the step."""
    h = 0.01
    data = SCENES[scene]()
    data["joints"]["ball"]["stiffness"] = 0.0  # whose derivative is that of a small rotation
    run = stepped(data, "variational", h, root_finder="newton", order=order, **IMPLICIT).advance(h)
    system, work, step = run.method._system, run.method.work, run.method._stepper._scratch[0]
    tree, dense, state, n = system.tree, step.solver.dense, run.state, len(run.state.v)
    rate, t = np.random.default_rng(5).uniform(-10.0, 10.0, n), 2.0 * h
    step.forces.q_start[:] = state.q

    def residual_of(correction: np.ndarray) -> np.ndarray:
        step.q[:] = state.q
        displace(tree, step.q, rate, h)
        displace(tree, step.q, correction, h)
        compute_poses(tree, step.q, step.discrete_motions, step.pose_work)
        evaluate_forces(system, step, t, h)
        drnea_residuals(system, work, step, h)
        found = np.zeros(n)
        drnea_inward_pass(tree, work, found)
        return found

    unit = np.eye(n)
    differences = np.stack([(residual_of(-1e-5 * e) - residual_of(1e-5 * e)) / 2e-5 for e in unit], axis=1)
    residual_of(np.zeros(n))
    forward_kinematics(tree, step.q, dense.rest, dense.rest, dense.work)
    write_ball_columns(tree, dense.work)
    composite_jacobian(tree, work, step)
    without = dense.N.copy()
    add_force_derivatives(system, work, step, h)
    np.testing.assert_allclose(dense.N, differences, rtol=0, atol=2e-7 * np.abs(without).max())
    assert np.abs(dense.N - without).max() > 1e-3 * np.abs(without).max()


# --- contacts, limits, friction -----------------------------------------------------------------------------------
def standing(stiffness: float) -> dict[str, Any]:
    """A box on the ground, and another one that stands on a stiff bushing above it."""
    box = {"mass": 1.0, "shapes": [{"type": "box", "size": [0.4, 0.4, 0.2]}]}
    bushing = {
        "type": "bushing", "parent": "low", "child": "high", "origin": {"position": [0, 0, 0.5]},
        "stiffness": {"linear": [stiffness] * 3, "angular": [stiffness] * 3},
        "damping": {"linear": [1e-3 * stiffness] * 3, "angular": [1e-3 * stiffness] * 3},
    }  # fmt: skip
    return {
        "world": {"shapes": [{"type": "plane"}]},
        "contacts": {"friction": 0.3},
        "bodies": {"low": {**box, "position": [0, 0, 0.1]}, "high": {**box, "position": [0, 0, 0.6]}},
        "springs": {"leg": bushing},
    }


@both_methods
@pytest.mark.parametrize("stiffness", [2e3, 1e7])
def test_a_sprung_pile_comes_to_rest_under_its_weight(stiffness: float, method: str) -> None:
    """At a step of 5 ms, up to h w = 22; the load compresses the bushing by m g / k."""
    run = start(standing(stiffness), method, step=0.005, duration=3.0, options=IMPLICIT).advance(3.0)
    low, high = run.body("low", "position"), run.body("high", "position")
    np.testing.assert_allclose(low, [0, 0, 0.1], atol=1e-6)
    assert low[2] + 0.5 - high[2] == pytest.approx(9.80665 / stiffness, rel=1e-3, abs=1e-9)
    assert np.abs(run.state.v).max() < 1e-6


@both_methods
@pytest.mark.parametrize("friction", [{}, {"friction": {"force": 3.0}}])
def test_impacts_on_limits_and_dry_friction(friction: dict[str, Any], method: str) -> None:
    """A slider with a damper swings against a limit: the limit holds, and energy only falls."""
    scene = slider(damping=200.0, stiffness=2e4, limits=[-0.01, 0.4], **friction)
    scene["gravity"] = [0, 0, -9.81]
    run = stepped(scene, method, 0.005, order=1, tolerance=1e-10, **IMPLICIT)
    lowest, before = 0.3, math.inf
    for k in range(1, 60):
        lowest = min(lowest, run.advance(0.005 * k).joint("rail", "coordinates")[0])
        total, _ = run.energy()
        assert total <= before + 1e-12
        before = total
    assert lowest == pytest.approx(-0.01, abs=1e-9)


# --- refusals -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", [4, 6])
def test_compositions_are_refused(order: int) -> None:
    with pytest.raises(SceneError, match="backward steps"):
        loaded(slider(), method="variational", options={"order": order, **IMPLICIT})


def test_newton_in_maximal_coordinates_is_refused() -> None:
    with pytest.raises(SceneError, match="use `riqn`"):
        loaded(slider(), method="variational_maximal", options={"root_finder": "newton", **IMPLICIT})
