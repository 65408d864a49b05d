"""Joint limits: complementarity, impacts and their loss, rest without creep; for every method."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from loops import THREE, accelerations_of, oracle_of, start
from structured import any_loops

import mbsim
from multibody_cli.methods import METHODS

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
@pytest.mark.parametrize("v", [-2.0, 2.0])
def test_a_limit_that_another_body_reaches_moves_no_body_off_its_own(method, v):
    """The displacement onto one limit keeps the other one, which a force presses; no energy is lost."""
    limits, hinge = [-0.5, 0.5], {"type": "revolute", "axis": [0, 1, 0]}
    shoulder = {**hinge, "child": "upper", "q": 0.5, "limits": limits, "force": 10.0}
    elbow = {
        **hinge,
        "parent": "upper",
        "child": "lower",
        "origin": {"position": [0.6, 0, 0]},
        "limits": limits,
        "v": v,
    }
    scene = {"bodies": {"upper": rod(), "lower": rod()}, "joints": {"shoulder": shoulder, "elbow": elbow}}
    run = start(scene, method, "rk4", step=2e-3)
    before, touched = run.energy()[1], 0
    for k in range(1, 501):
        assert run.advance(2e-3 * k).energy()[1] == pytest.approx(before, abs=1e-8)
        angles = [run.joint(name, "coordinates")[0] for name in ("shoulder", "elbow")]
        assert np.abs(angles).max() < 0.5 + 1e-12
        touched += abs(angles[1]) > 0.5 - 1e-12
    assert touched > 10


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
    """Baraff's check: a >= 0, mu >= 0, a mu = 0; and with these forces the oracle returns the same accelerations."""
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


# --- restitution --------------------------------------------------------------------------------------------------
SIX = pytest.mark.parametrize("method", sorted(METHODS))


def scene_of_slider(method, e, *, q, v, gravity=0.0, duration, step, integrator=None):
    """Return the scene of a body on a rail with a stop at 0."""
    joint = {"type": "prismatic", "axis": [0, 0, 1], "child": "a", "q": q, "v": v, "limits": [0, None]}
    settings = {"duration": duration, "step": step, "method": method}
    scene = {
        "mbsim": 1,
        "gravity": [0, 0, -gravity],
        "bodies": {"a": rod(com=[0, 0, 0])},
        "joints": {"j": joint | {"restitution": e}},
        "simulation": settings | ({"integrator": integrator} if integrator else {}),
        "output": {"every": step},
    }
    return mbsim.load(json.dumps(scene) + "\n")


def slider(method, e, *, q=1.0, v=0.0, duration=1.0, step=1e-3, **settings):
    """Return its run."""
    return scene_of_slider(method, e, q=q, v=v, duration=duration, step=step, **settings).run()


@SIX
@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("q", "step"), [(0.1234, 1e-3), (0.125, 1 / 64)])
def test_a_limit_returns_the_rate_times_the_restitution(method, e, q, step):
    """Within a step, and exactly at its end."""
    run = slider(method, e, q=q, v=-1.0, duration=16 * step if step > 1e-3 else 0.2, step=step)
    rates = run["joints/j/v"].values.ravel()
    assert rates[-1] == pytest.approx(e, abs=1e-12)
    lost = run["energy/dissipation/joints/j/limits"].values[-1]
    assert lost == pytest.approx(0.5 * (1 - e * e), abs=1e-12)


@SIX
def test_a_body_that_starts_at_its_limit_or_is_thrown_at_it_rebounds(method):
    """The first state of a run, and one that a program sets, have no step before them."""
    run = slider(method, 0.5, q=0.0, v=-1.0, duration=0.01)
    assert run["joints/j/v"].values.ravel()[1:] == pytest.approx(0.5, abs=1e-12)
    scene = scene_of_slider(method, 0.5, q=0.0, v=0.0, duration=1.0, step=1e-3)
    simulation = mbsim.Simulation(scene)
    simulation.step(5)
    if method in ("baraff", "variational_maximal"):  # the joint follows from the body
        simulation.v["a"][2] = -2.0
    else:
        simulation.v["j"] = -2.0
    simulation.step(5)
    assert simulation.v["j"][0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
def test_a_body_that_falls_on_its_limit_keeps_its_energy(method):
    """Uniform acceleration: the rate at the limit is exact, and so is the ledger."""
    run = slider(method, 1.0, gravity=9.81, duration=4.0, integrator="rk4")
    total = run["energy/total"].values
    assert np.abs(total / total[0] - 1.0).max() < 1e-12
    assert np.abs(run["energy/ledger_residual"].values).max() < 1e-12
    assert run["joints/j/q"].values.min() >= -1e-15


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "linearly_implicit_euler"])
def test_a_body_that_falls_on_its_limit_with_euler_steps_keeps_its_height(integrator):
    """30 bounces; the rates of the steps lag behind those of the path, whose vertex is that of the start."""
    run = slider("aba", 1.0, gravity=9.81, duration=27.1, integrator=integrator)
    q, v = run["joints/j/q"].values.ravel(), run["joints/j/v"].values.ravel()
    path = 9.81 * q + 0.5 * (v - 0.5e-3 * 9.81) ** 2
    assert np.abs(path[1:] / path[1] - 1.0).max() < 1e-9
    assert q[-1000:].max() == pytest.approx(1.0, abs=1e-5)


