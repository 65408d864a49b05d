"""Names with characters that paths of channels, keys of `--set` and expressions use."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_result import Command
from hypothesis import given
from hypothesis import strategies as st
from loops import start

from multibody_cli.document.overrides import path_of
from multibody_cli.errors import SceneError
from multibody_cli.escaping import decoded, path_component
from multibody_cli.nodes import format_path
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.scene.load import load_scene
from multibody_cli.spec.entries import split_coordinate

ODD = ("model::link 1", "a/b", "a.b", "50% (b)", "%2F", ".", "..", "1st", "höft", "x+y,z'")
BALL = {"mass": 1, "shapes": [{"type": "sphere", "radius": 0.1}]}


@given(st.text(max_size=20).filter(lambda text: text.isprintable()))
def test_components_of_paths_are_decoded_to_their_names(name: str) -> None:
    assert decoded(path_component(name)) == name
    assert set(path_component(name)).isdisjoint("/.:*?[], ")


@pytest.mark.parametrize("name", ODD)
def test_keys_with_quotes_are_read_as_they_are_printed(name: str) -> None:
    path = ("bodies", name, "shapes", 0, "radius")
    assert path_of(format_path(path)) == path


def test_plain_keys_have_no_quotes() -> None:
    assert format_path(("bodies", "left-arm_2", "mass")) == "bodies.left-arm_2.mass"
    assert path_of('bodies."a.b".mass') == ("bodies", "a.b", "mass")
    assert path_of('"a.b"') == ("a.b",)
    for broken in ('bodies."a.b', 'bodies.a"b".mass', 'bodies."".mass'):
        assert path_of(broken) is None


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("wrist/1", ("wrist", "1")),
        ("wrist", ("wrist", "")),
        ("robot/wrist/12", ("robot/wrist", "12")),
        ("robot/wrist", ("robot/wrist", "")),
        ("/3", ("/3", "")),
    ],
)
def test_a_coordinate_is_the_name_of_its_joint_and_its_index(word: str, parts: tuple[str, str]) -> None:
    assert split_coordinate(word) == parts


@pytest.mark.parametrize(
    "name", ["a\ab", "a\u202eb", "a\nb", "a*", "a?", "a[0]", 'a"b', "a=b", "a\\b", " a", "a ", "", "a/0"]
)
def test_control_characters_and_patterns_are_refused(name: str) -> None:
    with pytest.raises(SceneError, match=r"expected a name"):
        start({"bodies": {name: BALL}}, "aba")


@pytest.mark.parametrize("name", ODD)
def test_channels_of_any_name_are_written_and_read(name: str, tmp_path: Path, mbsim: Command) -> None:
    """Each section has an element of this name, and another one whose name would be its path."""
    other = name.replace("/", "%2F") + "/q"
    body = {"mass": 1, "com": [0.1, 0, 0], "inertia": {"principal": [1, 1, 1]}, "points": {name: [0.1, 0, 0]}}
    hinge = {"type": "revolute", "child": name, "axis": [0, 1, 0], "damping": 0.1}
    cross = {"type": "universal", "parent": name, "child": other, "force": [0, f'0.1*joints["{name}"].q']}
    spring = {"between": [{"body": "world"}, {"body": other, "point": [0, 1, 0]}], "stiffness": 5, "rest_length": 1}
    scene = {
        "mbsim": 1,
        "bodies": {name: body, other: body},
        "joints": {name: hinge, other: cross},
        "couplings": {name: {"type": "linear", "terms": {name: 1, f"{other}/0": -1}}},
        "springs": {name: spring},
        "forces": {name: {"body": name, "viscous": {"linear": 0.1}}},
        "actuators": {name: {"type": "position", "joint": name, "kp": 2, "target": 0.3}},
        "sensors": {name: {"body": name}},
        "simulation": {"duration": 0.01, "step": 1e-3, "integrator": "rk4"},
        "expect": [
            {"expression": f'joints["{name}"].q', "max": 1},
            {"expression": f'points["{name}"]["{name}"].position.x - bodies["{name}"].com.x', "max": 1e-12},
        ],
    }
    path, result = tmp_path / "scene.yaml", tmp_path / "result.h5"
    path.write_text(json.dumps(scene), encoding="utf-8")
    assert mbsim("run", path, "-o", result, "--set", f"{format_path(('bodies', name, 'mass'))}=2").code == 0
    assert load_scene(path).scene.bodies.keys() == {name, other}
    component = path_component(name)
    with h5py.File(result) as file:
        for section, quantity in (
            ("joints", "q"),
            ("couplings", "error"),
            ("springs", "length"),
            ("actuators", "force"),
        ):
            assert f"{section}/{component}/{quantity}" in file
        assert f"energy/dissipation/joints/{component}/damping" in file
        assert f"energy/dissipation/forces/{component}" in file
    trajectory = read_trajectory(result)
    assert trajectory.bodies == (name, other)
    q = trajectory.channel(f"joints/{component}/q").values[-1, 0]
    x, _, z = trajectory.channel(f"bodies/{component}/com").values[-1]
    np.testing.assert_allclose((x, z), (0.1 * np.cos(q), -0.1 * np.sin(q)), atol=1e-12)
    assert mbsim("compare", result, result).code == 0
    assert (
        mbsim("plot", result, f"joints/{component}/q", f"bodies/{component}/com", "-o", tmp_path / "plot.svg").code == 0
    )
    assert mbsim("export", result, "-o", tmp_path / "table.csv").code == 0
