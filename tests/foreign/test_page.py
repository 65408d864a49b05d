"""The tables of the page on importing agree with the fates that the readers give to elements and attributes."""

from __future__ import annotations

import re
from pathlib import Path

from multibody_cli.foreign import read_model
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.nodes import Problems

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs/importing.md").read_text(encoding="utf-8")

LINK = """
  <link name="{name}" self_collide="1">
    <inertial>
      <origin xyz="0 0 0.1"/><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
    </inertial>
    <collision name="c"><origin rpy="0 0 1"/><geometry><box size="1 1 1"/></geometry></collision>
    <visual name="v">
      <geometry><sphere radius="1"/></geometry>
      <material name="m"><color rgba="1 0 0 1"/><texture filename="wood.png"/></material>
    </visual>
    <visual><geometry><cylinder radius="1" length="1"/></geometry></visual>
  </link>"""

JOINT = """
  <joint name="{name}" type="{type}">
    <parent link="{parent}"/><child link="{child}"/><origin xyz="1 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics damping="1" friction="1"/>{more}
  </joint>"""

MORE = '<safety_controller soft_lower_limit="0" k_velocity="1"/><calibration rising="0"/>'
ROBOT = "".join(
    [
        '<robot name="all">',
        '<link name="world"/>',
        *(LINK.format(name=name) for name in "abcdefg"),
        JOINT.format(name="ab", type="revolute", parent="a", child="b", more=MORE),
        JOINT.format(name="ac", type="continuous", parent="a", child="c", more='<mimic joint="ab" multiplier="2"/>'),
        JOINT.format(name="ad", type="prismatic", parent="a", child="d", more=""),
        JOINT.format(name="ae", type="fixed", parent="a", child="e", more=""),
        '<joint name="wf" type="floating"><parent link="world"/><child link="f"/></joint>',
        '<joint name="wg" type="planar"><parent link="world"/><child link="g"/><axis xyz="0 0 1"/></joint>',
        '<transmission name="t"><type>simple</type></transmission><gazebo/><sensor name="s"/><ros2_control name="r"/>',
        "<mujoco/><group name='arm'/>",
        "</robot>",
    ]
)


def rows(section: str) -> list[tuple[str, str]]:
    """Cells of the first table of a section of the page."""
    [text] = re.findall(rf"^## {section}$(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [tuple(re.split(r" \| ", line.strip("| "), maxsplit=1)) for line in lines[1:] if "---" not in line]


def words(cell: str) -> set[str]:
    return {word for code in re.findall(r"`([^`]+)`", cell) for word in re.findall(r"[\w.-]+", code.partition("=")[0])}


def test_what_the_page_drops_of_urdf_is_what_the_reader_drops(tmp_path: Path) -> None:
    path = tmp_path / "all.urdf"
    path.write_text(ROBOT)
    report = ImportReport(read_model(path, Options(), Problems()).ledger)
    assert report.count("unknown") == 0
    dropped = {entry.attribute or entry.element.tag for entry in report.entries if entry.fate == "dropped"}
    kept = {entry.attribute or entry.element.tag for entry in report.entries if entry.fate == "kept"}
    stated = set().union(*(words(item) for item, fate in rows("URDF") if fate.startswith("dropped")))
    others = set().union(*(words(item) for item, fate in rows("URDF") if not fate.startswith("dropped")))
    assert dropped == stated - {"limit"}  # whose attributes the row names
    assert not (others & dropped)
    types = {"revolute", "continuous", "prismatic", "fixed", "floating", "planar", "world", "type"}
    assert others - types <= kept
