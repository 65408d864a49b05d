"""Stability and uniqueness of equilibria with contacts and friction, by closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import RunFailed
from multibody_cli.studies.statics.study import Statics

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

G = 9.81
PLANE = "{type: plane}"


def scene(bodies: str, world: str, friction: float | str) -> str:
    return f"""mbsim: 1
bodies: {{{bodies}}}
world: {{shapes: [{world}]}}
contacts: {{friction: {friction}}}
simulation: {{duration: 1 s, step: 1 ms}}
"""


def quotient(found: Statics, k: int, rotations: slice, moments: list[float]) -> float:
    """Return the energy of a displacement, given that of its rotation alone, per square of the displacement."""
    return float(np.sum(np.array(moments) * found.found.directions[rotations, k] ** 2))


# --- rocking stones ---------------------------------------------------------------------------------------------------
def stone(r: float, R: float, height: float, friction: float, kind: str = "sphere") -> str:
    """Return a body with a round base of radius r on the top of a dome of radius R, at rest; R = inf is a plane.

    `height` is that of the center of mass over the contact.
    """
    turn = ", rotation: {axis: [1, 0, 0], angle: 90 deg}"
    length = ", length: 1" if kind == "cylinder" else ""
    turned = turn if kind == "cylinder" else ""
    dome = PLANE if math.isinf(R) else f"{{type: {kind}, radius: {R!r}{length}, position: [0, 0, {-R!r}]{turned}}}"
    base = f"{{type: {kind}, radius: {r!r}{length}{turned}}}"
    body = f"stone: {{mass: 2, com: [0, 0, {height - r!r}], inertia: {{principal: [0.5, 0.6, 0.7]}}, shapes: [{base}]"
    return scene(f"{body}, position: [0, 0, {r!r}]}}", dome, friction)


@pytest.mark.parametrize("R", [0.8, 0.05, math.inf])
@pytest.mark.parametrize("r", [0.5, 0.02])
@pytest.mark.parametrize("height", [0.0, 0.5, 0.99, 1.01, 2.0])
def test_a_rocking_stone_is_stable_below_the_height_of_the_radii(r: float, R: float, height: float) -> None:
    """With friction it rolls: stable if h < r R/(r + R); d2V/da2 = m g (r R/(r + R) - h) for its angle a."""
    rho = r if math.isinf(R) else r * R / (r + R)
    found = mbsim.equilibrium(stone(r, R, height * rho, 0.5))
    assert (found.set_dimension, found.redundant, found.is_unique) == (2, 0, False)
    assert found.stability == ("neutral" if height < 1 else "unstable")  # it spins freely about the normal
    moment = 2 * G * (1 - height) * rho
    stiffness = np.sort(found.found.stiffness)
    assert np.count_nonzero(stiffness == 0.0) == 1
    for k in range(3):
        expected = quotient(found, k, slice(3, 5), [moment, moment])
        np.testing.assert_allclose(found.found.stiffness[k], expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.contacts["world:stone"], [0, 0, 2 * G], atol=1e-9)


@pytest.mark.parametrize(("height", "stability"), [(0.9, "stable"), (1.1, "unstable")])
@pytest.mark.parametrize("R", [0.8, math.inf])
def test_a_cylinder_on_its_side_rolls_in_one_direction(R: float, height: float, stability: str) -> None:
    """Friction at both ends of the line holds its other motions: it is isolated but for the set that friction holds."""
    r = 0.5
    rho = r if math.isinf(R) else r * R / (r + R)
    found = mbsim.equilibrium(stone(r, R, height * rho, 0.5, "cylinder"))
    assert (found.stability, found.set_dimension, len(found.found.stiffness)) == (stability, 3, 1)
    moment = 2 * G * (1 - height) * rho
    expected = quotient(found, 0, slice(3, 6), [moment] * 3)
    np.testing.assert_allclose(found.found.stiffness, [expected], rtol=1e-6)


def test_a_cylinder_rocks_with_the_frequency_of_its_closed_form() -> None:
    """w^2 = m g (r R/(r + R) - h)/(I + m h^2)."""
    r, R, height = 0.5, 0.8, 0.2
    [mode] = mbsim.modes(stone(r, R, height, 0.5, "cylinder"), equilibrium=True).modes
    square = 2 * G * (r * R / (r + R) - height) / (0.6 + 2 * height**2)
    assert mode.exponent == pytest.approx(1j * math.sqrt(square), rel=1e-6)
    with pytest.raises(RunFailed, match="no modes about this equilibrium: friction is at its limit"):
        mbsim.modes(block(0.2, math.tan(0.2) * (1 + 1e-7)), equilibrium=True)


@pytest.mark.parametrize("R", [0.8, 0.05])
def test_without_friction_a_stone_slides_from_every_dome(R: float) -> None:
    """The center sinks by x^2/(2 (r + R)), and the body turns about its center by its own moment."""
    r, below = 0.5, 0.1
    found = mbsim.equilibrium(stone(r, R, r - below, 0.0))
    assert (found.stability, found.set_dimension, found.found.neutral) == ("unstable", 0, 1)
    slides = quotient(found, 0, slice(0, 2), [-2 * G / (r + R)] * 2)
    np.testing.assert_allclose(found.found.stiffness[:2], slides, rtol=1e-6)
    assert found.found.stiffness[-1] == pytest.approx(quotient(found, 4, slice(3, 5), [2 * G * below] * 2), rel=1e-6)


@pytest.mark.parametrize("mass", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("angle", [0.0, 0.2])
def test_an_eccentric_cylinder_rests_on_a_slope(angle: float, above: bool, length: float, mass: float) -> None:
    """Its mass, at e from its axis, is vertically above the line of contact, at the angle p from the lowest position.

    e sin p = r sin(slope), and d2V/da2 = m g e cos p: stable in the lower one of two positions.
    """
    r, e = 0.5 * length, 0.3 * length
    p = math.asin(r * math.sin(angle) / e)
    center = [-r * math.sin(angle), 0, r * math.cos(angle)]
    com = [-center[0], 0, e * math.cos(p) * (1 if above else -1)]
    shape = f"{{type: cylinder, radius: {r!r}, length: {length!r}, rotation: {{axis: [1, 0, 0], angle: 90 deg}}}}"
    inertia = [mass * length**2 * 0.2] * 3
    roll = f"roll: {{mass: {mass!r}, com: {com}, inertia: {{principal: {inertia}}}, shapes: [{shape}]"
    slope = f"{{type: plane, rotation: {{axis: [0, -1, 0], angle: {angle}}}}}"
    found = mbsim.equilibrium(scene(f"{roll}, position: {center}}}", slope, 0.5))
    assert np.abs(found.changes).max() < 1e-9
    assert (found.stability, found.set_dimension) == ("unstable" if above else "stable", 3)
    moment = mass * G * e * math.cos(p) * (-1 if above else 1)
    expected = quotient(found, 0, slice(3, 6), [moment] * 3)
    np.testing.assert_allclose(found.found.stiffness, [expected], rtol=1e-6)


# --- sliders ----------------------------------------------------------------------------------------------------------
def slider(stiffness: float, walls: str, friction: float = 0.0) -> str:
    """Return a ball of radius 0.2 that slides along x and z, on a dome of radius 0.6, with a spring along x."""
    return f"""mbsim: 1
