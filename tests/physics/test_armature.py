"""Armature of joints: closed forms, equal bodies in place of drives, energy, and loops.

A drive adds to the inertia of its coordinate alone.  Without gravity, a body that only translates, or turns about its
center of mass with equal moments of inertia, therefore moves as one of more mass or inertia, under any force.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.compile import compile_scene
from multibody_cli.document.source import SceneText
from multibody_cli.methods.baraff import workspace_with_loops
from multibody_cli.methods.options import ImplicitOptions
from multibody_cli.scene.load import load_scene

IN_JOINT_COORDINATES = ("aba", "redmax", "symbolic")
METHODS = (*IN_JOINT_COORDINATES, "baraff")
VARIATIONAL = ("variational", "variational_maximal")
ALL = (*METHODS, *VARIATIONAL)
CONTACT = "contacts: {{}}\n"
EQUAL = {
    "limits with rebound": """
bodies: {{cart: {{mass: {m1}, inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{cart: {{type: prismatic, child: cart, axis: [1, 0, 0], v: 2, limits: [-0.3, 0.2], restitution: 0.7, {a1}}}}}
simulation: {{duration: 1, step: 5 ms}}
""",
    "implicit spring": """
bodies: {{cart: {{mass: {m1}, inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{cart: {{type: prismatic, child: cart, axis: [1, 0, 0], v: 2, stiffness: 1e4, damping: 3, {a1}}}}}
simulation: {{duration: 0.1, step: 0.5 ms, integrator: linearly_implicit_euler}}
""",
    "spring between bodies": """
bodies:
  cart: {{mass: {m1}, inertia: {{principal: [1, 1, 1]}}}}
  other: {{mass: 1, inertia: {{principal: [1, 1, 1]}}, position: [1, 0, 0]}}
joints: {{cart: {{type: prismatic, child: cart, axis: [1, 0, 0], v: 2, {a1}}}}}
springs: {{rope: {{between: [{{body: cart}}, {{body: other}}], stiffness: 1e4, damping: 20, rest_length: 1}}}}
simulation: {{duration: 0.1, step: 1 ms, integrator: sdirk2}}
""",
    "impact of spheres": CONTACT
    + """
bodies:
  cart: {{mass: {m1}, inertia: {{principal: [1, 1, 1]}}, shapes: [{{type: sphere, radius: 0.1, restitution: 0.5}}]}}
  other: {{mass: 1, inertia: {{principal: [1, 1, 1]}}, shapes: [{{type: sphere, radius: 0.1, restitution: 0.5}}]}}
joints:
  cart: {{type: prismatic, child: cart, axis: [1, 0, 0], v: 2, {a1}}}
  other: {{type: prismatic, child: other, axis: [1, 0, 0], origin: {{position: [0.5, 0.1, 0]}}}}
simulation: {{duration: 0.5, step: 5 ms}}
""",
    "brake": """
bodies: {{wheel: {{mass: 1, inertia: {{principal: [1, 1, {J1}]}}}}}}
joints: {{wheel: {{type: revolute, child: wheel, v: 2, friction: {{torque: 1}}, force: "0.5*t", {a1}}}}}
simulation: {{duration: 5, step: 5 ms}}
""",
    "reduced gear": """
bodies:
  wheel: {{mass: 1, inertia: {{principal: [1, 1, {J1}]}}}}
  other: {{mass: 1, inertia: {{principal: [1, 1, {J2}]}}}}
joints:
  wheel: {{type: revolute, child: wheel, v: 2, force: 1, {a1}}}
  other: {{type: revolute, child: other, stiffness: 2, {a2}}}
couplings: {{gear: {{type: gear, joints: [wheel, other], ratio: 3, reduce: true}}}}
simulation: {{duration: 1, step: 5 ms}}
""",
    "rope with friction": """
bodies:
  cart: {{mass: {m1}, inertia: {{principal: [1, 1, 1]}}}}
  other: {{mass: {m2}, inertia: {{principal: [1, 1, 1]}}}}
joints:
  cart: {{type: prismatic, child: cart, axis: [1, 0, 0], q: 0.6, v: 2, friction: {{force: 0.3}}, {a1}}}
  other: {{type: prismatic, child: other, axis: [0, 1, 0], q: 0.8, v: 1, {a2}}}
constraints: {{rope: {{type: distance, between: [{{body: cart}}, {{body: other}}], limits: [null, 1.2]}}}}
simulation: {{duration: 1, step: 5 ms}}
""",
    "sliding and landing": CONTACT
    + """
bodies:
  box: {{mass: {m1}, inertia: {{principal: [1, 1, 1]}}, shapes: [{{type: box, size: [0.2, 0.2, 0.2], friction: 0.4}}]}}
world: {{shapes: [{{type: plane, friction: 0.4}}]}}
joints:
  box: {{type: translational, child: box, q: [0, 0, 0.3], v: [2, 1, -1], force: [0, 0, -20], {a1}}}
simulation: {{duration: 1, step: 5 ms}}
""",
    "rolling": CONTACT
    + """
bodies:
  ball:
    mass: {m1}
    inertia: {{principal: [{J1}, {J1}, {J1}]}}
    shapes: [{{type: sphere, radius: 0.1, friction: 0.2}}]
world: {{shapes: [{{type: plane, friction: 0.2}}]}}
joints:
  ball: {{type: free, child: ball, q: {{position: [0, 0, 0.1]}}, v: {{linear: [2, 1, 0], angular: [0, 0, 3]}},
    force: [0, 0, -20, 0, 0, 0], {a6}}}
simulation: {{duration: 1, step: 5 ms}}
""",
    "ball joint": """
bodies: {{ball: {{mass: 1, inertia: {{principal: [{J1}, {J1}, {J1}]}}}}}}
joints:
  ball: {{type: spherical, child: ball, v: [2, 1, -1], stiffness: [1, 2, 3], damping: 0.1, force: [0.3, 0, 0], {a1}}}
simulation: {{duration: 1, step: 5 ms, integrator: rk4}}
""",
}
"""Scenes with places for masses and moments of inertia 1 and 2, and for the armature of their joints."""

DRIVES = {
    "m1": 1.0, "J1": 1.0, "m2": 0.5, "J2": 0.5,
    "a1": "armature: 0.7", "a2": "armature: 0.2", "a6": "armature: [0.7, 0.7, 0.7, 0.7, 0.7, 0.7]",
}  # fmt: skip
BODIES = {"m1": 1.7, "J1": 1.7, "m2": 0.7, "J2": 0.7, "a1": "armature: 0", "a2": "armature: 0", "a6": "armature: 0"}


def moved(text: str, *settings: str) -> np.ndarray:
    """The last coordinates, rates and energy of a run."""
    scene = mbsim.load(f"mbsim: 1\ngravity: [0, 0, 0]\n{text}", settings)
    result = scene.run(check=False)
    paths = [f"joints/{name}/{quantity}" for name in scene.joints for quantity in ("q", "v")]
    return np.concatenate([np.ravel(result[path][-1]) for path in (*paths, "energy/kinetic")])


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("name", EQUAL)
def test_a_drive_acts_as_inertia(name: str, method: str) -> None:
    """With impacts, contacts, friction, constraints, reductions and implicit forces."""
    text = EQUAL[name]
    if method in ("baraff", "variational_maximal"):
        text = text.replace(", reduce: true", "")
    if method in VARIATIONAL:
        text = re.sub(", integrator: [a-z0-9_]*", "", text)
    found = moved(text.format(**DRIVES), f"simulation.method={method}")
    expected = moved(text.format(**BODIES), f"simulation.method={method}")
    turned = slice(3, 6) if (name, method) == ("rolling", "variational_maximal") else slice(0)  # see below
    np.testing.assert_allclose(np.delete(found, turned), np.delete(expected, turned), rtol=1e-9, atol=1e-9)


def test_the_rotation_of_a_maximal_rotor_in_contact_is_of_first_order() -> None:
    """The rotor of an angular velocity has its rate at the nodes, not its mean; momenta and energy are not affected."""
    errors = []
    for step in ("5 ms", "2.5 ms"):
        text = EQUAL["rolling"].replace("5 ms", step)
        found, expected = (
            moved(text.format(**values), "simulation.method=variational_maximal") for values in (DRIVES, BODIES)
        )
        errors.append(np.abs(found - expected)[3:6].max())
    assert errors[1] < 1e-3
    assert 1.9 < errors[0] / errors[1] < 2.1


ARM = """
mbsim: 1
bodies:
  upper: {mass: 1, com: [0, 0.02, 0.3], inertia: {principal: [0.03, 0.04, 0.01]}}
  lower: {mass: 0.5, com: [0.1, 0, 0.2], inertia: {principal: [0.02, 0.01, 0.03]}}
joints:
  shoulder: {type: spherical, child: upper, v: [0.4, -0.7, 0.9], armature: [0.2, 0.3, 0.1]}
  elbow: {type: universal, parent: upper, child: lower, q: [0.5, 0.2], v: [0.2, 1.1], armature: [0, 0.4],
    motion: {velocity: ["sin(3*t)", null]}, origin: {position: [0, 0, 0.6]}}
simulation: {duration: 1, step: 1 ms, integrator: rk4}
"""


@pytest.mark.parametrize("overrides", [(), ("joints.elbow.armature=[0.5, 0.4]",)])
@pytest.mark.parametrize("method", METHODS)
def test_energy_is_balanced(method: str, overrides: tuple[str, ...]) -> None:
    """Also where the motion of a coordinate with an armature is prescribed: its power accelerates the drive."""
    result = mbsim.load(ARM, (f"simulation.method={method}", *overrides)).run()
    total, work = (result[f"energy/{name}"].to_numpy() for name in ("total", "work/joints/elbow/motion"))
    assert np.ptp(work) > 0.01
    np.testing.assert_allclose(total - work, total[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", IN_JOINT_COORDINATES)
def test_mass_matrix_and_kinetic_energy(method: str) -> None:
    """M has the armature on its diagonal, and v . M v / 2 is the kinetic energy."""
    sim = mbsim.Simulation(mbsim.load(ARM, [f"simulation.method={method}"]))
    bare = ["joints.shoulder.armature=0", "joints.elbow.armature=0"]
    without = mbsim.Simulation(mbsim.load(ARM, bare))
    added = np.diag([0.2, 0.3, 0.1, 0.0, 0.4])
    np.testing.assert_allclose(sim.mass_matrix(), without.mass_matrix() + added, rtol=0, atol=1e-14)
    v = sim.v[...]
    assert float(sim.channel("energy/kinetic")) == pytest.approx(v @ sim.mass_matrix() @ v / 2, rel=1e-13)


@pytest.mark.parametrize("root_finder", ["riqn", "newton", "broyden"])
def test_variational_steps_have_their_order(root_finder: str) -> None:
    """Fourth, beside accurate steps, and the energy is that of the order too."""
    every = "output.every=100 ms"
    scene = ARM.replace('motion: {velocity: ["sin(3*t)", null]}, ', "").replace(", integrator: rk4", "")
    exact = mbsim.load(scene, [every, "simulation.integrator=dop853", "simulation.tolerance=1e-12"]).run()
    errors = []
    for step in ("4 ms", "2 ms"):
        options = f"simulation.options={{order: 4, root_finder: {root_finder}}}"
        settings = ["simulation.method=variational", f"simulation.step={step}", options, every]
        found = mbsim.load(scene, settings).run(check=False)
        errors.append(float(np.abs(found["joints/elbow/q"] - exact["joints/elbow/q"]).max()))
        assert np.ptp(found["energy/total"].to_numpy()) < 3e-8
    assert errors[1] < 1e-10
    assert 14.0 < errors[0] / errors[1] < 18.0


PENDULUM = """
mbsim: 1
bodies: {rod: {mass: 2, com: [0, 0, -0.5], inertia: {principal: [0.1, 0.2, 0.2]}}}
joints: {hinge: {type: revolute, child: rod, axis: [0, 1, 0], q: 1e-4, armature: 0.9}}
simulation: {duration: 1 s, step: 1 ms, integrator: rk4}
"""


@pytest.mark.parametrize("method", METHODS)
def test_a_pendulum_swings_more_slowly(method: str) -> None:
    """q = q0 cos(w t) with w^2 = m g l / (J + m l^2 + armature), for a small amplitude."""
    w = math.sqrt(2 * 9.81 * 0.5 / (0.2 + 2 * 0.25 + 0.9))
    result = mbsim.load(PENDULUM, [f"simulation.method={method}"]).run()
    expected = 1e-4 * np.cos(w * result["time"].to_numpy())
    np.testing.assert_allclose(np.ravel(result["joints/hinge/q"]), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", VARIATIONAL)
def test_a_variational_pendulum_swings_as_slowly(method: str) -> None:
    w = math.sqrt(2 * 9.81 * 0.5 / (0.2 + 2 * 0.25 + 0.9))
    result = mbsim.load(PENDULUM.replace(", integrator: rk4", ""), [f"simulation.method={method}"]).run()
    expected = 1e-4 * np.cos(w * result["time"].to_numpy())
    np.testing.assert_allclose(np.ravel(result["joints/hinge/q"]), expected, rtol=0, atol=1e-10)
    modified = result["energy/modified"].to_numpy()
    assert np.ptp(modified) < 1e-6 * np.ptp(result["energy/kinetic"].to_numpy())


JOINTS = {
    "hinge": "type: revolute, axis: [1, 2, 2], q: 0.3, v: 2, armature: 0.3",
    "slider": "type: prismatic, axis: [1, 2, 2], q: 0.3, v: 2, stiffness: 100, armature: 3",
    "screw": "type: screw, axis: [1, 2, 2], pitch: 0.4, v: 2, armature: 0.3",
    "cylindrical": "type: cylindrical, v: [1, 2], stiffness: [0, 100], armature: [0.1, 3]",
    "universal": "type: universal, q: [0.2, 0.5], v: [1, 2], armature: [0.1, 0.3]",
    "planar": "type: planar, v: [1, 2], stiffness: 100, armature: [1, 3]",
    "ball": "type: spherical, v: [1, 2, 3], armature: [0.1, 0.2, 0.4]",
    "angles": "type: spherical, parametrization: euler_xzx, q: {rotvec: [1, 1, 1]}, v: [1, 2, 3], armature: 0.2",
    "free": "type: free, v: {linear: [1, 2, 3], angular: [3, 2, 1]}, armature: [1, 2, 3, 0.4, 0.2, 0.1]",
    "curve": "type: curve, curve: {type: helix, radius: 0.3, pitch: 0.2}, v: 1, armature: 0.4",
    "composite": "type: composite, parts: [{type: prismatic}, {type: spherical}], v: [1, [1, 2, 1]], armature: 0.2",
}
CHAIN = """
mbsim: 1
bodies:
  upper: {{mass: 1, com: [0, 0.02, 0.3], inertia: {{principal: [0.03, 0.04, 0.01]}}}}
  lower: {{mass: 0.5, com: [0.1, 0, 0.2], inertia: {{principal: [0.02, 0.01, 0.03]}}}}
joints:
  first: {{{joint}, child: upper, origin: {{rotation: {{axis: [1, 1, 0], angle: 40 deg}}}}}}
  second: {{{joint}, parent: upper, child: lower, origin: {{position: [0, 0, 0.6]}}}}
simulation: {{duration: 0.2 s, step: 2 ms}}
output: {{every: 20 ms}}
"""
CHANNELS = ("joints/first/v", "joints/second/v", "bodies/position", "bodies/linear_velocity", "energy/kinetic")
LOADS = ("joints/first/acceleration", "joints/second/acceleration", "joints/first/force", "joints/second/force")


@pytest.mark.parametrize("name", JOINTS)
def test_body_coordinates_have_the_motion_of_joint_coordinates(name: str) -> None:
    """To round-off, with the accelerations and the reactions at the start, which rotors do not change."""
    text = CHAIN.format(joint=JOINTS[name]).replace("2 ms", "2 ms, integrator: rk4")
    one, other = (mbsim.load(text, [f"simulation.method={method}"]).run(check=False) for method in ("aba", "baraff"))
    for path in CHANNELS:
        np.testing.assert_allclose(other[path], one[path], rtol=0, atol=1e-8, err_msg=path)
    for path in LOADS:
        np.testing.assert_allclose(other[path][0], one[path][0], rtol=1e-11, atol=1e-11, err_msg=path)


@pytest.mark.parametrize("name", JOINTS)
def test_maximal_variational_steps_have_second_order(name: str) -> None:
    """Halved steps have a quarter of the error against accurate motions."""
    text = CHAIN.format(joint=JOINTS[name])
    accurate = ["simulation.integrator=dop853", "simulation.tolerance=1e-12"]
    exact = mbsim.load(text, accurate).run(check=False)
    errors = []
    for step in ("2 ms", "1 ms"):
        settings = ["simulation.method=variational_maximal", f"simulation.step={step}"]
        found = mbsim.load(text, settings).run(check=False)
        errors.append(float(np.abs(found["bodies/position"] - exact["bodies/position"]).max()))
    assert errors[1] < 1e-4
    assert 3.5 < errors[0] / errors[1] < 4.5


LINKAGE = """
mbsim: 1
bodies:
  crank: {mass: 1, com: [0.1, 0, 0], inertia: {principal: [0.01, 0.02, 0.02]}}
  rod: {mass: 2, com: [0.25, 0, 0], inertia: {principal: [0.01, 0.2, 0.2]}}
  rocker: {mass: 1.5, com: [0.3, 0, 0], inertia: {principal: [0.3, 0.1, 0.3]}}
joints:
  a: {type: revolute, child: crank, axis: [0, 1, 0], q: -90 deg}
  b: {type: revolute, parent: crank, child: rod, axis: [0, 1, 0], q: "${atan2(4, 3)}", origin: {position: [0.2, 0, 0]}}
  c: {type: revolute, parent: rod, child: rocker, axis: [0, 1, 0], q: "${pi - atan2(4, 3)}",
    origin: {position: [0.5, 0, 0]}}
  d: {type: revolute, child: rocker, axis: [0, 1, 0], q: 90 deg, origin: {position: [0.4, 0, 0]},
    child_origin: {position: [0.5, 0, 0]}}
simulation: {duration: 1 s, step: 1 ms}
output: {every: 20 ms}
"""


REVERSED = """
mbsim: 1
bodies:
  upper: {{mass: 1, com: [0.1, 0, 0.2], inertia: {{principal: [0.1, 0.12, 0.05]}}}}
  lower: {{mass: 0.7, com: [0, 0.1, 0.2], inertia: {{principal: [0.1, 0.12, 0.05]}}}}
joints:
  hinge: {{type: revolute, child: upper, axis: [0, 1, 0], armature: 0.2}}
  reversed: {{{joint}, parent: lower, child: upper}}
simulation: {{duration: 0.1 s, step: 1 ms, integrator: rk4}}
"""
UPWARDS = {
    "hinge": "type: revolute, axis: [1, 2, 2], armature: 0.3, force: 0.7",
    "slider": "type: prismatic, axis: [1, 2, 2], armature: 3, force: 0.7",
    "screw": "type: screw, axis: [1, 2, 2], pitch: 0.4, armature: 0.3, force: 0.7",
    "cylindrical": "type: cylindrical, armature: [0.1, 3], force: [0.3, 0.4]",
    "universal": "type: universal, armature: [0.1, 0.3], force: [0.3, 0.4]",
}


@pytest.mark.parametrize("name", UPWARDS)
def test_a_drive_may_turn_the_body_next_to_the_ground(name: str) -> None:
    """The child of the joint is the parent in the elimination tree, so that its rate is minus that of the body."""
    text = REVERSED.format(joint=UPWARDS[name])
    one, other = (mbsim.load(text, [f"simulation.method={method}"]).run(check=False) for method in ("aba", "baraff"))
    for channel in ("acceleration", "v", "force"):
        for joint in ("hinge", "reversed"):
            path = f"joints/{joint}/{channel}"
            np.testing.assert_allclose(other[path], one[path], rtol=0, atol=1e-10, err_msg=path)


@pytest.mark.filterwarnings("ignore:.*(depend on the others|no effect in the initial state)")
def test_drives_within_a_loop_have_the_motion_of_joint_coordinates() -> None:
    """The rows that close the loop pass joints with rotors."""
    armature = [f"joints.{name}.armature={0.1 * k}" for k, name in enumerate("abcd", 1)]
    one, other = (
        mbsim.load(LINKAGE, [*armature, f"simulation.method={method}", "simulation.integrator=rk4"]).run(check=False)
        for method in ("aba", "baraff")
    )
    for name in "abcd":
        path = f"joints/{name}/acceleration"
        np.testing.assert_allclose(other[path][0], one[path][0], rtol=1e-11, atol=1e-11, err_msg=path)
        path = f"joints/{name}/q"
        np.testing.assert_allclose(other[path], one[path], rtol=0, atol=1e-9, err_msg=path)


@pytest.mark.parametrize(("name", "count"), [("hinge", 0), ("slider", 0), ("screw", 0), ("universal", 0), ("ball", 6)])
def test_rotors_of_joints_of_the_tree_are_eliminated_with_them(name: str, count: int) -> None:
    """A row that is not primary takes a solution of its own; those of a ball are nonholonomic."""
    scene = load_scene(SceneText(CHAIN.format(joint=JOINTS[name]), Path("chain.yaml")), ["simulation.method=baraff"])
    work = workspace_with_loops(compile_scene(scene).model, ImplicitOptions())
    assert np.count_nonzero(work.rows["primary"] == 0) == count


@pytest.mark.filterwarnings("ignore:.*(depend on the others|no effect in the initial state)")
@pytest.mark.parametrize("method", ALL)
def test_a_drive_of_a_joint_that_closes_a_loop_acts_as_inertia(method: str) -> None:
    """The angle of the rocker from the ground is that of the closing hinge, with a motor beside an armature."""
    settings = [f"simulation.method={method}"]
    settings += [] if method in VARIATIONAL else ["simulation.integrator=rk4"]
    motor = "actuators={m: {type: motor, joint: d, command: 0.5, gear: 10, rotor_inertia: 0.001, stall_torque: 0.1,"
    motor += " no_load_speed: 100}}"
    drive = mbsim.load(LINKAGE, [*settings, "joints.d.armature=0.2", motor]).run(check=False)
    inertia = "bodies.rocker.inertia={principal: [0.3, 0.4, 0.3]}"
    body = mbsim.load(LINKAGE, [*settings, inertia, motor.replace("rotor_inertia: 0.001, ", "")]).run(check=False)
    for path in ("joints/a/q", "joints/d/v", "energy/total", "energy/kinetic", "energy/work/actuators/m"):
        np.testing.assert_allclose(drive[path], body[path], rtol=0, atol=1e-9, err_msg=path)
    balance = drive["energy/total"] - drive["energy/work/actuators/m"]
    assert np.ptp(balance.to_numpy()) < (2e-4 if method in VARIATIONAL else 1e-8)


@pytest.mark.filterwarnings("ignore:.*(depend on the others|no effect in the initial state)")
@pytest.mark.parametrize("gravity", ["[4, 0, 0]", "[3, 5, -9]"])
@pytest.mark.parametrize("method", ALL)
def test_a_drive_of_a_joint_that_closes_a_loop_has_no_weight(method: str, gravity: str) -> None:
    settings = [f"simulation.method={method}", f"gravity={gravity}", "simulation.duration=0.2 s"]
    drive, body = (
        mbsim.load(LINKAGE, [*settings, more]).run(check=False)
        for more in ("joints.d.armature=0.2", "bodies.rocker.inertia={principal: [0.3, 0.3, 0.3]}")
    )
    for path in ("joints/a/acceleration", "joints/d/acceleration", "joints/a/q", "joints/d/v", "energy/potential"):
        np.testing.assert_allclose(drive[path], body[path], rtol=0, atol=1e-8, err_msg=path)


@pytest.mark.filterwarnings("ignore:.*(depend on the others|no effect in the initial state)")
def test_a_drive_may_close_a_loop_or_carry_a_body() -> None:
    """Of the hinges between rod and rocker, and of the rocker, either is the one that closes the loop."""
    names = list("abcd")
    one = mbsim.load(LINKAGE, ["simulation.integrator=rk4", "joints.c.armature=0.3"]).run(check=False)
    first, second = LINKAGE.index("  a: {"), LINKAGE.index("  d: {")
    last = LINKAGE.index("simulation:")
    text = LINKAGE[:first] + LINKAGE[second:last] + LINKAGE[first:second] + LINKAGE[last:]
    other = mbsim.load(text, ["simulation.integrator=rk4", "joints.c.armature=0.3"]).run(check=False)
    for name in names:
        np.testing.assert_allclose(other[f"joints/{name}/q"], one[f"joints/{name}/q"], rtol=0, atol=1e-9)


SLEEVE = """
mbsim: 1
gravity: [0, 0, 0]
bodies:
  rod: {mass: 1, inertia: {principal: [1, 1, 1]}}
  cart: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  swing: {type: spherical, child: rod, v: [0.3, -0.2, 0.5]}
  rail: {type: prismatic, child: cart, axis: [1, 0, 0], q: 0.4, v: 1, force: 2}
  close: {type: composite, parent: rod, child: cart, parts: [{type: spherical}, {type: prismatic, axis: [1, 0, 0]}]}
simulation: {duration: 0.5 s, step: 5 ms}
"""
"""The sliding coordinate of the loop, the fifth of its q and the fourth of its v, is that of the rail."""


@pytest.mark.filterwarnings("ignore:.*(depend on the others|no effect in the initial state)")
@pytest.mark.parametrize("method", ALL)
def test_a_drive_of_a_sliding_part_beside_a_ball_acts_as_mass(method: str) -> None:
    settings = [f"simulation.method={method}"]
    drive, body = (
        mbsim.load(SLEEVE, [*settings, more]).run(check=False)
        for more in ("joints.close.armature=[0, 0, 0, 0.5]", "bodies.cart.mass=1.5")
    )
    for path in ("joints/rail/q", "joints/rail/v", "joints/swing/v", "energy/kinetic"):
        np.testing.assert_allclose(drive[path], body[path], rtol=0, atol=1e-10, err_msg=path)


@pytest.mark.parametrize("method", ALL)
def test_the_rotor_of_a_motor_belongs_to_the_coordinate_of_the_motor(method: str) -> None:
    text = """
mbsim: 1
bodies: {rod: {mass: 1, com: [0.1, 0.2, 0.3], inertia: {principal: [0.1, 0.2, 0.15]}}}
joints: {cross: {type: universal, child: rod, v: [1, -2]}}
actuators: {m: {type: motor, joint: cross/1, command: 0.5, gear: 10, stall_torque: 0.1, no_load_speed: 100}}
simulation: {duration: 0.2 s, step: 2 ms}
"""
    settings = [f"simulation.method={method}"]
    one, other = (
        mbsim.load(text, [*settings, more]).run(check=False)
        for more in ("actuators.m.rotor_inertia=0.004", "joints.cross.armature=[0, 0.4]")
    )
    for path in ("joints/cross/q", "joints/cross/v", "energy/kinetic"):
        np.testing.assert_allclose(one[path], other[path], rtol=0, atol=1e-12, err_msg=path)


def test_exponential_coordinates_refuse_it() -> None:
    ball = "joints.hinge={type: spherical, child: rod, parametrization: exponential, armature: 1}"
    with pytest.raises(mbsim.SceneError, match="`armature` is not supported with exponential coordinates"):
        mbsim.load(PENDULUM, [ball])
