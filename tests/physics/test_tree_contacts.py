"""Contacts, limits and constraints on trees with dry friction of joints: one elimination beside dense rows."""

from __future__ import annotations

import numpy as np
import pytest
from friction_trees import prepared, simulated, started, started_with_rows

from multibody_cli import prepare
from multibody_cli.contact_solver.elimination_workspace import MAX_PAIRS

METHODS = ["aba", "redmax", "baraff", "variational", "variational_maximal"]
JOURNAL = {"coefficient": 0.3, "surface": {"radius": 0.02, "length": 0.06}}
L = 0.3


def arm(n, height=None, angle=0.8, **more):
    """An arm of n hinges with friction that swings against a floor, with a ball at its tip alone that touches it."""
    height = 0.85 * n * L if height is None else height
    bodies, joints = {}, {}
    for i in range(n):
        rod = {"type": "cylinder", "radius": 0.02, "length": L, "contact": False}
        bodies[f"link{i}"] = {"mass": 1.0, "shapes": [rod]}
        joints[f"joint{i}"] = {
            "type": "revolute",
            "parent": "world" if i == 0 else f"link{i - 1}",
            "child": f"link{i}",
            "axis": [[0, 1, 0], [1, 0, 0]][i % 2],
            "origin": {"position": [0, 0, height if i == 0 else -L / 2]},
            "child_origin": {"position": [0, 0, L / 2]},
            "q": angle if i == 0 else float(0.1 * np.sin(i)),
            "friction": JOURNAL,
        }
    bodies[f"link{n - 1}"]["shapes"].append({"type": "sphere", "radius": 0.02, "position": [0, 0, -L / 2]})
    return simulated(bodies, joints) | {
        "world": {"shapes": [{"type": "plane"}]},
        "contacts": {"friction": 0.4},
        **more,
    }


def compare(tmp_path, monkeypatch, scene, method, steps, atol=1e-8, indeterminate=False):
    """Compare steps of the elimination and of rows from one start; return the numbers of steps with contacts.

    Where loads are indeterminate, the elimination may leave steps to rows, and impulses and their shares of the losses
    differ.
    """
    simulation, ends, touched = prepared(tmp_path, scene, f"simulation.method={method}"), [], 0
    for with_rows in (False, True):
        state, stepper = started_with_rows(monkeypatch, simulation) if with_rows else started(simulation)
        work = stepper.contact_work
        for _ in range(steps):
            assert stepper.step(state, 1) is None
            touched += work.step.sizes["contacts"][0] + work.step.sizes["constraint_rows"][0] > 0
        assert not work.diagnostics.unsolved_steps.any()
        assert indeterminate or work.factors.rank.any() == with_rows
        impulses = work.detection.contacts["impulse"][: work.step.sizes["contacts"][0]].copy()
        ends.append((state, impulses, work.diagnostics.jammed_steps[0], work.diagnostics.energizing_steps[0]))
    (one, impulses, *alarms), (other, expected, *expected_alarms) = ends
    assert alarms == expected_alarms
    np.testing.assert_allclose(one.q, other.q, atol=atol)
    np.testing.assert_allclose(one.v, other.v, atol=atol * max(np.abs(other.v).max(), 1e-2))
    atol_ledger = atol * np.abs(other.ledger).max()
    assert one.ledger.sum() == pytest.approx(other.ledger.sum(), abs=atol_ledger)
    if not indeterminate:
        np.testing.assert_allclose(impulses, expected, atol=10 * atol * np.abs(expected).max(initial=1e-2))
        np.testing.assert_allclose(one.ledger, other.ledger, atol=atol_ledger)
    return touched // 2


@pytest.mark.parametrize("method", METHODS)
def test_an_arm_that_slides_on_the_floor_moves_as_with_rows(tmp_path, monkeypatch, method):
    assert compare(tmp_path, monkeypatch, arm(4), method, 330) > 10


