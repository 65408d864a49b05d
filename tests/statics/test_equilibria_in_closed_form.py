"""Equilibria whose positions and forces are known in closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import mbsim
from multibody_cli.errors import RunFailed
from multibody_cli.kernel import Floats
from multibody_cli.studies.statics.study import Statics


def solved(text: str, **options: Any) -> Statics:
    return mbsim.equilibrium(f"mbsim: 1\n{text}\nsimulation: {{duration: 1 s, step: 1 ms}}\n", **options)


def chain(links: int, span: float, angles: Floats) -> str:
    """Return a chain of equal rods of 1 m and 1 kg between two pins at one height, in the plane of x and z."""
    bodies = "\n".join(
        f"  r{k}: {{mass: 1, com: [0.5, 0, 0], inertia: {{principal: [0, 0.1, 0.1]}}}}" for k in range(links)
    )
    joints = "\n".join(
        f"  j{k}: {{type: revolute, axis: [0, 1, 0], child: r{k}, q: {float(angle)!r}"
        + (f", parent: r{k - 1}, origin: {{position: [1, 0, 0]}}}}" if k else "}")
        for k, angle in enumerate(angles)
    )
    pin = f"type: point_on_plane, point: {{body: r{links - 1}, point: [1, 0, 0]}}"
    x = f"  x: {{{pin}, plane: {{normal: [1, 0, 0], position: [{span!r}, 0, 0]}}}}"
    z = f"  z: {{{pin}, plane: {{normal: [0, 0, 1]}}}}"
    return f"gravity: [0, 0, -9.81]\nbodies:\n{bodies}\njoints:\n{joints}\nconstraints:\n{x}\n{z}"


def test_a_hanging_chain_has_the_tensions_of_the_finite_sums() -> None:
    """The vertical force at joint k of n rods is (n/2 - k) m g, the horizontal one H; the slopes follow from moments.

    Rod k is inclined by tan a_k = ((n - 1)/2 - k) m g / H, and sum cos a_k is the span, which determines H.
    """
    n, span, g = 100, 80.0, 9.81
    k = np.arange(n)
    slopes = lambda H: ((n - 1) / 2 - k) * g / H  # noqa: E731
    H = brentq(lambda H: np.sum(1.0 / np.hypot(1.0, slopes(H))) - span, 1.0, 1e5, xtol=1e-13, rtol=1e-15)
    exact = np.arctan(slopes(H))  # below the horizontal, a rotation about y
    arc = brentq(lambda a: np.sum(np.cos(np.linspace(a, -a, n))) - span, 0.1, 1.5, xtol=1e-15)
    start = np.linspace(arc, -arc, n)
    found = solved(chain(n, span, np.diff(start, prepend=0.0)))
    angles = np.cumsum([found[f"j{i}"] for i in range(n)])
    np.testing.assert_allclose(angles, exact, atol=1e-11)
    forces = {row.element: row.force for row in found.rows}
    np.testing.assert_allclose(forces["constraints.x"], H, rtol=1e-11)
    np.testing.assert_allclose(forces["constraints.z"], n * g / 2, rtol=1e-11)
    assert (found.stability, found.redundant) == ("stable", 0)


def snap(angle: float) -> str:
    """Return a rod of 1 m whose end a spring of 0.9 m presses from 1.2 m away, the von Mises truss of one bar."""
    return f"""gravity: [0, 0, 0]
bodies:
  rod: {{mass: 1, com: [0.5, 0, 0], inertia: {{principal: [0.1, 0.1, 0.1]}}}}
joints:
  crank: {{type: revolute, axis: [0, 0, 1], child: rod, q: {angle!r}}}
springs:
  toggle: {{stiffness: 100, rest_length: 0.5,
           between: [{{body: world, point: [1.2, 0, 0]}}, {{body: rod, point: [1, 0, 0]}}]}}"""


def test_a_toggle_at_its_dead_centre_is_unstable_between_two_stable_states() -> None:
    """The spring has its length at rest where 1 + 1.2^2 - 2.4 cos q = 0.5^2."""
    exact = math.acos((1.0 + 1.2**2 - 0.5**2) / 2.4)
    found = solved(snap(0.0))
    assert (found["crank"], found.stability, found.found.unstable) == (0.0, "unstable", 1)
    # U'' = k (l - l0) l'' with l'' = 1.2/l at l = 0.2
    np.testing.assert_allclose(found.found.stiffness, [100 * (0.2 - 0.5) * 1.2 / 0.2], rtol=1e-9)
    assert sorted(one["crank"] for one in found.others) == pytest.approx([-exact, exact], abs=1e-12)
    assert [one.stability for one in found.others] == ["stable", "stable"]
    assert solved(snap(-0.1))["crank"] == pytest.approx(-exact, abs=1e-12)


@pytest.mark.parametrize(
    ("angle", "exact", "stability"), [(0.0, 0.0, "unstable"), (1e-9, math.pi, "stable"), (-3.0, -math.pi, "stable")]
)
def test_an_inverted_pendulum(angle: float, exact: float, stability: str) -> None:
    found = solved(f"""gravity: [0, 0, -9.81]
