"""Dry friction in the joints of closed loops: the same problem as rows, and the power balance of a drive."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from friction_trees import (
    PLAIN,
    compare_with_rows,
    most_passes,
    prepared,
    require_losses,
    simulated,
    started,
    started_with_rows,
)

from multibody_cli import MemorySink, prepare
from multibody_cli.contact_solver.elimination_workspace import is_supported
from multibody_cli.contact_solver.friction_states import residual_of_patches

SCENES = Path(__file__).parents[2] / "scenes"
METHODS = pytest.mark.parametrize(
    "method", ["aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal"]
)
ROD = {"mass": 1.2, "com": [0, 0, -0.2], "inertia": {"principal": [0.02, 0.021, 0.003]}}
SURFACE = {"radius": 0.03, "length": 0.1}


def friction(mu, **surface):
    return {"coefficient": mu, "surface": surface or SURFACE}


def four_bar(mu=0.4, closing="revolute", swing=1.5, drive=None, integrator="semi_implicit_euler"):
    """A parallelogram in the plane x, z: two cranks that hang from the ground, and a coupler between their ends."""
    hinge = {"type": "revolute", "axis": [0, 1, 0], "friction": friction(mu)}
    crank = {"q": 0.4} | ({"motion": {"velocity": drive}} if drive else {"v": swing, "friction": friction(mu)})
    ball = {"type": "spherical", "friction": friction(mu, radius=0.03)}
    last = (hinge if closing == "revolute" else ball) | {
        "parent": "coupler",
        "child": "right",
        "origin": {"position": [0.5, 0, 0]},
        "child_origin": {"position": [0, 0, -0.4]},
    }
    coupler = {"parent": "left", "child": "coupler", "origin": {"position": [0, 0, -0.4]}, "q": -0.4}
    joints = {
        "a_left": {"type": "revolute", "axis": [0, 1, 0], "child": "left"} | crank,
        "c_right": hinge | {"child": "right", "origin": {"position": [0.5, 0, 0]}, "q": 0.4},
        "b_coupler": hinge | coupler | ({} if drive else {"v": -swing}),
        "d_last": last | ({"q": 0.4} if closing == "revolute" else {}),
    }
    if not drive:
        joints["c_right"]["v"] = swing
    bodies = {
        "left": ROD,
        "right": ROD,
        "coupler": {"mass": 0.8, "com": [0.25, 0, 0], "inertia": {"principal": [0.002, 0.02, 0.02]}},
    }
    return simulated(bodies, joints, integrator)


def balls_in_space(mu=0.2):
    """A loop of a hinge, a slider on a ball, and balls, in which no load is indeterminate but the spins of rods."""
    ball = {"type": "spherical", "friction": friction(mu, radius=0.04)}
    joints = {
        "a_hinge": {"type": "revolute", "axis": [0, 1, 0], "child": "crank", "friction": friction(mu)},
        "b_wrist": ball | {"parent": "crank", "child": "rod", "origin": {"position": [0, 0, -0.4]}},
        "c_rail": {
            "type": "prismatic",
            "axis": [1, 0, 0],
            "child": "block",
            "origin": {"position": [0.3, 0.2, -0.6]},
            "friction": friction(mu, size=[0.2, 0.05, 0.05]),
        },
        "d_end": {
            "type": "spherical",
            "parent": "rod",
            "child": "block",
            "origin": {"position": [0.3, 0.2, -0.2]},
            "friction": friction(mu, radius=0.04),
        },
    }
    bodies = {"crank": ROD, "rod": ROD, "block": {"mass": 0.7, "inertia": {"principal": [0.01, 0.012, 0.014]}}}
    return simulated(bodies, joints) | {"gravity": [6, 0, -8]}


@METHODS
def test_a_four_bar_moves_as_with_rows(tmp_path, monkeypatch, method):
    compare_with_rows(tmp_path, monkeypatch, four_bar(), method)


@METHODS
def test_a_four_bar_with_a_ball_moves_as_with_rows(tmp_path, monkeypatch, method):
    compare_with_rows(tmp_path, monkeypatch, four_bar(closing="spherical"), method)


ANGLES = {"aba": (0.0, 9e-8, -9e-8, 1e-3, -1e-3), "baraff": (0.0, 9e-8, -9e-8, 0.1, -0.1)}


@pytest.mark.parametrize(("method", "angle"), [(method, angle) for method in ANGLES for angle in ANGLES[method]])
def test_a_flat_four_bar_moves_as_with_rows(tmp_path, monkeypatch, method, angle):
    """All bars on one line: along it the closing hinge has an effect of round-off, positive or negative.

    At 1e-3 rad from there the effect is 1e-6 of that across the bars, and its load determines friction.
    """
    scene = four_bar(mu=1e-3)
    for name, sign in (("a_left", 1.0), ("c_right", 1.0), ("b_coupler", -1.0), ("d_last", 1.0)):
        scene["joints"][name]["q"] = sign * (math.pi / 2 - angle)
    compare_with_rows(tmp_path, monkeypatch, scene, method, steps=1)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic"])
def test_loops_of_planar_bodies_move_as_with_rows(tmp_path, monkeypatch, method):
    scene = yaml.safe_load((SCENES / "bench/ladder_planar.yaml").read_text(encoding="utf-8"))
    for part in scene["repeat"]:
        for joint in part["joints"].values():
            joint["friction"] = friction(0.4)
    scene["vars"]["n"] = 3
    compare_with_rows(tmp_path, monkeypatch, scene, method)


@METHODS
def test_a_loop_in_space_moves_as_with_rows(tmp_path, monkeypatch, method):
    compare_with_rows(tmp_path, monkeypatch, balls_in_space(), method)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic"])
def test_a_driven_four_bar_moves_as_with_rows(tmp_path, monkeypatch, method):
    """The drive determines all slips; friction has no effect on the motion."""
    compare_with_rows(tmp_path, monkeypatch, four_bar(drive=2.0), method)


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
def test_loops_with_implicit_dampers_move_as_with_rows(tmp_path, monkeypatch, method):
    scene = four_bar(integrator="linearly_implicit_euler")
    ends = [{"body": name, "point": [0, 0, -0.3]} for name in ("left", "coupler")]
    scene["springs"] = {"spring": {"between": ends, "stiffness": 800.0, "damping": 6.0, "rest_length": 0.1}}
    compare_with_rows(tmp_path, monkeypatch, scene, method)


@pytest.mark.parametrize("method", ["aba", "baraff"])
@pytest.mark.parametrize("scene", [four_bar(), four_bar(closing="spherical"), balls_in_space()])
def test_loops_only_lose_energy_in_their_joints(tmp_path, scene, method):
    require_losses(prepared(tmp_path, scene, f"simulation.method={method}", "simulation.duration=2 s"))


def test_the_drive_of_a_four_bar_pays_for_its_friction(tmp_path):
    """The drive alone supplies the energy that friction takes and that the bars gain."""
    sink = MemorySink()
    prepared(tmp_path, four_bar(drive=2.0), "simulation.duration=0.5 s", "simulation.step=0.1 ms").run(sink)
    found = sink.trajectory()
    given = found.channel("energy/work/joints/a_left/motion").values
    lost = sum(
        found.channel(f"energy/dissipation/joints/{name}/friction").values
        for name in ("b_coupler", "c_right", "d_last")
    )
    energy = found.channel("energy/kinetic").values + found.channel("energy/potential").values
    assert lost[-1] > 0.01
    np.testing.assert_allclose(given - lost, energy - energy[0], atol=2e-4 * lost[-1] + 2e-4 * np.ptp(energy))


@pytest.mark.parametrize("n", [2, 20])
def test_the_number_of_passes_does_not_grow_with_the_number_of_loops(n):
    assert most_passes(prepare(SCENES / "bench/ladder_with_friction.yaml", [*PLAIN, f"vars.n={n}"])) <= 4


def test_loops_stay_closed(tmp_path):
    state, method = started(prepared(tmp_path, four_bar(), "simulation.method=aba"))
    assert method.step(state, 500) is None
    assert np.abs(method.work.rows["error"]).max() < 1e-13
    assert not method.contact_work.factors.rank.any()


def test_a_four_bar_that_friction_holds_stays_at_rest(tmp_path, monkeypatch):
    """Four hinges hold one degree of freedom: how they share the load is indeterminate, that nothing moves is not."""
    scene = four_bar(mu=30.0, swing=0.0)
    for start in (started, lambda simulation: started_with_rows(monkeypatch, simulation)):
        state, method = start(prepared(tmp_path, scene))
        assert method.step(state, 100) is None
        assert np.abs(state.v).max() < 1e-12
        assert method.contact_work.diagnostics.unsolved_steps.sum() == 0


def test_a_loop_beside_a_contact_keeps_its_own_solution(tmp_path, monkeypatch):
    """A ball on a floor beside a four-bar does not make rows of its hinges."""
    scene = four_bar()
    scene["bodies"]["ball"] = {
        "density": 1000,
        "position": [2, 0, -0.9495],
        "velocity": {"linear": [1, 0, -0.2]},
        "shapes": [{"type": "sphere", "radius": 0.05}],
    }
    scene["world"] = {"shapes": [{"type": "plane", "position": [0, 0, -1]}]}
    scene["contacts"] = {"friction": 0.5}
    simulation, ends = prepared(tmp_path, scene, "simulation.method=aba"), []
    for start in (started, lambda simulation: started_with_rows(monkeypatch, simulation)):
        state, method = start(simulation)
        apart = 0
        for _ in range(30):
            assert method.step(state, 1) is None
            touches = method.contact_work.step.sizes["contacts"][0] > 0
            apart += touches and method.contact_work.joint_friction.solved_by_passes.all()
        ends.append((state.v.copy(), apart))
    np.testing.assert_allclose(ends[0][0], ends[1][0], atol=1e-8 * np.abs(ends[1][0]).max())
    assert ends[0][1] > 10


def table_on_legs(n):
    """A table on n legs, each on a hinge at the table and on a ball at the ground: all loops are open at the table."""
    bodies, joints = {"table": {"mass": 5.0, "inertia": {"principal": [1.0, 1.0, 1.0]}}}, {}
    for i in range(n):
        bodies[f"leg{i:03}"] = ROD
        joints[f"a{i:03}"] = {
            "type": "revolute",
            "axis": [0, 1, 0],
            "parent": "table",
            "child": f"leg{i:03}",
            "origin": {"position": [0.1 * i, 0, 0]},
            "friction": friction(0.2),
        }
        joints[f"b{i:03}"] = {
            "type": "spherical",
            "child": f"leg{i:03}",
            "origin": {"position": [0.1 * i, 0, -0.4]},
            "child_origin": {"position": [0, 0, -0.4]},
        }
    return simulated(bodies, joints)


@pytest.mark.parametrize(("n", "suits"), [(10, True), (90, False)])
def test_many_loops_that_are_open_together_solve_rows(tmp_path, n, suits):
    """The tables of the passes grow as the cube of the number of loops that are coupled."""
    assert is_supported(prepared(tmp_path, table_on_legs(n)).compiled.model.system) == suits


def sticks_on_a_moving_body(loops, root):
    """A chain of sticks on a body that is free or hangs from a ball; every second one closes a loop to the body.

    The loops share bodies, close where it moves, and constrain no motion twice.
    """
    stick = {"mass": 1.0, "com": [0.02, 0.03, -0.1], "inertia": {"principal": [0.02, 0.03, 0.025]}}
    bodies = {f"b{i}": stick for i in range(2 * loops + 1)}
    joints = {"a0": {"type": "spherical", "child": "b0", "v": [1.0, 2.0, -0.5]}}
    if root == "free":
        joints = {}
        bodies["b0"] = stick | {"velocity": {"angular": [6.0, 9.0, -4.0]}}
    at = np.zeros(3)
    for i in range(1, 2 * loops + 1):
        step = [0.3 * (i % 2), 0.2, 0.1 * i]
        at = at + step
        kind, surface = ("universal", SURFACE) if i % 2 else ("spherical", {"radius": 0.03})
        ends = {"parent": f"b{i - 1}", "child": f"b{i}", "origin": {"position": step}}
        joints[f"a{i}"] = {"type": kind, "friction": friction(0.15, **surface)} | ends
        if i % 2 == 0:
            joints[f"z{i}"] = {
                "type": "spherical",
                "parent": "b0",
                "child": f"b{i}",
                "origin": {"position": [float(x) for x in at + np.array([0.1, 0.1, -0.05])]},
                "child_origin": {"position": [0.1, 0.1, -0.05]},
                "friction": friction(0.15, radius=0.03),
            }
    return simulated(bodies, joints) | {"gravity": [1.5, -2, -8]}


@pytest.mark.parametrize("method", ["aba", "baraff"])
@pytest.mark.parametrize("root", ["spherical", "free"])
@pytest.mark.parametrize("loops", [1, 2, 3])
def test_loops_that_close_at_a_moving_body_move_as_with_rows(tmp_path, monkeypatch, loops, root, method):
    compare_with_rows(tmp_path, monkeypatch, sticks_on_a_moving_body(loops, root), method, steps=20)


def standing_ladder(n, coefficient, folder, *settings):
    """A row of n four-bars on two feet, with friction in all hinges."""
    text = (SCENES / "bench" / "standing_ladder.yaml").read_text(encoding="utf-8")
    surface = f"friction: {{coefficient: {coefficient}, surface: {{radius: 0.02, length: 0.06}}}}"
    file = folder / "ladder.yaml"
    file.write_text(text.replace("type: revolute,", f"type: revolute, {surface},"), encoding="utf-8")
    return started(prepare(file, [*PLAIN, f"vars.n={n}", *settings]))


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff"])
def test_velocities_of_feet_beside_loops_with_friction_need_no_dense_rows(tmp_path, method):
    """The rows of the loops are eliminated when contacts read their velocities: nothing sets the dual matrix."""
    state, stepper = standing_ladder(4, 0.2, tmp_path, f"simulation.method={method}")
    assert stepper.work.dual.W.size > 0
    stepper.work.dual.W[:] = np.nan
    assert stepper.step(state, 20) is None
    assert stepper.contact_work.step.sizes["contacts"][0] == 2
    assert np.isnan(stepper.work.dual.W).all()


@pytest.mark.parametrize("coefficient", [0.5, 0.8])
def test_a_ladder_that_comes_to_rest_by_friction_needs_no_dense_rows(tmp_path, coefficient):
    """Its joints stick and slide at round-off: each state satisfies the law of friction."""
    state, stepper = standing_ladder(30, coefficient, tmp_path)
    work = stepper.contact_work
    for _ in range(250):
        assert stepper.step(state, 1) is None
        assert not work.factors.rank.any()
        sizes = work.step.sizes[0]
        patches = slice(sizes["constraint_rows"], sizes["first_contact"])
        limit, x, _ = work.step.x[patches].reshape(-1, 3).T
        slip = work.step.velocity_after[patches][1::3]
        assert (np.abs(x) <= limit + 1e-9 * limit.max()).all()
        assert (limit * np.abs(slip) + x * slip <= 1e-10 * limit.max() * 9.81 * 1e-3).all()
    assert not work.diagnostics.unsolved_steps.any()
    assert np.abs(state.v).max() < 1e-14


@pytest.mark.parametrize(
    ("x", "slip", "missing"),
    [
        (0.3, 0.0, 0.0),  # sticks
        (-1.0, 5.0, 0.0),  # slides, to both sides
        (1.0, -5.0, 0.0),
        (1.0, 0.0, 0.0),  # at the limit
        (1.0, 5.0, 1.25),  # friction drives
        (1.5, 0.0, 0.5),  # exceeds its limit
        (0.3, 0.8, 0.2),  # slips below its limit
        (0.3, -0.8, 0.2),
    ],
)
def test_the_residual_of_a_patch_is_the_friction_that_its_law_misses(x, slip, missing):
    """|x - P(x - u / w)| with the limit 1 and w = 4, in the norm of kinetic energy, in any state of the patch."""
    passes = SimpleNamespace(
        soft=[1], w=[4.0], friction=np.array([[x, 0.0]]), slip=np.array([[slip, 0.0]]), state=[1], edges=None
    )
    worst, size = residual_of_patches.py_func([SimpleNamespace(slip_directions=1)], [1.0], True, passes)
    assert worst == pytest.approx(2.0 * missing, abs=1e-15)
    assert size == 2.0 * abs(x)
