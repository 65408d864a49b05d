"""Dry friction of joints: closed forms, an independent program, and limits of friction, by every method."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from newton_euler import swing
from scipy.optimize import fsolve

from multibody_cli import MemorySink, prepare
from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import Feature
from multibody_cli.output.trajectory import Trajectory

SCENES = Path(__file__).parents[2] / "scenes" / "validation"
ABLE = sorted(name for name, kind in METHODS.items() if Feature.JOINT_FRICTION in kind.supports)
METHOD = pytest.mark.parametrize("method", ABLE)
STEPS = pytest.mark.parametrize("method", [name for name in ABLE if METHODS[name].own_integrator is None])
"""Methods of accelerations, in which a joint that sticks has no velocity at all at the end of a step."""
G = 9.81
COARSE = "simulation.alarms.phase=false"
"""For steps that are long on purpose, whose motion is compared with the same steps elsewhere, or only at rest."""


def run(scene: Path, *settings: str, quiet: bool = True) -> Trajectory:
    """Run a scene, in which all steps are solved, and without any alarm if it is to be quiet."""
    sink = MemorySink()
    prepare(scene, [*settings, "expect=[]"]).run(sink)
    trajectory = sink.trajectory()
    assert trajectory.attributes["status"] == "complete"
    if "contacts/unsolved" in trajectory.paths:
        assert not trajectory.channel("contacts/unsolved").values.any()
    if quiet:
        assert not trajectory.attributes["message"]
    return trajectory


@pytest.fixture
def play(tmp_path):
    """Run a scene that is given as a mapping."""

    def play(method, scene, *settings):
        file = tmp_path / "scene.yaml"
        file.write_text(yaml.safe_dump({"mbsim": 1, **scene}), encoding="utf-8")
        return run(file, f"simulation.method={method}", *settings)

    return play


def one_joint(joint, duration=0.1, body=None, **more):
    """A body of 2 kg and 0.004 kg m^2 about all axes on one joint, its centre of mass in the joint frame's origin."""
    body = {"mass": 2.0, "inertia": {"principal": [0.004] * 3}, **(body or {})}
    return {
        "bodies": {"wheel": body},
        "joints": {"axle": {"child": "wheel", **joint}},
        "simulation": {"duration": duration, "step": 1e-3},
        "output": {"every": 1e-3},
        **more,
    }


JOURNAL = {"coefficient": 0.3, "surface": {"radius": 0.01, "length": 0.05}}
HINGE = {"type": "revolute", "axis": [0, 1, 0], "friction": JOURNAL}
LIMIT = 0.3 * 0.01 * 2.0 * G
"""Torque that friction of the journal takes under the weight of the body."""


# --- closed forms ---------------------------------------------------------------------------------------------------
@METHOD
def test_a_wheel_on_its_axle_stands_until_the_torque_is_that_of_its_friction(play, method):
    stuck = play(method, one_joint({**HINGE, "force": 0.999999 * LIMIT}))
    assert np.abs(stuck.channel("joints/axle/v").values).max() < 1e-15
    assert stuck.channel("joints/axle/friction").values[-1, 1] == pytest.approx(-0.999999 * LIMIT, rel=1e-12)
    # the actuator and friction together transmit nothing
    np.testing.assert_allclose(stuck.channel("joints/axle/force").values[-1], [0, 0, 0, 0, 0, 2 * G], atol=1e-12)
    turns = play(method, one_joint({**HINGE, "force": 1.01 * LIMIT}, duration=1e-3))
    assert turns.channel("joints/axle/v").values[-1, 0] == pytest.approx(0.01 * LIMIT / 0.004 * 1e-3, rel=1e-9)


@METHOD
def test_a_wheel_runs_down_and_its_energy_is_accounted_for(play, method):
    """With 16 points around each end the torque is 4/pi of that of one point, whichever way the weight presses."""
    fine = {"coefficient": 0.3, "surface": {"radius": 0.01, "length": 0.05, "points": 16}}
    found = play(method, one_joint({**HINGE, "friction": fine, "v": 8.0}, duration=0.6))
    speed = found.channel("joints/axle/v").values[:, 0]
    expected = np.maximum(8.0 - 4 / math.pi * LIMIT / 0.004 * found.channel("time").values, 0.0)
    np.testing.assert_allclose(speed, expected, atol=0.01 * 8.0)
    assert abs(speed[-1]) < 1e-12
    lost = found.channel("energy/dissipation/joints/axle/friction").values
    assert lost[-1] == pytest.approx(0.5 * 0.004 * 8.0**2, rel=1e-10)
    assert np.diff(lost).min() >= 0.0


