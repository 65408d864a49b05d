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
from multibody_cli.foreign.options import Options
from multibody_cli.foreign.rounding import angle, direction, number, rotation, vector
from multibody_cli.foreign.writing import WIDTH, text
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.scene.load import load_scene
from multibody_cli.spec.rotations import read_rotation, rotation_matrix
from multibody_cli.yaml_values import flow

HERE = Path(__file__).parent
MODELS = ["robot.urdf", "arm.sdf", "creature.xml"]


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
