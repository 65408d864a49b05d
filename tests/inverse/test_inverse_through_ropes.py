"""Inverse dynamics and kinematics through ropes: the hoist of a hook on a loose pulley, with closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbsim

R, INERTIA, M, G = 0.1, 0.02, 10.0, 9.81

HOIST = f"""
mbsim: 1
name: hoist
bodies:
  drum: {{mass: 2, inertia: {{principal: [{INERTIA}, {INERTIA}, {INERTIA}]}}}}
  hook: {{mass: {M}, inertia: {{principal: [0.1, 0.1, 0.1]}}}}
joints:
  drum: {{type: revolute, axis: [0, 1, 0], child: drum}}
  hook: {{type: prismatic, axis: [0, 0, 1], child: hook, origin: {{position: [0.2, 0, -2]}}}}
constraints:
  rope:
    type: rope
    over:
      - {{body: drum, radius: {R}, axis: [0, 1, 0]}}
      - {{body: hook, radius: 0.1, axis: [0, 1, 0], sense: -1, slides: true}}
      - {{body: world, point: [0.3, 0, 0]}}
simulation: {{duration: 1 s, step: 1 ms, integrator: rk4}}
output: {{every: 10 ms}}
"""

TIMES = np.linspace(0.0, 1.0, 101)


def lift(path: Path, height: float, rate: float) -> Path:
    """Write the motion height (1 - cos(rate t))/2 of the hook."""
    z = height * (1.0 - np.cos(rate * TIMES)) / 2.0
    rows = [f"{t:.2f},{one:.15g}" for t, one in zip(TIMES, z, strict=True)]
    path.write_text("\n".join(["time (s),hook (m)", *rows, ""]))
    return path


def test_a_taut_rope_carries_the_forces_of_a_motion(tmp_path: Path) -> None:
    """The winch pulls half of the weight and inertia of the hook, and turns twice as far: q = -2 z/r."""
    motion = lift(tmp_path / "lift.csv", 0.4, np.pi)
    found = mbsim.inverse(HOIST, motion, on=["drum"], output=tmp_path / "lift.h5")
    a = 0.2 * np.pi**2 * np.cos(np.pi * TIMES)
    tension = M * (G + a) / 2.0
    inner = slice(10, -10)  # a natural spline has another fourth derivative at its ends
    assert found.remarks == ()
    assert [one.name for one in found.coordinates] == ["drum"]
    expected = -(R * tension + INERTIA * 2.0 * a / R)
    np.testing.assert_allclose(found.force("drum")[inner], expected[inner], rtol=1e-5)
    recorded = mbsim.read(tmp_path / "lift.h5")
    np.testing.assert_allclose(recorded["constraints/rope/multiplier"].values[inner, 0], tension[inner], rtol=1e-5)
    z = recorded["joints/hook/q"].values
    np.testing.assert_allclose(recorded["joints/drum/q"].values, -2.0 * z / R, atol=1e-8)


def test_a_taut_rope_moves_its_drum_in_kinematics(tmp_path: Path) -> None:
    """The drum follows the hook, without a column of its own."""
    found = mbsim.kinematics(HOIST, lift(tmp_path / "lift.csv", 0.4, np.pi))
    q = dict(zip((one.name for one in found.coordinates), found.q.T, strict=True))
    assert found.held == ()
    np.testing.assert_allclose(q["drum"], -2.0 * q["hook"] / R, atol=1e-8)


def test_forces_of_a_run_with_a_taut_rope_vanish(tmp_path: Path) -> None:
    """The hook falls and unwinds the rope: no force on a coordinate causes this motion."""
    run = mbsim.load(HOIST).run(tmp_path / "fall.h5")
    found = mbsim.inverse(HOIST, tmp_path / "fall.h5")
    assert float(run["constraints/rope/multiplier"].min()) > 1.0
    assert np.abs(found.forces).max() < 1e-9
    assert found.remarks == ()


def test_a_rope_that_would_press_is_reported(tmp_path: Path) -> None:
    """The hook cannot be thrown down faster than it falls: T = m (g + a)/2 < 0."""
    found = mbsim.inverse(HOIST, lift(tmp_path / "throw.csv", -1.6, 2.0 * np.pi), on=["drum"])
    least = M * (G - 0.8 * (2.0 * np.pi) ** 2) / 2.0
    [remark] = found.remarks
    assert remark.startswith("constraints.rope would have to press, along it, at 40 of 101 instants, by 109 N at t = ")
    assert least == pytest.approx(-109.0, abs=0.5)


def test_a_slack_rope_has_no_force(tmp_path: Path) -> None:
    """It determines no coordinate: the drum is held, and the force acts on the hook."""
    motion = lift(tmp_path / "lift.csv", 0.02, np.pi)
    found = mbsim.inverse(HOIST, motion, overrides={"constraints.rope.slack": [0.1]})
    assert found.held == ("drum",)
    assert found.force("hook")[50] == pytest.approx(M * G, rel=1e-4)


def test_a_rope_that_becomes_taut_is_reported(tmp_path: Path) -> None:
    """The hook falls into a slack rope, which then acts without a force here."""
    slack = {"constraints.rope.slack": [0.2], "joints.drum.motion": {"velocity": 0.0}}
    mbsim.load(HOIST, slack).run(tmp_path / "caught.h5")
    found = mbsim.inverse(HOIST, tmp_path / "caught.h5", overrides=slack)
    [remark] = found.remarks
    assert "constraints.rope is reached, along it, at" in remark
    assert "has no force here" in remark


def test_forces_through_a_rope_in_one_state() -> None:
    """The moment on the drum that holds the hook."""
    sim = mbsim.Simulation(mbsim.load(HOIST))
    found = sim.inverse_dynamics(np.zeros(2), on=["drum"])
    np.testing.assert_allclose(found, [-R * M * G / 2.0, 0.0], rtol=1e-9)


WINDING = """
mbsim: 1
name: winding
gravity: [0, 0, 0]
bodies:
  arm: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}}
  puck: {mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}}
