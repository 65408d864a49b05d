"""Stability under circulatory forces, which have no potential, by characteristic polynomials."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import mbsim
from multibody_cli.initial.linearized_motion import Complex
from multibody_cli.studies.vibration.modes import Modes

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

SETTINGS = "simulation: {duration: 1 s, step: 1 ms}\n"


ROUND_OFF = 1e-9


def ordered(exponents: Sequence[complex] | Complex) -> Complex:
    """One of each pair, by the frequency, then by the growth."""
    found = np.asarray(exponents)
    found = found[found.imag > -ROUND_OFF]
    return found[np.lexsort((found.real, np.round(found.imag, 6)))]


def exponents(found: Modes) -> Complex:
    return ordered([mode.exponent for mode in found.modes])


def grows(found: Modes) -> bool:
    return any(mode.exponent.real > ROUND_OFF for mode in found.modes)


def crossed(cross: float) -> str:
    return f"""mbsim: 1
gravity: [0, 0, 0]
bodies:
  a: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  b: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
joints:
  x: {{type: prismatic, axis: [1, 0, 0], child: a, stiffness: 100}}
  y: {{type: prismatic, axis: [1, 0, 0], child: b, stiffness: 120}}
actuators:
  c: {{type: general, joint: x, force: "{cross}*joints.y.q"}}
  d: {{type: general, joint: y, force: "{-cross}*joints.x.q"}}
{SETTINGS}"""


@pytest.mark.parametrize("cross", [0.0, 9.0, 11.0, 30.0, -30.0])
def test_two_masses_with_cross_forces_flutter_beyond_half_of_the_difference_of_their_springs(cross: float) -> None:
    """(s^2 + k1)(s^2 + k2) + e^2 = 0: s^2 is complex for 2 |e| > k2 - k1."""
    found = mbsim.modes(crossed(cross), equilibrium=True)
    np.testing.assert_allclose(exponents(found), ordered(np.roots([1, 0, 220, 0, 12000 + cross**2])), rtol=0, atol=1e-9)
    assert grows(found) == (2 * abs(cross) > 20)
    assert mbsim.equilibrium(crossed(cross)).stability == ("unknown" if cross else "stable")


def column(load: float) -> str:
    """Ziegler's column: masses 2 and 1 on rods and rotational springs of 1, with a load along the upper rod."""
    return f"""mbsim: 1
gravity: [0, 0, 0]
bodies:
  a: {{mass: 2, com: [1, 0, 0], inertia: {{principal: [0, 0, 0]}}}}
  b: {{mass: 1, com: [1, 0, 0], inertia: {{principal: [0, 0, 0]}}}}
joints:
  j: {{type: revolute, axis: [0, 1, 0], child: a, stiffness: 1}}
  k: {{type: revolute, axis: [0, 1, 0], parent: a, child: b, origin: {{position: [1, 0, 0]}}, stiffness: 1}}
forces:
  p: {{body: b, point: [1, 0, 0], force: [{-load!r}, 0, 0], frame: body}}
{SETTINGS}"""


LIMIT = 3.5 - math.sqrt(2)


@pytest.mark.parametrize("load", [0.0, 1.0, 2.08, LIMIT - 1e-4, LIMIT + 1e-4, 3.0])
def test_the_column_of_ziegler_flutters_beyond_its_limit(load: float) -> None:
    """2 s^4 + (7 - 2 P) s^2 + 1 = 0 (Ziegler 1952); the symmetric part of the stiffness says nothing: see P = 2.08."""
    found = mbsim.modes(column(load), equilibrium=True)
    np.testing.assert_allclose(exponents(found), ordered(np.roots([2, 0, 7 - 2 * load, 0, 1])), rtol=0, atol=1e-9)
    assert [mode.kind for mode in found.modes] == ["oscillates"] * 2
    assert grows(found) == (load > LIMIT)
    assert mbsim.equilibrium(column(load)).stability == ("unknown" if load else "stable")


def rotor(rate: float) -> str:
    """A shaft with internal damping of 5 and external damping of 2, driven at a rate."""
    return f"""mbsim: 1
gravity: [0, 0, 0]
bodies:
  hub: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  x: {{mass: 0, inertia: {{principal: [0, 0, 0]}}}}
  disc: {{mass: 2, inertia: {{principal: [0, 0, 0]}}}}
joints:
  spin: {{type: revolute, axis: [0, 0, 1], child: hub, motion: {{velocity: {rate}}}}}
  jx: {{type: prismatic, axis: [1, 0, 0], parent: hub, child: x, stiffness: 800, damping: 5}}
  jy: {{type: prismatic, axis: [0, 1, 0], parent: x, child: disc, stiffness: 800, damping: 5}}
forces:
  air: {{body: disc, viscous: {{linear: 2}}}}
{SETTINGS}"""


def whirls(rate: float) -> Complex:
    """In axes that turn, m z'' + (ci + ce + 2 i m W) z' + (k - m W^2 + i ce W) z = 0."""
    m, k, ci, ce = 2, 800, 5, 2
    found = np.roots([m, ci + ce + 2j * m * rate, k - m * rate**2 + 1j * ce * rate])
    return ordered(found.real + 1j * np.abs(found.imag))


@pytest.mark.parametrize("rate", [0.0, 20.0, 27.9, 28.1, -28.1])
def test_a_driven_shaft_with_internal_damping_whirls_beyond_its_limit(rate: float) -> None:
    """The limit is sqrt(k/m) (1 + ce/ci) = 28 rad/s, as with a free spin."""
    found = mbsim.modes(rotor(rate), steady={"spin": None})
    np.testing.assert_allclose(exponents(found), whirls(rate), rtol=0, atol=1e-8)
    assert grows(found) == (abs(rate) > 28)
