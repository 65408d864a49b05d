"""Each item of an MJCF file has one fate, and a file that cannot be read is one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from multibody_cli.errors import SceneError
from multibody_cli.foreign import mjcf_fates, read_model
from multibody_cli.foreign.ledger import Ledger
from multibody_cli.foreign.markup import Element, parse
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.nodes import Mark, Problems

mujoco = pytest.importorskip("mujoco")


def tree_of(text: str) -> Element:
    return parse(text.encode(), "model.xml", Usage()).root


def schema() -> Element:
    """All elements and attributes of MJCF, nested as in the schema that MuJoCo prints, whose depth is the indent."""
    mark = Mark("schema")
    root = Element("root", {}, mark)
    above = [(-1, root)]
    for line in mujoco.mj_printSchema(False, False).splitlines():
        words = line.split()
        if words and re.match(r"\(world\)|\S+ \([!*?R]\)", line.strip()):
            depth = len(line) - len(line.lstrip())
            while above[-1][0] >= depth:
                above.pop()
            element = Element(words[0].removeprefix("(world)"), dict.fromkeys(words[2:], ""), mark)
            above[-1][1].children.append(element)
            above.append((depth, element))
        else:
            above[-1][1].attributes |= dict.fromkeys(words, "")
    (found,) = root.children
    for body in found.all("body"):
        found.children.append(Element("worldbody", {}, mark, [body]))
        found.children.remove(body)
    return found


def test_every_item_of_the_schema_of_mujoco_has_a_fate() -> None:
    root = schema()
    assert sum(1 + len(element.attributes) for element in root.walk()) > 1000
    ledger = Ledger("model.xml")
    ledger.add_source(root)
    mjcf_fates.claim(root, ledger)
    assert sorted({entry.item for entry in ledger.entries() if entry.fate == "unknown"}) == []


@pytest.mark.parametrize("place", ["worldbody", "worldbody/body", "worldbody/body/geom", "option", "default", "asset"])
def test_an_unknown_item_is_reported_once(place: str) -> None:
    text = '<mujoco><option/><default/><asset/><worldbody><body><geom type="box"/></body></worldbody></mujoco>'
    root = tree_of(text)
    element = root
    for tag in place.split("/"):
        element = element.all(tag)[0]
    element.attributes["glow"] = "1"
    element.children.append(Element("aura", {"size": "2"}, element.mark))
    ledger = Ledger("model.xml")
    ledger.add_source(root)
    mjcf_fates.claim(root, ledger)
    assert [entry.item for entry in ledger.entries() if entry.fate == "unknown"] == [f"<{element.tag} glow>", "<aura>"]


# --- files that cannot be read ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "<mujoco><worldbody><body><geom size='1'/><joint type='hinges'/></body></worldbody></mujoco>",
            "refuses the model",
        ),
        ("<mujoco><include file='none.xml'/></mujoco>", "cannot read the file"),
        ("<mujoco><include file='model.xml'/></mujoco>", "includes itself"),
        ("<mujoco><asset><mesh file='none.stl'/></asset><worldbody/></mujoco>", "refuses the model"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "model.xml").write_text(text)
    with pytest.raises(SceneError, match=message) as raised:
        read_model(tmp_path / "model.xml", Options(), Problems())
    assert len(str(raised.value).splitlines()) == 1
    assert not list(tmp_path.glob("MUJOCO_LOG*"))
