"""Fields of scenes reach the compiled kernels: rest rotations, tables of positions, coupled forces."""

from __future__ import annotations

import numpy as np
import pytest
from loops import start
from machines import evaluate
from scipy.interpolate import CubicSpline

from multibody_cli.compile import compile_scene
from multibody_cli.kernel.mode import interpreted
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


@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_coupled_forces_are_compiled(method):
    """A force of a joint, all components of a load and an activation: the compiled step is that of plain Python."""
    rod = {"mass": 1.5, "inertia": {"principal": [0.03, 0.04, 0.02]}}
    end = {"position": [0, 0, -0.4]}
    path = [{"body": "world", "point": [0.3, 0.2, 0.1]}, {"body": "b", "point": [0.1, 0.0, -0.2]}]
    muscle = {"path": path, "max_isometric_force": 80, "optimal_length": 0.6, "tendon_slack_length": 0.1}
    components = ["-30*joints.one.q", "-3*bodies.b.linear_velocity.y", "9*bodies.a.position.x"]
    scene = {
        "bodies": {"a": rod, "b": rod},
        "joints": {
            "one": {"type": "revolute", "child": "a", "axis": [0, 1, 0], "q": 0.4, "force": "-20*joints.two.v[1]"},
            "two": {"type": "universal", "parent": "a", "child": "b", "origin": end, "q": [0.3, -0.2], "v": [1, -0.5]},
        },
        "forces": {"load": {"body": "b", "point": [0.1, 0.2, 0], "force": components, "torque": components[::-1]}},
        "muscles": {"m": {**muscle, "activation": "0.5 + 2*(joints.one.q - 0.4)"}},
    }
    settings = {"integrator": "linearly_implicit_euler", "step": 0.01}
    with interpreted():
        expected = start(scene, method, **settings).advance(0.02).state
    found = start(scene, method, **settings).advance(0.02).state
    np.testing.assert_allclose(found.v, expected.v, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_coupled_forces_beside_limits_are_compiled(method):
    """With x = -1 + y and y = 10 - x at the end of the step, the first cart leaves its limit; without y, it stays."""
    cart, h = {"mass": 1.0, "inertia": {"principal": [1, 1, 1]}}, 0.01
    forces = {"a": "-1 + 100*joints.b.v", "b": "10 - 100*joints.a.v"}
    rail = {"type": "prismatic", "axis": [1, 0, 0], "limits": [0, None]}
    joints = {name: {**rail, "child": name, "force": force} for name, force in forces.items()}
    scene = {"gravity": [0, 0, 0], "bodies": {"a": cart, "b": cart}, "joints": joints}
    run = start(scene, method, integrator="linearly_implicit_euler", step=h).advance(h)
    np.testing.assert_allclose([run.joint(name, "velocity")[0] for name in forces], [4.5 * h, 5.5 * h], rtol=1e-12)
