"""Mass matrices and biases of SDF files agree with those of Drake, joint by joint."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from multibody_cli.cli.app import main
from multibody_cli.document.source import ReadScene
from multibody_cli.foreign import read_model
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.peers import ENGINES
from multibody_cli.studies.import_check import ImportCheck, check_import
from multibody_cli.studies.simulation import prepare

pytest.importorskip("pydrake.multibody")

RIGHT = np.pi / 2


def link(name: str, pose: str = "", mass: float = 1.0) -> str:
    inertia = "<ixx>0.02</ixx><iyy>0.03</iyy><izz>0.025</izz><ixy>0.001</ixy><ixz>0.002</ixz><iyz>-0.003</iyz>"
    inertial = f"<pose>0.1 -0.05 0.2 0.3 0 0.5</pose><mass>{mass}</mass><inertia>{inertia}</inertia>"
    return f'<link name="{name}"><pose>{pose}</pose><inertial>{inertial}</inertial></link>'


def joint(name: str, kind: str, parent: str, child: str, *axes: str, pose: str = "", inside: str = "") -> str:
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    shown = "".join(f"<{tag}>{axis}</{tag}>" for tag, axis in zip(("axis", "axis2"), axes, strict=False))
    return f'<joint name="{name}" type="{kind}"><pose>{pose}</pose>{ends}{shown}{inside}</joint>'


def axis(xyz: str, inside: str = "") -> str:
    return f"<xyz>{xyz}</xyz>{inside}"


SPRING = "<spring_stiffness>3</spring_stiffness><spring_reference>0.25</spring_reference><damping>0.4</damping>"
PITCH = "<screw_thread_pitch>0.3</screw_thread_pitch>"

ALL_JOINTS = [
    link("base", "0.1 0.2 0.5 0.3 0.2 -0.4", 2.0),
    '<frame name="socket" attached_to="base"><pose>0.2 0 0.1 0 1.2 0</pose></frame>',
    link("upper", "0.3 0.2 0.7 0 0 1.5707963267948966"),
    joint("shoulder", "ball", "socket", "upper", pose="0 0 -0.1 0.4 0 0"),
    link("fore", "0.3 0.5 0.9 1.5707963267948966 0 0"),
    joint("elbow", "revolute", "upper", "fore", axis("0 1 0", f"<dynamics>{SPRING}</dynamics>"), pose="0.1 0 0 0 0 1"),
    link("hand", "0.3 0.5 1.2 0 0.5 0"),
    joint("wrist", "universal", "fore", "hand", axis("0 0 2"), axis("0.6 0.8 0")),
    link("finger", "0.3 0.6 1.2 0 0 0"),
    joint("slide", "prismatic", "hand", "finger", axis("0.6 0 -0.8", f"<dynamics>{SPRING}</dynamics>")),
    f'<model name="tool"><pose>0 1 1 0 0 1</pose>{link("drill")}{link("bit", "0.1 0 0 0 0 0")}',
    joint("feed", "screw", "drill", "bit", axis("1 0 0"), inside=PITCH),
    "</model>",
    joint("grip", "fixed", "finger", "tool::drill"),
]


def compared(path: Path, options: Options | None = None) -> ImportCheck:
    draft = read_model(path, options or Options(), Problems())
    return check_import(prepare(ReadScene(path, draft.tree(), Usage())), draft, ENGINES["sdf"].read(path))


def write(tmp_path: Path, *inside: str, name: str = "model.sdf", version: str = "1.10") -> Path:
    path = tmp_path / name
    path.write_text("\n".join([f'<sdf version="{version}">', *inside, "</sdf>"]))
    return path


@pytest.mark.parametrize("merge", ["frames", "all", "none"])
def test_joints_of_all_types(merge: Literal["frames", "all", "none"], tmp_path: Path) -> None:
    path = write(tmp_path, '<model name="arm">', *ALL_JOINTS, "</model>")
    found = compared(path, Options(merge=merge))
    names = {"base", "shoulder", "elbow", "wrist axis", "wrist axis2", "slide", "tool::feed"}
    assert {one.name for one in found.joints} == names
    assert not found.absent
    assert max(found.differences.values()) < 1e-12, found.differences


@pytest.mark.parametrize("suffix", ["sdf", "world"])
def test_a_world_has_its_own_gravity(suffix: str, tmp_path: Path) -> None:
    arms = [
        f'<model name="{name}"><pose>{x} 0 0 0 0 1</pose>{"".join(ALL_JOINTS)}</model>' for x, name in enumerate("ab")
    ]
    hold = joint("hold", "fixed", "a::base", "b::base")
    for gravity in ("", "<gravity>1 2 -3</gravity>"):
        path = write(tmp_path, '<world name="w">', gravity, *arms, hold, "</world>", name=f"w.{suffix}")
        found = compared(path)
        assert found.agrees, list(found.lines())
        assert len(found.joints) == 13


def test_a_difference_is_reported_by_joint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Drake has one coefficient of damping for both axes of a universal joint: the first."""
    damping = "<dynamics><damping>0.4</damping></dynamics>"
    wrist = joint("wrist", "universal", "world", "a", axis("1 0 0"), axis("0 1 0", damping))
    path = write(tmp_path, f'<model name="m">{link("a")}{wrist}</model>')
    with pytest.raises(SystemExit) as exit:
        main(["import", str(path), "--check"])
    assert exit.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    assert "Drake: 2 joints at 6 states" in lines
    assert [line.split(":")[0].strip() for line in lines[-1:]] == ["wrist axis2"]
