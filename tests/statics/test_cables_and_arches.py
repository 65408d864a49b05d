"""Elastic cables by finite sums, and arches of blocks by the theorem of limit analysis."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, linprog, root

import mbsim
from multibody_cli.errors import RunFailed
from multibody_cli.kernel import Floats

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

SETTINGS = "simulation: {duration: 1 s, step: 1 ms}\n"


# --- cables -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("stiffness", "drop"), [(2e3, 0.0), (2e3, 1.5), (1e7, 0.0)])
def test_an_elastic_cable_has_the_positions_of_the_finite_sums(stiffness: float, drop: float) -> None:
    """Balls of 1 kg on springs of length 1 and tension T = (H, V), V growing by m g from ball to ball.

    Spring k spans (1 + T_k/stiffness) (H, V_k)/T_k; the sums are the distances of the pins, which determine H and V_0.
    """
    n, g, span = 20, 9.81, 16.0

    def ends(forces: Floats) -> Floats:
        H, V = forces
        heights = V - g * np.arange(n + 1)
        T = np.hypot(H, heights)
        return np.array([np.sum(H * (1 / T + 1 / stiffness)), np.sum(heights * (1 / T + 1 / stiffness))])

    [H, V] = root(lambda forces: ends(forces) - [span, drop], [60.0, n * g / 2], tol=1e-14).x
    heights = V - g * np.arange(n + 1)
    T = np.hypot(H, heights)
    x = np.cumsum(H * (1 / T + 1 / stiffness))[:-1]
    z = -np.cumsum(heights * (1 / T + 1 / stiffness))[:-1]
    # from a parabola
    s = np.linspace(0, 1, n + 2)[1:-1]
    start = [[span * a, 0.0, -drop * a - 20.0 * a * (1 - a)] for a in s.tolist()]
    bodies = "".join(f"  b{k}: {{kind: point, mass: 1, position: {p}}}\n" for k, p in enumerate(start))
    points = ["{body: world}", *(f"{{body: b{k}}}" for k in range(n)), f"{{body: world, point: [{span}, 0, {-drop}]}}"]
    springs = "".join(
        f"  s{k}: {{between: [{points[k]}, {points[k + 1]}], stiffness: {stiffness}, rest_length: 1}}\n"
        for k in range(n + 1)
    )
    found = mbsim.equilibrium(f"mbsim: 1\nbodies:\n{bodies}springs:\n{springs}{SETTINGS}")
    assert found.stability == "stable"
    np.testing.assert_allclose(found.found.state.q.reshape(n, 3), np.column_stack([x, 0 * x, z]), atol=1e-9)


# --- arches -----------------------------------------------------------------------------------------------------------
def corners(count: int, thickness: float) -> tuple[Floats, Floats]:
    """Return the angles of the joints of a half circle of blocks of radius 1, and its inner and outer radius."""
    return np.linspace(0.0, math.pi, count + 1), np.array([1 - thickness / 2, 1 + thickness / 2])


def center(count: int, radii: Floats) -> float:
    """Return the distance of the centroid of a block, a trapezoid, from the center."""
    return float(2 / 3 * np.diff(radii**3)[0] / np.diff(radii**2)[0] * math.cos(math.pi / count / 2))


def stands(count: int, thickness: float, friction: float) -> bool:
    """Return whether forces at the corners of the joints, within friction, can carry the weights: a linear program.

    By the safe theorem, a thrust line within the blocks exists then (Heyman, The stone skeleton, 1966); with friction,
    the arch stands in some distribution of forces.
    """
    angles, radii = corners(count, thickness)
    matrix, weights = np.zeros((3 * count, 4 * (count + 1))), np.zeros(3 * count)
    for k in range(count):
        middle, own = (angles[k] + angles[k + 1]) / 2, slice(3 * k, 3 * k + 3)
        weights[own] = 0.0, 1.0, center(count, radii) * math.cos(middle)
        for i, sign in ((k, 1.0), (k + 1, -1.0)):
            outward = np.array([math.cos(angles[i]), math.sin(angles[i])])
            for j, (radius, force) in enumerate(
                (r, sign * d) for d in (np.array([-outward[1], outward[0]]), outward) for r in radii
            ):
                moment = radius * (outward[0] * force[1] - outward[1] * force[0])
                matrix[own, 4 * i + j] = *force, moment
    limits = np.zeros((4 * (count + 1), 4 * (count + 1)))
    for i in range(count + 1):
        for corner in (0, 1):
            for k, sign in enumerate((1.0, -1.0)):
                limits[4 * i + 2 * corner + k, 4 * i + 2 + corner] = sign
                limits[4 * i + 2 * corner + k, 4 * i + corner] = -friction
    bounds = [(0, None), (0, None), (None, None), (None, None)] * (count + 1)
    found = linprog(np.zeros(len(bounds)), limits, np.zeros(len(limits)), matrix, weights, bounds)
    return bool(found.status == 0)


def arch(count: int, thickness: float, friction: float) -> str:
    angles, radii = corners(count, thickness)
    distance, bodies = center(count, radii), ""
    for k in range(count):
        middle = (angles[k] + angles[k + 1]) / 2
        place = distance * np.array([math.cos(middle), 0.0, math.sin(middle)])
        vertices = [
            (np.array([r * math.cos(a), y, r * math.sin(a)]) - place).tolist()
            for a in angles[k : k + 2]
            for r in radii
            for y in (-0.1, 0.1)
        ]
        bodies += (
            f"  b{k}: {{mass: 1, com: [0, 0, 0], inertia: {{principal: [1, 1, 1]}}, position: {place.tolist()},"
            f" shapes: [{{type: mesh, vertices: {vertices}}}]}}\n"
        )
    floor = f"world: {{shapes: [{{type: plane}}]}}\ncontacts: {{friction: {friction!r}}}\n"
    return f"mbsim: 1\nbodies:\n{bodies}{floor}{SETTINGS}"


def test_the_program_has_the_published_thickness() -> None:
    """The thinnest half circle: t/R = 0.1075 (Milankovitch 1907), of many blocks that do not slide."""
    thinnest = brentq(lambda t: stands(101, t, 5.0) - 0.5, 0.1, 0.12, xtol=1e-6)
    assert thinnest == pytest.approx(0.1075, abs=2e-4)


def stays(scene: str) -> bool:
    """Return whether a scene is in equilibrium where it starts."""
    try:
        found = mbsim.equilibrium(scene)
    except RunFailed:  # it moves ever more slowly
        return False
    return found.held and found.found.residual < 1e-10 and float(np.abs(found.changes).max()) < 1e-12


@pytest.mark.parametrize("count", [5, 8])
def test_an_arch_stands_down_to_its_critical_friction(count: int) -> None:
    limit = brentq(lambda friction: stands(count, 0.3, friction) - 0.5, 0.05, 1.0, xtol=1e-13)
    assert stays(arch(count, 0.3, (1 + 1e-6) * limit))
    assert not stays(arch(count, 0.3, (1 - 1e-6) * limit))
    held = mbsim.equilibrium(arch(count, 0.3, 1.002 * limit))
    weight = sum(force[2] for pair, force in held.contacts.items() if pair.startswith("world"))
    assert weight == pytest.approx(count * 9.81, rel=1e-10)


def test_an_arch_stands_down_to_its_critical_thickness() -> None:
    limit = brentq(lambda thickness: stands(5, thickness, 0.8) - 0.5, 0.05, 0.3, xtol=1e-13)
    assert stays(arch(5, (1 + 1e-6) * limit, 0.8))
    assert not stays(arch(5, (1 - 1e-6) * limit, 0.8))


@pytest.mark.parametrize("angle", [10.0, 45.0, 60.0])
def test_an_arch_of_two_legs_stands_down_to_its_thrust(angle: float) -> None:
    """Legs on balls of radius r with a hinge at the apex have the thrust P L sin(a)/(2 (L cos(a) + r))."""
    a, r, weight = math.radians(angle), 0.05, 2 * 9.81
    thrust = weight * math.sin(a) / (2 * (math.cos(a) + r))
    leg = (
        "mass: 2, com: [0, 0, 0], inertia: {principal: [0.1, 0.1, 0.01]}, "
        f"shapes: [{{type: sphere, radius: {r}, position: [0, 0, -0.5]}}]"
    )
    turned = "{rotation: {axis: [1, 0, 0], angle: 90 deg}}"

    def legs(friction: float) -> str:
        return f"""mbsim: 1
