"""Predicted position errors of a step: their order, the metric of the correction, momenta, and runs in pieces."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from loops import Run, close_loops, random_body, random_joint, start
from scipy.linalg import block_diag, null_space

from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.kernel import records
from multibody_cli.method_kernels import displace_step as step_parameter
from multibody_cli.methods.baraff import projections_of
from multibody_cli.model import State
from multibody_cli.output.carried_state import collect, restore

displace_at_rates = step_parameter.declaration

KINDS = ("revolute", "spherical", "universal", "prismatic", "cylindrical", "screw", "revolute")


def mechanism(seed: int, *, floating: bool = False, driven: bool = False, rate: float = 3.0) -> Run:
    """A random tree that moves fast, so that errors are predicted; pinned or not, the first joint driven or not."""
    rng = np.random.default_rng(seed)
    names = ["world", *(f"b{k}" for k in range(len(KINDS)))]
    scene = {"bodies": {name: random_body(rng) for name in names[1:]}, "joints": {}}
    for k, kind in enumerate(KINDS):
        if floating and k == 0:
            scene["bodies"]["b0"].update(position=[0.1, 0.2, 0.3], velocity={"angular": [1.0, -2.0, 1.5]})
            continue
        parent = names[int(rng.integers(int(floating), k + 1))]
        joint = random_joint(rng, kind, parent, names[k + 1])
        scene["joints"][f"j{k}"] = joint
        if kind != "spherical" and not (driven and k == 0):
            size = np.size(joint["q"])
            joint["v"] = float(rate * rng.normal()) if size == 1 else (rate * rng.normal(size=size)).tolist()
    if driven:
        named = ("type", "parent", "child", "axis", "origin", "child_origin")
        frames = {name: scene["joints"]["j0"][name] for name in named}
        scene["joints"]["j0"] = {**frames, "motion": {"position": "0.5*sin(4*t)"}}
    if floating:
        scene["gravity"] = [0.0, 0.0, 0.0]
    close_loops(scene)
    return start(scene, "baraff", "semi_implicit_euler", step=1e-3)


def displaced(run: Run, h: float, displace_step) -> tuple[np.ndarray, np.ndarray]:
    """Errors of all rows after the displacement of a first step of h, and the correction y (nv,)."""
    system, work, s = run.compiled.model.system, run.method.work, run.state
    run.method.start(s)
    q, v, a = s.q.copy(), s.v + h * s.a, s.a.copy()
    displace_step(system, work, h, q, v)
    y = h * (work.response - v)
    update_kinematics(system, s.time[0] + h, q, v, a, work)
    return work.rows["error"].copy(), y


def predicted(run: Run):
    """The kernel that displaces with the predicted correction."""
    return projections_of(run.compiled.model.system)[1].displace_step


def of_bodies(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Jacobian (m, 6 n), mass matrix (6 n, 6 n) and positions of the bodies, dense, at the present state.

    Rates of a body are (v, w) of its origin.
    """
    system, s = run.compiled.model.system, run.state
    work = run.method.work._replace(terms=records(np.array(system.terms)))  # which the method does not read
    update_kinematics(system, s.time[0], s.q.copy(), s.v.copy(), s.a.copy(), work)
    n = len(system.tree.links) - 1
    J, blocks = np.zeros((len(work.rows), 6 * n)), []
    for r, row in enumerate(work.rows):
        for term in work.terms[row["first_term"] : row["last_term"]]:
            if term["body"]:
                at = 6 * (term["body"] - 1)
                J[r, at : at + 6] += [*term["f"], *term["t"]]
    for link, body in zip(system.tree.links[1:], work.bodies[1 : n + 1], strict=True):
        x, y, z = body["h"]
        h, rotational = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]), np.zeros((3, 3))
        rotational[np.triu_indices(3)] = body["J"]
        rotational += np.triu(rotational, 1).T
        blocks.append(np.block([[link["mass"] * np.eye(3), -h], [h, rotational]]))
    return J, block_diag(*blocks), work.bodies["x"][1 : n + 1].copy()


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_error_that_remains_is_of_third_order(seed, driven):
    run = mechanism(seed, driven=driven)
    steps = (8e-3, 4e-3, 2e-3)
    with_prediction = [np.abs(displaced(run, h, predicted(run))[0]).max() for h in steps]
    without = [np.abs(displaced(run, h, displace_at_rates)[0]).max() for h in steps]
    assert with_prediction[-1] < 0.2 * without[-1]
    for errors, order in ((with_prediction, 3), (without, 2)):
        for coarse, fine in pairwise(errors):
            assert order - 0.3 < np.log2(coarse / fine) < order + 0.5


