"""Joints of every kind on affine bodies, which act on the rotation R of the polar decomposition A = R U."""

from __future__ import annotations

import numpy as np
import pytest
from loops import start
from scipy.linalg import polar
from scipy.spatial.transform import Rotation

METHODS = ["aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal"]
JELLY = {"kind": "affine", "density": 1000.0, "shapes": [{"type": "box", "size": [0.1, 0.2, 0.3]}]}
PLACE = [0.05, 0.0, 0.1]
TURN = {"axis": [1, 2, 3], "angle": 0.3}
FRAMES = {"origin": {"position": PLACE, "rotation": TURN}, "child_origin": {"position": PLACE, "rotation": TURN}}
JOINTS = {
    "revolute": {"type": "revolute", "axis": [0, 1, 0]},
    "cylindrical": {"type": "cylindrical", "axis": [0, 1, 0.3]},
    "universal": {"type": "universal"},
    "composite": {
        "type": "composite",
        "parts": [{"type": "revolute", "axis": [1, 0, 0]}, {"type": "prismatic", "axis": [0, 1, 0]}],
        "stiffness": [3.0, 40.0],
        "damping": [0.1, 0.2],
    },
}


def scene(joint, **more):
    gravity = [0.3, 0.6, -2.0]  # a larger one would turn the body inside out
    return {
        "bodies": {"jelly": JELLY},
        "joints": {"joint": {**joint, "child": "jelly", **FRAMES, **more}},
        "gravity": gravity,
    }


def rotations_of(run):
    """The rotation of the body as channels show it, and that of its matrix A by an independent decomposition."""
    sample = run.observed()
    return Rotation.from_quat(sample.quaternion[0, 0], scalar_first=True).as_matrix(), polar(
        sample.deformation[0, 0].reshape(3, 3)
    )[0]


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("method", METHODS[1:])
def test_methods_agree_and_energy_is_balanced(kind, method):
    steps = {"step": 1e-3, "integrator": "rk4"}
    one, other = (start(scene(JOINTS[kind]), name, **steps) for name in ("aba", method))
    before = other.energy()[1]
    one.advance(0.2)
    other.advance(0.2)
    exact = not method.startswith("variational")
    np.testing.assert_allclose(other.state.q[:12], one.state.q[:12], atol=1e-10 if exact else 1e-5)
    assert other.energy()[1] == pytest.approx(before, abs=1e-9 if exact else 1e-4)
    assert other.errors()[0] < 1e-10


@pytest.mark.parametrize("kind", JOINTS)
def test_the_joint_holds_the_rotation_of_the_polar_decomposition(kind):
    run = start(scene(JOINTS[kind]), "aba", step=1e-3).advance(0.25)
    shown, R = rotations_of(run)
    np.testing.assert_allclose(shown, R, atol=1e-12)
    q = run.state.q[12:]
    F = Rotation.from_rotvec(0.3 * np.array(TURN["axis"]) / np.sqrt(14)).as_matrix()
    relative = Rotation.from_matrix(F.T @ R @ F).as_rotvec()
    axes = {"revolute": [0, 1, 0], "cylindrical": np.array([0, 1, 0.3]) / np.sqrt(1.09), "composite": [1, 0, 0]}
    if kind in axes:
        angle = q[0]
        np.testing.assert_allclose(relative, angle * np.array(axes[kind], float), atol=1e-10)
    assert np.abs(relative).max() > 1e-3
    U = R.T @ run.observed().deformation[0, 0].reshape(3, 3)
    assert np.abs(U - np.eye(3)).max() > 0.01  # the body has stretched


@pytest.mark.parametrize("method", METHODS)
def test_a_torque_turns_the_body_and_its_work_is_kinetic_energy(method):
    """A motor between the world and the body in free space: angular momentum about the axis grows by the torque."""
    motor = {"type": "revolute", "axis": [0, 0, 1], "force": 0.05}
    world = {"bodies": {"jelly": JELLY}, "joints": {"joint": {**motor, "child": "jelly"}}, "gravity": [0, 0, 0]}
    run = start(world, method, step=1e-3).advance(0.2)
    sample = run.observed()
    assert sample.angular_momentum[0, 2] == pytest.approx(0.05 * 0.2, rel=1e-9)
    assert run.energy()[1] == pytest.approx(0.0, abs=1e-7)


def test_two_affine_bodies_on_a_rigid_one_keep_their_momentum():
    """Hinges between three free bodies, at points beside their centres, while all of them turn."""
    rigid = {"mass": 2.0, "inertia": {"principal": [0.05, 0.04, 0.03]}}
    hinge = {"type": "revolute", "axis": [0, 1, 0], "parent": "hub", "child_origin": {"position": [-0.05, 0, 0.1]}}
    joints = {
        name: {**hinge, "child": name, "origin": {"position": [s * 0.3, 0, 0]}, "stiffness": 2.0}
        for name, s in (("left", -1.0), ("right", 1.0))
    }
    w = np.array([0.3, 0.2, 0.4])
    bodies = {"hub": {**rigid, "velocity": {"angular": w.tolist()}}}
    for name, s in (("left", -1.0), ("right", 1.0)):
        place = np.array([s * 0.3 + 0.05, 0.0, -0.1])
        velocity = {"linear": np.cross(w, place).tolist(), "angular": w.tolist()}
        bodies[name] = {**JELLY, "position": place.tolist(), "velocity": velocity}
    for method in METHODS:
        run = start({"bodies": bodies, "joints": joints, "gravity": [0, 0, 0]}, method, step=1e-3)
        first, energy = run.observed(), run.energy()[1]
        linear, angular = first.linear_momentum[0].copy(), first.angular_momentum[0].copy()
        last = run.advance(0.2).observed()
        np.testing.assert_allclose(last.linear_momentum[0], linear, atol=1e-11)
        exact = not method.startswith("variational")
        np.testing.assert_allclose(last.angular_momentum[0], angular, atol=1e-11 if exact else 1e-6)
        assert run.energy()[1] == pytest.approx(energy, abs=1e-8 if exact else 1e-4)


@pytest.mark.parametrize("method", ["variational", "variational_maximal"])
@pytest.mark.parametrize(("order", "step"), [(2, 4e-3), (4, 1e-2)])
@pytest.mark.parametrize("kind", ["revolute", "universal"])
def test_variational_steps_keep_their_order(kind, order, step, method):
    """Motion and energy of composed steps too, with a spring of the joint and gravity."""
    hung, until = scene(JOINTS[kind], **({"stiffness": 0.5} if kind == "revolute" else {})), 0.2
    exact = start(hung, "aba", "dop853", tolerance=1e-12).advance(until).state.q[:12]
    errors, gaps = [], []
    for h in (step, step / 2):
        run = start(hung, method, step=h, options={"order": order, "tolerance": 1e-13})
        before = run.energy()[0]
        errors.append(np.abs(run.advance(until).state.q[:12] - exact).max())
        gaps.append(abs(run.energy()[0] - before))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)
    assert np.log2(gaps[0] / gaps[1]) == pytest.approx(order, abs=0.3)
