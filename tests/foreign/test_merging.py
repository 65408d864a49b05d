"""Links that are fixed to each other: names that meet, masses of zero, and the same motion with any `--merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from sdf_files import axis, joint, link, model, read, write

import mbsim
from multibody_cli.document.source import ReadScene
from multibody_cli.foreign import read_model
from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.studies.simulation import prepare

BOX = "<collision><geometry><box size='1 1 1'/></geometry></collision>"


def inertial(mass: float) -> str:
    inertia = " ".join(f"{name}='{mass}'" for name in ("ixx", "iyy", "izz"))
    return f"<inertial><mass value='{mass}'/><inertia {inertia} ixy='0' ixz='0' iyz='0'/></inertial>"


def robot(folder: Path, joints: list[tuple[str, str, str, str]], **links: str) -> Path:
    """Return a URDF with links, and joints with name, type, parent and child."""
    parts = [f"<link name='{name}'>{inside}</link>" for name, inside in links.items()]
    parts += [
        f"<joint name='{name}' type='{kind}'><origin xyz='0.1 0.2 0.3' rpy='0 {np.pi / 2} 0.4'/>"
        f"<parent link='{parent}'/><child link='{child}'/><axis xyz='0 1 0'/></joint>"
        for name, kind, parent, child in joints
    ]
    path = folder / "robot.urdf"
    path.write_text(f"<robot name='r'>{''.join(parts)}</robot>")
    return path


def draft_of(path: Path, **options: object) -> Draft:
    draft = read_model(path, Options(**options), Problems())  # type: ignore[arg-type]
    prepare(ReadScene(path, draft.tree(), Usage()))
    return draft


def test_a_base_is_fixed_by_a_joint_whose_name_no_other_has(tmp_path: Path) -> None:
    path = robot(tmp_path, [("base_to_world", "continuous", "base", "arm")], base=inertial(1), arm=inertial(1))
    joints = draft_of(path, base="fixed").joints
    assert [(one.name, one.type, one.parent, one.child) for one in joints.values()] == [
        ("base_to_world", "revolute", "base", "arm"),
        ("base_to_world_", "fixed", "world", "base"),
    ]


def test_a_frame_of_mass_zero_leaves_a_density(tmp_path: Path) -> None:
    path = robot(tmp_path, [("j", "fixed", "base", "tool")], base=BOX, tool=inertial(0))
    draft = draft_of(path, density=1000.0)
    assert draft.bodies["base"].mass is None
    assert list(draft.bodies["base"].points) == ["tool"]
    assert prepare(ReadScene(path, draft.tree(), Usage())).compiled.model.system.tree.links["mass"][1] == 1000.0


@pytest.mark.parametrize("merge", ["frames", "all", "none"])
def test_a_base_without_mass_that_is_fixed_to_a_link_with_mass_is_free(
    merge: Literal["frames", "all", "none"], tmp_path: Path
) -> None:
    """As those of many humanoids; bases of arms, where no mass is fixed to them, belong to the world."""
    joints = [("a", "fixed", "root", "pelvis"), ("b", "continuous", "pelvis", "arm")]
    for mass, free in (1, True), (0, False):
        path = robot(tmp_path, joints, root="", pelvis=inertial(mass), arm=inertial(1))
        draft = draft_of(path, merge=merge)
        assert len(prepare(ReadScene(path, draft.tree(), Usage())).fresh_state().v) == 6 * free + 1


@pytest.mark.parametrize("merge", ["frames", "all", "none"])
def test_a_leaf_of_frames_without_mass_moves_nothing(merge: Literal["frames", "all", "none"], tmp_path: Path) -> None:
    chain = [("a", "continuous", "base", "wrist"), ("b", "fixed", "wrist", "tool")]
    draft = draft_of(robot(tmp_path, chain, base=inertial(1), wrist="", tool=""), merge=merge)
    assert all(one.type == "fixed" for one in draft.joints.values())
    assert any("joint `a` is fixed: `wrist` has no mass" in note for _, note in draft.ledger.notes)


def test_a_leaf_with_a_rotor_moves(tmp_path: Path) -> None:
    empty = "<inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial>"
    rotor = "<drake:rotor_inertia>0.1</drake:rotor_inertia>"
    path = write(
        tmp_path,
        model(
            link("base"),
            f'<link name="disc"><pose>0 0 1 0 0 0</pose>{empty}</link>',
            joint("hold", "fixed", "world", "base"),
            joint("spin", "revolute", "base", "disc", axis("0 0 1"), inside=rotor),
        ),
    )
    assert read(path).joints["spin"].fields["armature"] == 0.1
    assert mbsim.Simulation(mbsim.load(path)).mass_matrix() == pytest.approx(np.array([[0.1]]))


def test_frames_of_one_name_are_different_points(tmp_path: Path) -> None:
    """Sites and bodies of MJCF may share names; a site at the frame of its body is the same point."""
    pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(
        '<mujoco><worldbody><body name="arm"><joint/><geom size="0.1"/><site name="tip" pos="1 0 0"/>'
        '<body name="tip" pos="0 0 0.5"><site name="end" pos="0 1 0"/></body>'
        '<body name="grip" pos="0 0 2"><site name="grip"/></body></body></worldbody></mujoco>'
    )
    draft = draft_of(path)
    points = {name: point.pose.position.tolist() for name, point in draft.bodies["arm"].points.items()}
    assert points == {"tip": [1, 0, 0], "tip_": [0, 0, 0.5], "end": [0, 1, 0.5], "grip": [0, 0, 2]}
    assert [note for _, note in draft.ledger.notes] == ["frame `tip` on `arm` is its point `tip_`"]


def test_declarations_of_namespaces_are_no_items(tmp_path: Path) -> None:
    path = robot(tmp_path, [], base=inertial(1))
    declared = "xmlns:a='http://a.org' xmlns='http://b.org'"
    path.write_text(path.read_text().replace("<link ", f"<link {declared} ").replace("<robot ", f"<robot {declared} "))
    draft_of(path, strict=True)
