"""Filters of actuators: closed forms, the same in all methods, exact between samples, and beside MuJoCo."""

from __future__ import annotations

import json

import numpy as np
import pytest

from multibody_cli import MemorySink, Simulation, load
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS

T, H = 0.05, 1e-3


def text_of(actuator, method="aba", integrator="rk4", **more):
    own = {} if METHODS[method].own_integrator else {"integrator": integrator}
    scene = {
        "mbsim": 1,
        "name": "filters",
        "gravity": [0, 0, 0],
        "bodies": {"cart": {"mass": 2, "inertia": {"principal": [1, 1, 1]}}},
        "joints": {"slide": {"type": "prismatic", "child": "cart", "axis": [1, 0, 0], "q": 0.4}},
        "actuators": {"drive": {"joint": "slide", **actuator}},
        "simulation": {"duration": 0.4, "step": H, "method": method, **own},
        "output": {"every": H},
        **more,
    }
    return json.dumps(scene) + "\n"


def run_of(text):
    sink = MemorySink()
    load(text).prepared.run(sink)
    found = sink.trajectory()
    return lambda name: found.channel(name).values


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_input_has_the_exponential_as_activation_in_every_method(method):
    actuator = {"type": "general", "force": 6, "filter": T, "initial_activation": -2}
    found = run_of(text_of(actuator, method))
    t = found("time")
    wanted = 6 - 8 * np.exp(-t / T)
    np.testing.assert_allclose(found("actuators/drive/activation"), wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found("actuators/drive/force")[:, 0], wanted, rtol=1e-12, atol=1e-12)
    speed = (6 * t - 8 * T * (1 - np.exp(-t / T))) / 2
    atol = 1e-9 if not METHODS[method].own_integrator else 2e-5  # variational steps are of second order
    np.testing.assert_allclose(found("joints/slide/v")[:, 0], speed, atol=atol)


@pytest.mark.parametrize("kind", ["position", "pd", "pid", "velocity", "motor", "general"])
def test_each_actuator_has_its_law_with_the_activation_in_place_of_its_input(kind):
    """The recorded activation obeys the recurrence of held inputs; the force is the law of activation and state."""
    u = 0.3
    laws = {
        "position": ({"kp": 50, "kv": 4, "target": u}, lambda a, q, v: 50 * (a - q) - 4 * v),
        "pd": ({"kp": 50, "kd": 4, "target": u}, lambda a, q, v: 50 * (a - q) + 4 * ((u - a) / T - v)),
        "velocity": ({"kv": 4, "target": u}, lambda a, q, v: 4 * (a - v)),
        "motor": ({"command": u, "stall_torque": 8, "no_load_speed": 5}, lambda a, q, v: 8 * (a - v / 5)),
        "general": ({"input": "0.3", "force": "20*activation - 3*q - v"}, lambda a, q, v: 20 * a - 3 * q - v),
    }
    fields, law = laws.get(kind, ({"kp": 50, "ki": 9, "kd": 4, "target": u, "rate": 200}, None))
    found = run_of(text_of({"type": kind, "filter": T, **fields}))
    t, q, v, a = (found(name) for name in ("time", "joints/slide/q", "joints/slide/v", "actuators/drive/activation"))
    np.testing.assert_allclose(a, u * (1 - np.exp(-t / T)), rtol=1e-11, atol=1e-13)
    force = found("actuators/drive/force")[:, 0]
    if law is not None:
        np.testing.assert_allclose(force, law(a, q[:, 0], v[:, 0]), rtol=1e-10, atol=1e-11)
    else:
        held = force.reshape(-1)[:400].reshape(-1, 5)  # the force of a sampled controller is held, its filter is not
        assert (held == held[:, :1]).all()
        integral, errors = np.cumsum(9 * (a - q[:, 0])[:400:5]) / 200, (a - q[:, 0])[:400:5]
        rates = (u - a[:400:5]) / T - v[:400:5, 0]
        wanted = 50 * errors + np.concatenate([[0.0], integral[:-1]]) + 4 * rates
        np.testing.assert_allclose(held[:, 0], wanted, rtol=1e-9, atol=1e-10)


def test_an_input_that_depends_on_the_state_is_held_over_each_step():
    actuator = {"type": "general", "force": "-40*q - 3*v + sin(20*t)", "filter": T}
    found = run_of(text_of(actuator))
    t, q, v, a = (found(name) for name in ("time", "joints/slide/q", "joints/slide/v", "actuators/drive/activation"))
    u = -40 * q[:, 0] - 3 * v[:, 0] + np.sin(20 * t)
    np.testing.assert_allclose(a[1:], u[:-1] + (a[:-1] - u[:-1]) * np.exp(-H / T), rtol=1e-10, atol=1e-12)