bodies:
  rod: {{mass: 2, com: [0, 0, 0.5], inertia: {{principal: [0.1, 0.1, 0.1]}}}}
joints:
  hinge: {{type: revolute, axis: [0, 1, 0], child: rod, q: {angle!r}}}""")
    assert found.stability == stability
    assert found["hinge"] == pytest.approx(exact, abs=1e-12)
    np.testing.assert_allclose(np.abs(found.found.stiffness), [2 * 9.81 * 0.5], rtol=1e-9)


def strut(load: float, angle: float) -> str:
    """Return two rods of 1 m with a torsion spring of 100 N m at the knee, under a load at the guided top."""
    return f"""gravity: [0, 0, 0]
bodies:
  lower: {{mass: 1, com: [0, 0, 0.5], inertia: {{principal: [0.1, 0.1, 0.1]}}}}
  upper: {{mass: 1, com: [0, 0, 0.5], inertia: {{principal: [0.1, 0.1, 0.1]}}}}
joints:
  foot: {{type: revolute, axis: [0, 1, 0], child: lower, q: {angle!r}}}
  knee: {{type: revolute, axis: [0, 1, 0], parent: lower, child: upper, origin: {{position: [0, 0, 1]}},
         q: {-2 * angle!r}, stiffness: 100}}
constraints:
  guide: {{type: point_on_plane, point: {{body: upper, point: [0, 0, 1]}}, plane: {{normal: [1, 0, 0]}}}}
forces:
  load: {{body: upper, point: [0, 0, 1], force: [0, 0, {-load!r}]}}"""


def test_a_strut_buckles_above_its_load() -> None:
    """The moment at the knee, 100 N m times 2 a, balances F sin a; the strut is straight up to F = 200 N."""
    assert solved(strut(190.0, 0.0)).stability == "stable"
    straight = solved(strut(300.0, 0.0))
    assert (straight.stability, straight["knee"]) == ("unstable", 0.0)
    exact = brentq(lambda a: 2 * 100 * 2 * a - 2 * 300 * math.sin(a), 0.1, 3.0, xtol=1e-15)
    assert sorted(one["foot"] for one in straight.others) == pytest.approx([-exact, exact], rel=1e-11)
    bent = solved(strut(300.0, 0.3))
    assert (bent.stability, bent["foot"]) == ("stable", pytest.approx(exact, rel=1e-11))


def governor(rate: float) -> str:
    """Return a spindle with two rods of 1 m and 1 kg, whose mass is at the end, on a pin at the axis."""
    balls = "\n".join(
        f"  arm{k}: {{type: revolute, axis: [0, {sign}, 0], parent: spindle, child: ball{k}, q: 0.3}}"
        for k, sign in ((1, -1), (2, 1))
    )
    return f"""gravity: [0, 0, -9.81]
bodies:
  spindle: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
  ball1: {{mass: 1, com: [0, 0, -1], inertia: {{principal: [0, 0, 0]}}}}
  ball2: {{mass: 1, com: [0, 0, -1], inertia: {{principal: [0, 0, 0]}}}}