bodies: {{left: {{{leg}}}, right: {{{leg}}}}}
joints:
  plane: {{type: free2d, child: left, origin: {turned}, child_origin: {turned},
    q: [{math.sin(a) / 2!r}, {r + math.cos(a) / 2!r}, {a!r}]}}
  apex: {{type: revolute, parent: left, child: right, axis: [0, 1, 0], origin: {{position: [0, 0, 0.5]}},
    child_origin: {{position: [0, 0, 0.5]}}, q: {2 * a!r}}}
world: {{shapes: [{{type: plane}}]}}
contacts: {{friction: {friction!r}}}
{SETTINGS}"""

    above = legs((1 + 1e-8) * thrust / weight)
    assert stays(above)
    assert not stays(legs((1 - 1e-8) * thrust / weight))
    for body, side in (("left", -1.0), ("right", 1.0)):
        np.testing.assert_allclose(
            mbsim.equilibrium(above).contacts[f"world:{body}"], [side * thrust, 0, weight], rtol=1e-10, atol=1e-10
        )


# --- contacts and springs ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("step", ["0.5 ms", "5 ms"])
def test_a_chain_of_rods_on_a_floor_without_friction_has_the_least_energy(step: str) -> None:
    """Rods with springs at their hinges; the ball at the last end touches the floor, a constraint of the energy."""
    n, k, g = 5, 300.0, 9.81
    arms = np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n)  # of the weights, by absolute angles

    def balance(x: Floats) -> Floats:
        angles = np.cumsum(x[:n])
        slopes = (x[n] - g * arms.sum(axis=0)) * np.cos(angles)
        return np.append(k * x[:n] + np.cumsum(slopes[::-1])[::-1], np.sin(angles).sum() - 1.45)

    exact = root(balance, [0.2, 0.1, 0.03, 0, 0, 11.0], tol=1e-14).x
    bodies = "".join(
        f"  b{i}: {{mass: 1, com: [0.5, 0, 0], inertia: {{principal: [0.01, 0.1, 0.1]}}, "
        "shapes: [{type: sphere, radius: 0.05, position: [1, 0, 0]}]}\n"
        for i in range(n)
    )
    joints = "".join(
        f"  j{i}: {{type: revolute, axis: [0, 1, 0], child: b{i}, stiffness: {k}"
        + (f", parent: b{i - 1}, origin: {{position: [1, 0, 0]}}}}\n" if i else ", q: 0.1}\n")
        for i in range(n)
    )
    found = mbsim.equilibrium(
        f"mbsim: 1\nbodies:\n{bodies}joints:\n{joints}world: {{shapes: [{{type: plane, position: [0, 0, -1.5]}}]}}\n"
        f"contacts: {{friction: 0}}\nsimulation: {{duration: 1 s, step: {step}}}\n"
    )
    assert found.found.residual < 1e-10
    np.testing.assert_allclose(found.values, exact[:n], atol=1e-11)
    np.testing.assert_allclose(found.contacts["world:b4"], [0, 0, exact[n]], atol=1e-9)
