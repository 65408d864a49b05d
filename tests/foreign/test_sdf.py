"""An SDF has the poses and energies of its links, computed here by products of 4x4 matrices in the world frame."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.errors import SceneError
from multibody_cli.foreign import read_model
from multibody_cli.foreign.draft import WORLD, Draft
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.foreign.writing import text
from multibody_cli.nodes import Problems
from multibody_cli.studies.simulation import prepare

ARM = Path(__file__).with_name("arm.sdf")
RIGHT = np.pi / 2
GRAVITY = np.array([0.0, 0.0, -9.81])


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    cross = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def transform(*pose: float) -> np.ndarray:
    found = np.eye(4)
    for axis, angle in zip(np.eye(3), pose[3:], strict=True):
        found[:3, :3] = turn(axis, angle) @ found[:3, :3]
    found[:3, 3] = pose[:3]
    return found


BASE = transform(0.1, 0.2, 0.5, 0, 0, RIGHT)
SHOULDER = BASE @ transform(0, 0.1, 0.2, RIGHT, 0, 0)
UPPER = SHOULDER @ transform(0, 0, 0.05, 0, 0, 0.3)
MARK = UPPER @ transform(0.1, 0, 0, 0, np.pi, 0)
FORE = MARK @ transform(0, 0, 0.4, 0.2, -0.4, 0.7)
WRIST = FORE @ transform(0, 0.02, -0.1, 0, RIGHT, 0)
PALM = FORE @ transform(0.3, 0, 0.1, np.pi, 0, 0)
TIP = PALM @ transform(0, 0.05, 0, 0, 0, -RIGHT)
LINKS = {"base": BASE, "upper": UPPER, "fore": FORE, "hand::palm": PALM, "hand::tip": TIP}


def poses_of(draft: Draft) -> dict[str, np.ndarray]:
    """World poses of all bodies at zero coordinates, by the joints of the scene."""

    def matrix(pose: object) -> np.ndarray:
        found = np.eye(4)
        found[:3, :3], found[:3, 3] = pose.rotation, pose.position
        return found

    moved = {joint.child for joint in draft.joints.values()}
    found = {WORLD: np.eye(4)} | {name: matrix(body.pose) for name, body in draft.bodies.items() if name not in moved}
    left = list(draft.joints.values())
    while left:
        joint = left.pop(0)
        if joint.parent not in found:
            left.append(joint)
            continue
        place = found[joint.parent] @ matrix(joint.pose) @ np.linalg.inv(matrix(joint.child_pose))
        if joint.child in found:  # a loop
            np.testing.assert_allclose(found[joint.child], place, atol=1e-14)
        found[joint.child] = place
    return found


def read(path: Path, **options: object) -> Draft:
    return read_model(path, Options(**options), Problems())


def read_text(tmp_path: Path, inside: str, version: str = "1.11", name: str = "model.sdf") -> Draft:
    path = tmp_path / name
    path.write_text(f'<sdf version="{version}">\n{inside}\n</sdf>')
    return read(path)


def test_links_have_the_poses_of_the_file() -> None:
    draft = read(ARM, merge="none")
    found = poses_of(draft)
    for name, pose in LINKS.items():
        np.testing.assert_allclose(found[name], pose, atol=1e-14)
    point = draft.bodies["upper"].points["mark"].pose
    np.testing.assert_allclose(UPPER[:3, :3] @ point.position + UPPER[:3, 3], MARK[:3, 3], atol=1e-14)
    assert draft.bodies["hand::tip"].points["hand::grip"].pose.position.tolist() == [0, 0, 0.01]


def screw(place: np.ndarray, axis: np.ndarray, angle: float = 0.0, shift: float = 0.0) -> np.ndarray:
    """Motion of a body, in the world, by a joint with a frame and an axis in it, from zero coordinates."""
    motion = np.eye(4)
    motion[:3, :3], motion[:3, 3] = turn(axis, angle), shift * axis
    return place @ motion @ np.linalg.inv(place)


def placed(q: np.ndarray) -> dict[str, np.ndarray]:
    """World poses of all links: a product of exponentials."""
    model_x = SHOULDER[:3, :3].T @ np.array([1.0, 0, 0])  # of the axis, in the frame of the joint
    shoulder = screw(SHOULDER, model_x, q[0])
    oblique = np.array([0.6, 0.0, 0.8])
    wrist = shoulder @ screw(WRIST, np.array([0.0, 0, 1]), q[1]) @ screw(WRIST, oblique, q[2])
    finger = wrist @ screw(TIP, np.array([0.0, 1, 0]), q[3], shift=0.05 / (2 * np.pi) * q[3])
    motions = {"base": np.eye(4), "upper": shoulder, "fore": wrist, "hand::palm": wrist, "hand::tip": finger}
    return {name: motion @ LINKS[name] for name, motion in motions.items()}


INERTIAL = {
    "base": (1.0, (1, 1, 1, 0, 0, 0), np.eye(4)),  # the defaults of the format
    "upper": (1.5, (0.02, 0.025, 0.015, 0.001, 0.002, -0.003), transform(0, 0.01, 0.2, RIGHT, 0, 0.2)),
    "fore": (0.5, (0.01, 0.01, 0.002, 0, 0, 0), transform(0, 0, 0.1, 0, 0, 0)),
    "hand::palm": (1.0, (1, 1, 1, 0, 0, 0), np.eye(4)),
    "hand::tip": (0.2, (0.003, 0.002, 0.004, 0, 0, 0), transform(0, 0.03, 0, 0, 0.4, 0)),
}


def energies(q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Kinetic and potential energy, the former by central differences."""
    h = 1e-5
    now, before, after = placed(q), placed(q - h * v), placed(q + h * v)
    kinetic = potential = 0.0
    for name, (mass, (xx, yy, zz, xy, xz, yz), inner) in INERTIAL.items():
        rate, here = (after[name] - before[name]) @ inner / (2 * h), now[name] @ inner
        spin = here[:3, :3].T @ rate[:3, :3]
        angular = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        kinetic += mass * rate[:3, 3] @ rate[:3, 3] / 2 + angular @ inertia @ angular / 2
        potential -= mass * GRAVITY @ here[:3, 3]
    return kinetic, potential


