"""Suites of `mbsim bench`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_result import Command

from multibody_cli.studies.bench import options as suites_of

SUITE = """\
description: Two benches.
benches:
  - {scenes: ../chain.yaml, size: "vars.n=2,4", repeat: 1}
  - {scenes: [../chain.yaml], method: [aba, redmax], set: vars.n=3, repeat: 1}
"""


@pytest.fixture
def suites(chain: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(suites_of, "bench_scenes", Path)
    (folder / "suites").mkdir()
    (folder / "suites/two.yaml").write_text(SUITE)
    return folder / "suites"


def test_a_suite_is_several_benches(mbsim: Command, suites: Path) -> None:
    data = json.loads(mbsim("bench", "--suite", "two", "--json", "-").stdout)
    found = [(one["method"], one["bodies"], one["step"]["blocks"]) for one in data["measurements"]]
    assert found == [("aba", 2, 1), ("aba", 4, 1), ("aba", 3, 1), ("redmax", 3, 1)]
    assert [one["settings"] for one in data["measurements"]] == [[], [], ["vars.n=3"], ["vars.n=3"]]


def test_arguments_of_the_command_line_override_the_suite(mbsim: Command, suites: Path) -> None:
    ending = mbsim("bench", "--suite", "suites/two.yaml", "--method", "aba", "--repeat", "2", "--json", "-")
    data = json.loads(ending.stdout)
    assert [(one["method"], one["step"]["blocks"]) for one in data["measurements"]] == [("aba", 2)] * 3


def test_cases_without_the_options_of_a_suite_are_listed(mbsim: Command, suites: Path) -> None:
    """Options belong to a method: with another one, the scene itself is valid."""
    optional = "  - {scenes: ../chain.yaml, method: symbolic, set: simulation.options.recursion=numeric, repeat: 1}\n"
    (suites / "optional.yaml").write_text(SUITE + optional)
    ending = mbsim("bench", "--suite", "optional", "--method", "aba", "--json", "-")
    assert ending.code == 0
    data = json.loads(ending.stdout)
    assert len(data["measurements"]) == 3
    [refused] = data["not_measured"]
    assert "method `aba` has no option `recursion`: it is an option of `symbolic`" in refused["reason"]


def test_an_unknown_suite_is_refused_with_the_known_names(mbsim: Command, suites: Path) -> None:
    ending = mbsim("bench", "--suite", "tow")
    assert (ending.code, ending.stdout) == (2, "")
    assert ending.stderr == "error: no suite `tow`: did you mean `two`?; available: two\n"


@pytest.mark.parametrize("place", ["scenes", "multibody_cli/scenes"])
def test_suites_of_the_project_are_beside_the_package_or_in_it(
    chain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    suites = tmp_path / "installed" / place / "bench" / "suites"
    suites.mkdir(parents=True)
    shutil.copy(chain, suites.parent / "chain.yaml")
    (suites / "two.yaml").write_text(SUITE)
    monkeypatch.setattr(suites_of, "__file__", str(tmp_path / "installed/multibody_cli/studies/bench/options.py"))
    benches = suites_of.read_suite("two")
    assert [bench.scenes[0].absolute() for bench in benches] == [suites.parent / "chain.yaml"] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("benches: [{metod: aba}]\n", ":1:19: benches[0].metod: unknown key `metod`; did you mean `method`?"),
        ("benches:\n- step: [1 ms, 2 kg]\n", ":2:16: benches[0].step[1]: expected a time (s), but `2 kg` is a mass"),
        ("benches: [{size: n}]\n", ":1:18: benches[0].size: expected KEY=2,4,8 with numbers above 0, found `n`"),
        ("benches: []\n", ":1:1: benches: expected at least 1 entry"),
        ("bench: []\n", ":1:1: bench: unknown key `bench`; did you mean `benches`?"),
        ("benches: [\n", ": not YAML"),
    ],
)  # fmt: skip
def test_problems_of_a_suite_are_reported_with_their_locations(
    mbsim: Command, suites: Path, text: str, message: str
) -> None:
    (suites / "wrong.yaml").write_text(text)
    ending = mbsim("bench", "--suite", "wrong")
    assert (ending.code, ending.stdout) == (2, "")
    assert message in ending.stderr


@pytest.mark.parametrize("name", ["growth", "accuracy", "general_joints", "peers", "scale"])
def test_suites_of_the_project_can_be_read_in_any_folder(name: str, folder: Path) -> None:
    benches = suites_of.read_suite(name)
    assert benches
    assert all(scene.is_file() for bench in benches for scene in bench.scenes)
