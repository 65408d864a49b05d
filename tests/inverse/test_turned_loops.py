"""Kinematics and inverse dynamics of loops that are turned against the axes: their redundant rows are round-off."""

from __future__ import annotations

import numpy as np
import pytest

import mbsim

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

TURNS = ["[0, 0, 0]", "[1.0e-6, 0, 0]", "[30 deg, 0, 0]", "[90 deg, 0, 0]", "[0.3, 0.4, 0.5]"]

BODY = "{mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}}"


def parallelogram(turn: str, drive: str) -> str:
    """Return two cranks of 0.5 m and their coupler, whose ground is turned; all centers of mass are on the hinges."""
    return f"""mbsim: 1
gravity: [0, 0, 0]
bodies: {{a: {BODY}, b: {BODY}, c: {BODY}, ground: {BODY}}}
joints:
  base: {{type: fixed, child: ground, origin: {{rotation: {{euler: {turn}}}}}}}
  j1: {{type: revolute, axis: [0, 1, 0], parent: ground, child: a, {drive}}}
  j2: {{type: revolute, axis: [0, 1, 0], parent: a, child: c, origin: {{position: [0, 0, 0.5]}}, q: -0.2}}
  j3: {{type: revolute, axis: [0, 1, 0], parent: ground, child: b, origin: {{position: [0.5, 0, 0]}}, q: 0.2}}
  j4: {{type: revolute, axis: [0, 1, 0], parent: b, child: c, origin: {{position: [0, 0, 0.5]}},
    child_origin: {{position: [0.5, 0, 0]}}}}
simulation: {{duration: 1 s, step: 1 ms, integrator: rk4}}
output: {{every: 10 ms}}
"""


@pytest.mark.parametrize("turn", TURNS)
def test_the_coupler_of_a_parallelogram_does_not_turn(turn):
    """Its hinge on the crank turns back as the crank turns."""
    found = mbsim.kinematics(parallelogram(turn, 'motion: {position: "0.2 + 0.5*t*t"}'))
    j2, t = [one.name for one in found.coordinates].index("j2"), found.times
    np.testing.assert_allclose(found.q[:, j2], -0.2 - 0.5 * t**2, atol=1e-13)
    np.testing.assert_allclose(found.v[:, j2], -t, atol=1e-13)
    np.testing.assert_allclose(found.a[:, j2], -1.0, atol=1e-12)


@pytest.mark.parametrize("turn", TURNS)
def test_the_torque_of_a_run_on_a_turned_parallelogram(turn, tmp_path):
    """Both cranks turn, and the coupler is carried on a circle: 2 I + m r^2 = 0.45 kg m2."""
    run = mbsim.load(parallelogram(turn, 'q: 0.2, force: "0.9*cos(2*t)"')).run(tmp_path / "run.h5")
    t = run["time"].values
    np.testing.assert_allclose(run["joints/j1/q"].values[:, 0], 0.2 + 0.5 * (1.0 - np.cos(2.0 * t)), atol=1e-9)
    found = mbsim.inverse(parallelogram(turn, "q: 0.2"), tmp_path / "run.h5", on=["j1"])
    np.testing.assert_allclose(found.forces[:, 0], 0.9 * np.cos(2.0 * found.times), atol=1e-6)
