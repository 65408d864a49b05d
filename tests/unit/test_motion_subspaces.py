"""Dual basis and constraint axes: algebra of the motion subspace, and loop rows against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from loops import close_loops, joint_kinds, loaded, random_pose
from strategies import random_quaternion

from multibody_cli.compile import compile_scene
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.joints.directions import find_constraint_axes, find_dual_basis
from multibody_cli.kernel import records
from multibody_cli.model import CONSTRAINT_AXIS
from multibody_cli.spatial.values import Mat3, Vec3
from multibody_cli.tree.workspace import COLUMN, WRENCH, workspace_for

UPRIGHT = Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


def directions(S, driven, count):
    """Dual basis (n, 6) and constraint axes (count, 6) of columns (n, 6), both [moment; force]."""
    n = len(S)
    columns = np.zeros(n, COLUMN)
    columns["angular"], columns["linear"] = S[:, :3], S[:, 3:]
    dual_basis, constraint_axes, scratch = np.zeros(n, WRENCH), np.zeros(count, CONSTRAINT_AXIS), np.zeros((6, 6))
    find_dual_basis(records(columns), 0, n, driven, scratch, records(dual_basis))
    axes = records(constraint_axes)
    find_constraint_axes(records(columns), 0, n, driven, UPRIGHT, axes[:0], scratch, axes)
    stack = lambda wrenches: np.hstack([wrenches["t"], wrenches["f"]])  # noqa: E731
    return stack(dual_basis), stack(constraint_axes)


@pytest.mark.parametrize("n", range(7))
@pytest.mark.parametrize("seed", range(4))
def test_dual_basis_and_constraint_axes_of_any_motion_subspace(n, seed):
    """D S = 1 on the free columns, T S = 0, T orthonormal, and both together span all wrenches."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, 6)) * 10.0 ** rng.integers(-2, 3, (n, 1))
    driven = rng.random(n) < 0.3
    free = ~driven
    dual_basis, constraint_axes = directions(S, driven, 6 - free.sum())
    sizes = np.linalg.norm(S[free], axis=1)
    np.testing.assert_allclose((dual_basis[free] @ S[free].T) * (sizes[:, None] / sizes), np.eye(free.sum()), atol=1e-8)
    assert not dual_basis[driven].any()
    np.testing.assert_allclose(constraint_axes @ (S[free] / sizes[:, None]).T, 0.0, atol=1e-11)
    np.testing.assert_allclose(constraint_axes @ constraint_axes.T, np.eye(len(constraint_axes)), atol=1e-14)
    assert np.linalg.matrix_rank(np.vstack([dual_basis[free] * sizes[:, None], constraint_axes])) == 6


