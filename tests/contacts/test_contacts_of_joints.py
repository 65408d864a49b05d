"""Bodies that curves and surfaces guide touch others as free ones do."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from multibody_cli import MemorySink, prepare

G, MASS, DROP, RADIUS = 9.81, 2.0, 0.2, 0.1
BALL = {"mass": MASS, "shapes": [{"type": "sphere", "radius": RADIUS, "friction": 0}]}

WIRE = {
    "type": "curve",
    "curve": {"type": "expression", "domain": [-2, 2], "position": ["s", 0, "-s"]},
    "q": -RADIUS - DROP,
}
"""A straight wire with a slope of 45 degrees."""

WALL = {
    "type": "surface_surface",
    "origin": {"position": [0, 0, RADIUS + DROP], "rotation": {"axis": [0, 1, 0], "angle": math.pi / 2}},
    "parent_surface": {"type": "plane"},
    "child_surface": {"type": "sphere", "radius": RADIUS},
}
"""A vertical wall on which the ball slides and rolls without friction."""


def settled(joint: dict[str, Any], method: str, folder: Path) -> Any:
    scene = {
        "mbsim": 1,
        "name": "guided",
        "bodies": {"ball": BALL},
        "world": {"shapes": [{"type": "plane", "friction": 0}]},
        "joints": {"guide": {**joint, "child": "ball"}},
        "contacts": {},
        "simulation": {"duration": 1, "step": "2 ms", "method": method},
    }
    path = folder / "scene.yaml"
    path.write_text(json.dumps(scene))
    sink = MemorySink()
    prepare(path, ["simulation.alarms.phase=false"]).run(sink)
    return sink.trajectory()


@pytest.mark.parametrize("method", ["aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal"])
@pytest.mark.parametrize(("joint", "x"), [(WIRE, -RADIUS), (WALL, RADIUS)], ids=["wire", "wall"])
def test_a_guided_ball_comes_to_rest_on_the_floor(joint: dict[str, Any], x: float, method: str, tmp_path: Path) -> None:
    """The floor takes its energy, and then carries its whole weight, since wire and wall have no friction."""
    run = settled(joint, method, tmp_path)
    assert run.channel("bodies/ball/position").values[-1] == pytest.approx([x, 0, RADIUS], abs=1e-6)
    energy = run.channel("energy/total").values
    assert energy[0] - energy[-1] == pytest.approx(MASS * G * DROP, rel=1e-6)
    assert run.channel("bodies/contact_force").values[-1].ravel()[-3:] == pytest.approx([0, 0, MASS * G], abs=1e-6)