bodies:
  ball: {{mass: 3, inertia: {{principal: [1, 1, 1]}}, shapes: [{{type: sphere, radius: 0.2}}]}}
  cart: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}
joints:
  x: {{type: prismatic, axis: [1, 0, 0], child: cart, stiffness: {stiffness!r}}}
  z: {{type: prismatic, axis: [0, 0, 1], parent: cart, child: ball}}
world: {{shapes: [{{type: sphere, radius: 0.6, position: [0, 0, -0.8]}}{walls}]}}
contacts: {{friction: {friction}}}
simulation: {{duration: 1 s, step: 1 ms}}
"""


LEFT = ", {type: plane, position: [-0.2, 0, 0], rotation: {axis: [0, 1, 0], angle: 90 deg}}"
RIGHT = ", {type: plane, position: [0.2, 0, 0], rotation: {axis: [0, -1, 0], angle: 90 deg}}"
SINKS = 3 * G / 0.8
"""m g/(r + R), N/m: the spring that holds the ball on the dome."""


@pytest.mark.parametrize(("factor", "stability"), [(1.001, "stable"), (0.999, "unstable")])
def test_a_spring_holds_a_ball_on_a_dome(factor: float, stability: str) -> None:
    found = mbsim.equilibrium(slider(factor * SINKS, ""))
    assert (found.stability, found.is_unique, found.found.touched) == (stability, True, 0)
    assert found.found.stiffness[0] == pytest.approx(
        quotient(found, 0, slice(0, 1), [(factor - 1) * SINKS]), rel=1e-4
    )  # relative to the difference of both: 1e-7 of each


@pytest.mark.parametrize(
    ("walls", "stability", "touched"), [("", "unstable", 0), (LEFT, "unstable", 1), (LEFT + RIGHT, "stable", 2)]
)
def test_walls_without_force_take_displacements_to_one_side(walls: str, stability: str, touched: int) -> None:
    found = mbsim.equilibrium(slider(0.5 * SINKS, walls))
    assert (found.stability, found.found.touched, found.is_unique) == (stability, touched, True)


def test_friction_holds_a_ball_that_cannot_roll() -> None:
    """Neighbors on both sides are equilibria as well, without a spring; friction along y is against the rails."""
    found = mbsim.equilibrium(slider(0.0, "", 0.3))
    assert (found.stability, found.set_dimension, found.is_unique, found.redundant) == ("stable", 1, False, 1)


# --- blocks -----------------------------------------------------------------------------------------------------------
def block(angle: float, friction: float) -> str:
    """Return a block on a slope."""
    x, z = -0.1 * math.sin(angle), 0.1 * math.cos(angle)
    turn = f"rotation: {{axis: [0, -1, 0], angle: {angle!r}}}"
    shape = "{type: box, size: [0.4, 0.3, 0.2]}"
    return scene(f"block: {{mass: 5, shapes: [{shape}], position: [{x!r}, 0, {z!r}], {turn}}}",
                 f"{{type: plane, {turn}}}", friction)  # fmt: skip


@pytest.mark.parametrize("angle", [0.0, 0.2, -0.3])
def test_a_block_on_a_slope_is_one_of_a_set(angle: float) -> None:
    """Along the slope, across it, and about its normal; the forces at its corners, 12, are redundant by 6."""
    found = mbsim.equilibrium(block(angle, abs(math.tan(angle)) + 0.05))
    assert (found.stability, found.set_dimension, found.redundant, found.is_unique) == ("stable", 3, 6, False)
    np.testing.assert_allclose(sum(one.force for one in found.points), [0, 0, 5 * G], atol=1e-8)
    normal = np.array([-math.sin(angle), 0, math.cos(angle)])
    uphill = np.array(
        [one.force @ normal for one in found.points if one.point @ [math.cos(angle), 0, math.sin(angle)] > 0]
    )
    half = 5 * G * math.cos(angle) / 4
    np.testing.assert_allclose(uphill, half * (1 - 0.5 * math.tan(angle)), rtol=1e-6)  # of the moment about its middle


def test_friction_at_its_limit_has_no_known_stability() -> None:
    found = mbsim.equilibrium(block(0.2, math.tan(0.2) * (1 + 1e-7)))
    assert (found.stability, found.is_unique, found.reason) == ("unknown", None, "friction is at its limit")


def test_a_block_without_friction_is_neutral_on_a_floor() -> None:
    found = mbsim.equilibrium(block(0.0, 0.0))
    assert (found.stability, found.found.neutral, found.redundant, found.set_dimension) == ("neutral", 3, 1, 0)


@pytest.mark.parametrize(("x", "y"), [(0.0, 0.0), (0.1, 0.05), (0.25, -0.1)])
@pytest.mark.parametrize("friction", [0.0, 0.6])
def test_a_table_stands_with_the_forces_of_least_squares(x: float, y: float, friction: float) -> None:
    corners = [(a, b) for a in (-0.4, 0.4) for b in (-0.3, 0.3)]
    legs = ", ".join(f"{{type: sphere, radius: 0.02, position: [{a}, {b}, -0.3]}}" for a, b in corners)
    body = f"table: {{mass: 8, com: [{x}, {y}, 0], inertia: {{principal: [0.5, 0.5, 1]}}, shapes: [{legs}]"
    found = mbsim.equilibrium(scene(f"{body}, position: [0, 0, 0.32]}}", PLANE, friction))
    forces = {tuple(np.round(one.point[:2], 9)): one.force[2] for one in found.points}
    expected = {(a, b): 2 * G * (1 + x * a / 0.16 + y * b / 0.09) for a, b in corners}
    assert {key: pytest.approx(value, abs=1e-7) for key, value in expected.items()} == forces
    assert (found.redundant, found.set_dimension) == ((6, 3) if friction else (1, 0))
    assert found.stability == ("stable" if friction else "neutral")


@pytest.mark.parametrize("friction", [0.0, 0.6])
def test_a_leg_without_force_touches(friction: float) -> None:
    """A weight on the middle between three legs; the fourth one stands on the floor without force."""
    corners = [(a, b) for a in (-0.4, 0.4) for b in (-0.3, 0.3)]
    legs = ", ".join(f"{{type: sphere, radius: 0.02, position: [{a}, {b}, -0.3]}}" for a, b in corners)
    body = f"table: {{mass: 8, com: [0.2, -0.15, 0], inertia: {{principal: [0.5, 0.5, 1]}}, shapes: [{legs}]"
    found = mbsim.equilibrium(scene(f"{body}, position: [0, 0, 0.32]}}", PLANE, friction))
    assert (len(found.points), found.found.touched) == (3, 1)
    assert found.stability == ("stable" if friction else "neutral")


# --- ladders ----------------------------------------------------------------------------------------------------------
def ladder(lean: float, friction: float) -> str:
    """Return a ladder of 2 m whose ends are spheres, between a floor and a wall."""
    x, z = math.sin(lean), math.cos(lean)
    ends = ", ".join(f"{{type: sphere, radius: 0.01, position: [0, 0, {s}]}}" for s in (-1, 1))
    wall = "{type: plane, position: [0.01, 0, 0], rotation: {axis: [0, -1, 0], angle: 90 deg}}"
    turn = f"position: [{-x!r}, 0, {z!r}], rotation: {{axis: [0, 1, 0], angle: {lean!r}}}"
    return scene(
        f"ladder: {{mass: 10, inertia: {{principal: [3, 3, 0.1]}}, shapes: [{ends}], {turn}}}",
        f"{{type: plane, position: [0, 0, -0.01]}}, {wall}",
        friction,
    )


def test_a_ladder_is_held_in_its_plane_and_rolls_sideways() -> None:
    """Its mass is above the line through both contacts, about which the spheres at its ends let it roll."""
    free = mbsim.equilibrium(ladder(0.4, 0.6))
    assert (free.stability, free.found.unstable, len(free.found.stiffness)) == ("unstable", 1, 1)
    assert abs(free.found.stiffness[0]) < 10 * G * 0.01


# --- joints -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("q", [0.0, 0.02, -0.029])
def test_friction_of_a_joint_holds_its_coordinate(q: float) -> None:
    """Two sliders on springs, one with friction of 3 N: the other is stable by its spring alone."""
    rail = "type: prismatic, axis: [1, 0, 0]"
    found = mbsim.equilibrium(f"""mbsim: 1
