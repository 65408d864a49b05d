"""Forces of joints as expressions of the state: exact derivatives, implicit integrators, and agreement of methods."""

from __future__ import annotations

import numpy as np
import pytest
from loops import loaded, start

from multibody_cli.compile import compile_scene
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.forces.elements import apply_forces, apply_implicit_joint_forces
from multibody_cli.forces.quantities import write_directions
from multibody_cli.tree.jacobian import jacobian_times, write_ball_columns
from multibody_cli.tree.workspace import workspace_for

ROD = {"mass": 1.5, "com": [0.05, 0.02, -0.2], "inertia": {"principal": [0.03, 0.04, 0.02]}}
AT_END = {"position": [0, 0, -0.4]}
CHAIN = {
    "bodies": {"a": ROD, "b": ROD, "c": ROD},
    "joints": {
        "one": {"type": "revolute", "child": "a", "axis": [0, 1, 0], "q": 0.4, "v": 0.6},
        "two": {"type": "universal", "parent": "a", "child": "b", "origin": AT_END, "q": [0.3, -0.2], "v": [1, -0.5]},
        "three": {"type": "prismatic", "parent": "b", "child": "c", "axis": [1, 0, 1], "origin": AT_END, "q": 0.1},
    },
}
FORCES = {
    "one": "-3*sin(q) - 0.2*v*abs(v) + 2*joints.two.q[1]**2 + t",
    "two": ["-2*q - q[1]*v + max(q, joints.one.v)", "atan2(v[0], 2 + q) + 4*bodies.c.position.x"],
    "three": "-5*q/(1 + v**2) + exp(-joints.one.q)*bodies.b.point(0.1, 0, -0.2).position.z",
}
WITH_VELOCITIES = {**FORCES, "one": "-2*v - bodies.c.linear_velocity.x + 0.3*bodies.b.angular_velocity[1]*v"}


def chain(forces):
    joints = {name: {**joint, "force": forces[name]} for name, joint in CHAIN["joints"].items()}
    return {**CHAIN, "joints": joints}


def controls(system, work, q, v):
    """Forces on the coordinates at a state."""
    a, powers = np.zeros_like(v), np.zeros(3)
    update_kinematics(system, 0.5, q, v, a, work)
    apply_forces(system.forces, 0.5, q, v, work, powers)
    assert powers.sum() == pytest.approx(work.tau @ v)
    return np.array(work.tau)


@pytest.mark.parametrize(("forces", "along", "faster"), [(FORCES, 1.0, 0.0), (WITH_VELOCITIES, 0.0, 1.0)])
def test_derivatives_of_joint_forces_are_exact(forces, along, faster):
    compiled = compile_scene(loaded(chain(forces)))
    system, q, v = compiled.model.system, compiled.state.q, compiled.state.v
    work, n, h = workspace_for(system), len(compiled.state.v), 1e-5
    for j in range(n):
        unit = np.eye(n)[j]
        ends = [controls(system, work, q + along * s * unit, v + faster * s * unit) for s in (-2 * h, -h, h, 2 * h)]
        wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
        controls(system, work, q, v)
        write_ball_columns(system.tree, work)
        jacobian_times(system.tree, unit, work)
        write_directions(
            system.forces.quantities, system.forces.points, system.forces.signals, unit, work.bodies, along, faster
        )
        found = np.zeros(n)
        apply_implicit_joint_forces(system.forces, 0.5, np.array([0.0, along, faster]), True, unit, found, np.zeros(n))
        np.testing.assert_allclose(found, wanted, atol=1e-9 * (1 + np.abs(wanted).max()))


def test_an_expression_has_the_motion_of_the_spring_and_damper_that_it_writes():
    forces = {"one": "-30*(q - 0.1) - 2*v", "two": ["-20*q - v", "-20*q - v"], "three": "-400*q - 9*v"}
    elements = {
        "one": {"stiffness": 30, "rest": 0.1, "damping": 2},
        "two": {"stiffness": 20, "damping": 1},
        "three": {"stiffness": 400, "damping": 9},
    }
    joints = {name: {**joint, **elements[name]} for name, joint in CHAIN["joints"].items()}
    for integrator in ("rk4", "linearly_implicit_euler", "sdirk2"):
        runs = [
            start(scene, "aba", integrator=integrator, step=0.004)
            for scene in (chain(forces), {**CHAIN, "joints": joints})
        ]
        ends = [run.advance(0.04).state for run in runs]
        np.testing.assert_allclose(ends[0].q, ends[1].q, atol=1e-12)
        np.testing.assert_allclose(ends[0].v, ends[1].v, atol=1e-11)


@pytest.mark.parametrize(("force", "at_start", "k", "c"), [("-2*q + 3*v", 1.8, 2, 0), ("7*q - 4*v", 0.2, 0, 4)])
def test_a_destabilizing_force_of_the_own_coordinate_is_explicit(force, at_start, k, c):
    """A step of mass 2 from q = 0.6, v = 1: the implicit terms are those of the stable part alone."""
    rail = {"type": "prismatic", "axis": [1, 0, 0], "child": "cart", "q": 0.6, "v": 1, "force": force}
    cart = {"mass": 2, "inertia": {"principal": [1, 1, 1]}}
    scene, h = {"gravity": [0, 0, 0], "bodies": {"cart": cart}, "joints": {"rail": rail}}, 0.1
    found = start(scene, "aba", integrator="linearly_implicit_euler", step=h).advance(h).state.v[0]
    assert found == pytest.approx(1 + h * (at_start - h * k) / (2 + h * c + h * h * k), abs=1e-14)


@pytest.mark.parametrize("method", ["redmax", "baraff", "symbolic"])
def test_methods_agree_on_the_motion(method):
    found, wanted = (start(chain(WITH_VELOCITIES), one, step=0.01).advance(0.05) for one in (method, "aba"))
    for joint in CHAIN["joints"]:
        np.testing.assert_allclose(
            found.joint(joint, "coordinates"),
            wanted.joint(joint, "coordinates"),
            atol=1e-7 if method == "baraff" else 1e-12,
        )
    energy = [run.energy()[1] for run in (found, wanted)]
    assert energy[0] == pytest.approx(energy[1], abs=1e-6)


@pytest.mark.parametrize("integrator", ["linearly_implicit_euler", "sdirk2"])
def test_a_stiff_expression_needs_no_small_steps(integrator):
    scene = chain({"one": "-1e6*q - 100*v", "two": ["-q", "-q"], "three": "-1e6*(q - 0.1)"})
    scene["joints"]["one"].update(q=0, v=0)
    run = start(scene, "aba", integrator=integrator, step=0.01).advance(0.2)
    assert abs(run.joint("one", "coordinates")[0]) < 1e-3
    assert abs(run.joint("three", "coordinates")[0] - 0.1) < 1e-3
