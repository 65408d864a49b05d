"""Paths through points of bodies: springs, ropes and pulleys along them, by closed forms, by energy, and by MuJoCo."""

from __future__ import annotations

import json

import numpy as np
import pytest

from multibody_cli import MemorySink, Simulation, load, modes
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS

G = 9.81
every_method = pytest.mark.parametrize("method", METHODS)


def weight(x, mass=1.0):
    body = {"mass": mass, "inertia": {"principal": [0.01, 0.01, 0.01]}}
    return body, {"type": "prismatic", "axis": [0, 0, 1], "origin": {"position": [x, 0, -1]}}


def yaml_text(scene):
    return json.dumps(scene) + "\n"


def scene_of(weights, settings, **sections):
    bodies = {name: body for name, (body, _) in weights.items()}
    joints = {name: {**joint, "child": name} for name, (_, joint) in weights.items()}
    own = METHODS[settings.get("method", "aba")].own_integrator
    integrator = {} if own else {"integrator": "semi_implicit_euler"}
    simulation = {"duration": 0.3, "step": 1e-3, **integrator, **settings}
    return {"mbsim": 1, "name": "paths", "bodies": bodies, "joints": joints, "simulation": simulation, **sections}


def run_of(scene):
    sink = MemorySink()
    load(yaml_text(scene)).prepared.run(sink)
    found = sink.trajectory()
    return lambda name: found.channel(name).values


def on(body, x=0.0, **more):
    return {"body": body, **({"point": [x, 0, 0]} if body == "world" else {}), **more}


PATHS = {
    "threaded": [on("world"), on("load"), on("world"), on("world", 1), on("light")],
    "branched": [on("world"), on("load"), on("world", 1, divisor=2), on("light")],
}
LENGTHS = {"threaded": 4.0, "branched": 1.5}


@every_method
@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("kind", ["rod", "rope"])
def test_a_movable_pulley_halves_the_acceleration(method, name, kind):
    """2 z_load + z_light is constant: with M and m, a_load = -g (M - 2 m) / (M + 4 m)."""
    length = {"length": LENGTHS[name]} if kind == "rod" else {"limits": [None, LENGTHS[name]]}
    constraints = {"rope": {"type": "distance", "path": "rope", **length}}
    weights = {"load": weight(0, 3.0), "light": weight(1, 1.0)}
    scene = scene_of(weights, {"method": method}, constraints=constraints, paths={"rope": {"path": PATHS[name]}})
    found = run_of(scene)
    a = -G / 7.0
    time, q = found("time"), found("joints/load/q")[:, 0]
    # of first order: the steps of the impact and of the velocity at the start
    np.testing.assert_allclose(q, 0.5 * a * time**2, atol=1.1e-3 * 0.3 * abs(a))
    np.testing.assert_allclose(found("joints/light/q")[:, 0], -2.0 * q, atol=1e-8)
    factor = {"threaded": 1.0, "branched": 2.0}[name]
    tension = factor * (G + 2.0 * G / 7.0)
    np.testing.assert_allclose(np.abs(found("constraints/rope/multiplier")[5:-1, 0]), tension, rtol=1e-6)


@every_method
def test_an_elastic_rope_is_slack_and_turns_a_fall_where_its_energy_is_that_of_the_fall(method):
    ends = [on("world"), on("load")]
    springs = {"rope": {"path": "rope", "stiffness": 200, "rest_length": [0, 1.2]}}
    step = {"method": method, "step": 2e-4, "duration": 0.4}
    scene = scene_of({"load": weight(0)}, step, springs=springs, paths={"rope": {"path": ends}})
    found = run_of(scene)
    time, q, force = (found(name) for name in ("time", "joints/load/q", "springs/rope/force"))
    q = q[:, 0]
    falls = time < np.sqrt(2 * 0.2 / G)
    np.testing.assert_allclose(q[falls], -0.5 * G * time[falls] ** 2, atol=2e-3)
    assert not force[falls].any()
    stretch = G / 200 + np.sqrt((G / 200) ** 2 + 2 * 0.2 * G / 200)
    np.testing.assert_allclose(q.min(), -0.2 - stretch, rtol=2e-3)
    np.testing.assert_allclose(force.max(), 200 * stretch, rtol=2e-3)