@pytest.mark.parametrize("method", ["aba", "baraff", "variational"])
def test_an_arm_that_slides_by_the_convex_relaxation_moves_as_with_rows(tmp_path, monkeypatch, method):
    """Passes have no case for a law."""
    scene = arm(4, contacts={"friction": 0.4, "method": "single_qp"})
    assert compare(tmp_path, monkeypatch, scene, method, 330) > 10


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "coefficients", [{"rolling": 0.005}, {"torsional": 0.01}, {"rolling": 0.005, "torsional": 0.01}]
)
def test_a_tip_that_resists_rolling_moves_an_arm_as_with_rows(tmp_path, monkeypatch, method, coefficients):
    """With torsional resistance, an impact that stops two joints at once solves the rows."""
    scene = arm(4, contacts={"friction": {"static": 0.4, **coefficients}})
    impacts = "torsional" in coefficients
    assert compare(tmp_path, monkeypatch, scene, method, 330, indeterminate=impacts) > 10


def test_a_tip_that_resists_rolling_comes_to_rest_on_the_floor(tmp_path):
    scene = arm(4, contacts={"friction": {"static": 0.4, "rolling": 0.005, "torsional": 0.01}})
    state, stepper = started(prepared(tmp_path, scene, "simulation.method=aba"))
    with_rows = 0
    for _ in range(1500):
        stepper.contact_work.factors.rank[:] = 0
        assert stepper.step(state, 1) is None
        with_rows += stepper.contact_work.factors.rank.any()
    assert with_rows <= 5
    assert not stepper.contact_work.diagnostics.unsolved_steps.any()
    assert np.abs(state.v).max() < 1e-14


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.7853981633974483])
def test_an_arm_at_a_special_position_moves_as_with_rows(tmp_path, monkeypatch, angle):
    """Straight above the contact, where no joint moves the tip along the normal; and two hinges at right angles."""
    scene = arm(2, 2 * L + 0.02, angle)
    for i in range(2):
        scene["joints"][f"joint{i}"]["q"] = angle if i == 0 else 0.0
    scene["joints"]["joint0"]["v"] = 0.3
    compare(tmp_path, monkeypatch, scene, "aba", 40)


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_that_holds_moves_an_arm_as_with_rows(tmp_path, monkeypatch, method):
    scene = arm(3, 5.0)
    scene["joints"]["joint1"] |= {"q": 0.0, "force": 3.0, "limits": [-0.1, 0.005]}
    compare(tmp_path, monkeypatch, scene, method, 80)


def test_a_machine_that_stands_takes_one_pass_a_step():
    """Four feet and twelve brakes; the speed is round-off of the weight over a step."""
    simulation = prepare("scenes/bench/quadruped.yaml", ["simulation.alarms.phase=false", "expect=[]"])
    state, stepper = started(simulation)
    assert stepper.step(state, 600) is None
    for _ in range(50):
        stepper.contact_work.diagnostics.newton_steps[0] = 0
        assert stepper.step(state, 1) is None
        assert stepper.contact_work.diagnostics.newton_steps[0] == 1
    assert np.abs(state.v).max() < 1e-15
    assert not stepper.contact_work.factors.rank.any()