@pytest.mark.parametrize("seed", range(4))
def test_the_correction_is_minimal_in_the_metric_of_the_masses(seed):
    """J y = -(h^2/2) J a, and M y is perpendicular to all motions that the rows allow."""
    run, h = mechanism(seed), 5e-3
    _, y = displaced(run, h, predicted(run))
    J, M, _ = of_bodies(run)
    y, a = y[: len(M)], run.state.a[: len(M)]
    required = -0.5 * h * h * (J @ a)
    assert np.abs(required).max() > 1e-6
    np.testing.assert_allclose(J @ y, required, rtol=0.0, atol=1e-10 * np.abs(required).max())
    allowed = null_space(J, rcond=1e-10)
    assert allowed.shape[1] == len(M) - np.linalg.matrix_rank(J) > 0
    assert np.abs(allowed.T @ (M @ y)).max() < 1e-10 * np.abs(M @ y).max()


@pytest.mark.parametrize("seed", range(3))
def test_the_correction_of_a_free_mechanism_has_no_momentum(seed):
    run = mechanism(seed, floating=True)
    _, y = displaced(run, 5e-3, predicted(run))
    _, M, positions = of_bodies(run)
    momenta = (M @ y[: len(M)]).reshape(-1, 6)
    linear, angular = momenta[:, :3].sum(axis=0), (momenta[:, 3:] + np.cross(positions, momenta[:, :3])).sum(axis=0)
    assert np.abs(momenta).max() > 1e-7
    assert np.abs(linear).max() < 1e-12 * np.abs(momenta).max()
    assert np.abs(angular).max() < 1e-11 * np.abs(momenta).max()


def test_errors_that_one_projection_removes_are_not_predicted():
    run = mechanism(0, rate=0.0)
    system, work, s = run.compiled.model.system, run.method.work, run.state
    found = []
    for displace_step in (predicted(run), displace_at_rates):
        run.method.start(s)
        q = s.q.copy()
        displace_step(system, work, 1e-7, q, s.v + 1e-7 * s.a)
        bodies = slice(0, 7 * (len(system.tree.links) - 1))
        found.append(q[bodies].tobytes())
    assert found[0] == found[1]


def test_a_run_in_pieces_has_the_same_bytes():
    """Also with another evaluation in between, and from a checkpoint."""

    def result(piece: str) -> bytes:
        run = mechanism(1)
        method, state = run.method, run.state
        other = State(*(array.copy() for array in run.compiled.state))
        for count in (7, 1, 12, 30):
            assert method.step(state, count) is None
            if piece == "evaluated":
                method.evaluate_repeatedly(other, 1)
            elif piece == "resumed":
                values, again = collect({"state": state, "method": method}), mechanism(1)
                method, state = again.method, again.state
                restore({"state": state, "method": method}, values)
        assert method.step(state, 10) is None
        return b"".join(array.tobytes() for array in state)

    whole = mechanism(1)
    assert whole.method.step(whole.state, 60) is None
    expected = b"".join(array.tobytes() for array in whole.state)
    assert projections_of(whole.compiled.model.system)[1] is not None
    assert [result(piece) == expected for piece in ("stepped", "evaluated", "resumed")] == [True] * 3


def test_nonholonomic_rows_are_not_predicted():
    """The factors of an evaluation contain them, where a projection of positions leaves them out."""
    bodies = {"skate": {"mass": 1.0, "inertia": {"principal": [0.1, 0.2, 0.3]}, "position": [0.0, 0.0, 0.0]}}
    edge = {"type": "knife_edge", "body": "skate", "edge": [1, 0, 0]}
    run = start({"bodies": bodies, "constraints": {"edge": edge}}, "baraff", "semi_implicit_euler")
    assert projections_of(run.compiled.model.system)[1] is None