@every_method
def test_a_weight_on_a_spring_through_a_ring_swings_equally_by_every_method(method):
    """The spring bends over the tube at the start, leaves it, and touches the other side."""
    ring = {"type": "torus", "body": "world", "major_radius": 0.1, "minor_radius": 0.03}
    path = [{"body": "world", "point": [0, 0, 0.3]}, {"wrap": ring}, {"body": "bob"}]
    body = {"mass": 0.4, "inertia": {"principal": [0.01, 0.01, 0.01]}, "position": [0.28, 0.03, -0.3]}
    spring = {"path": path, "stiffness": 80, "rest_length": 0.6}
    at_end = {}
    for one in {method, "aba"}:
        own = METHODS[one].own_integrator
        settings = {"duration": 0.4, "step": 2e-4, "method": one, **({} if own else {"integrator": "rk4"})}
        scene = {"mbsim": 1, "name": "ring", "bodies": {"bob": body}, "springs": {"s": spring}, "simulation": settings}
        at_end[one] = run_of(scene)("bodies/position")[-1, 0]
    np.testing.assert_allclose(at_end[method], at_end["aba"], atol=1e-6 if METHODS[method].own_integrator else 1e-11)


def test_named_points_and_points_in_place_have_the_same_bits():
    springs = {"s": {"path": PATHS["branched"], "stiffness": 50, "damping": 2, "rest_length": 0.3}}
    weights = {"load": weight(0, 3.0), "light": weight(1, 1.0)}
    written = run_of(scene_of(weights, {}, springs=springs))
    springs["s"]["path"] = "rope"
    named = run_of(scene_of(weights, {}, springs=springs, paths={"rope": {"path": PATHS["branched"]}}))
    for channel in ("joints/load/q", "joints/light/v", "springs/s/force"):
        np.testing.assert_array_equal(written(channel), named(channel))


@every_method
@pytest.mark.parametrize("angle", [0, 0.3])
def test_a_spring_without_length_at_the_start_pulls_in_the_direction_of_the_motion(method, angle):
    """A damped oscillator that starts where the ends of its spring coincide, also to round-off."""
    k, c, m = 100.0, 2.0, 2.0
    offset = [0.1 * np.cos(angle), 0.1 * np.sin(angle), 0]
    turned = {"rotation": {"axis": [0, 0, 1], "angle": angle}}
    scene = {
        "mbsim": 1,
        "gravity": [0, 0, 0],
        "bodies": {"a": {"mass": m, "inertia": {"principal": [0.1, 0.1, 0.1]}}},
        "joints": {"rail": {"type": "prismatic", "child": "a", "axis": [1, 0, 0], "v": 1, "origin": turned}},
        "springs": {
            "s": {
                "between": [{"body": "world", "point": offset}, {"body": "a", "point": [0.1, 0, 0]}],
                "stiffness": k,
                "damping": c,
                "rest_length": 0,
            }
        },
        "simulation": {"duration": 1, "step": 1e-3, "method": method},
    }
    found = run_of(scene)
    decay, omega, t = c / (2 * m), np.sqrt(k / m - (c / (2 * m)) ** 2), found("time")
    wanted = np.exp(-decay * t) * np.sin(omega * t) / omega
    own = METHODS[method].own_integrator
    np.testing.assert_allclose(found("joints/rail/q")[:, 0], wanted, atol=2e-6 if own else 1e-9)
    np.testing.assert_allclose(found("springs/s/force")[0], c, rtol=1e-9)
    exponents = [mode.exponent for mode in modes(yaml_text(scene), overrides={"joints.rail.v": 0}).modes]
    np.testing.assert_allclose(exponents, [-decay + 1j * omega], rtol=1e-8)


def test_lines_that_coincide_or_have_no_length_apply_finite_forces():
    path = [on("world"), on("load"), on("world"), on("world"), on("load")]
    springs = {"s": {"path": path, "stiffness": 50, "rest_length": 0}}
    found = run_of(scene_of({"load": weight(0)}, {"step": 1e-4}, springs=springs))
    omega = np.sqrt(9 * 50 / 1.0)  # the length is three times the depth
    time = found("time")
    wanted = -(G / omega**2) + (G / omega**2 - 1) * np.cos(omega * time)
    np.testing.assert_allclose(found("joints/load/q")[:, 0], wanted + 1, atol=2e-3)


