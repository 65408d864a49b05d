"""Joints on ellipsoids have the poses of products of 4x4 matrices, as Simbody builds them from mobilizers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbsim

pytestmark = pytest.mark.filterwarnings("ignore:.*imported")

MODEL = """<OpenSimDocument Version="40000"><Model name="m"><gravity>0 0 0</gravity>
<BodySet name="bodyset"><objects><Body name="b"><mass>1</mass><mass_center>0 0 0</mass_center>
<inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet>
<JointSet name="jointset"><objects><{kind} name="j"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/b</socket_child_frame><coordinates>{coordinates}</coordinates>{inside}</{kind}>
</objects></JointSet></Model></OpenSimDocument>"""

RADII = np.array([0.1, 0.2, 0.15])
ORIGIN, W = np.array([0.03, -0.04, 0.0]), 0.6

KINDS = {
    "EllipsoidJoint": "<radii_x_y_z>0.1 0.2 0.15</radii_x_y_z>",
    "ScapulothoracicJoint": "<thoracic_ellipsoid_radii_x_y_z>0.1 0.2 0.15</thoracic_ellipsoid_radii_x_y_z>"
    "<scapula_winging_axis_origin>0.03 -0.04</scapula_winging_axis_origin>"
    "<scapula_winging_axis_direction>0.6</scapula_winging_axis_direction>",
}


def pose(R: Rotation, p: np.ndarray) -> np.ndarray:
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = R.as_matrix(), p
    return found


def on_ellipsoid(radii: np.ndarray, angles: tuple[float, ...]) -> np.ndarray:
    R = Rotation.from_euler("XYZ", angles)
    return pose(R, radii * R.as_matrix()[:, 2])


def on_thorax(radii: np.ndarray, angles: tuple[float, ...]) -> np.ndarray:
    """An ellipsoid in axes that are turned by 90 degrees about z, and a pin in the scapula."""
    turned = pose(Rotation.from_euler("z", np.pi / 2), np.zeros(3))
    slid = turned @ on_ellipsoid(radii[[1, 0, 2]], angles[:3]) @ np.linalg.inv(turned)
    axis = np.array([-np.sin(W), np.cos(W), 0.0])
    shift = pose(Rotation.identity(), ORIGIN)
    return slid @ shift @ pose(Rotation.from_rotvec(angles[3] * axis), np.zeros(3)) @ np.linalg.inv(shift)


POSES = {"EllipsoidJoint": on_ellipsoid, "ScapulothoracicJoint": on_thorax}


@pytest.mark.parametrize("angles", [(0.0, 0.0, 0.0, 0.0), (0.5, -0.3, 0.8, 0.7), (np.pi / 2, 0.0, -np.pi / 2, np.pi)])
@pytest.mark.parametrize("kind", KINDS)
def test_poses(kind: str, angles: tuple[float, ...], tmp_path: Path) -> None:
    q = angles if kind == "ScapulothoracicJoint" else angles[:3]
    coordinates = "".join(
        f'<Coordinate name="{name}"><default_value>{value!r}</default_value></Coordinate>'
        for name, value in zip("abcd", q, strict=False)
    )
    path = tmp_path / "m.osim"
    path.write_text(MODEL.format(kind=kind, coordinates=coordinates, inside=KINDS[kind]))
    result = mbsim.load(path, ["simulation.duration=1 ms"]).run(check=False)
    expected = POSES[kind](RADII, q)
    np.testing.assert_allclose(result["bodies/position"][0, 0], expected[:3, 3], rtol=0, atol=1e-15)
    R = Rotation.from_quat(result["bodies/quaternion"][0, 0].values, scalar_first=True).as_matrix()
    np.testing.assert_allclose(R, expected[:3, :3], rtol=0, atol=1e-15)
