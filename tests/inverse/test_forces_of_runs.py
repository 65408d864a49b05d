"""Inverse dynamics of a run returns the forces of the run: of trees, loops, couplings and rolling bodies."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.studies.inverse.study import OVERRIDES, InverseProblem, Question
from multibody_cli.studies.simulation import prepare

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

HEAD = "mbsim: 1\ngravity: [0, -9.81, 0]\n"
END = "simulation: {duration: 0.5 s, step: 1 ms}\noutput: {every: 0.05 s}\n"

ARM = f"""{HEAD}
bodies:
  upper: {{mass: 2 kg, inertia: {{principal: [0.02, 0.003, 0.02]}}, com: [0, -0.15, 0]}}
  lower: {{mass: 1.2 kg, inertia: {{principal: [0.01, 0.002, 0.01]}}, com: [0.01, -0.12, 0]}}
joints:
  shoulder:
    type: composite
    child: upper
    parts: [{{type: revolute, axis: [0, 0, 1]}}, {{type: revolute, axis: [1, 0, 0]}}]
    q: [0.3, -0.2]
    damping: 0.1
    stiffness: 2
    force: ["2*sin(5*t)", "0.4 - t"]
    coordinate_names: [flexion, adduction]
  elbow: {{type: revolute, parent: upper, child: lower, origin: {{position: [0, -0.3, 0]}}, axis: [0, 0, 1], q: 0.7,
    force: "0.3*cos(9*t)"}}
{END}"""

FOUR_BAR = f"""{HEAD}
bodies:
  crank: {{mass: 1 kg, inertia: {{principal: [0.01, 0.01, 0.01]}}, com: [0.1, 0, 0]}}
  coupler: {{mass: 2 kg, inertia: {{principal: [0.05, 0.05, 0.05]}}, com: [0.3, 0.05, 0]}}
  rocker: {{mass: 1.5 kg, inertia: {{principal: [0.04, 0.04, 0.04]}}, com: [0.2, 0, 0]}}
joints:
  a: {{type: revolute, child: crank, axis: [0, 0, 1], q: 1.2, force: "3*cos(4*t)"}}
  b: {{type: revolute, parent: crank, child: coupler, origin: {{position: [0.2, 0, 0]}}, axis: [0, 0, 1], q: -0.8}}
  d: {{type: revolute, child: rocker, origin: {{position: [0.6, 0, 0]}}, axis: [0, 0, 1], q: 1.6, damping: 0.2}}
  c: {{type: revolute, parent: coupler, child: rocker, origin: {{position: [0.6, 0, 0]}},
    child_origin: {{position: [0.4, 0, 0]}}, axis: [0, 0, 1], force: FORCE_OF_C}}
simulation: {{duration: 0.5 s, step: 1 ms, assembly_tolerance: 1}}
output: {{every: 0.05 s}}
"""

COUPLED = f"""{HEAD}
bodies:
  thigh: {{mass: 2 kg, inertia: {{principal: [0.02, 0.003, 0.02]}}, com: [0, -0.15, 0]}}
  patella: {{mass: 0.3 kg, inertia: {{principal: [0.001, 0.001, 0.001]}}, com: [0.02, 0, 0]}}
  shank: {{mass: 1.2 kg, inertia: {{principal: [0.01, 0.002, 0.01]}}, com: [0.01, -0.12, 0]}}
joints:
  hip: {{type: revolute, child: thigh, axis: [0, 0, 1], q: 0.4, force: "4*sin(3*t)"}}
  knee: {{type: revolute, parent: thigh, child: shank, origin: {{position: [0, -0.4, 0]}}, axis: [0, 0, 1], q: -0.5,
    force: "1 - 2*t"}}
  glide: {{type: revolute, parent: thigh, child: patella, origin: {{position: [0.03, -0.35, 0]}}, axis: [0, 0, 1]}}
couplings:
  follow: {{type: function, output: glide, inputs: {{x: knee}}, value: "0.5*x + 0.3*sin(2*x)"}}
{END}"""

DISC = f"""mbsim: 1
gravity: [0, 0, -9.81]
bodies:
  cart: {{mass: 3 kg, inertia: {{principal: [0.1, 0.1, 0.2]}}, com: [0.1, 0, 0]}}