def test_problems_of_a_path_are_reported_at_the_path_alone():
    springs = {"s": {"path": "rope", "stiffness": 1, "rest_length": 1}, "u": {**{"path": "roep"}, "stiffness": 1,
               "rest_length": 1}}  # fmt: skip
    scene = scene_of({"load": weight(0)}, {}, springs=springs, paths={"rope": {"path": [on("world"), on("lod")]}})
    with pytest.raises(SceneError) as found:
        load(yaml_text(scene))
    text = str(found.value)
    assert text.count("unknown body `lod`") == 1
    assert "paths.rope.path[1].body" in text
    assert "springs.u.path: unknown path `roep`" in text


# --- actuators on paths, and forces that read them ------------------------------------------------------------------
ACTUATORS = {
    "force": {"type": "general", "force": -14},
    "servo": {"type": "pd", "kp": 300, "kd": 20, "target": 1.2},
    "sampled": {"type": "pd", "kp": 300, "kd": 20, "target": 1.2, "rate": 1000},
}


@every_method
@pytest.mark.parametrize("kind", ACTUATORS)
def test_an_actuator_on_a_path_has_the_power_of_its_force_and_the_rate_of_the_length(method, kind):
    """The length of the branched path is l = -z_load (2 strands at the load, one over 2 at the light weight)."""
    weights = {"load": weight(0, 3.0), "light": weight(1, 1.0)}
    paths = {"rope": {"path": PATHS["branched"]}}
    actuators = {"winch": {"path": "rope", **ACTUATORS[kind]}}
    found = run_of(scene_of(weights, {"method": method}, actuators=actuators, paths=paths))
    time, load_q, light_q = (found(name) for name in ("time", "joints/load/q", "joints/light/q"))
    length, rate, force = (found(name) for name in ("paths/rope/length", "paths/rope/rate", "actuators/winch/force"))
    np.testing.assert_allclose(length, (1 - load_q[:, 0]) + 0.5 * (1 - light_q[:, 0]), atol=1e-9)
    speeds = -found("joints/load/v")[:, 0] - 0.5 * found("joints/light/v")[:, 0]
    np.testing.assert_allclose(rate, speeds, atol=2e-8)
    force = force[:, 0]
    if kind == "force":
        assert (force == -14.0).all()
    elif kind == "servo":
        np.testing.assert_allclose(force, 300 * (1.2 - length) - 20 * rate, atol=1e-6)
    impulse = np.concatenate([[0.0], np.cumsum(force[:-1] * np.diff(time))])  # of the force at the start of each step
    if not METHODS[method].own_integrator:
        np.testing.assert_allclose(found("joints/load/v")[:, 0], -G * time - impulse / 3.0, atol=1e-8)
        np.testing.assert_allclose(found("joints/light/v")[:, 0], -G * time - 0.5 * impulse, atol=1e-8)
    work = np.trapezoid(force * rate, time)
    np.testing.assert_allclose(found("energy/work/actuators/winch")[-1], work, rtol=2e-2, atol=1e-2)


@pytest.mark.parametrize("kind", ["force", "servo"])
def test_the_ledger_has_the_work_of_an_actuator_on_a_path(kind):
    weights = {"load": weight(0, 3.0), "light": weight(1, 1.0)}
    actuators, paths = {"winch": {"path": "rope", **ACTUATORS[kind]}}, {"rope": {"path": PATHS["branched"]}}
    found = run_of(scene_of(weights, {"integrator": "rk4"}, actuators=actuators, paths=paths))
    assert np.abs(found("energy/work/actuators/winch")).max() > 1.0
    assert np.abs(found("energy/ledger_residual")).max() < 1e-8


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff"])
@pytest.mark.parametrize("integrator", ["linearly_implicit_euler", "sdirk2"])
def test_implicit_integrators_hold_a_stiff_servo_on_a_path(method, integrator):
    """A servo with a period of 2 ms, 60 times shorter than the step divided by pi, is at rest after few steps."""
    weights = {"load": weight(0, 1.0)}
    paths = {"rope": {"path": [on("world"), on("load")]}}
    actuators = {"winch": {"path": "rope", "type": "pd", "kp": 1e7, "kd": 1e4, "target": 0.9}}
    settings = {"method": method, "integrator": integrator, "step": 0.01, "duration": 0.5}
    found = run_of(scene_of(weights, settings, actuators=actuators, paths=paths))
    np.testing.assert_allclose(found("paths/rope/length")[-1], 0.9 + G / 1e7, atol=1e-9)