def test_the_filter_is_part_of_the_state_that_a_simulation_saves():
    text = text_of({"type": "general", "force": "-40*q", "filter": T})
    one = Simulation(load(text))
    one.step(137)
    saved = one.save()
    one.step(100)
    other = Simulation(load(text))
    other.restore(saved)
    other.step(100)
    assert one.q[...].tobytes() == other.q[...].tobytes()
    assert one.channel("actuators/drive/activation") == other.channel("actuators/drive/activation")


def test_the_ledger_has_the_work_of_a_filtered_force():
    found = run_of(text_of({"type": "general", "force": 6, "filter": T}))
    assert np.abs(found("energy/ledger_residual")).max() < 1e-9
    np.testing.assert_allclose(found("energy/work/actuators/drive")[-1], found("joints/slide/v")[-1, 0] ** 2, rtol=1e-9)


@pytest.mark.parametrize(
    ("actuator", "integrator", "message"),
    [
        ({"type": "general", "force": 1, "initial_activation": 1}, "rk4", "initial_activation: has no effect without"),
        ({"type": "general", "force": "2*activation"}, "rk4", "`activation` requires a `filter` and its `input`"),
        ({"type": "general", "force": "2*q", "input": 1, "filter": 1}, "rk4", "the `force` reads no `activation`"),
        ({"type": "general", "force": 1, "filter": 0}, "rk4", "above 0"),
        ({"type": "general", "force": 1, "filter": 1}, "dop853", "write `rate` or `period`"),
    ],
)
def test_refusals(actuator, integrator, message):
    with pytest.raises(SceneError) as found:
        load(text_of(actuator, integrator=integrator))
    assert message in str(found.value)


MJCF = """
<mujoco>
  <option timestep="0.001" gravity="0 0 0" integrator="Euler"><flag eulerdamp="disable"/></option>
  <worldbody>
    <body name="cart"><inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>
      <joint name="slide" type="slide" axis="1 0 0"/></body>
  </worldbody>
  <actuator>
    <general joint="slide" dyntype="filterexact" dynprm="0.05" gainprm="20" biastype="affine" biasprm="1 -3 -2"/>
  </actuator>
</mujoco>
"""


def test_a_filter_with_affine_gain_and_bias_is_that_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    data.qpos[0] = 0.4
    actuator = {"type": "general", "input": "inputs.u", "filter": 0.05, "force": "20*activation + 1 - 3*q - 2*v"}
    simulation = Simulation(load(text_of(actuator, integrator="semi_implicit_euler", inputs={"u": 0.7})))
    data.ctrl[0] = 0.7
    for k in range(300):
        if k == 150:
            data.ctrl[0] = simulation.inputs["u"] = -0.2
        mujoco.mj_step(model, data)
        simulation.step()
        np.testing.assert_allclose(simulation.q["slide"], data.qpos, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(simulation.channel("actuators/drive/activation"), data.act[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize(("value", "limit"), [(0.7, 0.5), (-1.0, 0.1)])
@pytest.mark.parametrize("kind", ["position", "pd", "pid", "velocity", "general"])
def test_an_input_beyond_its_limits_acts_as_the_limit(kind, value, limit, filtered):
    """The run is that of the limited input, also where a filter follows."""
    fields = {
        "position": {"kp": 50, "kv": 4},
        "pd": {"kp": 50, "kd": 4},
        "pid": {"kp": 50, "ki": 9, "kd": 4, "rate": 200},
        "velocity": {"kv": 4},
        "general": {},
    }[kind] | ({"filter": T} if filtered else {})
    name = "force" if kind == "general" else "target"
    given = run_of(text_of({"type": kind, **fields, name: value, "input_limits": [0.1, 0.5]}))
    limited = run_of(text_of({"type": kind, **fields, name: limit}))
    force, wanted = (found("actuators/drive/force") for found in (given, limited))
    np.testing.assert_allclose(force, wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(given("joints/slide/q"), limited("joints/slide/q"), rtol=1e-12, atol=1e-12)


def test_the_rate_of_a_limited_target_is_zero_beyond_the_limits():
    actuator = {"type": "pd", "kp": 0, "kd": 4, "target": "3*t", "input_limits": [None, 0.6]}
    found = run_of(text_of(actuator))
    t, v, force = found("time"), found("joints/slide/v")[:, 0], found("actuators/drive/force")[:, 0]
    for part, rate in ((t < 0.2 - H, 3.0), (t > 0.2 + H, 0.0)):
        np.testing.assert_allclose(force[part], 4 * (rate - v[part]), atol=1e-9)
    with pytest.raises(SceneError, match=r"input_limits\[0\]: expected an? .*length"):
        load(text_of({"type": "pd", "kp": 1, "target": 0, "input_limits": ["1 deg", 2]}))
