"""SDF files with several models, includes, meshes and names of all kinds, and bad files, one line each."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import numpy as np
import pytest
from sdf_files import axis, joint, link, model, read, write

import mbsim
from multibody_cli.cli.app import main
from multibody_cli.errors import SceneError
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.scene.load import load_scene

Z = axis("0 0 1")
LINK = '<link name="a"/>'


def losses(path: Path) -> dict[str, str]:
    return {entry.item: entry.reason for entry in ImportReport(read(path).ledger).losses}


# --- models -----------------------------------------------------------------------------------------------------------
def test_several_models_of_a_file_have_their_names(tmp_path: Path) -> None:
    both = write(tmp_path, model(link("a"), name="one"), model(link("a"), name="two"))
    assert list(read(both).bodies) == ["one::a", "two::a"]
    assert list(read(write(tmp_path, model(link("a")))).bodies) == ["a"]


def test_links_and_joints_of_early_versions_may_share_names(tmp_path: Path) -> None:
    """The joint is renamed as libsdformat does."""
    inside = model(link("wheel"), link("base"), joint("wheel", "revolute", "base", "wheel", Z))
    assert list(read(write(tmp_path, inside, version="1.6")).joints) == ["wheel_joint"]
    with pytest.raises(SceneError, match="the name is already used in line 3"):
        read(write(tmp_path, inside, version="1.7"))


def test_names_may_contain_the_separator(tmp_path: Path) -> None:
    """As in files that older programs flattened."""
    frame = '<frame name="m::__model__" attached_to="m::a"><pose>0 0 1 0 0 0</pose></frame>'
    draft = read(write(tmp_path, model(link("m::a"), frame, '<frame name="f" attached_to="m::__model__"/>')))
    assert draft.bodies["m::a"].points["f"].pose.position.tolist() == [0, 0, 1]


def part(folder: Path, *inside: str) -> None:
    write(folder / "part", model(*inside, name="part"))
    (folder / "part" / "model.config").write_text('<model><sdf version="1.10">model.sdf</sdf></model>')


def test_a_merged_model_has_names_of_the_outer_one(tmp_path: Path) -> None:
    part(tmp_path, link("tip", "1 0 0 0 0 0"), '<frame name="f"><pose>0 0 1 0 0 0</pose></frame>', "<static>1</static>")
    include = '<include merge="true"><uri>part</uri><pose>0 2 0 0 0 0</pose></include>'
    path = write(tmp_path, model(include, link("own"), joint("j", "revolute", "f", "own", Z)))
    draft = read(path)
    assert list(draft.bodies) == ["tip", "own"] or list(draft.bodies) == ["own", "tip"]
    assert draft.bodies["tip"].pose.position.tolist() == [1, 2, 0]
    assert draft.joints["j"].parent == "tip"
    assert draft.bodies["tip"].points["f"].pose.position.tolist() == [-1, 0, 1]
    assert losses(path) == {"<static>": "a merged model has the settings of the outer one"}
    with pytest.raises(SceneError, match="the name `tip` of the merged model is already used"):
        read(write(tmp_path, model(include, link("tip"))))
    with pytest.raises(SceneError, match="a world has no links: include the model without `merge`"):
        read(write(tmp_path, f'<world name="w">{include}</world>'))


def test_joints_of_the_world_and_of_frames_in_nested_models(tmp_path: Path) -> None:
    hand = model("<pose>0 0 1 0 0 0</pose>", link("palm"), '<frame name="grip"/>', name="hand")
    arm = model("<pose>1 0 0 0 0 0</pose>", link("upper"), hand, name="arm")
    hold = joint("hold", "revolute", "spot", "arm::hand::grip", Z)
    spot = '<frame name="spot"><pose>0 0 3 0 0 0</pose></frame>'
    draft = read(write(tmp_path, f'<world name="w">{arm}{spot}{hold}</world>'))
    assert (draft.joints["hold"].parent, draft.joints["hold"].child) == ("world", "arm::hand::palm")
    assert draft.joints["hold"].pose.position.tolist() == [1, 0, 1]


@pytest.mark.filterwarnings("ignore:.*imported")
@pytest.mark.parametrize("collides", [False, True])
def test_links_of_a_model_touch_each_other_if_it_says_so(collides: bool, tmp_path: Path) -> None:
    ball = '<collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry></collision>'
    flag = f"<self_collide>{'true' if collides else 'false'}</self_collide>"
    links = [link("a", "0 0 0 0 0 0", inside=ball), link("b", "3 0 0 0 0 0", inside=ball)]
    hand = model(flag, joint("h", "fixed", "a", "b"), *links, name="hand")
    path = write(tmp_path, f'<world name="w">{model(flag, *links, hand)}</world>')
    for merge in ("frames", "all"):
        contacts = read(path, Options(merge=merge)).settings["contacts"].value
        patterns = [] if collides else [["m::*", "m::*"], ["m::hand::*", "m::hand::*"]]
        assert contacts.get("exclude", []) == patterns
    load_scene(path)


def test_exclusions_of_merged_links_are_left_out(tmp_path: Path) -> None:
    ball = '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>'
    hand = model(link("palm", inside=ball), link("tip"), joint("t", "fixed", "palm", "tip"), name="hand")
    arm = model(link("upper", inside=ball), hand, joint("h", "fixed", "upper", "hand::palm"))
    path = write(tmp_path, f'<world name="w">{arm}</world>')
    assert read(path, Options(merge="all")).settings["contacts"].value["exclude"] == [["m::*", "m::*"]]


def test_a_static_model_is_part_of_a_scene_that_includes_it(tmp_path: Path) -> None:
    box = '<collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>'
    write(tmp_path, model("<static>1</static>", f'<link name="l">{box}</link>'), name="table.sdf")
    ball = "{density: 1000, shapes: [{type: sphere, radius: 0.1}], position: [0, 0, 2]}"
    scene = tmp_path / "scene.yaml"
    scene.write_text(f"mbsim: 1\ninclude: [table.sdf]\nbodies: {{ball: {ball}}}\nsimulation: {{duration: 1 s}}")
    assert len(load_scene(scene).scene.world.shapes) == 1
    with pytest.raises(SceneError) as caught:
        load_scene(tmp_path / "table.sdf")
    assert (
        str(caught.value)
        == f"{tmp_path / 'table.sdf'}: the model has no body that moves: a scene may name it in `include`"
    )
    with pytest.raises(SystemExit) as exit:
        main(["import", str(tmp_path / "table.sdf"), "-o", str(tmp_path / "table.yaml")])
    assert not exit.value.code
    settings = "simulation: {duration: 1 s}"  # which the written scene has as well
    scene.write_text(scene.read_text().replace("table.sdf", "table.yaml").replace(settings, ""))
    assert len(load_scene(scene).scene.world.shapes) == 1


# --- includes ---------------------------------------------------------------------------------------------------------
def test_a_dropped_include_is_the_reason_of_a_missing_frame(tmp_path: Path) -> None:
    include = "<include><uri>model://wing</uri></include>"
    with pytest.raises(SceneError) as caught:
        read(write(tmp_path, model(include, link("a"), joint("j", "fixed", "a", "wing::root"))))
    assert "there is no frame `wing::root`; its model is dropped: no such file; searched: " in str(caught.value)
    with pytest.raises(SceneError, match="the model has no bodies; its <include> is dropped: no such file"):
        read(write(tmp_path, f'<world name="w">{include}</world>'))


def test_a_light_is_dropped_and_another_format_refused(tmp_path: Path) -> None:
    (tmp_path / "sun.sdf").write_text('<sdf version="1.10"><light name="sun" type="directional"/></sdf>')
    (tmp_path / "robot.urdf").write_text('<robot name="r"/>')
    path = write(tmp_path, model(link("a")), "<include><uri>sun.sdf</uri></include>")
    assert losses(path)["<include>"] == f"{tmp_path / 'sun.sdf'} has no <model>"
    with pytest.raises(SceneError, match=r"robot\.urdf is not SDF: its root element is <robot>"):
        read(write(tmp_path, model("<include><uri>robot.urdf</uri></include>", link("a"))))


# --- meshes -----------------------------------------------------------------------------------------------------------
CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = [(a, b, c) for a, b, c, _ in FACES] + [(a, c, d) for a, _, c, d in FACES]


def stl() -> bytes:
    """A unit cube."""
    pieces = [struct.pack("<12fH", 0, 0, 0, *CORNERS[list(face)].ravel(), 0) for face in TRIANGLES]
    return b"\0" * 80 + struct.pack("<I", len(pieces)) + b"".join(pieces)


def obj() -> bytes:
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in TRIANGLES]
    return "\n".join(lines).encode()


def dae() -> bytes:
    numbers, corners = " ".join(map(str, CORNERS.ravel())), " ".join(str(k) for face in TRIANGLES for k in face)
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="24">{numbers}</float_array><technique_common>
<accessor source="#pa" count="8" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="{len(TRIANGLES)}"><input semantic="VERTEX" source="#v" offset="0"/><p>{corners}</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>""".encode()