def test_contacts_that_stay_open_take_no_passes(tmp_path):
    """A trunk on three feet with six arms of two brakes each, whose tips are 1 to 6 um above the floor.

    Without impulses all of them fall onto it; with those of the step before, none does.
    """
    feet = [(0.2, 0.0), (-0.1, 0.17), (-0.1, -0.17)]
    balls = [{"type": "sphere", "radius": 0.02, "position": [x, y, -0.08]} for x, y in feet]
    bodies = {"trunk": {"mass": 5.0, "position": [0, 0, 0.1], "shapes": balls, "inertia": {"principal": [0.1] * 3}}}
    joints = {}
    for k in range(6):
        for i, (parent, child) in enumerate([("trunk", f"upper{k}"), (f"upper{k}", f"lower{k}")]):
            bodies[child] = {"mass": 0.4, "inertia": {"principal": [1e-3] * 3}, "shapes": []}
            joints[child] = {
                "type": "revolute",
                "parent": parent,
                "child": child,
                "axis": [0, 1, 0],
                "origin": {"position": [0.1, 0, 0]} | ({} if i else {"rotation": {"axis": [0, 0, 1], "angle": k}}),
                "child_origin": {"position": [-0.1, 0, 0]},
                "friction": {"torque": 3.0},
            }
        tip = {"type": "sphere", "radius": 0.02, "position": [0.1, 0, -0.08 + 1e-6 * (1 + k)]}
        bodies[f"lower{k}"]["shapes"].append(tip)
    scene = simulated(bodies, joints) | {"world": {"shapes": [{"type": "plane"}]}, "contacts": {"friction": 0.5}}
    state, stepper = started(prepared(tmp_path, scene))
    most = []
    for _ in range(60):
        stepper.contact_work.diagnostics.newton_steps[0] = 0
        assert stepper.step(state, 1) is None
        assert stepper.contact_work.step.sizes["contacts"][0] == 9
        most.append(int(stepper.contact_work.diagnostics.newton_steps[0]))
    assert max(most[10:]) == 1
    assert not stepper.contact_work.factors.rank.any()
    assert np.abs(state.v).max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_an_arm_whose_motor_starts_after_a_rest_moves_as_with_rows(tmp_path, monkeypatch, method):
    """The guess of a steady state is wrong in the step in which the motor starts."""
    height = float(L * np.cos(0.3) * (1.0 + np.cos(0.1 * np.sin(1.0))) + 0.02)
    scene = arm(2, height, 0.3, contacts={"friction": 0.1})
    motor = {"times": [0, 0.15, 0.151, 1], "values": [0, 0, 6, 6]}
    scene["joints"]["joint0"] |= {"friction": {"torque": 0.5}, "force": motor}
    scene["joints"]["joint1"]["friction"] = {"torque": 1.0}
    assert compare(tmp_path, monkeypatch, scene, method, 220, indeterminate=True) > 100


def test_edges_keep_nothing_from_one_step_to_the_next(tmp_path):
    """A run whose work arrays of edges are no numbers before each step has the same bytes."""
    scene, ends = arm_on_plate(4), []
    scene["joints"]["joint2"] |= {"q": 0.0, "force": 1.0, "limits": [-0.1, 0.005]}
    simulation = prepared(tmp_path, scene, "simulation.method=aba")
    for spoiled in (False, True):
        state, stepper = started(simulation)
        edges = stepper.contact_work.tree_friction.edges
        for _ in range(330):
            if spoiled:
                names = ("x", "u", "r", "a", "given", "Z", "projection", "D", "K", "armature", "impulse")
                for name in (*names, "on_coordinate", "pair_penalty", "pair_impulse"):
                    getattr(edges, name)[:] = np.nan
                for name in edges.of_body.dtype.names:
                    edges.of_body[name] = np.nan
            assert stepper.step(state, 1) is None
        ends.append(state.v.tobytes())
    assert ends[0] == ends[1]


def test_rows_keep_nothing_of_a_step_that_passes_solved(tmp_path, monkeypatch):
    """Where passes end with the contacts of one step, but not with the joints of the next, its rows solve for these."""
    simulation, ends = prepared(tmp_path, arm(4, 3.0), "simulation.method=aba"), []
    for solved in (0, 1):
        state, stepper = started_with_rows(monkeypatch, simulation)
        for _ in range(20):
            stepper.contact_work.joint_friction.solved_by_passes[:] = solved
            assert stepper.step(state, 1) is None
        ends.append(state.v.tobytes())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("method", ["aba", "redmax"])
