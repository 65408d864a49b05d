"""Rows that are eliminated within the recursion over the tree agree with the dense Delassus matrix of all rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from loops import (
    KINDS,
    Data,
    Run,
    close_loops,
    loaded,
    quaternion,
    random_body,
    random_joint,
    random_loops,
)
from strategies import random_quaternion

from multibody_cli import prepare
from multibody_cli.compile import compile_scene
from multibody_cli.immutable import replace
from multibody_cli.methods import aba, baraff, redmax, symbolic
from multibody_cli.methods.by_acceleration import AccelerationKind
from multibody_cli.methods.contract import Status
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.methods.row_elimination import has_elimination
from multibody_cli.model import State

SCENES = Path(__file__).parents[2] / "scenes"
CONSTRAINED, DENSE = (replace(aba.ABA, kernels=kernels, variant_for=None) for kernels in (aba.CONSTRAINED, aba.KERNELS))
"""`aba` with rows eliminated, and with the dense matrix of all rows."""

HINGE: Data = {"type": "revolute", "axis": [0, 0, 1]}


def started(scene: Data, kind: AccelerationKind, integrator: str = "rk4", **simulation: Any) -> Run:
    """A scene with one of the two kinds of a method."""
    found = loaded(scene, method="baraff" if kind.maximal else "aba", integrator=integrator, **simulation)
    compiled = compile_scene(found)
    state = State(*(array.copy() for array in compiled.state))
    options = kind.Options.model_validate(found.scene.simulation.options)
    method = kind(compiled.model, INTEGRATORS[integrator], compiled.control, state, options)
    assert method.start(state).status is Status.OK
    return Run(found, compiled, method, state)


def is_eliminated(run: Run) -> bool:
    return bool(run.method.work.elimination.regular[0])


def require_agreement(
    scene: Data,
    until: float = 0.0,
    eliminated: bool = True,
    tolerance: float = 1e-9,
    pair=(CONSTRAINED, DENSE),
    **simulation,
):
    """Accelerations, multipliers and, after a run, the state are those of the dense matrix."""
    found, dense = (started(scene, kind, **simulation) for kind in pair)
    for _ in range(2):
        assert not eliminated or is_eliminated(found)
        for name in ("q", "v", "a", "ledger"):
            a, b = getattr(found.state, name), getattr(dense.state, name)
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * (1 + np.abs(b).max(initial=0.0)))
        x, y = (run.method.work.rows["multiplier"] for run in (found, dense))
        np.testing.assert_allclose(x, y, rtol=0, atol=10 * tolerance * (1 + np.abs(y).max(initial=0.0)))
        for name in scene["joints"]:
            a, b = found.joint(name, "reaction"), dense.joint(name, "reaction")
            np.testing.assert_allclose(a, b, rtol=0, atol=10 * tolerance * (1 + np.abs(b).max(initial=0.0)))
        if until > 0.0:
            found.advance(until), dense.advance(until)
    return found


def rod(length: float = 1.0) -> Data:
    return {"mass": length, "com": [length / 2, 0, 0], "inertia": {"principal": [1e-3, length**3 / 12, length**3 / 12]}}


def at(x: float, y: float = 0.0, z: float = 0.0) -> Data:
    return {"position": [x, y, z]}


def ladder(n: int, tilt: float = 0.0, speed: float = 1.0, angle: float = np.pi / 2) -> Data:
    """n four-bars with common uprights on the ground, in a plane that is tilted about x."""
    bodies = {f"up{k}": rod() for k in range(n + 1)} | {f"rail{k}": rod() for k in range(n)}
    turned = {"rotation": {"axis": [1, 1, 0], "angle": tilt}}
    R = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    if tilt:
        from scipy.spatial.transform import Rotation

        turn = Rotation.from_rotvec(np.array([1.0, 1.0, 0.0]) / np.sqrt(2) * tilt)
        R = turn.apply(R[0]), turn.apply(R[1])
    joints: Data = {}
    for k in range(n + 1):
        place = {"position": (k * R[0]).tolist(), **(turned if tilt else {})}
        joints[f"pin{k}"] = {**HINGE, "child": f"up{k}", "origin": place, "q": angle, "v": -speed}
    for k in range(n):
        joints[f"left{k}"] = {
            **HINGE,
            "parent": f"up{k}",
            "child": f"rail{k}",
            "origin": at(1),
            "q": -angle,
            "v": speed,
        }
    for k in range(n):
        joints[f"right{k}"] = {
            **HINGE, "parent": f"rail{k}", "child": f"up{k + 1}", "origin": at(1), "child_origin": at(1)
        }  # fmt: skip
    return {"gravity": [0, -9.81, 0], "bodies": bodies, "joints": joints}


@settings(max_examples=40)
@given(random_loops())
def test_random_loops(machine):
    """Nested and separate loops of every joint, closed to the ground and across branches, with prescribed motions."""
    probe = compile_scene(loaded(machine.scene)).model.system
    if has_elimination(probe):
        require_agreement(machine.scene, eliminated=False, tolerance=1e-8)


@pytest.mark.parametrize("tilt", [0.0, 0.7])
@pytest.mark.parametrize("n", [1, 4])
def test_ladder_with_redundant_rows(n, tilt):
    """Three of five rows of each loop are redundant: without effect, or in a tilted plane dependent."""
    require_agreement(ladder(n, tilt), until=0.3, step=1e-3)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 1e-3, np.pi])
def test_ladder_at_and_near_its_singular_position(angle):
    """In line, rows along the bars have no effect; there the motion is the same, and so is the passage."""
    require_agreement(ladder(3, angle=angle), until=0.05, step=1e-3, eliminated=False, tolerance=1e-7)


def test_ladder_passes_singular_positions():
    """A long run with many passages keeps its energy, and rows stay eliminated."""
    run = started(ladder(3), CONSTRAINED, step=1e-3)
    energy, _ = run.energy()
    for _ in range(4):
        run.advance(run.state.time[0] + 1.0)
        assert abs(run.energy()[0] - energy) < 1e-6 * energy
    assert is_eliminated(run)


def chain_of_loops(n: int, root: str) -> Data:
    """Rhombi, each hung on the one before: every loop closes at a body that moves."""
    bodies: Data = {"base": {"mass": 2.0, "inertia": {"principal": [0.3, 0.4, 0.5]}}}
    joints: Data = {"root": {"type": root, "child": "base"}}
    carrier, end = "base", 0.0
    for k in range(n):
        for name in "abcd":
            bodies[f"{name}{k}"] = rod()
        joints |= {
            f"ja{k}": {**HINGE, "parent": carrier, "child": f"a{k}", "origin": at(end), "q": 0.5},
            f"jb{k}": {**HINGE, "parent": carrier, "child": f"b{k}", "origin": at(end), "q": -0.5},
            f"jc{k}": {**HINGE, "parent": f"a{k}", "child": f"c{k}", "origin": at(1), "q": -1.0, "v": 0.3 * (k + 1)},
            f"jd{k}": {**HINGE, "parent": f"b{k}", "child": f"d{k}", "origin": at(1), "q": 1.0},
            f"close{k}": {"type": "spherical", "parent": f"c{k}", "child": f"d{k}", "origin": at(1),
                          "child_origin": at(1)},
        }  # fmt: skip
        carrier, end = f"c{k}", 1.0
    return {"gravity": [1, -9.81, 2], "bodies": bodies, "joints": joints}


@pytest.mark.parametrize("root", ["free", "spherical", "revolute", "universal"])
def test_loops_on_loops(root):
    require_agreement(chain_of_loops(3, root), until=0.1, step=1e-3)


def test_constraints_across_branches():
    """Rods between bodies and to the ground, gears and couplings of joints, and limits, which stay rows of W."""
    scene = chain_of_loops(2, "free")
    scene["bodies"] |= {"x": rod(), "y": rod()}
    scene["joints"] |= {
        "jx": {**HINGE, "parent": "base", "child": "x", "origin": at(0, 1), "q": 0.2, "v": 1.0, "limits": [0.2, 1.0]},
        "jy": {"type": "spherical", "parent": "x", "child": "y", "origin": at(1)},
    }
    scene["constraints"] = {
        "rod": {"type": "distance", "between": [{"body": "y", "point": [1, 0, 0]}, {"body": "d1"}], "length": 4.0},
        "wire": {"type": "distance", "between": [{"body": "a1"}, {"body": "world", "point": [3, 2, 5]}], "length": 7.0},
    }
    scene["couplings"] = {"gear": {"type": "linear", "terms": {"jx": 1.0, "ja1": 2.0}, "value": 1.0}}
    require_agreement(scene, until=0.1, step=1e-3, assembly_tolerance=10.0, tolerance=1e-8)


def test_impacts_pass_through_loops():
    """A joint within a loop that closes at a body hits its limit: the impulse moves every body of the loop."""
    scene = chain_of_loops(2, "free")
    scene["joints"]["jc1"]["limits"] = [-1.2, -0.995]
    run = require_agreement(scene, until=0.02, step=1e-3, tolerance=1e-8)
    assert abs(run.multipliers("jc1")).max() > 0.0


def test_dependent_loops_are_solved_together():
    """Two equal loop joints share their load in the least-norm sense: no row is eliminated, all are rows of W."""
    scene = ladder(2)
    scene["joints"]["twice"] = dict(scene["joints"]["right0"])
    run = require_agreement(scene, until=0.1, step=1e-3, eliminated=False)
    assert not is_eliminated(run)
    once, twice = run.joint("right0", "reaction"), run.joint("twice", "reaction")
    np.testing.assert_allclose(once, twice, atol=1e-9 * np.abs(once).max())
    assert np.abs(once).max() > 0.1


def test_work_arrays_of_local_loops_grow_linearly():
    """Entries of the sparse matrix, slots and pairs of rows for each loop of a ladder and of a chain of loops."""
    for make in (ladder, lambda n: chain_of_loops(n, "free")):
        sizes = []
        for n in (4, 8, 16):
            E = aba.CONSTRAINED.workspace(compile_scene(loaded(make(n))).model, None).elimination
            sizes.append([len(E.L), len(E.slots), len(E.pairs), len(E.updates)])
        first, second, third = np.array(sizes)
        np.testing.assert_array_equal(third - second, 2 * (second - first))


# --- other methods ------------------------------------------------------------------------------------------------
OTHERS = {
    name: tuple(replace(kind, kernels=one, variant_for=None) for one in kernels)
    for name, kind, *kernels in (
        ("redmax", redmax.REDMAX, redmax.CONSTRAINED, redmax.KERNELS),
        ("symbolic", symbolic.SYMBOLIC, symbolic.KERNELS["generated", True], symbolic.KERNELS["generated", False]),
        ("numeric", symbolic.SYMBOLIC, symbolic.KERNELS["numeric", True], symbolic.KERNELS["numeric", False]),
    )
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("make", [lambda: ladder(3), lambda: ladder(2, 0.7), lambda: chain_of_loops(2, "spherical")])
def test_other_methods_with_eliminated_rows(name, make):
    """Their own accelerations, with the multipliers of the recursion, are those with their own dense matrix."""
    require_agreement(make(), until=0.1, step=1e-3, pair=OTHERS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_other_methods_with_dependent_loops_and_limits(name):
    """All rows are rows of W, or rows with bounds remain."""
    scene = ladder(2)
    scene["joints"]["twice"] = dict(scene["joints"]["right0"])
    require_agreement(scene, until=0.05, step=1e-3, eliminated=False, pair=OTHERS[name])
    scene = chain_of_loops(2, "free")
    scene["joints"]["jc1"]["limits"] = [-1.2, -0.995]
    run = require_agreement(scene, until=0.02, step=1e-3, tolerance=1e-8, pair=OTHERS[name])
    assert abs(run.multipliers("jc1")).max() > 0.0


@settings(max_examples=20)
@given(random_loops())
def test_random_loops_in_redmax(machine):
    system = compile_scene(loaded(machine.scene)).model.system
    if has_elimination(system):
        require_agreement(machine.scene, eliminated=False, tolerance=1e-8, pair=OTHERS["redmax"])


# --- maximal coordinates ------------------------------------------------------------------------------------------
MAXIMAL = baraff.BARAFF, replace(baraff.BARAFF, variant_for=None)


def planar_ladder(n: int) -> Data:
    """The ladder with planar bodies, upright and with horizontal rails."""
    scene = ladder(n)
    planar = {"kind": "planar", "mass": 1.0, "com": [0.5, 0, 0], "inertia": {"principal": [0, 1 / 12, 1 / 12]}}
    upright = {"rotation": {"axis": [0, 0, 1], "angle": np.pi / 2}, "velocity": {"angular": [0, 0, -1]}}
    uprights = {f"up{k}": {**planar, **at(k), **upright} for k in range(n + 1)}
    rails = {f"rail{k}": {**planar, **at(k, 1), "velocity": {"linear": [1, 0, 0]}} for k in range(n)}
    joints = {name: {key: joint[key] for key in joint if key not in "qv"} for name, joint in scene["joints"].items()}
    return {**scene, "bodies": uprights | rails, "joints": joints}


@pytest.mark.parametrize(
    "make",
    [
        lambda: ladder(3),
        lambda: ladder(2, 0.7),
        lambda: planar_ladder(3),
        *(lambda root=root: chain_of_loops(3, root) for root in ("free", "spherical", "revolute", "universal")),
    ],
)
def test_loops_in_maximal_coordinates(make):
    """Accelerations and multipliers are those of the dense matrix, also of planar bodies and redundant rows."""
    require_agreement(make(), until=0.1, step=1e-3, pair=MAXIMAL)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 1e-3, np.pi])
def test_singular_positions_in_maximal_coordinates(angle):
    require_agreement(ladder(3, angle=angle), until=0.05, step=1e-3, eliminated=False, tolerance=1e-7, pair=MAXIMAL)


@pytest.mark.parametrize("make", [lambda: ladder(3), lambda: ladder(2, 0.7), lambda: chain_of_loops(3, "free")])
@pytest.mark.parametrize("pair", [(CONSTRAINED, DENSE), MAXIMAL])
def test_implicit_forces_across_loops(make, pair):
    """Bushings between all bodies couple bodies of loops; their blocks add to the inertias of the bodies."""
    scene, stiffness = make(), {"linear": [300.0, 200.0, 100.0], "angular": [3.0, 2.0, 1.0]}
    bushing = {"type": "bushing", "stiffness": stiffness, "damping": {"linear": [3, 2, 1], "angular": [0.1, 0.2, 0.3]}}
    ends = list(zip(scene["bodies"], [*scene["bodies"]][2:], strict=False))
    scene["springs"] = {f"rubber{k}": {**bushing, "parent": a, "child": b} for k, (a, b) in enumerate(ends)}
    run = require_agreement(
        scene, until=0.05, step=1e-3, integrator="linearly_implicit_euler", pair=pair, tolerance=1e-8
    )
    assert run.compiled.model.system.implicit


@pytest.mark.parametrize("angle", [np.pi / 2, 0.3, 1e-3])
@pytest.mark.parametrize("pair", [(CONSTRAINED, DENSE), MAXIMAL])
def test_loops_that_close_at_the_same_moving_body(angle, pair):
    """Neighbours that close together keep the dependences of each loop, three of five rows across its plane."""
    scene = ladder(3, angle=angle)
    beam = {"mass": 4.0, "inertia": {"principal": [1.0, 2.0, 3.0]}, "velocity": {"angular": [0.1, 0.2, 0.3]}}
    scene["bodies"] = {"beam": beam, **scene["bodies"]}
    for k in range(4):
        scene["joints"][f"pin{k}"]["parent"] = "beam"
    run = require_agreement(scene, until=0.05, step=1e-3, tolerance=1e-8, pair=pair)
    assert np.all(run.method.work.elimination.blocks["local"])


def test_dependent_loops_and_limits_in_maximal_coordinates():
    scene = ladder(2)
    scene["joints"]["twice"] = dict(scene["joints"]["right0"])
    require_agreement(scene, until=0.05, step=1e-3, eliminated=False, pair=MAXIMAL)
    scene = chain_of_loops(2, "free")
    scene["joints"]["jc1"]["limits"] = [-1.2, -0.995]
    run = require_agreement(scene, until=0.02, step=1e-3, tolerance=1e-8, pair=MAXIMAL)
    assert abs(run.multipliers("jc1")).max() > 0.0


@settings(max_examples=40)
@given(random_loops())
def test_random_loops_in_maximal_coordinates(machine):
    require_agreement(machine.scene, eliminated=False, tolerance=1e-8, pair=MAXIMAL)


# --- rows that never have an effect -------------------------------------------------------------------------------
def ineffective_directions(scene: Data) -> list[str]:
    model = compile_scene(loaded(scene, assembly_tolerance=10.0)).model
    return [model.names.rows[r].direction for r in np.flatnonzero(~model.system.tree.has_effect)]


@pytest.mark.parametrize("tilt", [0.0, 0.7])
@pytest.mark.parametrize("angle", [0.0, 1.0])
def test_rows_across_the_plane_of_a_linkage_never_have_an_effect(tilt, angle):
    """A force along the hinges and two moments across them; in line, rows along the bars lose theirs for a moment."""
    assert ineffective_directions(ladder(2, tilt, angle=angle)) == 2 * ["along z", "about x", "about y"]


def test_rows_of_a_linkage_that_leaves_its_plane_have_an_effect():
    """A hinge across the others moves them out of the plane, also if it stands still at the start, or is prescribed."""
    scene = ladder(1)
    scene["bodies"]["base"] = rod()
    scene["joints"] = {"turntable": {"type": "revolute", "axis": [1, 0, 0], "child": "base"}} | scene["joints"]
    scene["joints"]["pin0"]["parent"] = "base"
    assert ineffective_directions(scene) == []
    scene["joints"]["turntable"]["motion"] = {"velocity": 0.0}
    assert ineffective_directions(scene) == []


def test_constraints_keep_their_rows():
    """The spherical joint of a plane loop has two rows with effect; each position decides about a rod."""
    scene = chain_of_loops(1, "free")
    wire = {"type": "distance", "between": [{"body": "a0"}, {"body": "world", "point": [3, 2, 5]}], "length": 7.0}
    along = {"type": "distance", "between": [{"body": "a0"}, {"body": "c0"}], "length": 1.0}
    scene["constraints"] = {"wire": wire, "along": along}
    assert ineffective_directions(scene) == ["along z"]


# --- evaluation after a projection --------------------------------------------------------------------------------
def moving_loop(kind: str) -> Data:
    """A loop joint between the end of a turning and sliding chain and a body that floats, in a random state at rest."""
    rng = np.random.default_rng(KINDS.index(kind))
    joints = {
        "j1": random_joint(rng, "revolute", "world", "b1"),
        "j2": random_joint(rng, "prismatic", "b1", "b2"),
        "j3": random_joint(rng, kind, "b2", "b3"),
        "j4": random_joint(rng, "prismatic", "b4", "b5"),
        "loop": random_joint(rng, kind, "b5", "b3"),
    }
    bodies = {f"b{k}": random_body(rng) for k in range(1, 6)}
    bodies["b4"] |= {"position": rng.normal(size=3).tolist(), "rotation": quaternion(random_quaternion(rng))}
    scene = {"gravity": (rng.normal(size=3) * 5).tolist(), "bodies": bodies, "joints": joints}
    close_loops(scene)
    for joint in joints.values():
        joint.pop("v", None)
    return scene


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [0.0, 0.3])
@pytest.mark.parametrize("eliminated", [False, True])
def test_an_evaluation_after_a_projection_is_a_whole_evaluation(kind, change, eliminated):
    """A projection leaves the kinematics of the bodies, whether it changes rates or not, and perhaps the factors."""
    scene = moving_loop(kind)
    if eliminated and not has_elimination(compile_scene(loaded(scene)).model.system):
        return
    run = started(scene, CONSTRAINED if eliminated else DENSE)
    dynamics, system, work, state = run.method.dynamics, run.compiled.model.system, run.method.work, run.state
    time, powers = state.time[0], np.zeros((2, len(state.ledger)))
    q, v = state.q.copy(), np.where(system.tree.driven, state.v, state.v * (1.0 + change) - change)
    dynamics.project_onto_constraints(system, work, time, q, v, state.a.copy(), state.ledger.copy())
    assert (work.dual.factored_time[0] == time) == (change > 0.0 and len(work.rows) > 0)
    results = []
    for k, evaluate in enumerate((dynamics.evaluate_projected, dynamics.evaluate)):
        place, rates, a = q.copy(), v.copy(), state.a.copy()
        evaluate(system, work, time, place, rates, a, powers[k])
        bodies = [work.bodies[name][1:].copy() for name in ("x", "R", "w", "v", "alpha", "a", "dw", "dv", "t", "f")]
        rows = [work.rows[name].copy() for name in ("rate", "bias", "multiplier")]
        results.append([place, rates, a, powers[k], *bodies, *rows])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max(initial=0.0)))


@pytest.mark.parametrize("method", ["aba", "redmax"])
def test_an_evaluation_before_any_projection_has_no_factors(method):
    """At 0 s and with all coordinates 0, as at the start of planar bodies that are placed by their positions."""
    settings = ["vars.n=3", "gravity=[3, -9.81, 0]", f"simulation.method={method}"]
    simulation = prepare(SCENES / "bench" / "ladder_planar.yaml", settings)
    states = [simulation.fresh_state() for _ in range(2)]
    fresh, begun = (simulation.method_for(state) for state in states)
    assert not states[0].q.any()
    fresh.evaluate_repeatedly(states[0], 1)
    begun.start(states[1])
    assert np.abs(states[1].a).max() > 1.0
    np.testing.assert_allclose(states[0].a, states[1].a, rtol=0, atol=1e-12 * np.abs(states[1].a).max())


def test_a_ring_that_closes_at_its_free_first_body():
    """The only child of that body is the next one, whose inertia reaches it past the rows that close there."""
    joints: Data = {}
    for k, v in ((1, 1.0), (2, -1.0), (3, 1.0)):
        ends = {"parent": f"b{k - 1}", "child": f"b{k}", "origin": at(1)}
        joints[f"j{k}"] = {**HINGE, **ends, "q": np.pi / 2, "v": v}
    joints["last"] = {**HINGE, "parent": "b3", "child": "b0", "origin": at(1)}
    scene = {"bodies": {f"b{k}": rod() for k in range(4)}, "joints": joints}
    require_agreement(scene, until=0.3, step=1e-3)
