"""Modes of small motions with closed forms, printed digits, or an independent formulation."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbsim
from multibody_cli.kernel import Floats
from multibody_cli.studies.vibration.modes import Modes

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

BICYCLE = runpy.run_path(str(Path(__file__).parents[1] / "physics/test_bicycle.py"))
SETTINGS = "simulation: {duration: 1 s, step: 1 ms}\n"


def frequencies(found: Modes) -> Floats:
    return np.array([mode.damped_frequency for mode in found.modes])


def chain(count: int, m: float, k: float, damping: float = 0.0) -> str:
    bodies = "".join(f"  b{i}: {{mass: {m}, inertia: {{principal: [1, 1, 1]}}}}\n" for i in range(count))
    joints = "".join(
        f"  j{i}: {{type: prismatic, axis: [1, 0, 0], child: b{i}, stiffness: {k}, damping: {damping}"
        + (f", parent: b{i - 1}}}\n" if i else "}\n")
        for i in range(count)
    )
    return f"mbsim: 1\ngravity: [0, 0, 0]\nbodies:\n{bodies}joints:\n{joints}{SETTINGS}"


def governor(at: float, q: float, motion: str = "") -> str:
    """A slider of 0.5 kg on a spring of 200 N/m and a hub of 0.1 kg m^2, which turns freely or by a motion."""
    return f"""mbsim: 1
gravity: [0, 0, 0]
bodies:
  hub: {{mass: 1, inertia: {{principal: [0.1, 0.1, 0.1]}}}}
  slider: {{mass: 0.5, inertia: {{principal: [1e-3, 1e-3, 1e-3]}}}}
joints:
  spin: {{type: revolute, axis: [0, 0, 1], child: hub{motion}}}
  radial: {{type: prismatic, axis: [1, 0, 0], parent: hub, child: slider, stiffness: 200, q: {q},
    origin: {{position: [{at}, 0, 0]}}}}
{SETTINGS}"""


@pytest.mark.parametrize(("rate", "at"), [(0.0, 0.1), (10.0, 0.1), (18.0, 0.1), (25.0, -0.1)])
def test_a_rate_that_no_motion_holds_varies_with_the_momentum(rate: float, at: float) -> None:
    """w^2 = k/m - W^2 + 4 m r^2 W^2/(J + m r^2) of a free hub, k/m - W^2 of one with a motion, also where it grows."""
    k, m, J = 200.0, 0.5, 0.101
    r = k * at / (k - m * rate**2)
    free, held = governor(at, r - at), governor(at, r - at, f", motion: {{velocity: {rate}}}")
    for scene, steady, square in (
        (free, rate, k / m - rate**2 + 4 * m * r**2 * rate**2 / (J + m * r**2)),
        (held, None, k / m - rate**2),
    ):
        mode = mbsim.modes(scene, steady={"spin": steady}).modes[-1]
        assert abs(mode.exponent) == pytest.approx(math.sqrt(abs(square)), rel=1e-9)
        assert mode.kind == ("oscillates" if square > 0 else "grows")


@pytest.mark.parametrize("power", [-2, -3, -4])
def test_a_circular_orbit_has_the_exponents_of_its_force(power: int) -> None:
    """w^2 = (3 + p) W^2 under an attraction r^p: a Kepler orbit oscillates at its own rate, and p < -3 is unstable."""
    scene = f"""mbsim: 1
gravity: [0, 0, 0]
bodies:
  arm: {{mass: 1e-9, inertia: {{principal: [1e-12, 1e-12, 1e-12]}}}}
  planet: {{mass: 1, inertia: {{principal: [1e-12, 1e-12, 1e-12]}}}}