@pytest.mark.filterwarnings("ignore:.*imported")
@pytest.mark.parametrize(("suffix", "content"), [("stl", stl()), ("obj", obj()), ("dae", dae())])
def test_the_mass_of_a_mesh_with_units_along_each_axis(suffix: str, content: bytes, tmp_path: Path) -> None:
    """A cube of 1 m, scaled: mass, center of mass and inertia are those of a box."""
    if suffix == "dae":
        pytest.importorskip("collada")
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / f"cube.{suffix}").write_bytes(content)
    mesh = f"<mesh><uri>meshes/cube.{suffix}</uri><scale>0.1 0.2 -0.3</scale></mesh>"
    collision = f'<collision name="c"><pose>1 0 0 0 0 0</pose><geometry>{mesh}</geometry></collision>'
    path = write(tmp_path, model(f'<link name="a"><inertial auto="true"/>{collision}</link>'), version="1.11")
    M = mbsim.Simulation(mbsim.load(path)).mass_matrix()
    mass, sizes = 1000 * 0.1 * 0.2 * 0.3, np.array([0.1, 0.2, 0.3])
    across = np.cross(np.eye(3), [1.05, 0.1, -0.15])
    inertia = mass / 12 * np.diag(sizes @ sizes - sizes**2)
    expected = np.block([[mass * np.eye(3), -mass * across], [mass * across, inertia - mass * across @ across]])
    np.testing.assert_allclose(M, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*imported")
def test_a_cone_has_the_volume_and_about_the_inertia_of_a_cone(tmp_path: Path) -> None:
    """Center of mass at a quarter of the height above the base; the moments are those of textbooks."""
    r, h = 0.5, 1.2
    cone = f"<cone><radius>{r}</radius><length>{h}</length></cone>"
    collision = f'<collision name="c"><geometry>{cone}</geometry></collision>'
    path = write(tmp_path, model(f'<link name="a"><inertial auto="true"/>{collision}</link>'), version="1.11")
    M = mbsim.Simulation(mbsim.load(path)).mass_matrix()
    m, z = 1000 * np.pi * r * r * h / 3, -h / 4
    assert M[0, 0] == pytest.approx(m, rel=1e-12)
    assert abs(M[0, 4]) == pytest.approx(-m * z, rel=1e-12)
    across = m * (3 / 20 * r * r + 3 / 80 * h * h + z * z)
    np.testing.assert_allclose(np.diag(M)[3:], [across, across, 3 / 10 * m * r * r], rtol=1e-4)


# --- bad files --------------------------------------------------------------------------------------------------------
HINGE = '<joint name="j" type="revolute"><parent>world</parent><child>a</child>{}</joint>'
OF_B = '<axis><xyz expressed_in="b">0 0 1</xyz></axis>'
BAD = {
    "not XML": ('<sdf version="1.9"><model name="m">', "1: not XML: no element found"),
    "schema": ('<element name="link"/>', "1: expected the root element <sdf> (SDF), found <element>"),
    "comma": (
        '<sdf>\n<model name="m"><link name="a"><pose>0,1 0 0 0 0 0</pose></link></model></sdf>',
        "2: <pose>: expected a finite number with a decimal point, found `0,1`",
    ),
    "empty": ('<sdf><world name="w"/></sdf>', ": the model has no bodies"),
    "child": (
        f'<sdf><model name="m">{LINK}\n<joint name="j" type="fixed"><parent>a</parent><child>world</child></joint>'
        "</model></sdf>",
        '2: <joint name="j">: the child is part of the world, which does not move: swap <parent> and <child>',
    ),
    "itself": (
        f'<sdf><model name="m">{LINK}\n<joint name="j" type="fixed"><parent>a</parent><child>a</child></joint>'
        "</model></sdf>",
        "2: joints.j.child: connects `a` to itself",
    ),
    "axis": (
        f'<sdf><model name="m">{LINK}\n{HINGE.format("<axis><xyz>0 0 0</xyz></axis>")}</model></sdf>',
        "2: <axis>: expected an axis other than 0 0 0",
    ),
    "gearbox": (
        f'<sdf><model name="m">{LINK}<link name="b"/>\n{HINGE.replace("revolute", "gearbox").format("")}</model></sdf>',
        '2: <joint name="j">: expected a <parent>, a <child> and a <gearbox_reference_body>',
    ),
    "frame of an axis": (
        f'<sdf><model name="m">{LINK}\n{HINGE.format(OF_B)}</model></sdf>',
        "2: <axis>: there is no frame `b`; valid: __model__, a, j",
    ),
    "merged": (
        '<sdf><model name="m">\n<include merge="true"><uri>bad.sdf</uri></include></model></sdf>',
        "2: <include>: FILE includes itself",
    ),
    "rotation": (
        '<sdf><model name="m">\n<link name="a"><pose rotation_format="quat">0 0 0 1 0 0 0</pose></link></model></sdf>',
        "2: <pose>: unknown rotation_format `quat`; did you mean `quat_xyzw`?",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_the_line_of_a_problem(name: str, tmp_path: Path) -> None:
    content, message = BAD[name]
    path = tmp_path / "bad.sdf"
    path.write_text(content)
    with pytest.raises(SceneError) as caught:
        load_scene(path)
    line = str(caught.value).removeprefix(str(path))
    number, _, rest = line.removeprefix(":").partition(":")
    found = line if message.startswith(":") else f"{number}:{rest.partition(':')[2]}"
    assert found == message.replace("FILE", str(path))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "head",
    [
        "<!-- gz sim -r --headless world.sdf -->\n",
        ' \n<?xml version="1.0"?>\n',
        '<!-- a -- b --><?xml version="1.0" encoding="utf-8"?>\n',
        "<?xml version='1.0'?>\n<!-- <a> <!-- \n -->",
    ],
)
def test_comments_and_declarations_are_as_other_programs_read_them(head: str, tmp_path: Path) -> None:
    path = tmp_path / "model.sdf"
    data = "<plugin><![CDATA[ <!-- -- kept ]]></plugin>"
    path.write_text(f'{head}<sdf version="1.9"><model name="m">{data}\n<novel/>{LINK}</model></sdf>')
    [unknown] = [entry for entry in ImportReport(read(path).ledger).losses if entry.fate == "unknown"]
    assert unknown.element.mark.line == head.count("\n") + 2
    plugin = next(entry.element for entry in ImportReport(read(path).ledger).losses if entry.item == "<plugin>")
    assert plugin.text == " <!-- -- kept "


def test_unclosed_comments_take_bounded_time(tmp_path: Path) -> None:
    path = tmp_path / "model.sdf"
    path.write_text("<sdf>" + "<!--" * 500_000)
    start = time.process_time()
    with pytest.raises(SceneError, match="not XML"):
        read(path)
    path.write_text("<sdf>" + "<![CDATA[<!-- ]]>" * 100_000 + "</sdf>")
    with pytest.raises(SceneError, match="the model has no bodies"):
        read(path)
    assert time.process_time() - start < 5
