"""The documentation is correct: its commands run, its links have targets, its lists are complete."""

from __future__ import annotations

import ast
import contextlib
import io
import math
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest
import yaml
from pages import ROOT, Block, agree, blocks_of, commands_of, headings_of, links_of

import multibody_cli
from multibody_cli.cli.app import main
from multibody_cli.cli.list import list_features
from multibody_cli.cli.reference import ENVIRONMENT, EXAMPLES
from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import SIGNAL, TEMPLATE, parse
from multibody_cli.joints import JOINTS
from multibody_cli.spec.rotations import FORMS, read_rotation

README, TUTORIAL = ROOT / "README.md", ROOT / "docs/tutorial.md"
FOLLOWED = [README, TUTORIAL]
FOLLOWED += [
    ROOT / f"docs/{name}.md"
    for name in (
        "alarms",
        "certify",
        "coming-from-drake",
        "coming-from-gazebo",
        "coming-from-pinocchio",
        "comparing",
        "contacts",
        "doctor",
        "equations",
        "equilibrium",
        "exporting",
        "first-robot",
        "fit",
        "importing",
        "inverse",
        "kinematics",
        "joints",
        "modes",
        "control",
        "mechanisms",
        "muscles",
        "optimize",
        "plotting",
        "python",
        "rendering",
        "resuming",
        "sweeps",
        "variational",
    )
]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))


@pytest.fixture
def shell(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """Run a command in a folder in which the scenes lie, with the `mbsim` and `python` of this test.

    A command of `mbsim` alone runs in this process, since the start of a process takes most of its time.
    """
    tools, folder = tmp_path / "bin", tmp_path / "folder"
    tools.mkdir()
    folder.mkdir()
    (folder / "scenes").symlink_to(ROOT / "scenes")
    for name, words in {"python": "", "mbsim": "-m multibody_cli"}.items():
        tool = tools / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        tool.chmod(0o755)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tools), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path_factory.getbasetemp()))

    def run(words: str) -> tuple[int, list[str]]:
        program, *arguments = words_of(words)
        code, text = here(arguments) if program == "mbsim" else in_a_shell(words)
        lines = [line.rstrip() for line in text.splitlines()]
        return code, [line for line in lines if not line.startswith("compiling ")]

    run.folder = folder
    return run


def words_of(line: str) -> list[str]:
    """Words of a command; those of a shell if the line contains more than one command."""
    found = shlex.shlex(line, posix=True, punctuation_chars=True)
    found.whitespace_split = True
    words = list(found)
    return ["bash"] if any(set(word) <= set("|&;<>()") for word in words if word) else words