joints:
  spin: {{type: revolute, axis: [0, 0, 1], child: arm}}
  radius: {{type: prismatic, axis: [1, 0, 0], parent: arm, child: planet, q: 1, force: "-q**({power})"}}
{SETTINGS}"""
    found = mbsim.modes(scene, steady={"spin": 1.0}).modes
    square = 3 + power
    assert [mode.kind for mode in found] == {1: ["oscillates"], 0: [], -1: ["decays", "grows"]}[square]
    assert all(abs(mode.exponent) == pytest.approx(1.0, rel=1e-9) for mode in found)


def test_a_chain_of_masses_has_the_frequencies_of_the_sine() -> None:
    """w = 2 sqrt(k/m) sin((2 i + 1) pi/(2 (2 n + 1))); with damping d = b k, the ratio is b w/2."""
    n, m, k, d = 20, 2.0, 1000.0, 0.3
    w = 2.0 * math.sqrt(k / m) * np.sin((2 * np.arange(n) + 1) * math.pi / (2 * (2 * n + 1)))
    for equilibrium in (True, False):
        found = mbsim.modes(chain(n, m, k), equilibrium=equilibrium)
        np.testing.assert_allclose(frequencies(found), w / (2 * math.pi), rtol=1e-12)
        assert found.free == 0
    damped = mbsim.modes(chain(n, m, k, d), equilibrium=True)
    ratios = d * w / (2.0 * k)
    np.testing.assert_allclose(damped.undamped, w / (2 * math.pi), rtol=1e-12)
    np.testing.assert_allclose([mode.damping_ratio for mode in damped.modes], ratios, rtol=1e-10)
    np.testing.assert_allclose(frequencies(damped), w * np.sqrt(1 - ratios**2) / (2 * math.pi), rtol=1e-11)
    # the shape of the first mode is a sine of the displacements, the sum of those of the joints
    shape = np.cumsum(damped.modes[0].shape.real)
    expected = np.sin((np.arange(n) + 1) * math.pi / (2 * n + 1))
    np.testing.assert_allclose(shape / shape[0], expected / expected[0], rtol=1e-10)


def test_a_beam_of_links_has_the_frequencies_of_its_rational_matrices() -> None:
    """Links of 1 m and 1 kg with springs at the hinges: K is diagonal in the angles of the hinges, and M rational.

    Large eigenvalues of a symmetric matrix are accurate to round-off: those of M the low frequencies, and those of the
    inverse, in absolute angles, the high ones.
    """
    n, k = 50, 1e6
    bodies = "".join(
        f"  b{i}: {{mass: 1, com: [0.5, 0, 0], inertia: {{principal: [0.01, 0.1, 0.1]}}}}\n" for i in range(n)
    )
    joints = "".join(
        f"  j{i}: {{type: revolute, axis: [0, 1, 0], child: b{i}, stiffness: {k}"
        + (f", parent: b{i - 1}, origin: {{position: [1, 0, 0]}}}}\n" if i else "}\n")
        for i in range(n)
    )
    heights = np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n)  # of the centers of mass, by absolute angles
    M = heights.T @ heights + 0.1 * np.eye(n)
    sums = np.tril(np.ones((n, n)))
    low = np.sqrt(k / np.linalg.eigvalsh(sums.T @ M @ sums))[::-1]
    differences = np.eye(n) - np.eye(n, k=-1)
    L = np.linalg.inv(np.linalg.cholesky(M))
    high = np.sqrt(k * np.linalg.eigvalsh(L @ differences.T @ differences @ L.T))
    found = mbsim.modes(f"mbsim: 1\ngravity: [0, 0, 0]\nbodies:\n{bodies}joints:\n{joints}{SETTINGS}", equilibrium=True)
    for own in (found.undamped, frequencies(found)):
        np.testing.assert_allclose(own[:25], low[:25] / (2 * math.pi), rtol=1e-10)
        np.testing.assert_allclose(own[25:], high[25:] / (2 * math.pi), rtol=1e-10)


def rotor(polar: float, across: float) -> str:
    light = "mass: 0, inertia: {principal: [0, 0, 0]}"
    return f"""mbsim: 1
gravity: [0, 0, 0]
bodies:
  x: {{{light}}}
  y: {{{light}}}
  pitch: {{{light}}}
  yaw: {{{light}}}
  disc: {{mass: 3, inertia: {{principal: [{across}, {across}, {polar}]}}}}
