"""Bad files end in one line for each problem, with file and line, in bounded time."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from multibody_cli.document.source import ReadScene
from multibody_cli.errors import SceneError
from multibody_cli.foreign import read_model
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.foreign.writing import text
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.scene.load import load_scene

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def link(name: str, inside: str = "") -> str:
    return f'<link name="{name}">{INERTIAL}{inside}</link>'


def joint(name: str, parent: str, child: str, type_: str = "revolute", inside: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{type_}">{ends}{inside}</joint>'


def robot(*lines: str) -> str:
    return "\n".join(['<robot name="r">', *lines, "</robot>"])


def mesh(name: str) -> str:
    return link("a", f'<visual><geometry><mesh filename="{name}"/></geometry></visual>')


def value(old: str, new: str) -> str:
    return robot(link("a").replace(old, new))


NUMBER = "expected a finite number with a decimal point, found"
REFUSED = {
    "comma": (value('mass value="1"', 'mass value="0,5"'), f"2: <mass>: `value`: {NUMBER} `0,5`"),
    "nan": (value('mass value="1"', 'mass value="nan"'), f"2: <mass>: `value`: {NUMBER} `nan`"),
    "too large": (value('ixx="1"', 'ixx="1e400"'), f"2: <inertia>: `ixx`: {NUMBER} `1e400`"),
    "hexadecimal": (value('ixx="1"', 'ixx="0x10"'), f"2: <inertia>: `ixx`: {NUMBER} `0x10`"),
    "too few": (
        robot(link("a", '<visual><origin xyz="1 2"/><geometry><box size="1 1 1"/></geometry></visual>')),
        "2: <origin>: `xyz`: expected 3 numbers separated by blanks, found `1 2`",
    ),
    "commas": (
        robot(link("a", '<visual><geometry><box size="1,2,3"/></geometry></visual>')),
        "2: <box>: `size`: expected 3 numbers separated by blanks, found `1,2,3`: write a decimal point",
    ),
    "negative": (
        robot(link("a", '<collision><geometry><sphere radius="-1"/></geometry></collision>')),
        "2: bodies.a.shapes[0].radius: expected a length (m) above 0, found `-1`",
    ),
    "no name": (robot("<link/>"), "2: <link>: expected an attribute `name`"),
    "no mass": (
        robot('<link name="a"><inertial><origin xyz="0 0 0"/></inertial></link>'),
        "2: <inertial>: expected <mass> and <inertia> in link `a`",
    ),
    "missing link": (
        robot(link("arm"), joint("j", "arm", "hand")),
        '3: <joint name="j">: there is no link `hand`; valid: arm',
    ),
    "two links": (robot(link("a"), link("a")), '3: <link name="a">: the name is already used in line 2 (bodies)'),
    "type": (
        robot(link("a"), link("b"), joint("j", "a", "b", "revolut")),
        '4: <joint name="j">: unknown type `revolut` of a joint; did you mean `revolute`?',
    ),
    "itself": (robot(link("a"), joint("j", "a", "a")), "3: joints.j.child: connects `a` to itself"),
    "world": (
        robot(link("world"), link("a"), joint("j", "a", "world")),
        '4: <joint name="j">: `world` is the fixed environment, and no child of a joint',
    ),
    "axis": (
        robot(link("a"), link("b"), joint("j", "a", "b", inside='<axis xyz="0 0 0"/>')),
        "4: <axis>: expected an axis other than [0, 0, 0]",
    ),
    "mimics": (
        robot(
            *map(link, "abc"),
            joint("j", "a", "b", inside='<mimic joint="k"/>'),
            joint("k", "b", "c", inside='<mimic joint="j"/>'),
        ),
        "6: <mimic>: joint `k` mimics itself",
    ),
    "no masses": (
        robot('<link name="a"/>'),
        ": no body has a mass: `mbsim import FILE --density 1000 -o SCENE` computes masses from the shapes",
    ),
    "empty": ("", "1: not XML: no element found"),
    "other root": ("<model/>", "1: expected the root element <robot> (URDF), found <model>"),
    "text": ("mbsim: 1", "1: not XML: syntax error"),
    "unclosed": ('<robot><link name="a">', "1: not XML: no element found"),
    "entities": (
        '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><robot name="&b;"/>',
        "1: the entity `a` is declared: entities are not read",
    ),
    "another file": (
        '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><robot name="a">&a;</robot>',
        "1: the entity `a` is declared: entities are not read",
    ),
    "deep": ("<robot>" + "<a>" * 300 + "</a>" * 300 + "</robot>", "1: elements are nested more than 200 deep"),
    "encoding": ('<?xml version="1.0" encoding="any"?><robot/>', ": not XML: unknown encoding: any"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_line_of_a_problem(name: str, tmp_path: Path) -> None:
    content, message = REFUSED[name]
    path = tmp_path / "bad.urdf"
    path.write_text(content)
    with pytest.raises(SceneError) as caught:
        load_scene(path)
    place = str(path) if message.startswith(":") else f"{path}:"
    found = re.sub(r"^(.*?:\d+):\d+:", r"\1:", str(caught.value))  # without the column
    assert found == place + message.replace("FILE", str(path))


def test_all_problems_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.urdf"
    path.write_text(
        robot(link("a").replace('ixx="1"', 'ixx="x"'), link("b").replace('izz="1"', ""), joint("j", "a", "c"))
    )
    with pytest.raises(SceneError) as caught:
        read_model(path, Options(), Problems())
    assert [line.split(":")[1] for line in str(caught.value).splitlines()] == ["2", "4"]


@pytest.mark.parametrize("head", ["", '<?xml version="0.0" ?>', '<?xml version="1.1"?>'])
def test_versions_and_blanks_are_accepted(head: str, tmp_path: Path) -> None:
    """Numbers followed by blanks and line ends, which urdfdom reads as an inertia of zero."""
    path = tmp_path / "good.urdf"
    path.write_text(head + value('ixx="1"', 'ixx=" 2 \n"').replace('izz="1"', 'izz="2\t"'))
    draft = read_model(path, Options(), Problems())
    assert draft.bodies["a"].mass.inertia.diagonal().tolist() == [2, 1, 2]
    assert any("is not a version of XML" in note for _, note in draft.ledger.notes) == ("0.0" in head or "1.1" in head)


@pytest.mark.parametrize("name", ["/etc/passwd", "/dev/zero", "package://../../../etc/passwd", "no.stl", "a&#0;.stl"])
def test_only_mesh_files_are_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.urdf"
    path.write_text(robot(mesh(name)))
    if "&#0;" in name:
        with pytest.raises(SceneError, match="not XML: reference to invalid character number"):
            read_model(path, Options(), Problems())
        return
    draft = read_model(path, Options(), Problems())
    [loss] = ImportReport(draft.ledger).losses
    assert loss.reason.startswith("no such file; searched: " if "no.stl" in name else f"`{name}` is no file .stl")
    assert not draft.bodies["a"].shapes


def test_control_characters_do_not_reach_a_report_or_a_scene(tmp_path: Path) -> None:
    path = tmp_path / "bad.urdf"
    path.write_text(robot(mesh("x&#9;&#x202e;&#10;mbsim: 2.stl")), encoding="utf-8")
    scene = text(read_model(path, Options(), Problems()), tmp_path)
    assert all(line.startswith("#") or line.isprintable() for line in scene.splitlines())
    assert "\u202e" not in scene
    (tmp_path / "scene.yaml").write_text(scene)
    load_scene(tmp_path / "scene.yaml")


@pytest.mark.parametrize("kind", ["chain", "frames"])
def test_many_links_take_bounded_time(kind: str, tmp_path: Path) -> None:
    """Chains in the order from the tip, in which each merging could move all earlier ones."""
    n = 4000
    path = tmp_path / "many.urdf"
    links = [link("l0"), *(link(f"l{k}") if kind == "chain" else f'<link name="l{k}"/>' for k in range(1, n))]
    joints = [joint(f"j{k}", f"l{k}", f"l{k + 1}", "fixed" if kind == "frames" else "revolute") for k in range(n - 1)]
    path.write_text(robot(*links, *reversed(joints)))
    start = time.process_time()
    draft = read_model(path, Options(merge="all"), Problems())
    assert len(draft.bodies) == (1 if kind == "frames" else n)
    assert time.process_time() - start < 10
    path.write_text(robot(*[link(f"l{k}") for k in range(20001)]))
    with pytest.raises(SceneError, match="expected at most 20000 bodies and joints"):
        read_model(path, Options(), Problems())


WORDS = ("-1", "0", "1e308", "nan", "", "x", "world", "base", "upper", "0 0 0", "fixed", "planar", "floating", "1e-320")
PIECES = ("<", ">", '"', "&", "&#0;", "\0", "<a>", "</robot>", " ")
TAGS = ("link", "joint", "mesh", "box", "origin", "mimic", "limit", "visual")


def damaged(content: str, rng: random.Random) -> str:
    """Change a value, a line, a character or a tag."""
    kind = rng.randrange(4)
    if kind == 0:
        values = [found.span(found.lastindex or 0) for found in re.finditer(r'="([^"]*)"|>([^<>\s][^<>]*)<', content)]
        start, end = rng.choice(values)
        return content[:start] + rng.choice(WORDS) + content[end:]
    if kind == 1:
        lines = content.split("\n")
        line = lines.pop(rng.randrange(len(lines)))
        for _ in range(rng.choice((0, 2))):
            lines.insert(rng.randrange(len(lines)), line)
        return "\n".join(lines)
    if kind == 2:
        start = rng.randrange(len(content))
        return content[:start] + rng.choice(PIECES) + content[start + rng.randint(0, 3) :]
    start, end = rng.choice([found.span(1) for found in re.finditer(r"<(\w+)", content)])
    return content[:start] + rng.choice(TAGS) + content[end:]


@pytest.mark.parametrize("source", ["robot.urdf", "arm.sdf", "leg.osim"])
@pytest.mark.parametrize("seed", range(10))
def test_damaged_models_are_scenes_or_have_problems(seed: int, source: str, tmp_path: Path) -> None:
    """For any options: a model that can be read is written as the scene that it is, and a refusal is a message."""
    rng = random.Random(seed)
    path, written = tmp_path / source, tmp_path / "scene.yaml"
    for _ in range(20):
        content = Path(__file__).with_name(source).read_text()
        for _ in range(rng.randint(1, 4)):
            content = damaged(content, rng)
        path.write_text(content)
        options = Options(
            merge=rng.choice(["frames", "all", "none"]),
            density=rng.choice([None, 1000.0]),
            repair=rng.random() < 0.5,
            base=rng.choice([None, "fixed", "free"]),
        )
        try:
            draft = read_model(path, options, Problems())
        except SceneError:
            continue
        written.write_text(text(draft, tmp_path))
        messages = []
        for scene in (written, ReadScene(path, draft.tree(), Usage())):
            try:
                load_scene(scene)
            except SceneError as error:
                messages.append([(problem.path, problem.message.split(":")[0]) for problem in error.problems])
        assert len(messages) in (0, 2)