joints:
  plane:
    type: composite
    child: cart
    parts:
      - {{type: prismatic, axis: [1, 0, 0]}}
      - {{type: prismatic, axis: [0, 1, 0]}}
      - {{type: revolute, axis: [0, 0, 1]}}
    v: [0.4, 0, 0.5]
    force: ["2*cos(3*t)", 0, "0.5*sin(2*t)"]
constraints:
  skate: {{type: knife_edge, body: cart, edge: [1, 0, 0], normal: [0, 0, 1]}}
{END}"""


def inverse_of_run(text: str, folder: Path, keep: tuple[str, ...] = (), on: tuple[str, ...] = ()):
    """Return the inverse dynamics of a run, of which `keep` names the coordinates that are measured."""
    path, run = folder / "scene.yaml", folder / "run.h5"
    path.write_text(text)
    mbsim.load(path).run(run, overwrite=True)
    problem = InverseProblem(prepare(path, OVERRIDES), Question(run, forces_on=on))
    if keep:
        names = [problem._names.by_index(int(iv)).name for iv in problem.motion.coordinates]
        motion = problem.motion.without(np.array([name not in keep for name in names]))
        problem = InverseProblem(prepare(path, OVERRIDES), Question(run, forces_on=on), motion)
    return problem.solve()


def test_the_forces_of_a_tree(tmp_path: Path) -> None:
    found = inverse_of_run(ARM, tmp_path)
    t = found.times
    assert len(t) == 11
    assert [one.name for one in found.coordinates] == ["flexion", "adduction", "elbow"]
    wanted = np.array([2.0 * np.sin(5.0 * t), 0.4 - t, 0.3 * np.cos(9.0 * t)]).T
    np.testing.assert_allclose(found.forces, wanted, atol=1e-11)
    assert found.left_out == ("joints/shoulder/force", "joints/elbow/force")
    assert not found.residuals


@pytest.mark.parametrize("keep", [(), ("a",), ("d",)])
def test_the_torque_of_a_crank_through_a_loop(keep: tuple[str, ...], tmp_path: Path) -> None:
    """Also where only one coordinate is measured, from which the others follow, with their accelerations."""
    found = inverse_of_run(FOUR_BAR.replace("FORCE_OF_C", "0"), tmp_path, keep, on=("a",))
    assert [one.name for one in found.coordinates] == ["a"]
    np.testing.assert_allclose(found.force("a"), 3.0 * np.cos(4.0 * found.times), atol=2e-10)


def test_forces_act_on_the_measured_coordinate_unless_others_are_named(tmp_path: Path) -> None:
    found = inverse_of_run(FOUR_BAR.replace("FORCE_OF_C", "0"), tmp_path, ("d",))
    assert [one.name for one in found.coordinates] == ["d"]
    assert np.abs(found.force("d") - 3.0 * np.cos(4.0 * found.times)).max() > 0.1


def test_a_force_on_a_joint_that_closes_the_loop(tmp_path: Path) -> None:
    text = FOUR_BAR.replace("FORCE_OF_C", '"2*sin(3*t)"').replace('"3*cos(4*t)"', "0")
    found = inverse_of_run(text, tmp_path, ("a",), on=("c",))
    np.testing.assert_allclose(found.force("c"), 2.0 * np.sin(3.0 * found.times), atol=2e-10)


def test_more_forces_than_degrees_of_freedom_have_the_least_sum_of_squares(tmp_path: Path) -> None:
    one = inverse_of_run(FOUR_BAR.replace("FORCE_OF_C", "0"), tmp_path, ("a",), on=("a",))
    two = inverse_of_run(FOUR_BAR.replace("FORCE_OF_C", "0"), tmp_path, ("a",), on=("a", "d"))
    other = inverse_of_run(FOUR_BAR.replace("FORCE_OF_C", "0"), tmp_path, ("a",), on=("d",))
    # a unit force on d is that of ratio r on a: f_a + r f_d = f with the least f_a^2 + f_d^2
    ratio = one.force("a") / other.force("d")
    np.testing.assert_allclose(two.force("a"), one.force("a") / (1.0 + ratio**2), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(two.force("d"), ratio * two.force("a"), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("keep", [(), ("hip", "knee")])
def test_couplings_move_what_they_compute(keep: tuple[str, ...], tmp_path: Path) -> None:
    found = inverse_of_run(COUPLED, tmp_path, keep)
    assert [one.name for one in found.coordinates] == ["hip", "knee"]
    t = found.times
    np.testing.assert_allclose(found.forces, np.array([4.0 * np.sin(3.0 * t), 1.0 - 2.0 * t]).T, atol=1e-10)
    assert not found.held
    assert not found.changes


def test_a_skate_takes_no_force_across_it(tmp_path: Path) -> None:
    """The force of the edge is none of the unknowns, and a component across it has no effect on the motion."""
    found = inverse_of_run(DISC, tmp_path, on=("plane/0", "plane/2"))
    t = found.times
    run = mbsim.read(tmp_path / "run.h5")
    angle = run["joints/plane/q"].values[:, 2]
    # the given force 2 cos(3 t) along x is that along the edge, shared by forces along x alone
    np.testing.assert_allclose(found.force("plane/2"), 0.5 * np.sin(2.0 * t), atol=1e-9)
    np.testing.assert_allclose(found.force("plane/0"), 2.0 * np.cos(3.0 * t), atol=1e-9)
    assert np.abs(angle).max() > 0.1


def test_the_file_of_the_result_has_the_motion_and_its_forces(tmp_path: Path) -> None:
    path, run, out = tmp_path / "scene.yaml", tmp_path / "run.h5", tmp_path / "out.h5"
    path.write_text(ARM)
    before = mbsim.load(path).run(run)
    mbsim.inverse(path, run, output=out)
    after = mbsim.read(out)
    for channel in (
        "joints/elbow/acceleration",
        "joints/shoulder/acceleration",
        "joints/elbow/force",
        "bodies/position",
    ):
        np.testing.assert_allclose(after[channel], before[channel], atol=1e-9)
    np.testing.assert_allclose(after["actuators/flexion/force"][:, 0], 2.0 * np.sin(5.0 * after["time"]), atol=1e-10)


TURNING = f"""{HEAD}
bodies:
  base: {{mass: 3 kg, inertia: {{principal: [0.1, 0.2, 0.15]}}, com: [0.1, 0, 0.05]}}
  arm: {{mass: 1 kg, inertia: {{principal: [0.01, 0.02, 0.015]}}, com: [0, 0.2, 0]}}