def test_a_limit_and_the_floor_hold_an_arm_at_once(tmp_path, method):
    """Four joints, a limit and a contact stop in one step: more rows than degrees of freedom."""
    scene = arm(4)
    scene["joints"]["joint2"] |= {"q": 0.0, "force": 1.0, "limits": [-0.1, 0.005]}
    state, stepper = started(prepared(tmp_path, scene, f"simulation.method={method}"))
    both = 0
    for _ in range(330):
        assert stepper.step(state, 1) is None
        work = stepper.contact_work
        both += work.step.sizes["contacts"][0] > 0 and work.step.sizes["constraint_rows"][0] > 0
    assert not stepper.contact_work.diagnostics.unsolved_steps.any()
    assert both > 10


@pytest.mark.parametrize("method", ["aba", "baraff", "variational"])
def test_an_arm_on_the_floor_comes_to_rest(tmp_path, method):
    """Where all joints and the tip stick, forces are not unique; no step is unsolved, and nothing creeps."""
    simulation = prepared(tmp_path, arm(4), f"simulation.method={method}")
    state, stepper = started(simulation)
    assert stepper.step(state, 1200) is None
    still = state.q.copy()
    assert stepper.step(state, 100) is None
    assert not stepper.contact_work.diagnostics.unsolved_steps.any()
    assert stepper.contact_work.step.sizes["contacts"][0] == 1
    np.testing.assert_allclose(state.q, still, atol=1e-15)


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff"])
def test_an_arm_with_a_loop_in_its_wrist_solves_no_rows(tmp_path, monkeypatch, method):
    """A parallelogram between the last three links; joints that stick in it are redundant."""
    scene, n = arm(5), 5
    for i in range(n):
        scene["joints"][f"joint{i}"] |= {"axis": [0, 1, 0], "q": [0.8, 0.08, 0.09, 0.1, -0.1][i]}
    scene["bodies"]["bar"] = {"mass": 0.5, "inertia": {"principal": [0.004, 0.004, 1e-4]}}
    bar = {"type": "revolute", "axis": [0, 1, 0], "friction": JOURNAL}
    near, far, up, down = ({"position": [x, 0, z]} for x, z in ((0.1, -L / 2), (0.1, L / 2), (0, L / 2), (0, -L / 2)))
    scene["joints"]["bar0"] = bar | {"parent": "link2", "child": "bar", "origin": near, "child_origin": up, "q": 0.1}
    scene["joints"]["bar1"] = bar | {"parent": "bar", "child": "link4", "origin": down, "child_origin": far, "q": -0.1}
    state, stepper = started(prepared(tmp_path, scene, f"simulation.method={method}"))
    touched = 0
    for _ in range(500):
        assert stepper.step(state, 1) is None
        touched += stepper.contact_work.step.sizes["contacts"][0]
    assert touched > 100
    assert not stepper.contact_work.diagnostics.unsolved_steps.any()
    assert not stepper.contact_work.factors.rank.any()


def test_friction_of_the_floor_takes_the_energy_that_the_ledger_has(tmp_path):
    """Kinetic and potential energy, and losses in joints and at the floor, balance to the order of the step."""
    sums = []
    for h in (1e-3, 1e-4):
        scene = arm(5)
        scene["simulation"]["step"] = h
        simulation = prepared(tmp_path, scene, "simulation.method=aba")
        state, stepper = started(simulation)
        assert stepper.step(state, round(0.5 / h)) is None
        sums.append(state.ledger.sum())
        assert not stepper.contact_work.diagnostics.unsolved_steps.any()
    assert sums[0] > 0.0
    assert sums[0] == pytest.approx(sums[1], rel=0.02)


@pytest.mark.parametrize("method", ["aba", "variational"])
def test_a_light_tip_does_not_slow_the_solution(tmp_path, monkeypatch, method):
    """Its response alone is 1e6 times that of the arm."""
    scene = arm(3)
    scene["bodies"]["link2"]["mass"] = 1e-6
    state, stepper = started(prepared(tmp_path, scene, f"simulation.method={method}"))
    most = 0
    for _ in range(400):
        assert stepper.step(state, 1) is None
        most = max(most, stepper.contact_work.diagnostics.newton_steps[0])
    assert not stepper.contact_work.diagnostics.unsolved_steps.any()
    assert most <= 12


