"""`mbsim new` and `mbsim completion`: templates run and meet their expectations, and shells complete verbs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from command_result import Command

from multibody_cli.cli.new import FILES, TEMPLATES
from multibody_cli.scene.export import scene_schema_text


def commands_of(readme: Path) -> list[list[str]]:
    """The commands of a README, as words after `mbsim`."""
    lines = re.findall(r"^mbsim (.*)$", readme.read_text(), re.MULTILINE)
    return [[word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)] for line in lines]


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_runs_without_warnings_and_meets_its_expectations(
    mbsim: Command, folder: Path, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = mbsim("new", "trial", "--template", template)
    assert ending.code == 0
    scene = folder / next(line for line in ending.stdout.splitlines() if line.endswith("trial.yaml"))
    monkeypatch.chdir(folder / "trial")
    relative = scene.relative_to(folder / "trial")
    ending = mbsim("run", relative)
    warnings = [line for line in ending.stderr.splitlines() if not line.startswith("compiling ")]
    assert (ending.code, warnings) == (0, []), ending
    assert ending.stdout.count("  expect        pass") >= 2
    assert "FAIL" not in ending.stdout
    assert ending.stdout.splitlines()[-1] == "  result        outputs/trial.h5"


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_folder_has_a_schema_beside_the_scene_and_four_commands(
    mbsim: Command, folder: Path, template: str
) -> None:
    mbsim("new", "trial", "--template", template)
    [scene] = (folder / "trial").rglob("trial.yaml")
    text = scene.read_text()
    [schema] = re.findall(r"\A# yaml-language-server: \$schema=(\S+)\n", text)
    assert (scene.parent / schema).read_text() == scene_schema_text()
    assert yaml.safe_load(text)["name"] == "trial"
    assert text.count("#") >= 5
    commands = commands_of(folder / "trial/README.md")
    assert len(commands) == 4
    assert commands[1] == ["render", "outputs/trial.h5"]
    assert all(
        "NAME" not in path.read_text()
        for path in (folder / "trial").rglob("*")
        if path.is_file() and path.suffix != ".json"
    )


def test_the_commands_of_the_ci_template_create_baselines_and_compare_with_them(
    mbsim: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mbsim("new", "trial", "--template", "ci")
    monkeypatch.chdir(folder / "trial")
    endings = []
    for words in commands_of(folder / "trial/README.md"):
        plain = [str(path) for word in words for path in (sorted(Path().glob(word)) if "*" in word else [word])]
        endings.append(mbsim(*plain))
    assert [ending.code for ending in endings] == [0, 0, 0, 0], endings
    assert sorted(path.name for path in Path("baselines/trial").iterdir()) == ["aba.h5", "redmax.h5"]
    assert "2 same" in endings[-1].stdout
    job = yaml.safe_load(Path(".github/workflows/regression.yml").read_text())["jobs"]["regression"]
    given = next(step["with"] for step in job["steps"] if "OWNER/mbsim" in step.get("uses", ""))
    root = Path(FILES).parents[2]
    inputs = yaml.safe_load((root / "action.yml").read_text())["inputs"]
    assert given == {"scenes": "scenes/*.yaml", "baseline": "baselines"}
    assert given.keys() <= inputs.keys()


def test_every_file_of_the_templates_is_used() -> None:
    used = {file for files in TEMPLATES.values() for file in files}
    assert {path.name for path in FILES.iterdir()} == used


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("two words", "two words is no name of a scene: use letters, digits, `_` and `-`"),
        ("1st", "1st is no name of a scene"),
        ("full", "full exists: choose another name"),
        ("pendulum.yaml", "pendulum.yaml is no name of a scene"),
    ],
)
def test_invalid_names_are_refused(mbsim: Command, folder: Path, name: str, message: str) -> None:
    (folder / "full").mkdir()
    (folder / "full/notes").write_text("precious")
    ending = mbsim("new", name)
    assert (ending.code, ending.stdout) == (2, "")
    assert message in ending.stderr
    assert [path.name for path in (folder / "full").iterdir()] == ["notes"]


def test_completion_is_installed_once(mbsim: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    (folder / ".bashrc").write_text("alias ll='ls -l'")
    script = folder / ".local/share/mbsim/completion.bash"
    assert mbsim("completion", "bash", "--install").stdout == f"{script}\n{folder / '.bashrc'}\n"
    assert mbsim("completion", "bash", "--install").stdout == f"{script}\n"
    startup = (folder / ".bashrc").read_text().splitlines()
    assert startup == ["alias ll='ls -l'", 'source "$HOME/.local/share/mbsim/completion.bash"  # mbsim completion']
    assert script.read_text() == mbsim("completion", "bash").stdout
    assert mbsim("completion", "fish", "--install").stdout == f"{folder / '.config/fish/completions/mbsim.fish'}\n"


@pytest.mark.parametrize(
    ("line", "offered"),
    [("mbsim pl", {"plot"}), ("mbsim plot --st", {"--style"}), ("mbsim plot --style p", {"paper"})],
)
def test_a_shell_completes_verbs_options_and_choices(
    start: Callable[..., subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch, line: str, offered: set[str]
) -> None:
    monkeypatch.setenv("_MBSIM_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    process = start(program=("-c", "from multibody_cli.cli.app import enter; enter()"))
    stdout, _ = process.communicate(timeout=60)
    assert {entry.partition(",")[2] for entry in stdout.splitlines()} == offered
