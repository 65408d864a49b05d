"""Variational steps without compiling: `python interpreted_runs.py CASES` tells of each step of each case, as JSON.

CASES is a file with a list of cases: a scene as data, a method, a step, how many of them, options, and a joint.  Every
root finder and every kind of restraint is a compilation of a minute or two; some steps of a small scene in plain Python
take seconds.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from loops import start

from multibody_cli.methods.contract import Status


def told(case: dict[str, Any]) -> dict[str, list[Any]]:
    """What each step tells, until one is not found, and where a joint and the energies are at its end."""
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
            assert report.diagnosis is not None
            found["status"].append(report.status.name)
            found["corrections"].append(report.iterations)
            found["fallbacks"].append(report.diagnosis.fallbacks)
            if report.status is not Status.OK:
                break
            found["gap"].append(run.errors()[0])
        found["energy"].append(run.energy())
        found["joint"].append(run.joint(case["joint"], "coordinates").tolist())
    found["q"] = run.state.q.tolist()
    return found


if __name__ == "__main__":
    cases = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    json.dump([told(case) for case in cases], sys.stdout)