def test_a_tension_of_the_length_of_another_path_is_that_of_a_spring():
    weights, paths = {"load": weight(0, 1.0)}, {"rope": {"path": [on("world"), on("load")]}}
    spring = {"springs": {"s": {"path": "rope", "stiffness": 80, "damping": 3, "rest_length": 0.4}}}
    tension = {"forces": {"s": {"path": "rope", "tension": "80*(paths.rope.length - 0.4) + 3*paths.rope.rate"}}}
    one, other = (run_of(scene_of(weights, {}, paths=paths, **law)) for law in (spring, tension))
    np.testing.assert_allclose(one("joints/load/q"), other("joints/load/q"), rtol=1e-12)


def test_actuators_on_paths_are_refused_by_name():
    weights, paths = {"load": weight(0, 1.0)}, {"rope": {"path": [on("world"), on("load")]}}
    actuators = {
        "a": {"type": "pd", "path": "roep", "kp": 1},
        "b": {"type": "pd", "path": "rope", "joint": "load", "kp": 1},
        "c": {"type": "pd", "kp": 1},
        "d": {"type": "pd", "path": "rope", "kp": "1 N*m/rad"},
        "e": {"type": "motor", "path": "rope", "command": 1, "stall_torque": 1, "no_load_speed": 1, "rotor_inertia": 1},
        "f": {"type": "general", "path": "rope", "force": "paths.rope.lenght + paths.rop.length"},
    }
    with pytest.raises(SceneError) as found:
        load(yaml_text(scene_of(weights, {}, paths=paths, actuators=actuators)))
    text = str(found.value)
    assert "actuators.a.path: unknown path `roep`" in text
    assert text.count("expected one of `joint`, `combination` and `path`") == 2
    assert "actuators.d.kp: expected" in text
    assert "actuators.e.rotor_inertia: a path has no coordinate" in text
    assert "unknown quantity `lenght` of a path" in text
    assert "unknown path `rop`" in text


# --- MuJoCo -----------------------------------------------------------------------------------------------------------
AT = {"position": [0.5, 0, 0]}
MJCF = """
<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"><flag contact="disable"/></option>
  <worldbody>
    <site name="s0" pos="0.1 0.2 0.3"/> <site name="s1" pos="-0.4 0.1 0.5"/>
    <body name="a" pos="0 0 0">
      <inertial pos="0.2 0 0" mass="2" diaginertia="0.1 0.2 0.3"/>
      <joint name="ja" type="hinge" axis="0 1 0"/>
      <site name="a0" pos="0.3 0.05 0.1"/> <site name="a1" pos="0.1 -0.1 0.2"/>
      <body name="b" pos="0.5 0 0">
        <inertial pos="0.3 0 0" mass="1" diaginertia="0.05 0.06 0.07"/>
        <joint name="jb" type="hinge" axis="0 0 1"/>
        <site name="b0" pos="0.2 0 0.1"/> <site name="b1" pos="0.4 0.2 0"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial name="t" stiffness="40" damping="3" springlength="{lower} {upper}">
      <site site="s0"/> <site site="a0"/> <site site="b0"/>
      <pulley divisor="2"/> <site site="s1"/> <site site="a1"/>
      <pulley divisor="2"/> <site site="s1"/> <site site="b1"/>
    </spatial>
  </tendon>
  <actuator> <position tendon="t" kp="{kp}" kv="{kv}" ctrlrange="-9 9"/> </actuator>
</mujoco>
"""


