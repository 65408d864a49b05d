"""`simulation.start: equilibrium`: runs of every method start at rest, or are refused."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

FOURBAR = runpy.run_path(str(Path(__file__).with_name("test_static_scenes.py")))["fourbar"]
ROD = """mbsim: 1
gravity: [0, 0, -9.81]
bodies: {{rod: {{mass: 2, com: [0.5, 0, 0], inertia: {{principal: [0.1, 0.1, 0.1]}}}}}}
joints: {{hinge: {{type: revolute, axis: [0, 1, 0], child: rod, {}}}}}
simulation: {{duration: 0.2 s, step: 1 ms, start: equilibrium}}
"""


@pytest.mark.parametrize("method", METHODS)
def test_every_method_starts_at_rest(method: str) -> None:
    text, start = FOURBAR(0.9, method), {"simulation.start": "equilibrium"}
    run = mbsim.load(text, start).run(channels=["joints/a/q", "bodies/coupler/linear_velocity"])
    np.testing.assert_allclose(run["joints/a/q"], mbsim.equilibrium(text)["a"], atol=1e-9)
    np.testing.assert_allclose(run["bodies/coupler/linear_velocity"], 0.0, atol=1e-8)


def test_written_rates_are_those_of_the_start() -> None:
    """A rod with a rate at the bottom of its swing: the energy is that of the rate."""
    run = mbsim.load(ROD.format("q: 0.3, v: 2")).run()
    assert run["joints/hinge/q"].values[0].item() == pytest.approx(math.pi / 2, abs=1e-12)
    assert run["joints/hinge/v"].values[0].item() == 2.0
    moving = FOURBAR(0.9).replace("stiffness: 12", "stiffness: 12, v: 1")
    closed = mbsim.load(moving, {"simulation.start": "equilibrium"})
    assert closed.run(channels=["joints/a/v"])["joints/a/v"].values[0].item() == pytest.approx(1.0, abs=1e-9)


def test_the_written_scene_of_the_verb_has_no_choice_of_start(tmp_path: Path) -> None:
    mbsim.equilibrium(ROD.format("q: 0.3"), write=tmp_path / "still.yaml")
    assert "start" not in (tmp_path / "still.yaml").read_text()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            "force: 100",
            "simulation.start: no equilibrium at t = 0 s downhill from the start: joint hinge has the largest",
        ),
        ("friction: {torque: 0.1}", "simulation.start: the scene has dry friction"),
    ],
)
def test_starts_without_an_equilibrium_are_refused(fields: str, message: str) -> None:
    with pytest.raises(SceneError) as error:
        mbsim.load(ROD.format(fields))
    assert message in str(error.value)


def test_an_unstable_equilibrium_is_reported() -> None:
    with pytest.warns(mbsim.SceneWarning, match="simulation.start: the equilibrium is unstable"):
        mbsim.load(ROD.format("q: -90 deg"))
