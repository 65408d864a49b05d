"""Loop frames of joints of one screw or ball, in closed form: the rotation about the axis that fits best."""

from __future__ import annotations

import numpy as np
import pytest
from loops import start
from scipy.spatial.transform import Rotation

from multibody_cli.constraint_solver.loop_frames import update_loop_frames

AXIS = np.array([1.0, 2.0, -2.0]) / 3.0


def placed(kind, R, x):
    """A joint of `baraff` between the ground and a body with this pose, and the frame of the loop joint."""
    joint = {"type": kind, "child": "body"} | ({"axis": AXIS.tolist()} if kind != "spherical" else {})
    scene = {"bodies": {"body": {"mass": 1.0, "inertia": {"principal": [1, 2, 2.5]}}}, "joints": {"joint": joint}}
    run = start(scene, "baraff")
    tree, work, state = run.compiled.model.system.tree, run.method.work, run.state
    work.bodies["R"][1], work.bodies["x"][1] = R.as_matrix().T.ravel(), x
    update_loop_frames(tree, state.q, state.v, work)
    return state.q[7:], work.bodies[2]


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-3, 0.4, 1.5, 1.7, 3.0, np.pi])
@pytest.mark.parametrize("angle", [0.0, 0.3, -2.0, 3.1])
def test_a_hinge_turns_about_its_axis_and_reports_the_rest(angle, tilt):
    """The body is turned about the axis, then tilted about a normal to it: the error is the tilt, and its direction."""
    normal = np.cross(AXIS, [0.3, -0.2, 0.9])
    normal /= np.linalg.norm(normal)
    turn, tilted = Rotation.from_rotvec(angle * AXIS), Rotation.from_rotvec(tilt * normal)
    q, frame = placed("revolute", tilted * turn, [0.1, 0.2, 0.3])
    error = np.array(frame["dw"])
    assert np.linalg.norm(error) == pytest.approx(tilt, rel=1e-15, abs=1e-15)
    np.testing.assert_allclose(frame["dv"], [0.1, 0.2, 0.3])
    if tilt < 3.1:  # there the angle is undetermined
        np.testing.assert_allclose(error, tilt * normal, atol=1e-14)
        assert np.cos(q[0] - angle) == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(np.array(frame["R"]).reshape(3, 3).T, turn.as_matrix(), atol=1e-14)


def test_a_slide_reports_the_whole_rotation():
    R, along = Rotation.from_rotvec([0.3, -0.2, 0.5]), 0.7
    q, frame = placed("prismatic", R, along * AXIS)
    assert q[0] == pytest.approx(along)
    np.testing.assert_allclose(frame["dw"], R.as_rotvec(), atol=1e-15)
    np.testing.assert_allclose(frame["dv"], 0.0, atol=1e-15)


def test_the_frame_of_a_ball_is_that_of_the_child():
    R = Rotation.from_rotvec([0.3, -0.2, 2.5])
    q, frame = placed("spherical", R, [0.0, 0.0, 1e-3])
    np.testing.assert_allclose(np.array(frame["R"]).reshape(3, 3).T, R.as_matrix(), atol=1e-15)
    np.testing.assert_allclose(frame["dw"], 0.0)
    np.testing.assert_allclose(frame["dv"], [0.0, 0.0, 1e-3])
    assert abs(abs(q @ np.roll(R.as_quat(), 1)) - 1.0) < 1e-15
