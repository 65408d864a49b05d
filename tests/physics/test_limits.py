"""Joint limits: complementarity, impacts and their loss, rest without creep; for every method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from loops import THREE, accelerations_of, oracle_of, start
from structured import any_loops

every_method = pytest.mark.parametrize("method", THREE)
ROUND_OFF = 1e-10


def rod(**fields):
    return {"mass": 1.0, "com": [0.5, 0, 0], "inertia": {"principal": [0.01, 0.1, 0.1]}, **fields}


def one_sided(run):
    return run.method.work.rows[run.method.work.rows["one_sided"] == 1]


# --- impacts ------------------------------------------------------------------------------------------------------
@every_method
@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
def test_a_pendulum_comes_to_rest_on_its_limit(method, integrator):
    """The impact dissipates all kinetic energy; the remaining ledger residual is that of the projection."""
    joint = {"type": "revolute", "child": "rod", "axis": [0, 1, 0], "q": -0.4, "limits": [None, 0.5]}
    run = start({"bodies": {"rod": rod()}, "joints": {"hinge": joint}}, method, integrator, step=1e-3)
    _, began = run.energy()
    angles = []
    for t in (1.0, 1.5, 2.0):
        run.advance(t)
        angles.append(run.joint("hinge", "coordinates")[0])
        assert abs(run.joint("hinge", "velocity")[0]) < ROUND_OFF
        assert abs(run.joint("hinge", "acceleration")[0]) < ROUND_OFF
    np.testing.assert_allclose(angles, 0.5, rtol=0, atol=1e-9)
    assert np.ptp(angles) < 1e-13  # no creep
    np.testing.assert_allclose(one_sided(run)["multiplier"], 0.5 * 9.81 * np.cos(0.5), rtol=1e-9)
    total, left = run.energy()
    lost = 9.81 * 0.5 * (np.sin(0.5) + np.sin(0.4))
    assert total < began - 0.9 * lost
    assert abs(left - began) < (0.01 if integrator == "rk4" else 0.02) * lost  # one step beyond the limit: v h tau


@every_method
def test_an_inelastic_impact_on_a_limit_stops_coupled_carts(method):
    """Two coupled carts: the impact acts on the reduced mass, J = (m1 + m2 / 4) v."""
    scene = {
        "gravity": [0, 0, 0],
        "bodies": {"a": rod(), "b": rod(mass=2.0)},
        "joints": {
            "ja": {"type": "prismatic", "child": "a", "v": 2.0, "limits": [None, 0.5]},
            "jb": {"type": "prismatic", "child": "b", "v": 1.0},
        },
        "couplings": {"link": {"type": "linear", "terms": {"ja": 1.0, "jb": -2.0}}},
    }
    run = start(scene, method, step=1e-3)
    before, _ = run.energy()
    run.advance(0.2)
    assert abs(run.energy()[0] - before) < 1e-12
    run.advance(0.5)
    total, left = run.energy()
    assert abs(total) < 1e-20
    np.testing.assert_allclose(left, before, rtol=1e-12)  # nothing accelerates: all of it is booked
    np.testing.assert_allclose([run.joint(name, "velocity")[0] for name in ("ja", "jb")], 0.0, atol=1e-12)


@every_method
def test_a_limit_releases_a_body_under_an_outward_force(method):
    joint = {"type": "prismatic", "child": "a", "axis": [0, 0, 1], "limits": [0, None], "force": "40*t"}
    run = start({"bodies": {"a": rod()}, "joints": {"lift": joint}}, method, step=1e-3)
    leaves = 9.81 / 40
    run.advance(0.2)
    assert run.joint("lift", "coordinates")[0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(one_sided(run)["multiplier"], 9.81 - 40 * 0.2, rtol=1e-9)
    run.advance(1.0)
    rise = 40 / 6 * (1.0 - leaves) ** 3
    np.testing.assert_allclose(run.joint("lift", "coordinates"), rise, rtol=0.01)


@every_method
def test_redundant_limits_share_the_load(method):
    """Two hinges on one axis and four limits, all met: the rods rest, and together the limits carry the moment."""
    hinge = {"type": "revolute", "child": "rod", "axis": [0, 1, 0], "q": 0.3, "limits": [None, 0.3]}
    scene = {"bodies": {"rod": rod()}, "joints": {"one": hinge, "two": {**hinge, "q": 0.3}}}
    run = start(scene, method, step=1e-3)
    run.advance(0.3)
    multipliers = one_sided(run)["multiplier"]
    np.testing.assert_allclose(multipliers, 0.5 * 9.81 * np.cos(0.3) / 2, rtol=1e-8)
    assert abs(run.joint("one", "acceleration")[0]) < ROUND_OFF
    assert abs(run.joint("one", "coordinates")[0] - 0.3) < 1e-12


# --- complementarity ----------------------------------------------------------------------------------------------
@settings(max_examples=40)
@given(any_loops(max_bodies=4, driven=False))
def test_forces_and_accelerations_of_limits_are_complementary(machine):
    """Baraff's check: a >= 0, mu >= 0, a mu = 0; and with these forces the oracle finds the same accelerations."""
    scene, limited = machine.scene, []
    rng = np.random.default_rng(len(scene["joints"]))
    for body in scene["bodies"].values():
        body.pop("velocity", None)  # at rest: every limit may hold or let go
    for name, joint in scene["joints"].items():
        joint.pop("v", None)
        if isinstance(joint.get("q"), list):
            sides = rng.integers(0, 3, len(joint["q"]))
            pairs = [[[q, None], [None, q], None][side] for q, side in zip(joint["q"], sides, strict=True)]
            joint["limits"] = pairs if len(pairs) > 1 else pairs[0]
            limited += [(name, k, [1.0, -1.0][side]) for k, side in enumerate(sides) if side < 2]
            if joint["limits"] in ([None], None) or (len(pairs) > 1 and not any(pairs)):
                del joint["limits"]
    assume(limited)
    for method in THREE:
        run = start(scene, method)
        rows = one_sided(run)
        assert len(rows) == len(limited)
        loops, v = oracle_of(run)
        for (name, k, sign), row in zip(limited, rows, strict=True):
            assert row["active"] == 1
            loops.hinges[name].generalized[k] += sign * row["multiplier"]
        expected = loops.solve(v, {})
        assume(expected.is_sharp)
        size = 1.0 + np.abs(expected.a).max() + np.abs(rows["multiplier"]).max()
        assert np.abs(accelerations_of(run, loops) - expected.a).max() < 1e-9 * size
        a = np.array([sign * expected.a[loops.index(name, k)] for name, k, sign in limited])
        require_complementary(a, rows["multiplier"], size)


def require_complementary(a, mu, size):
    assert a.min() > -ROUND_OFF * size
    assert mu.min() >= 0.0
    assert np.abs(a * mu).max() < ROUND_OFF * size**2
