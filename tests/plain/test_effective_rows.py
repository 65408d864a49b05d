"""Rows of loop joints without effect in any configuration, and those with an effect, also where axes are aligned."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from loops import Data, close_loops, loaded, start
from scipy.spatial.transform import Rotation

from multibody_cli.compile import compile_scene
from multibody_cli.constraint_solver.row_blocks import factor_block
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.constraints.rows import velocity_of_row
from multibody_cli.joints.contract import exponential_ball, screwing, sliding, turning
from multibody_cli.kernel import allocate
from multibody_cli.linalg.pivoted_lu import PivotedLdl
from multibody_cli.packing.constraint_bases import configuration_at
from multibody_cli.packing.loop_motions import joint_motions, screws_of
from multibody_cli.tree.workspace import workspace_for

METHODS = ("aba", "redmax", "symbolic", "baraff")
RIGHT_ANGLES = (0.0, np.pi / 2, np.pi, -np.pi / 2)
NEAR = (0.0, 1e-9, -1e-9, 1e-5, -1e-5, 1e-4)
TURN, SLOT = {"type": "revolute", "axis": [0, 1, 0]}, {"type": "prismatic", "axis": [0, 0, 1]}
BODY: Data = {"mass": 2.0, "com": [0.1, 0, 0], "inertia": {"principal": [0.01, 0.02, 0.03]}}


def yoke(angle: float, **pin: Any) -> Data:
    """A crank of radius 0.2 about y at 5 rad/s, whose pin slides in the slot along z of a yoke on a rail along x."""
    return {
        "gravity": [0, 0, 0],
        "bodies": {"crank": BODY, "yoke": BODY},
        "joints": {
            "bearing": {**TURN, "child": "crank", "q": angle, "v": 5.0},
            "rail": {"type": "prismatic", "axis": [1, 0, 0], "child": "yoke", "q": 0.2 * np.cos(angle), "rest": 0.0,
                     "stiffness": 100.0},
            "pin": {"type": "composite", "parent": "yoke", "child": "crank", "child_origin": {"position": [0.2, 0, 0]},
                    "parts": [SLOT, TURN], **pin},
        },
    }  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("angle", RIGHT_ANGLES[:3])
def test_a_scotch_yoke_at_and_near_its_dead_centres(method, angle):
    """Lagrange's equation of the crank angle, with the yoke at x = r cos(angle): its direction turns in the pin."""
    for near in NEAR if method == "aba" else (0.0, 1e-5):
        r, m, k, w = 0.2, 2.0, 100.0, 5.0
        s, c = np.sin(angle + near), np.cos(angle + near)
        inertia, force = 0.02 + m * 0.1**2 + m * (r * s) ** 2, k * r * s * r * c - m * r * r * s * c * w * w
        turning = force / inertia
        run = start(yoke(angle + near), method)
        expected = [turning, -r * c * w * w - r * s * turning]
        found = [float(run.joint(name, "acceleration")[0]) for name in ("bearing", "rail")]
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)