joints:
  along_x: {{type: prismatic, axis: [1, 0, 0], child: x, stiffness: 1200}}
  along_y: {{type: prismatic, axis: [0, 1, 0], parent: x, child: y, stiffness: 1200}}
  about_x: {{type: revolute, axis: [1, 0, 0], parent: y, child: pitch, stiffness: 50}}
  about_y: {{type: revolute, axis: [0, 1, 0], parent: pitch, child: yaw, stiffness: 50}}
  spin: {{type: revolute, axis: [0, 0, 1], parent: yaw, child: disc}}
{SETTINGS}"""


@pytest.mark.parametrize("rate", [0.0, 10.0, 80.0, -80.0])
def test_the_frequencies_of_a_rotor_split_with_its_spin(rate: float) -> None:
    """Jeffcott's disc on a shaft: w = +-p W/(2 a) + sqrt((p W/(2 a))^2 + k/a) for the tilt, and sqrt(k/m) twice."""
    p, a = 0.04, 0.025
    split = p * abs(rate) / (2 * a)
    tilts = [math.sqrt(split**2 + 50 / a) + sign * split for sign in (-1, 1)]
    found = mbsim.modes(rotor(p, a), steady={"spin": rate})
    expected = np.sort([*tilts, 20.0, 20.0])
    np.testing.assert_allclose([mode.exponent.imag for mode in found.modes], expected, rtol=1e-12)
    assert max(abs(mode.damping_ratio) for mode in found.modes) < 1e-13
    # at rest, and by accelerations
    if rate == 0.0:
        np.testing.assert_allclose(frequencies(mbsim.modes(rotor(p, a))), expected / (2 * math.pi), rtol=1e-10)


PRINTED = {
    0: (-3.13164324790656, 3.13164324790656, -5.53094371765393, 5.53094371765393),
    1: (3.5269617099007 + 0.8077402751993j, -3.13423125066578, -7.11008014637442),
    2: (2.68234517512745 + 1.68066296590675j, -3.07158645641514, -8.67387984831735),
    3: (1.70675605663975 + 2.31582447384325j, -2.63366137253667, -10.3510146724592),
    4: (0.41325331521125 + 3.07910818603206j, -1.42944427361326, -12.1586142657645),
    5: (-0.77534188219585 + 4.46486771378823j, -0.32286642900409, -14.0783896927982),
    6: (-1.52644486584142 + 5.87673060598709j, -0.0040669007697, -16.0853712309803),
    7: (-2.13875644258362 + 7.19525913329805j, 0.10268170574766, -18.15788466125262),
    8: (-2.69348683581097 + 8.46037971396931j, 0.14327879765713, -20.27940894394569),
    9: (-3.21675402252485 + 9.69377351531791j, 0.15790184030917, -22.43788559040858),
    10: (-3.72016840437287 + 10.90681139476287j, 0.16105338653172, -24.62459635017404),
}
"""Meijaard, Papadopoulos, Ruina and Schwab (2007), table 2."""


@pytest.mark.parametrize("speed", PRINTED)
def test_the_modes_of_the_bicycle_have_the_printed_digits(speed: int) -> None:
    rates = [f"bodies.rear_frame.velocity={{linear: [{speed}, 0, 0]}}"]
    rates += [f"joints.{side}_hub.v={speed / radius!r}" for side, radius in (("rear", 0.3), ("front", 0.35))]
    found = mbsim.modes(BICYCLE["SCENE"], overrides=rates)
    exponents = [mode.exponent for mode in found.modes]
    assert len(exponents) == len(PRINTED[speed])
    assert found.free == 6  # place, heading, speed and the angles of the wheels
    for value in PRINTED[speed]:
        assert np.abs(np.array(exponents) - value).min() < 1e-11, value  # five times the largest error found


FOURBAR = runpy.run_path(str(Path(__file__).with_name("test_static_scenes.py")))


def rates(of: Any, angle: float) -> Any:
    """Return the derivative by the angle of the crank, by a complex step."""
    return np.array(of(complex(angle, 1e-30))).imag / 1e-30


def turn_of_coupler(angle: complex) -> complex:
    P, Q = FOURBAR["tips"](angle)
    return np.arctan((Q - P)[1] / (Q - P)[0])


def turn_of_rocker(angle: complex) -> complex:
    Q = FOURBAR["tips"](angle)[1]
    return np.arctan(Q[1] / (Q[0] - 2.2))


def inertia(angle: float) -> float:
    """Return the inertia for the rate of the crank."""
    P, Q = (rates(lambda x, k=k: FOURBAR["tips"](x)[k], angle) for k in (0, 1))
    middle = (P + Q) / 2
    own = 1.0 * (P @ P) / 4 + 0.1 + 2.0 * (middle @ middle) + 0.7 * rates(turn_of_coupler, angle) ** 2
    return float(own + 1.5 * (Q @ Q) / 4 + 0.3 * rates(turn_of_rocker, angle) ** 2)


