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


# --- limits, contacts and friction ------------------------------------------------------------------------------------
ALL = (*METHODS, "baraff")
"""Joints of `baraff` are rows, which hold to round-off where all bodies move along lines."""

WALL = """
mbsim: 1
name: rod_and_wall
gravity: [0, 0, 0]
contacts: {}
bodies:
  wall: {mass: 1, shapes: [{type: box, size: [0.1, 1, 1]}]}
  a: {mass: 1, shapes: [{type: sphere, radius: 0.1}]}
  b: {mass: 3, inertia: {principal: [1, 1, 1]}}
joints:
  wall: {type: fixed, child: wall, origin: {position: [0.75, 0, 0]}}
  a: {type: prismatic, axis: [1, 0, 0], child: a, q: 0.3}
  b: {type: prismatic, axis: [0, 1, 0], child: b, q: "${sqrt(0.91)}", v: -1}
constraints:
  rod: {type: distance, between: [{body: a}, {body: b}], length: 1}
simulation:
  duration: 1
  step: 0.01
  integrator: semi_implicit_euler
  options: {stabilization: baumgarte_velocity, baumgarte_rate: 5}
output: {every: 0.01}
"""
NO_WALL = "joints.wall.origin.position=[9, 0, 0]"
LIMIT = "joints.b.limits=[0.85, 2]"
FRICTION = "joints.b.friction={coefficient: 0.1, surface: {size: [0.1, 0.1, 0.1]}}"


def rod_errors(found: dict[str, Any]) -> tuple[Any, Any]:
    """Differences of J v at the ends of steps from -rate error of their starts, and the errors."""
    x, y = found["joints/a/q"][:, 0], found["joints/b/q"][:, 0]
    vx, vy = found["joints/a/v"][:, 0], found["joints/b/v"][:, 0]
    error = np.hypot(x, y) - 1.0
    return (x[:-1] * vx[1:] + y[:-1] * vy[1:]) / (1.0 + error[:-1]) + RATE * error[:-1], error


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("settings", [(), (FRICTION,), (FRICTION, LIMIT), (FRICTION, "gravity=[1, -1, 0]")])
@pytest.mark.parametrize("solver", ["proximal", "staggered_projections"])
def test_contacts_limits_and_friction_keep_the_velocities_of_rows(
    method: str, settings: tuple[str, ...], solver: str, tmp_path: Path
) -> None:
    path = scene(tmp_path, WALL)
    found = channels(path, f"simulation.method={method}", f"contacts.method={solver}", *settings)
    differences, error = rod_errors(found)
    np.testing.assert_allclose(differences, 0.0, atol=1e-12)
    assert 1e-4 < np.abs(error).max() < 1e-3
    if LIMIT not in settings:
        assert found["joints/a/q"].max() == pytest.approx(0.6, abs=1e-4)  # at the wall
        assert found["energy/dissipation/contacts/impact"][-1] > 0.1


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("settings", [(NO_WALL,), (NO_WALL, LIMIT), (NO_WALL, FRICTION)])
def test_the_ledger_has_the_work_of_the_rows(method: str, settings: tuple[str, ...], tmp_path: Path) -> None:
    """Masses are constant, so that the work of impulses is exactly the change of energy, for any step."""
    found = channels(scene(tmp_path, WALL), f"simulation.method={method}", "simulation.step=0.005", *settings)
    assert found["energy/work/stabilization"][1] < -1.0  # the first step completes the rates
    np.testing.assert_allclose(found["energy/ledger_residual"], 0.0, atol=1e-13)


@pytest.mark.parametrize("method", ALL)
def test_at_impacts_on_walls_the_ledger_is_of_first_order(method: str, tmp_path: Path) -> None:
    path = scene(tmp_path, WALL)
    for step in (0.01, 0.0025, 0.000625):
        found = channels(path, f"simulation.method={method}", f"simulation.step={step}", "output.every=0.01")
        assert np.abs(found["energy/ledger_residual"]).max() < step


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_limits_are_rows_with_one_side(method: str, restitution: float, sign: float, tmp_path: Path) -> None:
    """A mass falls onto a limit: it is free up to the step that passes it, and then has J v = max(-rate error, -e J v).

    The limit is a lower or an upper one, and holds the weight.
    """
    text = SLIDERS.replace("couplings:\n  equal: {type: equal, joints: [a, b]}\n", "")
    text = text.replace("child: a, v: 2", f"child: a, q: {0.1 * sign}, restitution: {restitution}, limits: [0, 0]")
    text = text.replace("limits: [0, 0]", "limits: [0, 9]" if sign > 0 else "limits: [-9, 0]")
    text = text.replace("gravity: [0, 0, 0]", f"gravity: [{-9.0 * sign}, 0, 0]").replace("duration: 0.2", "duration: 2")
    found = channels(scene(tmp_path, text), f"simulation.method={method}")
    q, v = sign * found["joints/a/q"][:, 0], sign * found["joints/a/v"][:, 0]
    free = v[:-1] - 9.0 * 0.02
    least = np.where(q[:-1] <= 1e-9, np.maximum(-RATE * q[:-1], -restitution * v[:-1]), -np.inf)
    np.testing.assert_allclose(v[1:], np.maximum(free, least), atol=1e-12)
    assert np.count_nonzero(free < least) > 20
    assert abs(q[-1]) < 0.02
    expected = 0.5 * (v[0] ** 2 - v[-1] ** 2) + 9.0 * (q[0] - q[-1])
    dissipated = found["energy/dissipation/joints/a/limits"][-1]
    assert dissipated == pytest.approx(expected, abs=9.0 * 0.02 * np.abs(v).max())


def test_acceleration_feedback_with_limits_is_refused(tmp_path: Path) -> None:
    overrides = ["constraints=null", "contacts=null", LIMIT, "simulation.options.stabilization=baumgarte"]
    with pytest.raises(SceneError, match="projection`, the default, or `baumgarte_velocity`"):
        prepare(scene(tmp_path, WALL), overrides)


@pytest.mark.parametrize("method", ["variational", "variational_maximal"])
def test_variational_steps_have_positions_as_rows(method: str, tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="stabilization"):
        prepare(scene(tmp_path, WALL), [f"simulation.method={method}", "simulation.integrator=null"])
