"""Filtered and sampled actuators in modes, linear systems and equilibria."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import mbsim
from multibody_cli.errors import RunFailed, SceneError
from multibody_cli.studies.statics.study import OVERRIDES
from multibody_cli.studies.vibration.campbell import campbell_of, read_range

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

HEAD = "mbsim: 1\nsimulation: {duration: 1 s, step: 1 ms}\n"


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ("filter: 50 ms", "has no states of filters: activations are constant, "),
        ("rate: 20 Hz", "keeps the values that sampled controllers hold, of `actuators.m`"),
        ("rate: 20 Hz, filter: 50 ms", "has no states of filters: activations are constant, "),
    ],
)
def test_actuators_whose_states_are_left_out_are_named(fields: str, remark: str) -> None:
    """A mass with a force of -100 q by a filter has 0.05 s^3 + 1.05 s^2 + s + 100 = 0, no exponents -1 and 0."""
    scene = f"""{HEAD}gravity: [0, 0, 0]
bodies: {{a: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{x: {{type: prismatic, axis: [1, 0, 0], child: a, damping: 1, q: 0.1}}}}
actuators: {{m: {{type: general, joint: x, force: "-100*q", {fields}}}}}
"""
    for verb, remarks in (("modes", mbsim.modes(scene).remarks), ("linearize", mbsim.linearize(scene).remarks)):
        assert [one.startswith(f"`{verb}` {remark}") for one in remarks] == [True]
        assert remarks[0].endswith("of `actuators.m`")


SERVO = "type: position, joint: j, kp: 10, kv: 1, target: 30 deg"
LAGS = ["filter: 50 ms", "rate: 20 Hz", "rate: 20 Hz, delay: 130 ms", "rate: 20 Hz, delay: 130 ms, filter: 50 ms"]


def pendulum(actuator: str, q: float = 0.0, more: str = "") -> str:
    return f"""mbsim: 1
bodies: {{a: {{mass: 1, com: [0, 0, -0.5], inertia: {{principal: [0.01, 0.02, 0.02]}}}}}}
joints: {{j: {{type: revolute, axis: [0, 1, 0], child: a, damping: 0.5, q: {q}}}}}
actuators: {{m: {{{actuator}}}}}
simulation: {{duration: 1 s, step: 1 ms{more}}}
"""


def balance(kp: float, target: float) -> float:
    """The root of kp (target - q) = m g l sin q."""
    return float(brentq(lambda q: kp * (target - q) - 9.81 * 0.5 * math.sin(q), -4.0, 4.0))


@pytest.mark.parametrize("q", [0.0, math.pi / 6, math.pi])
@pytest.mark.parametrize("lag", LAGS)
def test_an_equilibrium_has_the_force_of_a_servo_at_rest(lag: str, q: float) -> None:
    found = mbsim.equilibrium(pendulum(f"{SERVO}, {lag}", q))
    exact = balance(10, math.pi / 6)
    assert found["j"] == pytest.approx(exact, abs=1e-12)
    assert found.stability == "stable"
    assert found.found.stiffness[0] == pytest.approx(10 + 9.81 * 0.5 * math.cos(exact), rel=1e-9)


@pytest.mark.parametrize(
    ("actuator", "target"),
    [
        ("type: position, joint: j, kp: 10, kv: 1, target: 30 deg, input_limits: [-0.2, 0.2], filter: 50 ms", 0.2),
        ("type: pd, joint: j, kp: 10, kd: 1, target: 30 deg, filter: 50 ms", math.pi / 6),
        ("type: general, joint: j, force: 10*(0.4 - q) - v, filter: 50 ms", 0.4),
        ("type: general, joint: j, input: 0.1 - q, force: 10*activation + 3, filter: 50 ms, rate: 20 Hz", 0.4),
        ("type: position, joint: j, kp: 10, target: 2, limits: [-3, 0], filter: 50 ms", None),
    ],
)
def test_limits_and_inputs_of_filters_act_at_rest(actuator: str, target: float | None) -> None:
    exact = 0.0 if target is None else balance(10, target)
    assert mbsim.equilibrium(pendulum(actuator))["j"] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("method", ["aba", "baraff", "redmax", "variational"])
@pytest.mark.parametrize("lag", LAGS)
def test_a_run_from_equilibrium_stays_at_rest(lag: str, method: str) -> None:
    scene = pendulum(f"{SERVO}, {lag}", more=f", start: equilibrium, method: {method}")
    run = mbsim.load(scene).run(channels=["joints/j/q", "actuators/m/force"])
    np.testing.assert_allclose(run["joints/j/q"], balance(10, math.pi / 6), atol=1e-9)
    np.testing.assert_allclose(run["actuators/m/force"], 9.81 * 0.5 * math.sin(balance(10, math.pi / 6)), atol=1e-8)


@pytest.mark.parametrize("lag", ["filter: 50 ms", "rate: 20 Hz", "rate: 20 Hz, filter: 50 ms"])
def test_a_written_equilibrium_stays_at_rest(lag: str, tmp_path: Path) -> None:
    mbsim.equilibrium(pendulum(f"{SERVO}, {lag}"), write=tmp_path / "still.yaml")
    run = mbsim.load(tmp_path / "still.yaml").run(channels=["joints/j/q"])
    np.testing.assert_allclose(run["joints/j/q"], balance(10, math.pi / 6), atol=1e-9)


def test_an_integral_has_no_force_at_rest() -> None:
    scene = pendulum("type: pid, joint: j, kp: 10, ki: 1, target: 30 deg, rate: 20 Hz")
    with pytest.raises(RunFailed, match=r"the force of `actuators\.m` at rest depends on its past"):
        mbsim.equilibrium(scene)
    with pytest.raises(SceneError, match=r"simulation\.start: .*`actuators\.m` at rest depends on its past"):
        mbsim.load(scene, {"simulation.start": "equilibrium"})


@pytest.mark.parametrize("lag", LAGS)
def test_modes_about_an_equilibrium_are_those_without_lag(lag: str) -> None:
    """I s^2 + (c + kv) s + kp + m g l cos q = 0."""
    found, exact = mbsim.modes(pendulum(f"{SERVO}, {lag}"), equilibrium=True), balance(10, math.pi / 6)
    root = np.roots([0.02 + 0.25, 1.5, 10 + 9.81 * 0.5 * math.cos(exact)])[0]
    assert found.modes[0].exponent == pytest.approx(root, rel=1e-9)
    assert found.remarks == (
        "sampled, delayed and filtered actuators act as continuous ones, without lag: `actuators.m`",
    )


def test_a_campbell_diagram_names_lagging_actuators() -> None:
    scene = f"""{HEAD}gravity: [0, 0, 0]
bodies:
  hub: {{mass: 1, inertia: {{principal: [0.1, 0.1, 0.1]}}}}
  slider: {{mass: 0.5, inertia: {{principal: [1e-3, 1e-3, 1e-3]}}}}
joints:
  spin: {{type: revolute, axis: [0, 0, 1], child: hub}}
  radial: {{type: prismatic, axis: [1, 0, 0], parent: hub, child: slider}}
actuators: {{m: {{type: position, joint: radial, kp: 200, target: 0, filter: 50 ms}}}}
"""
    prepared = mbsim.load(scene, OVERRIDES).prepared
    values, others = read_range(prepared, None, {"spin": "0:10:2"})
    assert [one.endswith("`actuators.m`") for one in campbell_of(prepared, None, others, values).remarks] == [True]
