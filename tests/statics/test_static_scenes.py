"""Equilibria of scenes: limits, loops, prescribed motions, muscles, files, and the methods that start there."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import mbsim
from multibody_cli.errors import ArgumentError, RunFailed
from multibody_cli.methods import METHODS
from multibody_cli.output.trajectory import read_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

GALLERY = Path(__file__).parents[2] / "scenes/gallery"

FOURBAR = """mbsim: 1
name: fourbar
gravity: [0, 0, -9.81]
bodies:
  crank: {mass: 1, com: [0.5, 0, 0], inertia: {principal: [0.02, 0.1, 0.1]}}
  coupler: {mass: 2, com: [1, 0, 0], inertia: {principal: [0.02, 0.7, 0.7]}}
  rocker: {mass: 1.5, com: [0.75, 0, 0], inertia: {principal: [0.02, 0.3, 0.3]}}
joints:
  a: {type: revolute, axis: [0, -1, 0], child: crank, q: %r, stiffness: 12}
  b: {type: revolute, axis: [0, -1, 0], parent: crank, child: coupler, origin: {position: [1, 0, 0]}, q: %r}
  d: {type: revolute, axis: [0, -1, 0], child: rocker, origin: {position: [2.2, 0, 0]}, q: %r}
  c: {type: revolute, axis: [0, -1, 0], parent: coupler, child: rocker, origin: {position: [2, 0, 0]},
      child_origin: {position: [1.5, 0, 0]}}
springs:
  pull: {stiffness: 40, rest_length: 0.4,
         between: [{body: world, point: [1.1, 0, 2.5]}, {body: coupler, point: [1, 0, 0]}]}
simulation: {duration: 0.2 s, step: 1 ms, method: %s}
"""


def fourbar(angle: float, method: str = "aba") -> str:
    P, _ = tips(angle)
    coupler, rocker = directions(angle)
    assert np.isclose(np.hypot(*P), 1.0)
    return FOURBAR % (angle, coupler - angle, rocker, method)


def tips(angle: complex) -> tuple[np.ndarray, np.ndarray]:
    """Return the tips of crank and rocker, in the plane, by the intersection of two circles."""
    P, D = np.array([np.cos(angle), np.sin(angle)]), np.array([2.2, 0.0])
    d = D - P
    square = d @ d
    along = (square + 2.0**2 - 1.5**2) / (2.0 * square)
    across = np.sqrt(2.0**2 / square - along**2)
    return P, P + along * d + across * np.array([-d[1], d[0]])


def directions(angle: float) -> tuple[float, float]:
    P, Q = tips(angle)
    return math.atan2(*(Q - P)[::-1]), math.atan2(Q[1], Q[0] - 2.2)


def energy(angle: complex) -> complex:
    P, Q = tips(angle)
    middle = (P + Q) / 2.0
    away = middle - np.array([1.1, 2.5])
    heights = 1.0 * P[1] / 2.0 + 2.0 * middle[1] + 1.5 * Q[1] / 2.0
    return 9.81 * heights + 6.0 * angle**2 + 20.0 * (np.sqrt(away @ away) - 0.4) ** 2


def test_a_fourbar_with_springs_is_where_the_energy_of_one_angle_is_least() -> None:
    """An independent formulation: circles intersect, and a complex step differentiates the energy."""
    slope = lambda angle: energy(complex(angle, 1e-30)).imag / 1e-30  # noqa: E731
    exact = brentq(slope, 0.3, 2.0, xtol=1e-15, rtol=1e-14)
    found = mbsim.equilibrium(fourbar(0.9))
    assert found["a"] == pytest.approx(exact, rel=1e-11)
    assert (found.stability, len(found.found.stiffness)) == ("stable", 1)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_from_the_written_scene_stays_at_rest(method: str, tmp_path: Path) -> None:
    target, result = tmp_path / "still.yaml", tmp_path / "still.h5"
    found = mbsim.equilibrium(fourbar(0.9, method), write=target, output=result)
    written = mbsim.load(target)
    assert written.prepared.scene.simulation.method == method
    run = written.run(channels=["joints/a/q", "joints/c/q", "bodies/coupler/linear_velocity"])
    np.testing.assert_allclose(run["joints/a/q"], found["a"], atol=1e-9)
    np.testing.assert_allclose(run["bodies/coupler/linear_velocity"], 0.0, atol=1e-8)
    recorded = read_trajectory(result)
    assert recorded.time.tolist() == [0.0]
    assert recorded.channel("joints/a/q").values[0] == found["a"]
    np.testing.assert_allclose(recorded.channel("joints/a/acceleration").values, 0.0, atol=1e-10)


def hinge(fields: str, rest: str = "") -> str:
    return f"""mbsim: 1