def here(words: list[str]) -> tuple[int, str]:
    """Run `mbsim` in this process; return its exit code and its output."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text), pytest.raises(SystemExit) as end:
        main(words)
    return int(end.value.code or 0), text.getvalue()


def in_a_shell(words: str) -> tuple[int, str]:
    """Run a command in a shell; return its exit code and its output."""
    ended = subprocess.run(
        ["bash", "-c", words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,  # kernels for contacts take minutes to compile
    )
    return ended.returncode, ended.stdout


@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.name)
def test_commands_of_a_page_print_the_output_shown(page, shell):
    followed = 0
    for block in blocks_of(page):
        if block.title:
            (shell.folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command in commands_of(block):
                code, found = shell(command.words)
                assert code == 0 or command.shown, f"`{command.words}` failed:\n" + "\n".join(found)
                assert agree(command.shown, found), f"`{command.words}` gave:\n" + "\n".join(found)
                followed += 1
    assert followed >= 3


def test_the_tutorial_ends_with_a_plot(shell):
    files = {block.title: block.text for block in blocks_of(TUTORIAL) if block.title}
    for name, text in files.items():
        (shell.folder / name).write_text(text, encoding="utf-8")
    [words] = [
        command.words
        for block in blocks_of(TUTORIAL)
        if block.language == "console"
        for command in commands_of(block)
        if re.fullmatch(r"mbsim plot \S+", command.words)
    ]
    code, found = shell(f"mbsim run pendulum.yaml && {words}")
    assert code == 0, found
    image = shell.folder / found[-1]
    assert image.read_bytes().startswith(b"\x89PNG")
    assert image.stat().st_size > 10_000


def test_only_console_blocks_show_commands():
    """Blocks of other languages are not run, so they must not contain commands."""
    quick_start = _quick_start()
    for page in FOLLOWED:
        for block in blocks_of(page):
            if block not in quick_start:
                assert block.language in {"console", "yaml", "python", "text", "xml"}
                if block.language in {"yaml", "python"}:
                    assert block.title, f"a file without a name:\n{block.text}"


def test_quick_start_is_two_commands_of_one_line():
    commands = _quick_start()
    assert [block.language for block in commands] == ["sh", "sh"]
    assert all(block.text.count("\n") == 1 and "\\\n" not in block.text for block in commands)
    first, second = (block.text for block in commands)
    assert "mbsim run scenes/" in first
    assert "pytest" in second
    scene = re.search(r"mbsim run (\S+)", first)
    assert scene is not None
    assert (ROOT / scene[1]).is_file()


def test_continuous_integration_runs_the_quick_start():
    """`.ci/quick_start` reads its commands from the README; with `--show` it only prints them."""
    assert (ROOT / ".ci/run").read_text().rstrip().endswith("quick_start 2")
    for number, block in enumerate(_quick_start(), start=1):
        words = ["bash", str(ROOT / ".ci/quick_start"), str(number), "--show"]
        shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert shown == block.text


def test_supported_versions_of_python_are_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = [word for line in project["classifiers"] for word in re.findall(r"Python :: (3\.\d+)$", line)]
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    matrices = {name: job["strategy"]["matrix"] for name, job in jobs.items() if "strategy" in job}
    assert project["requires-python"] == f">={versions[0]}"
    assert f"Requires Python {versions[0]} to {versions[-1]}." in README.read_text(encoding="utf-8")
    assert matrices["check"]["python-version"] == versions
    assert matrices["test"]["python-version"] == [versions[0], versions[-1]]
    assert [one["python-version"] for one in matrices["dependencies"]["include"]] == [versions[0], versions[-1]]


def _quick_start() -> list[Block]:
    text = README.read_text(encoding="utf-8")
    section = re.search(r"^## Quick start\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    assert section is not None
    return [block for block in blocks_of(README) if f"\n{block.text}```" in section[1]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_targets(page):
    for link in links_of(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert ROOT in (target, *target.parents), link
        if anchor and target.suffix == ".md":
            assert anchor in headings_of(target), link


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [README]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links_of(page)]
    assert set(PAGES) <= reached


NO_SCENES = {"parts", "suites", "papers"}
SCENES = sorted(path for path in (ROOT / "scenes").rglob("*.yaml") if path.parent.name not in NO_SCENES)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.stem)
def test_the_gallery_lists_every_scene_with_its_description(scene):
    description = " ".join(yaml.safe_load(scene.read_text(encoding="utf-8"))["description"].split())
    path = scene.relative_to(ROOT).as_posix()
    line = f"| [{scene.stem}](../{path}) | {description} |"
    assert line in (ROOT / "docs/gallery.md").read_text(encoding="utf-8").splitlines()


def test_files_named_in_the_guides_exist():
    """Paths in backquotes, such as `joints/contract.py`, are of the package, or of the project's root."""
    pages = [ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/adr").glob("*.md")]
    pages += (ROOT / "docs/theory").glob("*.md")
    for page in pages:
        for name in re.findall(r"`([\w./]+/[\w.]+\.(?:py|md|yaml|json))`", page.read_text(encoding="utf-8")):
            if not name.startswith("outputs/"):
                assert any((base / name).is_file() for base in (ROOT, ROOT / "multibody_cli")), (
                    page.name,
                    name,
                )


def index_of_equations() -> list[tuple[str, str, str]]:
    """Cells of the rows of the index: paper, equation or algorithm, functions with their files."""
    text = (ROOT / "docs/theory/README.md").read_text(encoding="utf-8")
    cells = [tuple(line.strip("| ").split(" | ")) for line in text.splitlines() if re.match(r"\| [A-Z]+ \|", line)]
    return [(paper, equation, functions) for paper, equation, functions in cells]


def names_defined_in(path: Path) -> set[str]:
    """Functions, classes and variables that a module defines at its top level."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    targets = (target for node in body if isinstance(node, ast.Assign) for target in node.targets)
    return functions | {target.id for target in targets if isinstance(target, ast.Name)}


@pytest.mark.parametrize("row", index_of_equations(), ids=lambda row: f"{row[0]} {row[1].partition(':')[0]}")
def test_the_index_of_equations_names_existing_functions(row):
    entries = re.fullmatch(r"(?:(?:`\w+`(?:, )?)+ \(`[\w/]+\.py`\)(?:, )?)+", row[2])
    assert entries, row[2]
    for names, file in re.findall(r"((?:`\w+`(?:, )?)+) \(`([\w/]+\.py)`\)", row[2]):
        path = ROOT / "multibody_cli" / file
        assert path.is_file(), file
        assert set(re.findall(r"`(\w+)`", names)) <= names_defined_in(path), (names, file)


def test_the_index_of_equations_covers_every_paper():
    papers = [paper for paper, _, _ in index_of_equations()]
    assert set(papers) == {"S", "L", "BM", "B", "SG", "F"}
    assert len(papers) >= 25


def test_the_readme_has_the_table_of_features():
    rows = list_features()
    table = [list(rows[0]), *([row[key] for key in rows[0]] for row in rows)]
    methods = README.read_text(encoding="utf-8").partition("## Methods")[2]
    shown = re.findall(r"^\| (.*) \|$", methods, re.MULTILINE)
    assert [line.split(" | ") for line in shown] == table


def test_the_page_on_contacts_has_the_friction_surface_of_every_joint():
    text = (ROOT / "docs/contacts.md").read_text()
    section = text[text.index("## Friction in joints") : text.index("## Cores")]
    listed = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    frictions = {name: kind.spec.model_fields.get("friction") for name, kind in JOINTS.items()}
    specs = {name: get_args(field.annotation)[0] for name, field in frictions.items() if field is not None}
    assert listed == {name for name, spec in specs.items() if "surface" in spec.model_fields}


def test_every_invariant_names_an_existing_test():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    invariants = re.findall(r"^\*\*Invariant:\*\*(.*?)(?=\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    assert len(invariants) >= 8
    for invariant in invariants:
        guards = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", invariant)
        assert guards or "import-linter" in invariant, invariant
        for file, name in guards:
            assert (ROOT / file).is_file(), file
            assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8") if name else True, name


@pytest.mark.parametrize(
    ("shown", "found", "agrees"),
    [
        (["a 1.5 b"], ["a 1.5000000000001 b"], True),
        (["a 1.5 b"], ["a 1.5001 b"], False),
        (["10 steps, 1e4 steps/s"], ["10 steps, 2e5 steps/s"], True),
        (["10 steps, 1e4 steps/s"], ["11 steps, 1e4 steps/s"], False),
        (["hash ..."], ["hash 123"], True),
        (["a", "...", "c"], ["a", "b", "b", "c"], True),
        (["a", "...", "c"], ["a", "b"], False),
        (["a"], ["a", "b"], False),
        ([], ["a"], False),
    ],
)
def test_the_comparison_of_output_can_fail(shown, found, agrees):
    assert agree(shown, found) is agrees


def test_the_python_examples_of_the_result_page_run(shell):
    """`swing.yaml` is the scene of the README."""
    page = ROOT / "docs/reference/result-file.md"
    for block in [*blocks_of(README), *blocks_of(page)]:
        if block.title:
            (shell.folder / block.title).write_text(block.text, encoding="utf-8")
    code, found = shell("mbsim run swing.yaml --quiet >/dev/null && python library.py")
    assert (code, found) == (0, ["(1001, 1)", "(1001,)"])
    text = page.read_text(encoding="utf-8") + (ROOT / "docs/python.md").read_text(encoding="utf-8")
    assert [name for name in multibody_cli.__all__ if name not in text] == []


def test_every_environment_variable_is_documented():
    package = Path(multibody_cli.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in package.rglob("*.py")]
    heeded = {name for text in texts for name in re.findall(r'environ(?:\.get\(|\[)"((?:MBSIM|NO)_\w+)"', text)}
    assert heeded == ENVIRONMENT.keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_have_no_placeholders(page):
    assert re.findall(r"\b[A-Z_]+_(?:TABLE|ERROR)\b", page.read_text(encoding="utf-8")) == []


def test_documented_operations_can_be_evaluated():
    names = {name: 1 for name in "abci"} | {"list": [1, 2]}
    for node, example in EXAMPLES.items():
        parse(example, TEMPLATE).evaluate(names)
        if node in SIGNAL.nodes:
            parse(example, SIGNAL)
        else:
            with pytest.raises(ExpressionError):
                parse(example, SIGNAL)
    silent = {"Expression", "BinOp", "UnaryOp", "Call", "Constant", "Name", "Load", "UAdd", "Compare", "BoolOp"}
    assert {node.__name__ for node in TEMPLATE.nodes if node not in EXAMPLES} == silent


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_documented_rotations_are_valid(form):
    written = yaml.safe_load(form.example)
    assert set(written) <= form.keys
    assert math.isclose(math.hypot(*read_rotation(written)), 1)
