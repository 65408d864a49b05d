"""Friction of joints by plain staggered projections, whose contacts are the points, and by all solvers of the program.

The laws agree.  The motion determines the reaction of each joint of a tree, so that normal impulses of least norm are
those of least norm for each joint.  A joint that slides has the same slip at all its points, so that the friction of
each is at its limit, and loads and friction are unique.  In a joint that sticks, friction may be distributed over the
points in many ways, with different loads: the motion and the sum of the friction are unique, and are compared.
"""

from __future__ import annotations

import numpy as np
import pytest
from loops import start
from point_friction import NORMALS, point_contacts, solve
from rigid import solve as solve_contacts

from multibody_cli.contact_solver import elimination_workspace, tree_friction_workspace

H, RADIUS = 1e-3, 0.03
STAGGERED = {"contacts": {"method": "staggered_projections"}}


def hinge(axis=(0.0, 1.0, 0.0), mu=0.3, **more):
    return {
        "type": "revolute",
        "axis": (np.array(axis) / np.linalg.norm(axis)).tolist(),
        "friction": {"coefficient": mu, "surface": {"radius": RADIUS, "length": 0.12}},
        **more,
    }


def slider(mu=0.3, **more):
    guide = {"coefficient": mu, "surface": {"size": [0.4, 0.3, 0.2]}}
    return {"type": "prismatic", "axis": [1, 0, 0], "friction": guide, **more}


def chain(*joints):
    """Bodies on each other, with centres of mass beside the joints, so that reactions have six components."""
    rng, bodies, table = np.random.default_rng(3), {}, {}
    for i, joint in enumerate(joints):
        inertia = {"principal": rng.uniform(0.02, 0.03, 3).tolist()}
        bodies[f"b{i}"] = {"mass": 1.0 + 0.3 * i, "com": rng.uniform(-0.2, 0.2, 3).tolist(), "inertia": inertia}
        origin = {"position": rng.uniform(-0.3, 0.3, 3).tolist(), "rotation": {"axis": [0.6, 0, 0.8], "angle": 0.5}}
        table[f"j{i}"] = {"parent": f"b{i - 1}" if i else "world", "child": f"b{i}", "origin": origin, **joint}
    return {"bodies": bodies, "joints": table, "simulation": {"step": H}}


SCENES = {
    "hinge": chain(hinge((1.0, 2.0, -2.0), v=1.0)),
    "slider": chain(slider(v=0.5)),
    "two hinges": chain(hinge((1.0, 2.0, -2.0), v=1.0), hinge((0.0, 1.0, 0.0), v=-2.0)),
    "three hinges": chain(hinge(mu=0.8), hinge((1.0, 0.0, 0.0), mu=0.5, v=1.0), hinge((1.0, 1.0, 0.0), v=2.0)),
    "hinges and sliders": chain(hinge(v=-1.0), slider(0.5), hinge((1.0, 0.0, 2.0), v=1.0), slider(0.6)),
}


def run_of(scene):
    return start(scene, "aba", "semi_implicit_euler")


def step_from(scene, state):
    """A run of one step from the state of another run."""
    run = run_of(scene)
    run.state.q[:], run.state.v[:] = state.q, state.v
    run.method.start(run.state)
    assert run.method.step(run.state, 1) is None
    assert run.method.contact_work.diagnostics.unsolved_steps[0] == 0
    return run


def steps_by_all_solvers(scene, state, monkeypatch):
    """Runs of one step by the recursion over the tree, by rows and the proximal method, and by algorithm 8."""
    tree, bilateral = step_from(scene, state), step_from({**scene, **STAGGERED}, state)
    with monkeypatch.context() as patched:
        for module in (elimination_workspace, tree_friction_workspace):
            patched.setattr(module, "is_supported", lambda _system: False)
        rows = step_from(scene, state)
    assert [bool(run.method.contact_work.factors.rank.any()) for run in (tree, rows, bilateral)] == [False, True, True]
    return tree, rows, bilateral