@METHOD
@pytest.mark.parametrize(("excess", "slides"), [(1e-6, False), (-1e-6, True), (-0.3, True)])
def test_a_slider_stays_on_slopes_below_its_friction(play, method, excess, slides):
    slope, mu = math.radians(25.0), math.tan(math.radians(25.0)) * (1 + excess)
    guide = {"coefficient": mu, "surface": {"size": [0.1, 0.03, 0.03]}}
    turn = {"rotation": {"axis": [0, 1, 0], "angle": slope}}
    found = play(method, one_joint({"type": "prismatic", "axis": [1, 0, 0], "origin": turn, "friction": guide}))
    speed = found.channel("joints/axle/v").values[-1, 0]
    if slides:
        assert speed == pytest.approx(G * (math.sin(slope) - mu * math.cos(slope)) * 0.1, rel=1e-8)
    else:
        assert abs(speed) < 1e-15


@METHOD
def test_a_weight_beyond_its_guide_presses_it_twice(play, method):
    """A weight F one length of the guide off its middle: 3/2 F on the corners in front, -1/2 F on those behind."""
    guide = {"coefficient": 0.2, "surface": {"size": [0.1, 0.02, 0.02]}}
    joint = {"type": "prismatic", "axis": [1, 0, 0], "friction": guide, "force": 10.0}
    found = play(method, one_joint(joint, body={"com": [0.1, 0, 0]}))
    expected = (10.0 - 2 * 0.2 * 2.0 * G) / 2.0 * found.channel("time").values
    np.testing.assert_allclose(found.channel("joints/axle/v").values[:, 0], expected, atol=1e-9)


@METHOD
def test_a_ball_joint_holds_a_torque_across_its_load_and_none_about_it(play, method):
    socket = {"coefficient": 0.3, "surface": {"radius": 0.01}}
    joint = {"type": "spherical", "friction": socket}
    stuck = play(method, one_joint({**joint, "force": [0.6 * 0.999 * LIMIT, 0.8 * 0.999 * LIMIT, 0]}))
    assert np.abs(stuck.channel("joints/axle/v").values).max() < 1e-14
    rolls = play(method, one_joint({**joint, "force": [0.6 * 1.01 * LIMIT, 0.8 * 1.01 * LIMIT, 0]}, duration=1e-3))
    np.testing.assert_allclose(
        rolls.channel("joints/axle/v").values[-1], np.array([0.6, 0.8, 0]) * 0.01 * LIMIT / 0.004 * 1e-3, atol=1e-12
    )
    spins = play(method, one_joint({**joint, "v": [0, 0, 3.0]}))
    np.testing.assert_allclose(spins.channel("joints/axle/v").values[-1], [0, 0, 3.0], rtol=1e-12)


@STEPS
def test_a_sleeve_slips_along_and_around_in_proportion(play, method):
    """Friction of a cylindrical joint opposes the slip of its surface, in any direction."""
    joint = {"type": "cylindrical", "axis": [0, 1, 0], "friction": JOURNAL, "v": [3.0, 0.04]}
    found = play(method, one_joint(joint, duration=1e-3))
    friction, slip = found.channel("joints/axle/friction").values[-1], found.channel("joints/axle/v").values[-1]
    force = np.array([friction[1] / 0.01, friction[4]])
    surface = np.array([0.01 * slip[0], slip[1]])
    np.testing.assert_allclose(force, -0.3 * 2.0 * G * surface / np.linalg.norm(surface), rtol=1e-9)