def test_a_dependent_column_has_no_dual_and_no_constraint():
    S = np.random.default_rng(0).normal(size=(3, 6))
    S[2] = S[0] - 2.0 * S[1]
    dual_basis, constraint_axes = directions(S, np.zeros(3, bool), 3)
    assert not dual_basis[2].any()
    np.testing.assert_allclose(dual_basis[:2] @ S[:2].T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(constraint_axes @ S.T, 0.0, atol=1e-12)
    np.testing.assert_allclose(constraint_axes @ constraint_axes.T, np.eye(3), atol=1e-14)


# --- the rows of a closure ----------------------------------------------------------------------------------------
def closure(kind, seed, driven):
    """Two bodies that float in the tree, joined by one closing joint, which may have a prescribed coordinate."""
    rng = np.random.default_rng(seed)
    body = {"mass": 1, "inertia": {"principal": [1, 1, 1]}}
    joint = {**joint_kinds()[kind], "parent": "a", "child": "b", "origin": random_pose(rng)}
    if joint["type"] == "free":
        joint["q"] = random_pose(rng)
    elif joint["type"] == "spherical":
        joint["q"] = {"quaternion": random_quaternion(rng).tolist()}
    elif joint["type"] != "fixed":
        n = {"revolute": 1, "prismatic": 1, "screw": 1, "cylindrical": 2, "universal": 2, "planar": 2}.get(kind, 3)
        joint["q"] = rng.uniform(-1, 1, n).tolist()
        if driven:
            joint["motion"] = {"velocity": ["0.7 + 0.4*t", *[None] * (n - 1)] if n > 1 else "0.7 + 0.4*t"}
    scene = {
        "gravity": [1.0, 2.0, 3.0],
        "bodies": {"a": {**body, "position": [0.3, 0.1, -0.2]}, "b": body},
        "joints": {"hold": {"type": "free", "child": "b", "q": random_pose(rng)}, "close": joint},
    }
    close_loops(scene)
    found = compile_scene(loaded(scene))
    return found.model, found.state, rng


class Levels:
    """The rows of a model's only closure at any (t, q, v), as a wrench-space vector (6,) in world axes."""

    def __init__(self, model, q):
        self.model, self.work, self.q0 = model, workspace_for(model.system), q.copy()

    def update_kinematics(self, t, q, v, a):
        self.q, self.v = q.copy(), v.copy()
        update_kinematics(self.model.system, t, self.q, self.v, a.copy(), self.work)
        axes, frame = self.work.constraint_axes, self.model.system.tree.closures["loop_frame"][0]
        columns_of_R = self.work.bodies["R"][frame].reshape(3, 3)
        self.T = np.hstack([axes["t"] @ columns_of_R, axes["f"] @ columns_of_R])

    def motions(self, names):
        bodies = self.work.bodies
        return np.array([np.concatenate([bodies[k][names[0]], bodies[k][names[1]]]) for k in range(3)])

    def pair(self, row, motions):
        terms = self.work.terms[row["first_term"] : row["last_term"]]
        return sum(np.concatenate([term["t"], term["f"]]) @ motions[term["body"]] for term in terms)

    def errors(self):
        return np.array([row["error"] for row in self.work.rows])

    def velocities(self):
        return np.array([self.pair(row, self.motions(("w", "v"))) + row["rate"] for row in self.work.rows])

    def accelerations(self, change):
        """Set dv/dt of the bodies to `change` (3, 6) in addition to the bias accelerations."""
        motions = self.motions(("alpha", "a")) + change
        motions[:, 3:] -= np.array(self.work.bodies[0]["a"])
        motions[0] = 0.0
        return np.array([self.pair(row, motions) + row["bias"] for row in self.work.rows])


def moved(model, q, v, a, h):
    """(q, v) a short time h later, to third order, of bodies that float: v = v0 + a h."""
    from multibody_cli.tree.configuration import normalize, rate

    new, dq = q.copy(), np.zeros_like(q)
    for k in range(8):  # midpoint steps
        middle = q.copy() if k == 0 else new.copy()
        rate(model.system.tree, middle, v + a * (k + 0.5) * h / 8, dq)
        half = middle + dq * h / 16
        rate(model.system.tree, half, v + a * (k + 0.5) * h / 8, dq)
        new = middle + dq * h / 8
        normalize(model.system.tree, new)
    return new, v + a * h


UNDRIVEN = ("fixed", "free", "spherical", "spherical_exponential", "spherical_xzx")
CASES = [(kind, driven) for kind in joint_kinds() for driven in (False, True) if not driven or kind not in UNDRIVEN]


@pytest.mark.parametrize(("kind", "driven"), CASES)
def test_each_level_of_a_loop_row_is_the_derivative_of_the_one_above(kind, driven):
    """On the constraint manifold, where T . twist = 0, the derivative does not depend on rotations of the basis T."""
    model, state, rng = closure(kind, 5, driven)
    tree = model.system.tree
    if len(model.system.rows) == 0:
        assert kind == "free"
        return
    held = tree.closures[0]["iv"]
    loose = np.ones(model.nv, bool)
    loose[held:] = False
    levels, h, still = Levels(model, state.q), 1e-4, np.zeros(model.nv)

    # velocities: any rates of the bodies
    v = np.where(loose, rng.normal(size=model.nv), 0.0)
    levels.update_kinematics(0.0, state.q, v, still)
    q = levels.q
    np.testing.assert_allclose(levels.errors(), 0.0, atol=1e-11)
    T, rates, prescribed = levels.T.copy(), levels.velocities(), tree.driven
    R = []
    for sign in (1, -1):
        qs, _ = moved(model, q, np.where(loose, v, 0.0), still, sign * h)
        for j in np.flatnonzero(prescribed):
            k = j - held
            qs[-(model.nv - held) + k] += sign * h * 0.7 + 0.2 * h * h
        levels.update_kinematics(sign * h, qs, v, still)
        R.append(levels.T.T @ levels.errors())
    np.testing.assert_allclose(T @ (R[0] - R[1]) / (2 * h), rates, atol=1e-6)

    # accelerations: rates that the loop allows, any accelerations
    J = np.array([np.concatenate([T_ for T_ in row]) for row in jacobian(levels, model, q, still, loose)])
    slip = levels.velocities() * 0
    levels.update_kinematics(0.0, q, np.zeros(model.nv), still)
    offset = levels.velocities()
    v = rng.normal(size=model.nv)
    v[~loose] = 0.0
    v[loose] -= np.linalg.pinv(J) @ (J @ v[loose] + offset)
    levels.update_kinematics(0.0, q, v, still)
    np.testing.assert_allclose(levels.velocities(), slip, atol=1e-12)
    a = np.where(loose, rng.normal(size=model.nv), 0.0)
    found = levels.accelerations(load_motion_change(model, levels, a))
    T, q0 = levels.T.copy(), levels.q
    W = []
    for sign in (1, -1):
        qs, vs = moved(model, q0, np.where(loose, v, 0.0), a, sign * h)
        for j in np.flatnonzero(prescribed):
            qs[-(model.nv - held) + j - held] += sign * h * 0.7 + 0.2 * h * h
        levels.update_kinematics(sign * h, qs, vs, still)
        W.append(levels.T.T @ levels.velocities())
    np.testing.assert_allclose(T @ (W[0] - W[1]) / (2 * h), found, atol=2e-6)


def load_motion_change(model, levels, a):
    """Accelerations (3, 6), [alpha; a], that dv/dt of the floating coordinates give the bodies."""
    change = np.zeros((3, 6))
    for row in (1, 2):
        iv = model.system.tree.links[row]["iv"]
        linear, angular = a[iv : iv + 3], a[iv + 3 : iv + 6]
        columns = levels.work.columns[iv : iv + 6]
        change[row, :3] = np.concatenate([linear, angular]) @ columns["angular"]
        change[row, 3:] = np.concatenate([linear, angular]) @ columns["linear"]
    return change


def jacobian(levels, model, q, still, loose):
    """Rows (m, loose) by unit rates."""
    levels.update_kinematics(0.0, q, np.zeros(model.nv), still)
    zero, columns = levels.velocities(), []
    for j in np.flatnonzero(loose):
        levels.update_kinematics(0.0, q, np.eye(model.nv)[j], still)
        columns.append(levels.velocities() - zero)
    return np.array(columns).T[:, None, :]
