"""Computed torque beside all that acts on the same coordinates: the error obeys e'' + kd e' + kp e = 0 exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import Feature
from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.simulation import prepare

ROBOT = """
mbsim: 1
name: robot
bodies:
  base: {mass: 3, inertia: {principal: [0.2, 0.3, 0.4]}}
  arm: {mass: 2, inertia: {principal: [0.1, 0.2, 0.15]}, com: [0.3, 0, 0.1]}
  fore: {mass: 1, inertia: {principal: [0.05, 0.06, 0.07]}, com: [0.2, 0.05, 0]}
  hand: {mass: 0.5, inertia: {principal: [0.01, 0.02, 0.03]}, com: [0.1, 0, 0.02]}
joints:
  slide: {type: prismatic, child: base, axis: [1, 0, 0], motion: {position: "0.2*sin(3*t)"}}
  shoulder: {type: revolute, parent: base, child: arm, axis: [0, 1, 0], stiffness: 5, rest: 0.4, damping: 0.3,
             q: 0.3, v: 0}
  elbow: {type: revolute, parent: arm, child: fore, axis: [0, 1, 1], origin: {position: [0.6, 0, 0]}, q: 0.5, v: 0,
          force: "0.7*cos(5*t)"}
  wrist: {type: universal, parent: fore, child: hand, origin: {position: [0.4, 0, 0]}, q: [0.1, -0.2], v: [0, 0]}
actuators:
  follow:
    type: computed_torque
    joints: {shoulder: "0.5*sin(t)", elbow: "0.3*cos(2*t)", wrist/0: 0, wrist/1: "0.1*t"}
    kp: 100
    kd: 20
  drive: {type: motor, joint: elbow, command: "0.5*sin(3*t)", gear: 5, rotor_inertia: 0.01, stall_torque: 1,
          no_load_speed: 100}
simulation: {duration: 0.8 s, step: 1 ms, integrator: rk4}
output: {every: 10 ms}
"""
ABLE = sorted(name for name, kind in METHODS.items() if Feature.COMPUTED_TORQUE in kind.supports)


@pytest.mark.parametrize("method", ABLE)
def test_errors_decay_as_the_gains_determine(method: str, tmp_path: Path) -> None:
    """Springs, dampers, motors with rotors, other forces and a prescribed base are all compensated."""
    scene = tmp_path / "robot.yaml"
    scene.write_text(ROBOT, encoding="utf-8")
    sink = MemorySink()
    outcome = prepare(scene, [f"simulation.method={method}"]).run(sink).outcome
    assert outcome.status == "complete"
    found = sink.trajectory()
    t = found.time
    targets = {"shoulder": 0.5 * np.sin(t), "elbow": 0.3 * np.cos(2.0 * t), "wrist": np.stack([0.0 * t, 0.1 * t], 1)}
    rates = {"shoulder": 0.5, "elbow": 0.0, "wrist": np.array([0.0, 0.1])}
    for joint, target in targets.items():
        error = target.reshape(len(t), -1) - found.channel(f"joints/{joint}/q").values
        e0 = error[0]
        decay = np.exp(-10.0 * t)[:, None]
        np.testing.assert_allclose(error, (e0 + (rates[joint] + 10.0 * e0) * t[:, None]) * decay, rtol=0.0, atol=1e-7)

    spring_and_damper = (
        5.0 * (found.channel("joints/shoulder/q").values - 0.4) + 0.3 * found.channel("joints/shoulder/v").values
    )
    record = found.channel("actuators/follow/force")
    assert record.labels == (("shoulder", "elbow", "wrist/0", "wrist/1"),)
    moment = found.channel("joints/shoulder/force").values[:, 1]
    np.testing.assert_allclose(record.values[:, 0], moment + spring_and_damper[:, 0], rtol=0.0, atol=1e-9)