def right_angle(drive: Data) -> Data:
    """Two bars at a right angle, down to (0, 0, -1) and across to (1, 0, -1), and a joint at their end."""
    return {
        "gravity": [0, 0, 0],
        "bodies": {"b1": BODY, "b2": BODY},
        "joints": {
            "j1": {**TURN, "child": "b1", "child_origin": {"position": [0, 0, 0.5]}},
            "j2": {**TURN, "parent": "b1", "child": "b2", "origin": {"position": [0, 0, -0.5]},
                   "child_origin": {"position": [-0.5, 0, 0]}},
            "drive": {"child": "b2", **drive},
        },
    }  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_a_driven_joint_that_closes_a_loop_moves_it(method):
    """The end moves along x with 0.9 m/s^2, by which the bars turn: x = 1 - (angle of the first one)."""
    flat = {"rotation": {"axis": [1, 0, 0], "angle": -np.pi / 2}}
    places = {"origin": {"position": [1, 0, -1], **flat}, "child_origin": {"position": [0.5, 0, 0], **flat}}
    drive = {"type": "free2d", **places,
             "motion": {"velocity": ["0.3*sin(3*t)", None, None]}}  # fmt: skip
    run = start(right_angle(drive), method)
    found = [float(run.joint(name, "acceleration")[0]) for name in ("j1", "j2", "drive")]
    np.testing.assert_allclose(found, [-0.9, 0.9, 0.9], atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_slot_across_a_bar_holds_its_end(method):
    """A torque on the first bar; the slot along z transmits the force along x by which the second one holds it."""
    slot = {"type": "composite", "origin": {"position": [1, 0, -1]}, "child_origin": {"position": [0.5, 0, 0]},
            "parts": [SLOT, TURN]}  # fmt: skip
    scene = right_angle(slot) | {"forces": {"torque": {"body": "b1", "torque": [0, 1, 0]}}}
    run = start(scene, method, step=1e-2).advance(0.1)
    np.testing.assert_allclose(run.state.q[:2] if method != "baraff" else 0.0, 0.0, atol=1e-9)
    assert abs(run.joint("drive", "reaction")).max() == pytest.approx(1.0, abs=1e-9)


OBLIQUE = (0.7 * np.sqrt(0.5) * np.array([1, 1, 0])).tolist()


def tilted_parallelogram(tilt: float) -> Data:
    """Bars of 1 m in an oblique plane, closed by a ball whose frame is tilted out of that plane."""
    plane, turn = Rotation.from_rotvec(OBLIQUE), {"type": "revolute", "axis": [0, 0, 1]}
    bar = {"mass": 1.0, "com": [0.5, 0, 0], "inertia": {"principal": [1e-3, 1 / 12, 1 / 12]}}
    frame = {"position": [1, 0, 0], "rotation": {"axis": [1, 0.3, 0], "angle": tilt}}
    ground = [{"position": plane.apply([x, 0, 0]).tolist(), "rotation": {"rotvec": OBLIQUE}} for x in (0, 1)]
    joints = {
        "a": {**turn, "child": "crank", "origin": ground[0], "q": 1.0, "v": -1.0},
        "d": {**turn, "child": "rocker", "origin": ground[1], "q": 1.0, "v": -1.0},
        "b": {**turn, "parent": "crank", "child": "rod", "origin": {"position": [1, 0, 0]}, "q": -1.0, "v": 1.0},
        "c": {"type": "spherical", "parent": "rod", "child": "rocker", "origin": frame, "child_origin": frame},
    }
    return {"gravity": [0, -9.81, 0], "bodies": {"crank": bar, "rod": bar, "rocker": bar}, "joints": joints}


@pytest.mark.parametrize("method", ["aba", "baraff"])
def test_rows_that_depend_on_others_and_have_little_effect_get_no_large_multipliers(method):
    """A tilt of the frame of a ball turns its axes, and changes neither the motion nor the reaction in the world."""
    expected = start(tilted_parallelogram(0.0), method).joint("a", "acceleration")
    for tilt in (1e-6, 1e-5, 3e-5, 5e-5, 1e-4, 1e-3):
        run = start(tilted_parallelogram(tilt), method)
        np.testing.assert_allclose(run.joint("a", "acceleration"), expected, rtol=1e-9)
        assert np.abs(run.multipliers("c")).max() < 10.0


@pytest.mark.parametrize(("part", "rank"), [(1e-9, 1), (1e-3, 2)])
def test_a_weak_row_of_a_block_is_dependent_where_its_pivot_is_round_off(part, rank):
    """A row parallel to another one, with 1e-10 of its response, that of unconstrained bodies, except for a part."""
    W = 40.0 * np.array([[1.0, 1e-5], [1e-5, 1e-10 * (1.0 + part)]])
    E = SimpleNamespace(L=W.ravel(), reduction=np.zeros(4), factors=np.zeros(4), threshold=np.full(2, 1e-9),
                        unconstrained=np.full(2, 40.0), order=np.zeros(2, np.int64),
                        block=allocate(PivotedLdl, m=6))  # fmt: skip
    block = SimpleNamespace(first=0, last=2, address=0, local=1, pivoted=0, rank=2)
    assert factor_block(E, block)
    assert (block.rank if block.pivoted else 2) == rank


# --- rows without effect ------------------------------------------------------------------------------------------
def composite(*parts: tuple[str, tuple[float, ...]]) -> Data:
    return {"type": "composite", "parts": [{"type": kind, "axis": axis} for kind, axis in parts]}


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
HINGES, SLIDES = ({"type": "revolute", "axis": Z},) * 3, tuple({"type": "prismatic", "axis": a} for a in (X, Y, X))
SWIVELS = ({"type": "revolute", "axis": Z}, {"type": "cylindrical", "axis": Z}, {"type": "prismatic", "axis": Y})
ACROSS_HINGE: Data = {"type": "revolute", "axis": X}
ACROSS, PLANE = ["about x", "about y"], ["along z", "about x", "about y"]
CLOSING: dict[str, tuple[tuple[Data, ...], Data, list[str]]] = {
    "hinge": (HINGES, {"type": "revolute", "axis": Z}, PLANE),
    "oblique hinge": (HINGES, {"type": "revolute", "axis": X}, ["along z", "about y"]),
    "slider": (HINGES, {"type": "prismatic", "axis": X}, PLANE),
    "slider across the plane": (HINGES, {"type": "prismatic", "axis": Z}, ACROSS),
    "screw": (HINGES, {"type": "screw", "axis": Z, "pitch": 0.1}, ACROSS),
    "slot and pin": (HINGES, composite(("prismatic", X), ("revolute", Z)), PLANE),
    "pin and slot": (HINGES, composite(("revolute", Z), ("prismatic", X)), PLANE),
    "universal": (HINGES, {"type": "universal"}, ["along z"]),
    "spherical": (HINGES, {"type": "spherical"}, ["along z"]),
    "fixed": (HINGES, {"type": "fixed"}, PLANE),
    "free in the plane": (HINGES, {"type": "free2d"}, PLANE),
    "driven": (HINGES, {"type": "free2d", "motion": {"velocity": [None, "0.5", None]}}, PLANE),
    "euler": (HINGES, {"type": "spherical", "parametrization": "euler_xzx", "q": {"rotvec": [0.3, 0.4, 0.5]}}, []),
    "moments of sliders": (SLIDES, {"type": "prismatic", "axis": Y}, ["along z", "about x", "about y", "about z"]),
    "rotation of sliders": (SLIDES, {"type": "revolute", "axis": Z}, PLANE),
    "moments of swivels": (SWIVELS, {"type": "revolute", "axis": Z}, ACROSS),
    "slot of swivels": (SWIVELS, composite(("prismatic", X), ("revolute", Z)), ACROSS),
    "hinges that leave the plane": ((*HINGES[:2], ACROSS_HINGE), {"type": "revolute", "axis": Z}, []),
    "driven out of the plane": (
        (*HINGES[:2], ACROSS_HINGE | {"motion": {"velocity": 0.0}}), {"type": "revolute", "axis": Z}, []
    ),
}  # fmt: skip


UNLIKE_HINGES = ("universal", "euler", "oblique hinge", "hinges that leave the plane", "driven out of the plane")


@pytest.mark.parametrize("name", CLOSING)
def test_rows_without_effect_have_none_in_any_configuration(name):
    """At random and at special coordinates, the twist that such a row measures is 0, for any rates.

    A joint that cannot turn as the hinges do is open at other coordinates than those of the start.
    """
    tree, closing, expected = CLOSING[name]
    joints = {
        f"j{k}": {
            **joint,
            "parent": f"b{k - 1}" if k else "world",
            "child": f"b{k}",
            "origin": {"position": [0.5, 0, 0]},
        }
        for k, joint in enumerate(tree)
    }
    joints["close"] = {**closing, "child": f"b{len(tree) - 1}", "origin": {"position": [0.5, 0.1, 0]}}
    scene: Data = {"bodies": {f"b{k}": BODY for k in range(len(tree))}, "joints": joints}
    close_loops(scene)
    compiled = compile_scene(loaded(scene))
    model, system, rng = compiled.model, compiled.model.system, np.random.default_rng(0)
    rows = np.flatnonzero(~system.tree.has_effect)
    assert [model.names.rows[r].direction for r in rows] == expected
    work, largest = workspace_for(system), np.zeros(len(system.rows))
    for k in range(1 if name in UNLIKE_HINGES else 8):
        q, v = compiled.state.q.copy() if k == 0 else rng.uniform(-2, 2, model.nq), rng.normal(size=model.nv)
        if k % 2:
            q = rng.choice(RIGHT_ANGLES, model.nq) + rng.choice(NEAR, model.nq)
        v[system.tree.driven] = 0.0
        update_kinematics(system, 0.0, q, v, np.zeros(model.nv), work)
        rates = [velocity_of_row(row, work.terms, work.bodies, v) - row.rate for row in work.rows]
        largest = np.maximum(largest, np.abs(rates))
    assert largest[rows].max(initial=0.0) < 1e-9
    if name not in UNLIKE_HINGES:
        assert (np.delete(largest, rows) > 0.01).all()


RUNS = {
    "cylindrical": (turning(Z), sliding(Z)),
    "slot": (sliding(X), turning(Z)),
    "pin": (turning(Z), sliding(X)),
    "universal": (turning(X), turning(Y)),
    "sliders": (sliding(X), sliding((0.6, 0.8, 0.0))),
    "screw in a slot": (sliding(X), screwing(Z, 0.3)),
    "oblique slider": (turning(Z), sliding((0.6, 0.0, 0.8))),
    "slider on a universal": (turning(X), turning(Y), sliding(Z)),
    "ball on a slider": (sliding(X), exponential_ball()),
    "euler": (turning(X), turning(Z), turning(X)),
}


@pytest.mark.parametrize("driven", ["none", "first", "last"])
@pytest.mark.parametrize("name", RUNS)
def test_motions_of_a_joint_contain_its_motion_subspaces(name, driven):
    """In the axes of M, in random and special configurations; those of the first joints are no larger than needed."""
    parts, rng, found = RUNS[name], np.random.default_rng(0), []
    n = sum(part.nv for part in parts)
    flags = np.zeros(n, bool)
    if driven != "none":
        flags[0 if driven == "first" else -1] = parts[0 if driven == "first" else -1].nv == 1
    motions = joint_motions(screws_of(parts, flags))
    for k in range(12):
        at = configuration_at(parts, rng.uniform(-2, 2, n) if k % 2 else rng.choice(RIGHT_ANGLES, n))
        found += list((at.columns.reshape(2, 3, n).transpose(2, 0, 1) @ at.rotation)[~flags].reshape(-1, 6))
    np.testing.assert_allclose(found @ motions.T @ motions, found, atol=1e-12)
    if driven == "none" and name in ("cylindrical", "slot", "pin", "universal", "sliders", "euler"):
        assert np.linalg.matrix_rank(found, tol=1e-9) == len(motions)
