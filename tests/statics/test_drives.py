"""Drives as inputs of linear systems, by closed forms."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import ArgumentError

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

SETTINGS = "simulation: {duration: 1 s, step: 1 ms}\n"


def cart(motion: str, angle: float = 0.0) -> str:
    """Return a pendulum of 0.5 m on a driven cart."""
    return f"""mbsim: 1
bodies:
  cart: {{mass: 3, inertia: {{principal: [1, 1, 1]}}}}
  bob: {{mass: 2, com: [0, 0, -0.5], inertia: {{principal: [0, 0, 0]}}}}
joints:
  rail: {{type: prismatic, axis: [1, 0, 0], child: cart, motion: {{{motion}}}}}
  hinge: {{type: revolute, axis: [0, -1, 0], parent: cart, child: bob, q: {angle}}}
{SETTINGS}"""


@pytest.mark.parametrize("motion", ["position: 0", "velocity: 0.3", "acceleration: 0", 'position: "0.1*t"'])
def test_a_driven_cart_moves_its_pendulum(motion: str) -> None:
    """q'' = -g/l q - a/l, and the bob is at x + l q."""
    system = mbsim.linearize(cart(motion), inputs=["drive/rail"], outputs=["joints/hinge/q", "bodies/bob/com[x]"])
    assert (system.inputs, system.states) == (("drive/rail",), ("q/hinge", "v/hinge", "q/rail", "v/rail"))
    g, length, s = 9.81, 0.5, np.array([1j, 3j, 2 + 5j])
    angle = -1.0 / length / (s**2 + g / length)
    np.testing.assert_allclose(system.response(s)[:, 0, 0], angle, rtol=1e-9)
    np.testing.assert_allclose(system.response(s)[:, 1, 0], 1.0 / s**2 + length * angle, rtol=1e-9)


@pytest.mark.parametrize("inputs", [("drive/rail", "force/hinge"), ("force/hinge", "drive/rail")])
def test_forces_and_drives_are_inputs_in_any_order(inputs: tuple[str, ...]) -> None:
    system = mbsim.linearize(cart("position: 0"), inputs=inputs, outputs=["joints/hinge/q"])
    assert system.inputs == inputs
    s, gains = np.array([2j]), {"force/hinge": 1.0 / (2.0 * 0.5**2), "drive/rail": -1.0 / 0.5}
    exact = np.array([gains[name] for name in inputs]) / (s**2 + 9.81 / 0.5)
    np.testing.assert_allclose(system.response(s)[0, 0], exact, rtol=1e-9)


@pytest.mark.parametrize("equilibrium", [False, True])
def test_a_base_excites_its_mass(equilibrium: bool) -> None:
    """The transmissibility (d s + k)/(m s^2 + d s + k) of the position of the base."""
    m, d, k = 2.0, 3.0, 50.0
    rail = "type: prismatic, axis: [1, 0, 0]"
    system = mbsim.linearize(
        f"""mbsim: 1
gravity: [0, 0, 0]
bodies: {{base: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}, box: {{mass: {m}, inertia: {{principal: [1, 1, 1]}}}}}}
joints:
  base: {{{rail}, child: base, motion: {{position: 0}}}}
  box: {{{rail}, child: box}}
springs: {{s: {{stiffness: {k}, damping: {d}, rest_length: 1,
           between: [{{body: base, point: [-1, 0, 0]}}, {{body: box}}]}}}}
{SETTINGS}""",
        inputs=["drive/base"],
        outputs=["joints/box/q"],
        equilibrium=equilibrium,
    )
    s = np.array([1j, 5j, 20j])
    np.testing.assert_allclose(system.response(s)[:, 0, 0] * s**2, (d * s + k) / (m * s**2 + d * s + k), rtol=1e-9)


def test_a_driven_crank_moves_its_loop() -> None:
    """With a prescribed crank, the rocker follows as the circles that close the loop: dq_d/dq_a, by a complex step."""
    fourbar: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("test_static_scenes.py")))
    text = fourbar["fourbar"](0.9).replace("stiffness: 12", "motion: {position: 0.9}").replace("q: 0.9, ", "")
    system = mbsim.linearize(text, inputs=["drive/a"], outputs=["joints/d/q"])
    assert system.states == ("q/a", "v/a")
    Q = fourbar["tips"](complex(0.9, 1e-30))[1]
    angle = np.arctan(Q[1] / (Q[0] - 2.2))
    s = np.array([2j])
    assert system.response(s)[0, 0, 0] * s[0] ** 2 == pytest.approx(angle.imag / 1e-30, rel=1e-9)
    assert math.isfinite(system.D[0, 0])


def test_a_drive_moves_what_a_gear_holds_to_it() -> None:
    """A gear turns a shaft with the prescribed one, and a pendulum is on a torsional spring of the shaft.

    Exact derivatives of the drive follow the gear, in positions and rates: with the angle b of the shaft,
    the pendulum at r to it has I (b'' + r'') = -k r - m g l (b + r) - d l^2 (b' + r').
    """
    k, inertia, m, length, d = 30.0, 0.4, 1.5, 0.7, 5.0
    axis = "type: revolute, axis: [0, 1, 0]"
    disc = f"inertia: {{principal: {[inertia] * 3}}}"
    system = mbsim.linearize(
        f"""mbsim: 1
gravity: [0, 0, -10]
bodies:
  a: {{mass: 1, {disc}}}
  b: {{mass: 1, {disc}}}
  bob: {{mass: {m}, com: [0, 0, {-length}], {disc}}}
joints:
  a: {{{axis}, child: a, motion: {{position: 0}}}}
  b: {{{axis}, child: b}}
  bob: {{{axis}, parent: b, child: bob, stiffness: {k}}}
couplings: {{gear: {{type: gear, joints: [a, b], ratio: -1}}}}
springs:
  damper: {{stiffness: 0, damping: {d}, rest_length: 1,
           between: [{{body: world, point: [-1, 0, {-length}]}}, {{body: bob, point: [0, 0, {-length}]}}]}}
simulation: {{duration: 1 s, step: 1 ms}}
""",
        inputs=["drive/a"],
        outputs=["joints/bob/q"],
    )
    assert (system.derivatives, system.states) == ("exact", ("q/bob", "v/bob", "q/a", "v/a"))
    s = np.array([1j, 3j, 20j])
    turning = (inertia + m * length**2) * s**2 + d * length**2 * s + m * 10 * length
    np.testing.assert_allclose(np.abs(system.response(s)[:, 0, 0]), np.abs(turning / (turning + k) / s**2), rtol=1e-11)


def test_names_of_drives() -> None:
    assert mbsim.linearize(cart("position: 0")).inputs == ("force/hinge",)
    with pytest.raises(ArgumentError, match="--input drive/hinge: no such drive"):
        mbsim.linearize(cart("position: 0"), inputs=["drive/hinge"])
