"""Columns 1 and 2 of the numbers that RedMax lists, whose drift is that of their integrator, with the equations here.

The integrator is the pair of Dormand and Prince of order 5 with the selection of steps of MATLAB's `ode45`, at a
relative tolerance of 1e-4 and an absolute one of 1e-6.  Loops and constraints have the feedback of the program, in
accelerations, at 5/s.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.studies.papers.reading import read_paper
from multibody_cli.studies.simulation import prepare

TIMES = np.array([1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
STAGES = [
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]
ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])


def ode45(rate: Callable[[float, Any], Any], y: Any, end: float, relative: float, absolute: Any) -> Any:
    """Integrate dy/dt = rate(t, y) from 0 to `end`."""
    threshold, t, first = absolute / relative, 0.0, rate(0.0, y)
    longest = 0.1 * end
    step = min(longest, end)
    slope = np.max(np.abs(first) / np.maximum(np.abs(y), threshold)) / (0.8 * relative**0.2)
    step = 1.0 / slope if step * slope > 1.0 else step
    while True:
        step, failed = min(longest, step), False
        while True:
            last = 1.1 * step >= end - t
            h = end - t if last else step
            step = h if last else step
            slopes = [first]
            for time, weights in zip(TIMES, STAGES, strict=True):
                moved = y + h * sum(w * f for w, f in zip(weights, slopes, strict=True))
                slopes.append(rate(t + h * time, moved))
            scale = np.maximum(np.maximum(np.abs(y), np.abs(moved)), threshold)
            error = step * np.max(np.abs(ERROR @ np.array(slopes)) / scale)
            if error <= relative:
                break
            step *= 0.5 if failed else max(0.1, 0.8 * (relative / error) ** 0.2)
            failed = True
        t, y, first = t + h, moved, slopes[-1]
        if last:
            return y
        if not failed:
            step /= max(1.25 * (error / relative) ** 0.2, 0.2)


def change_of_energy(path: Path, overrides: list[str], translations: dict[int, float]) -> float:
    """T + V at the end, minus V at the start; `translations` are coordinates that are lengths, with their cm in m."""
    prepared = prepare(path, overrides)
    state = prepared.compiled.state
    method = prepared.method_for(state)
    system, equations = prepared.compiled.model.system, EquationsOfMotion(prepared.compiled.model)
    n, powers = equations.n, np.zeros_like(state.ledger)

    def place(t: float, y: Any) -> None:
        state.time[0], state.q[:n], state.v[:n] = t, y[:n], y[n:]

    def rate(t: float, y: Any) -> Any:
        place(t, y)
        method.dynamics.evaluate(system, method.work, t, state.q, state.v, state.a, powers)
        return np.concatenate([y[n:], state.a[:n]])

    y = np.concatenate([state.q[:n], state.v[:n]])
    absolute = np.full(2 * n, 1e-6)
    for k, unit in translations.items():
        absolute[[k, n + k]] *= unit
    before = equations.energies(state)
    end = ode45(rate, y, prepared.scene.simulation.duration, 1e-4, absolute)
    place(0.0, end)
    after = equations.energies(state)
    return float(sum(after) - sum(before[1:]))


TRANSLATIONS = {"16": {0: 0.01, 1: 0.01}, "19": {1: 0.01}}
"""Coordinates that are lengths, in scenes that have SI units: the absolute tolerance is in cm."""

NAMES = (
    "-1",
    "0",
    "1",
    "2",
    "4",
    "5",
    "7",
    "8",
    "10",
    "11",
    "14",
    "15",
    "16",
    "19",
    "22",
    "23",
    "25",
    "26",
    "34",
    "35",
)


@pytest.mark.parametrize(("column", "method"), [("recursive", "aba"), ("dense", "redmax")])
@pytest.mark.parametrize("name", NAMES)
def test_the_equations_with_the_steps_of_ode45_have_the_listed_drift(name: str, column: str, method: str) -> None:
    folder, paper = read_paper("redmax")
    measure: Any = paper.experiments[column].measure
    row = measure.rows[name]
    settings = [f"simulation.method={method}", "simulation.integrator=rk4", "simulation.step=1 ms", "expect=[]"]
    feedback = "simulation.options={stabilization: baumgarte, baumgarte_rate: 5}"
    found = change_of_energy(folder / row.scene, [*settings, feedback, *row.set], TRANSLATIONS.get(name, {})) / row.unit
    assert found == pytest.approx(row.published, rel=2e-7, abs=1e-6)