@SIX
def test_bodies_on_universal_joints_between_stops_keep_their_energy(method):
    """Energy is lost only where both stops are hit at once: each rebound returns the rate of its approach."""
    joint = {"type": "universal", "child": "a", "v": [2, 3], "limits": [[-0.4, 0.3], [-0.5, 0.2]], "restitution": 1}
    scene = {
        "mbsim": 1,
        "gravity": [0, 0, 0],
        "bodies": {"a": {"mass": 2, "inertia": {"principal": [0.1, 0.2, 0.3]}}},
        "joints": {"j": joint},
        "simulation": {"duration": 2, "step": 1e-3, "method": method},
        "output": {"every": 1e-3},
    }
    run = mbsim.load(json.dumps(scene) + "\n").run()
    total, v = run["energy/total"].values, run["joints/j/v"].values
    assert total.max() < total[0] * (1.0 + 1e-5)
    assert total.min() > 0.995 * total[0]
    turns = np.abs(v[1:] + v[:-1]) < 0.02 * np.abs(v[:-1])  # a rate that a stop returns
    assert turns.sum() >= 4


@SIX
def test_a_body_that_bounces_on_its_limit_comes_to_rest(method):
    """After the time sqrt(2 h / g) (1 + e) / (1 - e), to the number of bounces times the step."""
    run = slider(method, 0.5, gravity=9.81, duration=2.0)
    moves = np.abs(run["joints/j/v"].values.ravel()) > 1e-12
    rest = float(run["time"].values[np.flatnonzero(moves)[-1]])
    assert rest == pytest.approx(math.sqrt(2 / 9.81) * 3.0, abs=0.02)
    assert run["joints/j/q"].values[-1] == pytest.approx(0.0, abs=1e-12)


@SIX
@pytest.mark.parametrize("seed", range(4))
def test_limits_that_rebound_add_no_energy(method, seed):
    """Three bodies that slide on each other between stops, with one or several coefficients of restitution."""
    rng, parent = np.random.default_rng(seed), "world"
    bodies, joints = {}, {}
    for name in "abc":
        bodies[name] = rod(mass=float(rng.uniform(0.5, 3.0)))
        joints[name] = {"type": "prismatic", "axis": [1, 0, 0], "parent": parent, "child": name}
        joints[name] |= {"v": float(rng.normal()), "limits": [-0.1, 0.1]}
        joints[name]["restitution"] = 1.0 if seed == 0 else float(rng.uniform())
        parent = name
    scene = {"mbsim": 1, "gravity": [0, 0, 0], "bodies": bodies, "joints": joints}
    scene |= {"simulation": {"duration": 2.0, "step": 1e-3, "method": method}, "output": {"every": 1e-3}}
    run = mbsim.load(json.dumps(scene) + "\n").run()
    total = run["energy/total"].values
    assert np.diff(total).max() <= 1e-9 * total[0]
    assert np.count_nonzero(np.abs(np.diff(run["joints/c/v"].values.ravel())) > 1e-3) > 2
    if seed == 0:
        assert total[-1] == pytest.approx(total[0], rel=1e-9)
    else:
        assert total[-1] < total[0]
    losses = [run[f"energy/dissipation/joints/{name}/limits"].values[-1] for name in joints]
    assert sum(losses) == pytest.approx(total[0] - total[-1], rel=1e-9, abs=1e-12)