joints:
  spin: {{type: revolute, axis: [0, 0, 1], child: spindle, v: {rate!r}}}
{balls}"""


def test_a_governor_opens_where_gravity_and_inertia_balance() -> None:
    """In steady rotation cos a = g/(w^2 L) above w^2 = g/L; below, the balls hang down."""
    found = solved(governor(5.0), steady={"spin": None})
    exact = math.acos(9.81 / 25.0)
    assert [found["arm1"], found["arm2"]] == pytest.approx([exact, exact], rel=1e-12)
    assert (found.stability, found.drives["spin"]) == ("stable", pytest.approx(0.0, abs=1e-12))
    # of the amended potential: m w^2 L^2 sin^2 a
    np.testing.assert_allclose(found.found.stiffness, 25.0 * math.sin(exact) ** 2, rtol=1e-9)
    assert solved(governor(3.0), steady={"spin": 3.0})["arm1"] == pytest.approx(0.0, abs=1e-12)


def test_a_table_on_four_legs_has_the_forces_of_least_squares() -> None:
    """Four legs under a plate: the loads follow from three equations, and are redundant."""
    legs = "\n".join(
        f"  leg{k}: {{type: point_on_plane, point: {{body: plate, point: [{x}, {y}, 0]}}, plane: {{}}}}"
        for k, (x, y) in enumerate([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    )
    with pytest.warns(mbsim.SceneWarning, match="depend on the others"):
        found = solved(f"""gravity: [0, 0, -9.81]
bodies:
  plate: {{mass: 4, com: [0.5, 0.25, 0], inertia: {{principal: [1, 1, 1]}}}}
joints:
  stand: {{type: free, child: plate}}
constraints:
{legs}""")
    weight, forces = 4 * 9.81, np.array([row.force for row in found.rows])
    x, y = np.array([1, -1, -1, 1]), np.array([1, 1, -1, -1])
    assert found.redundant == 1
    np.testing.assert_allclose(
        [forces.sum(), forces @ x, forces @ y], [weight, 0.5 * weight, 0.25 * weight], rtol=1e-12
    )
    np.testing.assert_allclose(forces, weight * (1 + 0.5 * x + 0.25 * y) / 4, rtol=1e-12)
    assert (found.stability, found.found.neutral) == ("neutral", 3)


def test_a_load_without_a_hold_names_coordinate_and_element() -> None:
    with pytest.raises(
        RunFailed, match="no equilibrium at t = 0 s downhill from the start: joint rail has the largest"
    ):
        solved("""gravity: [0, 0, -9.81]
bodies: {box: {mass: 1, inertia: {principal: [1, 1, 1]}}}
joints: {rail: {type: prismatic, axis: [0, 0, 1], child: box}}""")


def test_a_pair_that_falls_is_not_held_by_what_holds_others() -> None:
    """Two balls on a spring fall, beside a third one that hangs on a spring."""
    with pytest.raises(RunFailed, match=r"body (left|right)/2 has .* force, and nothing holds"):
        solved("""bodies:
  left: {kind: point, mass: 1, position: [0, 0, 0]}
  right: {kind: point, mass: 1, position: [1, 0, 0]}
  bob: {kind: point, mass: 1, position: [3, 0, -0.5]}
springs:
  pair: {between: [{body: left}, {body: right}], stiffness: 100, rest_length: 1}
  cord: {between: [{body: world, point: [3, 0, 0]}, {body: bob}], stiffness: 100, rest_length: 0.5}""")


@pytest.mark.filterwarnings("ignore:the step of")
@pytest.mark.parametrize("stiffness", [1e6, 1e9, 1e11])
def test_a_stiff_spring_does_not_hide_a_soft_direction(stiffness: float) -> None:
    """A pendulum of 1 kg on a stiff spring of 1 m hangs, and its least stiffness is m g l."""
    found = solved(f"""bodies:
  guide: {{mass: 0, inertia: {{principal: [0, 0, 0]}}}}
  bob: {{mass: 1, inertia: {{principal: [0, 0, 0]}}}}
joints:
  hinge: {{type: revolute, axis: [0, 1, 0], child: guide, q: 1.0}}
  cable: {{type: prismatic, axis: [0, 0, 1], parent: guide, child: bob, stiffness: {stiffness},
           origin: {{position: [0, 0, -1]}}}}""")
    assert abs(found["hinge"]) < 1e-10
    assert found.stability == "stable"
    np.testing.assert_allclose(found["cable"], -9.81 / stiffness, rtol=1e-9)
    np.testing.assert_allclose(found.found.stiffness[0], 9.81 * (1.0 + 9.81 / stiffness), rtol=1e-9)


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.5])
def test_a_neutral_start_stays(angle: float) -> None:
    """A spring without length balances the weight of a rod at all angles."""
    found = solved(f"""bodies:
  rod: {{mass: 1, com: [0, 0, 1], inertia: {{principal: [0, 0, 0]}}}}
joints:
  hinge: {{type: revolute, axis: [0, 1, 0], child: rod, q: {angle}}}