joints:
  floating: {{type: free, child: base, q: {{position: [0.1, 0, 0], rotation: {{axis: [1, 1, 0], angle: 40 deg}}}},
    v: {{linear: [0.2, 0, 0], angular: [0.5, 1, -0.7]}},
    force: ["sin(t)", 29.43, 0, "0.2*cos(3*t)", 0.1, -0.1]}}
  ball: {{type: spherical, parent: base, child: arm, origin: {{position: [0.3, 0, 0]}}, v: [1, -2, 0.5],
    force: [0.1, "0.3*sin(4*t)", -0.2]}}
{END}"""


def test_rotations_of_a_result_file(tmp_path: Path) -> None:
    """A base that moves freely, and a ball: forces conjugate to their velocities."""
    found = inverse_of_run(TURNING, tmp_path)
    t, one = found.times, np.ones_like(found.times)
    free = [np.sin(t), 29.43 * one, 0.0 * one, 0.2 * np.cos(3.0 * t), 0.1 * one, -0.1 * one]
    np.testing.assert_allclose(
        found.forces, np.array([*free, 0.1 * one, 0.3 * np.sin(4.0 * t), -0.2 * one]).T, atol=2e-10
    )
    assert not found.held


def test_exponential_coordinates_and_what_does_not_act(tmp_path: Path) -> None:
    text = TURNING.replace("type: spherical", "type: spherical, parametrization: exponential")
    text = text.replace('v: [1, -2, 0.5],\n    force: [0.1, "0.3*sin(4*t)", -0.2]', "v: [1, -2, 0.5]")
    found = inverse_of_run(text, tmp_path)
    np.testing.assert_allclose(found.forces[:, 6:], 0.0, atol=2e-10)
    np.testing.assert_allclose(found.forces[:, 0], np.sin(found.times), atol=2e-10)
    rough = ARM.replace('force: "0.3*cos(9*t)"', "friction: {torque: 0.2}")
    (tmp_path / "rough.yaml").write_text(rough.replace("simulation:", "contacts: {}\nsimulation:"))
    (tmp_path / "still.csv").write_text("time,elbow\n" + "\n".join(f"{k},0.1" for k in range(6)))
    found = mbsim.inverse(tmp_path / "rough.yaml", tmp_path / "still.csv")
    assert found.remarks[1] == "dry friction has no forces here: joints.elbow"
    assert found.remarks[0].startswith("contacts have no forces here")


def test_a_mechanism_that_is_prescribed_needs_no_forces(tmp_path: Path) -> None:
    text = ARM.replace('force: "0.3*cos(9*t)"', 'motion: {position: "sin(t)"}').replace("q: 0.7,", "")
    text = text.replace("force:", "motion: {position: [0.1, sin(t)]} #")
    text = text.replace("q: [0.3, -0.2]", "").replace("stiffness: 2", "").replace("damping: 0.1", "")
    found = inverse_of_run(text, tmp_path)
    assert found.forces.shape == (11, 0)
    assert any("no force is unknown" in remark for remark in found.remarks)
    assert found.ignored == ("flexion (prescribed)", "adduction (prescribed)", "elbow (prescribed)")


SLIDER_CRANK = """mbsim: 1
gravity: [0, 0, 0]
bodies:
  crank: {mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}}
  rod: {mass: 1, inertia: {principal: [0.01, 0.01, 0.01]}}
  piston: {mass: 2, inertia: {principal: [0.01, 0.01, 0.01]}}
