"""Feedback of constraint errors in the velocities at the end of an Euler step: Sueda, (1.82)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multibody_cli.errors import SceneError
from multibody_cli.studies.simulation import prepare

METHODS = ("aba", "redmax", "symbolic")
"""Methods whose joints are no rows."""

RATE = 5.0

SLIDERS = """
mbsim: 1
name: sliders
gravity: [0, 0, 0]
bodies:
  a: {mass: 1, inertia: {principal: [1, 1, 1]}}
  b: {mass: 3, inertia: {principal: [1, 1, 1]}}
joints:
  a: {type: prismatic, axis: [1, 0, 0], child: a, v: 2}
  b: {type: prismatic, axis: [1, 0, 0], child: b, q: 0, v: 0}
couplings:
  equal: {type: equal, joints: [a, b]}
simulation:
  duration: 0.2
  step: 0.02
  integrator: semi_implicit_euler
  options: {stabilization: baumgarte_velocity, baumgarte_rate: 5}
output: {every: 0.02}
"""


def scene(folder: Path, text: str) -> Path:
    path = folder / "scene.yaml"
    path.write_text(text)
    return path


def channels(path: Path, *overrides: str) -> dict[str, Any]:
    summary, run = prepare(path, overrides).run_in_memory()
    assert summary.outcome.reached_end
    return {name: run.channel(name).values for name in run.paths}


@pytest.mark.parametrize("method", METHODS)
def test_the_first_step_is_an_impact_and_momentum_stays(method: str, tmp_path: Path) -> None:
    """The given rates need not satisfy the rows: the first step removes their difference, as an inelastic impact."""
    found = channels(scene(tmp_path, SLIDERS), f"simulation.method={method}")
    v = np.column_stack([found["joints/a/v"], found["joints/b/v"]])
    np.testing.assert_allclose(v[0], [2.0, 0.0])
    np.testing.assert_allclose(v[1:], 0.5, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_an_error_decays_by_its_rate_in_each_step(method: str, tmp_path: Path) -> None:
    """The ends of a rod on two slides: J v = -rate error, with J and the error of the start of each step."""
    rod = "constraints:\n  rod: {type: distance, between: [{body: a}, {body: b}], length: 1}\n"
    text = SLIDERS.replace("couplings:\n  equal: {type: equal, joints: [a, b]}\n", rod)
    text = text.replace("axis: [1, 0, 0], child: b, q: 0, v: 0", "axis: [0, 1, 0], child: b, q: 1, v: 0")
    found = channels(scene(tmp_path, text), f"simulation.method={method}")
    x, y = found["joints/a/q"][:, 0], found["joints/b/q"][:, 0]
    vx, vy = found["joints/a/v"][:, 0], found["joints/b/v"][:, 0]
    length = np.hypot(x, y)
    rate = (x[:-1] * vx[1:] + y[:-1] * vy[1:]) / length[:-1]  # J v at the end of a step, J at its start
    np.testing.assert_allclose(rate, -RATE * (length[:-1] - 1.0), atol=1e-13)
    assert np.abs(length - 1.0).max() > 1e-5  # the rows do not hold at the end of a step


@pytest.mark.parametrize("integrator", ["rk4", "sdirk2", "dop853"])
def test_other_integrators_are_refused(integrator: str, tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="`baumgarte_velocity` selects the velocities at the end of an Euler step"):
        prepare(scene(tmp_path, SLIDERS), [f"simulation.integrator={integrator}"])


def test_a_rate_that_is_too_large_for_the_step_is_reported(tmp_path: Path) -> None:
    """An error becomes 1 - step rate times as large in each step: 1.2 times here, with its sign changed."""
    compiled = prepare(scene(tmp_path, SLIDERS), ["simulation.options.baumgarte_rate=110"]).compiled
    assert compiled.stable_step == pytest.approx(2.0 / 110.0)
    assert any("stability limit" in message for message in compiled.warnings)
