"""Mechanisms with closed loops in contact: eliminated rows give the steps of rows that are solved with the contacts."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import assume, given, settings
from loops import Data, Run, loaded, start
from scipy.spatial.transform import Rotation
from structured import any_loops
from test_row_elimination import CONSTRAINED, DENSE, HINGE, OTHERS, at, chain_of_loops, is_eliminated, rod, started

from multibody_cli.compile import compile_scene
from multibody_cli.methods.row_elimination import has_elimination

SCENES = Path(__file__).parents[2] / "scenes"
PAIRS = {"aba": (CONSTRAINED, DENSE), **OTHERS}
H = 1e-3


def foot(body: Data, place: list[float], radius: float = 0.05) -> Data:
    return body | {"shapes": [*body.get("shapes", []), {"type": "sphere", "radius": radius, "position": place}]}


def on_ground(scene: Data, height: float, friction: float, restitution: float = 0.0, **given: Any) -> Data:
    world = {"shapes": [{"type": "plane", "position": [0, 0, height]}]}
    contacts = {
        "friction": friction,
        "restitution": restitution,
        "sleeping": False,
        "tolerance": 1e-12,
    }
    contacts |= given
    return scene | {"gravity": [0.3, 0.2, -9.81], "world": world, "contacts": contacts}


def bench(n: int, feet: tuple[int, ...], friction: float = 0.5, closing: str = "revolute", **contacts: Any) -> Data:
    """A free beam with n + 1 legs that n rails connect to four-bars; `feet` are the legs that stand on the ground."""
    bodies: Data = {"beam": {"mass": 2.0, "inertia": {"principal": [0.3, 0.4, 0.5]}, "position": [0, 0, 1.05]}}
    hinge, joints = {**HINGE, "axis": [0, 1, 0]}, {}
    down, up = ({"rotation": {"axis": [0, 1, 0], "angle": sign * np.pi / 2}} for sign in (1, -1))
    for k in range(n + 1):
        bodies[f"leg{k}"] = foot(rod(), [1, 0, 0]) if k in feet else rod()
        joints[f"hip{k}"] = {**hinge, "parent": "beam", "child": f"leg{k}", "origin": at(k) | down}
    for k in range(n):
        bodies[f"rail{k}"] = rod()
        joints[f"left{k}"] = {**hinge, "parent": f"leg{k}", "child": f"rail{k}", "origin": at(0.8) | up}
        end = {"parent": f"rail{k}", "child": f"leg{k + 1}", "origin": at(1) | down, "child_origin": at(0.8)}
        joints[f"right{k}"] = {**(hinge if closing == "revolute" else {"type": closing}), **end}
    scene = on_ground({"bodies": bodies, "joints": joints}, 0.0, friction, **contacts)
    bodies["beam"]["velocity"] = {"linear": [0.2, 0.0, 0.0]}
    return scene


def rhombi(n: int, friction: float, restitution: float = 0.0, root: str = "free", foot_of: str = "c0") -> Data:
    """Rhombi that fall on the foot of one body, and whose loops close at bodies that move."""
    scene = chain_of_loops(n, root)
    scene["bodies"][foot_of] = foot(scene["bodies"][foot_of], [1, 0, 0])
    return on_ground(scene, -0.052, friction, restitution)


def without_rates(scene: Data) -> Data:
    for joint in scene["joints"].values():
        joint.pop("v", None)
    return scene


def impulses_of(run: Run) -> np.ndarray:
    work = run.method.contact_work
    return work.detection.contacts["impulse"][: work.step.sizes["contacts"][0]].copy()


def rows_of(run: Run) -> int:
    """Number of constraint rows in the problem of the last step with contacts."""
    return int(run.method.contact_work.step.sizes["constraint_rows"][0])


def compared(
    scene: Data,
    steps: int,
    pair=PAIRS["aba"],
    tolerance: float = 1e-9,
    unique: bool = True,
    integrator: str = "semi_implicit_euler",
    **simulation: Any,
):
    """Steps agree with those of the rows.

    Impulses, the multipliers that they cause and single accounts are compared if they are `unique`; 10 N s is the
    weight of 1 kg in a second.
    """
    found, dense = (started(scene, kind, integrator, step=H, **simulation) for kind in pair)
    pressed, eliminated = 0, True
    for _ in range(steps):
        for run in (found, dense):
            assert run.method.step(run.state, 1) is None
        scale = 1 + np.abs(dense.state.v).max()
        np.testing.assert_allclose(found.state.v, dense.state.v, rtol=0, atol=tolerance * scale)
        x, y = impulses_of(found), impulses_of(dense)
        assert len(x) == len(y)
        if len(x) > 0 and y[:, 0].max() > 0.0:
            pressed += 1
            eliminated = eliminated and is_eliminated(found)
            assert rows_of(found) < rows_of(dense)
            if unique:
                np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(np.abs(y).max(), 10.0 * H))
    assert pressed > 0
    for run in (found, dense):
        assert run.method.advance(run.state, float(run.state.time[0])).unsolved == 0
    np.testing.assert_allclose(found.energy(), dense.energy(), rtol=tolerance)
    if unique:
        np.testing.assert_allclose(found.state.ledger, dense.state.ledger, rtol=0, atol=tolerance)
        x, y = (run.method.work.rows["multiplier"] for run in (found, dense))
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * (1 + np.abs(y).max()))
        for name in scene["joints"]:
            a, b = found.joint(name, "reaction"), dense.joint(name, "reaction")
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * (1 + np.abs(b).max()))
    return found, eliminated


# --- the steps of rows ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("friction", [0.0, 0.3, 1.5])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_loops_that_fall_on_the_ground(friction, restitution):
    _, eliminated = compared(rhombi(2, friction, restitution, foot_of="c1"), steps=120)
    assert eliminated


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("closing", ["revolute", "spherical"])
def test_a_row_of_four_bars_on_one_foot_and_on_two(name, closing):
    """Friction between feet of the same mechanism that stick is not unique; the motion is."""
    _, eliminated = compared(bench(3, feet=(0,), closing=closing), steps=50, pair=PAIRS[name])
    assert eliminated
    _, eliminated = compared(bench(3, (0, 3), closing=closing), steps=50, pair=PAIRS[name], unique=False)
    assert eliminated


@pytest.mark.parametrize("name", PAIRS)
def test_drives_of_loops(name):
    """A joint of the tree and a loop joint are driven: their works are those of the rows."""
    for driven in ("ja0", "close0"):
        scene = without_rates(rhombi(1, 0.4, 0.2))
        if driven == "close0":
            scene["joints"]["close0"] = {**scene["joints"]["close0"], **HINGE}
        scene["joints"][driven].pop("q", None)
        rest = 0.5 if driven == "ja0" else 1.0
        scene["joints"][driven]["motion"] = {"position": f"{rest} + 0.2*sin(5*t)"}
        compared(scene, steps=150, pair=PAIRS[name])


@pytest.mark.parametrize("name", PAIRS)
def test_forces_that_depend_on_other_joints(name):
    """Implicit steps with a driven loop: impulses of contacts change the forces within the step."""
    scene = without_rates(rhombi(1, 0.4, 0.2))
    scene["joints"]["ja0"].pop("q")
    scene["joints"]["ja0"]["motion"] = {"position": "0.5 + 0.2*sin(5*t)"}
    scene["joints"]["jb0"]["force"] = "-2*joints.jc0.v - 20*joints.jd0.q"
    compared(scene, steps=100, pair=PAIRS[name], integrator="linearly_implicit_euler")


def test_a_ladder_of_planar_bodies():
    """The last rail rides on a plane; one degree of freedom, without friction."""
    scene = yaml.safe_load((SCENES / "bench" / "ladder_planar.yaml").read_text(encoding="utf-8"))
    scene["vars"]["n"] = 3
    rail = scene["repeat"][1]["bodies"]["rail${i}"]
    rail["shapes"] = [{"type": "sphere", "radius": 0.05, "contact": "${i == n - 1}"}]
    upright = {"rotation": {"axis": [1, 0, 0], "angle": -np.pi / 2}}
    scene["world"] = {"shapes": [{"type": "plane", "position": [0, 0.94, 0], **upright}]}
    scene["contacts"] = {"friction": 0.0, "sleeping": False}
    scene["joints"] = {}
    _, eliminated = compared(scene, steps=200)
    assert eliminated


@pytest.mark.parametrize("constraint", ["velocity", "knife_edge", "rod", "gear"])
def test_other_rows_than_those_of_loops(constraint):
    scene = without_rates(rhombi(1, 0.5))
    terms = [{"body": "base", "linear": [1, 0, 0]}, {"body": "c0", "linear": [-1, 0, 0]}]
    ends = [{"body": "a0"}, {"body": "world", "point": [3, 2, 5]}]
    if constraint == "gear":
        scene["bodies"]["wheel"] = rod()
        scene["joints"]["axle"] = {**HINGE, "parent": "base", "child": "wheel", "origin": at(0, 1)}
        scene["couplings"] = {"gear": {"type": "linear", "terms": {"axle": 1.0, "ja0": 2.0}, "value": 1.0}}
    else:
        scene["constraints"] = {
            "velocity": {"rate": {"type": "velocity", "terms": terms, "value": "0.2*sin(3*t)"}},
            "knife_edge": {"edge": {"type": "knife_edge", "body": "base", "edge": [1, 0, 0]}},
            "rod": {"rod": {"type": "distance", "between": ends, "length": float(np.sqrt(38))}},
        }[constraint]
    compared(scene, steps=120, assembly_tolerance=10.0)


def balls_on_a_rod(friction: float) -> Data:
    ball = {"mass": 1.0, "inertia": {"principal": [0.1, 0.2, 0.15]}, "shapes": [{"type": "sphere", "radius": 0.1}]}
    one, two = ball | {"position": [0, 0, 0.2]}, ball | {"position": [1, 0, 0.5], "velocity": {"linear": [0, 0.5, 0]}}
    rod_between = {"type": "distance", "between": [{"body": "one"}, {"body": "two"}], "length": float(np.hypot(1, 0.3))}
    scene = {"bodies": {"one": one, "two": two}, "joints": {}, "constraints": {"rod": rod_between}}
    return on_ground(scene, 0.0, friction, 0.3)


@pytest.mark.parametrize("friction", [0.0, 1.0])
def test_a_row_between_free_bodies(friction):
    """Both balls are one articulation: an impulse on one of them moves the other."""
    _, eliminated = compared(balls_on_a_rod(friction), steps=300)
    assert eliminated


def test_limits_of_joints_in_loops_beside_contacts():
    scene = rhombi(2, 0.3, foot_of="c1")
    scene["joints"]["jc1"]["limits"] = [-1.2, -0.995]
    compared(scene, steps=60, tolerance=1e-8)


@pytest.mark.parametrize("friction", [0.3, 0.8])
def test_a_robot_with_four_legs_of_five_bars(friction):
    """Its eight drives share the work of friction between feet that stick in more than one way."""
    scene = yaml.safe_load((SCENES / "bench" / "four_legs.yaml").read_text(encoding="utf-8"))
    del scene["simulation"]["method"], scene["expect"]
    scene["contacts"] |= {"friction": friction}
    _, eliminated = compared(scene, steps=250, unique=False)
    assert eliminated


@settings(max_examples=25)
@given(any_loops(driven=False))
def test_random_loops_on_a_foot(machine):
    """A foot at the lowest body; only the sum of the accounts of impact and friction is unique."""
    scene = copy.deepcopy(machine.scene)
    system = compile_scene(loaded(scene)).model.system
    assume(has_elimination(system))
    run = start(scene)
    heights = run.observed().position[0, :, 2]
    lowest = int(np.argmin(heights))
    name = run.compiled.model.names.bodies[lowest]
    scene["bodies"][name] = foot(scene["bodies"][name], [0, 0, 0])
    scene = on_ground(scene, float(heights[lowest]) - 0.051, 0.3)
    found, dense = (started(scene, kind, "semi_implicit_euler", step=H) for kind in PAIRS["aba"])
    for _ in range(40):
        unsolved = 0
        for run in (found, dense):
            assert run.method.step(run.state, 1) is None
            unsolved += run.method.advance(run.state, float(run.state.time[0])).unsolved
        if unsolved > 0:
            return
        np.testing.assert_allclose(found.state.v, dense.state.v, rtol=0, atol=1e-8 * (1 + np.abs(dense.state.v).max()))
        np.testing.assert_allclose(found.energy(), dense.energy(), rtol=1e-8, atol=1e-8)


# --- rows that stay rows of the problem -------------------------------------------------------------------------------
def test_dependent_loops_stay_rows_of_the_problem():
    """Two equal loop joints share their load: no row is eliminated, and the step is the one of the rows."""
    scene = bench(2, feet=(0,))
    scene["joints"]["twice"] = dict(scene["joints"]["right0"])
    found, dense = (started(scene, kind, "semi_implicit_euler", step=H) for kind in PAIRS["aba"])
    for run in (found, dense):
        assert run.method.step(run.state, 30) is None
        assert rows_of(run) > 0
    assert not is_eliminated(found)
    np.testing.assert_allclose(found.state.v, dense.state.v, atol=1e-12)
    once, twice = found.joint("right0", "reaction"), found.joint("twice", "reaction")
    np.testing.assert_allclose(once, twice, atol=1e-9 * np.abs(once).max())


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5])
def test_a_foot_at_a_singular_position(angle):
    """The legs are in line with their rails, where the loops lose rank."""
    scene = bench(2, feet=(), friction=0.0)
    tilt = np.pi / 2 - angle
    for k in range(3):
        scene["joints"][f"hip{k}"]["q"] = tilt
        scene["joints"][f"hip{k}"]["parent"] = "world"
    for k in range(2):
        scene["joints"][f"left{k}"]["q"] = -tilt
    del scene["bodies"]["beam"]
    scene["bodies"]["rail1"] = foot(scene["bodies"]["rail1"], [0.5, 0, 0])
    scene["world"]["shapes"][0]["position"] = [0, 0, -0.0505]
    compared(scene, steps=40, tolerance=2e-7, unique=False)


# --- physics ----------------------------------------------------------------------------------------------------------
def test_the_cost_of_a_step_is_linear():
    """The number of responses is that of the rows of contacts, with any number of loops, and none has a row."""
    for n in (2, 8):
        run = started(bench(n, feet=(0, n)), CONSTRAINED, "semi_implicit_euler", step=H)
        assert run.method.step(run.state, 5) is None
        assert rows_of(run) == 0
        work = run.method.contact_work
        assert work.step.sizes["contacts"][0] == 2
        assert work.factors.basis.max() == 6


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_an_impact_on_a_loop_keeps_the_momentum(restitution):
    """A ball hits a free mechanism at rest: momenta, the rates of loops, and the energy of the ledger."""
    scene = without_rates(chain_of_loops(2, "free"))
    scene["bodies"]["c1"] = foot(scene["bodies"]["c1"], [0.7, 0, 0])
    place = started(scene, CONSTRAINED).body("c1", "position")
    turned = Rotation.from_quat(np.roll(started(scene, CONSTRAINED).body("c1", "quaternion"), -1))
    target, way = place + turned.apply([0.7, 0, 0]), np.array([0.36, -0.48, 0.8])
    ball = {"mass": 2.0, "inertia": {"principal": [0.01, 0.01, 0.01]}, "position": (target - way * 0.15001).tolist()}
    scene["bodies"]["ball"] = foot(ball, [0, 0, 0], 0.1) | {"velocity": {"linear": (3.0 * way).tolist()}}
    scene |= {"gravity": [0, 0, 0], "contacts": {"friction": 0.4, "restitution": restitution}}
    run = started(scene, CONSTRAINED, "semi_implicit_euler", step=1e-6)
    before, (energy, balance) = run.observed(), run.energy()
    momenta = [before.linear_momentum[0].copy(), before.angular_momentum[0].copy()]
    assert run.method.step(run.state, 20) is None
    assert abs(run.state.v).max() > 1.0
    after = run.observed()
    np.testing.assert_allclose(after.linear_momentum[0], momenta[0], atol=1e-4)
    np.testing.assert_allclose(after.angular_momentum[0], momenta[1], atol=1e-3)
    assert run.energy()[0] < energy
    assert abs(run.energy()[1] - balance) < 1e-3 * energy
    assert max(run.errors()) < 1e-12


def test_the_work_of_a_prescribed_rate():
    """Two balls that lie on the ground are driven apart against friction, with the same work in all coordinates."""
    scene = balls_on_a_rod(0.5)
    for name in ("one", "two"):
        scene["bodies"][name] = {**scene["bodies"][name], "velocity": {"linear": [0, 0, 0]}}
        scene["bodies"][name]["position"] = [scene["bodies"][name]["position"][0], 0, 0.1]
    terms = [{"body": "one", "linear": [1, 0, 0]}, {"body": "two", "linear": [-1, 0, 0]}]
    scene["constraints"] = {"rate": {"type": "velocity", "terms": terms, "value": "0.2*sin(3*t)"}}
    ledgers = []
    for method in ("aba", "redmax", "baraff"):
        run = start(scene, method, "semi_implicit_euler", step=H)
        _, balance = run.energy()
        assert run.method.step(run.state, 300) is None
        assert abs(run.energy()[1] - balance) < 1e-3
        ledgers.append(run.state.ledger.copy())
    assert ledgers[0][0] > 0.1
    np.testing.assert_allclose(ledgers[1:], [ledgers[0]] * 2, atol=1e-9)


def driven_four_bar() -> Data:
    """A coupler with a foot that the crank drives into the ground."""
    hinge = {**HINGE, "axis": [0, 1, 0]}
    down, up = ({"rotation": {"axis": [0, 1, 0], "angle": sign * np.pi / 2}} for sign in (1, -1))
    joints = {
        "crank": {**hinge, "child": "leg0", "origin": at(0) | down, "motion": {"position": "0.3 - 0.5*t"}},
        "pin": {**hinge, "child": "leg1", "origin": at(1) | down, "q": 0.3},
        "left": {**hinge, "parent": "leg0", "child": "rail", "origin": at(0.8) | up, "q": -0.3},
        "right": {**hinge, "parent": "rail", "child": "leg1", "origin": at(1) | down, "child_origin": at(0.8)},
    }
    bodies = {"leg0": rod(), "leg1": rod(), "rail": foot(rod(), [0.5, 0, 0])}
    return on_ground({"bodies": bodies, "joints": joints}, -0.8 * np.cos(0.3) - 0.0505, 0.5)


def driven_arm() -> Data:
    """Two driven links of which the last one presses a foot on the ground."""
    motion = {"motion": {"position": "0.2 + 0.5*t"}}
    joints = {
        "shoulder": {**HINGE, "axis": [0, 1, 0], "child": "upper", **motion},
        "elbow": {**HINGE, "axis": [0, 1, 0], "parent": "upper", "child": "lower", "origin": at(1), **motion},
    }
    bodies = {"upper": rod(), "lower": foot(rod(), [1, 0, 0])}
    return on_ground({"bodies": bodies, "joints": joints}, -np.sin(0.2) - np.sin(0.4) - 0.0505, 0.5)


ELIMINATED = [(driven_four_bar, method) for method in ("aba", "redmax", "symbolic")]
ELIMINATED += [(driven_arm, method) for method in ("aba", "baraff", "variational_maximal")]


@pytest.mark.parametrize(("scene", "method"), ELIMINATED)
def test_a_structure_that_presses_on_the_ground(scene, method):
    """No impulse changes its motion, and round-off of the rows that hold it is no response."""
    run = start(scene(), method, "semi_implicit_euler", step=H)
    for _ in range(30):
        assert run.method.step(run.state, 1) is None
        assert not impulses_of(run).any()
    assert len(impulses_of(run)) == 1
    assert run.method.advance(run.state, float(run.state.time[0])).unsolved == 0
    assert max(run.errors()) < 1e-9


def test_a_linkage_at_rest_sleeps_and_wakes():
    """It keeps its state to the last bit until a force grows, and then moves as without sleep."""
    ends = []
    for sleeping in (True, False):
        scene = bench(1, feet=(0, 1), friction=0.8, sleeping=sleeping) | {"gravity": [0, 0, -9.81]}
        for k in (0, 1):
            scene["bodies"][f"leg{k}"] = foot(foot(rod(), [1, 0.2, 0]), [1, -0.2, 0])
        del scene["bodies"]["beam"]["velocity"]
        pull = {"body": "beam", "force": ["max(400*(t - 0.1), 0)", 0, 0], "frame": "world"}
        run = started(scene | {"forces": {"pull": pull}}, CONSTRAINED, "semi_implicit_euler", step=H)
        assert run.method.step(run.state, 90) is None
        if sleeping:
            assert run.method.contact_work.sleep.asleep.any()
            assert not run.state.v.any()
        assert run.method.step(run.state, 110) is None
        assert np.abs(run.state.v).max() > 0.1
        ends.append(run)
    np.testing.assert_allclose(ends[0].state.v, ends[1].state.v, atol=1e-9)


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff"])
@pytest.mark.parametrize(("mass", "inertia", "block"), [(1e-3, 1e-6, 1e3), (1e-6, 1e-9, 1e4)])
def test_a_light_foot_carries_a_heavy_block_beside_a_loop(method, mass, inertia, block):
    """The response of the light body alone exceeds that of both by a factor of 1e10 and more."""
    light = {"mass": mass, "inertia": {"principal": [inertia] * 3}}
    heavy = {"mass": block, "inertia": {"principal": [block] * 3}, "position": [5, 0, 1]}
    scene = driven_four_bar()
    scene["bodies"] |= {"block": heavy, "toe": foot(light, [0, 0, -0.9495])}
    scene["joints"] |= {"ankle": {"type": "fixed", "parent": "block", "child": "toe"}}
    scene["bodies"]["rail"] = rod()
    scene["world"] = {"shapes": [{"type": "plane"}]}
    run = start(scene, method, "semi_implicit_euler", step=H)
    for _ in range(20):
        assert run.method.step(run.state, 1) is None
    run.method.advance(run.state, float(run.state.time[0]))
    np.testing.assert_allclose(impulses_of(run)[:, 0].sum(), block * 9.81 * H, rtol=1e-3)


@pytest.mark.parametrize("method", ["aba", "redmax"])
def test_a_structure_presses_on_the_ground_beside_a_free_ball(method):
    """The round-off of each articulation is its own."""
    scene = driven_four_bar()
    ball = {"mass": 1.0, "inertia": {"principal": [0.01] * 3}, "position": [5, 0, -0.8 * np.cos(0.3) + 0.05]}
    scene["bodies"] = {"ball": foot(ball, [0, 0, 0], 0.1), **scene["bodies"]}
    run = start(scene, method, "semi_implicit_euler", step=H)
    for _ in range(30):
        assert run.method.step(run.state, 1) is None
    run.method.advance(run.state, float(run.state.time[0]))
    assert np.abs(impulses_of(run)).max() < 10.0


@pytest.mark.parametrize("method", ["aba", "redmax"])
def test_a_foot_geared_to_a_flywheel_bears_its_weight(method):
    """Through a ratio of 1e-4 m/rad the flywheel has the inertia of 1e8 kg at the foot of 1 kg."""
    slider = foot({"mass": 1.0, "inertia": {"principal": [0.01] * 3}}, [0, 0, 0])
    joints = {
        "guide": {"type": "prismatic", "axis": [0, 0, 1], "child": "slider"},
        "axle": {"type": "revolute", "axis": [1, 0, 0], "child": "wheel", "origin": at(2)},
    }
    bodies = {"slider": slider, "wheel": {"mass": 1.0, "inertia": {"principal": [1.0] * 3}}}
    scene = on_ground({"bodies": bodies, "joints": joints}, -0.05, 0.5)
    scene["couplings"] = {"screw": {"type": "linear", "terms": {"guide": 1.0, "axle": -1e-4}}}
    run = start(scene, method, "semi_implicit_euler", step=H)
    for _ in range(20):
        assert run.method.step(run.state, 1) is None
    run.method.advance(run.state, float(run.state.time[0]))
    np.testing.assert_allclose(impulses_of(run)[:, 0].sum(), 9.81 * H, rtol=1e-6)
