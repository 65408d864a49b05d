"""The derivative of the discrete momentum against finite differences, and Newton corrections with it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from discrete_motions import StepCase, chain, step_case
from kkt_problems import mass_block
from test_maximal_joints import BALL, REVOLUTE, SLIDER

from multibody_cli.kernel import kernel
from multibody_cli.tree.configuration import displace_coordinates
from multibody_cli.variational.constrained import evaluate_rows
from multibody_cli.variational.discrete_motion import write_derivative, write_projected_derivative
from multibody_cli.variational.newton_maximal import newton_maximal_response
from multibody_cli.variational.poses import compute_poses
from multibody_cli.variational.step import drnea_body_residuals

both_discretizations = pytest.mark.parametrize("coupled", [False, True], ids=["decoupled", "se3"])


@kernel
def every_derivative(nodes, wrenches, links, bodies, discrete_motions):
    for i in range(1, len(nodes)):
        write_derivative(wrenches, nodes[i].block, links[i], bodies[i], discrete_motions[i])


@kernel
def every_projected(nodes, numbers, links, bodies, discrete_motions, columns):
    for i in range(1, len(nodes)):
        write_projected_derivative(numbers, nodes[i], 0, links[i], bodies[i], discrete_motions[i], columns)


def momentum(given: StepCase, h: float) -> np.ndarray:
    """Discrete momentum of each body, about its origin at the start, times h."""
    work, discrete_motions = given.work, given.step.discrete_motions
    drnea_body_residuals(given.system.tree.links, work.bodies, discrete_motions, h, work.wrenches)
    count = len(discrete_motions)
    brought = np.hstack([discrete_motions["t"], discrete_motions["f"]])
    return h * (brought - np.hstack([work.wrenches["t"][:count], work.wrenches["f"][:count]]))


def differences(given: StepCase, body: int, motions: np.ndarray, h: float, eps: float = 1e-6) -> np.ndarray:
    """Changes of the momentum of a body by unit motions (n, 6) at the end of the step, (6, n)."""
    kept, found = given.step.discrete_motions[body : body + 1].copy(), []
    for motion in motions:
        values = []
        for sign in (1.0, -1.0):
            given.rotate(body, sign * eps * motion)
            values.append(momentum(given, h)[body])
            given.step.discrete_motions[body : body + 1] = kept
        found.append((values[0] - values[1]) / (2 * eps))
    return np.array(found).T


@both_discretizations
def test_the_derivative_of_rigid_bodies(coupled):
    """Discrete motions that rotate by half a radian, with centers of mass away from the origins."""
    given, h = step_case(chain(BALL, REVOLUTE, seed=5), coupled), 0.5
    given.move(h)
    kkt = given.step.solver.kkt
    every_derivative(
        kkt.nodes, kkt.cells.wrenches, given.system.tree.links, given.work.bodies, given.step.discrete_motions
    )
    for i in (1, 2):
        assert np.allclose(mass_block(kkt, i), differences(given, i, np.eye(6), h), rtol=0.0, atol=1e-8)


@both_discretizations
def test_the_derivative_of_planar_bodies_in_their_own_coordinates(coupled):
    scene = {
        "bodies": {
            "a": {
                "kind": "planar",
                "mass": 2.0,
                "com": [0.3, 0.1, 0.0],
                "inertia": {"principal": [0.2, 0.3, 0.4]},
                "position": [-0.4, 0.0, 0.0],
                "velocity": {"linear": [0.0, -1.2, 0.0], "angular": [0.0, 0.0, 3.0]},
            }
        },
        "joints": {"j": {"type": "revolute", "child": "a", "child_origin": {"position": [0.4, 0.0, 0.0]}}},
    }
    given, h = step_case(scene, coupled), 0.2
    given.move(h)
    kkt, columns = given.step.solver.kkt, given.work.columns[:3]
    S = np.hstack([columns["angular"], columns["linear"]])
    every_projected(
        kkt.nodes, kkt.cells.numbers, given.system.tree.links, given.work.bodies, given.step.discrete_motions, columns
    )
    assert np.allclose(mass_block(kkt, 1), S @ differences(given, 1, S, h), rtol=0.0, atol=1e-8)


def newton_corrections(given: StepCase, h: float) -> list[float]:
    """Sizes of six corrections of a step from an iterate at the initial rates."""
    system, work, step = given.system, given.work, given.step
    given.move(h)
    sizes = []
    for _ in range(6):
        compute_poses(system.tree, step.q, step.discrete_motions, step.pose_work)
        evaluate_rows(system, work, step, h)
        drnea_body_residuals(system.tree.links, work.bodies, step.discrete_motions, h, work.wrenches)
        work.impulse[:] = 0.0
        newton_maximal_response(system, work, step, h)
        displace_coordinates(step.plain, step.quaternions, step.q, work.response, h)
        sizes.append(np.max(np.abs(work.response)))
    return sizes


@both_discretizations
def test_newton_corrections_converge_quadratically(coupled):
    """A large step from an iterate that violates every joint, with all derivatives."""
    given, h = step_case(chain(BALL, REVOLUTE, SLIDER, REVOLUTE, seed=6), coupled), 0.2
    sizes = newton_corrections(given, h)
    assert sizes[0] > 0.05
    assert min(sizes) < 1e-12
    assert all(after < max(2.0 * before**2, 1e-12) for before, after in pairwise(sizes))


@both_discretizations
def test_newton_corrections_of_affine_bodies_converge_quadratically(coupled):
    """Bodies of twelve coordinates beside a rigid one, on joints that hold the rotation of the polar decomposition."""
    scene = chain(BALL, REVOLUTE, SLIDER, seed=7)
    moments = scene["bodies"]["b0"]["inertia"]
    for name in ("b0", "b1"):
        scene["bodies"][name] = {"kind": "affine", "mass": 1.2, "inertia": moments}
    for joint in scene["joints"].values():
        joint.pop("v", None)
    given, h = step_case(scene, coupled), 0.1
    given.state.v[:24] = np.random.default_rng(8).uniform(-0.1, 0.1, 24)
    sizes = newton_corrections(given, h)
    assert sizes[0] > 0.05
    assert min(sizes) < 1e-12
    assert all(after < max(2.0 * before**2, 1e-12) for before, after in pairwise(sizes))
