"""Static optimization: closed forms, a brute-force minimum, special positions, and the laws of muscles."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import mbsim
from multibody_cli.studies.inverse.static_optimization import share_forces


def test_two_muscles_at_one_joint_share_by_their_strength_at_their_arms() -> None:
    """min a^2 + b^2 + c^2 with p a + q b + r c = m: a = p m / (p^2 + q^2 + r^2)."""
    p, q, r, m = 30.0, 40.0, 1e-3, 10.0
    found = share_forces(np.array([[p, q]]), np.array([m]), np.array([r]), np.zeros(2))
    np.testing.assert_allclose(found.activations, np.array([p, q]) * m / (p * p + q * q + r * r), rtol=1e-10)
    np.testing.assert_allclose(found.reserves, [r * r * m / (p * p + q * q)], rtol=1e-4)


def test_a_full_muscle_leaves_the_rest_to_the_other() -> None:
    """With p = 100 and q = 20, the first would need 1.07 of 112: it is full, and the second supplies 12."""
    found = share_forces(np.array([[100.0, 20.0]]), np.array([112.0]), np.array([1e-3]), np.zeros(2))
    np.testing.assert_allclose(found.activations, [1.0, 240.0 / (400.0 + 1e-6)], rtol=1e-10)


def test_the_reserve_balances_its_cost_with_that_of_the_muscle() -> None:
    """min a^2 + c^2 with p a + r c = m: a = p m / (p^2 + r^2)."""
    found = share_forces(np.array([[30.0]]), np.array([6.0]), np.array([10.0]), np.zeros(1))
    np.testing.assert_allclose(found.activations, [30.0 * 6.0 / 1000.0], rtol=1e-12)
    np.testing.assert_allclose(found.reserves, [10.0 * 10.0 * 6.0 / 1000.0], rtol=1e-12)


def test_muscles_without_leverage_rest() -> None:
    A = np.array([[0.0, 50.0], [0.0, 0.0]])
    found = share_forces(A, np.array([10.0, 3.0]), np.array([1.0, 1.0]), np.array([0.01, 0.0]))
    assert found.activations[0] == 0.01
    assert found.reserves[1] == 3.0
    np.testing.assert_allclose(found.activations[1], 500.0 / 2501.0, rtol=1e-12)


def test_forces_that_no_muscle_can_pull_are_reserves() -> None:
    found = share_forces(np.array([[50.0, 20.0]]), np.array([-10.0]), np.array([1.0]), np.array([0.01, 0.01]))
    np.testing.assert_array_equal(found.activations, [0.01, 0.01])
    np.testing.assert_allclose(found.reserves, [-10.7], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_random_problems_against_a_search_of_all_active_sets(seed: int) -> None:
    random = np.random.default_rng(seed)
    A, b = random.normal(0.0, 20.0, (3, 6)), random.normal(0.0, 25.0, 3)
    reserve, low = random.uniform(0.5, 5.0, 3), np.full(6, 0.01)
    found = share_forces(A, b, reserve, low)

    def cost(a: np.ndarray) -> float:
        return float(a @ a + np.sum(((b - A @ a) / reserve) ** 2))

    best, costs = None, np.inf
    for states in product((-1, 0, 1), repeat=6):  # at the lower bound, free, at the upper bound
        a = np.where(np.array(states) < 0, low, 1.0)
        free = np.flatnonzero(np.array(states) == 0)
        rest = b - np.delete(A, free, 1) @ np.delete(a, free)
        B = A[:, free] / reserve[:, None]
        a[free] = np.linalg.solve(np.eye(len(free)) + B.T @ B, B.T @ (rest / reserve))
        if (a >= low - 1e-12).all() and (a <= 1.0 + 1e-12).all() and cost(a) < costs:
            best, costs = a, cost(a)
    np.testing.assert_allclose(found.activations, best, atol=1e-10)
    other = minimize(cost, np.full(6, 0.5), bounds=[(0.01, 1.0)] * 6, tol=1e-14)
    assert cost(found.activations) <= other.fun + 1e-9


ELBOW = """mbsim: 1
gravity: [0, -9.81, 0]
bodies:
  forearm: {mass: 1.5, inertia: {principal: [0.01, 0.002, 0.01]}, com: [0.15, 0, 0]}
joints:
  elbow: {type: revolute, child: forearm, axis: [0, 0, 1], q: 0.3}