@pytest.mark.filterwarnings("ignore:.*contacts are disabled")
@pytest.mark.parametrize("merge", ["frames", "all"])
def test_energies_are_those_of_the_links(merge: str, tmp_path: Path) -> None:
    path = tmp_path / "scene.yaml"
    path.write_text(text(read(ARM, merge=merge, base="fixed"), tmp_path))
    rng = np.random.default_rng(1)
    for q in (np.zeros(4), np.array([RIGHT, RIGHT, -RIGHT, np.pi]), rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 4)):
        v = rng.uniform(-1, 1, 4)
        state = {"simulation.duration": 0.001}
        for key, values in (("q", q.tolist()), ("v", v.tolist())):
            state |= {f"joints.shoulder.{key}": values[0], f"joints.wrist.{key}": values[1:3]}
            state[f'joints."hand::slide".{key}'] = values[3]
        state |= {"joints.shoulder.stiffness": 0.0}
        run = mbsim.load(path, state).run()
        kinetic, potential = energies(q, v)
        assert float(run["energy/kinetic"][0]) == pytest.approx(kinetic, rel=1e-8)
        assert float(run["energy/potential"][0]) == pytest.approx(potential, rel=1e-12)


def test_fields_of_joints() -> None:
    joints = read(ARM).joints
    assert joints["shoulder"].fields["limits"] == [-1.5, None]
    assert {key: joints["shoulder"].fields[key] for key in ("damping", "friction", "stiffness", "rest")} == {
        "damping": 0.1,
        "friction": {"torque": 0.2},
        "stiffness": 3.0,
        "rest": 0.25,
    }
    assert joints["wrist"].fields["damping"] == [0.0, 0.4]
    assert joints["hand::slide"].fields["pitch"] == 0.05


def test_all_is_accounted_for() -> None:
    report = ImportReport(read(ARM).ledger)
    assert [entry.item for entry in report.entries if entry.fate == "unknown"] == ["<novel>"]
    reasons = {entry.item: entry.reason for entry in report.losses}
    assert reasons["<plugin>"] == "settings of Gazebo"
    assert reasons["<sensor>"] == "pictures and sensors"


