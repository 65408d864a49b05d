"""Screws: a damped nut in closed form, for any pitch and unit of length; screws that float or land, in two units.

A nut on a fixed thread has one coordinate, with the inertia J = I + m r^2 + m (p / 2 pi)^2 of the pitch p, where its
center of mass is at a distance r from the axis.  Without gravity, a damping d makes its rate v0 exp(-d t / J).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import mbsim
from multibody_cli.methods import METHODS

NUT = """
mbsim: 1
vars: {m: 1, pitch: 0}
gravity: [0, 0, 0]
bodies:
  nut:
    mass: 1
    com: ["${0.1*m}", 0, "${0.05*m}"]
    inertia: {principal: ["${0.01*m**2}", "${0.02*m**2}", "${0.02*m**2}"]}
joints:
  thread: {type: screw, child: nut, axis: [0, 0, 1], pitch: "${pitch*m}", v: 5, damping: "${0.1*m**2}"}
simulation: {duration: 0.2 s, step: 1 ms}
output: {every: 0.1 s}
"""


@pytest.mark.parametrize("m", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("pitch", [0.0, 1e-3, 0.06, -0.5, 20.0])
@pytest.mark.parametrize("method", METHODS)
def test_a_damped_nut_has_its_closed_form(method: str, pitch: float, m: float) -> None:
    """Variational steps are of second order: the rate of decay per step, at most 3e-3, is small."""
    result = mbsim.load(NUT, [f"vars.m={m}", f"vars.pitch={pitch}", f"simulation.method={method}"]).run(check=False)
    time, J = result["time"].to_numpy(), 0.02 + 0.1**2 + (pitch / math.tau) ** 2
    decay = np.exp(-0.1 * time / J)
    tolerance = 4e-6 if method.startswith("variational") else 1e-11
    np.testing.assert_allclose(np.ravel(result["joints/thread/v"]), 5 * decay, rtol=tolerance)
    np.testing.assert_allclose(np.ravel(result["joints/thread/q"]), 5 * J / 0.1 * (1 - decay), rtol=tolerance)


FLOATING = """
mbsim: 1
vars: {m: 1}
gravity: [0, 0, "${-9.81*m}"]
bodies:
  nut:
    mass: 1
    shapes: [{type: box, size: ["${0.1*m}", "${0.15*m}", "${0.2*m}"]}]
    inertia: {principal: ["${0.005*m**2}", "${0.004*m**2}", "${0.003*m**2}"]}
    velocity: {angular: [12, 8, 4]}
  rod: {mass: 1, inertia: {principal: ["${0.008*m**2}", "${0.008*m**2}", "${0.0004*m**2}"]}}
joints:
  thread:
    type: screw
    parent: nut
    child: rod
    axis: [0, 0.6, 0.8]
    pitch: "${0.06*m}"
    v: 5
    origin: {position: ["${0.1*m}", 0, 0]}
    child_origin: {position: ["${-0.05*m}", 0, "${0.1*m}"]}
simulation: {duration: 0.1 s, step: 1 ms}
output: {every: 10 ms}
"""
LOADS = {"damping": "${0.1*m**2}", "armature": "${0.02*m**2}", "stiffness": "${5*m**2}", "force": "${0.3*m**2}"}


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("method", METHODS)
def test_a_floating_screw_does_not_depend_on_the_unit_of_length(method: str, load: str) -> None:
    settings = [f"joints.thread.{load}={LOADS[load]}", f"simulation.method={method}"]
    found, expected = (mbsim.load(FLOATING, [*settings, f"vars.m={m}"]).run(check=False) for m in (1000, 1))
    for path in ("joints/thread/q", "joints/thread/v"):
        np.testing.assert_allclose(found[path], expected[path], rtol=0, atol=1e-9, err_msg=path)


FLOOR = """
world: {shapes: [{type: plane, position: [0, 0, "${-0.2*m}"]}]}
contacts: {friction: 0.4}
"""


@pytest.mark.parametrize("load", ["damping", "armature"])
@pytest.mark.parametrize("method", METHODS)
def test_a_screw_on_the_floor_does_not_depend_on_the_unit_of_length(method: str, load: str) -> None:
    """The unit is a power of two, so that rounding hardly moves the instants of impacts."""
    settings = [f"joints.thread.{load}={LOADS[load]}", f"simulation.method={method}", "simulation.duration=0.3 s"]
    found, expected = (mbsim.load(FLOATING + FLOOR, [*settings, f"vars.m={m}"]).run(check=False) for m in (1024, 1))
    assert expected["contacts/count"].max() > 0
    for path in ("joints/thread/q", "joints/thread/v"):
        np.testing.assert_allclose(found[path], expected[path], rtol=0, atol=1e-7, err_msg=path)