# --- impacts ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("law", ["energetic", "newton"])
def test_a_tip_that_rebounds_moves_an_arm_as_with_rows(tmp_path, monkeypatch, method, law):
    """Impacts of a single contact have Stronge's path; one step, at which a limit is pressed as well, adds energy."""
    contacts = {"friction": 0.4, "restitution": 0.5, "impacts": law}
    assert compare(tmp_path, monkeypatch, arm(4, contacts=contacts), method, 600, indeterminate=True) > 10


def test_most_impacts_on_a_plate_need_no_rows(tmp_path, monkeypatch):
    """Impacts between two moving bodies."""
    scene = arm_on_plate(4)
    scene["contacts"]["restitution"] = 0.5
    state, stepper = started(prepared(tmp_path, scene, "simulation.method=aba"))
    work, impacts = stepper.contact_work, 0
    for _ in range(600):
        assert stepper.step(state, 1) is None
        impacts += work.step.rebound[: work.step.sizes["rows"][0]].any()
    assert impacts >= 4
    assert not work.factors.rank.any()
    assert not work.diagnostics.unsolved_steps.any()
    assert not work.diagnostics.energizing_steps.any()


# --- two bodies -------------------------------------------------------------------------------------------------------
def arm_on_plate(n):
    """The arm above a plate that slides along a rail with friction, and is heavy enough to stick at times."""
    scene = arm(n, 0.85 * n * L + 0.1)
    del scene["world"]
    plate = {"type": "box", "size": [2, 2, 0.1], "density": 100}
    scene["bodies"]["plate"] = {"shapes": [plate]}
    rail = {"coefficient": 0.02, "surface": {"size": [0.1, 0.1, 0.2]}}
    scene["joints"]["rail"] = {
        "type": "prismatic",
        "child": "plate",
        "axis": [1, 0, 0],
        "origin": {"position": [0, 0, 0.05]},
        "friction": rail,
    }
    return scene


@pytest.mark.parametrize("method", METHODS)
def test_an_arm_that_slides_on_a_moving_plate_moves_as_with_rows(tmp_path, monkeypatch, method):
    assert compare(tmp_path, monkeypatch, arm_on_plate(4), method, 330) > 10


@pytest.mark.parametrize("method", METHODS)
def test_fingers_that_hold_a_box_move_as_with_rows(tmp_path, monkeypatch, method):
    """A hand that turns on a wrist with friction: four contacts with each finger, and loops that close at the hand."""
    finger = {"mass": 0.1, "shapes": [{"type": "box", "size": [0.02, 0.06, 0.1]}]}
    bodies = {"hand": {"mass": 1.0, "inertia": {"principal": [0.01, 0.01, 0.01]}}, "left": finger, "right": finger}
    bodies["box"] = {"shapes": [{"type": "box", "size": [0.06, 0.06, 0.06], "density": 500}], "position": [0, 0, -0.1]}
    joints = {"wrist": {"type": "universal", "child": "hand", "v": [1.0, 0.4], "friction": JOURNAL}}
    for name, side in (("left", -1.0), ("right", 1.0)):
        joints[name] = {
            "type": "prismatic",
            "parent": "hand",
            "child": name,
            "axis": [side, 0, 0],
            "origin": {"position": [side * 0.04, 0, -0.1]},
            "force": -20.0,
        }
    scene = simulated(bodies, joints) | {"contacts": {"friction": 0.6}}
    assert compare(tmp_path, monkeypatch, scene, method, 60, 1e-6, indeterminate=True) > 40