@pytest.mark.parametrize(("version", "axis"), [("1.4", [0, 1, 0]), ("1.5", [1, 0, 0])])
def test_axes_of_early_versions_are_in_the_model(version: str, axis: list[float], tmp_path: Path) -> None:
    link = f'<link name="a"><pose>0 0 0 0 0 {-RIGHT}</pose></link>'
    joint = '<joint name="j" type="revolute"><parent>world</parent><child>a</child>'
    joint += "<axis><xyz>1 0 0</xyz></axis></joint>"
    draft = read_text(tmp_path, f'<model name="m">{link}{joint}</model>', version)
    np.testing.assert_allclose(draft.joints["j"].fields["axis"], axis, atol=1e-15)


def test_early_thread_pitch_is_inverse_with_the_opposite_sign(tmp_path: Path) -> None:
    joint = '<joint name="j" type="screw"><parent>world</parent><child>a</child><axis/>{}</joint>'
    for pitch, expected in (("<thread_pitch>-4</thread_pitch>", np.pi / 2), ("", 1.0)):
        draft = read_text(tmp_path, f'<model name="m"><link name="a"/>{joint.format(pitch)}</model>')
        assert draft.joints["j"].fields["pitch"] == pytest.approx(expected)


def world(tmp_path: Path) -> Draft:
    folder = tmp_path / "models" / "ball"
    folder.mkdir(parents=True)
    (folder / "model.config").write_text(
        '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.10">new.sdf</sdf></model>'
    )
    (folder / "new.sdf").write_text(
        '<sdf version="1.10"><model name="ball"><pose>9 9 9 0 0 0</pose><link name="body"><pose>0 0 1 0 0 0</pose>'
        '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link>'
        '<frame name="top" attached_to="body"><pose>0 0 0.1 0 0 0</pose></frame></model></sdf>'
    )
    plane = "<plane><normal>0 0 1</normal><size>1 1</size></plane>"
    floor = f'<link name="l"><collision name="c"><geometry>{plane}</geometry></collision></link>'
    scene = f"""<world name="w"><gravity>0 0 -1.6</gravity>
      <physics type="ode"><max_step_size>0.002</max_step_size></physics>
      <include><uri>model://sun</uri></include>
      <model name="floor"><static>true</static><pose>0 0 -1 0 0 0</pose>{floor}</model>
      <frame name="spot"><pose>1 2 3 0 0 {RIGHT}</pose></frame>
      <include><uri>model://ball</uri><name>first</name><pose relative_to="spot">1 0 0 0 0 0</pose></include>
      <include><uri>ball</uri><name>second</name><placement_frame>top</placement_frame>
        <pose>0 0 5 0 0 0</pose></include>
    </world>"""
    return read_text(tmp_path / "models", scene, name="w.world")


@pytest.mark.filterwarnings("ignore:.*imported")
def test_a_world_has_included_models_and_static_ones(tmp_path: Path) -> None:
    draft = world(tmp_path)
    assert list(draft.bodies) == ["first::body", "second::body"]
    np.testing.assert_allclose(draft.bodies["first::body"].pose.position, [1, 3, 4], atol=1e-15)
    np.testing.assert_allclose(draft.bodies["second::body"].pose.position, [0, 0, 4.9], atol=1e-15)
    assert draft.world.shapes[0].fields["type"] == "plane"
    assert draft.world.shapes[0].pose.position.tolist() == [0, 0, -1]
    assert draft.settings["gravity"].value == [0, 0, -1.6]
    assert draft.settings["simulation"].value["step"] == 0.002
    assert any("--package sun=FOLDER" in entry.reason for entry in ImportReport(draft.ledger).losses)
    run = mbsim.load(tmp_path / "models" / "w.world", {"simulation.duration": 0.1}).run()
    height = float(run["points/second%3A%3Abody/second%3A%3Atop/position"][-1][2])
    step = 0.002  # of the file; with contacts, steps are semi-implicit
    assert height == pytest.approx(5.0 - 0.5 * 1.6 * 0.1 * (0.1 + step), abs=1e-12)


