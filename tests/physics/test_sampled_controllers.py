"""Sampled controllers of a mass on a slide against the exact discrete solution of a double integrator."""

from __future__ import annotations

import math

import numpy as np
import pytest
from loops import start
from scipy.linalg import expm

MASS, PERIOD, STEP = 2.0, 0.02, 0.005
KP, KI, KD, LOWER, UPPER, TARGET = 200.0, 300.0, 30.0, -15.0, 20.0, 1.0
BODY = {"mass": MASS, "inertia": {"principal": [1, 1, 1]}}
METHODS = [
    ("aba", "rk4"),
    ("aba", "dop853"),
    ("redmax", "sdirk2"),
    ("symbolic", "rk4"),
    ("baraff", "rk4"),
    ("variational", "rk4"),
    ("variational_maximal", "rk4"),
]
"""Methods and integrators for which motion under a constant force is exact."""


def cart(**actuator):
    return {
        "gravity": [0, 0, 0],
        "bodies": {"cart": BODY},
        "joints": {"slide": {"type": "prismatic", "child": "cart", "axis": [1, 0, 0], "q": 0.4, "v": -0.3}},
        "actuators": {"drive": {"joint": "slide", "rate": 1 / PERIOD, **actuator}},
    }


def positions(scene, method, integrator, instants, **settings):
    """Positions at some instants, and the largest residual of the energy balance, J."""
    run = start(scene, method, integrator=integrator, step=STEP, duration=1.0, **settings)
    before, found, missed = run.energy()[1], [], 0.0
    for instant in instants:
        run.advance(instant)
        found.append(float(run.joint("slide", "coordinates")[0]))
        missed = max(missed, abs(run.energy()[1] - before))
    return np.array(found), missed


def discrete(control, count, delay=0):
    """Positions after each period: the double integrator with a held force, by the matrix exponential.

    `control(q, v)`, called once for each period in turn, is the force from a sample, which acts `delay` periods later.
    """
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0 / MASS], [0.0, 0.0, 0.0]])
    held, x, forces, found = expm(A * PERIOD), np.array([0.4, -0.3]), [0.0] * delay, []
    for _ in range(count):
        forces.append(control(*x))
        x = (held @ [*x, forces[len(found)]])[:2]
        found.append(x[0])
    return np.array(found)


def pid(kp=KP, lower=LOWER, upper=UPPER, tracking_time=KP / KI, target=lambda _t: (TARGET, 0.0)):
    """The law of `pid` with limits, from its definition; `target(t)` is the target and its rate."""
    integral, count = 0.0, 0

    def control(q, v):
        nonlocal integral, count
        wanted, rate = target(count * PERIOD)
        u = kp * (wanted - q) + integral + KD * (rate - v)
        force = min(upper, max(lower, u))
        integral += PERIOD * (KI * (wanted - q) + (force - u) / tracking_time)
        count += 1
        return force

    return control


PID = {"type": "pid", "kp": KP, "ki": KI, "kd": KD, "target": TARGET, "limits": [LOWER, UPPER]}
GENERAL = {"type": "general", "force": "-40*q - 5*v"}
INSTANTS = PERIOD * np.arange(1, 16)


@pytest.mark.parametrize(("method", "integrator"), METHODS)
def test_a_held_force_has_the_exact_discrete_solution(method, integrator):
    found, missed = positions(cart(**GENERAL), method, integrator, INSTANTS)
    np.testing.assert_allclose(found, discrete(lambda q, v: -40 * q - 5 * v, 15), atol=1e-12)
    assert missed < 1e-11


@pytest.mark.parametrize(("method", "integrator"), METHODS)
def test_the_force_of_each_actuator_is_a_channel(method, integrator):
    """A held force, and one as a function of state and time, which together accelerate the mass."""
    scene = cart(**GENERAL)
    scene["actuators"]["pull"] = {"type": "general", "joint": "slide", "force": "3*q + t"}
    run = start(scene, method, integrator=integrator, step=STEP, duration=1.0)
    samples = run.advance(0.5 * PERIOD).observed()
    [q] = run.joint("slide", "coordinates")
    expected = [-40 * 0.4 + 5 * 0.3, 3 * q + 0.5 * PERIOD]
    np.testing.assert_allclose(samples.actuator_force[0], expected, rtol=1e-12)
    np.testing.assert_allclose(MASS * run.joint("slide", "acceleration"), [sum(expected)], rtol=1e-9)