joints:
  guide: {type: prismatic, child: piston, axis: [1, 0, 0], origin: {position: [0.25, 0, 0]}}
  main: {type: revolute, child: crank, axis: [0, 0, 1], MOTION}
  pin: {type: revolute, parent: crank, child: rod, origin: {position: [0.05, 0, 0]}, axis: [0, 0, 1]}
  wrist: {type: revolute, parent: rod, child: piston, origin: {position: [0.2, 0, 0]}, axis: [0, 0, 1]}
simulation: {duration: 1 s, step: 10 ms}
output: {every: 10 ms}
"""


@pytest.mark.parametrize("first", [0.0, 0.1])
def test_a_piston_drives_its_crank_but_at_the_dead_centres(first: float, tmp_path: Path) -> None:
    """F ds/dt is the rate of the kinetic energy; at a dead centre no force on the piston turns the crank."""
    path, run = tmp_path / "scene.yaml", tmp_path / "run.h5"
    path.write_text(SLIDER_CRANK.replace("MOTION", "motion: {position: '2*pi*t'}"))
    mbsim.load(path).run(run)
    path.write_text(SLIDER_CRANK.replace("MOTION", "q: 0"))
    found = mbsim.inverse(path, run, on=["guide"], start=first)
    t, W, r, length = found.times, 2 * math.pi, 0.05, 0.2
    a = W * t
    b = np.arcsin(r / length * np.sin(a))
    db = W * r * np.cos(a) / (length * np.cos(b))
    d2b = (db**2 * np.tan(b)) - W**2 * r * np.sin(a) / (length * np.cos(b))
    ds = -r * np.sin(a) * W - length * np.sin(b) * db
    d2s = -r * W**2 * np.cos(a) - length * (np.cos(b) * db**2 + np.sin(b) * d2b)
    pin, pin2 = r * W * np.array([-np.sin(a), np.cos(a)]), -r * W**2 * np.array([np.cos(a), np.sin(a)])
    power = (pin * pin2).sum(axis=0) + 0.01 * db * d2b + 2 * ds * d2s
    dead = np.abs(np.sin(a)) < 1e-9
    forces = dict(zip((one.name for one in found.coordinates), found.forces.T, strict=True))
    np.testing.assert_allclose(forces["guide"][~dead], power[~dead] / ds[~dead], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(forces["guide"][dead], 0.0)
    np.testing.assert_array_equal(forces["main"][~dead], 0.0)
    assert sum("causes no motion at" in remark for remark in found.remarks) == 1


def test_forces_of_one_motion_are_shared_beside_another_motion(tmp_path: Path) -> None:
    """A crank and its piston have the least sum of squares, and a cart that nothing names has its own force."""
    cart = [
        "  cart: {mass: 3, inertia: {principal: [1, 1, 1]}}",
        "  rail: {type: prismatic, child: cart, axis: [1, 0, 0]}",
    ]
    text = SLIDER_CRANK.replace("joints:", f"{cart[0]}\njoints:\n{cart[1]}")
    path, run = tmp_path / "scene.yaml", tmp_path / "run.h5"
    path.write_text(text.replace("MOTION", "motion: {position: '2*pi*t'}").replace("[1, 0, 0]}", "[1, 0, 0], v: 1}", 1))
    mbsim.load(path).run(run)
    path.write_text(text.replace("MOTION", "q: 0"))
    found, alone = (mbsim.inverse(path, run, on=on, start=0.1, end=0.4) for on in (["guide", "main"], ["main"]))
    forces = {one.name: force for one, force in zip(found.coordinates, found.forces.T, strict=True)}
    moment = {one.name: force for one, force in zip(alone.coordinates, alone.forces.T, strict=True)}["main"]
    assert not any("causes no motion" in remark for remark in found.remarks)
    ratio = forces["guide"] / forces["main"]  # that of the rates
    np.testing.assert_allclose(forces["main"] * (1.0 + ratio**2), moment, rtol=1e-9)
    assert np.abs(forces["guide"]).min() > 0.0


def test_a_simulation_in_python_has_the_torque_of_a_crank(tmp_path: Path) -> None:
    """Through the loop, also shared with the least sum of squares; and the forces of a tree are those on all joints."""
    scene = mbsim.load(FOUR_BAR.replace("FORCE_OF_C", "0").replace('force: "3*cos(4*t)"', "v: 2"))
    sim = mbsim.Simulation(scene)
    sim.force["a"][:] = 1.7
    sim.step(20)
    sim.channel("joints/a/acceleration")
    a = sim.a[...][:3].copy()
    np.testing.assert_allclose(sim.inverse_dynamics(a, on=["a"]), [1.7, 0.0, 0.0, 0.0], atol=1e-10)
    shared = sim.inverse_dynamics(a, on=["a", "b", "d"])
    assert np.sum(shared**2) < 1.7**2
    sim.force["a"][:], sim.force["b"][:], sim.force["d"][:], _ = shared
    sim.channel("joints/a/acceleration")
    np.testing.assert_allclose(sim.a[...][:3], a, atol=1e-9)
    closing = sim.inverse_dynamics(a, on=["c"])
    np.testing.assert_array_equal(closing[:3], 0.0)
    sim.force["a"][:], sim.force["b"][:], sim.force["d"][:] = 0.0, 0.0, 0.0
    sim.force["c"][:] = closing[3]
    sim.channel("joints/a/acceleration")
    np.testing.assert_allclose(sim.a[...][:3], a, atol=1e-9)
    with pytest.raises(mbsim.ArgumentError, match="no joint `e`"):
        sim.inverse_dynamics(a, on=["e"])
    tree = mbsim.Simulation(mbsim.load(ARM))
    wanted = np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(tree.inverse_dynamics(wanted, on=["shoulder", "elbow"]), tree.inverse_dynamics(wanted))


FREE = f"""{HEAD}
bodies:
  rod: {{mass: 2 kg, inertia: {{principal: [0.02, 0.003, 0.02]}}, com: [0, -0.15, 0]}}
  bob: {{mass: 0.5 kg, inertia: {{principal: [0.01, 0.02, 0.03]}}, com: [0.1, 0.05, 0], position: [0.6, 0, 0],
    rotation: {{axis: [1, 2, 0], angle: 0.7}}, velocity: {{linear: [0, 1, 0], angular: [2, 1, -3]}}}}
  bead: {{kind: point, mass: 0.3 kg, position: [-0.5, 0.1, 0.2]}}
joints:
  hinge: {{type: revolute, child: rod, axis: [0, 0, 1], q: 0.3, force: "2*sin(5*t)"}}
springs:
  one: {{between: [{{body: rod, point: [0, -0.3, 0]}}, {{body: bob, point: [0, 0.1, 0]}}], stiffness: 20, damping: 1,
    rest_length: 0.3}}
  two: {{between: [{{body: rod, point: [0, -0.3, 0]}}, {{body: bead}}], stiffness: 10, rest_length: 0.2}}
{END.replace("0.05 s", "0.01 s")}"""


def test_bodies_that_move_freely_follow_a_run(tmp_path: Path) -> None:
    """Springs tie them to the rod, and the sixth derivatives of their velocities are small."""
    mbsim.load(FREE).run(tmp_path / "run.h5")
    found = mbsim.inverse(FREE, tmp_path / "run.h5")
    np.testing.assert_allclose(found.force("hinge"), 2 * np.sin(5 * found.times), atol=1e-12)
    others = [found.force(one.name) for one in found.coordinates if one.name != "hinge"]
    assert len(others) == 9
    assert np.abs(others).max() < 5e-4  # of 10 N
    assert np.abs(others)[:, 5:-5].max() < 1e-4
