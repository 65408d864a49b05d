"""Threshold of ineffective rows, against its formula in terms of the bodies of the scene."""

from __future__ import annotations

import math

import numpy as np
import pytest
from loops import loaded, start
from scipy.spatial.transform import Rotation

from multibody_cli.compile import compile_scene
from multibody_cli.constraint_solver.ineffective_rows import ineffective_threshold, primary_threshold
from multibody_cli.initial.assemble import Assembler

MASSES = {"slab": 3.0, "stick": 0.4}
COMS = {"slab": np.array([0.1, -0.3, 0.2]), "stick": np.array([-0.2, 0.05, 0.4])}
MOMENTS = ([1.0, 0.7, 0.3], [0.3, 1.0, 0.7], [0.7, 0.3, 1.0])  # a lamina: the largest is the sum of the others
AXES = Rotation.from_rotvec([0.4, -0.7, 0.2])


def linkage(moments, tilt, method="aba"):
    """Two bodies in a chain, away from their joint frames, in a started run."""
    inertia = (tilt.as_matrix() @ np.diag(moments) @ tilt.as_matrix().T).tolist()
    bodies = {
        name: {"mass": MASSES[name], "com": COMS[name].tolist(), "inertia": {"matrix": inertia}} for name in MASSES
    }
    joints = {
        "lower": {"type": "revolute", "axis": [1, 2, 0], "child": "slab", "q": 0.6},
        "upper": {"type": "revolute", "axis": [0, 1, 1], "parent": "slab", "child": "stick", "q": -0.9},
    }
    joints["lower"]["child_origin"] = {"position": [0.3, 0.2, -0.5]}
    joints["upper"]["origin"] = {"position": [0.0, 0.7, 0.4]}
    return start({"bodies": bodies, "joints": joints}, method=method)


def com_of(run, name):
    """Centre of mass in the world."""
    w, x, y, z = run.body(name, "quaternion")
    return run.body(name, "position") + Rotation.from_quat([x, y, z, w]).apply(COMS[name])


@pytest.mark.parametrize(("error", "shares"), [(0.0, (1e-9, 1e-13)), (1e-6, (1e-9, 1e-10)), (1.0, (1e-8, 1e-8))])
@pytest.mark.parametrize("moments", MOMENTS)
@pytest.mark.parametrize("tilt", [Rotation.identity(), AXES], ids=["principal", "tilted"])
def test_the_threshold_is_the_response_of_free_bodies(tilt, moments, error, shares):
    """Sum of s_f |f|^2 / m + s_t |t|^2 / tr I, with t about the centre of mass; a lamina lies in any of its planes."""
    run, rng = linkage(moments, tilt), np.random.default_rng(3)
    work, names = run.method.work, run.compiled.model.names
    coms = {name: com_of(run, name) for name in names.bodies}  # looking at a run writes wrenches, so it comes first
    expected = 0.0
    for name, row in zip(names.bodies, names.body_rows, strict=True):
        force, moment = rng.normal(size=3), rng.normal(size=3)
        work.wrenches[row]["f"], work.wrenches[row]["t"] = force, moment
        about = moment - np.cross(coms[name] - np.array(work.bodies[row]["x"]), force)
        expected += shares[0] * force @ force / MASSES[name] + shares[1] * about @ about / sum(moments)
    found = ineffective_threshold(run.compiled.model.system.tree.links, work, error)
    assert found == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_the_round_off_of_primary_impulses_is_that_of_each_on_the_free_bodies():
    """The impulses of different joints do not cancel: 1e-13 of the sum of |f|^2 / m + |t|^2 / tr I over both bodies."""
    run, rng = linkage(MOMENTS[0], AXES, "variational_maximal"), np.random.default_rng(4)
    work, names, tree = run.method.work, run.compiled.model.names, run.compiled.model.system.tree
    rows = dict(zip(names.body_rows, names.bodies, strict=True))
    coms = {name: com_of(run, name) for name in names.bodies}
    expected = 0.0
    for row in work.rows:
        assert row["primary"]
        row["multiplier"] = rng.normal()
        for term in work.terms[row["first_term"] : row["last_term"]]:
            if name := rows.get(int(term["body"])):
                force, moment = row["multiplier"] * term["f"], row["multiplier"] * term["t"]
                about = moment - np.cross(coms[name] - np.array(work.bodies[term["body"]]["x"]), force)
                expected += 1e-13 * (force @ force / MASSES[name] + about @ about / sum(MOMENTS[0]))
    assert expected > 0.0
    assert primary_threshold(tree.links, work) == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_the_size_of_a_moment_row_has_the_round_off_of_the_free_body():
    """A hinge tilted by 1e-5 against another: sqrt(R W) with R = 1 / tr I, and W = sin(tilt)^2 / I about the axis."""
    tilted, moments = {"rotation": {"axis": [1, 0, 0], "angle": 1e-5}}, [0.1, 0.2, 0.15]
    hinges = {"hinge": {"type": "revolute", "child": "b"}, "tilted": {"type": "revolute", "child": "b"}}
    hinges["tilted"] |= {"origin": tilted, "child_origin": tilted}
    found = compile_scene(loaded({"bodies": {"b": {"mass": 1, "inertia": {"principal": moments}}}, "joints": hinges}))
    assembler = Assembler(found.model, found.state)
    assembler.dependent_rows()
    expected = math.sqrt(1 / sum(moments) * np.sin(1e-5) ** 2 / moments[2])
    assert assembler._work.dual.solver.size[:5].max() == pytest.approx(expected, rel=1e-6)