def slope(of: Any, angle: float, h: float) -> float:
    """Return the derivative of real values, by differences of fourth order."""
    return float(np.dot([of(angle + s * h) for s in (-2, -1, 1, 2)], [1, -8, 8, -1]) / (12 * h))


def test_a_fourbar_has_the_frequency_of_its_energies() -> None:
    """One angle: w^2 = U''/(T'' of the rate), both by complex steps through the circles that close the loop."""
    angle = mbsim.equilibrium(FOURBAR["fourbar"](0.9))["a"]
    stiffness = slope(lambda x: rates(FOURBAR["energy"], x), angle, 1e-3)
    found = mbsim.modes(FOURBAR["fourbar"](0.9), equilibrium=True)
    [mode] = found.modes
    assert found.steady
    assert mode.exponent.imag == pytest.approx(math.sqrt(stiffness / inertia(angle)), rel=1e-10)
    assert sum(mode.bodies.values()) == pytest.approx(1.0, abs=0.06)  # without small shares


PIVOT, RADIUS, BAR, ROCKER = np.array([2.0, 0.8, 0.0]), 1.0, 2.06, 1.5
HOOK = np.array([1.0, 1.5, 2.5])


def spatial_tips(angle: complex) -> tuple[Any, Any]:
    """Return the tips of a crank about -y and of a rocker about x: the bar between them has its length."""
    P = RADIUS * np.array([np.cos(angle), 0.0 * angle, np.sin(angle)])
    d = P - PIVOT
    reach = np.sqrt(d[1] ** 2 + d[2] ** 2)
    turn = 2.0 * np.arctan(d[2] / (reach + d[1])) - np.arccos((d @ d + ROCKER**2 - BAR**2) / (2.0 * ROCKER * reach))
    return P, PIVOT + ROCKER * np.array([0.0 * turn, np.cos(turn), np.sin(turn)])


def spatial_energy(angle: complex) -> Any:
    P, Q = spatial_tips(angle)
    away = (P + Q) / 2.0 - HOOK
    weights = 1.0 * P[2] / 2.0 + 2.0 * (P + Q)[2] / 2.0 + 1.5 * Q[2] / 2.0
    return 9.81 * weights + 4.0 * angle**2 + 30.0 * (np.sqrt(away @ away) - 0.4) ** 2


def spatial_inertia(angle: float) -> float:
    """Return the inertia for the rate of the crank; the bar has none about its own axis."""
    P, Q = (rates(lambda x, k=k: spatial_tips(x)[k], angle) for k in (0, 1))
    across, middle = (Q - P) / BAR, (P + Q) / 2.0
    turn = (Q @ Q) / ROCKER**2
    own = 1.0 * (P @ P) / 4.0 + 0.1 + 2.0 * (middle @ middle) + 0.7 * (across @ across)
    return float(own + 1.5 * (Q @ Q) / 4.0 + 0.3 * turn)


def spatial(angle: float) -> str:
    P, Q = spatial_tips(angle)
    u, c, s = (Q - P) / BAR, math.cos(angle), math.sin(angle)
    x, z = c * u[0] + s * u[2], -s * u[0] + c * u[2]  # of the bar in the crank
    return f"""mbsim: 1
gravity: [0, 0, -9.81]
bodies:
  crank: {{mass: 1, com: [0.5, 0, 0], inertia: {{principal: [0.02, 0.1, 0.1]}}}}
  bar: {{mass: 2, com: [{BAR / 2}, 0, 0], inertia: {{principal: [0, 0.7, 0.7]}}}}
  rocker: {{mass: 1.5, com: [0, {ROCKER / 2}, 0], inertia: {{principal: [0.3, 0.02, 0.3]}}}}
joints:
  a: {{type: revolute, axis: [0, -1, 0], child: crank, q: {angle}, stiffness: 8}}
  hooke: {{type: composite, parent: crank, child: bar, origin: {{position: [{RADIUS}, 0, 0]}},
    parts: [{{type: revolute, axis: [0, 0, 1]}}, {{type: revolute, axis: [0, 1, 0]}}],
    q: [{math.atan2(u[1], x)!r}, {-math.asin(z)!r}]}}
  b: {{type: revolute, axis: [1, 0, 0], child: rocker, origin: {{position: {PIVOT.tolist()}}},
    q: {math.atan2(*(Q - PIVOT)[:0:-1])!r}}}
  ball: {{type: spherical, parent: bar, child: rocker, origin: {{position: [{BAR}, 0, 0]}},
    child_origin: {{position: [0, {ROCKER}, 0]}}}}
springs:
  pull: {{stiffness: 60, rest_length: 0.4,
    between: [{{body: world, point: {HOOK.tolist()}}}, {{body: bar, point: [{BAR / 2}, 0, 0]}}]}}
{SETTINGS}"""