springs:
  balance: {{stiffness: 9.81, rest_length: 0,
             between: [{{body: world, point: [0, 0, 1]}}, {{body: rod, point: [0, 0, 1]}}]}}""")
    assert found.stability == "neutral"
    assert abs(found["hinge"] - angle) < 1e-5


def test_an_unstable_equilibrium_is_not_beside_itself() -> None:
    """A rod stands upright on a stop: on one side it falls to the other limit, on the other side it stays."""
    found = solved(
        "bodies: {rod: {mass: 1, com: [0, 0, 1], inertia: {principal: [0.1, 0.1, 0.1]}}}\n"
        "joints: {hinge: {type: revolute, axis: [0, 1, 0], child: rod, q: 0, limits: [0, 1]}}"
    )
    assert found.found.unstable == 1
    assert [float(one.found.state.q[0]) for one in found.others] == [pytest.approx(1.0, abs=1e-12)]


def test_a_step_into_a_limit_without_a_force_ends_on_it() -> None:
    """A slider touches its stop without a force; with its neighbor, coupled by a spring, it would move behind it."""
    rail, body = "type: prismatic, axis: [1, 0, 0]", "{mass: 1, inertia: {principal: [0, 0, 0]}}"
    ends = "between: [{body: a, point: [0, 0, 0]}, {body: b, point: [2, 0, 0]}]"
    others = "between: [{body: world, point: [-2, 0, 0]}, {body: b, point: [0, 0, 0]}]"
    found = solved(
        f"gravity: [0, 0, 0]\nbodies: {{a: {body}, b: {body}}}\n"
        f"joints: {{a: {{{rail}, child: a, q: 0, limits: [0, 1]}}, b: {{{rail}, child: b, q: 0, force: -3}}}}\n"
        f"springs: {{s: {{stiffness: 10, rest_length: 2, {ends}}}, t: {{stiffness: 5, rest_length: 2, {others}}}}}"
    )
    np.testing.assert_allclose(found.found.state.q, [0.0, -0.2], rtol=0, atol=1e-12)


# --- light beside heavy -----------------------------------------------------------------------------------------------
def beside_heavy(light: str, mass: float) -> Statics:
    """Return the equilibrium of a pendulum of 1 kg and 1 m, beside one of another mass that starts at 0.3 rad."""

    def rod(name: str, m: float) -> str:
        inertia = f"{{principal: [{m / 100!r}, {m / 100!r}, {m / 100!r}]}}"
        return f"{name}: {{mass: {m!r}, inertia: {inertia}, com: [0, 0, -1]}}"

    return solved(f"""bodies: {{{rod("heavy", mass)}, {rod("light", 1.0)}}}
joints:
  other: {{type: revolute, axis: [0, 1, 0], child: heavy, q: 0.3}}
  hinge: {{type: revolute, axis: [0, 1, 0], child: light, {light}}}""")


@pytest.mark.parametrize("mass", [1.0, 1e6, 1e9, 1e12, 1e14])
def test_a_heavy_pendulum_is_no_scale_of_a_light_one(mass: float) -> None:
    """The light one hangs, presses its limit with m g l sin(q), and swings back from 2 rad with a spring."""
    hanging = beside_heavy("q: 0.5", mass)
    assert (hanging["hinge"], hanging.stability) == (pytest.approx(0.0, abs=1e-9), "stable")
    np.testing.assert_allclose(hanging.found.stiffness, sorted([9.81, 9.81 * mass]), rtol=1e-9)
    pressed = beside_heavy("q: 0.5, limits: [0.4, null]", mass)
    assert pressed["hinge"] == pytest.approx(0.4, abs=1e-9)
    assert [one.force for one in pressed.rows] == [pytest.approx(9.81 * math.sin(0.4), rel=1e-9)]
    sprung = beside_heavy("q: 2, stiffness: 30", mass)
    assert sprung["hinge"] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(sprung.found.stiffness, sorted([9.81 + 30, 9.81 * mass]), rtol=1e-9)


@pytest.mark.parametrize("mass", [1.0, 1e9, 1e14])
def test_a_pendulum_on_its_top_that_touches_a_limit_falls_to_the_other_side(mass: float) -> None:
    """Its weight at the top, 1e-15 N m of the rounding of pi, presses nothing, for any mass of its neighbor."""
    found = beside_heavy(f"q: {math.pi!r}, limits: [{math.pi!r}, null]", mass)
    assert (found.stability, found.open) == ("unstable", ("joints.hinge",))
    assert beside_heavy("q: 0, limits: [0, null]", mass).stability == "stable"