@pytest.mark.parametrize("method", ["aba", "redmax", "baraff"])
def test_an_arm_that_folds_onto_itself_moves_as_with_rows(tmp_path, monkeypatch, method):
    """The loop of the contact closes at a moving body.

    The contact slides: if it stuck with the joints between its bodies, their loads would be indeterminate.
    """
    scene = arm(4, 3.0, contacts={"friction": 0.3})
    del scene["world"]
    for i in range(4):
        scene["joints"][f"joint{i}"] |= {"axis": [0, 1, 0], "q": [0.3, 0.0, 1.9, 1.9][i]}
    scene["joints"]["joint3"]["v"] = 4.0
    scene["bodies"]["link1"]["shapes"].append({"type": "sphere", "radius": 0.1})
    assert compare(tmp_path, monkeypatch, scene, method, 130) > 10


@pytest.mark.parametrize("method", ["aba", "redmax"])
def test_a_rod_between_two_arms_moves_as_with_rows(tmp_path, monkeypatch, method):
    """A `distance` between two moving bodies, beside friction of joints and a limit."""
    scene, other = arm(3, 2.0, 0.0), arm(2, 2.0, 0.0)
    del scene["world"]
    for i in range(3):
        scene["joints"][f"joint{i}"]["q"] = 0.0
    for i in range(2):
        other["joints"][f"joint{i}"]["q"] = 0.0
        scene["bodies"][f"other{i}"] = other["bodies"][f"link{i}"]
        joint = other["joints"][f"joint{i}"]
        scene["joints"][f"swing{i}"] = joint | {"child": f"other{i}", "parent": "world" if i == 0 else "other0"}
    scene["joints"]["swing0"]["origin"] = {"position": [0.5, 0, 2.0]}
    scene["joints"]["joint1"]["limits"] = [-0.1, 0.1]
    ends = [{"body": "link2", "point": [0, 0, 0.1]}, {"body": "other1", "point": [0, 0, -0.05]}]
    scene["constraints"] = {"rod": {"type": "distance", "between": ends, "length": float(np.hypot(0.5, 0.15))}}
    scene["gravity"] = [3, 1, -9]
    compare(tmp_path, monkeypatch, scene, method, 200)


def test_more_pairs_of_bodies_than_edges_have_are_solved_by_rows(tmp_path):
    """Blocks in a row on rails with friction; each touches its neighbours."""
    count = MAX_PAIRS + 2
    rail = {"coefficient": 0.1, "surface": {"size": [0.02, 0.02, 0.05]}}
    bodies = {f"b{i}": {"mass": 1.0, "shapes": [{"type": "sphere", "radius": 0.05}]} for i in range(count)}
    joints = {
        f"j{i}": {
            "type": "prismatic",
            "child": f"b{i}",
            "axis": [1, 0, 0],
            "origin": {"position": [0.1 * i, 0, 0]},
            "friction": rail,
        }
        for i in range(count)
    }
    joints["j0"]["v"] = 1.0
    for blocks in (count, 3):
        kept = {f"j{i}": joints[f"j{i}"] for i in range(blocks)}
        scene = simulated({f"b{i}": bodies[f"b{i}"] for i in range(blocks)}, kept) | {"contacts": {"friction": 0.4}}
        state, stepper = started(prepared(tmp_path, scene, "simulation.method=aba"))
        for _ in range(5):
            assert stepper.step(state, 1) is None
        assert stepper.contact_work.factors.rank.any() == (blocks == count)
        assert not stepper.contact_work.diagnostics.unsolved_steps.any()