@METHOD
@pytest.mark.parametrize(("share", "way"), [(-1e-4, 0), (1e-2, 1), (0.5, 0), (2.0 - 1e-4, 0), (2.01, -1)])
def test_a_screw_holds_a_weight_between_the_torques_that_raise_and_lower_it(play, method, share, way):
    """Square thread: T = W r tan(angle of friction +- angle of the thread).  The screw does not run down by itself."""
    mu, radius, pitch = 0.15, 0.01, 0.004
    slope = math.atan(pitch / (2 * math.pi * radius))
    up, down = (2.0 * G * radius * math.tan(sign * math.atan(mu) + slope) for sign in (1, -1))
    torque = up + share * (up - down) * (1 if way > 0 else -0.5 if share > 0 else 0.5)
    thread = {"coefficient": mu, "surface": {"radius": radius, "length": 0.05}}
    joint = {"type": "screw", "axis": [0, 0, 1], "pitch": pitch, "friction": thread, "force": torque}
    speed = play(method, one_joint(joint, duration=0.02)).channel("joints/axle/v").values[-1, 0]
    assert np.sign(speed) == way if way else abs(speed) < 1e-12


@METHOD
def test_a_plate_slides_against_its_slip_and_stops(play, method):
    plate = {"coefficient": 0.3, "surface": {"length": 0.1, "width": 0.05}}
    joint = {"type": "planar", "friction": plate, "v": [0.3, 0.4]}
    found = play(method, one_joint(joint, duration=0.3))
    speed = np.maximum(0.5 - 0.3 * G * found.channel("time").values, 0.0)
    np.testing.assert_allclose(found.channel("joints/axle/v").values, np.outer(speed, [0.6, 0.8]), atol=1e-9)
    lost = found.channel("energy/dissipation/joints/axle/friction").values[-1]
    assert lost == pytest.approx(0.5 * 2.0 * 0.5**2, rel=1e-9)


@METHOD
@pytest.mark.parametrize("turning", [0, 1])
def test_a_hinge_of_a_cross_runs_down_alone(play, method, turning):
    """The points of the first hinge stand still, so that its torque is constant; those of the second one turn."""
    rates = [0.0, 0.0]
    rates[turning] = 2.0
    joint = {"type": "universal", "friction": JOURNAL, "v": rates}
    found = play(method, one_joint(joint, duration=0.05))
    time, angle = found.channel("time").values, found.channel("joints/axle/q").values
    share = 1.0 if turning == 0 else np.abs(np.cos(angle[:, 1])) + np.abs(np.sin(angle[:, 1]))
    lost = np.cumsum(np.broadcast_to(share, time.shape)[1:]) * 1e-3 * LIMIT / 0.004
    np.testing.assert_allclose(found.channel("joints/axle/v").values[1:, turning], 2.0 - lost, atol=5e-3)
    assert np.abs(angle[:, 1 - turning]).max() < 1e-9
    assert lost[-1] > 0.5


# --- scenes of RedMax -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("h", [1e-2, 1e-3])
def test_pendulums_with_joint_friction_agree_with_newton_and_euler(h):
    """Scene 27, in which the points of a hinge are loaded across and along, and share their friction unequally."""
    found = run(
        SCENES / "redmax_scene_27.yaml",
        f"simulation.step={h}",
        f"output.every={h}",
        "simulation.duration=0.7 s",
        "simulation.alarms.phase=false",
    )
    q = np.hstack([found.channel(f"joints/hinge{k}/q").values for k in (1, 2)])
    np.testing.assert_allclose(q[1:], swing(0.6, math.pi / 4, round(0.7 / h), h), atol=1e-8)


@pytest.mark.parametrize(("scene", "duration"), [(27, 0.7), (28, 0.5), (29, 0.5), (31, 2.0), (33, 0.3)])
def test_staggered_projections_move_joints_alike(scene, duration, tmp_path):
    """Algorithm 8 by quadratic programs, contacts and a loop included; scene 30 has loads that are not unique."""
    found = []
    for method in ("proximal", "staggered_projections"):
        text = yaml.safe_load((SCENES / f"redmax_scene_{scene}.yaml").read_text(encoding="utf-8"))
        text["contacts"] = {**text.get("contacts", {}), "method": method, "max_iterations": 100_000}
        file = tmp_path / f"{method}.yaml"
        file.write_text(yaml.safe_dump(text, sort_keys=False), encoding="utf-8")
        found.append(run(file, f"simulation.duration={duration}"))
    for path in ("bodies/position", "bodies/linear_velocity"):
        one, other = (trajectory.channel(path).values for trajectory in found)
        np.testing.assert_allclose(one, other, atol=1e-9 * np.abs(one).max())


