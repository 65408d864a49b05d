"""Functions of time that steps do not resolve, and prescribed positions that jump, are reported before the run."""

from __future__ import annotations

import json
import re

import pytest

from multibody_cli.errors import SceneError
from multibody_cli.studies.simulation import prepare


def warnings_of(tmp_path, integrator="rk4", duration=1.0, step=1e-3, name="s", **joint):
    scene = {
        "mbsim": 1,
        "bodies": {"m": {"mass": 1, "inertia": {"principal": [1, 1, 1]}}},
        "joints": {name: {"type": "prismatic", "child": "m", "axis": [1, 0, 0], **joint}},
        "simulation": {"duration": duration, "step": step, "integrator": integrator},
    }
    path = tmp_path / "scene.yaml"
    path.write_text(json.dumps(scene), encoding="utf-8")
    return [text for text in prepare(path).compiled.warnings if f"joints.{name}" in text]


def test_the_error_of_an_integral_is_that_of_the_closed_form(tmp_path):
    """1000 sin^2(2000 pi t) is 0 at every third of Simpson's rule; its integral over a step is half of it."""
    [text] = warnings_of(tmp_path, force="1000*sin(2*pi*1000*t)**2")
    assert "joints.s.force[0]: changes within a step of 0.001 s" in text
    assert float(re.search(r"an error of (\S+) %", text).group(1)) == pytest.approx(100.0, rel=0.02)


@pytest.mark.parametrize("center", [0.50025, 0.5005, 0.99975])
def test_a_pulse_between_the_evaluations_is_reported_with_a_step_that_resolves_it(tmp_path, center):
    pulse = f"1e5*exp(-((t - {center})/1e-4)**2)"
    [text] = warnings_of(tmp_path, force=pulse)
    assert float(re.search(r"at t = (\S+) s", text).group(1)) == pytest.approx(center, abs=1.1e-3)
    step = float(re.search(r"`simulation\.step` to (\S+) s", text).group(1))
    assert 1e-5 <= step <= 2e-4
    assert warnings_of(tmp_path, "dop853", force=pulse) == []  # its steps are not known


@pytest.mark.parametrize(
    "force",
    [
        "sin(2*pi*100*t)",
        "sign(t - 0.5004)",
        "10*sign(sin(2*pi*7*t))",
        {"times": [0, 0.3, 0.3001, 1], "values": [0, 0, 5, 5]},
        "1 + 0.1*exp(-((t - 0.50025)/1e-4)**2)",
        "0",
        "0*sin(t)",
    ],
)
def test_sound_functions_of_time_are_not_reported(tmp_path, force):
    assert warnings_of(tmp_path, force=force) == []


@pytest.mark.parametrize("motion", ["0.5*floor(t + 0.49995)", "0.5*sign(t - 0.50005)", "0.25*tanh((t - 0.50005)/1e-6)"])
def test_a_position_that_jumps_is_reported_with_its_jump(tmp_path, motion):
    [text] = [one for one in warnings_of(tmp_path, motion={"position": motion}) if "jumps" in one]
    jump = 1.0 if "sign" in motion else 0.5
    assert float(re.search(r"jumps by (\S+) at", text).group(1)) == pytest.approx(jump, rel=0.3)
    assert float(re.search(r"at t = (\S+) s", text).group(1)) == pytest.approx(0.5, abs=1.1e-3)


@pytest.mark.parametrize(
    "motion",
    [
        "0.1*sin(2*pi*50*t)",
        "0.1*t**1.5",
        "0.3",
        "abs(t - 0.5004)",
        {"times": [0, 0.4, 0.5, 1], "values": [0, 0, 0.5, 0.5], "interpolation": "pchip"},
    ],
)
def test_continuous_positions_are_not_reported(tmp_path, motion):
    assert [one for one in warnings_of(tmp_path, motion={"position": motion}) if "jumps" in one] == []


def test_a_long_run_is_checked_in_a_part_of_its_steps(tmp_path):
    """A periodic function is reported, though only one of several steps is checked."""
    assert len(warnings_of(tmp_path, duration=100.0, force="sin(2*pi*999*t)**2")) == 1


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ({"motion": {"position": "log(t)"}}, "joints.s.motion.position[0]: has no finite value or velocity at t = 0 s"),
        (
            {"motion": {"position": "sqrt(t)"}},
            "joints.s.motion.position[0]: has no finite value or velocity at t = 0 s",
        ),
        ({"motion": {"velocity": "1/(0.5 - t)"}}, "joints.s.motion.velocity[0]: has no finite value at t = 0.5 s"),
        ({"force": "sqrt(0.25 - t)"}, "joints.s.force[0]: has no finite value at t = 0.2501 s"),
    ],
)
@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_a_function_that_is_not_defined_during_the_run_is_rejected(tmp_path, integrator, joint, message):
    with pytest.raises(SceneError, match=re.escape(message)):
        warnings_of(tmp_path, integrator, **joint)
    if "t = 0 s" not in message:
        warnings_of(tmp_path, integrator, duration=0.2, **joint)


@pytest.mark.parametrize(
    ("duration", "step", "end"),
    [(0.7, 1e-3, "0.7"), (1.0, 0.35, "1.01")],
    ids=["the sum of the steps is rounded up", "steps of an adaptive integrator are no part of the duration"],
)
def test_functions_are_not_evaluated_after_the_end_of_the_run(tmp_path, duration, step, end):
    assert warnings_of(tmp_path, "dop853", duration, step, force=f"sqrt({end} - t)") == []


@pytest.mark.parametrize("name", ["s", "position"])
def test_only_a_prescribed_position_needs_a_velocity(tmp_path, name):
    """sqrt(t) has no derivative at 0, for any name of the joint."""
    assert warnings_of(tmp_path, "dop853", name=name, motion={"velocity": "sqrt(t)"}) == []
    with pytest.raises(SceneError, match="no finite value or velocity at t = 0 s"):
        warnings_of(tmp_path, "dop853", name=name, motion={"position": "sqrt(t)"})
