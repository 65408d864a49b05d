"""The alarm of the phase: errors of the angles that bodies have turned, against references of their own."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from random_machines import random_machine
from scipy.integrate import solve_ivp

from multibody_cli.alarms.rotors import rotors_of
from multibody_cli.output.sink import MemorySink, Outcome
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.studies.simulation import prepare


def run(text: str, folder: Path, *overrides: str) -> tuple[Outcome, Trajectory]:
    scene = folder / "scene.yaml"
    scene.write_text(text, encoding="utf-8")
    sink = MemorySink()
    return prepare(scene, overrides).run(sink).outcome, sink.trajectory()


@pytest.mark.parametrize("seed", [0, 3, 18])
def test_the_alarm_of_the_phase_estimates_the_error_of_the_angle(seed: int, tmp_path: Path) -> None:
    """Slider-cranks that turn by 3 revolutions or more with an integrator of first order."""
    crank = json.dumps(random_machine(seed))
    outcome, found = run(crank, tmp_path, "simulation.integrator=semi_implicit_euler")
    reference = run(crank, tmp_path, "simulation.integrator=dop853")[1]
    error = np.abs(found.channel("joints/bearing/q").values - reference.channel("joints/bearing/q").values).max()
    [alarm] = [alarm for alarm in outcome.alarms if alarm.name == "phase"]
    assert 0.5 < alarm.value / error < 2.0
    assert (outcome.status, alarm.remedy.integrator) == ("untrusted", "rk4")
    assert "`crank`" in alarm.message


def test_a_prescribed_rotation_has_no_error_of_the_phase(tmp_path: Path) -> None:
    """The drive of the crank does work that the ledger measures to first order; its angle is exact."""
    crank = random_machine(0)
    crank["joints"]["bearing"] = {"type": "revolute", "child": "crank", "motion": {"velocity": 50.0}}
    settings = ("simulation.integrator=semi_implicit_euler", "simulation.assembly_tolerance=10")
    del crank["joints"]["bigend"]["q"], crank["joints"]["guide"]["q"]
    outcome, found = run(json.dumps(crank), tmp_path, *settings)
    assert found.channel("joints/bearing/q").values[-1, 0] == pytest.approx(50.0, rel=1e-12)
    assert "phase" not in [alarm.name for alarm in outcome.alarms]


FAN = """
mbsim: 1
name: fan
bodies:
  arm: {mass: 10, inertia: {principal: [1, 1, 1]}}
  fan: {mass: 0.01, inertia: {principal: [1e-6, 1e-6, 1e-6]}}
joints:
  pin: {type: revolute, child: arm, axis: [0, 1, 0], child_origin: {position: [0, 0, 1]}, q: 90 deg}
  shaft: {type: revolute, parent: arm, child: fan, axis: [0, 1, 0], v: 1000}
simulation: {duration: 2 s, step: 1 ms, integrator: semi_implicit_euler}
"""


def test_the_energy_of_another_motion_is_no_error_of_the_phase(tmp_path: Path) -> None:
    """A fan turns freely and exactly at the tip of a pendulum, whose steps cause the residual."""
    outcome, found = run(FAN, tmp_path)
    reference = run(FAN, tmp_path, "simulation.integrator=dop853")[1]
    turned = [
        sum(one.channel(f"joints/{joint}/q").values[-1, 0] for joint in ("pin", "shaft")) for one in (found, reference)
    ]
    assert turned[0] == pytest.approx(turned[1], abs=1e-9)
    assert "phase" not in [alarm.name for alarm in outcome.alarms]


TOP_ALONE = """
mbsim: 1
name: top
gravity: [0, 0, -9.81]
vars: {{w: {w}}}
bodies: {{top: {{mass: 1, inertia: {{principal: {I}}}, velocity: {{angular: "${{w}}"}}}}}}
simulation: {{duration: 1 s}}
output: {{every: {every} ms}}
"""


def turn_of_a_free_body(inertia: Sequence[float], w: Sequence[float], time: float) -> np.ndarray:
    """The quaternion of a body without torque, by Euler's equations and SciPy."""
    J = np.array(inertia)

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        u, w = y[:4], y[4:]
        turning = 0.5 * np.append(-u[1:] @ w, u[0] * w + np.cross(u[1:], w))
        return np.append(turning, -np.cross(w, J * w) / J)

    start = np.append([1.0, 0.0, 0.0, 0.0], w)
    return solve_ivp(rate, (0.0, time), start, "DOP853", rtol=1e-12, atol=1e-12).y[:4, -1]


def angle_between(u: np.ndarray, v: np.ndarray) -> float:
    return float(2.0 * math.acos(min(abs(u @ v) / np.linalg.norm(v), 1.0)))


