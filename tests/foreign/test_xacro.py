"""Macros of xacro files: arguments, included files, and errors in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from multibody_cli.cli.app import main
from multibody_cli.errors import SceneError
from multibody_cli.foreign import read_model
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.nodes import Problems

pytest.importorskip("xacrodoc")

ROBOT = """<robot name="chain" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="1"/>
  <xacro:include filename="$(find chain)/parts.xacro"/>
  <xacro:part name="a"/>
  <xacro:part name="b"/>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0 0 ${2*length}"/></joint>
  <strange/>
</robot>"""
PARTS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="length" value="0.25"/>
  <xacro:macro name="part" params="name">
    <link name="${name}"><inertial><mass value="$(arg mass)"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  </xacro:macro>
</robot>"""


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """A package `chain` in a folder of another name."""
    (tmp_path / "urdf").mkdir()
    (tmp_path / "package.xml").write_text("<package><name>chain</name></package>")
    (tmp_path / "parts.xacro").write_text(PARTS)
    path = tmp_path / "urdf" / "robot.urdf.xacro"
    path.write_text(ROBOT)
    return path


@pytest.mark.parametrize("mass", ["1", "2.5"])
def test_macros_are_expanded(robot: Path, mass: str) -> None:
    draft = read_model(robot, Options(arguments={"mass": mass}), Problems())
    assert [body.mass.mass for body in draft.bodies.values()] == [float(mass)] * 2
    assert draft.joints["j"].pose.position.tolist() == [0, 0, 0.5]
    [loss] = ImportReport(draft.ledger).losses
    assert (loss.fate, loss.element.tag) == ("unknown", "strange")
    assert loss.element.mark.file == f"{robot} (expanded)"


def test_an_error_of_a_macro_is_one_line(robot: Path) -> None:
    robot.write_text(ROBOT.replace("2*length", "2*width"))
    with pytest.raises(SceneError, match=r"robot.urdf.xacro:1:1: the macros cannot be expanded: .*width.*") as caught:
        read_model(robot, Options(), Problems())
    assert len(str(caught.value).splitlines()) == 1


def test_the_expanded_robot_is_compared_with_pinocchio(robot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pinocchio")
    with pytest.raises(SystemExit) as exit:
        main(["import", str(robot), "--check", "--arg", "mass=2.5"])
    assert not exit.value.code
    assert "Pinocchio: 2 joints at 6 states" in capsys.readouterr().out


def test_a_package_is_named_by_an_option(robot: Path, tmp_path: Path) -> None:
    (tmp_path / "package.xml").unlink()
    with pytest.raises(SceneError, match="chain"):
        read_model(robot, Options(), Problems())
    assert len(read_model(robot, Options(packages={"chain": tmp_path}), Problems()).bodies) == 2
