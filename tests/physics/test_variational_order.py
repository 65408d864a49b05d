"""The order of variational steps: in smooth motion, with dissipation or drives, and with constraints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from variational_runs import both_methods, delivered, end_of, errors_of, finely, orders, stepped

SMOOTH = {"double_pendulum_rods": (1.0, 1.0), "ball_chain_2": (1.0, 1.0), "torque_free_top": (8.0, 16.0)}
"""Scenes of `scenes/validation`: until when they run here, and by how much longer steps are."""

STEPS = {1: 0.001, 2: 0.005, 4: 0.01, 6: 0.02}


# --- smooth motion ------------------------------------------------------------------------------------------------
@both_methods
@pytest.mark.parametrize("order", STEPS)
@pytest.mark.parametrize("scene", SMOOTH)
def test_errors_fall_as_the_order_says(scene: str, order: int, method: str) -> None:
    """Positions, rotations and velocities against the fine reference; without forces the order is 2 for order 1."""
    until, slowness = SMOOTH[scene]
    h, expected = slowness * STEPS[order], 2 if (scene, order) == ("torque_free_top", 1) else order
    errors = errors_of(delivered(scene), method, until, [h, h / 2], order=order)
    assert errors[1] > 1e-10  # round-off is at 1e-11
    assert orders(errors) == [pytest.approx(expected, abs=0.1)]


@both_methods
def test_order_1_takes_bodies_through_the_positions_of_order_2(method: str) -> None:
    """If its momenta start half an impulse short: p1 = p2 - h f / 2, which at rest is v1 = -h a / 2."""
    h, scene = 0.01, delivered("double_pendulum_rods")
    second = stepped(scene, method, h)
    for k, joint in enumerate(scene["joints"].values()):
        acceleration = second.joint(("shoulder", "elbow")[k], "acceleration")[0]
        joint["v"] = -0.5 * h * float(acceleration)
    first = stepped(scene, method, h, order=1)
    for t in (0.01, 0.5, 1.0):
        ends = [end_of(run, t)[: 2 * 3 + 2 * 16] for run in (first, second)]
        np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-10)
    assert np.abs(end_of(first, 1.0) - end_of(second, 1.0)).max() > 0.01  # velocities are half a push apart


# --- dissipation and drives ---------------------------------------------------------------------------------------
DAMPED: dict[str, dict[str, Any]] = {
    "dampers": {"joints": {"shoulder": {"damping": 0.4}, "elbow": {"damping": 0.2}}},
    "drag": {"forces": {"air": {"body": "lower", "viscous": {"linear": 0.5, "angular": 0.1}}}},
    "motor": {"joints": {"shoulder": {"force": "3*sin(5*t)"}}},
}


def changed(scene: dict[str, Any], by: dict[str, Any]) -> dict[str, Any]:
    """A scene with entries added to its elements."""
    for section, entries in by.items():
        for name, fields in entries.items():
            scene.setdefault(section, {}).setdefault(name, {}).update(fields)
    return scene


@both_methods
@pytest.mark.parametrize("case", DAMPED)
def test_forces_and_their_ledger_are_of_second_order(case: str, method: str) -> None:
    """Energy less the accounts of its changes stays, up to an error that falls with the square of the step."""
    scene, until, steps = changed(delivered("double_pendulum_rods"), DAMPED[case]), 1.0, [0.004, 0.002, 0.001]
    exact, gaps, errors = end_of(finely(scene), until), [], []
    for h in steps:
        run = stepped(scene, method, h)
        (began, _), before = run.energy(), run.energy()[1]
        errors.append(np.abs(end_of(run, until) - exact).max())
        total, left = run.energy()
        gaps.append(abs(left - before))
        assert abs(total - began) > 0.05  # something was done
    assert orders(errors)[-1] == pytest.approx(2.0, abs=0.1)
    assert orders(gaps)[-1] == pytest.approx(2.0, abs=0.2)


@both_methods
def test_what_a_motor_does_is_booked_at_the_order_of_the_step(method: str) -> None:
    """Forces that depend on time alone do not lower the order, nor does their account: powers are of the velocities."""
    scene = changed(delivered("double_pendulum_rods"), DAMPED["motor"])
    gaps = []
    for h in (0.008, 0.004):
        run = stepped(scene, method, h, order=4)
        _, before = run.energy()
        gaps.append(abs(run.advance(1.0).energy()[1] - before))
    assert orders(gaps) == [pytest.approx(4.0, abs=0.1)]


GIVEN = {"position": "0.4*sin(4*t)", "velocity": "1.6*cos(4*t)", "acceleration": "-6.4*sin(4*t)"}


@both_methods
@pytest.mark.parametrize("given", GIVEN)
def test_prescribed_motion_is_of_second_order(given: str, method: str) -> None:
    """A shoulder that is moved, and the links that hang on it; the work of its drive is in the ledger."""
    motion: dict[str, Any] = {"motion": {given: GIVEN[given]}, **({"v": 1.6} if given == "acceleration" else {})}
    scene = changed(delivered("double_pendulum_rods"), {"joints": {"shoulder": motion}})
    errors = errors_of(scene, method, 1.0, [0.004, 0.002, 0.001])
    assert orders(errors)[-1] == pytest.approx(2.0, abs=0.1)
    gaps = []
    for h in (0.004, 0.002):
        run = stepped(scene, method, h)
        _, before = run.energy()
        run.advance(1.0)
        total, left = run.energy()
        gaps.append(abs(left - before))
        assert abs(total - before) > 0.1
        q, v = (run.joint("shoulder", channel)[0] for channel in ("coordinates", "velocity"))
        exact = {"position": 1e-14, "velocity": 1e-5, "acceleration": 2e-4}[given]
        assert q == pytest.approx(0.4 * math.sin(4), abs=exact)
        assert v == pytest.approx(1.6 * math.cos(4), abs=1e-4 if given == "acceleration" else 1e-14)
    assert orders(gaps)[0] == pytest.approx(2.0, abs=0.2)


DRIVES: dict[str, dict[str, Any]] = {
    "position": {"joints": {"shoulder": {"motion": {"position": GIVEN["position"]}}}},
    "velocity": {"joints": {"shoulder": {"motion": {"velocity": GIVEN["velocity"]}}}},
    "acceleration": {"joints": {"shoulder": {"motion": {"acceleration": GIVEN["acceleration"]}, "v": 1.6}}},
    "row of positions": {
        "joints": {"shoulder": {"q": 0, "v": 1.6}},
        "constraints": {"drive": {"type": "expression", "inputs": {"q": "shoulder"}, "value": "q - 0.4*sin(4*t)"}},
    },
}  # fmt: skip


@both_methods
@pytest.mark.parametrize("order", [4, 6])
@pytest.mark.parametrize("drive", DRIVES)
def test_drives_keep_the_order_of_motion_and_ledger(drive: str, order: int, method: str) -> None:
    """The power of a drive is a function of the state at nodes, and composed steps integrate it as the motion."""
    scene, h = changed(delivered("double_pendulum_rods"), DRIVES[drive]), STEPS[order]
    exact, errors, gaps = end_of(finely(scene), 1.0), [], []
    for step in (h, h / 2):
        run = stepped(scene, method, step, order=order)
        before = run.energy()[1]
        errors.append(float(np.abs(end_of(run, 1.0) - exact).max()))
        total, left = run.energy()
        gaps.append(abs(left - before))
        assert abs(total - before) > 0.1  # the drive did work
    assert orders(errors) == [pytest.approx(order, abs=0.1)]
    assert orders(gaps) == [pytest.approx(order, abs=0.1)]


# --- impacts ------------------------------------------------------------------------------------------------------
BODY = {"mass": 2.0, "com": [0.3, 0, 0], "inertia": {"principal": [0.1, 0.12, 0.15]}}
SLIDE = {"type": "prismatic", "child": "a", "axis": [1, 0, 0], "limits": [-0.3, None], "q": 0.1}
HINGE = {"type": "revolute", "axis": [0, 1, 0]}
ELBOW = {**HINGE, "parent": "a", "child": "b", "origin": {"position": [0.6, 0, 0]}, "limits": [-0.5, 0.5], "v": -2}


def arms(shoulder: dict[str, Any], elbow: dict[str, Any]) -> dict[str, Any]:
    """Two bodies on hinges, of which the second meets its limits."""
    joints = {"shoulder": {**HINGE, "child": "a", **shoulder}, "elbow": {**ELBOW, **elbow}}
    return {"bodies": {"a": BODY, "b": BODY}, "joints": joints}


IMPACTS: dict[str, dict[str, Any]] = {
    "force of time": {"bodies": {"a": BODY}, "joints": {"slide": {**SLIDE, "force": "-10 - 5*sin(9*t)"}}},
    "motor": arms({}, {"force": "10"}),
    "rebound by a motor": arms({}, {"force": "10", "restitution": 0.5}),
    "catch that lifts a pressed arm": arms({"force": -10, "limits": [-1, None], "q": -1}, {"v": 3}),
    "rebound that lifts a pressed arm": arms(
        {"force": -10, "limits": [-1, None], "q": -1}, {"v": 3, "restitution": 0.8}
    ),
    "rebound beside a drive": arms({"motion": {"position": GIVEN["position"]}}, {"restitution": 0.5}),
}


@both_methods
@pytest.mark.parametrize("case", IMPACTS)
def test_the_ledger_of_impacts_is_of_second_order(case: str, method: str) -> None:
    """Bodies move at the velocities after the impact in the step that it starts, and forces do their work at these."""
    gaps = []
    for h in (0.004, 0.0005):
        run = stepped(IMPACTS[case], method, h)
        before, largest = run.energy()[1], 0.0
        for k in range(1, 31):
            largest = max(largest, abs(run.advance(0.02 * k).energy()[1] - before))
        gaps.append(largest)
    assert math.log2(gaps[0] / gaps[1]) / 3 == pytest.approx(2.0, abs=0.1)


STOP: dict[str, Any] = {**HINGE, "child": "a", "force": 10, "limits": [-1, 0.5]}
FOREARM: dict[str, Any] = {**HINGE, "parent": "a", "child": "b", "origin": ELBOW["origin"]}
PRESSED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "from the start": ({"q": 0.5}, {}),
    "behind a catch": ({}, {"stiffness": 3}),
    "from the start beside a drive": ({"q": 0.5}, {"motion": {"position": "0.5*sin(9*t)"}}),
}


@both_methods
@pytest.mark.parametrize("case", PRESSED)
def test_a_limit_that_a_swinging_body_presses_stays_closed(case: str, method: str) -> None:
    """Rates of the row with the error of the step do not open it: it would close with a loss at each other step."""
    stop, forearm = PRESSED[case]
    joints = {"shoulder": {**STOP, **stop}, "elbow": {**FOREARM, **forearm}}
    gaps = []
    for h in (0.004, 0.0005):
        run = stepped({"bodies": {"a": BODY, "b": BODY}, "joints": joints}, method, h)
        before, largest = run.energy()[1], 0.0
        for k in range(1, 31):
            largest = max(largest, abs(run.advance(0.02 * k).energy()[1] - before))
        gaps.append(largest)
    assert run.joint("shoulder", "coordinates")[0] == pytest.approx(0.5, abs=1e-12)
    assert math.log2(gaps[0] / gaps[1]) / 3 == pytest.approx(2.0, abs=0.1)


@both_methods
@pytest.mark.parametrize("h", [0.004, 0.003, 0.002])
def test_a_slow_rebound_lifts_a_pressed_arm_without_a_pull_of_its_limit(h: float, method: str) -> None:
    """The force has no impulse in a rebound.  With that of half a step, the limit would hold the arm and lose 17 mJ."""
    scene = arms({"force": -30, "limits": [-1, None], "q": -1}, {"v": 0.5, "restitution": 1.0, "q": 0.499})
    run = stepped(scene, method, h)
    before, largest = run.energy()[1], 0.0
    for k in range(1, 11):
        largest = max(largest, abs(run.advance(0.024 * k).energy()[1] - before))
    assert largest < 1e-2


BOUNCING = {"type": "prismatic", "axis": [1, 0, 0], "child": "c", "limits": [-0.2, 0.2], "restitution": 1, "v": 9.7}


@both_methods
def test_a_rebound_opens_no_limit_of_another_mechanism(method: str) -> None:
    """The loss at a pressed limit is of third order beside a body that bounces to and fro, as without that body.

    If each rebound opened the limit, the loss would be 1e4 times as large.  Parts of the loss in steps that begin with
    an impact are of fourth order.
    """
    losses = []
    for h, others in ((0.002, {}), (0.002, {"ball": BOUNCING}), (0.001, {"ball": BOUNCING})):
        bodies = {"a": BODY, "b": BODY} | ({"c": BODY} if others else {})
        run = stepped(
            {"bodies": bodies, "joints": {"shoulder": {**STOP, "q": 0.5}, "elbow": FOREARM, **others}}, method, h
        )
        run.advance(0.6)
        accounts = zip(run.compiled.model.names.accounts, run.observed().accounts[0], strict=True)
        losses.append(sum(value for account, value in accounts if account.cause == "joints/shoulder/limits"))
        if others:
            assert abs(run.joint("ball", "velocity")[0]) == pytest.approx(9.7, rel=1e-12)
    assert losses[1] == pytest.approx(losses[0], rel=0.25)
    assert math.log2(losses[1] / losses[2]) == pytest.approx(3.0, abs=0.3)


# --- constraints --------------------------------------------------------------------------------------------------
COUPLED: dict[str, dict[str, Any]] = {
    "gear": {"couplings": {"teeth": {"type": "gear", "joints": ["shoulder", "elbow"], "ratio": -0.5}}},
    "rod": {"constraints": {"rod": {"type": "distance", "length": math.hypot(1.7, 0.4),
            "between": [{"body": "world", "point": [0.3, 0.4, 0]}, {"body": "lower", "point": [0.5, 0, 0]}]}}},
}  # fmt: skip


@both_methods
@pytest.mark.parametrize("case", COUPLED)
def test_couplings_and_constraints_are_of_second_order(case: str, method: str) -> None:
    """They hold to the tolerance of the search at any step."""
    scene = changed(delivered("double_pendulum_rods"), COUPLED[case])
    if case == "rod":
        for joint in scene["joints"].values():
            joint["type"] = "spherical"
            del joint["axis"]
    errors = errors_of(scene, method, 0.5, [0.004, 0.002, 0.001])
    assert orders(errors)[-1] == pytest.approx(2.0, abs=0.1)
    run = stepped(scene, method, 0.004)
    assert max(max(run.advance(0.004 * k).errors()) for k in range(1, 50)) < 1e-11


@both_methods
def test_a_skate_is_of_second_order(method: str) -> None:
    """A cycloid, known in closed form: a row that restrains velocities alone."""
    scene = delivered("knife_edge_incline")
    g, w, until = 9.81 * math.sin(0.3), 2.0, 1.0
    A = g / (2 * w * w)
    exact = A * np.array([math.sin(w * until) ** 2, w * until - math.sin(2 * w * until) / 2])
    errors = []
    for h in (0.02, 0.01, 0.005):
        run = stepped(scene, method, h).advance(until)
        errors.append(float(np.abs(run.body("skate", "position")[:2] - exact).max()))
        assert run.errors()[1] < 1e-14  # it does not slip across its edge where a step ends
    assert orders(errors)[-1] == pytest.approx(2.0, abs=0.1)


@both_methods
def test_a_rolling_ball_has_no_error(method: str) -> None:
    """a = 5/7 g sin(alpha) down the slope: uniform acceleration is exact, by rows of positions and of velocities."""
    alpha, radius, scene = math.radians(25), 0.1, delivered("sphere_roll_incline")
    down, normal = (np.array([math.cos(alpha), 0, -math.sin(alpha)]), np.array([math.sin(alpha), 0, math.cos(alpha)]))
    a = 5 / 7 * 9.81 * math.sin(alpha)
    run = stepped(scene, method, 0.01).advance(1.0)
    np.testing.assert_allclose(run.body("ball", "position"), radius * normal + a / 2 * down, atol=1e-11)
    np.testing.assert_allclose(run.body("ball", "linear_velocity"), a * down, atol=1e-11)
    np.testing.assert_allclose(run.body("ball", "angular_velocity"), [0, a / radius, 0], atol=1e-10)
