"""Bodies collide where their paths meet within a step, and nowhere else, by every method."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from final_samples import last_instants

import mbsim
from multibody_cli.methods import METHODS

HEAD = "mbsim: 1\ngravity: [0, 0, 0]\nsimulation: {duration: 1 ms, step: 1 ms}\noutput: {every: 1 ms}\n"
CONTACTS = "contacts: {friction: 0, restitution: %s}\n"
BALL = "{mass: 1, shapes: [{type: sphere, radius: 0.01}], position: %s, velocity: {linear: %s}}"


def balls(restitution: float, position: Any, velocity: Any) -> str:
    """A ball that flies by another at rest in the origin."""
    return (
        HEAD
        + CONTACTS % restitution
        + f"bodies: {{a: {BALL % (position, velocity)}, c: {BALL % ([0, 0, 0], [0, 0, 0])}}}\n"
    )


def blade(distance: float, angle: float) -> str:
    """A blade that reaches 0.5 m at 50 rad/s, and a ball at a distance from the axis, at an angle in front of it."""
    place = [distance * math.cos(angle), distance * math.sin(angle), 0]
    return (
        HEAD
        + CONTACTS % 1
        + "bodies:\n  blade: {mass: 1, inertia: {principal: [1, 1, 1]}, "
        + "shapes: [{type: capsule, radius: 0.01, length: 0.48, position: [0.25, 0, 0], "
        + "rotation: {axis: [0, 1, 0], angle: 90 deg}}]}\n"
        + f"  c: {BALL % (place, [0, 0, 0])}\n"
        + "joints: {hinge: {type: revolute, axis: [0, 0, 1], child: blade, v: 50}}\n"
    )


TABLE = (
    HEAD
    + CONTACTS % 1
    + "world: {shapes: [{type: box, size: [0.4, 0.4, 0.1], position: [0.2, 0, -0.05]}]}\n"
    + f"bodies: {{c: {BALL % ([-0.02, 0, 0.0101], [100, 0, 0])}}}\n"
)

WALL = (
    HEAD
    + CONTACTS % "%s"
    + "world: {shapes: [{type: box, size: [0.02, 1, 1], rotation: {axis: [0, 0, 1], angle: 30 deg}}]}\n"
    + f"bodies: {{a: {BALL % ([-0.1, 0, 0], [500, 0, 0])}, c: {BALL % ([0.2, 0, 0], [0, 0, 0])}}}\n"
)
"""A wall, and a ball at rest behind it."""

CORNER = (
    HEAD
    + CONTACTS % 1
    + "world: {shapes: [{type: box, size: [1, 2, 2], position: [0.51, 0, 0]}, "
    + "{type: box, size: [2, 1, 2], position: [0, 0.51, 0]}]}\n"
    + f"bodies: {{a: {BALL % ([-0.03, -0.02, 0], [100, 80, 0])}}}\n"
)
"""Two walls at a right angle, which a ball meets after 0.3 ms and 0.25 ms."""

CLOSE = 0.0001
"""Distance by which balls miss each other, m."""

SCENES = {
    "far": balls(1, [-0.3, 0.1, 0], [500, 0, 0]),
    "near": balls(1, [-0.005, 0.02 + CLOSE, 0], [10, 0, 0]),
    "glancing": balls(1, [-0.05, 0.01, 0], [100, 0, 0]),
    "inelastic": balls(0, [-0.05, 0.01, 0], [100, 0, 0]),
    "through": balls(1, [-0.5, 0, 0], [800, 0, 0]),
    "outside": blade(0.51 + CLOSE, 0.025),
    "inside": blade(0.45, 0.06),
    "table": TABLE,
    "behind": WALL % 0.5,
    "behind, e = 0": WALL % 0,
    "corner": CORNER,
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict]:
    """The last instants of all scenes by all methods."""
    folder = tmp_path_factory.mktemp("paths")
    paths = [folder / f"{name}.yaml" for name in SCENES]
    for path in paths:
        path.write_text(SCENES[path.stem])
    return last_instants(paths)


METHOD = pytest.mark.parametrize("method", sorted(METHODS))
FREE = ("aba", "redmax", "symbolic")


@METHOD
@pytest.mark.parametrize("scene", ["far", "near", "outside"])
def test_bodies_that_miss_each_other_do_not_collide(found, method, scene):
    assert found[scene, method]["bodies/linear_velocity"][-1] == [0.0, 0.0, 0.0]


@METHOD
def test_a_ball_flies_over_the_edge_of_a_table(found, method):
    assert found["table", method]["bodies/linear_velocity"] == [pytest.approx([100.0, 0.0, 0.0], abs=1e-12)]


@METHOD
@pytest.mark.parametrize(("scene", "offset", "e"), [("glancing", 0.01, 1), ("inelastic", 0.01, 0), ("through", 0, 1)])
def test_balls_part_where_their_paths_meet(found, method, scene, offset, e):
    """The normal is that of the contact, and each ball keeps its velocity until then."""
    start, speed = (-0.5, 800.0) if scene == "through" else (-0.05, 100.0)
    touch = math.sqrt(0.02**2 - offset**2)
    time, normal = (-touch - start) / speed, np.array([touch, -offset, 0.0]) / 0.02
    gained = 0.5 * (1 + e) * speed * normal[0] * normal
    v, x = (np.array(found[scene, method][f"bodies/{name}"]) for name in ("linear_velocity", "position"))
    assert v[1] == pytest.approx(gained, abs=1e-5 * speed)
    assert v[0] == pytest.approx([speed, 0.0, 0.0] - gained, abs=1e-5 * speed)
    assert x[1] == pytest.approx((1e-3 - time) * gained, abs=1e-5)
    assert x[0] == pytest.approx(np.array([-touch, offset, 0.0]) + (1e-3 - time) * v[0], abs=1e-5)


@METHOD
def test_a_blade_hits_along_its_circle(found, method):
    """The direction is that of the blade when it meets the ball; coordinates of bodies have paths of first order."""
    x, y, _ = found["inside", method]["bodies/linear_velocity"][-1]
    direction = math.atan2(-x, y)
    exact = 0.06 - math.asin(0.02 / 0.45)
    assert direction == pytest.approx(exact, abs=1e-5 if method in FREE else 2e-3)
    assert math.hypot(x, y) > 20.0


@METHOD
@pytest.mark.parametrize(("scene", "e"), [("behind", 0.5), ("behind, e = 0", 0.0)])
def test_a_ball_that_bounces_off_a_wall_does_not_meet_the_ball_behind_it(found, method, scene, e):
    v, normal = found[scene, method]["bodies/linear_velocity"], np.array([math.cos(math.pi / 6), 0.5, 0.0])
    assert v[1] == [0.0, 0.0, 0.0]
    assert v[0] == pytest.approx([500.0, 0.0, 0.0] - (1 + e) * 500.0 * normal[0] * normal, abs=1e-9)


@METHOD
def test_a_ball_bounces_off_both_walls_of_a_corner(found, method):
    assert found["corner", method]["bodies/linear_velocity"] == [pytest.approx([-100.0, -80.0, 0.0], abs=1e-9)]


@METHOD
def test_no_energy_appears(found, method):
    for scene in SCENES:
        run = found[scene, method]
        assert run["energy/total"] <= run["energy/first"] * (1.0 + 1e-9)


def test_a_direction_that_separates_nothing_does_not_stop_the_time_of_contact():
    """A capsule and an edge of a box that spins, with steps of 1 us: the advances along the direction are 0."""
    capsule = {
        "mass": 1,
        "rotation": {"rotvec": [-0.48862023602099863, -0.18781793084820192, -1.0470873550307231]},
        "shapes": [{"type": "capsule", "length": 0.07721473608876206, "radius": 0.08836742301844691}],
        "velocity": {"angular": [33.71088697135489, -211.80389188441484, 81.12526972627802]},
    }
    box = {
        "mass": 1,
        "position": [0.013865623512982256, -0.2133816473849462, 0.11160620761954293],
        "rotation": {"rotvec": [1.0999212075232538, -0.6145184861541055, 0.27882074435260085]},
        "shapes": [{"type": "box", "size": [0.12141023189734593, 0.14763954497016843, 0.19153366760753318]}],
        "velocity": {
            "linear": [-32.045787756760596, 122.97029425202714, -16.603343379577414],
            "angular": [166.71089730610367, 70.96945662474295, 133.03123787662392],
        },
    }
    scene = {
        "mbsim": 1,
        "gravity": [0, 0, 0],
        "bodies": {"capsule": capsule, "box": box},
        "contacts": {"friction": 0, "restitution": 0},
        "simulation": {"duration": 4e-4, "step": 1e-6},
        "output": {"every": 1e-6},
    }
    with pytest.warns(mbsim.SceneWarning, match="the time of their contact is uncertain"):
        run = mbsim.load(json.dumps(scene) + "\n").run()
    momentum, energy = run["momentum/linear"].values, run["energy/kinetic"].values
    assert run.attrs["status"] == "complete"
    np.testing.assert_allclose(momentum, momentum[:1] * np.ones((len(momentum), 1)), atol=1e-9)
    assert energy[-1] < 0.9 * energy[0]  # they met
    assert energy.max() < energy[0] * (1.0 + 1e-4)