def test_a_foot_that_jams_is_reported_as_with_rows(tmp_path, monkeypatch):
    """A trunk on legs with universal joints slides with much friction: a foot stops without a collision (Painleve)."""
    rod = {"type": "cylinder", "radius": 0.02, "length": 0.3, "contact": False}
    ball = {"type": "sphere", "radius": 0.03, "position": [0, 0, -0.15]}
    box = {"type": "box", "size": [0.1, 0.08, 0.03], "position": [0, 0, -0.15]}
    feet = {"b0": [], "b1": [ball], "b2": [ball], "b3": [box], "b4": [box]}
    masses = {"b0": 1.0, "b1": 3.0, "b2": 0.3, "b3": 3.0, "b4": 1.0}
    bodies = {name: {"mass": masses[name], "shapes": [rod, *foot]} for name, foot in feet.items()}
    velocity = {"angular": [1.176, -1.599, -0.473], "linear": [3.0, 0.5, -1.0]}
    bodies["b0"] |= {"position": [0, 0, 0.6], "velocity": velocity}
    dry, end = JOURNAL | {"coefficient": 0.2}, {"position": [0, 0, 0.15]}
    side, below = {"position": [0.05, 0.05, 0.0]}, {"position": [0, 0, -0.15]}
    universal, hinge = {"type": "universal", "friction": dry}, {"type": "revolute"}
    joints = {
        "j1": universal | {"parent": "b0", "child": "b1", "origin": side},
        "j2": hinge | {"parent": "b1", "child": "b2", "origin": side, "axis": [1, 0, 0], "q": 0.0425},
        "j3": universal | {"parent": "b2", "child": "b3", "origin": below},
        "j4": hinge | {"parent": "b2", "child": "b4", "origin": side, "axis": [0, 1, 0], "q": -1.197},
    }
    joints["j4"] |= {"friction": JOURNAL | {"coefficient": 0.05}, "limits": [-1.247, -0.997]}
    scene = simulated(bodies, {name: joint | {"child_origin": end} for name, joint in joints.items()})
    scene["contacts"] = {"friction": 2.0, "pairs": [[name, "world"] for name in feet if name != "b0"]}
    scene["world"] = {"shapes": [{"type": "plane", "position": [0, 0, -0.168]}]}
    simulation, first = prepared(tmp_path, scene, "simulation.method=aba"), []
    for with_rows in (False, True):
        state, stepper = started_with_rows(monkeypatch, simulation) if with_rows else started(simulation)
        steps, work = 0, stepper.contact_work
        while steps < 300 and work.diagnostics.jammed_steps[0] == 0:
            work.factors.rank[:] = 0
            assert stepper.step(state, 1) is None
            steps += 1
        assert work.factors.rank.any() == with_rows
        first.append(steps)
    assert first[0] == first[1] < 300


def test_whether_a_foot_jams_depends_on_the_responses_of_both_bodies(tmp_path, monkeypatch):
    """A light plate on a vertical rail, which a force lifts, is below the foot."""
    rod = {"type": "cylinder", "radius": 0.02, "length": 0.3, "contact": False}
    ball = {"type": "sphere", "radius": 0.03, "position": [0, 0, -0.15]}
    above, below = {"position": [0, 0, 0.15]}, {"position": [0, 0, -0.15]}
    bodies = {name: {"mass": 2.0, "shapes": [rod]} for name in ("trunk", "thigh", "shank")}
    bodies["shank"]["shapes"] = [rod, ball]
    bodies["trunk"] |= {"position": [0, 0, 0.6], "velocity": {"angular": [1.4, -1.4, 0.2], "linear": [2.1, 0.3, -0.5]}}
    bodies["plate"] = {"shapes": [{"type": "box", "size": [4, 4, 0.1], "density": 1}]}
    joint = {"friction": JOURNAL, "origin": below, "child_origin": above}
    hip, knee = {"type": "universal", "q": [-0.3, -0.1]}, {"type": "revolute", "axis": [0, 1, 0], "q": -0.1}
    joints = {"hip": joint | hip | {"parent": "trunk", "child": "thigh"}}
    joints["knee"] = joint | knee | {"parent": "thigh", "child": "shank"}
    rail = {"coefficient": 0.2, "surface": {"size": [0.1, 0.1, 0.2]}}
    joints["rail"] = {"type": "prismatic", "child": "plate", "axis": [0, 0, 1], "force": 44.0, "friction": rail}
    joints["rail"]["origin"] = {"position": [0, 0, -0.33]}
    scene = simulated(bodies, joints) | {"contacts": {"friction": 4.0, "pairs": [["shank", "plate"]]}}
    assert compare(tmp_path, monkeypatch, scene, "aba", 90) > 0
