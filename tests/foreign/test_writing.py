"""The scene that is written for a model is the model, and reads as one that a person wrote."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbsim
from multibody_cli.document.source import ReadScene
from multibody_cli.foreign import read_model
from multibody_cli.foreign.frames import FramePose
from multibody_cli.foreign.options import Options
from multibody_cli.foreign.rounding import angle, direction, number, rotation, vector
from multibody_cli.foreign.writing import WIDTH, text
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.peers import ENGINES
from multibody_cli.scene.load import load_scene
from multibody_cli.spec.rotations import read_rotation, rotation_matrix
from multibody_cli.studies.import_check import check_import
from multibody_cli.studies.simulation import prepare
from multibody_cli.yaml_values import flow

HERE = Path(__file__).parent
MODELS = ["robot.urdf", "arm.sdf", "creature.xml", "leg.osim"]


def written(name: str | Path, folder: Path) -> Path:
    path = folder / Path(name).with_suffix(".yaml").name
    path.write_text(text(read_model(HERE / name, Options(), Problems()), folder))
    return path


def of_mujoco(name: str) -> None:
    if name.endswith(".xml"):
        pytest.importorskip("mujoco")


@pytest.mark.parametrize("name", MODELS)
def test_the_written_scene_is_the_scene_of_a_direct_run(name: str, tmp_path: Path) -> None:
    of_mujoco(name)
    draft = read_model(HERE / name, Options(), Problems())
    direct = load_scene(ReadScene(HERE / name, draft.tree(), Usage())).scene
    assert load_scene(written(name, tmp_path)).scene == direct


@pytest.mark.filterwarnings("ignore::mbsim.SceneWarning")
@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_a_direct_run_bit_by_bit(name: str, tmp_path: Path) -> None:
    of_mujoco(name)
    short = {"simulation.duration": 0.02}
    direct, own = (mbsim.load(path, short).run() for path in (HERE / name, written(name, tmp_path)))
    assert direct.data_vars.keys() == own.data_vars.keys()
    for channel, values in direct.data_vars.items():
        np.testing.assert_array_equal(values, own[channel], err_msg=str(channel))


@pytest.mark.parametrize("name", MODELS)
def test_lines_are_short(name: str, tmp_path: Path) -> None:
    of_mujoco(name)
    lines = written(name, tmp_path).read_text().splitlines()
    assert max(len(line) for line in lines if "#" not in line) <= WIDTH


# --- numbers ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "found"),
    [
        (0.1 + 0.2, 0.3),
        (1.5707963267948966, 1.5707963267948966),
        (2.0, 2),
        (-0.0, 0),
        (1e22, 1e22),
        (1 / 3, 1 / 3),
        (0.123456789012345, 0.123456789012345),
        (6.02e-17, 6.02e-17),
        (math.inf, math.inf),
    ],
)
def test_numbers_lose_round_off_and_no_digits(value: float, found: float) -> None:
    assert number(value) == found
    assert isinstance(number(value), int) == (float(found).is_integer() and abs(found) < 1e15)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (math.pi / 2, "90 deg"),
        (math.radians(-12.5), "-12.5 deg"),
        (0.5, 0.5),
        (1.5708, 1.5708),
        (0.0, 0),
        (1 / 3, 1 / 3),
        (math.pi, "180 deg"),
        (3.14159265359, 3.14159265359),
    ],
)
def test_angles_are_in_degrees_where_these_are_round(value: float, found: Any) -> None:
    assert angle(value) == found


def test_vectors_lose_what_is_round_off_of_their_largest_component() -> None:
    assert vector([6.1e-17, -1e-16, 1.0]) == [0, 0, 1]
    assert vector([1e-17, 0.0, 0.0]) == [1e-17, 0, 0]
    assert vector([0.0, 0.0, 0.0]) == [0, 0, 0]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ([0, 1, 0.2], [0, 1, 0.2]),
        ([1, 1, 0], [1, 1, 0]),
        ([0, 0.6, -0.8], [0, 0.6, -0.8]),
        ([0, 0, -3], [0, 0, -1]),
        ([1, -2, 3], [1, -2, 3]),
    ],
)
def test_unit_vectors_have_round_components(source: list[float], found: list[float]) -> None:
    assert direction((np.array(source) / np.linalg.norm(source)).tolist()) == found


def test_a_direction_of_the_source_is_kept_if_it_is_the_same() -> None:
    axis = (np.array([0.3, -0.7, 0.2]) / math.hypot(0.3, 0.7, 0.2)).tolist()
    assert direction(axis, [0.3, -0.7, 0.2]) == [0.3, -0.7, 0.2]
    assert direction(axis, [0.3, -0.7, 0.21]) == [1.5, -3.5, 1]
    assert direction(axis, [-0.3, 0.7, -0.2]) == [1.5, -3.5, 1]


ROUND = [
    "{euler: [0, 40 deg, 0]}",
    "{euler: [0, 180 deg, 0]}",
    "{euler: [0, -179 deg, 0]}",
    "{euler: [0, 0.3, 0]}",
    "{euler: [30 deg, 20 deg, -10 deg]}",
    "{euler: [0, 15 deg, 90 deg]}",
    "{euler: [-10 deg, 20 deg, 30 deg], order: ZYX}",
    "{axis: [1, 1, 0], angle: 25 deg}",
    "{axis: [0.6, 0.8, 0], angle: 30 deg}",
]


@pytest.mark.parametrize("form", ROUND)
def test_quaternions_become_round_angles(form: str) -> None:
    from yaml import safe_load

    own = safe_load(form)
    for sign in (1, -1):
        quaternion = [sign * part for part in read_rotation(own)]
        assert flow(rotation({"quaternion": quaternion})) == form


def test_a_rotation_does_not_change(tmp_path: Path) -> None:
    """Random quaternions, and products of right angles, half turns and small turns."""
    rng = np.random.default_rng(3)
    quaternions = list(rng.normal(size=(50, 4)))
    angles = [0, math.pi / 2, math.pi, -math.pi / 2, 1e-9, 0.3, math.radians(25)]
    quaternions += [
        np.array(read_rotation({"euler": rng.choice(angles, 3).tolist(), "order": "".join(order)}))
        for order in rng.permuted([list("XYZ")] * 100, axis=1)
    ]
    for quaternion in quaternions:
        unit = quaternion / np.linalg.norm(quaternion)
        found = read_rotation(rotation({"quaternion": unit.tolist()}))
        np.testing.assert_allclose(rotation_matrix(found), rotation_matrix(unit), atol=2e-15, rtol=0)


def test_euler_angles_of_the_source_are_kept() -> None:
    assert rotation({"euler": [0.1, 0.2, 1.5708], "order": "xyz"}) == {"euler": [0.1, 0.2, 1.5708], "order": "xyz"}
    assert rotation({"euler": [0.0, math.pi / 2, 0.0], "order": "xyz"}) == {"euler": [0, "90 deg", 0]}
    assert rotation({"euler": [0.0, 0.0, 0.3], "order": "zyx"}) == {"euler": [0.3, 0, 0]}


# --- names ------------------------------------------------------------------------------------------------------------
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def test_names_that_no_scene_can_have_get_near_ones_and_a_note(tmp_path: Path) -> None:
    """In all sections that name them, coordinates of couplings included; all other names stay."""
    path = tmp_path / "names.urdf"
    path.write_text(
        '<robot name="r">'
        + "".join(f'<link name="{name}">{INERTIAL}</link>' for name in ("base*", "base_", "a&#9;b", "model::link 1"))
        + '<joint name="wrist/1" type="continuous"><parent link="base*"/><child link="base_"/></joint>'
        + '<joint name="j[0]" type="continuous"><parent link="base_"/><child link="a&#9;b"/>'
        + '<mimic joint="wrist/1"/></joint>'
        + '<joint name="plain" type="continuous"><parent link="base_"/><child link="model::link 1"/></joint></robot>'
    )
    draft = read_model(path, Options(), Problems())
    assert list(draft.bodies) == ["base__", "base_", "a_b", "model::link 1"]
    assert list(draft.joints) == ["wrist_1", "j_0_", "plain"]
    assert draft.joints["j_0_"].child == "a_b"
    assert draft.elements["couplings"]["j_0_"].value["terms"] == {"j_0_": 1.0, "wrist_1": -1.0}
    assert draft.coordinates["wrist/1"].joint == "wrist_1"
    notes = [note for _, note in draft.ledger.notes]
    for old, new in {"base*": "base__", "a\tb": "a_b", "wrist/1": "wrist_1", "j[0]": "j_0_"}.items():
        assert f"`{old}` is `{new}` in the scene" in notes
    assert sum("in the scene" in note for note in notes) == 4
    load_scene(ReadScene(path, draft.tree(), Usage()))


def mjcf(folder: Path, body: str, further: str = "", compiler: str = "") -> Path:
    pytest.importorskip("mujoco")
    path = folder / "model.xml"
    path.write_text(f"<mujoco>{compiler}<worldbody>{body}</worldbody>{further}</mujoco>")
    return path


def test_names_in_expressions_are_the_new_ones(tmp_path: Path) -> None:
    path = mjcf(
        tmp_path,
        '<body name="b"><joint name="x/1"/><geom size="0.1"/></body>',
        '<actuator><position name="a*b" joint="x/1" kp="3"/></actuator><keyframe><key name="k?" ctrl="1"/></keyframe>',
    )
    draft = read_model(path, Options(), Problems())
    assert draft.elements["actuators"]["a_b"].value["target"] == 'inputs["a_b"]'
    assert draft.settings["states"].value["k_"]["inputs"] == {"a_b": 1.0}
    load_scene(ReadScene(path, draft.tree(), Usage()))


@pytest.mark.parametrize(("angle", "is_kept"), [(0.2, True), (1.0, False)])
def test_a_keyframe_outside_of_the_range_of_a_tendon_is_dropped(angle: float, is_kept: bool, tmp_path: Path) -> None:
    path = mjcf(
        tmp_path,
        '<body name="b"><joint name="x"/><geom size="0.1"/></body>',
        '<tendon><fixed name="t" range="-1 1" limited="true"><joint joint="x" coef="2"/></fixed></tendon>'
        f'<keyframe><key name="home"/><key name="k" qpos="{angle}"/></keyframe>',
    )
    draft = read_model(path, Options(strict=is_kept), Problems())
    assert [*draft.settings["states"].value] == (["home", "k"] if is_kept else ["home"])


# --- masses and friction ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("compiler", "geoms", "found"),
    [
        ("", '<geom size="0.1"/><geom size="0.2" pos="0 0 1"/>', {"density": 1000.0}),
        ("", '<geom size="0.1" density="500"/><geom size="0.2" mass="0"/>', {"density": 500.0}),
        ("", '<geom size="0.1" density="500"/><geom size="0.2" density="5"/>', {"density": 500.0}),
        ("", '<geom size="0.1" density="500"/><geom size="0.2" group="4"/>', {"density": 500.0}),
        ("", '<geom size="0.1" mass="2"/>', {}),
        ("", '<geom size="0.1" shellinertia="true"/>', {}),
        ("", '<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/><geom size="0.1"/>', {}),
        ('<compiler boundmass="100"/>', '<geom size="0.1"/>', {}),
        ('<compiler settotalmass="8"/>', '<geom size="0.1"/>', {"density": 8 / (4 / 3 * math.pi * 0.001)}),
    ],
)
def test_masses_that_follow_from_shapes_are_densities(
    compiler: str, geoms: str, found: dict[str, float], tmp_path: Path
) -> None:
    """And the mass matrix stays that of MuJoCo."""
    if "group" in geoms:
        compiler = '<compiler inertiagrouprange="0 1"/>'
    path = mjcf(tmp_path, f'<body name="b"><joint pos="0.3 0 0"/>{geoms}</body>', compiler=compiler)
    draft = read_model(path, Options(), Problems())
    body = draft.sections(tmp_path)["bodies"]["b"].value
    assert {key: body[key].value for key in ("density",) if key in body} == {
        key: pytest.approx(value, rel=1e-15) for key, value in found.items()
    }
    assert ("mass" in body) != bool(found)
    compared = check_import(prepare(ReadScene(path, draft.tree(), Usage())), draft, ENGINES["mjcf"].read(path))
    assert max(compared.differences.values()) < 1e-13


def test_the_friction_of_most_shapes_is_that_of_contacts(tmp_path: Path) -> None:
    geoms = "".join(f'<geom size="0.1" pos="{k} 0 0" friction="{mu}"/>' for k, mu in enumerate((0.7, 0.2, 0.7)))
    path = mjcf(tmp_path, f"<body><freejoint/>{geoms}</body>")
    sections = read_model(path, Options(), Problems()).sections(tmp_path)
    assert sections["contacts"].value["friction"] == 0.7
    (body,) = sections["bodies"].values()
    assert [shape.value.get("friction") for shape in body.value["shapes"]] == [None, 0.2, None]


# --- variables --------------------------------------------------------------------------------------------------------
def test_colors_and_folders_that_occur_often_are_variables(tmp_path: Path) -> None:
    """The others stay where they are: too few, too short, of two values, or with a name of another meaning."""
    folder = tmp_path / "a robot" / "description" / "meshes"
    folder.mkdir(parents=True)
    (folder / "part.stl").write_text("solid part\nendsolid part\n")
    path = tmp_path / "robot.urdf"
    colors = {"light blue": "0.25 0.5 0.75", "pi": "0.25 0.5 0.5", "two": "0.125 0.5 0.5", "white": "1 1 1"}
    names = ["light blue", "pi", "two", "white"] * 3 + ["few"] * 2
    mesh = f'<geometry><mesh filename="{folder.relative_to(tmp_path)}/part.stl"/></geometry>'
    visuals = "".join(f'<visual>{mesh}<material name="{name}"/></visual>' for name in names)
    own = f'<visual>{mesh}<material name="two"><color rgba="0.5 0.125 0.5 1"/></material></visual>'
    materials = "".join(
        f'<material name="{name}"><color rgba="{rgb} 1"/></material>'
        for name, rgb in (colors | {"few": "0.1 0.2 0.3"}).items()
    )
    path.write_text(f'<robot name="r">{materials}<link name="b">{INERTIAL}{visuals}{own}</link></robot>')
    scene = text(read_model(path, Options(), Problems()), tmp_path)
    _, _, head = scene.partition("vars:\n")
    variables, _, rest = head.partition("\n\n")
    assert variables == "  light_blue: [0.25, 0.5, 0.75]\n  meshes: a robot/description/meshes"
    assert rest.count('color: "${light_blue}"') == 3
    assert rest.count('file: "${meshes}/part.stl"') == 15
    assert rest.count("color: [1, 1, 1]") == rest.count("color: [0.25, 0.5, 0.5]") == 3


def test_a_long_density_of_many_bodies_is_a_variable(tmp_path: Path) -> None:
    bodies = "".join(f'<body pos="{k} 0 0"><freejoint/><geom size="0.1"/></body>' for k in range(3))
    scene = text(
        read_model(mjcf(tmp_path, bodies, compiler='<compiler settotalmass="8"/>'), Options(), Problems()), tmp_path
    )
    assert scene.count('density: "${density}"') == 3
    assert "${" not in text(read_model(mjcf(tmp_path, bodies), Options(), Problems()), tmp_path)


def test_names_of_a_model_are_no_expressions(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r"><link name="${{prefix}}base">{INERTIAL}</link></robot>')
    own = tmp_path / "robot.yaml"
    own.write_text(text(read_model(path, Options(), Problems()), tmp_path))
    assert [*load_scene(own).scene.bodies] == ["_{prefix}base"]


def test_variables_stand_before_the_sections_that_use_them(tmp_path: Path) -> None:
    bodies = "".join(f'<body pos="{k} 0 0"><freejoint/><geom size="0.1"/></body>' for k in range(3))
    draft = read_model(mjcf(tmp_path, bodies, compiler='<compiler settotalmass="8"/>'), Options(), Problems())
    keys = [line.split(":")[0] for line in text(draft, tmp_path).splitlines() if line and line[0] not in "# "]
    assert keys == ["mbsim", "gravity", "vars", "bodies", "contacts", "simulation"]


def test_factors_of_controls_are_round(tmp_path: Path) -> None:
    body = '<body name="b"><joint name="x"/><geom size="0.1"/></body>'
    motor = '<actuator><motor name="m" joint="x" gear="40"/></actuator>'
    draft = read_model(mjcf(tmp_path, body, motor), Options(), Problems())
    assert draft.elements["actuators"]["m"].value["force"] == "40*inputs.m"


def test_a_frame_that_turns_by_round_off_is_not_turned() -> None:
    turn = FramePose.of_euler([0.0, 0.0, 0.0], [0.3, -0.2, 1.1])
    assert FramePose(np.zeros(3), turn.rotation @ turn.rotation.T).data() == {}
    assert FramePose.of_euler([0.0, 0.0, 0.0], [0.0, 1e-14, 0.0]).data() == {"rotation": {"euler": [0, 1e-14, 0]}}


@pytest.mark.parametrize(
    ("inertia", "found"),
    [
        ('fullinertia="0.3 0.2 0.4 0.01 -0.02 0.03"', [[0.3, 0.01, -0.02], [0.01, 0.2, 0.03], [-0.02, 0.03, 0.4]]),
        ('diaginertia="0.3 0.2 0.4" quat="0.706855 0.707166 0.0123661 -0.0109307"', None),
    ],
)
def test_inertias_are_those_of_the_file(inertia: str, found: Any, tmp_path: Path) -> None:
    path = mjcf(tmp_path, f'<body name="b"><joint/><inertial pos="0.1 0 0" mass="2" {inertia}/></body>')
    draft = read_model(path, Options(), Problems())
    own = draft.sections(tmp_path)["bodies"]["b"].value["inertia"]
    quaternion = [0.706855, 0.707166, 0.0123661, -0.0109307]
    assert own == (
        {"matrix": found} if found else {"principal": [0.3, 0.2, 0.4], "rotation": {"quaternion": quaternion}}
    )
    compared = check_import(prepare(ReadScene(path, draft.tree(), Usage())), draft, ENGINES["mjcf"].read(path))
    assert max(compared.differences.values()) < 1e-13