@METHOD
@pytest.mark.parametrize("scene", [27, 28, 29, 30])
def test_friction_only_takes_energy(method, scene):
    words = (f"simulation.method={method}", "output.every=1 ms")
    found = run(SCENES / f"redmax_scene_{scene}.yaml", *words, quiet=scene != 30)
    energy = found.channel("energy/total").values
    for path in found.paths:
        if path.startswith("energy/dissipation/joints/"):
            assert np.diff(found.channel(path).values).min() >= 0.0
    assert np.diff(energy).max() <= 1e-9 * np.abs(energy).max()


@METHOD
@pytest.mark.parametrize("scene", [27, 28, 29, 30, 31])
def test_no_friction_is_the_frictionless_run_to_the_last_bit(method, scene, tmp_path):
    path = SCENES / f"redmax_scene_{scene}.yaml"
    words = [f"simulation.method={method}", "simulation.duration=0.2 s"]
    without = yaml.safe_load(path.read_text(encoding="utf-8"))
    for joint in without["joints"].values():
        joint.pop("friction", None)
    plain = tmp_path / "plain.yaml"
    plain.write_text(yaml.safe_dump(without, sort_keys=False), encoding="utf-8")
    one, other = run(path, *words, "vars.mu=0"), run(plain, *words)
    assert one.paths == other.paths
    for name in one.paths:
        assert np.array_equal(one.channel(name).values, other.channel(name).values), name


@METHOD
def test_the_inner_slider_sticks_and_the_outer_one_slides_evenly(method):
    """Scene 29: bending presses the outer rail twice as much as weight does, so that it falls by g (sin - 1.6 cos)."""
    found = run(SCENES / "redmax_scene_29.yaml", f"simulation.method={method}")
    assert np.abs(found.channel("joints/slider1/q").values).max() < 1e-9
    slope = math.radians(60.0)
    expected = 980.0 * (math.sin(slope) - 2 * 0.8 * math.cos(slope)) * found.channel("time").values
    np.testing.assert_allclose(found.channel("joints/slider2/v").values[:, 0], expected, atol=1e-6)


LINKAGE = ("crank", "coupler", "rocker", "loop")


def friction_that_holds_the_linkage():
    """The least coefficient at which the linkage of scene 30 can stand, by statics of its three bars.

    Unknown are the forces in the four hinges, x and z, and the coefficient.  Hinges that would turn take the torque
    mu r (|f_x| + |f_z|) against that; the rocker turns as the coupler does, so that their hinge helps either way.
    """
    x, z = 22 / 3, math.sqrt(1280) / 3
    hinges = np.array([[-5.0, 0.0], [-1.0, 0.0], [x - 1.0, z], [5.0, 0.0]])
    bars = (((0, 1), (1, -1), 1.0), ((1, 2), (1, -1), 3.5), ((2, 3), (1, 1), 3.0))  # hinges, senses and masses

    def balance(unknowns):
        forces, mu = unknowns[:8].reshape(4, 2), unknowns[8]
        torques = mu * 0.5 * np.abs(forces).sum(axis=1) * [-1, 1, 1, 1]
        left = []
        for ends, senses, mass in bars:
            force, moment = np.array([0.0, -980.0 * mass]), 0.0
            for hinge, sense in zip(ends, senses, strict=True):
                arm, load = hinges[hinge] - hinges[list(ends)].mean(axis=0), sense * forces[hinge]
                force = force + load
                moment += arm[1] * load[0] - arm[0] * load[1] + sense * torques[hinge]
            left += [*force, moment]
        return left

    found = fsolve(balance, [-1200, 1000, -1200, 100, -1200, -3400, 1200, 6300, 1.3], xtol=1e-13)
    assert np.abs(balance(found)).max() < 1e-8
    return float(found[8])