def arms(lower, upper):
    def at(body, *point, **more):
        return {"body": body, "point": list(point), **more}

    path = [
        at("world", 0.1, 0.2, 0.3), at("a", 0.3, 0.05, 0.1), at("b", 0.2, 0, 0.1),
        at("world", -0.4, 0.1, 0.5, divisor=2), at("a", 0.1, -0.1, 0.2),
        at("world", -0.4, 0.1, 0.5, divisor=2), at("b", 0.4, 0.2, 0),
    ]  # fmt: skip
    return {
        "mbsim": 1,
        "name": "arms",
        "bodies": {
            "a": {"mass": 2, "com": [0.2, 0, 0], "inertia": {"principal": [0.1, 0.2, 0.3]}},
            "b": {"mass": 1, "com": [0.3, 0, 0], "inertia": {"principal": [0.05, 0.06, 0.07]}},
        },
        "joints": {
            "ja": {"type": "revolute", "child": "a", "axis": [0, 1, 0]},
            "jb": {"type": "revolute", "parent": "a", "child": "b", "axis": [0, 0, 1], "origin": AT},
        },
        "paths": {"t": {"path": path}},
        "springs": {"t": {"path": "t", "stiffness": 40, "damping": 3, "rest_length": [lower, upper]}},
        "simulation": {"duration": 1, "step": 1e-3},
    }  # fmt: skip


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 0.5), (0.2, 5.0), (3.0, 4.0)], ids=["taut", "slack", "pressed"])
def test_a_tendon_with_pulleys_and_a_deadband_is_that_of_mujoco(lower, upper):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MJCF.format(lower=lower, upper=upper, kp=0, kv=0))
    data, simulation, rng = (
        mujoco.MjData(model),
        Simulation(load(yaml_text(arms(lower, upper)))),
        np.random.default_rng(3),
    )
    for _ in range(5):
        data.qpos[:], data.qvel[:] = rng.uniform(-2, 2, 2), rng.uniform(-3, 3, 2)
        mujoco.mj_forward(model, data)
        for k, name in enumerate(("ja", "jb")):
            simulation.q[name], simulation.v[name] = data.qpos[k], data.qvel[k]
        np.testing.assert_allclose(simulation.channel("springs/t/length"), data.ten_length[0], rtol=1e-12)
        accelerations = [float(simulation.a[name][0]) for name in ("ja", "jb")]
        np.testing.assert_allclose(accelerations, data.qacc, rtol=1e-9, atol=1e-9)


def test_a_position_actuator_on_a_tendon_is_that_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MJCF.format(lower=0, upper=0.5, kp=25, kv=2))
    scene = arms(0.0, 0.5)
    scene["actuators"] = {"servo": {"type": "position", "path": "t", "kp": 25, "kv": 2, "target": 0.8}}
    data, simulation, rng = mujoco.MjData(model), Simulation(load(yaml_text(scene))), np.random.default_rng(4)
    for _ in range(5):
        data.qpos[:], data.qvel[:], data.ctrl[0] = rng.uniform(-2, 2, 2), rng.uniform(-3, 3, 2), 0.8
        mujoco.mj_forward(model, data)
        for k, name in enumerate(("ja", "jb")):
            simulation.q[name], simulation.v[name] = data.qpos[k], data.qvel[k]
        np.testing.assert_allclose(simulation.channel("actuators/servo/force"), data.actuator_force, rtol=1e-10)
        accelerations = [float(simulation.a[name][0]) for name in ("ja", "jb")]
        np.testing.assert_allclose(accelerations, data.qacc, rtol=1e-9, atol=1e-9)


# --- surfaces ---------------------------------------------------------------------------------------------------------
def over(*entries, **sections):
    """A scene with a spring over surfaces, between two masses."""
    mass = {"mass": 1, "inertia": {"principal": [1, 1, 1]}}
    bodies = {"u": mass, "w": {**mass, "position": [1, 0, 0]}}
    spring = {"stiffness": 1, "rest_length": 1, "path": [{"body": "u"}, *entries, {"body": "w"}]}
    return {
        "mbsim": 1,
        "name": "over",
        "bodies": bodies,
        "springs": {"s": spring},
        "simulation": {"duration": 1},
        **sections,
    }


def load_text(data):
    return load(yaml_text(data))


