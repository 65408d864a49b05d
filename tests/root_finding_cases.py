"""Solutions of variational steps by every root finder."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli import prepare
from multibody_cli.linalg.dense_lu import solve_dense
from multibody_cli.tree.configuration import displace
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.tree.kinematics import forward_kinematics
from multibody_cli.variational.discrete_motion import exceeds_rotation_limit
from multibody_cli.variational.newton import composite_jacobian
from multibody_cli.variational.poses import compute_poses
from multibody_cli.variational.step import apply_first_kick, drnea_inward_pass, drnea_residuals
from multibody_cli.variational.svi import svi_jacobian

CHAIN = Path(__file__).parents[1] / "scenes/bench/chain.yaml"
SETTINGS = "simulation.method=variational"


def run(path: str, steps: int, **options: Any) -> dict[str, Any]:
    """Take steps with these options; return the final state and the iterations."""
    simulation = prepare(path, [SETTINGS, *(f"simulation.options.{name}={value}" for name, value in options.items())])
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    reports = [method.start(state)]
    for k in range(steps):
        reports.append(method.advance(state, (k + 1) * simulation.scene.simulation.step))
    assert reports[-1].diagnostics is not None
    return {
        "q": state.q.tolist(),
        "v": state.v.tolist(),
        "status": reports[-1].status.value,
        "iterations": [report.iterations for report in reports[1:]],
        "fallbacks": sum(report.diagnostics.fallbacks for report in reports if report.diagnostics),
        "step_subdivisions": sum(report.diagnostics.step_subdivisions for report in reports if report.diagnostics),
        "residual_impulse": max(report.diagnostics.residual_impulse for report in reports if report.diagnostics),
    }


def derivative(path: str) -> dict[str, Any]:
    """The matrix of Newton's method at coordinates by chance, by both evaluations and by finite differences."""
    simulation = prepare(path, [SETTINGS, "simulation.options.root_finder=newton"])
    state = simulation.fresh_state()
    method: Any = simulation.method_for(state)
    method.start(state)
    method.advance(state, simulation.scene.simulation.step)
    system, work, step = method._system, method.work, method._stepper._scratch[0]
    tree, dense, h = system.tree, step.solver.dense, simulation.scene.simulation.step
    rate = np.random.default_rng(4).uniform(-20.0, 20.0, len(state.v))

    def residual_of(correction: Any) -> Any:
        step.q[:] = state.q
        displace(tree, step.q, rate, h)
        displace(tree, step.q, correction, h)
        compute_poses(tree, step.q, step.discrete_motions, step.pose_work)
        drnea_residuals(system, work, step, h)
        found = np.zeros(len(rate))
        drnea_inward_pass(tree, work, found)
        return found

    apply_first_kick(step, h)
    residual_of(np.zeros_like(rate))
    forward_kinematics(tree, step.q, dense.rest, dense.rest, dense.work)
    write_ball_columns(tree, dense.work)
    found = {}
    for name, evaluate_jacobian in (("drnea", composite_jacobian), ("svi", svi_jacobian)):
        evaluate_jacobian(tree, work, step)
        found[name] = dense.N.tolist()
    unit = np.eye(len(rate))
    differences = np.stack([(residual_of(-1e-5 * e) - residual_of(1e-5 * e)) / 2e-5 for e in unit], axis=1)
    return {**found, "differences": differences.tolist(), "driven": tree.driven.tolist()}


def newton_solves(settings: list[str], line_search: bool) -> bool:
    """Whether Newton's method solves the first step of the chain, with a backtracking line search or without.

    Backtracking halves a correction until the norm of the residual decreases.
    """
    simulation = prepare(str(CHAIN), [SETTINGS, "simulation.options.root_finder=newton", *settings])
    state = simulation.fresh_state()
    method: Any = simulation.method_for(state)
    method.start(state)
    system, work, step = method._system, method.work, method._stepper._scratch[0]
    tree, solver, h = system.tree, step.solver.dense, simulation.scene.simulation.step
    apply_first_kick(step, h)

    def moved(q: Any, rate: Any) -> Any:
        found = q.copy()
        displace(tree, found, rate, h)
        return found

    def residual_at(q: Any) -> Any:
        step.q[:] = q
        compute_poses(tree, step.q, step.discrete_motions, step.pose_work)
        drnea_residuals(system, work, step, h)
        found = np.zeros(len(state.v))
        drnea_inward_pass(tree, work, found)
        return found

    q = moved(state.q, state.v + 0.5 * h * state.a)
    residual = residual_at(q)
    for _ in range(60):
        forward_kinematics(tree, step.q, solver.rest, solver.rest, solver.work)
        write_ball_columns(tree, solver.work)
        composite_jacobian(tree, work, step)
        correction = np.linalg.solve(solver.N, residual)
        after = residual_at(moved(q, correction))
        while line_search and not np.linalg.norm(after) < max((1.0 - 1e-4) * np.linalg.norm(residual), 1e-10):
            correction *= 0.5
            if np.abs(correction).max() < 1e-6:
                return False
            after = residual_at(moved(q, correction))
        q, residual = moved(q, correction), after
        if np.abs(correction).max() < 1e-10 * max(1.0, np.abs(state.v).max()):
            return not exceeds_rotation_limit(step.discrete_motions)
    return False


def dense(n: int) -> dict[str, Any]:
    """A linear system that needs exchanges of rows, solved."""
    from multibody_cli.linalg.dense_lu import factor_dense

    random = np.random.default_rng(n)
    A, b, x, order = random.standard_normal((n, n)), random.standard_normal(n), np.zeros(n), np.zeros(n, np.int64)
    A[0, 0] = 0.0
    factors = A.copy()
    fine = factor_dense(factors, order)
    solve_dense(factors, order, b, x)
    singular = random.standard_normal((n, n))
    singular[:, 2] = 0.0
    return {"fine": bool(fine), "error": float(np.abs(A @ x - b).max()), "singular": not factor_dense(singular, order)}


def searches(path: str) -> dict[str, Any]:
    """Results of every root finder for a scene, by name."""
    roots = product(("riqn", "newton", "broyden"), ("drnea", "svi"))
    found: dict[str, Any] = {
        f"{root} {evaluation}": run(path, 3, root_finder=root, evaluation=evaluation, tolerance=1e-13)
        for root, evaluation in roots
    }
    found |= {
        guess: run(path, 3, initial_guess=guess, tolerance=1e-12) for guess in ("ig1", "ig2", "ig3", "extrapolated")
    }
    found["few"] = run(path, 1, max_iterations=1, root_finder="newton")
    found["cut"] = run(path, 1, max_iterations=2, root_finder="newton", tolerance=1e-8, adaptive="true")
    found["fallen back"] = run(path, 3, max_iterations=4, tolerance=1e-13)
    found["derivative"] = derivative(path)
    found["dense"] = dense(7)
    return found