@pytest.mark.parametrize("steps", [0, 50, 300])
@pytest.mark.parametrize("name", SCENES)
def test_points_and_patches_obey_one_law(name, steps, monkeypatch):
    scene = SCENES[name]
    run = run_of(scene)
    assert run.method.step(run.state, steps) is None
    contacts = point_contacts(run, H)
    x = solve(contacts)
    slip, loads, friction = contacts.T @ contacts.velocity(x), contacts.loads(x), x[len(contacts.N) :]
    # Loads of least norm of the points change by 1e-8 if the state changes by round-off, those of the solvers by 1e-16.
    accuracy, small = 1e-7 * loads.max(), 1e-8 * np.abs(contacts.T @ contacts.free).max()
    arms = [RADIUS if joint["type"] == "revolute" else 1.0 for joint in scene["joints"].values()]
    assert np.abs(contacts.N @ contacts.velocity(x)).max() <= small
    assert (np.abs(friction) <= contacts.mu * loads + accuracy).all()
    solutions = steps_by_all_solvers(scene, run.state, monkeypatch)
    of_tree = solutions[0].method.contact_work.joint_friction.previous_impulses[:, 1]
    for one in solutions:
        np.testing.assert_allclose(slip, (arms * one.state.v)[contacts.joint], rtol=0, atol=small)
        patches = one.method.contact_work.joint_friction.previous_impulses
        np.testing.assert_allclose(contacts.friction(x), patches[:, 1], rtol=0, atol=accuracy)
        np.testing.assert_allclose(of_tree, patches[:, 1], rtol=0, atol=1e-8 * loads.max())
    tree = solutions[0]  # rows end when the sums of the loads agree, before the loads themselves do
    slides = (tree.state.v != 0.0)[contacts.joint]
    patches = tree.compiled.model.system.contacts.joint_friction.patches
    of_patches = np.add.reduceat(tree.method.contact_work.joint_friction.normal_loads, patches["first_point"])
    sums = np.bincount(contacts.joint, loads)  # equal loads of a patch are one load
    np.testing.assert_allclose(sums[tree.state.v != 0.0], of_patches[tree.state.v != 0.0], rtol=0, atol=accuracy)
    np.testing.assert_allclose(friction[slides], -(np.sign(slip) * contacts.mu * loads)[slides], rtol=0, atol=accuracy)


def test_joints_of_the_scenes_slide_and_stick():
    """The test above compares friction of both kinds."""
    sliding, sticking = 0, 0
    for scene in SCENES.values():
        run = run_of(scene)
        assert run.method.step(run.state, 300) is None
        sliding, sticking = sliding + (run.state.v != 0).sum(), sticking + (run.state.v == 0).sum()
    assert min(sliding, sticking) >= 3


@pytest.mark.parametrize("name", ["hinge", "slider", "two hinges"])
def test_contacts_on_both_sides_of_each_point_obey_the_same_law(name):
    """Unilateral contacts by the solver of contacts: 96 rows for a hinge, of which those of one side stay unloaded."""
    run = run_of(SCENES[name])
    contacts = point_contacts(run, H)
    tangents = np.repeat(contacts.T, NORMALS, axis=0)
    both = [row for n, t in zip(contacts.N, tangents, strict=True) for row in (n, t, 0 * t, -n, t, 0 * t)]
    J, mu = np.array(both), np.repeat(contacts.mu, 2 * NORMALS)
    x, report = solve_contacts(J @ contacts.inverse_mass @ J.T, J @ contacts.free, mu)
    assert report.residual <= 1e-10
    expected = solve(contacts)
    scale, first = np.abs(expected).max(), len(contacts.N)
    np.testing.assert_allclose(x[::6] - x[3::6], expected[:first], rtol=0, atol=1e-8 * scale)
    friction = x[1::3].reshape(-1, 2 * NORMALS).sum(axis=1)
    np.testing.assert_allclose(friction, expected[first:], rtol=0, atol=1e-8 * scale)