joints:
  hinge: {type: revolute, axis: [0, 0, 1], child: arm, v: 4}
  slide: {type: prismatic, axis: [1, 0, 0], parent: arm, child: puck, q: 1, v: "${4*0.05/sqrt(1 - 0.05**2)}"}
constraints:
  rope:
    type: rope
    over:
      - {body: puck}
      - {body: world, radius: 0.05, axis: [0, 0, 1], slides: true, turns: 4}
      - {body: world, point: [0, -2, 0]}
simulation: {duration: 2 s, step: 1 ms, integrator: rk4}
output: {every: 10 ms}
"""


def test_turns_of_a_rope_count_along_a_motion(tmp_path: Path) -> None:
    """The arm unwinds the rope from a post by more than a turn: s = sqrt(x^2 - r^2) grows by r per radian.

    Beyond the angle of the tangent, atan2(r, s), which changes with s.
    """
    rows = [f"{t:.2f},{4.0 * t:.15g}" for t in np.linspace(0.0, 2.0, 41)]
    (tmp_path / "wind.csv").write_text("\n".join(["time (s),hinge (rad)", *rows, ""]))
    found = mbsim.kinematics(WINDING, tmp_path / "wind.csv")
    q = dict(zip((one.name for one in found.coordinates), found.q.T, strict=True))
    s = np.sqrt(q["slide"] ** 2 - 0.05**2)
    unwound = q["hinge"] + np.arctan2(s, 0.05) - np.arctan2(s[0], 0.05)
    np.testing.assert_allclose(s - s[0], 0.05 * unwound, rtol=0, atol=1e-9)
    assert unwound[-1] > 1.2 * 2.0 * np.pi
    mbsim.load(WINDING).run(tmp_path / "wind.h5")
    assert np.abs(mbsim.inverse(WINDING, tmp_path / "wind.h5").forces).max() < 1e-8