def test_a_spatial_fourbar_has_the_frequency_of_its_energies() -> None:
    """A crank and a rocker about skew axes, with a bar on a Hooke joint and a ball."""
    found = mbsim.equilibrium(spatial(1.0))
    assert found.stability == "stable"
    assert abs(rates(spatial_energy, found["a"])) < 1e-11
    stiffness = slope(lambda x: rates(spatial_energy, x), found["a"], 1e-3)
    [mode] = mbsim.modes(spatial(1.0), equilibrium=True).modes
    assert mode.exponent.imag == pytest.approx(math.sqrt(stiffness / spatial_inertia(found["a"])), rel=1e-10)


def test_a_fourbar_that_accelerates_has_the_derivative_of_the_acceleration_of_the_named_coordinate() -> None:
    """At rest, but no equilibrium: s'' = -ds/da U'(a)/I(a), and A depends on the coordinate s."""
    coordinates = {"a": lambda a: a, "b": lambda a: turn_of_coupler(a) - a, "d": turn_of_rocker}
    found = mbsim.linearize(FOURBAR["fourbar"](0.9))
    name = found.states[0].removeprefix("q/")
    each = {
        own: slope(lambda x, s=s: -rates(s, x) * rates(FOURBAR["energy"], x) / inertia(x), 0.9, 1e-3) / rates(s, 0.9)
        for own, s in coordinates.items()
    }
    assert len({round(value, 1) for value in each.values()}) == 3
    np.testing.assert_allclose(found.A, [[0, 1], [each[name], 0]], rtol=1e-8, atol=1e-9)
    assert not mbsim.modes(FOURBAR["fourbar"](0.9)).steady


@pytest.mark.parametrize("scene", ["bushing", "leg_muscles", "floating_ring", "board_on_surface"])
def test_modes_by_forces_are_those_by_accelerations(scene: str, tmp_path: Path) -> None:
    """Two formulations: derivatives of generalized forces at constant multipliers, and of constrained accelerations."""
    source = Path(__file__).parents[2] / f"scenes/gallery/{scene}.yaml"
    by_forces = mbsim.modes(source, equilibrium=True)
    mbsim.equilibrium(source, write=tmp_path / "still.yaml")
    by_accelerations = mbsim.modes(tmp_path / "still.yaml", overrides=["expect=[]"])
    found, expected = ([mode.exponent for mode in one.modes] for one in (by_forces, by_accelerations))
    largest = abs(expected[-1])
    assert len(found) == len(expected)
    for s in expected:
        assert np.abs(np.array(found) - s).min() < 1e-8 * largest


def test_a_linear_system_has_names_and_transfers_inputs_to_outputs() -> None:
    """A driven oscillator with an input: x'' = -k x - d x' + 2 gain u + f, and its transfer function."""
    text = f"""mbsim: 1
gravity: [0, 0, 0]
inputs: {{gain: 3}}
bodies: {{box: {{mass: 2, com: [0.1, 0, 0], inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{rail: {{type: prismatic, axis: [1, 0, 0], child: box, stiffness: 50, damping: 4, force: "2*inputs.gain**2"}}}}
{SETTINGS}"""
    found = mbsim.linearize(text, outputs=["bodies/box/com[x]", "joints/rail/v", "joints/rail/acceleration"])
    assert found.states == ("q/rail", "v/rail")
    assert found.inputs == ("force/rail", "inputs/gain")
    assert found.outputs == ("bodies/box/com[x]", "joints/rail/v", "joints/rail/acceleration")
    np.testing.assert_allclose(found.A, [[0, 1], [-25, -2]], atol=1e-11)
    np.testing.assert_allclose(found.B, [[0, 0], [0.5, 6]], atol=1e-11)
    np.testing.assert_allclose(found.C, [[1, 0], [0, 1], [-25, -2]], atol=1e-11)
    np.testing.assert_allclose(found.D, [[0, 0], [0, 0], [0.5, 6]], atol=1e-11)
    s = 3j
    response = found.C @ np.linalg.solve(s * np.eye(2) - found.A, found.B) + found.D
    np.testing.assert_allclose(response[0, 0], 1 / (2 * s**2 + 4 * s + 50), rtol=1e-11)


