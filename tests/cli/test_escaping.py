"""Text of files reaches terminals, logs and reports without characters that control them."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import h5py
import pytest
from command_result import Command

import multibody_cli
from multibody_cli.escaping import escaped

HOSTILE = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eleft \u2066 \u200b\x7f\r"
RAW = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
BODY = "bodies: {a: {mass: 1 kg, shapes: [{type: sphere, radius: 0.1}]}}\n"
SETTINGS = "simulation: {duration: 2 ms, step: 1 ms}\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text ~ {}\n", "plain text ~ {}\n"),
        ("a\x1b[2Jb", "a\\u001b[2Jb"),
        ("\t\r\x7f\x9b", "\\u0009\\u000d\\u007f\\u009b"),
        ("\u202e\u2066\u200b\u2028\xa0", "\\u202e\\u2066\\u200b\\u2028\\u00a0"),
        ("pendulo-ñ-振-مرحبا-한국", "pendulo-ñ-振-مرحبا-한국"),
        ("\udcff\U000e0041", "\\udcff\\udb40\\udc41"),
    ],
)
def test_only_characters_that_control_a_terminal_are_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_every_control_and_format_character_is_escaped() -> None:
    import unicodedata

    characters = [chr(k) for k in range(0x110000) if unicodedata.category(chr(k)) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert len(characters) > 2000
    assert [char for char in characters if char != "\n" and escaped(char) == char] == []


def test_escaped_json_is_the_same_json() -> None:
    data = {HOSTILE: [HOSTILE, "\U000e0041", "ñ"]}
    assert json.loads(escaped(json.dumps(data, ensure_ascii=False))) == data


SCENES = {
    "name of a body": BODY.replace("{a:", f"{{{json.dumps(HOSTILE)}:") + SETTINGS,
    "key": f"{BODY}{SETTINGS}{json.dumps(HOSTILE)}: 1\n",
    "value": BODY.replace("mass:", f"kind: {json.dumps(HOSTILE)}, mass:") + SETTINGS,
    "unit": BODY.replace("1 kg", f'"1 " + {HOSTILE!r}') + SETTINGS,
    "expression": f"vars: {{b: {json.dumps('${' + HOSTILE + '}')}}}\n{BODY}{SETTINGS}",
    "scene name": f"name: {json.dumps(HOSTILE)}\n{BODY}{SETTINGS}",
    "file": f"include: [{json.dumps(HOSTILE)}]\n{BODY}{SETTINGS}",
    "line": BODY.replace("mass:", 'kind: "x\\nhostile.yaml: ok", mass:') + SETTINGS,
}


@pytest.mark.parametrize("option", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("text", SCENES.values(), ids=list(SCENES))
def test_problems_of_scenes_are_escaped(mbsim: Command, tmp_path: Path, text: str, option: list[str]) -> None:
    Path("hostile.yaml").write_text("mbsim: 1\n" + text, encoding="utf-8")
    ending = mbsim("validate", "hostile.yaml", *option)
    assert ending.code == 2
    assert not RAW.search(ending.stdout + ending.stderr)
    assert "hostile.yaml: ok" not in ending.stdout.splitlines()


def test_arguments_are_escaped(mbsim: Command) -> None:
    override = ["validate", "pendulum.yaml", "--set", HOSTILE]
    for words in (["run", HOSTILE], override, [HOSTILE], ["info", f"-{HOSTILE}"]):
        ending = mbsim(*words)
        assert ending.code == 2
        assert not RAW.search(ending.stdout + ending.stderr)
        assert "\\" in ending.stdout + ending.stderr


@pytest.mark.parametrize("words", [["run", "a\0.yaml"], ["validate", "s.yaml", "--set", "a=\0"], ["in\0fo"]], ids=str)
def test_a_nul_character_in_an_argument_is_refused(mbsim: Command, words: list[str]) -> None:
    ending = mbsim(*words)
    assert (ending.code, ending.stdout) == (2, "")
    assert ending.stderr.startswith("error: an argument contains a NUL character")


def test_texts_of_a_result_are_escaped(mbsim: Command) -> None:
    Path("s.yaml").write_text(f"mbsim: 1\ndescription: {json.dumps(HOSTILE)}\n{BODY}{SETTINGS}")
    assert mbsim("run", "s.yaml", "-o", "a.h5").code == 0
    with h5py.File("a.h5") as file:
        assert file.attrs["description"] == HOSTILE  # the file itself has the text
    assert mbsim("run", "s.yaml", "-o", "b.h5").code == 0
    with h5py.File("b.h5", "a") as file:
        file.attrs["method"] = HOSTILE
        file["energy/kinetic"].attrs["units"] = HOSTILE
    reports = ["--junit", "r.xml", "--markdown", "r.md"]
    for words in (
        ["info", "b.h5"],
        ["info", "b.h5", "--json"],
        ["info", "s.yaml"],
        ["compare", "a.h5", "b.h5", *reports],
    ):
        ending = mbsim(*words)
        assert "\\u001b[31mred" in ending.stdout
        assert not RAW.search(ending.stdout + ending.stderr), words
    for name in ("r.xml", "r.md"):
        assert not RAW.search(Path(name).read_text(encoding="utf-8"))
    ElementTree.parse("r.xml")


def test_markup_of_files_is_text_in_reports(mbsim: Command) -> None:
    name = "![x](http:--x)<script>`.h5"
    Path("s.yaml").write_text(f"mbsim: 1\n{BODY}{SETTINGS}")
    assert mbsim("run", "s.yaml", "-o", "a.h5").code == 0
    assert mbsim("run", "s.yaml", "--step", "0.5ms", "-o", name).code == 0
    mbsim("compare", "a.h5", name, "--markdown", "r.md")
    text = Path("r.md").read_text(encoding="utf-8")
    visible = re.sub(r"`[^`\n]*`", "", text)
    assert "<script" not in visible
    assert "](" not in visible


def test_pictures_have_no_control_characters(mbsim: Command) -> None:
    Path("s.yaml").write_text(f"mbsim: 1\n{BODY}{SETTINGS}")
    assert mbsim("run", "s.yaml", "-o", "a.h5").code == 0
    with h5py.File("a.h5", "a") as file:
        file["energy/kinetic"].attrs["units"] = f"$\\frac$ {HOSTILE} <b>"
    ending = mbsim("plot", "a.h5", "energy/kinetic", "-o", "p.svg")
    assert (ending.code, ending.stderr) == (0, "")
    assert not RAW.search(Path("p.svg").read_text(encoding="utf-8").replace("\t", " "))
    ElementTree.parse("p.svg")


def test_only_two_functions_write_to_the_terminal() -> None:
    """`show` and the messages escape; every other print would not."""
    writers = set()
    for path in (Path(multibody_cli.__file__).parent).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write"
            ):  # fmt: skip
                writers.add(path.name)
    assert writers == {"tables.py", "messages.py"}
