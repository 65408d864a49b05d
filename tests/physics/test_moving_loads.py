"""Forces at moving points: the motion of the same force as expressions of the state, by every method."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import SceneError

METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")

POINT = ["0.3 + 0.2*t", "0.1*sin(9*t)", 0.2]
FORCE = [1.0, "2*cos(t)", "3 - t"]
TORQUE = [0.2, "0.3*t", -0.1]


def scene(method: str, force: dict[str, Any]) -> dict[str, Any]:
    settings = {"duration": 0.2, "step": 1e-3, "method": method}
    explicit = {} if method.startswith("variational") else {"integrator": "rk4"}
    return {
        "mbsim": 1,
        "gravity": [0, 0, -9.81],
        "bodies": {
            "b": {
                "mass": 2,
                "com": [0.05, 0, 0.02],
                "inertia": {"principal": [0.05, 0.04, 0.03]},
                "position": [0.1, 0.2, 0.3],
                "rotation": {"axis": [1, 2, 3], "angle": 0.7},
                "velocity": {"angular": [0.5, -1, 2]},
            }
        },
        "forces": {"f": {"body": "b", **force}},
        "simulation": settings | explicit,
    }


def run(folder: Path, data: dict[str, Any]) -> mbsim.Result:
    path = folder / "load.yaml"
    path.write_text(json.dumps(data))
    return mbsim.load(path).run(check=False)


def lever() -> list[str]:
    return [f"({p} - bodies.b.position.{axis})" for p, axis in zip(POINT, "xyz", strict=True)]


@pytest.mark.parametrize("method", METHODS)
def test_a_place_in_the_world(method: str, tmp_path: Path) -> None:
    """The moment about the origin of the body is (p - x) x f."""
    r, f = lever(), [f"({one})" for one in FORCE]
    torque = [f"{TORQUE[k]} + {r[(k + 1) % 3]}*{f[(k + 2) % 3]} - {r[(k + 2) % 3]}*{f[(k + 1) % 3]}" for k in range(3)]
    found = run(tmp_path, scene(method, {"moving_point": POINT, "force": FORCE, "torque": TORQUE}))
    same = run(tmp_path, scene(method, {"force": FORCE, "torque": torque}))
    for name in ("bodies/position", "bodies/quaternion"):
        np.testing.assert_allclose(found[name], same[name], rtol=0, atol=1e-12)
    work = found["energy/work/forces/f"].values[-1]
    np.testing.assert_allclose(work, same["energy/work/forces/f"].values[-1], rtol=1e-10)


@pytest.mark.parametrize("frame", ["world", "body"])
@pytest.mark.parametrize("method", METHODS)
def test_a_point_of_the_body(method: str, frame: str, tmp_path: Path) -> None:
    """A constant point in the body frame is that of a load."""
    point, fields = [0.3, -0.2, 0.1], {"force": FORCE, "torque": TORQUE, "frame": frame}
    found = run(tmp_path, scene(method, {"moving_point": point, "point_frame": "body", **fields}))
    same = run(tmp_path, scene(method, {"point": point, **fields}))
    for name in ("bodies/position", "bodies/quaternion"):
        np.testing.assert_allclose(found[name], same[name], rtol=0, atol=1e-13)


def test_a_weight_that_rolls_along_a_beam(tmp_path: Path) -> None:
    """The moment of a hinge that holds the beam is the weight times its distance."""
    beam = {
        "mbsim": 1,
        "gravity": [0, 0, 0],
        "bodies": {"beam": {"mass": 1, "inertia": {"principal": [1, 1, 1]}}},
        "joints": {"hinge": {"type": "revolute", "axis": [0, 1, 0], "child": "beam", "motion": {"position": 0}}},
        "forces": {"weight": {"body": "beam", "moving_point": ["2*t", 0, 0], "force": [0, 0, -5]}},
        "simulation": {"duration": 1, "step": 0.01, "integrator": "rk4"},
    }
    result = run(tmp_path, beam)
    moment = result["joints/hinge/force"]
    np.testing.assert_allclose(moment.values[:, 1], -10.0 * moment.coords["time"].values, atol=1e-12)


@pytest.mark.parametrize(
    ("body", "force", "message"),
    [
        ({"kind": "point", "mass": 1}, {}, "moving_point"),
        ({"mass": 1, "inertia": {"principal": [1, 1, 1]}}, {"force": ["bodies.b.position.x", 0, 0]}, "of the time"),
        ({"mass": 1, "inertia": {"principal": [1, 1, 1]}}, {"point": [0, 0, 0]}, "unknown key `point`"),
    ],
)
def test_refusals(body: dict[str, Any], force: dict[str, Any], message: str, tmp_path: Path) -> None:
    data = scene("aba", {"moving_point": [0, 0, 0], "force": [1, 0, 0], **force})
    data["bodies"] = {"b": body}
    with pytest.raises(SceneError, match=message):
        run(tmp_path, data)