def test_states_of_a_loop_are_independent_coordinates() -> None:
    found = mbsim.linearize(FOURBAR["fourbar"](0.9), equilibrium=True, outputs=["joints/a/q", "joints/c/q"])
    [q, v] = found.states
    assert q[2:] == v[2:]
    assert q[2:] in ("a", "b", "d")
    [mode] = mbsim.modes(FOURBAR["fourbar"](0.9), equilibrium=True).modes
    np.testing.assert_allclose(np.linalg.eigvals(found.A).imag.max(), mode.exponent.imag, rtol=1e-10)
    with pytest.raises(mbsim.ArgumentError, match="--input force/x: no such input"):
        mbsim.linearize(FOURBAR["fourbar"](0.9), inputs=["force/x"])


# --- independent motions ----------------------------------------------------------------------------------------------
DISC = "{mass: 1, inertia: {principal: [1, 1, 1]}}"


def independent(bodies: str, joints: str) -> Modes:
    """Return the modes of a soft spring with a damper, beside other bodies with joints of their own."""
    slide = "slide: {type: prismatic, axis: [1, 0, 0], child: soft, stiffness: 1e-6, damping: 4e-4}"
    return mbsim.modes(f"mbsim: 1\nbodies: {{soft: {DISC}, {bodies}}}\njoints:\n  {slide}\n{joints}\n{SETTINGS}")


def turning(name: str, rate: float) -> str:
    return f"  {name}: {{type: revolute, axis: [0, 0, 1], child: {name}, v: {rate!r}}}\n"


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("belt", [True, False])
def test_a_fast_rotor_is_no_scale_of_a_soft_spring(is_exact: bool, belt: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """m s^2 + d s + k = 0 with k = 1e-6 N/m, beside one or two rotors, the squares of whose rates are 1e12 as large."""
    if not is_exact:
        monkeypatch.setattr("multibody_cli.statics.dual_evaluation.LARGEST", 0)
    bodies, joints = f"rotor: {DISC}", turning("rotor", 1000.0)
    if belt:
        bodies += f", other: {DISC}"
        joints += turning("other", 1000.0) + "couplings: {belt: {type: equal, joints: [rotor, other]}}"
    found = independent(bodies, joints)
    [mode] = found.modes
    assert mode.exponent == pytest.approx(-2e-4 + 1j * math.sqrt(1e-6 - 4e-8), rel=1e-6)
    assert (found.free, mode.bodies["soft"]) == (2, pytest.approx(1.0))


def test_a_mass_on_a_driven_table_has_the_scale_of_the_table() -> None:
    """k - m w^2 is round-off beside k on a table with the rate w, which has no state of its own."""
    w = 1000.1
    found = mbsim.modes(f"""mbsim: 1
bodies: {{disc: {DISC}, mass: {DISC}}}
joints:
  table: {{type: revolute, axis: [0, 0, 1], child: disc, motion: {{velocity: {w}}}}}
  slide: {{type: prismatic, axis: [1, 0, 0], parent: disc, child: mass, stiffness: {w * w!r}}}
{SETTINGS}""")
    assert (found.modes, found.free) == ((), 2)


def test_round_off_in_rows_is_no_part_of_its_own() -> None:
    """A closed planar chain of n rods that floats has n - 3 motions in its plane, and 6 as a whole."""
    found = mbsim.linearize(Path(__file__).parents[2] / "scenes/gallery/floating_ring.yaml", overrides=["expect=[]"])
    rods = 6
    assert len(found.states) == 2 * (rods - 3 + 6)