@METHOD
@pytest.mark.parametrize(("excess", "stands"), [(0.02, True), (-0.02, False)])
def test_friction_holds_a_linkage_from_the_coefficient_of_statics_on(method, excess, stands):
    """Scene 30.  Rounds end next to where friction just holds, so that it may creep by less than 1e-8 rad/s.

    Rounds of a variational step do not converge there (`docs/variational.md`); they do half above.  A free joint
    moves from the first step on, and passes 0.1 rad/s before the end.
    """
    excess = 0.5 if stands and METHODS[method].own_integrator is not None else excess
    mu = friction_that_holds_the_linkage() * (1.0 + excess)
    words = (f"simulation.method={method}", f"vars.mu={mu!r}", "simulation.duration=0.1 s")
    found = run(SCENES / "redmax_scene_30.yaml", *words)
    speed = max(np.abs(found.channel(f"joints/{name}/v").values).max() for name in LINKAGE)
    assert speed < 1e-8 if stands else speed > 0.1


def test_the_choice_of_the_loop_joint_does_not_change_the_plane_motion(tmp_path):
    """Loads come through the tree for three hinges and from the rows of the loop for one.

    At the start of scene 30 the rocker does not turn on the coupler, and friction there is not unique: the run begins a
    little later here, on the move, with the carried state of the motion.
    """
    scene = yaml.safe_load((SCENES / "redmax_scene_30.yaml").read_text(encoding="utf-8"))
    later = run(SCENES / "redmax_scene_30.yaml", "vars.mu=0", "simulation.duration=0.1 s", "output.every=0.1 s")
    for name in LINKAGE:
        for field in ("q", "v"):
            scene["joints"][name][field] = float(later.channel(f"joints/{name}/{field}").values[-1, 0])
    ends = []
    for order in (LINKAGE, ("crank", "loop", "coupler", "rocker"), ("coupler", "crank", "rocker", "loop")):
        scene["joints"] = {name: scene["joints"][name] for name in order}
        file = tmp_path / "linkage.yaml"
        file.write_text(yaml.safe_dump(scene, sort_keys=False), encoding="utf-8")
        found = run(file, "simulation.duration=1 ms", "output.every=1 ms")
        ends.append([found.channel(f"joints/{name}/friction").values[-1, 1] for name in LINKAGE])
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, rtol=1e-6)


@METHOD
def test_a_foot_slides_to_rest(method):
    """Scene 31: friction in the hinges and under the foot."""
    words = (f"simulation.method={method}", "output.every=1 ms")
    found = run(SCENES / "redmax_scene_31.yaml", *words)
    energy, speed = found.channel("energy/total").values, found.channel("joints/hinge1/v").values
    assert np.diff(energy).max() <= 1e-9 * np.abs(energy).max()
    assert np.abs(speed[-1]).max() < 1e-9
    for contacts in (found.contacts(k) for k in range(0, len(energy), 50)):
        normal, across = contacts["normal_impulse"], np.linalg.norm(contacts["tangential_impulse"], axis=-1)
        assert (across <= 0.2 * normal * (1 + 1e-9) + 1e-15).all()
        assert (contacts["gap"] > -1e-2).all()


@METHOD
def test_a_linkage_crawls_straight(method):
    """Scene 33.  The loop constrains three directions across the plane twice, and their rows bear no load."""
    found = run(SCENES / "redmax_scene_33.yaml", f"simulation.method={method}", "output.every=1 ms")
    position, time = found.channel("bodies/position").values, found.channel("time").values
    np.testing.assert_allclose(found.channel("joints/crank/q").values[:, 0], -4 * math.pi * time, atol=1e-9)
    assert np.abs(position[:, :, 1]).max() < 1e-6
    assert abs(position[-1, 0, 0] - position[0, 0, 0]) > 10.0
    for contacts in (found.contacts(k) for k in range(0, len(time), 50)):
        normal, across = contacts["normal_impulse"], np.linalg.norm(contacts["tangential_impulse"], axis=-1)
        assert (across <= 0.8 * normal * (1 + 1e-9) + 1e-12).all()


