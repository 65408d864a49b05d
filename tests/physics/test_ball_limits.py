"""Limits of ball joints by expressions of axes of the bodies: a cone of swing and a range of twist."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import mbsim

METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")
CONE, TWIST = 0.5, 0.4

every_method = pytest.mark.parametrize("method", METHODS)


def axis(body: str, k: int) -> Any:
    """Axis k of a body, or of the world."""
    vector = [float(k == i) for i in range(3)]
    return vector if body == "world" else {"body": body, "axis": vector}


def limits_of(parent: str, child: str, restitution: float = 0.0) -> dict[str, Any]:
    """A cone about the third axis, and a range of the twist about it: tan = (R_21 - R_12) / (R_11 + R_22)."""
    names = {
        f"R{i + 1}{k + 1}": {"direction": axis(child, k), "along": axis(parent, i)} for i in (0, 1) for k in (0, 1)
    }
    shared = {"type": "expression", "restitution": restitution}
    return {
        "cone": {**shared, "inputs": {"swing": {"angle": [axis(parent, 2), axis(child, 2)]}}, "value": "swing",
                 "limits": [None, CONE]},
        "stop": {**shared, "inputs": names, "value": "atan2(R21 - R12, R11 + R22)", "limits": [-TWIST, TWIST]},
    }  # fmt: skip


def run(scene: dict[str, Any], method: str, duration: float, step: float) -> Any:
    simulation = {"duration": duration, "step": step, "method": method}
    whole = {"mbsim": 1, **scene, "simulation": simulation, "output": {"every": 0.01}}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*impulsive start")
        found = mbsim.load(json.dumps(whole, indent=1)).run()
    assert found.attrs["status"] == "complete"
    return found


def shoulder() -> dict[str, Any]:
    """An arm on a heavy trunk that turns; both swing and twist of their ball joint meet their limits."""
    return {
        "bodies": {
            "trunk": {"mass": 5.0, "inertia": {"principal": [1.0, 0.8, 0.9]}},
            "arm": {"mass": 2.0, "com": [0.05, 0.02, 0.3], "inertia": {"principal": [0.05, 0.06, 0.02]}},
        },
        "joints": {
            "waist": {"type": "revolute", "child": "trunk", "axis": [0, 1, 0.2], "v": 0.5},
            "ball": {"type": "spherical", "parent": "trunk", "child": "arm", "v": [0.5, 1.0, 1.0],
                     "origin": {"position": [0.2, 0, 0.4]}},
        },
        "constraints": limits_of("trunk", "arm"),
    }  # fmt: skip


def angles_of(found: Any) -> tuple[np.ndarray, np.ndarray]:
    """Swing and twist of the arm, from the quaternions of both bodies."""
    trunk, arm = (Rotation.from_quat(found["bodies/quaternion"].values[:, k], scalar_first=True) for k in (0, 1))
    x, y, z, w = (trunk.inv() * arm).as_quat().T
    return 2 * np.arctan2(np.hypot(x, y), np.hypot(z, w)), 2 * np.arctan(z / w)


def test_methods_agree_at_cone_and_stop() -> None:
    """Steps that pass a limit are led back onto it by the coordinates of a method, so that others differ by h^2."""
    found = {method: run(shoulder(), method, 0.6, 5e-4) for method in METHODS}
    for method, one in found.items():
        swing, twist = angles_of(one)
        assert swing.max() == pytest.approx(CONE, abs=1e-8)
        assert np.abs(twist).max() == pytest.approx(TWIST, abs=1e-8)
        tolerance = 1e-10 if method in ("aba", "redmax", "symbolic") else 1e-4
        for name in ("bodies/position", "bodies/quaternion"):
            np.testing.assert_allclose(one[name].values, found["aba"][name].values, atol=tolerance)
        losses = [one[f"energy/dissipation/constraints/{name}"].values[-1] for name in ("cone", "stop")]
        assert min(losses) > 0.1
        assert np.abs(one["energy/ledger_residual"].values).max() < 1e-4


@every_method
def test_an_arm_swings_round_the_edge_of_its_cone(method: str) -> None:
    """I sin(a) phi'' = -m g L sin(phi) about a horizontal axis of the cone, without spin and without loss."""
    m, L, J, start = 2.0, 0.3, 0.2, 1.0
    tip = [0.0, np.sin(start), -np.cos(start)]
    arm = {"mass": m, "com": [0, 0, L], "inertia": {"principal": [J - m * L**2, J - m * L**2, 0.02]}}
    # the cone has the axis x of the world; the arm is its third axis
    first = Rotation.from_euler("y", 90, degrees=True)
    q = Rotation.from_rotvec(CONE * np.cross([1, 0, 0], tip)) * first
    swing = {"angle": [[1, 0, 0], axis("arm", 2)]}
    scene = {
        "bodies": {"arm": arm},
        "joints": {"ball": {"type": "spherical", "child": "arm", "q": {"rotvec": q.as_rotvec().tolist()}}},
        "constraints": {
            "cone": {"type": "expression", "inputs": {"swing": swing}, "value": "swing", "limits": [None, CONE]},
        },
    }  # fmt: skip
    found = run(scene, method, 1.0, 1e-3)
    t = found["time"].values
    rate = m * 9.81 * L / (J * np.sin(CONE))
    phi = solve_ivp(lambda _, y: [y[1], -rate * np.sin(y[0])], (0, 1), [start, 0], t_eval=t, rtol=1e-11, atol=1e-11).y[
        0
    ]
    turned = Rotation.from_quat(found["bodies/quaternion"].values[:, 0], scalar_first=True)
    expected = np.stack([np.full_like(t, np.cos(CONE)), np.sin(CONE) * np.sin(phi), -np.sin(CONE) * np.cos(phi)], 1)
    tolerance = 2e-4 if method.startswith("variational") else 1e-7
    np.testing.assert_allclose(turned.apply([0, 0, 1]), expected, atol=tolerance)


def test_coordinates_of_a_ball_are_refused_with_the_axes_that_replace_them() -> None:
    scene = shoulder()
    scene["constraints"] = {"it": {"type": "expression", "inputs": {"q": "ball/2"}, "value": "q", "limits": [0, 1]}}
    with pytest.raises(
        mbsim.SceneError, match=r"(?s)rotation of `ball` has no scalar.*an `angle` or `direction` of axes"
    ):
        run(scene, "aba", 0.1, 1e-3)
