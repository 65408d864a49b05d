"""Method `baraff` with redundant or many rows: one factorization, least-norm reactions, singular positions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from loops import THREE, accelerations_of, oracle_of, start
from scipy.spatial.transform import Rotation

every_method = pytest.mark.parametrize("method", THREE)

COUNT = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np
from multibody_cli.methods import baraff
from loops import start

calls = {{"factor_and_solve": 0, "solve": 0}}
def counted(name):
    plain = getattr(baraff, name)
    def count(*arguments):
        calls[name] += 1
        return plain(*arguments)
    setattr(baraff, name, count)
counted("factor_and_solve"), counted("solve")

def rod(k):
    ends = [{{"body": "world", "point": [k, 1, 2]}}, {{"body": "b%d" % k}}]
    return {{"type": "distance", "between": ends, "length": float(np.hypot(1, 2))}}

def gear(k):
    return {{"type": "linear", "terms": {{"j%d" % (k + 1): 1.0, "j%d" % (k + 2): 2.0}}}}

body = {{"mass": 1, "inertia": {{"principal": [1, 1, 1]}}}}
chain = {{"b%d" % i: body for i in range(6)}}
hinge = {{"type": "revolute", "axis": [0, 1, 0], "origin": {{"position": [1, 0, 0]}}}}
joints = {{"j%d" % i: {{**hinge, "parent": "b%d" % (i - 1), "child": "b%d" % i}} for i in range(1, 6)}}
for rods, gears in ((2, 0), (4, 0), (2, 1), (2, 3)):
    rods, gears = {{"rod%d" % i: rod(i) for i in range(rods)}}, {{"gear%d" % i: gear(i) for i in range(gears)}}
    run = start({{"bodies": chain, "joints": joints, "constraints": rods, "couplings": gears}}, "baraff")
    calls.update(factor_and_solve=0, solve=0)
    s, method = run.state, run.method
    method.dynamics.evaluate(run.compiled.model.system, method.work, 0.0, s.q, s.v, s.a, s.ledger)
    print(calls["factor_and_solve"], calls["solve"])
"""


def test_auxiliary_constraints_share_one_factorization():
    """Rods in loops are solved with the factorization; k gears take k + 1 more solves: for each, and with all."""
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(tests.parent)}
    program = COUNT.format(tests=str(tests))
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.split("\n")[:4] == ["1 0", "1 0", "1 2", "1 4"]


def bar(length):
    return {"mass": length, "com": [length / 2, 0, 0], "inertia": {"principal": [0.02, 0.1 * length, 0.11 * length]}}


def at(x, y=0.0, z=0.0):
    return {"position": [float(x), float(y), float(z)]}


def turned(scene, rotvec):
    """The same scene, seen from turned axes: zeros are round-off there."""
    R = Rotation.from_rotvec(rotvec)
    scene["gravity"] = R.apply([0, 0, -9.81]).tolist()
    for joint in scene["joints"].values():
        if joint.get("parent", "world") == "world":
            place = R.apply(joint.get("origin", at(0))["position"]).tolist()
            joint["origin"] = {"position": place, "rotation": {"rotvec": list(rotvec)}}
    return scene


def four_bar(lengths, angles, **crank):
    """Crank, coupler, rocker in the x-z plane; the joint between coupler and rocker closes the loop."""
    a, b, c, d = lengths
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    return {
        "bodies": {"a": bar(a), "b": bar(b), "c": bar(c)},
        "joints": {
            "ja": {**hinge, "child": "a", "q": angles[0], **crank},
            "jb": {**hinge, "parent": "a", "child": "b", "origin": at(a), "q": angles[1]},
            "jc": {**hinge, "child": "c", "origin": at(d), "q": angles[2]},
            "close": {**hinge, "parent": "b", "child": "c", "origin": at(b), "child_origin": at(c)},
        },
    }


@every_method
@pytest.mark.parametrize("rotvec", [(0.0, 0.0, 0.0), (0.3, -0.5, 0.2)])
def test_ineffective_rows_of_a_plane_mechanism_have_zero_multipliers(method, rotvec):
    """Of five rows three are redundant: least-norm reactions lie in the plane, and limits are met all the same."""
    scene = turned(four_bar((0.5, 1.2, 0.9, 1.3), (-0.9, 0.0, 0.0)), rotvec)
    scene["joints"]["jb"]["q"], scene["joints"]["jc"]["q"] = closed_angles((0.5, 1.2, 0.9, 1.3), -0.9)
    scene["joints"]["ja"]["limits"] = [-3.0, -0.9 + 1e-12]
    run = start(scene, method, "rk4", step=2e-3)
    for _ in range(2):
        moment_force = run.joint("close", "reaction")
        assert np.abs(moment_force[[0, 2, 4]]).max() < 1e-8
        assert np.hypot(*moment_force[[3, 5]]) > 0.1
        limits = run.method.work.rows[run.method.work.rows["one_sided"] == 1]
        for row in limits:
            assert row["multiplier"] >= 0.0
        run.advance(0.3)


def closed_angles(lengths, angle):
    """Angles of coupler (relative) and rocker that close the loop; y turns x towards -z."""
    a, b, c, d = lengths
    A = a * np.array([np.cos(angle), -np.sin(angle)])
    D = np.array([d, 0.0])
    s = D - A
    size = np.linalg.norm(s)
    along = (b * b - c * c + size * size) / (2 * size)
    P = A + along * s / size + np.sqrt(b * b - along * along) * np.array([-s[1], s[0]]) / size
    coupler, rocker = -np.arctan2(*(P - A)[::-1]), -np.arctan2(*(P - D)[::-1])
    return float(coupler - angle), float(rocker)