@METHOD
def test_the_drive_pays_for_what_it_crawls(method):
    """The work of the crank's drive, impacts and friction of the floor included, is all that there is to the energy."""
    left = []
    for h in (1e-3, 5e-4):
        words = (f"simulation.method={method}", f"simulation.step={h}", "simulation.duration=0.2 s")
        found = run(SCENES / "redmax_scene_33.yaml", *words)
        left.append(np.abs(found.channel("energy/ledger_residual").values).max())
    assert left[0] < 0.05 * found.channel("energy/work/joints/crank/motion").values.max()
    assert left[1] < 0.7 * left[0]


@pytest.mark.parametrize(
    ("method", "reduced"),
    [(name, False) for name in ABLE] + [(name, True) for name in ABLE if Feature.REDUCTION in METHODS[name].supports],
)
def test_a_drive_pays_for_friction_beyond_a_gear(play, method, reduced):
    """The driven joint itself turns freely; all that it works is rubbed away at the other end of the gear."""
    scene = one_joint(HINGE, duration=0.1)
    scene["bodies"]["crank"] = {"mass": 1.0, "inertia": {"principal": [0.001] * 3}}
    scene["joints"]["crank"] = {"type": "revolute", "child": "crank", "axis": [0, 1, 0], "motion": {"velocity": 3.0}}
    scene["couplings"] = {"gear": {"type": "gear", "joints": ["crank", "axle"], "ratio": 2.0, "reduce": reduced}}
    found = play(method, scene)
    work = found.channel("energy/work/joints/crank/motion").values
    assert work[-1] > 6.0 * LIMIT * 0.1 * 0.99
    np.testing.assert_allclose(work, found.channel("energy/dissipation/joints/axle/friction").values, atol=1e-9)


@METHOD
def test_a_slider_jams_where_its_weight_pulls_from_the_side(play, method):
    """Lever b beside a guide of length l: friction of mu jams from mu = l / (2 b) on, at any speed."""
    guide = {"coefficient": 0.34, "surface": {"size": [0.1, 0.02, 0.02]}}
    joint = {"type": "prismatic", "axis": [1, 0, 0], "friction": guide, "v": 0.5}
    scene = one_joint(joint, duration=5e-3, body={"com": [0, 0, 0.15]})
    found = play(method, scene, "simulation.alarms.uniqueness=1.021")  # 2 mu b / l is 1.02
    assert np.abs(found.channel("joints/axle/v").values[1:]).max() < 1e-9


@METHOD
def test_a_brake_on_one_machine_leaves_another_alone(play, method):
    speeds = []
    for coefficient in (0.3, 1e12):
        scene = one_joint({**HINGE, "v": 1.0}, duration=0.01)
        scene["bodies"]["other"] = {"mass": 2.0, "inertia": {"principal": [0.004] * 3}}
        brake = {"coefficient": coefficient, "surface": JOURNAL["surface"]}
        scene["joints"]["other"] = {**HINGE, "child": "other", "friction": brake, "v": 1.0}
        speeds.append(play(method, scene).channel("joints/axle/v").values[-1, 0])
    assert speeds[0] == pytest.approx(speeds[1], rel=1e-9)


# --- choices without effect ------------------------------------------------------------------------------------------
@METHOD
def test_the_motion_does_not_depend_on_output_instants(method):
    ends = [
        run(
            SCENES / "redmax_scene_27.yaml",
            f"simulation.method={method}",
            "simulation.duration=0.1 s",
            f"output.every={n} ms",
        )
        for n in (1, 10, 100)
    ]
    first = ends[0].channel("joints/hinge2/q").values[-1]
    assert all(np.array_equal(one.channel("joints/hinge2/q").values[-1], first) for one in ends)


def test_implicit_steps_take_friction_too(play):
    """A wheel with a stiff spring and friction stops where the spring is weaker than friction, and stays."""
    joint = {**HINGE, "stiffness": 100.0, "q": 0.5}
    implicit = (
        "simulation.integrator=linearly_implicit_euler",
        "simulation.alarms.damping=false",
        "simulation.alarms.oscillations=false",  # friction stops it
        "simulation.alarms.phase=false",
    )
    found = play("aba", one_joint(joint, duration=1.0), *implicit)
    assert np.abs(found.channel("joints/axle/v").values[-1]).max() < 1e-12
    assert abs(100.0 * found.channel("joints/axle/q").values[-1, 0]) <= math.sqrt(2) * LIMIT


