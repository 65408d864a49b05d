"""Runs of the variational methods: the final state of a scene by method, order and step."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loops import Data, Run, start

from multibody_cli.compile import compile_scene
from multibody_cli.methods.contract import Status
from multibody_cli.scene.load import load_scene

SCENES = Path(__file__).parents[2] / "scenes"
METHODS = ("variational", "variational_maximal")
TIGHT = {"tolerance": 1e-13}

both_methods = pytest.mark.parametrize("method", METHODS)


def delivered(name: str, *settings: str, folder: str = "validation") -> Data:
    """A scene of `scenes` as data, without its expectations."""
    loaded = load_scene(SCENES / folder / f"{name}.yaml", [*settings, "expect=[]"])
    compile_scene(loaded)
    return {key: value for key, value in loaded.data.items() if key not in ("simulation", "output", "mbsim")}


def end_of(run: Run, until: float) -> np.ndarray:
    """Positions, rotations, velocities and accounts at a time, as numbers that do not jump."""
    if run.state.time[0] < until:
        run.advance(until)
    samples = run.observed()
    x = samples.quaternion[0]
    products = np.einsum("bi,bj->bij", x, x)
    kinds = (samples.position[0], products, samples.linear_velocity[0], samples.angular_velocity[0])
    return np.concatenate([kind.ravel() for kind in kinds])


def stepped(scene: Data, method: str, step: float, **options: Any) -> Run:
    """A scene that is started with one of the methods."""
    return start(scene, method, step=step, duration=step * 2**20, options={**TIGHT, **options})


def finely(scene: Data) -> Run:
    """The same with the finest integrator that there is, as a reference."""
    return start(scene, "aba", "dop853", tolerance=1e-13, duration=1000.0)


def orders(errors: list[float]) -> list[float]:
    """Orders of convergence of errors, with each step half of the previous one."""
    return [math.log2(a / b) for a, b in pairwise(errors)]


def errors_of(scene: Data, method: str, until: float, steps: list[float], **options: Any) -> list[float]:
    """Largest error of each run against the reference."""
    exact = end_of(finely(scene), until)
    return [float(np.abs(end_of(stepped(scene, method, h, **options), until) - exact).max()) for h in steps]


def failed(run: Run, until: float) -> Any:
    """Advance a run that must fail, and return its report."""
    report = run.method.advance(run.state, until)
    assert report.status is not Status.OK
    return report