LINK = '<link name="a"/>'
REFUSED = {
    "frame": ('<link name="a"><pose relative_to="b"/></link>', "there is no frame `b`"),
    "cycle": (
        '<link name="a"><pose relative_to="f"/></link><frame name="f"><pose relative_to="a"/></frame>',
        "relative to itself",
    ),
    "carriers": (
        LINK + '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>',
        "is attached to itself",
    ),
    "twice": (LINK + LINK, "the name is already used in line 2"),
    "type": (LINK + '<joint name="j" type="revolut"><child>a</child></joint>', "did you mean `revolute`?"),
    "ends": (LINK + '<joint name="j" type="fixed"><child>a</child></joint>', "expected a <parent> and a <child>"),
    "child": (
        LINK + '<joint name="j" type="fixed"><parent>a</parent><child>world</child></joint>',
        "the child is part of the world, which does not move: swap <parent> and <child>",
    ),
    "parent": (
        LINK + '<joint name="j" type="fixed"><parent>b</parent><child>a</child></joint>',
        "there is no frame `b`",
    ),
    "pose": ('<link name="a"><pose>1 2 3</pose></link>', "expected 6 numbers"),
    "number": ('<link name="a"><inertial><mass>much</mass></inertial></link>', "expected a finite number"),
    "flag": ("<static>maybe</static>" + LINK, "expected true or false, found `maybe`"),
    "uri": (LINK + "<include/>", "expected a <uri>"),
    "parallel": (
        LINK + '<joint name="j" type="universal"><parent>world</parent><child>a</child><axis/><axis2/></joint>',
        "the two axes are parallel",
    ),
    "itself": ("<include><uri>model.sdf</uri></include>", "includes itself"),
}


@pytest.mark.parametrize(("inside", "message"), REFUSED.values(), ids=REFUSED)
def test_errors_name_the_element_and_the_cause(inside: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SceneError) as error:
        read_text(tmp_path, f'<model name="m">{inside}</model>')
    assert message in str(error.value)
    assert "model.sdf:2" in str(error.value)


SURFACE = "<surface><friction><ode><mu>0.3</mu></ode></friction></surface>"
BALL = f'<collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry>{SURFACE}</collision>'


@pytest.mark.filterwarnings("ignore:.*(imported|contacts are disabled)")
def test_friction_belongs_to_worlds(tmp_path: Path) -> None:
    """Without a world there are no contacts, and a scene refuses their coefficients."""
    model = (
        f'<model name="m"><link name="a"><pose rotation_format="quat_xyzw">0 0 1 0 0 7 7</pose>{BALL}</link></model>'
    )
    alone, inside = read_text(tmp_path, model), read_text(tmp_path, f'<world name="w">{model}</world>', name="w.sdf")
    assert "friction" not in alone.bodies["a"].shapes[0].fields
    assert inside.bodies["m::a"].shapes[0].fields["friction"] == 0.3
    np.testing.assert_allclose(alone.bodies["a"].pose.rotation, turn(np.array([0.0, 0, 1]), RIGHT), atol=1e-15)
    for file in ("model.sdf", "w.sdf"):
        mbsim.load(tmp_path / file)


def test_a_chain_of_frames_may_be_long(tmp_path: Path) -> None:
    names = [f"f{k}" for k in range(5000)]
    frames = "".join(
        f'<frame name="{name}"><pose relative_to="{base}">0.001 0 0 0 0 0</pose></frame>'
        for name, base in pairwise(names)
    )
    last = f'<frame name="{names[-1]}"/>'
    link = f'<link name="a"><pose relative_to="{names[0]}"/></link>'
    draft = read_text(tmp_path, f'<model name="m">{link}{frames}{last}</model>')
    assert draft.bodies["a"].pose.position[0] == pytest.approx(4.999)


@pytest.mark.parametrize(
    ("step", "message"),
    [("0.003", ""), ("0.7", ""), ("0", "step: expected"), ("1e-320", "step"), ("-1", "step: expected")],
)
def test_a_run_has_a_whole_number_of_steps(tmp_path: Path, step: str, message: str) -> None:
    path = tmp_path / "w.sdf"
    physics = f"<physics type='ode'><max_step_size>{step}</max_step_size></physics>"
    path.write_text(
        f"<sdf version='1.9'><world name='w'>{physics}<model name='m'><link name='l'/></model></world></sdf>"
    )
    if message:
        with pytest.raises(SceneError, match=message):
            prepare(path)
    else:
        prepare(path)
