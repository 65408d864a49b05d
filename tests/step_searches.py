"""Searches for variational steps by every root finder."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from multibody_cli import prepare
from multibody_cli.linalg.dense_lu import solve_dense
from multibody_cli.tree.configuration import displace
from multibody_cli.tree.jacobian import complete_columns
from multibody_cli.tree.kinematics import place_all
from multibody_cli.variational.discrete_motion import find_lacks
from multibody_cli.variational.newton import fill_derivative, gather_composites, gather_lacks
from multibody_cli.variational.unconstrained import look_free, prepare_free

SETTINGS = "simulation.method=variational"


def run(path: str, steps: int, **options: Any) -> dict[str, Any]:
    """Take steps with these options; where they end and what they took."""
    simulation = prepare(path, [SETTINGS, *(f"simulation.options.{name}={value}" for name, value in options.items())])
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    reports = [method.start(state)]
    for k in range(steps):
        reports.append(method.advance(state, (k + 1) * simulation.scene.simulation.step))
    assert reports[-1].diagnosis is not None
    return {
        "q": state.q.tolist(),
        "v": state.v.tolist(),
        "status": reports[-1].status.value,
        "iterations": [report.iterations for report in reports[1:]],
        "fallbacks": sum(report.diagnosis.fallbacks for report in reports if report.diagnosis),
        "halvings": sum(report.diagnosis.halvings for report in reports if report.diagnosis),
        "imbalance": max(report.diagnosis.residual for report in reports if report.diagnosis),
    }


def derivative(path: str) -> dict[str, Any]:
    """The matrix of Newton's method at coordinates by chance, and by finite differences of what is lacking."""
    simulation = prepare(path, [SETTINGS, "simulation.options.root_finder=newton"])
    state = simulation.fresh_state()
    method: Any = simulation.method_for(state)
    method.start(state)
    method.advance(state, simulation.scene.simulation.step)
    system, work, ahead = method._system, method.work, method._ahead
    tree, dense, h = system.tree, ahead.solver.dense, simulation.scene.simulation.step
    rate = np.random.default_rng(4).uniform(-20.0, 20.0, len(state.v))

    def lacks(change: Any) -> Any:
        ahead.q[:] = state.q
        displace(tree, ahead.q, rate, h)
        displace(tree, ahead.q, change, h)
        look_free(system, work, ahead, 0.0)
        find_lacks(tree.links, work.bodies, ahead.strides, h, work.wrenches)
        work.impulse[:] = ahead.impulse
        found = np.zeros(len(rate))
        gather_lacks(tree, work, found)
        return found

    prepare_free(system, work, ahead, h)
    lacks(np.zeros_like(rate))
    place_all(tree, ahead.q, dense.rest, dense.rest, dense.work)
    complete_columns(tree, dense.work)
    gather_composites(tree, work.bodies, dense.work.bodies, ahead.strides, dense.composites)
    fill_derivative(tree, work, dense)
    unit = np.eye(len(rate))
    differences = np.stack([(lacks(-1e-5 * e) - lacks(1e-5 * e)) / 2e-5 for e in unit], axis=1)
    return {"N": dense.N.tolist(), "differences": differences.tolist(), "driven": tree.driven.tolist()}


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
    """What every search of a scene finds, by a word for it."""
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
