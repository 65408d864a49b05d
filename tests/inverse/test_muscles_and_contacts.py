"""Muscles and closed contacts together: an arm that presses on a table, in closed form."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.studies.inverse.inverse_dynamics import InverseDynamics
from multibody_cli.studies.inverse.least_forces import Part, least_forces
from multibody_cli.studies.inverse.motion import MeasuredMotion
from multibody_cli.studies.inverse.static_optimization import share_forces
from multibody_cli.studies.inverse.study import OVERRIDES, InverseProblem, Question
from multibody_cli.studies.simulation import prepare

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

LENGTH = math.hypot(0.3, 0.05)
ARM = 0.3 * 0.05 / LENGTH
"""Moment arm of both muscles at the elbow, m."""

TABLE = f"""mbsim: 1
gravity: [0, 0, -10]
world: {{shapes: [{{type: plane}}]}}
bodies:
  cart: {{mass: 3, inertia: {{principal: [1, 1, 1]}}}}
  forearm: {{mass: 1.5, com: [0.15, 0, 0], inertia: {{principal: [0.01, 0.02, 0.02]}},
    shapes: [{{type: sphere, radius: 0.1, position: [0.3, 0, 0]}}]}}
joints:
  rail: {{type: prismatic, axis: [1, 0, 0], child: cart, origin: {{position: [0, 0, 0.1]}}}}
  elbow: {{type: revolute, axis: [0, -1, 0], parent: cart, child: forearm}}
muscles:
  lift: {{path: [{{body: cart, point: [0, 0, 0.3]}}, {{body: forearm, point: [0.05, 0, 0]}}],
    max_isometric_force: 500, optimal_length: {LENGTH!r}, max_velocity: 10, curves: {{type: thelen2003}},
    minimum_activation: 0, activation: 0}}
  press: {{path: [{{body: cart, point: [0, 0, -0.3]}}, {{body: forearm, point: [0.05, 0, 0]}}],
    max_isometric_force: 200, optimal_length: {LENGTH!r}, max_velocity: 10, curves: {{type: thelen2003}},
    minimum_activation: 0.3, activation: 0.3}}
contacts: {{friction: 0}}
simulation: {{duration: 1, step: 1 ms}}
"""
RESERVE = 0.7


def at_rest(folder: Path, a: list[float]) -> InverseDynamics:
    """Return the inverse dynamics of the arm at rest on the table, with accelerations of rail and elbow."""
    path = folder / "table.yaml"
    path.write_text(TABLE)
    values = [np.tile(np.array(row, float), (2, 1)) for row in ([0, 0], [0, 0], a)]
    motion = MeasuredMotion("given", np.array([0.0, 1.0]), np.arange(2), *values)
    question = Question(None, muscles=True, reserve=RESERVE, gap=1e-4)
    return InverseProblem(prepare(path, OVERRIDES), question, motion).solve()


def test_a_muscle_presses_the_arm_on_the_table(tmp_path: Path) -> None:
    """The table, the other muscle and the reserve share the moment of weight and muscle by their squares.

    min a^2 + c^2 + (N/F)^2 with p a + r c + L N = M: a = p M / (p^2 + r^2 + (L F)^2).
    """
    found = at_rest(tmp_path, [0, 0])
    p, L, F = 500 * ARM, 0.3, 500.0
    M = 1.5 * 10 * 0.15 + 0.3 * 200 * ARM
    each = M / (p**2 + RESERVE**2 + (L * F) ** 2)
    np.testing.assert_allclose(found.activation("lift"), p * each, rtol=1e-9)
    np.testing.assert_allclose(found.activation("press"), 0.3, rtol=1e-12)
    np.testing.assert_allclose(found.contact_force("forearm"), [[0, 0, L * F**2 * each]] * 2, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.tensions, [[500 * p * each, 60]] * 2, rtol=1e-9)
    supplied = ARM * (500 * p * each - 60) + RESERVE**2 * each
    np.testing.assert_allclose(found.force("elbow"), supplied, rtol=1e-8)
    np.testing.assert_allclose(found.reserves[:, 1], RESERVE**2 * each, rtol=1e-8)
    assert found.residuals == ("rail",)
    assert not found.remarks


def test_the_forces_hold_the_arm_in_the_result_file(tmp_path: Path) -> None:
    """Muscles, reserves and contacts act together in the scene: nothing accelerates."""
    path, motion, result = tmp_path / "table.yaml", tmp_path / "still.csv", tmp_path / "still.h5"
    path.write_text(TABLE)
    motion.write_text("time,rail,elbow\n" + "".join(f"{0.1 * k!r},0,0\n" for k in range(8)))
    found = mbsim.inverse(path, motion, contacts=1e-4, muscles=True, output=result)
    run = mbsim.read(result)
    for joint in ("rail", "elbow"):
        np.testing.assert_allclose(run[f"joints/{joint}/acceleration"], 0.0, atol=1e-8)
    np.testing.assert_allclose(run["muscles/press/force"], 60.0, rtol=1e-9)
    np.testing.assert_allclose(run["bodies/contact_force"].values[:, 1], found.contact_force("forearm"), rtol=1e-12)
    assert found.contact_force("forearm")[0, 2] > 1.0


def test_the_table_does_not_pull(tmp_path: Path) -> None:
    """Downwards from rest: the muscle that presses and the reserve accelerate the arm, and the table does nothing."""
    found = at_rest(tmp_path, [0, -150])
    p = 200 * ARM
    M = (0.02 + 1.5 * 0.15**2) * 150 - 1.5 * 10 * 0.15
    np.testing.assert_allclose(found.contact_force("forearm"), 0.0, atol=1e-9)
    np.testing.assert_allclose(found.activation("press"), p * M / (p**2 + RESERVE**2), rtol=1e-8)
    np.testing.assert_allclose(found.activation("lift"), 0.0, atol=1e-12)
    assert 0.3 < found.activation("press")[0] < 1.0


def test_efforts_without_a_force_are_residuals(tmp_path: Path) -> None:
    """The table has no friction and the muscles are internal: nothing accelerates the cart."""
    found = at_rest(tmp_path, [2, 0])
    np.testing.assert_allclose(found.force("rail"), (3 + 1.5) * 2, rtol=1e-6)
    np.testing.assert_allclose(found.activation("press"), 0.3, rtol=1e-12)
    [text] = found.remarks
    assert text.endswith("a residual of 9 on rail at t = 0 s")


@pytest.mark.parametrize("seed", range(20))
def test_without_contacts_muscles_have_the_shares_of_static_optimization(seed: int) -> None:
    """Two algorithms: Newton's method on the dual, and active sets."""
    random = np.random.default_rng(seed)
    A, b = random.normal(0.0, 20.0, (3, 6)), random.normal(0.0, 25.0, 3)
    reserve = random.uniform(0.5, 5.0, 3)
    expected = share_forces(A, b, reserve, np.full(6, 0.01))
    parts = [*(Part(k, low=0.01, high=1.0) for k in range(6)), *(Part(k) for k in range(6, 9))]
    found = least_forces(np.hstack([A, np.diag(reserve)]), b, parts)
    np.testing.assert_allclose(found.x[:6], expected.activations, atol=1e-9)
    np.testing.assert_allclose(reserve * found.x[6:], expected.reserves, atol=1e-7)
