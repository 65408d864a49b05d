"""Variational steps one by one.

A case is a scene as data, a method, a step, how many of them, options, and a joint.
"""

from __future__ import annotations

from typing import Any

from loops import start

from multibody_cli.methods.contract import Status


def step_reports(case: dict[str, Any]) -> dict[str, list[Any]]:
    """Reports of each step until one does not converge, with joint coordinates and energies."""
    step = case["step"]
    run = start(case["scene"], case["method"], step=step, duration=1000 * step, options=case["options"])
    found: dict[str, list[Any]] = {
        "energy": [],
        "joint": [],
        "status": [],
        "corrections": [],
        "gap": [],
        "fallbacks": [],
    }
    for k in range(case["steps"] + 1):
        if k > 0:
            report = run.method.advance(run.state, k * step)
            assert report.diagnostics is not None
            found["status"].append(report.status.name)
            found["corrections"].append(report.iterations)
            found["fallbacks"].append(report.diagnostics.fallbacks)
            if report.status is not Status.OK:
                break
            found["gap"].append(run.errors()[0])
        found["energy"].append(run.energy())
        found["joint"].append(run.joint(case["joint"], "coordinates").tolist())
    found["q"] = run.state.q.tolist()
    return found