@pytest.mark.filterwarnings("ignore::mbsim.SceneWarning")
@pytest.mark.parametrize("method", ["aba", "variational"])
def test_a_chain_between_stops_gains_no_energy_where_one_rebound_presses_another(method):
    """With all of the rebounds, the energy of `variational` grows to three times that of the start."""
    rng, parent, bodies, joints = np.random.default_rng(3), "world", {}, {}
    for k in range(4):
        name, axis = f"b{k}", [0, 0, 1] if k == 2 else [0, 1, 0]
        bodies[name] = rod()
        joints[f"j{k}"] = {"type": "revolute", "axis": axis, "parent": parent, "child": name}
        joints[f"j{k}"] |= {"origin": {"position": [1.0 if k else 0.0, 0, 0]}, "limits": [-0.2, 0.2]}
        joints[f"j{k}"] |= {"restitution": 1.0, "v": float(rng.normal() * 5)}
        parent = name
    scene = {"mbsim": 1, "gravity": [0, 0, 0], "bodies": bodies, "joints": joints}
    settings = {"duration": 2.0, "step": 1e-3, "method": method}
    scene |= {"simulation": settings | ({"integrator": "rk4"} if method == "aba" else {}), "output": {"every": 1e-3}}
    total = mbsim.load(json.dumps(scene) + "\n").run(check=False)["energy/total"].values
    assert total.max() <= 1.001 * total[0]


def test_restitution_without_limits_is_refused():
    joint = {"type": "revolute", "child": "rod", "axis": [0, 1, 0], "restitution": 0.5}
    with pytest.raises(mbsim.SceneError, match=r"joints.hinge: `restitution` has no effect without `limits`"):
        mbsim.load(json.dumps({"mbsim": 1, "bodies": {"rod": rod()}, "joints": {"hinge": joint}}) + "\n")


# --- beside dry friction ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("brake", ["of the joint", "of a combination"])
def test_friction_unloads_a_rope_without_slackening_it(method, brake):
    """Atwood's machine with 8 N of friction at the heavy mass: the tension falls from 15 to 13 N, in every step."""
    own = {} if METHODS[method].own_integrator else {"integrator": "semi_implicit_euler"}
    scene = {
        "mbsim": 1,
        "gravity": [0, 0, -10],
        "bodies": {name: {"mass": mass, "inertia": {"principal": [1, 1, 1]}} for name, mass in (("a", 3), ("b", 1))},
        "joints": {
            "left": {"type": "prismatic", "child": "a", "axis": [0, 0, 1], "origin": {"position": [0, 0, -1]}},
            "right": {"type": "prismatic", "child": "b", "axis": [0, 0, 1], "origin": {"position": [0.5, 0, -1]}},
        },
        "constraints": {
            "rope": {
                "type": "distance",
                "path": [{"body": "a"}, {"body": "world"}, {"body": "world", "point": [0.5, 0, 0]}, {"body": "b"}],
                "limits": [None, 2.5],
            }
        },
        "simulation": {"duration": 0.2, "step": 1e-3, "method": method, **own},
        "output": {"every": 1e-3},
    }
    if brake == "of the joint":
        scene["joints"]["left"]["friction"] = {"force": 8}
    else:
        scene["combinations"] = {"one": {"terms": {"left": 1}, "friction": 8}}
    found = mbsim.load(json.dumps(scene, indent=1)).run()
    v, time = found["joints/left/v"].values[:, 0], found["time"].values
    np.testing.assert_allclose(v, -(30 - 10 - 8) / 4 * time, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["constraints/rope/multiplier"].values[2:, 0], 13.0, rtol=0, atol=1e-9)


CORNER = """
mbsim: 1
bodies:
  upper: {mass: 1, com: [0.1, 0, 0], inertia: {principal: [0.01, 0.01, 0.01]}}
  lower: {mass: 1, com: [0.1, 0, 0], inertia: {principal: [0.01, 0.01, 0.01]}}
joints:
  a: {type: revolute, child: upper, axis: [0, 1, 0], v: 0.3, limits: [-0.05, 0.04], restitution: 0}
  b: {type: revolute, parent: upper, child: lower, axis: [0, 1, 0], origin: {position: [0.2, 0, 0]},
    limits: [-0.05, 0.04], restitution: 0}
couplings: {gear: {type: gear, joints: [a, b]}}
simulation: {duration: 0.3 s, step: 1 ms}
"""


@pytest.mark.parametrize("ratio", [-0.7, -1.0, -1.5, -3.3])
@pytest.mark.parametrize("method", METHODS)
def test_a_flank_may_meet_the_limits_of_its_joints(method: str, ratio: float) -> None:
    """Three rows of two coordinates hold the arms where both limits and the end of the backlash coincide."""
    backlash = 2 * 0.04 * (1 - ratio)
    gear = [f"couplings.gear.ratio={ratio}", f"couplings.gear.backlash={backlash!r}"]
    result = mbsim.load(CORNER, [*gear, f"simulation.method={method}"]).run(check=False)
    assert result.attrs["status"] == "complete", result.attrs["message"]
    for joint in "ab":
        assert float(result[f"joints/{joint}/q"][-1, 0]) == pytest.approx(0.04, abs=1e-9)
