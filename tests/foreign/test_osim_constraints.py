"""A point on a line, and points of bodies in components, of OpenSim files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbsim
from multibody_cli.errors import SceneError
from multibody_cli.foreign import read_model
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.nodes import Problems

pytestmark = pytest.mark.filterwarnings("ignore:.*imported")

BODY = (
    '<Body name="{}"><mass>2</mass><mass_center>0 0.1 0</mass_center><inertia>1 1.2 1.4 0 0 0</inertia>'
    '<components><Station name="{}_tip"><socket_parent_frame>..</socket_parent_frame><location>0.1 0.2 0.3</location>'
    '</Station><IMU name="imu"><socket_frame>..</socket_frame></IMU></components></Body>'
)

FREE = (
    '<FreeJoint name="j{0}"><socket_parent_frame>/ground</socket_parent_frame>'
    "<socket_child_frame>/bodyset/{0}</socket_child_frame><coordinates>{1}</coordinates></FreeJoint>"
)

CONSTRAINT = """<PointOnLineConstraint name="rail"><isEnforced>true</isEnforced>
<socket_line_body>{line}</socket_line_body><socket_follower_body>/bodyset/b</socket_follower_body>
<line_direction_vec>{direction}</line_direction_vec><point_on_line>0.1 0.2 0.3</point_on_line>
<point_on_follower>0.1 0.2 0.3</point_on_follower></PointOnLineConstraint>"""


def write(folder: Path, line: str, direction: str) -> Path:
    coordinates = "".join(f'<Coordinate name="{{0}}{k}"/>' for k in range(6))
    joints = "".join(FREE.format(name, coordinates.format(name)) for name in "ab")
    path = folder / "m.osim"
    path.write_text(
        '<OpenSimDocument Version="40000"><Model name="m"><gravity>0 -9 3</gravity><BodySet name="bodyset"><objects>'
        f'{BODY.format("a", "a")}{BODY.format("b", "b")}</objects></BodySet><JointSet name="jointset"><objects>{joints}'
        '</objects></JointSet><ConstraintSet name="constraintset"><objects>'
        f"{CONSTRAINT.format(line=line, direction=direction)}</objects></ConstraintSet></Model></OpenSimDocument>"
    )
    return path


@pytest.mark.parametrize("direction", ["0 1 0", "1 0 0", "0 0 -2", "1 2 3", "1 1 1", "0 1e-9 1"])
@pytest.mark.parametrize("line", ["/ground", "/bodyset/a"])
def test_a_point_stays_on_a_line_and_moves_along_it(line: str, direction: str, tmp_path: Path) -> None:
    """The line may move: that of a body that falls."""
    result = mbsim.load(write(tmp_path, line, direction), ["simulation.duration=0.2"]).run(check=False)
    place, d = np.array([0.1, 0.2, 0.3]), np.array(list(map(float, direction.split())))

    def pose(body: str) -> tuple[np.ndarray, np.ndarray]:
        x = result["bodies/position"].sel(body=body).values
        R = Rotation.from_quat(result["bodies/quaternion"].sel(body=body).values, scalar_first=True).as_matrix()
        return x, R

    x, R = pose("b")
    offset = x + R @ place - place
    if line != "/ground":
        own, turned = pose("a")
        offset = np.einsum("tji,tj->ti", turned, x + R @ place - own) - place
    along = offset @ d / np.linalg.norm(d)
    np.testing.assert_allclose(offset, np.outer(along, d) / np.linalg.norm(d), atol=2e-9)
    if line == "/ground" and direction == "0 1 0":
        assert along[-1] < -0.1  # it falls


def test_stations_are_points_and_sensors_are_reported(tmp_path: Path) -> None:
    draft = read_model(write(tmp_path, "/ground", "0 1 0"), Options(), Problems())
    assert draft.bodies["a"].points["a_tip"].pose.position.tolist() == [0.1, 0.2, 0.3]
    messages = {entry.item: entry.message for entry in ImportReport(draft.ledger).losses}
    assert messages["<IMU>"] == "a sensor; `sensors` of a scene have its signals"


def test_a_line_without_direction_is_a_message(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="expected a <line_direction_vec> other than 0 0 0"):
        read_model(write(tmp_path, "/ground", "0 0 0"), Options(), Problems())