gravity: [0, 0, 0]
bodies: {{a: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}, b: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}}}
joints:
  a: {{{rail}, child: a, stiffness: 100, friction: {{force: 3}}, q: {q}}}
  b: {{{rail}, parent: a, child: b, stiffness: 7}}
simulation: {{duration: 1 s, step: 1 ms}}
""")
    assert (found.stability, found.set_dimension, found.is_unique) == ("stable", 1, False)
    np.testing.assert_allclose(found.found.stiffness, [7.0], rtol=1e-9)


@pytest.mark.parametrize(("mass", "stiffness"), [(1.0, 100.0), (0.7, 130.0), (2.3, 55.0), (1e-6, 1e-3), (1e6, 1e8)])
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_contacts_that_are_far_do_not_change_the_stability(mass: float, stiffness: float, friction: float) -> None:
    """The forces of the spring and of gravity cancel but for their round-off, which friction cannot balance."""
    found = mbsim.equilibrium(f"""mbsim: 1
bodies:
  a: {{mass: {mass}, inertia: {{principal: [{mass}, {mass}, {mass}]}}, shapes: [{{type: sphere, radius: 0.01}}]}}
joints: {{z: {{type: prismatic, axis: [0, 0, 1], child: a, stiffness: {stiffness}}}}}
world: {{shapes: [{{type: plane, position: [0, 0, {-5 - 9.81 * mass / stiffness}]}}]}}
contacts: {{friction: {friction}}}
simulation: {{duration: 1 s, step: 1 ms}}
""")
    assert (found.stability, found.is_unique) == ("stable", True)
    np.testing.assert_allclose(found.found.stiffness, [stiffness], rtol=1e-9)


@pytest.mark.parametrize("angle", [0.0, math.pi])
def test_a_pendulum_above_a_far_floor(angle: float) -> None:
    found = mbsim.equilibrium(f"""mbsim: 1
