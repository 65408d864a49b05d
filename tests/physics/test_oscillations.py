"""Oscillations that implicit integrators do not follow: predicted errors, energies, and the alarm."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from loops import loaded

import mbsim
from multibody_cli.alarms.catalogue import errors_of
from multibody_cli.alarms.contract import Oscillations
from multibody_cli.compile import compile_scene
from multibody_cli.methods.integrators import INTEGRATORS

IMPLICIT = ("sdirk2", "linearly_implicit_euler")


def slider(frequency: float, ratio: float = 0.0, **more) -> dict:
    """A mass of 2 kg on a spring, by its frequency, Hz, and damping ratio."""
    rate = math.tau * frequency
    joint = {"type": "prismatic", "child": "a", "q": 0.1, "stiffness": 2.0 * rate**2, "damping": 4.0 * ratio * rate}
    return {
        "mbsim": 1,
        "gravity": [0, 0, 0],
        "bodies": {"a": {"mass": 2, "inertia": {"principal": [1, 1, 1]}}},
        "joints": {"j": joint | more},
    }


def outcome(scene: dict, integrator: str, step: float = 1e-3) -> tuple[list[dict], np.ndarray]:
    """The alarms of `oscillations` of a run of 0.3 s, and the coordinates of the joint j at the ends of steps."""
    simulation = {"duration": 0.3, "step": step, "integrator": integrator}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        run = mbsim.load(json.dumps(scene | {"simulation": simulation, "output": {"every": step}}, indent=1)).run(
            check=False
        )
    alarms = [alarm for alarm in json.loads(run.attrs["alarms"]) if alarm["name"] == "oscillations"]
    return alarms, run["joints/j/q"].values[:, 0]


def oscillations_of(scene: dict, integrator: str) -> Oscillations:
    found = compile_scene(loaded(scene, integrator=integrator, step=1e-3, duration=0.3)).oscillations
    assert found is not None
    return found


@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("frequency", [5.0, 40.0])
@pytest.mark.parametrize("integrator", IMPLICIT)
def test_the_predicted_error_is_that_of_a_run(integrator: str, frequency: float, ratio: float) -> None:
    """Of x'' + 2 d w x' + w^2 x = 0; a run shows the real part, whose error is smaller between its turns."""
    scene = slider(frequency, ratio)
    found = oscillations_of(scene, integrator)
    [predicted] = errors_of(found, INTEGRATORS[integrator], 1e-3)
    _, x = outcome(scene, integrator)
    rate, t = math.tau * frequency, 1e-3 * np.arange(301)
    damped = rate * math.sqrt(1.0 - ratio**2)
    exact = 0.1 * np.exp(-ratio * rate * t) * (np.cos(damped * t) + ratio * rate / damped * np.sin(damped * t))
    assert min(np.abs(x - exact).max() / 0.1, 1.0) == pytest.approx(predicted, rel=0.2)


def test_modes_hold_the_energy_of_the_start() -> None:
    """Displacement from the equilibrium under gravity, and the rates: of both masses of a chain, without a free one."""
    scene = slider(3.0, v=0.7, axis=[0, 0, 1]) | {"gravity": [0, 0, -9.81]}
    scene["bodies"]["b"] = {"mass": 0.5, "inertia": {"principal": [1, 1, 1]}}
    scene["bodies"]["c"] = {"mass": 3, "inertia": {"principal": [1, 1, 1]}}
    scene["joints"]["k"] = {
        "type": "prismatic", "parent": "a", "child": "b", "axis": [0, 0, 1], "q": 0.02, "v": -0.4, "stiffness": 300,
    }  # fmt: skip
    scene["joints"]["free"] = {"type": "prismatic", "child": "c", "axis": [1, 0, 0], "v": 5.0}
    stiffness = np.array([scene["joints"]["j"]["stiffness"], 300.0])
    rest = -9.81 * np.array([2.5, 0.5]) / stiffness
    stretch = np.array([0.1, 0.02]) - rest
    energy = 0.5 * (stiffness @ stretch**2 + 2.0 * 0.7**2 + 0.5 * 0.3**2)
    found = oscillations_of(scene, "sdirk2")
    assert len(found.energies) == 2
    assert found.energies.sum() == pytest.approx(energy, rel=1e-6)


@pytest.mark.parametrize(("integrator", "frequency"), [("sdirk2", 75.0), ("linearly_implicit_euler", 9.0)])
def test_the_alarm_names_the_mode_and_its_remedy_removes_the_error(integrator: str, frequency: float) -> None:
    scene = slider(frequency)
    [alarm], x = outcome(scene, integrator)
    assert alarm["level"] == "warning"
    assert f"oscillation of {frequency:g} Hz of joint j" in alarm["message"]
    step = float(alarm["remedy"].removeprefix("reduce `simulation.step` to ").removesuffix(" s"))
    rest, better = outcome(scene, integrator, step)
    assert not rest
    errors = [
        np.abs(q - 0.1 * np.cos(math.tau * frequency * h * np.arange(len(q)))).max() / 0.1
        for q, h in ((x, 1e-3), (better, step))
    ]
    assert errors[0] > 0.3
    assert errors[1] < 0.2


@pytest.mark.parametrize("integrator", IMPLICIT)
@pytest.mark.parametrize(
    "scene",
    [
        slider(500.0, 1.5),  # the motion itself decays
        slider(500.0, q=1e-4, axis=[0, 0, 1])
        | {
            "bodies": {name: {"mass": 2, "inertia": {"principal": [1, 1, 1]}} for name in "ab"},
            "gravity": [0, 0, -9.81],
            "joints": slider(500.0, q=1e-4)["joints"] | {"slow": {"type": "prismatic", "child": "b", "v": 5.0}},
        },  # little energy beside that of another body
        slider(2.0),
        slider(500.0, q=0.0),
    ],
)
def test_motions_that_need_no_shorter_step_raise_no_alarm(integrator: str, scene: dict) -> None:
    assert outcome(scene, integrator)[0] == []