@pytest.mark.parametrize(
    ("method", "integrator", "w", "inertia", "every"),
    [
        ("aba", "rk4", (90, 0, 900), (1, 1, 1.8), 1),
        ("aba", "rk4", (70, 0, 700), (1, 1, 1.8), 10),  # radians between output instants
        ("aba", "sdirk2", (50, 0, 500), (1, 1, 1.8), 10),
        ("aba", "linearly_implicit_euler", (5, 0, 50), (1, 1, 1.8), 10),
        ("variational", None, (35, 0, 300), (1, 1, 1.8), 10),
        ("variational_maximal", None, (90, 120, 150), (1, 1.3, 1.8), 10),
        ("redmax", "rk4", (60, 900, 9), (1, 1.3, 1.8), 10),  # about the axis of the intermediate moment of inertia
    ],
)
def test_the_error_of_a_free_rotation_is_measured(
    method: str, integrator: str | None, w: tuple[float, ...], inertia: tuple[float, ...], every: int, tmp_path: Path
) -> None:
    """Of a top alone, also on a ball joint, and of one beside another; ten times shorter steps raise no alarm."""
    top = TOP_ALONE.format(w=list(w), I=list(inertia), every=every)
    settings = [f"simulation.method={method}", *([f"simulation.integrator={integrator}"] if integrator else [])]
    other = "bodies.other={mass: 1, inertia: {principal: [1, 1, 1]}, position: [5, 0, 0]}"
    exact = turn_of_a_free_body(inertia, w, 1.0)
    ball = f"joints={{ball: {{type: spherical, child: top, v: {list(w)}}}}}"
    for more in ([], [other], [ball, "bodies.top.velocity=null"]):
        coarse, moved = run(top, tmp_path, *settings, *more)
        [alarm] = [alarm for alarm in coarse.alarms if alarm.name == "phase"]
        error = angle_between(moved.channel("bodies/top/quaternion").values[-1], exact)
        assert error > 0.05
        assert alarm.value == pytest.approx(error, rel=0.1)
        assert "`top`" in alarm.message
        assert coarse.status == ("untrusted" if alarm.value > 0.1 else "complete")
    fine, _ = run(top, tmp_path, *settings, "simulation.step=0.1 ms")
    assert "phase" not in [alarm.name for alarm in fine.alarms]


def test_bodies_that_fixed_joints_join_turn_as_one(tmp_path: Path) -> None:
    """A slender body in a nearly empty frame, turned and moved against it, and the same body alone."""
    slender = """
mbsim: 1
gravity: [0, 0, 0]
vars: {I: [0.00017231, 0.00000658, 0.00017243], w: [0.5, 200, 0.3]}
bodies:
  one: {mass: 0.12, inertia: {principal: "${I}"}, velocity: {angular: "${w}"}}
  frame:
    mass: 1e-9
    inertia: {principal: [1e-15, 1e-15, 1e-15]}
    position: [1, 0, 0]
    velocity: {angular: [0.3, 0.5, 200]}
  load: {mass: 0.12, inertia: {principal: "${I}"}}
joints:
  weld:
    type: fixed
    parent: frame
    child: load
    origin: {position: [0.1, 0.2, 0], rotation: {axis: [1, 1, 1], angle: 120 deg}}
simulation: {duration: 5, integrator: sdirk2}
output: {every: 10 ms}
"""
    outcome, moved = run(slender, tmp_path)
    [alarm] = [alarm for alarm in outcome.alarms if alarm.name == "phase"]
    exact = turn_of_a_free_body([0.00017231, 0.00000658, 0.00017243], [0.5, 200, 0.3], 5.0)
    assert alarm.value == pytest.approx(
        angle_between(moved.channel("bodies/one/quaternion").values[-1], exact), rel=0.05
    )
    assert run(slender, tmp_path, "simulation.integrator=rk4")[0].alarms == ()


@pytest.mark.parametrize(("least", "measured"), [(0.01, True), (1e-3, True), (1e-5, False), (1e-9, False)])
def test_rotors_of_no_thickness_are_not_turned(least: float, measured: bool, tmp_path: Path) -> None:
    """The bound of the speed, from the energy and the least moment of inertia, would cost too many steps."""
    scene = tmp_path / "scene.yaml"
    scene.write_text(TOP_ALONE.format(w=[3, 2, 0], I=[1, 1, least], every=10), encoding="utf-8")
    assert rotors_of(prepare(scene).compiled.model).alone.tolist() == [measured]


@pytest.mark.parametrize("method", ["variational", "variational_maximal"])
def test_the_drift_of_variational_rotors_is_estimated(method: str, tmp_path: Path) -> None:
    """A heavy top on a ball joint, and a free body with a damper: a torque acts on both."""
    held = """
mbsim: 1
name: held
bodies:
  top: {mass: 1, inertia: {principal: [1, 1, 1.8]}, com: [0, 0, 0.01]}
  free: {mass: 1, inertia: {principal: [1, 1.2, 1.8]}, velocity: {angular: [60, 80, 100]}}
joints: {ball: {type: spherical, child: top, v: [35, 0, 350]}}
forces: {drag: {body: free, viscous: {angular: 1e-6}}}
simulation: {duration: 1 s, step: 1 ms}
output: {every: 10 ms}
"""
    outcome, moved = run(held, tmp_path, f"simulation.method={method}")
    exact = run(held, tmp_path, "simulation.integrator=dop853")[1]
    errors = {
        body: angle_between(*(one.channel(f"bodies/{body}/quaternion").values[-1] for one in (moved, exact)))
        for body in ("top", "free")
    }
    [alarm] = [alarm for alarm in outcome.alarms if alarm.name == "phase"]
    body = max(errors, key=errors.get)
    assert f"`{body}`" in alarm.message
    assert 0.5 < alarm.value / errors[body] < 2.0
    fine, _ = run(held, tmp_path, f"simulation.method={method}", "simulation.step=0.1 ms")
    assert "phase" not in [alarm.name for alarm in fine.alarms]


def test_output_instants_do_not_turn_an_oscillation_into_a_rotation(tmp_path: Path) -> None:
    """A disc on a torsion spring, with an output once in a period."""
    disc = """
mbsim: 1
name: disc
gravity: [0, 0, 0]
bodies: {disc: {mass: 1, inertia: {principal: [1, 1, 1]}}}
joints: {axle: {type: revolute, child: disc, axis: [0, 0, 1], stiffness: "${(2*pi)**2}", v: "${2*pi}"}}
simulation: {duration: 20 s, step: 40 ms, integrator: rk4}
"""
    for every in ("1 s", "200 ms"):
        outcome, _ = run(disc, tmp_path, f"output.every={every}")
        assert "phase" not in [alarm.name for alarm in outcome.alarms]
