"""Combinations of coordinates: MuJoCo's fixed tendons, implicit steps, limits, energies, and springs of joints."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS

BY_ACCELERATION = [name for name in METHODS if not name.startswith("variational")]
BODY = {"mass": 1.5, "com": [0.1, -0.2, 0.3], "inertia": {"principal": [0.1, 0.2, 0.15]}}
AXES = {"a": [1, 0, 0], "b": [0, 1, 0], "c": [0, 0.6, 0.8]}
TENDONS = {
    "grip": {"terms": {"a": 1.0, "b": -0.5, "slide": 2.0}, "stiffness": 7.0, "damping": 0.4, "rest": [-0.1, 0.2]},
    "pair": {"terms": {"b": 0.7, "c": 1.3}, "stiffness": 3.0, "damping": 0.2, "rest": 0.25},
    "bare": {"terms": {"a": -0.4, "slide": 1.1}},
}
SERVO = {"type": "position", "combination": "bare", "kp": 12.0, "kv": 0.7, "target": 0.3}
DRIVE = {"type": "general", "combination": "grip", "force": "2.5*1.2"}


def chain(q, v):
    """Three hinges and a slider in a chain, with combinations of their coordinates."""
    joints, parent = {}, "world"
    for k, name in enumerate((*AXES, "slide")):
        kind = "prismatic" if name == "slide" else "revolute"
        joints[name] = {"type": kind, "parent": parent, "child": f"of_{name}", "axis": AXES.get(name, [1, 0, 0]),
                        "origin": {"position": [0.2, 0.1, -0.3]}, "q": q[k], "v": v[k]}  # fmt: skip
        parent = f"of_{name}"
    actuators = {"servo": SERVO, "drive": DRIVE}
    bodies = {f"of_{name}": BODY for name in joints}
    return {"bodies": bodies, "joints": joints, "combinations": TENDONS, "actuators": actuators}


def loaded(scene, **simulation):
    settings = {"duration": 0.1, "step": 1e-3, **simulation}
    return mbsim.load(json.dumps({"mbsim": 1, **scene, "simulation": settings}, indent=1))


def in_mujoco(q, v):
    """The accelerations of the same chain by MuJoCo, whose tendons and actuators are its own."""
    mujoco = pytest.importorskip("mujoco")
    opened, inertial = "", '<inertial mass="1.5" pos="0.1 -0.2 0.3" diaginertia="0.1 0.2 0.15"/>'
    for name in (*AXES, "slide"):
        axis, kind = " ".join(map(str, AXES.get(name, [1, 0, 0]))), "slide" if name == "slide" else "hinge"
        opened += f'<body pos="0.2 0.1 -0.3">{inertial}<joint name="{name}" type="{kind}" axis="{axis}"/>'
    tendons = ""
    for name, tendon in TENDONS.items():
        rest = np.broadcast_to(tendon.get("rest", 0.0), 2)
        spring = f'stiffness="{tendon.get("stiffness", 0)}" damping="{tendon.get("damping", 0)}"'
        terms = "".join(f'<joint joint="{joint}" coef="{c}"/>' for joint, c in tendon["terms"].items())
        tendons += f'<fixed name="{name}" {spring} springlength="{rest[0]} {rest[1]}">{terms}</fixed>'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><worldbody>{opened}{"</body>" * 4}</worldbody><tendon>{tendons}</tendon>'
        '<actuator><position tendon="bare" kp="12" kv="0.7"/><motor tendon="grip" gear="1.2"/></actuator></mujoco>'
    )
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, (0.3, 2.5)
    mujoco.mj_forward(model, data)
    return data.qacc.copy(), data.ten_length.copy(), data.ten_velocity.copy()


@pytest.mark.parametrize("method", BY_ACCELERATION)
@pytest.mark.parametrize("seed", range(4))
def test_accelerations_are_those_of_fixed_tendons(method, seed):
    """Below, within and above the range of rest, with a servo and a motor with a gear on tendons."""
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=4), rng.normal(size=4)
    wanted, lengths, rates = in_mujoco(q.tolist(), v.tolist())
    sim = mbsim.Simulation(loaded(chain(q.tolist(), v.tolist()), method=method, integrator="rk4"))
    found = np.array([sim.a[name][0] for name in (*AXES, "slide")])
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
    for k, name in enumerate(TENDONS):
        assert sim.channel(f"combinations/{name}/value") == pytest.approx(lengths[k], abs=1e-12)
        assert sim.channel(f"combinations/{name}/rate") == pytest.approx(rates[k], abs=1e-12)


def carts(**combination):
    """Two carts of 2 and 3 kg on one line, with their gap x2 - x1 as a combination."""
    body = {"inertia": {"principal": [1, 1, 1]}}
    joints = {
        "x1": {"type": "prismatic", "child": "one", "axis": [1, 0, 0], "q": 0.1, "v": 0.7},
        "x2": {"type": "prismatic", "child": "two", "axis": [1, 0, 0], "q": 0.5, "v": -0.3},
    }
    gap = {"terms": {"x1": -1, "x2": 1}, **combination}
    bodies = {"one": {"mass": 2, **body}, "two": {"mass": 3, **body}}
    return {"gravity": [0, 0, 0], "bodies": bodies, "joints": joints, "combinations": {"gap": gap}}


@pytest.mark.parametrize("method", BY_ACCELERATION)
def test_implicit_steps_have_all_derivatives(method):
    """One step of (M + h D + h^2 K) dv = h (f - h K v), with a stiffness of 1e6 N/m."""
    h, k, d = 0.01, 1e6, 40.0
    J = np.array([-1.0, 1.0])
    q, v, M = np.array([0.1, 0.5]), np.array([0.7, -0.3]), np.diag([2.0, 3.0])
    K, D = k * np.outer(J, J), d * np.outer(J, J)
    f = -J * (k * (J @ q - 0.3) + d * (J @ v))
    wanted = v + np.linalg.solve(M + h * D + h * h * K, h * (f - h * K @ v))
    scene = carts(stiffness=k, damping=d, rest=0.3)
    sim = mbsim.Simulation(loaded(scene, method=method, integrator="linearly_implicit_euler", step=h))
    sim.advance(h)
    np.testing.assert_allclose([sim.v["x1"][0], sim.v["x2"][0]], wanted, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_limits_are_impacts_of_the_combination(method, restitution):
    """At the gap 0.3 the relative rate is reversed by the ratio; the momentum is kept."""
    scene = carts(limits=[0.3, None], restitution=restitution)
    settings = {} if method.startswith("variational") else {"integrator": "rk4"}
    found = loaded(scene, method=method, duration=0.4, **settings).run()
    v1, v2 = (found[f"joints/{name}/v"].values[-1, 0] for name in ("x1", "x2"))
    assert 2 * v1 + 3 * v2 == pytest.approx(2 * 0.7 - 3 * 0.3, abs=1e-9)
    assert v2 - v1 == pytest.approx(restitution * 1.0, abs=1e-9)
    lost = 0.5 * 1.2 * (1 - restitution**2)
    assert found["energy/dissipation/combinations/gap/limits"].values[-1] == pytest.approx(lost, abs=1e-6)


@pytest.mark.parametrize("method", BY_ACCELERATION)
def test_a_combination_at_its_limit_has_a_force(method):
    """A force of 5 N on the second cart presses the gap against its limit: both accelerate alike."""
    scene = carts(limits=[0.4, None])
    scene["joints"]["x1"]["v"] = scene["joints"]["x2"]["v"] = 0.0
    scene["joints"]["x2"]["force"] = -5.0
    found = loaded(scene, method=method, integrator="rk4").run()
    np.testing.assert_allclose(found["combinations/gap/limit_force"].values[1:], 2.0, atol=1e-9)
    np.testing.assert_allclose(found["joints/x1/acceleration"].values[1:], -1.0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_energy_is_conserved_with_a_range_of_rest(method):
    """Elastic beyond 0.35 and 0.45, nothing within; with a variational method to the order of its steps."""
    scene = carts(stiffness=300.0, rest=[0.35, 0.45])
    settings = {} if method.startswith("variational") else {"integrator": "rk4"}
    found = loaded(scene, method=method, duration=0.5, step=1e-4, **settings).run()
    gap, total = found["combinations/gap/value"].values, found["energy/total"].values
    stretch = np.maximum(gap - 0.45, 0.0) + np.minimum(gap - 0.35, 0.0)
    np.testing.assert_allclose(found["energy/elastic"].values, 150.0 * stretch**2, atol=1e-9)
    assert stretch.min() < -0.04
    assert stretch.max() > 0.04
    assert np.ptp(total) < 1e-4 * total[0]
    assert np.abs(found["energy/ledger_residual"].values).max() < 1e-4


def test_a_term_alone_is_a_spring_of_the_joint():
    scene = carts()
    scene["combinations"] = {
        "one": {"terms": {"x1": -2.0}, "offset": 0.1, "stiffness": 3.0, "damping": 0.5, "rest": 0.3}
    }
    twin = carts()
    del twin["combinations"]
    twin["joints"]["x1"] |= {"stiffness": 12.0, "damping": 2.0, "rest": -0.1}
    for integrator in ("rk4", "linearly_implicit_euler", "sdirk2"):
        first, second = (loaded(one, integrator=integrator).run() for one in (scene, twin))
        for channel in ("joints/x1/q", "joints/x1/v", "energy/elastic"):
            np.testing.assert_allclose(first[channel].values, second[channel].values, rtol=1e-10, atol=1e-12)


def test_actuators_are_sampled_limited_and_recorded_along_the_combination():
    """The force of 4 N at most on the gap pulls the carts together; each sample holds for 10 steps."""
    scene = carts()
    scene["actuators"] = {"pull": {"type": "pd", "combination": "gap", "kp": 100.0, "target": 0.3, "limits": [-4, 4],
                                   "rate": 100}}  # fmt: skip
    found = loaded(scene, integrator="rk4").run()
    force, a1, a2 = (
        found[path].values for path in ("actuators/pull/force", "joints/x1/acceleration", "joints/x2/acceleration")
    )
    assert force.shape == (101, 1)
    assert force[1, 0] == -4.0
    np.testing.assert_allclose(np.c_[a1, a2], force * [-1 / 2, 1 / 3], atol=1e-12)
    assert len(np.unique(force)) < 12


def test_starts_are_within_the_limits():
    """Coordinates that the scene leaves out start at the limit; given ones beyond it are refused."""
    scene = carts(limits=[0.6, None])
    del scene["joints"]["x2"]["q"]
    assert mbsim.Simulation(loaded(scene)).q["x2"][0] == pytest.approx(0.7)
    with pytest.raises(SceneError, match="gap"):
        loaded(carts(limits=[0.6, None]))


@pytest.mark.parametrize("integrator", ["rk4", "linearly_implicit_euler"])
def test_expressions_read_combinations(integrator):
    """Forces of the joints, and of an actuator along the combination, are those of its spring and damper."""
    scene, own, other = carts(stiffness=300.0, damping=4.0, rest=0.3), carts(), carts()
    law = "300*(combinations.gap.value - 0.3) + 4*combinations.gap.rate"
    own["joints"]["x1"]["force"], own["joints"]["x2"]["force"] = law, f"-({law})"
    other["actuators"] = {"pull": {"type": "general", "combination": "gap", "force": "-300*(q - 0.3) - 4*v"}}
    first, *others = (loaded(one, integrator=integrator).run() for one in (scene, own, other))
    for channel in ("joints/x1/q", "joints/x2/v"):
        for one in others:
            np.testing.assert_allclose(one[channel].values, first[channel].values, rtol=1e-11, atol=1e-13)


def test_channels_of_spring_and_limits_of_a_combination_have_different_groups(tmp_path):
    """No channel is a group of others, so that a result file can hold all."""
    scene = loaded(carts(stiffness=10, damping=2, limits=[0.3, None]), method="aba", duration=0.01)
    found = scene.run(tmp_path / "carts.h5")
    own = {name.rpartition("/")[2] for name in found if str(name).startswith("energy/dissipation/combinations/gap")}
    assert own == {"damping", "limits"}
