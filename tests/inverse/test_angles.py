"""Tables with the Euler angles of a free joint of OpenSim are motions of a scene that is imported with `--angles`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.transform import Rotation

import mbsim
from multibody_cli.cli.app import app

MODEL = """<OpenSimDocument Version="40000"><Model name="m"><gravity>0 -9.81 0</gravity>
<BodySet name="bodyset"><objects>
<Body name="b"><mass>2</mass><mass_center>0 0 0</mass_center><inertia>0.3 0.5 0.7 0 0 0</inertia></Body></objects>
</BodySet><JointSet name="jointset"><objects><FreeJoint name="base"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/b</socket_child_frame><coordinates>{}</coordinates></FreeJoint></objects></JointSet>
</Model></OpenSimDocument>"""
NAMES = ("tilt", "list", "turn", "tx", "ty", "tz")
PARTS = ((0.3, 0.5, 2.0), (-0.2, 0.4, 3.0), (0.5, -0.6, 2.5), (0.0, 0.1, 4.0), (0.9, 0.05, 5.0), (0.1, 0.2, 1.0))
"""Each coordinate is a + b sin(c t)."""


def coordinates(t: float) -> np.ndarray:
    return np.array([a + b * np.sin(c * t) for a, b, c in PARTS])


def frame(t: float) -> np.ndarray:
    """The axes of the body by the body-fixed angles about x, y and z."""
    return Rotation.from_euler("XYZ", coordinates(t)[:3]).as_matrix()


def angular_momentum(t: float, h: float = 1e-4) -> np.ndarray:
    """In axes of the world, by differences of the axes of the body."""
    spin = (8 * (frame(t + h) - frame(t - h)) - (frame(t + 2 * h) - frame(t - 2 * h))) / (12 * h) @ frame(t).T
    w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    return frame(t) @ np.diag([0.3, 0.5, 0.7]) @ frame(t).T @ w


def wanted(t: float, h: float = 1e-3) -> np.ndarray:
    """Moments on the angles, parts of the torque along their axes, and forces on the translations."""
    L = [angular_momentum(t + k * h) for k in (-2, -1, 1, 2)]
    torque = (8 * (L[2] - L[1]) - (L[3] - L[0])) / (12 * h)
    a, b, _ = coordinates(t)[:3]
    first = Rotation.from_euler("X", a).as_matrix()
    axes = [np.eye(3)[0], first[:, 1], (first @ Rotation.from_euler("Y", b).as_matrix())[:, 2]]
    pulls = [2.0 * (-b * c**2 * np.sin(c * t)) for _, b, c in PARTS[3:]]
    return np.array([*(axis @ torque for axis in axes), pulls[0], pulls[1] + 2.0 * 9.81, pulls[2]])


def test_forces_on_the_angles_are_those_of_newton_and_euler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.osim").write_text(MODEL.format("".join(f'<Coordinate name="{name}"/>' for name in NAMES)))
    times = np.linspace(0.0, 1.0, 201)
    head = f"m\nversion=1\nnRows={len(times)}\nnColumns=7\ninDegrees=no\nendheader\n"
    rows = ["\t".join(f"{x:.14g}" for x in (t, *coordinates(t))) for t in times]
    Path("m.mot").write_text(head + "\t".join(("time", *NAMES)) + "\n" + "\n".join(rows) + "\n")
    assert CliRunner().invoke(app, ["import", "m.osim", "--angles", "-o", "m.yaml"]).exit_code == 0
    found = mbsim.inverse("m.yaml", "m.mot")
    for k in (20, 77, 140):
        own = [found.force(name)[k] for name in NAMES]
        np.testing.assert_allclose(own, wanted(times[k]), rtol=0, atol=1e-5)
    assert not found.ignored