RING = {"type": "torus", "body": "world", "major_radius": 0.2, "minor_radius": 0.05}
BALL = {"type": "sphere", "body": "world", "radius": 0.1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            over({"wrap": "bal"}, surfaces={"ball": BALL}),
            "unknown surface `bal`: expected a name of the section `surfaces`, or a surface; did you mean `ball`?",
        ),
        (
            over({"wrap": {"type": "ellipsoid", "body": "world", "radii": [0.1, 0, 0.1]}}),
            "springs.s.path[1].wrap.radii[1]: expected a length",
        ),
        (over({"wrap": BALL}, {"body": "u", "divisor": 2}), "springs.s.path[1]: a branch ends with a point"),
        (
            over({"wrap": {**BALL, "type": "cylinder"}, "side": [0, 0, 2]}),
            "springs.s.path[1].side: is along the axis of the surface",
        ),
        (over({"wrap": RING, "side": [1, 0, 0]}), "springs.s.path[1].side: a path leads through the hole of a torus"),
        (over({"wrap": {**BALL, "type": "cube"}}), "springs.s.path[1].wrap.type: unknown type `cube` of a surface"),
        (over({"wrap": {**BALL, "body": "x"}}), "springs.s.path[1].wrap.body: unknown body `x`"),
        (over({"wrap": "ball"}, surfaces={"ball": {**BALL, "body": "x"}}), "surfaces.ball.body: unknown body `x`"),
        (over({"wrap": "ball"}, surfaces={"ball": {**BALL, "radius": 0}}), "surfaces.ball.radius: expected"),
    ],
)
def test_wrong_surfaces_are_reported_where_they_are(data, message):
    with pytest.raises(SceneError) as caught:
        load_text(data)
    text = str(caught.value)
    assert message in text
    assert len(text.splitlines()) == 1


def test_a_path_begins_and_ends_with_a_point():
    data = over({"body": "u", "point": [0, 0, 1]}, {"wrap": BALL})
    data["springs"]["s"]["path"].pop()
    with pytest.raises(SceneError, match="the last entry of a path is a point"):
        load_text(data)


def test_a_surface_needs_a_body_with_an_orientation():
    data = over({"wrap": {**BALL, "body": "u"}})
    data["bodies"]["u"] = {"mass": 1, "kind": "point"}
    with pytest.raises(SceneError, match="requires the orientation of `u`"):
        load_text(data)


DRUMS = {
    "cylinder": {"type": "cylinder"},
    "sphere": {"type": "sphere"},
    "ellipsoid": {"type": "ellipsoid"},
    "row": {"type": "cylinder"},
}


@every_method
def test_a_rope_over_surfaces_is_a_machine_of_atwood(method):
    """Taut ropes, and one that may be slack, over fixed surfaces, the last one over two in a row."""
    R, m, c = 0.1, 3.0, 1.0
    weights, surfaces, ropes = {}, {}, {}
    for k, (kind, drum) in enumerate(DRUMS.items()):
        names, centres = (f"load{k}", f"counterweight{k}"), (-2 * R, 2 * R) if kind == "row" else (0.0,)
        for name, mass, x in zip(names, (m, c), (centres[0] - R, centres[-1] + R), strict=True):
            body, joint = weight(0, mass)
            joint["origin"] = {"position": [x, k, -1]}
            weights[name] = body, joint
        arcs = []
        for i, x in enumerate(centres):
            size = {"radii": [R, R, 0.2]} if kind == "ellipsoid" else {"radius": R}
            # its axis is -y, and z is its axis y
            turn = {"axis": [1, 0, 0], "angle": np.pi / 2}
            surfaces[f"s{k}{i}"] = {**drum, **size, "body": "world", "position": [x, k, 0], "rotation": turn}
            arcs.append({"wrap": f"s{k}{i}", "side": [0, 1, 0]})
        length = 2.0 + np.pi * R + centres[-1] - centres[0]
        given = {"limits": [None, length]} if kind == "sphere" else {"length": length}
        ropes[f"r{k}"] = {"type": "distance", "path": [{"body": names[0]}, *arcs, {"body": names[1]}], **given}
    scene = scene_of(weights, {"method": method, "step": 1e-3}, surfaces=surfaces, constraints=ropes)
    found, fall = run_of(scene), -G * (m - c) / (m + c)
    for k in range(len(DRUMS)):
        np.testing.assert_allclose(found(f"joints/load{k}/v")[-1], 0.3 * fall, atol=1e-9)
        np.testing.assert_allclose(found(f"joints/counterweight{k}/v")[-1], -0.3 * fall, atol=1e-9)