bodies:
  a: {{mass: 1, com: [0, 0, -0.3], inertia: {{principal: [0.1, 0.1, 0.1]}}, shapes: [{{type: sphere, radius: 0.01}}]}}
joints: {{z: {{type: revolute, axis: [0, 1, 0], child: a, q: {angle}}}}}
world: {{shapes: [{{type: plane, position: [0, 0, -5]}}]}}
contacts: {{friction: 0.5}}
simulation: {{duration: 1 s, step: 1 ms}}
""")
    assert found.stability == ("unstable" if angle else "stable")
    np.testing.assert_allclose(found.found.stiffness, [math.cos(angle) * 0.3 * 9.81], rtol=1e-8)


# --- resistance to rolling and spinning -------------------------------------------------------------------------------
def ball(angle: float, rolling: float, torsional: float, torque: float = 0.0) -> str:
    """Return a ball of 0.1 m and 2 kg on a slope, which a torque about the normal turns."""
    turn = f"rotation: {{axis: [0, -1, 0], angle: {angle!r}}}"
    normal = [-math.sin(angle), 0, math.cos(angle)]
    body = "mass: 2, inertia: {principal: [0.008, 0.008, 0.008]}, shapes: [{type: sphere, radius: 0.1}]"
    friction = f"{{static: 0.8, rolling: {rolling!r}, torsional: {torsional!r}}}"
    load = f"forces: {{load: {{body: ball, torque: {[torque * one for one in normal]}}}}}\n"
    position = [0.1 * one for one in normal]
    return scene(f"ball: {{{body}, position: {position}}}", f"{{type: plane, {turn}}}", friction) + load


@pytest.mark.parametrize(
    ("over", "stability", "dimension"), [(1.01, "neutral", 4), (1.001, "neutral", 4), (1.00001, "unknown", 0)]
)
def test_resistance_to_rolling_holds_a_ball_on_a_slope(over: float, stability: str, dimension: int) -> None:
    """Its moment is at least m g r sin a, and at most the coefficient times m g cos a; about the normal it spins."""
    found = mbsim.equilibrium(ball(0.2, over * 0.1 * math.tan(0.2), 0.0))
    assert (found.stability, found.set_dimension) == (stability, dimension)
    assert found.found.neutral == (1 if dimension else 0)


@pytest.mark.parametrize(("over", "stability", "dimension"), [(1.001, "stable", 5), (1.00001, "unknown", 0)])
@pytest.mark.parametrize("angle", [0.0, 0.2])
def test_resistance_to_spinning_holds_a_torque(angle: float, over: float, stability: str, dimension: int) -> None:
    """It is at most the coefficient times the normal force."""
    torque = 0.01 * 2 * G * math.cos(angle)
    for sign in (1, -1):
        found = mbsim.equilibrium(ball(angle, 0.05, over * 0.01, sign * torque))
        assert (found.stability, found.set_dimension) == (stability, dimension)


# --- neighbors --------------------------------------------------------------------------------------------------------
def beside(text: str, mass: float) -> str:
    """Return a scene with a heavy box on a pedestal of its own."""
    inertia = [mass / 10] * 3
    box = f"heavy: {{mass: {mass!r}, inertia: {{principal: {inertia}}}, position: [9, 0, 0.2], shapes: [BOX]}}"
    pedestal = "{type: box, size: [1, 1, 1], position: [9, 0, -0.5]}"
    text = text.replace("bodies: {", f"bodies: {{{box.replace('BOX', '{type: box, size: [0.4, 0.4, 0.4]}')}, ")
    return text.replace("world: {shapes: [", f"world: {{shapes: [{pedestal}, ")


@pytest.mark.parametrize("mass", [1e7, 1e10])
@pytest.mark.parametrize(
    "alone",
    [
        stone(0.5, 0.8, 0.2, 0.5, "cylinder"),
        stone(0.5, 0.8, 0.4, 0.5, "cylinder"),
        stone(0.5, 0.8, 0.2, 0.5),
        stone(0.02, 0.8, 0.01, 0.5),
    ],
)
def test_a_heavy_body_elsewhere_changes_nothing(alone: str, mass: float) -> None:
    """Friction holds the heavy box, in a set of 3 dimensions more; its weight is no scale of the forces of others."""
    one, two = mbsim.equilibrium(alone), mbsim.equilibrium(beside(alone, mass))
    assert (two.stability, two.set_dimension) == (one.stability, one.set_dimension + 3)
    np.testing.assert_allclose(two.found.stiffness, one.found.stiffness, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(two.contacts["world:stone"], one.contacts["world:stone"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(two.contacts["world:heavy"], [0, 0, mass * G], atol=1e-9 * mass)


# --- stacks -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("aside", [0.0, 0.15])
@pytest.mark.parametrize(
    ("lower", "upper"), [(1.0, 1.0), (1e3, 1.0), (1e6, 1.0), (1e7, 1.0), (1e9, 1.0), (1.0, 1e3), (1.0, 1e6)]
)
def test_a_stack_of_light_and_heavy_boxes_is_held(lower: float, upper: float, aside: float) -> None:
    """Each contact carries its part of the weight, by the moments about the edges; round-off is that of the heavy box.

    Friction holds both boxes, in a set of 3 dimensions for each one that slides and spins by itself.
    """

    def box(name: str, mass: float, x: float, z: float) -> str:
        shape = "{type: box, size: [0.4, 0.4, 0.4]}"
        inertia = f"inertia: {{principal: [{mass / 10!r}, {mass / 10!r}, {mass / 10!r}]}}"
        return f"{name}: {{mass: {mass!r}, {inertia}, position: [{x!r}, 0, {z!r}], shapes: [{shape}]}}"

    text = scene(f"{box('low', lower, 0.0, 0.2)}, {box('up', upper, aside, 0.6)}", PLANE, 0.5)
    found = mbsim.equilibrium(text)
    assert (found.stability, found.set_dimension, found.redundant) == ("stable", 6, 12)
    round_off = 1e-13 * G * max(lower, upper)
    np.testing.assert_allclose(found.contacts["low:up"], [0, 0, upper * G], rtol=1e-9, atol=round_off)
    np.testing.assert_allclose(found.contacts["world:low"], [0, 0, (lower + upper) * G], rtol=1e-9, atol=round_off)
    moment = sum(one.force[2] * one.point[0] for one in found.points if one.pair == "low:up")
    assert moment == pytest.approx(upper * G * aside, rel=1e-6, abs=round_off)
