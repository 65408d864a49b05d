"""Fields of joints reach the compiled kernels: rest rotations, and tables of positions."""

from __future__ import annotations

import numpy as np
import pytest
from machines import evaluate
from scipy.interpolate import CubicSpline

from multibody_cli.compile import compile_scene
from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import Status
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.scene.load import load_scene

SCENE = """\
mbsim: 1
gravity: [0, 0, 0]
bodies: {{arm: {{mass: 1, shapes: [{{type: sphere, radius: 0.1}}]}}}}
simulation: {{duration: 3}}
joints: {{held: {{child: arm, {joint}}}}}
"""


def compiled(folder, joint):
    path = folder / "scene.yaml"
    path.write_text(SCENE.format(joint=joint), encoding="utf-8")
    found = compile_scene(load_scene(path))
    return found, METHODS["aba"](found.model, INTEGRATORS["dop853"], found.control, found.state)


@pytest.mark.parametrize("angle", [40, 70, 100])
def test_the_spring_of_a_free_joint_has_a_rest_rotation(tmp_path, angle):
    """Relaxed at 70 degrees about an oblique axis; turned further or less about it, the torque is -k (angle - 70)."""
    axis, stiffness, inertia = np.array([2.0, -1.0, 2.0]) / 3, 5.0, 0.4 * 0.1**2
    joint = (
        f"type: free, stiffness: [0, 0, 0, 5, 5, 5], q: {{rotation: {{axis: [2, -1, 2], angle: {angle} deg}}}}, "
        "rest: {rotation: {axis: [2, -1, 2], angle: 70 deg}}"
    )
    found, method = compiled(tmp_path, joint)
    assert method.start(found.state).status is Status.OK
    torque = -stiffness * np.radians(angle - 70) * axis
    np.testing.assert_allclose(found.state.a, [0.0, 0.0, 0.0, *(torque / inertia)], atol=1e-9)


def test_a_prescribed_table_of_positions_follows_its_spline(tmp_path):
    """A table of a prescribed position is a cubic spline by default, with its speed and acceleration."""
    times, values = [0.0, 0.5, 1.5, 2.0, 3.0], [0.0, 0.4, -0.3, 0.1, 0.6]
    joint = f"type: prismatic, motion: {{position: {{times: {times}, values: {values}}}}}"
    found, method = compiled(tmp_path, joint)
    spline, state = CubicSpline(times, values), found.state
    powers = np.zeros_like(state.ledger)
    for t in [0.2, 0.5 - 1e-9, 0.5 + 1e-9, 1.1, 1.7, 2.6]:
        evaluate(found.model.system, method.work, t, state.q, state.v, state.a, powers)
        np.testing.assert_allclose([state.q[0], state.v[0], state.a[0]], [spline(t, k) for k in range(3)], atol=1e-12)