muscles:
  biceps:
    path: [{body: world, point: [0, 0.3, 0]}, {body: forearm, point: [0.05, 0, 0]}]
    max_isometric_force: 500
    optimal_length: 0.28
    max_velocity: 8
    curves: {type: thelen2003}
    minimum_activation: 0
    activation: 0
  brachialis:
    path: [{body: world, point: [0, 0.15, 0]}, {body: forearm, point: [0.03, 0, 0]}]
    max_isometric_force: 800
    optimal_length: 0.14
    pennation_angle: 0.2
    curves: {type: millard2012}
    activation: 0
  triceps:
    path:
      - {body: world, point: [0, 0.3, 0]}
      - {body: world, point: [-0.02, 0.02, 0]}
      - {body: forearm, point: [-0.02, 0, 0]}
    max_isometric_force: 700
    optimal_length: 0.3
    curves: {type: degroote2016}
    activation: 0
simulation: {duration: 1, step: 1 ms}
"""


def motion(path: Path, angle: str = "0.6 + 0.5*np.sin(4*t)") -> Path:
    t = np.linspace(0.0, 1.0, 101)
    rows = "\n".join(f"{time!r},{value!r}" for time, value in zip(t.tolist(), eval(angle).tolist(), strict=True))
    path.write_text(f"time,elbow\n{rows}\n")
    return path


def test_muscles_and_reserves_supply_the_forces_and_move_the_scene(tmp_path: Path) -> None:
    """The tensions at their moment arms and the reserves are the forces, and cause the measured accelerations."""
    scene, table, out = tmp_path / "elbow.yaml", motion(tmp_path / "motion.csv"), tmp_path / "out.h5"
    scene.write_text(ELBOW)
    alone = mbsim.inverse(scene, table)
    found = mbsim.inverse(scene, table, muscles=True, output=out)
    np.testing.assert_allclose(found.forces, alone.forces, rtol=1e-14)
    run = mbsim.read(out)
    arms = np.column_stack([run[f"muscles/{name}/moment_arm"] for name in found.muscles])
    np.testing.assert_allclose(
        np.sum(arms * found.tensions, axis=1) + found.reserves[:, 0], found.forces[:, 0], atol=1e-11
    )
    for name, tension in zip(found.muscles, found.tensions.T, strict=True):
        np.testing.assert_allclose(run[f"muscles/{name}/force"], tension, atol=1e-10)
        np.testing.assert_allclose(run[f"muscles/{name}/activation"], found.activation(name), atol=1e-15)
    t = found.times[20:-20]
    np.testing.assert_allclose(run["joints/elbow/acceleration"][20:-20, 0], -8.0 * np.sin(4.0 * t), atol=1e-3)
    assert found.activations.max() > 0.02


def test_passive_forces_are_part_of_the_tension_where_asked(tmp_path: Path) -> None:
    scene, table, out = tmp_path / "elbow.yaml", motion(tmp_path / "motion.csv"), tmp_path / "out.h5"
    scene.write_text(ELBOW.replace("optimal_length: 0.28", "optimal_length: 0.2"))
    plain = mbsim.inverse(scene, table, muscles=True)
    found = mbsim.inverse(scene, table, muscles=True, passive=True, output=out)
    assert found.tensions[:, 0].max() > 50.0 > plain.tensions[:, 0].max()
    run = mbsim.read(out)
    np.testing.assert_allclose(run["muscles/biceps/force"], found.tensions[:, 0], atol=1e-9)
    arms = np.column_stack([run[f"muscles/{name}/moment_arm"] for name in found.muscles])
    # required forces are those beyond passive ones, which act as springs do
    total = np.sum(arms * found.tensions, axis=1) + found.reserves[:, 0]
    np.testing.assert_allclose(total, plain.forces[:, 0], atol=1e-10)


def test_weak_muscles_are_named_with_the_instant(tmp_path: Path) -> None:
    scene, table = tmp_path / "elbow.yaml", motion(tmp_path / "motion.csv")
    scene.write_text(ELBOW.replace("500", "5").replace("800", "5"))
    found = mbsim.inverse(scene, table, muscles=True, reserve=0.01)
    (text,) = found.weaknesses(0.05)
    assert text.startswith("muscles cannot supply elbow at 101 of 101 instants: a reserve of ")
    assert text.endswith("with full activation of biceps, brachialis")
    found = mbsim.inverse(scene, table, muscles=True, reserve=100.0)
    (text,) = found.weaknesses(0.05)
    assert text.endswith("where reserves cost less than muscles, as with a smaller --reserve they would not")
