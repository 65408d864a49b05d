"""Projections of free bodies on primary rows alone: the same as with the operations for any system."""

from __future__ import annotations

import numpy as np
import pytest
from loops import close_loops, random_body, random_joint, start

from multibody_cli.constraint_solver.projection import projection_with
from multibody_cli.constraint_solver.solver import POSITION, VELOCITY
from multibody_cli.methods.baraff import apply_inverse_mass, factor_bodies, projections_of
from multibody_cli.model import KERNEL_GENERAL
from multibody_cli.tree.configuration import displace, normalize

ANY = projection_with(apply_inverse_mass)

KINDS = ("revolute", "prismatic", "screw", "spherical", "universal", "cylindrical", "fixed", "revolute")


def mechanism(seed, **simulation):
    """A random tree of all kinds of joints, some with the child next to the ground, a rod and a rolling disc."""
    rng = np.random.default_rng(seed)
    names = ["world", *(f"b{k}" for k in range(len(KINDS)))]
    scene = {"bodies": {name: random_body(rng) for name in names[1:]}, "joints": {}}
    for k, kind in enumerate(rng.permutation(KINDS)):
        scene["joints"][f"j{k}"] = random_joint(rng, str(kind), str(rng.choice(names[: k + 1])), names[k + 1])
    close_loops(scene)
    scene["bodies"]["bob"] = {"mass": 1.0, "inertia": {"principal": [0.1, 0.2, 0.3]}, "position": [0.0, 0.0, -3.0]}
    ends = [{"body": "world"}, {"body": "bob", "point": [0.1, 0.0, 0.2]}]
    scene["constraints"] = {"rod": {"type": "distance", "between": ends, "length": float(np.hypot(2.8, 0.1))}}
    return start(scene, "baraff", **simulation)


def disturbed(run, seed, size):
    """Coordinates and rates of bodies that violate all rows; those of joints are left as they are."""
    tree, rng = run.compiled.model.system.tree, np.random.default_rng(seed)
    y = size * rng.normal(size=len(run.state.v))
    y[tree.closures["iv"][0] :] = 0.0
    q, v = run.state.q.copy(), run.state.v + y
    displace(tree, q, y, 1.0)
    normalize(tree, q)
    return q, v


def placed(run, operations, seed, size=1e-3):
    """The work arrays after `place` and `complete_positions`, with factors; also q and v."""
    system, work, (q, v) = run.compiled.model.system, run.method.work, disturbed(run, seed, size)
    operations.place(system, 0.0, q, v, run.state.a, work)
    operations.complete_positions(system, q, v, work)
    factor_bodies(system, work, np.zeros(len(v)))
    return system, work, q, v


@pytest.mark.parametrize("seed", range(6))
def test_positions_that_are_completed_are_those_of_any_system(seed):
    run = mechanism(seed)
    found = []
    for operations in (ANY, projections_of(run.compiled.model.system)[0]):
        _, work, q, _ = placed(run, operations, seed)
        bodies, axes = work.bodies[1:], work.constraint_axes
        found.append(
            [
                q,
                *(bodies[name].copy() for name in ("x", "R", "r", "J", "h")),
                *(bodies[name][: len(work.child_inertias) - 1].copy() for name in ("w", "v")),
                *(work.terms[name].copy() for name in ("t", "f")),
                *(axes[name].copy() for name in ("t", "f")),
                *(work.dual_basis[name].copy() for name in ("t", "f")),
                work.rows["error"].copy(),
            ]
        )
    assert np.abs(found[0][-1]).max() > 1e-4
    for any_system, bodies in zip(*found, strict=True):
        np.testing.assert_allclose(bodies, any_system, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("level", [POSITION, VELOCITY])
@pytest.mark.parametrize("seed", range(6))
def test_corrections_are_those_of_any_system(seed, level):
    run = mechanism(seed)
    found = []
    for operations in (ANY, projections_of(run.compiled.model.system)[0]):
        system, work, _, v = placed(run, operations, seed)
        largest = np.abs(work.rows["error"]).max()
        if level == VELOCITY:
            largest = operations.compute_residuals(system.tree, work, v)
        operations.correct(system, work, level)
        displaced = np.ones(len(v), np.bool_)  # the coordinates of other joints are fitted in closed form
        for closure in system.tree.closures[system.tree.closures["joint_kernel"] != KERNEL_GENERAL]:
            displaced[closure["iv"] : closure["iv"] + closure["nv"]] = False
        found.append((work.response[displaced], np.array([largest])))
    assert found[0][1] > 1e-4
    for any_system, bodies in zip(*found, strict=True):
        np.testing.assert_allclose(bodies, any_system, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_a_projection_restores_positions_and_velocities(seed):
    """The errors that any system has at the result are round-off."""
    run = mechanism(seed)
    system, work, s = run.compiled.model.system, run.method.work, run.state
    assert projections_of(system) is not None
    s.q[:], s.v[:] = disturbed(run, seed, 1e-3)
    run.method.dynamics.project_onto_constraints(system, work, 0.0, s.q, s.v, s.a, s.ledger)
    ANY.place(system, 0.0, s.q, s.v, s.a, work)
    assert np.abs(work.rows["error"]).max() < 1e-14
    assert ANY.compute_residuals(system.tree, work, s.v) < 1e-14


def test_a_row_of_a_coordinate_requires_the_operations_of_any_system():
    """A limit is an auxiliary row that depends on the coordinate of its joint."""
    rng = np.random.default_rng(0)
    scene = {"bodies": {"b": random_body(rng)}, "joints": {"j": random_joint(rng, "revolute", "world", "b")}}
    assert projections_of(start(scene, "baraff").compiled.model.system) is not None
    scene["joints"]["j"]["limits"] = [-3.0, 3.0]
    scene["simulation"] = {"integrator": "semi_implicit_euler"}
    assert projections_of(start(scene, "baraff", "semi_implicit_euler").compiled.model.system) is None


def test_the_angle_of_a_hinge_counts_turns():
    """A rotor turns by 20 rad about its centre of mass, three times and a seventh."""
    rotor = {"mass": 1.0, "inertia": {"principal": [0.1, 0.2, 0.3]}}
    hinge = {"type": "revolute", "axis": [0, 0, 1], "child": "rotor", "v": 20.0}
    run = start({"bodies": {"rotor": rotor}, "joints": {"axle": hinge}}, "baraff", "semi_implicit_euler", step=1e-3)
    assert projections_of(run.compiled.model.system) is not None
    assert run.method.step(run.state, 1000) is None
    np.testing.assert_allclose(run.state.q[-1], 20.0, rtol=1e-9)