def test_pid_with_limits_and_anti_windup_follows_its_definition():
    found, missed = positions(cart(**PID), "aba", "rk4", INSTANTS)
    np.testing.assert_allclose(found, discrete(pid(), 15), atol=1e-12)
    assert missed < 1e-11


@pytest.mark.parametrize("side", [1, -1])
def test_pid_with_one_limit_follows_a_moving_target(side):
    lower, upper = (-math.inf, UPPER) if side > 0 else (LOWER, math.inf)
    law = pid(lower=lower, upper=upper, tracking_time=0.3, target=lambda t: (side * math.exp(t), side * math.exp(t)))
    limits = [None, UPPER] if side > 0 else [LOWER, None]
    actuator = {**PID, "limits": limits, "target": f"{side}*exp(t)", "tracking_time": 0.3}
    found, missed = positions(cart(**actuator), "aba", "rk4", INSTANTS)
    np.testing.assert_allclose(found, discrete(law, 15), atol=1e-12)
    assert missed < 1e-11


def test_the_tracking_time_of_a_small_proportional_gain_is_the_period():
    """With kp/ki, which is shorter, the integral would oscillate at the limit."""
    found, _ = positions(cart(**{**PID, "kp": 1.0, "limits": [-2.0, 2.0]}), "aba", "rk4", INSTANTS)
    law = pid(kp=1.0, lower=-2.0, upper=2.0, tracking_time=PERIOD)
    np.testing.assert_allclose(found, discrete(law, 15), atol=1e-12)


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_a_delayed_force_acts_whole_periods_later(integrator):
    found, _ = positions(cart(**GENERAL, delay=3 * PERIOD), "aba", integrator, INSTANTS)
    np.testing.assert_allclose(found, discrete(lambda q, v: -40 * q - 5 * v, 15, delay=3), atol=1e-12)


def test_a_delay_of_part_of_a_period_changes_the_force_at_its_own_instant():
    scene = cart(type="general", force=4.0, delay=0.01)
    found, _ = positions(scene, "aba", "dop853", [0.01, 0.05])
    np.testing.assert_allclose(found, [0.4 - 0.3 * 0.01, 0.4 - 0.3 * 0.05 + 0.04**2], atol=1e-13)


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_output_instants_between_samples_do_not_change_the_motion(integrator):
    often, _ = positions(cart(**PID), "aba", integrator, STEP * np.arange(1, 41))
    seldom, _ = positions(cart(**PID), "aba", integrator, [0.2])
    np.testing.assert_allclose(often[-1], seldom[-1], atol=1e-15)


def test_two_controllers_with_different_rates_are_sampled_at_their_own_instants():
    scene = cart(**GENERAL)
    scene["actuators"]["slow"] = {"type": "general", "joint": "slide", "force": "t", "period": 0.06}
    found, _ = positions(scene, "aba", "rk4", [0.06, 0.12])
    forces = [0.0, 0.0, 0.0, 0.06, 0.06, 0.06]
    numbers = iter(forces)
    np.testing.assert_allclose(found, discrete(lambda q, v: -40 * q - 5 * v + next(numbers), 6)[[2, 5]], atol=1e-12)


def test_the_integral_of_pid_removes_the_error_of_a_constant_load():
    scene = {**cart(**{**PID, "limits": None, "ki": 300.0}), "forces": {"load": {"body": "cart", "force": [-7, 0, 0]}}}
    run = start(scene, "aba", step=STEP, duration=5.0)
    run.advance(5.0)
    assert math.isclose(float(run.joint("slide", "coordinates")[0]), TARGET, abs_tol=1e-4)