@every_method
@pytest.mark.parametrize("rotvec", [(0.0, 0.0, 0.0), (0.3, -0.5, 0.2)])
def test_a_straight_chain_hinged_at_both_ends_has_least_norm_reactions(method, rotvec):
    """Taut and horizontal: the rows along it are singular.  At rest they have no load, and both ends share the weight.

    A run leads nowhere from there: the middle can fall to first order, and not at all beyond.
    """
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    count = 4
    joints = {"j0": {**hinge, "child": "b0"}}
    joints |= {f"j{k}": {**hinge, "parent": f"b{k - 1}", "child": f"b{k}", "origin": at(1)} for k in range(1, count)}
    joints["end"] = {**hinge, "child": f"b{count - 1}", "origin": at(count), "child_origin": at(1)}
    scene = turned({"bodies": {f"b{k}": bar(1.0) for k in range(count)}, "joints": joints}, rotvec)
    run = start(scene, method, "rk4", step=1e-3)
    first, last = run.joint("j0", "reaction"), run.joint("end", "reaction")
    assert np.abs(first[[0, 1, 2, 3, 4]]).max() < 1e-8
    np.testing.assert_allclose(last, first, atol=1e-8)
    weight = 9.81 * count
    assert 0.0 < first[5] + last[5] < weight  # the middle falls


def chain_of_balls(rotvecs, both_ends):
    """Bars of 1 m on ball joints, the first on the ground, and the last one too if both ends are held."""
    turns = [Rotation.from_rotvec(rotvec) for rotvec in rotvecs]
    joints = {f"j{k}": {"type": "spherical", "child": f"b{k}", "q": {"rotvec": list(r)}} for k, r in enumerate(rotvecs)}
    for k in range(1, len(turns)):
        joints[f"j{k}"] |= {"parent": f"b{k - 1}", "origin": at(1)}
    if both_ends:
        end, attitude = np.zeros(3), Rotation.identity()
        for turn in turns:
            attitude = attitude * turn
            end = end + attitude.apply([1.0, 0.0, 0.0])
        # in the axes of the world, to which the last bar has its whole rotation
        q = {"rotvec": attitude.as_rotvec().tolist()}
        last = {"child": f"b{len(turns) - 1}", "child_origin": at(1)}
        joints["end"] = {"type": "spherical", "origin": at(*end), "q": q, **last}
    return {"bodies": {f"b{k}": bar(1.0) for k in range(len(turns))}, "joints": joints}


@every_method
@pytest.mark.parametrize("rotvec", [(0.0, 0.0, 0.0), (0.3, -0.5, 0.2)])
@pytest.mark.parametrize("both_ends", [False, True])
@pytest.mark.parametrize("bend", [0.0, 0.02, 0.8])
def test_a_chain_of_balls_is_singular_only_where_it_is_straight_and_held_at_both_ends(bend, both_ends, rotvec, method):
    """A = J M^-1 J^T of Baraff 1996, footnote 5.  A straight chain held at one end is regular."""
    rotvecs = bend * np.random.default_rng(5).standard_normal((6, 3))
    run = start(turned(chain_of_balls(rotvecs, both_ends), rotvec), method, "rk4", step=1e-3)
    loops, v = oracle_of(run)
    G, _ = loops.demands(v)
    M, _ = loops.mass_and_force(v)
    bodies = np.r_[tuple(loops.body_columns(f"b{k}") for k in range(len(rotvecs)))]
    J = G.reshape(-1, 2, 3, loops.size)[:, 1][..., bodies].reshape(-1, len(bodies))  # points that coincide
    eigenvalues = np.linalg.eigvalsh(J @ np.linalg.solve(M[np.ix_(bodies, bodies)], J.T))
    singular = bend == 0.0 and both_ends
    assert (eigenvalues < 1e-12 * eigenvalues[-1]).sum() == singular  # the tension along the chain
    assert eigenvalues[int(singular)] > 1e-6 * eigenvalues[-1]
    exact = loops.solve(v, {})
    np.testing.assert_allclose(accelerations_of(run, loops), exact.a, atol=1e-9)
    for name in [] if singular else loops.hinges:
        np.testing.assert_allclose(run.joint(name, "reaction"), exact.reaction(name)[0], atol=1e-9)


@every_method
@pytest.mark.parametrize("rotvec", [(0.0, 0.0, 0.0), (0.3, -0.5, 0.2)])
@pytest.mark.parametrize("away", [0.0, 0.3])
def test_a_flat_four_bar_passes_its_singular_position(method, rotvec, away):
    """A parallelogram passes, or starts at, the position where all its bars overlap; energy and closure stay."""
    scene = turned(four_bar((0.5, 1.0, 0.5, 1.0), (away, -away, away), v=3.0), rotvec)
    scene["joints"]["jc"]["v"] = 3.0
    scene["joints"]["jb"]["v"] = -3.0
    run = start(scene, method, "rk4", step=1e-3)
    energy, _ = run.energy()
    for t in (0.25, 0.5, 0.75, 1.0):
        run.advance(t)
        assert np.isfinite(run.state.v).all()
        position, velocity = run.errors()
        assert position < 1e-8
        assert velocity < 1e-8
        assert abs(run.energy()[0] - energy) < 1e-3 * abs(energy)
