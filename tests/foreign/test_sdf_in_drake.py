"""Mass matrices, biases, momenta and energies of SDF files agree with those of Drake."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from sdf_files import axis, joint, link, model, read, write

from multibody_cli.cli.app import main
from multibody_cli.document.source import ReadScene
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.peers import ENGINES
from multibody_cli.studies.import_check import ImportCheck, check_import
from multibody_cli.studies.simulation import prepare

pytest.importorskip("pydrake.multibody")

SPRING = "<spring_stiffness>3</spring_stiffness><spring_reference>0.25</spring_reference><damping>0.4</damping>"
PITCH = "<screw_thread_pitch>0.3</screw_thread_pitch>"
ROTOR = "<drake:rotor_inertia>0.01</drake:rotor_inertia><drake:gear_ratio>3</drake:gear_ratio>"
EFFORT = "<limit><effort>{}</effort></limit>"

ALL_JOINTS = [
    link("base", "0.1 0.2 0.5 0.3 0.2 -0.4", 2.0),
    '<frame name="socket" attached_to="base"><pose>0.2 0 0.1 0 1.2 0</pose></frame>',
    link("upper", "0.3 0.2 0.7 0 0 1.5707963267948966"),
    joint("shoulder", "ball", "socket", "upper", f"<dynamics>{SPRING}</dynamics>", pose="0 0 -0.1 0.4 0 0"),
    link("fore", "0.3 0.5 0.9 1.5707963267948966 0 0"),
    joint("elbow", "revolute", "upper", "fore", axis("0 1 0", f"<dynamics>{SPRING}</dynamics>"), pose="0.1 0 0 0 0 1"),
    link("hand", "0.3 0.5 1.2 0 0.5 0"),
    joint("wrist", "universal", "fore", "hand", axis("0 0 2"), axis("0.6 0.8 0")),
    link("finger", "0.3 0.6 1.2 0 0 0"),
    joint("slide", "prismatic", "hand", "finger", axis("0.6 0 -0.8", f"<dynamics>{SPRING}</dynamics>"), inside=ROTOR),
    f'<model name="tool"><pose>0 1 1 0 0 1</pose>{link("drill")}{link("bit", "0.1 0 0 0 0 0")}',
    joint("feed", "screw", "drill", "bit", axis("1 0 0"), inside=PITCH),
    "</model>",
    joint("turn", "continuous", "finger", "tool::drill", axis("0 1 0", EFFORT.format(0)), inside=ROTOR),
    link("sled", "1 2 3 0 0 0"),
    '<frame name="track" attached_to="finger"><pose>0.2 0 0.1 0.3 0 0</pose></frame>',
    '<drake:joint name="glide" type="planar"><drake:parent>track</drake:parent><drake:child>sled</drake:child>'
    "<drake:damping>0.1 0.2 0.3</drake:damping></drake:joint>",
]
"""Joints of all types that Drake has; one has a rotor, and one no effort, so that Drake has no rotor either."""


def compared(path: Path, options: Options | None = None) -> ImportCheck:
    draft = read(path, options)
    return check_import(prepare(ReadScene(path, draft.tree(), Usage())), draft, ENGINES["sdf"].read(path))


@pytest.mark.parametrize("merge", ["frames", "all", "none"])
def test_joints_of_all_types(merge: Literal["frames", "all", "none"], tmp_path: Path) -> None:
    found = compared(write(tmp_path, model(*ALL_JOINTS)), Options(merge=merge))
    axes = {f"{name} axis{number}" for name, count in (("wrist", 2), ("glide", 3)) for number in ("", 2, 3)[:count]}
    assert {one.name for one in found.joints} == {"base", "shoulder", "elbow", "slide", "tool::feed", "turn"} | axes
    assert not found.absent
    assert max(found.differences.values()) < 1e-12, found.differences


@pytest.mark.parametrize("suffix", ["sdf", "world"])
def test_a_world_has_its_own_gravity(suffix: str, tmp_path: Path) -> None:
    arms = [model(f"<pose>{x} 0 0 0 0 1</pose>", *ALL_JOINTS, name=name) for x, name in enumerate("ab")]
    hold = joint("hold", "fixed", "a::base", "b::base")
    for gravity in ("", "<gravity>1 2 -3</gravity>"):
        path = write(tmp_path, '<world name="w">', gravity, *arms, hold, "</world>", name=f"w.{suffix}")
        found = compared(path)
        assert found.agrees, list(found.lines())
        assert len(found.joints) == 21


def test_included_and_merged_models(tmp_path: Path) -> None:
    """Placement frames, names of merged models, and the link that carries the frame of a model."""
    inside = [link("root", "0 0 1 0 0.3 0"), link("tip"), joint("j", "revolute", "root", "tip", axis("0 0 1"))]
    grip = '<frame name="grip" attached_to="tip"><pose>0.1 0 0.2 0 0 1</pose></frame>'
    part = write(tmp_path / "models/part", model(*inside, grip, "<static>1</static>"))
    part.with_name("model.config").write_text('<model><sdf version="1.10">model.sdf</sdf></model>')
    uri = "<uri>model://part/</uri><placement_frame>grip</placement_frame><static>0</static>"
    merged = f'<include merge="true">{uri}<pose relative_to="stand">0 0 1 0 0.5 0</pose></include>'
    nested = f"<include>{uri}<name>inner</name><pose>0 2 0 0 0 1</pose></include>"
    stand = '<frame name="stand" attached_to="own"><pose>0 0 1 0.3 0 0</pose></frame>'
    origin = '<frame name="origin"><pose>0 1 0 0 0 0</pose></frame>'
    outer = [link("own", "0 0 3 0 0 1"), joint("k", "revolute", "grip", "own", axis("1 0 0")), stand, origin]
    held = joint("h", "prismatic", "origin", "inner::root", axis("0 0 1"), pose="0.1 0 0 0.2 0 0")
    whole = model(merged, nested.replace("<static>0</static>", ""), *outer, held)
    assert "inner::root" not in read(write(tmp_path / "models/whole", whole.replace(held, ""))).bodies
    part.write_text(part.read_text().replace("<static>1</static>", ""))
    found = compared(write(tmp_path / "models/whole", whole))
    assert {one.name for one in found.joints} == {"root", "j", "k", "inner::j", "h"}
    assert found.agrees, list(found.lines())


def test_masses_of_shapes(tmp_path: Path) -> None:
    shapes = [
        "<box><size>0.1 0.2 0.3</size></box>",
        "<cylinder><radius>0.1</radius><length>0.4</length></cylinder>",
        "<drake:ellipsoid><drake:a>0.1</drake:a><drake:b>0.2</drake:b><drake:c>0.3</drake:c></drake:ellipsoid>",
    ]
    placed = [
        f'<{tag} name="{k}"><pose>0.1 {k} 0 0 0.3 0</pose><geometry>{shape}</geometry></{tag}>'
        for tag, number in (("collision", 2), ("visual", 1))
        for k, shape in enumerate(shapes[:number])
    ]
    for stated in ("<density>600</density>", "<mass>3</mass>"):
        inside = "".join([f'<inertial auto="true">{stated}</inertial>', *placed])
        path = write(tmp_path, model(f'<link name="a">{inside}</link>'), version="1.11")
        assert compared(path).agrees


def test_a_difference_is_reported_by_joint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Drake has one coefficient of damping for both axes of a universal joint: the first."""
    damping = "<dynamics><damping>0.4</damping></dynamics>"
    wrist = joint("wrist", "universal", "world", "a", axis("1 0 0"), axis("0 1 0", damping))
    path = write(tmp_path, model(link("a"), wrist))
    with pytest.raises(SystemExit) as exit:
        main(["import", str(path), "--check"])
    assert exit.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    assert "Drake: 2 joints at 6 states" in lines
    assert [line.split(":")[0].strip() for line in lines[-1:]] == ["wrist axis2"]
