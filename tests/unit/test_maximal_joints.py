"""Maximal-coordinate joints: which joints they are, their errors, and the derivatives of these."""

from __future__ import annotations

import numpy as np
import pytest
from discrete_motions import StepCase, chain, step_case
from kkt_problems import far_block, near_block

from multibody_cli.constraint_solver.solver import (
    update_kinematics,
)
from multibody_cli.kernel import kernel
from multibody_cli.tree.workspace import workspace_for
from multibody_cli.variational.joint_sides import write_sides
from multibody_cli.variational.maximal_joints import write_maximal_joint_errors

REVOLUTE = {"type": "revolute", "axis": [1.0, -2.0, 0.5], "q": 0.7, "v": 1.2}
BALL = {"type": "spherical", "q": {"rotvec": [0.4, -0.6, 0.3]}, "v": [0.5, -1.0, 0.7]}
SLIDER = {"type": "prismatic", "axis": [0.3, 1.0, -2.0], "q": 0.8, "v": -0.6}
FIXED = {"type": "fixed"}
MAXIMAL_JOINTS = {"revolute": REVOLUTE, "spherical": BALL, "prismatic": SLIDER, "fixed": FIXED}

maximal_joints = pytest.mark.parametrize("joint", MAXIMAL_JOINTS.values(), ids=MAXIMAL_JOINTS)


@kernel
def every_side(sides, maximal_joints, poses, terms, ends, wrenches):
    for i in range(1, len(sides)):
        write_sides(sides[i], maximal_joints, poses, terms, ends, wrenches)


def errors(given: StepCase) -> np.ndarray:
    """g of all rows, at the poses of the iterate."""
    constrained = given.step.constrained
    constrained.row_states["error"] = np.nan
    write_maximal_joint_errors(constrained.maximal_joints, given.step.discrete_motions, constrained.row_states)
    return constrained.row_states["error"].copy()


def derivatives(given: StepCase, side: str) -> np.ndarray:
    """J (side "") or K (side "_k") of all rows, (m, bodies, 6)."""
    newton, constrained = given.step.solver, given.step.constrained
    every_side(
        newton.sides,
        constrained.maximal_joints,
        given.step.discrete_motions,
        given.work.terms,
        constrained.work.terms,
        newton.kkt.cells.wrenches,
    )
    nodes = newton.kkt.nodes
    found = np.zeros((len(given.system.rows), len(nodes), 6))
    for i in range(1, len(nodes)):
        rows, parent = slice(nodes[i]["first_row"], nodes[i]["last_row"]), nodes[i]["parent"]
        found[rows, i] = near_block(newton.kkt, i, f"body_rows{side}")
        if parent > 0:
            found[rows, parent] = far_block(newton.kkt, i, f"parent_rows{side}")
    return found


def differences(given: StepCase, eps: float = 1e-5) -> np.ndarray:
    """Finite differences of g for displaced bodies, for comparison with K."""
    found = np.zeros((len(given.system.rows), len(given.step.discrete_motions), 6))
    for i in range(1, len(given.step.discrete_motions)):
        kept = given.step.discrete_motions[i : i + 1].copy()
        for k in range(6):
            values = []
            for sign in (1.0, -1.0):
                given.rotate(i, sign * eps * np.eye(6)[k])
                values.append(errors(given))
                given.step.discrete_motions[i : i + 1] = kept
            found[:, i, k] = (values[0] - values[1]) / (2 * eps)
    return found


def force_rows(given: StepCase) -> np.ndarray:
    """Rows without a moment."""
    return ~given.step.constrained.maximal_joints.constraint_axes["t"].any(axis=1)


@maximal_joints
def test_errors_vanish_and_rows_are_those_of_the_start_where_joints_are_closed(joint):
    """Rows at the start agree with those of loop frames, for any placement and either direction of the joint."""
    given = step_case(chain(joint, joint, joint))
    given.move(0.0)
    assert len(given.step.constrained.maximal_joints.table) == 3
    assert len(given.step.constrained.tree.closures) == 0
    assert np.max(np.abs(errors(given))) < 1e-10
    J, K = derivatives(given, ""), derivatives(given, "_k")
    assert np.allclose(K, J, rtol=0.0, atol=1e-10)
    assert np.max(np.abs(J), axis=(1, 2)).min() > 0.1


@maximal_joints
def test_derivatives_are_those_of_the_errors_on_the_manifold(joint):
    given = step_case(chain(joint, joint, joint, seed=1))
    given.move(0.0)
    assert np.allclose(derivatives(given, "_k"), differences(given), rtol=0.0, atol=1e-9)


@maximal_joints
def test_off_the_manifold_force_derivatives_are_exact_and_moment_derivatives_approximate(joint):
    """At an iterate with an error e, the derivative of a moment has an error of at most e."""
    given = step_case(chain(joint, joint, joint, seed=2))
    given.move(0.0)
    for i in range(1, 4):
        given.rotate(i, np.random.default_rng(i).uniform(-0.1, 0.1, 6))
    gap, wrong = np.max(np.abs(errors(given))), derivatives(given, "_k") - differences(given)
    assert gap > 0.01
    assert np.max(np.abs(wrong[force_rows(given)])) < 1e-9
    assert np.max(np.abs(wrong)) < 0.4


@maximal_joints
def test_errors_are_those_of_loop_frames_to_first_order(joint):
    """At a distance e from the manifold both differ by e^2, with the same signs: they have the same zeros."""
    given = step_case(chain(joint, joint, joint, seed=3))
    system, q = given.system, given.state.q.copy()
    last, off = [], np.random.default_rng(4).uniform(-1.0, 1.0, 3)
    for e in (1e-3, 1e-4):
        moved = q.copy()
        moved[7:10] += e * off  # position of the second body
        work = workspace_for(system)
        update_kinematics(system, 0.0, moved, np.zeros(len(given.state.v)), np.zeros(len(given.state.v)), work)
        given.state.q[:], given.state.v[:] = moved, 0.0
        given.move(0.0)
        assert np.max(np.abs(work.rows["error"])) > 0.1 * e
        last.append(np.max(np.abs(errors(given) - work.rows["error"])))
    assert last[1] <= max(0.02 * last[0], 1e-15)


@pytest.mark.parametrize(
    "joint",
    [
        {"type": "screw", "pitch": 0.3},
        {"type": "universal"},
        {"type": "cylindrical"},
        {"type": "revolute", "motion": {"position": "0.1*sin(t)"}},
        {"type": "revolute", "limits": [-1.0, 1.0]},
    ],
    ids=["screw", "universal", "cylindrical", "driven", "limited"],
)
def test_joints_whose_coordinates_are_needed_are_not_maximal_joints(joint):
    """A joint whose coordinate occurs in a constraint row keeps the coordinate in the iterate."""
    given = step_case(chain(REVOLUTE, joint))
    constrained = given.step.constrained
    assert constrained.maximal_joints.table["closure"].tolist() == [0]
    assert constrained.maximal_joints.coordinates.tolist() == [j == 12 for j in range(len(given.state.v))]
    assert sorted(given.step.plain["iv"].tolist()) == [0, 1, 2, 6, 7, 8, *range(13, len(given.state.v))]


def test_no_joint_between_planar_bodies_is_a_maximal_joint():
    """Their rows are projected onto their own coordinates, from terms."""
    scene = {
        "bodies": {"a": {"kind": "planar", "mass": 1.0, "inertia": {"principal": [0.2, 0.3, 0.4]}}},
        "joints": {"j": {"type": "revolute", "child": "a"}},
    }
    assert len(step_case(scene).step.constrained.maximal_joints.table) == 0