# --- uniqueness -----------------------------------------------------------------------------------------------------
def thread(pitch, radius, coefficient, moment=0.09, sign=1, com=(0, 0, 0), gravity=(0, 0, -G), v=-1.0, **body):
    """A body of 1 kg on a screw about z, or its mirror image."""
    mirror = np.array([1, 1, sign])
    inertia = {"principal": [0.08, 0.05, moment]}
    screw = {"type": "screw", "child": "b", "axis": [0, 0, 1], "pitch": pitch * sign, "v": v}
    screw["friction"] = {"coefficient": coefficient, "surface": {"radius": radius, "length": 0.1}}
    return {
        "mbsim": 1,
        "gravity": (np.array(gravity) * mirror).tolist(),
        "bodies": {"b": {"mass": 1.0, "com": (np.array(com) * mirror).tolist(), "inertia": inertia, **body}},
        "joints": {"j": screw},
        "simulation": {"duration": 0.02, "step": 1e-3},
        "output": {"every": 1e-3},
    }


def last_rate_and_message(folder, scene, *settings):
    (folder / "scene.yaml").write_text(yaml.safe_dump(scene), encoding="utf-8")
    sink = MemorySink()
    message = prepare(folder / "scene.yaml", settings).run(sink).outcome.message
    return sink.trajectory().channel("joints/j/v").values[:, 0], message


@METHOD
@pytest.mark.parametrize(("pitch", "radius", "coefficient"), [(0.4, 0.03, 0.3), (1.5, 0.0047, 0.1), (1.0, 0.01, 0.2)])
def test_a_note_says_where_the_friction_of_a_thread_has_two_solutions(method, pitch, radius, coefficient, tmp_path):
    """The normal force is N = a - b x with the friction x, so that x = mu |N| has a second solution if mu b > 1.

    The balance along the axis and that of moments about it give a and b; x is one of the solutions.
    """
    p, moment = pitch / math.tau, 0.09
    slip, D = math.hypot(radius, p), moment + p * p
    a, b = slip / radius * G * moment / D, p / radius * (moment - radius**2) / D
    several = coefficient * b > 1.0
    frictions = [coefficient * a / (1.0 + coefficient * b)]
    frictions += [coefficient * a / (coefficient * b - 1.0)] if several else []
    step = ("simulation.step=1e-5", "simulation.duration=1e-5", "output.every=1e-5", f"simulation.method={method}")
    v, message = last_rate_and_message(tmp_path, thread(pitch, radius, coefficient), *step)
    accelerations = [(slip * x - G * p) / D for x in frictions]
    assert min(abs((v[-1] - v[0]) / 1e-5 - one) for one in accelerations) < 1e-4 * G
    assert ("the friction of joint `j` is not unique in all states" in message) == several
    if several:
        assert f"its limit grows by up to {coefficient * b:.3g} N per N, and above 1 Coulomb" in message
        _, wider = last_rate_and_message(tmp_path, thread(pitch, 10 * radius, coefficient), *step)
        assert "not unique" not in wider
        _, off = last_rate_and_message(
            tmp_path, thread(pitch, radius, coefficient), *step, "simulation.alarms.uniqueness=false"
        )
        assert "not unique" not in off


def test_screws_without_the_note_move_as_their_mirror_images(tmp_path):
    """Steep and flat threads, loaded from all sides; of those with the note, some differ."""
    random, differing = np.random.default_rng(3), 0
    for _ in range(25):
        pitch, coefficient, radius = (
            10 ** random.uniform(-3, 0.3),
            random.uniform(0.02, 0.6),
            10 ** random.uniform(-2.5, -1),
        )
        gravity, com, v = random.normal(size=3) * 8, random.normal(size=3) * 0.1, random.normal() * 2
        ends = [
            last_rate_and_message(
                tmp_path, thread(pitch, radius, coefficient, sign=sign, com=com, gravity=gravity, v=v)
            )
            for sign in (1, -1)
        ]
        noted = ["`j` is not unique" in message for _, message in ends]
        assert noted[0] == noted[1]
        alike = np.allclose(ends[0][0], ends[1][0], rtol=1e-9, atol=1e-9)
        differing += not alike
        assert alike or noted[0]
    assert differing
