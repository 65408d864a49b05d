"""Contacts of affine bodies: at the corners of boxes and at spheres, which are points of the body with a radius."""

from __future__ import annotations

import numpy as np
import pytest
from loops import loaded, start

from multibody_cli.errors import SceneError

METHODS = ["aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal"]
SIZE = [0.1, 0.2, 0.3]
MASS = 1000 * np.prod(SIZE)
BOX = {"type": "box", "size": SIZE}
PLANE = {"shapes": [{"type": "plane"}]}
STEPS = {"integrator": "semi_implicit_euler", "step": 1e-3}


def brick(**more):
    return {"kind": "affine", "density": 1000.0, "shapes": [BOX], **more}


def scene(bodies, **more):
    return {"world": PLANE, "bodies": bodies, "contacts": {"friction": 0.0}, **more}


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("method", METHODS)
def test_a_brick_hits_the_floor_with_a_quarter_of_its_mass(method, friction):
    """At the bottom 1/m + L^2/P, about 4/m for the arm L = c/2 and P = m c^2/12; friction acts at the same arm."""
    speed, slide = 2.0, 1.5
    arm, moment = SIZE[2] / 2 - 1e-3 * SIZE[0], MASS * SIZE[2] ** 2 / 12
    impulse = speed / (1 / MASS + arm**2 / moment)
    assert impulse == pytest.approx(MASS * speed / 4, rel=2e-3)
    start_of = {"position": [0, 0, 0.15 + 0.0105], "velocity": {"linear": [slide, 0, -speed]}}
    found = scene({"brick": brick(**start_of)}, gravity=[0, 0, 0], contacts={"friction": friction})
    run = start(found, method, **STEPS).advance(0.008)
    v = run.state.v[:12]
    after = [slide - friction * impulse / MASS, 0, impulse / MASS - speed]
    np.testing.assert_allclose(v[:3], after, atol=1e-9)
    third = arm * impulse / moment * np.array([friction, 0, -1])
    rates = np.array([np.zeros(3), np.zeros(3), third])
    directors = np.concatenate([run.state.q[3:12].reshape(3, 3), v[3:12].reshape(3, 3)])
    order = np.argmax(np.abs(directors[:3]), axis=1)  # principal axes may come in any order
    np.testing.assert_allclose(v[3:12].reshape(3, 3)[np.argsort(order)], rates, atol=1e-8)


def sprung():
    """A brick whose edges are kept by stiff, damped springs between its corners and the opposite ones."""
    corners = {f"c{k}": (np.array(SIZE) * ([(k >> j & 1) - 0.5 for j in range(3)])).tolist() for k in range(8)}
    springs = {}
    for a in range(8):
        for b in range(a):
            length = float(np.linalg.norm(np.subtract(corners[f"c{a}"], corners[f"c{b}"])))
            ends = [{"body": "brick", "point": corners[f"c{k}"]} for k in (a, b)]
            springs[f"s{a}{b}"] = {"between": ends, "stiffness": 2000.0, "damping": 20.0, "rest_length": length}
    return springs


@pytest.mark.parametrize("method", METHODS)
def test_a_sprung_brick_comes_to_rest_with_its_weight_on_four_corners(method):
    found = scene({"brick": brick(position=[0, 0, 0.16])}, springs=sprung(), contacts={"friction": 0.5})
    run = start(found, method, "semi_implicit_euler", step=5e-4).advance(1.5)
    normal = run.method.contact_work.detection.contacts["impulse"][:4, 0] / 5e-4
    np.testing.assert_allclose(normal, MASS * 9.81 / 4, rtol=0.05)
    assert np.abs(run.state.v[:12]).max() < 1e-3
    assert abs(run.state.q[2] - 0.15) < 2e-3


@pytest.mark.parametrize("method", METHODS)
def test_a_brick_on_a_rigid_body_keeps_the_momentum(method):
    block = {"mass": 3.0, "shapes": [{"type": "box", "size": [0.5, 0.5, 0.1]}]}
    bodies = {"block": block, "brick": brick(position=[0.05, 0.02, 0.21], velocity={"linear": [0.3, 0, -2.0]})}
    free = {"world": {}, "bodies": bodies, "contacts": {"friction": 0.4}, "gravity": [0, 0, 0]}
    run = start(free, method, **STEPS)
    first = run.observed()
    linear, angular = first.linear_momentum[0].copy(), first.angular_momentum[0].copy()
    energy = run.energy()[0]
    last = run.advance(0.03).observed()
    np.testing.assert_allclose(last.linear_momentum[0], linear, atol=1e-9)
    np.testing.assert_allclose(last.angular_momentum[0], angular, atol=5e-4)  # impulses act within a step
    assert 0.1 < run.energy()[0] < 0.95 * energy
    assert run.body("block", "linear_velocity")[2] < -0.1


@pytest.mark.parametrize("method", METHODS[1:])
def test_methods_agree_with_joints_and_contacts(method):
    """A rigid leg on a hinge of a brick: the foot and the corners of the brick touch the floor."""
    leg = {"mass": 0.5, "shapes": [{"type": "sphere", "radius": 0.05}], "position": [0.3, 0, 0.06]}
    hinge = {"type": "revolute", "axis": [0, 1, 0], "parent": "brick", "child": "leg", "stiffness": 5.0, "damping": 0.1}
    hinge |= {"child_origin": {"position": [-0.25, 0, 0.14]}, "origin": {"position": [0.05, 0, 0.0]}}
    bodies = {"brick": brick(position=[0, 0, 0.2]), "leg": leg}
    found = scene(bodies, joints={"hinge": hinge}, springs=sprung())
    runs = [start(found, name, "semi_implicit_euler", step=5e-4).advance(0.12) for name in ("aba", method)]
    tolerance = 1e-9 if not method.startswith("variational") else 1e-5
    for body in ("brick", "leg"):
        one, other = (run.body(body, "position") for run in runs)
        np.testing.assert_allclose(other, one, atol=tolerance)
    assert runs[1].method.contact_work.step.sizes[0]["contacts"] >= 4


@pytest.mark.parametrize("method", METHODS)
def test_a_run_does_not_depend_on_where_it_pauses(method):
    found = scene({"brick": brick(position=[0, 0, 0.18])}, contacts={"friction": 0.3})
    one, other = (start(found, method, **STEPS) for _ in range(2))
    one.advance(0.12)
    for k in range(60, 121):
        other.advance(k * 1e-3)
    np.testing.assert_array_equal(other.state.q, one.state.q)


def test_a_sphere_is_a_bead_that_keeps_its_radius():
    ball = brick(shapes=[{"type": "sphere", "radius": 0.1}], position=[0, 0, 0.3])
    run = start(scene({"ball": ball}), "aba", **STEPS).advance(0.6)
    assert run.state.q[2] == pytest.approx(0.1, abs=1e-6)
    np.testing.assert_allclose(run.observed().deformation[0, 0].reshape(3, 3), np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (
            {"type": "capsule", "radius": 0.1, "length": 0.2},
            "contacts of an affine body are those of points of `sphere`",
        ),
        ({**BOX, "friction": {"static": 0.3, "rolling": 0.01}}, "points of an affine body do not turn"),
    ],
)
def test_other_contacts_are_refused(shape, message):
    with pytest.raises(SceneError, match=message):
        loaded(scene({"brick": brick(shapes=[shape])}), integrator="semi_implicit_euler")
