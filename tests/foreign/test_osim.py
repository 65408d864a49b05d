"""A model of OpenSim has the poses of its bodies, computed here by products of 4x4 matrices, and its forces."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbsim
from multibody_cli.api.scene import SceneWarning
from multibody_cli.errors import SceneError
from multibody_cli.foreign import read_model
from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.nodes import Problems

pytestmark = pytest.mark.filterwarnings("ignore:.*imported. 5 drops")

LEG = Path(__file__).with_name("leg.osim")
METHODS = ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal")
X, Y, Z = np.eye(3)


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    cross = np.cross(np.eye(3), axis)
    found = np.eye(4)
    found[:3, :3] += np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return found


def shift(*position: float) -> np.ndarray:
    found = np.eye(4)
    found[:3, 3] = position
    return found


def matrix(quaternion: np.ndarray) -> np.ndarray:
    return Rotation.from_quat(quaternion, scalar_first=True).as_matrix()


def frame(position: tuple[float, ...], angles: tuple[float, ...]) -> np.ndarray:
    """A frame with body-fixed angles about x, y, z."""
    a, b, c = angles
    return shift(*position) @ turn(X, a) @ turn(Y, b) @ turn(Z, c)


def read(path: Path) -> Draft:
    return read_model(path, Options(), Problems())


def changed(folder: Path, *replacements: tuple[str, str]) -> Path:
    content = LEG.read_text()
    for old, new in replacements:
        assert old in content, old
        content = content.replace(old, new)
    path = folder / "leg.osim"
    path.write_text(content)
    return path


def expected_poses() -> dict[str, np.ndarray]:
    """Poses at the start, where the knee is at a point of its tables."""
    knee = -0.7
    pelvis = frame((0.1, 0, 0.2), (0, 0.3, 0)) @ shift(0, 0.9, 0) @ turn(Z, 0.2)
    hip = frame((-0.07, -0.06, 0.08), (0.2, -0.1, 0.3)) @ shift(0.003, 0, 0) @ turn(Z, 0.4)
    femur = pelvis @ hip @ np.linalg.inv(frame((0, 0.01, 0), (0.1, 0, 0)))
    swing = turn(Z, knee) @ turn(Y, np.polyval([0.02, -0.1, 0.05, 0], knee))
    tibia = femur @ shift(1.1 * 0.004, -0.4, 0) @ swing
    patella = femur @ frame((0.05, -0.35, 0), (0, 0, 1.6)) @ shift(-0.02, 0, 0)
    ankle = frame((0, -0.43, 0), (0, np.pi / 2, 0)) @ turn(Y, 0.1)
    foot = tibia @ ankle @ np.linalg.inv(frame((0.05, -0.01, 0.02), (0.1, 0.2, -0.3)))
    toes = foot @ frame((0.17, 0, 0), (0.2, 0.6, 0)) @ turn(Z, 0.3)
    return {"pelvis": pelvis, "femur": femur, "tibia": tibia, "patella": patella, "foot": foot, "toes": toes}


def test_poses_are_those_of_the_file() -> None:
    result = mbsim.load(LEG, ["simulation.duration=1 ms"]).run(check=False)
    poses = expected_poses()
    for name, pose in poses.items():
        position = result["bodies/position"].sel(body=name)[0]
        np.testing.assert_allclose(position, pose[:3, 3], rtol=0, atol=1e-14, err_msg=name)
        R = matrix(result["bodies/quaternion"].sel(body=name)[0].values)
        np.testing.assert_allclose(R, pose[:3, :3], rtol=0, atol=1e-14, err_msg=name)


def test_a_multiple_of_a_constant_and_of_lines(tmp_path: Path) -> None:
    """Twice half of the translation of the hip, and three times a line whose offset counts as well."""
    half = "<function><Constant><value>0.0015</value></Constant></function><scale>2</scale>"
    constant = '<Constant name="function"><value>0.003</value></Constant>'
    path = changed(tmp_path, (constant, f'<MultiplierFunction name="function">{half}</MultiplierFunction>'))
    assert read(path).joints["hip"].pose.position == pytest.approx(read(LEG).joints["hip"].pose.position, abs=1e-15)
    polynomial = (
        '<PolynomialFunction name="function"><coefficients>0.02 -0.1 0.05 0</coefficients></PolynomialFunction>'
    )
    line = "<function><LinearFunction><coefficients>0.5 -0.1</coefficients></LinearFunction></function><scale>3</scale>"
    path = changed(tmp_path, (polynomial, f'<MultiplierFunction name="function">{line}</MultiplierFunction>'))
    assert read(path).joints["knee"].fields["rotation"][1]["angle"] == "1.5*knee_angle - 0.3"


def test_six_methods_have_the_same_motion() -> None:
    """Splines, a coupling by a spline, a locked coordinate, muscle, springs and limits in one model."""
    runs = [
        mbsim.load(LEG, [f"simulation.method={method}", "simulation.duration=0.02", "simulation.step=0.1 ms"]).run()
        for method in METHODS
    ]
    for method, one in zip(METHODS[1:], runs[1:], strict=True):
        atol = 1e-9 if method in ("redmax", "symbolic", "baraff") else 1e-5  # the others are of second order
        for name in ("pelvis", "tibia", "toes"):
            own = one["bodies/position"].sel(body=name)
            np.testing.assert_allclose(
                own, runs[0]["bodies/position"].sel(body=name), rtol=0, atol=atol, err_msg=method
            )


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [
        (0.0, 0.0),  # within
        (5.0, 0.0),  # where the force begins
        (10.0, -0.5 * (10 * 0.25**3 - 15 * 0.25**4 + 6 * 0.25**5) * 5.0),  # within the transition of 20 degrees
        (25.0, -0.5 * 20.0),  # its end
        (40.0, -0.5 * 35.0),  # beyond
        (-40.0, 0.0),
        (-70.0, 0.8 * 30.0),
    ],
)
def test_limits_of_coordinates_grow_over_their_transition(degrees: float, expected: float, tmp_path: Path) -> None:
    """Stiffness is per degree; at rest there is no damping."""
    start = f"<default_value>{float(np.radians(degrees))!r}</default_value>"
    path = changed(tmp_path, ("<default_value>-0.7</default_value>", start))
    result = mbsim.load(path, ["simulation.duration=1 ms", "gravity=[0, 0, 0]"]).run(check=False)
    total = sum(result[f"actuators/knee_limit_{side}/force"].values[0].item() for side in ("upper", "lower"))
    np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-12)


def test_each_item_has_one_fate_and_unknown_ones_are_reported(tmp_path: Path) -> None:
    report = ImportReport(read(LEG).ledger)
    assert not report.count("unknown")
    assert {entry.item for entry in report.losses} == {
        "<credits>",
        "<Ellipsoid name>",
        "<opacity>",
        "<range>",
        "<fixed>",
    }
    path = changed(tmp_path, ("<mass>7</mass>", "<mass>7</mass><charge>1</charge>"))
    lost = [entry for entry in ImportReport(read(path).ledger).entries if entry.fate == "unknown"]
    assert [entry.item for entry in lost] == ["<charge>"]


REFUSED = {
    "frame": (
        ("<socket_child_frame>/bodyset/patella</", "<socket_child_frame>/bodyset/patela</"),
        "socket_child_frame: there is no component `/bodyset/patela`; did you mean `patella`?",
    ),
    "coordinate": (
        ("<coordinate>ankle_angle</coordinate>", "<coordinate>ankle</coordinate>"),
        "there is no coordinate `ankle`; did you mean `ankle_angle`?",
    ),
    "joint": (("SliderJoint", "HelixJoint"), "joints <HelixJoint> are not read"),
    "points": (
        ("<y>-0.04 -0.02 0 0.01</y>", "<y>-0.04 -0.02 0</y>"),
        "expected two or more points, found 4 values x and 3 values y",
    ),
    "numbers": (("<mass>7</mass>", "<mass>7 kg</mass>"), "expected a number, found `7 kg`"),
    "idle coordinate": (
        (
            '<Coordinate name="knee_angle"><default_value>-0.7</default_value></Coordinate>',
            '<Coordinate name="knee_angle"/><Coordinate name="spare"/>',
        ),
        "nothing depends on the coordinate `spare`",
    ),
    "frame of a marker": (
        ("<socket_parent_frame>/bodyset/toes</", "<socket_parent_frame>/bodyset/toe</"),
        "socket_parent_frame: there is no component `/bodyset/toe`; did you mean `toes`?",
    ),
    "name": (('<PointToPointSpring name="strap">', "<PointToPointSpring>"), "expected an attribute `name`"),
    "function of nothing": (
        ("<coordinates>knee_angle</coordinates>\n              <axis>1 0 0</axis>", "<axis>1 0 0</axis>"),
        "expected a coordinate on which it depends",
    ),
    "count of coordinates": (
        ('<Coordinate name="subtalar_angle"><default_value>0.1</default_value></Coordinate>', ""),
        "expected 2 coordinates, found 1",
    ),
    "units": (("<length_units>meters</", "<length_units>mm</"), "lengths are in `mm`; meters are read"),
    "zero axis": (
        (
            "<axis>0 1 0</axis>\n              <PolynomialFunction",
            "<axis>0 0 0</axis>\n              <PolynomialFunction",
        ),
        "expected an axis other than 0 0 0",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_fault_is_a_message_with_its_line(name: str, tmp_path: Path) -> None:
    replacement, message = REFUSED[name]
    path = changed(tmp_path, replacement)
    with pytest.raises(SceneError) as refused:
        read(path)
    (line,) = str(refused.value).splitlines()
    assert re.match(rf"{re.escape(str(path))}:\d+:\d+: <", line)
    assert message in line


def test_a_property_without_a_value_has_its_default(tmp_path: Path) -> None:
    empty = "<max_contraction_velocity></max_contraction_velocity><tendon_slack_length>0.3</tendon_slack_length>"
    path = changed(tmp_path, ("<tendon_slack_length>0.3</tendon_slack_length>", empty))
    draft = read(path)
    assert draft.elements["muscles"]["rectus"].value["max_velocity"] == 10.0
    assert not ImportReport(draft.ledger).count("unknown")


def test_a_file_before_version_4_needs_opensim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = changed(tmp_path, ('Version="40000"', 'Version="30000"'))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SceneError, match=r"before OpenSim 4.*pip install opensim"):
        read(path)


def test_frames_in_a_circle_are_refused(tmp_path: Path) -> None:
    path = changed(tmp_path, ("<socket_parent>..</socket_parent>", "<socket_parent>../sole</socket_parent>"))
    with pytest.raises(SceneError, match="in a circle"):
        read(path)


def test_bones_are_meshes_of_the_folder_geometry(tmp_path: Path) -> None:
    folder = tmp_path / "Geometry"
    (tmp_path / "models").mkdir()
    folder.mkdir()
    (folder / "shell.vtp").write_text("")
    mesh = "<Mesh><mesh_file>shell.vtp</mesh_file><scale_factors>1 -1 2</scale_factors></Mesh><Ellipsoid"
    path = changed(tmp_path / "models", ("<Ellipsoid", mesh))
    shape = read(path).bodies["pelvis"].shapes[0]
    assert shape.mesh == folder / "shell.vtp"
    assert shape.fields == {"type": "mesh", "scale": [1.0, -1.0, 2.0], "contact": False}


def test_a_free_joint_is_a_free_body_and_a_locked_one_a_composite(tmp_path: Path) -> None:
    names = ("rx", "ry", "rz", "tx", "ty", "tz")
    values = (0.3, 0.0, -0.2, 0.1, 0.9, 0.2)
    angles = "".join(
        f'<Coordinate name="{name}"><default_value>{value}</default_value></Coordinate>'
        for name, value in zip(names, values, strict=True)
    )
    body = "<mass>1</mass><mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia>"
    head = '<OpenSimDocument Version="40000"><Model name="m"><BodySet name="bodyset"><objects>'
    joint = (
        '<FreeJoint name="base"><socket_parent_frame>/ground</socket_parent_frame>'
        f"<socket_child_frame>/bodyset/b</socket_child_frame><coordinates>{angles}</coordinates></FreeJoint>"
    )
    middle = '</objects></BodySet><JointSet name="jointset"><objects>'
    path = tmp_path / "m.osim"
    text = f'{head}<Body name="b">{body}</Body>{middle}{joint}</objects></JointSet></Model></OpenSimDocument>'
    locked = text.replace("0.9</default_value>", "0.9</default_value><locked>true</locked>")
    for content, joints in ((text, []), (locked, ["base"])):
        path.write_text(content)
        draft = read(path)
        assert list(draft.joints) == joints
        result = mbsim.load(path, ["simulation.duration=1 ms", "gravity=[0, 0, 0]"]).run(check=False)
        np.testing.assert_allclose(result["bodies/position"][0, 0], values[3:], atol=1e-15)
        R = matrix(result["bodies/quaternion"][0, 0].values)
        np.testing.assert_allclose(R, frame((0, 0, 0), values[:3])[:3, :3], atol=1e-15)


WRAPPED = """<OpenSimDocument Version="40000"><Model name="m">
<Ground name="ground"><WrapObjectSet name="s"><objects><WrapCylinder name="drum"><radius>0.05</radius></WrapCylinder>
</objects></WrapObjectSet></Ground>
<BodySet name="bodyset"><objects><Body name="b"><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet>
<JointSet name="jointset"><objects><PinJoint name="j"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/b</socket_child_frame></PinJoint></objects></JointSet>
<ForceSet name="forceset"><objects><PathSpring name="s"><GeometryPath name="p"><PathPointSet><objects>
<PathPoint name="p1"><socket_parent_frame>/ground</socket_parent_frame><location>0.1 0.2 0</location></PathPoint>
<UnknownPathPoint name="p2"/>
<PathPoint name="p3"><socket_parent_frame>/bodyset/b</socket_parent_frame><location>0.2 0 0</location></PathPoint>
<PathPoint name="p4"><socket_parent_frame>/ground</socket_parent_frame><location>0 0.3 0</location></PathPoint>
</objects></PathPointSet><PathWrapSet><objects><PathWrap name="w"><wrap_object>drum</wrap_object><range>{range}</range>
</PathWrap></objects></PathWrapSet></GeometryPath></PathSpring></objects></ForceSet></Model></OpenSimDocument>"""


@pytest.mark.parametrize(
    ("range_", "wraps"), [("-1 -1", [1, 3]), ("3 4", [2]), ("1 3", [1]), ("1 9", [1, 3]), ("2 3", []), ("4 4", [])]
)
def test_a_range_of_a_wrap_counts_points_that_are_dropped(range_: str, wraps: list[int], tmp_path: Path) -> None:
    """Beyond the points it was a traceback, and behind a dropped point it was off by one."""
    path = tmp_path / "m.osim"
    path.write_text(WRAPPED.format(range=range_))
    entries = read(path).elements["paths"]["s"].value["path"]
    assert [k for k, entry in enumerate(entries) if "wrap" in entry] == wraps


def test_names_of_surfaces_quadrants_and_forces_are_checked(tmp_path: Path) -> None:
    """A quadrant that OpenSim refuses was left out without a word."""
    path = tmp_path / "m.osim"
    path.write_text(WRAPPED.format(range="-1 -1").replace("</radius>", "</radius><quadrant>+q</quadrant>"))
    with pytest.raises(SceneError, match="expected a <quadrant> all, x, -x, y, -y, z or -z, found `q`"):
        mbsim.load(path)
    text = WRAPPED.format(range="-1 -1").replace("wrap_object>drum", "wrap_object>drums")
    path.write_text(text.replace("</objects></ForceSet>", '<PathSprings name="t"/></objects></ForceSet>'))
    draft = read(path)
    reasons = [entry.reason for entry in ImportReport(draft.ledger).losses]
    assert "the surface `drums` is dropped, or there is none; did you mean `drum`?" in reasons
    assert "forces of this type are not read; did you mean `PathSpring`?" in reasons


def test_a_line_within_a_body_does_not_go_round_a_surface_that_it_misses(tmp_path: Path) -> None:
    """The quadrant is for the line from body to body: OpenSim wraps one line."""
    text = WRAPPED.format(range="-1 -1").replace("</radius>", "</radius><quadrant>x</quadrant>")
    text = text.replace('<UnknownPathPoint name="p2"/>', "").replace(">0.2 0 0<", ">-0.1 0.2 0<")
    last = '<PathPoint name="p4"><socket_parent_frame>/ground'
    assert last in text
    text = text.replace(last, last.replace("ground", "bodyset/b"))
    path, straight = tmp_path / "m.osim", []
    for x in (-0.1, 0.08):  # the line within the body passes behind the drum at 0.1, or cuts it
        path.write_text(text.replace("0 0.3 0<", f"{x} -0.2 0<"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SceneWarning)
            result = mbsim.load(path, ["simulation.duration=1 ms", "gravity=[0, 0, 0]"]).run(check=False)
        straight.append(float(result["paths/s/length"].values[0]) - 0.2 - math.hypot(0.1 + x, 0.4))
    assert straight[0] == pytest.approx(0.0, abs=1e-12)
    assert straight[1] > 1e-3


MOVING = '<{kind} name="p2"><socket_parent_frame>/bodyset/b</socket_parent_frame>{inside}</{kind}>'
RANGE = "<location>0.1 0 0</location><socket_coordinate>/jointset/j/{}</socket_coordinate><range>-1 0.5</range>"
LINE = "<LinearFunction><coefficients>0.5 0.1</coefficients></LinearFunction>"
SPLINE = "<SimmSpline><x>-1 0 1</x><y>0.1 0.3 0.2</y></SimmSpline>"


def read_points(folder: Path, text: str) -> tuple[Draft, list[dict[str, Any]]]:
    """The path of the model with these texts in place of its second point."""
    path = folder / "m.osim"
    text = WRAPPED.format(range="-1 -1").replace('<UnknownPathPoint name="p2"/>', text)
    pin = "<socket_child_frame>/bodyset/b</socket_child_frame>"
    text = text.replace(pin, f'{pin}<coordinates><Coordinate name="bend"/></coordinates>')
    path.write_text(text)
    draft = read(path)
    return draft, [entry for entry in draft.elements["paths"]["s"].value["path"] if "wrap" not in entry]


def test_a_point_that_moves_has_expressions_of_its_coordinate(tmp_path: Path) -> None:
    inside = "".join(
        f"<socket_{letter}_coordinate>/jointset/j/bend</socket_{letter}_coordinate>"
        f"<{letter}_location>{function}</{letter}_location>"
        for letter, function in zip("xy", (LINE, SPLINE), strict=True)
    )
    _, entries = read_points(tmp_path, MOVING.format(kind="MovingPathPoint", inside=inside))
    assert entries[1] == {
        "body": "b",
        "coordinate": "j",
        "moving": ["0.5*q + 0.1", "y(q)", "0.0"],
        "functions": {"y": {"x": [-1.0, 0.0, 1.0], "y": [0.1, 0.3, 0.2], "interpolation": "simm"}},
    }


def test_a_range_is_wider_than_in_the_file_and_ends_of_paths_have_none(tmp_path: Path) -> None:
    point = MOVING.format(kind="ConditionalPathPoint", inside=RANGE.format("bend"))
    _, entries = read_points(tmp_path, point)
    assert entries[1] == {"body": "b", "point": [0.1, 0.0, 0.0], "coordinate": "j", "range": [-1.00001, 0.50001]}
    path = tmp_path / "m.osim"
    text, found = re.subn('<PathPoint name="p1">.*?</PathPoint>', "", path.read_text())
    assert found == 1
    path.write_text(text)
    draft = read(path)
    assert draft.elements["paths"]["s"].value["path"][0] == {"body": "b", "point": [0.1, 0.0, 0.0]}
    assert any("an end of the path" in loss.message for loss in ImportReport(draft.ledger).losses)


def test_a_point_without_a_coordinate_is_a_message(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="coordinate: there is no coordinate `bent`; did you mean `bend`"):
        read_points(tmp_path, MOVING.format(kind="ConditionalPathPoint", inside=RANGE.format("bent")))