gravity: [0, 0, -9.81]
bodies: {{rod: {{mass: 2, com: [0.5, 0, 0], inertia: {{principal: [0.1, 0.1, 0.1]}}}}}}
joints: {{hinge: {{type: revolute, axis: [0, 1, 0], child: rod, {fields}}}}}
simulation: {{duration: 1 s, step: 1 ms}}
{rest}"""


def test_limits_press_or_are_open() -> None:
    pressed = mbsim.equilibrium(hinge("q: 0.1, limits: [-1, 0.7]"))
    assert pressed["hinge"] == pytest.approx(0.7, abs=1e-14)
    assert [row.force for row in pressed.rows] == pytest.approx([9.81 * math.cos(0.7)], rel=1e-13)
    assert (pressed.stability, pressed.open) == ("stable", ())
    free = mbsim.equilibrium(hinge("q: 0.1, limits: [-1, 2]"))
    assert (free["hinge"], free.rows, free.open) == (pytest.approx(math.pi / 2), (), ("joints.hinge",))
    # the limit is left, although the start is on it
    left = mbsim.equilibrium(hinge("q: 2, limits: [-1, 2]"))
    assert (left["hinge"], left.rows) == (pytest.approx(math.pi / 2, abs=1e-12), ())


def test_prescribed_coordinates_have_their_values_at_the_instant() -> None:
    text = """mbsim: 1
gravity: [0, 0, -9.81]
bodies:
  arm: {mass: 1, com: [0.5, 0, 0], inertia: {principal: [0.1, 0.1, 0.1]}}
  rod: {mass: 3, com: [0.4, 0, 0], inertia: {principal: [0.1, 0.1, 0.1]}}
joints:
  lift: {type: revolute, axis: [0, -1, 0], child: arm, motion: {position: "0.5*t"}}
  hook: {type: revolute, axis: [0, -1, 0], parent: arm, child: rod, origin: {position: [1, 0, 0]}}
simulation: {duration: 5 s, step: 1 ms}
"""
    for time in (0.0, 2.0):
        found = mbsim.equilibrium(text, at=time)
        assert (found.time, found["lift"]) == (time, 0.5 * time)
        assert found["hook"] == pytest.approx(-math.pi / 2 - 0.5 * time, abs=1e-12)
        assert found.drives["lift"] == pytest.approx((0.5 + 3.0) * 9.81 * math.cos(0.5 * time), rel=1e-12)


def test_muscles_hold_a_weight_with_their_activation() -> None:
    name, still = GALLERY / "elastic_tendon.yaml", {"expect": []}
    found = mbsim.equilibrium(name, overrides=still)
    assert (found.stability, found.found.residual < 1e-13) == ("stable", True)
    run = mbsim.load(name, still).run(check=False)  # its pulses are over, and it rests
    joint = found.coordinates[0].name
    assert run[f"joints/{joint}/q"].values[-1].item() == pytest.approx(found[joint], abs=1e-4)


def test_an_elastic_cable_over_pegs_and_a_bushing_balance() -> None:
    for scene in ("bushing", "shapes", "springs_of_rotations", "arm_muscles", "leg_muscles", "torus_chain"):
        found = mbsim.equilibrium(GALLERY / f"{scene}.yaml")
        assert found.found.residual < 1e-13
        assert found.stability in ("stable", "neutral")


def test_rates_of_a_steady_motion_must_be_possible() -> None:
    with pytest.raises(RunFailed, match="does not allow constant rates of `a` while all other coordinates rest"):
        mbsim.equilibrium(fourbar(0.9), steady={"a": 1.0})
    with pytest.raises(ArgumentError, match="--steady e: no coordinate `e` that can have a constant rate"):
        mbsim.equilibrium(fourbar(0.9), steady={"e": 1.0})


def test_a_steady_top_leans_as_in_textbooks() -> None:
    """A top with spin s about its axis precesses steadily with w at the angle a if

    (C (s + w cos a) - A w cos a) w = m g h,   with A about the pivot.

    The precession, the lean and the spin are hinges in series.
    """
    m, h, A, C, w, spin = 2.0, 0.3, 0.25, 0.05, 3.0, 50.0
    text = f"""mbsim: 1
gravity: [0, 0, -9.81]
bodies:
  gimbal: {{mass: 0, inertia: {{principal: [0, 0, 0]}}}}
  fork: {{mass: 0, inertia: {{principal: [0, 0, 0]}}}}
  top: {{mass: {m}, com: [0, 0, {h}], inertia: {{principal: [{A - m * h * h}, {A - m * h * h}, {C}]}}}}
joints:
  precession: {{type: revolute, axis: [0, 0, 1], child: gimbal}}
  lean: {{type: revolute, axis: [0, 1, 0], parent: gimbal, child: fork, q: 0.5}}
  spin: {{type: revolute, axis: [0, 0, 1], parent: fork, child: top}}
simulation: {{duration: 1 s, step: 1 ms}}
"""
    exact = math.acos((m * 9.81 * h / w - C * spin) / ((C - A) * w))
    found = mbsim.equilibrium(text, steady={"precession": w, "spin": spin})
    assert found["lean"] == pytest.approx(exact, rel=1e-12)
    assert found.drives == {"precession": pytest.approx(0.0, abs=1e-11), "spin": pytest.approx(0.0, abs=1e-11)}


def test_contacts_have_no_steady_motion() -> None:
    with pytest.raises(ArgumentError, match="--steady: contacts and dry friction have no steady motion here"):
        mbsim.equilibrium(GALLERY / "falling_boxes.yaml", steady={"plate": 1.0})
