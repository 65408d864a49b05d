"""The root finders of the variational method compute the same steps, and its derivative is correct."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import yaml
from loops import start
from root_finding_cases import CHAIN, SETTINGS, newton_solves, searches

from multibody_cli import prepare
from multibody_cli.methods import variational

ROOT = Path(__file__).parents[2]
RODS = [{"type": "cylinder", "radius": 0.05, "length": 0.4}]
JOINTS = {
    "free": {"type": "free", "child": "trunk", "v": {"linear": [1, 0, 2], "angular": [0.5, -1, 2]}},
    "slide": {"type": "prismatic", "parent": "trunk", "child": "sled", "axis": [1, 0, 0], "v": 1},
    "ball": {"type": "spherical", "parent": "trunk", "child": "arm", "v": [1, 2, -1]},
    "cross": {"type": "universal", "parent": "arm", "child": "hand", "q": [0.4, -0.3], "v": [2, 1]},
    "chart": {"type": "spherical", "parent": "sled", "child": "tail", "parametrization": "exponential", "v": [0, 3, 1]},
    "turn": {"type": "revolute", "parent": "tail", "child": "tip", "axis": [0, 0.6, 0.8], "q": 1, "v": -4},
    "drive": {"type": "revolute", "parent": "hand", "child": "wheel", "motion": {"velocity": "5*t"}},
}
SCENE = {
    "mbsim": 1,
    "name": "zoo",
    "description": "A free body with two arms of joints of many kinds, one of them driven.",
    "bodies": {joint["child"]: {"mass": 1.0, "shapes": RODS} for joint in JOINTS.values()},
    "joints": {
        name: {"origin": {"position": [0.1, 0, -0.2]}, "child_origin": {"position": [0, 0.1, 0.2]}, **joint}
        for name, joint in JOINTS.items()
    },
    "simulation": {"duration": 1.0, "step": 0.04},
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results of all root finders."""
    path = tmp_path_factory.mktemp("searches") / "zoo.yaml"
    path.write_text(yaml.safe_dump(SCENE, sort_keys=False), encoding="utf-8")
    return searches(str(path))


def test_all_root_finders_compute_the_same_steps(found: dict[str, Any]) -> None:
    reference = found["newton drnea"]
    assert reference["residual_impulse"] < 1e-13
    for root, evaluation in product(("riqn", "newton", "broyden"), ("drnea", "svi")):
        other = found[f"{root} {evaluation}"]
        assert other["status"] == "ok"
        np.testing.assert_allclose(other["q"], reference["q"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(other["v"], reference["v"], rtol=0, atol=1e-10)


def test_newton_needs_fewer_corrections_than_broyden_and_broyden_fewer_than_riqn(found: dict[str, Any]) -> None:
    newton, broyden, riqn = (sum(found[f"{root} drnea"]["iterations"]) for root in ("newton", "broyden", "riqn"))
    assert newton < broyden < riqn


def test_the_derivative_agrees_with_finite_differences(found: dict[str, Any]) -> None:
    """At rates of 20 rad/s and a step of 10 ms, so that it is far from symmetric."""
    matrices = found["derivative"]
    free = ~np.array(matrices["driven"])
    N, sums, differences = (np.array(matrices[name])[np.ix_(free, free)] for name in ("drnea", "svi", "differences"))
    assert np.count_nonzero(~free) == 1
    np.testing.assert_allclose(N, differences, rtol=0, atol=1e-8)
    np.testing.assert_allclose(matrices["svi"], matrices["drnea"], rtol=0, atol=1e-13)
    np.testing.assert_allclose(sums, differences, rtol=0, atol=1e-8)
    assert np.abs(N - N.T).max() > 0.05 * np.abs(N).max()


def test_initial_guesses_change_the_number_of_iterations_but_not_the_step(found: dict[str, Any]) -> None:
    guesses = [found[guess] for guess in ("ig1", "ig2", "ig3", "extrapolated")]
    for other in guesses[1:]:
        np.testing.assert_allclose(other["q"], guesses[0]["q"], rtol=0, atol=1e-10)
    taken = [sum(guess["iterations"][1:]) for guess in guesses]
    assert taken[0] > taken[1] > max(taken[2:])


def test_the_first_correction_of_riqn_from_rest_is_that_of_forward_dynamics() -> None:
    """h M(q)^-1 e, (25) of the paper: without motion, e is half of the impulse of the forces."""
    count, h = 4, 0.01
    body = {"mass": 1.3, "com": [0.1, -0.2, 0.3], "inertia": {"principal": [0.1, 0.2, 0.25]}}
    joints = {
        f"j{i}": {
            "type": "revolute",
            "axis": [1, 2 - i, i],
            "parent": f"b{i - 1}" if i else "world",
            "child": f"b{i}",
            "origin": {"position": [0.3, 0.1 * i, -0.4]},
            "q": 0.3 - 0.2 * i,
        }
        for i in range(count)
    }
    scene = {"bodies": {f"b{i}": body for i in range(count)}, "joints": joints}
    options = {"root_finder": "riqn", "initial_guess": "ig1", "max_iterations": 1, "tolerance": 1e-300}
    with patch.object(variational, "MAX_DENSE_DOFS", 0):  # without the fallback to Newton's method
        run = start(scene, "variational", step=h, duration=1.0, options=options)
        run.method.advance(run.state, h)
    np.testing.assert_allclose(run.method.work.response[:count], 0.5 * h * start(scene).state.a, rtol=1e-10)


def test_a_step_that_does_not_converge_is_reported_subdivided_or_solved_by_the_fallback(found: dict[str, Any]) -> None:
    assert found["few"]["status"] == "a step did not converge"
    assert found["cut"]["status"] == "ok"
    assert found["cut"]["step_subdivisions"] > 0
    assert found["fallen back"]["status"] == "ok"
    assert found["fallen back"]["fallbacks"] > 0
    np.testing.assert_allclose(found["fallen back"]["q"], found["newton drnea"]["q"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("joint", "links", "swing", "step", "solved"),
    [
        ("revolute", 5, 4, 0.2, True),
        ("revolute", 5, 4, 0.4, False),
        ("spherical", 2, 4, 0.1, True),
        ("spherical", 2, 4, 0.2, False),
        ("spherical", 20, 4, 0.05, False),
    ],
)
def test_halved_steps_converge_where_a_line_search_does_not(
    joint: str, links: int, swing: float, step: float, solved: bool
) -> None:
    """The line search of Bruedigam and Manchester 2020, 4.2, ends at a minimum of the residual that is not 0."""
    chain = [f"vars.joint={joint}", f"vars.n={links}", f"vars.swing={swing}", f"simulation.step={step}"]
    settings = [*chain, f"simulation.duration={10 * step}", f"output.every={step}"]
    assert newton_solves(settings, line_search=False) == newton_solves(settings, line_search=True) == solved
    halved = prepare(
        str(CHAIN), [SETTINGS, *settings, "simulation.options={root_finder: newton, adaptive: true, order: 2}"]
    )
    state = halved.fresh_state()
    method = halved.method_for(state)
    method.start(state)
    report = method.advance(state, step)
    assert report.status.value == "ok"
    assert report.diagnostics is not None
    assert (report.diagnostics.step_subdivisions > 0) != solved


def test_a_dense_matrix_is_factored_with_pivoting(found: dict[str, Any]) -> None:
    assert found["dense"]["fine"]
    assert found["dense"]["error"] < 1e-13
    assert found["dense"]["singular"]
