"""Constraint rows in variational steps, by every root finder: loops, limits, singular positions, contradictions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loops import Data
from variational_runs import METHODS, delivered
from variational_steps import step_reports

TESTS = Path(__file__).parents[1]
FINDERS = tuple(product(METHODS, ("riqn", "newton")))
each_finder = pytest.mark.parametrize(("method", "finder"), FINDERS)

BEAM = {"mass": 1.0, "com": [0.5, 0, 0], "inertia": {"principal": [0.01, 0.1, 0.1]}}
Z = {"type": "revolute", "axis": [0, 0, 1]}


def hanging() -> Data:
    """Four links between two hinges, pulled aside by gravity."""
    return delivered("loop", "vars.n=4", "gravity=[4, 0, -9]", folder="bench")


def limited() -> Data:
    """The same, with a limit in the way."""
    scene = hanging()
    scene["joints"]["joint1"]["limits"] = [-1.0, -0.7]
    return scene


def hinge() -> Data:
    """One rod that swings against a limit."""
    return {
        "bodies": {"rod": BEAM},
        "joints": {"turn": {**Z, "child": "rod", "q": 0.3, "v": 2, "limits": [None, 0.32]}},
    }


def parallelogram(*, opening: float, **motions: str) -> Data:
    """Two cranks of 1 m and a coupler of 2 m; joints may be driven."""
    bodies = {"crank": BEAM, "rocker": BEAM, "coupler": {**BEAM, "com": [1.0, 0, 0]}}
    joints = {
        "A": {**Z, "child": "crank", "q": opening, "v": 3},
        "B": {**Z, "parent": "crank", "child": "coupler", "origin": {"position": [1, 0, 0]}, "q": -opening, "v": -3},
        "D": {**Z, "child": "rocker", "origin": {"position": [2, 0, 0]}, "q": opening, "v": 3},
        "C": {
            **Z,
            "parent": "coupler",
            "child": "rocker",
            "origin": {"position": [2, 0, 0]},
            "child_origin": {"position": [1, 0, 0]},
        },
    }
    if motions:
        for joint in joints.values():
            joint.pop("v", None)
    for name, law in motions.items():
        del joints[name]["q"]
        joints[name]["motion"] = {"position": law}
    return {"bodies": bodies, "joints": joints, "gravity": [0, -9.81, 0]}


def rhombus() -> Data:
    """Four rods that fall together until they overlap, and open to the other side."""
    return delivered("fourbar_chain", "vars.n=1", "gravity=[0, 0, -40]", folder="bench")


def driven_into_a_limit() -> Data:
    """The rocker meets a limit while the crank is driven on."""
    scene = parallelogram(opening=0.9, A="0.9+0.5*t")
    scene["joints"]["D"]["limits"] = [None, 0.91]
    return scene


def locked_slider() -> Data:
    """A block on a rail at the place where a rod to the side lets it move along at first, but no farther."""
    return {
        "gravity": [0, 0, 0],
        "bodies": {"a": {"mass": 1.0, "inertia": {"principal": [0.1, 0.1, 0.1]}}},
        "joints": {"s": {"type": "prismatic", "child": "a", "axis": [1, 0, 0], "v": 1.0}},
        "constraints": {
            "rod": {
                "type": "distance",
                "length": 1.0,
                "between": [{"body": "world", "point": [0, 1, 0]}, {"body": "a", "point": [0, 0, 0]}],
            }
        },
    }


SCENES: dict[str, tuple[Callable[[], Data], str, float, int]] = {
    "loop": (hanging, "joint1", 0.01, 12),
    "limited loop": (limited, "joint1", 0.01, 12),
    "hinge": (hinge, "turn", 0.005, 12),
    "flat": (lambda: parallelogram(opening=-0.045), "A", 0.01, 5),
    "rhombi": (rhombus, "side_c0", 0.01, 24),
    "driven": (driven_into_a_limit, "D", 0.01, 5),
    "locked": (locked_slider, "s", 0.01, 3),
    "contradiction": (
        lambda: parallelogram(opening=0.9, A="0.9+0.5*t", B="-0.9-0.5*t", D="0.9+0.5*t+0.3*t**2"), "A", 0.01, 4
    ),
}  # fmt: skip
"""Cases of every root finder: a scene, a joint to look at, a step and how many of them."""

COLD = {"tolerance": 1e-12, "initial_guess": "ig1"}
LARGE = {"adaptive": True, "initial_guess": "ig2"}


def case(scene: Data, joint: str, step: float, steps: int, method: str, **options: Any) -> dict[str, Any]:
    """One run, as it is passed on."""
    return {"scene": scene, "joint": joint, "step": step, "steps": steps, "method": method, "options": options}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Any]:
    """The reports of the steps, in two processes that do not compile."""
    cases = {
        (name, method, finder): case(make(), joint, step, steps, method, root_finder=finder)
        for (name, (make, joint, step, steps)), (method, finder) in product(SCENES.items(), FINDERS)
    }
    cases |= {
        ("cold", *both): case(hanging(), "joint1", 0.04, 8, both[0], root_finder=both[1], **COLD) for both in FINDERS
    }
    swing = delivered("double_pendulum_rods")
    cases |= {("large", method, ""): case(swing, "elbow", 0.2, 15, method, **LARGE) for method in METHODS}
    return {key: step_reports(case) for key, case in cases.items()}


@pytest.mark.parametrize("scene", ["loop", "limited loop", "hinge"])
def test_root_finders_find_the_same_steps(found, scene):
    """By either method with either: the same motion, positions that hold, and no step that is lost."""
    runs = [found[scene, *both] for both in FINDERS]
    for run in runs:
        assert set(run["status"]) == {"OK"}
        assert max(run["gap"]) < 1e-10
        np.testing.assert_allclose(run["joint"], runs[0]["joint"], rtol=0, atol=1e-9)
        energies = [np.array(one["energy"])[:, 0] for one in (run, runs[0])]
        np.testing.assert_allclose(*energies, rtol=0, atol=1e-8)


@each_finder
@pytest.mark.parametrize(("scene", "limit"), [("limited loop", -0.7), ("hinge", 0.32)])
def test_limits_hold_and_what_impacts_dissipate_is_booked(found, scene, limit, method, finder):
    run = found[scene, method, finder]
    turns, (energy, balance) = np.array(run["joint"])[:, 0], np.array(run["energy"]).T
    assert turns.max() == pytest.approx(limit, abs=1e-11)
    assert energy[-1] < energy[0] - 0.1
    assert np.abs(balance - balance[0]).max() < 0.01


@pytest.mark.parametrize("method", METHODS)
def test_newton_stays_quadratic_with_a_loop(found, method):
    """From no motion to 1e-12: by the exact derivative four or five corrections, by that of the start many more."""
    newton, riqn = (max(found["cold", method, finder]["corrections"]) for finder in ("newton", "riqn"))
    assert newton <= 5 < riqn


@each_finder
@pytest.mark.parametrize("scene", ["flat", "rhombi"])
def test_a_loop_passes_positions_in_which_it_loses_rank(found, scene, method, finder):
    """In whole steps: if the answers of the start send RIQN back, Newton's method may find the step."""
    run = found[scene, method, finder]
    if (method, finder) == ("variational_maximal", "riqn"):
        assert run["status"][-1] == "NOT_CONVERGED"
        return
    assert set(run["status"]) == {"OK"}
    assert max(run["gap"]) < 1e-10
    if scene == "rhombi":
        turns = np.array(run["joint"])[:, 0]
        passed = np.flatnonzero(np.diff(np.sign(turns)))
        assert len(passed) > 0
        assert np.abs(np.diff(turns))[passed].min() > 0.01  # no step ends there and stays
        if finder == "newton":
            assert sum(run["fallbacks"]) == 0


@each_finder
@pytest.mark.parametrize("scene", ["locked", "contradiction", "driven"])
def test_rows_that_nothing_can_hold_are_no_step(found, scene, method, finder):
    """A gap is no way out: of a row that has no answer where it presses, or of motions that forbid each other."""
    assert found[scene, method, finder]["status"][-1] == "NOT_CONVERGED"


@pytest.mark.parametrize("method", METHODS)
def test_a_search_that_failed_leaves_no_trace_in_the_next_guess(found, method):
    """Large steps that are cut, each guessed by the one before that was found."""
    assert found["large", method, ""]["status"] == ["OK"] * 15
